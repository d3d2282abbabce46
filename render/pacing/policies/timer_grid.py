"""Frames on a grid of deadlines of any interval, where swap waits for nothing and is the present.

    start --work-- done ....wait.... swap            swap at the deadline

A late frame is shown when it is drawn, and the next stands on the grid again. A frame that is known to be late when it
starts is planned for when it will be done; the first of them for 1.2 times its usual work, which leaves room for work
that varies, those after it catch up. After a late frame, short frames skip the points of the grid that have passed.
Frames longer than half an interval skip none until they are an interval late: a skipped point is a lost picture. Pure.
"""

from __future__ import annotations

from twixt.render.pacing.interval import IntervalChoice
from twixt.render.pacing.policy import FREE, FrameOutcome, FramePlacement, FrameTimes, WorkEstimate
from twixt.render.pacing.refresh.display_waits import UnexpectedWaits
from twixt.render.pacing.refresh.hand_over import StartMargin

# Frames start this much earlier than their usual work needs. A late frame is seen as uneven motion; input that is read
# 2 ms earlier is not seen.
MARGIN_NS = 2_000_000
# A frame is known to be late if its usual work ends more than this share of an interval after its deadline.
KNOWN_LATE_SHARE = 0.02
# Presents later than this share of an interval are missed deadlines, which are reported.
MISSED_SHARE = 0.10
# The first frame known to be late is planned for so many times its usual work.
LATE_FRAME = 1.2
# With usual work above this share of an interval, a frame that is late for a point of the grid does not skip it.
HEAVY_SHARE = 0.5
# Two presents are never planned closer than this share of an interval.
CLOSEST_SHARE = 0.1


class TimerGrid:
    """Placement of frames on a grid. interval: the choice of their interval. watches: looks for swaps that wait."""

    display = FREE

    def __init__(
        self, interval: IntervalChoice, work: WorkEstimate, shown_ns: int | None = None, watches: bool = True
    ) -> None:
        self.shown_ns = shown_ns
        self._interval, self._work = interval, work
        self._margin = StartMargin(MARGIN_NS)
        self._waits = UnexpectedWaits() if watches else None
        self._origin_ns = shown_ns or 0  # a point of the grid
        self._deadline_ns = self._start_ns = 0
        self._is_late = False

    def plan(self, now_ns: int) -> FramePlacement:
        work, interval_ns = self._work, self._interval.interval_ns
        swap_ns, usual_ns = work.swap_ns, work.usual_ns
        lead_ns = min(work.lead_ns(interval_ns) + self._margin.ns, max(interval_ns, usual_ns))
        reason = ""
        if self.shown_ns is None:  # nothing to keep an even distance to: at once
            self._deadline_ns = self._origin_ns = now_ns + lead_ns + swap_ns
        else:
            closest_ns = self.shown_ns + round(CLOSEST_SHARE * interval_ns)
            is_heavy = usual_ns > HEAVY_SHARE * interval_ns
            self._origin_ns = self._next_point(now_ns - interval_ns if is_heavy else closest_ns, interval_ns)
            self._deadline_ns = max(self._origin_ns, closest_ns)
            late_ns = now_ns + usual_ns + swap_ns - self._deadline_ns
            was_late, self._is_late = self._is_late, late_ns > KNOWN_LATE_SHARE * interval_ns
            if self._is_late:
                catches_up = not was_late and usual_ns + swap_ns + work.overhead_ns <= interval_ns
                planned_ns = round(LATE_FRAME * usual_ns) if catches_up else usual_ns
                self._deadline_ns = now_ns + planned_ns + swap_ns
                known = f"known to be {late_ns / 1e6:.1f} ms late"
                reason = f"{known}: starts at once, planned for {planned_ns / 1e6:.1f} ms of work"
        self._start_ns = max(now_ns, self._deadline_ns - swap_ns - lead_ns)
        return FramePlacement(self._start_ns, self._deadline_ns - swap_ns, self._deadline_ns, reason)

    def _next_point(self, after_ns: int, interval_ns: int) -> int:
        """The next point of the grid that is later than `after_ns`."""
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
        """No effect: the timer does not follow the display."""

    def restart(self) -> None:
        self.shown_ns = None


class Unlimited:
    """Starts every frame at once; it is expected to be seen when its usual work and swap are over."""

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
        """No effect."""

    def restart(self) -> None:
        self.shown_ns = None
