"""Frames where the display keeps the pace but swap's return is no present: swap returns at once, or display queues.

Every frame starts at once, and the display blocks the next one somewhere: in the first drawing call (swap returns at
once), or in a later swap (a queue). A present then is counted, not read: the first refresh after the hand-over, and a
whole refresh after the frame before. A full queue therefore shows a frame each refresh though one of them was late.

Where neither drawing nor swap waits, nothing keeps the pace: the timer has to. A queue whose swaps waited before stays
one while frames take longer than a refresh: they drain it. Pure.
"""

from __future__ import annotations

from collections import deque

from twixt.render.pacing.bare_work import BareWork
from twixt.render.pacing.frames import FrameTimes
from twixt.render.pacing.hand_over import FIRST_GUARD_NS
from twixt.render.pacing.interval import IntervalChoice
from twixt.render.pacing.phase import SwapGrid
from twixt.render.pacing.policy import BLOCKING, FREE, QUEUED, Outcome, Planned
from twixt.render.pacing.replay import HOLD_SHARE
from twixt.render.pacing.waits import WAITED_NS, RegularWaits
from twixt.render.pacing.work import Work
from twixt.render.recent import median

# Swaps that waited for the very next refresh though nothing was pending: so many in a row, and swap blocks after all.
PLAIN_WAITS = 4
# So many frames are not judged at first.
LEARNING_FRAMES = 24
# Frames in a row whose present a fence knew: presents are read again.
FENCED = 2
# Drawing that waits says when the frame before was seen, give or take; the grid follows by this share.
FOLLOWS = 0.1
# A frame handed over this share of a refresh from the last instant for it may have been shown one later; it was, if the
# next frame's drawing then took so much of a refresh longer than usual.
UNSURE_SHARE, LONGER_SHARE = 0.2, 0.6
# Where frames take several refreshes, drawing starts this share of one after the frame before is seen: it waits for
# nothing.
START_SHARE = 0.15
# Frames in so many intervals that agree on a length this much off: the display has another refresh.
LAST_INTERVALS, OTHER_SHARE, AGREE_SHARE = 8, 0.05, 0.08


class DisplayPaced:
    """interval: in refreshes. grid: of the display, as far as it is known; its phase may be wrong at first."""

    display = QUEUED

    def __init__(
        self, interval: IntervalChoice, work: Work, grid: SwapGrid, shown_ns: int | None = None, queues: bool = False
    ) -> None:
        self.shown_ns = shown_ns
        self.grid = grid
        self._interval, self._work = interval, work
        self._bare = BareWork()
        self._waits = RegularWaits(queues)
        self._intervals_ns: deque[int] = deque(maxlen=LAST_INTERVALS)
        self._plain = 0
        self._unsure = False
        self._fenced = self._frames = 0
        self._begin_ns: int | None = None  # of the last swap
        self._deadline_ns = 0
        self._planned = 1
        self._interval.set_refresh(grid.period_ns)
        self._interval.guard_ns = FIRST_GUARD_NS

    @property
    def _queues(self) -> bool:
        """Whether earlier frames are waited for in swap; else drawing waits."""
        return self._waits.queues

    def plan(self, now_ns: int) -> Planned:
        grid, period_ns = self.grid, self.grid.period_ns
        self._planned = self._interval.refreshes
        if self.shown_ns is None:
            self._deadline_ns = now_ns + self._interval.interval_ns
            return Planned(now_ns, None, self._deadline_ns)
        reason = ""
        if self._planned > 1:
            later_ns = self.shown_ns + round(START_SHARE * period_ns)
            fits = later_ns + self._work.usual_ns <= self.shown_ns + self._interval.interval_ns - period_ns // 2
            start_ns = max(now_ns, later_ns) if fits or not self._queues else now_ns
        else:
            start_ns = now_ns + self._bare.pause_ns(now_ns, period_ns, self._queues and not self._waits.is_in_doubt)
            if start_ns > now_ns:
                reason = "starts a little later: to see whether its drawing waits"
        drawable_ns = start_ns if self._queues else max(start_ns, self.shown_ns)
        ready_ns = drawable_ns + self._work.usual_ns + FIRST_GUARD_NS
        self._deadline_ns = grid.point_from(max(self.shown_ns + self._interval.interval_ns - period_ns // 2, ready_ns))
        self._planned = max(1, grid.refreshes_between(self.shown_ns, self._deadline_ns))
        return Planned(start_ns, self._swap_at_ns(), self._deadline_ns, reason)

    def _swap_at_ns(self) -> int | None:
        if self._interval.refreshes == 1:
            return None
        return self._deadline_ns - round(HOLD_SHARE * self.grid.period_ns)

    def drawn(self, start_ns: int, work_end_ns: int) -> int | None:
        self._make_sure(start_ns, work_end_ns)
        begun_ns = start_ns
        if self.shown_ns is not None and not self._queues:
            begun_ns = max(start_ns, min(self.shown_ns, work_end_ns))
        self._work.drawn(work_end_ns - begun_ns, work_end_ns - begun_ns)
        return self._swap_at_ns()

    def _make_sure(self, start_ns: int, work_end_ns: int) -> None:
        """Whether the frame before missed a refresh that it may have made: this one's drawing waited for it."""
        if not self._unsure or self.shown_ns is None or self._queues:
            return
        period_ns = self.grid.period_ns
        if work_end_ns - max(start_ns, self.shown_ns) > self._work.usual_ns + LONGER_SHARE * period_ns:
            self.shown_ns += period_ns

    def done(self, times: FrameTimes) -> Outcome:
        grid = self.grid
        returned_ns = times.presented_ns or times.swap_end_ns
        begin_ns = times.swap_begin_ns
        self._interval.queues = self._queues
        waited = False
        if self._interval.refreshes == 1:
            waited = self._waits.frame(times.work_end_ns - times.start_ns, begin_ns, returned_ns, grid.period_ns)
        begun_ns = times.start_ns - self._work.overhead_ns
        if not self._queues:  # what passes before its drawing waits costs nothing
            begun_ns = max(begun_ns, self.shown_ns or 0)
        cycle_ns = max(0, times.work_end_ns - begun_ns)
        if self._begin_ns is not None and not self._queues:
            # How long drawing waited is a guess; a frame that came in its turn was not too long.
            cycle_ns = min(cycle_ns, max(0, begin_ns - self._begin_ns - grid.period_ns // 2))
        self._work.swapped(0, returned_ns)
        display = self._what_it_is(times, waited)
        why = self._follow(times, waited, returned_ns)
        handed_ns = (
            begin_ns + FIRST_GUARD_NS if waited or self._queues else max(begin_ns + FIRST_GUARD_NS, times.swap_end_ns)
        )
        present_ns = self._counted(handed_ns)
        missed = 0
        if self.shown_ns is not None:
            missed = max(0, grid.refreshes_between(self._deadline_ns, present_ns))
        spare_ns = present_ns - handed_ns
        self._unsure = spare_ns < UNSURE_SHARE * grid.period_ns
        self.shown_ns = present_ns
        self._begin_ns = begin_ns
        # Until it is known what waits, waiting would count as work.
        self._frames += 1
        waits_in_drawing = not self._queues and self._interval.refreshes == 1
        knows = self._frames > LEARNING_FRAMES and (not waits_in_drawing or self._bare.work_ns is not None)
        changed = self._interval.frame(cycle_ns, times.swap_end_ns) if knows else ""
        return Outcome(present_ns, missed, "; ".join(filter(None, (why, changed))), display)

    def _counted(self, ready_ns: int) -> int:
        """The first refresh after the hand-over, and after the one before."""
        if self.shown_ns is not None:
            ready_ns = max(ready_ns, self.shown_ns + self.grid.period_ns // 2)
        return self.grid.point_from(ready_ns)

    def _what_it_is(self, times: FrameTimes, waited: bool) -> str | None:
        period_ns = self.grid.period_ns
        if self.shown_ns is not None and times.swap_begin_ns > self.shown_ns + period_ns // 4:
            # Nothing is pending.
            spare_ns = self.grid.point_from(times.swap_begin_ns) - times.swap_begin_ns
            if spare_ns > 2 * WAITED_NS:
                self._plain = self._plain + 1 if waited else 0
        self._fenced = self._fenced + 1 if times.presented_ns is not None else 0
        if self._plain >= PLAIN_WAITS or self._fenced >= FENCED:
            return BLOCKING
        nothing_waits = self._bare.frame(times.work_end_ns - times.start_ns, period_ns, self._queues)
        if self._bare.was_paused and self._queues:
            self._waits.tried(self._bare.was_shorter)
        if nothing_waits and not self._queues:
            return FREE
        return None

    def _follow(self, times: FrameTimes, waited: bool, returned_ns: int) -> str:
        """The grid's phase from what waited, its period from the intervals between hand-overs."""
        grid = self.grid
        if waited and self._queues:
            grid.add(returned_ns, times.swap_begin_ns, self._planned)
        elif not self._queues and self._bare.work_ns is not None and not self._bare.was_paused:
            grid.nudge(times.work_end_ns - self._bare.work_ns, FOLLOWS)
        if self._queues:
            if self._waits.in_a_row_ns is not None:
                self._intervals_ns.append(self._waits.in_a_row_ns)
        elif self._begin_ns is not None and not self._bare.was_paused and self._bare.waits:
            self._intervals_ns.append(times.swap_begin_ns - self._begin_ns)
        return self._take_other_period()

    def _take_other_period(self) -> str:
        intervals = self._intervals_ns
        if len(intervals) < LAST_INTERVALS:
            return ""
        period_ns = median(intervals)
        off = period_ns / self.grid.period_ns - 1
        agree = max(intervals) - min(intervals) <= AGREE_SHARE * period_ns
        # Whole refreshes are work that takes its time as often as a slower display.
        is_other = abs(off) > OTHER_SHARE and abs(off - round(off)) > OTHER_SHARE
        if not agree or not is_other:
            return ""
        intervals.clear()
        self.grid.begin_anew(round(period_ns), self.shown_ns or 0)
        self._interval.set_refresh(round(period_ns), is_new=True)
        return f"refreshes of {period_ns / 1e6:.2f} ms counted"

    def display_said(self, presented_ns: int, refresh_ns: int | None) -> None:
        self.grid.said(presented_ns, refresh_ns)

    def restart(self) -> None:
        self.shown_ns = self._begin_ns = None
        self._intervals_ns.clear()
        self._waits.restart()
