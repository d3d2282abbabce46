"""A host publishes its snapshots into a ring. The ring has a current segment. It may also have a next segment, and a
snapshot that waits for the next segment.

A snapshot that is too large for the current segment stays in private memory until the service thread has made a larger
segment. Then the next publish moves the ring into the larger segment. If nothing more is published, the service thread
moves the ring.

Always: a publish costs one copy of the snapshot. A publish never waits for memory, because the next segment is
requested when the current segment is three quarters full. At most one snapshot waits. A newer complete snapshot
replaces the waiting snapshot, and `dropped` counts the replaced snapshots. After an interruption (Ctrl-C) each step is
either complete or has no effect. Not here: the allocation of segments (`memory`), viewers.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.plan import Plan
from twixt.ipc.process.interrupts import InterruptibleEvent
from twixt.ipc.ring import memory
from twixt.ipc.ring.layout import ColumnForm, Layout, first_rows
from twixt.ipc.ring.memory import SegmentAllocator, SegmentMemory
from twixt.ipc.ring.slot import OpenSlot, PrivateSlot
from twixt.ipc.ring.writer import RingWriter, Stored
from twixt.ipc.snapshot import Head, vertex_records

# Placeholder for the number of a snapshot that has no number yet. No snapshot ever gets such a large number.
NO_NUMBER: Final = 1 << 62


class HostEnded(TwixtError):
    """The program published after the host had ended, or in a forked child."""


class LateSnapshot(NamedTuple):
    """A snapshot that had to wait for a segment and was then published. cost_ns: duration of its publish in ns, on the
    publishing thread or the service thread."""

    head: Head
    published_ns: int
    cost_ns: int


class WaitingSnapshot:
    """The newest snapshot that was too large for the current segment.

    slot: slot of the waiting snapshot. That snapshot may already be in the ring, or be older than the ring's newest
    snapshot. dropped: number of waiting snapshots that a newer snapshot replaced. late: snapshots that became visible
    after they had waited.
    """

    def __init__(self) -> None:
        self.slot: OpenSlot | None = None
        self.dropped = 0
        self.late: deque[LateSnapshot] = deque()

    def newer_than(self, latest: int) -> OpenSlot | None:
        """Returns the waiting snapshot if its number is above `latest`, else None. latest: number of the newest
        snapshot in the ring."""
        slot = self.slot
        return slot if slot is not None and slot.number > latest else None

    def keep(self, slot: OpenSlot, latest: int) -> None:
        """Makes the complete snapshot in `slot` the waiting snapshot, with the number `latest` + 1. An earlier waiting
        snapshot is dropped. latest: number of the ring's newest snapshot."""
        slot.columns = {name: rows.copy() for name, rows in slot.columns.items()}
        slot.head = slot.head._replace(count=slot.count, marks=slot.mark_count)
        slot.close()
        before = self.slot
        # The statements below call nothing, so an interruption comes either before or after all of them.
        slot.number = latest + 1  # set late, because `latest` may have grown while this snapshot was written
        slot.is_committed = True
        self.slot = slot
        if before is not None:
            self.dropped += 1

    def drop(self) -> None:
        """Drops the waiting snapshot because a newer snapshot is in the ring."""
        self.slot, self.dropped = None, self.dropped + 1

    def published(self, late: LateSnapshot) -> None:
        """Records that the waiting snapshot has been published."""
        self.slot = None
        self.late.append(late)


class HostRing:
    """Publishes snapshots into the segments of a host. At most one thread may publish at a time. Only the service
    thread calls `step`; any thread may call the other methods.

    name: name of the simulation. first: the first segment. columns: (dtype, values per row) of each column, by name. A
    third value "part" or "world" declares one row per part, or one row for the world, instead of one row per body.
    wake_service: function that tells the service thread that there is work. wake_viewers: function that is called when
    a snapshot or a plan has become visible. waiting: the snapshot that waits for a larger segment. capacity: number of
    records (bodies and marks together) that fit into the current segment.
    """

    def __init__(
        self,
        name: str,
        first: SegmentMemory,
        columns: Mapping[str, ColumnForm],
        wake_service: Callable[[], object],
        wake_viewers: Callable[[], object],
    ) -> None:
        self.writing = threading.RLock()  # a thread holds this lock while it writes or closes a segment
        self.is_ended = False
        self.columns = dict(columns)  # columns of every snapshot, as given by the caller
        self._name, self._wake_service, self._wake_viewers = name, wake_service, wake_viewers
        # a thread holds this lock while it changes `writer` or copies the descriptor of the writer's memory
        self._changing = threading.Lock()
        self.writer = RingWriter(first.memory, first.layout)
        self.capacity = first.layout.capacity
        self._to_close: deque[RingWriter] = deque()  # writers that the service thread closes
        # writer of the previous segment, until the segment's successor word is set
        self._predecessor: RingWriter | None = None
        self.waiting = WaitingSnapshot()
        # A snapshot of more than `_request_above` records requests a larger segment. A snapshot of exactly
        # `_first_count` records requests none, because the first segment was made for this number of records.
        self._request_above, self._first_count = self.capacity * 3 // 4, self.capacity
        self.allocator = SegmentAllocator(wake_service)
        self._is_idle = InterruptibleEvent()  # this event is set while the service thread makes no segment

    def begin(self, bodies: int, shown: int | None = None, marks: int = 0, parts: int = 0) -> OpenSlot:
        """Returns the slot (`OpenSlot`) of the next snapshot, for `bodies` bodies and `marks` marks. Fill the slot in
        a `with` block.

        shown: number of records to publish. If this number is smaller than `bodies + marks`, only the first `shown`
        records are published. The records of bodies come before the records of marks. The slot is then in private
        memory. parts: number of rows of the part columns. The snapshot must have exactly the host's columns.

        Raises NoRoom if memory for a larger segment is short, and HostEnded if the host has ended. The end of the
        block raises HostEnded if the host has ended meanwhile, and RingError for a head or columns that cannot be
        published.
        """
        count = bodies + marks
        with self.writing:
            if self.is_ended:
                self.require_running()
            if shown is not None and shown < count:
                slot: OpenSlot = PrivateSlot(functools.partial(self._commit_first, shown))
                slot.reopen(NO_NUMBER, bodies, marks)
                return slot
            if parts > count:
                count = parts
            if count > self._request_above and count != self._first_count:
                self._prepare_room(count)
            if count > self.capacity:
                slot = PrivateSlot(self._keep)
                slot.reopen(NO_NUMBER, bodies, marks, parts)
                return slot
            return self.writer.begin(bodies, marks, self._commit)

    def is_committed(self, slot: OpenSlot) -> bool:
        """True if the slot's snapshot is complete. A complete snapshot is visible, or it waits for a larger segment.
        Call this method after an interruption (Ctrl-C), because the interruption may come between the commit and
        the end of the block."""
        with self.writing:
            self.require_running()
            return slot.is_committed or self.writer.latest >= slot.number

    def newest(self) -> Stored | None:
        """Returns views of the newest snapshot, or None before the first snapshot. Read the views before the next
        publish."""
        with self.writing:
            self.require_running()
            if (slot := self.waiting.newer_than(self.writer.latest)) is not None:
                return Stored(slot.number, slot.head, slot.records, dict(slot.columns), slot.marks)
            return next(iter(self.writer.last_two()[-1:]), None)

    def reserve(self, count: int) -> None:
        """Requests a larger segment if `count` records do not fit. The new segment has twice the current capacity if
        there is enough memory, else the new segment is just large enough. Snapshots that do not fit wait for the
        segment. Raises NoRoom or SharedMemoryError if the segment could not be made; the next call requests it
        again."""
        with self.writing:
            self.require_running()
            if count > self.capacity:
                self._prepare_room(count)
                error, self.allocator.error = self.allocator.error, None
                if error is not None and count > self.capacity:
                    raise error

    def await_room(self, timeout_s: float) -> bool:
        """If a snapshot waits for a larger segment, waits until that snapshot is published. Call this method after the
        last publish. Returns False if the snapshot still waits when `timeout_s` is over, the host ends, or the
        segment could not be made."""
        ends_s = time.monotonic() + timeout_s
        while self.waiting.slot is not None and not self.is_ended and self.allocator.error is None:
            left_s = ends_s - time.monotonic()
            if left_s <= 0:
                break
            self._is_idle.clear()
            self._wake_service()
            self._is_idle.wait(left_s)
        return self.waiting.slot is None

    def set_columns(self, columns: Mapping[str, ColumnForm]) -> None:
        """Replaces the columns, from the next snapshot on. The ring moves into a new segment, and the last two
        snapshots are copied there. New columns are zero in these copies."""
        with self.writing:
            self.require_running()
            self._leave_predecessor()
            before, self.columns = self.columns, dict(columns)
            self.allocator.cancel()
            try:
                layout = Layout.for_bodies(self.capacity, columns)
                self._move(SegmentMemory(memory.create(layout.segment_bytes), layout))
            except BaseException:
                self.columns = before
                raise

    def write_plan(self, plan: Plan) -> None:
        """Replaces the plan and wakes waiting viewers."""
        with self.writing:
            self.require_running()
            self.writer.write_plan(plan)
        self._wake_viewers()

    def write_scene_version(self, version: int) -> None:
        """Writes the version of the scene into the segment, so that viewers notice a new scene."""
        with self.writing:
            self.require_running()
            self.writer.write_scene_version(version)

    def has_newer(self, number: int, plan_number: int) -> bool:
        """True if there is a snapshot with a number above `number`, or a plan with a number above `plan_number`."""
        with self._changing:
            return not self.is_ended and (self.writer.latest > number or self.writer.plan_number > plan_number)

    def share_segment(self) -> tuple[dict[str, Any], int]:
        """Returns message fields for a viewer, and a descriptor of the current segment. The caller owns the
        descriptor."""
        with self._changing:
            current = self.writer.memory
            return {"size": current.size}, os.dup(current.read_only_fd())

    def step(self) -> bool:
        """Does a piece of the service thread's work. It closes old segments, allocates the next segment, or publishes
        the waiting snapshot. Returns True while there is more to do."""
        while self._to_close:
            self._to_close.popleft().close()
        more = self.allocator.step()
        if self.allocator.ready is not None and self.waiting.slot is not None:
            self._publish_waiting()
        if not more:
            self._is_idle.set()
        return more

    def close(self) -> None:
        """Closes all segments. Call this method after the service thread has ended and `is_ended` is set."""
        with self.writing, self._changing:
            self.allocator.close()
            for writer in (*self._to_close, self.writer):
                writer.close()

    def close_in_child(self) -> None:
        """Implements `fork.Guarded`. Makes new locks, because threads of the parent may have held the old locks."""
        self.is_ended = True
        self.writing, self._changing = threading.RLock(), threading.Lock()

    def require_running(self) -> None:
        """Raises HostEnded if the host has ended."""
        if self.is_ended:
            raise HostEnded(
                f'the simulation "{self._name}" has ended, or this process was forked from it; '
                "publish before the end, in the process that made the simulation"
            )

    def _commit(self, slot: OpenSlot) -> int:
        with self.writing:
            if self.is_ended:
                self.require_running()
            published_ns = self.writer.commit(slot)
            if self.waiting.slot is not None:
                self.waiting.drop()
        self._wake_viewers()
        return published_ns

    def _commit_first(self, shown: int, slot: OpenSlot) -> int:
        """Publishes the first `shown` records of a private slot. These records are bodies and then marks; vertices are
        not published. The slot itself still has all bodies."""
        with self.writing:
            self.require_running()
            slot.columns = {name: rows.copy() for name, rows in slot.columns.items()}
            slot.close()
            slot.number = self.writer.latest + 1
            bodies = min(shown, slot.count)
            columns = first_rows(slot.columns, self.columns, bodies)
            marks = slot.marks[: slot.mark_count - vertex_records(slot.head.vertices)][: shown - bodies]
            published_ns = self._copy_in(slot.head._replace(vertices=0), slot.records[:bodies], columns, marks)
            if self.waiting.slot is not None:
                self.waiting.drop()
        self._wake_viewers()
        return published_ns

    def _copy_in(
        self,
        head: Head,
        bodies: NDArray[np.void],
        columns: Mapping[str, NDArray[np.generic]],
        marks: NDArray[np.void],
    ) -> int:
        """Publishes a snapshot that fits into the current segment by copying it there. Returns `published_ns`."""
        with self.writer.begin(len(bodies), len(marks)) as copy:
            copy.write(bodies, marks)
            copy.head, copy.columns = head, columns
        assert copy.published_ns is not None
        return copy.published_ns

    def _keep(self, slot: OpenSlot) -> None:
        """Lets a complete snapshot wait until there is a segment for it."""
        with self.writing:
            self.require_running()
            self.writer.check(slot.head._replace(marks=slot.mark_count), slot.count, slot.columns)
            self.waiting.keep(slot, self.writer.latest)
        if self.allocator.ready is not None or slot.record_count <= self.capacity:
            self._publish_waiting()

    def _publish_waiting(self) -> None:
        """Publishes the waiting snapshot if it fits now. Any thread may call this method."""
        with self.writing:
            slot = None if self.is_ended or self.writer.is_open else self.waiting.newer_than(self.writer.latest)
            if slot is None:
                return
            begin_ns, ready = time.perf_counter_ns(), self.allocator.ready
            if slot.record_count > self.capacity and ready is not None:
                self._move(ready)
            # memory was short, so the segment is too small; the next publish requests a segment again
            if slot.record_count > self.capacity:
                return
            published_ns = self._copy_in(slot.head, slot.records, slot.columns, slot.marks)
            self.waiting.published(LateSnapshot(slot.head, published_ns, time.perf_counter_ns() - begin_ns))
        self._wake_viewers()

    def _prepare_room(self, count: int) -> None:
        """If `count` records do not fit, moves the ring into the next segment, or requests a segment if none is ready.
        Also requests a segment if the current segment is three quarters full."""
        self._leave_predecessor()
        allocator, ready = self.allocator, self.allocator.ready
        if count > self.capacity and ready is not None:
            self._move(ready)
        capacity = self.capacity
        if count > capacity:
            if allocator.error is None:  # if there is an error, `reserve` must raise it before a new request
                allocator.request(capacity, self.columns, count)
        elif count > self._request_above:
            allocator.request(capacity, self.columns)
            self._request_above = capacity

    def _move(self, segment: SegmentMemory) -> None:
        """Copies the last two snapshots into `segment`, then makes it the current segment."""
        old_writer = self.writer
        if segment.memory is not old_writer.memory:
            try:
                new_writer = RingWriter.grown(segment.memory, segment.layout, old_writer)
            except Exception:
                self.allocator.transfer(segment)
                segment.memory.close()
                raise
            with self._changing:
                self._predecessor = old_writer
                self.writer, self.capacity = new_writer, segment.layout.capacity
        self.allocator.transfer(segment)
        self._request_above, self._first_count = self.capacity * 3 // 4, -1
        self._leave_predecessor()

    def _leave_predecessor(self) -> None:
        """Sets the predecessor's successor word, so that viewers request the current segment. If a call was
        interrupted, a second call completes it."""
        left, ready = self._predecessor, self.allocator.ready
        if ready is not None and ready.memory is self.writer.memory:
            self.allocator.transfer(ready)
        if left is not None and left is not self.writer:
            left.set_successor()
            self._to_close.append(left)  # the service thread closes it, because unmapping a large memory takes long
            self._predecessor = None
            self._wake_service()
