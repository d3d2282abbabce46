"""Finds the floor of a scene that has no ground. The floor is a level plane that stands still and receives soft
shadows.

The floor is computed from the records of the scene's planes. The snapshot ring copies these records to main memory. The
floor is computed again only when the records change.

Always: a plane that moves, is not level, is hidden or is transparent is not a floor. If several planes are floors, the
largest of them is used. This module draws nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene.scene import shape_list
from twixt.ipc.snapshot import RECORD, VISIBLE
from twixt.render.draw.bodies.body_draws import BodyDraws, IdentityKey, moves
from twixt.render.draw.bodies.shape_rows import half_size
from twixt.render.draw.frame.frame_block import NEAR_FADE_RADII, Floor
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.frame.snapshot_ring import NO_BODIES, OPAQUE
from twixt.render.interpolation.quaternion import multiply, normalized, rotate

# A plane counts as level if the x and the y of its unit normal are not larger than this number. A plane with exactly
# this slope has a height error of 1 mm at a distance of 100 m from its middle.
LEAN = 1e-5
# If a picture has at most FEW_CASTERS bodies or parts, even a high body casts a shadow on the floor. The height of the
# body's lowest point above the floor must then be less than FAR_FADE_RADII times the body's radius.
FEW_CASTERS, FAR_FADE_RADII = 200, 24.0


class _Planes(NamedTuple):
    """Planes of one layer: their row numbers, and their records of dtype `BODY`."""

    rows: NDArray[np.uint32]
    records: NDArray[np.void]


class LevelFloor:
    """Finds the floor of each picture, and stores the last result."""

    def __init__(self, bodies: BodyDraws) -> None:
        self._bodies = bodies
        self._fade = NEAR_FADE_RADII
        self._key: Hashable = None
        self._floor: Floor | None = None

    def of_picture(self, layers: Sequence[PlacedLayer]) -> Floor | None:
        """Returns the floor of a picture that consists of these layers. Returns None if the picture has no floor."""
        ring = self._bodies.ring
        if not layers or not len(ring.plane_rows):
            return None
        blended = [layer for layer in layers if not (layer.uniforms.is_posed or layer.variant.stretched)]
        both = [
            (
                layer.group,
                ring.planes(layer.slots.older),
                ring.planes(layer.slots.newer) if layer.uniforms.newer_count else NO_BODIES,
            )
            for layer in blended
        ]
        self._fade = FAR_FADE_RADII if max(layer.bodies for layer in layers) <= FEW_CASTERS else NEAR_FADE_RADII
        key = (
            self._fade,
            IdentityKey(self._bodies.members),
            tuple((group, old.tobytes(), new.tobytes()) for group, old, new in both),
        )
        if key != self._key:
            self._key = key
            self._floor = _largest([floor for one in both for floor in self._floors(*one)])
        return self._floor

    def _floors(self, group: str | None, older: NDArray[np.void], newer: NDArray[np.void]) -> list[Floor]:
        """Returns the floors among the planes of one layer. older, newer: records of the planes in the older and in the
        newer snapshot. `newer` is empty if only one snapshot is drawn."""
        count = min(len(older), len(newer)) if len(newer) else len(older)
        rows, records = self._bodies.ring.plane_rows[:count], older[:count]
        members = self._bodies.members
        is_floor = np.isin(rows, members.of_layer(group).bodies) & ~np.isin(rows, members.transparent)
        is_floor &= ((records["flags"] & VISIBLE) != 0) & (records["color"][:, 3] == OPAQUE) & (records["scale"] > 0)
        if len(newer):
            is_floor &= (records.view(RECORD) == newer[:count].view(RECORD)) & ~moves(records)
        return self._level(_Planes(rows[is_floor], records[is_floor]))

    def _level(self, planes: _Planes) -> list[Floor]:
        rows, records = planes
        turns, parts = normalized(records["orientation"]), self._bodies.parts
        if parts is not None:
            records = parts.placed(records, rows)
            turns = multiply(turns, normalized(parts.poses[rows, 3:]))
        along, normal = (rotate(turns, np.tile(axis, (len(rows), 1))) for axis in ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
        is_level = np.abs(normal[:, :2]).max(axis=1, initial=0.0) <= LEAN
        is_level &= np.isfinite(records["position"]).all(axis=1)
        shapes = shape_list(self._bodies.members.scene)
        found = []
        for at in np.flatnonzero(is_level).tolist():
            scale, half_x, half_y = (
                float(records["scale"][at]),
                *half_size(shapes.table[shapes.rows_for(int(rows[at]) + 1)[-1]])[:2],
            )
            place = tuple(records["position"][at].tolist())
            found.append(Floor(place, tuple(along[at, :2].tolist()), (half_x * scale, half_y * scale), self._fade))
        return found


def _largest(floors: Sequence[Floor]) -> Floor | None:
    return max(floors, key=lambda floor: floor.half_m[0] * floor.half_m[1], default=None)
