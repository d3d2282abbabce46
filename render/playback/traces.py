"""Traces to try a playback clock on: the snapshots that physics under one kind of trouble would publish.

A trace is rows of (sim, due, arrival) in ns, from a seed and a length. Those lost on the way are not in it.
Always: the same seed gives the same rows, in order of simulated time; `arrival` is when a viewer could draw it.
Pure; starts at an odd instant of the clock.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

MS = 1_000_000
SECOND = 1_000_000_000
START_NS = 123_456_789_012_345
STEP_NS = SECOND // 60
# Of a quiet machine's timers: the standard deviation of a normal scatter, of which only the late half counts.
JITTER_NS = 300_000
# Load: light for so long, then heavy, in turns. Two changes in a run of 20 s, each far from the other.
LIGHT_NS, HEAVY_NS = 7 * SECOND, 6 * SECOND
STALL_NS, STALL_EVERY_NS = 500 * MS, 5 * SECOND
# What a stall held up comes in a burst: a hundredth of its spacing.
BURST = 100


class Row(NamedTuple):
    """One snapshot, as a viewer learns of it."""

    sim_ns: int
    due_ns: int
    arrival_ns: int


Trace = Callable[[int, float], list[Row]]


def steady(hz: float, early_ns: int = 0, jitter_ns: int = JITTER_NS) -> Trace:
    """Even steps, published `early_ns` before they are due, late by the size of a normal scatter of `jitter_ns`."""

    def rows(seed: int, seconds: float) -> list[Row]:
        generator = random.Random(seed)
        made = []
        for k in range(round(seconds * hz)):
            at = round(k * SECOND / hz)
            late = abs(round(generator.gauss(0, jitter_ns)))
            made.append(Row(at, START_NS + at, START_NS + at - early_ns + late))
        return made

    return rows


def dilated(cost_ns: Callable[[random.Random, int], float], lead_ns: int = 0) -> Trace:
    """Fixed steps of 1/60 s whose cost decides: due = max(previous due + step, now).

    cost_ns: from a random generator and the wall time since the start. lead_ns: published so early when it can be.
    """

    def rows(seed: int, seconds: float) -> list[Row]:
        generator = random.Random(seed)
        now = due = START_NS
        made = [Row(0, due, now)]
        while now - START_NS < seconds * SECOND:
            now = max(now + max(0, round(cost_ns(generator, now - START_NS))), due + STEP_NS - lead_ns)
            due = max(due + STEP_NS, now)
            made.append(Row(len(made) * STEP_NS, due, now))
        return made

    return rows


def network(hz: float, least_ms: float = 60.0, most_ms: float = 100.0, lost: float = 0.05) -> Trace:
    """Even steps, each on its way for another time (so they may overtake each other), a share of them lost."""

    def rows(seed: int, seconds: float) -> list[Row]:
        generator = random.Random(seed)
        made = []
        for k in range(round(seconds * hz)):
            at = round(k * SECOND / hz)
            delay = round(generator.uniform(least_ms, most_ms) * MS)
            if generator.random() >= lost:
                made.append(Row(at, START_NS + at, START_NS + at + delay))
        return made

    return rows


def stalled(trace: Trace, stall_ns: int = STALL_NS, every_ns: int = STALL_EVERY_NS) -> Trace:
    """Nothing comes in the last `stall_ns` of every `every_ns`; what was missed comes in one burst at its end."""

    def rows(seed: int, seconds: float) -> list[Row]:
        made = []
        for row in trace(seed, seconds):
            into = (row.arrival_ns - START_NS) % every_ns
            end = row.arrival_ns - into + every_ns
            if into >= every_ns - stall_ns:
                row = row._replace(arrival_ns=end + (into - every_ns + stall_ns) // BURST)
            elif row.arrival_ns - START_NS > every_ns:  # not before what was held up
                row = row._replace(arrival_ns=max(row.arrival_ns, end - every_ns + stall_ns // BURST))
            made.append(row)
        return made

    return rows


def found_late(cost_ns: Callable[[random.Random, int], float]) -> Trace:
    """A load as physics meets it: due keeps the plan until five of the last eight steps were too slow."""

    def rows(seed: int, seconds: float) -> list[Row]:
        generator = random.Random(seed)
        now = due = START_NS
        made, costs = [Row(0, due, now)], [0.0] * 8
        while now - START_NS < seconds * SECOND:
            cost = cost_ns(generator, now - START_NS)
            costs = [*costs[1:], cost]
            now = max(now, due - STEP_NS) + round(cost)
            due = max(due + STEP_NS, now) if sorted(costs)[4] > STEP_NS else due + STEP_NS
            made.append(Row(len(made) * STEP_NS, due, now))
        return made

    return rows


def slow_cost_ns(generator: random.Random, wall_ns: int) -> float:
    """41 ms, nearly even."""
    return generator.gauss(41 * MS, 0.1 * MS)


def uneven_cost_ns(generator: random.Random, wall_ns: int) -> float:
    """20 to 120 ms, each step another."""
    return generator.uniform(20 * MS, 120 * MS)


def changing_cost_ns(generator: random.Random, wall_ns: int) -> float:
    """1 ms, then 41 ms, in turns."""
    heavy = wall_ns % (LIGHT_NS + HEAVY_NS) >= LIGHT_NS
    return generator.gauss(41 * MS, 0.2 * MS) if heavy else generator.gauss(1 * MS, 0.05 * MS)


# name -> trace, as docs and `twixt bench clock` show them
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
