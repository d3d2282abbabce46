"""What a camera frames: bodies fill two thirds of the picture's smaller extent, whatever their size and floor."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.draw.conftest import SIZE_PX
from twixt.ipc.scene import Box, Camera, Plane, Scene, Sphere
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.framing import BoundingBalls, FramedView, framed_balls, place_for

BALL = Sphere(0.5, (1, 1, 1))
FLOORS = {"none": [], "plane": [Plane((12, 12))], "box": [Box((12, 12, 0.2))], "room": [Plane((12, 12))] * 3}


def five_balls(floors, scale=1.0, ground=None):
    """Five white balls in a row on dark floors, all lengths times `scale`."""
    balls = [Sphere(0.5 * scale, (1, 1, 1))] * 5
    dark = [replace(floor, size=tuple(edge * scale for edge in floor.size), color=(0.1, 0.1, 0.1)) for floor in floors]
    bodies = new_bodies(5 + len(dark))
    bodies["position"][:5] = np.array([(1.3 * number - 2.6, 0.0, 0.5) for number in range(5)]) * scale
    bodies["position"][6:, 0] = -6 * scale
    return Scene([*balls, *dark], ground_z=ground, background=(0, 0, 0), look="unlit"), bodies


def filled(studio, scene, bodies, camera):
    """Share of the picture's smaller extent that white bodies span, the larger of both ways; their middle, px."""
    bright = studio.picture(scene, bodies, camera=camera).min(axis=2) > 127
    y, x = np.nonzero(bright)
    span = max(np.ptp(x), np.ptp(y)) + 1
    return span / min(SIZE_PX), ((x.min() + x.max()) / 2, (y.min() + y.max()) / 2)


@pytest.mark.parametrize("scale", [0.01, 1.0, 1000.0])
@pytest.mark.parametrize("floors", FLOORS)
def test_bodies_fill_two_thirds_of_the_smaller_extent_whatever_they_stand_on(studio, floors, scale):
    scene, bodies = five_balls(FLOORS[floors], scale)
    share, middle = filled(studio, scene, bodies, OrbitCamera.for_scene(scene, bodies))
    assert share == pytest.approx(2 / 3, abs=0.02)
    assert middle == pytest.approx((200, 150), abs=2)


def test_the_scale_of_bodies_counts_and_hidden_ones_do_not(studio):
    scene, bodies = five_balls([])
    bodies["scale"] = 0.1
    bodies["flags"][4] = 0
    share, _ = filled(studio, scene, bodies, OrbitCamera.for_scene(scene, bodies))
    assert share == pytest.approx(2 / 3, abs=0.02)


def test_an_orthographic_camera_from_straight_above_frames_as_much(studio):
    scene, bodies = five_balls(FLOORS["plane"])
    camera = OrbitCamera.from_camera(Camera((0, 0, 9), (0, 0, 0), orthographic_height=100))
    camera.frame(scene, bodies)
    share, middle = filled(studio, scene, bodies, camera)
    assert share == pytest.approx(2 / 3, abs=0.02)
    assert middle == pytest.approx((200, 150), abs=2)
    assert camera.elevation_rad == pytest.approx(math.pi / 2), "the direction is kept"


def test_floors_alone_are_framed_and_so_are_a_few_things_among_many_plates():
    plates = Scene([Box((1, 1, 0.01))] * 20 + [Sphere(0.02)])
    bodies = new_bodies(21)
    bodies["position"][:20, 2] = np.arange(20) * 0.1
    assert len(framed_balls(plates, bodies).radius) == 21
    floor = Scene([Plane((12, 12))])
    assert len(framed_balls(floor, new_bodies(1)).radius) == 1
    small = Scene([Plane((0.1, 0.1)), Sphere(0.5), Sphere(0.5)])
    assert len(framed_balls(small, bodies[:3]).radius) == 3


@given(st.integers(0, 2**32 - 1), st.floats(0.4, 3), st.booleans(), st.floats(-math.pi, math.pi), st.floats(-1.5, 1.5))
def test_what_is_framed_is_always_wholly_seen_and_within_the_larger_extent_when_the_camera_orbits(
    seed, aspect, orthographic, azimuth, elevation
):
    rng = np.random.default_rng(seed)
    bodies = new_bodies(int(rng.integers(1, 6)))
    bodies["position"] = rng.uniform(-1, 1, (len(bodies), 3)) * rng.choice([0.01, 1, 50], 3)
    scene, size_px = Scene([Sphere(0.2)]), (round(600 * aspect), 600)
    camera = OrbitCamera(orthographic=orthographic, azimuth_rad=azimuth, elevation_rad=elevation)
    camera.frame(scene, bodies, size_px[0] / size_px[1])
    for orbit_rad, limit_px in ((0.0, min(size_px) / 3), (1.0, max(size_px) / 2)):
        camera.azimuth_rad += orbit_rad
        view, projection, *_ = camera.matrices(size_px)
        clip = np.c_[bodies["position"], np.ones(len(bodies))] @ (projection.astype(float) @ view.astype(float)).T
        assert (clip[:, 3] > 0).all()
        off_px = np.abs(clip[:, :2] / clip[:, 3:]) * size_px / 2
        assert (off_px <= limit_px + 0.5).all()


@pytest.mark.parametrize("scale", [0.01, 1.0, 1000.0])
def test_the_grid_suits_what_is_framed(studio, scale):
    """Its lines are some, not a carpet and not none, and the same at every power of ten."""
    scene, bodies = five_balls([], scale, ground=0.0)
    camera = OrbitCamera.for_scene(scene, bodies)
    with_grid = studio.picture(scene, bodies, camera=camera).astype(int)
    without = studio.picture(replace(scene, ground_z=None), bodies, camera=camera).astype(int)
    lines = np.abs(with_grid - without).max(axis=2) > 8
    assert 0.02 < lines.mean() < 0.25


def test_the_eye_stays_near_the_bodies_even_if_one_of_them_is_much_nearer_than_the_others() -> None:
    rng = np.random.default_rng(0)
    for _ in range(3000):
        count = int(rng.integers(1, 6))
        backward = rng.normal(size=3)
        backward /= np.linalg.norm(backward)
        right = np.cross(backward, rng.normal(size=3))
        right /= np.linalg.norm(right)
        tangent, aspect = float(rng.uniform(0.1, 1.5)), float(rng.choice([1.0, 0.5, 2.0, 4 / 3]))
        view = FramedView(right, np.cross(backward, right), backward, tangent, aspect, False)
        place = place_for(BoundingBalls(rng.uniform(-3, 3, (3, count)), rng.uniform(0.05, 1, count)), view)
        assert max(map(abs, place.target)) < 4
