"""Places frames on a display that sets the pace, but whose swap does not return when its frame is shown.

Every frame starts at once. The display blocks a later call. If the swap returns at once, the display blocks the first
drawing call of the next frame. If the display has a queue, the display blocks a later swap. Present times are
computed, not measured. A frame is shown at the first refresh after its hand-over, and at least one refresh after the
previous frame. So a full queue shows a frame at each refresh, even if one of these frames was late.

If neither drawing nor the swap waits, the display does not set the pace. Then the timer must set the pace. But frames
that take longer than a refresh drain a queue. Then swaps do not wait, although the display has a queue. So a display
whose swaps waited before still counts as a queue while frames take so long. Pure.
"""

from __future__ import annotations

from collections import deque

from twixt.ipc.quantiles import median
from twixt.render.pacing.display_waits import WAITED_NS, WAITS, DrawTimeProbe, RegularWaits
from twixt.render.pacing.grid import RefreshGrid
from twixt.render.pacing.interval import IntervalChoice
from twixt.render.pacing.interval_evidence import HOLD_SHARE
from twixt.render.pacing.policy import (
    BLOCKING,
    FIRST_GUARD_NS,
    FREE,
    QUEUED,
    FoundDisplay,
    FrameOutcome,
    FramePlacement,
    FrameTimes,
    WorkEstimate,
)

# The display counts as BLOCKING after this many swaps in a row that waited for the next refresh although no frame was
# pending (handed over, but not yet shown).
PLAIN_WAITS = 4
# This many first frames do not count for the choice of the frame interval.
LEARNING_FRAMES = 24
# Present times are measured again after this many frames in a row had a fence.
FENCED = 2
# If drawing waits, the wait ends roughly when the previous frame is shown. The phase of the grid is moved towards the
# end of the wait, by this share of the difference.
FOLLOWS = 0.1
# A frame that is handed over less than UNSURE_SHARE of a refresh before its refresh may miss this refresh. The frame
# has missed this refresh if the drawing of the next frame takes longer than usual, by LONGER_SHARE of a refresh or
# more.
UNSURE_SHARE, LONGER_SHARE = 0.2, 0.6
# If a frame takes several refreshes, its drawing starts this share of a refresh after the previous frame was shown.
# Then its drawing does not have to wait.
START_SHARE = 0.15
# Another refresh period is adopted if two conditions hold. First, the last LAST_INTERVALS intervals between frames
# differ by at most the share AGREE_SHARE. Second, their median differs from a whole number of refreshes by at least
# the share OTHER_SHARE.
LAST_INTERVALS, OTHER_SHARE, AGREE_SHARE = 8, 0.05, 0.08
# The swap of a frame that takes several refreshes is held back. So a changed refresh period would look like longer
# work. Therefore, when frames begin to take more refreshes, UNHELD_FRAMES frames start at once and are not held back.
# UNHELD_FRAMES frames start at once again after UNHELD_EVERY_NS, and then at intervals that double each time. If the
# display blocks drawing, the display itself sets the distance between these frames. If the display has a queue, unheld
# frames are used only if at least WIDE_WAITS of the last swaps waited, because sufficiently long frames leave the
# queue empty.
UNHELD_FRAMES, UNHELD_EVERY_NS, WIDE_WAITS = 12, 2_000_000_000, 4
# If nothing waits and work leaves less than ROOM_SHARE of a refresh unused, there are two explanations: the work
# drains a queue, or the display has a variable refresh rate. If the display reports whether its refresh rate is fixed,
# the report decides. Otherwise a refresh period above FOLLOWED_NS means a queue, because displays with variable
# refresh rates reach 100 Hz and more.
ROOM_SHARE, FOLLOWED_NS = 0.1, 11_500_000


class DisplayPaced:
    """Policy for a display that sets the pace in another call than the swap. interval: choice of the frame interval,
    in refreshes. grid: the display's grid; its phase may be wrong at first. shown_ns: last present time. queues: the
    swap waits for earlier frames."""

    display = QUEUED

    def __init__(
        self,
        interval: IntervalChoice,
        work: WorkEstimate,
        grid: RefreshGrid,
        shown_ns: int | None = None,
        queues: bool = False,
    ) -> None:
        self.shown_ns = shown_ns
        self.grid = grid
        self._interval, self._work = interval, work
        self._draw_probe = DrawTimeProbe()
        self._waits = RegularWaits(queues)
        self._intervals_ns: deque[int] = deque(maxlen=LAST_INTERVALS)
        self._blocking = BlockingSigns()
        self._is_unsure = False
        self._frames = 0
        self._begin_ns: int | None = None  # instant at which the last swap began
        self._deadline_ns = 0
        self._planned = 1
        self._unheld = UnheldFrames()
        # True: the display has a fixed refresh rate; None: the display has not reported it
        self._reports_fixed: bool | None = None
        self._interval.set_refresh(grid.period_ns)
        self._interval.guard_ns = FIRST_GUARD_NS

    @property
    def _queues(self) -> bool:
        """True if the swap waits for earlier frames; False if the drawing of the next frame waits."""
        return self._waits.queues

    def plan(self, now_ns: int) -> FramePlacement:
        grid, period_ns = self.grid, self.grid.period_ns
        self._planned = self._interval.refreshes
        if self.shown_ns is None:
            self._deadline_ns = now_ns + self._interval.interval_ns
            return FramePlacement(now_ns, None, self._deadline_ns)
        reason = ""
        is_wide = self._interval.interval_ns > self._interval.base_ns
        self._unheld.begin(now_ns, self._interval.interval_ns, is_wide, self._queues)
        if self._planned > 1:
            self._draw_probe.no_pause()
            later_ns = self.shown_ns + round(START_SHARE * period_ns)
            fits = later_ns + self._work.usual_ns <= self.shown_ns + self._interval.interval_ns - period_ns // 2
            start_ns = max(now_ns, later_ns) if fits and not self._unheld.left else now_ns
        else:
            start_ns = now_ns + self._draw_probe.pause_ns(
                now_ns, period_ns, self._queues and not self._waits.is_in_doubt
            )
            if start_ns > now_ns:
                reason = "starts later on purpose, to test if drawing waits for the display"
        drawable_ns = start_ns if self._queues else max(start_ns, self.shown_ns)
        ready_ns = drawable_ns + self._work.usual_ns + FIRST_GUARD_NS
        self._deadline_ns = grid.point_from(max(self.shown_ns + self._interval.interval_ns - period_ns // 2, ready_ns))
        self._planned = max(1, grid.refreshes_between(self.shown_ns, self._deadline_ns))
        return FramePlacement(start_ns, self._swap_at_ns(), self._deadline_ns, reason)

    def _swap_at_ns(self) -> int | None:
        if self._interval.refreshes == 1 or self._unheld.left:
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
        """Corrects the present time of the previous frame if this frame missed its refresh. After a miss, the drawing
        of the current frame waits longer than usual."""
        if not self._is_unsure or self.shown_ns is None or self._queues:
            return
        period_ns = self.grid.period_ns
        if work_end_ns - max(start_ns, self.shown_ns) > self._work.usual_ns + LONGER_SHARE * period_ns:
            self.shown_ns += period_ns

    def done(self, times: FrameTimes) -> FrameOutcome:
        grid = self.grid
        returned_ns = times.presented_ns or times.swap_end_ns
        begin_ns = times.swap_begin_ns
        self._interval.queues = self._queues
        waited = False
        self._waits.in_a_row_ns = None
        if self._interval.refreshes > 1:
            self._unheld.add_wide_swap(times.swap_end_ns - begin_ns > WAITED_NS)
        if self._interval.refreshes == 1 or self._unheld.left:
            waited = self._waits.frame(times.work_end_ns - times.start_ns, begin_ns, returned_ns, grid.period_ns)
        begun_ns = times.start_ns - self._work.overhead_ns
        if not self._queues:  # the frame may have waited during drawing until the previous frame was shown
            begun_ns = max(begun_ns, self.shown_ns or 0)
        cycle_ns = max(0, times.work_end_ns - begun_ns)
        if self._begin_ns is not None and not self._queues:
            # The measured wait of drawing is only an estimate. If a frame came in time, its cycle (the time for its
            # work) cannot have been longer than this limit.
            cycle_ns = min(cycle_ns, max(0, begin_ns - self._begin_ns - grid.period_ns // 2))
        self._work.swapped(0, returned_ns)
        display = self._other_display(times, waited)
        why = self._follow(times, waited, returned_ns)
        handed_ns = (
            begin_ns + FIRST_GUARD_NS if waited or self._queues else max(begin_ns + FIRST_GUARD_NS, times.swap_end_ns)
        )
        present_ns = self._counted(handed_ns)
        missed = 0
        if self.shown_ns is not None:
            missed = max(0, grid.refreshes_between(self._deadline_ns, present_ns))
        spare_ns = present_ns - handed_ns
        self._is_unsure = spare_ns < UNSURE_SHARE * grid.period_ns
        self.shown_ns = present_ns
        self._begin_ns = begin_ns
        # A frame is recorded only if it is known where frames wait. Otherwise the wait would count as work.
        self._frames += 1
        waits_in_drawing = not self._queues and self._interval.refreshes == 1
        knows = (
            self._frames > LEARNING_FRAMES
            and not self._unheld.left
            and (not waits_in_drawing or self._draw_probe.work_ns is not None)
        )
        changed = self._interval.frame(cycle_ns, times.swap_end_ns) if knows else ""
        return FrameOutcome(present_ns, missed, "; ".join(filter(None, (why, changed))), display)

    def _counted(self, ready_ns: int) -> int:
        """Computed present time of a frame that is ready at `ready_ns`. It is the first refresh after this instant,
        but at least one refresh after the previous frame."""
        if self.shown_ns is not None:
            ready_ns = max(ready_ns, self.shown_ns + self.grid.period_ns // 2)
        return self.grid.point_from(ready_ns)

    def _other_display(self, times: FrameTimes, waited: bool) -> FoundDisplay | None:
        period_ns = self.grid.period_ns
        if self.shown_ns is not None and times.swap_begin_ns > self.shown_ns + period_ns // 4:
            # The previous frame has been shown, so no frame is pending.
            spare_ns = self.grid.point_from(times.swap_begin_ns) - times.swap_begin_ns
            if spare_ns > 2 * WAITED_NS:
                self._blocking.add_unpending_swap(waited)
        if self._blocking.add_frame(times.presented_ns is not None):
            return FoundDisplay(BLOCKING)
        nothing_waits = self._draw_probe.frame(times.work_end_ns - times.start_ns, period_ns, self._queues)
        if self._draw_probe.was_paused and self._queues:
            self._waits.tried(self._draw_probe.was_shorter)
        if nothing_waits and not self._queues:
            if not self._is_drained(period_ns):
                return FoundDisplay(FREE)
            self._waits.queues = True
        return None

    def _is_drained(self, period_ns: int) -> bool:
        """True if frames work long enough to drain a queue, and if the display may have a queue."""
        is_long = self._draw_probe.work_ns is not None and self._draw_probe.work_ns >= (1 - ROOM_SHARE) * period_ns
        is_fixed = period_ns > FOLLOWED_NS if self._reports_fixed is None else self._reports_fixed
        return is_long and is_fixed

    def _follow(self, times: FrameTimes, waited: bool, returned_ns: int) -> str:
        """Updates the phase of the grid from waits, and the period of the grid from the intervals between
        hand-overs."""
        grid = self.grid
        if not grid.has_phase:  # without waits (for example with an empty queue) any phase of the grid is right
            grid.nudge(times.swap_begin_ns, 1.0)
        if waited and self._queues:
            grid.add(returned_ns, times.swap_begin_ns, self._planned)
        elif not self._queues and not self._draw_probe.was_paused:
            self._follow_drawing(times)
        if self._waits.in_a_row_ns is not None:
            self._intervals_ns.append(self._waits.in_a_row_ns)
        elif (
            not self._queues
            and self._begin_ns is not None
            and not self._draw_probe.was_paused
            and self._draw_probe.waits
        ):
            self._intervals_ns.append(times.swap_begin_ns - self._begin_ns)
        return self._adopt_other_period()

    def _follow_drawing(self, times: FrameTimes) -> None:
        """Updates the phase of the grid if drawing waited. This wait ended when the previous frame was shown."""
        work_ns = self._draw_probe.work_ns
        if work_ns is not None and times.work_end_ns - times.start_ns > WAITS * work_ns:
            self.grid.nudge(times.work_end_ns - work_ns, FOLLOWS)

    def _adopt_other_period(self) -> str:
        intervals = self._intervals_ns
        if len(intervals) < LAST_INTERVALS:
            return ""
        period_ns = median(intervals)
        refreshes = period_ns / self.grid.period_ns
        agree = max(intervals) - min(intervals) <= AGREE_SHARE * period_ns
        # If intervals are several whole refreshes long, the cause may also be long work, not only a slower display.
        is_other = abs(refreshes - round(refreshes)) > OTHER_SHARE * (1 + round(refreshes)) / 2
        if not agree or not is_other:
            return ""
        intervals.clear()
        self.grid.begin_anew(round(period_ns), self.shown_ns or 0)
        self._interval.set_refresh(round(period_ns), is_new=True)
        return f"counted refreshes are {period_ns / 1e6:.2f} ms apart"

    def display_reported(self, presented_ns: int, refresh_ns: int | None) -> None:
        self._reports_fixed = refresh_ns is not None
        was_ns = self.grid.period_ns
        self.grid.display_reported(presented_ns, refresh_ns)
        if abs(self.grid.period_ns / was_ns - 1) > OTHER_SHARE:
            self._intervals_ns.clear()
            self._interval.set_refresh(self.grid.period_ns, is_new=True)

    def restart(self) -> None:
        self.shown_ns = self._begin_ns = None
        self._intervals_ns.clear()
        self._unheld.restart()
        self._waits.restart()


class UnheldFrames:
    """Selects frames that are not held back. Such frames show whether the refresh period has changed (see
    `UNHELD_FRAMES`)."""

    def __init__(self) -> None:
        self.left = 0  # number of next frames that start at once and are not held back
        self._interval_ns = 0  # interval of the previous frame, in ns
        self._began_ns, self._every_ns = 0, UNHELD_EVERY_NS
        # for each frame that takes several refreshes: True if its swap waited
        self._waits: deque[bool] = deque(maxlen=LAST_INTERVALS)

    def begin(self, now_ns: int, interval_ns: int, is_wide: bool, queues: bool) -> None:
        """Begins the next frame. is_wide: the frame interval is wider than the user requested. queues: the swap waits
        for earlier frames."""
        was_ns, self._interval_ns = self._interval_ns, interval_ns
        self.left = max(0, self.left - 1)
        if not is_wide or (queues and sum(self._waits) < WIDE_WAITS):
            self.left = 0
        elif interval_ns > was_ns:
            self.left, self._began_ns, self._every_ns = UNHELD_FRAMES, now_ns, UNHELD_EVERY_NS
        elif now_ns - self._began_ns >= self._every_ns:
            self.left, self._began_ns, self._every_ns = UNHELD_FRAMES, now_ns, 2 * self._every_ns

    def add_wide_swap(self, waited: bool) -> None:
        """Records the swap of a frame that takes several refreshes."""
        self._waits.append(waited)

    def restart(self) -> None:
        """Clears the recorded swaps after a time without frames."""
        self._waits.clear()


class BlockingSigns:
    """Counts two signs that swaps block again: swaps in a row that waited although no frame was pending, and frames in
    a row with a fence."""

    def __init__(self) -> None:
        self._waits = self._fenced = 0

    def add_unpending_swap(self, waited: bool) -> None:
        """Records a swap that was called early in a refresh while no frame was pending (handed over, but not yet
        shown)."""
        self._waits = self._waits + 1 if waited else 0

    def add_frame(self, is_fenced: bool) -> bool:
        """Records a frame. Returns True if present times can be measured again."""
        self._fenced = self._fenced + 1 if is_fenced else 0
        return self._waits >= PLAIN_WAITS or self._fenced >= FENCED
