"""What the pacer itself takes of a frame: the one figure of the laboratory in real time.

A pacer that thinks for long is late by what it thinks; the frames in which it replays what was show as the longest.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from twixt.cli.bench.pacing import cases
from twixt.cli.bench.pacing.displays import Display
from twixt.cli.bench.pacing.play import Contestant, Enter, play
from twixt.render.pacing import FramePlan, FrameTimes, Refresh

DISPLAY, WORK = cases.BLOCKING, "evening"
SETTLED_FRAMES = 60


class CallCost(NamedTuple):
    """All calls of one frame together."""

    median_us: float
    p99_us: float
    longest_us: float


class _Timed:
    def __init__(self, pacer: Contestant) -> None:
        self.spent_ns: list[int] = []
        self._pacer = pacer

    def next_frame(self, now_ns: int) -> FramePlan:
        begin_ns = time.perf_counter_ns()
        plan = self._pacer.next_frame(now_ns)
        self.spent_ns.append(time.perf_counter_ns() - begin_ns)
        return plan

    def drawn(self, start_ns: int, work_end_ns: int) -> int | None:
        begin_ns = time.perf_counter_ns()
        swap_at_ns = self._pacer.drawn(start_ns, work_end_ns)
        self.spent_ns[-1] += time.perf_counter_ns() - begin_ns
        return swap_at_ns

    def frame_done(self, times: FrameTimes) -> None:
        begin_ns = time.perf_counter_ns()
        self._pacer.frame_done(times)
        self.spent_ns[-1] += time.perf_counter_ns() - begin_ns

    def display_said(self, presented_ns: int, refresh_ns: int | None) -> None:
        self._pacer.display_said(presented_ns, refresh_ns)


def call_cost(enter: Enter) -> CallCost:
    """Of ten seconds of an evening."""
    timed: list[_Timed] = []

    def enter_timed(display: Display, refresh: Refresh) -> Contestant:
        timed.append(_Timed(enter(display, refresh)))
        return timed[0]

    play(enter_timed, cases.SHAPES[DISPLAY].made(0), cases.ALL_WORKS[WORK](0), cases.SECONDS)
    spent_us = sorted(spent_ns / 1e3 for spent_ns in timed[0].spent_ns[SETTLED_FRAMES:])
    return CallCost(spent_us[len(spent_us) // 2], spent_us[int(0.99 * len(spent_us))], spent_us[-1])
