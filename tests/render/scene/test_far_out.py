"""Precision far from the origin: bodies, children and cameras with poses of numpy move as evenly as by the shaders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.render.scene.staged import ONE, Show
from twixt.ipc.scene import Camera, Sphere
from twixt.ipc.snapshot import new_bodies

# Far enough that neighbouring float32 numbers are one metre apart.
FAR_M = 1e7
FRAMES_MS = np.arange(300.0, 600.0, 13.0)
TWO = replace(ONE, shapes=[Sphere(0.5)] * 2, camera=Camera((FAR_M + 4, -20, 0), (FAR_M + 4, 0, 0)))


def moving(k: int) -> np.ndarray:
    """Both bodies move one metre a snapshot; body 0, a parent or the carrier of the camera, is invisible."""
    bodies = new_bodies(2)
    bodies["position"][:, 0] = FAR_M + k
    bodies["flags"][0] = 0
    return bodies


def hanging(k: int) -> np.ndarray:
    bodies = moving(k)
    bodies["position"][1] = 0
    return bodies


def middles_px(show: Show) -> np.ndarray:
    for at_ms in np.arange(0.0, FRAMES_MS[0], 50.0):
        show.draw(at_ms)
    columns = [show.pixels(at_ms).max(axis=2).sum(axis=0, dtype=float) for at_ms in FRAMES_MS]
    return np.array([np.average(np.arange(len(lit)), weights=lit) for lit in columns])


@pytest.mark.parametrize("method", ["catmull", "quadratic", "kalman", "extrapolate"])
def test_a_body_that_numpy_poses_moves_evenly_far_out(window, method):
    middles = middles_px(Show(window, TWO, moving, interpolation=method))
    assert np.ptp(middles) > 20
    assert np.abs(np.diff(middles, 2)).max() < 0.5


def test_a_child_moves_evenly_far_out(window):
    middles = middles_px(Show(window, replace(TWO, parents={1: 0}), hanging))
    assert np.ptp(middles) > 20
    assert np.abs(np.diff(middles, 2)).max() < 0.5


def test_a_camera_on_a_body_far_out_sees_what_goes_along_stand_still(window):
    scene = replace(TWO, camera=Camera((0, -10, 0), (0, 0, 0), body=0))
    assert np.ptp(middles_px(Show(window, scene, moving))) < 0.1


def test_dots_of_a_trail_far_out_are_as_far_apart_as_frames(window):
    show = Show(window, TWO, moving)
    show.choose(trails=True)
    middles_px(show)
    dots = show.stage._trails.of_picture["main"].dots().positions[:, 0]
    assert np.diff(dots)[-20:] == pytest.approx(0.13, abs=0.01)
