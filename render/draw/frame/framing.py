"""Bounds of bodies, and the camera position that shows all bodies at a good size.

A ball is inside a wedge of the view if its centre is at least a radius away from both planes of the wedge. So for each
plane, one maximum over all bodies tells whether all bodies are inside. The camera's centre and distance follow exactly
from these maxima, without a search.

Always: in the framed view, bodies fill the share FILLED of the picture's smaller extent. The camera is placed farther
away if bodies would otherwise leave the picture's larger extent while the camera orbits. A floor under other bodies is
not framed. Pure: takes and returns numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Box, Plane, Scene, Shape
from twixt.ipc.snapshot import VISIBLE
from twixt.render.interpolation.poses import FARTHEST

# Share of the picture's smaller extent that framed bodies fill.
FILLED = 2 / 3
# If a body is farther from the median position than both limits, it is not framed. One limit is in metres. The other
# is a multiple of the median distance along one axis, the axis with the largest median distance.
FLOWN_OFF_M, FLOWN_OFF_SPREADS = 1e7, 1000
# No framed body is farther than this from the middle, metres.
FARTHEST_FRAMED_M = 1e13
# If a box is thinner than this share of its second longest edge, it may be a floor or a wall.
THIN = 1 / 8
# Bounds of a scene without visible bodies: the distance from the origin on each axis, metres.
EMPTY_M = 1.0

# Number of iterations that centre the framed bodies along the shorter side of the picture. The remaining error is
# below a pixel.
CENTRINGS = 4

Floats = NDArray[np.float64]
Vector = tuple[float, float, float]


class Bounds(NamedTuple):
    """An axis-aligned box in the world, metres."""

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
    """Bounding balls of bodies, metres, world. place: (3, n). radius: (n,)."""

    place: Floats
    radius: Floats

    @property
    def bounds(self) -> Bounds:
        """Box around all balls; if there are no balls, a box of EMPTY_M around the origin."""
        if not len(self.radius):
            return Bounds((-EMPTY_M,) * 3, (EMPTY_M,) * 3)
        low, high = (self.place - self.radius).min(axis=1), (self.place + self.radius).max(axis=1)
        return Bounds(_xyz(low), _xyz(high))


class FramedView(NamedTuple):
    """Lens and directions of a camera. right, up, backward: unit vectors of the world, (3,).

    tangent: tangent of half the vertical field of view. aspect: width / height of the picture.
    """

    right: Floats
    up: Floats
    backward: Floats
    tangent: float
    aspect: float
    orthographic: bool


class Place(NamedTuple):
    """Position from which a camera frames bodies: the camera's target, and its distance from the target, metres."""

    target: Vector
    distance_m: float


def seen_balls(scene: Scene, bodies: NDArray[np.void]) -> BoundingBalls:
    """Balls around all visible bodies, and balls of radius 0 at the corners of the scene's outline.

    bodies: dtype `BODY`, (n,). Leaves out bodies that are too far away to be drawn, and bodies that are too far from
    the others to be shown with them.
    """
    return _balls(scene, bodies, np.ones(len(bodies), bool))


def framed_balls(scene: Scene, bodies: NDArray[np.void]) -> BoundingBalls:
    """`seen_balls` without floors and walls. Floors and walls are rectangles and thin boxes that are larger than all
    other bodies together.

    Floors and walls are included if there are no other bodies, or if there are fewer other bodies than floors and
    walls.
    """
    balls = seen_balls(scene, bodies)
    thin = np.array([is_thin(shape) for shape in scene.distinct_shapes] or [False])
    if not thin.any():
        return balls
    rows = thin[scene.shape_rows(len(bodies))]
    rest = _balls(scene, bodies, ~rows)
    others = len(rest.radius)
    if not others or len(balls.radius) - others > others:
        return balls
    largest_m = max(shape.reach for shape, is_floor in zip(scene.distinct_shapes, thin, strict=True) if is_floor)
    return rest if largest_m > rest.bounds.radius_m else balls


def bounds_of(scene: Scene, bodies: NDArray[np.void]) -> Bounds:
    """Box around all visible bodies and the scene's outline, metres. If there are none, -1 to 1 m on each axis."""
    return seen_balls(scene, bodies).bounds


def small_size_of(scene: Scene, bodies: NDArray[np.void]) -> float:
    """A quarter of the lower quartile of the visible bodies' radii, metres; 0 if there are no bodies."""
    radius = _radii(scene, bodies)
    radius = radius[((bodies["flags"] & VISIBLE) != 0) & np.isfinite(radius) & (radius > 0)]
    at = (len(radius) - 1) // 4
    return float(np.partition(radius, at)[at]) / 4 if len(radius) else 0.0


def place_for(balls: BoundingBalls, view: FramedView) -> Place:
    """Place from which a camera with this lens and direction frames the balls."""
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
    """Sideways position of the eye, metres, from which the balls extend equally far to both sides of the picture.

    When the eye moves sideways, near balls move farther in the picture than far balls, so several iterations are
    needed.
    """
    at = 0.0
    for _ in range(CENTRINGS):
        at += _between((side - at) / depth, radius / depth)[0] * float(depth.mean())
    return at


def _between(side: Floats, room: Floats) -> tuple[float, float]:
    """Middle and half length of the interval that contains `side - room` and `side + room` of all balls."""
    highest, lowest = float((side + room).max()), float((side - room).min())
    return (highest + lowest) / 2, (highest - lowest) / 2


def is_thin(shape: Shape) -> bool:
    """True for a shape that may be a floor or a wall: a rectangle, or a thin box."""
    if isinstance(shape, Box):
        thickness, edge, _ = sorted(shape.size)
        return thickness < THIN * edge
    return isinstance(shape, Plane)


def _balls(scene: Scene, bodies: NDArray[np.void], chosen: NDArray[np.bool_]) -> BoundingBalls:
    radius = _radii(scene, bodies)
    drawn = chosen & ((bodies["flags"] & VISIBLE) != 0) & np.isfinite(radius)
    # Copies column by column: a reduction over the records, with strides of 64 bytes, is three times slower.
    columns = [np.ascontiguousarray(bodies["position"][:, axis]) for axis in range(3)]
    for column in columns:
        drawn &= np.abs(column) < FARTHEST
    drawn = _within_sight(columns, drawn)
    place = np.stack([column[drawn].astype(np.float64) for column in columns])
    sizes = np.abs(radius[drawn]).astype(np.float64)
    if scene.outline is not None:
        low, high = np.array(scene.outline, np.float64)
        corners = np.array([np.where([bit & 1, bit & 2, bit & 4], high, low) for bit in range(8)]).T
        place, sizes = np.concatenate([place, corners], axis=1), np.concatenate([sizes, np.zeros(8)])
    return BoundingBalls(place, sizes)


def _radii(scene: Scene, bodies: NDArray[np.void]) -> NDArray[np.float32]:
    reach = np.array([shape.reach for shape in scene.distinct_shapes] or [0.5], np.float32)
    return reach[scene.shape_rows(len(bodies))] * bodies["scale"].astype(np.float32)


def _within_sight(columns: list[NDArray[np.float32]], drawn: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mask of the bodies to frame: all bodies in `drawn`. If some are too far away, only the bodies near the median
    position."""
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
