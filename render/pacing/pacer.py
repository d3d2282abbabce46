"""The pacer plans when each frame starts, when it is swapped, and when it is shown.

Three policies place frames: on a timer's grid if swap does not wait, on whole refreshes if swap blocks (`swap_paced`),
and at the display's pace if returns of swap are not present times (`display_paced`). `Pacer` chooses one from the
display's probe, and changes it when frames show that the display is of another kind.

Calls for each frame: `next_frame` -> wait until `start_ns`, latch, draw, finish -> `drawn` -> wait until the instant
that `drawn` returns -> swap -> `frame_done`.

Always: predicted present times increase. If frames are paced, they increase by at least a tenth of an interval. No
wait is longer than a few frame intervals, whatever the clock reports. Each decision has a reason. Pure: reads no
clock.
"""

from __future__ import annotations

import math
from collections import deque

from twixt.render.pacing.display_paced import DisplayPaced
from twixt.render.pacing.display_waits import WAITED_NS
from twixt.render.pacing.grid import RefreshGrid
from twixt.render.pacing.interval import IntervalChoice
from twixt.render.pacing.policy import (
    BLOCKING,
    FREE,
    QUEUED,
    FoundDisplay,
    FramePlan,
    FrameResult,
    FrameTimes,
    Policy,
    WorkEstimate,
)
from twixt.render.pacing.refresh import UNKNOWN, FenceTrial, Refresh
from twixt.render.pacing.swap_paced import TimerGrid, Unlimited, WholeRefreshes

__all__ = ["FramePlan", "FrameResult", "FrameTimes", "Pacer"]

# Refresh period (ns) that is assumed if the display's rate is neither reported nor measured.
UNKNOWN_REFRESH_NS = round(1e9 / 60)
# Two predicted present times are at least this share of a frame interval apart.
CLOSEST_SHARE = 0.1
# LEAST_FPS: lowest rate that a user may request. LEAST_BOUND_FPS: lowest bound that other code may set on the rate.
# Both are in frames per second.
LEAST_FPS, LEAST_BOUND_FPS = 0.1, 10.0
# The start or the swap of a frame is delayed by at most this many frame intervals.
LONGEST_WAIT = 3
# Fences count as unreliable if swaps prove not to wait, and if at least this many frames in a row had a fence.
FENCED_IN_A_ROW = 8
# If the display sets the pace, and at least half of the last WAITING_FRAMES swaps waited, the returns of swaps are the
# present times.
WAITING_FRAMES = 32
# Least number of frames from one change of policy to the next.
SETTLING_FRAMES = 16
CHANGES = {
    FREE: "nothing waits for the display: from now on a timer paces the frames",
    BLOCKING: "swap waits for the display: from now on frames take whole refreshes",
    QUEUED: "swaps do not wait, but the display sets the pace: from now on each frame starts at once",
}


class Pacer:
    """Plans when each frame starts, when it is swapped, and when it is shown. It reads no clock.

    Args:
        policy: "auto", "vsync", "timer" or "unlimited".
        fps: Largest number of frames per second. None for no limit.
        refresh: Result of the display's probe. By default nothing is known about the display.
        fence: The window's trial of fences. None to use fences without a trial.

    Examples:
        ```python
        from twixt.render.pacing import FrameTimes, Pacer

        pacer, now_ns = Pacer(fps=60), 0
        for _ in range(3):
            start_ns = pacer.next_frame(now_ns).start_ns
            drawn_ns = start_ns + 4_000_000  # 4 ms of drawing
            now_ns = pacer.drawn(start_ns, drawn_ns) or drawn_ns  # wait until this instant, then swap
            print(pacer.frame_done(FrameTimes(start_ns, start_ns, drawn_ns, now_ns, now_ns)).present_ns)
        ```
    """

    def __init__(
        self,
        policy: str = "auto",
        fps: float | None = None,
        refresh: Refresh = UNKNOWN,
        fence: FenceTrial | None = None,
    ) -> None:
        self.policy = policy
        self.unlimited = policy == "unlimited"
        period_ns = sane_length_ns(refresh.period_ns)
        blocks = refresh.blocks and period_ns is not None
        period_ns = period_ns or UNKNOWN_REFRESH_NS
        self._wants_vsync = blocks and policy in ("auto", "vsync")
        self._is_called = refresh.is_called
        cap_ns = round(1e9 / max(fps, LEAST_FPS)) if fps and math.isfinite(fps) and fps > 0 else 0
        # If swap never blocks, the refresh period is only a reported value. So an explicit --fps may be higher than
        # the reported rate.
        base_ns = max(period_ns, cap_ns) if blocks else cap_ns or period_ns
        self._work = WorkEstimate()
        self._grid = RefreshGrid(period_ns)
        self._interval = IntervalChoice(base_ns, period_ns if self._wants_vsync else None, cap_ns)
        self._clock = PacerClock()
        self._placing: Policy = self._place(FoundDisplay(BLOCKING if self._wants_vsync else FREE), None)
        self._present_ns: int | None = None  # last present time that was predicted
        self._deadline_ns = 0  # present time that was planned for the last frame, on the policies' clock
        self._frame = 0
        self._changed_at = -SETTLING_FRAMES
        self._source = PresentSource(fence)
        self._reasons = [self._opening(refresh, blocks)]

    @property
    def _may_change(self) -> bool:
        """True if the policy may change after frames have shown that the display is of another kind."""
        return self.policy in ("auto", "vsync")

    @property
    def wants_vsync(self) -> bool:
        """True if the window should request swaps that wait for the display."""
        return self._wants_vsync

    @property
    def blocks(self) -> bool:
        """True if the display sets the pace, so that frame intervals are whole refreshes."""
        return self._placing.display in (BLOCKING, QUEUED)

    @property
    def last_source(self) -> str:
        """How the last frame's present time is known before the display reports it: "fence", "swap", or "timer" if
        swaps do not wait."""
        return self._source.name(self._placing.display)

    @property
    def interval_ns(self) -> int:
        """Current frame interval in ns."""
        return self._interval.interval_ns

    @property
    def own_interval_ns(self) -> int:
        """Frame interval in ns before it is widened: the display's own interval, or the interval of --fps."""
        return self._interval.base_ns

    @property
    def refresh_measured_hz(self) -> float | None:
        """Measured refresh rate in Hz. None if the display does not set the pace."""
        return 1e9 / self._grid.mean_period_ns if self.blocks else None

    @property
    def widened(self) -> int:
        """Number of times that the frame interval was widened."""
        return self._interval.widened

    @property
    def narrowed(self) -> int:
        """Number of times that the frame interval was narrowed."""
        return self._interval.narrowed

    def next_frame(self, now_ns: int) -> FramePlan:
        """Plans the next frame. Call it after `frame_done` of the previous frame."""
        at_ns = self._clock.now(now_ns)
        if self._clock.jumped:
            self.restart("the clock jumped")
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
        reason = "; ".join(self._reasons)
        return FramePlan(start_ns, swap_at_ns, present_ns, interval_ns, self._interval.refreshes, reason)

    def _closest_ns(self, interval_ns: int) -> int:
        """Least time in ns between two predicted present times; 1 if frames are not paced."""
        return 1 if self.unlimited else math.ceil(CLOSEST_SHARE * interval_ns)

    def drawn(self, start_ns: int, work_end_ns: int) -> int | None:
        """Records that drawing has ended. Returns the earliest instant at which to swap. None: swap at once."""
        begun_ns = self._clock.within(start_ns)
        drawn_ns = max(begun_ns, self._clock.within(work_end_ns))
        swap_at_ns = self._placing.drawn(begun_ns, drawn_ns)
        if swap_at_ns is None:
            return None
        return min(self._clock.back(swap_at_ns), work_end_ns + LONGEST_WAIT * self._interval.interval_ns)

    def frame_done(self, times: FrameTimes) -> FrameResult:
        """Records a frame whose swap has returned. Returns the present time of the frame and the number of refreshes
        that the frame missed."""
        self._frame += 1
        times = self._source.checked(times)
        outcome = self._placing.done(self._clock.times(times))
        if outcome.reason:
            self._reasons.append(outcome.reason)
        if outcome.display is not None and self._may_change:
            self._change_over(outcome.display)
        reason = "; ".join(filter(None, self._reasons))
        self._reasons.clear()
        present_ns, deadline_ns = self._clock.back(outcome.present_ns), self._clock.back(self._deadline_ns)
        return FrameResult(present_ns, deadline_ns, outcome.missed, reason)

    def display_reported(self, presented_ns: int, refresh_ns: int | None) -> None:
        """Records what the display reported about an earlier frame: its present time, and the refresh period in ns."""
        at_ns = self._clock.recent(presented_ns)
        if at_ns is not None and not self.unlimited:
            self._placing.display_reported(at_ns, sane_length_ns(refresh_ns))

    def at_most(self, fps: float | None) -> None:
        """Sets the largest number of frames per second. None for no limit."""
        bound = max(fps, LEAST_BOUND_FPS) if fps is not None and math.isfinite(fps) and fps > 0 else None
        self._interval.at_most(bound)
        self._reasons.append("no limit on the frame rate" if bound is None else f"at most {bound:g} fps")

    def forget_work(self, why: str) -> None:
        """Clears all recorded frames and the estimate of work. Returns to the display's own interval."""
        self._interval.forget()
        self._work.forget()
        self._reasons.append(why)

    def work_changed(self, why: str) -> None:
        """Clears the recorded costs of frames, for example after a change of quality. Keeps the frame interval until
        new costs are known."""
        self._interval.forget_frames()
        self._work.forget()
        self._reasons.append(why)

    def restart(self, why: str) -> None:
        """Begins a new grid with the next frame, after a time without frames. A pause adds no missed refreshes."""
        self._placing.restart()
        self._work.restart()
        self._reasons.append(why)

    def _place(self, found: FoundDisplay, shown_ns: int | None) -> Policy:
        if self.unlimited:
            return Unlimited(self._work)
        if found.display == BLOCKING:
            return WholeRefreshes(self._interval, self._work, self._grid, shown_ns, self._is_called)
        if found.display == QUEUED:
            return DisplayPaced(self._interval, self._work, self._grid, shown_ns, found.queues)
        return TimerGrid(self._interval, self._work, shown_ns, watches=self._may_change)

    def _change_over(self, found: FoundDisplay) -> None:
        was = self._placing.display
        if found.display == was or self._frame - self._changed_at < SETTLING_FRAMES:
            return
        self._changed_at = self._frame
        shown_ns = self._placing.shown_ns
        if found.display == QUEUED:
            self._source.disprove_fences()
        if found.display == FREE:
            self._interval.set_free(self._grid.period_ns)
        elif was == FREE:
            period_ns = found.period_ns or self._grid.period_ns
            self._grid.begin_anew(period_ns, shown_ns or 0)
            self._interval.set_refresh(period_ns, is_new=True)
        self._work.changed_over()
        self._placing = self._place(found, shown_ns)
        self._reasons.append(CHANGES[found.display])

    def _opening(self, refresh: Refresh, blocks: bool) -> str:
        interval_ms = self._interval.interval_ns / 1e6
        if self.unlimited:
            return "unlimited: each frame starts at once"
        if self.policy == "vsync" and not blocks:
            return f"vsync requested, but swap does not wait: timer, every {interval_ms:.2f} ms ({refresh.reason})"
        pace = f"{self._interval.refreshes} refresh(es)" if self._wants_vsync else "timer"
        return f"{pace}, every {interval_ms:.2f} ms ({refresh.reason})"


class PresentSource:
    """Source of a frame's present time before the display reports it: a fence, the return of swap, or the timer.

    fence: the window's trial of fences. None: fences are made without a trial, and are trusted until frames show that
    fences are wrong.
    """

    def __init__(self, fence: FenceTrial | None) -> None:
        self._fence, self._counts_swaps = fence or FenceTrial(), fence is None
        self._is_fence = False  # True if the last frame's present time comes from a fence
        self._fenced = 0  # how many frames in a row had a fence
        self._waited: deque[bool] = deque([False], maxlen=WAITING_FRAMES)  # True for each of the last swaps that waited

    def checked(self, times: FrameTimes) -> FrameTimes:
        """Records a frame. Returns its times, without that of a fence if fences are not trusted."""
        swap_ns = times.swap_end_ns - times.swap_begin_ns
        self._waited.append(swap_ns > WAITED_NS)
        self._fenced = self._fenced + 1 if times.presented_ns is not None else 0
        if self._counts_swaps:
            self._fence.swapped(swap_ns, is_vsynced=False)
        self._is_fence = self._fenced > 0 and self._fence.is_believed
        return times if self._is_fence or not self._fenced else times._replace(presented_ns=None)

    def name(self, display: str) -> str:
        """Source of the last frame's present time, on a display of this kind."""
        if self._is_fence:
            return "fence"
        waits = display == BLOCKING or (display == QUEUED and 2 * sum(self._waited) >= len(self._waited))
        return "swap" if waits else "timer"

    def disprove_fences(self) -> None:
        """Marks fences as unreliable if the last frames all had a fence. Call this when swaps prove not to wait."""
        if self._fenced >= FENCED_IN_A_ROW:
            self._fence.disproved()
            self._is_fence = False


# Policies require increasing times. Times do not increase if the clock is set back. They jump if the process is
# suspended. So policies get the caller's times plus an offset. When the clock jumps, the offset changes.

# Range of the refresh periods of displays, in ns: 650 to 10 Hz.
SHORTEST_REFRESH_NS, LONGEST_REFRESH_NS = 1_540_000, 100_000_000
# Longest time (ns) from one call to the next. A longer time means that the machine was suspended or that the clock was
# replaced.
LONGEST_STEP_NS = 60_000_000_000
# If the clock goes back by less than this (ns), it has not jumped: the two times may have been read at nearly the same
# instant.
SMALLEST_BACK_NS = 1_000_000_000
# A present time that the display reports is ignored if it is older than OLDEST_REPORT_NS, or more than AHEAD_NS in the
# future.
OLDEST_REPORT_NS, AHEAD_NS = 2_000_000_000, 500_000_000


def sane_length_ns(length_ns: float | None) -> int | None:
    """The length in whole ns, if a refresh can be so long; otherwise None."""
    if length_ns is None or not math.isfinite(length_ns):
        return None
    return round(length_ns) if SHORTEST_REFRESH_NS <= length_ns <= LONGEST_REFRESH_NS else None


class PacerClock:
    """Converts the caller's times to the policies' clock, on which they increase without jumps. jumped: the last call
    of `now` found a jump."""

    def __init__(self) -> None:
        self.jumped = False
        self._last_ns: int | None = None  # last time that was given to a policy, in ns on the policies' clock
        self._offset_ns = 0

    def now(self, instant_ns: int) -> int:
        """Converts the instant of a call to the policies' clock. Sets `jumped` if the clock has jumped."""
        instant_ns = _whole(instant_ns)
        self.jumped = False
        at_ns = instant_ns + self._offset_ns
        if self._last_ns is None:
            self._last_ns = at_ns
        step_ns = at_ns - self._last_ns
        if step_ns > LONGEST_STEP_NS or step_ns < -SMALLEST_BACK_NS:
            self.jumped = True
            self._offset_ns = self._last_ns - instant_ns
            at_ns = self._last_ns
        self._last_ns = max(at_ns, self._last_ns)
        return self._last_ns

    def within(self, instant_ns: int) -> int:
        """Converts an instant within the current frame to the policies' clock. If the instant is before the last known
        time, or so late that the clock must have jumped, the result is the last known time."""
        last_ns = self._last_ns if self._last_ns is not None else self.now(instant_ns)
        at_ns = (instant_ns if isinstance(instant_ns, int) else _whole(instant_ns)) + self._offset_ns
        if not last_ns <= at_ns <= last_ns + LONGEST_STEP_NS:
            return last_ns
        return at_ns

    def times(self, times: FrameTimes) -> FrameTimes:
        """Converts the times of one frame to the policies' clock, in increasing order."""
        start_ns = self.within(times.start_ns)
        latch_ns = max(start_ns, self.within(times.latch_ns))
        work_end_ns = max(latch_ns, self.within(times.work_end_ns))
        swap_begin_ns = max(work_end_ns, self.within(times.swap_begin_ns))
        swap_end_ns = max(swap_begin_ns, self.within(times.swap_end_ns))
        presented_ns = None
        if times.presented_ns is not None:
            presented_ns = max(swap_begin_ns, self.within(times.presented_ns))
        self._last_ns = max(swap_end_ns, presented_ns or 0)
        return FrameTimes(start_ns, latch_ns, work_end_ns, swap_begin_ns, swap_end_ns, presented_ns)

    def recent(self, instant_ns: int) -> int | None:
        """Converts an instant that the display reported to the policies' clock. None if no recent frame can have been
        shown at this instant."""
        at_ns = _whole(instant_ns) + self._offset_ns
        if self._last_ns is None or not -OLDEST_REPORT_NS <= at_ns - self._last_ns <= AHEAD_NS:
            return None
        return at_ns

    def back(self, at_ns: int) -> int:
        """Converts an instant on the policies' clock to the caller's clock."""
        return at_ns - self._offset_ns


def _whole(instant_ns: float) -> int:
    if isinstance(instant_ns, int):
        return instant_ns
    return round(instant_ns) if math.isfinite(instant_ns) else 0
