"""Which snapshots the viewer holds, and in which slot of the GPU ring.

A late clock draws several snapshots behind the newest, so all that are not drawn yet are kept. When the
ring is full, what is behind the pair in use goes first, then the undrawn are thinned.

Always: pair.previous.head.sim_time_ns <= pair.draw_time_ns < pair.next.head.sim_time_ns, or next is None
and the picture holds still. The pair in use is never given away, the newest only for a newer one. Entries are of one
world epoch: the first of a newer one replaces all. Holds no bodies and touches no GPU.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import Head

# A pair in use, and one more to upload into.
MIN_SLOTS = 3


class Entry(NamedTuple):
    """A snapshot that lies whole in a GPU slot."""

    slot: int
    head: Head


@dataclass(frozen=True, slots=True)
class Pair:
    """The two snapshots around a draw time. alpha: 0 at `previous`, below 1 before `next`.

    draw_time_ns: the simulated time really drawn, within what is held. next is None: `previous` is drawn still.
    """

    previous: Entry
    next: Entry | None
    alpha: float
    draw_time_ns: int


class History:
    """The entries in order of simulated time, each in one of `slots` slots."""

    def __init__(self, slots: int) -> None:
        if slots < MIN_SLOTS:
            raise TwixtError(f"History needs at least {MIN_SLOTS} slots (a pair in use and one to fill), got {slots!r}")
        self.slots = slots
        self.thinned = 0  # undrawn snapshots given up because the ring was full
        self._entries: list[Entry] = []
        self._times: list[int] = []
        self._free = list(range(slots - 1, -1, -1))
        self._lent: set[int] = set()
        self._in_use_ns: int | None = None  # sim time of the pair's previous
        self._world_epoch: int | None = None

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What is held, oldest first."""
        return tuple(self._entries)

    @property
    def newest(self) -> Entry | None:
        return self._entries[-1] if self._entries else None

    @property
    def oldest(self) -> Entry | None:
        return self._entries[0] if self._entries else None

    def slot_for(self, head: Head) -> int | None:
        """A slot to upload this snapshot into, then to `commit` or `discard`; None when nobody will draw it
        (a duplicate, of an older world, or behind the pair in use)."""
        if self._world_epoch is not None and head.world_epoch < self._world_epoch:
            return None
        if head.world_epoch == self._world_epoch:
            index = bisect_right(self._times, head.sim_time_ns)
            if index and self._times[index - 1] == head.sim_time_ns:
                return None
            if self._in_use_ns is not None and head.sim_time_ns < self._in_use_ns:
                return None
        if not self._free and not self._give_way():
            return None
        slot = self._free.pop()
        self._lent.add(slot)
        return slot

    def commit(self, slot: int, head: Head) -> None:
        """The upload is whole: `head` may be drawn from `slot`."""
        self._lent.remove(slot)
        if self._world_epoch is None or head.world_epoch > self._world_epoch:
            self._drop_entries()
            self._world_epoch = head.world_epoch
        elif head.world_epoch < self._world_epoch:
            self._free.append(slot)
            return
        index = bisect_right(self._times, head.sim_time_ns)
        self._entries.insert(index, Entry(slot, head))
        self._times.insert(index, head.sim_time_ns)

    def discard(self, slot: int) -> None:
        """The upload was torn: the slot is free again."""
        self._lent.remove(slot)
        self._free.append(slot)

    def pair(self, draw_time_ns: int) -> Pair | None:
        """The snapshots around `draw_time_ns`, from now on the pair in use; None while nothing is held."""
        if not self._entries:
            return None
        index = max(0, bisect_right(self._times, draw_time_ns) - 1)
        previous = self._entries[index]
        start = self._times[index]
        self._in_use_ns = start
        if draw_time_ns <= start or index + 1 == len(self._entries):
            # Exactly on it, before the oldest, or past the newest. Exactly on it is a pair still, with alpha 0.
            following = self._entries[index + 1] if draw_time_ns >= start and index + 1 < len(self._entries) else None
            return Pair(previous, following, 0.0, start)
        following = self._entries[index + 1]
        span = self._times[index + 1] - start
        return Pair(previous, following, (draw_time_ns - start) / span, draw_time_ns)

    def clear(self) -> None:
        """Forget everything; all slots are free."""
        self._drop_entries()
        self._world_epoch = None

    def _drop_entries(self) -> None:
        self._free.extend(entry.slot for entry in self._entries)
        self._entries.clear()
        self._times.clear()
        self._in_use_ns = None

    def _give_way(self) -> bool:
        """Free one slot: the oldest behind the pair in use, else the undrawn one whose neighbours are closest."""
        if not self._entries:
            return False
        in_use = 0 if self._in_use_ns is None else bisect_right(self._times, self._in_use_ns) - 1
        if in_use > 0 or self._in_use_ns is None:
            self._remove(0)
            return True
        # Entries 0 and 1 are the pair in use and the last is the newest: what is between may go.
        candidates = range(in_use + 2, len(self._entries) - 1)
        if not candidates:
            # Three slots: the newest gives way to the one that is newer still.
            if len(self._entries) < MIN_SLOTS:
                return False
            self._remove(len(self._entries) - 1)
        else:
            self._remove(min(candidates, key=lambda i: self._times[i + 1] - self._times[i - 1]))
        self.thinned += 1
        return True

    def _remove(self, index: int) -> None:
        entry = self._entries.pop(index)
        del self._times[index]
        self._free.append(entry.slot)
