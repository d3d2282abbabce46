"""Transparent bodies: colours are those of "over", from back to front, whatever the order and kind of bodies."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, Studio, upload
from twixt.ipc.scene import Box, Capsule, Compound, Cylinder, Ellipsoid, Part, Plane, Scene, Sphere
from twixt.ipc.scene.groups import Group
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw import transparency
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.frame.snapshot_ring import transparent_of
from twixt.render.draw.transparency import back_to_front, newest

# From straight above: x to the right, y up.
ABOVE = OrbitCamera(distance_m=10.0, elevation_rad=np.pi / 2, azimuth_rad=-np.pi / 2)
MIDDLE = SIZE_PX[1] // 2, SIZE_PX[0] // 2
RED, GREEN, BLUE, WHITE = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 1.0, 1.0)


def cube(color, normals=None) -> Mesh:
    corners = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return Mesh(corners, [tri for a, b, c, d in sides for tri in ((a, b, c), (a, c, d))], normals, color)


def shapes(color) -> list:
    """One of each kind that covers the middle of the picture, seen from above."""
    return [
        Sphere(0.5, color), Box((2, 2, 0.2), color), Plane((2, 2), color), Capsule(0.5, 1.0, color),
        Cylinder(1.0, 0.3, color), Ellipsoid((2, 2, 0.4), color), cube(color), cube(color, "smooth"),
        Compound([Part(Box((2, 2, 0.2), color))]),
    ]  # fmt: skip


def scene_of(*of, **others) -> Scene:
    return Scene(of, ground_z=None, background=WHITE, look="unlit", **others)


def stacked(count: int, apart_m: float = -3.0) -> np.ndarray:
    """Bodies one below the other."""
    bodies = new_bodies(count)
    bodies["position"][:, 2] = apart_m * np.arange(count)
    return bodies


def over(*colors) -> np.ndarray:
    """The pixel of (r, g, b, a) colours on white, the farthest first."""
    pixel = np.ones(3)
    for *color, alpha in colors:
        pixel = pixel * (1 - alpha) + np.array(color) * alpha
    return pixel * 255


@pytest.mark.parametrize("shape", shapes((*RED, 0.5)), ids=lambda shape: type(shape).__name__)
def test_half_of_a_colour_over_white_is_the_mean_of_both(studio: Studio, shape) -> None:
    pixel = studio.picture(scene_of(shape), stacked(1), camera=ABOVE)[MIDDLE]
    np.testing.assert_allclose(pixel, over((*RED, 0.5)), atol=2)


@pytest.mark.parametrize("shape", shapes(RED), ids=lambda shape: type(shape).__name__)
def test_the_alpha_of_a_record_counts_as_that_of_a_shape(studio: Studio, shape) -> None:
    bodies = stacked(1)
    bodies["color"][0, 3] = 64
    pixel = studio.picture(scene_of(shape), bodies, camera=ABOVE)[MIDDLE]
    np.testing.assert_allclose(pixel, over((*RED, 64 / 255)), atol=2)
    bodies["color"][0, 3] = 0
    assert studio.picture(scene_of(shape), bodies, camera=ABOVE)[MIDDLE].tolist() == [255, 255, 255]


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("kinds", [(1, 1, 1), (0, 6, 2), (8, 3, 0), (6, 7, 6)])
def test_the_nearer_one_lies_over_the_farther_in_every_order_of_bodies(studio: Studio, order, kinds) -> None:
    colors = [(*RED, 0.5), (*GREEN, 0.25), (*BLUE, 0.75)]
    bodies, shape = stacked(3), [shapes(color)[kind] for color, kind in zip(colors, kinds, strict=True)]
    picture = studio.picture(scene_of(*(shape[row] for row in order)), bodies[list(order)], camera=ABOVE)
    np.testing.assert_allclose(picture[MIDDLE], over(*reversed(colors)), atol=3)


def test_what_is_opaque_hides_and_shines_through(studio: Studio) -> None:
    glass, solid = Box((2, 2, 0.2), (*RED, 0.5)), Box((2, 2, 0.2), BLUE)
    above, below = stacked(2), stacked(2)[::-1].copy()
    np.testing.assert_allclose(
        studio.picture(scene_of(glass, solid), above, camera=ABOVE)[MIDDLE], over((*BLUE, 1), (*RED, 0.5)), atol=2
    )
    np.testing.assert_allclose(studio.picture(scene_of(glass, solid), below, camera=ABOVE)[MIDDLE], (0, 0, 255), atol=2)


def test_a_floor_lies_behind_all_that_stands_on_it_though_its_middle_is_nearer(studio: Studio) -> None:
    camera = OrbitCamera(distance_m=10.0, elevation_rad=0.6, azimuth_rad=-np.pi / 2)
    floor, bodies = Plane((60, 60), (*GREEN, 0.5)), new_bodies(2)
    bodies["position"][:] = [(0, 0, 0), (0, 4, 0.6)]
    bodies["position"][0, 1] = -4  # between the eye and the ball
    pixels = studio.picture(scene_of(floor, Sphere(0.5, (*RED, 0.5))), bodies, camera=camera)
    of_ball = over((*GREEN, 0.5), (*RED, 0.5))
    assert np.abs(pixels - of_ball).max(axis=2).min() <= 2
    assert not (np.abs(pixels - over((*RED, 0.5), (*GREEN, 0.5))).max(axis=2) <= 2).any()


def test_layers_are_sorted_together(studio: Studio) -> None:
    colors = [(*RED, 0.5), (*GREEN, 0.25), (*BLUE, 0.75)]
    scene = scene_of(*(Box((2, 2, 0.2), color) for color in colors), groups={"one": Group([1], "latest")})
    renderer = studio.renderer(scene)
    upload(renderer, 0, stacked(3))
    pixel = studio.draw(renderer, Layer(0), Layer(0, group="one"), camera=ABOVE)[MIDDLE]
    renderer.release()
    np.testing.assert_allclose(pixel, over(*reversed(colors)), atol=3)


def test_a_body_fades_between_two_snapshots(studio: Studio) -> None:
    older, newer = stacked(1), stacked(1)
    newer["color"][0, 3] = 0
    scene = scene_of(Box((2, 2, 0.2), RED))
    for alpha in (0.0, 0.5):
        pixel = studio.picture(scene, older, newer, alpha=alpha, camera=ABOVE)[MIDDLE]
        np.testing.assert_allclose(pixel, over((*RED, 1 - alpha)), atol=2)


def test_a_new_scene_makes_bodies_seen_through_and_solid_again(studio: Studio) -> None:
    solid, glass = (scene_of(Box((2, 2, 0.2), color)) for color in (RED, (*RED, 0.5)))
    renderer = studio.renderer(solid)
    upload(renderer, 0, stacked(1))
    for scene, alpha in ((solid, 1.0), (glass, 0.5), (solid, 1.0)):
        renderer.set_scene(scene)
        np.testing.assert_allclose(studio.draw(renderer, Layer(0), camera=ABOVE)[MIDDLE], over((*RED, alpha)), atol=2)
    renderer.release()


def test_many_runs_are_drawn_kind_by_kind(studio: Studio, monkeypatch) -> None:
    monkeypatch.setattr(transparency, "MOST_RUNS", 2)
    colors = [(*RED, 0.5), (*GREEN, 0.25), (*BLUE, 0.75), (*RED, 0.25)]
    shape = [(Box((2, 2, 0.2), color), Cylinder(1.0, 0.3, color))[row % 2] for row, color in enumerate(colors)]
    pixel = studio.picture(scene_of(*shape), stacked(4), camera=ABOVE)[MIDDLE]
    np.testing.assert_allclose(pixel, over(*(colors[row] for row in (2, 0, 3, 1))), atol=3)


def test_a_body_that_is_seen_through_casts_no_shadow(studio: Studio) -> None:
    bodies = new_bodies(1)
    bodies["position"][0, 2] = 0.7
    for color, is_dark in ((RED, True), ((*RED, 0.02), False)):
        lit = Scene([Sphere(0.5, color)], background=WHITE)
        ground = studio.picture(lit, bodies, camera=ABOVE)
        without = studio.picture(lit, new_bodies(0), camera=ABOVE)
        assert ((without.astype(int) - ground).max() > 40) == is_dark


# -- the pure part


def test_rows_seen_through_are_those_of_records_and_of_shapes() -> None:
    bodies = new_bodies(6)
    assert transparent_of(bodies, bodies, np.zeros(0, np.uint32)) is None
    bodies["color"][1, 3], bodies["color"][4, 3] = 100, 0
    bodies["flags"][5] = 0
    found = transparent_of(bodies, bodies, np.array([2, 5, 9], np.uint32))
    assert found is not None
    assert found.rows.tolist() == [1, 2, 4, 5]
    later = bodies.copy()
    later["position"][:, 0] = 1.0
    later["color"][:, 3] = [255, 255, 9, 9, 255, 9]
    both = newest(found, transparent_of(later, later, np.zeros(0, np.uint32)))
    assert both.rows.tolist() == [1, 2, 3, 4]  # 5 is hidden
    assert both.records["position"][:, 0].tolist() == [0, 1, 1, 0]


def test_the_order_is_by_distance_and_a_plane_parts_what_is_on_its_sides() -> None:
    nowhere = np.zeros(0, np.intp), np.zeros((0, 3))
    place = np.array([(0, 0, -1), (0, 0, -9), (0, 0, -3), (np.nan, 0, 0)], float)
    assert back_to_front(place, None, *nowhere)[:3].tolist() == [1, 2, 0]
    assert back_to_front(place[:3], np.array([0.0, 0.0, 1.0]), *nowhere).tolist() == [1, 2, 0]
    # A floor under the eye, its middle nearer than what stands far off on it.
    place = np.array([(0, 0, -2), (9, 0, -1.5), (3, 0, -1), (3, 0, -3)], float)
    up = np.array([(0.0, 0.0, -1.0)])
    assert back_to_front(place, None, np.array([0]), up).tolist() == [3, 0, 1, 2]
