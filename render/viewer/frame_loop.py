"""The frame loop: wait, take in new snapshots, choose the draw time, draw, show, log.

The one idea is the order: the state is read as late as the pacer allows, the instant drawn is the one at which the
frame will be seen, and everything that can wait (log, garbage, figures) is done after the frame is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from twixt.ipc.config.config import Config
from twixt.ipc.process.user_code import CODE_FOLDERS, set_code_folders
from twixt.ipc.trace import spans as kinds
from twixt.render.controls.key_bindings import Controls
from twixt.render.controls.user_input import UserInput
from twixt.render.cores.core_sharing import CoreSharing
from twixt.render.cores.frame_time_parts import DRAW, OTHER, UPLOAD
from twixt.render.cores.thread_time import ProcessorTime
from twixt.render.display.display import Display
from twixt.render.display.input import Event
from twixt.render.draw.context import draws_in_threads, is_software
from twixt.render.draw.frame.quality_levels import FrameCost, Governor
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.render.measure.frame_log import FrameLog
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.overlay.over_picture import OverPicture
from twixt.render.pacing.pacer import FramePlan, FrameTimes, Pacer
from twixt.render.playback import PlaybackClock
from twixt.render.scene.picture import DrawnPicture
from twixt.render.scene.stage import Stage
from twixt.render.snapshots.intake import BYTE_BUDGET, MOST_SLOTS, SOFTWARE_BYTE_BUDGET, Intake
from twixt.render.viewer.frame_record import NO_HEAD, Drawing, FrameInputs, FrameRecord
from twixt.render.viewer.frame_timer import FrameTimer
from twixt.render.viewer.idle import Idle
from twixt.render.viewer.screenshots import Screenshots
from twixt.render.viewer.spare_time import PreFrameWork, SpareTime

if TYPE_CHECKING:
    from twixt.ipc.session.client import Link


class FrameLoop:
    """Frames of one viewer. `frame()` makes one. controls.quit: the user has asked to end.

    is_starting: frames are logged as probes, which no figure counts. idle: stops frames while nothing changes. early:
    input events from before the first frame, which obeys them. timer: clock of the loop; by default the machine's.
    `close` closes it.
    """

    def __init__(
        self,
        config: Config,
        display: Display,
        link: Link,
        pacer: Pacer,
        log: FrameLog | None = None,
        screenshots: Screenshots | None = None,
        early: Sequence[Event] = (),
        timer: FrameTimer | None = None,
    ) -> None:
        self.is_starting = True
        self.display, self._pacer = display, pacer
        self.timer = timer = timer or timer_of(display)
        self._slow_render_ns = round(config.slow_render_ms * 1e6)
        self._resizes = 0  # of the display, as last seen
        set_code_folders(link.description.get(CODE_FOLDERS, ()))
        self.stage = Stage(config, display.context, link.scene, MOST_SLOTS, link.newest_bodies, link.received.parents)
        self.stage.laps = timer.laps
        is_processor = is_software(display.renderer)
        governor = Governor(config.quality, is_processor, pacer.unlimited)
        self.quality = PictureQuality(governor, self.stage.renderer)
        self.intake = Intake(link, self.stage, SOFTWARE_BYTE_BUDGET if is_processor else BYTE_BUDGET)
        self.input = UserInput(config, link, self.stage, early)
        self.over = OverPicture(self, display, self.input, config.pacing)
        self.record = FrameRecord(FrameLog() if log is None else log, screenshots or Screenshots(), display, pacer)
        self.spare = SpareTime(timer, pacer, self.intake, self.stage, self.over, self.record.log)
        self.idle = Idle(self)
        self.core_sharing = CoreSharing(link, pacer, timer.wait, timer.processor.waited_ns, lambda: governor.is_sparing)
        link.poll()
        self.input.reflect(self.intake.plan)

    def frame(self) -> FrameRow:
        """Makes one frame; returns its log row."""
        timer, idle = self.timer, self.idle
        now_ns, spans, laps = timer.now_ns, timer.spans, timer.laps
        began_ns = now_ns()
        planned = self._plan(began_ns)
        ahead = self.spare.before_start(began_ns, planned.start_ns, self.is_starting)
        start_ns = timer.wait.until(planned.start_ns)
        laps.waited(planned.start_ns, kinds.WAIT, begins=True)
        span_ns = laps.last.wall_ns
        events = idle.prepend_pending(self.display.poll())
        acted_ns = self.obey(events)
        laps.lap(OTHER, kinds.EVENTS)
        taken = self.intake.take()
        self.spare.taken_within(ahead, taken)
        ahead = ahead.and_then(PreFrameWork(taken))
        newest, plan = self.intake.newest or NO_HEAD, self.intake.plan
        acted_ns = self.input.reflect(plan) or acted_ns
        latch_ns = now_ns()
        laps.lap(UPLOAD, kinds.INTAKE, taken.steps)
        shown = self._draw(planned.present_ns, events)
        inputs = FrameInputs(newest, plan, self.stage.clock.state, ahead.taken.steps, acted_ns)
        if self._slow_render_ns:
            self._work_more(start_ns, has_waited=planned.start_ns > began_ns)
        work_end_ns = now_ns()
        swap_at_ns = self._pacer.drawn(start_ns, work_end_ns)
        if swap_at_ns is not None:
            self._await_swap(swap_at_ns)
        swap_begin_ns = now_ns()
        call_ns = planned.present_ns - self.record.presents.lag_ns  # when the swap is expected to return
        self.display.swap(None if self.is_starting else lambda await_call: self.spare.in_swap(call_ns, await_call))
        swap_end_ns = now_ns()
        times = FrameTimes(start_ns, latch_ns, work_end_ns, swap_begin_ns, swap_end_ns, self.display.fence())
        renderer = self.stage.renderer
        drawing = Drawing(shown, renderer.level.name, renderer.gpu_ns, laps.swapped(self._pacer.blocks), ahead.work_ns)
        row = self._account(planned, times, inputs, drawing)
        if (
            events
            or ahead.taken.is_news
            or self.spare.next.taken.is_news
            or self.stage.moves_by_itself
            or idle.status.is_changed(self.link, self.controls.overlay)
        ):
            idle.picture.change(row.present_ns)
        spans.add(kinds.SWAP, swap_begin_ns, swap_end_ns, row.frame)
        spans.add(kinds.FRAME, span_ns, swap_end_ns, row.frame, max(row.previous_tick, row.next_tick))
        spans.add(kinds.ACCOUNT, swap_end_ns, now_ns())
        return row

    @property
    def controls(self) -> Controls:
        """Settings made by keys and overlay."""
        return self.input.controls

    @property
    def clock(self) -> PlaybackClock:
        """Playback clock of the run's own picture."""
        return self.stage.clock

    @property
    def link(self) -> Link:
        """Link to the simulation that is drawn."""
        return self.intake.link

    def follow(self, link: Link) -> None:
        """Draws another simulation from now on, as after a reset. The user's settings stay."""
        self.idle.follow()
        self.record.forget_leads()
        set_code_folders(link.description.get(CODE_FOLDERS, ()))
        self.intake.follow(link)
        self.spare.forget()
        self.core_sharing.follow(link)
        self.input.follow(link)
        self.over.follow(link)
        self.idle.picture.change(self.timer.now_ns())

    def begin_anew(self, why: str = "start-up is over") -> None:
        """Discards the measured times of frames so far, because they contain work of the start, and asks the display
        for presents from now on. why: reason for the log."""
        self.display.ask_for_presents()
        self._pacer.forget_work(why)
        self.record.forget_leads()
        for clock in self.stage.clocks:
            clock.begin_anew()

    def obey(self, events: list[Event]) -> int:
        """Obeys input events. Returns the instant of the user's action if the next frame shows its effect, else 0."""
        return self.input.obey(events, self.display.framebuffer_size, self.record.last.draw_time_ns, self.over.covers)

    def close(self) -> None:
        """Writes the last screenshots, ends threads, closes files. Calls neither the display nor OpenGL."""
        self.idle.close()
        self.record.screenshots.close()
        self.over.close()
        self.timer.close()
        self.core_sharing.close()

    def release(self) -> None:
        """Releases the GL objects of the overlay; the others are released with the context."""
        self.over.release()

    # -- a frame's parts

    def _plan(self, now_ns: int) -> FramePlan:
        """Plans the next frame; restarts the pacer after a pause of frames and after changes of the display."""
        if self.idle.since_ns:
            self._pacer.restart("frames rested")
            self.timer.laps.restart()
            self.timer.spans.add(kinds.REST, self.idle.since_ns, now_ns)
        presents = self.record.presents
        for change in self.display.take_changes():
            self._pacer.restart(change)
            presents.restart()
        return presents.planned(self._pacer.next_frame(now_ns))

    def _draw(self, present_ns: int, events: list[Event]) -> DrawnPicture | None:
        display, stage = self.display, self.stage
        size_px = display.framebuffer_size
        if display.resizes != self._resizes:
            self._resizes = display.resizes
            stage.renderer.forget_pixels()
            self.quality.forget()
        shown = stage.draw(present_ns, size_px)
        laps = self.timer.laps
        laps.lap(DRAW, kinds.DRAW, stage.clock.state.offset_ns)
        self._note()
        if self.over.draw(shown, events, size_px):
            laps.lap(DRAW, kinds.OVERLAY)
        stage.renderer.finish()
        self.over.settle()
        laps.finished(kinds.FINISH)
        if shown is not None:
            self._keep_screenshot()
        return shown

    def _note(self) -> None:
        """Passes the note of the last key or screenshot to the overlay."""
        now_ns = self.timer.now_ns()
        if news := self.record.screenshots.news():
            self.input.say(news, now_ns)
        self.over.key_note = self.input.note(now_ns)

    def _keep_screenshot(self) -> None:
        record = self.record
        if record.screenshots.is_due(self.controls.screenshot, record.first_present_ns, self.timer.now_ns()):
            record.screenshots.take(self.stage.renderer.read_pixels())
            self.input.screenshot_taken()

    def _work_more(self, start_ns: int, has_waited: bool) -> None:
        # A frame that did not wait for its start began when the one before was shown. Its swap is still to come.
        last = self.record.last
        began_ns = start_ns if has_waited or not last.present_ns else last.present_ns
        self.timer.add_work(self._slow_render_ns, began_ns, last.swap_end_ns - last.swap_begin_ns)

    def _await_swap(self, swap_at_ns: int) -> None:
        timer = self.timer
        timer.laps.lap(OTHER)
        if not self.is_starting:
            self.spare.before_swap(swap_at_ns)
        timer.wait.until(swap_at_ns)
        timer.laps.waited(swap_at_ns, kinds.AWAIT_SWAP)

    def _account(self, planned: FramePlan, times: FrameTimes, inputs: FrameInputs, drawing: Drawing) -> FrameRow:
        """Enters the frame just shown into the log; passes its times to overlay, core sharing, quality and physics."""
        record, sharing = self.record, self.core_sharing
        row = record.add(planned, times, inputs, drawing, self.is_starting, self.idle.end(times.start_ns))
        self.link.report_lead(record.lead_ns)
        self.input.report(self.display.framebuffer_size, row.draw_time_ns, times.swap_end_ns)
        self.over.note(row, inputs.newest)
        self.over.be_sparing(sharing.is_sparing)
        sharing.frame_done(times.swap_end_ns)
        if self.intake.make_room():
            self.timer.laps.lap(UPLOAD)
        if not self.is_starting:
            work_ns, swap_ns = times.work_end_ns - times.start_ns, self._hand_over_ns(times)
            cost = FrameCost(work_ns, swap_ns, row.user_ns, row.gc_ns, row.stolen_ns)
            reason = self.quality.frame(cost.judged_ns, self._pacer.own_interval_ns, sharing.shortage.is_short)
            if reason:
                self._pacer.work_changed(reason)
        self.idle.picture.drawn(row.draw_time_ns, row.present_ns)
        return row

    def _hand_over_ns(self, times: FrameTimes) -> int:
        """Time of the swap up to the hand-over, without the wait for the display; 0 where it is not known."""
        end_ns = self.spare.handed_over_ns if self._pacer.blocks else times.swap_end_ns
        return max(0, end_ns - times.swap_begin_ns)


class PictureQuality:
    """Quality level of the frames of one loop: the governor chooses it, this sets it in the renderer."""

    def __init__(self, governor: Governor, renderer: SceneRenderer) -> None:
        self.governor, self._renderer = governor, renderer
        renderer.level = governor.level

    def frame(self, cost_ns: int, interval_ns: int, cores_are_short: bool) -> str:
        """Sets the next frame's level by the cost of this one; returns the reason of a change, "" if there is none."""
        self._renderer.level = self.governor.frame(cost_ns, interval_ns, cores_are_short)
        return self.governor.change_reason

    def is_drawn_in_full(self, last_level: str) -> bool:
        """True if a frame of that level may stay on the screen while no frames are made. Else sets full quality for the
        next frame, which has time for it."""
        if not self.governor.is_free or last_level == self.governor.finest.name:
            return True
        self._renderer.level = self.governor.finest
        return False

    def forget(self) -> None:
        """Discards the measured costs of frames: those to come differ."""
        self.governor.forget()


def timer_of(display: Display) -> FrameTimer:
    """Timer by the machine's clock, for frames that this thread draws on a display."""
    return FrameTimer(ProcessorTime(draws_in_threads(display.renderer)))
