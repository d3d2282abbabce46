"""The records of the bodies a user shows, written field by field.

One idea: bytes are copied in blocks, one a body: numpy copies a block of 12 or 16 bytes several times as fast as a
row of three or four numbers. Always: a record that no body has yet is not visible.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import BODY, CONTINUITY_MASK, RECORD, new_bodies

# A block of so many bytes is copied fastest as this type; the bits are the same. numpy takes its time to read a name.
BLOCKS = {16: np.dtype("c16"), 12: np.dtype("V12"), 4: np.dtype("u4"), 2: np.dtype("u2")}
FIELDS = {
    name: BLOCKS[BODY[name].itemsize]
    for name in ("position", "orientation", "velocity", "angular_velocity", "scale", "color")
}

Places = NDArray[np.int64] | slice


def blocks_of(field: str, records: NDArray[np.void]) -> NDArray[Any]:
    """That field of `records` (dtype `BODY`) as one block for each of them, shape (n,): a view."""
    rows = records[field].view(FIELDS[field])
    return rows[:, 0] if rows.ndim == 2 else rows


def as_blocks(field: str, values: NDArray[Any]) -> NDArray[Any]:
    """Contiguous rows of the field's own type as such blocks."""
    return values.reshape(-1).view(FIELDS[field])


class Records:
    """`count` > 0 records, `bodies`, dtype `BODY`."""

    def __init__(self, count: int) -> None:
        self.bodies = new_bodies(count)
        self.bodies["flags"] = 0

    def __len__(self) -> int:
        return len(self.bodies)

    def grown(self, count: int) -> Records:
        """The same records and more, `count` in all."""
        larger = Records(count)
        larger.bodies.view(RECORD)[: len(self)] = self.bodies.view(RECORD)
        return larger

    def write(self, field: str, places: Places, values: NDArray[Any]) -> None:
        """Puts `values`, contiguous rows of the field's own type, into the records at `places`."""
        blocks_of(field, self.bodies)[places] = as_blocks(field, values)

    def begin(self, places: NDArray[np.int64]) -> None:
        """New bodies, not visible yet, have these records; nothing of the bodies before them stays but the epoch."""
        fresh = new_bodies(1)
        fresh["flags"] = 0
        epochs = self.bodies["epoch"][places]
        self.bodies.view(RECORD)[places] = fresh.view(RECORD)
        self.bodies["epoch"][places] = epochs

    def cut(self, places: NDArray[Any]) -> None:
        """No viewer blends these bodies with what they were before. places: indices, each once, or a bool for each."""
        epoch = self.bodies["epoch"]
        low = (epoch[places] + np.uint32(1)) & np.uint32(CONTINUITY_MASK)
        epoch[places] = (epoch[places] & ~np.uint32(CONTINUITY_MASK)) | low
