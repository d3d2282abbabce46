"""Step multiple: the number of the world's own steps made at once (one, by load, or from a log).

`Widening` is for `--when-slow widen`: when steps cost more than the time available, fewer and wider ones keep
simulated time at the rate of the wall clock. A step's cost does not depend on its width, so measured costs tell
which width suffices. A step is too narrow if it costs more than the share `FULL` of its time. Then the new width is the
least at which it costs at most the share `ROOMY`. The width shrinks only if all steps of the last second would have
fitted into that share. The gap between the two shares prevents oscillation.

Always: a whole multiple of the world's step, from 1 to `most`; a steady cost changes the width at most once. Pure:
costs come in, no clock is read.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Protocol

# Steps of the two measures that decide on widening. The lower median: five slow steps of eight widen; the ordinary
# median of four slow and four fast steps is between both costs, and would widen too little. The mean: a few very slow
# steps lose as much time as many that are a little slow.
MEDIAN_STEPS, MEAN_STEPS = 8, 128
# Shares of the time available for a step. Above FULL, the debt can no longer be made up.
FULL, ROOMY = 0.97, 0.85
# The width shrinks only if all of the last NARROW_STEPS, and all in the last NARROW_NS (at most MEAN_STEPS), would fit.
NARROW_STEPS, NARROW_NS = 16, 1_000_000_000
# Longest step of `--when-slow widen` without `--max-step-ms`: ten states a second remain for interpolation.
MAX_STEP_MS = 100.0


class Stride(Protocol):
    """Protocol of step multiples."""

    reason: str  # of the present multiple, for the status

    @property
    def is_over(self) -> bool:
        """True after the last step of a log."""

    @property
    def multiple(self) -> int:
        """The multiple of the next step."""

    @property
    def most(self) -> int:
        """The largest multiple possible; steps that cost more than its time slow simulated time down."""

    def stepped(self, busy_ns: int, unit_ns: float) -> None:
        """Adds the busy time of a step. unit_ns: wall time of one of the world's own steps."""

    def reset(self) -> None:
        """Returns to the first step, after a reset of the world."""


class FixedStride:
    """Step multiple that is always 1."""

    reason = ""
    is_over = False
    multiple = most = 1

    def stepped(self, busy_ns: int, unit_ns: float) -> None:
        """Changes nothing."""

    def reset(self) -> None:
        """Changes nothing."""


class Widening:
    """Step multiple by load, at most `most`."""

    is_over = False

    def __init__(self, most: int) -> None:
        self.multiple, self.most = 1, max(1, most)
        self.reason = ""
        self._costs_ns: deque[int] = deque(maxlen=MEAN_STEPS)  # of steps at the present multiple

    def stepped(self, busy_ns: int, unit_ns: float) -> None:
        """Adds the cost of a step and sets the next multiple."""
        self._costs_ns.append(busy_ns)
        if not self._widen(unit_ns):
            self._narrow(unit_ns)

    def reset(self) -> None:
        """Changes nothing: the load does not depend on simulated time."""

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
