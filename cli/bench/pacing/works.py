"""Work traces: what each frame costs, and when the machine takes the processor away.

One idea: a trace is made whole before anything runs, from its seed, so that every contestant meets the same trouble.
Costs belong to frames by number, loads and stolen time to instants.

Always: costs are > 0; stretches of stolen time do not overlap. Knows neither displays nor pacers.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

MS, SECOND = 1_000_000, 1_000_000_000
# Costs made before they repeat: more than the frames of a run.
FRAMES = 2400
# Loads begin up to so much later: anywhere between two frames.
LATER_S = 0.1
# No frame costs exactly what the one before did.
SPREAD = 0.03


class Load(NamedTuple):
    """From begin_ns to end_ns frames cost work_ns."""

    begin_ns: int
    end_ns: int
    work_ns: int


class Steal(NamedTuple):
    """The processor is taken away at begin_ns, for length_ns."""

    begin_ns: int
    length_ns: int


class Work:
    """costs_ns, handing_ns: by number of the frame, again from the first when they are used up.

    handing_ns: what passes between the call of swap and the frame's handing over, beyond what that takes on a free core.
    """

    def __init__(
        self,
        costs_ns: Sequence[int],
        loads: Sequence[Load] = (),
        steals: Sequence[Steal] = (),
        handing_ns: Sequence[int] = (0,),
    ) -> None:
        self._handing_ns = tuple(handing_ns)
        self.costs_ns, self.loads, self.steals = tuple(costs_ns), tuple(loads), tuple(steals)
        self._steals_ns = [steal.begin_ns for steal in steals]

    def cost_ns(self, number: int, at_ns: int) -> int:
        """What the frame of that number costs, begun at at_ns."""
        for load in self.loads:
            if load.begin_ns <= at_ns < load.end_ns:
                return load.work_ns
        return self.costs_ns[number % len(self.costs_ns)]

    def handed_over(self, number: int, swap_begin_ns: int) -> int:
        """When the frame of that number, swapped then, is handed over."""
        return swap_begin_ns + self._handing_ns[number % len(self._handing_ns)]

    def awake(self, at_ns: int) -> int:
        """When something due at at_ns really goes on."""
        last = bisect_right(self._steals_ns, at_ns) - 1
        return at_ns if last < 0 else max(at_ns, sum(self.steals[last]))

    def end_ns(self, begin_ns: int, cost_ns: int) -> int:
        """When work of cost_ns begun at begin_ns is done."""
        end_ns = self.awake(begin_ns) + cost_ns
        for steal in self.steals[bisect_left(self._steals_ns, begin_ns + 1) :]:
            if steal.begin_ns >= end_ns:
                break
            end_ns += steal.length_ns
        return end_ns

    def is_light(self, number: int, frames: int, begin_ns: int, end_ns: int, limit_ns: int) -> bool:
        """No frame of those costs more than limit_ns, and nothing happens in that time."""
        if any(load.begin_ns < end_ns and begin_ns < load.end_ns for load in self.loads):
            return False
        first = bisect_left(self._steals_ns, begin_ns - SECOND // 10)
        if first < len(self.steals) and self.steals[first].begin_ns < end_ns:
            return False
        return all(self.costs_ns[(number + ahead) % len(self.costs_ns)] <= limit_ns for ahead in range(frames))


Make = Callable[[int], Work]


def constant(ms: float) -> Make:
    """Every frame alike."""
    return lambda seed: Work(_about([ms] * FRAMES, seed))


def spikes(ms: float, spike_ms: float, one_in: int) -> Make:
    """One frame of each so many costs more, at a random place among them."""

    def make(seed: int) -> Work:
        choose = random.Random(seed * 7919 + one_in)
        costs = [ms] * FRAMES
        for first in range(0, FRAMES, one_in):
            costs[first + choose.randrange(one_in)] = spike_ms
        return Work(_about(costs, seed))

    return make


def single(ms: float, spike_ms: float, at_frame: int = 180) -> Make:
    """One frame alone costs more."""

    def make(seed: int) -> Work:
        costs = [ms] * FRAMES
        costs[at_frame + seed % 7] = spike_ms
        return Work(_about(costs, seed))

    return make


def drift(low_ms: float, high_ms: float, seconds: float) -> Make:
    """Rises and falls slowly."""

    def make(seed: int) -> Work:
        turns = [0.5 - 0.5 * math.cos(2 * math.pi * (number / 60 / seconds + seed / 10)) for number in range(FRAMES)]
        return Work(_about([low_ms + (high_ms - low_ms) * turn for turn in turns], seed))

    return make


def bimodal(low_ms: float, high_ms: float, share: float) -> Make:
    """One of two costs, each frame anew."""

    def make(seed: int) -> Work:
        choose = random.Random(seed * 104729 + 1)
        return Work(_about([high_ms if choose.random() < share else low_ms for _ in range(FRAMES)], seed))

    return make


def step(ms: float, load_ms: float, begin_s: float, seconds: float) -> Make:
    """A load comes, stays for so long and goes."""

    def make(seed: int) -> Work:
        begin_ns = round((begin_s + random.Random(seed).uniform(0, LATER_S)) * SECOND)
        load = Load(begin_ns, begin_ns + round(seconds * SECOND), round(load_ms * MS))
        return Work(_about([ms] * FRAMES, seed), [load])

    return make


def stolen(ms: float, a_second: float, shortest_ms: float = 5, longest_ms: float = 40) -> Make:
    """The machine takes the processor away now and then, for so long."""

    def make(seed: int) -> Work:
        return Work(
            _about([ms] * FRAMES, seed), steals=_steals(random.Random(seed * 31 + 5), a_second, shortest_ms, longest_ms)
        )

    return make


def evening(ms: float) -> Make:
    """As on a desktop in the evening: stretches of other programs' work, some stolen time and a spike now and then."""

    def make(seed: int) -> Work:
        choose = random.Random(seed * 17 + 3)
        costs, slow = [], 1.0
        for number in range(FRAMES):
            if number % 90 == 0:
                slow = choose.choice([1.0, 1.0, 1.15, 1.4])
            costs.append(choose.uniform(18, 30) if choose.random() < 1 / 150 else ms * slow)
        return Work(_about(costs, seed), steals=_steals(choose, 0.7, 3, 20))

    return make


def _steals(choose: random.Random, a_second: float, shortest_ms: float, longest_ms: float) -> list[Steal]:
    found, at_ns = [], 0
    while at_ns < FRAMES * SECOND // 60:
        at_ns += round(choose.expovariate(a_second) * SECOND) + MS
        length_ns = round(choose.uniform(shortest_ms, longest_ms) * MS)
        found.append(Steal(at_ns, length_ns))
        at_ns += length_ns
    return found


def _about(costs_ms: Sequence[float], seed: int) -> list[int]:
    choose = random.Random(seed + 1)
    return [max(1, round(ms * MS * (1 + choose.uniform(-SPREAD, SPREAD)))) for ms in costs_ms]


WORKS: dict[str, Make] = {
    "constant 5 ms": constant(5),
    "constant 10 ms": constant(10),
    "constant 14 ms": constant(14),
    "25 ms in one of 30": spikes(8, 25, 30),
    "25 ms in one of 120": spikes(8, 25, 120),
    "one of 56 ms": single(10, 56),
    "drift 6-19 ms": drift(6, 19, 8),
    "bimodal 9 and 18 ms": bimodal(9, 18, 0.4),
    "20 ms for 3 s": step(8, 20, 3, 3),
    "stolen 5-40 ms": stolen(9, 1.5),
    "evening": evening(9),
}
