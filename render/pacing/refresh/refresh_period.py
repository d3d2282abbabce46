"""Refresh period from intervals between blocking swaps: the longest that divides them all. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

# Displays refresh no faster (400 Hz) and no slower (20 Hz).
SHORTEST_NS, LONGEST_NS = 2_500_000, 50_000_000
# An interval is whole refreshes within this share of one, and so must be this share of all: returns are held up.
WITHIN, SHARE = 0.12, 0.8
# So many of all must be whole refreshes within this share of one: a display keeps time, work that is alike does not.
EXACTLY_WITHIN, EXACTLY_SHARE = 0.05, 0.6
# Where a longer length divides this share of the intervals, a shorter one must divide nearly all.
MOST_OF_THEM, NEARLY_ALL = 0.5, 0.95
# Of an interval, refreshes tried.
MOST_REFRESHES = 8
# So many returns off the grid, or early, among the last ones: the display has another period.
LAST_RETURNS, DISAGREEING = 4, 2
# So many frames start at once to measure it; so long none is measured again.
MEASURED_FRAMES, PATIENCE_FRAMES = 12, 45
# Where this share of the measured intervals is one refresh as it was believed, it is believed still.
BELIEVED_SHARE = 0.35
# Every so often one frame starts at once: only so is a faster display noticed.
PROBE_EVERY_NS = 2_000_000_000


def longest_common(intervals_ns: Sequence[int], within: float = WITHIN, share: float = SHARE) -> int | None:
    """The longest length of which nearly all the intervals are multiples; None where there is none."""
    tried = sorted(ns for ns in intervals_ns if ns >= SHORTEST_NS)
    if len(tried) < 3 or len(tried) < share * len(intervals_ns):
        return None
    candidates = {
        ns / k for ns in (tried[len(tried) // 8], tried[len(tried) // 2]) for k in range(1, MOST_REFRESHES + 1)
    }
    wanted = share
    for candidate in sorted(candidates, reverse=True):
        if not SHORTEST_NS <= candidate <= LONGEST_NS:
            continue
        fitted = _fitted(tried, candidate, within)
        fitting = 0 if fitted is None else sum(_fits(ns, fitted, within) for ns in tried) / len(intervals_ns)
        if fitted is not None and fitting >= wanted and _keeps_time(intervals_ns, fitted):
            return round(fitted)
        if fitting >= MOST_OF_THEM:  # the others may have been held up, and fit a shorter one by chance
            wanted = max(share, NEARLY_ALL)
    return None


def _fits(interval_ns: float, period_ns: float, within: float) -> bool:
    refreshes = round(interval_ns / period_ns)
    return refreshes >= 1 and abs(interval_ns - refreshes * period_ns) <= within * period_ns


def _keeps_time(intervals_ns: Sequence[int], period_ns: float) -> bool:
    exact = sum(_fits(ns, period_ns, EXACTLY_WITHIN) for ns in intervals_ns)
    return exact >= EXACTLY_SHARE * len(intervals_ns)


def _fitted(intervals_ns: Sequence[int], period_ns: float, within: float) -> float | None:
    """The period made exact by the intervals that are multiples of it."""
    fitting = [ns for ns in intervals_ns if _fits(ns, period_ns, within)]
    refreshes = sum(round(ns / period_ns) for ns in fitting)
    return sum(fitting) / refreshes if refreshes else None


class MeasuredSwap(NamedTuple):
    """A swap that blocked. hardly_waited: so briefly that it may not have waited for the display."""

    called_ns: int
    returned_ns: int
    hardly_waited: bool = False


class RefreshWatch:
    """Notices that the display has another refresh, and measures it with frames that start at once."""

    def __init__(self) -> None:
        self._intervals_ns: list[int] = []
        self._swaps: list[MeasuredSwap] = []
        self._disagreeing: deque[bool] = deque(maxlen=LAST_RETURNS)
        self._left = self._patience = 0
        self._last_return_ns: int | None = None
        self._probed_ns: int | None = None
        self._probes = False

    @property
    def measures(self) -> bool:
        return self._left > 0

    def starts_at_once(self, now_ns: int) -> bool:
        """True if the next frame is to, so that a faster display shows itself."""
        self._probes = self._probed_ns is None or now_ns - self._probed_ns >= PROBE_EVERY_NS
        if self._probes:
            self._probed_ns = now_ns
        return self._probes or self._left > 0

    def returned(self, swap: MeasuredSwap, period_ns: int, disagrees: bool, is_early: bool = False) -> int | None:
        """Takes in a swap that blocked. disagrees: it did not return at a point of the grid, whose period is
        `period_ns`. Returns the period when it was measured anew.

        is_early: back before its refresh, which a frame that started at once shows of a faster display.
        """
        last_ns, self._last_return_ns = self._last_return_ns, swap.returned_ns
        if self._left:
            self._left -= 1
            if last_ns is not None:
                self._intervals_ns.append(swap.returned_ns - last_ns)
            self._swaps.append(swap)
            return None if self._left else self._measured(period_ns)
        self._patience = max(0, self._patience - 1)
        self._disagreeing.append(disagrees)
        shows = (is_early and self._probes) or sum(self._disagreeing) >= DISAGREEING
        if shows and not self._patience:
            self._disagreeing.clear()
            self._intervals_ns.clear()
            self._swaps.clear()
            self._left = MEASURED_FRAMES
        return None

    def waited_for_nothing(self) -> None:
        """A return that says nothing of the display."""
        self._last_return_ns = None
        self._left = max(0, self._left - 1)

    def restart(self) -> None:
        self._last_return_ns = None
        self._left = 0
        self._disagreeing.clear()

    def _measured(self, believed_ns: int) -> int | None:
        self._patience = PATIENCE_FRAMES
        # Returns that were held up fit some short length by chance, beside those that are where they were believed.
        as_believed = sum(abs(ns - believed_ns) <= WITHIN * believed_ns for ns in self._intervals_ns)
        if as_believed >= BELIEVED_SHARE * len(self._intervals_ns):
            return None
        period_ns = longest_common(self._intervals_ns)
        if period_ns and any(swap.hardly_waited for swap in self._swaps) and not self._keep_time(period_ns):
            return None
        return period_ns

    def _keep_time(self, period_ns: int) -> bool:
        """True if swaps return more regularly than they are called: then they wait for the display, however briefly."""
        first, last = self._swaps[0], len(self._swaps) - 1
        calls = sorted(_off(swap.called_ns - first.called_ns, period_ns) for swap in self._swaps)
        returns = sorted(_off(swap.returned_ns - first.returned_ns, period_ns) for swap in self._swaps)
        few = last // 8  # outliers at either end, left out
        return 2 * (returns[last - few] - returns[few]) < calls[last - few] - calls[few]


def _off(apart_ns: int, period_ns: int) -> int:
    """Distance of two instants, less the nearest whole number of refreshes."""
    return (apart_ns + period_ns // 2) % period_ns - period_ns // 2
