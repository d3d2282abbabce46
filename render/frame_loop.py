"""One frame after the other: wait, take in what is new, choose the instant, draw it, show it, write it down.

The order is the point: the state is read as late as the pacer allows, the instant drawn is the one at which
the frame will be seen, and everything that can wait (log, garbage, figures) waits until the frame is shown.
"""

from __future__ import annotations

import gc
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from twixt.ipc import spans as kinds
from twixt.ipc.config import Config
from twixt.ipc.snapshot import Head
from twixt.render.controls import Controls
from twixt.render.frame_rows import with_shown
from twixt.render.input import Event
from twixt.render.intake import Intake, Taken
from twixt.render.labels import PlacedLabel, head
from twixt.render.measure.frames import FrameRow
from twixt.render.measure.log import FrameLog
from twixt.render.pacer import FramePlan, FrameResult, FrameTimes, Pacer
from twixt.render.picture.picture import Shown
from twixt.render.picture.stage import Stage, side_by_side
from twixt.render.playback import PlaybackClock
from twixt.render.pointer import covers_nothing
from twixt.render.shots import Shots
from twixt.render.steering import Steering
from twixt.render.wait import HybridWait

if TYPE_CHECKING:
    from twixt.ipc.link import Link
    from twixt.ipc.spans import Recorder
    from twixt.render.overlay_labels import LabelOverlay
    from twixt.render.panel import More, Panel

# Snapshots on the GPU: a late clock draws five or six behind the newest, and a burst must not push those out.
MOST_SLOTS, LEAST_SLOTS = 64, 4
GPU_BYTES = 256 << 20
# Frames whose look into the future is reported to physics: the largest of one second at 60 Hz.
LEAD_FRAMES = 60
# Spare time before the next frame that a bounded garbage collection or a log row may use.
IDLE_NS = 4_000_000
FRAMES_PER_COLLECTION = 120
# A swap that takes longer than copying the picture does (1 ms) waits for the display; waiting is no work.
LONGEST_COPY_NS = 1_000_000


class FrameLoop:
    """The frames of one viewer. `frame()` makes one; `controls.quit` says that the user is done.

    early: what the user did while there was nothing to see yet; the first frame obeys it. spans: where its frames
    are recorded, None: nowhere.
    """

    def __init__(
        self, config: Config, window: Any, link: Link, pacer: Pacer, log: FrameLog, shots: Shots, early: list[Event],
        spans: Recorder | None = None,
    ) -> None:  # fmt: skip
        self.log = log
        self.first_present_ns = 0
        self.last: FrameRow = FrameRow()
        self.panel: Panel | None = None
        self.is_starting = True  # its frames are logged as probes: no part of any figure
        self._window, self._link, self._pacer, self._shots, self.spans = window, link, pacer, shots, spans
        self._slow_render_ns = round(config.slow_render_ms * 1e6)
        self._wait = HybridWait()
        slots = gpu_slots(link.counters["bytes_per_snapshot"])
        self.stage = Stage(config, window.context, link.scene, slots, lambda: link.latest_pair()[-1].bodies)
        self.intake = Intake(link, self.stage)
        self._steering = Steering(config, link, self.stage, early)
        self._labels: LabelOverlay | None = None
        self._leads_ns: deque[int] = deque(maxlen=LEAD_FRAMES)
        self._swap_ns = 0
        link.poll()
        self._steering.reflect(self.intake.plan)

    def frame(self) -> FrameRow:
        """Makes one frame and returns its row."""
        spans = self.spans
        now_ns = time.perf_counter_ns()
        planned = self._pacer.next_frame(now_ns)
        self._use_idle_time(planned.start_ns - time.perf_counter_ns())
        start_ns = self._wait.until(planned.start_ns)
        if spans is not None:
            spans.add(kinds.WAIT, now_ns, start_ns)
            spans.start(start_ns)
        events = self._window.poll()
        acted_ns = self._obey(events)
        if spans is not None:
            spans.lap(kinds.EVENTS)
        taken = self.intake.take()
        acted_ns = self._steering.reflect(self.intake.plan) or acted_ns
        latch_ns = time.perf_counter_ns()
        if spans is not None:
            spans.lap(kinds.INTAKE, taken.steps)
        shown = self._draw(planned.present_ns, events)
        if self._slow_render_ns:
            # A frame that has nothing to wait for began when the one before was shown; its swap is still to come.
            began_ns = self.last.present_ns if planned.start_ns <= now_ns and self.last.present_ns else start_ns
            _work_until(began_ns + self._slow_render_ns - min(self._swap_ns, LONGEST_COPY_NS))
            if spans is not None:
                spans.lap(kinds.SLOW_RENDER)
        work_end_ns = time.perf_counter_ns()
        swap_at_ns = self._pacer.drawn(start_ns, work_end_ns)
        if swap_at_ns is not None:
            self._wait.until(swap_at_ns)
            if spans is not None:
                spans.lap(kinds.AWAIT_SWAP)
        swap_begin_ns = time.perf_counter_ns()
        self._window.swap()
        times = FrameTimes(start_ns, latch_ns, work_end_ns, swap_begin_ns, time.perf_counter_ns())
        self._swap_ns = times.swap_end_ns - times.swap_begin_ns
        paced = self._pacer.frame_done(times)
        self._tell_lead(planned.present_ns - latch_ns)
        row = self._row(planned, times, paced, taken, acted_ns)
        if shown is not None:
            row = with_shown(row, shown, self.intake.newest or Head(), self.last)
        self.log.add(row)
        self.last = row
        self.first_present_ns = self.first_present_ns or row.present_ns
        if self.panel is not None:
            self.panel.note(row, self.intake.newest)
        if spans is not None:
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

    def begin_anew(self) -> None:
        """Start-up's work is done; what it did to frames says nothing of those to come."""
        self._pacer.forget_work("start-up is over")

    def rest_while_hidden(self) -> None:
        """Instead of a frame, while the window is not shown: input and snapshots are still taken in."""
        self._obey(self._window.wait_events(0.1))
        self.intake.take()

    def close(self) -> None:
        """The last pictures are written; GL objects go with the context."""
        self._shots.close()
        for overlay in (self._labels, self.panel):
            if overlay is not None:
                overlay.close()

    def _obey(self, events: list[Event]) -> int:
        covers = self.panel.covers if self.panel is not None and self.controls.overlay else covers_nothing
        return self._steering.obey(events, self._window.framebuffer_size[1], self.last.draw_time_ns, covers)

    # -- drawing

    def _draw(self, present_ns: int, events: list[Event]) -> Shown | None:
        size_px = self._window.framebuffer_size
        shown = self.stage.draw(present_ns, size_px)
        spans = self.spans
        if spans is not None:
            spans.lap(kinds.DRAW, self.stage.clock.state.offset_ns)
        panel = self.panel if self.controls.overlay else None
        words = self.stage.labels
        halves = self.stage.split_labels
        # Two halves say what they are with the overlay hidden, too; not before start-up has loaded what draws words.
        if halves is not None and panel is None and not self.is_starting:
            words = words + head(halves, side_by_side(size_px, 2), size_px[1], self._window.content_scale)
        if words:
            self._draw_words(words, size_px)
        if panel is not None:
            self._draw_panel(panel, shown, events, size_px)
        if spans is not None and (words or panel is not None):
            spans.lap(kinds.OVERLAY)
        self.stage.renderer.finish()
        if spans is not None:
            spans.lap(kinds.FINISH)
        if shown is not None and self._shots.is_due(self.controls.screenshot, self.first_present_ns):
            self._shots.take(self.stage.renderer.read_pixels())
            self._steering.screenshot_taken()
        return shown

    def _draw_panel(self, panel: Panel, shown: Shown | None, events: list[Event], size_px: tuple[int, int]) -> None:
        keys = panel.draw(self, events, size_px, self._window.content_scale, lambda: self._more(shown))
        self._steering.press_all(keys, self.last.draw_time_ns)
        self._steering.turn(panel.turned(time.perf_counter_ns(), self.last.draw_time_ns))

    def _more(self, shown: Shown | None) -> More:
        from twixt.render.panel import More

        present_ns = self.last.present_ns
        ages_ms = {} if shown is None else {n: (present_ns - due) / 1e6 for n, due in shown.group_due_ns.items()}
        stage = self.stage
        return More(stage.history.thinned, ages_ms, stage.split_labels, stage.messages)

    def _draw_words(self, words: list[PlacedLabel], size_px: tuple[int, int]) -> None:
        if self._labels is None:
            from twixt.render.overlay_labels import LabelOverlay

            self._labels = LabelOverlay()
        self._labels.draw(words, size_px, self._window.content_scale)

    # -- after the frame

    def _tell_lead(self, lead_ns: int) -> None:
        self._leads_ns.append(lead_ns)
        self._link.report_lead(max(self._leads_ns))

    def _use_idle_time(self, idle_ns: int) -> None:
        if idle_ns < IDLE_NS:
            return
        begin_ns = time.perf_counter_ns() if self.spans is not None else 0
        self.log.write_some()
        if self.spans is not None:
            self.spans.add(kinds.LOG, begin_ns, time.perf_counter_ns())
        if self.log.count % FRAMES_PER_COLLECTION == 0:
            gc.collect(1)

    def _row(self, planned: FramePlan, times: FrameTimes, paced: FrameResult, taken: Taken, acted_ns: int) -> FrameRow:
        plan, state, newest = self.intake.plan, self.stage.clock.state, self.intake.newest or Head()
        return FrameRow(
            frame=self.log.count, start_ns=times.start_ns, latch_ns=times.latch_ns, work_end_ns=times.work_end_ns,
            swap_begin_ns=times.swap_begin_ns, present_ns=times.swap_end_ns, predicted_present_ns=planned.present_ns,
            deadline_ns=paced.deadline_ns, wake_error_ns=times.start_ns - planned.start_ns,
            clock_mode=state.mode, offset_ns=state.offset_ns, room_ns=state.room_ns, play_rate=state.rate,
            clock_reason=state.reason,
            plan_number=plan.number, plan_rate=plan.rate, steps=taken.steps,
            pacer_interval_ns=0 if self._pacer.unlimited else planned.interval_ns,
            planned_refreshes=planned.planned_refreshes if self._pacer.blocks else 0,
            pacer_reason=paced.reason, input_acted_ns=acted_ns,
            rate=newest.rate, newest_tick=newest.tick, newest_sim_time_ns=newest.sim_time_ns,
            newest_due_ns=newest.due_ns, newest_published_ns=newest.published_ns, world_epoch=newest.world_epoch,
            gpu_ns=self.stage.renderer.gpu_ns, probe=self.is_starting,
        )  # fmt: skip


def gpu_slots(snapshot_bytes: int) -> int:
    """How many snapshots of this size are kept on the GPU."""
    return min(MOST_SLOTS, max(LEAST_SLOTS, GPU_BYTES // max(1, snapshot_bytes)))


def _work_until(end_ns: int) -> None:
    while time.perf_counter_ns() < end_ns:
        pass
