"""Parts of a frame's time, by what took it: drawing, upload, the user's drawing, garbage, a core given to others.

The one idea: laps. Each ends where one kind of work ends; of its wall time, garbage collection and the time for which
this thread was kept from a core are set apart, and the rest belongs to the lap's part. A sleep or a read that the
lap's own code asked for stays in its part. Work before a wait that still had to be waited costs the frame nothing and
is dropped.

Always: no part is negative. Reads no clock: readings come from `ProcessorTime`, or from a test.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from twixt.render.recent import median

# Laps that wait for something, of which the usual idle time is remembered: what is beyond it when the process was stopped
# was stolen. Others wait for nothing.
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
    queued_ns: int  # it was ready to run, and others had the cores
    gc_ns: int  # it ran in garbage collection
    stops: int  # how often the process was stopped and continued


class PartMeter:
    """The parts of one frame after the other.

    read: the present reading. drawers: of each thread that draws for this one, the ns for which it waited for a core.
    """

    def __init__(self, read: Callable[[], Reading], drawers: Callable[[], tuple[int, ...]] = tuple) -> None:
        self._read, self._drawers = read, drawers
        self._sums = [0] * len(FrameParts._fields)
        self._after_swap_ns = 0  # stolen after the last present: the next frame pays for it
        self._usual_idle: dict[str, deque[int]] = {kind: deque(maxlen=REMEMBERED_LAPS) for kind in (FINISH, SWAP)}
        self._queued = drawers()
        self._last = read()

    def restart(self) -> None:
        """What passed since the last lap is no frame's doing."""
        self._sums = [0] * len(self._sums)
        self._after_swap_ns = 0
        self._last = self._read()

    def lap(self, part: int) -> None:
        """Since the last lap this was worked on."""
        wall_ns, idle_ns, queued_ns, gc_ns, is_stopped = self._since()
        stolen_ns = idle_ns if is_stopped else queued_ns
        self._add(part, wall_ns, stolen_ns, gc_ns)

    def finished(self) -> None:
        """Since the last lap drawing was waited for, which may be done by threads of this process."""
        wall_ns, idle_ns, queued_ns, gc_ns, is_stopped = self._since()
        queued = self._drawers()
        if len(queued) == len(self._queued):
            delays_ns = [max(0, now - before) for now, before in zip(queued, self._queued, strict=True)]
            queued_ns = min(idle_ns, queued_ns + max(delays_ns, default=0))
        self._queued = queued
        stolen_ns = queued_ns + self._stopped_ns(FINISH, idle_ns - queued_ns, is_stopped)
        self._add(DRAW, wall_ns, stolen_ns, gc_ns)

    def waited(self, until_ns: int, begins: bool = False) -> None:
        """Since the last lap this instant was waited for. begins: the frame begins at it."""
        began_ns = self._last.wall_ns
        self._since()
        if until_ns <= began_ns:
            return
        if begins:
            self._sums = [0] * len(self._sums)
            self._after_swap_ns = 0
        self._sums[STOLEN] += max(0, self._last.wall_ns - until_ns)

    def swapped(self, blocks: bool) -> FrameParts:
        """Since the last lap the frame was handed over. blocks: until the display took it, so that what was stolen
        meanwhile delays the next frame; else this one. The frame's parts."""
        _, idle_ns, queued_ns, _, is_stopped = self._since()
        stolen_ns = queued_ns + self._stopped_ns(SWAP, idle_ns - queued_ns, is_stopped)
        sums = self._sums
        sums[STOLEN] += self._after_swap_ns
        self._after_swap_ns = stolen_ns if blocks else 0
        if not blocks:
            sums[STOLEN] += stolen_ns
        self._sums = [0] * len(sums)
        return FrameParts(*sums)

    def _add(self, part: int, wall_ns: int, stolen_ns: int, gc_ns: int) -> None:
        sums = self._sums
        sums[STOLEN] += stolen_ns
        sums[GC] += gc_ns
        sums[part] += max(0, wall_ns - stolen_ns - gc_ns)

    def _since(self) -> tuple[int, int, int, int, bool]:
        """Since the last lap, which ends here: wall, idle, queued and garbage ns; whether the process was stopped."""
        before, now = self._last, self._read()
        self._last = now
        wall_ns = now.wall_ns - before.wall_ns
        idle_ns = max(0, wall_ns - now.cpu_ns + before.cpu_ns)
        queued_ns = min(idle_ns, max(0, now.queued_ns - before.queued_ns))
        return wall_ns, idle_ns, queued_ns, now.gc_ns - before.gc_ns, now.stops != before.stops

    def _stopped_ns(self, kind: str, idle_ns: int, is_stopped: bool) -> int:
        """Of the idle time of a lap in which the process was stopped, what such laps do not have otherwise."""
        usual = self._usual_idle[kind]
        if is_stopped:
            return max(0, idle_ns - round(median(usual) if usual else 0))
        usual.append(idle_ns)
        return 0
