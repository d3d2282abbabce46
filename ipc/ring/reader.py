"""The viewer's side of the ring. A reader gives the viewer the unread snapshots, the two newest snapshots, and the
plan.

A reader delivers a `SnapshotView` of each snapshot. If the writer overwrites a snapshot while the viewer uses it, the
viewer discards the snapshot and reads newer snapshots.

Always: a reader writes nothing in the segment. A reader delivers snapshots in order, and each snapshot at most one
time, even if the ring grows. Damaged memory raises a TwixtError. Only one thread may use a reader. Not here: the order
of loads (`sequence`), the code that receives new segments (`session.link`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from twixt.ipc.plan import FASTEST, SLOWEST, Plan
from twixt.ipc.ring import layout as at
from twixt.ipc.ring import sequence
from twixt.ipc.ring.layout import Layout, LayoutError
from twixt.ipc.ring.mapped_segment import SampledBodies, Segment, SnapshotView
from twixt.ipc.ring.memory import Memory
from twixt.ipc.ring.sequence import Fence, make_fence
from twixt.ipc.snapshot import Snapshot

# Largest number of attempts to read a snapshot in one frame. An attempt fails if the writer overwrites the snapshot
# during the read. With a writer that never pauses, a few percent of all reads fail. With a writer at an ordinary rate,
# no read fails.
ATTEMPTS = 16
# Largest number of segments that are mapped at the same time. Each growth of the ring since the last read adds a
# segment. Without this limit, a viewer that stops reading would map more and more segments.
MOST_SEGMENTS = 8
Read = TypeVar("Read")
NO_PLAN = Plan(number=0, world_epoch=0, wall_ns=0, sim_time_ns=0, rate=1.0)


@dataclass
class Counters:
    """Counts of one reader since its start. A pair is the two newest snapshots, both complete."""

    pairs_read: int = 0
    retries: int = 0  # number of reads that were repeated because the writer overwrote a snapshot during the read
    pairs_failed: int = 0  # number of reads that gave no pair because the writer overwrote a snapshot
    # number of snapshots that were never read completely: they were overwritten first or did not fit the byte budget
    skipped: int = 0
    bytes_per_snapshot: int = 0  # size of the newest delivered snapshot, in bytes


class RingReader:
    """A reader of the ring that begins in `memory` and continues in the larger segments, which `follow` adds."""

    def __init__(self, memory: Memory, fence: Fence | None = None) -> None:
        self.counters = Counters()
        self._fence = fence or make_fence()
        # The oldest segment is first. An old segment is removed after all its snapshots are read.
        self._segments = [Segment(memory, self._fence)]
        self._attached_at = self._segments[0].latest()
        self._read = 0  # number of the last delivered snapshot
        self._whole: tuple[int, int] = (-1, -1)  # numbers of the last two snapshots that were read completely
        self._plan = NO_PLAN
        self._plan_state = 0

    @property
    def layout(self) -> Layout:
        """Layout of the newest segment."""
        return self._segments[-1].layout

    @property
    def latest(self) -> int:
        """Number of the newest complete snapshot, or 0 before the first snapshot."""
        return self._segments[-1].latest()

    @property
    def has_successor(self) -> bool:
        """True if there is a larger segment. The caller then requests this segment and passes its memory to
        `follow`."""
        return self._segments[-1].words[at.SUCCESSOR] != 0

    @property
    def is_full(self) -> bool:
        """True while MOST_SEGMENTS segments are mapped. During this time do not call `follow`."""
        return len(self._segments) >= MOST_SEGMENTS

    @property
    def has_unread(self) -> bool:
        """True if `unread` has snapshots to deliver or segments to close. This test loads only one word of the
        segment."""
        return self._segments[-1].words[at.LATEST] > self._read or len(self._segments) > 1

    @property
    def scene_version(self) -> int:
        """Version of the newest scene."""
        return self._segments[-1].words[at.SCENE_VERSION]

    def follow(self, memory: Memory) -> None:
        """Adds the memory of the next segment. The unread snapshots of the old segment are delivered first; then the
        old segment is closed."""
        self._segments.append(Segment(memory, self._fence))
        self._plan_state = 0

    def unread(self, byte_budget: int) -> Iterator[SnapshotView]:
        """Delivers the unread snapshots, the oldest first. If they need more bytes than the budget, the oldest
        snapshots are left out. The newest snapshot is always delivered.

        Use each view and call its `is_valid()` before you request the next view. A snapshot is torn if the writer
        overwrote it during the read. The reader then continues with newer snapshots, and with fewer of them at each
        attempt. If a reader is slower than the writer, it skips the snapshots that the writer is about to overwrite.
        Without this skipping, 112 of 119 snapshots that were read in one frame were torn on a slow machine.
        """
        # `pace` is the number of snapshots that the writer publishes during one delivery
        newest, delivered, pace = 0, 0, 0
        for attempt in range(ATTEMPTS):
            before, newest = newest, self.latest
            if newest <= self._read:
                break
            self.counters.retries += attempt > 0
            if delivered:
                pace = max(1, -(-(newest - before) // delivered))
            most = max(2, len(self._segments) * at.MAX_SLOTS >> attempt)
            views, delivered = self._gather(newest, byte_budget, most, pace), 0
            for view in views:
                self._deliver(view)
                delivered += 1
                yield view
                if view.torn:
                    self.counters.skipped += 1
                    if delivered < len(views) - 1:
                        break
                elif view.torn is False:
                    self._whole = (self._whole[1], view.number)
            if views and not views[delivered - 1].torn:
                self._count_pair(views)
                break
        else:
            self.counters.pairs_failed += 1
        self._close_old_segments()

    def pair(self) -> tuple[Snapshot, ...]:
        """Returns private copies of the two newest snapshots, the older first. If there are fewer than two snapshots,
        returns copies of all. Returns an empty tuple if the writer overwrote a snapshot during each of the
        ATTEMPTS."""
        for attempt in range(ATTEMPTS):
            newest = self.latest
            if newest == 0:
                return ()
            self.counters.retries += attempt > 0
            copies = [self._copy(number) for number in (newest - 1, newest) if number > 0]
            whole = tuple(snapshot for snapshot in copies if snapshot is not None)
            if len(whole) == len(copies):
                self.counters.pairs_read += len(whole) == 2
                return whole
        self.counters.pairs_failed += 1
        return ()

    def newest(self) -> Snapshot | None:
        """Returns a private copy of the newest snapshot. Returns None before the first snapshot, or if all ATTEMPTS
        failed."""
        return self._from_newest(SnapshotView.copy)

    def sampled(self, most: int) -> SampledBodies | None:
        """Returns private copies of at most `most` body records of the newest snapshot, evenly spread. Returns None
        in the same cases as `newest`."""
        return self._from_newest(lambda view: view.sampled(most))

    def plan(self) -> Plan:
        """Returns the current plan. While the writer replaces the plan, returns the previous plan. Before the first
        plan, returns NO_PLAN (rate 1, number 0). Raises LayoutError for a rate out of range."""
        words = self._segments[-1].words
        if words[at.PLAN_SEQUENCE] == self._plan_state:
            return self._plan
        for _ in range(ATTEMPTS):
            record = sequence.read_record(words, self._fence, at.PLAN_SEQUENCE, len(Plan._fields))
            if record is not None:
                plan = Plan(*struct.unpack("<4qd", struct.pack("<5Q", *record[1])))
                if not plan.is_sound:
                    raise LayoutError(
                        f"the plan is damaged: its rate must be 0, or from {SLOWEST:g} to {FASTEST:g}, "
                        f"got {plan.rate}; restart the simulation"
                    )
                self._plan_state, self._plan = record[0], plan
                break
        return self._plan

    def close(self) -> None:
        """Closes the memory. The memory stays mapped while views of it exist."""
        for segment in self._segments:
            segment.memory.close()

    def _from_newest(self, read: Callable[[SnapshotView], Read | None]) -> Read | None:
        """Returns what `read` returns for the newest snapshot. Tries again, with the then newest snapshot, if the
        writer overwrote it: `read` returns None in this case."""
        for _ in range(ATTEMPTS):
            number = self.latest
            view = self._view_of(number) if number else None
            if view is not None and (found := read(view)) is not None:
                return found
        return None

    def _view_of(self, number: int) -> SnapshotView | None:
        for segment in reversed(self._segments):
            view = segment.view_of(number)
            if view is not None:
                return view
        return None

    def _copy(self, number: int) -> Snapshot | None:
        view = self._view_of(number)
        return None if view is None else view.copy()

    def _gather(self, newest: int, byte_budget: int, most: int, pace: int) -> list[SnapshotView]:
        """Returns views of the newest unread snapshots, the oldest first. There are at most `most` views, and no more
        than fit the byte budget. pace: number of snapshots that the writer will publish during one delivery. A
        snapshot that the writer would overwrite during the delivery is left out."""
        views: list[SnapshotView] = []
        before = newest - most
        if pace:
            before = min(newest - 1, max(before, newest + 1 + pace - self.layout.slots))
        for number in range(newest, max(self._read, before), -1):
            view = self._view_of(number)
            if view is None:  # the writer has overwritten this snapshot, and so all older snapshots
                break
            byte_budget -= view.bytes
            if views and byte_budget < 0:
                break
            views.append(view)
        return views[::-1]

    def _deliver(self, view: SnapshotView) -> None:
        self.counters.skipped += max(0, view.number - max(self._read, self._attached_at) - 1)
        size = view.bytes
        if size != self.counters.bytes_per_snapshot:  # avoids storing a new int object each frame
            self.counters.bytes_per_snapshot = size
        self._read = view.number

    def _count_pair(self, views: list[SnapshotView]) -> None:
        newest = views[-1].number
        if self._whole == (newest - 1, newest):
            self.counters.pairs_read += 1
        elif any(view.torn for view in views):
            self.counters.pairs_failed += 1

    def _close_old_segments(self) -> None:
        while len(self._segments) > 1 and self._read >= self._segments[0].latest():
            self._segments.pop(0).memory.close()
