"""Traces to try a playback clock on: rows of (sim, due, arrival), and the figures of a clock played on one.

Each generator takes a seed and a length and gives the snapshots that physics under one kind of load would
publish. `play` runs a clock over a trace at a frame rate and measures what a viewer would have shown.
Everything is in ns, starts at an odd instant of the clock, and is the same for the same seed.
"""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

MS = 1_000_000
SECOND = 1_000_000_000
START_NS = 123_456_789_012_345
STEP_NS = SECOND // 60
SETTLING_NS = 3 * SECOND
# Half the window over which the true rate of physics at a frame is taken.
RATE_HALF_NS = SECOND // 2


class Row(NamedTuple):
    """One snapshot, as a viewer learns of it."""

    sim_ns: int
    due_ns: int
    arrival_ns: int


def ahead_60hz(seed: int, seconds: float) -> list[Row]:
    """Published one step before due, 0.3 ms of jitter."""
    return _steady(seed, seconds, STEP_NS, early_ns=STEP_NS, jitter_ns=0.3 * MS)


def at_due_60hz(seed: int, seconds: float) -> list[Row]:
    """Published when due, 0.3 ms of jitter."""
    return _steady(seed, seconds, STEP_NS, early_ns=0, jitter_ns=0.3 * MS)


def at_due_90hz(seed: int, seconds: float) -> list[Row]:
    """Ninety a second, published when due."""
    return _steady(seed, seconds, SECOND // 90, early_ns=0, jitter_ns=0.3 * MS)


def at_due_20hz(seed: int, seconds: float) -> list[Row]:
    """Twenty a second, 4 ms of jitter."""
    return _steady(seed, seconds, SECOND // 20, early_ns=0, jitter_ns=4 * MS)


def every_step_41ms(seed: int, seconds: float) -> list[Row]:
    """Physics at under half speed: dilated, due moves with the work."""
    generator = random.Random(seed)
    return _dilated(seconds, lambda wall_ns: generator.gauss(41 * MS, 0.1 * MS))


def steps_20_to_120ms(seed: int, seconds: float) -> list[Row]:
    """Dilated, each step of another length."""
    generator = random.Random(seed)
    return _dilated(seconds, lambda wall_ns: generator.uniform(20 * MS, 120 * MS))


def load_comes_and_goes(seed: int, seconds: float) -> list[Row]:
    """Steps of 1 ms, of 41 ms for 5 s out of ten, and of 1 ms again; ahead by one step when it can be."""
    generator = random.Random(seed)

    def cost_ns(wall_ns: int) -> float:
        heavy = (wall_ns - START_NS) % (10 * SECOND) >= 5 * SECOND
        return generator.gauss(41 * MS, 0.2 * MS) if heavy else generator.gauss(1 * MS, 0.05 * MS)

    return _dilated(seconds, cost_ns, lead_ns=STEP_NS)


def load_found_late(seed: int, seconds: float) -> list[Row]:
    """The same load as physics meets it: due keeps the plan until five of the last eight steps were too slow."""
    generator = random.Random(seed)
    now = due = START_NS
    rows, costs = [Row(0, due, now)], [0.0] * 8
    while now - START_NS < seconds * SECOND:
        heavy = (now - START_NS) % (10 * SECOND) >= 5 * SECOND
        cost = generator.gauss(41 * MS, 0.2 * MS) if heavy else generator.gauss(1 * MS, 0.05 * MS)
        costs = [*costs[1:], cost]
        now = max(now, due + STEP_NS - 2 * STEP_NS) + round(cost)
        overloaded = sorted(costs)[4] > STEP_NS
        due = max(due + STEP_NS, now) if overloaded else due + STEP_NS
        rows.append(Row(len(rows) * STEP_NS, due, now))
    return rows


def stall_500ms_every_5s(seed: int, seconds: float) -> list[Row]:
    """At due, but for half a second in every five nothing comes; then all that was missed comes at once."""
    rows = []
    for row in at_due_60hz(seed, seconds):
        into = (row.arrival_ns - START_NS) % (5 * SECOND)
        stalled = into >= 4_500 * MS
        arrival = row.arrival_ns + 5 * SECOND - into + (into - 4_500 * MS) // 100 if stalled else row.arrival_ns
        rows.append(row._replace(arrival_ns=arrival))
    return rows


TRACES: dict[str, Callable[[int, float], list[Row]]] = {
    "ahead 60 Hz": ahead_60hz,
    "60 Hz": at_due_60hz,
    "90 Hz": at_due_90hz,
    "20 Hz, 4 ms jitter": at_due_20hz,
    "41 ms steps": every_step_41ms,
    "20-120 ms steps": steps_20_to_120ms,
    "load comes and goes": load_comes_and_goes,
    "load found late": load_found_late,
    "stall of 500 ms every 5 s": stall_500ms_every_5s,
}


def _steady(seed: int, seconds: float, interval_ns: int, early_ns: int, jitter_ns: float) -> list[Row]:
    generator = random.Random(seed)
    rows = []
    for k in range(round(seconds * SECOND / interval_ns)):
        due = START_NS + k * interval_ns
        late = abs(generator.gauss(0, jitter_ns)) if not early_ns else generator.gauss(0, jitter_ns)
        rows.append(Row(k * interval_ns, due, due - early_ns + round(late)))
    return rows


def _dilated(seconds: float, cost_ns: Callable[[int], float], lead_ns: int = 0) -> list[Row]:
    """Fixed steps of 1/60 s whose cost decides: due = max(previous due + dt, now)."""
    now = due = START_NS
    rows = [Row(0, due, now)]
    while now - START_NS < seconds * SECOND:
        cost = max(0, round(cost_ns(now)))
        now = max(now + cost, due + STEP_NS - lead_ns)
        due = max(due + STEP_NS, now)
        rows.append(Row(len(rows) * STEP_NS, due, now))
    return rows


@dataclass(frozen=True)
class Frame:
    """What was shown at one present instant."""

    present_ns: int
    drawn_ns: int
    newest_ns: int
    offset_ns: int
    held: bool


@dataclass(frozen=True)
class Figures:
    """How it looked, after the settling time. Errors and ages in ms; shares 0..1."""

    error_p99_ms: float
    error_mean_ms: float
    error_max_ms: float
    age_mean_ms: float
    held_share: float  # drew the same instant while physics advanced
    distinct_share: float
    reversals: int
    beyond: int  # frames drawn past the newest snapshot


def presents(seed: int, first_ns: int, last_ns: int, fps: float = 60.0) -> Iterator[int]:
    """An even grid of frames at a phase of the seed's choosing."""
    at = first_ns + round(random.Random(seed + 1000).random() * SECOND / fps)
    k = 0
    while at + round(k * SECOND / fps) < last_ns:
        yield at + round(k * SECOND / fps)
        k += 1


def play(clock, rows: list[Row], seed: int = 0, fps: float = 60.0, latch_ns: int = 0) -> list[Frame]:
    """Each frame sees, in the order of arrival, what has arrived `latch_ns` before it is shown."""
    arrivals = sorted(rows, key=lambda row: row.arrival_ns)
    taken, newest, frames = 0, 0, []
    for present in presents(seed, rows[0].arrival_ns + latch_ns, rows[-1].due_ns, fps):
        while taken < len(arrivals) and arrivals[taken].arrival_ns <= present - latch_ns:
            row = arrivals[taken]
            clock.observe(row.sim_ns, row.due_ns, row.arrival_ns)
            newest = max(newest, row.sim_ns)
            taken += 1
        drawn = clock.draw_time_ns(present)
        frames.append(Frame(present, drawn, newest, clock.state.offset_ns, clock.state.held))
    return frames


def figures(frames: list[Frame], rows: list[Row], settling_ns: int = SETTLING_NS) -> Figures:
    """Against the truth: the trace's own map of due to simulated time."""
    ordered = sorted(rows)
    due, sim = [row.due_ns for row in ordered], [row.sim_ns for row in ordered]
    start, end = frames[0].present_ns + settling_ns, due[-1] - RATE_HALF_NS
    errors, ages, held, same, count, reversals, beyond = [], [], 0, 0, 0, 0, 0
    for before, frame in pairwise(frames):
        reversals += frame.drawn_ns < before.drawn_ns
        beyond += frame.drawn_ns > frame.newest_ns
        if not start <= frame.present_ns <= end:
            continue
        count += 1
        rate = (_at(due, sim, frame.present_ns + RATE_HALF_NS) - _at(due, sim, frame.present_ns - RATE_HALF_NS)) / (
            2 * RATE_HALF_NS
        )
        moved = frame.drawn_ns - before.drawn_ns
        errors.append(abs(moved - rate * (frame.present_ns - before.present_ns)) / MS)
        ages.append((frame.present_ns - _at(sim, due, frame.drawn_ns)) / MS)
        same += moved == 0
        held += moved == 0 and rate > 0
    errors.sort()
    return Figures(
        error_p99_ms=errors[int(0.99 * (len(errors) - 1))],
        error_mean_ms=sum(errors) / len(errors),
        error_max_ms=errors[-1],
        age_mean_ms=sum(ages) / len(ages),
        held_share=held / count,
        distinct_share=1 - same / count,
        reversals=reversals,
        beyond=beyond,
    )


def _at(xs: list[int], ys: list[int], x: float) -> float:
    """The piecewise linear function through (xs, ys)."""
    after = min(max(1, bisect_right(xs, x)), len(xs) - 1)
    before = min(bisect_left(xs, xs[after]) - 1, after - 1)
    return ys[before] + (x - xs[before]) * (ys[after] - ys[before]) / (xs[after] - xs[before])
