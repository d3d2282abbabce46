"""Rectangle of a picture outside which no body and no shadow is seen.

The one idea: the box around all bodies of both snapshots, grown by their size, their motion and their shadows, is seen
inside the rectangle around its eight corners.

Always: None if that is not certain. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from twixt.ipc.scene import Scene
from twixt.render.draw.bodies.body_draws import BodyDraws
from twixt.render.draw.bodies.body_programs import Membership
from twixt.render.draw.camera import CameraMatrices
from twixt.render.draw.flat.few_bodies import Ground, ground_of, sizes_of
from twixt.render.draw.flat.panel_backdrop import BALL_SPOT, BENT, LEFT, LONG_FOOT, LONG_SPOT, RADIUS_MARGIN, RODS_DOWN
from twixt.render.draw.frame.frame_block import Floor, SceneView, Viewport
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.shapes.shadows import LOWEST_LIGHT, has_shadows
from twixt.render.draw.spheres.snapshot_bounds import Extent, together

# Added on each side, for soft edges, outlines and rounding.
MARGIN_PX = 4
CORNERS = np.array([[bit & 1, bit >> 1 & 1, bit >> 2] for bit in range(8)], np.float64)

Vector = tuple[float, float, float]


class Reach(NamedTuple):
    """Largest radius of a body's bounding ball and its largest distance from the body's position, at scale 1, metres.

    are_balls: each body is a sphere. has_planes: there are planes besides.
    """

    radius: float
    arm: float
    are_balls: bool
    has_planes: bool


class PictureBounds:
    """Finds the rectangle of each picture of one renderer's bodies."""

    def __init__(self, bodies: BodyDraws) -> None:
        self._bodies = bodies
        self._reach: Reach | None = None  # None: something deforms
        self._reach_of: Membership | None = None
        self._ground: Ground | None = None
        self._ground_of: tuple[Scene, Floor | None] | None = None
        self._outline_of: tuple[object, ...] = ()
        self._outline: Viewport | None = None

    def of_picture(self, view: SceneView, layers: Sequence[PlacedLayer], are_planes_still: bool) -> Viewport | None:
        """Part of the picture outside which no body and no shadow is seen, planes that stand still left out; None: not
        known."""
        if not layers or any(layer.variant.stretched for layer in layers):
            return None
        members = self._bodies.members
        if members is not self._reach_of:
            self._reach_of, self._reach = members, _reach_of(self._bodies)
        ring, reach = self._bodies.ring, self._reach
        slots = {slot for layer in layers for slot in (layer.slots.older, layer.slots.newer)}
        extent = together([ring.extent(slot) for slot in slots])
        if reach is None or extent is None or (reach.has_planes and not are_planes_still):
            return None
        ground = None
        if view.level.shadows and has_shadows(view.scene, max(layer.bodies for layer in layers), view.floor):
            if self._ground_of != (view.scene, view.floor):
                self._ground_of, self._ground = (view.scene, view.floor), ground_of(view.scene, view.floor)
            ground = self._ground
        gap_s = max(layer.uniforms.gap_s for layer in layers)
        return rectangle_of(*box_of(extent, reach, gap_s, ground), view.camera, view.viewport)

    def of_outline(self, view: SceneView) -> Viewport | None:
        """Part of the picture outside which the scene's outline is not seen; None: not known."""
        camera, outline = view.camera, view.scene.outline
        key = outline, view.viewport, camera.view.tobytes(), camera.projection.tobytes(), camera.eye
        if key != self._outline_of:
            self._outline_of = key
            self._outline = None if outline is None else rectangle_of(*outline, camera, view.viewport)
        return self._outline


def _reach_of(bodies: BodyDraws) -> Reach | None:
    """Reach of a scene's bodies that are no planes; None if something deforms."""
    sizes = sizes_of(bodies)
    if sizes is None:
        return None
    radius, arm = (float(one[~sizes.is_plane].max(initial=0.0)) for one in (sizes.radius, sizes.arm))
    return Reach(radius, arm, sizes.are_balls, bool(sizes.is_plane.any()))


def box_of(extent: Extent, reach: Reach, gap_s: float, ground: Ground | None) -> tuple[Vector, Vector]:
    """Corners, metres, world, of a box around all bodies and shadows between two snapshots. extent: of both."""
    scale = extent.scale * RADIUS_MARGIN
    radius, arm = reach.radius * scale, reach.arm * scale
    far = arm + 2 * BENT * gap_s * 3**0.5 * extent.speed + LEFT * max(map(abs, (*extent.low, *extent.high)))
    low, high = (np.array(end, np.float64) for end in (extent.low, extent.high))
    low, high = low - (radius + far), high + (radius + far)
    if ground is not None:
        away = -np.asarray(ground.light[:2]) / max(float(ground.light[2]), LOWEST_LIGHT)
        lean = float(np.abs(away).sum())
        highest, spot = ground.fade_radii, BALL_SPOT
        if not reach.are_balls:
            highest, spot = highest + RODS_DOWN, max(LONG_FOOT, LONG_SPOT * (1 + lean))
        height = min(highest * radius + far, max(float(high[2]) - ground.height_m, 0.0))
        cast = away * height
        low[:2] += np.minimum(cast, 0.0) - spot * radius
        high[:2] += np.maximum(cast, 0.0) + spot * radius
        low[2], high[2] = min(low[2], ground.height_m), max(high[2], ground.height_m)
    return tuple(low.tolist()), tuple(high.tolist())


def rectangle_of(
    low: Sequence[float], high: Sequence[float], camera: CameraMatrices, viewport: Viewport
) -> Viewport | None:
    """Part of a picture, within the viewport, in which a box is seen; None if the box reaches behind the eye.

    low, high: its corners, metres, world. An empty part where it is seen beside the picture.
    """
    corners = np.asarray(low) + CORNERS * (np.asarray(high) - np.asarray(low)) - np.asarray(camera.eye)
    seen = corners @ camera.view[:3, :3].T.astype(np.float64)
    across, along, depth, offset = (float(camera.projection[at]) for at in ((0, 0), (1, 1), (2, 2), (2, 3)))
    w = np.ones(8) if camera.orthographic else -seen[:, 2]
    if not np.isfinite(seen).all() or (depth * seen[:, 2] + offset <= -w).any() or (w <= 0).any():
        return None
    left, bottom, width, height = viewport
    x = (0.5 + 0.5 * across * seen[:, 0] / w) * width
    y = (0.5 + 0.5 * along * seen[:, 1] / w) * height
    ends = []
    for at, side in ((x, width), (y, height)):
        first = min(max(math.floor(float(at.min())) - MARGIN_PX, 0), side)
        ends.append((first, max(min(math.ceil(float(at.max())) + MARGIN_PX, side), first)))
    (first_x, end_x), (first_y, end_y) = ends
    return left + first_x, bottom + first_y, end_x - first_x, end_y - first_y
