"""Samples of the kernel's counts, ten a second, and the use of cores between two of them.

The one idea: sums of times are read seldom, and their differences are judged. The median of the last JUDGED
differences, half a second, is judged, so that a spike does not count.

Pure: sums in, differences out. There is no difference if the last sample is too old (the process was stopped, or no
frames were made) or if sums decrease.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from twixt.ipc.quantiles import median

# Number of differences that are judged together; ten are made per second.
JUDGED = 5
# Longest time between two samples of which a difference is made.
LONGEST_GAP_NS = 600_000_000
# A thread never rests if it runs, or waits for a core, for at least this share of the time.
NEVER_RESTS = 0.8

Times = dict[int, tuple[int, int]]  # by thread: ns that it ran, ns that it waited for a core


class CoreSample(NamedTuple):
    """Sums up to one instant, in ns."""

    now_ns: int
    frames: int
    cpu_ns: int  # processor time of this process
    waited_ns: int  # time for which its threads that draw waited for a core
    physics: Times  # of physics' threads; empty: not known
    is_cheapest: bool = True  # frames are drawn at the cheapest allowed level


class CoreUse(NamedTuple):
    """Use of cores between two samples, the later of which was at `now_ns`."""

    now_ns: int
    is_cheapest: bool
    fps: float
    share: float  # processor time of this process, per wall time: 1.0 is one core
    starved: float  # waiting time of this process, as a share of running and waiting
    waits: float  # waiting time of physics' busiest thread, per wall time; 0 where it rests or is not known
    never_rested: tuple[int, ...] = ()  # physics' threads that never rested (NEVER_RESTS), the busiest first


class UsualCoreUse(NamedTuple):
    """Medians of the last differences."""

    fps: float
    share: float
    starved: float
    waits: float


class CoreLoad:
    """Differences of one viewer's samples. uses: the last JUDGED of them."""

    def __init__(self) -> None:
        self.uses: deque[CoreUse] = deque(maxlen=JUDGED)
        self._last: CoreSample | None = None

    def add(self, sample: CoreSample) -> CoreUse | None:
        """Takes in a sample; returns the difference to the one before, None where none can be made."""
        before, self._last = self._last, sample
        use = None if before is None else use_between(before, sample)
        if use is not None:
            self.uses.append(use)
        return use


def use_between(before: CoreSample, after: CoreSample) -> CoreUse | None:
    """Difference of two samples; None where they are too far apart or sums decrease."""
    wall_ns = after.now_ns - before.now_ns
    frames, cpu_ns = after.frames - before.frames, after.cpu_ns - before.cpu_ns
    waited_ns = max(0, after.waited_ns - before.waited_ns)
    if not 0 < wall_ns <= LONGEST_GAP_NS or frames < 0 or cpu_ns < 0:
        return None
    wanted_ns = cpu_ns + waited_ns
    busy = _never_rested(before.physics, after.physics, wall_ns)
    return CoreUse(
        now_ns=after.now_ns,
        is_cheapest=after.is_cheapest,
        fps=frames * 1e9 / wall_ns,
        share=cpu_ns / wall_ns,
        starved=waited_ns / wanted_ns if wanted_ns else 0.0,
        waits=min(1.0, busy[0].waited_ns / wall_ns) if busy else 0.0,
        never_rested=tuple(one.thread for one in busy),
    )


def usual_use(uses: Sequence[CoreUse]) -> UsualCoreUse:
    """Medians of at least one difference."""
    return UsualCoreUse(
        fps=median(use.fps for use in uses),
        share=median(use.share for use in uses),
        starved=median(use.starved for use in uses),
        waits=median(use.waits for use in uses),
    )


class _Busy(NamedTuple):
    wanted_ns: int  # running and waiting
    waited_ns: int
    thread: int


def _never_rested(before: Times, after: Times, wall_ns: int) -> list[_Busy]:
    """Threads that ran or waited for at least NEVER_RESTS of the time, the busiest first."""
    found = []
    for thread, (ran_ns, queued_ns) in after.items():
        if thread in before:
            ran_ns, queued_ns = ran_ns - before[thread][0], queued_ns - before[thread][1]
            if ran_ns >= 0 and queued_ns >= 0 and ran_ns + queued_ns >= NEVER_RESTS * wall_ns:
                found.append(_Busy(ran_ns + queued_ns, queued_ns, thread))
    return sorted(found, reverse=True)
