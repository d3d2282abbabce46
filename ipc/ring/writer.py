"""A writer publishes snapshots in one segment. `begin` opens the next snapshot's slot; the caller fills the slot in
place and commits the slot.

Always: the writer never waits for a reader, and a publish costs the same with any number of readers. A head or columns
that cannot be published are rejected before they are written. After an interrupted publish (Ctrl-C) the last snapshots
are still complete, and the next publish uses the same slot. Not here: the order of stores (`sequence`), the meaning of
a head's numbers.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.plan import Plan
from twixt.ipc.ring import layout as at
from twixt.ipc.ring import sequence
from twixt.ipc.ring.layout import BODY_ROWS, HEAD_PACKING, LATEST, PART_ROWS, Layout, LayoutError
from twixt.ipc.ring.memory import Memory
from twixt.ipc.ring.sequence import Fence, make_fence
from twixt.ipc.ring.slot import OpenSlot, RingError, RingSlot, kind_of
from twixt.ipc.snapshot import NO_MARKS, Head, vertex_records


class Stored(NamedTuple):
    """A complete snapshot in its slot. All arrays here are views of the segment's memory."""

    number: int
    head: Head
    bodies: NDArray[np.void]
    columns: dict[str, NDArray[np.generic]]
    marks: NDArray[np.void]


class RingWriter:
    """The only writer of a segment. At most one thread may use the writer at a time.

    memory: memory with zeros, at least `layout.segment_bytes` bytes long. now_ns: clock from which `published_ns` is
    read.
    """

    def __init__(
        self,
        memory: Memory,
        layout: Layout,
        fence: Fence | None = None,
        now_ns: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        if memory.size < layout.segment_bytes:
            raise LayoutError(f"this layout needs {layout.segment_bytes} bytes of memory, got {memory.size}")
        self.layout = layout
        self.memory = memory
        self._fence = fence or make_fence()
        self._now_ns = now_ns
        header = layout.header()
        memory.view[: len(header)] = header
        self._words: sequence.Words = memory.view[: layout.segment_bytes].cast("Q")
        self._slots = [self._new_slot(place) for place in range(layout.slots)]
        self._opened: RingSlot | None = None

    @staticmethod
    def grown(memory: Memory, layout: Layout, old: RingWriter) -> RingWriter:
        """Returns a writer that continues the numbers of `old`, in larger memory or with other columns. The last two
        snapshots are copied; new columns are zero in the copies. After this call publish nothing in `old`. As soon
        as viewers can request the new memory, call `old.set_successor()`."""
        if layout.capacity < old.layout.capacity:
            raise LayoutError(
                f"a larger segment must hold at least {old.layout.capacity} bodies, got {layout.capacity}"
            )
        before = {column._replace(offset=0) for column in old.layout.columns}
        shared = [column.name for column in layout.columns if column._replace(offset=0) in before]
        # If a part column is new, no part rows are copied: viewers would draw the zeros of the new column. Without
        # part rows they draw the values of the scene.
        keeps_parts = all(column.name in shared for column in layout.columns if column.per == PART_ROWS)
        new = RingWriter(memory, layout, now_ns=old._now_ns)
        for stored in old.last_two():
            count, marks = len(stored.bodies), len(stored.marks)
            slot = new._open(stored.number, count, marks)
            parts = stored.head.parts if keeps_parts else 0
            rows = {
                column.name: stored.columns[column.name][: column.rows(count, parts)]
                if column.name in shared
                else np.zeros((column.rows(count, parts), column.width), column.dtype)
                for column in layout.columns
            }
            slot.write(stored.bodies, stored.marks)
            slot.close()
            new._end(slot, _packed(stored.head, count, marks, parts), rows, stored.head.published_ns)
        new._words[at.SCENE_VERSION] = old._words[at.SCENE_VERSION]
        plan = sequence.read_record(old._words, new._fence, at.PLAN_SEQUENCE, len(Plan._fields))
        if plan is not None and plan[0]:
            sequence.write_record(new._words, new._fence, at.PLAN_SEQUENCE, plan[1])
        return new

    @property
    def latest(self) -> int:
        """Number of the last published snapshot, or 0 before the first snapshot."""
        return self._open_words()[at.LATEST]

    @property
    def plan_number(self) -> int:
        """Number of the last written plan, or 0 before the first plan."""
        return self._open_words()[at.PLAN]

    @property
    def is_open(self) -> bool:
        """True while the caller writes a slot in place, and after an interruption of such a write."""
        return self._opened is not None

    def begin(self, count: int, marks: int = 0, commit: Callable[[OpenSlot], int] | None = None) -> RingSlot:
        """Returns the next snapshot's slot, for `count` bodies and `marks` marks. Fill the slot in a `with` block.
        commit: function that is called at the end of the block instead of `RingWriter.commit`. Raises RingError if
        the snapshot does not fit."""
        if count + marks > self.layout.capacity:
            self._refuse(count, marks)
        words = self._words if not self.memory.closed else self._open_words()
        left = self._opened
        # The block of this slot was interrupted, or it still runs. In the second case the end of the block raises
        # RingError.
        if left is not None:
            place = left.number % self.layout.slots
            if self._slots[place] is left:
                self._slots[place] = self._new_slot(place)
            left.abort()
        slot = self._open(sequence.next_number(words, LATEST), count, marks)
        slot.commit = commit or self.commit
        self._opened = slot
        return slot

    def commit(self, opened: OpenSlot) -> int:
        """Writes a slot's head and columns, and makes its snapshot visible. This method is called at the end of the
        slot's block. Returns `published_ns`."""
        slot = self._opened
        if slot is None or opened is not slot:
            raise RingError(
                "another snapshot was begun before the block of this slot ended, so this snapshot is dropped; "
                "end the block before the next publish"
            )
        if self.memory.closed:
            self._open_words()
        columns = slot.columns
        parts = self._checked_columns(slot.count, columns) if columns or self.layout.columns else 0
        packed = _packed(slot.head, slot.count, slot.mark_count, parts)
        slot.close()
        self._opened = None
        return self._end(slot, packed, columns)

    def check(self, head: Head, count: int, columns: Mapping[str, NDArray[np.generic]]) -> None:
        """Raises RingError for a snapshot that cannot be published in a segment of any size."""
        parts = self._checked_columns(count, columns, has_room=False)
        _packed(head, count, head.marks, parts)

    def forget(self, opened: OpenSlot) -> None:
        """Drops `opened` without publishing it; the next publish uses its slot."""
        if opened is self._opened:
            self._opened = None

    def write_plan(self, plan: Plan) -> None:
        """Replaces the plan. Readers see either the complete old plan or the complete new plan."""
        number, world_epoch, wall_ns, sim_time_ns, rate = plan
        values = struct.unpack("<5Q", struct.pack("<4qd", number, world_epoch, wall_ns, sim_time_ns, rate))
        sequence.write_record(self._open_words(), self._fence, at.PLAN_SEQUENCE, values)

    def write_scene_version(self, version: int) -> None:
        """Writes the version of the scene."""
        self._open_words()[at.SCENE_VERSION] = version

    def set_successor(self) -> None:
        """Aborts an open slot, and tells readers that there is a next segment. After this call, write nothing in this
        segment."""
        if self._opened is not None:
            self._opened.abort()
        self._open_words()[at.SUCCESSOR] = 1

    def last_two(self) -> list[Stored]:
        """Returns the newest complete snapshots: at most two, the older first. They are views, and later publishes
        overwrite them."""
        latest = self.latest
        return [self._stored(number) for number in (latest - 1, latest) if number > 0]

    def close(self) -> None:
        """Closes the memory. Viewers that have mapped the memory keep their mappings. A second call has no effect."""
        self._slots = []
        self._words = memoryview(b"").cast("Q")
        self.memory.close()

    def _new_slot(self, place: int) -> RingSlot:
        return RingSlot(self.memory.view, self.layout, place, self.commit, self.forget)

    def _open(self, number: int, count: int, marks: int) -> RingSlot:
        """Marks the slot of snapshot `number` as being written, and returns the slot."""
        slot = self._slots[number % self.layout.slots]
        sequence.begin_write(self._words, self._fence, slot.sequence, number)
        slot.reopen(number, count, marks)
        return slot

    def _end(
        self,
        slot: RingSlot,
        packed_head: bytes,
        columns: Mapping[str, NDArray[np.generic]],
        published_ns: int | None = None,
    ) -> int:
        """Writes columns and head into the slot, and makes its snapshot visible. Returns `published_ns`. If the
        argument `published_ns` is None, the current time is used instead."""
        if columns:
            for name, rows in slot.column_rows.items():
                values = columns[name]
                np.copyto(rows[: len(values)], values.reshape(len(values), rows.shape[1]))
        slot.head_bytes[:] = packed_head
        if published_ns is None:
            published_ns = self._now_ns()
        words = self._words
        words[slot.published] = published_ns
        sequence.end_write(words, self._fence, LATEST, slot.sequence, slot.number)
        return published_ns

    def _open_words(self) -> sequence.Words:
        if self.memory.closed:
            raise RingError(
                "this channel is closed, or belongs to the parent of this forked process; "
                "publish in the process that made the channel"
            )
        return self._words

    def _refuse(self, count: int, marks: int = 0) -> NoReturn:
        got = f"{count} and {marks} marks" if marks else f"{count}"
        raise RingError(f"this segment holds {self.layout.capacity} bodies, got {got}; use a larger segment")

    def _checked_columns(self, count: int, columns: Mapping[str, NDArray[np.generic]], has_room: bool = True) -> int:
        """Checks the columns and returns the number of rows of the part columns. Raises RingError for wrong columns.
        If `has_room` is True, also raises RingError for part columns that do not fit into this segment."""
        names = {column.name for column in self.layout.columns}
        if names != set(columns):
            raise RingError(f"columns must be exactly {sorted(names)}, got {sorted(columns)}")
        parts: int | None = None
        for name, dtype, width, _, per in self.layout.columns:
            rows = columns[name]
            wanted = count if per == BODY_ROWS else 1
            if per == PART_ROWS:
                parts = wanted = parts if parts is not None or not isinstance(rows, np.ndarray) else len(rows)
            if not (
                isinstance(rows, np.ndarray)
                and rows.dtype == dtype
                and rows.shape[:1] == (wanted,)
                and rows.size == wanted * width
            ):
                raise RingError(f"column {name!r} must be {wanted} rows of {width} x {dtype}, got {kind_of(rows)}")
        if has_room and parts is not None and parts > self.layout.capacity:
            self._refuse(parts)
        return parts or 0

    def _stored(self, number: int) -> Stored:
        slot = self._slots[number % self.layout.slots]
        head = Head(*HEAD_PACKING.unpack(slot.head_bytes))
        columns = {
            column.name: slot.column_rows[column.name][: column.rows(head.count, head.parts)]
            for column in self.layout.columns
        }
        marks = slot.stored_marks(head.count, head.marks) if head.marks else NO_MARKS
        return Stored(number, head, slot.stored(head.count), columns, marks)


def _packed(head: Head, count: int, marks: int, parts: int) -> bytes:
    if head.count != count or head.marks != marks or head.parts != parts:
        head = head._replace(count=count, marks=marks, parts=parts)
    if head.vertices and not 0 < vertex_records(head.vertices) <= marks:
        raise RingError(f"{head.vertices} vertices take {vertex_records(head.vertices)} records, got {marks}")
    try:
        return HEAD_PACKING.pack(*head)
    except (struct.error, TypeError) as error:
        raise RingError(
            f"a head's times and counters must be whole numbers of 64 bits, and its rate a float ({error}), got {head!r}"
        ) from error
