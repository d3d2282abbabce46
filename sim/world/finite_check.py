"""Checks that bodies are finite, small enough to draw, and have no quaternion of zeros; reports the first fault.

Checking a million bodies at once would delay a step visibly, so some thousands are checked after a step and the next
ones after a later step. Sums of squares are computed first; single values are checked only if a sum is not finite.

Always: changes nothing; each body is checked every `CHECK_INTERVAL_S`, or, with very many bodies, once in as many steps
as there are chunks of `CHUNK` bodies. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE

# Viewers draw nothing beyond this distance, m: its square would overflow.
FARTHEST = 1e30
# Simulated time in which all bodies are checked, unless they are too many, s.
CHECK_INTERVAL_S = 0.5
# Bodies checked after one step: some 60 microseconds. numpy splits longer dot products among threads.
CHUNK = 8192
# 32-bit numbers in a record.
NUMBERS = 16


class CheckedField(NamedTuple):
    """Field of the record that is checked."""

    name: str
    places: range  # of its numbers in the record, each 32 bits; empty: its numbers have fewer bits
    flags: int  # a body without all of these is skipped
    outcome: str  # of a value that is not finite


NOT_DRAWN, UNUSED, UNROTATED = "it is not drawn", "it is drawn as if none were given", "it is drawn without rotation"
FIELDS = (
    CheckedField("position", range(3), VISIBLE, NOT_DRAWN),
    CheckedField("orientation", range(4, 8), VISIBLE, NOT_DRAWN),
    CheckedField("scale", range(0), VISIBLE, NOT_DRAWN),
    CheckedField("velocity", range(8, 11), VISIBLE | HAS_VELOCITY, UNUSED),
    CheckedField("angular_velocity", range(12, 15), VISIBLE | HAS_ANGULAR_VELOCITY, UNUSED),
)
ZERO_ORIENTATION = CheckedField("orientation", range(4, 8), VISIBLE, UNROTATED)
GIVE_IDENTITY = "give (0, 0, 0, 1), x y z w, for no rotation"


def look_in(place: str) -> str:
    """Way out of numbers that are not finite. place: the user's code that writes them."""
    return f"look in {place} for a division by zero"


class FiniteCheck:
    """Check of one world's bodies, some after each step.

    way_out: what to do about numbers that are not finite, for the error text, as of `look_in`. name_of: a body's name
    by its row, by default the row itself.
    """

    def __init__(self, way_out: str, name_of: Callable[[int], object] = int) -> None:
        self._way_out, self._name_of = way_out, name_of
        self._next = 0

    def steps_until_next(self, count: int, dt_s: float) -> int:
        """Number of steps of `dt_s` until the next chunk of `count` bodies is to be checked."""
        chunks = max(1, math.ceil(count / CHUNK))
        return max(1, math.ceil(CHECK_INTERVAL_S / chunks / dt_s))

    def check_next(self, bodies: NDArray[np.void], tick: int) -> str:
        """Checks the next chunk of bodies; returns an error text for the first that cannot be drawn, else "".

        bodies: dtype `BODY`, after step number `tick`.
        """
        start = self._next if self._next < len(bodies) else 0
        self._next = start + CHUNK
        return self._fault(bodies, start, tick)

    def check_all(self, bodies: NDArray[np.void], tick: int) -> str:
        """As `check_next`, for all bodies."""
        faults = (self._fault(bodies, start, tick) for start in range(0, len(bodies), CHUNK))
        return next(filter(None, faults), "")

    def _fault(self, bodies: NDArray[np.void], start: int, tick: int) -> str:
        part = bodies[start : start + CHUNK]
        for field in FIELDS:
            with np.errstate(all="ignore"):
                if _are_finite(part, field.name, field.places):
                    continue
                is_fine = (np.abs(part[field.name]) < FARTHEST).reshape(len(part), -1).all(axis=1)
            if fault := self._first(part, start, tick, field, is_fine):
                return fault
        without = part["orientation"][:, 3] == 0  # few bodies; only these are checked in full
        if without.any():
            without[without] = ~part["orientation"][without].any(axis=1)
        return self._first(part, start, tick, ZERO_ORIENTATION, ~without) if without.any() else ""

    def _first(
        self, part: NDArray[np.void], start: int, tick: int, field: CheckedField, is_fine: NDArray[np.bool_]
    ) -> str:
        """Text about the first body in `part` that is shown and not fine; "" if there is none."""
        wrong = np.flatnonzero(~is_fine & ((part["flags"] & field.flags) == field.flags))
        if not len(wrong):
            return ""
        value = np.array2string(part[field.name][wrong[0]], separator=", ")
        way_out = GIVE_IDENTITY if field is ZERO_ORIENTATION else self._way_out
        return (
            f"body {self._name_of(start + wrong[0])} has the {field.name} {value} after step {tick}; {field.outcome}; "
            f"{way_out}"
        )


def _are_finite(bodies: NDArray[np.void], name: str, places: range) -> bool:
    """True if all values of a field are finite and the sum of their squares is. False: check each value."""
    if not places:
        return bool(np.isfinite(bodies[name]).all())
    numbers = bodies.view(np.float32).reshape(-1, NUMBERS)
    columns = (numbers[:, place] for place in places)
    return all(float(column.dot(column)) < math.inf for column in columns)  # False for a NaN
