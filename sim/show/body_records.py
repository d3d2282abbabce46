"""Records of shown bodies, written field by field.

Each body's bytes of a field are copied as one block, because numpy copies a block of 12 or 16 bytes several times as
fast as a row of three or four numbers. A field that is passed in every publish is handled in chunks that fit the
cache: each chunk is checked, converted and written into the records before the next one is read.

Always: a record without a body is not visible; writing in chunks gives the same values as `field_checks.checked`.
Repeated writes allocate no memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import BODY, CONTINUITY_MASK, RECORD, new_bodies
from twixt.sim.world import field_checks

# Bodies per chunk. Their fields and records, 370 KiB, fit into a core's second-level cache.
CHUNK_BODIES = 4096
# For each block size in bytes, the dtype that numpy copies fastest; the bits do not change. Created once, because
# parsing a dtype's name is slow.
BLOCKS = {16: np.dtype("c16"), 12: np.dtype("V12"), 4: np.dtype("u4"), 2: np.dtype("u2")}
FIELDS = {
    name: BLOCKS[BODY[name].itemsize]
    for name in ("position", "orientation", "velocity", "angular_velocity", "scale", "color")
}

Places = NDArray[np.int64] | slice


def blocks_of(field: str, records: NDArray[np.void]) -> NDArray[Any]:
    """View of a field of `records` (dtype `BODY`) with one block per body, shape (n,)."""
    rows = records[field].view(FIELDS[field])
    return rows[:, 0] if rows.ndim == 2 else rows


def as_blocks(field: str, values: NDArray[Any]) -> NDArray[Any]:
    """View of contiguous rows of the field's own type with one block per body."""
    return values.reshape(-1).view(FIELDS[field])


class Records:
    """Records of `count` > 0 bodies, initially not visible. bodies: shape (count,), dtype `BODY`."""

    def __init__(self, count: int) -> None:
        self.bodies = new_bodies(count)
        self.bodies["flags"] = 0

    def __len__(self) -> int:
        return len(self.bodies)

    def grown(self, count: int) -> Records:
        """A larger copy with `count` records in total."""
        larger = Records(count)
        larger.bodies.view(RECORD)[: len(self)] = self.bodies.view(RECORD)
        return larger

    def write(self, field: str, places: Places, values: NDArray[Any]) -> None:
        """Write `values`, contiguous rows of the field's own type, into the records at `places`."""
        blocks_of(field, self.bodies)[places] = as_blocks(field, values)

    def begin(self, places: NDArray[np.int64]) -> None:
        """Reset these records for new bodies, not visible yet. Only the epochs stay unchanged."""
        fresh = new_bodies(1)
        fresh["flags"] = 0
        epochs = self.bodies["epoch"][places]
        self.bodies.view(RECORD)[places] = fresh.view(RECORD)
        self.bodies["epoch"][places] = epochs

    def cut(self, places: NDArray[Any]) -> None:
        """Change the low halves of the epochs, so that viewers do not blend these bodies with their earlier states.
        places: distinct indices, or one bool per record."""
        epoch = self.bodies["epoch"]
        low = (epoch[places] + np.uint32(1)) & np.uint32(CONTINUITY_MASK)
        epoch[places] = (epoch[places] & ~np.uint32(CONTINUITY_MASK)) | low


class FieldWriter:
    """Writes one field that is passed in each publish. Call `begin`, then `write` for each chunk, then `end`.

    is_drawable: True if all values since `begin` can be drawn, see `field_checks.Checked`. lengths: work memory for
    the lengths of orientations.
    """

    def __init__(self, field: str) -> None:
        self.field = field
        self._is_checked_at_once = field not in field_checks.WIDTHS  # scale and colour, because they have few bytes
        self._width = field_checks.WIDTHS.get(field, 1)
        self._converted_chunk: NDArray[np.float32] | None = None  # memory for values converted from another type
        self.lengths = field_checks.Lengths(CHUNK_BODIES) if field == "orientation" else None
        self._count = 0
        self.is_drawable = True
        self._value: Any = None
        self._array: Any = None  # values to be converted. If None, `_flat` and `_blocks` are views of the values.
        self._flat: Any = None
        self._blocks: Any = None
        self._target: Any = None

    def begin(self, value: ArrayLike, count: int, target: NDArray[Any]) -> None:
        """Set the field's values, one row for each of `count` bodies. Raises TwixtError for another shape.

        target: the blocks to write into, as returned by `blocks_of`.
        """
        self._value, self._count, self._target = value, count, target
        if self._is_checked_at_once:
            array, self.is_drawable = field_checks.checked(self.field, value, count)
        else:
            array, self.is_drawable = field_checks.shaped(self.field, value, count), True
        if self._is_checked_at_once or (array.dtype == np.float32 and array.flags.c_contiguous):
            self._flat, self._blocks = array.reshape(-1), as_blocks(self.field, array)
        else:
            self._array = array

    def write(self, start: int, stop: int) -> None:
        """Write bodies `start` to `stop` (exclusive), at most `CHUNK_BODIES`. Raises TwixtError for orientations that
        are not unit quaternions.

        A number too large for 32 bits becomes infinite; the caller must silence numpy's warning.
        """
        width = self._width
        if self._array is None:
            flat, blocks = self._flat[width * start : width * stop], self._blocks[start:stop]
        else:
            flat = self._converted(self._array[start:stop])
            blocks = as_blocks(self.field, flat)
        if not (self._is_checked_at_once or field_checks.are_valid(self.field, flat, self.lengths)):
            self._refuse_or_note(flat)
        self._target[start:stop] = blocks

    def end(self) -> None:
        """Release the references to values and records."""
        self._value = self._array = self._flat = self._blocks = self._target = None

    def _refuse_or_note(self, flat: NDArray[np.float32]) -> None:
        self.is_drawable = False
        try:
            field_checks.refuse_wrong(self.field, flat.reshape(-1, self._width))
        except TwixtError:  # check all bodies, so that the error has the index among all, not in the chunk
            whole = field_checks.shaped(self.field, self._value, self._count)
            field_checks.refuse_wrong(self.field, np.ascontiguousarray(whole, np.float32))

    def _converted(self, array: NDArray[Any]) -> NDArray[np.float32]:
        if self._converted_chunk is None:
            self._converted_chunk = np.zeros(CHUNK_BODIES * self._width, np.float32)
        flat = self._converted_chunk[: array.size]
        flat.reshape(array.shape)[...] = array
        return flat


def write_chunks(writers: Sequence[FieldWriter], count: int) -> None:
    """Write `count` bodies, chunk by chunk, with each of `writers`. Call `begin` of each writer first."""
    for start in range(0, count, CHUNK_BODIES):
        stop = min(start + CHUNK_BODIES, count)
        for writer in writers:
            writer.write(start, stop)
