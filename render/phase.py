"""The refreshes of a display whose swap blocks: a grid fitted to the instants at which swaps came back.

A return is late by whatever held the process up, never early, and some displays keep time no better than
a timer that is set anew for each refresh. So the phase follows early returns readily and late ones
slowly, and the period is the slope of a line through many returns. A grid that returns no longer fit (another
display, another mode) is given up for a new one.

Always: grid points are one period apart; `present_ns` of a return is one of them. Pure.
"""

from __future__ import annotations

from collections import deque
from statistics import median

# Returns the period is fitted to: two seconds at 60 Hz; a timer's jitter of 0.1 ms then weighs under 0.1 %.
FITTED_RETURNS = 120
FIT_FROM_RETURNS = 8
# Shares of a return's error by which the phase follows it.
FOLLOW_EARLY, FOLLOW_LATE = 0.5, 0.2
# Beyond this share of a period a late return was held up: it says nothing of the grid.
HELD_UP = 0.12
# So many returns in a row that do not fit: the grid is another one.
LOST_AFTER_RETURNS = 8


class SwapGrid:
    """period_ns: a first guess, within a few percent."""

    def __init__(self, period_ns: int) -> None:
        self.period_ns = period_ns
        self._point_ns: int | None = None  # the grid point of the last return
        self._count = 0  # refreshes since the first return
        self._returns: deque[tuple[int, int]] = deque(maxlen=FITTED_RETURNS)
        self._misfits: list[int] = []
        self._last_return_ns = 0

    def add(self, return_ns: int) -> int:
        """Takes in the return of a swap that blocked. Its grid point: when that frame was presented."""
        if self._point_ns is None:
            return self._start(return_ns)
        refreshes = max(1, round((return_ns - self._point_ns) / self.period_ns))
        expected_ns = self._point_ns + refreshes * self.period_ns
        error_ns = return_ns - expected_ns
        self._count += refreshes
        if abs(error_ns) > HELD_UP * self.period_ns:
            self._misfits.append(return_ns - self._last_return_ns)
            self._point_ns = expected_ns
            if len(self._misfits) >= LOST_AFTER_RETURNS:
                self.period_ns = round(median(self._misfits))
                self._returns.clear()
                return self._start(return_ns)
        else:
            self._misfits.clear()
            self._point_ns = expected_ns + round(error_ns * (FOLLOW_EARLY if error_ns < 0 else FOLLOW_LATE))
            self._returns.append((self._count, return_ns))
            if len(self._returns) >= FIT_FROM_RETURNS:
                self.period_ns = round(_slope(self._returns))
        self._last_return_ns = return_ns
        return self._point_ns

    def refreshes_between(self, earlier_ns: int, later_ns: int) -> int:
        """Whole refreshes between two instants near grid points."""
        return round((later_ns - earlier_ns) / self.period_ns)

    def point_from(self, instant_ns: int) -> int:
        """The first grid point at or after `instant_ns`, which itself counts before any return is known."""
        if self._point_ns is None:
            return instant_ns
        return self._point_ns - (self._point_ns - instant_ns) // self.period_ns * self.period_ns

    def restart(self) -> None:
        """Swaps stopped for a while: the phase is forgotten, the period is not."""
        self._point_ns = None
        self._returns.clear()
        self._misfits.clear()

    def _start(self, return_ns: int) -> int:
        self._misfits.clear()
        self._count = 0
        self._returns.append((0, return_ns))
        self._point_ns = self._last_return_ns = return_ns
        return return_ns


def _slope(points: deque[tuple[int, int]]) -> float:
    """Of the least-squares line through (refreshes, instant). Counted from the first point, for precision."""
    first_count, first_ns = points[0]
    n = len(points)
    xs = [count - first_count for count, _ in points]
    ys = [instant_ns - first_ns for _, instant_ns in points]
    x_mean, y_mean = sum(xs) / n, sum(ys) / n
    covariance = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))
    return covariance / sum((x - x_mean) ** 2 for x in xs)
