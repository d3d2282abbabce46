"""On Linux, this module makes anonymous shared memory (memfd), seals it, and sends descriptors over a Unix socket.

Anonymous memory has no name in the file system. The kernel frees such memory when the last process that uses it ends.
The memory is sealed against shrinking, growing and every *new* way to write, while the mapping of the process that
made it stays writable. A viewer gets a read-only descriptor. With this descriptor the viewer cannot write, map for
writing, truncate or punch holes, not even if it opens the descriptor again through /proc.

Always: a forked child has neither a mapping of the memory nor a descriptor. Each mapping is marked MADV_DONTFORK
before a fork can happen. The child finds all descriptors of such memory in /proc by the memory's name, and closes
them. These are the descriptors that were made or received here, and the hidden duplicates that `mmap` makes. No
destructor unmaps memory in the child.

Functions and classes without a docstring are described in `interface.SharedMemory`.
"""

from __future__ import annotations

import array
import contextlib
import errno
import fcntl
import mmap
import os
import socket
import stat
import sys
import weakref
from collections.abc import Sequence

from twixt.ipc.process import fork
from twixt.ipc.system.interface import NewMemory, SharedMemoryError

assert sys.platform == "linux"  # type checkers for other systems read no further

NEEDED_SYSTEM = "Linux 5.1 or newer with /proc"
NAME = "twixt"  # name of the memory in /proc; the names of twixt's other memories begin with the same word
SHOWN = f"/memfd:{NAME}"
# F_SEAL_FUTURE_WRITE of Linux 5.1, for which Python has no name. It forbids new writable mappings and write(), while
# existing mappings stay writable. A read-only descriptor alone is not enough, because a process could open it again.
FUTURE_WRITE = 0x0010
# With these seals no process can shrink the memory. If the memory shrank, its readers would be killed by SIGBUS.
SIZE_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
# Advice of madvise since Linux 5.14, for which Python has no name. It fills the page tables of a mapping.
MADV_POPULATE_READ = 22
READS, WRITES = mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE
# MSG_DONTWAIT: the call does not wait. MSG_NOSIGNAL: the system sends no SIGPIPE if the receiver has disconnected.
SEND_FLAGS = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL


def make(size: int) -> NewMemory:
    made: list[int] = []
    try:
        made.append(new_memory(size))
        mapping = map_shared(made[0], size)
        fcntl.fcntl(made[0], fcntl.F_ADD_SEALS, SIZE_SEALS | FUTURE_WRITE)
        return NewMemory(mapping, made[0], os.open(f"/proc/self/fd/{made[0]}", os.O_RDONLY))
    except BaseException:
        for descriptor in made:
            os.close(descriptor)
        raise


def allocate(descriptor: int, begin: int, size: int) -> None:
    os.posix_fallocate(descriptor, begin, size)


def map_read_only(descriptor: int, size: int) -> mmap.mmap:
    found = os.fstat(descriptor)
    if size < 1 or not stat.S_ISREG(found.st_mode) or found.st_size != size:
        raise SharedMemoryError(f"expected shared memory of {size} bytes, got a descriptor of {found.st_size}")
    if not is_sealed(descriptor):
        raise SharedMemoryError(
            "the memory from the simulation is not sealed, so it was not made by twixt; restart the simulation"
        )
    mapping = map_shared(descriptor, size, READS)
    populate(mapping)
    return mapping


def is_sealed(descriptor: int) -> bool:
    """True if the memory is permanently sealed against shrinking, growing and new writable mappings."""
    seals = SIZE_SEALS | FUTURE_WRITE
    try:
        return fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & seals == seals
    except OSError:  # the descriptor does not belong to a memfd
        return False


def make_openable(size: int, name: str) -> tuple[int, str]:
    descriptor = new_memory(size, f"{NAME}-{name}")
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SIZE_SEALS)
    return descriptor, f"/proc/{os.getpid()}/fd/{descriptor}"


def make_file(content: bytes, name: str) -> int:
    descriptor = os.memfd_create(f"{NAME} {name}")
    try:
        written = 0
        while written < len(content):
            written += os.write(descriptor, memoryview(content)[written:])
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_file(descriptor: int, size: int) -> bytes:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise ValueError("the descriptor is not a file")
    return os.pread(descriptor, size, 0)


def send(connection: socket.socket, content: memoryview, descriptors: Sequence[int]) -> int:
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    return connection.sendmsg([content], rights, SEND_FLAGS)


def receive(connection: socket.socket, most_bytes: int, most_descriptors: int) -> tuple[bytes, list[int]]:
    if not most_descriptors:
        return connection.recv(most_bytes, socket.MSG_DONTWAIT), []
    came = array.array("i")
    room = socket.CMSG_SPACE(most_descriptors * came.itemsize)
    flags = socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
    content, ancillary, _, _ = connection.recvmsg(most_bytes, room, flags)
    for level, kind, rights in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            came.frombytes(rights[: len(rights) - len(rights) % came.itemsize])
    return content, list(came)


def new_memory(size: int, name: str = NAME) -> int:
    """Makes `size` bytes of anonymous memory and returns the descriptor. The memory is not sealed yet. Raises
    OSError."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(descriptor, size)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def map_shared(descriptor: int, size: int, access: int = WRITES) -> mmap.mmap:
    """Maps the memory in this process, but not in its forked children. access: READS or WRITES.

    Raises OSError. Raises ValueError or OverflowError if the memory is smaller than `size` or `size` is invalid.
    """
    with fork.LOCK:
        mapping = mmap.mmap(descriptor, size, flags=mmap.MAP_SHARED, prot=access)
        mapping.madvise(mmap.MADV_DONTFORK)
        _mapped.mappings.add(mapping)
    return mapping


def populate(mapping: mmap.mmap) -> None:
    """Fills all page tables of a mapping in one call, so that later accesses cause no page faults. Raises OSError."""
    try:
        mapping.madvise(MADV_POPULATE_READ)
    except OSError as error:
        if error.errno != errno.EINVAL:  # an older Linux returns EINVAL
            raise
        mapping[:: mmap.PAGESIZE]


class _Mapped:
    """All mappings of this process. A mapping exists as long as a view of it exists. So a mapping may exist longer
    than the object that made it."""

    def __init__(self) -> None:
        self.mappings: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()

    def close_in_child(self) -> None:
        """Implements `fork.Guarded`."""
        if mappings := list(self.mappings):
            # The child may reuse the addresses and the descriptors of these mappings. So the destructors of the
            # mappings must not run, not even at exit.
            _never_destroy(mappings)
            self.mappings.clear()
        with contextlib.suppress(OSError):
            for entry in os.listdir("/proc/self/fd"):
                with contextlib.suppress(OSError):
                    if os.readlink(f"/proc/self/fd/{entry}").startswith(SHOWN):
                        os.close(int(entry))


def _never_destroy(kept: object) -> None:
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))


_mapped = _Mapped()
fork.guard(_mapped)
