"""A mapped segment as its readers see it: the snapshots that lie in it, and whether they still do.

The one idea: look, use, look again. A `Claim` is a snapshot still lying in the ring; it may be copied or
uploaded from there, and then `is_valid()` says whether the writer came by meanwhile. If so, throw it away.

Always: whatever the memory holds (a damaged header, an impossible count), the answer is a TwixtError, never a crash or
a huge allocation. Not here: the order of loads (`sequence`), which snapshot to ask for (`ring_reader`).
"""

from __future__ import annotations

import math

import numpy as np

from twixt.ipc import layout as at
from twixt.ipc import sequence
from twixt.ipc.fence import Fence
from twixt.ipc.layout import HEAD_PACKING, Layout, LayoutError
from twixt.ipc.memory import Memory
from twixt.ipc.snapshot import BODY, Head, Snapshot
from twixt.ipc.spare import Spare


class Claim:
    """Snapshot `number` where it lies. What was made of `bodies` and `columns` counts only if `is_valid()` then.

    bodies: the bytes of `head.count` records. columns: name -> the bytes of `head.count` rows.
    """

    __slots__ = ("_segment", "bodies", "columns", "head", "number", "torn")

    def __init__(self, segment: Segment, number: int, head: Head) -> None:
        self.number = number
        self.head = head
        self.bodies, self.columns = segment.blocks(number, head.count)
        self.torn: bool | None = None  # None: nobody asked yet
        self._segment = segment

    @property
    def bytes(self) -> int:
        """What it takes to read it whole."""
        return self._segment.layout.snapshot_bytes(self.head.count)

    def is_valid(self) -> bool:
        """True when everything read of it so far was this snapshot, whole. Ask after using it."""
        self.torn = not self._segment.still_holds(self.number)
        return not self.torn

    def copy(self) -> Snapshot | None:
        """A private copy, or None when it was overwritten meanwhile."""
        return self._segment.copy(self)


class Segment:
    """One mapped segment and its words."""

    def __init__(self, memory: Memory, fence: Fence) -> None:
        self.layout = Layout.from_segment(memory.view)
        self.memory = memory
        self._spare = Spare()
        self._words: sequence.Words = memory.view[: self.layout.segment_bytes].cast("Q")
        self._fence = fence

    @property
    def words(self) -> sequence.Words:
        if self.memory.closed:  # in a forked child a touch would be a segmentation fault
            raise LayoutError(
                "this channel is closed, or belongs to the process that forked this one; attach again in this process"
            )
        return self._words

    def latest(self) -> int:
        return sequence.read_latest(self.words, self._fence, at.LATEST)

    def claim(self, number: int) -> Claim | None:
        """Snapshot `number`, or None when the slot holds another."""
        offset = self.layout.head_offset(self.layout.slot_of(number))
        values = sequence.read_slot(
            self.words,
            self._fence,
            self._sequence_word(number),
            number,
            lambda: HEAD_PACKING.unpack_from(self.memory.view, offset),
        )
        if values is None:
            return None
        head = Head(*values)
        if not 0 <= head.count <= self.layout.capacity or not math.isfinite(head.rate):
            raise LayoutError(
                f"snapshot {number} is damaged: {head.count} bodies where {self.layout.capacity} fit, "
                f"rate {head.rate}; restart the simulation"
            )
        return Claim(self, number, head)

    def still_holds(self, number: int) -> bool:
        return sequence.end_read(self.words, self._fence, self._sequence_word(number), number)

    def blocks(self, number: int, count: int) -> tuple[memoryview, dict[str, memoryview]]:
        slot, view = self.layout.slot_of(number), self.memory.view
        start, bodies = self.layout.slot_offset(slot), self.layout.bodies_offset(slot)
        columns = {
            column.name: view[start + column.offset : start + column.offset + count * column.bytes_per_body]
            for column in self.layout.columns
        }
        return view[bodies : bodies + count * BODY.itemsize], columns

    def copy(self, claim: Claim) -> Snapshot | None:
        """A private copy of the claim, or None when it was overwritten meanwhile."""
        head = claim.head
        bodies = self._spare.take(head.count)
        _copy_bytes(bodies, claim.bodies)
        columns: dict[str, np.ndarray] = {}
        for column in self.layout.columns:
            shape = (head.count,) if column.width == 1 else (head.count, column.width)
            columns[column.name] = np.empty(shape, column.dtype)
            _copy_bytes(columns[column.name], claim.columns[column.name])
        if not claim.is_valid():
            return None
        return Snapshot(
            head.sim_time_ns,
            bodies,
            columns,
            head.tick,
            head.due_ns,
            head.published_ns,
            head.rate,
            head.dt_ns,
            head.step_cost_ns,
            head.world_epoch,
        )

    def _sequence_word(self, number: int) -> int:
        return self.layout.sequence_word(self.layout.slot_of(number))


def _copy_bytes(into: np.ndarray, source: memoryview) -> None:
    # As plain bytes: one copy that lets other threads run; of records numpy would make one copy per field.
    np.copyto(into.reshape(-1).view(np.uint8), np.frombuffer(source, np.uint8))
