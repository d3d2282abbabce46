from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.scene import Box, Camera, Scene, Sphere
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.frame.camera import OrbitCamera, carried, shift_px
from twixt.render.draw.frame.framing import Bounds, bounds_of

SIZE_PX = (800, 600)
MOVES = st.lists(
    st.tuples(st.sampled_from(["orbit", "pan", "zoom"]), st.floats(-500, 500), st.floats(-500, 500)), max_size=12
)


def seen(camera, point, size_px=SIZE_PX):
    """Pixels from the top left."""
    view, projection, *_ = camera.matrices(size_px)
    x, y, z, w = projection.astype(float) @ view.astype(float) @ np.array([*point, 1.0])
    assert w > 0
    assert -w <= z <= w
    return (x / w + 1) / 2 * size_px[0], (1 - y / w) / 2 * size_px[1]


def bodies_at(*positions):
    bodies = new_bodies(len(positions))
    bodies["position"] = positions
    return bodies


def test_the_scenes_own_camera_is_taken_over():
    camera = OrbitCamera.for_scene(Scene([], camera=Camera((6, 4, 3), (1, 1, 0), 30)), new_bodies(0))
    assert camera.eye == pytest.approx((6, 4, 3))
    assert camera.target == (1, 1, 0)
    assert camera.fov_y_deg == 30


@pytest.mark.parametrize("aside", [0.0, 1e-9, -1e-9])
@pytest.mark.parametrize("target", [(0, 0, 0), (3, -2, 1)])
def test_a_camera_straight_above_shows_x_to_the_right_and_y_up_as_a_map(target, aside):
    above = target[0] + aside, target[1] - aside, target[2] + 5
    camera = OrbitCamera.from_camera(Camera(above, target))
    assert camera.eye == pytest.approx(above, abs=1e-6)
    x, y, z = target
    assert seen(camera, (x + 1, y, z)) == pytest.approx((400 + 300 / math.tan(math.radians(22.5)) / 5, 300), abs=0.1)
    assert seen(camera, (x, y + 1, z)) == pytest.approx((400, 300 - 300 / math.tan(math.radians(22.5)) / 5), abs=0.1)
    assert seen(camera, (x, y, z + 2)) == pytest.approx((400, 300), abs=0.1)


def test_a_camera_straight_below_looks_up():
    camera = OrbitCamera.from_camera(Camera((0, 0, -5), (0, 0, 0)))
    assert camera.eye == pytest.approx((0, 0, -5))
    assert seen(camera, (1, 0, 0))[0] > 500


UPS = [((3, -4, 5), (1, 0, 0)), ((3, -4, 5), (0.2, 0.1, -1)), ((0, 0, 5), (-1, 1, 0)), ((0, 0, -5), (0.5, 1, 0)),
       ((0, 1e-3, 5), (1, 0, 0)), ((3, -4, 0), (0, 0, -1))]  # fmt: skip


@pytest.mark.parametrize(("eye", "up"), UPS)
@pytest.mark.parametrize("orthographic", [None, 6.0])
def test_up_points_up_in_the_picture_and_is_the_same_as_a_camera_of_a_scene(eye, up, orthographic):
    camera = OrbitCamera.from_camera(Camera(eye, (0, 0, 0), up=up, orthographic_height=orthographic))
    x, y = seen(camera, np.array(up) * 0.1 / np.linalg.norm(up))
    assert x == pytest.approx(400, abs=1e-2)
    assert y < 299
    again = OrbitCamera.from_camera(camera.as_camera())
    np.testing.assert_allclose(again.matrices(SIZE_PX).view, camera.matrices(SIZE_PX).view, atol=2e-6)
    assert camera.eye == pytest.approx(eye, abs=1e-6) or orthographic


def test_an_upright_camera_has_the_default_up_and_one_turned_straight_above_keeps_its_direction():
    assert OrbitCamera.from_camera(Camera((0, 0, 5), (0, 0, 0))).as_camera().up == (0, 0, 1)
    assert OrbitCamera(azimuth_rad=1.3).as_camera().up == (0, 0, 1)
    camera = OrbitCamera(azimuth_rad=1.3)
    camera.orbit(0, 10_000, 600)
    again = OrbitCamera.from_camera(camera.as_camera())
    np.testing.assert_allclose(again.matrices(SIZE_PX).view, camera.matrices(SIZE_PX).view, atol=1e-6)


def test_a_camera_is_flat_if_it_is_orthographic_looks_straight_down_or_up_and_no_body_turns_it():
    for eye in ((0, 0, 5), (0, 0, -5), (1e-7, 0, 5)):
        flat = Camera(eye, (0, 0, 0), orthographic_height=6)
        assert OrbitCamera.from_camera(flat).is_flat
        assert OrbitCamera.from_camera(replace(flat, up=(1, 1, 0))).is_flat
        assert OrbitCamera.from_camera(replace(flat, body=0, rotates_with_body=False)).is_flat
        assert not OrbitCamera.from_camera(replace(flat, body=0)).is_flat
        assert not OrbitCamera.from_camera(replace(flat, orthographic_height=None)).is_flat
        assert not OrbitCamera.from_camera(replace(flat, target=(0, 0.001, 0))).is_flat


def test_an_orthographic_camera_that_the_user_turned_straight_above_can_be_turned_back():
    camera = OrbitCamera.from_camera(Camera((3, -4, 5), (0, 0, 0), orthographic_height=6))
    camera.orbit(0, 10_000, 600)
    assert camera.elevation_rad == math.pi / 2
    assert not camera.is_flat


@given(st.booleans(), st.sampled_from([(0, 0, 5), (0, 0, -5), (3, -4, 5)]), st.sampled_from([None, 6.0]), MOVES)
def test_locked_is_always_kept_by_the_way_to_an_orbit_camera_and_back(locked, eye, height, moves):
    camera = OrbitCamera.from_camera(Camera(eye, (0, 0, 0), orthographic_height=height, locked=locked))
    for kind, dx, dy in moves:
        if kind == "zoom":
            camera.zoom(dx / 50)
        else:
            getattr(camera, kind)(dx, dy, 600)
    camera.frame(Scene([Sphere(1.0)]), bodies_at((1, 2, 3)))
    assert camera.locked is camera.as_camera().locked is locked
    assert OrbitCamera.from_camera(camera.as_camera(3, False)).locked is locked


@pytest.mark.parametrize(("eye", "up"), [UPS[0], UPS[1], UPS[5]])
def test_orbiting_turns_a_rolled_camera_upright_without_a_jump_and_takes_the_near_side_along(eye, up):
    camera = OrbitCamera.from_camera(Camera(eye, (0, 0, 0), up=up))
    near_side = tuple(np.array(camera.eye) * 0.1)
    for dx_px, dy_px in ((1, 0), (0, -1), (-1, 1)):
        before, roll_rad = seen(camera, near_side), camera.roll_rad
        camera.orbit(dx_px, dy_px, 600)
        moved = np.subtract(seen(camera, near_side), before)
        assert moved @ (dx_px, dy_px) > 0
        assert np.linalg.norm(moved) < 10
        assert 0 < abs(roll_rad) - abs(camera.roll_rad) < 0.01
    for _ in range(100):
        camera.orbit(6, 0, 600)
        camera.orbit(-6, 0, 600)
    assert camera.roll_rad == 0
    assert camera.as_camera().up == (0, 0, 1)


def test_panning_a_rolled_camera_keeps_the_point_under_the_pointer():
    camera = OrbitCamera.from_camera(Camera((3, -4, 5), (1, 2, 3), up=(1, 0.3, 0)))
    point = camera.target
    camera.pan(120, -45, 600)
    assert seen(camera, point) == pytest.approx((520, 255), abs=0.5)


@given(st.floats(1, 1e6), st.floats(0, 2 * math.pi))
def test_a_target_far_away_never_hides_what_is_near_among_the_bodies(target_m, way):
    eye = np.array((0.0, 0.0, 1.0))
    camera = Camera(tuple(eye), tuple(eye + np.array((math.cos(way), math.sin(way), 0)) * target_m))
    rng = np.random.default_rng(1)
    bodies = bodies_at(*rng.uniform((-20, -20, 0), (20, 20, 2), (50, 3)))
    seen_by = OrbitCamera.for_scene(Scene([Sphere(0.25)] * 50, camera=camera), bodies)
    assert seen_by.near_m <= 0.125
    assert seen_by.far_m > target_m + 50


def test_from_outside_nothing_is_given_up_of_depth_for_what_may_be_near():
    bodies = bodies_at(*np.random.default_rng(1).uniform(-5, 5, (50, 3)))
    for scene in (Scene([Sphere(0.01)]), Scene([Sphere(0.01)], camera=Camera((20, 20, 20), (0, 0, 0)))):
        camera = OrbitCamera.for_scene(scene, bodies)
        assert camera.near_m == camera.distance_m / 200
        camera.zoom(-30)
        assert camera.near_m == camera.distance_m / 200


def test_a_carried_camera_with_a_far_target_sees_what_is_near_as_well():
    scene = Scene([Sphere(0.25)] * 50, camera=Camera((0, 0, 1), (1000, 0, 1), body=3))
    bodies = bodies_at(*np.random.default_rng(1).uniform(-20, 20, (50, 3)))
    assert OrbitCamera.for_scene(scene, bodies).near_m <= 0.125


@given(MOVES)
def test_whatever_the_mouse_does_the_target_is_in_the_middle_and_z_is_up(moves):
    camera = OrbitCamera()
    for kind, dx, dy in moves:
        if kind == "zoom":
            camera.zoom(dx / 50)
        else:
            getattr(camera, kind)(dx, dy, 600)
    assert 0 < camera.near_m < camera.distance_m < camera.far_m
    assert seen(camera, camera.target) == pytest.approx((400, 300), abs=2)
    view, projection, *_ = camera.matrices(SIZE_PX)
    assert np.isfinite(view).all()
    assert np.isfinite(projection).all()
    np.testing.assert_allclose(view[:3, :3] @ view[:3, :3].T, np.eye(3), atol=1e-5)
    assert view[0, 2] == pytest.approx(0, abs=1e-6)
    assert view[1, 2] > 0


def test_dragging_takes_the_near_side_of_the_world_along():
    camera = OrbitCamera(distance_m=10)
    near_side = tuple(np.array(camera.eye) * 0.1)
    before = seen(camera, near_side)
    camera.orbit(40, 0, 600)
    assert seen(camera, near_side)[0] > before[0] + 5
    camera.orbit(-40, 40, 600)
    assert seen(camera, near_side)[1] > before[1] + 5


def test_panning_keeps_the_point_under_the_pointer():
    camera = OrbitCamera(target=(1, 2, 3), distance_m=7)
    point = camera.target
    camera.pan(120, -45, 600)
    assert seen(camera, point) == pytest.approx((520, 255), abs=0.5)


def test_zoom_goes_nearer_and_back_and_never_through():
    camera = OrbitCamera(distance_m=10)
    camera.zoom(3)
    assert camera.distance_m < 10
    camera.zoom(-3)
    assert camera.distance_m == pytest.approx(10)
    camera.zoom(10_000)
    assert camera.distance_m > 0
    camera.zoom(-10_000)
    assert math.isfinite(camera.far_m)


def test_the_far_side_of_the_scene_stays_in_sight_when_the_camera_goes_near():
    camera = OrbitCamera.for_scene(Scene([Sphere(0.1)]), bodies_at((-10, -10, 0), (10, 10, 5)))
    camera.zoom(60)
    assert camera.far_m > 40


def test_following_moves_the_target_and_ignores_nan():
    camera = OrbitCamera()
    camera.follow((1, 2, 3))
    camera.follow((math.nan, 0, 0))
    assert camera.target == (1, 2, 3)


def test_bounds_hold_every_visible_body_with_its_size():
    scene = Scene([Sphere(1.0), Box((2, 4, 4))])
    bodies = bodies_at((0, 0, 0), (5, 0, 0))
    assert bounds_of(scene, bodies) == Bounds((-1, -3, -3), (8, 3, 3))
    bodies["scale"] = 2
    assert bounds_of(scene, bodies).high[0] == 11


def test_bounds_leave_out_what_is_hidden_or_not_finite():
    bodies = bodies_at((0, 0, 0), (100, 0, 0), (math.nan, 0, 0), (0, math.inf, 0))
    bodies["flags"][1] = 0
    assert bounds_of(Scene([Sphere(1.0)]), bodies) == Bounds((-1, -1, -1), (1, 1, 1))


@pytest.mark.parametrize("far_m", [1e8, 1e19, 1e30, 3e38])
def test_a_body_that_has_flown_off_does_not_take_the_others_out_of_sight(far_m):
    bodies = bodies_at((0, 0, 0), (1, 0, 0), (2, 0, 0), (far_m, -far_m, 0))
    assert bounds_of(Scene([Sphere(1.0)]), bodies) == Bounds((-1, -1, -1), (3, 1, 1))


@pytest.mark.parametrize("far_m", [1e8, 1e19, 1e30, 3e38])
def test_bodies_that_are_all_far_off_are_framed_by_finite_figures(far_m):
    for bodies in (bodies_at(*[(far_m, far_m, far_m)] * 4), bodies_at((far_m, 0, 0), (-far_m, 0, 0), (0, far_m, 0))):
        camera = OrbitCamera.for_scene(Scene([Sphere(1.0)]), bodies)
        assert np.isfinite(camera.matrices((320, 240)).view).all()
        assert 0 < camera.near_m < camera.far_m < math.inf


def test_bounds_take_in_the_outline_and_are_never_empty():
    outlined = Scene([Sphere(1.0)], outline=((-4, -4, 0), (4, 4, 6)))
    assert bounds_of(outlined, bodies_at((0, 0, 0))) == Bounds((-4, -4, -1), (4, 4, 6))
    assert bounds_of(Scene([]), new_bodies(0)) == Bounds((-1, -1, -1), (1, 1, 1))


@pytest.mark.parametrize("size_px", [(0, 0), (1, 1), (3000, 10)])
def test_any_size_of_the_picture_has_matrices(size_px):
    assert np.isfinite(OrbitCamera().matrices(size_px).projection).all()


def test_a_narrow_part_of_the_window_sees_as_much_to_the_sides_as_the_whole():
    camera = OrbitCamera(distance_m=10.0)
    whole, half = camera.matrices(SIZE_PX), camera.matrices((400, 600), SIZE_PX)
    assert half.projection[0, 0] == pytest.approx(whole.projection[0, 0])
    assert half.projection[1, 1] * 600 == pytest.approx(half.projection[0, 0] * 400), "pixels stay square"
    assert np.array_equal(camera.matrices(SIZE_PX, SIZE_PX).projection, whole.projection)


def test_a_carried_camera_sees_the_body_it_stands_on_still_wherever_that_goes():
    camera = OrbitCamera.from_camera(Camera((0, -4, 1), (0, 0, 0))).matrices(SIZE_PX)
    angle = math.radians(130)
    turn = np.array([0.0, 0.0, math.sin(angle / 2), math.cos(angle / 2)])
    there = carried(camera, np.array([7.0, -3.0, 2.0]), turn)
    in_body = np.array([0.5, 0.25, -1.0])
    c, s = math.cos(angle), math.sin(angle)
    in_world = np.array([c * 0.5 - s * 0.25 + 7, s * 0.5 + c * 0.25 - 3, 1.0])
    assert there.view @ [*in_world, 1] == pytest.approx(camera.view @ [*in_body, 1], abs=1e-5)
    assert there.target == pytest.approx((7, -3, 2))
    assert carried(camera, np.array([np.nan, 0, 0]), turn) is camera


def carried_by(camera, x=0.0, turn_rad=0.0):
    """The camera on a body at x, turned about z."""
    return carried(camera, np.array([x, 0, 0]), np.array([0, 0, math.sin(turn_rad / 2), math.cos(turn_rad / 2)]))


@pytest.mark.parametrize(
    ("distance_m", "fov_y_deg", "height_px"), [(4, 45, 600), (4, 45, 1200), (40, 45, 600), (4, 20, 600)]
)
def test_a_shift_is_in_px_of_the_picture_at_the_body(distance_m, fov_y_deg, height_px):
    camera = OrbitCamera.from_camera(Camera((0, -distance_m, 0), (0, 0, 0), fov_y_deg)).matrices((height_px, height_px))
    moved_m = 0.001
    seen_px = moved_m / distance_m * height_px / 2 / math.tan(math.radians(fov_y_deg / 2))
    found_px = shift_px(carried_by(camera), carried_by(camera, moved_m), np.array([moved_m, 0, 0]), height_px)
    assert found_px == pytest.approx(seen_px, rel=1e-3)
    assert shift_px(camera, camera, np.zeros(3), height_px) == 0


def test_a_shift_of_a_turn_is_no_less_than_that_of_any_direction_in_the_picture():
    camera = OrbitCamera.from_camera(Camera((0, -4, 0), (0, 0, 0), 45)).matrices((600, 600))
    turn_rad, focal_px = 1e-3, 300 / math.tan(math.radians(22.5))
    found_px = shift_px(carried_by(camera), carried_by(camera, turn_rad=turn_rad), np.zeros(3), 600)
    assert 2 * turn_rad * focal_px <= found_px < 4 * turn_rad * focal_px  # eye and direction both turn


def test_a_shift_is_that_of_the_nearer_of_body_and_target():
    camera = OrbitCamera.from_camera(Camera((0, -0.1, 0), (0, 10, 0), 45)).matrices((600, 600))
    on_body = shift_px(carried_by(camera), carried_by(camera, 1e-4), np.array([1e-4, 0, 0]), 600)
    at_target = shift_px(carried_by(camera), carried_by(camera, 1e-4), np.array([0, 99.0, 0]), 600)
    assert on_body == pytest.approx(101 * at_target, rel=1e-3)
    at_eye = OrbitCamera.from_camera(Camera((0, 0, 0), (0, 10, 0), 45)).matrices((600, 600))
    assert shift_px(carried_by(at_eye), carried_by(at_eye), np.array(at_eye.eye), 600) == math.inf


def test_a_shift_of_an_orthographic_picture_is_alike_at_every_depth():
    for away_m in (1, 100):
        camera = OrbitCamera.from_camera(Camera((0, -away_m, 0), orthographic_height=2.0)).matrices((600, 600))
        found_px = shift_px(carried_by(camera), carried_by(camera, 0.01), np.array([0.01, 0, 0]), 600)
        assert found_px == pytest.approx(0.01 / 2.0 * 600, rel=1e-3)
