"""Computes the rectangle that contains all visible bodies and shadows of a picture.

For each body of a snapshot, a ball is computed that contains the body and its shadow. The path of a body to the next
snapshot may deviate from a straight line. So the ball is enlarged by the largest possible deviation. The rectangle of a
snapshot contains the projections of all its balls. The rectangle of a pair of snapshots contains the rectangles of both
snapshots. So the rectangle of each snapshot is computed only once. If there are many bodies, one box around all bodies
replaces the balls.

If it is not certain that a rectangle contains everything, the result is None.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.scene.scene import shape_list
from twixt.render.draw.bodies.body_draws import BodyDraws, IdentityKey
from twixt.render.draw.bodies.body_programs import Membership
from twixt.render.draw.bodies.shape_rows import KIND_NAMES
from twixt.render.draw.frame.camera import CameraMatrices
from twixt.render.draw.frame.frame_block import Floor, SceneView, Viewport
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.shapes.shadows import FADE_RADII, FOOT_REACH, LOWEST_LIGHT, SPOT_REACH, has_shadows
from twixt.render.draw.software.background_cache import around
from twixt.render.draw.spheres.snapshot_bounds import Extent, extent_of

# Margin in px on each side, for soft edges, outlines and rounding.
MARGIN_PX = 4
# Number of slots whose rectangles are cached.
MOST_KEPT = 16
CORNERS = np.array([[bit & 1, bit >> 1 & 1, bit >> 2] for bit in range(8)], np.float64)
# The height of bodies above the ground is rounded up to a power of this ratio.
HEIGHT_STEP = 1.25
NONE_SEEN: Viewport = (0, 0, 0, 0)

# The radii of balls are multiplied by this factor. It allows for spheres that are drawn as circles, and for the sizes
# of bodies between two snapshots.
RADIUS_MARGIN = 1.1
# Largest distance between a body's curve and the straight line, divided by two values: the time between the two
# snapshots, and the sum of the speeds at both ends. The weights of the Hermite curve give 4/27.
BENT = 0.15
# Largest rounding error of a float32 position, as a share of the position's largest coordinate. If the CPU computed the
# pose, drawing adds the same error again.
ROUNDING = 3**0.5 * 2.0**-24
# BALL_SPOT is the radius of the shadow of a ball. The other two values are for a body that is not a ball. LONG_FOOT is
# the radius of the shadow below the body. LONG_SPOT is the radius of the ellipse that is the body's shadow, before the
# slant of the light stretches the ellipse. All three are in radii of the bounding ball. The shape of a body is treated
# as rods inside the bounding ball. Two rods give 1 + FOOT_REACH, because one rod moves the ellipse and the other
# stretches it.
BALL_SPOT, LONG_FOOT, LONG_SPOT = max(FOOT_REACH, SPOT_REACH), 1 + FOOT_REACH, 2**0.5 * SPOT_REACH
# For a body that is not a ball: how much farther than its bounding ball it may extend towards the ground, in radii of
# this ball.
RODS_DOWN = 3**0.5


class Ground(NamedTuple):
    """The ground on which shadows are drawn. height_m: its height in the world, metres. light: unit vector towards the
    light, in the world frame.

    fade_radii: height above the ground at which a ball no longer has a shadow, in radii of the ball.
    """

    height_m: float
    light: NDArray[np.floating]
    fade_radii: float


class ShadowReach(NamedTuple):
    """Limits of the places and sizes that shadows of bodies have on the ground.

    away: how far a shadow is from the point below its body, along x and y, for each metre of the body's height above
    the ground. lean: sum of the magnitudes of the x and y of `away`. highest: height at which a body no longer has a
    shadow. spot: radius of a shadow. highest and spot are in radii of the body's bounding ball.
    """

    away: NDArray[np.floating]
    lean: float
    highest: float
    spot: float


class Reach(NamedTuple):
    """Largest radius of the bounding balls of all bodies, and largest distance between the centre of a bounding ball
    and the position of its body. Both are in metres, at scale 1.

    Bodies that are planes are left out. are_balls: True if each of the other bodies is a sphere. has_planes: True if
    there are planes.
    """

    radius: float
    arm: float
    are_balls: bool
    has_planes: bool


class Shadows(NamedTuple):
    """The ground on which shadows are drawn, or None if there are no shadows; and the largest height of a body's
    position above the ground, in metres."""

    ground: Ground | None
    height_m: float


class PictureBounds:
    """Finds the rectangle that contains all bodies of a picture, for the pictures of one renderer."""

    def __init__(self, bodies: BodyDraws) -> None:
        self._bodies = bodies
        self._reach: Reach | None = None  # None if a shape deforms
        self._reach_of: Membership | None = None
        self._ground: Ground | None = None
        self._ground_of: tuple[Scene, Floor | None] | None = None
        # Everything that determines the cached rectangles, except the time between the two snapshots.
        self._key: tuple[object, ...] = ()
        self._gap_s = 0.0  # longest time between snapshots for which the cached rectangles are valid
        self._of_slots: dict[int, tuple[Extent, Viewport | None]] = {}
        self._outline_of: tuple[object, ...] = ()
        self._outline: Viewport | None = None

    def of_picture(self, view: SceneView, layers: Sequence[PlacedLayer], are_planes_still: bool) -> Viewport | None:
        """Area of the picture that contains all visible bodies and shadows; None if it is unknown. are_planes_still:
        True if planes are drawn with the background; then they are left out."""
        members = self._bodies.members
        if members is not self._reach_of:
            self._reach_of, self._reach = members, _reach_of(self._bodies)
        reach = self._reach
        if not layers or reach is None:
            return None
        # Transparent bodies are drawn after the background, even planes that stand still.
        if reach.has_planes and (not are_planes_still or any([layer.uniforms.has_transparent for layer in layers])):
            return None
        ground = self._ground_under(view, layers)
        gap_s = max([layer.uniforms.gap_s for layer in layers])
        camera = view.camera
        height_m = 0.0 if ground is None else self._height_m(layers, ground)
        key = (
            camera.view.tobytes(),
            camera.projection.tobytes(),
            camera.eye,
            view.viewport,
            IdentityKey(ground),
            reach,
            height_m,
        )
        if key != self._key or gap_s > self._gap_s:
            # because of the factor 1.25, the rectangles are also valid for slightly longer gaps
            self._key, self._gap_s, self._of_slots = key, 1.25 * gap_s, {}
        found: Viewport | None = None
        for layer in layers:
            if layer.variant.stretched:
                return None
            for slot in layer.slots[:2]:
                one = self._of_slot(slot, view, Shadows(ground, height_m), reach)
                if one is None:
                    return None
                found = one if found is None else around(found, one)
        return found

    def of_outline(self, view: SceneView) -> Viewport | None:
        """Area of the picture that contains the visible outline of the scene; None if it is unknown."""
        camera, outline = view.camera, view.scene.outline
        key = outline, view.viewport, camera.view.tobytes(), camera.projection.tobytes(), camera.eye
        if key != self._outline_of:
            self._outline_of, self._outline = key, None
            if outline is not None:
                low, high = np.array(outline, np.float64)
                self._outline = rectangle_of(low + CORNERS * (high - low), np.zeros(8), camera, view.viewport)
        return self._outline

    def _ground_under(self, view: SceneView, layers: Sequence[PlacedLayer]) -> Ground | None:
        """The ground on which the picture has shadows; None if it has no shadows."""
        scene, floor = view.scene, view.floor
        if not view.level.shadows or not has_shadows(scene, max([layer.bodies for layer in layers]), floor):
            return None
        if self._ground_of is None or self._ground_of[0] is not scene or self._ground_of[1] != floor:
            self._ground_of, self._ground = (scene, floor), _ground_of(scene, floor)
        return self._ground

    def _height_m(self, layers: Sequence[PlacedLayer], ground: Ground) -> float:
        """A height above the ground that no body of the layers exceeds, in metres. It is rounded, so that it changes
        seldom."""
        ring = self._bodies.ring
        extents = [ring.attached(slot, extent_of) for layer in layers for slot in layer.slots[:2]]
        highest_m = max([extent.high[2] for extent in extents if extent is not None], default=0.0) - ground.height_m
        return HEIGHT_STEP ** math.ceil(math.log(max(highest_m, 1e-6), HEIGHT_STEP))

    def _of_slot(self, slot: int, view: SceneView, shadows: Shadows, reach: Reach) -> Viewport | None:
        ring = self._bodies.ring
        extent = ring.attached(slot, extent_of)
        if extent is None:
            return None
        kept = self._of_slots.get(slot)
        if kept is None or kept[0] is not extent:
            few = ring.few_records(slot)
            places = corners_of(extent) if few is None else few["position"].astype(np.float64)
            balls = balls_around(places, extent, reach, self._gap_s, shadows)
            if len(self._of_slots) >= MOST_KEPT:
                self._of_slots.clear()
            kept = self._of_slots[slot] = extent, rectangle_of(*balls, view.camera, view.viewport)
        return kept[1]


def _reach_of(bodies: BodyDraws) -> Reach | None:
    """The largest bounding ball of a scene's bodies, see `Reach`; None if a shape deforms."""
    members, parts = bodies.members, bodies.parts
    distinct = shape_list(members.scene).table
    if any(isinstance(shape, Mesh) and shape.deforms for shape in distinct):
        return None
    rows = shape_list(members.scene).rows_for(len(members.kinds))
    radius = np.array([shape.reach for shape in distinct] or [Sphere().reach])[rows]
    # A mesh may lie completely on one side of its origin.
    arm = np.where(np.array([isinstance(shape, Mesh) for shape in distinct] or [False])[rows], radius, 0.0)
    if parts is not None:
        arm += np.linalg.norm(parts.poses[:, :3].astype(np.float64), axis=1)
    is_plane = members.kinds == KIND_NAMES.index("planes")
    largest_radius, longest_arm = (float(one[~is_plane].max(initial=0.0)) for one in (radius, arm))
    return Reach(largest_radius, longest_arm, members.are_spheres, bool(is_plane.any()))


def _ground_of(scene: Scene, floor: Floor | None) -> Ground:
    light = np.divide(scene.light, math.hypot(*scene.light))
    if floor is None:
        return Ground(scene.ground_z or 0.0, light, FADE_RADII)
    return Ground(floor.middle[2], light, max(FADE_RADII, 1 + floor.fade_radii))


def _shadow_reach(ground: Ground, are_balls: bool) -> ShadowReach:
    """Limits of the shadows that bodies have on this ground. are_balls: True if each body is a sphere."""
    away = -np.asarray(ground.light[:2]) / max(ground.light[2], LOWEST_LIGHT)
    lean = float(np.abs(away).sum())
    if are_balls:
        return ShadowReach(away, lean, ground.fade_radii, BALL_SPOT)
    return ShadowReach(away, lean, ground.fade_radii + RODS_DOWN, max(LONG_FOOT, LONG_SPOT * (1 + lean)))


def corners_of(extent: Extent) -> NDArray[np.float64]:
    """Corners of the box around the bodies of a snapshot, (8, 3), in metres, in the world frame."""
    low, high = np.array(extent.low), np.array(extent.high)
    return np.asarray(low + CORNERS * (high - low))


def balls_around(
    places: NDArray[np.float64], extent: Extent, reach: Reach, gap_s: float, shadows: Shadows
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Computes balls that contain the bodies and their shadows. places: positions of the bodies, (n, 3). Returns the
    centres (m, 3) and radii (m,) of the balls, in metres.

    extent: box around these bodies. gap_s: time in seconds to the next snapshot. If the balls of two snapshots are
    computed with the same `shadows`, then between the snapshots each body is between its two balls.
    """
    ground, height_m = shadows
    scale = extent.scale * RADIUS_MARGIN
    radius = reach.radius * scale
    far = reach.arm * scale + BENT * gap_s * 3**0.5 * 2 * extent.speed
    far += ROUNDING * max([abs(end) for end in (*extent.low, *extent.high)])
    if ground is None:
        return places, np.full(len(places), radius + far)
    away, lean, highest, spot = _shadow_reach(ground, reach.are_balls)
    # All shadows lie in one rectangle on the ground.
    cast, disc = away * min(height_m, highest * radius), spot * radius + (1 + lean) * far
    low = places[:, :2].min(axis=0) + np.minimum(cast, 0.0) - disc
    high = places[:, :2].max(axis=0) + np.maximum(cast, 0.0) + disc
    corners = np.full((4, 3), ground.height_m)
    corners[:, :2] = low + CORNERS[:4, :2] * (high - low)
    radii = np.concatenate((np.full(len(places), radius + far), np.zeros(4)))
    return np.concatenate((places, corners)), radii


def rectangle_of(
    middles: NDArray[np.float64], radii: NDArray[np.float64], camera: CameraMatrices, viewport: Viewport
) -> Viewport | None:
    """Area of the viewport that contains all balls and the lines between them. Returns None if a part of a ball is in
    front of the near plane, and NONE_SEEN if all balls are outside the picture. middles: centres of the balls in the
    world frame, (n, 3), metres. radii: (n,), metres."""
    seen = (middles - camera.eye) @ camera.view[:3, :3].T.astype(np.float64)
    (across, _, _, _), (_, along, _, _), (_, _, depth, offset), _ = camera.projection.tolist()
    nearest = float((-seen[:, 2] - radii).min(initial=math.inf))
    if camera.orthographic:
        if depth * nearest >= 1 + offset:
            return None
        near = far = 1.0
    else:
        # Each ball must be completely beyond the near plane. On this plane, clip z is -w.
        if not nearest > max(offset / (depth - 1), 0.0):
            return None
        near, far = -seen[:, 2] - radii, -seen[:, 2] + radii  # type: ignore[assignment]
    ends = []
    for axis, lens, side in ((0, across, viewport[2]), (1, along, viewport[3])):
        low, high = seen[:, axis] - radii, seen[:, axis] + radii
        least = min(float((low / near).min()), float((low / far).min()))
        most = max(float((high / near).max()), float((high / far).max()))
        first, last = ((0.5 + 0.5 * lens * end) * side for end in (least, most))
        if not (math.isfinite(first) and math.isfinite(last)):
            return None
        ends.append((max(math.floor(first) - MARGIN_PX, 0), min(math.ceil(last) + MARGIN_PX, side)))
    (left, right), (bottom, top) = ends
    if left >= right or bottom >= top:
        return NONE_SEEN
    return viewport[0] + left, viewport[1] + bottom, right - left, top - bottom
