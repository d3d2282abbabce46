"""This module converts MuJoCo's cameras to cameras of a scene, and computes the opening view of a model.

Always: a camera of the model that is attached to a body moves with that body.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Camera
from twixt.ipc.scene.camera import height_at_target
from twixt.sim.engines.mujoco.body_poses import PoseArrays
from twixt.sim.engines.mujoco.model.model_surfaces import ModelSurfaces
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjData, MjModel, MjvCamera


# Smallest and largest vertical angle of view of a scene's camera, and MuJoCo's default angle, all in degrees.
LEAST_FOV_DEG, MOST_FOV_DEG, DEFAULT_FOV_DEG = 1.0, 170.0, 45.0

LEAST_DISTANCE_M = 1e-6
# A camera counts as looking straight down or up if the horizontal length of its unit direction is below this limit.
VERTICAL_SHARE = 1e-6
# Largest magnitude of a coordinate of a camera or its target, in m. The limit matters if a program follows a body that
# has diverged.
FARTHEST_M = 1e9


def default_camera(model: MjModel) -> MjvCamera:
    """Returns the camera with which MuJoCo's own viewer opens `model`."""
    camera = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(model, camera)
    return camera


def scene_camera(model: MjModel, camera: MjvCamera) -> Camera:
    """Returns a scene's camera with the same view as `camera`. If `camera` tracks a body, the scene's camera moves
    with this body, but never turns with it."""
    if camera.type == mujoco.mjtCamera.mjCAMERA_FIXED and 0 <= camera.fixedcamid < model.ncam:
        return _fixed(model, int(camera.fixedcamid))
    azimuth, elevation = math.radians(_finite(camera.azimuth)), math.radians(_finite(camera.elevation))
    forward = np.array(
        [math.cos(elevation) * math.cos(azimuth), math.cos(elevation) * math.sin(azimuth), math.sin(elevation)]
    )
    tracked = tracked_body(model, camera)
    target = np.clip(np.nan_to_num(camera.lookat), -FARTHEST_M, FARTHEST_M) if tracked is None else np.zeros(3)
    eye = target - min(max(_finite(camera.distance), _least_distance(target)), FARTHEST_M) * forward
    # For an orthographic camera, `fovy` is the height of the picture in metres.
    view = _looking(eye, target, float(model.vis.global_.fovy), tracked, rotates_with_body=False)
    if math.cos(elevation) < VERTICAL_SHARE:  # the camera looks straight down or up, or is upside down
        tilt = math.sin(elevation)
        up = -tilt * math.cos(azimuth), -tilt * math.sin(azimuth), min(0.0, math.cos(elevation))
        view = dataclasses.replace(view, up=up)
    return _orthographic(view, float(model.vis.global_.fovy)) if camera.orthographic else view


def adopt_view(camera: MjvCamera, seen: Camera) -> None:
    """Sets `camera` to `seen`, the view that a user has chosen in the window.

    The `lookat` of a tracking camera is not changed, because MuJoCo computes it. A fixed camera is not changed at all.
    """
    if camera.type == mujoco.mjtCamera.mjCAMERA_FIXED:
        return
    forward = np.subtract(seen.target, seen.eye)
    camera.distance = float(np.linalg.norm(forward))
    across = (
        forward
        if math.hypot(forward[0], forward[1]) > VERTICAL_SHARE * camera.distance
        else _horizontal_direction(seen)
    )
    camera.azimuth = math.degrees(math.atan2(across[1], across[0]))
    camera.elevation = math.degrees(math.atan2(forward[2], math.hypot(forward[0], forward[1])))
    if camera.type != mujoco.mjtCamera.mjCAMERA_TRACKING:
        camera.lookat[:] = seen.target


def _horizontal_direction(seen: Camera) -> tuple[float, float]:
    """Returns the horizontal direction of a camera that looks straight down or up. If the camera were tilted to the
    horizon, it would look in this direction."""
    x, y, _ = seen.up if any(seen.up[:2]) else (0.0, 1.0, 0.0)
    return (x, y) if seen.target[2] < seen.eye[2] else (-x, -y)


def tracked_body(model: MjModel, camera: MjvCamera) -> int | None:
    """Returns the body of the model that `camera` tracks. Returns None if `camera` tracks no body."""
    is_tracking = camera.type == mujoco.mjtCamera.mjCAMERA_TRACKING and 0 <= camera.trackbodyid < model.nbody
    return int(camera.trackbodyid) if is_tracking else None


def _fixed(model: MjModel, number: int) -> Camera:
    body, mode = int(model.cam_bodyid[number]), int(model.cam_mode[number])
    turns = mode == int(mujoco.mjtCamLight.mjCAMLIGHT_FIXED)
    if turns or body == 0:
        eye, turn = model.cam_pos[number], np.zeros(9)
        mujoco.mju_quat2Mat(turn, model.cam_quat[number])
    else:  # the camera moves with its body, but keeps its first direction
        eye, turn = model.cam_pos0[number], np.array(model.cam_mat0[number])
    forward = -turn.reshape(3, 3)[:, 2]
    fov = _fov_y_deg(model, number)
    view = _looking(eye, eye + forward * model.stat.extent, fov, body or None, turns)
    view = dataclasses.replace(view, up=tuple(turn.reshape(3, 3)[:, 1].tolist()))
    if _is_orthographic(model, number):
        return _orthographic(view, float(model.cam_fovy[number]))
    return dataclasses.replace(view, principal_point=_principal_point(model, number))


def _has_sensor(model: MjModel, number: int) -> bool:
    """True if a sensor size and focal lengths define the camera's picture, and not an angle of view."""
    return bool((model.cam_sensorsize[number] > 0).all() and (model.cam_intrinsic[number][:2] > 0).all())


def _fov_y_deg(model: MjModel, number: int) -> float:
    """Vertical angle of view of a fixed camera, in degrees."""
    if not _has_sensor(model, number):
        return float(model.cam_fovy[number])
    return math.degrees(
        2 * math.atan2(float(model.cam_sensorsize[number][1]) / 2, float(model.cam_intrinsic[number][1]))
    )


def _principal_point(model: MjModel, number: int) -> tuple[float, float]:
    """Returns the principal point of a camera, as two fractions of the sensor's height. Returns (0, 0) if there is no
    sensor, or if a fraction is outside of -1 to 1."""
    if not _has_sensor(model, number):
        return 0.0, 0.0
    height_m = float(model.cam_sensorsize[number][1])
    focal_x, focal_y, x, y = (float(value) for value in model.cam_intrinsic[number])
    point = -x / focal_x * focal_y / height_m, y / height_m
    return point if max(map(abs, point)) <= 1 else (0.0, 0.0)


def _least_distance(target: NDArray[np.float64]) -> float:
    """Returns the smallest distance between a camera's eye and this target. At a smaller distance, the eye and the
    target could have the same coordinates as 64-bit floats."""
    return max(LEAST_DISTANCE_M, 4 * float(np.spacing(np.abs(target).max())))


def _orthographic(view: Camera, height_m: float) -> Camera:
    """Returns the same view without perspective. height_m: height of the picture. If this height is invalid, the
    height that `view` shows at its target is used."""
    seen_m = height_at_target(view.eye, view.target, view.fov_y_deg)
    return dataclasses.replace(view, orthographic_height=height_m if 0 < height_m < math.inf else seen_m)


def _finite(value: float) -> float:
    """Returns the number, or 0 if it is not finite."""
    return value if math.isfinite(value) else 0.0


def _is_orthographic(model: MjModel, number: int) -> bool:
    projections: Any = getattr(model, "cam_projection", None)  # MuJoCo has this array since version 4.0
    if projections is None:
        return bool(model.cam_orthographic[number])
    return bool(projections[number] == int(mujoco.mjtProjection.mjPROJ_ORTHOGRAPHIC))


def _looking(
    eye: NDArray[np.float64],
    target: NDArray[np.float64],
    fov_deg: float,
    body: int | None,
    rotates_with_body: bool = True,
) -> Camera:
    fov_deg = fov_deg if LEAST_FOV_DEG <= fov_deg <= MOST_FOV_DEG else DEFAULT_FOV_DEG
    return Camera(tuple(eye.tolist()), tuple(target.tolist()), fov_deg, body, rotates_with_body=rotates_with_body)


# The code below chooses the first camera of a model that is run without code (`twixt run model.xml`).
#
# MuJoCo's own camera frames the whole model, including floors and arenas. But users look at the parts that move. If
# these parts would be small in the picture, or cut off, the camera gets another distance from them. It keeps its
# direction of view. If a framed body moves a skin or flex, the whole skin or flex is framed. A height field counts as
# a geom.
#
# Always: if a single tree of bodies can travel without limit, the camera follows this tree. If a single tree turns
# about a fixed place and would be small in the picture, it is framed with everything that it can reach. Several trees
# that can travel without limit are framed together. If the model is so large that its largest tree would hardly be
# visible, only this tree is framed. In all other cases, such as a cart on rails, MuJoCo's own camera is used.


# FILL: fraction of the picture's height or width that the moving bodies get. LEAST_FILL, MOST_FILL: if MuJoCo's own
# camera gives the moving bodies a fraction between these two, MuJoCo's own camera is used.
FILL, LEAST_FILL, MOST_FILL = 0.67, 0.5, 0.95
# Aspect ratio for which the subject is framed. The ratio is narrow, so that wider pictures also show the whole
# subject.
SCREEN = np.array((4 / 3, 1.0))
# If a model is larger than its largest tree of bodies by this factor, only this tree is framed.
FAR_LARGER = 20

Rows = NDArray[np.float64]


class Subject(NamedTuple):
    """Subject of a picture. middle: the subject's middle in the world, in metres. half_sizes: half the subject's size
    along the picture's x and y axes, in metres. body: the body that the camera follows, or None. is_whole: True if
    the subject must not be cut off. places: centres of the subject's bounding spheres along the picture's x, y and
    forward axes, shape (n, 3), in metres. radii: radii of these spheres, shape (n, 1), in metres."""

    middle: Rows
    half_sizes: tuple[float, float]
    places: Rows
    radii: Rows
    body: int | None = None
    is_whole: bool = True


def opening_view(model: MjModel) -> Camera:
    """Returns the camera with which a scene of `model` opens."""
    usual = scene_camera(model, default_camera(model))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    axes = _axes(usual)
    subject = _subject(model, data, axes)
    if subject is None or usual.orthographic_height:
        return usual
    slope = math.tan(math.radians(usual.fov_y_deg) / 2)
    eye_m = math.dist(usual.eye, usual.target)
    aside = np.abs(axes[:2] @ (subject.middle - usual.target))
    half_sizes = np.array(subject.half_sizes)
    needed, farthest = float((half_sizes / SCREEN).max()), float(((half_sizes + aside) / SCREEN).max())
    is_cut_off = farthest > MOST_FILL * slope * eye_m or _nearest_eye_m(subject, usual.target, axes, slope) > eye_m
    if not 0 < needed < math.inf or not (needed < LEAST_FILL * slope * eye_m or (is_cut_off and subject.is_whole)):
        return usual
    start = np.zeros(3) if subject.body is None else data.xpos[subject.body]
    target = subject.middle - start
    eye = target - axes[2] * max(needed / (FILL * slope), _nearest_eye_m(subject, subject.middle, axes, slope))
    return Camera(tuple(eye.tolist()), tuple(target.tolist()), usual.fov_y_deg, subject.body, rotates_with_body=False)


def _nearest_eye_m(subject: Subject, target: Sequence[float] | Rows, axes: Rows, slope: float) -> float:
    """Returns the smallest distance between the eye and the target at which the whole subject is visible. Parts of the
    subject that are nearer to the eye appear larger."""
    places = subject.places - axes @ np.asarray(target)
    across = ((np.abs(places[:, :2]) + subject.radii) / SCREEN).max(axis=1)
    return float((across / (MOST_FILL * slope) - places[:, 2]).max())


def _subject(model: MjModel, data: MjData, axes: Rows) -> Subject | None:
    """Returns the moving bodies in their poses at the start. If no body moves, returns everything except planes.
    Returns None if MuJoCo's own camera is better."""
    moves = model.body_dofnum[model.body_weldid] > 0
    trees, bodies = np.unique(model.body_rootid[moves], return_counts=True)
    if not len(trees):
        return _framed(model, data, np.ones(model.nbody, bool), axes)
    largest = int(trees[bodies.argmax()])
    if len(trees) == 1:
        return _of_tree(model, data, largest, axes)
    alone = _of_tree(model, data, largest, axes) if (bodies == bodies.max()).sum() == 1 else None
    if alone is not None and model.stat.extent > FAR_LARGER * max(alone.half_sizes):
        return alone
    if not all(_travels(model, tree) for tree in trees.tolist()):
        return None
    return _framed(model, data, np.isin(model.body_rootid, trees), axes)


def _travels(model: MjModel, root: int) -> bool:
    """True if a tree of bodies can travel without limit, at least along a line."""
    kinds, limited = _joints(model, root)
    is_free = kinds == int(mujoco.mjtJoint.mjJNT_FREE)
    return bool((is_free | (_slides(kinds) & ~limited)).any())


def _joints(model: MjModel, body: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Returns the types of a body's joints, and a mask of the joints that are limited."""
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    return model.jnt_type[first : first + count], model.jnt_limited[first : first + count] != 0


def _slides(kinds: NDArray[np.int32]) -> NDArray[np.bool_]:
    return np.asarray(kinds == int(mujoco.mjtJoint.mjJNT_SLIDE))


def _of_tree(model: MjModel, data: MjData, root: int, axes: Rows) -> Subject | None:
    framed = _framed(model, data, model.body_rootid == root, axes)
    if framed is not None and _travels(model, root):
        return framed._replace(body=root)
    if framed is None or bool(_slides(_joints(model, root)[0]).any()):
        return None
    start = data.xpos[root]
    reach = float(np.linalg.norm(framed.middle - start)) + math.hypot(*framed.half_sizes)
    return Subject(start.copy(), (reach, reach), (axes @ start)[None], np.array([[reach]]), is_whole=False)


def _framed(model: MjModel, data: MjData, bodies: NDArray[np.bool_], axes: Rows) -> Subject | None:
    """Returns a subject. It has the bounding spheres of all geoms of these bodies, and the vertices of the skins and
    flexes that these bodies move."""
    geoms = bodies[model.geom_bodyid] & (model.geom_rbound > 0)
    soft = _surface_vertices(model, data, bodies)
    if not geoms.any() and not len(soft):
        return None
    places = np.concatenate([data.geom_xpos[geoms], soft]) @ axes.T
    radii = np.append(model.geom_rbound[geoms], np.zeros(len(soft)))[:, None]
    low, high = (places - radii).min(axis=0), (places + radii).max(axis=0)
    half_x, half_y, _ = ((high - low) / 2).tolist()
    return Subject((low + high) / 2 @ axes, (half_x, half_y), places, radii)


def _surface_vertices(model: MjModel, data: MjData, bodies: NDArray[np.bool_]) -> Rows:
    """Returns all vertices of the shown skins and flexes that at least one of these bodies moves; shape (v, 3)."""
    surfaces = ModelSurfaces(model, data)
    if not surfaces.count:
        return np.zeros((0, 3))
    mujoco.mj_comPos(model, data)
    mujoco.mj_flex(model, data)
    found = surfaces.vertices(PoseArrays(None, data.xpos, data.xquat), surfaces.copy_flexes())
    chosen = [vertices for body, vertices in found.items() if bodies[_carriers(model, body - int(model.nbody))].any()]
    return np.concatenate([np.zeros((0, 3)), *chosen])


def _carriers(model: MjModel, surface: int) -> NDArray[np.int32]:
    """Returns the bodies that move a skin or flex. surface: number of the skin or flex in `ModelSurfaces`."""
    if surface < model.nskin:
        return _segment(model.skin_bonebodyid, model.skin_boneadr, model.skin_bonenum, surface)
    flex = surface - int(model.nskin)
    vertices = _segment(model.flex_vertbodyid, model.flex_vertadr, model.flex_vertnum, flex)
    nodes = _segment(model.flex_nodebodyid, model.flex_nodeadr, model.flex_nodenum, flex)
    carriers = np.concatenate([vertices, nodes])
    return carriers[carriers >= 0]  # body -1 means that nodes move the vertex


def _segment(
    values: NDArray[np.int32], starts: NDArray[np.int32], counts: NDArray[np.int32], i: int
) -> NDArray[np.int32]:
    return values[int(starts[i]) : int(starts[i]) + int(counts[i])]


def _axes(camera: Camera) -> Rows:
    """Returns the unit vectors of a camera's right, up and forward directions, an array of shape (3, 3)."""
    forward = np.subtract(camera.target, camera.eye)
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    across = np.linalg.norm(right)
    right = right / across if across > 1e-6 else np.array((1.0, 0.0, 0.0))
    return np.stack([right, np.cross(right, forward), forward])
