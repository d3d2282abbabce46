"""One run of a contestant on a model display in virtual time, and its figures.

The order of calls is the same as in the frame loop: plan, wait, draw, wait, swap, record. For each frame, the result
has the instant for which the frame was drawn and the instant at which it became visible.

    hitch ms a second   a frame is visible for longer than both the previous frame and the refresh period. The hitch is
                        the excess over the longer of the two. An even slow rate has no hitches
    lost a second       refreshes of the display minus frames shown
    cost                hitch + 16.7 * lost: visible jerks and missing frames, in ms a second
    error               interval between drawn instants minus interval between visible instants: ms of display time

All figures use the true visible instants of the display, not the pacer's estimates. Reads no clock.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from bench.pacing.displays import ModelDisplay
from bench.pacing.works import Work
from twixt.render.pacing import FramePlan, FrameTimes, Pacer, Refresh
from twixt.render.pacing.refresh import SwapProbe

# Time from the return of a swap until the next frame is planned, for events, log and figures.
OVERHEAD_NS = 300_000
# Range of the lateness of a wake-up.
WAKE_NS = (1_000, 60_000)


class Contestant(Protocol):
    """Interface of a pacer in the laboratory, see `Pacer`; all instants in ns of virtual time."""

    def next_frame(self, now_ns: int) -> FramePlan: ...
    def drawn(self, start_ns: int, work_end_ns: int) -> int | None: ...
    def frame_done(self, times: FrameTimes) -> object: ...
    def display_reported(self, presented_ns: int, refresh_ns: int | None) -> None: ...


class PlayedFrame(NamedTuple):
    """One frame, drawn for the instant `drawn_ns` and visible at `visible_ns`. interval_ns: planned interval."""

    start_ns: int
    drawn_ns: int
    visible_ns: int
    interval_ns: int
    refreshes: int = 1  # planned length in refreshes
    work_end_ns: int = 0
    swap_begin_ns: int = 0
    swap_end_ns: int = 0
    presented_ns: int | None = None  # visible instant according to a fence
    reason: str = ""  # the pacer's reason


ContestantFactory = Callable[[ModelDisplay, Refresh], Contestant]


def twixt_pacer(display: ModelDisplay, refresh: Refresh) -> Contestant:
    return Pacer("auto", None, refresh, display.trial)


def play(
    make_contestant: ContestantFactory, display: ModelDisplay, work: Work, seconds: float, seed: int = 0
) -> list[PlayedFrame]:
    """Plays frames for `seconds` of virtual time. As at a real start, the display is probed first."""
    refresh, now_ns = probed(display)
    return drive(make_contestant(display, refresh), display, work, now_ns, round(seconds * 1e9), seed)


def drive(
    pacer: Contestant, display: ModelDisplay, work: Work, now_ns: int, end_ns: int, seed: int = 0
) -> list[PlayedFrame]:
    """Plays frames with that pacer from now_ns to end_ns."""
    late = random.Random(seed)
    frames: list[PlayedFrame] = []
    while now_ns < end_ns:
        for report in display.reports():
            pacer.display_reported(*report)
        plan = pacer.next_frame(now_ns)
        start_ns = work.awake(plan.start_ns + late.randrange(*WAKE_NS) if plan.start_ns > now_ns else now_ns)
        cost_ns = work.cost_ns(len(frames), start_ns)
        work_end_ns = work.end_ns(display.first_call(start_ns), cost_ns)
        swap_at_ns = pacer.drawn(start_ns, work_end_ns)
        swap_begin_ns = work_end_ns
        if swap_at_ns is not None and swap_at_ns > work_end_ns:
            swap_begin_ns = work.awake(swap_at_ns + late.randrange(*WAKE_NS))
        swap_end_ns = work.awake(display.swap(work.handed_over(len(frames), swap_begin_ns)))
        fenced = display.fence(swap_end_ns)
        presented_ns = None if fenced.presented_ns is None else work.awake(fenced.presented_ns)
        result = pacer.frame_done(FrameTimes(start_ns, start_ns, work_end_ns, swap_begin_ns, swap_end_ns, presented_ns))
        now_ns = work.awake(work.awake(fenced.return_ns) + OVERHEAD_NS)
        seen = PlayedFrame(
            start_ns, plan.present_ns, display.visible_ns[-1], plan.interval_ns, plan.planned_refreshes, work_end_ns,
            swap_begin_ns, swap_end_ns, presented_ns, getattr(result, "reason", ""),
        )  # fmt: skip
        frames.append(seen)
    return frames


def probed(display: ModelDisplay) -> tuple[Refresh, int]:
    """The refresh that twixt's own probe finds, and the instant at which the probe ends (ns)."""
    probe, now_ns = SwapProbe(display.reported_hz), 1_000_000
    while not probe.done:
        begin_ns = display.first_call(now_ns) + 50_000 + probe.pause_ns
        now_ns = display.swap(begin_ns)
        probe.add(begin_ns, now_ns)
    display.reports()
    return probe.verdict(), now_ns


LOST_FRAME_MS = 16.7
# Larger errors are visible.
VISIBLE_ERROR_MS = 2.0
# Frames of the first second do not count, because shaders compile and the pacer learns.
SETTLING_NS = 1_000_000_000


class Figures(NamedTuple):
    """Figures of one run, or means of several runs. The module's docstring defines them."""

    cost: float
    hitch_ms_per_s: float
    lost_per_s: float
    fps: float
    error_p99_ms: float
    off_share: float  # share of frames with an error over VISIBLE_ERROR_MS
    latency_ms: float  # mean time from the start of a frame until it is visible


def figures(seen: Sequence[PlayedFrame], display: ModelDisplay, begin_ns: int = SETTLING_NS) -> Figures:
    """Figures of the frames that became visible from begin_ns on. There must be at least three such frames."""
    frames = [frame for frame in seen if frame.visible_ns >= begin_ns]
    first_ns, last_ns = frames[0].visible_ns, frames[-1].visible_ns
    seconds = (last_ns - first_ns) / 1e9
    hitch = hitches_ms([frame.visible_ns for frame in frames], display) / seconds
    lost = max(0.0, display.refreshes_between(first_ns, last_ns) - (len(frames) - 1)) / seconds
    errors = sorted(map(abs, errors_ms(frames)))
    return Figures(
        cost=hitch + LOST_FRAME_MS * lost,
        hitch_ms_per_s=hitch,
        lost_per_s=lost,
        fps=(len(frames) - 1) / seconds,
        error_p99_ms=errors[min(len(errors) - 1, int(0.99 * len(errors)))],
        off_share=sum(error > VISIBLE_ERROR_MS for error in errors) / len(errors),
        latency_ms=sum(frame.visible_ns - frame.start_ns for frame in frames) / len(frames) / 1e6,
    )


def hitches_ms(visible_ns: Sequence[int], display: ModelDisplay) -> float:
    intervals = [later - earlier for earlier, later in pairwise(visible_ns)]
    triples = zip(intervals, intervals[1:], visible_ns[2:], strict=False)
    lasted = (now_ns - max(before_ns, display.mode_at(at_ns).period_ns) for before_ns, now_ns, at_ns in triples)
    return sum(max(0, hitch_ns) for hitch_ns in lasted) / 1e6


def errors_ms(seen: Sequence[PlayedFrame]) -> list[float]:
    """Error of each frame after the first, ms."""
    return [
        (later.drawn_ns - earlier.drawn_ns - later.visible_ns + earlier.visible_ns) / 1e6
        for earlier, later in pairwise(seen)
    ]


def mean(of: Sequence[Figures]) -> Figures:
    return Figures._make(sum(column) / len(of) for column in zip(*of, strict=True))
