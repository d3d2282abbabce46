"""An orthographic camera: every program draws as a perspective one far away does, without its loss of digits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, matrices
from twixt.ipc.scene import Box, Camera, Capsule, Cylinder, Ellipsoid, Plane, Scene, Sphere
from twixt.ipc.scene.camera import height_at_target
from twixt.ipc.snapshot import new_bodies
from twixt.render.display.input import MouseButton, MouseMove, Scroll
from twixt.render.draw.bodies import shape_draws
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.spheres.snapshot_bounds import extent_of, fits_points
from twixt.render.draw.spheres.sphere_common import LARGEST_POINT_PX
from twixt.render.draw.spheres.sphere_detail import SphereLod
from twixt.render.input.user_input import Pointer

SIDEWAYS = OrbitCamera(target=(0.3, 0.2, 0.4), distance_m=10.0, orthographic=True)
# So far away that bodies 2 m before and behind the target are off by less than 0.2 px.
FAR = 200
QUALITIES = {"large": (10**9, 10**9, 10**9), "points": (0, 10**9, 10**9), "plain": (0, 0, 0)}


def from_far(camera):
    """The perspective camera that sees nearly the same."""
    tangent = math.tan(math.radians(camera.fov_y_deg) / 2) / FAR
    return replace(
        camera,
        orthographic=False,
        distance_m=camera.distance_m * FAR,
        fov_y_deg=math.degrees(2 * math.atan(tangent)),
    )


def placed(shapes, seed=3):
    """Each shape nearer and farther than the target, some inside others, some beyond the border of the picture."""
    rng = np.random.default_rng(seed)
    bodies = new_bodies(len(shapes))
    bodies["position"] = rng.uniform((-3, -3, -1), (3, 3, 2.5), (len(shapes), 3))
    turns = rng.normal(size=(len(shapes), 4))
    bodies["orientation"] = turns / np.linalg.norm(turns, axis=1)[:, None]
    return bodies


def assert_alike(studio, scene, bodies, camera=SIDEWAYS, share=0.002):
    parallel = studio.picture(scene, bodies, camera=camera).astype(int)
    far = studio.picture(scene, bodies, camera=from_far(camera)).astype(int)
    assert (np.abs(far - far[0, 0]).max(axis=2) > 30).mean() > 0.01
    assert (np.abs(parallel - far).max(axis=2) > 48).mean() < share


@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize(
    "shape",
    [Box((0.9, 0.6, 1.2)), Capsule(0.3, 0.8), Cylinder(0.35, 1.0), Ellipsoid((1.3, 0.8, 0.5)), Plane((1.2, 0.9))],
    ids=lambda shape: type(shape).__name__,
)
def test_shapes_are_drawn_as_from_far(studio, monkeypatch, shape, quality):
    for name, count in zip(("FEW_RAY_CAST", "MANY", "ASKED"), QUALITIES[quality], strict=True):
        monkeypatch.setattr(shape_draws, name, count)
    scene = Scene([shape] * 24, ground_z=None, pattern=True)
    assert_alike(studio, scene, placed(scene.shapes), share=0.002 if quality == "large" else 0.008)


@pytest.mark.parametrize(
    ("name", "radius"),
    [
        ("lod 0", 0.03),
        ("lod 1", 0.06),
        ("lod 2", 0.12),
        ("lod 3", 0.2),
        ("lod 4", 0.4),
        ("points", 0.6),
        ("points", 3.0),
    ],
)
def test_spheres_are_drawn_as_from_far(studio, monkeypatch, name, radius):
    monkeypatch.setattr(shape_draws, "choose", lambda *_: SphereLod(name, LARGEST_POINT_PX))
    scene = Scene([Sphere(radius)] * (400 if radius < 0.1 else 30 if radius < 1 else 3), ground_z=None, pattern=True)
    assert_alike(studio, scene, placed(scene.shapes), share=0.004)


def test_spheres_stretched_along_their_axes_are_drawn_as_from_far(studio):
    scene = Scene([Sphere(0.5)] * 12, ground_z=None)
    bodies = placed(scene.shapes)
    stretch = np.random.default_rng(1).uniform(0.5, 1.6, (12, 3))
    pictures = []
    for camera in (SIDEWAYS, from_far(SIDEWAYS)):
        renderer = studio.renderer(scene)
        renderer.upload_records(0, bodies)
        renderer.upload_scale3(0, stretch)
        pictures.append(studio.draw(renderer, Layer(0), camera=camera).astype(int))
        renderer.release()
    assert (np.abs(pictures[0] - pictures[1]).max(axis=2) > 48).mean() < 0.002


def test_grid_shadows_and_outline_are_drawn_as_from_far(studio):
    scene = Scene([Sphere(0.4)] * 8, outline=((-2, -2, 0), (2, 2, 1.5)))
    bodies = placed(scene.shapes)
    bodies["position"][:, 2] = 0.45
    # The grid's spacing follows the distance, so the two are compared without it, and the grid by where its lines meet.
    bare = replace(SIDEWAYS, elevation_rad=0.7)
    shaded = studio.picture(scene, bodies, camera=bare).astype(int)
    unshaded = studio.picture(replace(scene, look="flat"), bodies, camera=bare).astype(int)
    assert ((unshaded - shaded).min(axis=2) > 8).mean() > 0.005, "shadows"
    empty = new_bodies(8)
    empty["flags"] = 0
    lines = studio.picture(scene, empty, camera=bare).astype(int)
    far = studio.picture(replace(scene, ground_z=None), empty, camera=from_far(bare)).astype(int)
    parallel = studio.picture(replace(scene, ground_z=None), empty, camera=bare).astype(int)
    assert (np.abs(parallel - far).max(axis=2) > 48).mean() < 0.002, "outline"
    assert (np.abs(lines - parallel).max(axis=2) > 4).mean() > 0.02, "grid"


def test_the_grid_is_where_its_whole_metres_are(studio):
    above = OrbitCamera.from_camera(Camera((0, 0, 9), (0, 0, 0), orthographic_height=6))
    picture = studio.picture(Scene([], background=(0, 0, 0)), new_bodies(0), camera=above).astype(int).sum(axis=2)
    across = picture[20:130].mean(axis=0)  # lines upward: brighter in every 50th column, from the middle on
    bright = {column for column in range(400) if across[column] > across.mean() + across.std()}
    assert {150, 200, 250} <= {near for column in bright for near in (column, column + 1)}
    assert not bright & set(range(205, 245))


def test_dots_and_lines_are_where_their_places_are(studio):
    above = OrbitCamera.from_camera(Camera((1, 1, 9), (1, 1, 0), orthographic_height=6))
    for height in (-30.0, 0.0, 30.0):  # before and behind the eye
        renderer = studio.renderer(Scene([], ground_z=None, background=(0, 0, 0)))
        studio.framebuffer.use()
        renderer.draw([], matrices(above), (0, 0, *SIZE_PX))
        renderer.points([(3, 2, height)], (255, 0, 0, 255), 5)
        renderer.lines([(0, 0, height)], [(1, 0, height)], (0, 255, 0, 255))
        renderer.finish()
        picture = renderer.read_pixels()
        renderer.release()
        y, x = np.nonzero(picture[..., 0] > 100)
        assert (x.mean() + 0.5, y.mean() + 0.5) == pytest.approx((300, 100), abs=0.6)
        y, x = np.nonzero(picture[..., 1] > 60)
        assert (x.min(), x.max() + 1) == pytest.approx((150, 200), abs=1)
        assert y.mean() + 0.5 == pytest.approx(200, abs=0.6)


@pytest.mark.parametrize("shape", [Sphere(0.5), Sphere(1.6), Cylinder(0.5, 0.4), Box((1.0, 1.0, 3.0))])
def test_seen_from_straight_above_x_is_right_y_is_up_and_height_changes_nothing(studio, shape):
    white = replace(shape, color=(1, 1, 1))
    scene = Scene([white], ground_z=None, background=(0, 0, 0), look="unlit")
    camera = OrbitCamera.from_camera(Camera((0, 0, 5), (0, 0, 0), orthographic_height=6))
    half_px = 50 * (shape.size[0] / 2 if isinstance(shape, Box) else shape.radius)
    for height in (-20.0, 0.0, 4.9, 20.0):
        bodies = new_bodies(1)
        bodies["position"] = (1.5, 1.0, height)
        picture = studio.picture(scene, bodies, camera=camera)
        assert middle_of(picture) == pytest.approx((275, 100), abs=0.1)
        covered = picture[..., 0] / 255
        assert covered[100].sum() == pytest.approx(2 * half_px, abs=0.6)


def test_the_nearer_of_two_is_seen_wherever_the_eye_is(studio):
    scene = Scene([Sphere(0.5, (1, 0, 0)), Box((1, 1, 1), (0, 1, 0))], ground_z=None, look="unlit")
    camera = OrbitCamera.from_camera(Camera((0, 0, 5), (0, 0, 0), orthographic_height=6))
    for low, high in ((-9.0, -7.0), (1.0, 2.5), (6.0, 8.0)):
        bodies = new_bodies(2)
        bodies["position"] = [(0, 0, high), (0, 0, low)]
        assert studio.picture(scene, bodies, camera=camera)[150, 200].tolist() == [255, 0, 0]
        bodies["position"] = [(0, 0, low), (0, 0, high)]
        assert studio.picture(scene, bodies, camera=camera)[150, 200].tolist() == [0, 255, 0]


def test_a_sphere_moves_as_its_position_does_to_a_twentieth_of_a_pixel(studio):
    scene = Scene([Sphere(0.2, (1, 1, 1))], ground_z=None, background=(0, 0, 0), look="unlit")
    bodies, seen = new_bodies(1), []
    for step in range(20):
        bodies["position"] = (
            0.3,
            0.2 + step * 0.1 * 7.279 / 300,
            0.4,
        )  # along y: a tenth of a pixel, seen at 60 degrees
        covered = studio.picture(scene, bodies, camera=replace(SIDEWAYS, azimuth_rad=0.0))[..., 0] / 255
        seen.append(covered.sum(axis=0) @ np.arange(SIZE_PX[0]) / covered.sum())
    assert np.diff(seen) == pytest.approx(0.1, abs=0.05)


def test_what_is_said_to_fit_points_does():
    bodies = new_bodies(50)
    camera = matrices(SIDEWAYS)
    for places in (((-1, -1, -1), (1, 1, 1)), ((-30, -30, -30), (30, 30, 30))):
        bodies["position"] = np.random.default_rng(0).uniform(*places, (50, 3))
        for width_px in (10, 120, 200):
            radius = width_px / (float(camera.projection[1, 1]) * SIZE_PX[1])
            fits = fits_points(extent_of(bodies), radius, 0.0, camera, SIZE_PX, LARGEST_POINT_PX)
            assert fits is (width_px < LARGEST_POINT_PX)


def test_pan_zoom_and_orbit_move_it_as_a_perspective_one():
    for orthographic in (False, True):
        camera = OrbitCamera(target=(1, 2, 3), distance_m=7, orthographic=orthographic)
        point = (1.0, 2.0, 3.0)
        camera.pan(120, -45, 600)
        assert pixel(camera, point) == pytest.approx((520, 255), abs=0.5)
        camera.pan(-120, 45, 600)
        right = tuple(np.add(point, camera._axes()[0]))
        before = pixel(camera, right)[0] - 400
        camera.zoom(2)
        assert pixel(camera, right)[0] - 400 == pytest.approx(before / 0.81, rel=1e-4)
        camera.orbit(600, 0, 600)  # half a turn
        assert pixel(camera, right)[0] < 400


@pytest.mark.parametrize("button", ["left", "middle", "right"])
@pytest.mark.parametrize(("eye", "up"), [((0, 0, 1), (0, 0, 1)), ((0, 0, -1), (0, 0, 1)), ((0, 0, 1), (1, 0.5, 0))])
def test_in_a_2d_view_a_drag_takes_the_drawn_body_along_at_any_zoom(studio, button, eye, up):
    scene = Scene([Sphere(0.3, (1, 1, 1))], ground_z=None, background=(0, 0, 0), look="unlit")
    camera = OrbitCamera.from_camera(Camera(eye, (0, 0, 0), orthographic_height=6, up=up))
    pointer, bodies = Pointer(), new_bodies(1)
    for notches, way_px in ((0, (60, -40)), (5, (-35, 21)), (-9, (20, 55))):
        events = [Scroll(0, notches, 1), MouseMove(200, 150, 2), MouseButton(button, True, 3)]
        pointer.move_camera(camera, events, SIZE_PX[1])
        before = middle_of(studio.picture(scene, bodies, camera=camera))
        events = [MouseMove(200 + way_px[0], 150 + way_px[1], 4), MouseButton(button, False, 5)]
        assert pointer.move_camera(camera, events, SIZE_PX[1]) == 4
        after = middle_of(studio.picture(scene, bodies, camera=camera))
        assert np.subtract(after, before) == pytest.approx(way_px, abs=0.15)


def middle_of(picture):
    """Middle of a white body on black, in px from the top left."""
    covered = picture[..., 0] / 255
    x, y = (np.arange(side) + 0.5 for side in SIZE_PX)
    return covered.sum(axis=0) @ x / covered.sum(), covered.sum(axis=1) @ y / covered.sum()


def pixel(camera, point):
    view, projection, *_ = camera.matrices((800, 600))
    x, y, _, w = projection.astype(float) @ view.astype(float) @ np.array([*point, 1.0])
    return (x / w + 1) * 400, (1 - y / w) * 300


def test_the_height_of_the_picture_is_what_was_asked_for():
    camera = OrbitCamera.from_camera(Camera((3, 4, 5), (0, 0, 1), orthographic_height=2.5))
    assert camera.matrices((800, 600)).projection[1, 1] == pytest.approx(2 / 2.5)
    height_m = height_at_target((0, -10, 0), (0, 0, 0), 30)
    as_seen = OrbitCamera.from_camera(Camera((0, -10, 0), (0, 0, 0), orthographic_height=height_m))
    assert as_seen.matrices((800, 600)).projection[1, 1] == pytest.approx(1 / 10 / math.tan(math.radians(15)))
