"""Readings for `frame_parts`: this thread's time on a core, in the queue for one, and in garbage collection.

On Linux the kernel counts for how long each thread was ready to run while others had the cores (schedstat); a file
kept open is read in 2 us. A process that was stopped (SIGSTOP, a debugger, a frozen container) learns of it by SIGCONT
alone. Elsewhere neither is known, and what was stolen shows only as a late wake.

Always: `close` undoes everything, a forked child keeps nothing.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading
import time

from twixt.ipc import fork
from twixt.render.frame_parts import Reading

OWN = "/proc/thread-self/schedstat"
# Threads in which Mesa draws where a processor does.
DRAWERS = "llvmpipe"
# Frames between two looks for such threads: a look takes 0.1 ms, they are made with the first pictures.
FRAMES_PER_LOOK = 600
# Frames in each of which they are looked for while there are none.
FIRST_LOOKS = 64
# A thread that ran all the time but for so much waited in no queue worth a look.
LEAST_IDLE_NS = 20_000
LONGEST = 64  # bytes of a schedstat line: three numbers


class ProcessorTime:
    """Of the thread that makes it."""

    def __init__(self) -> None:
        self.stops = 0
        self._gc_ns = self._gc_began_ns = self._queued_ns = self._idle_ns = 0
        self._thread = threading.get_ident()
        self._own = _opened(OWN)
        self._drawers: list[int] = []
        self._looked = 0
        self._before: object = None
        fork.guard(self)
        gc.callbacks.append(self._collected)
        if hasattr(signal, "SIGCONT") and threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGCONT, self._continued)

    def read(self) -> Reading:
        """The sums up to now."""
        wall_ns, cpu_ns = time.perf_counter_ns(), time.thread_time_ns()
        idle_ns = wall_ns - cpu_ns
        if self._own is not None and idle_ns - self._idle_ns >= LEAST_IDLE_NS:
            self._queued_ns = _queued_ns(self._own)
            self._idle_ns = idle_ns
        return Reading(wall_ns, cpu_ns, self._queued_ns, self._gc_ns, self.stops)

    def drawers(self) -> tuple[int, ...]:
        """Of each thread that draws for this process, the ns for which it waited for a core."""
        if self._own is None:
            return ()
        if self._looked % FRAMES_PER_LOOK == 0 or (not self._drawers and self._looked < FIRST_LOOKS):
            self._look()
        self._looked += 1
        return tuple([_queued_ns(drawer) for drawer in self._drawers])

    def waited_ns(self) -> int:
        """For how long this thread and those that draw for it waited for a core; 0 where nobody says."""
        own = [] if self._own is None else [self._own]
        return sum(_queued_ns(descriptor) for descriptor in (*own, *self._drawers))

    def close(self) -> None:
        """Gives back files, callback and signal. Harmless twice."""
        with contextlib.suppress(ValueError):
            gc.callbacks.remove(self._collected)
        if self._before is not None and signal.getsignal(signal.SIGCONT) == self._continued:
            signal.signal(signal.SIGCONT, self._before)  # type: ignore[arg-type]
        self._before = None
        for descriptor in (self._own, *self._drawers):
            if descriptor is not None:
                _close(descriptor)
        self._own, self._drawers = None, []

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`."""
        self.close()

    def _look(self) -> None:
        """Finds the threads that draw; those that are known already are kept as long as there are no others."""
        found = []
        with contextlib.suppress(OSError):
            for thread in sorted(os.listdir("/proc/self/task")):
                with contextlib.suppress(OSError), open(f"/proc/self/task/{thread}/comm", encoding="utf-8") as name:
                    if name.read().startswith(DRAWERS):
                        found.append(thread)
        if len(found) != len(self._drawers):
            for drawer in self._drawers:
                _close(drawer)
            opened = [_opened(f"/proc/self/task/{thread}/schedstat") for thread in found]
            self._drawers = [drawer for drawer in opened if drawer is not None]

    def _collected(self, phase: str, _info: dict[str, int]) -> None:
        if threading.get_ident() != self._thread:
            return
        if phase == "start":
            self._gc_began_ns = time.thread_time_ns()
        else:
            self._gc_ns += time.thread_time_ns() - self._gc_began_ns

    def _continued(self, number: int, frame: object) -> None:
        self.stops += 1
        if callable(self._before):  # a handler of the user's drawing, made when its module was imported
            self._before(number, frame)


def _opened(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None


def _close(descriptor: int) -> None:
    with contextlib.suppress(OSError):  # the user's drawing has closed it, with all others
        os.close(descriptor)


def _queued_ns(descriptor: int) -> int:
    try:
        return int(os.pread(descriptor, LONGEST, 0).split()[1])
    except (OSError, ValueError, IndexError):  # the thread has ended
        return 0
