"""Converts the records of a snapshot if the snapshot is drawn with the shapes of another scene.

All snapshots on the GPU share one list of shapes and part poses. When the list of another scene replaces this list, the
records are changed. After the change, each part keeps the place and size from the scene of its snapshot. Motion is then
blended from this place and size. If a part's size differs by the same factor in all directions, the record's scale
expresses the difference.

Always: if a part has the same place and size in both scenes, its record stays the same, byte for byte. Pure.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene, Shape
from twixt.ipc.scene.scene import shape_list
from twixt.ipc.snapshot import BODY, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, RECORD
from twixt.render.draw.bodies.shape_rows import PartRows, half_size
from twixt.render.interpolation.quaternion import conjugate, multiply, normalized, rotate

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]
# Largest number of entries in the table in which `_distinct` marks values. If more values are possible, `_distinct`
# sorts the values instead, which takes longer.
MOST_COUNTED = 1 << 20
SAME = 1e-6  # two factors count as equal if their relative difference is at most this number


class RowShapes(NamedTuple):
    """The rows to which records belong. scene: has one shape for each row. parts: None if each body is one row. room:
    number of bodies for which there is room."""

    scene: Scene
    parts: PartRows | None
    room: int


def row_shapes(scene: Scene, parts: PartRows | None, room: int) -> RowShapes:
    """Returns the rows of the first `room` bodies of a scene. parts: result of `part_rows` for this scene."""
    return RowShapes(scene if parts is None else parts.scene, parts, room)


class MovedParts(NamedTuple):
    """Parts whose place or size changed. rows: numbers of the rows with a different place, ascending. before, after:
    old and new poses of these rows, (m, 7). sized: numbers of the rows with a different size, ascending. factors: old
    size divided by new size, for each row in `sized`."""

    rows: Rows
    before: Floats
    after: Floats
    sized: Rows
    factors: Floats

    def kept_in_place(self, records: NDArray[np.void]) -> NDArray[np.void]:
        """Converts records (n,) of dtype `BODY`, one for each row. The result, drawn with the new shapes, looks like
        `records` drawn with the old shapes. If the record of a moved part has no angular velocity, its velocity is
        marked as not given. The reason is that the part now turns about another point, whose velocity is unknown."""
        # Here whole records are copied, because copying single fields takes ten times as long.
        whole = np.ascontiguousarray(records).view(RECORD)
        changed = whole.copy().view(BODY)
        sized = self.sized[: np.searchsorted(self.sized, len(records))]
        known = np.searchsorted(self.rows, len(records))
        rows, before, after = self.rows[:known], self.before[:known], self.after[:known]
        moved = whole[rows].view(BODY)
        with np.errstate(all="ignore"):  # records may contain any bits, for example infinity or NaN
            changed["scale"][sized] *= self.factors[: len(sized)]
            if not len(rows):
                return changed
            old = normalized(moved["orientation"]).astype(np.float64)
            new = multiply(multiply(old, normalized(before[:, 3:])), conjugate(normalized(after[:, 3:])))
            scales = (one["scale"].astype(np.float64)[:, None] for one in (moved, changed[rows]))
            arm = rotate(old, before[:, :3] * next(scales)) - rotate(new, after[:, :3] * next(scales))
            changed["position"][rows] = moved["position"] + arm
            changed["orientation"][rows] = new
            changed["velocity"][rows] = moved["velocity"] + np.cross(moved["angular_velocity"], arm)
        turns = (moved["flags"] & HAS_ANGULAR_VELOCITY) != 0
        changed["flags"][rows] = np.where(turns, moved["flags"], moved["flags"] & (0xFFFF ^ HAS_VELOCITY))
        return changed


def moved_parts(before: RowShapes, after: RowShapes) -> MovedParts | None:
    """Returns the parts that have another place or size in `after`, or None if there are none. Bodies whose number of
    parts changed are left out."""
    if before.scene is after.scene or (before.parts is None) != (after.parts is None):
        return None
    if before.parts is None and are_same(before.scene, after.scene):
        return None
    rows, was = _common_rows(before, after)
    sized, factors = _sized(before.scene, after.scene, rows, was)
    if before.parts is None or after.parts is None:
        poses = [np.zeros((0, 7))] * 2
        moved = rows[:0]
    else:
        old, new = before.parts.poses[was], after.parts.poses[rows]
        is_moved = (old != new).any(axis=1) | (np.isin(rows, sized) & new[:, :3].any(axis=1))
        moved, poses = rows[is_moved], [old[is_moved], new[is_moved]]
    if not len(moved) and not len(sized):
        return None
    return MovedParts(moved, poses[0].astype(np.float64), poses[1].astype(np.float64), sized, factors)


def are_same(before: Scene, after: Scene) -> bool:
    """Returns True if both scenes have the same list of shapes."""
    return shape_list(before).table == shape_list(after).table and np.array_equal(
        shape_list(before).rows, shape_list(after).rows
    )


def _common_rows(before: RowShapes, after: RowShapes) -> tuple[Rows, Rows]:
    """Returns the rows of bodies that have the same number of parts in both scenes. The first result contains the rows
    in `after`, ascending. The second contains the rows of the same parts in `before`."""
    if before.parts is None or after.parts is None:
        rows = np.arange(max(before.room, after.room))
        return rows, rows
    old, new = before.parts, after.parts
    count = min(len(old.first), len(new.first))
    ends = [np.append(parts.first, len(parts.bodies)) for parts in (old, new)]
    has_as_many = np.diff(ends[0])[:count] == np.diff(ends[1])[:count]
    rows = np.flatnonzero(new.bodies < count)
    rows = rows[has_as_many[new.bodies[rows]]]
    body = new.bodies[rows]
    return rows, rows - new.first[body] + old.first[body]


def _sized(before: Scene, after: Scene, rows: Rows, was: Rows) -> tuple[Rows, Floats]:
    """Returns the rows whose size differs by the same factor in all directions, and these factors. was: rows of the
    same parts in `before`."""
    index = {shape: place for place, shape in enumerate(shape_list(before).table)}
    known = np.array([index.get(shape, -1) for shape in shape_list(after).table], np.intp)
    if not len(rows) or not len(known) or not index:
        return rows[:0], np.zeros(0)
    old = shape_list(before).rows_for(int(was.max()) + 1)[was]
    new = shape_list(after).rows_for(int(rows.max()) + 1)[rows]
    differ = np.flatnonzero(known[new] != old)
    if not len(differ):
        return rows[:0], np.zeros(0)
    pairs = old[differ].astype(np.int64) * len(known) + new[differ]
    found = _distinct(pairs, len(index) * len(known))
    shapes = (
        (shape_list(before).table[pair // len(known)], shape_list(after).table[pair % len(known)]) for pair in found
    )
    factors = np.array([_factor(*pair) for pair in shapes])
    if (factors == 1).all():
        return rows[:0], np.zeros(0)
    of_rows = factors[np.searchsorted(found, pairs)]
    is_sized = of_rows != 1
    return rows[differ[is_sized]], of_rows[is_sized]


def _distinct(values: NDArray[np.int64], end: int) -> list[int]:
    """Returns the distinct values in ascending order. end: all values are below this number."""
    if end > MOST_COUNTED:
        return np.unique(values).tolist()
    is_there = np.zeros(end, np.bool_)
    is_there[values] = True
    return np.flatnonzero(is_there).tolist()


def _factor(before: Shape, after: Shape) -> float:
    """Returns old size divided by new size. Returns 1 if the sizes do not differ by the same factor in all
    directions."""
    if type(before) is not type(after):
        return 1.0
    old, new = np.array(half_size(before)), np.array(half_size(after))
    factor = float(old.max() / new.max()) if new.max() > 0 and old.max() > 0 else 1.0
    return factor if np.allclose(old, new * factor, rtol=SAME, atol=0) else 1.0
