"""Checkers: images that are one are found, and planes show them as a lookup in the image does, edges aside."""

from __future__ import annotations

import numpy as np
import pytest

from tests.render.draw.conftest import Studio
from twixt.ipc.scene import Material, Plane, Scene, Texture
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.bodies import materials
from twixt.render.draw.bodies.materials import checker_of
from twixt.render.draw.frame.camera import OrbitCamera

RED, BLUE, WHITE = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (255, 255, 255)


def with_border(side_px: int = 64) -> Texture:
    pixels = Texture.checker(RED, BLUE, side_px).pixels.copy()
    pixels[0] = pixels[-1] = pixels[:, 0] = pixels[:, -1] = WHITE
    return Texture(pixels)


def test_two_squares_each_way_are_a_checker_with_or_without_a_line_at_the_border() -> None:
    assert checker_of(Texture.checker(RED, BLUE, 64)) == (RED, BLUE, RED, 0.0, 1 / 64)
    assert checker_of(with_border()) == (RED, BLUE, (1.0, 1.0, 1.0), 1 / 64, 1 / 64)
    assert checker_of(Texture.gradient(RED, RED, 64)) == (RED, RED, RED, 0.0, 1 / 64)


@pytest.mark.parametrize("place", [(0, 5), (5, 0), (16, 40), (63, 63), (31, 31)])
def test_one_other_pixel_makes_it_an_image(place: tuple[int, int]) -> None:
    for checker in (Texture.checker(RED, BLUE, 64), with_border()):
        pixels = checker.pixels.copy()
        pixels[place] = (1, 2, 3)
        assert checker_of(Texture(pixels)) is None


def test_what_is_seen_through_a_cube_oblong_or_coarse_is_an_image() -> None:
    pixels = Texture.checker(RED, BLUE, 64).pixels
    assert checker_of(Texture(np.dstack([pixels, np.full((64, 64), 128, np.uint8)]))) is None
    assert checker_of(Texture(np.broadcast_to(pixels, (6, 64, 64, 3)))) is None
    assert checker_of(Texture(pixels[:, :48])) is None
    assert checker_of(Texture.checker(RED, BLUE, 2)) is None


@pytest.mark.parametrize("image", [Texture.checker((0.9, 0.3, 0.1), (0.1, 0.2, 0.6), 64), with_border()])
@pytest.mark.parametrize(("repeat", "per_metre"), [((3.0, 2.0), False), ((0.7, 0.7), True)])
@pytest.mark.parametrize("looks", [{}, {"look": "unlit"}])
def test_a_floor_looks_as_with_a_lookup_in_the_image(
    studio: Studio,
    monkeypatch: pytest.MonkeyPatch,
    image: Texture,
    repeat: tuple[float, float],
    per_metre: bool,
    looks: dict[str, bool],
) -> None:
    floor = Plane((6.0, 4.0), material=Material(image, repeat, per_metre, roughness=0.3, specular=1.0))
    camera = OrbitCamera(distance_m=5.0, elevation_rad=0.8, azimuth_rad=0.4)

    def seen() -> np.ndarray:
        return studio.picture(Scene([floor], ground_z=None, **looks), new_bodies(1), camera=camera).astype(int)

    computed = seen()
    monkeypatch.setattr(materials, "checker_of", lambda texture: None)
    difference = np.abs(computed - seen()).max(axis=2)
    # Beyond the middle of the picture a pixel of the image is smaller than one of the picture.
    assert (difference <= 4).mean() > 0.93
    assert difference.mean() < 3


def test_seen_from_near_edges_are_as_soft_as_in_the_image(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    camera = OrbitCamera(distance_m=4.0, elevation_rad=1.2)
    scenes = [
        Scene([Plane((8, 8), material=Material(one))], ground_z=None)
        for one in (Texture.checker(size_px=64), with_border())
    ]
    computed = [studio.picture(scene, new_bodies(1), camera=camera).astype(int) for scene in scenes]
    monkeypatch.setattr(materials, "checker_of", lambda texture: None)
    for scene, picture in zip(scenes, computed, strict=True):
        assert np.abs(picture - studio.picture(scene, new_bodies(1), camera=camera)).max() <= 6


def test_far_squares_and_lines_are_their_mean(studio: Studio) -> None:
    camera = OrbitCamera(distance_m=4.0, elevation_rad=np.pi / 2, azimuth_rad=-np.pi / 2)
    for image in (Texture.checker(RED, BLUE, 64), with_border(32)):
        scene = Scene([Plane((2, 2), material=Material(image, (900, 900)))], ground_z=None, look="unlit")
        middle = studio.picture(scene, new_bodies(1), camera=camera)[100:200, 150:250]
        np.testing.assert_allclose(middle.reshape(-1, 3), np.tile(image.pixels.mean(axis=(0, 1)), (10_000, 1)), atol=4)
