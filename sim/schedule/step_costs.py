"""Costs of steps: busy time, overload, and the rate that physics holds.

`StepTimes` computes busy times from instants; the others are small windows over the latest steps. Pure: reads no clock.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

# Steps whose median cost decides on overload: one slow step is none, five slow ones of eight are.
OVERLOAD_STEPS = 8
# Steps over which the held rate is measured: long enough to be smooth, short enough to follow.
RATE_STEPS = 8


class Busy(NamedTuple):
    """Busy time of a step, ns. reach_ns: see `StepTimes.stepped`."""

    busy_ns: int
    reach_ns: int | None


class StepTimes:
    """Busy time of each step, from the instants at which steps begin and end, are published, and are waited for."""

    def __init__(self) -> None:
        self.cost_ns = 0  # of the last step
        self._end_ns: int | None = None
        self._waited_ns = 0  # since the end of the last step
        self._publish_delay_ns = 0  # from the end of a step until its snapshot was visible
        self._waited_until_ns: int | None = None

    @property
    def is_busy(self) -> bool:
        """True if the loop has not waited since the last step."""
        return self._end_ns is not None and not self._waited_ns

    def stepped(self, begin_ns: int, end_ns: int) -> Busy:
        """Records a step; its busy time is the time since the end of the last step, without waits.

        So publishing is included. reach_ns: the time from the instant at which the step was to begin, if the loop
        waited for that, with the last delay of publishing; else None.
        """
        self.cost_ns = end_ns - begin_ns
        busy_ns = self.cost_ns if self._end_ns is None else end_ns - self._end_ns - self._waited_ns
        until_ns = self._waited_until_ns
        reach_ns = None if until_ns is None else end_ns - until_ns + self._publish_delay_ns
        self._end_ns, self._waited_ns, self._waited_until_ns = end_ns, 0, None
        return Busy(busy_ns, reach_ns)

    def published(self, now_ns: int) -> None:
        """Records that the last step became visible; called while `is_busy`."""
        assert self._end_ns is not None
        self._publish_delay_ns = now_ns - self._end_ns

    def waited(self, begin_ns: int, end_ns: int, until_ns: int) -> None:
        """Records a wait that was to end at `until_ns`."""
        self._waited_ns += end_ns - begin_ns
        self._waited_until_ns = until_ns

    def restart(self) -> None:
        """Drops the last step, after a reset of the world."""
        self._end_ns = None


class OverloadWindow:
    """Median of the latest step costs, compared with the time available for a step."""

    def __init__(self) -> None:
        self._costs_ns: deque[int] = deque(maxlen=OVERLOAD_STEPS)

    def add(self, cost_ns: int) -> None:
        """Adds the cost of one step."""
        self._costs_ns.append(cost_ns)

    def exceeds(self, interval_ns: float) -> bool:
        """True if the median cost is longer than `interval_ns`. False before the first step."""
        ordered = sorted(self._costs_ns)
        if not ordered:
            return False
        middle = len(ordered) // 2
        return (ordered[middle] + ordered[~middle]) / 2 > interval_ns


class HeldRate:
    """Simulated time per wall time over the latest snapshots, by their due instants."""

    def __init__(self) -> None:
        self._instants: deque[tuple[int, int]] = deque(maxlen=RATE_STEPS + 1)

    def add(self, sim_time_ns: int, due_ns: int) -> None:
        """Adds a snapshot and its due instant."""
        self._instants.append((sim_time_ns, due_ns))

    def forget(self) -> None:
        """Clears the window, after a new plan."""
        self._instants.clear()

    def value(self, otherwise: float) -> float:
        """The rate over the window; `otherwise` if it has fewer than two instants, or equal ones."""
        if len(self._instants) < 2:
            return otherwise
        (old_sim_ns, old_due_ns), (sim_ns, due_ns) = self._instants[0], self._instants[-1]
        return (sim_ns - old_sim_ns) / (due_ns - old_due_ns) if due_ns > old_due_ns else otherwise
