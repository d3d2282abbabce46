"""Whether physics is overloaded, what a step costs at worst, and the rate that physics holds.

Three small windows over the latest steps, pure: costs and instants in, answers out.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque

# Steps whose median cost says whether physics keeps up: one slow step is no overload, five of eight are.
OVERLOAD_STEPS = 8
# Steps over which the held rate is measured: long enough to be smooth, short enough to follow.
RATE_STEPS = 8
# Steps among which the p99 cost is sought (about two seconds at 60 Hz); two must be slow to raise it.
COST_STEPS = 128


class Load:
    """The median of the latest step costs, against the time there is for a step."""

    def __init__(self) -> None:
        self._costs_ns: deque[int] = deque(maxlen=OVERLOAD_STEPS)

    def add(self, cost_ns: int) -> None:
        """One more step was made, at this cost."""
        self._costs_ns.append(cost_ns)

    def exceeds(self, interval_ns: float) -> bool:
        """Whether the median cost is longer than `interval_ns`. False before the first step."""
        ordered = sorted(self._costs_ns)
        if not ordered:
            return False
        middle = len(ordered) // 2
        return (ordered[middle] + ordered[~middle]) / 2 > interval_ns


class WorstCost:
    """The 99th percentile (nearest rank) of the latest step costs, kept sorted as they come."""

    def __init__(self) -> None:
        self._in_order: deque[int] = deque()
        self._sorted: list[int] = []

    def add(self, cost_ns: int) -> None:
        """One more cost; the oldest of `COST_STEPS` is forgotten."""
        if len(self._in_order) == COST_STEPS:
            del self._sorted[bisect_left(self._sorted, self._in_order.popleft())]
        self._in_order.append(cost_ns)
        insort(self._sorted, cost_ns)

    @property
    def p99_ns(self) -> int:
        """0 before the first cost."""
        if not self._sorted:
            return 0
        return self._sorted[-(-99 * len(self._sorted) // 100) - 1]


class HeldRate:
    """Simulated time per wall time, over the latest snapshots' own instants."""

    def __init__(self) -> None:
        self._instants: deque[tuple[int, int]] = deque(maxlen=RATE_STEPS + 1)

    def add(self, sim_time_ns: int, due_ns: int) -> None:
        """One more snapshot falls due."""
        self._instants.append((sim_time_ns, due_ns))

    def forget(self) -> None:
        """What was before says nothing about what comes: a plan started anew."""
        self._instants.clear()

    def value(self, otherwise: float) -> float:
        """Measured over the window; `otherwise` where it holds less than two instants."""
        if len(self._instants) < 2:
            return otherwise
        (old_sim_ns, old_due_ns), (sim_ns, due_ns) = self._instants[0], self._instants[-1]
        return (sim_ns - old_sim_ns) / (due_ns - old_due_ns) if due_ns > old_due_ns else otherwise
