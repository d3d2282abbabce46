"""This module makes shared memory. The physics process writes this memory, and viewers read it. An allocator makes the
memory of the next, larger segment of a ring.

The kernel frees shared memory when the last process that uses it ends.
Always: all pages are allocated when `create` returns, or after `populate` has returned True. If memory is short,
`create` and `populate` raise an error, so that a later access does not cause SIGBUS. Viewers cannot write the memory.
In a forked child the memory is not mapped, and the copy of the object is closed. `populate` takes long but holds no
lock, not even the interpreter's lock. `mmap` and `madvise` would hold the interpreter's lock for a third of a second
with 128 MiB.
Not here: the system calls (`ipc.system`), the meaning of the bytes (`layout`), the code that sends descriptors
(`session`).
"""

from __future__ import annotations

import contextlib
import mmap
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from twixt.ipc.errors import TwixtError
from twixt.ipc.process import fork
from twixt.ipc.ring import budget
from twixt.ipc.ring.budget import NoRoom
from twixt.ipc.ring.layout import MAX_CAPACITY, ColumnForm, Layout
from twixt.ipc.system import memory as system_memory
from twixt.ipc.system.interface import SharedMemoryError

# Number of bytes that one call of `populate` allocates. One call takes some ms. Between two calls the thread can do
# other work.
PIECE_BYTES = 4 << 20


class Memory:
    """One mapping of shared memory. view: memoryview of its bytes. The view is writable only if the memory was made by
    `create` or `make`."""

    def __init__(self, mapped: mmap.mmap, size: int, descriptors: tuple[int, ...] = ()) -> None:
        self._mapping: mmap.mmap | None = mapped
        self._descriptors = descriptors  # this object owns them; the last descriptor is read-only
        self.size = size
        self.closed = False
        self._populated = 0
        self.view = memoryview(mapped)[:size]
        fork.guard(self)

    def read_only_fd(self) -> int:
        """The descriptor to send to viewers. This Memory owns the descriptor; a viewer receives a duplicate. Raises
        SharedMemoryError if the memory is closed or was mapped by `map_read_only`."""
        if not self._descriptors:
            raise SharedMemoryError(
                "this memory has no descriptor that can be sent, because it is closed or mapped by a viewer"
            )
        return self._descriptors[-1]

    def populate(self, most_bytes: int = PIECE_BYTES) -> bool:
        """Allocates at most `most_bytes` further bytes. The bytes are zero, and are entered in the page tables of this
        process. Returns True if all bytes are now allocated. Raises SharedMemoryError if memory is short."""
        begin, end = self._populated, min(self._populated + most_bytes, self.size)
        if begin < end:
            try:
                system_memory.allocate(self._descriptors[0], begin, end - begin)
            except OSError as error:
                raise _not_made(self.size, error) from error
            np.frombuffer(self.view, np.uint8)[begin : end : mmap.PAGESIZE] = 0
        self._populated = end
        return end == self.size

    def close(self) -> None:
        """Closes the descriptors. The mapping is closed as soon as no view of it is left. A second call has no
        effect."""
        if self.closed:
            return
        self.closed = True
        descriptors, self._descriptors = self._descriptors, ()
        _close_all(descriptors)
        mapped, self._mapping = self._mapping, None
        view, self.view = self.view, memoryview(b"")
        # If the memory were unmapped while a view of it exists, the next use of the view would crash. So the memory is
        # unmapped when its last view is deleted.
        with contextlib.suppress(BufferError):
            view.release()
            if mapped is not None:
                mapped.close()

    def close_in_child(self) -> None:
        """Implements `fork.Guarded`. The child does not have the mapping (DONTFORK), so nothing in the child may
        access the memory."""
        self.closed = True
        descriptors, self._descriptors = self._descriptors, ()
        _close_all(descriptors)
        self._mapping, self.view = None, memoryview(b"")


def create(size: int) -> Memory:
    """Makes `size` bytes of shared memory that only this mapping can write. All bytes are zero. Raises NoRoom or
    SharedMemoryError if the memory cannot be made."""
    made = make(size)
    try:
        while not made.populate():
            pass
    except BaseException:
        made.close()
        raise
    return made


def make(size: int) -> Memory:
    """Makes memory like `create`, but does not allocate the pages yet. Before any access, call `populate` until it
    returns True."""
    if size < 1:
        raise SharedMemoryError(f"shared memory must be at least 1 byte, got {size}")
    # The size is checked here, because the kernel would grant a size that is too large and kill a process later.
    budget.require(size, "shared memory for all bodies")
    try:
        made = system_memory.make(size)
    except (OSError, ValueError, OverflowError) as error:
        raise _not_made(size, error) from error
    return Memory(made.mapping, size, (made.descriptor, made.read_only))


def map_read_only(descriptor: int, size: int) -> Memory:
    """Maps a simulation's memory by its descriptor. The caller still owns the descriptor.

    Raises SharedMemoryError if the memory does not have `size` bytes, or if the simulation could still make the memory
    smaller.
    """
    try:
        return Memory(system_memory.map_read_only(descriptor, size), size)
    except (OSError, ValueError, OverflowError) as error:
        raise SharedMemoryError(f"the simulation's memory cannot be mapped ({error})") from error


def _not_made(size: int, error: Exception) -> SharedMemoryError:
    return SharedMemoryError(
        f"cannot allocate {size} bytes of shared memory ({error}); use fewer bodies, or {system_memory.NEEDED_SYSTEM}"
    )


def _close_all(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


# The service thread makes the next, larger segment while the publishing thread continues.
#
# Always: only one segment is made at a time. A request or a transfer costs the publishing thread only a few stores. An
# error is reported only one time, and only if the segment is needed. Not here: the move of the ring into the segment
# (`segments`).

Columns = Mapping[str, ColumnForm]


class SegmentMemory(NamedTuple):
    """Memory for a segment of this layout. All pages are allocated, and no snapshot is in it yet."""

    memory: Memory
    layout: Layout


class _Request(NamedTuple):
    """Request for a segment. capacities: one or two capacities, in records. If memory is short for the first capacity,
    the second is tried. is_needed: True if an error with the last capacity must be reported."""

    capacities: tuple[int, ...]
    columns: Columns
    is_needed: bool


class SegmentAllocator:
    """Makes a host's next segment on request.

    wake_service: function that tells the service thread that there is work. ready: the finished segment until
    `transfer` is called, otherwise None. error: the reason why a needed segment could not be made, otherwise None.
    """

    def __init__(self, wake_service: Callable[[], object]) -> None:
        self._wake_service = wake_service
        self._lock = threading.Lock()  # a thread holds the lock only for a few loads and stores
        self._request: _Request | None = None
        self._making: tuple[Columns, SegmentMemory] | None = None  # used by the service thread only
        self.ready: SegmentMemory | None = None
        self.error: TwixtError | None = None

    def request(self, capacity: int, columns: Columns, need: int | None = None) -> None:
        """Requests a segment for 2 * `capacity` records. If `need` is given, the segment has room for at least `need`
        records. Raises NoRoom or LayoutError if a segment for `need` records cannot be made."""
        ample = min(2 * capacity, MAX_CAPACITY)
        capacities: tuple[int, ...] = (max(ample, need or 0),) if need is None or need >= ample else (ample, need)
        if need is not None:
            budget.require(Layout.for_bodies(need, columns).segment_bytes, "shared memory for all bodies")
        with self._lock:
            request, ready = self._request, self.ready
            if ready is not None and ready.layout.capacity >= capacities[-1]:
                return
            # the segment that is already requested is large enough
            if request is not None and request.capacities[0] >= (need or 0):
                if need is None or request.is_needed:
                    return
                capacities = (request.capacities[0], need) if need < request.capacities[0] else request.capacities[:1]
            self._request = _Request(capacities, dict(columns), need is not None)
        self._wake_service()

    def transfer(self, made: SegmentMemory) -> None:
        """Gives the caller ownership of `made`, the segment that was `ready`."""
        with self._lock:
            if self.ready is made:
                self.ready = None

    def cancel(self) -> None:
        """Cancels all requests. The service thread closes a segment that is being made."""
        with self._lock:
            ready, self.ready, self._request, self.error = self.ready, None, None, None
        if ready is not None:
            ready.memory.close()

    def step(self) -> bool:
        """Allocates a piece of the requested segment. Returns True while there is more to do. Only the service thread
        may call this method."""
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
                self._making = request.columns, SegmentMemory(make(layout.segment_bytes), layout)
            elif self._making[1].memory.populate():
                self._finish(request, self._making[1])
        except (NoRoom, SharedMemoryError) as error:
            self._fail(request, error)
        return self._request is not None

    def close(self) -> None:
        """Closes all segments that were not transferred. Call this method on the service thread, or after the service
        thread has ended."""
        self.cancel()
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
                smaller = request.capacities[1:]
                self._request = request._replace(capacities=smaller) if smaller else None
                if request.is_needed and not smaller:
                    self.error = error
