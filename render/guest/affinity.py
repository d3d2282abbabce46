"""The affinity masks of all threads of this process, narrowed for a while and given back (Linux).

One idea: a mask is a thread's own, and a new thread inherits that of the one which starts it; so all threads are gone
through each time, those of the OpenGL driver included.

Always: no thread gets a core that its own mask did not have. A mask that somebody else sets meanwhile is kept and
becomes the one that is given back. On systems without such masks nothing happens.
"""

from __future__ import annotations

import contextlib
import os

from twixt.render.guest.cores import NO_CORES, Cores

THREADS = "/proc/self/task"


class Affinity:
    """Of this process. `allowed`: the cores that its main thread may use; empty where the system does not say."""

    def __init__(self) -> None:
        self._own: dict[int, Cores] = {}  # masks of the threads that were narrowed, as they were
        self._set: dict[int, Cores] = {}  # ... and as they were set
        self._main = os.getpid()
        self.allowed = mask_of(self._main)

    def look(self) -> Cores:
        """The cores allowed now, after a change from outside too."""
        mask = mask_of(self._main)
        if mask != self._set.get(self._main, self.allowed):
            self.allowed = mask
            self._own.pop(self._main, None)
            self._set.pop(self._main, None)
        return self.allowed

    def use(self, cores: Cores) -> None:
        """Every thread runs on those of its own cores that are among these; one that has none of them is left alone."""
        if cores >= self.allowed:
            self.give_back()
            return
        threads, narrow = _threads(), set(self._set.values())
        for thread in threads:
            mask = mask_of(thread)
            if mask != self._set.get(thread):
                # A thread that was started meanwhile has inherited a narrow mask: its own is that of the process.
                is_new = thread not in self._own and mask in narrow
                self._own[thread] = self.allowed if is_new else mask
            wanted = self._own[thread] & cores
            if wanted and wanted != mask:
                _set_mask(thread, wanted)
            self._set[thread] = wanted or mask
        for thread in self._own.keys() - set(threads):
            del self._own[thread]
            self._set.pop(thread, None)

    def give_back(self) -> None:
        """The masks as they were. Harmless twice."""
        narrow = set(self._set.values())
        for thread in _threads() if self._own else []:
            mask = mask_of(thread)
            if mask == self._set.get(thread):
                _set_mask(thread, self._own[thread])
            elif thread not in self._own and mask in narrow:
                _set_mask(thread, self.allowed)
        self._own, self._set = {}, {}


def mask_of(thread: int) -> Cores:
    """The cores that a thread may use; none where it has ended or the system does not say."""
    with contextlib.suppress(OSError, AttributeError):
        return frozenset(os.sched_getaffinity(thread))
    return NO_CORES


def _set_mask(thread: int, cores: Cores) -> None:
    with contextlib.suppress(OSError):  # it has ended, or a cpuset was made smaller
        os.sched_setaffinity(thread, cores)


def _threads() -> list[int]:
    with contextlib.suppress(OSError):
        return [int(name) for name in os.listdir(THREADS)]
    return []
