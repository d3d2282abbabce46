"""Records of the bodies of a picture that holds few, and balls around them.

The one idea: every part of a body, however it is turned, is within a ball around the body's position. Bodies whose
records are equal in both snapshots, and which have no velocity, stand still: their pixels depend on the records alone.

Always: records are those of the ring, not copied. Draws nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.shapes.mesh import Mesh
from twixt.render.draw.bodies.body_draws import BodyDraws
from twixt.render.draw.bodies.body_programs import Membership
from twixt.render.draw.bodies.shape_table import KIND_NAMES
from twixt.render.draw.bodies.still_planes import moves
from twixt.render.draw.frame.frame_block import Floor, SceneView
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.frame.quality_levels import Level
from twixt.render.draw.frame.snapshot_ring import NO_BODIES
from twixt.render.draw.shapes.shadows import FADE_RADII, has_shadows
from twixt.render.draw.spheres.snapshot_bounds import Extent, extent_of

# A result computed ahead is for a gap longer by the first factor. A result holds for gaps down to the second factor.
LONGER, AS_LONG = 1.001, 0.99


class Ground(NamedTuple):
    """The ground that shadows fall on: height in metres, world. light: unit vector towards the light, world.

    fade_radii: from this many radii above the ground on, a ball has no shadow.
    """

    height_m: float
    light: NDArray[np.floating]
    fade_radii: float


class BallSizes(NamedTuple):
    """Bounding balls of rows at scale 1, metres: each within `arm` of its body's position. (n,) each.

    is_plane: rows that no ball bounds. are_balls: each row is a sphere.
    """

    radius: NDArray[np.floating]
    arm: NDArray[np.floating]
    is_plane: NDArray[np.bool_]
    are_balls: bool

    def of(self, rows: NDArray[np.intp]) -> BallSizes:
        """Sizes of these rows."""
        return BallSizes(self.radius[rows], self.arm[rows], self.is_plane[rows], self.are_balls)


class FewBodies(NamedTuple):
    """All rows of a picture that holds few.

    older, newer: records and their bounding box. sizes: of at least the rows of `older`. gap_s: simulated seconds from
    older to newer. ground: None if bodies have no shadows.
    """

    older: tuple[NDArray[np.void], Extent | None]
    newer: tuple[NDArray[np.void], Extent | None]
    sizes: BallSizes
    gap_s: float
    ground: Ground | None

    def is_as_good_for(self, other: FewBodies) -> bool:
        """True if a result for these bodies holds for `other`: the same arrays, and a gap at most 1 % shorter."""
        return (
            self.older[0] is other.older[0]
            and self.newer[0] is other.newer[0]
            and self.sizes is other.sizes
            and self.ground is other.ground
            and AS_LONG * self.gap_s <= other.gap_s <= self.gap_s
        )

    def of(self, rows: NDArray[np.intp]) -> FewBodies:
        """These rows of `older` alone, ascending."""
        if len(rows) == len(self.older[0]) == len(self.sizes.radius):
            return self
        (older, extent), (newer, later) = self.older, self.newer
        both = rows[: np.searchsorted(rows, len(newer))]
        return self._replace(older=(older[rows], extent), newer=(newer[both], later), sizes=self.sizes.of(rows))


NO_SIZES = BallSizes(np.zeros(0), np.zeros(0), np.zeros(0, np.bool_), True)
NO_BODY = FewBodies((NO_BODIES, None), (NO_BODIES, None), NO_SIZES, 0.0, None)


class BodyRecords:
    """Finds the records of pictures that hold few bodies, and nothing that deforms."""

    def __init__(self, bodies: BodyDraws) -> None:
        self._bodies = bodies
        self._uploaded = -1, -1  # the last two slots
        self._gap_s = 0.0  # of the picture drawn last
        self._ground: Ground | None = None
        self._ground_of: tuple[Scene, Floor | None] | None = None
        self._floor: Floor | None = None  # of the picture drawn last
        self._sizes: BallSizes | None = None  # None: something deforms
        self._sizes_of: Membership | None = None

    def uploaded(self, slot: int) -> None:
        """Records that the newest snapshot is in this slot."""
        self._uploaded = self._uploaded[1], slot

    def of_picture(self, view: SceneView, layers: Sequence[PlacedLayer]) -> FewBodies | None:
        """Bodies of the picture; None if it holds anything that no ball bounds, or more than 512 rows."""
        if not layers:
            return NO_BODY
        layer = layers[0]
        if len(layers) != 1 or layer.variant.stretched or layer.group is not None:
            return None
        self._gap_s, self._floor = layer.uniforms.gap_s, view.floor
        return self._between(view.scene, view.level, layer.slots.older, layer.slots.newer)

    def of_newest(self, scene: Scene, level: Level) -> FewBodies | None:
        """Bodies of a picture between the two snapshots uploaded last; None as for `of_picture`."""
        return self._between(scene, level, *self._uploaded)

    def _between(self, scene: Scene, level: Level, older_slot: int, newer_slot: int) -> FewBodies | None:
        ring = self._bodies.ring
        older, newer = ring.few(older_slot), ring.few(newer_slot)
        if older is None or newer is None:
            return None
        if self._sizes_of is not self._bodies.members:
            self._sizes_of, self._sizes = self._bodies.members, sizes_of(self._bodies)
        if self._sizes is None:
            return None
        is_shaded = level.shadows and has_shadows(scene, len(older), self._floor)
        if is_shaded and self._ground_of != (scene, self._floor):
            self._ground_of, self._ground = (scene, self._floor), ground_of(scene, self._floor)
        ends = (older, ring.attached(older_slot, extent_of)), (newer, ring.attached(newer_slot, extent_of))
        return FewBodies(*ends, self._sizes, self._gap_s, self._ground if is_shaded else None)


def sizes_of(bodies: BodyDraws) -> BallSizes | None:
    """Sizes of all rows of a scene; None if something in it deforms."""
    members, parts = bodies.members, bodies.parts
    distinct = members.scene.distinct_shapes
    if any(isinstance(shape, Mesh) and shape.deforms for shape in distinct):
        return None
    count = len(members.kinds)
    rows = members.scene.shape_rows(count)
    reach = np.array([shape.reach for shape in distinct] or [Sphere().reach])[rows]
    # A mesh lies on one side of its origin.
    arm = np.where(np.array([isinstance(shape, Mesh) for shape in distinct] or [False])[rows], reach, 0.0)
    if parts is not None:
        arm += np.linalg.norm(parts.poses[:, :3].astype(np.float64), axis=1)
    return BallSizes(reach, arm, members.kinds == KIND_NAMES.index("planes"), members.are_spheres)


def ground_of(scene: Scene, floor: Floor | None) -> Ground:
    """The ground of a picture that has shadows."""
    light = np.divide(scene.light, math.hypot(*scene.light))
    if floor is None:
        return Ground(scene.ground or 0.0, light, FADE_RADII)
    return Ground(floor.middle[2], light, max(FADE_RADII, 1 + floor.fade_radii))


def moving_rows(older: NDArray[np.void], newer: NDArray[np.void]) -> NDArray[np.intp]:
    """Rows of `older` that move or change until `newer`, ascending."""
    both = min(len(older), len(newer))
    is_moving = moves(older)
    is_moving[both:] = True
    words = [records[:both].view(np.uint64).reshape(both, -1) for records in (older, newer)]
    is_moving[:both] |= (words[0] != words[1]).any(axis=1)
    return np.flatnonzero(is_moving)
