"""Frames in virtual time: a pacer, a load and a display, without a clock, so that seconds pass in milliseconds."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from twixt.render.pacing.pacer import Pacer
from twixt.render.pacing.policy import FramePlan, FrameResult, FrameTimes
from twixt.render.pacing.refresh import Refresh

MS = 1_000_000
SWAP_NS = 400_000  # what a swap itself takes
LOOP_NS = 50_000  # from a swap's return to the next plan

Load = Callable[[float], float]  # seconds since the start -> ms of work


class Shown(NamedTuple):
    """One frame as it went."""

    plan: FramePlan
    times: FrameTimes
    result: FrameResult
    interval_ns: int  # the pacer's, afterwards


class FreeDisplay:
    """Swap never blocks."""

    refresh = Refresh(False, None, "free")

    def swap_end_ns(self, begin_ns: int) -> int:
        return begin_ns + SWAP_NS


class BlockingDisplay:
    """Swap comes back at the next refresh, `late_ns(k)` after the k-th; within SWAP_NS of it a frame comes too late."""

    def __init__(self, period_ns: float, late_ns: Callable[[int], int] = lambda k: 0, guess: float = 1.0) -> None:
        self.period_ns = period_ns
        self.late_ns = late_ns
        self.refresh = Refresh(True, round(period_ns * guess), "blocking")

    def swap_end_ns(self, begin_ns: int) -> int:
        k = math.ceil((begin_ns + SWAP_NS) / self.period_ns)
        return max(begin_ns + SWAP_NS, round(k * self.period_ns) + self.late_ns(k))


def play(pacer: Pacer, display: FreeDisplay | BlockingDisplay, load: Load, seconds: float) -> list[Shown]:
    """The frames of `seconds`, with waits that end on the nanosecond."""
    shown: list[Shown] = []
    now_ns = 0
    while now_ns < seconds * 1e9:
        plan = pacer.next_frame(now_ns)
        start_ns = max(now_ns, plan.start_ns)
        work_end_ns = start_ns + round(load(start_ns / 1e9) * MS)
        swap_at_ns = pacer.drawn(start_ns, work_end_ns)
        begin_ns = max(work_end_ns, swap_at_ns or 0)
        end_ns = display.swap_end_ns(begin_ns)
        times = FrameTimes(start_ns, start_ns, work_end_ns, begin_ns, end_ns)
        shown.append(Shown(plan, times, pacer.frame_done(times), pacer.interval_ns))
        now_ns = end_ns + LOOP_NS
    return shown


def between(shown: list[Shown], from_s: float, to_s: float) -> list[Shown]:
    """The frames that came back in that stretch."""
    return [frame for frame in shown if from_s <= frame.times.swap_end_ns / 1e9 < to_s]


def presents_ms(shown: list[Shown]) -> list[float]:
    """The intervals between the swaps' returns."""
    ends = [frame.times.swap_end_ns for frame in shown]
    return [(later - earlier) / MS for earlier, later in pairwise(ends)]


def fps(shown: list[Shown]) -> float:
    intervals = presents_ms(shown)
    return 1000 * len(intervals) / sum(intervals)
