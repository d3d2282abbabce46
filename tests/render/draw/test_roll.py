"""A camera that is carried may roll: light comes from where it did, and the picture turns as a whole."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, WHOLE, matrices, upload
from twixt.ipc.scene import Box, Capsule, Cylinder, Ellipsoid, Plane, Scene, Sphere
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.bodies import shape_draws
from twixt.render.draw.frame.camera import OrbitCamera, carried
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.spheres.sphere_common import LARGEST_POINT_PX
from twixt.render.draw.spheres.sphere_detail import SphereLod

SHAPES = {
    "sphere": Sphere(0.8),
    "box": Box((1, 1.2, 1.4)),
    "capsule": Capsule(0.5, 1.0),
    "cylinder": Cylinder(0.5, 1.0),
    "ellipsoid": Ellipsoid((1, 1.2, 1.4)),
    "plane": Plane((1.4, 1.4)),
}
SPHERES_BY = ["points", "quads", "lod 3", "lod 2", "lod 1", "lod 0", "lod 4"]
CASTS_BY = ["plain ", "", "large "]


def turned_about_the_view(camera, angle_rad):
    axis = np.subtract(camera.eye, camera.target) / math.dist(camera.eye, camera.target)
    return carried(camera, np.zeros(3), np.array([*(axis * math.sin(angle_rad / 2)), math.cos(angle_rad / 2)]))


def square(pixels):
    side = min(SIZE_PX)
    left = (SIZE_PX[0] - side) // 2
    return pixels[:, left : left + side].astype(int)


@pytest.mark.parametrize(
    ("shape", "drawn_by"),
    [("sphere", by) for by in SPHERES_BY]
    + [(shape, by) for shape in SHAPES if shape not in ("sphere", "plane") for by in CASTS_BY]
    + [("plane", "")],
)
def test_a_camera_that_rolls_turns_the_picture_and_not_the_light(studio, monkeypatch, shape, drawn_by):
    if shape == "sphere":
        largest_px = 0.0 if drawn_by == "quads" else LARGEST_POINT_PX
        chosen = SphereLod("points" if drawn_by == "quads" else drawn_by, largest_px)
        monkeypatch.setattr(shape_draws, "choose", lambda *_: chosen)
    else:
        kind = {"box": "boxes"}.get(shape, shape + "s")
        names = (f"{drawn_by}{kind}",) if drawn_by == "large " else (f"{drawn_by}{kind}", f"large {kind}")
        monkeypatch.setattr(shape_draws, "cast_passes", lambda *_: names)
    # Light from where the turn about the view takes it out of the picture's vertical.
    scene = Scene([SHAPES[shape]], ground_z=None, light=(0, 0, 1))
    bodies = new_bodies(1)
    bodies["orientation"] = np.array([0.3, 0.2, 0.1, 0.9]) / np.linalg.norm([0.3, 0.2, 0.1, 0.9])
    renderer = studio.renderer(scene)
    upload(renderer, 0, bodies)
    camera = matrices(OrbitCamera(distance_m=9 if drawn_by == "large " else 18, elevation_rad=0.1))
    pictures = []
    for seen in (camera, turned_about_the_view(camera, math.pi / 2)):
        studio.framebuffer.use()
        renderer.draw([Layer(0)], seen, WHOLE)
        renderer.finish()
        pictures.append(square(renderer.read_pixels()))
    renderer.release()
    upright, rolled = pictures
    # A camera that turns to the left turns the picture to the right.
    off = np.abs(np.rot90(upright, -1) - rolled).max(axis=2)
    seen = np.abs(upright - upright[0, 0]).max(axis=2) > 24
    assert seen.sum() > 100
    assert off[seen].mean() < 1.5
