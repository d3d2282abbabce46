"""Measures how cores are used between two samples of the kernel's counts (ten samples a second), and detects a
shortage of cores.

Each sample contains times that were summed up to one instant (totals). Decisions use the median of the last JUDGED
differences between samples (half a second), so that a single spike has no effect.

Pure: totals are given, and differences are returned. Two samples give no difference if the earlier one is too old (the
process was stopped, or no frames were made), or if a total decreased.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from twixt.ipc.quantiles import median

# Number of differences between samples that are evaluated together. There are ten differences per second.
JUDGED = 5
# Two samples give no difference if more time (ns) than this is between them.
LONGEST_GAP_NS = 600_000_000
# A thread counts as never resting if it runs or waits for a core for at least this share of the time.
NEVER_RESTS = 0.8

# for each thread: time (ns) for which it ran, and time (ns) for which it waited for a core
Times = dict[int, tuple[int, int]]


class CoreSample(NamedTuple):
    """Times summed up to one instant, in ns."""

    now_ns: int
    frames: int
    cpu_ns: int  # processor time that this process has used
    waited_ns: int  # time for which this process' drawing threads waited for a core
    physics: Times  # times of the threads of the physics process; empty if they are unknown
    is_cheapest: bool = True  # True: frames are drawn at the cheapest allowed quality level


class CoreUse(NamedTuple):
    """Use of cores between two samples. now_ns: instant of the later sample."""

    now_ns: int
    is_cheapest: bool
    fps: float
    share: float  # processor time of this process per wall time; 1.0 is one core
    starved: float  # time that this process waited for a core, as a share of its running and waiting time
    # time for which the busiest thread of physics waited, per wall time; 0 if this thread rests or is unknown
    waits: float
    # threads of the physics process that never rested (see NEVER_RESTS), the busiest first
    never_rested: tuple[int, ...] = ()


class UsualCoreUse(NamedTuple):
    """Medians of the last differences between samples, see `CoreUse`."""

    fps: float
    share: float
    starved: float
    waits: float


class CoreLoad:
    """Differences between the samples of one viewer. uses: the last JUDGED differences."""

    def __init__(self) -> None:
        self.uses: deque[CoreUse] = deque(maxlen=JUDGED)
        self._last: CoreSample | None = None

    def add(self, sample: CoreSample) -> CoreUse | None:
        """Adds a sample. Returns its difference from the previous sample; None if there is no previous sample or no
        valid difference."""
        before, self._last = self._last, sample
        use = None if before is None else use_between(before, sample)
        if use is not None:
            self.uses.append(use)
        return use


def use_between(before: CoreSample, after: CoreSample) -> CoreUse | None:
    """Difference of two samples; None if too much time is between them or if a total decreased."""
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
    """Medians of the values in `uses`, which must not be empty."""
    return UsualCoreUse(
        fps=median(use.fps for use in uses),
        share=median(use.share for use in uses),
        starved=median(use.starved for use in uses),
        waits=median(use.waits for use in uses),
    )


class _Busy(NamedTuple):
    wanted_ns: int  # running time plus waiting time, in ns
    waited_ns: int
    thread: int


def _never_rested(before: Times, after: Times, wall_ns: int) -> list[_Busy]:
    """Threads that ran or waited for a core for at least NEVER_RESTS of the time, the busiest first."""
    found = []
    for thread, (ran_ns, queued_ns) in after.items():
        if thread in before:
            ran_ns, queued_ns = ran_ns - before[thread][0], queued_ns - before[thread][1]
            if ran_ns >= 0 and queued_ns >= 0 and ran_ns + queued_ns >= NEVER_RESTS * wall_ns:
                found.append(_Busy(ran_ns + queued_ns, queued_ns, thread))
    return sorted(found, reverse=True)


# A shortage of cores is detected, and the viewer's frame rate is limited during the shortage.
#
# The kernel counts how long a thread waits for a core. A physics process that never rests (an unthrottled loop, an
# overloaded world) and waits for a core loses time to other threads, for example to the threads of the viewer. Then
# the viewer's frame rate is lowered step by step, until the physics process no longer waits or the viewer's share of a
# core is too small to matter. If the physics process rests between its steps, it loses nothing even on a busy machine,
# and the frame rate is not changed.
#
# - At first drawing gets cheaper. The frame rate is lowered only when drawing cannot get cheaper.
# - Fast attack, slow release: if physics waits, the rate goes down a step every 0.3 s; otherwise it goes up a smaller
#   step every 0.7 s. If a rate was too high, it takes longer and longer until this rate is tried again, to avoid
#   oscillation.
# - The limit on the rate is never below 15 frames per second. The limit is also never so low that the viewer gets less
#   than 0.10 of a core. This share costs the physics process only a few percent.
# - `is_short` is also set if the viewer itself waits for a core. Drawing then gets cheaper, which helps the viewer and
#   the physics process.
#
# Pure: differences are given, and decisions are returned. Without a new difference, the last decision stays in force.


# Shares of the time for which the physics process waits for a core. Above WAITS the frame rate is lowered; below
# WAITS_NOT the frame rate is raised. A small share is always there, because of the kernel's own work.
WAITS, WAITS_NOT = 0.04, 0.02
# Waiting time of this process for a core, as a share of its running and waiting time. Above STARVES, there is a
# shortage of cores. At STARVES_NOT or less, there is none. At STARVES_NOT or less, cores are not short.
STARVES, STARVES_NOT = 0.30, 0.10
# Lowest limit on the frame rate, in frames per second: 15, plus 1 because a busy machine loses frames.
LEAST_FPS = 16.0
# The frame rate is not lowered any further when the viewer takes only this share of a core. If one other busy program
# runs on two cores, physics loses half of the viewer's share.
LEAST_SHARE = 0.10
# DOWN, UP: factors by which the limit on the frame rate is lowered and raised. DOWN_NS, UP_NS: how long (ns) the
# viewer waits for the effect before the next step.
DOWN, DOWN_NS, UP, UP_NS = 0.8, 300_000_000, 1.1, 700_000_000
# Longest time (ns) until a frame rate that was too high is tried again. The time starts at UP_NS and doubles after
# each failure.
LONGEST_UP_NS = 8 * UP_NS
# The limit on the frame rate is removed if the measured rate is less than this share of the limit. Then something else
# limits the rate. The share is below one half because a blocking swap halves the frame rate when the limit is just
# below the display's rate.
REACHED = 0.45
# Highest limit on the frame rate, in frames per second: higher than the refresh rate of displays.
MOST_FPS = 250.0
# `is_short` becomes False this long (ns) after the last sign of a shortage.
CALM_NS = 3_000_000_000


class CoreShortage:
    """Detects a shortage of cores for one viewer. is_short: True during a shortage of cores. most_fps: limit on the
    frame rate, in frames per second; None: no limit."""

    def __init__(self) -> None:
        self.is_short = False
        self.most_fps: float | None = None
        self._changed_ns = self._short_ns = 0
        self._too_many_fps: float | None = None  # frame rate at which the physics process waited for a core
        self._again_ns = UP_NS  # after this time (ns) the frame rate that was too high is tried again

    def observe(self, uses: Sequence[CoreUse]) -> None:
        """Updates `is_short` and `most_fps`. Does nothing if there are fewer than JUDGED differences."""
        if len(uses) < JUDGED:
            return
        usual = usual_use(uses)
        self._judge(uses[-1].now_ns, usual)
        self._bound(uses[-1], usual)

    def _judge(self, now_ns: int, usual: UsualCoreUse) -> None:
        if usual.waits > WAITS or usual.starved > STARVES:
            self.is_short, self._short_ns = True, now_ns
        elif usual.waits > WAITS_NOT or usual.starved > STARVES_NOT:
            self._short_ns = now_ns  # between the two thresholds is_short does not change
        elif now_ns - self._short_ns >= CALM_NS:
            self.is_short = False

    def _bound(self, last: CoreUse, usual: UsualCoreUse) -> None:
        passed_ns = last.now_ns - self._changed_ns
        if usual.waits > WAITS and passed_ns >= DOWN_NS:
            if not last.is_cheapest:
                return
            now = min(self.most_fps or MOST_FPS, usual.fps)
            wanted = max(now * DOWN, _least_fps(usual))
            if wanted < now:
                if self._too_many_fps is not None and now >= self._too_many_fps:
                    self._again_ns = min(2 * self._again_ns, LONGEST_UP_NS)
                self._too_many_fps = now
                self._set(wanted, last.now_ns)
        elif self.most_fps is not None and usual.waits < WAITS_NOT and passed_ns >= UP_NS:
            self._raise(self.most_fps, usual.fps, passed_ns, last.now_ns)

    def _raise(self, most_fps: float, fps: float, passed_ns: int, now_ns: int) -> None:
        """Raises the limit on the frame rate by one step. A rate that was recently too high is not tried again."""
        if self._too_many_fps is not None and fps >= self._too_many_fps:
            self._too_many_fps, self._again_ns = None, UP_NS  # the rate that was too high is possible now
        more = most_fps * UP
        if self._too_many_fps is not None and more >= self._too_many_fps and passed_ns < self._again_ns:
            return
        self._set(None if more > MOST_FPS or fps < REACHED * most_fps else more, now_ns)

    def _set(self, fps: float | None, now_ns: int) -> None:
        self.most_fps, self._changed_ns = fps, now_ns


def _least_fps(usual: UsualCoreUse) -> float:
    return max(LEAST_FPS, LEAST_SHARE * usual.fps / usual.share if usual.share > 0 else LEAST_FPS)
