"""The render process: opens the display, attaches to physics, makes frames until there is a reason to stop.

Always: whatever ends it (window closed, Ctrl-C, time over, physics gone), the log is whole, the report is
left if one was asked for, the display and the connection are given back, and the reason is said.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from twixt.ipc import ctrl_c, fork, start
from twixt.ipc import spans as kinds
from twixt.ipc.config import Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.spans import NOT_RECORDED, Spans
from twixt.render.awaiting import Return, await_first
from twixt.render.display.opening import open_display, probe_refresh, without_display
from twixt.render.guest.niceness import give_way
from twixt.render.guest.niceness import said as said_of_nice
from twixt.render.guest.slices import ask_for_short_slices
from twixt.render.input import Event
from twixt.render.link_to_be import LinkToBe
from twixt.render.outcome import CLOSED, INTERRUPTED, Outcome, leave_report, of_fault, of_simulation, say_code
from twixt.render.pacing.refresh import Refresh
from twixt.render.start_notice import StartNotice
from twixt.render.start_up import Attaching, Loading, StartUp, attached

if TYPE_CHECKING:
    from twixt.ipc.link import Ended, Link
    from twixt.render.frame_loop import FrameLoop
    from twixt.render.pacing.pacer import Pacer

# How long the picture of a crashed world stays, with the reason across it.
CRASH_SHOWN_NS = 3_000_000_000
# Physics answers for its part of the report from a thread of its own; a step in C code may hold that up.
REPORT_PATIENCE_S = 2.0
# What a simulation that has its world takes to answer, and more; without an answer the window opens meanwhile.
ANSWER_S = 0.25


def view(
    config: Config, name: str | None, owned: bool, loading: Loading | None = None, wait: bool = False
) -> int:  # fmt: skip
    """Run a viewer of the simulation `name` (None: the only one running) to its end; the exit code.

    owned: this viewer belongs to that simulation, and its end ends the run. Simulated time begins when it has
    attached, so it does that last; another viewer first, so that where nobody lets it in no window flashes up.
    loading: what is imported already. wait: for the simulation, where it is not there yet, and for it to come back
    under its name where it has ended.
    """
    give_way(config.viewer_nice)
    loading = loading or Loading()
    with contextlib.ExitStack() as ends:
        ends.callback(StartNotice(config.started_ns).close)
        spans = NOT_RECORDED
        if config.profile is not None:
            from twixt.ipc.trace_file import tracing_viewer

            spans = ends.enter_context(tracing_viewer(config, owned))
        return _view(config, name, owned, loading, spans, wait, ends)


def _view(
    config: Config, name: str | None, owned: bool, loading: Loading, spans: Spans, wait: bool, ends: contextlib.ExitStack
) -> int:  # fmt: skip
    stop = _StopSignals()
    attaching: LinkToBe | None = None
    if stop.asked:
        return INTERRUPTED
    if not owned:
        loading.finish()
        attaching = await_first(name, lambda: stop.asked) if wait else Attaching(name, owned)
        if attaching is None:
            return INTERRUPTED
        if attaching.wait(ANSWER_S):
            attaching.link  # noqa: B018  (or why there is none)
    try:
        window = open_display(config)
    finally:
        start.ended("viewer_window")
        spans.lap(kinds.WINDOW)
        loading.finish()
        start.ended("viewer_imports")
    spans.lap(kinds.IMPORTS)
    try:
        early: list[Event] = []
        refresh = probe_refresh(window, early)
        spans.lap(kinds.PROBE)
        start.ended("viewer_probe")
        link = attached(attaching or Attaching(name, owned), window, early, lambda: stop.asked)
        start.ended("viewer_attach")
        if link is None:
            return INTERRUPTED if stop.asked else CLOSED
        spans.lap(kinds.ATTACH)
        try:
            from twixt.render.pacing.pacer import UNKNOWN_REFRESH_NS

            link.report_lead(refresh.period_ns or UNKNOWN_REFRESH_NS)
            shown = config
            if window.backend == "offscreen" and not config.offscreen:
                shown = without_display(config, window.renderer)
            back = Return(link.name) if wait else None
            return _watch(shown, window, link, refresh, early, owned, stop, config.report, spans, back, ends)
        finally:
            link.close()
    finally:
        window.close()


def _watch(
    config: Config, window: Any, link: Link, refresh: Refresh, early: list[Event], owned: bool, stop: _StopSignals,
    report_if_interrupted: bool, spans: Spans, back: Return | None, ends: contextlib.ExitStack,
) -> int:  # fmt: skip
    from twixt.render.frame_loop import FrameLoop
    from twixt.render.measure.log import FrameLog
    from twixt.render.pacing.pacer import Pacer
    from twixt.render.shots import Shots

    shots = Shots(config.screenshot, config.at_s, config.seconds)
    log = FrameLog(config.log)
    pacer = Pacer(config.pacing, config.fps, refresh)
    window.set_vsync(pacer.wants_vsync)
    loop = FrameLoop(config, window, link, pacer, log, shots, early, spans)
    start.ended("viewer_scene")
    spans.lap(kinds.PROGRAMS)
    ask_for_short_slices()
    gc.disable()
    run = _Run(config, window, link, loop, pacer, owned, stop, back)

    def leave(outcome: Outcome) -> int:
        gc.enable()
        return _leave(config, window, run.link, refresh, loop, owned, report_if_interrupted, outcome)

    def last(code: int) -> int:
        """Instead of what would come after `_watch`: nothing does."""
        ends.close()
        if owned:
            say_code(code)
        return code

    window.at_gone = lambda gone: last(leave(Outcome(gone.exit_code, str(gone))))
    code = leave(run.frames())
    window.at_gone = lambda _gone: last(code)
    loop.release()
    return code


def _leave(
    config: Config, window: Any, link: Link, refresh: Refresh, loop: FrameLoop, owned: bool,
    report_if_interrupted: bool, outcome: Outcome,
) -> int:  # fmt: skip
    """Tells physics, writes what is to be left, says why; the exit code. Calls neither the display nor OpenGL."""
    blocks = link.ask_report(REPORT_PATIENCE_S) if config.report and link.ended is None else None
    channel = link.counters
    if owned and link.ended is None and (outcome.exit_code == CLOSED or not config.users_loop):
        from twixt.ipc.commands import Command

        link.send(Command("quit", acted_ns=time.perf_counter_ns()))
    loop.close()
    log = loop.log
    log.close()
    link.close()
    if outcome.said:
        print(f"{outcome.traceback_text}twixt: {outcome.said}", file=sys.stderr)
    if log.failure:
        print(f"twixt: {log.failure}", file=sys.stderr)
    if not config.report or (outcome.exit_code == INTERRUPTED and not report_if_interrupted):
        return outcome.exit_code
    display = {
        "backend": window.backend, "renderer": window.renderer, "swap_blocks": refresh.blocks,
        "refresh_reported_hz": window.refresh_reported_hz, "refresh_measured_hz": refresh.measured_hz,
    }  # fmt: skip
    code = leave_report(
        config, log, blocks, channel, display, [refresh.reason, *said_of_nice(), *loop.guest.summary()],
        _first_frame_ms(config, loop),
    )  # fmt: skip
    return outcome.exit_code or code


class _Run:
    """Frames, one after the other, until there is a reason to stop."""

    def __init__(
        self, config: Config, window: Any, link: Link, loop: FrameLoop, pacer: Pacer, owned: bool, stop: _StopSignals,
        back: Return | None = None,
    ) -> None:  # fmt: skip
        self.link = link  # of the simulation that was drawn last
        self._config, self._window, self._loop, self._pacer = config, window, loop, pacer
        self._owned, self._stop, self._back = owned, stop, back
        self._end_ns: int | None = None
        self._crash_ends_ns: int | None = None

    def frames(self) -> Outcome:
        """Makes them; why they ended."""
        start_up = StartUp(self._config, self._loop.spans)
        try:
            while (outcome := self._ended(time.perf_counter_ns())) is None:
                self._frame(start_up)
            return outcome
        except TwixtError as error:  # such as a display that has gone
            return Outcome(error.exit_code, str(error), getattr(error, "traceback_text", ""))
        except Exception as error:  # such as a graphics card that was lost: log and report are left all the same
            return of_fault(error)
        finally:
            start_up.close()
            if self._back is not None:
                self._back.close()

    def _frame(self, start_up: StartUp) -> None:
        loop = self._loop
        if self._window.is_hidden:
            loop.rest_while_hidden()
            return
        if loop.is_still:
            loop.rest()
            return
        row = loop.frame()
        if loop.is_starting and start_up.is_over(row, loop):
            loop.is_starting = False
            seconds = self._config.seconds
            self._end_ns = row.present_ns + round(seconds * 1e9) if seconds else None

    def _ended(self, now_ns: int) -> Outcome | None:
        if self._stop.asked:
            return Outcome(INTERRUPTED)
        if self._window.should_close or self._loop.controls.quit:
            return Outcome(CLOSED)
        if self._end_ns is not None and now_ns >= self._end_ns:
            return Outcome(CLOSED)
        ended = self.link.ended
        if ended is None or (self._back is not None and self._is_awaited(ended, self._back)):
            return None
        return self._ended_with(ended, now_ns)

    def _is_awaited(self, ended: Ended, back: Return) -> bool:
        """Whether the picture stays until the simulation is back; once it is, frames go on there."""
        if not self._loop.notice:
            if not back.begin(ended):
                return False
            self._loop.notice = back.notice
            self._window.set_title(f"twixt: {back.notice}")
        link = back.link()
        if link is not None:
            self._loop.follow(link)
            self.link.close()
            self.link, self._loop.notice = link, ""
            self._window.set_title(f"twixt: {link.name}")
        return True

    def _ended_with(self, ended: Ended, now_ns: int) -> Outcome | None:
        """Physics has ended. The picture of a world that crashed stays for a moment, where somebody sees it."""
        if ended.kind != "crashed" or self._window.backend == "offscreen" or self._config.report:
            return of_simulation(ended, self._owned)
        if self._crash_ends_ns is None:
            self._crash_ends_ns = now_ns + CRASH_SHOWN_NS
            self._window.set_title(f"twixt: physics crashed: {ended.message}")
        return of_simulation(ended, self._owned) if now_ns >= self._crash_ends_ns else None


def _first_frame_ms(config: Config, loop: FrameLoop) -> float | None:
    if config.started_ns is None or not loop.first_present_ns:
        return None
    start.ended("viewer_first_frame", loop.first_present_ns)
    return (loop.first_present_ns - config.started_ns) / 1e6


class _StopSignals:
    """Ctrl-C and SIGTERM, taken between frames, so that a frame is never cut in the middle."""

    def __init__(self) -> None:
        self.asked = False
        self._before = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
        fork.guard(self)
        if ctrl_c.is_unheard():  # it came in an import
            self.asked = True

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`."""
        while self._before:
            number, handler = self._before.popitem()
            if signal.getsignal(number) == self._ask:
                signal.signal(number, handler)

    def _ask(self, _number: int, _frame: object) -> None:
        if self.asked:
            os._exit(INTERRUPTED)  # asked twice: whatever hangs, it must not hold the user up
        self.asked = True
