"""Records each shown frame: writes its log row, corrects its present time, and reports its lead to the physics
process.

The present time of a frame is the instant at which the frame appears on the screen. The lead of a frame is the time
from the reading of its state to its planned present time.

The row of a frame is written when its swap has returned. The row is corrected some frames later, when the display
reports the present time of that frame. Present times lag behind the returns of swaps by a nearly constant time. This
time is called the lag. The pacer, which plans the frames, works with the returns of swaps. So the lag is added to the
present time that it plans. Thus a frame is drawn for the instant at which it will be seen.

Always: this module never waits. A frame that the display does not report keeps the present time that was known at its
swap.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, Protocol

from twixt.ipc.plan import Plan
from twixt.ipc.quantiles import QuantileWindow
from twixt.ipc.snapshot import Head
from twixt.ipc.trace import spans as kinds
from twixt.ipc.trace.spans import NOT_RECORDED, Spans
from twixt.render.cores.thread_time import DRAW, NO_COSTS, FrameCosts, LapRecorder, Reading
from twixt.render.display.display import Display
from twixt.render.measure.frame_log import HELD_BACK, FrameLog
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.pacing.pacer import Pacer
from twixt.render.pacing.policy import FramePlan, FrameResult, FrameTimes
from twixt.render.pacing.wait import HybridWait
from twixt.render.playback import ClockState
from twixt.render.scene.groups import AS_PUBLISHED
from twixt.render.scene.views import DrawnPicture
from twixt.render.viewer.screenshots import Screenshots

# MOST_AWAITED is the number of frames that wait for the display to report their present time. The log holds back as
# many rows, which is 50 ms at 240 Hz. LONGEST_AWAITED_NS is the longest time from the return of a swap to a reported
# present time, in ns.
MOST_AWAITED = HELD_BACK
LONGEST_AWAITED_NS = 250_000_000
# The lag of present times behind returns of swaps is the median of the last LAG_REPORTS reports. It counts as 0 until
# there are FIRST_REPORTS reports. After that, the lag changes by at most LAG_MOVES_NS a frame, and nobody can see so
# small a change. A lag above LONGEST_LAG_NS counts as 0, because a draw time so far ahead would be a guess.
LAG_REPORTS, FIRST_REPORTS = 32, 6
LAG_MOVES_NS = 50_000
LONGEST_LAG_NS = 60_000_000
# A refresh period that the display reports is used only under two conditions. The last WHOLE_REPORTS intervals between
# present times must be whole multiples of the period, within the tolerance WHOLE_SHARE. The shortest of these
# intervals must be a single refresh.
WHOLE_SHARE, WHOLE_REPORTS = 0.04, 8
# The lead of a frame is the time from the reading of its state to its planned present time. The largest lead of this
# many last frames is reported to the physics process. These frames last one second at 60 Hz.
LEAD_FRAMES = 60

NO_HEAD = Head()


class FrameInputs(NamedTuple):
    """State of the simulation from which one frame was drawn. This state is stored, because the next frame may read
    newer snapshots before this frame is shown."""

    newest: Head  # head of the newest snapshot
    plan: Plan
    clock: ClockState
    steps: int  # ticks received since the previous frame
    acted_ns: int  # instant of the user's action whose effect this frame shows first, or 0 if there is none


class Drawing(NamedTuple):
    """Picture of one frame and its cost."""

    shown: DrawnPicture | None  # None if nothing could be drawn yet
    quality: str = ""
    gpu_ns: int | None = None
    costs: FrameCosts = NO_COSTS
    ahead_ns: int = 0  # duration in ns of work done before the frame's start, in spare time
    events: int = 0  # number of the program's events that the frame was the first to reach
    event_late_ns: int = 0  # largest lateness of these events, in ns of display time


class Pacing(NamedTuple):
    """Settings of the pacer when a frame was shown. A setting that does not apply to this display is 0."""

    interval_ns: int
    planned_refreshes: int
    source: str = ""


class FrameFacts(NamedTuple):
    """Facts about a frame from which its log row is made."""

    frame: int
    planned: FramePlan
    times: FrameTimes
    paced: FrameResult
    pacing: Pacing
    inputs: FrameInputs
    drawing: Drawing
    is_probe: bool
    rested_ns: int


def row_of(facts: FrameFacts, last: FrameRow) -> FrameRow:
    """Log row of a frame. last: log row of the previous frame. Pure."""
    planned, times, paced, pacing = facts.planned, facts.times, facts.paced, facts.pacing
    newest, plan, clock, steps, acted_ns = facts.inputs
    shown, quality, gpu_ns, costs, ahead_ns, events, event_late_ns = facts.drawing
    draw_time_ns, alpha, mode, method = 0, 0.0, "none", ""
    previous_tick = next_tick = -1
    used_published_ns = draw_due_ns = group_due_ns = 0
    if shown is not None:
        main = shown.main
        pair, draw_time_ns, method = main.pair, main.draw_time_ns, main.method
        previous = pair.previous.head
        following = previous if pair.next is None else pair.next.head
        is_blended = pair.next is not None and method not in AS_PUBLISHED and not main.is_beyond
        stands = draw_time_ns == last.draw_time_ns and last.mode != "none"
        alpha = pair.alpha if is_blended else 0.0
        mode = "extrapolated" if main.is_beyond else "held" if stands and not is_blended else "interpolated"
        previous_tick, next_tick = previous.tick, -1 if pair.next is None else following.tick
        used = newest if method == "latest" else following if is_blended else previous
        used_published_ns, draw_due_ns = used.published_ns, shown.due_ns
        group_due_ns = min(shown.group_due_ns.values(), default=0)
    # The arguments are positional, in the order of the fields. With names, this call would take 13 us in every frame
    # instead of 3 us.
    return FrameRow(
        facts.frame, times.start_ns, times.latch_ns, times.work_end_ns, times.swap_begin_ns,
        times.presented_ns or times.swap_end_ns,
        planned.present_ns, paced.deadline_ns, times.start_ns - planned.start_ns,
        draw_time_ns, alpha, mode, method, clock.mode, clock.reason, clock.offset_ns, clock.room_ns, clock.rate,
        newest.rate, previous_tick, next_tick, newest.tick, newest.sim_time_ns, newest.due_ns, newest.published_ns,
        used_published_ns, steps, draw_due_ns, group_due_ns, newest.world_epoch, plan.number, plan.rate,
        pacing.interval_ns, pacing.planned_refreshes, paced.reason, gpu_ns, acted_ns, facts.rested_ns,
        facts.is_probe, times.swap_end_ns, 0, "", pacing.source, *costs, quality, ahead_ns,
        events, event_late_ns,
    )  # fmt: skip


class FrameRecord:
    """Log and screenshots of the frames of one loop.

    last: log row of the last frame. first_present_ns: present time of the first frame in ns, or 0 before that frame.
    """

    def __init__(self, log: FrameLog, screenshots: Screenshots, display: Display, pacer: Pacer) -> None:
        self.log, self.screenshots = log, screenshots
        self.last = FrameRow()
        self.first_present_ns = 0
        self.presents = Presents(display, log, pacer)
        self._pacer = pacer
        self._leads_ns = QuantileWindow(LEAD_FRAMES)

    def add(
        self,
        planned: FramePlan,
        times: FrameTimes,
        inputs: FrameInputs,
        drawing: Drawing,
        is_probe: bool,
        rested_ns: int,
    ) -> FrameRow:
        """Records a frame that was just shown, in pacer and log. Returns its log row. is_probe: True if no figure
        counts the frame. rested_ns: time in ns without frames before this frame."""
        pacer, presents = self._pacer, self.presents
        paced = pacer.frame_done(times)
        self._leads_ns.add(planned.present_ns - times.latch_ns)
        pacing = Pacing(
            0 if pacer.unlimited else planned.interval_ns,
            planned.planned_refreshes if pacer.blocks else 0,
            pacer.last_source,
        )
        facts = FrameFacts(self.log.count, planned, times, paced, pacing, inputs, drawing, is_probe, rested_ns)
        row = row_of(facts, self.last)
        self.log.add(row)
        presents.shown(row.frame, times.swap_end_ns)
        presents.apply_reports()
        self.last = row = presents.seen(row)
        self.first_present_ns = self.first_present_ns or row.present_ns
        return row

    @property
    def lead_ns(self) -> int:
        """Largest lead of the last LEAD_FRAMES frames, in ns. The lead of a frame is the time from the reading of its
        state to its planned present time."""
        return self._leads_ns.quantile(1.0)

    def forget_leads(self) -> None:
        """Discards the leads of the frames so far, because the leads of later frames will differ. The lead of a frame
        is the time from the reading of its state to its planned present time."""
        self._leads_ns.clear()


class Presents:
    """Present times of the frames of one display."""

    def __init__(self, display: Display, log: FrameLog, pacer: Pacer) -> None:
        self._display, self._log, self._pacer = display, log, pacer
        # swap number, frame number, instant of the swap's return
        self._awaited: deque[tuple[int, int, int]] = deque(maxlen=MOST_AWAITED)
        self._lag = Lag()
        self._refresh = ReportedRefresh()

    @property
    def lag_ns(self) -> int:
        """Time in ns from the return of a swap to the present time. It is 0 if the display does not report present
        times."""
        return self._lag.ns if self._display.present_source == "display" else 0

    def planned(self, plan: FramePlan) -> FramePlan:
        """Adds the lag to the planned present time of a frame. The lag is the time from the return of a swap to the
        present time of its frame. The sum is the instant at which the frame will be seen."""
        lag_ns = self.lag_ns
        return plan._replace(present_ns=plan.present_ns + lag_ns) if lag_ns else plan

    def seen(self, row: FrameRow) -> FrameRow:
        """Adds the lag to the present time in a log row. The lag is the time from the return of a swap to the present
        time of its frame. The sum is the best estimate until the display reports the present time."""
        lag_ns = self.lag_ns
        return row._replace(present_ns=row.present_ns + lag_ns) if lag_ns else row

    def shown(self, frame: int, swap_end_ns: int) -> None:
        """Registers a frame whose row is in the log. Later, the display's report can then be assigned to this
        frame."""
        self._awaited.append((self._display.swap_number, frame, swap_end_ns))

    def apply_reports(self) -> None:
        """Passes the reported present times to the log rows and to the pacer."""
        for report in self._display.drain_presents():
            frame, swap_end_ns = self._frame_of(report.swap_number, report.present_ns)
            if frame is None:
                continue
            self._log.display_reported(frame, report.present_ns, report.flags)
            if report.was_shown:
                self._lag.observe(report.present_ns - swap_end_ns)
                refresh_ns = self._refresh.believed_ns(report.present_ns, report.refresh_ns)
                if self._lag.is_known:
                    self._pacer.display_reported(report.present_ns - self._lag.ns, refresh_ns)

    def restart(self) -> None:
        """Discards the measured lag and the refresh period, because the display has changed. The lag is the time from
        the return of a swap to the present time of its frame."""
        self._lag = Lag()
        self._refresh = ReportedRefresh()

    def _frame_of(self, swap_number: int, present_ns: int) -> tuple[int | None, int]:
        for number, frame, swap_end_ns in self._awaited:
            if number == swap_number and present_ns - swap_end_ns < LONGEST_AWAITED_NS:
                return frame, swap_end_ns
        return None, 0


class Lag:
    """Median time from the return of a swap to the present time of its frame. ns: this median in ns, or 0 until it is
    known. Pure."""

    def __init__(self) -> None:
        self.ns = 0
        self._lags = QuantileWindow(LAG_REPORTS)

    @property
    def is_known(self) -> bool:
        return len(self._lags) >= FIRST_REPORTS

    def observe(self, lag_ns: int) -> None:
        """Adds one frame, and moves `ns` towards the median. lag_ns: time from the return of the frame's swap to its
        present time, in ns."""
        self._lags.add(lag_ns)
        if not self.is_known:
            return
        usual_ns = round(self._lags.quantile(0.5))
        if abs(usual_ns) > LONGEST_LAG_NS:
            usual_ns = 0
        if len(self._lags) == FIRST_REPORTS:
            self.ns = usual_ns
        self.ns += min(max(usual_ns - self.ns, -LAG_MOVES_NS), LAG_MOVES_NS)


class ReportedRefresh:
    """Refresh period that a display reports, checked against its present times. Pure."""

    def __init__(self) -> None:
        self._presents_ns: deque[int] = deque(maxlen=WHOLE_REPORTS + 1)

    def believed_ns(self, present_ns: int, refresh_ns: int | None) -> int | None:
        """Adds a present time, and the refresh period in ns that was reported with it. Returns that period, or None if
        the present times contradict it."""
        self._presents_ns.append(present_ns)
        if not refresh_ns or len(self._presents_ns) <= WHOLE_REPORTS:
            return None
        refreshes = [(later - earlier) / refresh_ns for earlier, later in pairwise(self._presents_ns)]
        is_whole = all(abs(n - round(n)) <= WHOLE_SHARE * max(1, round(n)) for n in refreshes)
        return refresh_ns if is_whole and min(map(round, refreshes)) == 1 else None


# Clock of one frame loop, its waits, and its measurement of a frame's time. The time of a frame is divided into laps,
# one for each kind of work.
#
# The clock is passed to the frame loop. A normal run passes the machine's clock. A test passes a clock that the test
# advances itself, so that hundreds of frames run without real sleeps.
#
# Always: the frame loop reads no other clock.


# Longest duration in ns of a swap that counts as work. Such a swap copies the picture. A longer swap waits for the
# display.
LONGEST_COPY_NS = 1_000_000
# Least time in ns that --slow-render adds to a frame, even if the frame takes longer by itself. If the value of
# --slow-render is less, that value is added. So the effect of the option is always visible in the figures.
SEEN_WORK_NS = 5_000_000


class Processor(Protocol):
    """Reads for how long threads have run and have waited for a processor. `ProcessorTime` is one implementation."""

    def read(self) -> Reading:
        """Running and waiting times of this thread so far."""

    def drawers(self) -> tuple[int, ...]:
        """Waiting time so far, in ns, of each thread that draws for this process."""

    def waited_ns(self) -> int:
        """Total waiting time so far, in ns, of this thread and of the threads that draw for it."""

    def close(self) -> None: ...


class FrameTimer:
    """Clock of one frame loop, and measurement of the time of its frames.

    wait: object that waits for instants. laps: recorder of the parts of a frame's time, which go into the log and the
    trace. spans: recorder of the trace, for spans that have their own instants. processor: reader of the threads'
    times, see `Processor`. now_ns: function that reads the clock, perf_counter_ns by default. sleep: function that
    sleeps for a number of seconds.
    """

    def __init__(
        self,
        processor: Processor,
        spans: Spans = NOT_RECORDED,
        now_ns: Callable[[], int] = time.perf_counter_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.processor, self.spans, self.now_ns = processor, spans, now_ns
        self.wait = HybridWait(now_ns, sleep)
        self.laps = LapRecorder(processor.read, processor.drawers, spans)

    def add_work(self, work_ns: int, began_ns: int, swap_ns: int) -> None:
        """Spins until the frame has taken `work_ns` (--slow-render). began_ns: instant at which the frame began.
        swap_ns: expected duration of its swap. Of this duration, at most LONGEST_COPY_NS count as work."""
        at_least_ns = began_ns + work_ns - min(swap_ns, LONGEST_COPY_NS)
        end_ns = max(at_least_ns, self.now_ns() + min(work_ns, SEEN_WORK_NS))
        while self.now_ns() < end_ns:
            pass
        self.laps.lap(DRAW, kinds.SLOW_RENDER)

    def close(self) -> None:
        """Closes `processor`."""
        self.processor.close()
