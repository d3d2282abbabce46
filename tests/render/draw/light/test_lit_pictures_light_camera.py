"""The view from the light: what it shows, and that its pixels stay where they are."""

from __future__ import annotations

import numpy as np
import pytest

from twixt.ipc.scene import Box, Plane, Scene, Sphere
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.light.lit_pictures import (
    MAP_PX,
    SIZE_STEP,
    Region,
    casting_reach,
    light_camera,
    region_of,
    to_map,
)
from twixt.render.draw.spheres.snapshot_bounds import Extent

SIZE_PX = (400, 300)
LIGHT = (0.4, -0.5, 0.8)
FEW = Extent((-1.0, -1.0, 0.0), (1.0, 1.0, 2.0), 0.0, 1.0)


def seen(distance_m=10.0, **options):
    return OrbitCamera(distance_m=distance_m, **options).matrices(SIZE_PX)


def mapped(light, place):
    """Place in the map of a place in the world, 0..1 each."""
    clip = light.projection.astype(float) @ np.append(light.view[:3, :3] @ (np.array(place) - light.eye), 1.0)
    return clip[:3] / 2 + 0.5


def test_floors_and_walls_do_not_count_unless_there_is_nothing_else():
    floor, plane = Box((50, 50, 0.1)), Plane((80, 80))
    assert casting_reach(Scene([floor, plane, Sphere(0.5), Box((1, 1, 1))])) == pytest.approx(np.sqrt(3) / 2)
    assert casting_reach(Scene([floor])) == floor.reach
    assert casting_reach(Scene([])) == 0.5


def test_bodies_that_are_seen_together_are_in_the_map_with_all_they_reach():
    region = region_of(FEW, 0.5, seen())
    light = light_camera(region, LIGHT)
    corners = np.stack(np.meshgrid([-1, 1], [-1, 1], [0, 2]), -1).reshape(-1, 3)
    for corner in corners:
        for off in np.vstack([np.eye(3), -np.eye(3)]) * 0.5:
            assert ((place := mapped(light, corner + off)) > 0).all(), place
            assert (place < 1).all()


def test_of_bodies_far_apart_the_map_shows_what_the_camera_does():
    wide = Extent((-1e4, -1e4, 0.0), (1e4, 1e4, 1.0), 0.0, 1.0)
    region = region_of(wide, 0.5, seen(target=(3.0, 4.0, 0.0)))
    assert region.middle == (3.0, 4.0, 0.0)
    assert region.radius_m < 20
    unknown = region_of(None, 0.5, seen(target=(3.0, 4.0, 0.0)))
    assert unknown[:2] == region[:2]


def test_what_is_higher_than_the_region_still_casts_into_it():
    tower = Extent((0.0, 0.0, 0.0), (0.0, 0.0, 60.0), 0.0, 1.0)
    light = light_camera(region_of(tower, 0.5, seen(distance_m=5.0)), (0.0, 0.0, 1.0))
    assert 0 < mapped(light, (0, 0, 60))[2] < mapped(light, (0, 0, 0))[2] < 1


def test_the_light_comes_from_where_the_scene_says():
    for direction in (LIGHT, (0.0, 0.0, 1.0), (0.0, 0.0, -2.0), (1.0, 0.0, 0.0)):
        light = light_camera(Region((1.0, 2.0, 3.0), 5.0, 5.0), direction)
        turn = light.view[:3, :3].astype(float)
        np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-6)
        assert np.linalg.det(turn) == pytest.approx(1, abs=1e-6)
        np.testing.assert_allclose(turn[2], np.array(direction) / np.linalg.norm(direction), atol=1e-6)
        nearer = np.array((1.0, 2.0, 3.0)) + np.array(direction) / np.linalg.norm(direction)
        assert mapped(light, nearer)[2] < mapped(light, (1, 2, 3))[2]


def test_pixels_of_the_map_stay_where_they_are_while_the_region_moves():
    """Places that move with the region by less than its pixel fall on the same place of a pixel."""
    first = light_camera(Region((0.0, 0.0, 0.0), 3.0, 3.0), LIGHT)
    base = mapped(first, (0.1, 0.2, 0.3))[:2] * MAP_PX
    for step in range(1, 40):
        moved = light_camera(Region((0.013 * step, -0.007 * step, 0.004 * step), 3.0, 3.0), LIGHT)
        off = mapped(moved, (0.1, 0.2, 0.3))[:2] * MAP_PX - base
        np.testing.assert_allclose(off, np.round(off), atol=0.02)


def test_the_region_grows_by_steps():
    widths = {float(light_camera(Region((0, 0, 0), 1 + n / 100, 2.0), LIGHT).projection[0, 0]) for n in range(100)}
    assert len(widths) == 2
    assert max(widths) / min(widths) == pytest.approx(SIZE_STEP, rel=1e-5)


@pytest.mark.parametrize("far_m", [0.0, 1e6, 1e7])
def test_a_place_the_eye_sees_is_found_in_the_map_far_from_the_origin_too(far_m):
    camera = OrbitCamera(target=(far_m, -far_m, 1.0), distance_m=8.0).matrices(SIZE_PX)
    light = light_camera(Region((far_m, -far_m, 1.0), 4.0, 4.0), LIGHT)
    place = np.array((far_m + 0.5, -far_m + 0.25, 1.5))
    in_eye = camera.view[:3, :3] @ (place - np.array(camera.eye))
    found = to_map(camera, light) @ np.append(in_eye, 1.0)
    np.testing.assert_allclose(found[:3], mapped(light, place), atol=1e-5)


def test_orthographic_cameras_have_a_region_of_what_they_show():
    region = region_of(None, 0.5, seen(orthographic=True))
    assert region.radius_m == pytest.approx(region_of(None, 0.5, seen()).radius_m)
