"""When each frame starts, when it is swapped, and when it will be seen.

Three policies place frames: a grid of the timer where swap waits for nothing (`timer_grid`), whole refreshes where swap
blocks (`whole_refreshes`), and paced by the display where returns cannot be trusted (`display_paced`). `Pacer` chooses one
from what the probe found, and changes over when outcomes show another kind of display.

For each frame: `next_frame` -> wait until `start_ns`, latch, draw, finish -> `drawn` -> wait until what it says -> swap
-> `frame_done`. Always: predicted presents grow, where frames are paced by a tenth of an interval at least; no wait is
longer than a few intervals, whatever the clock says; every decision has its reason. Pure: reads no clock.
"""

from __future__ import annotations

import math
from collections import deque

from twixt.render.pacing.display_paced import DisplayPaced
from twixt.render.pacing.frames import FramePlan, FrameResult, FrameTimes
from twixt.render.pacing.interval import IntervalChoice
from twixt.render.pacing.phase import SwapGrid
from twixt.render.pacing.policy import BLOCKING, FREE, QUEUED, Policy
from twixt.render.pacing.refresh import UNKNOWN, Refresh
from twixt.render.pacing.sane import Clock, sane_length_ns
from twixt.render.pacing.timer_grid import TimerGrid
from twixt.render.pacing.unlimited import Unlimited
from twixt.render.pacing.waits import WAITED_NS
from twixt.render.pacing.whole_refreshes import WholeRefreshes
from twixt.render.pacing.work import Work

__all__ = ["FramePlan", "FrameResult", "FrameTimes", "Pacer"]

# Frames a second where the display says and shows nothing of its own rate.
UNKNOWN_REFRESH_NS = round(1e9 / 60)
# Predicted presents are at least this share of an interval apart.
CLOSEST_SHARE = 0.1
# A user may want very few frames a second; nobody else bounds the rate lower than this.
LEAST_FPS, LEAST_BOUND_FPS = 0.1, 10.0
# No start and no swap is put off by more intervals than this.
LONGEST_WAIT = 3
# A present is known from the display or a fence where one of the last so many frames had it.
LATELY_FRAMES = 120
# A fence after which swaps still proved to wait for nothing is believed again after so many frames, doubled each time; it
# is blamed where so many frames in a row had it.
UNFENCED_FRAMES, MOST_UNFENCED_FRAMES, FENCED_IN_A_ROW = 480, 15_360, 8
# Where the display keeps the pace, presents come from the swaps' returns if half of so many waited.
WAITING_FRAMES = 32
# After a change of policy, outcomes are believed again after so many frames.
SETTLING_FRAMES = 16


class Pacer:
    """policy: auto, vsync, timer or unlimited. fps: an upper bound. refresh: what the probe found."""

    def __init__(self, policy: str = "auto", fps: float | None = None, refresh: Refresh = UNKNOWN) -> None:
        self.policy = policy
        self.unlimited = policy == "unlimited"
        period_ns = sane_length_ns(refresh.period_ns)
        blocks = refresh.blocks and period_ns is not None
        period_ns = period_ns or UNKNOWN_REFRESH_NS
        self._wants_vsync = blocks and policy in ("auto", "vsync")
        self._may_change = policy in ("auto", "vsync")
        cap_ns = round(1e9 / max(fps, LEAST_FPS)) if fps and math.isfinite(fps) and fps > 0 else 0
        # Where swap never blocks, the period is hearsay: an explicit --fps may exceed it.
        base_ns = max(period_ns, cap_ns) if blocks else cap_ns or period_ns
        self._cap_ns = cap_ns
        self._work = Work()
        self._grid = SwapGrid(period_ns)
        self._interval = IntervalChoice(base_ns, period_ns if self._wants_vsync else None, cap_ns)
        self._clock = Clock()
        self._placing: Policy = self._place(BLOCKING if self._wants_vsync else FREE, None)
        self._planned = FramePlan(0, None, 0, self._interval.interval_ns, 1, "")
        self._present_ns: int | None = None  # the last predicted
        self._frame = 0
        self._changed_at = self._fence_at = self._display_at = -SETTLING_FRAMES - LATELY_FRAMES
        self._waited: deque[bool] = deque([False], maxlen=WAITING_FRAMES)  # of the last swaps
        self._fenced = 0  # frames in a row
        self._believes_fence_at, self._unfenced = 0, UNFENCED_FRAMES
        self._reasons = [self._opening(refresh, blocks)]

    @property
    def wants_vsync(self) -> bool:
        """Whether the window should be asked to wait for the display."""
        return self._wants_vsync

    @property
    def blocks(self) -> bool:
        """Whether the display keeps the pace: intervals are whole refreshes."""
        return self._display in (BLOCKING, QUEUED)

    @property
    def present_source(self) -> str:
        """How presents are known lately, the best way seen: "display", "fence", "swap" or "timer"."""
        if self._frame - self._display_at < LATELY_FRAMES:
            return "display"
        return "fence" if self._frame - self._fence_at < LATELY_FRAMES else self.last_source

    @property
    def last_source(self) -> str:
        """How the present of the frame just done is known, before the display's word: "fence", "swap", or "timer" where
        swaps wait for nothing."""
        if self._frame == self._fence_at:
            return "fence"
        waits = self._display == BLOCKING or (self._display == QUEUED and 2 * sum(self._waited) >= len(self._waited))
        return "swap" if waits else "timer"

    @property
    def interval_ns(self) -> int:
        return self._interval.interval_ns

    @property
    def own_interval_ns(self) -> int:
        """What it would be if no work were too long: the display's own, or what --fps asks for."""
        return self._interval.base_ns

    @property
    def refresh_measured_hz(self) -> float | None:
        """Where the display keeps the pace; None where nothing can be measured."""
        return 1e9 / self._grid.mean_period_ns if self.blocks else None

    @property
    def widened(self) -> int:
        return self._interval.widened

    @property
    def narrowed(self) -> int:
        return self._interval.narrowed

    def next_frame(self, now_ns: int) -> FramePlan:
        """Plans the frame after the last `frame_done`."""
        at_ns = self._clock.now(now_ns)
        if self._clock.jumped:
            self._restart("the clock jumped")
        self._work.asked(at_ns)
        planned = self._placing.plan(at_ns)
        if planned.reason:
            self._reasons.append(planned.reason)
        interval_ns = self._interval.interval_ns
        latest_ns = now_ns + LONGEST_WAIT * interval_ns
        start_ns = min(max(self._clock.back(planned.start_ns), now_ns), latest_ns)
        present_ns = self._clock.back(planned.present_ns)
        if self._present_ns is not None:
            present_ns = max(present_ns, self._present_ns + self._closest_ns(interval_ns))
        self._present_ns = present_ns
        self._deadline_ns = planned.present_ns
        swap_at_ns = None if planned.swap_at_ns is None else min(self._clock.back(planned.swap_at_ns), latest_ns)
        self._planned = FramePlan(
            start_ns, swap_at_ns, present_ns, interval_ns, self._interval.refreshes, "; ".join(self._reasons)
        )
        return self._planned

    def _closest_ns(self, interval_ns: int) -> int:
        """The least between two predicted presents. Frames that wait for nothing may each take less than any share."""
        return 1 if self.unlimited else math.ceil(CLOSEST_SHARE * interval_ns)

    def drawn(self, start_ns: int, work_end_ns: int) -> int | None:
        """The drawing is complete: when to swap, not before; None: at once."""
        begun_ns = self._clock.within(start_ns)
        drawn_ns = max(begun_ns, self._clock.within(work_end_ns))
        swap_at_ns = self._placing.drawn(begun_ns, drawn_ns)
        if swap_at_ns is None:
            return None
        return min(self._clock.back(swap_at_ns), work_end_ns + LONGEST_WAIT * self._interval.interval_ns)

    def frame_done(self, times: FrameTimes) -> FrameResult:
        """The swap came back, and where a fence was asked the frame was seen."""
        self._frame += 1
        self._waited.append(times.swap_end_ns - times.swap_begin_ns > WAITED_NS)
        self._fenced = self._fenced + 1 if times.presented_ns is not None else 0
        if self._fenced and self._frame < self._believes_fence_at:
            times = times._replace(presented_ns=None)
        elif self._fenced:
            self._fence_at = self._frame
        outcome = self._placing.done(self._clock.times(times))
        if outcome.reason:
            self._reasons.append(outcome.reason)
        if outcome.display is not None and self._may_change:
            self._change_over(outcome.display)
        reason = "; ".join(filter(None, self._reasons))
        self._reasons.clear()
        present_ns, deadline_ns = self._clock.back(outcome.present_ns), self._clock.back(self._deadline_ns)
        return FrameResult(present_ns, deadline_ns, outcome.missed, reason)

    def display_said(self, presented_ns: int, refresh_ns: int | None) -> None:
        """The display's own word on a frame some frames ago: when it was seen, and how long a refresh is."""
        self._display_at = self._frame
        at_ns = self._clock.recent(presented_ns)
        if at_ns is not None and not self.unlimited:
            self._placing.display_said(at_ns, sane_length_ns(refresh_ns))

    def at_most(self, fps: float | None) -> None:
        """An upper bound on the rate for now; None: none."""
        bound = max(fps, LEAST_BOUND_FPS) if fps is not None and math.isfinite(fps) and fps > 0 else None
        self._interval.at_most(bound)
        self._reasons.append("no bound on the rate" if bound is None else f"at most {bound:g} frames a second")

    def forget_work(self, why: str) -> None:
        """The frames so far were not like those to come: back to the display's own interval, work is learned anew."""
        self._interval.forget()
        self._work.forget()
        self._reasons.append(why)

    def restart(self, why: str) -> None:
        """Frames stopped for a while (nothing moved, or nobody could see it): the next starts at once and with it a new
        grid, and nothing was missed."""
        self._restart(why)

    def _restart(self, why: str) -> None:
        self._placing.restart()
        self._work.restart()
        self._reasons.append(why)

    def _place(self, display: str, shown_ns: int | None, was: Policy | None = None) -> Policy:
        self._display = display
        if self.unlimited:
            return Unlimited(self._work)
        if display == BLOCKING:
            return WholeRefreshes(self._interval, self._work, self._grid, shown_ns)
        if display == QUEUED:
            queues = isinstance(was, WholeRefreshes) and was.proved_to_wait
            return DisplayPaced(self._interval, self._work, self._grid, shown_ns, queues)
        return TimerGrid(self._interval, self._work, shown_ns, watches=self._may_change)

    def _change_over(self, display: str) -> None:
        if display == self._display or self._frame - self._changed_at < SETTLING_FRAMES:
            return
        self._changed_at = self._frame
        shown_ns, was = self._placing.shown_ns, self._display
        if display == QUEUED and self._fenced >= FENCED_IN_A_ROW:
            self._believes_fence_at = self._frame + self._unfenced
            self._unfenced = min(2 * self._unfenced, MOST_UNFENCED_FRAMES)
            self._fence_at = -LATELY_FRAMES
        if display == FREE:
            self._interval.set_base(max(self._cap_ns, self._grid.period_ns))
            self._interval.set_refresh(None, is_new=True)
        elif was == FREE:
            period_ns = getattr(self._placing, "found_period_ns", None) or self._grid.period_ns
            self._grid.begin_anew(period_ns, shown_ns or 0)
            self._interval.set_refresh(period_ns, is_new=True)
        self._work.changed_over()
        self._placing = self._place(display, shown_ns, self._placing)
        self._reasons.append(CHANGES[display])

    def _opening(self, refresh: Refresh, blocks: bool) -> str:
        interval_ms = self._interval.interval_ns / 1e6
        if self.unlimited:
            return "unlimited: every frame at once"
        if self.policy == "vsync" and not blocks:
            return f"vsync asked for but swap does not block: timer, every {interval_ms:.2f} ms ({refresh.reason})"
        pace = f"{self._interval.refreshes} refresh(es)" if self._wants_vsync else "timer"
        return f"{pace}, every {interval_ms:.2f} ms ({refresh.reason})"


CHANGES = {
    FREE: "nothing waits for the display: placed by the timer from here",
    BLOCKING: "swap waits for the display: whole refreshes from here",
    QUEUED: "swaps wait for nothing, the display keeps the pace: every frame at once from here",
}
