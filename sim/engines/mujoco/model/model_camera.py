"""MuJoCo's abstract camera as the camera of a scene.

Always: a camera of the model that is fixed to a body is carried by that body.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Camera
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjModel, MjvCamera

# Angles of view that a camera of a scene may have, degrees. MuJoCo's own default is 45.
LEAST_FOV_DEG, MOST_FOV_DEG, DEFAULT_FOV_DEG = 1.0, 170.0, 45.0

LEAST_DISTANCE_M = 1e-6
# Horizontal share of the direction of view below which a camera looks straight down or up.
VERTICAL_SHARE = 1e-6
# Farthest that a camera or its target may be, m: of a program that follows a body that has diverged.
FARTHEST_M = 1e9


def default_camera(model: MjModel) -> MjvCamera:
    """The camera with which MuJoCo's own viewer opens `model`."""
    camera = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(model, camera)
    return camera


def scene_camera(model: MjModel, camera: MjvCamera) -> Camera:
    """Camera of a scene that sees what `camera` sees. One that tracks a body is carried by it, and never turns."""
    if camera.type == mujoco.mjtCamera.mjCAMERA_FIXED and 0 <= camera.fixedcamid < model.ncam:
        return _fixed(model, int(camera.fixedcamid))
    azimuth, elevation = math.radians(_finite(camera.azimuth)), math.radians(_finite(camera.elevation))
    forward = np.array(
        [math.cos(elevation) * math.cos(azimuth), math.cos(elevation) * math.sin(azimuth), math.sin(elevation)]
    )
    tracked = tracked_body(model, camera)
    target = np.clip(np.nan_to_num(camera.lookat), -FARTHEST_M, FARTHEST_M) if tracked is None else np.zeros(3)
    eye = target - min(max(_finite(camera.distance), _least_distance(target)), FARTHEST_M) * forward
    # Of an orthographic camera `fovy` is the height of the picture.
    view = _looking(eye, target, float(model.vis.global_.fovy), tracked, turns=False)
    if math.cos(elevation) < VERTICAL_SHARE:  # straight down or up, or upside down
        tilt = math.sin(elevation)
        up = -tilt * math.cos(azimuth), -tilt * math.sin(azimuth), min(0.0, math.cos(elevation))
        view = dataclasses.replace(view, up=up)
    return _orthographic(view, float(model.vis.global_.fovy)) if camera.orthographic else view


def take_over(camera: MjvCamera, seen: Camera) -> None:
    """Sets `camera` to what a viewer's user sees: `seen`, made by moving the view of `camera`.

    Of one that tracks a body all but `lookat`, which MuJoCo computes; of a fixed camera nothing.
    """
    if camera.type == mujoco.mjtCamera.mjCAMERA_FIXED:
        return
    forward = np.subtract(seen.target, seen.eye)
    camera.distance = float(np.linalg.norm(forward))
    across = forward if math.hypot(forward[0], forward[1]) > VERTICAL_SHARE * camera.distance else _ahead(seen)
    camera.azimuth = math.degrees(math.atan2(across[1], across[0]))
    camera.elevation = math.degrees(math.atan2(forward[2], math.hypot(forward[0], forward[1])))
    if camera.type != mujoco.mjtCamera.mjCAMERA_TRACKING:
        camera.lookat[:] = seen.target


def _ahead(seen: Camera) -> tuple[float, float]:
    """Horizontal direction of a camera that looks straight down or up: as it would look after tilting to the
    horizon."""
    x, y, _ = seen.up if any(seen.up[:2]) else (0.0, 1.0, 0.0)
    return (x, y) if seen.target[2] < seen.eye[2] else (-x, -y)


def tracked_body(model: MjModel, camera: MjvCamera) -> int | None:
    """The body of the model that `camera` tracks; None for other cameras."""
    is_tracking = camera.type == mujoco.mjtCamera.mjCAMERA_TRACKING and 0 <= camera.trackbodyid < model.nbody
    return int(camera.trackbodyid) if is_tracking else None


def _fixed(model: MjModel, number: int) -> Camera:
    body, mode = int(model.cam_bodyid[number]), int(model.cam_mode[number])
    turns = mode == int(mujoco.mjtCamLight.mjCAMLIGHT_FIXED)
    if turns or body == 0:
        eye, turn = model.cam_pos[number], np.zeros(9)
        mujoco.mju_quat2Mat(turn, model.cam_quat[number])
    else:  # moves with its body, and looks where it looked at first
        eye, turn = model.cam_pos0[number], np.array(model.cam_mat0[number])
    forward = -turn.reshape(3, 3)[:, 2]
    fov = _fov_y_deg(model, number)
    view = _looking(eye, eye + forward * model.stat.extent, fov, body or None, turns)
    view = dataclasses.replace(view, up=tuple(turn.reshape(3, 3)[:, 1].tolist()))
    if _is_orthographic(model, number):
        return _orthographic(view, float(model.cam_fovy[number]))
    return dataclasses.replace(view, principal_point=_principal_point(model, number))


def _has_sensor(model: MjModel, number: int) -> bool:
    """True if a sensor size and focal lengths define the camera's picture; otherwise its angle of view does."""
    return bool((model.cam_sensorsize[number] > 0).all() and (model.cam_intrinsic[number][:2] > 0).all())


def _fov_y_deg(model: MjModel, number: int) -> float:
    """Vertical angle of view of a fixed camera, degrees."""
    if not _has_sensor(model, number):
        return float(model.cam_fovy[number])
    return math.degrees(
        2 * math.atan2(float(model.cam_sensorsize[number][1]) / 2, float(model.cam_intrinsic[number][1]))
    )


def _principal_point(model: MjModel, number: int) -> tuple[float, float]:
    """Principal point, as shares of the sensor's height; (0, 0) without a sensor, and if it is not within -1 to 1."""
    if not _has_sensor(model, number):
        return 0.0, 0.0
    height_m = float(model.cam_sensorsize[number][1])
    focal_x, focal_y, x, y = (float(value) for value in model.cam_intrinsic[number])
    point = -x / focal_x * focal_y / height_m, y / height_m
    return point if max(map(abs, point)) <= 1 else (0.0, 0.0)


def _least_distance(target: NDArray[np.float64]) -> float:
    """Least distance at which an eye differs from this target in 64 bits."""
    return max(LEAST_DISTANCE_M, 4 * float(np.spacing(np.abs(target).max())))


def _orthographic(view: Camera, height_m: float) -> Camera:
    """The same view without perspective; as high as its angle sees at the target where `height_m` is none."""
    return dataclasses.replace(view, orthographic=height_m if 0 < height_m < math.inf else True)


def _finite(value: float) -> float:
    """The number, or 0 where a program has written one that is not finite."""
    return value if math.isfinite(value) else 0.0


def _is_orthographic(model: MjModel, number: int) -> bool:
    projections: Any = getattr(model, "cam_projection", None)  # since MuJoCo 4.0
    if projections is None:
        return bool(model.cam_orthographic[number])
    return bool(projections[number] == int(mujoco.mjtProjection.mjPROJ_ORTHOGRAPHIC))


def _looking(
    eye: NDArray[np.float64], target: NDArray[np.float64], fov_deg: float, body: int | None, turns: bool = True
) -> Camera:
    fov_deg = fov_deg if LEAST_FOV_DEG <= fov_deg <= MOST_FOV_DEG else DEFAULT_FOV_DEG
    return Camera(tuple(eye.tolist()), tuple(target.tolist()), fov_deg, body, turns=turns)
