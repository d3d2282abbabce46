"""The newest snapshot for which there is no room yet: it waits aside, in memory of this process alone.

Always: one waits; whatever is complete after it takes its place, and it counts as `dropped`. Interrupted anywhere, a
snapshot has been taken aside as a whole or not at all. Not here: when there is room (`segments`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from twixt.ipc.slot import OpenSlot
from twixt.ipc.snapshot import Head

# The number of a snapshot that has none yet: above all others.
NO_NUMBER: Final = 1 << 62


class Late(NamedTuple):
    """A snapshot that was published by the service thread, and what that took."""

    head: Head
    published_ns: int
    cost_ns: int


class NewestAside:
    """slot: what was taken aside last and is not known to be in the ring, or older than what is. late: what was visible
    only when there was room."""

    def __init__(self) -> None:
        self.slot: OpenSlot | None = None
        self.dropped = 0
        self.late: deque[Late] = deque()

    def waiting(self, latest: int) -> OpenSlot | None:
        """The snapshot that waits for room, where it is newer than the newest in the ring, `latest`."""
        slot = self.slot
        return slot if slot is not None and slot.number > latest else None

    def take(self, slot: OpenSlot, latest: int) -> None:
        """In the place of the one before, newer than the newest in the ring, `latest`. It is written no more."""
        slot.columns = {name: rows.copy() for name, rows in slot.columns.items()}
        slot.head = slot.head._replace(count=slot.count)
        slot.drop()
        slot.number = latest + 1  # one that waited before it may be visible since its block began
        before = self.slot
        # No call from here on: an interruption comes before all of it, or after.
        slot.is_taken = True
        self.slot = slot
        if before is not None:
            self.dropped += 1

    def drop(self) -> None:
        """A newer one is in the ring."""
        self.slot, self.dropped = None, self.dropped + 1

    def shown(self, late: Late) -> None:
        """It is in the ring itself."""
        self.slot = None
        self.late.append(late)


class Waiting:
    """Takes open slots aside: see `OpenSlot`."""

    def __init__(self, take: Callable[[OpenSlot], None]) -> None:
        self._take = take

    def complete(self, opened: OpenSlot) -> None:
        self._take(opened)

    def forget(self, opened: OpenSlot) -> None:
        """It was nobody's yet."""


class Partly:
    """Shows the first bodies of open slots, for all of which there is no room: see `OpenSlot`. The slot keeps them all."""

    def __init__(self, show: Callable[[OpenSlot, int], int], shown: int) -> None:
        self._show, self._shown = show, shown

    def complete(self, opened: OpenSlot) -> int:
        return self._show(opened, self._shown)

    def forget(self, opened: OpenSlot) -> None:
        """It was nobody's yet."""
