"""Worlds of any size: what is framed looks the same, however large a metre is in it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX
from twixt.ipc.scene import Box, Capsule, Cylinder, Ellipsoid, Plane, Scene, Sphere
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.frame.camera import OrbitCamera


def framed(studio, size_m, count):
    """The picture of a world of bodies of every shape, `size_m` wide, by the camera that frames it."""
    rng = np.random.default_rng(4)
    s = size_m / 2
    shapes = [
        Sphere(0.1 * s), Box((0.2 * s, 0.15 * s, 0.1 * s)), Capsule(0.06 * s, 0.1 * s), Cylinder(0.06 * s, 0.1 * s),
        Ellipsoid((0.2 * s, 0.15 * s, 0.1 * s)), Plane((0.2 * s, 0.2 * s)),
    ]  # fmt: skip
    bodies = new_bodies(count)
    bodies["position"] = np.float32(s) * rng.uniform(-1, 1, (count, 3)).astype(np.float32)
    turns = rng.normal(size=(count, 4))
    bodies["orientation"] = turns / np.linalg.norm(turns, axis=1)[:, None]
    scene = Scene([shapes[body % 6] for body in range(count)])
    return studio.picture(scene, bodies, camera=OrbitCamera.for_scene(scene, bodies, SIZE_PX[0] / SIZE_PX[1]))


@pytest.mark.parametrize("count", [60, 2400])  # rectangles, and points
def test_a_world_of_any_size_is_framed_and_drawn_alike(studio, count):
    usual = framed(studio, 1.0, count).astype(int)
    assert (np.abs(usual - usual[0, 0]).max(axis=2) > 30).mean() > 0.05
    for size_m in (1e-6, 1e-5, 1e6, 1e9):
        assert (np.abs(framed(studio, size_m, count) - usual).max(axis=2) > 8).mean() < 1e-3, size_m
