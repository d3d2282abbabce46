"""Makes the next, larger segment on the service thread while the publishing thread continues.

Always: one at a time; the publishing thread only requests a segment and takes it, which costs a few stores; an error is
reported once, and only where the segment is needed. Not here: the move into it (`host_segments`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

from twixt.ipc.errors import TwixtError
from twixt.ipc.ring import memory, memory_budget
from twixt.ipc.ring.layout import MAX_CAPACITY, ColumnForm, Layout
from twixt.ipc.ring.memory import Memory
from twixt.ipc.ring.memory_budget import NoRoom

Columns = Mapping[str, ColumnForm]


class SegmentMemory(NamedTuple):
    """Populated memory for a segment of this layout, before its first snapshot."""

    memory: Memory
    layout: Layout


class _Request(NamedTuple):
    """Request of a segment. capacities: the wanted one, then the needed one; the first for which there is memory is
    made. is_needed: a failure of the last one is reported."""

    capacities: tuple[int, ...]
    columns: Columns
    is_needed: bool


class SegmentAllocator:
    """Next segment of a host: its request, and the segment once it is made.

    wake_service: notifies the service thread of work. ready: the segment made last, until it is taken. error: of a
    needed segment that could not be made.
    """

    def __init__(self, wake_service: Callable[[], object]) -> None:
        self._wake_service = wake_service
        self._lock = threading.Lock()  # held for a few loads and stores
        self._request: _Request | None = None
        self._making: tuple[Columns, SegmentMemory] | None = None  # the service thread's own
        self.ready: SegmentMemory | None = None
        self.error: TwixtError | None = None

    def request(self, capacity: int, columns: Columns, need: int | None = None) -> None:
        """Requests a segment for twice `capacity` records; at least for `need` records, where given. Raises NoRoom or
        LayoutError where that cannot be made."""
        ample = min(2 * capacity, MAX_CAPACITY)
        capacities: tuple[int, ...] = (max(ample, need or 0),) if need is None or need >= ample else (ample, need)
        if need is not None:
            memory_budget.require(Layout.for_bodies(need, columns).segment_bytes, "shared memory for all bodies")
        with self._lock:
            request, ready = self._request, self.ready
            if ready is not None and ready.layout.capacity >= capacities[-1]:
                return
            if request is not None and request.capacities[0] >= (need or 0):  # the one being made is large enough
                if need is None or request.is_needed:
                    return
                capacities = (request.capacities[0], need) if need < request.capacities[0] else request.capacities[:1]
            self._request = _Request(capacities, dict(columns), need is not None)
        self._wake_service()

    def take(self, made: SegmentMemory) -> None:
        """Hands `made`, the segment that was `ready`, over to the caller, who owns it."""
        with self._lock:
            if self.ready is made:
                self.ready = None

    def forget(self) -> None:
        """Withdraws all requests. A segment that is being made is closed by the service thread."""
        with self._lock:
            ready, self.ready, self._request, self.error = self.ready, None, None, None
        if ready is not None:
            ready.memory.close()

    def step(self) -> bool:
        """Makes a piece of the requested segment; True while there is more to make. On the service thread."""
        request = self._request
        if self._making is not None:
            columns, made = self._making
            if request is None or (request.columns, request.capacities[0]) != (columns, made.layout.capacity):
                made.memory.close()
                self._making = None
        if request is None:
            return False
        try:
            if self._making is None:
                layout = Layout.for_bodies(request.capacities[0], request.columns)
                self._making = request.columns, SegmentMemory(memory.make(layout.segment_bytes), layout)
            elif self._making[1].memory.populate():
                self._finish(request, self._making[1])
        except (NoRoom, memory.SharedMemoryError) as error:
            self._fail(request, error)
        return self._request is not None

    def close(self) -> None:
        """Closes all segments that were not taken. On the service thread, or after its end."""
        self.forget()
        if self._making is not None:
            self._making[1].memory.close()
            self._making = None

    def _finish(self, request: _Request, made: SegmentMemory) -> None:
        self._making = None
        with self._lock:
            unwanted: SegmentMemory | None = made
            if self._request is request:
                unwanted = self.ready
                self._request, self.ready, self.error = None, made, None
        if unwanted is not None:
            unwanted.memory.close()

    def _fail(self, request: _Request, error: TwixtError) -> None:
        if self._making is not None:
            self._making[1].memory.close()
            self._making = None
        with self._lock:
            if self._request is request:
                left = request.capacities[1:]
                self._request = request._replace(capacities=left) if left else None
                if request.is_needed and not left:
                    self.error = error
