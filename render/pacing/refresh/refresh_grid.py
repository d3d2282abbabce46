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
SAID_SHARE, SAID_WITHIN, WORD_FRAMES = 0.5, 0.1, 30
# Of its last words so many that were not: what it says of the refresh is not believed.
LAST_WORDS, MOST_MISFITS = 16, 4
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
        self._said_ns: int | None = None
        self._word_frames = 0
        self._misfits: deque[bool] = deque(maxlen=LAST_WORDS)
        self._late_moves = False  # the last return off the grid and late meant a new grid
        self._in_time: deque[int] = deque(maxlen=AGREEING_INTERVALS)  # since a frame was late or meant for later

    def add(self, return_ns: int, handed_over_ns: int, planned: int = 1) -> int:
        """Takes in the return of a swap that blocked. Its grid point: when that frame was presented.

        handed_over_ns: when swap was called. planned: the refreshes the frame was meant to take.
        """
        if self._point_ns is None:
            self._point_ns = self._last_return_ns = return_ns
            return return_ns
        if self._word_frames:
            self._word_frames -= 1
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
        last_ns, self._said_ns = self._said_ns, presented_ns
        if refresh_ns is None or last_ns is None:
            return
        apart = (presented_ns - last_ns) / refresh_ns
        misfits = abs(apart - round(apart)) > SAID_WITHIN or apart < 0.5
        self._misfits.append(misfits)
        if misfits or sum(self._misfits) > MOST_MISFITS:
            return  # not what its presents say
        if abs(refresh_ns / self.period_ns - 1) > ORDINARY_SHARE:
            self.begin_anew(refresh_ns, presented_ns)
        else:
            self._measure(presented_ns - last_ns, round(apart))
            self.nudge(presented_ns, SAID_SHARE)
        self._word_frames = WORD_FRAMES

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
