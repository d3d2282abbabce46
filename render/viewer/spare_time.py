"""Does work while the viewer waits for a frame's start, for its swap or for the display. It uploads snapshots, draws
the background of the next frame, redraws the panels, writes log rows and collects garbage.

Uploading a snapshot and drawing the background do not depend on the draw time, so they are done just before the
frame's start. This is called preparation. Snapshots that are published later are received within the frame. On
Wayland, most of a refresh is free: the time from the hand-over of a frame to the compositor's frame callback. This
callback is named "call" here.

Always: preparation begins only if it is expected to end before the frame's start, its swap or the call. So frames
start as exactly as without it, and their present times are measured as exactly.
"""

from __future__ import annotations

import gc
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from twixt.ipc.trace import spans as kinds
from twixt.render.cores.thread_time import DRAW, OTHER, UPLOAD
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.render.measure.frame_log import FrameLog
from twixt.render.overlay.overlay_layer import OverlayLayer
from twixt.render.pacing.pacer import Pacer
from twixt.render.pacing.policy import FramePlan, FrameTimes
from twixt.render.pacing.wait import StepCost
from twixt.render.snapshots.intake import NOTHING, Intake, IntakeResult
from twixt.render.viewer.frame_record import FrameTimer

if TYPE_CHECKING:
    from twixt.render.display.display import Display
    from twixt.render.display.wayland import AwaitCall


# Least spare time, in ns, in which log rows are written. It also holds for garbage collection during the wait of a
# frame for its swap.
IDLE_NS = 4_000_000
# Work during the wait of a frame for its start or its swap must end this long before that instant, in ns.
AWAIT_ROOM_NS = 500_000
# Work before the compositor's frame callback must end this long before the callback, in ns. Callbacks come up to half
# a millisecond earlier than expected. If a callback is read late, the measured present time is late.
CALL_ROOM_NS = 1_000_000

# Preparation is work that is done for a frame before its start. Preparation that takes longer than LONGEST_LEAD_NS is
# done within the frame from then on. After FRAMES_TO_RETRY frames, it is tried again before the start of a frame.
LONGEST_LEAD_NS, FRAMES_TO_RETRY = 5_000_000, 300
# Least time in ns by which the spare time must exceed the expected duration of the preparation. Preparation is work
# that is done for a frame before its start. If there is less spare time, nothing is prepared.
LEAST_SPARE_NS = 200_000
# Number of last frames that decide whether snapshots are received before a frame's start. They no longer are if more
# than half of these frames received more snapshots after their start. The physics process then publishes so often that
# each frame would upload twice.
LAST_INTAKES = 16


class PreFrameWork(NamedTuple):
    """Work done for a frame before its start. end_ns: instant at which the work ended, or 0 if no work was done.
    has_background: True if the background of the frame was drawn."""

    taken: IntakeResult = NOTHING
    work_ns: int = 0
    end_ns: int = 0
    has_background: bool = False

    def and_then(self, later: PreFrameWork) -> PreFrameWork:
        """Sum of this work and of later work."""
        return PreFrameWork(
            self.taken.and_then(later.taken),
            self.work_ns + later.work_ns,
            max(self.end_ns, later.end_ns),
            self.has_background or later.has_background,
        )


NOTHING_PREPARED = PreFrameWork()


class SpareTime:
    """Uses the spare time of the frames of one simulation. garbage: object that collects the garbage of this
    process."""

    def __init__(
        self,
        timer: FrameTimer,
        pacer: Pacer,
        intake: Intake,
        renderer: SceneRenderer,
        over: OverlayLayer,
        log: FrameLog,
        display: Display,
        garbage: Garbage,
    ) -> None:
        self.next = NOTHING_PREPARED  # work done for the next frame during the wait for the swap
        # instant of the last hand-over of a frame whose swap waited for the compositor's frame callback
        self._handed_over_ns = 0
        self._timer, self._pacer, self._intake, self._garbage = timer, pacer, intake, garbage
        self._is_widened = False  # True if the interval of the current frame is longer than usual
        self._renderer, self._over, self._log, self._display = renderer, over, log, display
        self._schedule = PreFrameSchedule()

    def before_start(self, planned: FramePlan, is_starting: bool) -> PreFrameWork:
        """Uses the time until the start of a frame. Returns the work that was done for that frame."""
        start_ns = planned.start_ns
        self._is_widened = planned.interval_ns > self._pacer.own_interval_ns
        self.between_frames(start_ns)
        timer = self._timer
        timer.laps.lap(OTHER)
        done, self.next = self.next, NOTHING_PREPARED
        due_ns = None if is_starting else self._due_ns(start_ns)
        if due_ns is None:
            return done
        begin_ns = timer.wait.about(due_ns)
        timer.laps.waited(due_ns, kinds.WAIT)
        return done.and_then(self._prepare_frame(due_ns, begin_ns, not done.has_background, timer.laps.lap))

    def record_intake(self, ahead: PreFrameWork, taken: IntakeResult) -> None:
        """Records whether a frame received more snapshots after its start, although some had been received for it
        before its start."""
        if ahead.end_ns:
            self._schedule.record_intake(ahead.taken.is_news, taken.is_news)

    def before_swap(self, swap_at_ns: int) -> None:
        """Uses the time in which a drawn frame waits for its swap. This does not change the picture of that frame.
        swap_at_ns: instant of the swap."""
        lap = partial(self._timer.laps.lap_in_wait, until_ns=swap_at_ns)
        due_ns = self._in_wait(swap_at_ns, AWAIT_ROOM_NS, lap)
        if due_ns is not None:
            begin_ns = self._timer.wait.about(due_ns)
            lap(OTHER, kind=kinds.AWAIT_SWAP)
            self.next = self._prepare_frame(due_ns, begin_ns, False, lap)

    def in_swap(self, call_ns: int, await_call: AwaitCall) -> None:
        """Uses the time until the compositor's frame callback. Use this after the hand-over of the frame. If the
        callback comes before the work for the next frame begins, no such work is done. The display may have become
        faster. call_ns: instant at which the callback is expected."""
        timer = self._timer
        lap = partial(timer.laps.lap_in_wait, until_ns=call_ns, in_swap=True)
        self._handed_over_ns = timer.now_ns()
        timer.laps.lap(OTHER)
        due_ns = self._in_wait(call_ns, CALL_ROOM_NS, lap)
        if due_ns is not None and not await_call(max(0, due_ns - timer.now_ns())):
            begin_ns = timer.now_ns()
            lap(OTHER)
            self.next = self._prepare_frame(due_ns, begin_ns, not self._over.is_being_made, lap)

    def hand_over_ns(self, times: FrameTimes) -> int:
        """Duration in ns of the frame's swap up to the hand-over of the picture, without the wait for the display. It
        is 0 if it is not known."""
        end_ns = self._handed_over_ns if self._pacer.blocks else times.swap_end_ns
        return max(0, end_ns - times.swap_begin_ns)

    def between_frames(self, until_ns: int) -> None:
        """Makes and redraws the overlay, writes the log and collects garbage. Does only the work for which there is
        time until `until_ns`."""
        timer = self._timer
        begin_ns = timer.now_ns()
        if self._over.make_some():
            timer.spans.add(kinds.OVERLAY, begin_ns, timer.now_ns())
        self._redraw_and_log(until_ns - AWAIT_ROOM_NS)
        self._garbage.in_spare_time(until_ns - timer.now_ns())

    def _in_wait(self, until_ns: int, room_ns: int, lap: Callable[[int], object]) -> int | None:
        """Uses the time until `room_ns` before `until_ns`. Returns the instant at which the work for the next frame
        must begin, or None if no such work is done. lap: function that ends a lap, which is one part of the
        measured time."""
        timer, end_ns = self._timer, until_ns - room_ns
        self._redraw_and_log(end_ns)
        if end_ns - timer.now_ns() >= IDLE_NS:
            self._garbage.in_spare_time(end_ns - timer.now_ns())
        lap(DRAW)
        return self._due_ns(end_ns)

    def _redraw_and_log(self, until_ns: int) -> None:
        """Redraws the panels and writes the log. Does only the work for which there is time until `until_ns`."""
        now_ns, spans = self._timer.now_ns, self._timer.spans
        begin_ns = now_ns()
        if self._over.panels is not None:
            size_px, scale = self._display.framebuffer_size, self._display.content_scale
            if self._over.redraw_early(size_px, scale, until_ns):
                spans.add(kinds.OVERLAY, begin_ns, now_ns())
            begin_ns = now_ns()
        if until_ns - begin_ns >= IDLE_NS:
            self._log.write_some()
            spans.add(kinds.LOG, begin_ns, now_ns())

    def _due_ns(self, until_ns: int) -> int | None:
        """Instant at which the work for the next frame must begin so that it ends by `until_ns`. It is None if no such
        work is done."""
        timer = self._timer
        if not timer.wait.spins or self._is_widened:
            return None
        return self._schedule.begin_ns(timer.now_ns(), until_ns)

    def _prepare_frame(self, due_ns: int, begin_ns: int, draws: bool, lap: Callable[[int], object]) -> PreFrameWork:
        """Receives snapshots. Also draws the background of the next frame if `draws` is True. lap: function that ends
        a lap, which is one part of the measured time."""
        laps = self._timer.laps
        lap_ns = laps.last.wall_ns
        taken = self._intake.receive() if self._schedule.has_early_intake else NOTHING
        lap(UPLOAD)
        if draws:
            self._renderer.prepare_background()
            lap(DRAW)
        end_ns = self._timer.now_ns()
        self._schedule.done(due_ns, end_ns)
        self._timer.spans.add(kinds.AHEAD, lap_ns, laps.last.wall_ns, taken.steps)
        return PreFrameWork(taken, end_ns - begin_ns, end_ns, draws)


class PreFrameSchedule:
    """Schedules the preparation of frames, from its measured durations. Preparation is work that is done for a frame
    before its start. Pure: instants are passed in."""

    def __init__(self) -> None:
        self._cost = StepCost()
        self._in_vain: deque[bool] = deque(maxlen=LAST_INTAKES)
        self._skipped = self._untaken = 0

    def begin_ns(self, now_ns: int, start_ns: int) -> int | None:
        """Instant at which the work for a frame begins before its start. It is None if no such work is done. start_ns:
        instant at which the frame starts."""
        if not self._cost.fits(now_ns + LEAST_SPARE_NS, start_ns):
            return None
        if self._cost.expected_ns > LONGEST_LEAD_NS:
            self._skipped += 1
            if self._skipped >= FRAMES_TO_RETRY:
                self._skipped = 0
                self._cost.forget()
            return None
        return start_ns - self._cost.expected_ns

    def done(self, begin_ns: int, end_ns: int) -> None:
        """Records the work that was done for one frame before its start. begin_ns: planned beginning of the work.
        end_ns: actual end of the work."""
        self._cost.record(end_ns - begin_ns)

    @property
    def has_early_intake(self) -> bool:
        """True if snapshots are received before the frame's start."""
        return 2 * sum(self._in_vain) <= LAST_INTAKES

    def record_intake(self, ahead: bool, within: bool) -> None:
        """Records one frame. ahead: True if snapshots were received before its start. within: True if more snapshots
        were received after its start."""
        if self.has_early_intake:
            self._in_vain.append(ahead and within)
            return
        self._untaken += 1
        if self._untaken >= FRAMES_TO_RETRY:
            self._untaken = 0
            self._in_vain.clear()


# Garbage collection of the viewer process, while no frame waits.
#
# Python's automatic collection can stop the program at any time, so it is off. Instead, new objects are collected
# between two frames if there is enough time. One frame may make a large structure, such as a user's drawing. Such a
# structure is frozen: it is collected only when no frames are made.
#
# Always: a collection in spare time is made only if its expected time is at most half of the spare time, or below a
# limit. The limit is 0.3 ms. Each frame without a collection raises the limit, up to 3 ms. The expected time comes
# from the processor time of earlier collections, because other programs on the core do not lengthen processor time.
# Memory stays bounded even without spare time. MANY new objects are collected, however long the collection takes.
# There is one exception. If the last frame alone made at least MANY objects, and at least as many as are frozen
# already, the new objects are frozen instead.


# Least number of new objects for which a collection is worth its overhead. An object counts if it is alive and can be
# part of a reference cycle.
FEW = 500
# A collection that takes up to NEGLIGIBLE_NS may be made in any frame. Each frame without a collection raises this
# limit, up to LONGEST_NS.
NEGLIGIBLE_NS = 300_000
PATIENCE_NS_A_FRAME = 10_000
LONGEST_NS = 3_000_000
# The collection of this many new objects takes about 5 ms. That is too long for the spare time of any frame. If one
# frame made these objects, they are probably a structure that stays. If many frames made them, they are garbage.
MANY = 20_000
# First estimate of the collection time per new object, in ns. Then the weight of each new measurement in the
# exponential average.
USUAL_NS = 250.0
LEARNING = 0.2
# Time in ns without frames after which all objects are collected. After such a time, the period without frames will
# probably go on.
LONG_IDLE_NS = 2_000_000_000


class Garbage:
    """Collects the garbage of this process. Python's automatic collection must be off while this object is in use."""

    def __init__(self, now_ns: Callable[[], int] = time.thread_time_ns) -> None:
        self._now_ns = now_ns
        self._ns_an_object = USUAL_NS
        self._frames_waited = 0
        self._new = 0  # number of new objects after the last call
        # number of objects frozen after the last full collection; the objects of start-up count as one
        self._frozen = 1

    def in_spare_time(self, spare_ns: int) -> None:
        """Collects new objects if there is time. Use this between two frames. spare_ns: time in ns until the next
        frame."""
        new = gc.get_count()[0]
        made, self._new = new - self._new, new
        if new < FEW:
            return
        self._frames_waited += 1
        patience_ns = min(LONGEST_NS, NEGLIGIBLE_NS + self._frames_waited * PATIENCE_NS_A_FRAME)
        if new * self._ns_an_object <= max(spare_ns / 2, patience_ns):
            self._look(new)
        elif made >= max(MANY, self._frozen):
            gc.freeze()
            self._frozen += new
        elif new >= MANY:
            self._look(new)
        else:
            return
        self._frames_waited = self._new = 0

    def while_idle(self, idle_ns: int) -> None:
        """Collects all objects when no frames have been made for LONG_IDLE_NS. idle_ns: time in ns without frames so
        far."""
        if idle_ns >= LONG_IDLE_NS and (self._frozen or gc.get_count()[0] >= FEW):
            self._frozen = 0
            gc.unfreeze()
            gc.collect()
            gc.freeze()

    def _look(self, new: int) -> None:
        began_ns = self._now_ns()
        gc.collect(1)
        took_ns = (self._now_ns() - began_ns) / new
        self._ns_an_object += LEARNING * (took_ns - self._ns_an_object)
