"""Measures a run in a browser: what `twixt measure --web` starts instead of a viewer.

This process starts the server of the browser view and a Chromium, opens the page, and after `--seconds` it reads the
page's frame log. The report has the same figures as that of a window, computed by the same code from the same rows. What
a page cannot know is null, and a condition of the report says why.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from twixt.cli.chromium import WITHOUT_COMPOSITING, Chromium, Page, PageError
from twixt.ipc.commands import Command
from twixt.ipc.config.flags import Config
from twixt.ipc.errors import FINISHED, INTERRUPTED, TwixtError
from twixt.ipc.process.notices import print_lines, print_notice
from twixt.ipc.process.viewer_order import ViewerOrder, read_order, sending_exit_code, write_from_the_background
from twixt.ipc.session.link import Link, attach
from twixt.ipc.session.screenshots import NO_PICTURES
from twixt.relay.serve.owned import report_ignored
from twixt.render.measure.frame_log import FrameLog
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.viewer.outcome import Outcome, leave_report, of_simulation
from twixt.sim.process.viewer_command import SERVE, viewer_command

# Frames of this time after the first picture are left out: shaders are compiled, and the page estimates its clock.
START_UP_S = 1.5
# The page keeps the rows of 7,200 frames. They are read this often, because to read them takes some ms.
READ_S = 50.0
# Longest wait for the first picture, and for the blocks of the simulation's report, in seconds.
PICTURE_LIMIT_S, BLOCKS_LIMIT_S = 60.0, 5.0
# The link in the line that the server prints.
LINK = re.compile(r"https?://\S+#\S+")
# Flags of a viewer that this command itself acts on.
HERE = ("log", "json", "plot", "fail_if", "offscreen")
# The interpolation methods that a page has.
METHODS = ("auto", "hermite", "linear", "none")
RENDERER = """(() => {
    const gl = document.createElement("canvas").getContext("webgl2");
    return gl && gl.getParameter(gl.getExtension("WEBGL_debug_renderer_info")?.UNMASKED_RENDERER_WEBGL ?? gl.RENDERER);
})()"""
HAS_ENDED = 'window.twixt?.state.phase === "ended"'
HAS_PICTURE = 'window.twixt?.frameLog.column("mode", 1).includes("interpolated")'
# How Chromium is started to draw: as it decides itself, by llvmpipe, or at last by the renderer that is named in `SLOW`.
SLOW = "SwiftShader"
WAYS_TO_DRAW: tuple[dict[str, Any], ...] = (
    {"is_software": False},
    {"is_software": True, "flags": (WITHOUT_COMPOSITING,)},
    {"is_software": False, "flags": ("--enable-unsafe-swiftshader",)},
)
CONDITIONS = (
    "a page in a browser drew the frames. It knows neither GPU times nor the costs of a frame by cause, has no pacer, and "
    "does not count events and reads of the channel",
    f"the first {START_UP_S:g} s after the first picture are left out, because the page compiles shaders and estimates its "
    "clock",
)


def measure_as_child() -> int:
    """Waits for the order of the run, and measures it in a browser. Returns the exit code, and also sends it to the run.
    Raises TwixtError."""
    write_from_the_background()
    line = sys.stdin.readline()
    if not line:
        return 0  # the run's command was refused
    return sending_exit_code(lambda: _measure(line))


def _measure(line: str) -> int:
    try:
        order = read_order(line)
        return measure(order.name, order.config)
    except KeyboardInterrupt:
        return INTERRUPTED


def measure(name: str, config: Config) -> int:
    """Shows the simulation `name` in a browser, and reports the frames. Returns the exit code. Raises TwixtError."""
    report_ignored(config, HERE)
    log = FrameLog(config.log)
    with contextlib.ExitStack() as ends:
        link = ends.enter_context(contextlib.closing(attach(name, pictures=NO_PICTURES)))
        url = ends.enter_context(served(name))
        display = None if config.offscreen else os.environ.get("DISPLAY") or None
        chromium = ends.enter_context(opened_browser(display, config.size_px))
        page = chromium.page
        where = "headless" if display is None else "on X11"
        about: dict[str, Any] = {
            "backend": f"{chromium.call('Browser.getVersion')['product']}, {where}",
            "renderer": page.evaluate(RENDERER),
            "swap_blocks": True,
        }
        page.open(url)
        page.wait_for(f"{HAS_PICTURE} || {HAS_ENDED}", PICTURE_LIMIT_S)
        first_ns = None
        if page.evaluate(HAS_PICTURE):
            prepare(page, config)
            first_ns = read_frames(page, link, log, config.seconds or 0.0)
            about["refresh_measured_hz"] = 1e3 / page.evaluate("twixt.state.refreshMs")
        link.poll()
        ended = link.ended
        blocks = link.request_report(BLOCKS_LIMIT_S) if ended is None else None
        link.send(Command("quit", acted_ns=time.perf_counter_ns()))
        conditions = [*CONDITIONS, *(f"the page reported an error: {text}" for text in page.errors)]
    log.close()
    outcome = Outcome(FINISHED) if ended is None else of_simulation(ended, owned=True)
    if outcome.message:
        print_notice(outcome.message)
    first_ms = None if first_ns is None or config.started_ns is None else (first_ns - config.started_ns) / 1e6
    return outcome.exit_code or leave_report(config, log, blocks, {}, about, conditions, first_ms, {})


def read_frames(page: Page, link: Link, log: FrameLog, seconds: float) -> int:
    """Adds the page's frames of some seconds to the log, or until the simulation has ended. Returns the present time of
    the first frame with a picture, in ns of `time.perf_counter_ns`."""
    reader = LogReader(page, log)
    first_ns = reader.first_present_ns()
    wait(link, START_UP_S)
    reader.skip()
    until_s = time.monotonic() + seconds
    while link.ended is None and (left_s := until_s - time.monotonic()) > 0:
        wait(link, min(left_s, READ_S))
        reader.read()
    return first_ns


@contextlib.contextmanager
def served(name: str) -> Iterator[str]:
    """Runs the server of the browser view of the simulation `name`. Yields the link."""
    command = viewer_command(SERVE)
    server = subprocess.Popen(command.arguments, env=command.environ(), stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stderr is not None
    try:
        server.stdin.write(ViewerOrder(Config(web=True), name, os.getpid(), time.perf_counter_ns()).to_line())
        server.stdin.flush()
        for line in server.stderr:
            if link := LINK.search(line.decode(errors="replace")):
                yield link[0]
                break
            print_lines(line.decode(errors="replace"))
        else:
            raise TwixtError(f"the server of the browser view ended with exit code {server.wait()}")
    finally:
        server.terminate()
        server.communicate()


def opened_browser(display: str | None, size_px: tuple[int, int]) -> Chromium:
    """A Chromium that can draw. Raises TwixtError if there is none."""
    for how in WAYS_TO_DRAW:
        chromium = Chromium(display, size_px, **how)
        renderer = chromium.page.evaluate(RENDERER) or ""
        if renderer and (how is WAYS_TO_DRAW[-1] or SLOW not in renderer):
            return chromium
        chromium.close()
    raise TwixtError("this Chromium has no WebGL2, with and without a GPU; on Debian: apt-get install libgl1-mesa-dri")


def prepare(page: Page, config: Config) -> None:
    """Sets clock, preference, method and overlay of the page as the config says. Raises TwixtError for a method that
    pages do not have."""
    if config.interpolation not in METHODS:
        raise TwixtError(
            f"--interpolation {config.interpolation} is not in the browser view; it has {', '.join(METHODS)}"
        )
    page.evaluate(f"twixt.clock.select({config.clock!r}); twixt.clock.prefer = {config.prefer!r}")
    page.evaluate(f"twixt.method = {config.interpolation!r}")
    if not config.overlay:
        page.send_key("h")


def wait(link: Link, seconds: float) -> None:
    """Receives messages of the simulation for some seconds, or until it has ended. The page is left alone."""
    until_s = time.monotonic() + seconds
    while link.ended is None and (left_s := until_s - time.monotonic()) > 0:
        if select.select([link.fileno()], [], [], left_s)[0]:
            link.poll()


class LogReader:
    """Reads the frame log of a page into a `FrameLog`. Always: each row once, in order."""

    def __init__(self, page: Page, log: FrameLog) -> None:
        self._page, self._log = page, log
        self._origin_ns = int(page.evaluate("twixt.connection.welcome.origin_ns"))
        self._next = 0
        self._last: dict[str, Any] | None = None

    def first_present_ns(self) -> int:
        """Present time of the first frame with a picture."""
        first = self._page.evaluate("""twixt.frameLog.rows().find((row) => row.mode !== "none").presentNs""")
        return self._origin_ns + round(first)

    def skip(self) -> None:
        """Leaves out the frames so far."""
        self._next = self._page.evaluate("twixt.frameLog.count")

    def read(self) -> None:
        """Adds the rows of the new frames to the log. Raises PageError if the page has already forgotten some."""
        rows = self._page.evaluate(f"twixt.frameLog.rows().filter((row) => row.frame >= {self._next})")
        if rows and rows[0]["frame"] != self._next:
            raise PageError(f"the page no longer has the rows of frames from {self._next} to {rows[0]['frame']}")
        for row in rows:
            self._log.add(frame_row(row, self._last, self._origin_ns))
            self._last = row
        self._next += len(rows)


def frame_row(row: dict[str, Any], before: dict[str, Any] | None, origin_ns: int) -> FrameRow:
    """The row of a frame of the page as a row of the frame log. before: the row of the frame before it. origin_ns: the
    origin of the page's instants, in ns of `time.perf_counter_ns`."""

    def instant_ns(name: str) -> int:
        return origin_ns + round(row[name]) if row[name] else 0

    present_ns, refresh_ns = instant_ns("presentNs"), round(row["refreshMs"] * 1e6)
    stamp_ns = present_ns - refresh_ns
    start_ns = stamp_ns + round(row["latenessMs"] * 1e6)
    work_end_ns = start_ns + round(row["workMs"] * 1e6)
    is_drawn = row["mode"] != "none"
    tick = round(row["newestTick"]) if is_drawn else -1
    since_ns = 0 if before is None else round((row["timestampMs"] - before["timestampMs"]) * 1e6)
    return FrameRow(
        frame=row["frame"],
        start_ns=start_ns,
        latch_ns=start_ns,
        work_end_ns=work_end_ns,
        swap_begin_ns=work_end_ns,
        present_ns=present_ns,
        predicted_present_ns=present_ns,
        deadline_ns=present_ns,
        wake_error_ns=start_ns - stamp_ns,
        draw_time_ns=round(row["drawNs"]),
        alpha=row["share"],
        mode=row["mode"],
        method=row["method"],
        clock_mode=row["clockMode"],
        clock_reason=row["reason"],
        offset_ns=round(row["offsetNs"]),
        room_ns=round(row["roomNs"]),
        play_rate=row["playRate"],
        rate=row["rate"],
        next_tick=tick,
        newest_tick=tick,
        newest_sim_time_ns=round(row["newestSimNs"]),
        newest_due_ns=instant_ns("newestDueNs"),
        newest_published_ns=instant_ns("newestPublishedNs"),
        used_published_ns=instant_ns("usedPublishedNs"),
        steps=0 if before is None or before["mode"] == "none" else tick - round(before["newestTick"]),
        draw_due_ns=instant_ns("drawDueNs"),
        world_epoch=round(row["worldEpoch"]),
        plan_number=round(row["planNumber"]),
        plan_rate=row["planRate"],
        pacer_interval_ns=refresh_ns,
        planned_refreshes=1,
        pacer_reason="the browser's animation frames",
        rested_ns=max(1, since_ns) if row["rested"] else 0,
        swap_end_ns=work_end_ns,
        present_source="page",
    )
