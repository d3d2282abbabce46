"""Stores the snapshots that the viewer holds. Each entry has a slot in the GPU ring, the snapshot's marks and, if
needed, a copy.

A clock may draw several snapshots behind the newest snapshot. So all snapshots that are not drawn yet are held. The two
snapshots around a draw time are called a pair in use. When the ring is full, snapshots older than all pairs in use are
dropped first. After these, single snapshots that are not drawn yet are dropped. The history may have several users,
which draw at different draw times: the two halves of a picture, or a group of bodies with a delay.

Always: pair.previous.head.sim_time_ns <= pair.draw_time_ns < pair.next.head.sim_time_ns, or pair.next is None and the
picture stands still. There is one entry for each simulated time. If a state is published again for the same time, with
a newer tick, it replaces the entry. A pair in use is never dropped. The newest snapshot is dropped only for a newer
one. All entries belong to one world epoch: the first snapshot of a newer world epoch replaces all entries. Marks are
sorted once, when they arrive. A returned array is never changed afterwards. This module does not access the GPU.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import NO_MARKS, Head, Snapshot
from twixt.render.interpolation.blending import Matched, blended, drawable, matched

# Least number of slots: two for a pair in use, and one for the next upload.
MIN_SLOTS = 3
# Largest number of held snapshots that are copied from the GPU when copies begin to be needed. This number
# is enough, because the clock draws only a few snapshots behind the newest snapshot.
MOST_COPIED = 16


class MatchedMarks(NamedTuple):
    """Says which marks of a snapshot match which marks of the snapshot `newer`."""

    newer: NDArray[np.void]
    rows: Matched


@dataclass(eq=False, slots=True)
class HeldSnapshot:
    """A snapshot whose upload into a GPU slot is complete.

    marks: (m,) of dtype `MARK`, sorted by key. texts: their texts, for `text_of_label`. copy: private copy of the snapshot, if numpy computes something from it.
    match: how the marks match those of the next snapshot, in the pair that was drawn last.
    """

    slot: int
    head: Head
    marks: NDArray[np.void] = field(default_factory=lambda: NO_MARKS)
    copy: Snapshot | None = None
    match: MatchedMarks | None = None
    texts: bytes = b""


class Pair(NamedTuple):
    """The two snapshots around a draw time. alpha: share of the time from `previous` to `next` that has passed at the
    draw time; 0 at `previous`, always below 1.

    draw_time_ns: the simulated time that is really drawn. It is never outside the time of the held snapshots. If `next`
    is None, `previous` is drawn unblended. before: the snapshot before `previous`, if it is held.
    """

    previous: HeldSnapshot
    next: HeldSnapshot | None
    alpha: float
    draw_time_ns: int
    before: HeldSnapshot | None = None

    @property
    def slots(self) -> set[int]:
        """GPU slots of the pair's snapshots."""
        return {entry.slot for entry in (self.previous, self.next) if entry is not None}

    def marks(self) -> NDArray[np.void]:
        """The marks of both snapshots, blended at the draw time, (m,) of dtype `MARK`. Their keys are matched only once
        for each pair."""
        older, newer = self.previous, self.next
        if newer is None or not len(older.marks):
            return older.marks
        if older.match is None or older.match.newer is not newer.marks:
            older.match = MatchedMarks(newer.marks, matched(older.marks["key"], newer.marks["key"]))
        return blended(older.marks, newer.marks, older.match.rows, self.alpha)


class History:
    """Holds snapshots in the order of simulated time. Each snapshot is in one of the GPU slots. slots: number of these
    slots."""

    def __init__(self, slots: int) -> None:
        if slots < MIN_SLOTS:
            raise TwixtError(f"History needs at least {MIN_SLOTS} slots (a pair in use and one to fill), got {slots!r}")
        self.slots = slots
        self.thinned = 0  # number of snapshots that were dropped before they were drawn, because the ring was full
        self._entries: list[HeldSnapshot] = []
        self._times: list[int] = []
        self._free = list(range(slots - 1, -1, -1))
        self._most = slots
        self._lent: set[int] = set()
        self._in_use: dict[str, Pair] = {}
        self._world_epoch: int | None = None

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> tuple[HeldSnapshot, ...]:
        """Held snapshots, oldest first."""
        return tuple(self._entries)

    @property
    def copies(self) -> list[Snapshot]:
        """Private copies of the held snapshots that have one, oldest first."""
        return [entry.copy for entry in self._entries if entry.copy is not None]

    @property
    def newest(self) -> HeldSnapshot | None:
        return self._entries[-1] if self._entries else None

    @property
    def oldest(self) -> HeldSnapshot | None:
        return self._entries[0] if self._entries else None

    @property
    def drawable(self) -> set[int]:
        """Slots of the snapshots that may be drawn again: the snapshot before the oldest pair in use, and all newer
        snapshots."""
        first = 0 if (oldest_ns := self._oldest_in_use_ns) is None else bisect_left(self._times, oldest_ns) - 1
        return {entry.slot for entry in self._entries[max(0, first) :]}

    def limit(self, slots: int) -> None:
        """Limits the number of held snapshots to `slots`. Call this if snapshots are large. Surplus snapshots are
        dropped when new snapshots arrive."""
        self._most = min(self.slots, max(MIN_SLOTS, slots))

    @property
    def spare(self) -> int | None:
        """The next free slot; None if another snapshot must be dropped before the next snapshot can be held."""
        return self._free[-1] if self._free and len(self._entries) + len(self._lent) < self._most else None

    def slot_for(self, head: Head) -> int | None:
        """Returns a slot for the upload of the snapshot with this head. After the upload, call `commit` or `discard`
        with the slot. Returns None if nobody will draw the snapshot: it is a duplicate, belongs to an older world, or
        is older than the pair in use."""
        if self._world_epoch is not None and head.world_epoch < self._world_epoch:
            return None
        if head.world_epoch == self._world_epoch:
            known = self._at(head.sim_time_ns)
            if known is not None and head.tick <= known.head.tick:
                return None
            oldest_ns = self._oldest_in_use_ns
            if oldest_ns is not None and head.sim_time_ns < oldest_ns:
                return None
        while len(self._entries) + len(self._lent) >= self._most or not self._free:
            if not self._free_slot(head):
                if self._free and len(self._entries) + len(self._lent) < self.slots:
                    break
                return None
        slot = self._free.pop()
        self._lent.add(slot)
        return slot

    def commit(
        self,
        slot: int,
        head: Head,
        marks: NDArray[np.void] = NO_MARKS,
        copy: Snapshot | None = None,
        texts: bytes = b"",
    ) -> None:
        """Enters the snapshot with `head` into the history. Its upload into `slot` must be complete. From now on the
        snapshot may be drawn. marks: (m,) of dtype `MARK`; do not modify them afterwards. texts: their texts. copy:
        private copy of the snapshot, if a copy is needed."""
        self._lent.remove(slot)
        if self._world_epoch is None or head.world_epoch > self._world_epoch:
            self._drop_entries()
            self._world_epoch = head.world_epoch
        elif head.world_epoch < self._world_epoch:
            self._free.append(slot)
            return
        known = self._at(head.sim_time_ns)
        entry = HeldSnapshot(slot, head, drawable(marks) if len(marks) else NO_MARKS, copy, texts=texts)
        if known is not None:
            self._replace(known, entry)
            return
        index = bisect_right(self._times, head.sim_time_ns)
        self._entries.insert(index, entry)
        self._times.insert(index, head.sim_time_ns)

    def discard(self, slot: int) -> None:
        """Frees a slot. Call this if the snapshot was overwritten in shared memory while it was uploaded into the
        slot."""
        self._lent.remove(slot)
        self._free.append(slot)

    def pair(self, draw_time_ns: int, user: str = "") -> Pair | None:
        """The two snapshots around `draw_time_ns`. They become the pair in use of `user`. Returns None if no snapshot
        is held."""
        if not self._entries:
            return None
        index = max(0, bisect_right(self._times, draw_time_ns) - 1)
        previous, start = self._entries[index], self._times[index]
        following = self._entries[index + 1] if index + 1 < len(self._entries) else None
        before = self._entries[index - 1] if index else None
        if following is None or draw_time_ns < start:
            pair = Pair(previous, None, 0.0, start, before)
        else:
            span = following.head.sim_time_ns - start
            pair = Pair(previous, following, (draw_time_ns - start) / span, draw_time_ns, before)
        self._in_use[user] = pair
        return pair

    def release(self, user: str) -> None:
        """Releases the pair in use of a user that no longer draws."""
        self._in_use.pop(user, None)

    def copy_latest(self, read: Callable[[int], tuple[NDArray[np.void], dict[str, NDArray[np.generic]]]]) -> None:
        """Makes private copies of the latest held snapshots that have none. Call this when something begins to be
        computed from copies. read: function that returns the bodies and the columns in a slot."""
        for held in self._entries[-MOST_COPIED:]:
            if held.copy is None:
                head, (bodies, columns) = held.head, read(held.slot)
                held.copy = Snapshot(
                    head.sim_time_ns,
                    bodies,
                    columns,
                    tick=head.tick,
                    world_epoch=head.world_epoch,
                    scene_version=head.scene_version,
                )

    def drawable_copies(
        self, read: Callable[[int], tuple[NDArray[np.void], dict[str, NDArray[np.generic]]]]
    ) -> list[Snapshot]:
        """Private copies of the latest snapshots that may be drawn again, oldest first. read: as for `copy_latest`."""
        self.copy_latest(read)
        slots = self.drawable
        return [entry.copy for entry in self._entries if entry.copy is not None and entry.slot in slots]

    def drop_copies(self) -> None:
        """Drops the private copies of all snapshots. Call this when nothing is computed from copies any more."""
        for entry in self._entries:
            entry.copy = None

    def _at(self, sim_time_ns: int) -> HeldSnapshot | None:
        """The entry with exactly this simulated time; None if there is none."""
        index = bisect_left(self._times, sim_time_ns)
        return self._entries[index] if index < len(self._times) and self._times[index] == sim_time_ns else None

    def _replace(self, known: HeldSnapshot, entry: HeldSnapshot) -> None:
        """Replaces the entry `known` by `entry`, a newer state of the same simulated time. The pairs in use are changed
        too."""
        self._entries[bisect_left(self._times, known.head.sim_time_ns)] = entry
        for user, pair in self._in_use.items():
            previous, following, before = (
                entry if held is known else held for held in (pair.previous, pair.next, pair.before)
            )
            assert previous is not None
            self._in_use[user] = pair._replace(previous=previous, next=following, before=before)
        self._free.append(known.slot)

    def _drop_entries(self) -> None:
        self._free.extend(entry.slot for entry in self._entries)
        self._entries.clear()
        self._times.clear()
        self._in_use.clear()

    @property
    def _oldest_in_use_ns(self) -> int | None:
        return min((pair.previous.head.sim_time_ns for pair in self._in_use.values()), default=None)

    def _free_slot(self, head: Head) -> bool:
        """Frees one slot by dropping a snapshot. If the oldest snapshot is older than all pairs in use, it is dropped.
        Otherwise a snapshot that is not drawn yet is dropped: the one whose two neighbours are closest in time."""
        entries, times = self._entries, self._times
        if not entries:
            return False
        oldest_ns = self._oldest_in_use_ns
        if oldest_ns is None or times[0] < oldest_ns:
            self._remove(0)
            return True
        kept = set().union(*(pair.slots for pair in self._in_use.values()))
        candidates = [i for i in range(1, len(entries) - 1) if entries[i].slot not in kept]
        if candidates:
            self._remove(min(candidates, key=lambda i: times[i + 1] - times[i - 1]))
        elif entries[-1].slot not in kept and (head.world_epoch, head.sim_time_ns) >= (self._world_epoch, times[-1]):
            self._remove(len(entries) - 1)
        else:
            return False
        self.thinned += 1
        return True

    def _remove(self, index: int) -> None:
        entry = self._entries.pop(index)
        del self._times[index]
        self._free.append(entry.slot)
