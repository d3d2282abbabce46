"""Computes the refresh grid of a display: a line fitted to the returns of blocking swaps. Also measures the refresh
period.

If the process is delayed, a swap returns late; no delay makes it return early. Some displays keep time only as well as
a timer that is set again at each refresh. Other displays show a late frame at once and continue from this instant. So
the phase of the grid follows early returns fast and late returns slowly. If a return is far off the grid, it moves the
grid at once in two cases: it is early, or its frame was handed over late. If the return is late although its frame was
handed over in time, it is ignored until several returns in a row agree. After late returns have moved the grid in this
way, the next late return moves the grid at once.

The refresh period is the mean of many intervals. The longest and the shortest intervals are left out. If the last
intervals agree on another period, this period is adopted, because the display or its mode has changed.

Always: each result of `add` is greater than the previous one; `point_from` never returns an instant before its
argument. Pure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from twixt.ipc.quantiles import median

# The refresh period is the mean of the last AVERAGED_INTERVALS intervals (one second at 60 Hz). The share
# EXTREME_SHARE of the intervals is left out at the short end, and again at the long end. At least
# AVERAGE_FROM_INTERVALS intervals are needed.
AVERAGED_INTERVALS, EXTREME_SHARE = 60, 0.1
AVERAGE_FROM_INTERVALS = 8
# An early return moves the phase of the grid by FOLLOW_EARLY times its error; a late return by FOLLOW_LATE times its
# error.
FOLLOW_EARLY, FOLLOW_LATE = 0.6, 0.3
# A return of a swap is off the grid if its error exceeds OFF_SHARE of a period. The grid moves if AGREEING_RETURNS
# returns in a row are off the grid and agree with each other.
OFF_SHARE, AGREEING_RETURNS = 0.10, 3
# Another refresh period is adopted if this many intervals in a row agree on it.
AGREEING_INTERVALS = 8
# A frame is in time for the next refresh if it is handed over within this share of a period after a refresh.
IN_TIME_SHARE = 0.9
# When the display reports a present time, the phase of the grid moves towards it by REPORTED_SHARE of the difference.
# The reported times are exact, or wrong by a constant. A report counts if its present time is whole refreshes after
# the previous one, within REPORTED_WITHIN of a refresh. After a report, the next REPORT_FRAMES returns of swaps do not
# move the grid.
REPORTED_SHARE, REPORTED_WITHIN, REPORT_FRAMES = 0.5, 0.1, 30
# The refresh period that the display reports is ignored if more than MOST_MISFITS of the last LAST_REPORTS present
# times were not whole refreshes apart.
LAST_REPORTS, MOST_MISFITS = 16, 4
# An interval of several refreshes is not measured if it differs from whole periods by more than this share.
ORDINARY_SHARE = 0.05


class RefreshGrid:
    """Refresh grid of one display. period_ns: first estimate of the refresh period, in ns, correct within a few
    percent."""

    def __init__(self, period_ns: int) -> None:
        self.period_ns = period_ns
        self._point_ns: int | None = None  # the grid point that belongs to the last return
        self._last_return_ns = 0
        # sums over the ordinary intervals after the last change of the period: their time in ns, their number of
        # refreshes
        self._whole_ns = self._whole_refreshes = 0
        self._intervals: deque[float] = deque(maxlen=AVERAGED_INTERVALS)
        self._off_ns: list[int] = []  # errors of the last returns of swaps that were all off the grid
        self._reported_ns: int | None = None
        self._report_frames = 0
        self._misfits: deque[bool] = deque(maxlen=LAST_REPORTS)
        self._late_moves = False  # True if the last return that was late and off the grid has moved the grid
        # intervals of the last frames that were all handed over in time
        self._in_time: deque[int] = deque(maxlen=AGREEING_INTERVALS)

    def add(self, return_ns: int, handed_over_ns: int, planned: int = 1) -> int:
        """Records the return of a swap that blocked. Returns the grid point that belongs to this return. This point is
        the present time of the frame.

        handed_over_ns: instant at which swap was called. planned: number of refreshes planned for the frame.
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
        """Sets the last point to `point_ns`, but at least 1 ns after the previous point. Returns the point."""
        assert self._point_ns is not None
        self._point_ns = max(point_ns, self._point_ns + 1)
        return self._point_ns

    @property
    def has_phase(self) -> bool:
        """True if a point of the grid is known."""
        return self._point_ns is not None

    @property
    def mean_period_ns(self) -> float:
        """Mean length in ns of all ordinary refreshes after the last change of the period: the long-term period of the
        display."""
        if self._whole_refreshes < AVERAGE_FROM_INTERVALS:
            return self.period_ns
        return self._whole_ns / self._whole_refreshes

    def refreshes_between(self, earlier_ns: int, later_ns: int) -> int:
        """Number of whole refreshes between two instants that are near grid points."""
        return round((later_ns - earlier_ns) / self.period_ns)

    def point_from(self, instant_ns: int) -> int:
        """First grid point at or after `instant_ns`. If no return is known yet, `instant_ns` itself."""
        if self._point_ns is None:
            return instant_ns
        return self._point_ns - (self._point_ns - instant_ns) // self.period_ns * self.period_ns

    def begin_anew(self, period_ns: int, point_ns: int) -> None:
        """Clears all measurements and begins the grid of another display or mode."""
        self.period_ns = period_ns
        self._point_ns = self._last_return_ns = point_ns
        self._intervals.clear()
        self._in_time.clear()
        self._off_ns.clear()
        self._late_moves = False
        self._whole_ns = self._whole_refreshes = 0

    def nudge(self, point_ns: int, share: float) -> None:
        """Moves the phase of the grid towards `point_ns` by `share` of the difference. `point_ns` is roughly a point
        of the grid."""
        if self._point_ns is None:
            self._point_ns = self._last_return_ns = point_ns
            return
        off_ns = (point_ns - self._point_ns + self.period_ns // 2) % self.period_ns - self.period_ns // 2
        self._point_ns += round(off_ns * share)

    def display_reported(self, presented_ns: int, refresh_ns: int | None) -> None:
        """Records a present time that the display reported. refresh_ns: reported refresh period, in ns; None: the
        display has no fixed rate."""
        last_ns, self._reported_ns = self._reported_ns, presented_ns
        if refresh_ns is None or last_ns is None:
            return
        apart = (presented_ns - last_ns) / refresh_ns
        misfits = abs(apart - round(apart)) > REPORTED_WITHIN or apart < 0.5
        self._misfits.append(misfits)
        if misfits or sum(self._misfits) > MOST_MISFITS:
            return  # the reported present times contradict the reported period
        if abs(refresh_ns / self.period_ns - 1) > ORDINARY_SHARE:
            self.begin_anew(refresh_ns, presented_ns)
        else:
            self._measure(presented_ns - last_ns, round(apart))
            self.nudge(presented_ns, REPORTED_SHARE)
        self._report_frames = REPORT_FRAMES

    def restart(self) -> None:
        """Clears the phase of the grid after a time without frames. Keeps the period."""
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
        """Adopts another refresh period if the last frames agree on it, and if all these frames were handed over in
        time for the next refresh. Returns True if the period has changed."""
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


# Measures the refresh period from intervals between blocking swaps. The result is the longest period of which nearly
# all intervals are whole multiples. Pure.


# Range of the refresh periods of displays: 400 Hz to 20 Hz.
SHORTEST_NS, LONGEST_NS = 2_500_000, 50_000_000
# The share SHARE of the intervals must be whole refreshes, within WITHIN of a refresh. The other intervals may be
# delayed.
WITHIN, SHARE = 0.12, 0.8
# In addition, the share EXACTLY_SHARE of the intervals must be whole refreshes within EXACTLY_WITHIN. A display meets
# this condition because it is more regular than frames of equal work.
EXACTLY_WITHIN, EXACTLY_SHARE = 0.05, 0.6
# If the share MOST_OF_THEM of the intervals are multiples of a longer period, a shorter period is accepted only if the
# share NEARLY_ALL are multiples of the shorter period.
MOST_OF_THEM, NEARLY_ALL = 0.5, 0.95
# An interval between swaps is tried as at most this number of refreshes.
MOST_REFRESHES = 8
# The refresh period is measured again if DISAGREEING of the last LAST_RETURNS returns did not fit the grid.
LAST_RETURNS, DISAGREEING = 4, 2
# A measurement of the refresh period uses MEASURED_FRAMES frames that start at once. The next measurement may begin
# PATIENCE_FRAMES frames after it.
MEASURED_FRAMES, PATIENCE_FRAMES = 12, 45
# The known refresh period is kept if at least this share of the measured intervals have this length.
BELIEVED_SHARE = 0.35
# One frame per this time (ns) starts at once, to detect that the display has become faster.
PROBE_EVERY_NS = 2_000_000_000


def longest_common(intervals_ns: Sequence[int], within: float = WITHIN, share: float = SHARE) -> int | None:
    """Longest period, in ns, of which nearly all intervals are whole multiples; None if there is no such period."""
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
        if fitting >= MOST_OF_THEM:  # the other intervals may be delayed, and may fit a shorter period by chance
            wanted = max(share, NEARLY_ALL)
    return None


def _fits(interval_ns: float, period_ns: float, within: float) -> bool:
    refreshes = round(interval_ns / period_ns)
    return refreshes >= 1 and abs(interval_ns - refreshes * period_ns) <= within * period_ns


def _keeps_time(intervals_ns: Sequence[int], period_ns: float) -> bool:
    exact = sum(_fits(ns, period_ns, EXACTLY_WITHIN) for ns in intervals_ns)
    return exact >= EXACTLY_SHARE * len(intervals_ns)


def _fitted(intervals_ns: Sequence[int], period_ns: float, within: float) -> float | None:
    """More precise value of `period_ns`: the mean length of a refresh in the intervals that are multiples of this
    period."""
    fitting = [ns for ns in intervals_ns if _fits(ns, period_ns, within)]
    refreshes = sum(round(ns / period_ns) for ns in fitting)
    return sum(fitting) / refreshes if refreshes else None


class MeasuredSwap(NamedTuple):
    """A swap that blocked. hardly_waited: the wait was so short that the display may not be its cause."""

    called_ns: int
    returned_ns: int
    hardly_waited: bool = False


class RefreshWatch:
    """Detects that the display's refresh period has changed. Measures the new period with frames that start at once."""

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
        """True if the next frame must start at once, to detect that the display has become faster."""
        self._probes = self._probed_ns is None or now_ns - self._probed_ns >= PROBE_EVERY_NS
        if self._probes:
            self._probed_ns = now_ns
        return self._probes or self._left > 0

    def returned(self, swap: MeasuredSwap, period_ns: int, disagrees: bool, is_early: bool = False) -> int | None:
        """Records a swap that blocked. Returns the refresh period, in ns, if this swap completes a new measurement;
        otherwise None.

        disagrees: the return does not fit the grid of `period_ns`. is_early: the swap returned before its refresh. If
        the frame started at once, an early return shows that the display has become faster.
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
        """Records a swap that did not wait for the display."""
        self._last_return_ns = None
        self._left = max(0, self._left - 1)

    def restart(self) -> None:
        self._last_return_ns = None
        self._left = 0
        self._disagreeing.clear()

    def _measured(self, believed_ns: int) -> int | None:
        self._patience = PATIENCE_FRAMES
        # Delayed returns of swaps fit some short period by chance, even if all other returns fit the known period.
        as_believed = sum(abs(ns - believed_ns) <= WITHIN * believed_ns for ns in self._intervals_ns)
        if as_believed >= BELIEVED_SHARE * len(self._intervals_ns):
            return None
        period_ns = longest_common(self._intervals_ns)
        if period_ns and any(swap.hardly_waited for swap in self._swaps) and not self._keep_time(period_ns):
            return None
        return period_ns

    def _keep_time(self, period_ns: int) -> bool:
        """True if the returns of swaps are more regular than the calls of swaps. If so, swaps wait for the display."""
        first, last = self._swaps[0], len(self._swaps) - 1
        calls = sorted(_off(swap.called_ns - first.called_ns, period_ns) for swap in self._swaps)
        returns = sorted(_off(swap.returned_ns - first.returned_ns, period_ns) for swap in self._swaps)
        few = last // 8  # number of outliers that are left out at each end of the sorted values
        return 2 * (returns[last - few] - returns[few]) < calls[last - few] - calls[few]


def _off(apart_ns: int, period_ns: int) -> int:
    """Difference between `apart_ns` and the nearest whole number of refreshes, in ns."""
    return (apart_ns + period_ns // 2) % period_ns - period_ns // 2
