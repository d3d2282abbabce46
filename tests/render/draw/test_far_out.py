"""Far from the origin: what is drawn is where geometry in double precision says, whatever the camera does."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, upload
from twixt.ipc.scene import Box, Capsule, Plane, Scene, Sphere
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.scene.labels import Label, place

# Places that a float32 holds.
FAR = [(1e5, 0, 0), (1e6, -1e6, 0), (-3e6, 2e6, 1e5)]
BLACK = (0.0, 0.0, 0.0)


def orbit(target, distance_m=6.0):
    """Cameras that look beside the target, so that it is drawn off the middle."""
    for turn in range(12):
        beside = tuple(np.add(target, (0.37, -0.41, 0.13)).tolist())
        yield OrbitCamera(beside, distance_m, azimuth_rad=0.5 + 0.013 * turn, elevation_rad=0.3 + 0.007 * turn)


def projected_px(camera, place):
    """From the left and the top; in double precision, from the camera's numbers."""
    right, up, backward = camera._axes()
    off = np.subtract(place, camera.eye)
    focal_px = SIZE_PX[1] / 2 / math.tan(math.radians(camera.fov_y_deg) / 2)
    depth = -off @ backward
    return SIZE_PX[0] / 2 + focal_px * (off @ right) / depth, SIZE_PX[1] / 2 - focal_px * (off @ up) / depth


def middle_px(pixels):
    weights = pixels[..., 0].astype(float)
    y, x = np.mgrid[: weights.shape[0], : weights.shape[1]] + 0.5
    return (x * weights).sum() / weights.sum(), (y * weights).sum() / weights.sum()


@pytest.mark.parametrize("place", FAR)
@pytest.mark.parametrize("shape", [Sphere(0.1), Box((0.1, 0.1, 0.1)), Capsule(0.05, 0.05), Plane((0.1, 0.1))])
def test_a_body_that_stands_still_far_out_is_where_it_is_while_the_camera_orbits(studio, place, shape):
    scene = Scene([replace(shape, color=(1, 1, 1))], ground_z=None, background=BLACK, look="unlit")
    bodies = new_bodies(1)
    bodies["position"] = place
    for camera in orbit(place):
        pixels = studio.picture(scene, bodies, camera=camera)
        assert middle_px(pixels) == pytest.approx(projected_px(camera, place), abs=0.3)  # planes have hard edges


@pytest.mark.parametrize("place", FAR)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_marks_far_out_are_where_they_are(studio, place, dtype):
    if dtype == np.float64:  # which holds a millimetre out there
        place = tuple(np.add(place, (0.017, -0.023, 0.011)).tolist())
    renderer = studio.renderer(Scene([], ground_z=None, background=BLACK))
    white, half_line = (255, 255, 255, 255), np.array((0, 0, 0.25), dtype)
    places = np.array([place], dtype)
    for camera in orbit(place):
        studio.draw(renderer, camera=camera)
        renderer.points(places, white, 8.0)
        renderer.finish()
        assert middle_px(renderer.read_pixels()) == pytest.approx(projected_px(camera, place), abs=0.15)
        studio.draw(renderer, camera=camera)
        renderer.lines(places - half_line, places + half_line, white)
        renderer.finish()
        assert middle_px(renderer.read_pixels())[0] == pytest.approx(projected_px(camera, place)[0], abs=0.3)
    renderer.release()


def test_an_outline_far_out_looks_as_it_does_at_the_origin(studio):
    def picture(far):
        corners = (tuple(np.add(far, (-1.013, -1.5, 0.017))), tuple(np.add(far, (1.3, 1.021, 1.4))))
        scene = Scene([], ground_z=None, background=BLACK, outline=corners)
        return studio.picture(scene, new_bodies(0), camera=OrbitCamera(tuple(far), 6.0)).astype(int)

    near = picture(np.zeros(3))
    assert (near > 40).any(axis=2).sum() > 300
    assert np.abs(picture(np.array((2e6, -1e6, 3e5))) - near).max() < 8


@pytest.mark.parametrize("place_m", FAR)
def test_words_far_out_are_where_they_are(place_m):
    for camera in orbit(place_m):
        (label,) = place([Label(place_m, "here", (255,) * 4)], camera.matrices(SIZE_PX), (0, 0, *SIZE_PX), SIZE_PX[1])
        assert (label.x_px, label.y_px) == pytest.approx(projected_px(camera, place_m), abs=0.01)


@pytest.mark.parametrize("many", [3, 5000])
def test_the_ground_far_out_looks_as_it_does_at_the_origin(studio, many):
    """Grid, shadows and bodies together: the lines fall on whole metres there as well."""
    scene = Scene([Sphere(0.4)])
    rng = np.random.default_rng(3)
    bodies = new_bodies(many)
    bodies["position"] = np.round(rng.uniform(-4, 4, (many, 3)) * 4) / 4
    bodies["position"][:, 2] = 0.375
    near = studio.picture(scene, bodies, camera=OrbitCamera((0.3, 0.2, 0.0)))
    bodies["position"] += np.float32([1e6, -2e6, 0])
    far = studio.picture(scene, bodies, camera=OrbitCamera((1e6 + 0.3, -2e6 + 0.2, 0.0)))
    assert (np.abs(near.astype(int) - far).max(axis=2) > 8).mean() < 0.002


def test_a_camera_that_moves_less_than_a_float_far_out_still_moves_the_picture(studio):
    scene = Scene([Sphere(0.1, color=(1, 1, 1))], ground_z=None, background=BLACK, look="unlit")
    bodies = new_bodies(1)
    bodies["position"] = (1e6, 1e6, 0)
    renderer = studio.renderer(scene)
    upload(renderer, 0, bodies)
    for step in range(6):
        camera = OrbitCamera((1e6, 1e6 + 0.01 * step, 0), 6.0, azimuth_rad=0, elevation_rad=0)
        pixels = studio.draw(renderer, Layer(0), camera=camera)
        assert middle_px(pixels) == pytest.approx(projected_px(camera, (1e6, 1e6, 0)), abs=0.15)
    renderer.release()
