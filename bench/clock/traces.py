"""Generates traces of snapshots, and computes figures of the motion that a playback clock draws from a trace.

A trace has the snapshots that a simulation would publish under one kind of trouble. It is generated from a seed and a
length. It has rows of (sim, due, arrival) in ns, and lost snapshots have no row. The display is replaced by a grid of
instants.

Always: the same seed gives the same rows, in order of simulated time. `arrival` is the earliest instant at which a
viewer can draw the snapshot. A frame uses only snapshots that arrived before it. True motion is the trace's own map
from due instant to simulated time. The first seconds, in which a clock settles, count only in `reversals` and
`beyond`. Pure: this module reads no clock.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Concatenate, NamedTuple, ParamSpec, Protocol

import numpy as np

from twixt.sim.schedule.schedule import OverloadWindow

MS = 1_000_000
SECOND = 1_000_000_000
START_NS = 123_456_789_012_345  # an arbitrary instant that is far from 0
STEP_NS = SECOND // 60
# Standard deviation of a normal distribution, in ns. Timers on an idle machine are late by the absolute value of a
# random number from this distribution.
JITTER_NS = 300_000
# Lengths, in ns, of the periods of light and heavy load, which alternate. A run of 20 s has two changes of load, far
# from each other.
LIGHT_NS, HEAVY_NS = 7 * SECOND, 6 * SECOND
STALL_NS, STALL_EVERY_NS = 500 * MS, 5 * SECOND
# Snapshots that a stall has delayed arrive in a burst. In the burst, the intervals between snapshots are divided by
# this number.
BURST = 100


class Arrival(NamedTuple):
    """One snapshot of a trace."""

    sim_ns: int
    due_ns: int
    arrival_ns: int


Trace = Callable[[int, float], list[Arrival]]
CostNs = Callable[[random.Random, int], float]
P = ParamSpec("P")


def tracer(arrivals: Callable[Concatenate[random.Random, float, P], Iterator[Arrival]]) -> Callable[P, Trace]:
    """Makes a function from a function of (random generator, seconds, values). The new function gets the values, and
    returns a trace."""
    return lambda *values, **named: lambda seed, seconds: list(arrivals(random.Random(seed), seconds, *values, **named))


@tracer
def steady(
    generator: random.Random, seconds: float, hz: float, early_ns: int = 0, jitter_ns: int = JITTER_NS
) -> Iterator[Arrival]:
    """Even steps at `hz`, published `early_ns` before they are due. Each step is late by the absolute value of a
    random number from a normal distribution, whose standard deviation is `jitter_ns`."""
    for k in range(round(seconds * hz)):
        at = round(k * SECOND / hz)
        late = abs(round(generator.gauss(0, jitter_ns)))
        yield Arrival(at, START_NS + at, START_NS + at - early_ns + late)


@tracer
def dilated(generator: random.Random, seconds: float, cost_ns: CostNs, lead_ns: int = 0) -> Iterator[Arrival]:
    """Steps of 1/60 s of simulated time. The cost of a step may delay it: due = max(previous due + step, now).

    cost_ns: function that returns the cost of a step in ns, from a random generator and the wall time in ns since the
    start. lead_ns: time by which a step is published before its due instant, if its cost allows this.
    """
    now = due = START_NS
    yield Arrival(0, due, now)
    sim = 0
    while now - START_NS < seconds * SECOND:
        sim += STEP_NS
        now = max(now + max(0, round(cost_ns(generator, now - START_NS))), due + STEP_NS - lead_ns)
        due = max(due + STEP_NS, now)
        yield Arrival(sim, due, now)


@tracer
def network(
    generator: random.Random, seconds: float, hz: float, least_ms: float = 60.0, most_ms: float = 100.0,
    lost: float = 0.05,
) -> Iterator[Arrival]:  # fmt: skip
    """Even steps at `hz`. Each snapshot has a random delay, so a snapshot may overtake another one. lost: share of the
    snapshots that are missing."""
    for k in range(round(seconds * hz)):
        at = round(k * SECOND / hz)
        delay = round(generator.uniform(least_ms, most_ms) * MS)
        if generator.random() >= lost:
            yield Arrival(at, START_NS + at, START_NS + at + delay)


def stalled(trace: Trace, stall_ns: int = STALL_NS, every_ns: int = STALL_EVERY_NS) -> Trace:
    """The trace with stalls. In the last `stall_ns` of every `every_ns`, nothing arrives. The delayed snapshots arrive
    in one burst at the end of the stall."""

    def rows(seed: int, seconds: float) -> list[Arrival]:
        made = []
        for row in trace(seed, seconds):
            into = (row.arrival_ns - START_NS) % every_ns
            end = row.arrival_ns - into + every_ns
            if into >= every_ns - stall_ns:
                row = row._replace(arrival_ns=end + (into - every_ns + stall_ns) // BURST)
            # this snapshot must not arrive earlier than the delayed snapshots
            elif row.arrival_ns - START_NS > every_ns:
                row = row._replace(arrival_ns=max(row.arrival_ns, end - every_ns + stall_ns // BURST))
            made.append(row)
        return made

    return rows


@tracer
def found_late(generator: random.Random, seconds: float, cost_ns: CostNs) -> Iterator[Arrival]:
    """Steps whose due instants follow the plan until the schedule detects overload (see `OverloadWindow`)."""
    now = due = START_NS
    window = OverloadWindow()
    yield Arrival(0, due, now)
    sim = 0
    while now - START_NS < seconds * SECOND:
        sim += STEP_NS
        cost = round(cost_ns(generator, now - START_NS))
        window.add(cost)
        now = max(now, due - STEP_NS) + cost
        due = max(due + STEP_NS, now) if window.exceeds(STEP_NS) else due + STEP_NS
        yield Arrival(sim, due, now)


def slow_cost_ns(generator: random.Random, wall_ns: int) -> float:
    """Cost of a step in ns, always about 41 ms."""
    return generator.gauss(41 * MS, 0.1 * MS)


def uneven_cost_ns(generator: random.Random, wall_ns: int) -> float:
    """Cost of a step in ns, at random from 20 to 120 ms."""
    return generator.uniform(20 * MS, 120 * MS)


def changing_cost_ns(generator: random.Random, wall_ns: int) -> float:
    """Cost of a step in ns. It is 1 ms under light load and 41 ms under heavy load. The loads alternate."""
    heavy = wall_ns % (LIGHT_NS + HEAVY_NS) >= LIGHT_NS
    return generator.gauss(41 * MS, 0.2 * MS) if heavy else generator.gauss(1 * MS, 0.05 * MS)


# Traces by name, in the order of the docs and of `python -m bench clock`.
TRACES: dict[str, Trace] = {
    "ahead 60 Hz": steady(60, early_ns=STEP_NS),
    "60 Hz": steady(60),
    "90 Hz": steady(90),
    "20 Hz, 4 ms jitter": steady(20, jitter_ns=4 * MS),
    "every step 41 ms": dilated(slow_cost_ns),
    "steps 20-120 ms": dilated(uneven_cost_ns),
    "load comes and goes": dilated(changing_cost_ns),
    "load, found late": found_late(changing_cost_ns),
    "net 30 Hz": network(30),
    "net 10 Hz": network(10),
    "stall 500 ms every 5 s": stalled(steady(60)),
}


# Time in ns in which a clock settles. This time is excluded from the figures.
SETTLING_NS = 3 * SECOND
# Half of the window, in ns, over which the true rate of the simulation at a frame is measured.
RATE_HALF_NS = SECOND // 2


class TriedClock(Protocol):
    """Interface of a clock under test. All times are in ns."""

    def observe(self, sim_time_ns: int, due_ns: int, arrival_ns: int) -> None: ...
    def draw_time_ns(self, present_ns: int) -> int: ...


class TriedFrame(NamedTuple):
    """One frame. present_ns: instant at which it is visible."""

    present_ns: int
    draw_time_ns: int
    newest_ns: int  # simulated time of the newest arrived snapshot


@dataclass(frozen=True)
class ClockFigures:
    """Figures of the drawn motion after the settling time. Only `reversals` and `beyond` are counted over the whole
    run.

    Errors and ages are in ms. Shares are from 0 to 1. Judder is the change of speed between two frames, as a share of
    the true rate.
    """

    error_p99_ms: float  # |drawn step - rate x frame interval| in simulated time
    error_mean_ms: float
    error_max_ms: float
    age_mean_ms: float  # visible instant - due instant of the draw time
    age_last_ms: float  # mean age of the frames in the last second
    held_share: float  # share of frames with the same draw time as the previous frame although the simulation advanced
    distinct_share: float  # share of frames with another draw time than the previous frame
    judder_p99: float  # |speed - speed of the previous frame| / rate
    judder_max: float
    reversals: int  # number of frames with an earlier draw time than the previous frame
    beyond: int  # number of frames with a draw time past the newest snapshot


def presents(seed: int, first_ns: int, last_ns: int, fps: float = 60.0, missed: float = 0.0) -> Iterator[int]:
    """Instants in ns at which frames are visible, from first_ns to last_ns. They are a grid with a random phase.
    missed: share of these instants that is removed at random."""
    generator = random.Random(seed + 1000)
    start = first_ns + round(generator.random() * SECOND / fps)
    k = 0
    while (at := start + round(k * SECOND / fps)) < last_ns:
        if not missed or generator.random() >= missed:
            yield at
        k += 1


def arriving(rows: Iterable[Arrival], instants_ns: Iterable[int]) -> Iterator[tuple[int, list[Arrival]]]:
    """Each instant together with the snapshots that arrived since the instant before, in order of arrival."""
    arrivals = sorted(rows, key=lambda row: row.arrival_ns)
    arrived = 0
    for at_ns in instants_ns:
        first = arrived
        while arrived < len(arrivals) and arrivals[arrived].arrival_ns <= at_ns:
            arrived += 1
        yield at_ns, arrivals[first:arrived]


def play(
    clock: TriedClock, rows: list[Arrival], seed: int = 0, fps: float = 60.0, latch_ns: int = 0, missed: float = 0.0
) -> list[TriedFrame]:
    """Plays the trace `rows`. Each frame observes, in order, all snapshots that arrived until `latch_ns` before the
    frame's visible instant."""
    first = min(rows, key=lambda row: row.arrival_ns)
    newest, frames = first.sim_ns, []
    visible_ns = presents(seed, first.arrival_ns + latch_ns, rows[-1].due_ns, fps, missed)
    for latched_ns, new in arriving(rows, (present_ns - latch_ns for present_ns in visible_ns)):
        for row in new:
            clock.observe(row.sim_ns, row.due_ns, row.arrival_ns)
            newest = max(newest, row.sim_ns)
        present_ns = latched_ns + latch_ns
        frames.append(TriedFrame(present_ns, clock.draw_time_ns(present_ns), newest))
    return frames


def clock_figures(frames: list[TriedFrame], rows: list[Arrival], settling_ns: int = SETTLING_NS) -> ClockFigures:
    """Figures of `frames`, compared with the trace `rows` from which they were drawn."""
    ordered = sorted(rows)
    origin = ordered[0].due_ns
    due = np.array([row.due_ns - origin for row in ordered], float)
    sim = np.array([row.sim_ns for row in ordered], float)
    present = np.array([frame.present_ns - origin for frame in frames], float)
    drawn = np.array([frame.draw_time_ns for frame in frames], float)
    rate = (np.interp(present + RATE_HALF_NS, due, sim) - np.interp(present - RATE_HALF_NS, due, sim)) / (
        2 * RATE_HALF_NS
    )
    step, passed = np.diff(drawn), np.diff(present)
    counted = (present[1:] >= present[0] + settling_ns) & (present[1:] <= due[-1] - RATE_HALF_NS)
    error_ms = np.abs(step - rate[1:] * passed)[counted] / MS
    age_ms = (present - np.interp(drawn, sim, due))[1:] / MS
    speed = step / passed
    judder = np.abs(np.diff(speed, prepend=speed[:1])) / np.maximum(rate[1:], 1e-9)
    last_second = counted & (present[1:] > present[1:][counted][-1] - SECOND)
    return ClockFigures(
        error_p99_ms=float(np.percentile(error_ms, 99)),
        error_mean_ms=float(error_ms.mean()),
        error_max_ms=float(error_ms.max()),
        age_mean_ms=float(age_ms[counted].mean()),
        age_last_ms=float(age_ms[last_second].mean()),
        held_share=float(((step == 0) & (rate[1:] > 0))[counted].mean()),
        distinct_share=float((step != 0)[counted].mean()),
        judder_p99=float(np.percentile(judder[counted], 99)),
        judder_max=float(judder[counted].max()),
        reversals=int((step < 0).sum()),
        beyond=sum(frame.draw_time_ns > frame.newest_ns for frame in frames),
    )
