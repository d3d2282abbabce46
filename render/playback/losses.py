"""What lost snapshots need: an offset that covers the gap they leave.

A gap of two or more intervals comes too seldom for its largest lateness to be seen in ten seconds, and a clock that
waits for it swings with luck. So the two are taken apart: how often gaps of each multiple come, over a long time, and
how late snapshots are, lost ones before them or not. The offset is the one that runs dry `DRY_PER_S` times a second.

Always: gaps rarer than that buy nothing. Reads no clock.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque

# How often the clock may run dry for a loss: once in ten seconds, as for every other need.
DRY_PER_S = 0.15
# Losses are counted over this, or since the first snapshot, but not over less than the second.
MEMORY_NS, LEAST_NS = 40_000_000_000, 2_000_000_000
# Longer gaps are no losses, but stalls.
MOST_INTERVALS = 8
# Latest snapshots whose lateness counts: their upper fifth is known to a few percent of its spread.
LATENESSES = 128


class Losses:
    """The gaps of several intervals, and the lateness of all snapshots."""

    def __init__(self) -> None:
        self._in_order: deque[int] = deque()
        self._sorted: list[int] = []
        self._gaps: deque[tuple[int, int]] = deque()  # (instant, intervals)
        self._since_ns: int | None = None
        self._now_ns = 0

    def add(self, now_ns: int, lateness_ns: int, intervals: int) -> None:
        """A snapshot came `intervals` after the one before it, `lateness_ns` after it was due."""
        if self._since_ns is None:
            self._since_ns = now_ns
        self._now_ns = now_ns
        if len(self._in_order) == LATENESSES:
            del self._sorted[bisect_left(self._sorted, self._in_order.popleft())]
        self._in_order.append(lateness_ns)
        insort(self._sorted, lateness_ns)
        if intervals > 1:
            self._gaps.append((now_ns, intervals))
        while self._gaps and now_ns - self._gaps[0][0] > MEMORY_NS:
            self._gaps.popleft()

    def need_ns(self, interval_ns: int) -> float | None:
        """How long the newest snapshot will have been due, at the losses to be covered; None when there are none."""
        if self._since_ns is None or not self._gaps:
            return None
        over_s = max(LEAST_NS, min(MEMORY_NS, self._now_ns - self._since_ns)) / 1e9
        dry_per_s, chance = 0.0, 0
        longest = max(multiple for _, multiple in self._gaps)
        for intervals in range(min(longest, MOST_INTERVALS), 1, -1):
            count = chance + sum(multiple == intervals for _, multiple in self._gaps)
            # One long gap may be chance; it counts as the next shorter one. That snapshots get lost at all is none.
            chance = min(count, 1) if intervals > 2 else 0
            per_s = (count - chance) / over_s
            if dry_per_s + per_s > DRY_PER_S:
                # Of these, all but so many are covered.
                uncovered = (DRY_PER_S - dry_per_s) / per_s
                index = min(len(self._sorted) - 1, int((1 - uncovered) * len(self._sorted)))
                return intervals * interval_ns + self._sorted[index]
            dry_per_s += per_s
        return None
