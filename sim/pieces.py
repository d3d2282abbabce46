"""One field of many bodies, checked and brought to the records' type a piece at a time, while it is in the cache.

Always: what a piece gives is as `rows.checked` gives it; no memory is taken after the first time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import TwixtError
from twixt.sim import rows
from twixt.sim.records import as_blocks

# Bodies at a time: their fields and records, 370 KiB, fit into the second cache of a core.
PIECE = 4096


class Pieces:
    """A field that is passed again and again: `begin`, `write` for each piece, `end`."""

    def __init__(self, field: str) -> None:
        self.field = field
        self._is_whole = field not in rows.WIDTHS  # scale and colour are few bytes: checked at once
        self._width = rows.WIDTHS.get(field, 1)
        self._made: NDArray[np.float32] | None = None  # where values of another type are converted
        self.lengths = rows.Lengths(PIECE) if field == "orientation" else None
        self._count = 0
        self.is_well = True  # of the values since `begin`, see `rows.Checked`
        self._value: Any = None
        self._array: Any = None  # values to be converted, else these as numbers and as blocks:
        self._flat: Any = None
        self._blocks: Any = None
        self._target: Any = None

    def begin(self, value: ArrayLike, count: int, target: NDArray[Any]) -> None:
        """These are the field's values, one row for each of `count` bodies. Raises TwixtError for another shape.

        target: where they go, as `records.blocks_of` has it.
        """
        self._value, self._count, self._target = value, count, target
        if self._is_whole:
            array, self.is_well = rows.checked(self.field, value, count)
        else:
            array, self.is_well = rows.shaped(self.field, value, count), True
        if self._is_whole or (array.dtype == np.float32 and array.flags.c_contiguous):
            self._flat, self._blocks = array.reshape(-1), as_blocks(self.field, array)
        else:
            self._array = array

    def write(self, start: int, stop: int) -> None:
        """Bodies `start` to `stop`, `PIECE` at most, into the records. Raises TwixtError for what cannot be drawn.

        A number too large becomes infinite on the way; numpy's own warning of it is the caller's to silence.
        """
        width = self._width
        if self._array is None:
            flat, blocks = self._flat[width * start : width * stop], self._blocks[start:stop]
        else:
            flat = self._converted(self._array[start:stop])
            blocks = as_blocks(self.field, flat)
        if not (self._is_whole or rows.are_fine(self.field, flat, self.lengths)):
            self._look_closer(flat)
        self._target[start:stop] = blocks

    def end(self) -> None:
        """Lets go of the values and records."""
        self._value = self._array = self._flat = self._blocks = self._target = None

    def _look_closer(self, flat: NDArray[np.float32]) -> None:
        self.is_well = False
        try:
            rows.refuse_wrong(self.field, flat.reshape(-1, self._width))
        except TwixtError:  # it is to name the body among all of them
            whole = rows.shaped(self.field, self._value, self._count)
            rows.refuse_wrong(self.field, np.ascontiguousarray(whole, np.float32))

    def _converted(self, array: NDArray[Any]) -> NDArray[np.float32]:
        if self._made is None:
            self._made = np.zeros(PIECE * self._width, np.float32)
        flat = self._made[: array.size]
        flat.reshape(array.shape)[...] = array
        return flat


def write_all(fields: Sequence[Pieces], count: int) -> None:
    """All `count` bodies of each of `fields`, which have begun."""
    for start in range(0, count, PIECE):
        stop = min(start + PIECE, count)
        for pieces in fields:
            pieces.write(start, stop)
