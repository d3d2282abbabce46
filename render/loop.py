"""The render process: opens the display, attaches to physics, makes frames until there is a reason to stop.

Always: whatever ends it (window closed, Ctrl-C, time over, physics gone), the log is whole, the report is
left if one was asked for, the display and the connection are given back, and the reason is said.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from concurrent.futures import Future
from typing import Any

from twixt.ipc.commands import Command
from twixt.ipc.config import Config
from twixt.ipc.link import Link, attach
from twixt.render.display import open_display, probe_refresh, without_display
from twixt.render.frame_loop import FrameLoop
from twixt.render.measure.frames import FrameRow
from twixt.render.measure.log import FrameLog
from twixt.render.outcome import CLOSED, INTERRUPTED, Outcome, leave_report, of_simulation
from twixt.render.pacer import UNKNOWN_REFRESH_NS, Pacer
from twixt.render.shots import Shots

# How long the picture of a crashed world stays, with the reason across it.
CRASH_SHOWN_NS = 3_000_000_000
# Physics answers for its part of the report from a thread of its own; a step in C code may hold that up.
REPORT_PATIENCE_S = 2.0
# From the first frame until frames count: the viewer and physics get to know each other's pace.
SETTLING_NS = 500_000_000
# How long one look at the window takes while physics is still loading its world.
START_POLL_S = 0.02


def view(config: Config, name: str | None, owned: bool) -> int:
    """Run a viewer of the simulation `name` (None: the only one running) to its end; the exit code.

    owned: this viewer belongs to that simulation, and its end ends the run.
    """
    stop = _StopSignals()
    window = open_display(config)
    try:
        if window.backend == "offscreen" and not config.offscreen:
            config = without_display(config)
        shots = Shots(config.screenshot, config.at_s)
        refresh = probe_refresh(window)
        link = _attach(window, name, owned, stop, refresh.period_ns or UNKNOWN_REFRESH_NS)
        if link is None:
            return INTERRUPTED if stop.asked else CLOSED
        try:
            return _watch(config, window, link, refresh, shots, owned, stop)
        finally:
            link.close()
    finally:
        window.close()


def _watch(config: Config, window: Any, link: Link, refresh: Any, shots: Shots, owned: bool, stop: _StopSignals) -> int:
    log = FrameLog(config.log)
    pacer = Pacer(config.pacing, config.fps, refresh)
    window.set_vsync(pacer.wants_vsync)
    loop = FrameLoop(config, window, link, pacer, log, shots)
    gc.disable()
    outcome = _frames(config, window, link, loop, pacer, owned, stop)
    gc.enable()
    blocks = link.ask_report(REPORT_PATIENCE_S) if config.report and link.ended is None else None
    channel = link.counters
    if owned and link.ended is None:
        link.send(Command("quit"))
    loop.close()
    log.close()
    if outcome.said:
        print(f"twixt: {outcome.said}", file=sys.stderr)
    if not config.report:
        return outcome.exit_code
    display = {
        "backend": window.backend, "renderer": window.renderer, "swap_blocks": refresh.blocks,
        "refresh_reported_hz": window.refresh_reported_hz, "refresh_measured_hz": pacer.refresh_measured_hz,
    }  # fmt: skip
    code = leave_report(config, log, blocks, channel, display, [refresh.reason], _first_frame_ms(config, loop))
    return outcome.exit_code or code


def _frames(
    config: Config, window: Any, link: Link, loop: FrameLoop, pacer: Pacer, owned: bool, stop: _StopSignals
) -> Outcome:
    """Frames until there is a reason to stop, which is returned."""
    start_up = _StartUp(config, link)
    end_ns = None
    crash_ends_ns = None
    while True:
        if stop.asked:
            return Outcome(INTERRUPTED)
        if window.should_close or loop.controls.quit:
            return Outcome(CLOSED)
        now_ns = time.perf_counter_ns()
        if end_ns is not None and now_ns >= end_ns:
            return Outcome(CLOSED)
        if link.ended is not None:
            if link.ended.kind != "crashed" or window.backend == "offscreen" or config.report:
                return of_simulation(link.ended, owned)
            crash_ends_ns = crash_ends_ns or now_ns + CRASH_SHOWN_NS
            if now_ns >= crash_ends_ns:
                return of_simulation(link.ended, owned)
        if window.is_hidden:
            loop.rest_while_hidden()
            pacer.restart("the window was hidden")
            continue
        row = loop.frame()
        if loop.is_starting and start_up.is_over(row, loop):
            loop.is_starting = False
            end_ns = row.present_ns + round(config.seconds * 1e9) if config.seconds else None


class _StartUp:
    """What is put off until the world is on the screen: the overlay's library, and a picture that has settled."""

    def __init__(self, config: Config, link: Link) -> None:
        self._config, self._link = config, link
        self._loading: threading.Thread | None = None

    def is_over(self, row: FrameRow, loop: FrameLoop) -> bool:
        """To be asked after each frame."""
        if row.mode == "none":
            return False
        if self._loading is None:
            self._loading = threading.Thread(target=self._load, name="overlay", daemon=True)
            self._loading.start()
        if self._loading.is_alive():
            return False
        if self._config.overlay and loop.panel is None:
            from twixt.render.panel import Panel

            loop.panel = Panel(self._link, self._config.pacing)
            gc.collect()
            gc.freeze()
        return row.present_ns - loop.first_present_ns > SETTLING_NS

    def _load(self) -> None:
        if self._config.overlay:
            import twixt.render.panel  # noqa: F401  (a tenth of a second, while frames go on)


def _attach(window: Any, name: str | None, owned: bool, stop: _StopSignals, first_lead_ns: int) -> Link | None:
    """The link, as soon as physics has made its world; meanwhile the window stays alive. None: closed before.

    first_lead_ns: how far into the future frames will be shown, as far as is known before the first.
    """
    attached: Future[Link] = Future()

    def wait() -> None:
        try:
            link = attach(name, owned=owned)
            link.report_lead(first_lead_ns)
            attached.set_result(link)
        except BaseException as error:
            attached.set_exception(error)

    threading.Thread(target=wait, name="attach", daemon=True).start()
    while not attached.done():
        window.wait_events(START_POLL_S)
        if window.should_close or stop.asked:
            return None
    return attached.result()


def _first_frame_ms(config: Config, loop: FrameLoop) -> float | None:
    if config.started_ns is None or not loop.first_present_ns:
        return None
    return (loop.first_present_ns - config.started_ns) / 1e6


class _StopSignals:
    """Ctrl-C and SIGTERM, taken between frames, so that a frame is never cut in the middle."""

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask)

    def _ask(self, _number: int, _frame: object) -> None:
        if self.asked:
            os._exit(INTERRUPTED)  # asked twice: whatever hangs, it must not hold the user up
        self.asked = True
