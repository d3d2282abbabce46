"""Finds panels of the overlay under which nothing moves: that part of the picture looks the same in the next frame.

The one idea: the view through a rectangle of the picture has four side planes, and a ball beyond one of them is not
seen in the rectangle. One matrix product tests the bounding balls of all bodies that move against all rectangles. A
rectangle without them and their shadows depends on camera, scene and the records of the still bodies alone.

Always: a rectangle is free only if that is certain. No rectangle is free in a picture with a plane that moves, deforming
surfaces, scales along three axes, several layers or more than 512 rows, in a split window, or with dots or lines. Reads
no pixels and draws nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.render.draw.bodies.still_planes import Same
from twixt.render.draw.camera import CameraMatrices
from twixt.render.draw.flat.few_bodies import LONGER, BodyRecords, FewBodies, Ground, moving_rows
from twixt.render.draw.flat.panel_backgrounds import Rectangle
from twixt.render.draw.frame.frame_block import SceneView
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.frame.quality_levels import Level
from twixt.render.draw.shapes.shadows import FOOT_REACH, LOWEST_LIGHT, SPOT_REACH

# Added on each side of a rectangle, for soft edges and rounding.
MARGIN_PX = 3
# Factor on radii, for spheres drawn as circles and for sizes between two snapshots.
RADIUS_MARGIN = 1.1
# Largest distance of a curve from the straight line, as a share of the gap times the sum of both speeds. Hermite's
# weights give 4/27.
BENT = 0.15
# Pairs of snapshots whose result is kept: the playback clock draws a few snapshots behind the newest.
KEPT_PAIRS = 8
# Largest float32 rounding error of a position, as a share of its largest coordinate: drawing adds the error back to
# poses made by the CPU.
LEFT = 3**0.5 * 2.0**-24
# Radius of the shadows of a ball; of other bodies below them, and of their ellipses before the light leans. In radii.
# Two rods in the bounding ball, one that moves the ellipse and one that stretches it, give 1 + FOOT_REACH.
BALL_SPOT, LONG_FOOT, LONG_SPOT = max(FOOT_REACH, SPOT_REACH), 1 + FOOT_REACH, 2**0.5 * SPOT_REACH
# A body that is not a ball may reach up to this many more radii of its ball down towards the ground.
RODS_DOWN = 3**0.5


class Found(NamedTuple):
    """Result for a pair of snapshots. clear: of each rectangle. still: rows that move, and the other bodies' records."""

    clear: list[bool]
    still: tuple[bytes, bytes]


class PanelBackdrop:
    """Free rectangles of each frame: call `begin`, then `drawn` for each picture, then `free`."""

    def __init__(self, records: BodyRecords) -> None:
        self._records = records
        self.key: Hashable = None  # of the rectangles that `free` found
        self._frame_key: Hashable = None
        self._pictures = 0
        self._few: FewBodies | None = None
        self._view: SceneView | None = None
        self._sides_of: object = None
        self._sides: NDArray[np.floating] = np.zeros((0, 3))
        self._eye: Sequence[float] = (0.0, 0.0, 0.0)
        self._is_asked = False  # `free` was called in this frame
        self._panels: tuple[Rectangle, ...] | None = None  # given to `free` in this frame
        self._is_drawn_over = False  # by dots or lines
        self._known: deque[tuple[FewBodies, Found]] = deque(maxlen=KEPT_PAIRS)  # results for `_sides`

    def begin(self) -> None:
        """Begins a frame: nothing is drawn yet."""
        self._pictures, self._few, self._is_asked = 0, None, False
        self._panels, self._is_drawn_over = None, False

    def drawn(self, key: Hashable, view: SceneView, layers: Sequence[PlacedLayer]) -> None:
        """Records a picture of the frame. key: everything that it depends on except the bodies."""
        self._pictures += 1
        self._frame_key, self._view, self._few = (key, view.level, Same(view.scene)), view, None
        self._few = self._records.of_picture(view, layers)

    def drawn_over(self) -> None:
        """Records that dots or lines were drawn: no rectangle of the frame is free."""
        self._few, self._is_drawn_over = None, True

    @property
    def panels(self) -> tuple[Rectangle, ...] | None:
        """Rectangles of all that was drawn over the frame's only picture; None if not known."""
        return self._panels if self._pictures == 1 and not self._is_drawn_over else None

    def free(self, rectangles: Sequence[Rectangle], size_px: tuple[int, int]) -> list[bool]:
        """For each rectangle of a window of this size: True if the frame's pixels there depend on `key` alone."""
        few, view = self._few, self._view
        self._panels = tuple(rectangles) if view is not None and view.viewport == (0, 0, *size_px) else None
        if few is None or view is None or self._pictures != 1 or view.viewport != (0, 0, *size_px):
            return [False] * len(rectangles)
        camera = view.camera
        self.key = self._frame_key
        if not len(few.older[0]) or not rectangles:
            return [True] * len(rectangles)
        if camera.orthographic:  # the planes of `sides_of` all pass through one eye
            return [False] * len(rectangles)
        self._is_asked = True
        key = tuple(rectangles), camera.view.tobytes(), camera.projection.tobytes(), camera.eye, size_px
        if key != self._sides_of:
            self._sides_of, self._sides, self._eye = key, sides_of(rectangles, camera, size_px), camera.eye
            self._known.clear()
        found = self._found_for(few)
        self.key = self._frame_key, found.still
        return found.clear

    def uploaded(self, slot: int) -> None:
        """Records that the newest snapshot is in this slot."""
        self._records.uploaded(slot)

    def prepare_panels(self, scene: Scene, level: Level) -> None:
        """Computes ahead, between two frames, the result for the two newest snapshots and the same rectangles."""
        if self._is_asked and (few := self._records.of_newest(scene, level)) is not None:
            self._found_for(few._replace(gap_s=LONGER * few.gap_s))

    def _found_for(self, few: FewBodies) -> Found:
        for known, found in self._known:
            if known.is_as_good_for(few):
                return found
        moving = moving_rows(few.older[0], few.newer[0])
        still = np.delete(few.older[0], moving) if len(moving) < len(few.older[0]) else few.older[0][:0]
        found = Found(are_clear(few.of(moving), self._eye, self._sides), (moving.tobytes(), still.tobytes()))
        self._known.append((few, found))
        return found


def sides_of(rectangles: Sequence[Rectangle], camera: CameraMatrices, size_px: tuple[int, int]) -> NDArray[np.floating]:
    """Outward unit normals of the planes through the eye and a side of each rectangle: left, right, top, bottom.

    Shape (4 x rectangles, 3), along the world's axes. Rectangles are enlarged by MARGIN_PX on each side.
    """
    across, along = float(camera.projection[0, 0]), float(camera.projection[1, 1])
    width, height = size_px
    normals = []
    for left, top, right, bottom in rectangles:
        low_x, high_x = ((2 * x / width - 1) / across for x in (left - MARGIN_PX, right + MARGIN_PX))
        low_y, high_y = ((1 - 2 * y / height) / along for y in (bottom + MARGIN_PX, top - MARGIN_PX))
        normals += [(-1, 0, -low_x), (1, 0, high_x), (0, 1, high_y), (0, -1, -low_y)]
    eye_space = np.array(normals, np.float64)
    eye_space /= np.linalg.norm(eye_space, axis=1, keepdims=True)
    return np.asarray(eye_space @ camera.view[:3, :3].astype(np.float64))


def are_clear(few: FewBodies, eye: Sequence[float], sides: NDArray[np.floating]) -> list[bool]:
    """For each rectangle: True if no body and no shadow is seen between its four sides. sides: from `sides_of`."""
    (older, extent), (newer, later) = few.older, few.newer
    sizes = few.sizes
    if not len(older):
        return [True] * (len(sides) // 4)
    if extent is None or later is None or sizes.is_plane.any():
        return [False] * (len(sides) // 4)
    # If both ends are beyond a side, so is the straight line between them.
    beyond = (older["position"] - np.array(eye)) @ sides.T
    both = min(len(older), len(newer))
    np.minimum(beyond[:both], (newer["position"][:both] - np.array(eye)) @ sides.T, out=beyond[:both])
    scale = max(extent.scale, later.scale) * RADIUS_MARGIN
    radius, arm = sizes.radius * scale, sizes.arm * scale
    swing = arm + BENT * few.gap_s * 3**0.5 * (extent.speed + later.speed)
    swing += LEFT * max(map(abs, (*extent.low, *extent.high)))
    if few.ground is None:
        return [bool(one.all()) for one in _outside(beyond, radius + swing).T]
    away, lean, highest, spot = shadow_reach(few.ground, few.sizes.are_balls)
    # First one ball around each body and its shadow: few bodies are left for the closer test.
    whole = highest * (1 + lean) + spot
    near = np.flatnonzero(~_outside(beyond, whole * radius + (1 + lean) * swing).all(axis=1))
    if not len(near):
        return [True] * (len(sides) // 4)
    balls = _closely(few, near, (radius[near], arm[near]), eye)
    clear = _outside(balls.place @ sides.T, balls.radius + balls.reach).all(axis=0)
    clear &= _are_free_of_shadows(balls, few.ground.height_m - eye[2], away, (highest, spot), sides)
    return [bool(one) for one in clear]


class _Balls(NamedTuple):
    """Balls that move within `reach` of `place` during a gap. Metres, relative to the eye."""

    place: NDArray[np.floating]
    radius: NDArray[np.floating]
    reach: NDArray[np.floating]


class ShadowReach(NamedTuple):
    """How far the shadows of bodies reach on the ground.

    away: offset of a shadow along x and y for each metre above the ground; lean: the sum of both magnitudes. highest:
    height from which on there is no shadow, and spot: radius of a shadow, both in radii of the body's bounding ball.
    """

    away: NDArray[np.floating]
    lean: float
    highest: float
    spot: float


def shadow_reach(ground: Ground, are_balls: bool) -> ShadowReach:
    """Reach of the shadows on this ground. are_balls: each body is a sphere."""
    away = -np.asarray(ground.light[:2]) / max(ground.light[2], LOWEST_LIGHT)
    lean = float(np.abs(away).sum())
    if are_balls:
        return ShadowReach(away, lean, ground.fade_radii, BALL_SPOT)
    return ShadowReach(away, lean, ground.fade_radii + RODS_DOWN, max(LONG_FOOT, LONG_SPOT * (1 + lean)))


def _closely(
    few: FewBodies,
    near: NDArray[np.intp],
    size: tuple[NDArray[np.floating], NDArray[np.floating]],
    eye: Sequence[float],
) -> _Balls:
    """Balls of these rows, each with its own motion between the two snapshots. size: radius and arm, metres."""
    older, newer = few.older[0], few.newer[0]
    place = older["position"][near]
    reach = size[1] + LEFT * np.abs(place).max(axis=1).astype(np.float64)
    rows = near[: np.searchsorted(near, len(newer))]
    way = newer["position"][rows] - place[: len(rows)]
    speed = np.abs(older["velocity"][rows]) + np.abs(newer["velocity"][rows])
    reach[: len(rows)] += np.linalg.norm(way, axis=1) + BENT * few.gap_s * np.linalg.norm(speed, axis=1)
    return _Balls(place - np.array(eye), size[0], reach)


def _are_free_of_shadows(
    balls: _Balls,
    ground: float,
    away: NDArray[np.floating],
    reach_radii: tuple[float, float],
    sides: NDArray[np.floating],
) -> NDArray[np.bool_]:
    """For each rectangle: True if no shadow is seen in it. ground: height above the eye, metres.

    reach_radii: height up to which there are shadows, and radius of the spot below a ball and of the shadow that the
    light casts; each of them is a disc.
    """
    place, radius, reach = balls
    highest, spot = reach_radii
    foot, above = place.copy(), place[:, 2] - ground
    foot[:, 2] = ground
    cast = foot.copy()
    cast[:, :2] += above[:, None] * away
    disc = spot * radius + (1 + float(np.abs(away).sum())) * reach
    none = (above > highest * radius + reach) | (above < -reach)
    seen = [_outside(middle @ sides.T, disc) | none[:, None] for middle in (foot, cast)]
    return np.asarray((seen[0] & seen[1]).all(axis=0))


def _outside(beyond: NDArray[np.floating], radius: NDArray[np.floating]) -> NDArray[np.bool_]:
    """True where a ball is beyond a side of a rectangle: shape (balls, rectangles)."""
    is_beyond = beyond > radius[:, None]
    return is_beyond[:, 0::4] | is_beyond[:, 1::4] | is_beyond[:, 2::4] | is_beyond[:, 3::4]
