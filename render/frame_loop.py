"""One frame after the other: wait, take in what is new, choose the instant, draw it, show it, write it down.

The order is the point: the state is read as late as the pacer allows, the instant drawn is the one at which
the frame will be seen, and everything that can wait (log, garbage, figures) waits until the frame is shown.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from twixt.ipc import spans as kinds
from twixt.ipc.config import Config
from twixt.ipc.spans import NOT_RECORDED, Spans
from twixt.ipc.users_code import CODE_FOLDERS, look_also_in
from twixt.render.controls import Controls
from twixt.render.frame_parts import DRAW, OTHER, UPLOAD, FrameParts, PartMeter
from twixt.render.frame_rows import NO_HEAD, FrameFacts, row_of
from twixt.render.garbage import Garbage
from twixt.render.guest.guest import Guest
from twixt.render.input import Event
from twixt.render.intake import MOST_SLOTS, Intake, Taken
from twixt.render.measure.frames import FrameRow
from twixt.render.measure.log import FrameLog
from twixt.render.overlay.over_picture import OverPicture
from twixt.render.pacing.pacer import FramePlan, FrameTimes, Pacer
from twixt.render.pacing.wait import HybridWait
from twixt.render.picture.picture import Shown
from twixt.render.picture.stage import Stage
from twixt.render.playback import PlaybackClock
from twixt.render.presents import Presents
from twixt.render.processor_time import ProcessorTime
from twixt.render.quality.governor import Governor
from twixt.render.quality.levels import FULL
from twixt.render.recent import Recent
from twixt.render.rest import Rest, Told, Waker
from twixt.render.shots import Shots
from twixt.render.software_gl import is_software
from twixt.render.steering import Steering

if TYPE_CHECKING:
    from twixt.ipc.link import Link

# Frames whose look into the future is reported to physics: the largest of one second at 60 Hz.
LEAD_FRAMES = 60
# Spare time before the next frame that a log row or a redraw of the overlay may use.
IDLE_NS = 4_000_000
# A swap that takes longer than copying the picture does (1 ms) waits for the display; waiting is no work.
LONGEST_COPY_NS = 1_000_000
# --slow-render adds so much to a frame that takes as long by itself: asked for, it is always seen in the figures.
SEEN_WORK_NS = 5_000_000
# While frames rest, signals and ends are looked for this often.
REST_S = 0.1
# Of the time in which no frames are made, what looking for new garbage may take at its beginning.
REST_NS = 10_000_000
# The overlay's words count the seconds of a silent physics.
WORDS_NS = 1_000_000_000
# A hidden window needs no snapshots, only to be not far behind when it is shown again.
HIDDEN_TAKE_NS = 1_000_000_000


class FrameLoop:
    """The frames of one viewer. `frame()` makes one; `controls.quit` says that the user is done.

    early: what the user did while there was nothing to see yet; the first frame obeys it. spans: where its frames
    are recorded.
    """

    def __init__(
        self, config: Config, window: Any, link: Link, pacer: Pacer, log: FrameLog, shots: Shots, early: list[Event],
        spans: Spans = NOT_RECORDED,
    ) -> None:  # fmt: skip
        self.log = log
        self.first_present_ns = 0
        self.last: FrameRow = FrameRow()
        self.notice = ""  # what else the overlay is to say
        self.note = ""  # what the key pressed last did, while that is on the picture
        self.is_starting = True  # its frames are logged as probes: no part of any figure
        self._window, self._link, self._pacer, self._shots, self.spans = window, link, pacer, shots, spans
        self._slow_render_ns = round(config.slow_render_ms * 1e6)
        self._wait = HybridWait()
        look_also_in(link.description.get(CODE_FOLDERS, ()))
        self.stage = Stage(config, window.context, link.scene, MOST_SLOTS, link.newest_bodies)
        self._processor = ProcessorTime()
        self.stage.parts = self._parts = PartMeter(self._processor.read, self._processor.drawers)
        self._governor = Governor(config.quality, is_software(window.renderer) and not pacer.unlimited)
        self.stage.renderer.level = self._governor.level
        self.intake = Intake(link, self.stage)
        self._steering = Steering(config, link, self.stage, early)
        self.over = OverPicture(self, window, self._steering, config.pacing)
        self._garbage = Garbage()
        self._leads_ns = Recent(LEAD_FRAMES)
        self._rest = Rest()
        self._waker: Waker | None = None
        self._rested_since_ns = self._taken_ns = 0
        self._waiting_events: list[Event] = []  # came while frames rested; the next frame obeys them
        self._told = Told()
        self._presents = Presents(window, log, pacer)
        self.guest = Guest(link, pacer, self._wait, self._processor.waited_ns, lambda: self._governor.is_sparing)
        self._swap_ns = 0
        link.poll()
        self._steering.reflect(self.intake.plan)

    def frame(self) -> FrameRow:
        """Makes one frame and returns its row."""
        spans, now_ns = self.spans, time.perf_counter_ns()
        planned, start_ns = self._begin(now_ns)
        events = self._window.poll()
        if self._waiting_events:
            events, self._waiting_events = [*self._waiting_events, *events], []
        acted_ns = self._obey(events)
        spans.lap(kinds.EVENTS)
        self._parts.lap(OTHER)
        taken = self.intake.take()
        acted_ns = self._steering.reflect(self.intake.plan) or acted_ns
        latch_ns = time.perf_counter_ns()
        spans.lap(kinds.INTAKE, taken.steps)
        self._parts.lap(UPLOAD)
        shown = self._draw(planned.present_ns, events)
        if self._slow_render_ns:
            self._work_more(start_ns, has_waited=planned.start_ns > now_ns)
        work_end_ns = time.perf_counter_ns()
        self._await_swap(self._pacer.drawn(start_ns, work_end_ns))
        swap_begin_ns = time.perf_counter_ns()
        self._window.swap()
        swap_end_ns = time.perf_counter_ns()
        times = FrameTimes(start_ns, latch_ns, work_end_ns, swap_begin_ns, swap_end_ns, self._window.fence())
        row = self._account(planned, times, taken, acted_ns, shown, self._parts.swapped(self._pacer.blocks))
        self._choose_quality(times)
        self._rest.note(row.draw_time_ns, row.present_ns)
        if (
            events
            or taken.is_news
            or self.stage.moves_by_itself
            or self._told.is_new(self._link, self.controls.overlay)
        ):
            self._rest.stir(row.present_ns)
        spans.add(kinds.SWAP, times.swap_begin_ns, times.swap_end_ns, row.frame)
        spans.add(kinds.FRAME, start_ns, times.swap_end_ns, row.frame, max(row.previous_tick, row.next_tick))
        spans.start(times.swap_end_ns)
        spans.lap(kinds.ACCOUNT)
        return row

    @property
    def controls(self) -> Controls:
        """What the user has chosen."""
        return self._steering.controls

    @property
    def clock(self) -> PlaybackClock:
        """Of the run's own picture."""
        return self.stage.clock

    @property
    def link(self) -> Link:
        """Of the simulation that is drawn."""
        return self._link

    def follow(self, link: Link) -> None:
        """Goes on with another simulation, as after a reset: one clean cut. What the user has chosen stays."""
        self._begin_rest()  # what passed meanwhile is no frame's doing
        if self._waker is not None:
            self._waker.close()
            self._waker = None
        self._link = link
        self._leads_ns.clear()
        look_also_in(link.description.get(CODE_FOLDERS, ()))
        self.intake.follow(link)
        self.guest.follow(link)
        self._steering.follow(link)
        self.over.follow(link)
        self._rest.stir(time.perf_counter_ns())

    def begin_anew(self, why: str = "start-up is over") -> None:
        """Some work is done for good; what it did to frames says nothing of those to come."""
        self._window.ask_for_presents()
        self._pacer.forget_work(why)
        self._leads_ns.clear()
        for clock in self.stage.clocks:
            clock.begin_anew()

    @property
    def is_still(self) -> bool:
        """The next frame would be the one on the screen: `rest` instead."""
        now_ns, is_paused = time.perf_counter_ns(), self.intake.plan.rate == 0
        if self.is_starting or self._waiting_events or not self._rest.is_due(now_ns, is_paused):
            return False
        if self.controls.overlay and not is_paused and now_ns - self.last.present_ns >= WORDS_NS:
            return False
        if self._steering.note(now_ns) != self.note or self._shots.has_news or self.over.is_being_made:
            return False
        return self._is_drawn_in_full() and not self._shots.is_due(self.controls.screenshot, self.first_present_ns)

    def rest(self) -> None:
        """Instead of a frame, while nothing moves: sleeps until something stirs, `REST_S` at most."""
        self._begin_rest()
        self._link.wake_when_newer()
        if self._link.ended is None:
            if self._waker is None:
                self._waker = Waker(self._link.wake_filenos, self._window.wake)
            self._waker.arm()
        self._garbage.at_rest(time.perf_counter_ns() - self._rested_since_ns)
        self._waiting_events = self._window.wait_events(REST_S)
        now_ns = time.perf_counter_ns()
        self.stage.pass_still(now_ns)
        self._link.poll()  # whatever woke it is taken in, else it would do so again
        is_news = self.intake.take().is_news or self._told.is_new(self._link, self.controls.overlay)
        if self._waiting_events or is_news or self._window.take_damage():
            self._rest.stir(now_ns)

    def rest_while_hidden(self) -> None:
        """Instead of a frame, while the window is not shown: input is obeyed, and now and then a snapshot taken in."""
        self._begin_rest()
        self._obey(self._window.wait_events(REST_S))
        self._garbage.at_rest(time.perf_counter_ns() - self._rested_since_ns)
        now_ns = time.perf_counter_ns()
        if now_ns - self._taken_ns >= HIDDEN_TAKE_NS:
            self._taken_ns = now_ns
            self.intake.take()
        else:
            self._link.poll()

    def close(self) -> None:
        """The last pictures are written. Calls neither the display nor OpenGL."""
        if self._rested_since_ns:
            self.spans.add(kinds.REST, self._rested_since_ns, time.perf_counter_ns())
        if self._waker is not None:
            self._waker.close()
        self._shots.close()
        self.over.close()
        self._processor.close()
        self.guest.close()

    def release(self) -> None:
        """Gives back what the overlay holds; other GL objects go with the context."""
        self.over.release()

    def _obey(self, events: list[Event]) -> int:
        height_px = self._window.framebuffer_size[1]
        return self._steering.obey(events, height_px, self.last.draw_time_ns, self.over.covers)

    # -- a frame's parts

    def _begin(self, now_ns: int) -> tuple[FramePlan, int]:
        """What is planned for the next frame, and when it really began."""
        if self._rested_since_ns:
            self._pacer.restart("frames rested")
            self._parts.restart()
            self.spans.add(kinds.REST, self._rested_since_ns, now_ns)
        for change in self._window.take_changes():
            self._pacer.restart(change)
            self._presents.restart()
        planned = self._presents.planned(self._pacer.next_frame(now_ns))
        self._use_idle_time(planned.start_ns)
        self._parts.lap(OTHER)
        start_ns = self._wait.until(planned.start_ns)
        self._parts.waited(planned.start_ns, begins=True)
        self.spans.add(kinds.WAIT, now_ns, start_ns)
        self.spans.start(start_ns)
        return planned, start_ns

    def _work_more(self, start_ns: int, has_waited: bool) -> None:
        # A frame that had nothing to wait for began when the one before was shown; its swap is still to come.
        began_ns = start_ns if has_waited or not self.last.present_ns else self.last.present_ns
        at_least_ns = began_ns + self._slow_render_ns - min(self._swap_ns, LONGEST_COPY_NS)
        _work_until(max(at_least_ns, time.perf_counter_ns() + min(self._slow_render_ns, SEEN_WORK_NS)))
        self.spans.lap(kinds.SLOW_RENDER)
        self._parts.lap(DRAW)

    def _await_swap(self, swap_at_ns: int | None) -> None:
        if swap_at_ns is not None:
            self._parts.lap(OTHER)
            self._wait.until(swap_at_ns)
            self._parts.waited(swap_at_ns)
            self.spans.lap(kinds.AWAIT_SWAP)

    def _account(
        self, planned: FramePlan, times: FrameTimes, taken: Taken, acted_ns: int, shown: Shown | None,
        parts: FrameParts,
    ) -> FrameRow:  # fmt: skip
        """The frame that has just been shown, in the log and wherever else it counts."""
        stage, pacer, intake = self.stage, self._pacer, self.intake
        self._swap_ns = times.swap_end_ns - times.swap_begin_ns
        paced = pacer.frame_done(times)
        self._tell_lead(planned.present_ns - times.latch_ns)
        rested_ns = times.start_ns - self._rested_since_ns if self._rested_since_ns else 0
        self._rested_since_ns = 0
        row = row_of(
            FrameFacts(
                self.log.count, planned, times, paced, 0 if pacer.unlimited else planned.interval_ns,
                planned.planned_refreshes if pacer.blocks else 0, stage.clock.state, intake.plan, taken.steps,
                intake.newest or NO_HEAD, acted_ns, stage.renderer.gpu_ns, self.is_starting, rested_ns,
                pacer.last_source, stage.renderer.level.name, parts,
            ),
            shown, self.last,
        )  # fmt: skip
        self.log.add(row)
        self._presents.shown(row.frame, times.swap_end_ns)
        self._presents.take()
        row = self._presents.seen(row)
        self.last = row
        self.first_present_ns = self.first_present_ns or row.present_ns
        self.over.note(row, intake.newest)
        self.over.be_sparing(self.guest.is_sparing)
        self.guest.frame_done(times.swap_end_ns)
        if intake.make_room():
            self._parts.lap(UPLOAD)
        return row

    def _is_drawn_in_full(self) -> bool:
        """Whether what is on the screen may stay there. A cheaper picture may not: the next frame has all the time."""
        if not self._governor.is_free or self.last.quality == FULL.name:
            return True
        self.stage.renderer.level = FULL
        return False

    def _choose_quality(self, times: FrameTimes) -> None:
        """How finely the next frame is drawn, by what this one took."""
        if self.is_starting:
            return
        governor, pacer = self._governor, self._pacer
        self.stage.renderer.level = governor.frame(
            times.work_end_ns - times.start_ns, pacer.own_interval_ns, self.guest.shortage.is_short
        )
        if governor.said:
            pacer.forget_work(governor.said)

    # -- drawing

    def _draw(self, present_ns: int, events: list[Event]) -> Shown | None:
        size_px = self._window.framebuffer_size
        shown = self.stage.draw(present_ns, size_px)
        spans = self.spans
        spans.lap(kinds.DRAW, self.stage.clock.state.offset_ns)
        self._take_notes()
        if self.over.draw(shown, events, size_px):
            spans.lap(kinds.OVERLAY)
        self._parts.lap(DRAW)
        self.stage.renderer.finish()
        self.over.settle()
        spans.lap(kinds.FINISH)
        self._parts.finished()
        if shown is not None and self._shots.is_due(self.controls.screenshot, self.first_present_ns):
            self._shots.take(self.stage.renderer.read_pixels())
            self._steering.screenshot_taken()
        return shown

    def _take_notes(self) -> None:
        now_ns = time.perf_counter_ns()
        if news := self._shots.news():
            self._steering.say(news, now_ns)
        self.note = self._steering.note(now_ns)

    # -- after the frame

    def _tell_lead(self, lead_ns: int) -> None:
        self._leads_ns.add(lead_ns)
        self._link.report_lead(self._leads_ns.quantile(1.0))

    def _begin_rest(self) -> None:
        if not self._rested_since_ns:
            self._rested_since_ns = self.last.present_ns or time.perf_counter_ns()
            self._governor.forget()
            self.log.write_some(self.log.count)
            self._garbage.in_spare_time(REST_NS)

    def _use_idle_time(self, until_ns: int) -> None:
        begin_ns = time.perf_counter_ns()
        is_idle = until_ns - begin_ns >= IDLE_NS
        if self.over.in_spare_time(until_ns, is_idle):
            self.spans.add(kinds.OVERLAY, begin_ns, time.perf_counter_ns())
        if is_idle:
            self._write_log()
        self._garbage.in_spare_time(until_ns - time.perf_counter_ns())

    def _write_log(self) -> None:
        begin_ns = time.perf_counter_ns()
        self.log.write_some()
        self.spans.add(kinds.LOG, begin_ns, time.perf_counter_ns())


def _work_until(end_ns: int) -> None:
    while time.perf_counter_ns() < end_ns:
        pass
