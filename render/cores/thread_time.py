"""Reads the running and waiting times of threads from the kernel (Linux, /proc), and measures the laps of a frame's
time. The threads are the calling thread, the threads that draw for it, and the threads of another process.

The kernel counts how long each thread was ready to run but had no core (schedstat). Reading the open file of a thread
of this process takes 2 us. A process that was stopped (SIGSTOP, a debugger, a frozen container) can detect the stop
only through SIGCONT. Other systems report neither schedstat nor SIGCONT; there, stolen time shows only as a late
wake-up. Reading the file of a thread of another process takes 10 us and costs the other process nothing.

Always: `close` restores the signal handler and closes all files. A forked child has no open files. If a thread or
process has ended, or the system has no such files, the times are empty or 0, and no error is raised.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from twixt.ipc.process import fork
from twixt.ipc.quantiles import median
from twixt.ipc.trace.spans import NOT_RECORDED, Spans
from twixt.render.cores.load import Times

OWN = "/proc/thread-self/schedstat"
# The names of Mesa's software drawing threads begin with this.
DRAWERS = "llvmpipe"
# Number of frames from one search for drawing threads to the next. A search takes 0.1 ms. Mesa starts these threads
# while it draws the first frames.
FRAMES_PER_SEARCH = 600
# Each of this many first frames searches for drawing threads, until some are found.
FIRST_SEARCHES = 64
# The waiting time is read again only if the calling thread's idle time has grown by at least this much (ns). A smaller
# change is not worth a read.
LEAST_IDLE_NS = 20_000
LONGEST = 64  # number of bytes to read; a schedstat line of three numbers is shorter


def thread_ids(process: int | str = "self") -> list[int]:
    """Ids of all threads of a process, ascending. Empty if the process has ended or the system does not list
    threads."""
    with contextlib.suppress(OSError):
        return sorted(int(name) for name in os.listdir(f"/proc/{process}/task"))
    return []


class ProcessorTime:
    """Measures the processor time of the thread that creates this object, and the waiting times of the threads that
    draw for it.

    has_drawers: False if no other threads draw for this process, or if this is unknown. stops: number of SIGCONT
    signals that were received.
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
        """Returns the totals of all times up to now."""
        wall_ns, cpu_ns = time.perf_counter_ns(), time.thread_time_ns()
        idle_ns = wall_ns - cpu_ns
        if self._own is not None and idle_ns - self._idle_ns >= LEAST_IDLE_NS:
            self._queued_ns = _queued_ns(self._own)
            self._idle_ns = idle_ns
        return Reading(wall_ns, cpu_ns, self._queued_ns, self._gc_ns, self.stops)

    def drawers(self) -> tuple[int, ...]:
        """Total waiting time in ns of each thread that draws for this process. Call this once per frame."""
        if self._own is None or not self._has_drawers:
            return ()
        if self._frames % FRAMES_PER_SEARCH == 0 or (not self._drawers and self._frames < FIRST_SEARCHES):
            self._find_drawers()
        self._frames += 1
        return tuple([_queued_ns(drawer) for drawer in self._drawers])

    def waited_ns(self) -> int:
        """Total waiting time in ns of the calling thread and of the threads that draw for it; 0 if it is unknown."""
        own = [] if self._own is None else [self._own]
        return sum(_queued_ns(descriptor) for descriptor in (*own, *self._drawers))

    def close(self) -> None:
        """Closes the files, removes the callback of the garbage collector and restores the signal handler. May be
        called more than once."""
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
        """Finds the threads that draw for this process. If their number has changed, opens the files of all of them
        again."""
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
        if callable(self._before):  # the user's drawing may have installed a handler when it was imported
            self._before(number, frame)


def _opened(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None


def _close(descriptor: int) -> None:
    with contextlib.suppress(OSError):  # the user's drawing may have closed all file descriptors
        os.close(descriptor)


def _queued_ns(descriptor: int) -> int:
    try:
        return int(os.pread(descriptor, LONGEST, 0).split()[1])
    except (OSError, ValueError, IndexError):  # the thread has ended
        return 0


# Each sample reads this number of threads: those with the longest running and waiting time.
WATCHED = 4
# One sample in SAMPLES_PER_LIST reads all threads and chooses anew the threads that the next samples read.
SAMPLES_PER_LIST = 10

# Index of the field "processor" in /proc/PID/task/TID/stat, counted from the first field after the name. In proc(5) it
# is field 39.
PROCESSOR = 36


class ThreadTimes:
    """Running and waiting times of the threads of the process `pid`. If `pid` is None, the process is unknown and
    there are no times."""

    def __init__(self, pid: int | None) -> None:
        self._pid = pid
        self._samples = 0
        self._watched: list[int] = []
        self._listed: Times = {}

    def read(self) -> Times:
        """Returns the total running and waiting times (ns) of the watched threads, up to now."""
        if self._pid is None:
            return {}
        if self._samples % SAMPLES_PER_LIST == 0:
            self._list(self._pid)
        self._samples += 1
        return self._of(self._watched)

    def cores(self, threads: Iterable[int]) -> list[int]:
        """Core on which each of these threads runs or last ran. Threads that have ended are left out."""
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


# Laps divide a frame's time by cause (drawing, upload, the user's drawing, garbage collection, waiting for a core).
# The laps are also recorded as spans of the trace.
#
# A lap ends when one kind of work ends. Garbage collection and waiting for a core are subtracted from the lap's wall
# time and counted separately. The rest of the lap's time is the cost of its cause. This cost includes sleeps and reads
# in the lap's own code. Some work does not delay the frame and is dropped: work that ends before the frame starts, or
# while the frame waits for its swap or for the display.
#
# Always: no cost is negative. The recorder reads no clock: `ProcessorTime` or a test gives it the readings.


# In two kinds of lap the thread waits for the GPU or the display, so some idle time is normal. The normal idle time is
# the median of the last REMEMBERED_LAPS laps of this kind. If the process was stopped in one of these laps, only the
# idle time beyond this median counts as stolen. In all other laps all idle time counts as stolen.
REMEMBERED_LAPS = 15
FINISH, SWAP = "finish", "swap"
NO_SPAN = -1  # this kind means that the lap is not recorded as a span


class FrameCosts(NamedTuple):
    """Durations (ns) of one frame by cause, in the order of `FrameRow`'s columns. If all are 0, the durations were not
    measured."""

    draw_ns: int = 0
    upload_ns: int = 0  # reading of snapshots and upload to the GPU
    user_ns: int = 0  # the user's own drawing, and the user's function for events
    gc_ns: int = 0
    stolen_ns: int = 0  # waits for a core, and times when the process was stopped
    other_ns: int = 0


NO_COSTS = FrameCosts()
DRAW, UPLOAD, USER, GC, STOLEN, OTHER = range(len(FrameCosts._fields))
UNCOUNTED = -1  # the time of the lap is counted elsewhere


class Reading(NamedTuple):
    """Times summed up to one instant, in ns."""

    wall_ns: int
    cpu_ns: int  # running time of the calling thread
    queued_ns: int  # time in which the calling thread was ready to run but waited for a core
    gc_ns: int  # time in which the calling thread ran garbage collection
    stops: int  # how many times the process was stopped and continued


class Lap(NamedTuple):
    """Times of one lap, in ns. idle: time in which this thread did not run. queued: part of the idle time in which
    this thread waited for a core."""

    wall_ns: int
    idle_ns: int
    queued_ns: int
    gc_ns: int
    is_stopped: bool  # the process was stopped during the lap

    @property
    def stolen_ns(self) -> int:
        return self.idle_ns if self.is_stopped else self.queued_ns


class LapRecorder:
    """Records the laps of each frame. A lap begins where the previous lap ended.

    read: returns the totals up to now. drawers: returns for each thread that draws for this thread how long (ns) it
    has waited for a core. spans: receives each lap that has a kind (see `ipc.trace.spans`). last: the totals at the
    end of the last lap. user_before_ns: part of the user's time of the current frame that came before the frame began.
    """

    def __init__(
        self,
        read: Callable[[], Reading],
        drawers: Callable[[], tuple[int, ...]] = tuple,
        spans: Spans = NOT_RECORDED,
    ) -> None:
        self._read, self._drawers = read, drawers
        self._spans, self._is_recorded = spans, spans is not NOT_RECORDED
        self._sums = [0] * len(FrameCosts._fields)
        # Times of the work that made the last swap end late. They count for the next frame.
        self._late = list(self._sums)
        # Times of the work between two frames that postponed the start of the next frame. They count for that frame.
        self._postponed = list(self._sums)
        self.user_before_ns = 0
        self._usual_idle: dict[str, deque[int]] = {kind: deque(maxlen=REMEMBERED_LAPS) for kind in (FINISH, SWAP)}
        self._queued = drawers()
        self.last = read()

    def restart(self) -> None:
        """Starts a lap. The time since the end of the last lap is not counted."""
        self._sums = [0] * len(self._sums)
        self.last = self._read()

    def lap(self, cause: int, kind: int = NO_SPAN, a: int = 0) -> Lap:
        """Ends a lap of work on `cause` and returns the times of this lap. Records the lap as a span of `kind` with
        the value `a`."""
        before, now = self.last, self._read()
        self.last = now
        wall_ns = now.wall_ns - before.wall_ns
        idle_ns = max(0, wall_ns - now.cpu_ns + before.cpu_ns)
        queued_ns = min(idle_ns, max(0, now.queued_ns - before.queued_ns))
        gc_ns, is_stopped = now.gc_ns - before.gc_ns, now.stops != before.stops
        if cause != UNCOUNTED:
            sums, stolen_ns = self._sums, idle_ns if is_stopped else queued_ns
            sums[STOLEN] += stolen_ns
            sums[GC] += gc_ns
            sums[cause] += max(0, wall_ns - stolen_ns - gc_ns)
        if kind != NO_SPAN and self._is_recorded:
            self._spans.add(kind, before.wall_ns, now.wall_ns, a)
        return Lap(wall_ns, idle_ns, queued_ns, gc_ns, is_stopped)

    def lap_in_wait(self, cause: int, until_ns: int, kind: int = NO_SPAN, in_swap: bool = False) -> None:
        """Ends a lap of work that was done while the frame waited for its swap. `until_ns` is the planned instant of
        the swap.
        The whole lap counts if it ended after `until_ns`; otherwise the lap does not count. in_swap: the work was done
        while the swap waited for the display, and the display's answer was expected at `until_ns`. In this case a lap that ends
        too late delays the next frame and counts for the next frame."""
        lap = self.lap(UNCOUNTED, kind)
        if self.last.wall_ns > until_ns:
            _add(self._late if in_swap else self._sums, cause, lap, lap.stolen_ns)

    def lap_between_frames(self, cause: int, until_ns: int, kind: int = NO_SPAN, a: int = 0) -> None:
        """Ends a lap of work after the swap of a frame. If the lap ended after `until_ns`, which is the instant at which
        the next frame would have started, it counts for the next frame, even if that frame waits for a later start."""
        lap = self.lap(cause, kind, a)
        if self.last.wall_ns > until_ns:
            _add(self._postponed, cause, lap, lap.stolen_ns)

    def finished(self, kind: int = NO_SPAN) -> None:
        """Ends a lap in which the thread waited until drawing was complete. The longest time for which one drawing
        thread waited for a core counts as stolen."""
        lap = self.lap(UNCOUNTED, kind)
        queued_ns, queued = lap.queued_ns, self._drawers()
        if len(queued) == len(self._queued):
            delays_ns = [max(0, now - before) for now, before in zip(queued, self._queued, strict=True)]
            queued_ns = min(lap.idle_ns, queued_ns + max(delays_ns, default=0))
        self._queued = queued
        _add(self._sums, DRAW, lap, queued_ns + self._stopped_ns(FINISH, lap.idle_ns - queued_ns, lap.is_stopped))

    def waited(self, until_ns: int, kind: int = NO_SPAN, begins: bool = False) -> None:
        """Ends a lap in which the thread waited until `until_ns`. Time after `until_ns` counts as stolen. begins: the
        frame begins here, so all earlier laps are dropped that did not postpone it."""
        began_ns = self.last.wall_ns
        self.lap(UNCOUNTED, kind)
        if until_ns > began_ns:
            if begins:
                self._sums = self._postponed
            self._sums[STOLEN] += max(0, self.last.wall_ns - until_ns)
        if begins:
            self.user_before_ns = self._sums[USER]

    def swapped(self, blocks: bool) -> FrameCosts:
        """Ends the lap of the swap and returns the frame's costs. blocks: the swap waits for the display. If `blocks`
        is True, time that was stolen during the swap delays the next frame and counts for the next frame. Otherwise it
        counts for this frame."""
        lap = self.lap(UNCOUNTED)
        stolen_ns = lap.queued_ns + self._stopped_ns(SWAP, lap.idle_ns - lap.queued_ns, lap.is_stopped)
        sums, self._sums = self._sums, self._late
        self._late, self._postponed = [0] * len(sums), [0] * len(sums)
        (self._sums if blocks else sums)[STOLEN] += stolen_ns
        return FrameCosts(*sums)

    def _stopped_ns(self, kind: str, idle_ns: int, is_stopped: bool) -> int:
        """Idle time that was stolen in a lap because the process was stopped: the idle time beyond the usual one for
        this kind of lap; 0 if the process was not stopped."""
        usual = self._usual_idle[kind]
        if is_stopped:
            return max(0, idle_ns - round(median(usual) if usual else 0))
        usual.append(idle_ns)
        return 0


def _add(sums: list[int], cause: int, lap: Lap, stolen_ns: int) -> None:
    sums[STOLEN] += stolen_ns
    sums[GC] += lap.gc_ns
    sums[cause] += max(0, lap.wall_ns - stolen_ns - lap.gc_ns)
