"""A reader maps a segment. This module gives views of the snapshots in the segment, checks the views, and makes
private copies.

A reader copies or uploads a `SnapshotView`, then calls its `is_valid()`. If the writer overwrote the snapshot before
this call, the result is False, and the reader discards the copy.

Copies reuse arrays of earlier copies (`SpareArrays`), because the first access to new memory is slow. An array is free
if only `SpareArrays` refers to it. Views, buffers and slices of an array also refer to the array, so an array in use
is never overwritten.

Always: damaged memory (a bad header, an impossible count) raises a TwixtError and never causes a crash or a huge
allocation. `SpareArrays` holds only a few small arrays. Only one thread may use a segment. Not here: the order of
loads (`sequence`), the choice of the snapshot to read (`reader`).
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.config.rules import SCALE3
from twixt.ipc.ring import layout as at
from twixt.ipc.ring import sequence
from twixt.ipc.ring.layout import BODY_ROWS, HEAD_PACKING, PART_ROWS, PERS, WORLD_ROW, Layout, LayoutError
from twixt.ipc.ring.memory import Memory
from twixt.ipc.scene.mark_texts import MarksAndTexts, split_texts
from twixt.ipc.snapshot import (
    BODY,
    MARK,
    NO_MARKS,
    NO_VERTICES,
    VERTEX_BYTES,
    Head,
    Snapshot,
    vertex_records,
)

# Largest number of arrays held for reuse, and largest size of such an array in bytes. Two arrays are in use while two
# others are being filled. Larger arrays are not held: the copy into a larger array takes longer than the first access
# to its memory.
MOST_KEPT, LARGEST_BYTES = 4, 4 << 20
# Number of references to a free array. One comes from the list in `SpareArrays`, one from the argument of
# `getrefcount`.
OWN_REFERENCES = 2
NO_BYTES = memoryview(b"")


class SpareArrays:
    """Arrays of body records. An array is reused as soon as nothing else refers to it."""

    def __init__(self) -> None:
        self._arrays: list[NDArray[np.void]] = []

    def allocate(self, count: int) -> NDArray[np.void]:
        """Returns an array of `count` records of dtype `BODY`. Its contents are undefined."""
        arrays = self._arrays
        # The loop runs by index, because a loop variable would add a reference to the array.
        for index in range(len(arrays)):
            if len(arrays[index]) == count and sys.getrefcount(arrays[index]) == OWN_REFERENCES:
                return arrays[index]
        made = np.empty(count, BODY)
        if made.nbytes <= LARGEST_BYTES:
            self._arrays = [*arrays[1 - MOST_KEPT :], made]
        return made


class SampledBodies(NamedTuple):
    """Some of the bodies of a snapshot, evenly spread: body 0, body `stride`, body 2 * `stride` and so on.

    bodies: private copies of their records, (k,), dtype `BODY`. scale3: the column of this name at the same bodies,
    (k, 3), or None if the snapshot has no such column.
    """

    head: Head
    stride: int
    bodies: NDArray[np.void]
    scale3: NDArray[np.float32] | None


class SnapshotView:
    """View of snapshot `number` in its slot. First read values from the view, then call `is_valid()`. The values are
    valid only if `is_valid()` returns True.

    bodies: bytes of `head.count` records. marks: bytes of `head.marks` records, which include the packed vertices.
    columns, part_columns, world_columns: bytes of each column, by name. A column in `columns` has `head.count` rows,
    in `part_columns` `head.parts` rows, in `world_columns` one row.
    """

    __slots__ = (
        "_segment",
        "bodies",
        "columns",
        "head",
        "marks",
        "number",
        "part_columns",
        "torn",
        "world_columns",
    )

    def __init__(self, segment: Segment, number: int, head: Head) -> None:
        self.number = number
        self.head = head
        self.bodies, self.marks = segment.records(number, head.count, head.marks)
        self.columns = segment.columns(number, BODY_ROWS, head)
        self.part_columns = segment.columns(number, PART_ROWS, head)
        self.world_columns = segment.columns(number, WORLD_ROW, head)
        self.torn: bool | None = None  # None as long as the view is not checked
        self._segment = segment

    @property
    def bytes(self) -> int:
        """Number of bytes to read for the whole snapshot."""
        return self._segment.layout.snapshot_bytes(self.head.count, self.head.marks, self.head.parts)

    @property
    def layout(self) -> Layout:
        """Layout of the snapshot's segment."""
        return self._segment.layout

    def copied_marks(self) -> MarksAndTexts:
        """A private copy of the marks, shape (m,), dtype MARK, and the bytes of their texts. The copy is valid only if
        `is_valid()` then returns True."""
        count = self.head.marks - vertex_records(self.head.vertices)
        if not count:
            return NO_MARKS, b""
        return split_texts(np.frombuffer(bytearray(self.marks[: count * MARK.itemsize]), MARK))

    def copied_vertices(self) -> NDArray[np.float32]:
        """A private copy of the surface vertices, shape (v, 3). The copy is valid only if `is_valid()` then returns
        True."""
        if not (count := self.head.vertices):
            return NO_VERTICES
        start = (self.head.marks - vertex_records(count)) * MARK.itemsize
        return np.frombuffer(bytearray(self.marks[start : start + count * VERTEX_BYTES]), "<f4").reshape(count, 3)

    def sampled(self, most: int) -> SampledBodies | None:
        """Returns private copies of at most `most` body records. Returns None if the writer overwrote the snapshot
        during the copy."""
        stride = max(1, -(-self.head.count // most))
        bodies = np.frombuffer(self.bodies, BODY)[::stride].copy()
        column = self.columns.get(SCALE3)
        scale3 = None if column is None else np.frombuffer(column, "<f4").reshape(-1, 3)[::stride].copy()
        return SampledBodies(self.head, stride, bodies, scale3) if self.is_valid() else None

    def is_valid(self) -> bool:
        """True if all bytes that were read so far belong to this snapshot. Call this method after you have used the
        bytes."""
        self.torn = not self._segment.still_holds(self.number)
        return not self.torn

    def copy(self) -> Snapshot | None:
        """Returns a private copy. Returns None if the writer overwrote the snapshot during the copy."""
        return self._segment.copy(self)


class Segment:
    """One mapped segment and its words."""

    def __init__(self, memory: Memory, fence: sequence.Fence) -> None:
        self.layout = Layout.from_segment(memory.view)
        self.memory = memory
        self._spare = SpareArrays()
        self._words: sequence.Words = memory.view[: self.layout.segment_bytes].cast("Q")
        self._fence = fence

    @property
    def words(self) -> sequence.Words:
        """All words of the segment. Raises LayoutError after `close`, and in a forked child."""
        if self.memory.closed:  # the memory is closed in a forked child, where an access would be a segmentation fault
            raise LayoutError(
                "this channel is closed, or belongs to the parent of this forked process; attach again in this process"
            )
        return self._words

    def latest(self) -> int:
        """Number of the newest complete snapshot, or 0 before the first snapshot."""
        return sequence.read_latest(self.words, self._fence, at.LATEST)

    def view_of(self, number: int) -> SnapshotView | None:
        """Returns a view of snapshot `number`. Returns None if another snapshot is in the slot. Raises LayoutError for
        a damaged head."""
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
        fits = 0 <= head.count <= head.count + head.marks <= self.layout.capacity
        fits = fits and head.vertices >= 0 and vertex_records(head.vertices) <= head.marks
        fits = fits and 0 <= head.parts <= self.layout.capacity
        if not fits or not math.isfinite(head.rate):
            raise LayoutError(
                f"snapshot {number} is damaged: {head.count} bodies, {head.marks} marks, {head.vertices} vertices, {head.parts} parts "
                f"in a slot for {self.layout.capacity}, rate {head.rate}; restart the simulation"
            )
        return SnapshotView(self, number, head)

    def still_holds(self, number: int) -> bool:
        """True if all bytes that were read since the call of `view_of` belong to snapshot `number`."""
        return sequence.end_read(self.words, self._fence, self._sequence_word(number), number)

    def records(self, number: int, count: int, marks: int) -> tuple[memoryview, memoryview]:
        """Returns the bytes of the snapshot's `count` body records, and the bytes of its `marks` mark records."""
        view, bodies = self.memory.view, self.layout.bodies_offset(self.layout.slot_of(number))
        ends = bodies + count * BODY.itemsize
        return view[bodies:ends], view[ends : ends + marks * MARK.itemsize] if marks else NO_BYTES

    def columns(self, number: int, per: str, head: Head) -> dict[str, memoryview]:
        """Returns the columns whose row owner is `per`, one of PERS. For each column name, the result has the
        snapshot's rows as bytes."""
        if not self.layout.columns:
            return {}
        view, start = self.memory.view, self.layout.slot_offset(self.layout.slot_of(number))
        return {
            column.name: view[start + column.offset :][: column.rows(head.count, head.parts) * column.bytes_per_row]
            for column in self.layout.columns
            if column.per == per
        }

    def copy(self, view: SnapshotView) -> Snapshot | None:
        """Returns a private copy of the snapshot. Returns None if the writer overwrote the snapshot during the
        copy."""
        head = view.head
        bodies = self._spare.allocate(head.count)
        _copy_bytes(bodies, view.bodies)
        copied: dict[str, dict[str, np.ndarray]] = {per: {} for per in PERS}
        for column in self.layout.columns:
            rows = column.rows(head.count, head.parts)
            values = np.empty((rows,) if column.width == 1 else (rows, column.width), column.dtype)
            source = (
                view.columns
                if column.per == BODY_ROWS
                else view.part_columns
                if column.per == PART_ROWS
                else view.world_columns
            )
            _copy_bytes(values, source[column.name])
            copied[column.per][column.name] = values
        marks, texts = view.copied_marks()
        vertices = view.copied_vertices()
        if not view.is_valid():
            return None
        return Snapshot(
            head.sim_time_ns,
            bodies,
            copied[BODY_ROWS],
            tick=head.tick,
            due_ns=head.due_ns,
            published_ns=head.published_ns,
            rate=head.rate,
            dt_ns=head.dt_ns,
            step_cost_ns=head.step_cost_ns,
            world_epoch=head.world_epoch,
            marks=marks,
            vertices=vertices,
            part_columns=copied[PART_ROWS],
            world_columns=copied[WORLD_ROW],
            scene_version=head.scene_version,
            texts=texts,
        )

    def _sequence_word(self, number: int) -> int:
        return self.layout.sequence_word(self.layout.slot_of(number))


def _copy_bytes(into: np.ndarray, source: memoryview) -> None:
    # numpy would copy records field by field. It copies plain bytes in one piece, and without the interpreter's lock.
    np.copyto(into.reshape(-1).view(np.uint8), np.frombuffer(source, np.uint8))
