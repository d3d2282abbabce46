"""Splits a frame's time by cause: drawing, upload, the user's drawing, garbage collection, waiting for a core.

The one idea: laps. A lap ends where one kind of work ends. Of its wall time, garbage collection and the time for which
this thread waited for a core are counted apart; the rest belongs to the lap's part. A sleep or a read in the lap's own
code stays in that part. Work that ends before the frame's start, or while it waits for its swap or for the display, costs
the frame nothing and is dropped.

Always: no part is negative. Reads no clock: readings come from `ProcessorTime`, or from a test.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from twixt.ipc.quantiles import median

# Two kinds of lap wait for the GPU or the display. Their usual idle time, the median of the last REMEMBERED_LAPS, is
# known: if the process was stopped, idle time beyond it counts as stolen. In other laps all of it does.
REMEMBERED_LAPS = 15
FINISH, SWAP = "finish", "swap"


class FrameParts(NamedTuple):
    """Durations in ns, in the order of `FrameRow`'s columns; all 0: not measured."""

    draw_ns: int = 0
    upload_ns: int = 0  # taking in snapshots included
    user_ns: int = 0  # the user's own drawing
    gc_ns: int = 0
    stolen_ns: int = 0  # the processor was given to others, or the process was stopped
    other_ns: int = 0


NO_PARTS = FrameParts()
DRAW, UPLOAD, USER, GC, STOLEN, OTHER = range(len(FrameParts._fields))


class Reading(NamedTuple):
    """Sums up to one instant, in ns."""

    wall_ns: int
    cpu_ns: int  # this thread ran
    queued_ns: int  # it was ready to run and waited for a core
    gc_ns: int  # it ran in garbage collection
    stops: int  # number of times the process was stopped and continued


class PartMeter:
    """Measures the parts of each frame.

    read: returns the sums up to now. drawers: returns, for each thread that draws for this one, the ns for which it
    waited for a core.
    """

    def __init__(self, read: Callable[[], Reading], drawers: Callable[[], tuple[int, ...]] = tuple) -> None:
        self._read, self._drawers = read, drawers
        self._sums = [0] * len(FrameParts._fields)
        self._late = list(self._sums)  # of work in the last swap that ended late: the next frame's
        self._usual_idle: dict[str, deque[int]] = {kind: deque(maxlen=REMEMBERED_LAPS) for kind in (FINISH, SWAP)}
        self._queued = drawers()
        self._last = read()

    def restart(self) -> None:
        """Starts a lap without counting the time since the last one."""
        self._sums = [0] * len(self._sums)
        self._last = self._read()

    def in_wait(self, part: int, until_ns: int) -> None:
        """Ends a lap of work done while the frame waited for its swap at `until_ns`. It counts, as a whole, only if it
        ended after that instant."""
        self._add_if_late(self._sums, part, until_ns)

    def in_swap(self, part: int, until_ns: int) -> None:
        """Ends a lap of work done while the swap waited for the display, expected at `until_ns`. It counts, as a whole,
        only if it ended after that instant, and for the next frame, which it delays."""
        self._add_if_late(self._late, part, until_ns)

    def lap(self, part: int) -> None:
        """Ends a lap of work on `part`."""
        wall_ns, idle_ns, queued_ns, gc_ns, is_stopped = self._since()
        stolen_ns = idle_ns if is_stopped else queued_ns
        _add(self._sums, part, wall_ns, stolen_ns, gc_ns)

    def finished(self) -> None:
        """Ends a lap that waited for drawing to complete. The drawing threads' longest wait for a core counts as
        stolen."""
        wall_ns, idle_ns, queued_ns, gc_ns, is_stopped = self._since()
        queued = self._drawers()
        if len(queued) == len(self._queued):
            delays_ns = [max(0, now - before) for now, before in zip(queued, self._queued, strict=True)]
            queued_ns = min(idle_ns, queued_ns + max(delays_ns, default=0))
        self._queued = queued
        stolen_ns = queued_ns + self._stopped_ns(FINISH, idle_ns - queued_ns, is_stopped)
        _add(self._sums, DRAW, wall_ns, stolen_ns, gc_ns)

    def waited(self, until_ns: int, begins: bool = False) -> None:
        """Ends a lap that waited for `until_ns`; time after that instant counts as stolen. begins: the frame begins
        here, so earlier laps are dropped."""
        began_ns = self._last.wall_ns
        self._since()
        if until_ns <= began_ns:
            return
        if begins:
            self._sums = [0] * len(self._sums)
        self._sums[STOLEN] += max(0, self._last.wall_ns - until_ns)

    def swapped(self, blocks: bool) -> FrameParts:
        """Ends the lap of the swap; returns the frame's parts. blocks: the swap waits for the display, so time stolen
        meanwhile delays the next frame and is counted there; else it counts for this frame."""
        _, idle_ns, queued_ns, _, is_stopped = self._since()
        stolen_ns = queued_ns + self._stopped_ns(SWAP, idle_ns - queued_ns, is_stopped)
        sums, self._sums = self._sums, self._late
        self._late = [0] * len(sums)
        (self._sums if blocks else sums)[STOLEN] += stolen_ns
        return FrameParts(*sums)

    def _add_if_late(self, sums: list[int], part: int, until_ns: int) -> None:
        wall_ns, idle_ns, queued_ns, gc_ns, is_stopped = self._since()
        if self._last.wall_ns > until_ns:
            _add(sums, part, wall_ns, idle_ns if is_stopped else queued_ns, gc_ns)

    def _since(self) -> tuple[int, int, int, int, bool]:
        """Ends a lap; returns its wall, idle, queued and garbage collection time in ns, and if the process was
        stopped."""
        before, now = self._last, self._read()
        self._last = now
        wall_ns = now.wall_ns - before.wall_ns
        idle_ns = max(0, wall_ns - now.cpu_ns + before.cpu_ns)
        queued_ns = min(idle_ns, max(0, now.queued_ns - before.queued_ns))
        return wall_ns, idle_ns, queued_ns, now.gc_ns - before.gc_ns, now.stops != before.stops

    def _stopped_ns(self, kind: str, idle_ns: int, is_stopped: bool) -> int:
        """Idle time beyond the usual of this kind of lap, if the process was stopped in it; else 0."""
        usual = self._usual_idle[kind]
        if is_stopped:
            return max(0, idle_ns - round(median(usual) if usual else 0))
        usual.append(idle_ns)
        return 0


def _add(sums: list[int], part: int, wall_ns: int, stolen_ns: int, gc_ns: int) -> None:
    sums[STOLEN] += stolen_ns
    sums[GC] += gc_ns
    sums[part] += max(0, wall_ns - stolen_ns - gc_ns)
