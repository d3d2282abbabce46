"""Mappings of shared memory, and descriptors of it, that no forked child keeps.

The one idea: the kernel knows better than any list of ours what a child has. A mapping is kept from children by the
kernel (MADV_DONTFORK). A descriptor shows the memory's name, so that in a child each is found and closed wherever it
was on its way: just made, received, or the duplicate that `mmap` makes and tells nobody.

Always: a mapping is kept from children before anybody can fork; in a child no destructor touches what was mapped.
Untested: macOS, where a forked child keeps the duplicates.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import sys
import weakref

from twixt.ipc import fork

NAME = "twixt"  # how the memory shows in /proc/PID/maps; other names of ours begin with it
SHOWN = f"/memfd:{NAME}"
# Linux 5.14, which Python does not name: page tables for all of it.
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
    """The memory as this process has it, and no child of it. access: READS or WRITES.

    Raises OSError, or ValueError or OverflowError for a size that it has not.
    """
    with fork.LOCK:
        mapping = mmap.mmap(descriptor, size, flags=mmap.MAP_SHARED, prot=access)
        if hasattr(mmap, "MADV_DONTFORK"):
            mapping.madvise(mmap.MADV_DONTFORK)
        _mapped.mappings.add(mapping)
    return mapping


def populate(mapping: mmap.mmap) -> None:
    """Page tables for all of what another made, so that no later access waits for them. Raises OSError."""
    if sys.platform != "linux":
        return
    try:
        mapping.madvise(MADV_POPULATE_READ)
    except OSError as error:
        if error.errno != errno.EINVAL:  # an older Linux
            raise
        mapping[:: mmap.PAGESIZE]


class _Mapped:
    """What this process has mapped. A view may outlive whoever asked for it."""

    def __init__(self) -> None:
        self.mappings: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`."""
        if mappings := list(self.mappings):
            # Their addresses and descriptors may soon belong to others: no destructor may run here, at exit neither.
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
