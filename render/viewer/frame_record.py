"""Records shown frames: log row, present time, and the lead that is reported to physics.

The row of a frame is written when its swap has returned. It is corrected some frames later, when the display reports
the present time of that frame. Present times lag behind the returns of swaps by a nearly constant time. The pacer
works with the returns. So the lag is added to the planned present time, and frames are drawn for the instant at which
they will be seen.

Always: never waits. A frame that the display does not report keeps the present time that was known at its swap.
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

# Number of frames whose report is awaited: as many as the log holds back, 50 ms at 240 Hz. LONGEST_AWAITED_NS: longest
# time from the return of a swap to the reported present time.
MOST_AWAITED = HELD_BACK
LONGEST_AWAITED_NS = 250_000_000
# The lag of present times behind returns of swaps is the median of the last LAG_REPORTS reports, once there are
# FIRST_REPORTS. After that it changes by at most LAG_MOVES_NS a frame, which cannot be seen. A lag above
# LONGEST_LAG_NS counts as 0: a draw time so far ahead would be a guess.
LAG_REPORTS, FIRST_REPORTS = 32, 6
LAG_MOVES_NS = 50_000
LONGEST_LAG_NS = 60_000_000
# A reported refresh period is used only if the last WHOLE_REPORTS intervals between present times are whole multiples
# of it, within WHOLE_SHARE, and the shortest interval is a single refresh.
WHOLE_SHARE, WHOLE_REPORTS = 0.04, 8
# The lead reported to physics is the largest one of this many last frames: one second at 60 Hz.
LEAD_FRAMES = 60

NO_HEAD = Head()


class FrameInputs(NamedTuple):
    """State from which one frame was drawn. It is stored because snapshots that are read for the next frame may bring
    a later plan before this frame is shown."""

    newest: Head  # of the newest snapshot
    plan: Plan
    clock: ClockState
    steps: int  # ticks received since the previous frame
    acted_ns: int  # instant of the user's action whose effect this frame shows first; 0: none


class Drawing(NamedTuple):
    """Picture of one frame and its cost."""

    shown: DrawnPicture | None  # None: nothing could be drawn yet
    quality: str = ""
    gpu_ns: int | None = None
    costs: FrameCosts = NO_COSTS
    ahead_ns: int = 0  # time of work done before the frame's start, in spare time


class Pacing(NamedTuple):
    """Pacer settings under which a frame was shown; 0 if a setting does not apply to this display."""

    interval_ns: int
    planned_refreshes: int
    source: str = ""


class FrameFacts(NamedTuple):
    """Inputs of a frame's log row."""

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
    """Log row of a frame. last: row of the previous frame. Pure."""
    planned, times, paced, pacing = facts.planned, facts.times, facts.paced, facts.pacing
    (newest, plan, clock, steps, acted_ns), (shown, quality, gpu_ns, costs, ahead_ns) = facts.inputs, facts.drawing
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
    # The arguments are positional, in the order of the fields: with names this call takes 13 us in every frame instead
    # of 3.
    return FrameRow(
        facts.frame, times.start_ns, times.latch_ns, times.work_end_ns, times.swap_begin_ns,
        times.presented_ns or times.swap_end_ns,
        planned.present_ns, paced.deadline_ns, times.start_ns - planned.start_ns,
        draw_time_ns, alpha, mode, method, clock.mode, clock.reason, clock.offset_ns, clock.room_ns, clock.rate,
        newest.rate, previous_tick, next_tick, newest.tick, newest.sim_time_ns, newest.due_ns, newest.published_ns,
        used_published_ns, steps, draw_due_ns, group_due_ns, newest.world_epoch, plan.number, plan.rate,
        pacing.interval_ns, pacing.planned_refreshes, paced.reason, gpu_ns, acted_ns, facts.rested_ns,
        facts.is_probe, times.swap_end_ns, 0, "", pacing.source, *costs, quality, ahead_ns,
    )  # fmt: skip


class FrameRecord:
    """Log and screenshots of the frames of one loop.

    last: row of the last frame. first_present_ns: present time of the first frame; 0 before it.
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
        """Records a frame that was just shown, in pacer and log; returns its row. is_probe: the frame counts in no
        figure. rested_ns: time without frames before it."""
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
        """Largest time from reading the state to the planned present time, over the last LEAD_FRAMES frames, in ns."""
        return self._leads_ns.quantile(1.0)

    def forget_leads(self) -> None:
        """Discards the leads so far, because those of later frames will differ."""
        self._leads_ns.clear()


class Presents:
    """Present times of the frames of one display."""

    def __init__(self, display: Display, log: FrameLog, pacer: Pacer) -> None:
        self._display, self._log, self._pacer = display, log, pacer
        self._awaited: deque[tuple[int, int, int]] = deque(maxlen=MOST_AWAITED)  # swap number, frame, swap's return
        self._lag = Lag()
        self._refresh = ReportedRefresh()

    @property
    def lag_ns(self) -> int:
        """Time in ns from the return of a swap to the present time; 0 if the display does not report present times."""
        return self._lag.ns if self._display.present_source == "display" else 0

    def planned(self, plan: FramePlan) -> FramePlan:
        """Adds the lag to the planned present time, which then is the instant at which the frame will be seen."""
        lag_ns = self.lag_ns
        return plan._replace(present_ns=plan.present_ns + lag_ns) if lag_ns else plan

    def seen(self, row: FrameRow) -> FrameRow:
        """Adds the lag to the present time of a row: the best estimate before the display reports it."""
        lag_ns = self.lag_ns
        return row._replace(present_ns=row.present_ns + lag_ns) if lag_ns else row

    def shown(self, frame: int, swap_end_ns: int) -> None:
        """Registers a frame whose row is in the log, so that the display's report can be assigned to it."""
        self._awaited.append((self._display.swap_number, frame, swap_end_ns))

    def apply_reports(self) -> None:
        """Passes reported present times to the log rows and the pacer."""
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
        """Discards lag and refresh period, because the display changed."""
        self._lag = Lag()
        self._refresh = ReportedRefresh()

    def _frame_of(self, swap_number: int, present_ns: int) -> tuple[int | None, int]:
        for number, frame, swap_end_ns in self._awaited:
            if number == swap_number and present_ns - swap_end_ns < LONGEST_AWAITED_NS:
                return frame, swap_end_ns
        return None, 0


class Lag:
    """Median time from the return of a swap to its present time. ns: its value, 0 until it is known. Pure."""

    def __init__(self) -> None:
        self.ns = 0
        self._lags = QuantileWindow(LAG_REPORTS)

    @property
    def is_known(self) -> bool:
        return len(self._lags) >= FIRST_REPORTS

    def observe(self, lag_ns: int) -> None:
        """Adds the lag of one frame, and moves `ns` towards the median."""
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
        """Adds a present time and the refresh period reported with it. Returns that period; None if present times
        contradict it."""
        self._presents_ns.append(present_ns)
        if not refresh_ns or len(self._presents_ns) <= WHOLE_REPORTS:
            return None
        refreshes = [(later - earlier) / refresh_ns for earlier, later in pairwise(self._presents_ns)]
        is_whole = all(abs(n - round(n)) <= WHOLE_SHARE * max(1, round(n)) for n in refreshes)
        return refresh_ns if is_whole and min(map(round, refreshes)) == 1 else None


# Clock of one frame loop, its waits, and the laps into which the time of a frame is divided.
#
# The clock is passed to the frame loop. A run passes the machine's clock. A test passes a clock that it advances
# itself, so that hundreds of frames run without real sleeps.
#
# Always: the frame loop reads no other clock.


# Longest duration of a swap that counts as work (copying the picture). A longer swap waits for the display.
LONGEST_COPY_NS = 1_000_000
# --slow-render adds at least this, or its own value if that is less, even to a frame that takes longer by itself. So
# its effect is always visible in the figures.
SEEN_WORK_NS = 5_000_000


class Processor(Protocol):
    """Running and waiting times of threads. `ProcessorTime` is one implementation."""

    def read(self) -> Reading:
        """Times of this thread so far."""

    def drawers(self) -> tuple[int, ...]:
        """Waiting time so far, in ns, of each thread that draws for this process."""

    def waited_ns(self) -> int:
        """Total waiting time so far, in ns, of this thread and those that draw for it."""

    def close(self) -> None: ...


class FrameTimer:
    """Clock of one frame loop, and measurement of the time of its frames.

    wait: waits for instants. laps: parts of a frame's time, by cause for the log and as spans for the trace. spans:
    the trace, for spans that have their own instants. processor: see `Processor`. now_ns: the clock, perf_counter_ns
    by default. sleep: sleeps for a number of seconds.
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
        """Spins until the frame that began at `began_ns` has taken `work_ns` (--slow-render). swap_ns: expected
        duration of its swap; up to LONGEST_COPY_NS of that counts as work."""
        at_least_ns = began_ns + work_ns - min(swap_ns, LONGEST_COPY_NS)
        end_ns = max(at_least_ns, self.now_ns() + min(work_ns, SEEN_WORK_NS))
        while self.now_ns() < end_ns:
            pass
        self.laps.lap(DRAW, kinds.SLOW_RENDER)

    def close(self) -> None:
        """Closes `processor`."""
        self.processor.close()
