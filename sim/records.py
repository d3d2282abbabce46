"""The records of the bodies a user shows, written field by field.

One idea: bytes are copied in blocks, one a body: numpy copies blocks of 16 bytes four times as fast as rows of
three numbers. A position is no such block, so it is laid out with its epoch, which follows it in the record,
and both are copied together. Always: a record that no body has yet is not visible.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import BODY, CONTINUITY_MASK, new_bodies

# A block of so many bytes is copied fastest as this type; the bits are the same.
BLOCKS = {16: "c16", 12: "V12", 4: "u4", 2: "u2"}
FIELDS = ("position", "orientation", "velocity", "angular_velocity", "scale", "color")

Places = NDArray[np.int64] | slice


class Records:
    """`count` > 0 records, `bodies`, dtype `BODY`. Change positions and epochs through the methods alone."""

    def __init__(self, count: int) -> None:
        self.bodies = new_bodies(count)
        self.bodies["flags"] = 0
        self._blocks: dict[str, NDArray[Any]] = {}
        for name in FIELDS:
            kind, offset = BODY.fields[name][:2]  # type: ignore[index]  # a structured dtype has fields
            self._blocks[name] = np.ndarray((count,), BLOCKS[kind.itemsize], self.bodies, offset, (BODY.itemsize,))
        self._fronts = np.zeros((count, 4), np.float32)  # position and epoch of each, as they begin the record
        self._front_epochs = self._fronts.view(np.uint32)[:, 3]
        self._front_blocks = np.ndarray((count,), "c16", self.bodies, 0, (BODY.itemsize,))

    def __len__(self) -> int:
        return len(self.bodies)

    def grown(self, count: int) -> Records:
        """The same records and more, `count` in all."""
        larger = Records(count)
        larger.bodies[: len(self)] = self.bodies
        larger._front_epochs[:] = larger.bodies["epoch"]
        return larger

    def write(self, field: str, places: Places, values: NDArray[Any]) -> None:
        """Puts `values`, contiguous rows of the field's own type, into the records at `places`."""
        if field == "position" and isinstance(places, slice):
            fronts = self._fronts[places]
            for axis in range(3):
                fronts[:, axis] = values[:, axis]
            self._front_blocks[places] = fronts.view("c16")[:, 0]
            return
        block = self._blocks[field]
        block[places] = values.view(block.dtype).reshape(-1)

    def begin(self, places: NDArray[np.int64]) -> None:
        """New bodies, not visible yet, have these records; nothing of the bodies before them stays but the epoch."""
        fresh = np.repeat(new_bodies(1), places.size)
        fresh["epoch"] = self.bodies["epoch"][places]
        fresh["flags"] = 0
        self.bodies[places] = fresh

    def cut(self, places: NDArray[Any]) -> None:
        """No viewer blends these bodies with what they were before. places: indices, each once, or a bool for each."""
        epoch = self.bodies["epoch"]
        low = (epoch[places] + np.uint32(1)) & np.uint32(CONTINUITY_MASK)
        epoch[places] = (epoch[places] & ~np.uint32(CONTINUITY_MASK)) | low
        self._front_epochs[places] = epoch[places]
