"""Shared memory that physics writes and viewers read; freed with the last process that uses it.

The one idea (Linux): an anonymous memfd has no name that could be left behind; the kernel frees it with its last
process. It is sealed against shrinking, growing and every *new* way to write. Physics' own mapping stays writable;
a viewer, which gets a read-only descriptor, can neither write, map for writing, truncate nor punch holes, not even by
opening the descriptor again through /proc.

Always: all pages are allocated when `create` returns, or `populate` has returned True (where memory is short this
raises an error, not SIGBUS later); a forked child keeps none of it alive, and its copy of the object is closed.
Populating takes long but holds no lock, not even the interpreter's; `mmap` and `madvise` would hold that for a third
of a second with 128 MiB.
Not here: the meaning of the bytes (`layout`), the sending of the descriptor (`session`).
Untested: macOS (shm_open, unlinked at once; its code runs under Linux in a test; a forked child keeps the
duplicate that mmap made) and Windows (named mapping, freed with its last handle). Neither has seals.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import stat
import sys
from collections.abc import Sequence

import numpy as np

from twixt.ipc.errors import TwixtError
from twixt.ipc.process import fork, mappings
from twixt.ipc.process.mappings import NAME
from twixt.ipc.ring import memory_budget

# Linux' F_SEAL_FUTURE_WRITE (5.1), for which Python has no name: no new writable mapping, no write(), but the
# mappings that exist stay writable. A read-only descriptor alone is no protection: it can be opened again.
FUTURE_WRITE = 0x0010
# Bytes populated at a time: some ms, after which the populating thread can do other work.
PIECE_BYTES = 4 << 20


class SharedMemoryError(TwixtError):
    """Shared memory that could not be made, or that breaks a rule."""


class Memory:
    """One mapping. `view` is a memoryview of its bytes, writable only where `create` made it."""

    def __init__(self, mapped: mmap.mmap, size: int, descriptors: tuple[int, ...] = (), name: str = "") -> None:
        self._mapping: mmap.mmap | None = mapped
        self._descriptors = descriptors  # owned; the last one is read-only
        self.name = name  # Windows: by what name a viewer maps it; else empty
        self.size = size
        self.closed = False
        self._populated = 0
        self.view = memoryview(mapped)[:size]
        fork.guard(self)

    def read_only_fd(self) -> int:
        """The descriptor to send to viewers. This Memory owns it; sending makes a copy. Raises SharedMemoryError where
        there is none."""
        if not self._descriptors:
            raise SharedMemoryError(
                "this memory has no descriptor to hand out: it is closed, mapped by a viewer, "
                "or on Windows, where viewers map it by its name"
            )
        return self._descriptors[-1]

    def populate(self, most_bytes: int = PIECE_BYTES) -> bool:
        """Allocates the next `most_bytes` of what `make` made, zeroed and in this process' page tables; True once all
        are allocated. Raises SharedMemoryError where memory is short."""
        begin, end = self._populated, min(self._populated + most_bytes, self.size)
        if sys.platform == "linux" and begin < end:
            try:
                os.posix_fallocate(self._descriptors[0], begin, end - begin)
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
    if sys.platform == "linux":
        return _create_memfd(size)
    if sys.platform == "win32":
        return _create_named(size)
    return _create_unlinked(size)


def map_read_only(descriptor: int | str, size: int) -> Memory:
    """Maps memory of a simulation by its descriptor, which stays the caller's (Windows: by its name).

    Raises SharedMemoryError for memory that is not `size` bytes, or that its maker could still shrink.
    """
    if isinstance(descriptor, str):
        return _map_named(descriptor, size)
    try:
        found = os.fstat(descriptor)
        if size < 1 or not stat.S_ISREG(found.st_mode) or not _size_fits(found.st_size, size):
            raise SharedMemoryError(f"expected shared memory of {size} bytes, got a descriptor of {found.st_size}")
        if sys.platform == "linux" and not is_sealed(descriptor):
            raise SharedMemoryError(
                "the memory handed out is not sealed, so its maker could shrink it under its "
                "readers; it was not made by twixt"
            )
        mapped = mappings.map_shared(descriptor, size, mappings.READS)
        mappings.populate(mapped)
        return Memory(mapped, size)
    except (OSError, ValueError, OverflowError) as error:
        raise SharedMemoryError(f"the simulation's memory cannot be mapped ({error})") from error


def is_sealed(descriptor: int) -> bool:
    """True if the memory can no longer be shrunk, grown, or newly mapped for writing, and seals stay (Linux)."""
    import fcntl

    try:
        return fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & _seals() == _seals()
    except OSError:  # not a memfd
        return False


def _seals() -> int:
    import fcntl

    return fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | FUTURE_WRITE | fcntl.F_SEAL_SEAL


def _create_memfd(size: int) -> Memory:
    import fcntl

    made: list[int] = []
    try:
        made.append(mappings.new_memory(size))
        mapped = mappings.map_shared(made[0], size)
        fcntl.fcntl(made[0], fcntl.F_ADD_SEALS, _seals())
        made.append(os.open(f"/proc/self/fd/{made[0]}", os.O_RDONLY | os.O_CLOEXEC))
        return Memory(mapped, size, tuple(made))
    except BaseException as error:
        _close_all(made)
        if isinstance(error, OSError | ValueError | OverflowError):
            raise _not_made(size, error) from error
        raise


def _not_made(size: int, error: Exception) -> SharedMemoryError:
    return SharedMemoryError(
        f"{size} bytes of shared memory could not be made ({error}); use fewer bodies, or Linux 5.1 or newer with /proc"
    )


def _create_unlinked(size: int) -> Memory:
    import _posixshmem  # type: ignore[import-not-found,unused-ignore]
    import secrets

    name = f"/{NAME}-{secrets.token_hex(6)}"
    made: list[int] = []
    try:
        made.append(_posixshmem.shm_open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        try:
            made.append(_posixshmem.shm_open(name, os.O_RDONLY, 0o600))
        finally:
            _posixshmem.shm_unlink(name)
        os.ftruncate(made[0], size)
        mapped = mappings.map_shared(made[0], size)
        return Memory(mapped, size, tuple(made))
    except (OSError, ValueError, OverflowError) as error:
        _close_all(made)
        raise SharedMemoryError(
            f"{size} bytes of shared memory could not be made ({error}); use fewer bodies"
        ) from error


def _create_named(size: int) -> Memory:
    import secrets

    name = f"{NAME}-{secrets.token_hex(16)}"
    return Memory(mmap.mmap(-1, size, tagname=name), size, name=name)  # type: ignore[call-arg,unused-ignore]


def _map_named(name: str, size: int) -> Memory:
    if sys.platform != "win32":
        raise SharedMemoryError(f"shared memory is mapped by name on Windows alone, got {name!r}")
    return Memory(mmap.mmap(-1, size, tagname=name, access=mmap.ACCESS_READ), size)


def _size_fits(found: int, wanted: int) -> bool:
    # macOS rounds shared memory up to its pages.
    return found == wanted if sys.platform == "linux" else found >= wanted


def _close_all(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
