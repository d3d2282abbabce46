"""Opening camera of a model that is run without code (`twixt run model.xml`).

MuJoCo's own camera frames the whole model, including floors and arenas; users look at the parts that move. If these
would be small in the picture, or cut off, the camera stands at another distance along the same line of sight. A skin or
flex counts as a whole if one of its bodies does; a height field counts as a geom.

Always: a tree of bodies that can go anywhere is followed, from its place at the start. One that turns about a fixed
place is framed with all that it can reach, where that is small. Several trees that can go anywhere are framed together,
unless the model is so large that its largest tree would hardly be seen: then that one is. All else, such as a cart on
rails, keeps MuJoCo's own camera.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Camera
from twixt.sim.engines.mujoco.body_poses import TakenPoses
from twixt.sim.engines.mujoco.model.model_camera import default_camera, scene_camera
from twixt.sim.engines.mujoco.model.model_surfaces import ModelSurfaces
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjData, MjModel

# Share of the picture's height, or of its width, that what moves is to have; MuJoCo's own camera is kept between the two
# others.
FILL, LEAST_FILL, MOST_FILL = 0.67, 0.5, 0.95
# Width and height of a picture: of a narrow one, so that wider ones have it all.
SCREEN = np.array((4 / 3, 1.0))
# A model this many times as large as its largest tree of bodies is too wide to be seen as a whole.
FAR_LARGER = 20

Rows = NDArray[np.float64]


class Subject(NamedTuple):
    """middle: metres, world. half_sizes: along the picture's x and y, metres. body: that carries it, or None. is_whole:
    it should never be cut off. places, radii: bounding spheres of all of it, metres: centres (n, 3) along the picture's
    x, y and forward axes, and radii (n, 1)."""

    middle: Rows
    half_sizes: tuple[float, float]
    places: Rows
    radii: Rows
    body: int | None = None
    is_whole: bool = True


def opening_view(model: MjModel) -> Camera:
    """The camera of a scene of `model`."""
    usual = scene_camera(model, default_camera(model))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    axes = _axes(usual)
    subject = _subject(model, data, axes)
    if subject is None or usual.orthographic:
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
    return Camera(tuple(eye.tolist()), tuple(target.tolist()), usual.fov_y_deg, subject.body, turns=False)


def _nearest_eye_m(subject: Subject, target: Sequence[float] | Rows, axes: Rows, slope: float) -> float:
    """Least distance from the target at which an eye sees the whole subject: parts nearer to it appear larger."""
    places = subject.places - axes @ np.asarray(target)
    across = ((np.abs(places[:, :2]) + subject.radii) / SCREEN).max(axis=1)
    return float((across / (MOST_FILL * slope) - places[:, 2]).max())


def _subject(model: MjModel, data: MjData, axes: Rows) -> Subject | None:
    """What moves, at the model's start, else all but planes; None where MuJoCo's own camera frames it best."""
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
    """True for a tree of bodies that can go anywhere, along one line at least."""
    kinds, limited = _joints(model, root)
    is_free = kinds == int(mujoco.mjtJoint.mjJNT_FREE)
    return bool((is_free | (_slides(kinds) & ~limited)).any())


def _joints(model: MjModel, body: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Types of a body's joints, and True for those that are limited."""
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
    """All geoms of these bodies, by their bounding spheres, and the skins and flexes they move, by their vertices."""
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
    """All vertices, (v, 3), of the shown skins and flexes that any of these bodies moves."""
    surfaces = ModelSurfaces(model, data)
    if not surfaces.count:
        return np.zeros((0, 3))
    mujoco.mj_comPos(model, data)
    mujoco.mj_flex(model, data)
    found = surfaces.vertices(TakenPoses(None, data.xpos, data.xquat), surfaces.take())
    chosen = [vertices for body, vertices in found.items() if bodies[_carriers(model, body - int(model.nbody))].any()]
    return np.concatenate([np.zeros((0, 3)), *chosen])


def _carriers(model: MjModel, surface: int) -> NDArray[np.int32]:
    """Bodies that move a skin or flex, by its number among `ModelSurfaces`."""
    if surface < model.nskin:
        return _part(model.skin_bonebodyid, model.skin_boneadr, model.skin_bonenum, surface)
    flex = surface - int(model.nskin)
    vertices = _part(model.flex_vertbodyid, model.flex_vertadr, model.flex_vertnum, flex)
    nodes = _part(model.flex_nodebodyid, model.flex_nodeadr, model.flex_nodenum, flex)
    carriers = np.concatenate([vertices, nodes])
    return carriers[carriers >= 0]  # vertices that nodes move have no body


def _part(values: NDArray[np.int32], starts: NDArray[np.int32], counts: NDArray[np.int32], i: int) -> NDArray[np.int32]:
    return values[int(starts[i]) : int(starts[i]) + int(counts[i])]


def _axes(camera: Camera) -> Rows:
    """Unit vectors to the right, up and forward in the picture, (3, 3)."""
    forward = np.subtract(camera.target, camera.eye)
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    across = np.linalg.norm(right)
    right = right / across if across > 1e-6 else np.array((1.0, 0.0, 0.0))
    return np.stack([right, np.cross(right, forward), forward])
