"""Changes records of held snapshots when a new scene moves the parts of bodies.

A part's pose in its body's frame is stored once for all snapshots on the GPU. So at the first snapshot of a newer scene
the rows of older snapshots are changed: with the new pose each part is drawn where the old pose had it, and blended
from there.

Always: rows whose parts did not move stay as they are, byte by byte. Pure.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY
from twixt.render.draw.bodies.part_rows import PartRows
from twixt.render.interpolation.quaternion import conjugate, multiply, normalized, rotate


class MovedParts(NamedTuple):
    """Parts that a scene moved: their rows, ascending, and their poses (m, 7) before and after."""

    rows: NDArray[np.intp]
    before: NDArray[np.float64]
    after: NDArray[np.float64]

    def kept_in_place(self, records: NDArray[np.void]) -> NDArray[np.void]:
        """Records (n,) of dtype `BODY`, one a row, changed so that parts in the poses after are drawn where the poses
        before had them. A velocity without an angular velocity counts as not given: rows turn about another point."""
        known = np.searchsorted(self.rows, len(records))
        rows, before, after = self.rows[:known], self.before[:known], self.after[:known]
        changed, moved = records.copy(), records[rows]
        with np.errstate(all="ignore"):  # records may hold anything
            old = normalized(moved["orientation"]).astype(np.float64)
            new = multiply(multiply(old, normalized(before[:, 3:])), conjugate(normalized(after[:, 3:])))
            scale = moved["scale"].astype(np.float64)[:, None]
            arm = rotate(old, before[:, :3] * scale) - rotate(new, after[:, :3] * scale)
            changed["position"][rows] = moved["position"] + arm
            changed["orientation"][rows] = new
            changed["velocity"][rows] = moved["velocity"] + np.cross(moved["angular_velocity"], arm)
        turns = (moved["flags"] & HAS_ANGULAR_VELOCITY) != 0
        changed["flags"][rows] = np.where(turns, moved["flags"], moved["flags"] & (0xFFFF ^ HAS_VELOCITY))
        return changed


def moved_parts(before: PartRows | None, after: PartRows | None) -> MovedParts | None:
    """Parts that have another pose in `after`; None if none has. Bodies with another number of parts are left out."""
    if before is None or after is None or before is after:
        return None
    count = min(len(before.first), len(after.first))
    ends = [np.append(parts.first, len(parts.bodies)) for parts in (before, after)]
    has_as_many = np.diff(ends[0])[:count] == np.diff(ends[1])[:count]
    rows = np.flatnonzero(after.bodies < count)
    rows = rows[has_as_many[after.bodies[rows]]]
    body = after.bodies[rows]
    was = rows - after.first[body] + before.first[body]
    is_moved = (before.poses[was] != after.poses[rows]).any(axis=1)
    if not is_moved.any():
        return None
    rows, was = rows[is_moved], was[is_moved]
    return MovedParts(rows, before.poses[was].astype(np.float64), after.poses[rows].astype(np.float64))
