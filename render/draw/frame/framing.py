"""Computes the bounds of bodies, and the camera position that shows all bodies at a good size.

Two opposite sides of the view are planes through the eye. They bound a wedge. A ball is inside the wedge if its centre
is at least a radius away from both planes. So for each plane, one maximum over all bodies tells whether all bodies are
inside. The camera's target and distance follow exactly from these maxima, without a search.

Always: if a camera frames bodies, they fill the share FILLED of the picture's width or height, whichever is smaller.
The camera is placed farther away if bodies would otherwise leave the picture on its longer side while the camera
orbits. A floor under other bodies is not framed. Pure: takes and returns numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Box, Plane, Scene, Shape
from twixt.ipc.scene.scene import shape_list
from twixt.ipc.snapshot import VISIBLE
from twixt.render.interpolation.poses import FARTHEST

# A camera that frames bodies lets them fill this share of the picture's width or height, whichever is smaller.
FILLED = 2 / 3
# A body is not framed if its distance from the median position is larger than both limits. One limit is in metres. The
# other limit is a multiple of the median distance along one axis. This is the axis with the largest median distance.
FLOWN_OFF_M, FLOWN_OFF_SPREADS = 1e7, 1000
# No framed body is farther than this many metres from the median position of the bodies.
FARTHEST_FRAMED_M = 1e13
# A box may be a floor or a wall if its shortest edge is below this share of its second longest edge.
THIN = 1 / 8
# If a scene has no visible bodies, its bounds are at this distance from the origin on each axis, in metres.
EMPTY_M = 1.0

# Number of iterations that place the framed bodies in the middle of the picture's shorter side. After these iterations,
# the error of their position is below a pixel.
CENTRINGS = 4

Floats = NDArray[np.float64]
Vector = tuple[float, float, float]


class Bounds(NamedTuple):
    """A box in the world whose edges are parallel to the axes, in metres."""

    low: Vector
    high: Vector

    @property
    def middle(self) -> Vector:
        """Centre of the box, metres."""
        return _xyz([(low + high) / 2 for low, high in zip(self.low, self.high, strict=True)])

    @property
    def radius_m(self) -> float:
        """Half the diagonal of the box, metres."""
        return math.dist(self.low, self.high) / 2


class BoundingBalls(NamedTuple):
    """Balls around bodies, in the world, in metres. place: centres, (3, n). radius: (n,)."""

    place: Floats
    radius: Floats

    @property
    def bounds(self) -> Bounds:
        """The box around all balls. If there are no balls, its faces are EMPTY_M away from the origin."""
        if not len(self.radius):
            return Bounds((-EMPTY_M,) * 3, (EMPTY_M,) * 3)
        low, high = (self.place - self.radius).min(axis=1), (self.place + self.radius).max(axis=1)
        return Bounds(_xyz(low), _xyz(high))


class FramedView(NamedTuple):
    """Lens and directions of a camera. right, up, backward: unit vectors of the world, (3,).

    tangent: tangent of half the vertical field of view. aspect: width of the picture divided by its height.
    """

    right: Floats
    up: Floats
    backward: Floats
    tangent: float
    aspect: float
    orthographic: bool


class Place(NamedTuple):
    """Position from which a camera frames bodies. It consists of the camera's target, and the camera's distance from
    the target in metres."""

    target: Vector
    distance_m: float


def seen_balls(scene: Scene, bodies: NDArray[np.void]) -> BoundingBalls:
    """Returns balls around all visible bodies, and balls of radius 0 at the corners of the scene's outline.

    bodies: dtype `BODY`, (n,). The result leaves out bodies that are too far away to be drawn. It also leaves out
    bodies that are too far from the other bodies to be shown together with them.
    """
    return _balls(scene, bodies, np.ones(len(bodies), bool))


def framed_balls(scene: Scene, bodies: NDArray[np.void]) -> BoundingBalls:
    """Returns the result of `seen_balls` without floors and walls, see `are_floors`."""
    balls = seen_balls(scene, bodies)
    thin = np.array([is_thin(shape) for shape in shape_list(scene).table] or [False])
    if not thin.any():
        return balls
    rows = thin[shape_list(scene).rows_for(len(bodies))]
    rest = _balls(scene, bodies, ~rows)
    others = len(rest.radius)
    largest_m = max(shape.reach for shape, is_floor in zip(shape_list(scene).table, thin, strict=True) if is_floor)
    return rest if are_floors(len(balls.radius) - others, others, largest_m, rest.bounds.radius_m) else balls


def are_floors(thin: int, others: int, largest_m: float, others_m: float) -> bool:
    """Returns True if rectangles and thin boxes are floors and walls, which are not framed: if the largest of them is
    larger than all other bodies together, and if there are not more of them than of other bodies.

    thin, others: number of rectangles and thin boxes, and of other bodies. largest_m: largest radius of the first.
    others_m: radius of the box around the others.
    """
    return 0 < others >= thin and largest_m > others_m


def bounds_of(scene: Scene, bodies: NDArray[np.void]) -> Bounds:
    """Returns the box around all visible bodies and the scene's outline, in metres. If there are none, the box is from
    -1 to 1 m on each axis."""
    return seen_balls(scene, bodies).bounds


def small_size_of(scene: Scene, bodies: NDArray[np.void]) -> float:
    """Returns a quarter of a small body's radius, in metres. This radius is the lower quartile of the visible bodies'
    radii. Returns 0 if there are no bodies."""
    radius = _radii(scene, bodies)
    radius = radius[((bodies["flags"] & VISIBLE) != 0) & np.isfinite(radius) & (radius > 0)]
    at = (len(radius) - 1) // 4
    return float(np.partition(radius, at)[at]) / 4 if len(radius) else 0.0


def place_for(balls: BoundingBalls, view: FramedView) -> Place:
    """Returns the place from which a camera with this lens and these directions frames the balls."""
    middle = np.array(balls.bounds.middle)
    rest = balls.place - middle[:, None] if len(balls.radius) else np.zeros((3, 1))
    radius = balls.radius if len(balls.radius) else np.array([EMPTY_M])
    farthest_m = float((np.sqrt((rest * rest).sum(axis=0)) + radius).max())
    if farthest_m == 0:
        radius, farthest_m = radius + EMPTY_M, EMPTY_M
    smaller, larger = view.tangent * min(1.0, view.aspect), view.tangent * max(1.0, view.aspect)
    across, along, toward = view.right @ rest, view.up @ rest, view.backward @ rest
    if view.orthographic:
        off = [_between(side, radius) for side in (across, along)]
        distance_m, per_reach = max(half for _, half in off) / (FILLED * smaller), 1 / larger
    else:
        tangent, per_reach = FILLED * smaller, math.hypot(1, larger) / larger
        cosine, sine = 1 / math.hypot(1, tangent), tangent / math.hypot(1, tangent)
        off = [_between(side * cosine, toward * sine + radius) for side in (across, along)]
        distance_m = max(half / sine for _, half in off)
        off = [
            (_centred(side, radius, distance_m - toward) if half / sine < distance_m else at / cosine, half)
            for side, (at, half) in zip((across, along), off, strict=True)
        ]
    (right_m, _), (up_m, _) = off
    target = middle + right_m * view.right + up_m * view.up
    return Place(_xyz(target), max(distance_m, (farthest_m + math.hypot(right_m, up_m)) * per_reach))


def _centred(side: Floats, radius: Floats, depth: Floats) -> float:
    """Returns the sideways position of the eye at which the balls are in the middle of the picture, in metres. The
    balls then extend equally far to both sides.

    When the eye moves sideways, near balls move farther in the picture than far balls. So several iterations are
    needed. Each one moves the eye as far as the nearest ball needs. With a larger step, the iteration may diverge.
    """
    at = 0.0
    for _ in range(CENTRINGS):
        at += _between((side - at) / depth, radius / depth)[0] * float(depth.min())
    return at


def _between(side: Floats, room: Floats) -> tuple[float, float]:
    """Returns the middle and half the length of the interval that contains `side - room` and `side + room` of all
    balls."""
    highest, lowest = float((side + room).max()), float((side - room).min())
    return (highest + lowest) / 2, (highest - lowest) / 2


def corners_of(box: Sequence[Sequence[float]]) -> Floats:
    """Returns the eight corners of a box, (3, 8). box: two opposite corners."""
    low, high = np.array(box, np.float64)
    return np.array([np.where([bit & 1, bit & 2, bit & 4], high, low) for bit in range(8)]).T


def is_thin(shape: Shape) -> bool:
    """Returns True for a shape that may be a floor or a wall: a rectangle, or a thin box."""
    if isinstance(shape, Box):
        thickness, edge, _ = sorted(shape.size)
        return thickness < THIN * edge
    return isinstance(shape, Plane)


def _balls(scene: Scene, bodies: NDArray[np.void], chosen: NDArray[np.bool_]) -> BoundingBalls:
    radius = _radii(scene, bodies)
    drawn = chosen & ((bodies["flags"] & VISIBLE) != 0) & np.isfinite(radius)
    # Each column is copied first, because numpy takes three times as long to reduce a column inside records of 64
    # bytes.
    columns = [np.ascontiguousarray(bodies["position"][:, axis]) for axis in range(3)]
    for column in columns:
        drawn &= np.abs(column) < FARTHEST
    drawn = _within_sight(columns, drawn)
    place = np.stack([column[drawn].astype(np.float64) for column in columns])
    sizes = np.abs(radius[drawn]).astype(np.float64)
    if scene.outline is not None:
        place, sizes = np.concatenate([place, corners_of(scene.outline)], axis=1), np.concatenate([sizes, np.zeros(8)])
    return BoundingBalls(place, sizes)


def _radii(scene: Scene, bodies: NDArray[np.void]) -> NDArray[np.float32]:
    reach = np.array([shape.reach for shape in shape_list(scene).table] or [0.5], np.float32)
    return reach[shape_list(scene).rows_for(len(bodies))] * bodies["scale"].astype(np.float32)


def _within_sight(columns: list[NDArray[np.float32]], drawn: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns a mask of the bodies to frame. The mask contains all bodies in `drawn`. If some of them are too far away,
    it contains only the bodies near the median position."""
    kept = [column[drawn].astype(np.float64) for column in columns]
    if not drawn.any() or max(np.ptp(column) for column in kept) <= FLOWN_OFF_M:
        return drawn
    half = (len(kept[0]) - 1) // 2
    middles = [np.partition(column, half)[half] for column in kept]
    off = [np.abs(column - middle) for column, middle in zip(kept, middles, strict=True)]
    spread_m = max(float(np.partition(distances, half)[half]) for distances in off)
    farthest_m = min(max(FLOWN_OFF_M, FLOWN_OFF_SPREADS * spread_m), FARTHEST_FRAMED_M)
    near = drawn.copy()
    for column, middle in zip(columns, middles, strict=True):
        near &= np.abs(column.astype(np.float64) - middle) <= farthest_m
    return near if near.any() else drawn


def _xyz(values: object) -> Vector:
    x, y, z = (float(value) for value in values)  # type: ignore[attr-defined]
    return x, y, z
