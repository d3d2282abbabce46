"""Work done while a frame waits for its start or its swap: the next frame's uploads, the overlay, the log, garbage.

The one idea: uploading a snapshot, and drawing the background behind the bodies, do not depend on the draw time. Done
just before a frame's start they delay no frame. Snapshots published after that are taken in within the frame.

Always: work ahead begins only if its expected duration ends before the frame's start, so that frames start as exactly
as without it.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from twixt.ipc.quantiles import QuantileWindow
from twixt.ipc.trace import spans as kinds
from twixt.render.cores.frame_time_parts import DRAW, OTHER, UPLOAD
from twixt.render.measure.frame_log import FrameLog
from twixt.render.overlay.over_picture import OverPicture
from twixt.render.pacing.pacer import Pacer
from twixt.render.scene.stage import Stage
from twixt.render.snapshots.intake import NOTHING, Intake, Taken
from twixt.render.viewer.frame_timer import FrameTimer
from twixt.render.viewer.idle_garbage import Garbage

# Least spare time in which log rows are written and optional work of the overlay is done.
IDLE_NS = 4_000_000
# Work done while a frame waits for its swap ends this long before the swap.
AWAIT_ROOM_NS = 500_000

# Time before a frame's start at which work ahead begins. At least FIRST_LEAD_NS until ENOUGH durations are known; then
# the quantile COVERED of the last REMEMBERED durations, times MARGIN_FACTOR, plus MARGIN_NS.
FIRST_LEAD_NS = 1_500_000
REMEMBERED, COVERED, MARGIN_FACTOR, MARGIN_NS = 64, 0.95, 1.1, 100_000
ENOUGH = 8
# Work that needs a longer lead is done in the frame, and ahead again as a trial after this many frames.
LONGEST_LEAD_NS, FRAMES_TO_RETRY = 5_000_000, 300
# Least time to wait before work ahead begins; with less nothing is done ahead.
LEAST_SPARE_NS = 200_000
# Snapshots are not taken in ahead if, in more than half of this many frames, the frame had to take in more itself:
# physics then publishes so often that both would upload.
LAST_TAKES = 16


class DoneAhead(NamedTuple):
    """Work done for a frame before its start. end_ns: instant of its end, 0 if nothing was done."""

    taken: Taken = NOTHING
    work_ns: int = 0
    end_ns: int = 0

    def and_then(self, later: DoneAhead) -> DoneAhead:
        """Sum of this work and later work."""
        ends_ns = max(self.end_ns, later.end_ns)
        return DoneAhead(self.taken.and_then(later.taken), self.work_ns + later.work_ns, ends_ns)


NOT_AHEAD = DoneAhead()


class SpareTime:
    """Spare time of one frame loop."""

    def __init__(
        self, timer: FrameTimer, pacer: Pacer, intake: Intake, stage: Stage, over: OverPicture, log: FrameLog
    ) -> None:
        self.garbage = Garbage()
        self.next = NOT_AHEAD  # done for the next frame while this one waited for its swap
        self._timer, self._pacer, self._intake = timer, pacer, intake
        self._stage, self._over, self._log = stage, over, log
        self._ahead = AheadSchedule()

    def before_start(self, now_ns: int, start_ns: int, is_starting: bool) -> DoneAhead:
        """Uses the time until a frame's start, `start_ns`; returns the work done for that frame."""
        self.between_frames(start_ns)
        timer = self._timer
        timer.parts.lap(OTHER)
        done, self.next = self.next, NOT_AHEAD
        due_ns = None if is_starting else self._due_ns(start_ns)
        if due_ns is None:
            return done
        begin_ns = timer.wait.about(due_ns)
        timer.parts.waited(due_ns)
        timer.spans.add(kinds.WAIT, now_ns, begin_ns)
        taken = self._take() if self._ahead.takes else NOTHING
        timer.parts.lap(UPLOAD)
        self._stage.renderer.begin_ahead()
        timer.parts.lap(DRAW)
        return done.and_then(self._done(taken, due_ns, begin_ns))

    def taken_within(self, ahead: DoneAhead, taken: Taken) -> None:
        """Notes the snapshots that a frame took in itself after the work ahead."""
        if ahead.end_ns:
            self._ahead.took(ahead.taken.is_news, taken.is_news)

    def before_swap(self, swap_at_ns: int, now_ns: int) -> None:
        """Uses the time for which a drawn frame waits for its swap at `swap_at_ns`; changes no picture."""
        timer = self._timer
        if swap_at_ns - now_ns < IDLE_NS or not timer.wait.spins:
            return
        if self._over.redraw_early(swap_at_ns):
            timer.spans.add(kinds.OVERLAY, now_ns, timer.now_ns())
            timer.parts.in_wait(DRAW, swap_at_ns)
        due_ns = self._due_ns(swap_at_ns - AWAIT_ROOM_NS)
        if due_ns is None or not self._ahead.takes:
            return
        begin_ns = timer.wait.about(due_ns)
        timer.parts.in_wait(OTHER, swap_at_ns)
        self.next = self._done(self._take(), due_ns, begin_ns)
        timer.parts.in_wait(UPLOAD, swap_at_ns)

    def between_frames(self, until_ns: int) -> None:
        """Makes and redraws the overlay, writes the log, collects garbage, as far as there is time until `until_ns`."""
        now_ns, spans = self._timer.now_ns, self._timer.spans
        begin_ns = now_ns()
        is_long = until_ns - begin_ns >= IDLE_NS
        if self._over.in_spare_time(until_ns, is_long):
            spans.add(kinds.OVERLAY, begin_ns, now_ns())
        if is_long:
            begin_ns = now_ns()
            self._log.write_some()
            spans.add(kinds.LOG, begin_ns, now_ns())
        self.garbage.in_spare_time(until_ns - now_ns())

    def forget(self) -> None:
        """Discards the record of work done for the next frame, because it shows another simulation."""
        self.next = NOT_AHEAD

    def _due_ns(self, until_ns: int) -> int | None:
        """Instant at which work must begin to end by `until_ns`; None: nothing is done ahead."""
        pacer, timer = self._pacer, self._timer
        if not timer.wait.spins or pacer.interval_ns > pacer.own_interval_ns:
            return None
        return self._ahead.begin_ns(timer.now_ns(), until_ns)

    def _take(self) -> Taken:
        taken = self._intake.take()
        if taken.is_news:
            self._stage.renderer.look_ahead()
        return taken

    def _done(self, taken: Taken, due_ns: int, begin_ns: int) -> DoneAhead:
        end_ns = self._timer.now_ns()
        self._ahead.done(due_ns, end_ns)
        self._timer.spans.add(kinds.AHEAD, begin_ns, end_ns, taken.steps)
        return DoneAhead(taken, end_ns - begin_ns, end_ns)


class AheadSchedule:
    """Schedule of the work ahead of frames, from its measured durations. Takes instants, reads no clock. Pure."""

    def __init__(self) -> None:
        self._took_ns = QuantileWindow(REMEMBERED)
        self._in_vain: deque[bool] = deque(maxlen=LAST_TAKES)
        self._skipped = self._untaken = 0

    @property
    def lead_ns(self) -> int:
        """Time in ns from the beginning of the work to the frame's start."""
        if len(self._took_ns) < ENOUGH:
            return max(FIRST_LEAD_NS, self._took_ns.quantile(1.0) + MARGIN_NS)
        return round(self._took_ns.quantile(COVERED) * MARGIN_FACTOR) + MARGIN_NS

    def begin_ns(self, now_ns: int, start_ns: int) -> int | None:
        """Instant at which the work begins for a frame that starts at `start_ns`; None: it is not done."""
        if start_ns - now_ns < LEAST_SPARE_NS + min(self.lead_ns, LONGEST_LEAD_NS):
            return None
        if self.lead_ns > LONGEST_LEAD_NS:
            self._skipped += 1
            if self._skipped >= FRAMES_TO_RETRY:
                self._skipped = 0
                self._took_ns.clear()
            return None
        return start_ns - self.lead_ns

    def done(self, begin_ns: int, end_ns: int) -> None:
        """Takes in the planned beginning and the end of the work."""
        self._took_ns.add(end_ns - begin_ns)

    @property
    def takes(self) -> bool:
        """True if snapshots are taken in ahead."""
        return 2 * sum(self._in_vain) <= LAST_TAKES

    def took(self, ahead: bool, within: bool) -> None:
        """Takes in the result of one frame. ahead: snapshots were taken in ahead. within: more were, in the frame."""
        if self.takes:
            self._in_vain.append(ahead and within)
            return
        self._untaken += 1
        if self._untaken >= FRAMES_TO_RETRY:
            self._untaken = 0
            self._in_vain.clear()
