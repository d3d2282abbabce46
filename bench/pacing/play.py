"""Plays one run of a contestant on a model display in virtual time, and computes its figures. Also has the contestants
for comparison.

The order of calls is the same as in the frame loop: plan, wait, draw, wait, swap, record. For each frame, the result
has the instant for which the frame was drawn and the instant at which it became visible.

    hitch ms a second   a frame is visible for longer than both the previous frame and the refresh period. The hitch is
                        the excess over the longer of the two. An even slow rate has no hitches
    lost a second       refreshes of the display minus frames shown
    cost                hitch + 16.7 * lost: visible jerks and missing frames, in ms a second
    error               interval between drawn instants minus interval between visible instants: ms of display time

All figures use the true visible instants of the display, not the pacer's estimates. This module reads no clock.

`NeverWiden` starts each frame at once, and draws the frame for the next instant on a grid. If the usual work takes
longer, it uses the first later instant on the grid that the work can reach. It never widens its interval. The model
tells it when the previous frame became visible.

`best` searches for the cheapest interval before every few frames. It plays each interval of a list on a copy of the
display, with the true work of the next 0.4 s. Then it uses the cheapest interval. Every frame is drawn for the instant
at which the frame becomes visible, so that errors are 0. `best` also tries whole runs at one fixed interval. Its
result is the cheapest run of all.

Always: `best` costs no more than `NeverWiden` with the same work trace.
"""

from __future__ import annotations

import copy
import random
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from bench.pacing.displays import COPY_NS, ModelDisplay, Timer
from bench.pacing.works import Work
from twixt.render.pacing import FramePlan, FrameTimes, Pacer, Refresh
from twixt.render.pacing.refresh import SwapProbe

# Time in ns from the return of a swap until the next frame is planned. It is used for events, log and figures.
OVERHEAD_NS = 300_000
# Smallest and largest lateness of a wake-up, in ns.
WAKE_NS = (1_000, 60_000)


class Contestant(Protocol):
    """Interface of a pacer in the laboratory (see `Pacer`). All instants are in ns of virtual time."""

    def next_frame(self, now_ns: int) -> FramePlan: ...
    def drawn(self, start_ns: int, work_end_ns: int) -> int | None: ...
    def frame_done(self, times: FrameTimes) -> object: ...
    def display_reported(self, presented_ns: int, refresh_ns: int | None) -> None: ...


class PlayedFrame(NamedTuple):
    """One frame. drawn_ns: instant for which the frame was drawn. visible_ns: instant at which it became visible.
    interval_ns: planned interval."""

    start_ns: int
    drawn_ns: int
    visible_ns: int
    interval_ns: int
    refreshes: int = 1  # planned length of the interval in refreshes
    work_end_ns: int = 0
    swap_begin_ns: int = 0
    swap_end_ns: int = 0
    presented_ns: int | None = None  # instant at which the frame became visible, according to a fence
    reason: str = ""  # reason that the pacer gives for its plan


ContestantFactory = Callable[[ModelDisplay, Refresh], Contestant]


def twixt_pacer(display: ModelDisplay, refresh: Refresh) -> Contestant:
    return Pacer("auto", None, refresh, display.trial)


def play(
    make_contestant: ContestantFactory, display: ModelDisplay, work: Work, seconds: float, seed: int = 0
) -> list[PlayedFrame]:
    """Plays frames for `seconds` of virtual time. The display is probed first, as at a real start."""
    refresh, now_ns = probed(display)
    return drive(make_contestant(display, refresh), display, work, now_ns, round(seconds * 1e9), seed)


def drive(
    pacer: Contestant, display: ModelDisplay, work: Work, now_ns: int, end_ns: int, seed: int = 0
) -> list[PlayedFrame]:
    """Plays frames with the contestant `pacer`, from now_ns to end_ns."""
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
    """Refresh that twixt's own probe finds on the display, and the instant in ns at which the probe ends."""
    probe, now_ns = SwapProbe(display.reported_hz), 1_000_000
    while not probe.done:
        begin_ns = display.first_call(now_ns) + 50_000 + probe.pause_ns
        now_ns = display.swap(begin_ns)
        probe.add(begin_ns, now_ns)
    display.reports()
    return probe.verdict(), now_ns


LOST_FRAME_MS = 16.7
# Errors above this value are visible, in ms.
VISIBLE_ERROR_MS = 2.0
# Time at the start, in ns, whose frames do not count. In this time, shaders compile and the pacer learns.
SETTLING_NS = 1_000_000_000


class Figures(NamedTuple):
    """Figures of one run, or means of several runs. The module's docstring defines these figures."""

    cost: float
    hitch_ms_per_s: float
    lost_per_s: float
    fps: float
    error_p99_ms: float
    off_share: float  # share of frames whose error is above VISIBLE_ERROR_MS
    latency_ms: float  # mean time from the start of a frame until it is visible


def figures(seen: Sequence[PlayedFrame], display: ModelDisplay, begin_ns: int = SETTLING_NS) -> Figures:
    """Figures of the frames that became visible at or after begin_ns. There must be at least three such frames."""
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
    """Error of each frame except the first frame, in ms."""
    return [
        (later.drawn_ns - earlier.drawn_ns - later.visible_ns + earlier.visible_ns) / 1e6
        for earlier, later in pairwise(seen)
    ]


def mean(of: Sequence[Figures]) -> Figures:
    return Figures._make(sum(column) / len(of) for column in zip(*of, strict=True))


USUAL_OF_FRAMES = 5
UNKNOWN_NS = round(1e9 / 60)


class NeverWiden:
    """Contestant with a fixed interval. display: display from which it gets the true visible instants."""

    def __init__(self, display: ModelDisplay, refresh: Refresh) -> None:
        self._display, self._period_ns = display, refresh.period_ns or UNKNOWN_NS
        self._swaps_itself = isinstance(display, Timer)
        self._works: deque[int] = deque(maxlen=USUAL_OF_FRAMES)
        self._due_ns: int | None = None

    def next_frame(self, now_ns: int) -> FramePlan:
        ready_ns = now_ns + (sorted(self._works)[len(self._works) // 2] if self._works else 0)
        shown = self._display.visible_ns
        last_ns = shown[-1] if shown else now_ns
        if self._swaps_itself:
            self._due_ns = max(ready_ns + COPY_NS, (self._due_ns or last_ns) + self._period_ns)
        else:
            self._due_ns = last_ns + self._period_ns
            if ready_ns > self._due_ns:
                self._due_ns += -((self._due_ns - ready_ns) // self._period_ns) * self._period_ns
        swap_at_ns = self._due_ns - COPY_NS if self._swaps_itself else None
        return FramePlan(now_ns, swap_at_ns, self._due_ns, self._period_ns, 1, "")

    def drawn(self, start_ns: int, work_end_ns: int) -> int | None:
        began_ns = max(start_ns, self._display.visible_ns[-1]) if self._display.blocks_next_call else start_ns
        self._works.append(max(1, work_end_ns - began_ns))
        return self._due_ns - COPY_NS if self._swaps_itself and self._due_ns is not None else None

    def frame_done(self, times: FrameTimes) -> None:
        """Does nothing, because the interval is fixed."""

    def display_reported(self, presented_ns: int, refresh_ns: int | None) -> None:
        """Does nothing, because the true visible instants are known."""


# AHEAD_NS is the virtual time, in ns, over which each interval is tried. The cheapest interval is then used for
# TAKEN_FRAMES frames.
AHEAD_NS, TAKEN_FRAMES = 400_000_000, 8
# Intervals to try, in refreshes. On a timer or a variable rate, any length is possible. On other displays, only whole
# numbers are possible.
ANY_LENGTH, WHOLE = (1.0, 1.08, 1.15, 1.25, 1.4, 1.6, 2.0), (1.0, 2.0, 3.0)
# If all work takes less than this share of a refresh, no search is needed.
LIGHT = 0.9


class _SearchState(NamedTuple):
    display: ModelDisplay
    now_ns: int
    number: int  # number of frames shown so far
    due_ns: int  # instant on the grid for which the last frame was drawn


def best(display: ModelDisplay, work: Work, seconds: float, seed: int = 0) -> tuple[list[PlayedFrame], Figures]:
    """Frames and figures of the cheapest run found."""
    end_ns = round(seconds * 1e9)

    def counted(seen: list[PlayedFrame]) -> tuple[list[PlayedFrame], Figures]:
        return seen, figures(seen, display)

    runs = [counted(_played(copy.deepcopy(display), work, end_ns))]
    blind = play(NeverWiden, copy.deepcopy(display), work, seconds, seed)
    runs.append(counted([frame._replace(drawn_ns=frame.visible_ns) for frame in blind]))
    if runs[0][1].cost > LOST_FRAME_MS:
        runs += [counted(_played(copy.deepcopy(display), work, end_ns, length)) for length in _lengths(display)[1:]]
    return min(runs, key=lambda run: run[1].cost)


def _played(display: ModelDisplay, work: Work, end_ns: int, length: float | None = None) -> list[PlayedFrame]:
    """Frames that are played at one interval. length: this interval in refreshes. If it is None, the cheapest interval
    is used, which is searched for before every few frames."""
    _, now_ns = probed(display)
    state, seen = _SearchState(display, now_ns, 0, display.visible_ns[-1]), list[PlayedFrame]()
    while state.now_ns < end_ns:
        chosen = _cheapest(state, work) if length is None else length
        for _ in range(TAKEN_FRAMES if length is None else 1):
            frame, state = _frame(state, work, chosen)
            seen.append(frame)
    return seen


def _cheapest(state: _SearchState, work: Work) -> float:
    period_ns = state.display.mode_at(state.now_ns).period_ns
    frames = AHEAD_NS // period_ns + 1
    if work.is_light(state.number, frames, state.now_ns, state.now_ns + AHEAD_NS, round(LIGHT * period_ns)):
        return 1.0
    cost_ms = _cost(state, work, 1.0)
    if cost_ms < period_ns / 1e7:  # the cost is less than a tenth of a refresh, so no other interval can gain much
        return 1.0
    costs = {1.0: cost_ms} | {length: _cost(state, work, length) for length in _lengths(state.display)[1:]}
    return min(costs, key=costs.__getitem__)


def _cost(state: _SearchState, work: Work, length: float) -> float:
    """Cost, in ms, over the next AHEAD_NS at an interval of `length` refreshes."""
    display = _copied(state.display)
    trial, end_ns = state._replace(display=display), state.now_ns + AHEAD_NS
    known = len(display.visible_ns)
    while trial.now_ns < end_ns:
        _, trial = _frame(trial, work, length)
    last_ns = display.visible_ns[-1]
    lost = display.refreshes_between(display.visible_ns[known - 1], last_ns) - (len(display.visible_ns) - known)
    return hitches_ms(display.visible_ns, display) + LOST_FRAME_MS * max(0.0, lost)


def _frame(state: _SearchState, work: Work, length: float) -> tuple[PlayedFrame, _SearchState]:
    """Plays one frame that begins at once. Its swap is delayed so that the frame becomes visible at its instant on the
    grid."""
    display, start_ns = state.display, state.now_ns
    period_ns = display.mode_at(start_ns).period_ns
    done_ns = work.end_ns(display.first_call(start_ns), work.cost_ns(state.number, start_ns))
    due_ns = (state.due_ns if isinstance(display, Timer) else display.visible_ns[-1]) + round(length * period_ns)
    if isinstance(display, Timer):
        swap_ns = max(done_ns, due_ns - COPY_NS)
    else:
        swap_ns = max(done_ns, due_ns - round(0.6 * period_ns)) if length > 1 else done_ns
    swap_end_ns = work.awake(display.swap(work.handed_over(state.number, swap_ns)))
    return_ns = display.fence(swap_end_ns).return_ns
    visible_ns = display.visible_ns[-1]
    due_ns = visible_ns if visible_ns > due_ns + length * period_ns else due_ns
    seen = PlayedFrame(start_ns, visible_ns, visible_ns, round(length * period_ns))
    return seen, _SearchState(display, work.awake(return_ns + OVERHEAD_NS), state.number + 1, due_ns)


def _lengths(display: ModelDisplay) -> tuple[float, ...]:
    return ANY_LENGTH if isinstance(display, Timer) or display.varies else WHOLE


def _copied(display: ModelDisplay) -> ModelDisplay:
    """Copy of the display that behaves in the same way from now on. Of the earlier frames, the copy has only the last
    four."""
    made = copy.copy(display)
    made.visible_ns = display.visible_ns[-4:]
    made.trial = copy.copy(display.trial)
    return made
