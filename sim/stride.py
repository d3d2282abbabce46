"""How many of the world's own steps the next step makes at once: always one, by the load, or as a log says.

`Widening` is for `--when-slow widen`: where steps cost more time than there is for them, fewer and wider ones keep
simulated time at the pace of the wall. One idea: what a step costs does not depend on how wide it is, so
the costs seen say which width would do. Always: a whole multiple of the world's step, from 1 to `most`; a
steady cost changes the width once, and then never again. Pure: costs come in, no clock is read.

Once a step costs a share of `FULL` of the time there is for it, it is too narrow; the width that is taken
leaves room up to `ROOMY`, and it narrows only where all of the last second would have had that room too.
Between the two lies what keeps it from going to and fro.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Protocol

# Costs that say whether a width holds: the lower median of these (five slow ones of eight widen; with four, half a
# change of load would be taken for a smaller one), and the mean of those, because a few very slow steps lose as much
# time as many that are a little slow.
MEDIAN_STEPS, MEAN_STEPS = 8, 128
# Shares of the time there is for a step. Above the first the debt cannot be made good any more.
FULL, ROOMY = 0.97, 0.85
# Narrower again: every step of this many, and of this wall time (or of MEAN_STEPS), would have fitted.
NARROW_STEPS, NARROW_NS = 16, 1_000_000_000
# Longest step of `--when-slow widen` where none is given, ms: still ten states a second to draw between.
MAX_STEP_MS = 100.0


class Stride(Protocol):
    """What a schedule asks before and tells after each step."""

    reason: str  # of the width, for the status

    @property
    def is_over(self) -> bool:
        """Nothing more is to be stepped."""

    @property
    def multiple(self) -> int:
        """Of the next step."""

    @property
    def most(self) -> int:
        """The widest that the next steps might be: beyond its time, simulated time itself must give way."""

    def stepped(self, busy_ns: int, unit_ns: float) -> None:
        """A step kept the loop busy; `unit_ns`: the wall time that the world's own step falls due in."""

    def reset(self) -> None:
        """The world begins again."""


class Plain:
    """Steps as the world has them."""

    reason = ""
    is_over = False
    multiple = most = 1

    def stepped(self, busy_ns: int, unit_ns: float) -> None:
        """Changes nothing."""

    def reset(self) -> None:
        """Changes nothing."""


class Widening:
    """As wide as the load asks for, at most `most` of the world's steps at once."""

    is_over = False

    def __init__(self, most: int) -> None:
        self.multiple, self.most = 1, max(1, most)
        self.reason = ""
        self._costs_ns: deque[int] = deque(maxlen=MEAN_STEPS)  # of steps of this width

    def stepped(self, busy_ns: int, unit_ns: float) -> None:
        """Decides how wide the next step is."""
        self._costs_ns.append(busy_ns)
        if not self._widen(unit_ns):
            self._narrow(unit_ns)

    def reset(self) -> None:
        """The load does not change with the world's time."""

    def _widen(self, unit_ns: float) -> bool:
        costs_ns = self._costs_ns
        if len(costs_ns) <= MEDIAN_STEPS // 2 or self.multiple == self.most:
            return False
        latest = sorted(list(costs_ns)[-MEDIAN_STEPS:])
        typical_ns: float = latest[(len(latest) - 1) // 2]
        if len(costs_ns) == MEAN_STEPS:
            typical_ns = max(typical_ns, sum(costs_ns) / MEAN_STEPS)
        if typical_ns <= FULL * self.multiple * unit_ns:
            return False
        self._take(max(self.multiple + 1, math.ceil(typical_ns / (ROOMY * unit_ns))), typical_ns, "take")
        return True

    def _narrow(self, unit_ns: float) -> None:
        costs_ns = self._costs_ns
        steps = max(NARROW_STEPS, math.ceil(NARROW_NS / (self.multiple * unit_ns)))
        if self.multiple == 1 or len(costs_ns) < min(steps, MEAN_STEPS):
            return
        worst_ns = max(list(costs_ns)[-steps:])
        multiple = max(1, math.ceil(worst_ns / (ROOMY * unit_ns)))
        if multiple < self.multiple:
            self._take(multiple, worst_ns, "take at most")

    def _take(self, multiple: int, cost_ns: float, take: str) -> None:
        before, self.multiple = self.multiple, min(multiple, self.most)
        self._costs_ns.clear()
        verb = "wider" if self.multiple > before else "narrower"
        self.reason = (
            f"{verb}, {before} to {self.multiple} of the world's steps at once: steps {take} {cost_ns / 1e6:.3g} ms"
        )
