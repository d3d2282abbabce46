"""Finds panels of the overlay under which nothing moves: that part of the picture looks the same in the next frame.

The one idea: the view through a rectangle of the picture has four side planes, and a sphere beyond one of them is not
seen in the rectangle. One matrix product tests all spheres against all rectangles. A rectangle without spheres and
shadows depends on camera and scene alone: background, grid, outline.

Always: a rectangle is free only if that is certain. No rectangle is free in a picture with other shapes or more than
512 spheres, in a split window, or with dots or lines. Reads no pixels and draws nothing.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.render.draw.bodies.body_draws import BodyDraws
from twixt.render.draw.camera import CameraMatrices
from twixt.render.draw.flat.panel_backgrounds import Rectangle
from twixt.render.draw.frame.frame_block import SceneView
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.frame.quality_levels import Level
from twixt.render.draw.frame.snapshot_ring import NO_BODIES
from twixt.render.draw.shapes.shadows import FADE_RADII, FOOT_REACH, LOWEST_LIGHT, SPOT_REACH, has_shadows
from twixt.render.draw.spheres.snapshot_bounds import Extent

# Added on each side of a rectangle, for soft edges and rounding.
MARGIN_PX = 3
# Factor on radii, for spheres drawn as circles and for sizes between two snapshots.
RADIUS_MARGIN = 1.1
# Largest distance of a curve from the straight line, as a share of the gap times the sum of both speeds. Hermite's
# weights give 4/27.
BENT = 0.15
# Pairs of snapshots whose result is kept: the playback clock draws a few snapshots behind the newest.
KEPT_PAIRS = 8
# A result computed ahead is for a gap longer by the first factor. A result holds for gaps down to the second factor.
LONGER, AS_LONG = 1.001, 0.99
# Largest float32 rounding error of a position, as a share of its largest coordinate: drawing adds the error back to
# poses made by the CPU.
LEFT = 3**0.5 * 2.0**-24


class Ground(NamedTuple):
    """The ground that shadows fall on: height in metres, world. light: unit vector towards the light, world."""

    height_m: float
    light: NDArray[np.floating]


class FewSpheres(NamedTuple):
    """All bodies of a picture that holds few spheres and nothing else.

    older, newer: records and their bounding box. radii: at scale 1, metres. gap_s: simulated seconds from older to
    newer. ground: None if spheres have no shadows.
    """

    older: tuple[NDArray[np.void], Extent | None]
    newer: tuple[NDArray[np.void], Extent | None]
    radii: NDArray[np.floating]
    gap_s: float
    ground: Ground | None

    def is_as_good_for(self, other: FewSpheres) -> bool:
        """True if a result for these spheres holds for `other`: the same arrays, and a gap at most 1 % shorter."""
        return (
            self.older[0] is other.older[0]
            and self.newer[0] is other.newer[0]
            and self.radii is other.radii
            and self.ground is other.ground
            and AS_LONG * self.gap_s <= other.gap_s <= self.gap_s
        )


NO_SPHERES = FewSpheres((NO_BODIES, None), (NO_BODIES, None), np.zeros(0), 0.0, None)


class SphereRecords:
    """Finds the records of pictures that hold few spheres and nothing else.

    radii: returns the radii of at least the first n bodies of a scene, the same array for the same scene.
    """

    def __init__(self, bodies: BodyDraws, radii: Callable[[Scene, int], NDArray[np.floating]]) -> None:
        self._bodies, self._radii = bodies, radii
        self._uploaded = -1, -1  # the last two slots
        self._gap_s = 0.0  # of the picture drawn last
        self._ground: Ground | None = None
        self._ground_of: Scene | None = None

    def uploaded(self, slot: int) -> None:
        """Records that the newest snapshot is in this slot."""
        self._uploaded = self._uploaded[1], slot

    def of_picture(self, view: SceneView, layers: Sequence[PlacedLayer]) -> FewSpheres | None:
        """Spheres of the picture; None if it holds anything else, or more than 512."""
        if not layers:
            return NO_SPHERES
        layer = layers[0]
        if len(layers) != 1 or layer.variant.stretched or layer.group is not None:
            return None
        self._gap_s = layer.uniforms.gap_s
        return self._between(view.scene, view.level, layer.slots.older, layer.slots.newer)

    def of_newest(self, scene: Scene, level: Level) -> FewSpheres | None:
        """Spheres of a picture between the two snapshots uploaded last; None as for `of_picture`."""
        return self._between(scene, level, *self._uploaded)

    def _between(self, scene: Scene, level: Level, older_slot: int, newer_slot: int) -> FewSpheres | None:
        ring = self._bodies.ring
        older, newer = ring.few(older_slot), ring.few(newer_slot)
        if older is None or newer is None or not self._bodies.members.are_spheres:
            return None
        is_shaded = level.shadows and has_shadows(scene, len(older))
        if is_shaded and self._ground_of is not scene:
            self._ground_of = scene
            self._ground = Ground(scene.ground or 0.0, np.divide(scene.light, math.hypot(*scene.light)))
        ends = (older, ring.extent(older_slot)), (newer, ring.extent(newer_slot))
        return FewSpheres(*ends, self._radii(scene, len(older)), self._gap_s, self._ground if is_shaded else None)


class PanelBackdrop:
    """Free rectangles of each frame: call `begin`, then `drawn` for each picture, then `free`."""

    def __init__(self, records: SphereRecords) -> None:
        self._records = records
        self.key: Hashable = None
        self._pictures = 0
        self._spheres: FewSpheres | None = None
        self._view: SceneView | None = None
        self._sides_of: object = None
        self._sides: NDArray[np.floating] = np.zeros((0, 3))
        self._eye: Sequence[float] = (0.0, 0.0, 0.0)
        self._is_asked = False  # `free` was called in this frame
        self._known: deque[tuple[FewSpheres, list[bool]]] = deque(maxlen=KEPT_PAIRS)  # results for `_sides`

    def begin(self) -> None:
        """Begins a frame: nothing is drawn yet."""
        self._pictures, self._spheres, self._is_asked = 0, None, False

    def drawn(self, key: Hashable, view: SceneView, layers: Sequence[PlacedLayer]) -> None:
        """Records a picture of the frame. key: everything that it depends on except the bodies."""
        self._pictures += 1
        self.key, self._view, self._spheres = key, view, self._records.of_picture(view, layers)

    def drawn_over(self) -> None:
        """Records that dots or lines were drawn: no rectangle of the frame is free."""
        self._spheres = None

    def free(self, rectangles: Sequence[Rectangle], size_px: tuple[int, int]) -> list[bool]:
        """For each rectangle of a window of this size: True if the frame's pixels there depend on `key` alone."""
        spheres, view = self._spheres, self._view
        if spheres is None or view is None or self._pictures != 1 or view.viewport != (0, 0, *size_px):
            return [False] * len(rectangles)
        camera = view.camera
        if not len(spheres.older[0]) or not rectangles:
            return [True] * len(rectangles)
        if camera.orthographic:  # the planes of `sides_of` all pass through one eye
            return [False] * len(rectangles)
        self._is_asked = True
        key = tuple(rectangles), camera.view.tobytes(), camera.projection.tobytes(), camera.eye, size_px
        if key != self._sides_of:
            self._sides_of, self._sides, self._eye = key, sides_of(rectangles, camera, size_px), camera.eye
            self._known.clear()
        return self._clear_of(spheres)

    def uploaded(self, slot: int) -> None:
        """Records that the newest snapshot is in this slot."""
        self._records.uploaded(slot)

    def look_ahead(self, scene: Scene, level: Level) -> None:
        """Computes ahead, between two frames, the result for the two newest snapshots and the same rectangles."""
        if self._is_asked and (spheres := self._records.of_newest(scene, level)) is not None:
            self._clear_of(spheres._replace(gap_s=LONGER * spheres.gap_s))

    def _clear_of(self, spheres: FewSpheres) -> list[bool]:
        for known, clear in self._known:
            if known.is_as_good_for(spheres):
                return clear
        clear = are_clear(spheres, self._eye, self._sides)
        self._known.append((spheres, clear))
        return clear


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


def are_clear(spheres: FewSpheres, eye: Sequence[float], sides: NDArray[np.floating]) -> list[bool]:
    """For each rectangle: True if no sphere and no shadow is seen between its four sides. sides: from `sides_of`."""
    (older, extent), (newer, later) = spheres.older, spheres.newer
    if extent is None or later is None:
        return [False] * (len(sides) // 4)
    # If both ends are beyond a side, so is the straight line between them.
    beyond = (older["position"] - np.array(eye)) @ sides.T
    both = min(len(older), len(newer))
    np.minimum(beyond[:both], (newer["position"][:both] - np.array(eye)) @ sides.T, out=beyond[:both])
    radius = spheres.radii[: len(older)] * (max(extent.scale, later.scale) * RADIUS_MARGIN)
    swing = BENT * spheres.gap_s * 3**0.5 * (extent.speed + later.speed)
    swing += LEFT * max(map(abs, (*extent.low, *extent.high)))
    if spheres.ground is None:
        return [bool(one.all()) for one in _outside(beyond, radius + swing).T]
    away, lean = _slope(spheres.ground)
    # First one ball around each sphere and its shadow: few spheres are left for the closer test.
    whole = FADE_RADII + max(FOOT_REACH, SPOT_REACH) + FADE_RADII * lean
    near = np.flatnonzero(~_outside(beyond, whole * radius + (1 + lean) * swing).all(axis=1))
    if not len(near):
        return [True] * (len(sides) // 4)
    balls = _closely(spheres, near, radius[near], eye)
    clear = _outside(balls.place @ sides.T, balls.radius + balls.reach).all(axis=0)
    clear &= _are_free_of_shadows(balls, spheres.ground.height_m - eye[2], away, lean, sides)
    return [bool(one) for one in clear]


class _Balls(NamedTuple):
    """Balls that move within `reach` of `place` during a gap. Metres, relative to the eye."""

    place: NDArray[np.floating]
    radius: NDArray[np.floating]
    reach: NDArray[np.floating]


def _slope(ground: Ground) -> tuple[NDArray[np.floating], float]:
    """Offset of a shadow along x and y for each metre above the ground, and the sum of both magnitudes."""
    away = -np.asarray(ground.light[:2]) / max(ground.light[2], LOWEST_LIGHT)
    return away, float(np.abs(away).sum())


def _closely(spheres: FewSpheres, near: NDArray[np.intp], radius: NDArray[np.floating], eye: Sequence[float]) -> _Balls:
    """Balls of these rows, each with its own motion between the two snapshots."""
    older, newer = spheres.older[0], spheres.newer[0]
    place = older["position"][near]
    reach = LEFT * np.abs(place).max(axis=1).astype(np.float64)
    rows = near[: np.searchsorted(near, len(newer))]
    way = newer["position"][rows] - place[: len(rows)]
    speed = np.abs(older["velocity"][rows]) + np.abs(newer["velocity"][rows])
    reach[: len(rows)] += np.linalg.norm(way, axis=1) + BENT * spheres.gap_s * np.linalg.norm(speed, axis=1)
    return _Balls(place - np.array(eye), radius, reach)


def _are_free_of_shadows(
    balls: _Balls, ground: float, away: NDArray[np.floating], lean: float, sides: NDArray[np.floating]
) -> NDArray[np.bool_]:
    """For each rectangle: True if no shadow is seen in it. ground: height above the eye, metres.

    The spot below a ball and the shadow that the light casts are tested as one disc.
    """
    place, radius, reach = balls
    foot, above = place.copy(), place[:, 2] - ground
    drift = np.clip(above, 0.0, FADE_RADII * radius)[:, None] * (0.5 * away)
    foot[:, :2] += drift
    foot[:, 2] = ground
    disc = max(FOOT_REACH, SPOT_REACH) * radius + np.abs(drift).sum(axis=1) + (1 + lean) * reach
    none = (above > FADE_RADII * radius + reach) | (above < -reach)
    return np.asarray((_outside(foot @ sides.T, disc) | none[:, None]).all(axis=0))


def _outside(beyond: NDArray[np.floating], radius: NDArray[np.floating]) -> NDArray[np.bool_]:
    """True where a ball is beyond a side of a rectangle: shape (balls, rectangles)."""
    is_beyond = beyond > radius[:, None]
    return is_beyond[:, 0::4] | is_beyond[:, 1::4] | is_beyond[:, 2::4] | is_beyond[:, 3::4]
