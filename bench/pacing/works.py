"""Work traces, generated and recorded: the cost of each frame, and times without the processor (stolen time).

A whole trace is made from its seed before the run, so that every contestant gets the same trace. Costs are by frame
number, loads and stolen time by instant.

`recorded.txt` holds a line of each recording: its name, a colon, and for each frame its cost and the time of its swap
(the display there waits for nothing, but needs a core for the copy), in units of 10 us. They were taken on two cores
without a GPU, on Xvfb, with other programs running: 22 s of `twixt run WORLD --log FILE`, once with a busy loop
on each core, once with programs that wake once a second and take both cores for 40 ms. `line_of`
(`tests/bench/pacing/recording.py`) makes such a line of any log. Each seed begins at another place.

Always: costs are > 0; stretches of stolen time do not overlap. Knows no pacer.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from bench.pacing.displays import COPY_NS

MS, SECOND = 1_000_000, 1_000_000_000
# Costs before they repeat: more than the frames of a run.
FRAMES = 2400
# Loads are delayed by up to this, at random: they begin anywhere between two frames.
LATER_S = 0.1
# Generated costs vary by up to this share, at random.
SPREAD = 0.03


class Load(NamedTuple):
    """A load: frames that begin from begin_ns to end_ns cost work_ns."""

    begin_ns: int
    end_ns: int
    work_ns: int


class Steal(NamedTuple):
    """Stolen time: other programs have the processor from begin_ns, for length_ns."""

    begin_ns: int
    length_ns: int


class Work:
    """One work trace. costs_ns, handing_ns: by number of the frame, from the first again after the last.

    handing_ns: time between the call of swap and the frame's handing over, beyond that on a free core.
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
        """Cost of the frame of that number, begun at at_ns."""
        for load in self.loads:
            if load.begin_ns <= at_ns < load.end_ns:
                return load.work_ns
        return self.costs_ns[number % len(self.costs_ns)]

    def handed_over(self, number: int, swap_begin_ns: int) -> int:
        """Instant at which the frame of that number, swapped at swap_begin_ns, is handed over."""
        return swap_begin_ns + self._handing_ns[number % len(self._handing_ns)]

    def awake(self, at_ns: int) -> int:
        """Instant at which the program runs on: at_ns, or the end of stolen time around it."""
        last = bisect_right(self._steals_ns, at_ns) - 1
        return at_ns if last < 0 else max(at_ns, sum(self.steals[last]))

    def end_ns(self, begin_ns: int, cost_ns: int) -> int:
        """Instant at which work of cost_ns begun at begin_ns is done."""
        end_ns = self.awake(begin_ns) + cost_ns
        for steal in self.steals[bisect_left(self._steals_ns, begin_ns + 1) :]:
            if steal.begin_ns >= end_ns:
                break
            end_ns += steal.length_ns
        return end_ns

    def is_light(self, number: int, frames: int, begin_ns: int, end_ns: int, limit_ns: int) -> bool:
        """True where none of the next `frames` costs more than limit_ns, and no load or stolen time is near."""
        if any(load.begin_ns < end_ns and begin_ns < load.end_ns for load in self.loads):
            return False
        first = bisect_left(self._steals_ns, begin_ns - SECOND // 10)
        if first < len(self.steals) and self.steals[first].begin_ns < end_ns:
            return False
        return all(self.costs_ns[(number + ahead) % len(self.costs_ns)] <= limit_ns for ahead in range(frames))


Make = Callable[[int], Work]


def constant(ms: float) -> Make:
    """Frames of equal cost."""
    return lambda seed: Work(_about([ms] * FRAMES, seed))


def spikes(ms: float, spike_ms: float, one_in: int) -> Make:
    """Frames of equal cost; one in each `one_in`, at a random place, costs more."""

    def make(seed: int) -> Work:
        choose = random.Random(seed * 7919 + one_in)
        costs = [ms] * FRAMES
        for first in range(0, FRAMES, one_in):
            costs[first + choose.randrange(one_in)] = spike_ms
        return Work(_about(costs, seed))

    return make


def single(ms: float, spike_ms: float, at_frame: int = 180) -> Make:
    """Frames of equal cost; a single one costs more."""

    def make(seed: int) -> Work:
        costs = [ms] * FRAMES
        costs[at_frame + seed % 7] = spike_ms
        return Work(_about(costs, seed))

    return make


def drift(low_ms: float, high_ms: float, seconds: float) -> Make:
    """A cost that rises and falls slowly, once in `seconds`."""

    def make(seed: int) -> Work:
        turns = [0.5 - 0.5 * math.cos(2 * math.pi * (number / 60 / seconds + seed / 10)) for number in range(FRAMES)]
        return Work(_about([low_ms + (high_ms - low_ms) * turn for turn in turns], seed))

    return make


def bimodal(low_ms: float, high_ms: float, share: float) -> Make:
    """One of two costs for each frame; `share` of the frames have the higher."""

    def make(seed: int) -> Work:
        choose = random.Random(seed * 104729 + 1)
        return Work(_about([high_ms if choose.random() < share else low_ms for _ in range(FRAMES)], seed))

    return make


def step(ms: float, load_ms: float, begin_s: float, seconds: float) -> Make:
    """Frames of equal cost, and one load of `seconds`."""

    def make(seed: int) -> Work:
        begin_ns = round((begin_s + random.Random(seed).uniform(0, LATER_S)) * SECOND)
        load = Load(begin_ns, begin_ns + round(seconds * SECOND), round(load_ms * MS))
        return Work(_about([ms] * FRAMES, seed), [load])

    return make


def stolen(ms: float, a_second: float, shortest_ms: float = 5, longest_ms: float = 40) -> Make:
    """Frames of equal cost; stolen time `a_second` times a second on average."""

    def make(seed: int) -> Work:
        return Work(
            _about([ms] * FRAMES, seed), steals=_steals(random.Random(seed * 31 + 5), a_second, shortest_ms, longest_ms)
        )

    return make


def evening(ms: float) -> Make:
    """A desktop in use: stretches slowed by other programs, some stolen time and single long frames."""

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
    "drift 8-25 ms": drift(8, 25, 6),
    "bimodal 8 and 20 ms": bimodal(8, 20, 0.5),
    "17 ms for 4 s": step(5, 17, 2, 4),
    "stolen 5-40 ms": stolen(9, 1.5),
    "evening": evening(9),
}


UNIT_NS = 10_000
FILE = Path(__file__).with_name("recorded.txt")
# Frames between the places at which two seeds begin.
APART = 137


class RecordedWork(NamedTuple):
    """Cost and swap time of each frame. A swap longer than a copy on a free core delayed its frame."""

    costs_ns: tuple[int, ...]
    swaps_ns: tuple[int, ...]


@cache
def recordings() -> dict[str, RecordedWork]:
    """Recorded work by name."""
    found = {}
    for line in FILE.read_text(encoding="ascii").splitlines():
        name, _, frames = line.partition(":")
        pairs = [frame.split("/") for frame in frames.split()]
        columns = (tuple(int(pair[column]) * UNIT_NS for pair in pairs) for column in (0, 1))
        found[name] = RecordedWork(*columns)
    return found


def replayed(name: str) -> Make:
    """A recording of that name, from another place for each seed."""

    def make(seed: int) -> Work:
        costs, swaps = recordings()[name]
        first = seed * APART % len(costs)
        handing = [max(0, swap_ns - COPY_NS) for swap_ns in swaps]
        return Work(costs[first:] + costs[:first], handing_ns=handing[first:] + handing[:first])

    return make


ALL_WORKS: dict[str, Make] = WORKS | {name: replayed(name) for name in recordings()}
