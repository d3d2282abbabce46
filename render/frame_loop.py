"""One frame after the other: wait, take in what is new, choose the instant, draw it, show it, write it down.

The order is the point: the state is read as late as the pacer allows, the instant drawn is the one at which
the frame will be seen, and everything that can wait (log, garbage, figures) waits until the frame is shown.
"""

from __future__ import annotations

import gc
import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from twixt.ipc.commands import Command
from twixt.ipc.config import Config
from twixt.ipc.snapshot import Head
from twixt.render.controls import Controls, act
from twixt.render.input import Event, Key
from twixt.render.intake import Intake, Taken
from twixt.render.measure.frames import FrameRow
from twixt.render.measure.log import FrameLog
from twixt.render.pacer import FramePlan, FrameResult, FrameTimes, Pacer
from twixt.render.picture.picture import Shown
from twixt.render.picture.stage import Stage
from twixt.render.playback import PlaybackClock
from twixt.render.pointer import Pointer
from twixt.render.shots import Shots
from twixt.render.wait import HybridWait

if TYPE_CHECKING:
    from twixt.ipc.link import Link
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

    early: what the user did while there was nothing to see yet; the first frame obeys it.
    """

    def __init__(
        self, config: Config, window: Any, link: Link, pacer: Pacer, log: FrameLog, shots: Shots, early: list[Event]
    ) -> None:
        self.controls = first_controls(config)
        self.log = log
        self.first_present_ns = 0
        self.last: FrameRow = FrameRow()
        self.panel: Panel | None = None
        self.is_starting = True  # its frames are logged as probes: no part of any figure
        self._window, self._link, self._pacer, self._shots = window, link, pacer, shots
        self._early = early
        self._slow_render_ns = round(config.slow_render_ms * 1e6)
        self._wait = HybridWait()
        slots = gpu_slots(link.counters["bytes_per_snapshot"])
        self.stage = Stage(config, window.context, link.scene, slots, lambda: link.latest_pair()[-1].bodies)
        self._choose()
        self.intake = Intake(link, self.stage)
        self._labels: LabelOverlay | None = None
        self._pointer = Pointer()
        self._leads_ns: deque[int] = deque(maxlen=LEAD_FRAMES)
        self._swap_ns = 0
        self._acted_ns = 0  # of a command whose effect has not been seen yet
        self._plan_number = self.intake.plan.number
        self._status: dict[str, Any] = {}
        link.poll()
        self._reflect_status()

    def frame(self) -> FrameRow:
        """Makes one frame and returns its row."""
        now_ns = time.perf_counter_ns()
        planned = self._pacer.next_frame(now_ns)
        self._use_idle_time(planned.start_ns - time.perf_counter_ns())
        start_ns = self._wait.until(planned.start_ns)
        events = [*self._early, *self._window.poll()]
        self._early = []
        acted_ns = self._obey(events)
        taken = self.intake.take()
        acted_ns = self._reflect_plan() or acted_ns
        self._reflect_status()
        latch_ns = time.perf_counter_ns()
        shown = self._draw(planned.present_ns, events)
        if self._slow_render_ns:
            # A frame that has nothing to wait for began when the one before was shown; its swap is still to come.
            began_ns = self.last.present_ns if planned.start_ns <= now_ns and self.last.present_ns else start_ns
            _work_until(began_ns + self._slow_render_ns - min(self._swap_ns, LONGEST_COPY_NS))
        work_end_ns = time.perf_counter_ns()
        swap_at_ns = self._pacer.drawn(start_ns, work_end_ns)
        if swap_at_ns is not None:
            self._wait.until(swap_at_ns)
        swap_begin_ns = time.perf_counter_ns()
        self._window.swap()
        times = FrameTimes(start_ns, latch_ns, work_end_ns, swap_begin_ns, time.perf_counter_ns())
        self._swap_ns = times.swap_end_ns - times.swap_begin_ns
        paced = self._pacer.frame_done(times)
        self._tell_lead(planned.present_ns - latch_ns)
        row = self._row(planned, times, paced, taken, acted_ns)
        if shown is not None:
            row = self._with_shown(row, shown)
        self.log.add(row)
        self.last = row
        self.first_present_ns = self.first_present_ns or row.present_ns
        if self.panel is not None:
            self.panel.note(row, self.intake.newest)
        return row

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

    # -- input

    def _obey(self, events: list[Event]) -> int:
        """Acts on keys and mouse. Returns when the user acted, where this very frame shows the effect, else 0."""
        acted_ns = 0
        for event in events:
            if isinstance(event, Key):
                acted_ns = self.press(event.name, event.acted_ns) or acted_ns
        camera = self.stage.camera
        if camera is not None and not (self.panel is not None and self.panel.wants_mouse):
            height_px = self._window.framebuffer_size[1]
            acted_ns = self._pointer.move_camera(camera, events, height_px) or acted_ns
        return acted_ns

    def press(self, key: str, acted_ns: int) -> int:
        """One key: `acted_ns` where this viewer obeys it itself, 0 where physics is asked or nothing happens."""
        before = self.controls
        self.controls, command = act(key, before, acted_ns, self.last.draw_time_ns)
        if command is not None:
            self._send(command)
            return 0
        self._choose()
        return acted_ns if self.controls != before else 0

    def _choose(self) -> None:
        now = self.controls
        self.stage.choose(now.interpolation, now.clock, now.prefer, now.split, now.trails)

    def _send(self, command: Command) -> None:
        self._link.send(command)
        self._acted_ns = command.acted_ns

    def _reflect_plan(self) -> int:
        """Takes over what physics now does. Returns when the user asked for it, in the first frame that shows it."""
        plan = self.intake.plan
        if plan.number == self._plan_number:
            return 0
        self._plan_number = plan.number
        self.controls = replace(self.controls, paused=plan.rate == 0, time_scale=plan.rate or self.controls.time_scale)
        acted_ns, self._acted_ns = self._acted_ns, 0
        return acted_ns

    def _reflect_status(self) -> None:
        """The keys go on from where physics is, also where it was left by another viewer or begun by a flag."""
        before, status = self._status, self._link.status
        if status is before:
            return
        self._status = status
        slow = status.get("slow_physics_ms")
        if slow != before.get("slow_physics_ms"):
            self.controls = replace(self.controls, slow_physics=slow is not None)
        if not before:
            scale = status.get("time_scale", self.controls.time_scale)
            self.controls = replace(self.controls, paused=self.intake.plan.rate == 0, time_scale=scale)

    # -- drawing

    def _draw(self, present_ns: int, events: list[Event]) -> Shown | None:
        size_px = self._window.framebuffer_size
        shown = self.stage.draw(present_ns, size_px)
        if self.stage.labels:
            self._draw_labels(size_px)
        if self.panel is not None and self.controls.overlay:
            self._draw_panel(self.panel, shown, events, size_px)
        self.stage.renderer.finish()
        if shown is not None and self._shots.is_due(self.controls.screenshot, self.first_present_ns):
            self._shots.take(self.stage.renderer.read_pixels())
            self.controls = replace(self.controls, screenshot=False)
        return shown

    def _draw_panel(self, panel: Panel, shown: Shown | None, events: list[Event], size_px: tuple[int, int]) -> None:
        keys = panel.draw(self, events, size_px, self._window.content_scale, lambda: self._more(shown))
        for key in keys:
            self.press(key, time.perf_counter_ns())
        turned = panel.turned(time.perf_counter_ns(), self.last.draw_time_ns)
        for command in turned.commands:
            self._send(command)
        if turned.buffer_ms is not None:
            self.stage.clock.buffer_ms = turned.buffer_ms

    def _more(self, shown: Shown | None) -> More:
        from twixt.render.panel import More

        present_ns = self.last.present_ns
        ages_ms = {} if shown is None else {n: (present_ns - due) / 1e6 for n, due in shown.group_due_ns.items()}
        stage = self.stage
        return More(stage.history.thinned, ages_ms, stage.split_labels, stage.messages)

    def _draw_labels(self, size_px: tuple[int, int]) -> None:
        if self._labels is None:
            from twixt.render.overlay_labels import LabelOverlay

            self._labels = LabelOverlay()
        self._labels.draw(self.stage.labels, size_px, self._window.content_scale)

    # -- after the frame

    def _tell_lead(self, lead_ns: int) -> None:
        self._leads_ns.append(lead_ns)
        self._link.report_lead(max(self._leads_ns))

    def _use_idle_time(self, idle_ns: int) -> None:
        if idle_ns < IDLE_NS:
            return
        self.log.write_some()
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

    def _with_shown(self, row: FrameRow, shown: Shown) -> FrameRow:
        main = shown.main
        previous, newest = main.pair.previous.head, self.intake.newest
        following = previous if main.pair.next is None else main.pair.next.head
        discrete = main.method in ("none", "latest")
        blended = main.pair.next is not None and not discrete and not main.is_beyond
        used = newest if main.method == "latest" and newest is not None else following if blended else previous
        stands = main.draw_time_ns == self.last.draw_time_ns and self.last.mode != "none"
        mode = "extrapolated" if main.is_beyond else "held" if stands and not blended else "interpolated"
        return row._replace(
            draw_time_ns=main.draw_time_ns, alpha=main.pair.alpha if blended else 0.0, mode=mode,
            method=main.method, previous_tick=previous.tick,
            next_tick=following.tick if main.pair.next is not None else -1,
            used_published_ns=used.published_ns, draw_due_ns=shown.due_ns,
            group_due_ns=min(shown.group_due_ns.values(), default=0),
        )  # fmt: skip


def first_controls(config: Config) -> Controls:
    """What the flags ask for; the right half of a split view is the run's own picture."""
    method, clock = ("", "") if config.split is None else config.split[1]
    own = method or config.interpolation
    return Controls(
        own, clock or config.clock, config.overlay, prefer=config.prefer, split=config.split is not None,
        trails=config.trails, own_method=own if ":" in own else None,
    )  # fmt: skip


def gpu_slots(snapshot_bytes: int) -> int:
    """How many snapshots of this size are kept on the GPU."""
    return min(MOST_SLOTS, max(LEAST_SLOTS, GPU_BYTES // max(1, snapshot_bytes)))


def _work_until(end_ns: int) -> None:
    while time.perf_counter_ns() < end_ns:
        pass
