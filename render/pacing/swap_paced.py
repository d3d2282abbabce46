"""Placement of frames at swaps. If swap blocks, frames are placed on whole refreshes. If swap does not block, frames
are placed on a timer's grid, or are unlimited.

Whole refreshes (swap returns when its frame is shown):

    start --work-- done swap ....blocked.... return  the display's own refresh is the grid

A frame starts early enough that nearly every frame is in time. A frame is handed over at least as long before its
refresh as earlier frames needed. If a frame is known at its start to be late, it is drawn for the first refresh that
it can reach. If a frame is ready too early for its planned refresh, its swap is held back. The return of a swap that
did not wait is not a present time. Pure.
"""

from __future__ import annotations

from collections import deque

from twixt.render.pacing.display_waits import UnexpectedWaits
from twixt.render.pacing.grid import MeasuredSwap, RefreshGrid, RefreshWatch
from twixt.render.pacing.interval import IntervalChoice
from twixt.render.pacing.policy import (
    BLOCKING,
    FREE,
    QUEUED,
    FoundDisplay,
    FrameOutcome,
    FramePlacement,
    FrameTimes,
    HandOver,
    StartMargin,
    WorkEstimate,
)

# First start margin (ns), if no margin could be learned because all earlier frames started at once.
MARGIN_AFTER_NS = 4_000_000
# A frame counts as late at its start if its usual work would end too late by more than this share of a refresh.
KNOWN_LATE_SHARE = 0.03
# If a frame takes several refreshes, its swap is called this share of a refresh before its planned refresh. An earlier
# swap could show the frame too early: some displays show a frame at once if the previous refresh showed no new frame.
HOLD_SHARE = 0.75
# If a swap takes this long (in ns) or less, it did not wait, and its return is not on the display's grid.
BLOCKED_NS = 200_000
# A swap also did not wait if it took less than HARDLY_NS and returned early, by more than EARLY_NS and by more than
# EARLY_SHARE of a refresh. If MOST_UNWAITED of the last LAST_SWAPS swaps did not wait, swap does not set the pace.
EARLY_NS, EARLY_SHARE, HARDLY_NS = 1_000_000, 0.15, 1_000_000
LAST_SWAPS, MOST_UNWAITED = 8, 5
# If the display has a queue, only long frames drain it, and only then swaps do not wait. The display counts as a queue
# if swaps are proved to wait, but QUEUE_UNWAITED of the last QUEUE_SWAPS swaps did not wait.
QUEUE_SWAPS, QUEUE_UNWAITED = 240, 3
# Swaps are proved to wait if the share PROVEN_SHARE of the last PROVING_SWAPS swaps waited and then returned on the
# display's grid. If swaps that were proved to wait stop waiting, long work has drained a queue.
PROVING_SWAPS, PROVEN_SHARE = 40, 0.75
# A busy machine causes the waits if less than LEAST_SHARE of the last JUDGED_RETURNS waits ended on the grid.
JUDGED_RETURNS, LEAST_SHARE = 12, 0.4
# A refresh period was learned on a busy machine if it differs from the proved period by more than this share.
SURE_SHARE = 0.004
# A return of a swap is off the display's grid if its error exceeds this share of a refresh.
OFF_SHARE = 0.12


class WholeRefreshes:
    """Policy of whole refreshes. interval: choice of the frame interval, in refreshes. grid: the display's grid, if
    known. is_called: a swap waits for the compositor's frame callback; a frame whose swap does not wait is late."""

    display = BLOCKING

    def __init__(
        self,
        interval: IntervalChoice,
        work: WorkEstimate,
        grid: RefreshGrid,
        shown_ns: int | None = None,
        is_called: bool = False,
    ) -> None:
        self.shown_ns = shown_ns
        self.grid = grid
        self._interval, self._work = interval, work
        self._margin = StartMargin(MARGIN_NS, MARGIN_AFTER_NS if shown_ns is not None else 0)
        self._hand_over = HandOver()
        self._watch = RefreshWatch()
        self._swaps = SwapRecord(grid.period_ns, is_called)
        self._deadline_ns = self._start_ns = 0
        self._planned = 1  # number of refreshes planned for the current frame
        self._is_off_grid = False  # True if the last return was off the grid
        interval.queues = False
        self._tell_interval()

    def plan(self, now_ns: int) -> FramePlacement:
        interval, work, period_ns = self._interval, self._work, self.grid.period_ns
        guard_ns = self._hand_over.guard_ns
        self._planned = interval.refreshes
        reason = ""
        if self.shown_ns is None:
            self._deadline_ns = now_ns + interval.interval_ns
        else:
            self._deadline_ns = self.shown_ns + interval.interval_ns
            usual_end_ns = now_ns + work.usual_ns + guard_ns
            late_ns = usual_end_ns - self._deadline_ns
            if late_ns > KNOWN_LATE_SHARE * period_ns:
                self._deadline_ns = self.grid.point_from(usual_end_ns - round(KNOWN_LATE_SHARE * period_ns))
                self._planned = max(1, self.grid.refreshes_between(self.shown_ns, self._deadline_ns))
                reason = f"will be {late_ns / 1e6:.1f} ms late: starts at once, planned for {self._planned} refreshes"
        at_once = self.shown_ns is None or self._watch.starts_at_once(now_ns)
        lead_ns = work.lead_ns(interval.interval_ns) + guard_ns + self._margin.ns
        self._start_ns = now_ns if at_once else max(now_ns, self._deadline_ns - lead_ns)
        return FramePlacement(self._start_ns, self._swap_at_ns(), self._deadline_ns, reason)

    def _swap_at_ns(self) -> int | None:
        if self._planned == 1 or self._watch.measures:
            return None
        return self._deadline_ns - round(HOLD_SHARE * self.grid.period_ns)

    def drawn(self, start_ns: int, work_end_ns: int) -> int | None:
        self._work.drawn(work_end_ns - start_ns, work_end_ns - self._start_ns)
        return self._swap_at_ns()

    def done(self, times: FrameTimes) -> FrameOutcome:
        returned_ns = times.presented_ns or times.swap_end_ns
        cycle_ns = times.work_end_ns - times.start_ns + self._work.overhead_ns
        self._work.swapped(0, max(returned_ns, times.swap_end_ns))
        present_ns, why = self._present(times, returned_ns)
        missed = 0
        short_ns = times.work_end_ns + self._hand_over.guard_ns - self._deadline_ns
        if self.shown_ns is not None:
            missed = max(0, self.grid.refreshes_between(self._deadline_ns, present_ns))
            self._learn(times.swap_begin_ns, missed)
        self.shown_ns = present_ns if self.shown_ns is None else max(present_ns, self.shown_ns + 1)
        self._margin.learn(missed > 0, short_ns, cycle_ns + self._hand_over.guard_ns, self._interval.interval_ns)
        self._tell_interval()
        # If the swap did not wait, the frame may have waited while it was drawn. Such a wait must not count as work.
        changed = "" if self._swaps.was_unwaited else self._interval.frame(cycle_ns, times.swap_end_ns)
        reason = "; ".join(filter(None, (why, changed)))
        return FrameOutcome(self.shown_ns, missed, reason, self._other_display())

    def _other_display(self) -> FoundDisplay | None:
        """Another kind of display if the swap does not set the pace; otherwise None."""
        swaps, period_ns = self._swaps, self.grid.period_ns
        if not swaps.wait_elsewhere(period_ns):
            return None
        if abs(period_ns / swaps.sure_period_ns - 1) > SURE_SHARE:  # the grid's period was learned on a busy machine
            self.grid.begin_anew(swaps.sure_period_ns, self.shown_ns or 0)
        return FoundDisplay(QUEUED, queues=swaps.proved_to_wait)

    def _present(self, times: FrameTimes, returned_ns: int) -> tuple[int, str]:
        """Present time of the frame, and a reason if the present time is unusual."""
        grid, period_ns, begin_ns = self.grid, self.grid.period_ns, times.swap_begin_ns
        expected_ns = grid.point_from(begin_ns + self._hand_over.guard_ns)
        if self.shown_ns is not None and expected_ns < self.shown_ns + period_ns // 2:
            expected_ns += period_ns
        waited_ns = returned_ns - begin_ns
        early_ns = expected_ns - returned_ns
        is_early = early_ns > max(EARLY_NS, EARLY_SHARE * period_ns)
        hardly = is_early and waited_ns < HARDLY_NS and self.shown_ns is not None
        is_unwaited = waited_ns <= BLOCKED_NS or (hardly and not self._watch.measures)
        self._swaps.add(is_unwaited, is_counted=self.shown_ns is not None)
        if is_unwaited:
            self._watch.skip_return()
            self._is_off_grid = False
            return expected_ns, f"swap returned {early_ns / 1e6:.1f} ms before its refresh, without waiting"
        disagrees = self._disagrees(begin_ns, returned_ns, expected_ns)
        self._swaps.add_return(
            not disagrees, is_fenced=times.presented_ns is not None, is_judged=not self._watch.measures
        )
        measured_ns = self._watch.returned(MeasuredSwap(begin_ns, returned_ns, hardly), period_ns, disagrees, is_early)
        if measured_ns is not None and abs(measured_ns / period_ns - 1) > OFF_SHARE / 4:
            self._adopt_period(measured_ns, returned_ns)
            self._swaps.sure_period_ns = measured_ns
            return returned_ns, f"measured a refresh period of {measured_ns / 1e6:.2f} ms"
        present_ns = grid.add(returned_ns, begin_ns, self._planned)
        if abs(grid.period_ns / period_ns - 1) > OFF_SHARE:
            self._adopt_period(grid.period_ns, present_ns)
        if self._watch.measures:  # the grid may be wrong, so the return is the present time
            return max(returned_ns, (self.shown_ns or 0) + 1), "measures the refresh period"
        return present_ns, ""

    def _disagrees(self, begin_ns: int, returned_ns: int, expected_ns: int) -> bool:
        """True if the return is off the grid, or if the frame was in time for a refresh but was shown later."""
        self._is_off_grid = False
        if self.shown_ns is None:
            return False
        period_ns = self.grid.period_ns
        off_ns = (returned_ns - expected_ns + period_ns // 2) % period_ns - period_ns // 2
        self._is_off_grid = abs(off_ns) > OFF_SHARE * period_ns
        if self._is_off_grid:
            return True
        return (
            self._planned == 1
            and expected_ns - begin_ns > 0.3 * period_ns
            and returned_ns > expected_ns + period_ns // 2
        )

    def _adopt_period(self, period_ns: int, point_ns: int) -> None:
        self.grid.begin_anew(period_ns, point_ns)
        self._swaps.forget_returns()
        self._hand_over.forget()
        self._margin.forget()
        self._interval.set_refresh(period_ns, is_new=True)

    def _learn(self, begin_ns: int, missed: int) -> None:
        spare_ns = self._deadline_ns - begin_ns
        # If the display showed a frame late, its swap returns at a refresh. Other returns were delayed by the machine.
        if not self._watch.measures and missed <= 1 and not (missed and self._is_off_grid):
            self._hand_over.learn(spare_ns, missed > 0, self.grid.period_ns)

    def _tell_interval(self) -> None:
        self._interval.set_refresh(self.grid.period_ns)
        self._interval.guard_ns = self._hand_over.guard_ns

    def display_reported(self, presented_ns: int, refresh_ns: int | None) -> None:
        """Passes the report to the grid."""
        was_ns = self.grid.period_ns
        self.grid.display_reported(presented_ns, refresh_ns)
        if abs(self.grid.period_ns / was_ns - 1) > OFF_SHARE:
            self._adopt_period(self.grid.period_ns, presented_ns)

    def restart(self) -> None:
        self.shown_ns = None
        self.grid.restart()
        self._watch.restart()
        self._swaps.restart()


class SwapRecord:
    """Records of each swap whether it waited, and whether it returned on the display's grid after a wait.

    sure_period_ns: the last refresh period, in ns, that the returns of swaps proved.
    """

    def __init__(self, sure_period_ns: int, is_called: bool) -> None:
        self.sure_period_ns = sure_period_ns
        self._is_called = is_called
        self.was_unwaited = False  # True if the last swap did not wait
        self._unwaited: deque[bool] = deque(maxlen=LAST_SWAPS)
        self._rarely: deque[bool] = deque(maxlen=QUEUE_SWAPS)  # True for each swap that did not wait
        self._on_grid: deque[bool] = deque(maxlen=PROVING_SWAPS)
        self._returns: deque[bool] = deque(maxlen=JUDGED_RETURNS)  # True for each return that is on the grid

    @property
    def proved_to_wait(self) -> bool:
        """True if swaps were proved to wait for the display until recently. The waits of fences do not count."""
        return sum(self._on_grid) >= PROVEN_SHARE * PROVING_SWAPS

    def add(self, is_unwaited: bool, is_counted: bool) -> None:
        """Records a swap. is_counted: False for the first frame after a time without frames."""
        self.was_unwaited = is_unwaited
        self._unwaited.append(is_unwaited)
        self._rarely.append(is_unwaited and is_counted)

    def add_return(self, on_grid: bool, is_fenced: bool, is_judged: bool) -> None:
        """Records the return of a swap that waited. is_judged: the return counts as evidence of a busy machine."""
        self._on_grid.append(on_grid and not is_fenced)
        if is_judged:
            self._returns.append(on_grid)

    def wait_elsewhere(self, period_ns: int) -> bool:
        """True if the swap does not set the pace. period_ns: current estimate of the refresh period, in ns."""
        proved = self.proved_to_wait
        if proved:
            self.sure_period_ns = period_ns
        if self._is_called:  # only the compositor's callbacks set the pace, even if they come unevenly
            return False
        off = len(self._returns) == JUDGED_RETURNS and sum(self._returns) < LEAST_SHARE * JUDGED_RETURNS
        drains = proved and sum(self._rarely) >= QUEUE_UNWAITED
        return off or drains or sum(self._unwaited) >= MOST_UNWAITED

    def forget_returns(self) -> None:
        """Clears the recorded returns of swaps, because the grid has changed."""
        self._returns.clear()

    def restart(self) -> None:
        """Clears the recorded swaps after a time without frames."""
        self._unwaited.clear()
        self._rarely.clear()


# Timer: a grid of deadlines with any interval, used if swap does not wait. Then the return of swap is the present
# time.
#
#     start --work-- done ....wait.... swap            swap at the deadline
#
# A late frame is shown as soon as it is drawn; the next frame is on the grid again. If it is known at the start of a
# frame that the frame will be late, its deadline is the end of its work. The first of such late frames gets a deadline
# 1.2 times its usual work after its start, because its work varies. The next frames catch up. After a late frame,
# short frames skip the grid points that have passed. Frames longer than half an interval skip no point until they are
# one interval late, because each skipped point is a lost picture. Pure.


# Frames start earlier than their usual work requires, by this time (ns). Users see a late frame as uneven motion. They
# do not notice that input is read 2 ms earlier.
MARGIN_NS = 2_000_000
# A frame counts as late at its start if its usual work would end too late by more than this share of an interval.
TIMER_LATE_SHARE = 0.02
# A frame misses its deadline if it is shown more than this share of an interval after the deadline.
MISSED_SHARE = 0.10
# The first frame that is known to be late gets this factor times its usual work as its planned duration.
LATE_FRAME = 1.2
# If the usual work exceeds this share of an interval, a frame that is late for a grid point does not skip the point.
HEAVY_SHARE = 0.5
# Two planned present times are at least this share of an interval apart.
CLOSEST_SHARE = 0.1


class TimerGrid:
    """Policy of the timer's grid. interval: choice of the frame interval. watches: swaps that wait are detected."""

    display = FREE

    def __init__(
        self, interval: IntervalChoice, work: WorkEstimate, shown_ns: int | None = None, watches: bool = True
    ) -> None:
        self.shown_ns = shown_ns
        self._interval, self._work = interval, work
        self._margin = StartMargin(MARGIN_NS)
        self._waits = UnexpectedWaits() if watches else None
        self._origin_ns = shown_ns or 0  # instant of one point of the grid, in ns
        self._deadline_ns = self._start_ns = 0
        self._is_late = False

    def plan(self, now_ns: int) -> FramePlacement:
        work, interval_ns = self._work, self._interval.interval_ns
        swap_ns, usual_ns = work.swap_ns, work.usual_ns
        lead_ns = min(work.lead_ns(interval_ns) + self._margin.ns, max(interval_ns, usual_ns))
        reason = ""
        if self.shown_ns is None:  # no previous present time: the frame is planned as early as possible
            self._deadline_ns = self._origin_ns = now_ns + lead_ns + swap_ns
        else:
            closest_ns = self.shown_ns + round(CLOSEST_SHARE * interval_ns)
            is_heavy = usual_ns > HEAVY_SHARE * interval_ns
            self._origin_ns = self._next_point(now_ns - interval_ns if is_heavy else closest_ns, interval_ns)
            self._deadline_ns = max(self._origin_ns, closest_ns)
            late_ns = now_ns + usual_ns + swap_ns - self._deadline_ns
            was_late, self._is_late = self._is_late, late_ns > TIMER_LATE_SHARE * interval_ns
            if self._is_late:
                catches_up = not was_late and usual_ns + swap_ns + work.overhead_ns <= interval_ns
                planned_ns = round(LATE_FRAME * usual_ns) if catches_up else usual_ns
                self._deadline_ns = now_ns + planned_ns + swap_ns
                known = f"will be {late_ns / 1e6:.1f} ms late"
                reason = f"{known}: starts at once, planned for {planned_ns / 1e6:.1f} ms of work"
        self._start_ns = max(now_ns, self._deadline_ns - swap_ns - lead_ns)
        return FramePlacement(self._start_ns, self._deadline_ns - swap_ns, self._deadline_ns, reason)

    def _next_point(self, after_ns: int, interval_ns: int) -> int:
        point_ns = self._origin_ns + interval_ns
        return point_ns + max(0, (after_ns - point_ns) // interval_ns + 1) * interval_ns

    def drawn(self, start_ns: int, work_end_ns: int) -> int | None:
        self._work.drawn(work_end_ns - start_ns, work_end_ns - self._start_ns)
        return self._deadline_ns - self._work.swap_ns

    def done(self, times: FrameTimes) -> FrameOutcome:
        work, interval_ns = self._work, self._interval.interval_ns
        present_ns = times.presented_ns or times.swap_end_ns
        swap_ns = times.swap_end_ns - times.swap_begin_ns
        short_ns = times.work_end_ns + work.swap_ns - self._deadline_ns
        work.swapped(swap_ns, present_ns)
        cycle_ns = times.work_end_ns - times.start_ns + swap_ns + work.overhead_ns
        late_ns = present_ns - self._deadline_ns
        missed = late_ns > MISSED_SHARE * interval_ns
        self.shown_ns = max(present_ns, self._deadline_ns) if missed else self._deadline_ns
        self._margin.learn(missed, short_ns, cycle_ns, interval_ns)
        reason = f"{late_ns / 1e6:.1f} ms late" if missed else ""
        display = None
        if self._waits is not None:
            display = self._waits.frame(times.swap_begin_ns, times.swap_end_ns, interval_ns)
        changed = self._interval.frame(cycle_ns, times.swap_end_ns)
        return FrameOutcome(present_ns, int(missed), "; ".join(filter(None, (reason, changed))), display)

    def display_reported(self, presented_ns: int, refresh_ns: int | None) -> None:
        """No-op: the timer does not follow the display."""

    def restart(self) -> None:
        self.shown_ns = None


class Unlimited:
    """Starts every frame at once. A frame is expected to be shown when its usual work and its swap have ended."""

    display = FREE

    def __init__(self, work: WorkEstimate) -> None:
        self.shown_ns: int | None = None
        self._work = work

    def plan(self, now_ns: int) -> FramePlacement:
        return FramePlacement(now_ns, None, now_ns + self._work.usual_ns + self._work.swap_ns)

    def drawn(self, start_ns: int, work_end_ns: int) -> int | None:
        self._work.drawn(work_end_ns - start_ns, work_end_ns - start_ns)
        return None

    def done(self, times: FrameTimes) -> FrameOutcome:
        self._work.swapped(times.swap_end_ns - times.swap_begin_ns, times.swap_end_ns)
        return FrameOutcome(times.presented_ns or times.swap_end_ns, 0)

    def display_reported(self, presented_ns: int, refresh_ns: int | None) -> None:
        """No-op."""

    def restart(self) -> None:
        self.shown_ns = None
