"""Runs the render process. It opens the display, attaches to the physics process, and makes frames until there is a
reason to stop.

Always: the process ends in the same way after each reason (window closed, Ctrl-C, time over, physics process ended).
The log is complete, a requested report is written, display and connection are closed, and the reason is printed.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twixt.ipc.config.flags import Config
from twixt.ipc.errors import FINISHED, INTERRUPTED, TwixtError
from twixt.ipc.process import fork, interrupts
from twixt.ipc.process.notices import print_notice
from twixt.ipc.process.viewer_order import send_exit_code
from twixt.ipc.session.attaching import BackgroundAttach, Reconnection, attach_now, wait_until_running
from twixt.ipc.trace import spans
from twixt.ipc.trace import spans as kinds
from twixt.ipc.trace.spans import NOT_RECORDED, Spans
from twixt.render.cores.priority import conditions as nice_conditions
from twixt.render.cores.priority import raise_nice, set_short_slices
from twixt.render.display.display import open_display, probe_refresh, without_display
from twixt.render.display.input import Event
from twixt.render.pacing.refresh import Refresh
from twixt.render.viewer.outcome import Outcome, leave_report, of_fault, of_simulation
from twixt.render.viewer.start_up import Loading, StartNotice, StartUp, attached

if TYPE_CHECKING:
    from twixt.ipc.session.link import Ended, Link
    from twixt.render.display.display import Display
    from twixt.render.viewer.loop import FrameLoop

# Time in ns for which the picture of a crashed world stays on the screen. The reason for the crash is written across
# it.
CRASH_SHOWN_NS = 3_000_000_000
# Longest wait, in seconds, for the sections of the report that come from the physics process. Its service thread sends
# these sections. A long step in C code may delay that thread.
REPORT_PATIENCE_S = 2.0
# Longest wait, in seconds, for the simulation's answer before the window opens. A simulation that has made its world
# answers sooner.
ANSWER_S = 0.25


def view(config: Config, name: str | None, owned: bool, loading: Loading | None = None, wait: bool = False) -> int:
    """Runs a viewer of the simulation `name` to its end, and returns the exit code. If `name` is None, the viewer
    shows the only simulation that runs. Raises TwixtError if the viewer cannot attach or has nothing to draw on.

    owned: True if this viewer belongs to that simulation. Then the end of the viewer ends the run. Simulated time
    begins when an owned viewer attaches, so an owned viewer attaches last. Any other viewer attaches first. If it is
    refused, no window appears for a moment. loading: imports that have already begun. wait: True if the viewer waits
    until the simulation runs. After the end of the simulation it also waits until the simulation comes back under its
    name.
    """
    raise_nice(config.viewer_nice)
    loading = loading or Loading()
    with contextlib.ExitStack() as ends:
        ends.callback(StartNotice(config.started_ns).close)
        spans = NOT_RECORDED
        if config.profile is not None:
            from twixt.ipc.trace.trace_file import tracing_viewer

            spans = ends.enter_context(tracing_viewer(config, owned))
        return _view(config, name, owned, loading, spans, wait, ends)


def _view(
    config: Config,
    name: str | None,
    owned: bool,
    loading: Loading,
    spans: Spans,
    wait: bool,
    ends: contextlib.ExitStack,
) -> int:
    stop = _StopSignals()
    attaching: BackgroundAttach | None = None
    if stop.asked:
        return INTERRUPTED
    if not owned:
        loading.finish()
        attaching = wait_until_running(name, lambda: stop.asked) if wait else attach_now(name, owned)
        if attaching is None:
            return INTERRUPTED
        if attaching.wait(ANSWER_S):
            attaching.link  # noqa: B018  (raises if there is none)
    try:
        display = open_display(config)
    finally:
        spans.end_phase(kinds.WINDOW)
        loading.finish()
        spans.end_phase(kinds.IMPORTS)
    try:
        early: list[Event] = []
        refresh = probe_refresh(display, early)
        spans.end_phase(kinds.PROBE)
        link = attached(attaching or attach_now(name, owned), display, early, lambda: stop.asked)
        spans.end_phase(kinds.ATTACH)
        if link is None:
            return INTERRUPTED if stop.asked else FINISHED
        try:
            from twixt.render.pacing.pacer import UNKNOWN_REFRESH_NS

            link.report_lead(refresh.period_ns or UNKNOWN_REFRESH_NS)
            shown = config
            if display.backend == "offscreen" and not config.offscreen:
                shown = without_display(config, display.renderer)
            reconnection = Reconnection(link.name) if wait else None
            return _watch(
                _Viewer(
                    config=shown,
                    is_report_asked=config.report,
                    display=display,
                    link=link,
                    refresh=refresh,
                    early=early,
                    owned=owned,
                    stop=stop,
                    spans=spans,
                    reconnection=reconnection,
                    ends=ends,
                )
            )
        finally:
            link.close()
    finally:
        display.close()


@dataclass(frozen=True)
class _Viewer:
    """Objects that one attached viewer needs to make its frames.

    config: the config in use. Without a display, it differs from the requested config. is_report_asked: True if a
    report was requested. owned: True if the viewer belongs to the simulation. early: input events from before the
    first frame. reconnection: object that waits for a simulation that has ended, or None if the viewer does not wait
    for it. ends: objects that are closed at the end of the process.
    """

    config: Config
    is_report_asked: bool
    display: Display
    link: Link
    refresh: Refresh
    early: list[Event]
    owned: bool
    stop: _StopSignals
    spans: Spans
    reconnection: Reconnection | None
    ends: contextlib.ExitStack


def _watch(viewer: _Viewer) -> int:
    """Makes frames until there is a reason to stop. Returns the exit code."""
    from twixt.render.cores.thread_time import ProcessorTime
    from twixt.render.draw.frame.context import draws_in_threads
    from twixt.render.measure.frame_log import FrameLog
    from twixt.render.pacing.pacer import Pacer
    from twixt.render.viewer.frame_record import FrameTimer
    from twixt.render.viewer.loop import FrameLoop
    from twixt.render.viewer.screenshots import Screenshots

    config, display = viewer.config, viewer.display
    screenshots = Screenshots(config.screenshot, config.at_s, config.seconds)
    pacer = Pacer(config.pacing, config.fps, viewer.refresh, display.fence_trial)
    display.set_vsync(pacer.wants_vsync)
    timer = FrameTimer(ProcessorTime(draws_in_threads(display.renderer)), viewer.spans)
    loop = FrameLoop(config, display, viewer.link, pacer, FrameLog(config.log), screenshots, viewer.early, timer)
    viewer.spans.end_phase(kinds.PROGRAMS)
    set_short_slices()
    gc.disable()
    run = _Run(viewer, loop)

    def leave(outcome: Outcome) -> int:
        gc.enable()
        return _leave(viewer, run.link, loop, outcome)

    def last(code: int) -> int:
        """Does the final work of the callers of `_watch`. When an X server ends, `_watch` does not return to its
        callers."""
        viewer.ends.close()
        if viewer.owned:
            send_exit_code(code)
        return code

    display.at_gone = lambda gone: last(leave(Outcome(gone.exit_code, str(gone))))
    code = leave(run.frames())
    display.at_gone = lambda _gone: last(code)
    loop.release()
    return code


def _leave(viewer: _Viewer, link: Link, loop: FrameLoop, outcome: Outcome) -> int:
    """Ends the run. Sends quit to the physics process, writes log and report, and prints the reason. Returns the exit
    code. Calls neither the display nor OpenGL."""
    config, display, refresh = viewer.config, viewer.display, viewer.refresh
    blocks = link.request_report(REPORT_PATIENCE_S) if config.report and link.ended is None else None
    channel = link.counters
    if viewer.owned and link.ended is None and (outcome.exit_code == FINISHED or not config.users_loop):
        from twixt.ipc.commands import Command

        link.send(Command("quit", acted_ns=time.perf_counter_ns()))
    loop.close()
    log = loop.record.log
    log.close()
    link.close()
    if outcome.message:
        print_notice(outcome.message, outcome.traceback_text)
    if log.failure:
        print_notice(log.failure)
    if not config.report or (outcome.exit_code == INTERRUPTED and not viewer.is_report_asked):
        return outcome.exit_code
    shown_on = {
        "backend": display.backend,
        "renderer": display.renderer,
        "swap_blocks": refresh.blocks,
        "refresh_reported_hz": display.refresh_reported_hz,
        "refresh_measured_hz": refresh.measured_hz,
    }
    conditions = [refresh.reason, *nice_conditions(), *loop.core_sharing.conditions()]
    first_ms, events = _first_frame_ms(config, loop), loop.events.counts
    code = leave_report(config, log, blocks, channel, shown_on, conditions, first_ms, events)
    return outcome.exit_code or code


class _Run:
    """Makes frames until there is a reason to stop. link: connection to the simulation that was drawn last."""

    def __init__(self, viewer: _Viewer, loop: FrameLoop) -> None:
        self.link = viewer.link
        self._viewer, self._loop = viewer, loop
        self._has_picture = False
        self._end_ns: int | None = None
        self._count_seconds(time.perf_counter_ns())
        self._crash_ends_ns: int | None = None

    def frames(self) -> Outcome:
        """Makes frames. Returns why they ended."""
        start_up = StartUp(self._viewer.config, self._viewer.spans)
        try:
            while (outcome := self._ended(time.perf_counter_ns())) is None:
                self._frame(start_up)
            return outcome
        except TwixtError as error:  # such as DisplayGone
            return Outcome(error.exit_code, str(error), getattr(error, "traceback_text", ""))
        except Exception as error:  # such as a lost graphics card; log and report are still written
            return of_fault(error)
        finally:
            start_up.close()
            if self._viewer.reconnection is not None:
                self._viewer.reconnection.close()

    def _frame(self, start_up: StartUp) -> None:
        loop = self._loop
        if self._viewer.display.is_hidden:
            loop.sleep_while_hidden()
            return
        if loop.is_idle:
            loop.sleep()
            return
        row = loop.frame()
        if loop.is_starting and row.mode != "none":
            self._has_picture = True
            if start_up.is_over(row, loop):
                loop.end_start()
            self._count_seconds(row.present_ns)

    def _count_seconds(self, since_ns: int) -> None:
        """Sets the end of a run with `--seconds`. They count from the end of start-up. Until the first picture they
        count from the beginning, so that a viewer ends even if nothing is published."""
        seconds = self._viewer.config.seconds
        self._end_ns = None if seconds is None else since_ns + round(seconds * 1e9)

    def _ended(self, now_ns: int) -> Outcome | None:
        viewer = self._viewer
        if viewer.stop.asked:
            return Outcome(INTERRUPTED)
        if viewer.display.should_close or self._loop.input.settings.quit:
            return Outcome(FINISHED)
        if self._end_ns is not None and now_ns >= self._end_ns:
            nothing = f"nothing was published within {viewer.config.seconds:g} s, so the viewer drew no picture"
            return Outcome(FINISHED, "" if self._has_picture else nothing)
        ended = self.link.ended
        if ended is None or (viewer.reconnection is not None and self._is_awaited(ended, viewer.reconnection)):
            return None
        return self._ended_with(ended, now_ns)

    def _is_awaited(self, ended: Ended, reconnection: Reconnection) -> bool:
        """True if the simulation that ended is awaited or has come back. If it has come back, the next frames draw
        it."""
        loop, display = self._loop, self._viewer.display
        if not loop.notice:
            if not reconnection.begin(ended):
                return False
            loop.notice = reconnection.notice
            display.set_title(f"twixt: {reconnection.notice}")
        link = reconnection.link()
        if link is not None:
            loop.follow(link)
            self.link.close()
            self.link, loop.notice = link, ""
            display.set_title(f"twixt: {link.name}")
        return True

    def _ended_with(self, ended: Ended, now_ns: int) -> Outcome | None:
        """Outcome after the end of the physics process. In a window without a report, the picture of a crashed world
        stays for CRASH_SHOWN_NS. The result is None during that time."""
        viewer = self._viewer
        if ended.kind != "crashed" or viewer.display.backend == "offscreen" or viewer.config.report:
            return of_simulation(ended, viewer.owned)
        if self._crash_ends_ns is None:
            self._crash_ends_ns = now_ns + CRASH_SHOWN_NS
            viewer.display.set_title(f"twixt: physics crashed: {ended.message}")
        return of_simulation(ended, viewer.owned) if now_ns >= self._crash_ends_ns else None


def _first_frame_ms(config: Config, loop: FrameLoop) -> float | None:
    first_ns = loop.record.first_present_ns
    if config.started_ns is None or not first_ns:
        return None
    spans.end_start_part("viewer_first_frame", first_ns)
    return (first_ns - config.started_ns) / 1e6


class _StopSignals:
    """Records Ctrl-C and SIGTERM at once, and applies them between frames. So no frame is interrupted."""

    def __init__(self) -> None:
        self.asked = False
        self._before = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
        fork.guard(self)
        if interrupts.was_dropped():  # Ctrl-C came during an import, which had lost it
            self.asked = True

    def close_in_child(self) -> None:
        """Restores the signal handlers in a forked child process (see `fork.Guarded`)."""
        while self._before:
            number, handler = self._before.popitem()
            if signal.getsignal(number) == self._ask:
                signal.signal(number, handler)

    def _ask(self, _number: int, _frame: object) -> None:
        if self.asked:
            os._exit(INTERRUPTED)  # the second signal ends a viewer that hangs
        self.asked = True
