"""Shared memory that physics writes and viewers read; freed with the last process that uses it.

Always: all pages are allocated when `create` returns, or `populate` has returned True (where memory is short this
raises an error, not SIGBUS later); a viewer cannot write it; a forked child keeps none of it alive, and its copy of the
object is closed. Populating takes long but holds no lock, not even the interpreter's; `mmap` and `madvise` would hold
that for a third of a second with 128 MiB.
Not here: how a system makes memory (`ipc.system`), the meaning of the bytes (`layout`), the sending of the descriptor
(`session`).
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Sequence

import numpy as np

from twixt.ipc.process import fork
from twixt.ipc.ring import memory_budget
from twixt.ipc.system import memory as system_memory
from twixt.ipc.system.interface import SharedMemoryError

# Bytes populated at a time: some ms, after which the populating thread can do other work.
PIECE_BYTES = 4 << 20


class Memory:
    """One mapping. `view` is a memoryview of its bytes, writable only where `create` made it."""

    def __init__(self, mapped: mmap.mmap, size: int, descriptors: tuple[int, ...] = ()) -> None:
        self._mapping: mmap.mmap | None = mapped
        self._descriptors = descriptors  # owned; the last one is read-only
        self.size = size
        self.closed = False
        self._populated = 0
        self.view = memoryview(mapped)[:size]
        fork.guard(self)

    def read_only_fd(self) -> int:
        """The descriptor to send to viewers. This Memory owns it; sending makes a copy. Raises SharedMemoryError where
        there is none."""
        if not self._descriptors:
            raise SharedMemoryError("this memory has no descriptor to hand out: it is closed, or mapped by a viewer")
        return self._descriptors[-1]

    def populate(self, most_bytes: int = PIECE_BYTES) -> bool:
        """Allocates the next `most_bytes` of what `make` made, zeroed and in this process' page tables; True once all
        are allocated. Raises SharedMemoryError where memory is short."""
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
        """Closes the descriptors, and the mapping as soon as no view of it is left. Idempotent."""
        if self.closed:
            return
        self.closed = True
        descriptors, self._descriptors = self._descriptors, ()
        _close_all(descriptors)
        mapped, self._mapping = self._mapping, None
        view, self.view = self.view, memoryview(b"")
        # Unmapping under a live view would crash its next use: the mapping is then freed with its last view.
        with contextlib.suppress(BufferError):
            view.release()
            if mapped is not None:
                mapped.close()

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`. The child has no such mapping (DONTFORK), so nothing may touch it."""
        self.closed = True
        descriptors, self._descriptors = self._descriptors, ()
        _close_all(descriptors)
        self._mapping, self.view = None, memoryview(b"")


def create(size: int) -> Memory:
    """`size` bytes of zeroed shared memory, writable by this mapping alone. Raises NoRoom or SharedMemoryError."""
    made = make(size)
    try:
        while not made.populate():
            pass
    except BaseException:
        made.close()
        raise
    return made


def make(size: int) -> Memory:
    """As `create`, but not populated: not to be accessed before `populate` has returned True."""
    if size < 1:
        raise SharedMemoryError(f"shared memory must be at least 1 byte, got {size}")
    # More than is available would make the kernel kill a process instead of raising an error.
    memory_budget.require(size, "shared memory for all bodies")
    try:
        made = system_memory.make(size)
    except (OSError, ValueError, OverflowError) as error:
        raise _not_made(size, error) from error
    return Memory(made.mapping, size, (made.descriptor, made.read_only))


def map_read_only(descriptor: int, size: int) -> Memory:
    """Maps memory of a simulation by its descriptor, which stays the caller's.

    Raises SharedMemoryError for memory that is not `size` bytes, or that its maker could still shrink.
    """
    try:
        return Memory(system_memory.map_read_only(descriptor, size), size)
    except (OSError, ValueError, OverflowError) as error:
        raise SharedMemoryError(f"the simulation's memory cannot be mapped ({error})") from error


def _not_made(size: int, error: Exception) -> SharedMemoryError:
    return SharedMemoryError(
        f"{size} bytes of shared memory could not be made ({error}); use fewer bodies, or {system_memory.NEEDED_SYSTEM}"
    )


def _close_all(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
