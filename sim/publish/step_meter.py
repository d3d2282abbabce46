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
from collections.abc import Iterator
from typing import Any

from twixt.ipc.quantiles import distribution

# Publishing takes about ten microseconds, waking up about a hundred; a delay that a viewer can notice is longer.
LATE_NS = 1_000_000
# Samples kept of each kind: 18 minutes at 60 Hz, 0.5 MiB.
KEPT_SAMPLES = 65_536


class Samples:
    """The latest `KEPT_SAMPLES` values."""

    def __init__(self) -> None:
        self._values = array("d")
        self._next = 0

    def add(self, value: float) -> None:
        """Adds a value; when full, it replaces the oldest."""
        if len(self._values) < KEPT_SAMPLES:
            self._values.append(value)
            return
        self._values[self._next] = value
        self._next = (self._next + 1) % KEPT_SAMPLES

    def __iter__(self) -> Iterator[float]:
        return iter(self._values[:])


class Meter:
    """Counters and samples of one run of physics."""

    def __init__(self) -> None:
        self.steps = self.published = self.dropped = self.late = self.lost = 0
        self.widened = self.narrowed = 0
        self._multiple = 1
        self.given_up_ns = 0
        self.step_ms = Samples()
        self.publish_ms = Samples()
        self.lead_ms = Samples()
        self.rate = Samples()

    def stepped(self, cost_ns: int, multiple: int = 1) -> None:
        """Counts a step of `multiple` of the world's own steps."""
        self.steps += 1
        self.widened += multiple > self._multiple
        self.narrowed += multiple < self._multiple
        self._multiple = multiple
        self.step_ms.add(cost_ns / 1e6)

    def published_at(self, due_ns: int, published_ns: int, cost_ns: int, rate: float) -> None:
        """Counts a snapshot that became visible. cost_ns: of publishing it."""
        self.published += 1
        self.late += published_ns - due_ns > LATE_NS
        self.publish_ms.add(cost_ns / 1e6)
        self.lead_ms.add((due_ns - published_ns) / 1e6)
        if rate:
            self.rate.add(rate)

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
            "rate": distribution(self.rate),
            "step_ms": distribution(self.step_ms),
            "publish_ms": distribution(self.publish_ms),
            "lead_ms": distribution(self.lead_ms),
        }
