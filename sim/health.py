"""Whether a world's bodies are where something can be drawn: finds the first number that is none, or too large.

One idea: looking at every number of a million bodies would be felt, so they are looked at some thousands at a time,
the next ones after the next step; sums of squares first, which say whether any is wrong, and each one only where
one is. Always: changes nothing; `HEALTH_CHECK_S` is enough to look at all of up to `LOOKED_AT` bodies, and each look
at more takes a step's time, no more. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE

# Viewers draw nothing beyond: squares of such numbers overflow.
FARTHEST = 1e30
# How often the bodies are looked through, where they are not too many, in seconds of simulated time.
HEALTH_CHECK_S = 0.5
# Bodies looked at after one step: some 60 microseconds. Longer dot products would be shared out to threads.
LOOKED_AT = 8192
# A record as numbers of 32 bits.
NUMBERS = 16


class Looked(NamedTuple):
    """A field of a record that is looked at."""

    name: str
    places: range  # of its numbers of 32 bits; empty: it has smaller ones
    flag: int  # of bodies of which it counts
    outcome: str  # of a number that is none


NOT_DRAWN, UNUSED = "it is not drawn", "it is drawn as if none were given"
FIELDS = (
    Looked("position", range(3), VISIBLE, NOT_DRAWN),
    Looked("orientation", range(4, 8), VISIBLE, NOT_DRAWN),
    Looked("scale", range(0), VISIBLE, NOT_DRAWN),
    Looked("velocity", range(8, 11), VISIBLE | HAS_VELOCITY, UNUSED),
    Looked("angular_velocity", range(12, 15), VISIBLE | HAS_ANGULAR_VELOCITY, UNUSED),
)


class Health:
    """Of one world's bodies, looked at in turn.

    place: where in the user's code a fault is to be looked for. name_of: how a record's body is called, its index
    where none is given.
    """

    def __init__(self, place: str, name_of: Callable[[int], object] = int) -> None:
        self._place, self._name_of = place, name_of
        self._next = 0

    def steps_until_next(self, count: int, dt_s: float) -> int:
        """After how many steps of `dt_s` the next of `count` bodies are to be looked at."""
        looks = max(1, math.ceil(count / LOOKED_AT))
        return max(1, math.ceil(HEALTH_CHECK_S / looks / dt_s))

    def look(self, bodies: NDArray[np.void], tick: int) -> str:
        """What is wrong with the first visible one of the bodies whose turn it is, and what to do; "" while they are
        well. bodies: dtype `BODY`, after step number `tick`."""
        start = self._next if self._next < len(bodies) else 0
        self._next = start + LOOKED_AT
        return self._sickness(bodies, start, tick)

    def look_at_all(self, bodies: NDArray[np.void], tick: int) -> str:
        """The same of all of them."""
        said = (self._sickness(bodies, start, tick) for start in range(0, len(bodies), LOOKED_AT))
        return next(filter(None, said), "")

    def _sickness(self, bodies: NDArray[np.void], start: int, tick: int) -> str:
        part = bodies[start : start + LOOKED_AT]
        for name, places, flag, outcome in FIELDS:
            with np.errstate(all="ignore"):
                if _are_finite(part, name, places):
                    continue
                is_well = (np.abs(part[name]) < FARTHEST).reshape(len(part), -1).all(axis=1)
            sick = np.flatnonzero(~is_well & ((part["flags"] & flag) == flag))
            if len(sick):
                first = sick[0]
                value = np.array2string(part[name][first], separator=", ")
                return (
                    f"body {self._name_of(start + first)} has the {name} {value} after step {tick}; {outcome}; "
                    f"look in {self._place} for a division by zero"
                )
        return ""


def _are_finite(bodies: NDArray[np.void], name: str, places: range) -> bool:
    """Whether all are numbers, and none near too large; where this is False there may be no harm yet."""
    if not places:
        return bool(np.isfinite(bodies[name]).all())
    numbers = bodies.view(np.float32).reshape(-1, NUMBERS)
    columns = (numbers[:, place] for place in places)
    return all(float(column.dot(column)) < math.inf for column in columns)  # not true of one that is none
