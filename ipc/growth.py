"""The next segment of a host, made by its service thread while the stepping thread goes on in the one there is.

Always: one at a time; the stepping thread asks and takes, which is a few stores, and populates nothing; what could
not be made is told once to whoever needs it. Not here: the move into it (`host`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

from twixt.ipc import memory, room
from twixt.ipc.errors import TwixtError
from twixt.ipc.layout import MAX_CAPACITY, Layout
from twixt.ipc.memory import Memory
from twixt.ipc.room import NoRoom

Columns = Mapping[str, tuple[str, int]]


class Made(NamedTuple):
    """Memory that is all there, for a segment of this layout."""

    memory: Memory
    layout: Layout


class _Asked(NamedTuple):
    """capacities: from the one wanted to the one needed; the first for which there is memory is made."""

    capacities: tuple[int, ...]
    columns: Columns
    is_needed: bool


class Growth:
    """poke: tells the service thread that there is something to do."""

    def __init__(self, poke: Callable[[], object]) -> None:
        self._poke = poke
        self._lock = threading.Lock()  # for as long as it takes to look and to store
        self._asked: _Asked | None = None
        self._making: tuple[Columns, Made] | None = None  # the service thread's own
        self.ready: Made | None = None
        self.error: TwixtError | None = None  # why what is needed could not be made

    def ask(self, capacity: int, columns: Columns, need: int | None = None) -> None:
        """A segment for twice `capacity` bodies is wanted; for `need`, where it is given, one is needed. Raises NoRoom
        and LayoutError for more than there can be."""
        ample = min(2 * capacity, MAX_CAPACITY)
        capacities: tuple[int, ...] = (max(ample, need or 0),) if need is None or need >= ample else (ample, need)
        if need is not None:
            room.require(Layout.for_bodies(need, columns).segment_bytes, "shared memory for all bodies")
        with self._lock:
            asked, ready = self._asked, self.ready
            if ready is not None and ready.layout.capacity >= capacities[-1]:
                return
            if asked is not None and asked.capacities[0] >= (need or 0):  # it goes on being made, whatever came since
                if need is None or asked.is_needed:
                    return
                capacities = (asked.capacities[0], need) if need < asked.capacities[0] else asked.capacities[:1]
            self._asked = _Asked(capacities, dict(columns), need is not None)
        self._poke()

    def take(self, made: Made) -> None:
        """`made`, which was `ready`, belongs to whoever takes it."""
        with self._lock:
            if self.ready is made:
                self.ready = None

    def forget(self) -> None:
        """Nothing that was asked for is wanted any more. What is being made is closed by the service thread."""
        with self._lock:
            ready, self.ready, self._asked, self.error = self.ready, None, None, None
        if ready is not None:
            ready.memory.close()

    def work(self) -> bool:
        """A piece of what was asked for; True when more is to be done at once. On the service thread."""
        asked = self._asked
        if self._making is not None:
            columns, made = self._making
            if asked is None or (asked.columns, asked.capacities[0]) != (columns, made.layout.capacity):
                made.memory.close()
                self._making = None
        if asked is None:
            return False
        try:
            if self._making is None:
                layout = Layout.for_bodies(asked.capacities[0], asked.columns)
                self._making = asked.columns, Made(memory.make(layout.segment_bytes), layout)
            elif self._making[1].memory.populate():
                self._finish(asked, self._making[1])
        except (NoRoom, memory.SharedMemoryError) as error:
            self._fail(asked, error)
        return self._asked is not None

    def close(self) -> None:
        """On the service thread, or after its end."""
        self.forget()
        if self._making is not None:
            self._making[1].memory.close()
            self._making = None

    def _finish(self, asked: _Asked, made: Made) -> None:
        self._making = None
        with self._lock:
            before, is_wanted = self.ready, self._asked is asked
            if is_wanted:
                self._asked, self.ready, self.error = None, made, None
        for unwanted in (before if is_wanted else made,):
            if unwanted is not None:
                unwanted.memory.close()

    def _fail(self, asked: _Asked, error: TwixtError) -> None:
        if self._making is not None:
            self._making[1].memory.close()
            self._making = None
        with self._lock:
            if self._asked is asked:
                left = asked.capacities[1:]
                self._asked = asked._replace(capacities=left) if left else None
                if asked.is_needed and not left:
                    self.error = error
