"""Makes work traces, from a generator or from recordings. A work trace contains the cost of each frame and the
intervals in which other programs run (stolen time).

A whole trace is generated from its seed before the run, so that every contestant gets the same trace. Costs depend on
the frame number. Loads and stolen time depend on the instant.

`recorded.txt` has one line per recording. A line has the name of the recording, a colon, and for each frame its cost
and the time of its swap. These times are in units of 10 us. (The swap waited for nothing, but needed a core to copy
the picture.) Each recording is 22 s of `twixt run WORLD --log FILE`, on two cores without a GPU, on Xvfb. In the first
recording, a busy loop ran on each core. In the second recording, programs woke one time per second and used both cores
for 40 ms. `line_of` (`tests/bench/pacing/recording.py`) makes such a line from any log. Each seed starts at another
frame of the recording.

Always: costs are greater than 0, and intervals of stolen time do not overlap. This module does not depend on pacers.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Concatenate, NamedTuple, ParamSpec

from bench.pacing.displays import COPY_NS

MS, SECOND = 1_000_000, 1_000_000_000
# Number of costs in a trace before they repeat. A run has fewer frames than this number.
FRAMES = 2400
# Loads are delayed at random by up to this time, in seconds. So a load begins at any point between two frames.
LATER_S = 0.1
# Generated costs vary at random by up to this share.
SPREAD = 0.03


class Load(NamedTuple):
    """A load. Each frame that begins between begin_ns and end_ns costs work_ns."""

    begin_ns: int
    end_ns: int
    work_ns: int


class Steal(NamedTuple):
    """Stolen time: other programs use the processor for length_ns from begin_ns on."""

    begin_ns: int
    length_ns: int


class Work:
    """One work trace. costs_ns: cost of each frame. handing_ns: hand-over time of each frame. After the last value,
    the first value is used again.

    The hand-over time is the time from the call of swap until the frame is handed over, minus the time that this takes
    on a free core.
    """

    def __init__(
        self, costs_ns: Sequence[int], loads: Sequence[Load] = (), steals: Sequence[Steal] = (),
        handing_ns: Sequence[int] = (0,),
    ) -> None:  # fmt: skip
        self._handing_ns = tuple(handing_ns)
        self.costs_ns, self.loads, self.steals = tuple(costs_ns), tuple(loads), tuple(steals)
        self._steals_ns = [steal.begin_ns for steal in steals]

    def cost_ns(self, number: int, at_ns: int) -> int:
        """Cost of frame `number`, in ns. at_ns: instant at which the frame begins."""
        for load in self.loads:
            if load.begin_ns <= at_ns < load.end_ns:
                return load.work_ns
        return self.costs_ns[number % len(self.costs_ns)]

    def handed_over(self, number: int, swap_begin_ns: int) -> int:
        """Instant at which frame `number` is handed over. swap_begin_ns: instant at which swap is called."""
        return swap_begin_ns + self._handing_ns[number % len(self._handing_ns)]

    def awake(self, at_ns: int) -> int:
        """First instant, at or after at_ns, at which the program can run. It is at_ns, or the end of stolen time if
        at_ns lies in stolen time."""
        last = bisect_right(self._steals_ns, at_ns) - 1
        return at_ns if last < 0 else max(at_ns, sum(self.steals[last]))

    def end_ns(self, begin_ns: int, cost_ns: int) -> int:
        """Instant at which work is done. begin_ns: instant at which the work begins. cost_ns: its cost."""
        end_ns = self.awake(begin_ns) + cost_ns
        for steal in self.steals[bisect_left(self._steals_ns, begin_ns + 1) :]:
            if steal.begin_ns >= end_ns:
                break
            end_ns += steal.length_ns
        return end_ns

    def is_light(self, number: int, frames: int, begin_ns: int, end_ns: int, limit_ns: int) -> bool:
        """True if none of the next `frames` frames costs more than limit_ns. Also, there must be no load and no stolen
        time near the interval from begin_ns to end_ns."""
        if any(load.begin_ns < end_ns and begin_ns < load.end_ns for load in self.loads):
            return False
        first = bisect_left(self._steals_ns, begin_ns - SECOND // 10)
        if first < len(self.steals) and self.steals[first].begin_ns < end_ns:
            return False
        return all(self.costs_ns[(number + ahead) % len(self.costs_ns)] <= limit_ns for ahead in range(frames))


Make = Callable[[int], Work]
P = ParamSpec("P")


def maker(of_seed: Callable[Concatenate[int, P], Work]) -> Callable[P, Make]:
    """Makes a function from a function of (seed, values). The new function gets the values, and returns a function of
    the seed."""
    return lambda *values, **named: lambda seed: of_seed(seed, *values, **named)


@maker
def constant(seed: int, ms: float) -> Work:
    return Work(_about([ms] * FRAMES, seed))


@maker
def spikes(seed: int, ms: float, spike_ms: float, one_in: int) -> Work:
    """Frames of equal cost. In each group of `one_in` frames, one random frame costs more."""
    choose = random.Random(seed * 7919 + one_in)
    costs = [ms] * FRAMES
    for first in range(0, FRAMES, one_in):
        costs[first + choose.randrange(one_in)] = spike_ms
    return Work(_about(costs, seed))


@maker
def single(seed: int, ms: float, spike_ms: float, at_frame: int = 180) -> Work:
    """Frames of equal cost. Only the frame number `at_frame` costs more."""
    costs = [ms] * FRAMES
    costs[at_frame + seed % 7] = spike_ms
    return Work(_about(costs, seed))


@maker
def drift(seed: int, low_ms: float, high_ms: float, seconds: float) -> Work:
    """A cost that rises and falls slowly, with a period of `seconds`."""
    turns = [0.5 - 0.5 * math.cos(2 * math.pi * (number / 60 / seconds + seed / 10)) for number in range(FRAMES)]
    return Work(_about([low_ms + (high_ms - low_ms) * turn for turn in turns], seed))


@maker
def bimodal(seed: int, low_ms: float, high_ms: float, share: float) -> Work:
    """Each frame has one of two costs at random. A `share` of the frames has the higher cost."""
    choose = random.Random(seed * 104729 + 1)
    return Work(_about([high_ms if choose.random() < share else low_ms for _ in range(FRAMES)], seed))


@maker
def step(seed: int, ms: float, load_ms: float, begin_s: float, seconds: float) -> Work:
    """Frames of equal cost, with one load that lasts `seconds`."""
    begin_ns = round((begin_s + random.Random(seed).uniform(0, LATER_S)) * SECOND)
    load = Load(begin_ns, begin_ns + round(seconds * SECOND), round(load_ms * MS))
    return Work(_about([ms] * FRAMES, seed), [load])


@maker
def stolen(seed: int, ms: float, a_second: float, shortest_ms: float = 5, longest_ms: float = 40) -> Work:
    """Frames of equal cost, with stolen time. a_second: average number of times per second at which time is stolen."""
    steals = _steals(random.Random(seed * 31 + 5), a_second, shortest_ms, longest_ms)
    return Work(_about([ms] * FRAMES, seed), steals=steals)


@maker
def evening(seed: int, ms: float) -> Work:
    """Work as on a desktop in use. Other programs slow some intervals and steal some time, and single frames are
    long."""
    choose = random.Random(seed * 17 + 3)
    costs, slow = [], 1.0
    for number in range(FRAMES):
        if number % 90 == 0:
            slow = choose.choice([1.0, 1.0, 1.15, 1.4])
        costs.append(choose.uniform(18, 30) if choose.random() < 1 / 150 else ms * slow)
    return Work(_about(costs, seed), steals=_steals(choose, 0.7, 3, 20))


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
# Number of frames between the starts of two consecutive seeds.
APART = 137


class RecordedWork(NamedTuple):
    """Cost and swap time of each frame. If a swap took longer than a copy on a free core, the frame was delayed."""

    costs_ns: tuple[int, ...]
    swaps_ns: tuple[int, ...]


@cache
def recordings() -> dict[str, RecordedWork]:
    found = {}
    for line in FILE.read_text(encoding="ascii").splitlines():
        name, _, frames = line.partition(":")
        pairs = [[int(units) * UNIT_NS for units in frame.split("/")] for frame in frames.split()]
        found[name] = RecordedWork(*zip(*pairs, strict=True))
    return found


@maker
def replayed(seed: int, name: str) -> Work:
    """The recording with this name. Each seed starts at another frame of the recording."""
    costs, swaps = recordings()[name]
    first = seed * APART % len(costs)
    handing = [max(0, swap_ns - COPY_NS) for swap_ns in swaps]
    return Work(costs[first:] + costs[:first], handing_ns=handing[first:] + handing[:first])


ALL_WORKS: dict[str, Make] = WORKS | {name: replayed(name) for name in recordings()}
