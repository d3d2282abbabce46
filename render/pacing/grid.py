"""Refresh grid: a line fitted to the returns of blocking swaps.

A return is late by whatever held the process up, never early; and some displays keep time no better than a timer that
is set anew for each refresh, or show a frame that comes late at once and count on from there. So the phase follows
early returns readily and late ones slowly. Far off the grid, a return that is early, or whose frame was handed
over late, moves it at once; one that is merely late is ignored until several in a row agree, or believed at once where
the last such return proved right. The period is
the mean of many intervals without the extreme ones; when the last ones agree on another, it is that (another display,
another mode).

Always: the answers of `add` grow, and `point_from` is never earlier than asked. Pure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from twixt.ipc.quantiles import median

# Intervals the period is the mean of: a second at 60 Hz. The extreme share at either end is left out.
AVERAGED_INTERVALS, EXTREME_SHARE = 60, 0.1
AVERAGE_FROM_INTERVALS = 8
# Shares of a return's error by which the phase follows it.
FOLLOW_EARLY, FOLLOW_LATE = 0.6, 0.3
# Off the grid: beyond this share of a period. So many in a row that agree with each other: the grid has moved there.
OFF_SHARE, AGREEING_RETURNS = 0.10, 3
# So many intervals in a row that agree on another period: it is that one.
AGREEING_INTERVALS = 8
# Handed over within this share of a period after the refresh before, a frame was in time for the next.
IN_TIME_SHARE = 0.9
# The display's own word moves the phase by this share: it is exact, or constantly off. Its presents are whole
# refreshes apart within this share of one; so many returns after it are counted by it, wherever they come.
REPORTED_SHARE, REPORTED_WITHIN, REPORT_FRAMES = 0.5, 0.1, 30
# Of its last words so many that were not: what it says of the refresh is not believed.
LAST_REPORTS, MOST_MISFITS = 16, 4
# An interval of several refreshes further than this share from the period was shown off the grid: no measure.
ORDINARY_SHARE = 0.05


class RefreshGrid:
    """period_ns: a first guess, within a few percent."""

    def __init__(self, period_ns: int) -> None:
        self.period_ns = period_ns
        self._point_ns: int | None = None  # the grid point of the last return
        self._last_return_ns = 0
        self._whole_ns = self._whole_refreshes = 0  # sums over the ordinary intervals since the period changed
        self._intervals: deque[float] = deque(maxlen=AVERAGED_INTERVALS)
        self._off_ns: list[int] = []  # errors of the returns off the grid, in a row
        self._reported_ns: int | None = None
        self._report_frames = 0
        self._misfits: deque[bool] = deque(maxlen=LAST_REPORTS)
        self._late_moves = False  # the last return off the grid and late meant a new grid
        self._in_time: deque[int] = deque(maxlen=AGREEING_INTERVALS)  # since a frame was late or meant for later

    def add(self, return_ns: int, handed_over_ns: int, planned: int = 1) -> int:
        """Takes in the return of a swap that blocked. Its grid point: when that frame was presented.

        handed_over_ns: when swap was called. planned: the refreshes the frame was meant to take.
        """
        if self._point_ns is None:
            self._point_ns = self._last_return_ns = return_ns
            return return_ns
        if self._report_frames:
            self._report_frames -= 1
            self._last_return_ns = return_ns
            refreshes = max(1, self.refreshes_between(self._point_ns, return_ns))
            return self._grown_to(self._point_ns + refreshes * self.period_ns)
        in_time = planned == 1 and handed_over_ns < self._point_ns + IN_TIME_SHARE * self.period_ns
        interval_ns = return_ns - self._last_return_ns
        self._last_return_ns = return_ns
        if self._has_changed(interval_ns, in_time):
            return self._grown_to(return_ns)
        refreshes = max(1, self.refreshes_between(self._point_ns, return_ns))
        self._measure(interval_ns, refreshes, in_time)
        expected_ns = self._point_ns + refreshes * self.period_ns
        error_ns = return_ns - expected_ns
        if abs(error_ns) <= OFF_SHARE * self.period_ns:
            if self._off_ns:
                self._late_moves = False
                self._off_ns.clear()
            return self._grown_to(expected_ns + round(error_ns * (FOLLOW_EARLY if error_ns < 0 else FOLLOW_LATE)))
        if handed_over_ns > expected_ns:
            return self._grown_to(return_ns)
        if error_ns < 0:
            self._late_moves = False
            return self._grown_to(return_ns)
        if self._late_moves or self._agree_off_grid(error_ns):
            self._late_moves = True
            self._off_ns.clear()
            return self._grown_to(return_ns)
        return self._grown_to(expected_ns)

    def _grown_to(self, point_ns: int) -> int:
        """The next point: this, but never at or before the one there is."""
        assert self._point_ns is not None
        self._point_ns = max(point_ns, self._point_ns + 1)
        return self._point_ns

    @property
    def has_phase(self) -> bool:
        """True if any instant is known to be a point of it."""
        return self._point_ns is not None

    @property
    def mean_period_ns(self) -> float:
        """Over all ordinary refreshes since the period last changed: what the display keeps in the long run."""
        if self._whole_refreshes < AVERAGE_FROM_INTERVALS:
            return self.period_ns
        return self._whole_ns / self._whole_refreshes

    def refreshes_between(self, earlier_ns: int, later_ns: int) -> int:
        """Whole refreshes between two instants near grid points."""
        return round((later_ns - earlier_ns) / self.period_ns)

    def point_from(self, instant_ns: int) -> int:
        """The first grid point at or after `instant_ns`, which itself counts before any return is known."""
        if self._point_ns is None:
            return instant_ns
        return self._point_ns - (self._point_ns - instant_ns) // self.period_ns * self.period_ns

    def begin_anew(self, period_ns: int, point_ns: int) -> None:
        """Another display, or another mode of it: what was measured is forgotten."""
        self.period_ns = period_ns
        self._point_ns = self._last_return_ns = point_ns
        self._intervals.clear()
        self._in_time.clear()
        self._off_ns.clear()
        self._late_moves = False
        self._whole_ns = self._whole_refreshes = 0

    def nudge(self, point_ns: int, share: float) -> None:
        """An instant that is a point of the grid, give or take: the phase follows it by that share."""
        if self._point_ns is None:
            self._point_ns = self._last_return_ns = point_ns
            return
        off_ns = (point_ns - self._point_ns + self.period_ns // 2) % self.period_ns - self.period_ns // 2
        self._point_ns += round(off_ns * share)

    def display_reported(self, presented_ns: int, refresh_ns: int | None) -> None:
        """Takes in an instant at which the display says that it refreshed; refresh_ns None: at no fixed rate."""
        last_ns, self._reported_ns = self._reported_ns, presented_ns
        if refresh_ns is None or last_ns is None:
            return
        apart = (presented_ns - last_ns) / refresh_ns
        misfits = abs(apart - round(apart)) > REPORTED_WITHIN or apart < 0.5
        self._misfits.append(misfits)
        if misfits or sum(self._misfits) > MOST_MISFITS:
            return  # not what its presents say
        if abs(refresh_ns / self.period_ns - 1) > ORDINARY_SHARE:
            self.begin_anew(refresh_ns, presented_ns)
        else:
            self._measure(presented_ns - last_ns, round(apart))
            self.nudge(presented_ns, REPORTED_SHARE)
        self._report_frames = REPORT_FRAMES

    def restart(self) -> None:
        """Swaps stopped for a while: the phase is forgotten, the period is not."""
        self._point_ns = None
        self._off_ns.clear()
        self._in_time.clear()

    def _measure(self, interval_ns: int, refreshes: int, in_time: bool = True) -> None:
        refresh_ns = interval_ns / refreshes
        ordinary = abs(refresh_ns - self.period_ns) < ORDINARY_SHARE * self.period_ns
        if not ordinary and (refreshes > 1 or not in_time):
            return
        self._intervals.append(refresh_ns)
        if ordinary:
            self._whole_ns += interval_ns
            self._whole_refreshes += refreshes
        if len(self._intervals) >= AVERAGE_FROM_INTERVALS:
            ordered = sorted(self._intervals)
            left_out = int(len(ordered) * EXTREME_SHARE)
            kept = ordered[left_out : len(ordered) - left_out]
            self.period_ns = round(sum(kept) / len(kept))

    def _has_changed(self, interval_ns: int, in_time: bool) -> bool:
        """Takes another period on which the last frames, all handed over in time for the next refresh, agree. Returns
        True if they do."""
        if not in_time:
            self._in_time.clear()
            return False
        self._in_time.append(interval_ns)
        period_ns = median(self._in_time)
        agree = max(self._in_time) - min(self._in_time) <= OFF_SHARE * period_ns
        if len(self._in_time) < AGREEING_INTERVALS or not agree:
            return False
        if abs(period_ns - self.period_ns) <= OFF_SHARE * self.period_ns:
            return False
        self.period_ns = round(period_ns)
        self._intervals.clear()
        self._whole_ns = self._whole_refreshes = 0
        return True

    def _agree_off_grid(self, error_ns: int) -> bool:
        self._off_ns.append(error_ns)
        last = self._off_ns[-AGREEING_RETURNS:]
        return len(last) == AGREEING_RETURNS and max(last) - min(last) <= OFF_SHARE * self.period_ns


# Refresh period from intervals between blocking swaps: the longest that divides them all. Pure.


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

    def skip_return(self) -> None:
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
