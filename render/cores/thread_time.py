"""Running and waiting times of threads, as the kernel counts them (Linux, /proc): of this thread, with its garbage
collection, for `frame_time_parts`; and of the threads of another process.

The kernel counts for how long each thread was ready to run but had no core (schedstat); reading a file that is kept
open takes 2 us. A process that was stopped (SIGSTOP, a debugger, a frozen container) can detect it only by SIGCONT. On
other systems neither is known, and stolen time shows only as a late wake-up. Reading the file of another process'
thread takes 10 us here and costs that process nothing.

Always: `close` restores and closes everything; a forked child keeps nothing. For a thread that has ended, a process
that is gone, or a system without such files there are no times, and no error is raised.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading
import time
from collections.abc import Iterable

from twixt.ipc.process import fork
from twixt.render.cores.core_load import Times
from twixt.render.cores.frame_time_parts import Reading

OWN = "/proc/thread-self/schedstat"
# Start of the names of the threads in which Mesa draws on the processor.
DRAWERS = "llvmpipe"
# Frames between two searches for such threads. A search takes 0.1 ms; Mesa starts the threads with the first pictures.
FRAMES_PER_SEARCH = 600
# Number of first frames that each search for them while none are found.
FIRST_SEARCHES = 64
# The waiting time is read again only after this much further idle time: less is not worth a read.
LEAST_IDLE_NS = 20_000
LONGEST = 64  # bytes; more than a schedstat line of three numbers has


def thread_ids(process: int | str = "self") -> list[int]:
    """Ids of all threads of a process, ascending; empty where it has ended or the system does not list them."""
    with contextlib.suppress(OSError):
        return sorted(int(name) for name in os.listdir(f"/proc/{process}/task"))
    return []


class ProcessorTime:
    """Processor time of the thread that creates this object, and waiting times of the threads that draw for it.

    has_drawers: False where no other threads draw for this process, or it is not known. stops: number of SIGCONT
    received.
    """

    def __init__(self, has_drawers: bool = True) -> None:
        self._has_drawers = has_drawers
        self.stops = 0
        self._gc_ns = self._gc_began_ns = self._queued_ns = self._idle_ns = 0
        self._thread = threading.get_ident()
        self._own = _opened(OWN)
        self._drawers: list[int] = []
        self._frames = 0
        self._before: object = None
        fork.guard(self)
        gc.callbacks.append(self._collected)
        if hasattr(signal, "SIGCONT") and threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGCONT, self._continued)

    def read(self) -> Reading:
        """Sums up to now."""
        wall_ns, cpu_ns = time.perf_counter_ns(), time.thread_time_ns()
        idle_ns = wall_ns - cpu_ns
        if self._own is not None and idle_ns - self._idle_ns >= LEAST_IDLE_NS:
            self._queued_ns = _queued_ns(self._own)
            self._idle_ns = idle_ns
        return Reading(wall_ns, cpu_ns, self._queued_ns, self._gc_ns, self.stops)

    def drawers(self) -> tuple[int, ...]:
        """Waiting time in ns of each thread that draws for this process, up to now. Call it once a frame."""
        if self._own is None or not self._has_drawers:
            return ()
        if self._frames % FRAMES_PER_SEARCH == 0 or (not self._drawers and self._frames < FIRST_SEARCHES):
            self._find_drawers()
        self._frames += 1
        return tuple([_queued_ns(drawer) for drawer in self._drawers])

    def waited_ns(self) -> int:
        """Total waiting time in ns of this thread and those that draw for it; 0 where it is not known."""
        own = [] if self._own is None else [self._own]
        return sum(_queued_ns(descriptor) for descriptor in (*own, *self._drawers))

    def close(self) -> None:
        """Closes the files, removes the callback, restores the signal handler. May be called again."""
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

    def _find_drawers(self) -> None:
        """Finds the threads that draw, and opens their files again if the number of threads changed."""
        found = []
        for thread in thread_ids():
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
        if callable(self._before):  # a handler that the user's drawing installed at its import
            self._before(number, frame)


def _opened(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None


def _close(descriptor: int) -> None:
    with contextlib.suppress(OSError):  # the user's drawing has closed it, with all other descriptors
        os.close(descriptor)


def _queued_ns(descriptor: int) -> int:
    try:
        return int(os.pread(descriptor, LONGEST, 0).split()[1])
    except (OSError, ValueError, IndexError):  # the thread has ended
        return 0


# Number of threads that are read each time: those with the most running and waiting time.
WATCHED = 4
# One of this many reads goes through all threads, and chooses the watched ones.
SAMPLES_PER_LIST = 10

# Index of the field "processor" in /proc/PID/task/TID/stat, counted after the name: field 39 of proc(5).
PROCESSOR = 36


class ThreadTimes:
    """Times of the threads of the process `pid`. None: not known, so there are no times."""

    def __init__(self, pid: int | None) -> None:
        self._pid = pid
        self._samples = 0
        self._watched: list[int] = []
        self._listed: Times = {}

    def read(self) -> Times:
        """Sums up to now of the watched threads, in ns."""
        if self._pid is None:
            return {}
        if self._samples % SAMPLES_PER_LIST == 0:
            self._list(self._pid)
        self._samples += 1
        return self._of(self._watched)

    def cores(self, threads: Iterable[int]) -> list[int]:
        """Core on which each of these threads runs, or ran last; a thread that has ended is left out."""
        found = []
        for thread in threads:
            path = f"/proc/{self._pid}/task/{thread}/stat"
            with contextlib.suppress(OSError, ValueError, IndexError), open(path, "rb", buffering=0) as file:
                found.append(int(file.read(1024).rpartition(b")")[2].split()[PROCESSOR]))
        return found

    def _list(self, pid: int) -> None:
        now, before = self._of(thread_ids(pid)), self._listed
        wanted_ns = {thread: sum(times) - sum(before.get(thread, (0, 0))) for thread, times in now.items()}
        self._watched = sorted(now, key=wanted_ns.__getitem__, reverse=True)[:WATCHED]
        self._listed = now

    def _of(self, threads: list[int]) -> Times:
        found: Times = {}
        for thread in threads:
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{self._pid}/task/{thread}/schedstat", "rb", buffering=0) as file:
                    ran, queued = file.read(LONGEST).split()[:2]
                found[thread] = int(ran), int(queued)
        return found
