"""Affinity masks of all threads of this process: narrowed for a while, then restored (Linux).

The one idea: each thread has its own mask, and a new thread inherits the mask of the thread that starts it. So each
change is made to all threads, including those of the OpenGL driver.

A mask can change from outside in two ways. Another program sets it: then that mask is kept, and it is the one restored
later. Or the cpuset of the process changes (a container's, a slice's): then the kernel cuts the requested mask down to
the cpuset, and applies the request again when the cpuset grows. So a mask that the kernel has cut must not be taken
for one that another program set.

Always: no thread gets a core that its own mask did not have. After `give_back` no thread is narrower than its own
mask. A forked child has no narrowed mask. On systems without such masks nothing happens.
Does not: widen the masks of a program that the user's drawing starts (subprocess) while masks are narrow.
"""

from __future__ import annotations

import contextlib
import errno
import os

from twixt.ipc.process import fork
from twixt.render.cores.core_choice import NO_CORES, Cores
from twixt.render.cores.thread_time import thread_ids

# Mask requested for a thread that may use its whole cpuset. Cores that do not exist do no harm.
EVERY: Cores = frozenset(range(max(1024, 2 * (os.cpu_count() or 1))))


class Affinity:
    """Masks of this process. allowed: cores that its main thread may use; empty where the system does not report them.
    is_refused: the system refuses to set masks, as in some containers."""

    def __init__(self) -> None:
        self.is_refused = False
        self._own: dict[int, Cores] = {}  # masks of the narrowed threads, as they were before
        self._asked: dict[int, Cores] = {}  # ... as they were requested
        self._set: dict[int, Cores] = {}  # ... and as the kernel then set them
        self._main = os.getpid()
        self._cpuset = NO_CORES  # the cpuset, as it was when masks were narrowed
        self.allowed = mask_of(self._main)
        fork.guard(self)

    def refresh(self) -> Cores:
        """Reads the main thread's mask again. Returns the cores that are allowed now."""
        mask = mask_of(self._main)
        if mask != self._set.get(self._main, self.allowed) and not self._is_cut_by_cpuset(mask):
            self.allowed = mask
            self._forget(self._main)
        return self.allowed

    def use(self, cores: Cores) -> None:
        """Narrows the mask of each thread to those of its own cores that are in `cores`; a thread that has none of
        them keeps its mask."""
        if self.is_refused or cores >= self.allowed:
            self.give_back()
            return
        threads, narrow = thread_ids(), set(self._set.values())
        if not self._own:
            self._cpuset = self._cpuset_now(self.allowed)
        for thread in threads:
            mask = mask_of(thread)
            if mask != self._set.get(thread):
                # A thread that was started meanwhile inherited a narrow mask: its own mask is that of the process.
                is_new = thread not in self._own and mask in narrow
                self._own[thread] = self.allowed if is_new else mask
            self._narrow(thread, self._own[thread] & cores, mask)
            if self.is_refused:
                self.give_back()
                return
        for thread in self._own.keys() - set(threads):
            self._forget(thread)

    def give_back(self) -> None:
        """Restores the masks. May be called again."""
        narrow = set(self._set.values())
        for thread in thread_ids() if self._own else []:
            mask = mask_of(thread)
            if mask == self._set.get(thread):
                self._widen(thread, self._own[thread])
            elif thread not in self._own and mask in narrow:
                self._widen(thread, self.allowed)
        self._own, self._asked, self._set = {}, {}, {}

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`."""
        self.give_back()
        self._main = os.getpid()

    def _narrow(self, thread: int, wanted: Cores, mask: Cores) -> None:
        if wanted and wanted != mask:
            failed = _set_mask(thread, wanted)
            self.is_refused = failed in (errno.EPERM, errno.EACCES, errno.ENOSYS)
            if failed:
                self._forget(thread)
                return
        self._asked[thread] = self._set[thread] = wanted or mask

    def _widen(self, thread: int, own: Cores) -> None:
        """Restores the mask of a thread. A thread that had its whole cpuset gets all cores, so that its mask grows with
        the cpuset."""
        if _set_mask(thread, EVERY if own == self._cpuset else own) == errno.EINVAL:  # the cpuset has none of them now
            _set_mask(thread, EVERY)

    def _forget(self, thread: int) -> None:
        for known in (self._own, self._asked, self._set):
            known.pop(thread, None)

    def _is_cut_by_cpuset(self, mask: Cores) -> bool:
        """True if `mask`, the main thread's, is the requested mask cut by a changed cpuset. Then updates all stored
        masks to the new cpuset."""
        asked = self._asked.get(self._main)
        if asked is None:
            return False
        cpuset = self._cpuset_now(mask)
        if mask != (asked & cpuset or cpuset) or cpuset == self._cpuset:
            return False
        _set_mask(self._main, asked)
        had_all = self._own[self._main] == self._cpuset
        self.allowed = cpuset if had_all else (self._own[self._main] & cpuset or cpuset)
        for thread, wanted in self._asked.items():
            self._set[thread] = wanted & cpuset or cpuset
            if self._own[thread] == self._cpuset:
                self._own[thread] = cpuset
        self._cpuset = cpuset
        return True

    def _cpuset_now(self, mask: Cores) -> Cores:
        """Cores of the process' cpuset. Read by requesting all cores, which the kernel cuts to the cpuset; after that
        the main thread's mask is `mask` again."""
        if _set_mask(self._main, EVERY):
            return NO_CORES
        cpuset = mask_of(self._main)
        if cpuset != mask:
            _set_mask(self._main, mask)
        return cpuset


def mask_of(thread: int) -> Cores:
    """Cores that a thread may use; empty where the thread has ended or the system does not report them."""
    with contextlib.suppress(OSError, AttributeError):
        return frozenset(os.sched_getaffinity(thread))
    return NO_CORES


def _set_mask(thread: int, cores: Cores) -> int:
    """Sets the mask of a thread. Returns 0, or the errno: thread ended, cpuset made smaller, or not permitted."""
    try:
        os.sched_setaffinity(thread, cores)
    except OSError as error:
        return error.errno or errno.EINVAL
    return 0
