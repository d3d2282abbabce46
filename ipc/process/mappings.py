"""Mappings of shared memory, and descriptors of it, that no forked child keeps.

The one idea: the kernel, not a list of ours, says what a child has. Mappings are not inherited (MADV_DONTFORK).
Descriptors are: the child finds them in /proc by the memory's name and closes all of them, new ones, received ones and
the hidden duplicates that `mmap` makes.

Always: a mapping is marked before a fork can happen; in a child no destructor unmaps it.
Untested: macOS, where a forked child keeps the duplicates.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import sys
import weakref

from twixt.ipc.process import fork

NAME = "twixt"  # name of the memory in /proc; our other memory has names that begin with it
SHOWN = f"/memfd:{NAME}"
# madvise of Linux 5.14, for which Python has no name: fills the page tables of a mapping.
MADV_POPULATE_READ = 22
READS, WRITES = mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE


def new_memory(size: int, name: str = NAME) -> int:
    """A descriptor of `size` bytes of anonymous memory, not sealed yet (Linux). Raises OSError."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(descriptor, size)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def map_shared(descriptor: int, size: int, access: int = WRITES) -> mmap.mmap:
    """Map the memory in this process, and in no child of it. access: READS or WRITES.

    Raises OSError; ValueError or OverflowError where the memory is smaller than `size`, or `size` is invalid.
    """
    with fork.LOCK:
        mapping = mmap.mmap(descriptor, size, flags=mmap.MAP_SHARED, prot=access)
        if hasattr(mmap, "MADV_DONTFORK"):
            mapping.madvise(mmap.MADV_DONTFORK)
        _mapped.mappings.add(mapping)
    return mapping


def populate(mapping: mmap.mmap) -> None:
    """Fill the page tables of a mapping at once, so that later accesses cause no page faults. Raises OSError."""
    if sys.platform != "linux":
        return
    try:
        mapping.madvise(MADV_POPULATE_READ)
    except OSError as error:
        if error.errno != errno.EINVAL:  # EINVAL: an older Linux
            raise
        mapping[:: mmap.PAGESIZE]


class _Mapped:
    """All mappings of this process: one lives as long as a view of it, which may be longer than its `Memory`."""

    def __init__(self) -> None:
        self.mappings: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`."""
        if mappings := list(self.mappings):
            # Their addresses and descriptors may be reused here, so no destructor may run, not even at exit.
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
