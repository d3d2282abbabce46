"""What the panels of the overlay lie over: parts of a picture in which nothing moves look the same in the next frame.

The one idea: a sphere is outside the view through a rectangle of the picture where it is beyond one of that view's
four sides, so all spheres are told from all rectangles by one product of matrices. What is left in a rectangle without
spheres and shadows follows from camera and scene: background, grid, outline.

Always: a rectangle is free only where that is known. It never is for pictures that hold anything but few spheres, for
split ones, or where dots and lines are drawn. Reads no pixels and draws nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.render.camera import CameraMatrices
from twixt.render.draw.extent import Extent
from twixt.render.draw.frame_block import Viewport
from twixt.render.draw.panes import Rectangle
from twixt.render.draw.shadows import FADE_RADII, FOOT_REACH, LOWEST_LIGHT, SPOT_REACH

# Soft edges, and what rounding leaves of a rectangle's sides.
MARGIN_PX = 3
# Spheres drawn as circles, and ones whose size lies between two.
RADIUS_MARGIN = 1.1
# A curve leaves the straight way by no more than this share of the gap times both speeds: Hermite's weights, 4/27.
BENT = 0.15


class Ground(NamedTuple):
    """What shadows fall on. light: towards it, a unit vector."""

    height_m: float
    light: NDArray[np.floating]


class Spheres(NamedTuple):
    """All that a picture shows but for what follows from camera and scene. radii: of scale 1.

    older, newer: records, and where they are. gap_s: from the one to the other. ground: None where spheres have no
    shadows.
    """

    older: tuple[NDArray[np.void], Extent | None]
    newer: tuple[NDArray[np.void], Extent | None]
    radii: NDArray[np.floating]
    gap_s: float
    ground: Ground | None


class Beneath:
    """Of one frame after the other; `begin` one, then tell each picture that is `drawn` in it."""

    def __init__(self) -> None:
        self.key: Hashable = None
        self._pictures = 0
        self._spheres: Spheres | None = None
        self._camera: CameraMatrices | None = None
        self._viewport: Viewport = (0, 0, 0, 0)
        self._sides_of: object = None
        self._sides: NDArray[np.floating] = np.zeros((0, 3))

    def begin(self) -> None:
        """Nothing is drawn yet."""
        self._pictures, self._spheres = 0, None

    def drawn(self, key: Hashable, camera: CameraMatrices, viewport: Viewport, spheres: Spheres | None) -> None:
        """A picture. key: all that it depends on but for the spheres. spheres: None where it holds anything else."""
        self._pictures += 1
        self.key, self._camera, self._viewport, self._spheres = key, camera, viewport, spheres

    def marked(self) -> None:
        """Dots and lines were drawn, wherever."""
        self._spheres = None

    def free(self, rectangles: Sequence[Rectangle], size_px: tuple[int, int]) -> list[bool]:
        """Of each rectangle of a window of this size: whether what the frame shows there follows from `key`."""
        spheres, camera = self._spheres, self._camera
        if spheres is None or camera is None or self._pictures != 1 or self._viewport != (0, 0, *size_px):
            return [False] * len(rectangles)
        if not len(spheres.older[0]) or not rectangles:
            return [True] * len(rectangles)
        key = tuple(rectangles), camera.view.tobytes(), camera.projection.tobytes(), size_px
        if key != self._sides_of:
            self._sides_of, self._sides = key, sides_of(rectangles, camera, size_px)
        return are_clear(spheres, camera.eye, self._sides)


def sides_of(rectangles: Sequence[Rectangle], camera: CameraMatrices, size_px: tuple[int, int]) -> NDArray[np.floating]:
    """Unit normals, away from the view through each rectangle, of the planes through the eye on its left, right, top and
    bottom, along the world's axes: shape (4 x rectangles, 3)."""
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


def are_clear(spheres: Spheres, eye: Sequence[float], sides: NDArray[np.floating]) -> list[bool]:
    """Whether no sphere and no shadow is seen between each four of these sides."""
    (older, extent), (newer, later) = spheres.older, spheres.newer
    if extent is None or later is None:
        return [False] * (len(sides) // 4)
    # Where both ends are beyond a side, the straight way is.
    beyond = (older["position"] - np.array(eye)) @ sides.T
    both = min(len(older), len(newer))
    np.minimum(beyond[:both], (newer["position"][:both] - np.array(eye)) @ sides.T, out=beyond[:both])
    scale, bent = max(extent.scale, later.scale), BENT * spheres.gap_s
    swing = bent * 3**0.5 * (extent.speed + later.speed)
    radius = spheres.radii[: len(older)] * (scale * RADIUS_MARGIN)
    if spheres.ground is None:
        return [bool(one.all()) for one in _outside(beyond, radius + swing).T]
    light = spheres.ground.light
    away = -np.asarray(light[:2]) / max(light[2], LOWEST_LIGHT)
    lean = float(np.abs(away).sum())
    # In one ball with its shadow, which leaves few to be looked at closely.
    whole = FADE_RADII + max(FOOT_REACH, SPOT_REACH) + FADE_RADII * lean
    near = np.flatnonzero(~_outside(beyond, whole * radius + (1 + lean) * swing).all(axis=1))
    if not len(near):
        return [True] * (len(sides) // 4)
    radius, place, reach = radius[near], older["position"][near], np.zeros(len(near))
    rows = near[: np.searchsorted(near, len(newer))]
    way = newer["position"][rows] - place[: len(rows)]
    speed = np.abs(older["velocity"][rows]) + np.abs(newer["velocity"][rows])
    reach[: len(rows)] = np.linalg.norm(way, axis=1) + bent * np.linalg.norm(speed, axis=1)
    place, ground = place - np.array(eye), spheres.ground.height_m - eye[2]
    clear = _outside(place @ sides.T, radius + reach).all(axis=0)
    # The spot below the sphere and the shadow that the light casts, as one disc.
    foot, above = place.copy(), place[:, 2] - ground
    drift = np.clip(above, 0.0, FADE_RADII * radius)[:, None] * (0.5 * away)
    foot[:, :2] += drift
    foot[:, 2] = ground
    disc = max(FOOT_REACH, SPOT_REACH) * radius + np.abs(drift).sum(axis=1) + (1 + lean) * reach
    none = (above > FADE_RADII * radius + reach) | (above < -reach)
    clear &= (_outside(foot @ sides.T, disc) | none[:, None]).all(axis=0)
    return [bool(one) for one in clear]


def _outside(beyond: NDArray[np.floating], radius: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Whether each ball is outside the four sides of each rectangle: shape (balls, rectangles)."""
    is_beyond = beyond > radius[:, None]
    return is_beyond[:, 0::4] | is_beyond[:, 1::4] | is_beyond[:, 2::4] | is_beyond[:, 3::4]
