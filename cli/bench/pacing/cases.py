"""What is played: every display under every work, and the trials that the bars are read from.

Always: a case is made anew for each contestant from its seed; all contestants meet the same one.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from twixt.cli.bench.pacing.displays import (
    ALWAYS,
    TRIED,
    Blocking,
    Display,
    Mode,
    Queue,
    QueueOfThree,
    ReturnsAtOnce,
    Timer,
    Variable,
    changing,
    steady,
)
from twixt.cli.bench.pacing.recorded import ALL_WORKS
from twixt.cli.bench.pacing.works import Make, constant, single, spikes, step

# Real displays keep a rate near the one they are called by: within this share of it.
OFF_NOMINAL = 0.002
# Changes of mode come up to so much later: anywhere between two frames.
LATEST_CHANGE_NS = 100_000_000
SECONDS, QUICK_SECONDS = 10.0, 4.0
QUICK_WORKS = ("constant 10 ms", "25 ms in one of 30", "stolen 5-40 ms")


class Shape(NamedTuple):
    """A kind of display. hz: its usual rate."""

    kind: type[Display]
    hz: float = 60.0
    fence_is: str = ""
    speaks: bool = False

    def made(self, seed: int) -> Display:
        """With a rate and a phase of that seed's own."""
        choose = random.Random(seed * 13 + 1)
        hz = self.hz if self.kind is Timer else self.hz * (1 + choose.uniform(-OFF_NOMINAL, OFF_NOMINAL))
        return self._of(steady(hz, -choose.randrange(round(1e9 / hz))), seed)

    def changing(self, then_hz: float, at_ns: int, gap_ns: int, seed: int) -> Display:
        """That changes its mode while running."""
        later_ns = random.Random(seed).randrange(LATEST_CHANGE_NS)
        return self._of(changing(self.hz, then_hz, at_ns + later_ns, gap_ns), seed)

    def _of(self, modes: tuple[Mode, ...], seed: int) -> Display:
        return self.kind(modes, fence_is=self.fence_is, speaks=self.speaks, seed=seed)


FENCE, WORD = ", fence", ", own word"
# Those whose cost must be near plain blocking's: each as it is, with a fence, and with the display's own word.
TRICKY = {"returns at once": ReturnsAtOnce, "queue of two": Queue, "queue of three": QueueOfThree}
# What twixt's window would do; a queue's swaps wait, so that it tries no fence there: what one would bring is shown.
FENCES = {"returns at once": TRIED, "queue of two": ALWAYS, "queue of three": ALWAYS}
BLOCKING = "blocking"
SHAPES: dict[str, Shape] = {
    "timer": Shape(Timer),
    BLOCKING: Shape(Blocking),
    BLOCKING + WORD: Shape(Blocking, speaks=True),
    **{
        name + way: Shape(kind, fence_is=FENCES[name] if way == FENCE else "", speaks=way == WORD)
        for name, kind in TRICKY.items()
        for way in ("", FENCE, WORD)
    },
    "blocking at 90 Hz": Shape(Blocking, hz=90),
    "variable rate": Shape(Variable, hz=144),
    "variable rate" + WORD: Shape(Variable, hz=144, speaks=True),
}


class Change(NamedTuple):
    """A change of mode while running, at CHANGE_NS. gap_ns: nothing is shown meanwhile."""

    hz: float
    then_hz: float
    gap_ns: int = 0


CHANGE_NS = 3_000_000_000
CHANGE_SECONDS = 13.0
CHANGE_WORK = constant(4)
CHANGES: dict[str, Change] = {
    "60 to 90 Hz, seamless": Change(60, 90),
    "60 to 144 Hz": Change(60, 144, gap_ns=120_000_000),
    "144 to 60 Hz": Change(144, 60, gap_ns=120_000_000),
    "60 to 30 Hz": Change(60, 30, gap_ns=120_000_000),
}
CHANGED_ON = (BLOCKING, BLOCKING + WORD, "returns at once" + FENCE)


class Trial(NamedTuple):
    """A work that a bar is read from."""

    work: Make
    seconds: float


LOAD_MS, LOAD_SECONDS = 20, 3.0
SINGLE, LOAD, SPIKES = "one of 25 ms", "20 ms for 3 s", "25 ms in one of 30"
TRIALS: dict[str, Trial] = {
    SINGLE: Trial(single(8, 25), 8.0),
    LOAD: Trial(step(8, LOAD_MS, 3, LOAD_SECONDS), 11.0),
    SPIKES: Trial(spikes(8, 25, 30), SECONDS),
}
TRIED_ON: Callable[[str], tuple[str, ...]] = {
    SINGLE: ("timer", BLOCKING, "returns at once" + FENCE),
    LOAD: ("timer", BLOCKING, "returns at once" + FENCE),
    SPIKES: ("timer",),
}.__getitem__


def works(quick: bool) -> dict[str, Make]:
    """By name; few where it shall only show that it works."""
    return {name: make for name, make in ALL_WORKS.items() if not quick or name in QUICK_WORKS}
