"""Finds the body at a pixel. For this, a ray from the eye is intersected with the bodies, in the poses that were
drawn.

First, the bounding spheres of all bodies are tested at once, as arrays. Then the shapes whose sphere the ray meets are
tested, the nearest sphere first. The search ends when the next sphere begins behind the nearest hit so far. The ray is
transformed into the body's frame but not normalized. So distances along the ray are world metres at any scale of the
body.

Always: a hit is in front of the eye. If the eye is inside a shape, the ray hits the far wall. A shape of unknown kind
is treated as its bounding sphere. Pure, except `SeenBodies`. The test of triangles is that of Moeller and Trumbore
1997. The test of boxes is the slab method of Kay and Kajiya 1986.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.config.rules import SCALE3
from twixt.ipc.scene import Box, Capsule, Compound, Cylinder, Ellipsoid, Mesh, Part, Plane, Scene, Shape, Sphere
from twixt.ipc.scene.scene import shape_list
from twixt.render.draw.frame.camera import CameraMatrices
from twixt.render.interpolation.poses import Poses
from twixt.render.scene.stage import Stage
from twixt.render.scene.views import side_by_side
from twixt.render.snapshots.intake import as_drawn

if TYPE_CHECKING:
    from twixt.ipc.session.link import Link


# Number of mesh faces that are tested at once. The corners of these faces, and the edge vectors between them, take
# about 30 MiB.
CHUNK_FACES = 200_000
MISSED = math.inf

Vector = NDArray[np.float64]
Viewport = tuple[int, int, int, int]


class Ray(NamedTuple):
    """Ray from `origin` along `direction`. Its points are origin + t * direction with t > 0. In the world, `direction`
    has length 1, so t is in metres."""

    origin: Vector
    direction: Vector


class Hit(NamedTuple):
    """The first body that a ray meets. point: place where the ray meets the body, in metres, in world coordinates."""

    body: int
    point: Vector


def ray_of(matrices: CameraMatrices, viewport: Viewport, x_px: float, y_px: float, height_px: int) -> Ray:
    """Ray through a pixel of a picture. x_px, y_px: position of the pixel, from the window's top left corner.
    height_px: height of the window."""
    left, bottom, width, height = viewport
    x, y = 2 * (x_px - left) / max(width, 1) - 1, 2 * (height_px - y_px - bottom) / max(height, 1) - 1
    turn, projection = matrices.view[:3, :3].astype(np.float64), matrices.projection.astype(np.float64)
    across, along = x / projection[0, 0], y / projection[1, 1]
    origin = np.array(matrices.eye)
    if matrices.orthographic:
        return Ray(origin + turn.T @ (across, along, 0.0), -turn[2])
    direction = turn.T @ (across, along, -1.0)
    return Ray(origin, direction / np.linalg.norm(direction))


def first_hit(ray: Ray, scene: Scene, poses: Poses) -> Hit | None:
    """The first visible body that the ray meets, or None if the ray meets no body."""
    count = len(poses)
    table = shape_list(scene).table
    if not count or not table:
        return None
    rows, scale = shape_list(scene).rows_for(count), poses.scale.astype(np.float64)[:, None]
    stretch = poses.columns.get(SCALE3)
    scale = scale * (np.ones(3) if stretch is None or stretch.shape != (count, 3) else stretch.astype(np.float64))
    reach = np.array([shape.reach for shape in table])[rows] * np.abs(scale).max(axis=1)
    away = poses.position - ray.origin
    along = away @ ray.direction
    half_squared = reach**2 - (away**2).sum(axis=1) + along**2
    with np.errstate(invalid="ignore"):
        near = along - np.sqrt(half_squared)
        is_met = poses.visible & (half_squared >= 0) & (along + reach > 0)
    bodies = np.flatnonzero(is_met)
    best, found = MISSED, -1
    for body in bodies[np.argsort(near[bodies])]:
        if near[body] > best:
            break
        if not scale[body].all():
            continue
        turn = rotation_of(poses.orientation[body])
        local = Ray(turn.T @ -away[body] / scale[body], turn.T @ ray.direction / scale[body])
        if (distance := distance_to(table[rows[body]], local)) < best:
            best, found = distance, int(body)
    return None if found < 0 else Hit(found, ray.origin + best * ray.direction)


def rotation_of(orientation: NDArray[np.floating]) -> NDArray[np.float64]:
    """Rotation matrix, shape (3, 3), of the unit quaternion `orientation`, order xyzw."""
    x, y, z, w = (float(value) for value in orientation)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def distance_to(shape: Shape, ray: Ray) -> float:
    """Smallest t > 0 at which the ray meets the shape, or MISSED if the ray does not meet it. The ray is in the
    shape's frame."""
    match shape:
        case Compound():
            return min((_distance_to_part(part, ray) for part in shape.parts), default=MISSED)
        case Mesh():
            return _to_mesh(shape, ray)
        case Box():
            return _to_box(np.array(shape.size) / 2, ray)
        case Plane():
            return _to_rectangle(np.array(shape.size) / 2, ray)
        case Ellipsoid():
            radii = np.array(shape.size) / 2
            return _to_ball(1.0, Ray(ray.origin / radii, ray.direction / radii))
        case Cylinder():
            return min(_to_tube(shape.radius, shape.length / 2, ray), _to_caps(shape.radius, shape.length / 2, ray))
        case Capsule():
            half = shape.length / 2
            ends = (_to_end(side, half, shape.radius, ray) for side in (-1, 1))
            return min(_to_tube(shape.radius, half, ray), *ends)
        case Sphere():
            return _to_ball(shape.radius, ray)
        case _:
            return _to_ball(shape.reach, ray)


def _distance_to_part(part: Part, ray: Ray) -> float:
    turn = rotation_of(np.array(part.orientation))
    return distance_to(part.shape, Ray(turn.T @ (ray.origin - part.position), turn.T @ ray.direction))


def _first(*distances: float) -> float:
    return min((t for t in distances if t > 0), default=MISSED)


def _to_ball(radius: float, ray: Ray) -> float:
    return _first(*_roots(ray.direction, ray.origin, radius))


def _to_end(side: int, half: float, radius: float, ray: Ray) -> float:
    """Distance along the ray to the half sphere at one end of a capsule, or MISSED. side: 1 for the end at positive z,
    -1 for the other end. half: half of the distance between the centres of the two half spheres."""
    roots = _roots(ray.direction, ray.origin - (0.0, 0.0, side * half), radius)
    return _first(*(t for t in roots if side * (ray.origin[2] + t * ray.direction[2]) >= half))


def _roots(direction: Vector, away: Vector, radius: float) -> tuple[float, ...]:
    """The two values of t at which the vector away + t * direction has length `radius`. Empty if there are no such
    values."""
    a, half_b = float(direction @ direction), float(away @ direction)
    under = half_b * half_b - a * (float(away @ away) - radius * radius)
    if a <= 0 or under < 0:
        return ()
    root = math.sqrt(under)
    return (-half_b - root) / a, (-half_b + root) / a


def _to_box(half: Vector, ray: Ray) -> float:
    with np.errstate(all="ignore"):
        one, other = (-half - ray.origin) / ray.direction, (half - ray.origin) / ray.direction
    is_along = ray.direction == 0
    if (np.abs(ray.origin[is_along]) > half[is_along]).any():
        return MISSED
    enter = float(np.where(is_along, -np.inf, np.minimum(one, other)).max())
    leave = float(np.where(is_along, np.inf, np.maximum(one, other)).min())
    return _first(enter, leave) if enter <= leave else MISSED


def _to_rectangle(half: Vector, ray: Ray) -> float:
    if ray.direction[2] == 0:
        return MISSED
    t = -ray.origin[2] / ray.direction[2]
    at = ray.origin[:2] + t * ray.direction[:2]
    return _first(t) if (np.abs(at) <= half).all() else MISSED


def _to_tube(radius: float, half: float, ray: Ray) -> float:
    roots = _roots(ray.direction[:2], ray.origin[:2], radius)
    return _first(*(t for t in roots if abs(ray.origin[2] + t * ray.direction[2]) <= half))


def _to_caps(radius: float, half: float, ray: Ray) -> float:
    if ray.direction[2] == 0:
        return MISSED
    ends = ((side * half - ray.origin[2]) / ray.direction[2] for side in (-1, 1))
    return _first(*(t for t in ends if math.hypot(*(ray.origin[:2] + t * ray.direction[:2])) <= radius))


def _to_mesh(mesh: Mesh, ray: Ray) -> float:
    best = MISSED
    for start in range(0, len(mesh.faces), CHUNK_FACES):
        corners = mesh.vertices[mesh.faces[start : start + CHUNK_FACES]].astype(np.float64)
        first, edge, other = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        across = np.cross(ray.direction, other)
        area = (edge * across).sum(axis=1)
        away = ray.origin - first
        turned = np.cross(away, edge)
        with np.errstate(all="ignore"):
            u, v = (away * across).sum(axis=1) / area, turned @ ray.direction / area
            t = (other * turned).sum(axis=1) / area
            is_hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0)
        if is_hit.any():
            best = min(best, float(t[is_hit].min()))
    return best


# Bodies as last drawn in the main picture, and rays through the pixels of this picture.
#
# A picture computes poses for each watcher of bodies (`Picture.watch`). A watch begins with the newest snapshots of
# the link. So poses are available at once, even if the world stands still.
#
# Always: bodies and rays belong to the same frame, the last one drawn.


WATCHER = "pointer"  # name for `Picture.watch`, under which poses are watched


class SeenBodies:
    """Bodies of one stage, as drawn. link: source of the stage's snapshots. axes: the right, up and backward
    directions of the camera at the last ray, as unit vectors in the world, shape (3, 3). eye: position of the
    camera at the last ray, in metres, in world coordinates. target: the camera's target at the last ray, likewise."""

    def __init__(self, stage: Stage, link: Link) -> None:
        self._stage, self._link = stage, link
        self.axes: NDArray[np.float64] = np.eye(3)
        self.eye: NDArray[np.float64] = np.zeros(3)
        self.target: NDArray[np.float64] = np.zeros(3)

    @property
    def scene(self) -> Scene:
        """The scene that is drawn."""
        return self._stage.scene

    @property
    def has_camera(self) -> bool:
        """False before the first frame, and from the arrival of a new camera until a frame is drawn with it."""
        return self._stage.view.orbit is not None

    def all(self) -> Poses:
        """Poses of all bodies."""
        self._watch(None)
        return self._stage.main.watched(WATCHER)

    def one(self, body: int) -> Poses:
        """Pose of one body, as a single row. There is no row if the body does not exist."""
        if self._stage.main.watching(WATCHER) != [body]:
            self._watch(np.array([body], np.intp))
        return self._stage.main.watched(WATCHER)

    def forget(self) -> None:
        """Ends the watch. After that, snapshots are no longer copied for this object."""
        self._stage.main.unwatch(WATCHER)

    def ray(self, x_px: float, y_px: float, size_px: tuple[int, int]) -> Ray | None:
        """Ray through a pixel of a window of `size_px`; None if the pixel is outside the picture or there is no
        camera."""
        stage = self._stage
        viewport = side_by_side(size_px, len(stage.pictures))[-1]
        if not self.has_camera or x_px < viewport[0]:
            return None
        matrices = stage.view.matrices(stage.main, viewport[2:], size_px)
        self.axes, self.eye = matrices.view[:3, :3].astype(np.float64), np.array(matrices.eye)
        self.target = np.array(matrices.target)
        return ray_of(matrices, stage.view.around_axis(viewport, size_px), x_px, y_px, size_px[1])

    def _watch(self, rows: NDArray[np.intp] | None) -> None:
        past = [as_drawn(snapshot, self._stage.scene) for snapshot in self._link.latest_pair()]
        self._stage.main.watch(WATCHER, rows, past)
