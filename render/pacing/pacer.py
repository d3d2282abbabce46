"""When each frame starts, when it is swapped, and when it will be seen.

Presents stand on an absolute grid of deadlines, so that they are evenly spaced whatever the frames' work does:

    swap does not block:   start --work-- done ....wait.... swap            swap at the deadline
    swap blocks:           start --work-- done swap ....blocked.... return  the display's own refresh is the grid

A frame starts as late as its work allows (*late latch*): the deadline, less the work that nearly all frames stay under,
less a margin that grows with each miss and shrinks slowly. A frame that cannot make its deadline any more starts
at once, and where it is shown the grid restarts, so that no burst of short frames follows.

For each frame: `next_frame` -> wait until `start_ns`, latch, draw, finish -> `drawn` -> wait until what it says -> swap
-> `frame_done`. Always: plans never overlap; predicted presents grow; every decision has its reason.
Pure: reads no clock. The length of an interval is decided in `interval`, the display's grid is kept in `phase`.
"""

from __future__ import annotations

from typing import NamedTuple

from twixt.render.pacing.interval import COSTLY, IntervalPolicy
from twixt.render.pacing.phase import SwapGrid
from twixt.render.pacing.refresh import UNKNOWN, Refresh
from twixt.render.recent import Recent

# Frames a second where the display says and shows nothing of its own rate.
UNKNOWN_REFRESH_NS = round(1e9 / 60)
# The work to start early for: what this share of the last frames stayed under.
REMEMBERED_FRAMES, COVERED = 64, 0.98
# What frames usually take now is the median of so few that a new load shows within two frames.
LATEST_FRAMES = 3
# Started so much earlier still. Where swap blocks, a commit that is late by a hair is shown a whole refresh later, so
# the swap should be left this much to wait. Where it does not, a late frame is seen as uneven motion, and what starting
# earlier costs, a fresher look at the user's input, is not.
BLOCKING_MARGIN_NS, TIMER_MARGIN_NS = 2_500_000, 2_000_000
# A miss that the frame's own cost does not explain adds this share of the interval to the margin; each good frame
# takes back this share of what is above the floor (half of it in 12 s at 60 frames a second). A miss is seen, a few
# ms of latency are not: quick up, slow down.
MARGIN_GROWS, MARGIN_SHRINKS = 0.2, 0.001
# A frame of several refreshes is swapped no earlier than this share of a refresh before its own: some displays show
# at once what comes after a refresh without a frame.
HOLD_SHARE = 0.25
# A refresh is still worth trying for when usual work would end no later than this share of a refresh after it.
HOPE = 0.05
# Presents this share of an interval late are misses. The grid restarts at a present that is RESTART_SHARE late, and at
# HELPLESS_SHARE already when the next frame has no room to catch up.
MISSED_SHARE, RESTART_SHARE, HELPLESS_SHARE = 0.10, 0.25, 0.05
# A swap that comes back sooner waited for nothing: its return is no point of the display's grid.
BLOCKED_NS = 200_000


class FramePlan(NamedTuple):
    """One frame, planned."""

    start_ns: int  # when to wake and latch
    swap_at_ns: int | None  # when to swap, not before; None: as soon as it is drawn. `drawn` may move it
    present_ns: int  # when it is expected to be seen
    interval_ns: int
    planned_refreshes: int
    reason: str  # "" when nothing was out of the ordinary


class FrameTimes(NamedTuple):
    """One frame, as it went."""

    start_ns: int
    latch_ns: int
    work_end_ns: int
    swap_begin_ns: int
    swap_end_ns: int
    presented_ns: int | None = None  # when it was seen, where a fence on the next buffer said so


class FrameResult(NamedTuple):
    """What became of a frame."""

    present_ns: int  # when it was shown: the swap's return, or the point of the display's grid it belongs to
    deadline_ns: int  # when it was to be shown, widening included
    missed_refreshes: int
    reason: str  # all reasons of this frame, joined


class Pacer:
    """policy: auto, vsync, timer or unlimited. fps: an upper bound. refresh: what the probe found."""

    def __init__(self, policy: str = "auto", fps: float | None = None, refresh: Refresh = UNKNOWN) -> None:
        self.policy = policy
        self.blocks = refresh.blocks and policy in ("auto", "vsync")
        self.unlimited = policy == "unlimited"
        period_ns = refresh.period_ns or UNKNOWN_REFRESH_NS
        cap_ns = round(1e9 / fps) if fps else 0
        # Where swap never blocks, the period is hearsay: an explicit --fps may exceed it.
        base_ns = max(period_ns, cap_ns) if refresh.blocks else cap_ns or period_ns
        self._grid = SwapGrid(period_ns) if self.blocks else None
        self._base_ns = base_ns
        self._probed_ns = period_ns
        self._interval = self._own_interval()
        self._floor_ns = BLOCKING_MARGIN_NS if self.blocks else TIMER_MARGIN_NS
        self._margin_ns = self._floor_ns
        self._latest_works = Recent(LATEST_FRAMES)
        self._leads = Recent(REMEMBERED_FRAMES)  # planned start to completed drawing: work, and waking late
        self._swaps = Recent(REMEMBERED_FRAMES)
        self._latest_leads = Recent(LATEST_FRAMES)
        self._latest_cycles = Recent(LATEST_FRAMES)
        self._overheads = Recent(REMEMBERED_FRAMES)  # from a swap's return to being asked for the next frame
        self._shown_ns: int | None = None  # last present, on the grid
        self._done_ns: int | None = None
        self._planned_start_ns = self._deadline_ns = 0
        self._planned_refreshes = 1
        self._reasons = [self._opening(refresh)]

    @property
    def wants_vsync(self) -> bool:
        """Whether the window should be asked to wait for the display."""
        return self.blocks

    @property
    def present_source(self) -> str:
        """How presents are known lately, the best way seen: "display", "fence", "swap" or "timer"."""
        return "swap" if self.blocks else "timer"

    def display_said(self, presented_ns: int, refresh_ns: int | None) -> None:
        """The display's own word on a frame some frames ago: when it was seen, and how long a refresh is."""

    def at_most(self, fps: float | None) -> None:
        """An upper bound on the rate for now; None: none."""

    @property
    def interval_ns(self) -> int:
        return self._interval.interval_ns

    @property
    def own_interval_ns(self) -> int:
        """What it would be if no work were too long: the display's own, or what --fps asks for."""
        return self._interval.base_ns

    @property
    def refresh_measured_hz(self) -> float | None:
        """Where swap blocks, from its returns; None where nothing can be measured."""
        return 1e9 / self._grid.mean_period_ns if self._grid else None

    @property
    def widened(self) -> int:
        return self._interval.widened

    @property
    def narrowed(self) -> int:
        return self._interval.narrowed

    def next_frame(self, now_ns: int) -> FramePlan:
        """Plans the frame after the last `frame_done`."""
        if self._done_ns is not None:
            self._overheads.add(max(0, now_ns - self._done_ns))
        interval_ns = self._interval.interval_ns
        self._planned_refreshes = self._interval.refreshes
        if self.unlimited:
            usual_ns = self._latest_works.quantile(0.5) + self._swaps.quantile(0.5)
            self._deadline_ns = now_ns + usual_ns
            return self._plan(now_ns, None)
        covered_ns = max(self._leads.quantile(COVERED, interval_ns), self._latest_leads.quantile(0.5))
        # What usually takes more than the interval starts at once: its deadline is put off, not its start.
        lead_ns = max(min(covered_ns + self._margin_ns, interval_ns), self._latest_works.quantile(0.5))
        if self._grid is not None:
            return self._plan_on_display(self._grid, now_ns, lead_ns, interval_ns)
        swap_ns = self._swaps.quantile(0.5)
        if self._shown_ns is None:  # nothing to keep an even distance to: at once
            self._deadline_ns = now_ns + lead_ns + swap_ns
        else:
            self._deadline_ns = self._shown_ns + interval_ns
        usual_end_ns = now_ns + self._latest_works.quantile(0.5) + swap_ns
        if usual_end_ns > self._deadline_ns + RESTART_SHARE * interval_ns:
            self._reasons.append("past its deadline: starts at once, the grid restarts here")
            self._deadline_ns = usual_end_ns
        start_ns = self._deadline_ns - swap_ns - lead_ns
        return self._plan(max(now_ns, start_ns), self._deadline_ns - swap_ns)

    def drawn(self, start_ns: int, work_end_ns: int) -> int | None:
        """The drawing is complete: when to swap, not before; None: at once.

        Widens when the work was more than the interval, and then moves this frame's own deadline.
        """
        work_ns = work_end_ns - start_ns
        self._latest_works.add(work_ns)
        for leads in (self._leads, self._latest_leads):
            leads.add(work_end_ns - self._planned_start_ns)
        if self.unlimited:
            return None
        before_ns = self._interval.interval_ns
        reason = self._interval.work_done(work_ns, work_end_ns)
        if reason:
            self._reasons.append(reason)
            self._leads.clear()  # lighter frames say nothing of this load: the next must not start late
            self._leads.add(work_ns)
            if self._shown_ns is None:
                self._deadline_ns += self._interval.interval_ns - before_ns
            else:  # a deadline that was put off for the work already holds it
                self._deadline_ns = max(self._deadline_ns, self._shown_ns + self._interval.interval_ns)
            self._planned_refreshes = self._interval.refreshes
        return self._swap_at_ns()

    def frame_done(self, times: FrameTimes) -> FrameResult:
        """The swap came back."""
        present_ns = times.swap_end_ns
        self._done_ns = times.swap_end_ns
        deadline_ns = self._deadline_ns
        swap_ns = times.swap_end_ns - times.swap_begin_ns
        overhead_ns = self._overheads.quantile(0.5)
        missed = 0
        if self.unlimited:
            self._swaps.add(swap_ns)
            return self._result(present_ns, deadline_ns, 0)
        if self._grid is not None:
            if swap_ns > BLOCKED_NS:
                present_ns = self._grid.add(times.swap_end_ns, times.swap_begin_ns, self._planned_refreshes)
                self._interval.refresh_ns = self._grid.period_ns
            if self._shown_ns is not None:
                missed = max(0, self._grid.refreshes_between(deadline_ns, present_ns))
            cycle_ns = times.work_end_ns - times.start_ns + overhead_ns
            self._shown_ns = present_ns
        else:
            self._swaps.add(swap_ns)
            late_ns = present_ns - deadline_ns
            interval_ns = self._interval.interval_ns
            missed = int(late_ns > MISSED_SHARE * interval_ns)
            cycle_ns = times.work_end_ns - times.start_ns + swap_ns + overhead_ns
            self._shown_ns = deadline_ns
            room_ns = interval_ns - self._latest_cycles.quantile(0.5)
            if late_ns > RESTART_SHARE * interval_ns or late_ns > max(room_ns, HELPLESS_SHARE * interval_ns):
                self._shown_ns = present_ns
                self._reasons.append(f"late {late_ns / 1e6:.1f} ms: the grid restarts here")
        self._latest_cycles.add(cycle_ns)
        if cycle_ns < COSTLY * self._interval.interval_ns:
            self._learn_margin(missed > 0)
        self._reasons.append(self._interval.frame_shown(cycle_ns, missed > 0, times.swap_end_ns))
        return self._result(present_ns, deadline_ns, missed)

    def forget_work(self, why: str) -> None:
        """The frames so far were not like those to come: back to the display's own interval, work is learned anew."""
        self._interval = self._own_interval()
        self._margin_ns = self._floor_ns
        for learned in (self._latest_works, self._leads, self._latest_leads, self._latest_cycles):
            learned.clear()
        self._reasons.append(why)

    def _own_interval(self) -> IntervalPolicy:
        """The display's own, or what --fps asks for: as many refreshes as that is of the refresh it was worked out for."""
        if self._grid is None:
            return IntervalPolicy(self._base_ns)
        interval = IntervalPolicy(self._base_ns, self._probed_ns)
        interval.refresh_ns = self._grid.period_ns
        return interval

    def restart(self, why: str) -> None:
        """Frames stopped for a while (nothing moved, or nobody could see it): the next starts at once and with it a new
        grid, and nothing was missed."""
        self._shown_ns = self._done_ns = None
        if self._grid is not None:
            self._grid.restart()
        self._reasons.append(why)

    def _plan_on_display(self, grid: SwapGrid, now_ns: int, lead_ns: int, interval_ns: int) -> FramePlan:
        period_ns = grid.period_ns
        if self._shown_ns is None:
            self._deadline_ns = now_ns + interval_ns
        else:
            target_ns = self._shown_ns + interval_ns
            self._deadline_ns = target_ns
            usual_end_ns = now_ns + self._latest_works.quantile(0.5)
            if usual_end_ns > target_ns + HOPE * period_ns:
                self._deadline_ns = grid.point_from(usual_end_ns)
                self._reasons.append("past its deadline: starts at once, the grid restarts here")
        start_ns = now_ns if self._shown_ns is None else max(now_ns, self._deadline_ns - lead_ns)
        return self._plan(start_ns, self._swap_at_ns())

    def _swap_at_ns(self) -> int | None:
        if self._grid is None:
            return self._deadline_ns - self._swaps.quantile(0.5)
        if self._planned_refreshes == 1:
            return None
        period_ns = self._grid.period_ns
        # Swapped before the refresh that precedes its own, the frame would be shown at that one.
        return self._deadline_ns - min(max(round(HOLD_SHARE * period_ns), self._margin_ns), round(0.7 * period_ns))

    def _plan(self, start_ns: int, swap_at_ns: int | None) -> FramePlan:
        self._planned_start_ns = start_ns
        return FramePlan(
            start_ns, swap_at_ns, self._deadline_ns, self._interval.interval_ns, self._planned_refreshes, self._reason()
        )

    def _learn_margin(self, missed: bool) -> None:
        if missed:
            self._margin_ns += round(MARGIN_GROWS * self._interval.interval_ns)
            self._margin_ns = min(self._margin_ns, self._interval.interval_ns)
        else:
            self._margin_ns -= round((self._margin_ns - self._floor_ns) * MARGIN_SHRINKS)

    def _result(self, present_ns: int, deadline_ns: int, missed: int) -> FrameResult:
        reason = self._reason()
        self._reasons.clear()
        return FrameResult(present_ns, deadline_ns, missed, reason)

    def _reason(self) -> str:
        return "; ".join(reason for reason in self._reasons if reason)

    def _opening(self, refresh: Refresh) -> str:
        interval_ms = self._interval.interval_ns / 1e6
        if self.unlimited:
            return "unlimited: every frame at once"
        if self.policy == "vsync" and not self.blocks:
            return f"vsync asked for but swap does not block: timer, every {interval_ms:.2f} ms ({refresh.reason})"
        pace = f"{self._interval.refreshes} refresh(es)" if self.blocks else "timer"
        return f"{pace}, every {interval_ms:.2f} ms ({refresh.reason})"
