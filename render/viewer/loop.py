"""The frame loop makes one frame after another. For each frame it waits, receives new snapshots, chooses the draw
time, draws, shows the picture and writes the log.

The state of the simulation is read as late as the pacer allows. A frame is drawn for the instant at which it will be
seen. Work that can wait is done after the frame is shown: log, garbage collection, figures. The objects of the loop
receive values of the frame, but never the loop itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from twixt.ipc.config.flags import Config
from twixt.ipc.process.user_code import CODE_FOLDERS, set_code_folders
from twixt.ipc.trace import spans as kinds
from twixt.render.cores.sharing import CoreSharing
from twixt.render.cores.thread_time import DRAW, OTHER, UPLOAD, USER, ProcessorTime
from twixt.render.display.display import Display
from twixt.render.display.input import Event
from twixt.render.draw.frame.context import draws_in_threads, is_software
from twixt.render.draw.frame.snapshot_ring import MOST_SLOTS
from twixt.render.draw.quality import FrameCost, Governor
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.render.events.shown_events import ShownEvents
from twixt.render.events.viewer_events import ViewerEvents
from twixt.render.input.user_input import UserInput
from twixt.render.measure.frame_log import FrameLog
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.overlay.overlay_layer import OverlayFrame, OverlayLayer
from twixt.render.pacing.pacer import Pacer
from twixt.render.pacing.policy import FramePlan, FrameTimes
from twixt.render.scene.stage import Stage
from twixt.render.scene.views import DrawnPicture
from twixt.render.snapshots.intake import BYTE_BUDGET, NOTHING, SOFTWARE_BYTE_BUDGET, Intake
from twixt.render.viewer.frame_record import NO_HEAD, Drawing, FrameInputs, FrameRecord, FrameTimer
from twixt.render.viewer.idle import GARBAGE_NS, SECONDS_COUNT_NS, SLEEP_S, Idle, RedrawRequests
from twixt.render.viewer.screenshots import RequestedScreenshots, Screenshots
from twixt.render.viewer.spare_time import Garbage, PreFrameWork, SpareTime

if TYPE_CHECKING:
    from twixt.ipc.session.link import Link
    from twixt.render.overlay.panel_state import PanelFacts


class FrameLoop:
    """Makes the frames of one viewer. `frame()` makes one frame. While `is_idle` is True, call `sleep` instead.
    input.settings.quit: True if the user has asked to quit.

    stage, intake, events, input, spare: objects that belong to one simulation. They are made anew when the loop follows
    another simulation. is_starting: True during start-up. Its frames are logged as probes, and no figure counts
    probes. notice: text for the user, shown on the panels. early: input events from before the first frame, which that
    frame applies. timer: clock of the loop, by default the machine's clock. `close` closes the timer.
    """

    stage: Stage
    intake: Intake
    events: ViewerEvents
    input: UserInput
    spare: SpareTime

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
        self.is_starting, self.notice = True, ""
        self.display, self._config, self._pacer = display, config, pacer
        self.timer = timer = timer or timer_of(display)
        self._slow_render_ns = round(config.slow_render_ms * 1e6)
        self._resizes = 0  # number of resizes of the display that are handled
        self._shown: DrawnPicture | None = None  # picture of the last frame
        self.renderer = SceneRenderer(display.context, link.scene, MOST_SLOTS)
        self.governor = governor = Governor(config.quality, is_software(display.renderer), pacer.unlimited)
        self.renderer.level = governor.level
        self.over = OverlayLayer(self.renderer, config.pacing, self._panel_facts, timer.now_ns)
        self.record = FrameRecord(FrameLog() if log is None else log, screenshots or Screenshots(), display, pacer)
        self.requested = RequestedScreenshots(self.record.screenshots, self.renderer.read_pixels)
        self.idle, self.redraws, self._garbage = Idle(display, timer.now_ns), RedrawRequests(), Garbage()
        self.core_sharing = CoreSharing(link, pacer, timer.wait, timer.processor.waited_ns, lambda: governor.is_sparing)
        self._draw_simulation(link, early, is_first=True)
        link.poll()
        self.input.reflect(self.intake.plan)

    def frame(self) -> FrameRow:
        """Makes one frame, and returns its log row."""
        timer, idle = self.timer, self.idle
        now_ns, spans, laps = timer.now_ns, timer.spans, timer.laps
        began_ns = now_ns()
        planned = self._plan(began_ns)
        ahead = self.spare.before_start(planned, self.is_starting)
        start_ns = timer.wait.until(planned.start_ns)
        laps.waited(planned.start_ns, kinds.WAIT, begins=True)
        span_ns = laps.last.wall_ns
        user_events = idle.prepend_pending(self.display.poll())
        acted_ns = self._apply(user_events)
        laps.lap(OTHER, kinds.EVENTS)
        taken = self.intake.receive()
        self.spare.record_intake(ahead, taken)
        if taken is not NOTHING:
            ahead = ahead.and_then(PreFrameWork(taken))
        newest, plan = self.intake.newest or NO_HEAD, self.intake.plan
        acted_ns = self.input.reflect(plan) or acted_ns
        latch_ns = now_ns()
        laps.lap(UPLOAD, kinds.INTAKE, taken.steps)
        shown = self._draw(planned.present_ns, user_events)
        inputs = FrameInputs(newest, plan, self.stage.main.clock.state, ahead.taken.steps, acted_ns)
        if self._slow_render_ns:
            self._work_more(start_ns, has_waited=planned.start_ns > began_ns)
        work_end_ns = now_ns()
        if (swap_at_ns := self._pacer.drawn(start_ns, work_end_ns)) is not None:
            self._await_swap(swap_at_ns)
        swap_begin_ns = now_ns()
        return_ns = planned.present_ns - self.record.presents.lag_ns  # expected return of the swap
        self.display.swap(None if self.is_starting else partial(self.spare.in_swap, return_ns))
        swap_end_ns = now_ns()
        times = FrameTimes(start_ns, latch_ns, work_end_ns, swap_begin_ns, swap_end_ns, self.display.fence())
        renderer, events = self.renderer, self.events
        measured = laps.swapped(self._pacer.blocks), ahead.work_ns, len(events.due), events.late_ns
        drawing = Drawing(shown, renderer.level.name, renderer.gpu_ns, *measured)
        if events.deliver(now_ns):
            laps.lap_between_frames(USER, start_ns + planned.interval_ns, kinds.USER_EVENTS, drawing.events)
        row = self._account(planned, times, inputs, drawing)
        if user_events or ahead.taken.is_news or self.spare.next.taken.is_news or self._is_changing():
            self.redraws.request(row.present_ns)
        spans.add(kinds.SWAP, swap_begin_ns, swap_end_ns, row.frame)
        spans.add(kinds.FRAME, span_ns, swap_end_ns, row.frame, max(row.previous_tick, row.next_tick))
        spans.add(kinds.ACCOUNT, swap_end_ns, now_ns())
        return row

    @property
    def is_idle(self) -> bool:
        """True if the next frame would equal the shown frame. Then call `sleep` instead of `frame`."""
        if self.is_starting or self.idle.has_events or self.record.screenshots.has_news:
            return False
        if self.intake.link.received.screenshots or not self.requested.are_written:
            return False
        if not self.redraws.is_idle(self.timer.now_ns(), self.intake.plan.rate == 0):
            return False
        if self.governor.is_free and self.record.last.quality != self.governor.finest.name:
            # the next frame stays on the screen, and there is enough time to draw it
            self.renderer.level = self.governor.finest
            return False
        return True

    def sleep(self) -> None:
        """Sleeps until something changes, for at most 0.1 s, instead of making a frame."""
        self._rest()
        link = self.intake.link
        self.idle.sleep(link)
        now_ns = self.timer.now_ns()
        self.stage.pass_still(now_ns)
        link.poll()  # an unread message would end the next sleep at once
        is_news = self.intake.receive().is_news or self.idle.status.is_changed(link, self.input.settings.overlay)
        if self.idle.has_events or is_news or self.display.pop_damage():
            self.redraws.request(now_ns)

    def sleep_while_hidden(self) -> None:
        """Sleeps while the window is hidden, instead of making a frame. Applies input. Receives snapshots and delivers
        events one time per second."""
        self._rest()
        self._apply(self.display.wait_events(SLEEP_S))
        if self.idle.is_hidden_intake_due(now_ns := self.timer.now_ns()):
            self.intake.receive()
            draw_time_ns, newest = self.stage.pass_still(now_ns), self.stage.history.newest
            if newest is not None:
                self.events.draw(draw_time_ns, newest.head.world_epoch, self.intake.plan.rate)
        else:
            self.intake.link.poll()
            self.events.receive()
        self.events.deliver(self.timer.now_ns)

    def end_start(self) -> None:
        """Ends start-up. From now on, the figures count the frames."""
        self.is_starting = False
        self.redraws.request(self.timer.now_ns())

    def follow(self, link: Link) -> None:
        """Draws another simulation from now on, as after a reset of the world. The settings of the user stay the
        same."""
        self._rest()  # the time since the last frame belongs to no frame
        self.idle.close()
        self.record.forget_leads()
        self.core_sharing.follow(link)
        self._draw_simulation(link)
        self.redraws.request(self.timer.now_ns())

    def begin_anew(self, why: str = "start-up is over") -> None:
        """Discards the measured times of all frames so far, because they contain work of the start. Also asks the
        display to report present times from now on. why: reason for the log."""
        self.display.ask_for_presents()
        self._pacer.forget_work(why)
        self.record.forget_leads()
        for picture in self.stage.pictures:
            picture.clock.begin_anew()

    def close(self) -> None:
        """Writes the last screenshots, ends threads, closes files. Calls neither the display nor OpenGL."""
        if self.idle.since_ns:
            self.timer.spans.add(kinds.REST, self.idle.since_ns, self.timer.now_ns())
        self.idle.close()
        self.record.screenshots.close()
        self.requested.close()
        self.over.close()
        self.events.close()
        self.timer.close()
        self.core_sharing.close()

    def release(self) -> None:
        """Releases the GL objects of the overlay. The other GL objects are released with the context."""
        self.over.release()

    def _draw_simulation(self, link: Link, early: Sequence[Event] = (), is_first: bool = False) -> None:
        """Makes the objects that belong to one simulation: its stage with all snapshots, intake, input and spare
        time."""
        set_code_folders(link.description.get(CODE_FOLDERS, ()))
        config, renderer, received = self._config, self.renderer, link.received
        stage, intake, user = (None, None, None) if is_first else (self.stage, self.intake, self.input)
        sources = link.newest_bodies, received.parents, stage, link.sampled_bodies
        self.stage = Stage(config, renderer, link.scene, *sources)
        self.stage.laps = self.timer.laps
        self.events = self.stage.events = ViewerEvents(link.events, config.on_event, None if is_first else self.events)
        self.stage.shown_events = ShownEvents(self.events, config.events, lambda: self.display.content_scale)
        byte_budget = SOFTWARE_BYTE_BUDGET if is_software(self.display.renderer) else BYTE_BUDGET
        self.intake = Intake(link, self.stage, byte_budget, intake)
        self.input = UserInput(config, link, self.stage, early, user)
        self.spare = SpareTime(
            self.timer, self._pacer, self.intake, renderer, self.over, self.record.log, self.display, self._garbage
        )

    # -- steps of a frame

    def _apply(self, events: list[Event]) -> int:
        """Applies input events. Returns the instant of the user's action if the next frame shows its effect. Else
        returns 0."""
        draw_time_ns = self.record.last.draw_time_ns
        return self.input.apply_events(events, self.display.framebuffer_size, draw_time_ns, self.over.covers)

    def _rest(self) -> None:
        """Records that frames stop, and does the work that was postponed: log rows and garbage collection. May be
        called repeatedly."""
        if self.idle.begin(self.record.last.present_ns):
            self.governor.forget()
            self.core_sharing.rest()
            self.record.log.write_some(self.record.log.count)
            self._garbage.in_spare_time(GARBAGE_NS)
        self._garbage.while_idle(self.timer.now_ns() - self.idle.since_ns)

    def _is_changing(self) -> bool:
        """True if the next frame may differ without new input or snapshots."""
        if self.stage.moves_by_itself or self.over.is_being_made or self.events.are_waiting:
            return True
        return self.idle.status.is_changed(self.intake.link, self.input.settings.overlay)

    def _plan(self, now_ns: int) -> FramePlan:
        """Plans the next frame. Restarts the pacer after a period without frames, and after changes of the display."""
        if self.idle.since_ns:
            self._pacer.restart("frames rested")
            self.timer.laps.restart()
            self.timer.spans.add(kinds.REST, self.idle.since_ns, now_ns)
        presents = self.record.presents
        for change in self.display.drain_changes():
            self._pacer.restart(change)
            presents.restart()
        return presents.planned(self._pacer.next_frame(now_ns))

    def _draw(self, present_ns: int, events: list[Event]) -> DrawnPicture | None:
        stage, size_px = self.stage, self.display.framebuffer_size
        if self.display.resizes != self._resizes:
            self._resizes = self.display.resizes
            self.renderer.forget_pixels()
            self.governor.forget()
        shown = stage.draw(present_ns, size_px, self.input.tool.draw, self.input.settings.overlay)
        laps = self.timer.laps
        laps.lap(DRAW, kinds.DRAW, stage.main.clock.state.offset_ns)
        self._shown = shown
        if not self.is_starting:
            self.requested.begin(self.intake.link, shown, not self.over.is_being_made)
        if self._draw_over(events, size_px):
            laps.lap(DRAW, kinds.OVERLAY)
        self.renderer.finish()
        laps.finished(kinds.FINISH)
        if shown is not None:
            self._keep_screenshot()
            self.requested.write(has_panels=True)
        return shown

    def _draw_over(self, events: list[Event], size_px: tuple[int, int]) -> bool:
        """Draws the layers over the picture, and applies the user's input to these layers. Returns False if nothing
        was drawn."""
        now_ns, user, stage, last = self.timer.now_ns(), self.input, self.stage, self.record.last
        if self.record.screenshots.has_news:
            user.say(self.record.screenshots.news(), now_ns)
        if note := user.note(now_ns):
            self.redraws.request_at("note", user.note_ends_ns + 1)
        used = self.over.draw(
            OverlayFrame(
                self.intake.link,
                size_px,
                self.display.content_scale,
                user.settings.overlay,
                self.is_starting,
                last.draw_time_ns,
                stage.labels,
                None if stage.left is None else stage.split_labels,
                note,
                partial(self.requested.write, has_panels=False),
            ),
            events,
        )
        self.renderer.mark_covered(used.covered)
        for key in used.keys:
            user.press(key, self.timer.now_ns(), last.draw_time_ns)
        if used.turned is not None:
            user.turn(used.turned)
        return used.is_drawn

    def _panel_facts(self) -> PanelFacts:
        """Facts for the panels, which are laid out ten times a second."""
        from twixt.render.overlay.panel_state import PanelFacts

        stage, shown, level = self.stage, self._shown, self.renderer.level
        present_ns, clock = self.record.last.present_ns, stage.main.clock
        return PanelFacts(
            self.intake.link,
            self.input.settings,
            clock.state,
            (clock.buffer_ms or 0.0) if clock.mode == "buffered" else None,
            for_physics=self.core_sharing.status.partition(":")[0],
            left_out=level.name if level.left_out else "",
            thinned=stage.history.thinned,
            group_ages_ms={} if shown is None else {n: (present_ns - d) / 1e6 for n, d in shown.group_due_ns.items()},
            split_labels=stage.split_labels,
            publish_intervals_ms=self.intake.publish_intervals_ms,
            messages=(*stage.messages, *self.events.messages, *filter(None, (self.notice,))),
            events=stage.shown_events.facts,
            outside=stage.view.outside_text("F" in self.input.settings.keys),
        )

    def _keep_screenshot(self) -> None:
        record = self.record
        if record.screenshots.is_due(self.input.settings.screenshot, record.first_present_ns, self.timer.now_ns()):
            record.screenshots.write(self.renderer.read_pixels())
            self.input.screenshot_done()

    def _work_more(self, start_ns: int, has_waited: bool) -> None:
        # If the planned start of a frame was already past, the frame began when the previous frame was shown.
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
        """Records in the log the frame that was just shown. Passes its times to the overlay, to core sharing, to the
        control of quality and to the physics process."""
        record, sharing = self.record, self.core_sharing
        is_first = not record.first_present_ns
        row = record.add(planned, times, inputs, drawing, self.is_starting, self.idle.end(times.start_ns))
        self.intake.link.report_lead(record.lead_ns)
        self.input.report(self.display.framebuffer_size, row.draw_time_ns, times.swap_end_ns)
        if self.over.panels is not None:
            self.over.add(row, inputs.newest)
            self.over.reduce_redraws(sharing.is_sparing)
        sharing.frame_done(times.swap_end_ns)
        if self.intake.make_room():
            self.timer.laps.lap(UPLOAD)
        if not self.is_starting:
            work_ns, user_ns = times.work_end_ns - times.start_ns, row.user_ns - self.timer.laps.user_before_ns
            cost = FrameCost(work_ns, self.spare.hand_over_ns(times), user_ns, row.gc_ns, row.stolen_ns)
            interval_ns, is_short = self._pacer.own_interval_ns, sharing.shortage.is_short
            self.renderer.level = self.governor.frame(cost.judged_ns, interval_ns, is_short)
            if reason := self.governor.change_reason:
                self._pacer.work_changed(reason)
        if is_first and (due_ns := record.screenshots.due_ns(row.present_ns)) is not None:
            self.redraws.request_at("screenshot", due_ns)
        self.redraws.drawn(row.draw_time_ns, times.start_ns, row.present_ns)
        if self.input.settings.overlay and inputs.plan.rate:
            self.redraws.request_at("seconds without news", row.present_ns + SECONDS_COUNT_NS)
        else:
            self.redraws.withdraw("seconds without news")
        return row


def timer_of(display: Display) -> FrameTimer:
    """Timer with the machine's clock, for frames that this thread draws on a display."""
    return FrameTimer(ProcessorTime(draws_in_threads(display.renderer)))
