"""One run in virtual time: a contestant drives a model display through frames of known work.

The order of calls is the frame loop's: plan, wait, draw, wait, swap, account. What comes out is what each frame was
drawn for and when it was really seen. Reads no clock.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple, Protocol

from twixt.cli.bench.pacing.displays import Display
from twixt.cli.bench.pacing.works import Work
from twixt.render.pacing import FramePlan, FrameTimes, Pacer, Refresh
from twixt.render.pacing.refresh import SwapProbe

# From a swap's return to being asked for the next frame: events, log, figures.
OVERHEAD_NS = 300_000
# A frame that waited wakes so much late.
WAKE_NS = (1_000, 60_000)


class Contestant(Protocol):
    """What the lab asks of a pacer."""

    def next_frame(self, now_ns: int) -> FramePlan:
        """The plan of the next frame."""

    def drawn(self, start_ns: int, work_end_ns: int) -> int | None:
        """When to swap; None: at once."""

    def frame_done(self, times: FrameTimes) -> object:
        """The swap came back."""

    def display_said(self, presented_ns: int, refresh_ns: int | None) -> None:
        """The display's own word on a frame some frames ago."""


class Seen(NamedTuple):
    """One frame as it was: drawn for `drawn_ns`, visible at `visible_ns`; interval_ns: what was planned for it."""

    start_ns: int
    drawn_ns: int
    visible_ns: int
    interval_ns: int
    refreshes: int = 1  # planned
    work_end_ns: int = 0
    swap_begin_ns: int = 0
    swap_end_ns: int = 0
    presented_ns: int | None = None  # as a fence told
    reason: str = ""  # of the pacer


Enter = Callable[[Display, Refresh], Contestant]


def landed(_display: Display, refresh: Refresh) -> Contestant:
    """The pacer that twixt has."""
    return Pacer("auto", None, refresh)


def play(enter: Enter, display: Display, work: Work, seconds: float, seed: int = 0) -> list[Seen]:
    """Frames until so many seconds are over. The display is probed first, as at a real start."""
    refresh, now_ns = probed(display)
    return drive(enter(display, refresh), display, work, now_ns, round(seconds * 1e9), seed)


def drive(pacer: Contestant, display: Display, work: Work, now_ns: int, end_ns: int, seed: int = 0) -> list[Seen]:
    """Frames of that pacer from now_ns to end_ns."""
    late = random.Random(seed)
    frames: list[Seen] = []
    while now_ns < end_ns:
        for said in display.said():
            pacer.display_said(*said)
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
        presented_ns = _awake(work, fenced.presented_ns)
        result = pacer.frame_done(FrameTimes(start_ns, start_ns, work_end_ns, swap_begin_ns, swap_end_ns, presented_ns))
        now_ns = work.awake(work.awake(fenced.return_ns) + OVERHEAD_NS)
        frames.append(
            Seen(
                start_ns, plan.present_ns, display.visible_ns[-1], plan.interval_ns, plan.planned_refreshes,
                work_end_ns, swap_begin_ns, swap_end_ns, presented_ns, getattr(result, "reason", ""),
            )
        )  # fmt: skip
    return frames


def probed(display: Display) -> tuple[Refresh, int]:
    """What twixt's own probe finds of the display, and the instant at which it is done."""
    probe, now_ns = SwapProbe(display.reported_hz), 1_000_000
    while not probe.done:
        begin_ns = display.first_call(now_ns) + 50_000 + probe.pause_ns
        now_ns = display.swap(begin_ns)
        probe.add(begin_ns, now_ns)
    display.said()
    return probe.verdict(), now_ns


def _awake(work: Work, at_ns: int | None) -> int | None:
    return None if at_ns is None else work.awake(at_ns)
