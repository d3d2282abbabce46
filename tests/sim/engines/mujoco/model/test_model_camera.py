"""MuJoCo's abstract camera, there and back: as a camera of a scene, and as a viewer's user has moved it."""

from __future__ import annotations

import math

import pytest

from twixt.ipc.scene import Camera
from twixt.render.draw.frame.camera import OrbitCamera

mujoco = pytest.importorskip("mujoco")

from twixt.sim.engines.mujoco.model.model_camera import adopt_view, default_camera, scene_camera  # noqa: E402


@pytest.mark.parametrize("elevation", [-90.0, 90.0, -30.0, 40.0])
@pytest.mark.parametrize("azimuth", [90.0, 0.0, -160.0, 37.0])
def test_a_view_that_a_viewer_shows_is_taken_over_as_it_was_set(azimuth: float, elevation: float) -> None:
    model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    camera, moved = default_camera(model), default_camera(model)
    camera.lookat[:], camera.distance, camera.azimuth, camera.elevation = (1, 20, 3), 4, azimuth, elevation
    adopt_view(moved, OrbitCamera.from_camera(scene_camera(model, camera)).as_camera())
    assert moved.elevation == pytest.approx(elevation, abs=1e-4)
    assert math.remainder(moved.azimuth - azimuth, 360) == pytest.approx(0, abs=1e-4)
    assert (moved.distance, *moved.lookat) == pytest.approx((4, 1, 20, 3))


def test_a_map_is_a_camera_that_looks_down_with_y_ahead() -> None:
    model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    moved = default_camera(model)
    adopt_view(moved, Camera((0, 0, 5), (0, 0, 0)))
    assert (moved.azimuth, moved.elevation) == pytest.approx((90, -90))
