"""The yardstick above: the best that is possible for one who knows all the work ahead.

One idea: before every few frames each interval of a list is played out on a copy of the display with the true work of
the next 0.4 s, and the cheapest is taken; every frame is drawn for the very instant at which it is then seen, so
that errors are 0. Whole runs at one fixed interval are tried, too; the cheapest of all is the answer.

Always: costs no more than `NeverWiden` where both meet the same work.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import NamedTuple

from twixt.cli.bench.pacing.displays import COPY_NS, Display, Timer
from twixt.cli.bench.pacing.figures import LOST_FRAME_MS, Figures, figures, hitches_ms
from twixt.cli.bench.pacing.never_widen import NeverWiden
from twixt.cli.bench.pacing.play import OVERHEAD_NS, Seen, play, probed
from twixt.cli.bench.pacing.works import Work

# Looked ahead so far, taken so many frames of it.
AHEAD_NS, TAKEN_FRAMES = 400_000_000, 8
# Intervals that are tried, in refreshes: any length where nothing waits, else whole ones.
ANY_LENGTH, WHOLE = (1.0, 1.08, 1.15, 1.25, 1.4, 1.6, 2.0), (1.0, 2.0, 3.0)
# Work under this share of a refresh needs no search.
LIGHT = 0.9


class _State(NamedTuple):
    display: Display
    now_ns: int
    number: int  # frames shown
    due_ns: int  # the point of the grid of the last one


def best(display: Display, work: Work, seconds: float, seed: int = 0) -> tuple[list[Seen], Figures]:
    """The frames of the cheapest run found."""
    end_ns = round(seconds * 1e9)
    runs = [_searched(copy.deepcopy(display), work, end_ns)]
    blind = copy.deepcopy(display)
    runs.append(_foreseen(play(NeverWiden, blind, work, seconds, seed)))
    if not runs[0] or _lacks_room(runs[0], display):
        lengths = _lengths(display)[1:]
        runs += [_at_length(copy.deepcopy(display), work, end_ns, length) for length in lengths]
    counted = [(seen, figures(seen, display)) for seen in runs]
    return min(counted, key=lambda run: run[1].cost)


def _lacks_room(seen: Sequence[Seen], display: Display) -> bool:
    return figures(seen, display).cost > LOST_FRAME_MS


def _searched(display: Display, work: Work, end_ns: int) -> list[Seen]:
    _, now_ns = probed(display)
    state, seen = _State(display, now_ns, 0, display.visible_ns[-1]), list[Seen]()
    while state.now_ns < end_ns:
        length = _cheapest(state, work)
        for _ in range(TAKEN_FRAMES):
            frame, state = _frame(state, work, length)
            seen.append(frame)
    return seen


def _at_length(display: Display, work: Work, end_ns: int, length: float) -> list[Seen]:
    _, now_ns = probed(display)
    state, seen = _State(display, now_ns, 0, display.visible_ns[-1]), list[Seen]()
    while state.now_ns < end_ns:
        frame, state = _frame(state, work, length)
        seen.append(frame)
    return seen


def _cheapest(state: _State, work: Work) -> float:
    period_ns = state.display.mode_at(state.now_ns).period_ns
    frames = AHEAD_NS // period_ns + 1
    if work.is_light(state.number, frames, state.now_ns, state.now_ns + AHEAD_NS, round(LIGHT * period_ns)):
        return 1.0
    cost_ms = _cost(state, work, 1.0)
    if cost_ms < period_ns / 1e7:  # less than a tenth of a refresh: nothing to gain
        return 1.0
    costs = {1.0: cost_ms} | {length: _cost(state, work, length) for length in _lengths(state.display)[1:]}
    return min(costs, key=costs.__getitem__)


def _cost(state: _State, work: Work, length: float) -> float:
    """Of the next stretch at that length, in ms."""
    display = _copied(state.display)
    trial, end_ns = state._replace(display=display), state.now_ns + AHEAD_NS
    known = len(display.visible_ns)
    while trial.now_ns < end_ns:
        _, trial = _frame(trial, work, length)
    last_ns = display.visible_ns[-1]
    lost = display.refreshes_between(display.visible_ns[known - 1], last_ns) - (len(display.visible_ns) - known)
    return hitches_ms(display.visible_ns, display) + LOST_FRAME_MS * max(0.0, lost)


def _frame(state: _State, work: Work, length: float) -> tuple[Seen, _State]:
    """One frame, begun at once, held back to its point of the grid."""
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
    seen = Seen(start_ns, visible_ns, visible_ns, round(length * period_ns))
    return seen, _State(display, work.awake(return_ns + OVERHEAD_NS), state.number + 1, due_ns)


def _foreseen(seen: Sequence[Seen]) -> list[Seen]:
    return [frame._replace(drawn_ns=frame.visible_ns) for frame in seen]


def _lengths(display: Display) -> tuple[float, ...]:
    return ANY_LENGTH if isinstance(display, Timer) or display.varies else WHOLE


def _copied(display: Display) -> Display:
    """A display that goes on alike; of its past no more than is asked for."""
    made = copy.copy(display)
    made.visible_ns = display.visible_ns[-4:]
    made._trial = copy.copy(display._trial)
    return made
