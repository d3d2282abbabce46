"""Contestants for comparison: a fixed interval (`NeverWiden`), and an oracle that knows all work (`best`).

`NeverWiden` starts each frame at once and draws it for the next point of a grid, or for the first later point that its
usual work can reach. It never widens its interval. The model tells it when the previous frame became visible.

`best` searches before every few frames: it plays each interval of a list on a copy of the display, with the true work
of the next 0.4 s, and uses the cheapest one. Every frame is drawn for the instant at which it becomes visible, so that
errors are 0. It also tries whole runs at one fixed interval. The result is the cheapest run of all.

Always: `best` costs no more than `NeverWiden` under the same work.
"""

from __future__ import annotations

import copy
from collections import deque
from typing import NamedTuple

from bench.pacing.displays import COPY_NS, ModelDisplay, Timer
from bench.pacing.play import LOST_FRAME_MS, OVERHEAD_NS, Figures, PlayedFrame, figures, hitches_ms, play, probed
from bench.pacing.works import Work
from twixt.render.pacing import FramePlan, FrameTimes, Refresh

USUAL_OF_FRAMES = 5
UNKNOWN_NS = round(1e9 / 60)


class NeverWiden:
    """Contestant with a fixed interval. display: source of true visible instants. On a Timer the interval is the
    reported refresh period."""

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
        """No-op: the interval is fixed."""

    def display_reported(self, presented_ns: int, refresh_ns: int | None) -> None:
        """No-op: the true visible instants are known."""


# Each interval is tried over AHEAD_NS; the cheapest is then used for TAKEN_FRAMES frames.
AHEAD_NS, TAKEN_FRAMES = 400_000_000, 8
# Intervals to try, in refreshes. On a timer or a variable rate any length is possible, else only whole numbers.
ANY_LENGTH, WHOLE = (1.0, 1.08, 1.15, 1.25, 1.4, 1.6, 2.0), (1.0, 2.0, 3.0)
# If all work is below this share of a refresh, no search is needed.
LIGHT = 0.9


class _SearchState(NamedTuple):
    display: ModelDisplay
    now_ns: int
    number: int  # frames shown
    due_ns: int  # grid point of the last frame


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
    """Frames at one interval, in refreshes; None: at the cheapest, searched before every few frames."""
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
    if cost_ms < period_ns / 1e7:  # less than a tenth of a refresh, so no other interval can gain much
        return 1.0
    costs = {1.0: cost_ms} | {length: _cost(state, work, length) for length in _lengths(state.display)[1:]}
    return min(costs, key=costs.__getitem__)


def _cost(state: _SearchState, work: Work, length: float) -> float:
    """Cost (ms) over the next AHEAD_NS at an interval of `length` refreshes."""
    display = _copied(state.display)
    trial, end_ns = state._replace(display=display), state.now_ns + AHEAD_NS
    known = len(display.visible_ns)
    while trial.now_ns < end_ns:
        _, trial = _frame(trial, work, length)
    last_ns = display.visible_ns[-1]
    lost = display.refreshes_between(display.visible_ns[known - 1], last_ns) - (len(display.visible_ns) - known)
    return hitches_ms(display.visible_ns, display) + LOST_FRAME_MS * max(0.0, lost)


def _frame(state: _SearchState, work: Work, length: float) -> tuple[PlayedFrame, _SearchState]:
    """Plays one frame that begins at once. Its swap is delayed so that it becomes visible at its grid point."""
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
    """A copy of the display that behaves in the same way from now on. Of earlier frames it has only the last four."""
    made = copy.copy(display)
    made.visible_ns = display.visible_ns[-4:]
    made.trial = copy.copy(display.trial)
    return made
