"""Counters and times of physics: the `physics` block of the report.

Counters cover the whole run; distributions its latest `KEPT_SAMPLES`, so that memory stays bounded in a run of days.
Always: a distribution without samples is null, never 0. Reads no clock.

`late`: snapshots that became visible more than `LATE_NS` after they were due. `dropped`: simulated time given up
because physics fell too far behind, in steps, and snapshots that a newer one replaced before the channel had memory
for so many bodies. `lost`: snapshots that injected trouble kept from viewers. Snapshots that `--publish-hz` held back
are in none of them; they are `steps - published - lost`. `widened`, `narrowed`: changes of the step multiple. `rate`
leaves pauses out.
"""

from __future__ import annotations

from array import array
from typing import Any

from twixt.ipc.quantiles import distribution

# Publishing takes about ten microseconds, waking up about a hundred; a delay that a viewer can notice is longer.
LATE_NS = 1_000_000
# Samples kept of each kind: 18 minutes at 60 Hz, 0.5 MiB.
KEPT_SAMPLES = 65_536


class Samples:
    """The latest `KEPT_SAMPLES` rows of `width` values."""

    def __init__(self, width: int = 1) -> None:
        self._values, self._width, self._next = array("d"), width, 0

    def add(self, *row: float) -> None:
        """Adds a row; when full, it replaces the oldest."""
        if len(self._values) < KEPT_SAMPLES * self._width:
            self._values.extend(row)
            return
        for place, value in enumerate(row, self._next):
            self._values[place] = value
        self._next = (self._next + self._width) % len(self._values)

    def column(self, place: int = 0) -> array[float]:
        """The values at this place of all rows."""
        return self._values[place :: self._width]


class Meter:
    """Counters and samples of one run of physics."""

    def __init__(self) -> None:
        self.steps = self.published = self.dropped = self.late = self.lost = 0
        self.widened = self.narrowed = 0
        self._multiple = 1
        self.given_up_ns = 0
        self._step_ms = Samples()
        self._publishes = Samples(3)  # cost, ms; lead, ms; rate, 0 for none

    def stepped(self, cost_ns: int, multiple: int = 1) -> None:
        """Counts a step of `multiple` of the world's own steps."""
        self.steps += 1
        self.widened += multiple > self._multiple
        self.narrowed += multiple < self._multiple
        self._multiple = multiple
        self._step_ms.add(cost_ns / 1e6)

    def published_at(self, due_ns: int, published_ns: int, cost_ns: int, rate: float) -> None:
        """Counts a snapshot that became visible. cost_ns: of publishing it."""
        self.published += 1
        self.late += published_ns - due_ns > LATE_NS
        self._publishes.add(cost_ns / 1e6, (due_ns - published_ns) / 1e6, rate)

    def gave_up(self, debt_ns: int, steps: int) -> None:
        """Counts time given up by a new plan: `debt_ns` of wall time, which is `steps` of simulated time."""
        self.given_up_ns += debt_ns
        self.dropped += steps

    def report(self) -> dict[str, Any]:
        """The `physics` block, JSON-able."""
        return {
            "steps": self.steps,
            "published": self.published,
            "dropped": self.dropped,
            "late": self.late,
            "lost": self.lost,
            "widened": self.widened,
            "narrowed": self.narrowed,
            "given_up_ms": self.given_up_ns / 1e6,
            "rate": distribution(filter(None, self._publishes.column(2))),
            "step_ms": distribution(self._step_ms.column()),
            "publish_ms": distribution(self._publishes.column(0)),
            "lead_ms": distribution(self._publishes.column(1)),
        }
