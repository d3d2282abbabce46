"""Clouds that arrays draw: pixel by pixel what the programs of points draw, and no body lost or gained."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, upload
from twixt.ipc.scene import Box, Scene, Sphere
from twixt.ipc.snapshot import HAS_VELOCITY, VISIBLE, new_bodies
from twixt.render.draw.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.frame.snapshot_ring import LATE_FROM
from twixt.render.draw.software.projection import SphereCloud, columns_of, is_straight, project
from twixt.render.draw.software.splat_drawing import LARGEST_PX, SplatDrawing
from twixt.render.draw.software.splats import Discs, seen_of
from twixt.render.draw.spheres.sphere_detail import Detail

COUNT = LATE_FROM + 1000
LIT = 8  # a pixel differs when a channel differs by more


def cloud(seed=0, moved=0.0):
    bodies = new_bodies(COUNT)
    random = np.random.default_rng(seed)
    bodies["position"] = random.random((COUNT, 3)) * 10 + (0, 0, 2)
    bodies["position"][:, 0] += moved
    return bodies


def camera_of(scene, bodies, near=1.0):
    camera = OrbitCamera.for_scene(scene, bodies, SIZE_PX[0] / SIZE_PX[1])
    camera.distance_m *= near
    return camera


@pytest.fixture
def both(studio, monkeypatch):
    """A picture as points draw it, and as arrays do; who was drawn how large."""

    def pictures(scene, older, newer=None, alpha=0.3, near=1.0, expects=True, **layer):
        found, drew = [], []
        real = SplatDrawing.draw
        monkeypatch.setattr(SplatDrawing, "draw", lambda self, *args: drew.append(real(self, *args)) or drew[-1])
        camera = camera_of(scene, older, near)
        for by_arrays in (False, True):
            renderer = studio.renderer(scene)
            if not by_arrays:
                renderer._solids.spheres._splats = None
            upload(renderer, 0, older)
            if newer is not None:
                upload(renderer, 1, newer)
            one = Layer(0, None if newer is None else 1, alpha=alpha, gap_s=0.1, **layer)
            found.append(studio.draw(renderer, one, camera=camera).astype(int))
            renderer.release()
        monkeypatch.setattr(SplatDrawing, "draw", real)
        assert (bool(drew) and drew[-1] is not None) == expects
        return found

    return pictures


def assert_alike(pictures, most_mean=0.3):
    points, arrays = pictures
    assert (points != points[0, 0]).any(axis=2).sum() > 2000  # something is there
    off = np.abs(points - arrays)
    assert off.mean() < most_mean
    assert (off.max(axis=2) > LIT).mean() < 0.01


@pytest.mark.parametrize("radius", [0.02, 0.1, 0.16])
def test_small_spheres_look_as_points_draw_them(both, radius):
    assert_alike(both(Scene([Sphere(radius)]), cloud(), cloud(moved=0.2)))


def test_colours_scales_and_hidden_bodies_are_those_of_the_records(both):
    older, newer = cloud(), cloud(moved=0.3)
    random = np.random.default_rng(1)
    for bodies in (older, newer):
        bodies["color"][:, :3] = random.integers(0, 255, (COUNT, 3))
        bodies["scale"] = 0.2 + random.random(COUNT)
    older["flags"][::3] &= ~np.uint16(VISIBLE)
    older["position"][1::50] = np.nan
    older["orientation"][2::50] = np.inf
    newer["position"][4::50] = np.nan
    newer["epoch"][5::50] += 1  # another body there
    assert_alike(both(Scene([Sphere(0.05), Sphere(0.1)] * (COUNT // 2)), older, newer))


def test_bodies_that_only_the_older_has_stay(both):
    assert_alike(both(Scene([Sphere(0.1)]), cloud(), cloud(moved=3.0)[: LATE_FROM + 10], alpha=0.9))


def test_a_body_that_does_not_continue_keeps_its_colour(both):
    older, newer = cloud(), cloud()
    older["color"][:, :3], newer["color"][:, :3] = (255, 0, 0), (0, 0, 255)
    newer["epoch"][::2] += 1
    scene = Scene([Sphere(0.1)])
    assert_alike(both(scene, older, newer, alpha=0.9))
    assert_alike(both(scene, older, newer[: LATE_FROM + 10], alpha=0.9))


def test_unlit_colours_are_plain(both):
    points, arrays = both(Scene([Sphere(0.1, (0.2, 0.4, 0.8))], ground=None, unlit=True), cloud())
    assert_alike((points, arrays))
    assert (arrays == (51, 102, 204)).all(axis=2).sum() > 2000


def test_few_that_are_large_are_drawn_too(both):
    older = cloud()
    older["scale"][:5] = 8.0
    scene = Scene([Sphere(0.05)], ground=None, background=(0, 0, 0))
    points, arrays = both(scene, older)
    assert_alike((points, arrays))
    older["scale"][:5] = 1.0
    without = both(scene, older)[1]
    assert np.abs(without - arrays).mean() > 0.1  # they are seen


def test_other_shapes_stand_before_and_behind(both):
    bodies = cloud()
    bodies["position"][0] = bodies["position"].mean(axis=0)
    shapes = [Box((5, 5, 5), (1, 0, 0))] + [Sphere(0.06)] * (COUNT - 1)
    points, arrays = both(Scene(shapes, ground=None), bodies)
    assert_alike((points, arrays))
    red = (arrays[..., 0] > 100) & (arrays[..., 1:].max(axis=2) < 60)
    assert 20 < red.sum() < 5000


def test_what_curves_too_far_is_left_to_points(both):
    older, newer = cloud(), cloud(moved=0.2)
    for bodies, speed in ((older, 40.0), (newer, -40.0)):
        bodies["flags"] |= HAS_VELOCITY
        bodies["velocity"][:, 2] = speed
    both(Scene([Sphere(0.1)]), older, newer, method="hermite", expects=False)
    older["velocity"] = newer["velocity"] = (2.0, 0.0, 0.0)
    assert_alike(both(Scene([Sphere(0.1)]), older, newer, method="hermite"))


def test_a_picture_of_groups_or_of_large_spheres_is_left_to_points(both):
    both(Scene([Sphere(1.0)]), cloud(), expects=False)
    both(Scene([Sphere(0.1)], ground=None), cloud(), near=0.05, expects=False)


def test_the_nearest_is_seen_and_of_equals_always_the_same():
    def discs(*rows):
        return Discs(*np.array(rows, np.float32).T)

    def seen(found, squares=False):
        at, bodies = seen_of(found, (8, 4), squares)
        return dict(zip(at.tolist(), bodies.tolist(), strict=True))

    assert seen(discs((2.5, 1.5, 5, 0.6), (2.5, 1.5, 4, 0.6))) == {1 * 8 + 2: 1}
    assert seen(discs((2.5, 1.5, 4, 1.1), (2.5, 1.5, 5, 1.1))) == dict.fromkeys((2, 9, 10, 11, 18), 0)
    assert seen(discs((2.5, 1.5, 5, 1.2)), squares=True) == dict.fromkeys((1, 2, 3, 9, 10, 11, 17, 18, 19), 0)
    assert seen(discs((2.5, 1.5, 5, 0.6), (2.5, 1.5, 5, 0.6))) == {10: 0}
    # What lies at the border is cut off there; what lies outside is nowhere.
    assert seen(discs((0.2, 0.5, 5, 1.1), (9.5, 1.5, 5, 1.0))) == {0: 0, 8: 0}


def test_every_body_of_a_random_cloud_is_seen_as_one_by_one():
    random = np.random.default_rng(2)
    count, size_px = 20_000, (60, 40)
    x, y, depth = random.random((3, count), np.float32) * np.array([[70], [50], [100]], np.float32) - 5
    discs = Discs(x, y, depth + 10, (0.5 + 2 * random.random(count)).astype(np.float32))
    at, bodies = seen_of(discs, size_px, False)
    for pixel in range(0, size_px[0] * size_px[1], 97):
        off2 = (discs.x - (pixel % 60 + 0.5)) ** 2 + (discs.y - (pixel // 60 + 0.5)) ** 2
        over = np.flatnonzero(off2 <= discs.reach**2)
        found = bodies[at == pixel]
        assert len(found) == (len(over) > 0)
        # Depths are told apart as finely as the number has bits for.
        assert not len(found) or discs.depth[found[0]] <= discs.depth[over].min() + 0.01


def test_a_body_far_away_makes_the_order_of_the_others_no_coarser():
    ones = np.ones(3, np.float32)
    discs = Discs(2.5 * ones, 1.5 * ones, np.array([5.001, 5, 1e6], np.float32), 0.6 * ones)
    assert seen_of(discs, (8, 4), False).bodies.tolist() == [1]


def test_columns_say_who_is_drawn():
    bodies = new_bodies(4)
    assert columns_of(bodies).shown is None
    assert len(columns_of(bodies).scale) == 1
    bodies["flags"][1] = 0
    bodies["position"][2] = np.inf
    found = columns_of(bodies)
    assert found.shown is not None
    assert found.shown.tolist() == [True, False, False, True]
    assert found.whole is not None
    assert found.whole.tolist() == [True, True, False, True]


def test_what_is_not_finite_or_behind_the_eye_is_nowhere():
    camera = OrbitCamera(distance_m=10.0).matrices(SIZE_PX)
    place = np.array([[0, 0, -5], [0, 0, 5], [np.nan, 0, -5], [1e6, 0, -5]], np.float32).T
    cloud = SphereCloud(np.ascontiguousarray(place), np.array([0.01], np.float32), None)
    found = project(cloud, camera, SIZE_PX, 9.0, None)
    assert found.bodies.tolist() == [0]
    assert found.large.tolist() == []
    assert math.isclose(found.discs.x[0], SIZE_PX[0] / 2)
    assert math.isclose(found.discs.y[0], SIZE_PX[1] / 2)


def test_a_sample_tells_whether_ways_are_straight():
    camera = OrbitCamera(distance_m=10.0).matrices(SIZE_PX)
    older, newer = cloud()[:100], cloud(moved=1.0)[:100]
    for bodies in (older, newer):
        bodies["flags"] |= HAS_VELOCITY
        bodies["velocity"] = (10.0, 0.0, 0.0)
    assert is_straight(older, newer, 0.1, camera, 300, 0.3)
    older["velocity"] = (0.0, 20.0, 0.0)
    assert not is_straight(older, newer, 0.1, camera, 300, 0.3)


def test_programs_of_points_that_it_stands_for_are_named():
    assert set(LARGEST_PX) == {Detail("dots", 2.5).name, Detail("beads", 6.5).name}
