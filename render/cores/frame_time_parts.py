"""Laps of a frame: its time by cause (drawing, upload, the user's drawing, garbage collection, waiting for a core), and
the same laps as spans of the trace.

A lap ends where one kind of work ends. Of its wall time, garbage collection and the time for which this thread waited
for a core are counted apart; the rest belongs to the lap's part. A sleep or a read in the lap's own code stays in that
part. Work that ends before the frame's start, or while it waits for its swap or for the display, costs the frame nothing
and is dropped.

Always: no part is negative. Reads no clock: readings come from `ProcessorTime`, or from a test.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from twixt.ipc.quantiles import median
from twixt.ipc.trace.spans import NOT_RECORDED, Spans

# Two kinds of lap wait for the GPU or the display. Their usual idle time, the median of the last REMEMBERED_LAPS, is
# known: if the process was stopped, idle time beyond it counts as stolen. In other laps all of it does.
REMEMBERED_LAPS = 15
FINISH, SWAP = "finish", "swap"
NO_SPAN = -1  # kind of a lap that is not recorded as a span


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
NO_PART = -1  # the time of the lap is counted elsewhere


class Reading(NamedTuple):
    """Sums up to one instant, in ns."""

    wall_ns: int
    cpu_ns: int  # this thread ran
    queued_ns: int  # it was ready to run and waited for a core
    gc_ns: int  # it ran in garbage collection
    stops: int  # number of times the process was stopped and continued


class Lap(NamedTuple):
    """Times of one lap, in ns. idle: this thread did not run. queued: of that, it waited for a core."""

    wall_ns: int
    idle_ns: int
    queued_ns: int
    gc_ns: int
    is_stopped: bool  # the process was stopped in it

    @property
    def stolen_ns(self) -> int:
        return self.idle_ns if self.is_stopped else self.queued_ns


class LapRecorder:
    """Records the laps of each frame. A lap begins where the one before ended.

    read: returns the sums up to now. drawers: returns, for each thread that draws for this one, the ns for which it
    waited for a core. spans: receives each lap that has a kind, one of `ipc.trace.spans`. last: the sums at the end of
    the last lap.
    """

    def __init__(
        self,
        read: Callable[[], Reading],
        drawers: Callable[[], tuple[int, ...]] = tuple,
        spans: Spans = NOT_RECORDED,
    ) -> None:
        self._read, self._drawers = read, drawers
        self._spans, self._is_recorded = spans, spans is not NOT_RECORDED
        self._sums = [0] * len(FrameParts._fields)
        self._late = list(self._sums)  # of work in the last swap that ended late: the next frame's
        self._usual_idle: dict[str, deque[int]] = {kind: deque(maxlen=REMEMBERED_LAPS) for kind in (FINISH, SWAP)}
        self._queued = drawers()
        self.last = read()

    def restart(self) -> None:
        """Starts a lap without counting the time since the last one."""
        self._sums = [0] * len(self._sums)
        self.last = self._read()

    def lap(self, part: int, kind: int = NO_SPAN, a: int = 0) -> Lap:
        """Ends a lap of work on `part`, and records it as a span of `kind` with the value `a`. Returns its times."""
        before, now = self.last, self._read()
        self.last = now
        wall_ns = now.wall_ns - before.wall_ns
        idle_ns = max(0, wall_ns - now.cpu_ns + before.cpu_ns)
        queued_ns = min(idle_ns, max(0, now.queued_ns - before.queued_ns))
        gc_ns, is_stopped = now.gc_ns - before.gc_ns, now.stops != before.stops
        if part != NO_PART:
            sums, stolen_ns = self._sums, idle_ns if is_stopped else queued_ns
            sums[STOLEN] += stolen_ns
            sums[GC] += gc_ns
            sums[part] += max(0, wall_ns - stolen_ns - gc_ns)
        if kind != NO_SPAN and self._is_recorded:
            self._spans.add(kind, before.wall_ns, now.wall_ns, a)
        return Lap(wall_ns, idle_ns, queued_ns, gc_ns, is_stopped)

    def lap_in_wait(self, part: int, until_ns: int, kind: int = NO_SPAN, in_swap: bool = False) -> None:
        """Ends a lap of work done while the frame waited for its swap at `until_ns`; in_swap: while its swap waited for
        the display, expected at that instant. It counts, as a whole, only if it ended after that instant; in_swap: for
        the next frame, which it delays."""
        lap = self.lap(NO_PART, kind)
        if self.last.wall_ns > until_ns:
            _add(self._late if in_swap else self._sums, part, lap, lap.stolen_ns)

    def finished(self, kind: int = NO_SPAN) -> None:
        """Ends a lap that waited for drawing to complete. The drawing threads' longest wait for a core counts as
        stolen."""
        lap = self.lap(NO_PART, kind)
        queued_ns, queued = lap.queued_ns, self._drawers()
        if len(queued) == len(self._queued):
            delays_ns = [max(0, now - before) for now, before in zip(queued, self._queued, strict=True)]
            queued_ns = min(lap.idle_ns, queued_ns + max(delays_ns, default=0))
        self._queued = queued
        _add(self._sums, DRAW, lap, queued_ns + self._stopped_ns(FINISH, lap.idle_ns - queued_ns, lap.is_stopped))

    def waited(self, until_ns: int, kind: int = NO_SPAN, begins: bool = False) -> None:
        """Ends a lap that waited for `until_ns`; time after that instant counts as stolen. begins: the frame begins
        here, so earlier laps are dropped."""
        began_ns = self.last.wall_ns
        self.lap(NO_PART, kind)
        if until_ns <= began_ns:
            return
        if begins:
            self._sums = [0] * len(self._sums)
        self._sums[STOLEN] += max(0, self.last.wall_ns - until_ns)

    def swapped(self, blocks: bool) -> FrameParts:
        """Ends the lap of the swap; returns the frame's parts. blocks: the swap waits for the display, so time stolen
        meanwhile delays the next frame and is counted there; else it counts for this frame."""
        lap = self.lap(NO_PART)
        stolen_ns = lap.queued_ns + self._stopped_ns(SWAP, lap.idle_ns - lap.queued_ns, lap.is_stopped)
        sums, self._sums = self._sums, self._late
        self._late = [0] * len(sums)
        (self._sums if blocks else sums)[STOLEN] += stolen_ns
        return FrameParts(*sums)

    def _stopped_ns(self, kind: str, idle_ns: int, is_stopped: bool) -> int:
        """Idle time beyond the usual of this kind of lap, if the process was stopped in it; else 0."""
        usual = self._usual_idle[kind]
        if is_stopped:
            return max(0, idle_ns - round(median(usual) if usual else 0))
        usual.append(idle_ns)
        return 0


def _add(sums: list[int], part: int, lap: Lap, stolen_ns: int) -> None:
    sums[STOLEN] += stolen_ns
    sums[GC] += lap.gc_ns
    sums[part] += max(0, lap.wall_ns - stolen_ns - lap.gc_ns)
