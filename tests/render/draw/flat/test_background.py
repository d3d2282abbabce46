"""Textures behind everything, and brightness of what stands before them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.render.draw.conftest import WHOLE, Studio, upload
from twixt.ipc.scene import Camera, Scene, Sphere, Texture
from twixt.ipc.scene.scene import with_camera
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.flat.background import cube_directions, on_cube
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer

SIZE = 16
WAYS = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
COLORS = np.array([(200, 0, 0), (90, 0, 0), (0, 200, 0), (0, 90, 0), (0, 0, 200), (0, 0, 90)], np.uint8)
EYE = np.array((3.0, 2.0, 1.0))


def sided() -> Texture:
    """A cube with a colour for each side."""
    return Texture(np.broadcast_to(COLORS[:, None, None], (6, SIZE, SIZE, 3)))


def looking(way: tuple[float, float, float], background: object, **others: object) -> Scene:
    """A scene without anything in this direction."""
    camera = Camera(tuple(EYE), tuple(EYE + way), 40)
    return Scene([Sphere(0.1)], camera=camera, background=background, ground_z=None, **others)  # type: ignore[arg-type]


def camera_of(scene: Scene) -> OrbitCamera:
    return OrbitCamera.for_scene(scene, new_bodies(0), WHOLE[2] / WHOLE[3])


def middle(studio: Studio, scene: Scene) -> np.ndarray:
    seen = studio.picture(scene, new_bodies(0), camera=camera_of(scene))
    return np.asarray(seen[seen.shape[0] // 2, seen.shape[1] // 2])


@pytest.mark.parametrize("side", range(6))
def test_each_side_of_a_cube_is_seen_in_its_direction(studio: Studio, side: int) -> None:
    assert middle(studio, looking(WAYS[side], sided())).tolist() == pytest.approx(COLORS[side].tolist(), abs=2)


@pytest.mark.parametrize("way", [(1, 0.5, 0.3), (-0.4, -1, 0.2), (0.1, 0.6, 1), (-0.7, 0.3, -1)])
def test_a_pixel_has_the_colour_of_its_direction(studio: Studio, way: tuple[float, float, float]) -> None:
    colors = np.rint(127 + 127 * cube_directions(64) / np.linalg.norm(cube_directions(64), axis=-1, keepdims=True))
    found = middle(studio, looking(way, Texture(colors.astype(np.uint8))))
    assert found.tolist() == pytest.approx((127 + 127 * np.array(way) / np.linalg.norm(way)).tolist(), abs=5)


def test_a_gradient_is_a_sky(studio: Studio) -> None:
    sky = Texture.gradient((0, 0, 1), (1, 0, 0))
    assert middle(studio, looking((0.01, 0, 1), sky)).tolist() == pytest.approx([0, 0, 255], abs=6)
    assert middle(studio, looking((1, 2, 0), sky)).tolist() == pytest.approx([127, 0, 127], abs=6)
    assert middle(studio, looking((0.01, 0, -1), sky)).tolist() == pytest.approx([255, 0, 0], abs=6)


def test_the_middle_of_an_image_is_towards_x_and_its_left_half_towards_y() -> None:
    image = np.zeros((32, 64, 3), np.uint8)
    image[:, :32, 0] = 255
    image[12:20, 28:36] = (0, 255, 0)
    cube = on_cube(image)
    half = cube.shape[1] // 2
    assert cube[0, half, half].tolist() == [0, 255, 0]
    assert cube[2, half, half].tolist() == [255, 0, 0]
    assert cube[3, half, half].tolist() == [0, 0, 0]


@pytest.mark.parametrize("ground", [None, 0.0])
def test_a_kept_sky_is_the_one_that_is_drawn(studio: Studio, ground: float | None) -> None:
    scene = dataclasses.replace(looking((1, 0.5, -0.2), sided()), ground_z=ground)
    renderer = studio.renderer(scene)
    upload(renderer, 0, new_bodies(0))
    first, *later = [studio.draw(renderer, Layer(0), camera=camera_of(scene)) for _ in range(5)]
    assert all(np.array_equal(picture, first) for picture in later)
    other = with_camera(scene, looking((-1, 0.5, -0.2), sided()).camera)
    assert not np.array_equal(studio.draw(renderer, Layer(0), camera=camera_of(other)), first)
    renderer.set_scene(dataclasses.replace(scene, background=(0.0, 0.0, 0.0)))
    assert studio.draw(renderer, Layer(0), camera=camera_of(scene)).max() < first.max()


def test_a_camera_that_moves_without_turning_sees_the_same_sky(studio: Studio) -> None:
    scene = looking((1, 0.5, -0.2), sided())
    renderer = studio.renderer(scene)
    upload(renderer, 0, new_bodies(0))
    pictures = []
    for step in range(6):
        moved = with_camera(scene, Camera(tuple(EYE + step), tuple(EYE + step + np.array((1, 0.5, -0.2))), 40))
        pictures.append(studio.draw(renderer, Layer(0), camera=camera_of(moved)).astype(int))
    assert all(np.mean(np.abs(one - pictures[0]).max(axis=-1) > 4) < 0.01 for one in pictures)
    wide = with_camera(scene, Camera(tuple(EYE), tuple(EYE + np.array((1, 0.5, -0.2))), 100))
    assert not np.array_equal(studio.draw(renderer, Layer(0), camera=camera_of(wide)), pictures[0])


def test_brightness_changes_bodies_alone_and_only_lit_ones(studio: Studio) -> None:
    body = new_bodies(1)
    body["position"] = EYE + np.array((2.0, 0.0, 0.0))
    gray = Scene([Sphere(0.3, (0.6, 0.6, 0.6))], camera=looking((1, 0, 0), (0.2, 0.2, 0.2)).camera,
                 background=(0.2, 0.2, 0.2), ground_z=None)  # fmt: skip

    def seen(scene: Scene) -> np.ndarray:
        return studio.picture(scene, body, camera=camera_of(scene))

    lit, dim = seen(gray), seen(dataclasses.replace(gray, brightness=0.5))
    center = lit.shape[0] // 2, lit.shape[1] // 2
    assert dim[center].max() < 0.7 * lit[center].max()
    assert np.array_equal(dim[0], lit[0])
    plain = dataclasses.replace(gray, look="unlit")
    assert np.array_equal(seen(plain), seen(dataclasses.replace(plain, brightness=0.5)))
