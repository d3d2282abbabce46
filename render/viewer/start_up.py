"""Starts a viewer. It shows the window first, then the world, and then loads everything else. It also prints a notice
if the start is slow.

Imports and the opening of the window run in parallel. Modules and programs that the first frame does not need are
loaded after that frame.

Always: when the process ends, no thread is importing, because that would crash the interpreter. A start that takes
longer than a second prints its current phase, but only on a terminal. So programs that read standard error get no
extra lines.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

from twixt.ipc.process.interrupts import InterruptibleEvent
from twixt.ipc.process.notices import is_terminal, print_notice
from twixt.ipc.session.attaching import BackgroundAttach
from twixt.ipc.trace import spans
from twixt.ipc.trace import spans as kinds
from twixt.render.cores.priority import ShortSwitchInterval
from twixt.render.display.input import Event, Key
from twixt.render.input.keys import bound

if TYPE_CHECKING:
    from twixt.ipc.config.flags import Config
    from twixt.ipc.session.link import Link
    from twixt.ipc.trace.spans import Spans
    from twixt.render.display.display import Display
    from twixt.render.measure.frame_rows import FrameRow
    from twixt.render.viewer.loop import FrameLoop


# The first frames are expensive. Drivers compile programs at first use, a copy of the background is stored, and the
# speed of that copy is tested. An import delays a frame by about 15 ms, because it holds the interpreter lock. So
# imports begin after FIRST_FRAMES frames. If frames take long, imports begin FIRST_FRAMES_NS after the first frame.
FIRST_FRAMES, FIRST_FRAMES_NS = 3, 100_000_000
# Time in ns from the end of the start-up work until the figures count the frames. In this time, the viewer and the
# physics process adapt to each other's timing.
SETTLING_NS = 500_000_000
# Longest time, in ns, in which drawing programs are prepared for a change of the interpolation method. A program takes
# milliseconds, but longer on a machine that has never compiled it. The compiled program is stored for the next start.
# Programs that are not prepared in this time are made when they are needed.
PREPARING_NS = 500_000_000
# Time that the preparation of programs may add to a frame, as a share of the frame's own work. At least one program is
# made per frame. Only few frames of half a second fit into PREPARING_NS, so each such frame must make several
# programs.
PREPARING_SHARE = 0.25
# If `--fps` is below this number, start-up with one step per frame would take too long. Then the first frame with a
# picture does all steps of start-up.
SPARSE_FPS = 10
# Interval, in seconds, of two polls of the window while the physics process still loads its world.
START_POLL_S = 0.02


class Loading(threading.Thread):
    """Thread that imports the modules with which every viewer draws."""

    def __init__(self) -> None:
        super().__init__(name="imports", daemon=True)
        self._turns = ShortSwitchInterval()
        self.start()

    def run(self) -> None:
        """Imports the modules. If a module cannot be imported, no error is raised here. The next import of that module
        raises the error again."""
        try:
            import twixt.ipc.session.link
            import twixt.render.viewer.loop  # noqa: F401
        except Exception:
            pass

    def finish(self) -> None:
        """Waits until the imports are done. This may be called again."""
        self.join()
        self._turns.close()


def needs_overlay_library(config: Config) -> bool:
    """True if the picture contains panels or labels from the start."""
    return config.overlay or config.draw is not None or config.split is not None


def attached(
    attaching: BackgroundAttach, display: Display, early: list[Event], is_asked_to_stop: Callable[[], bool]
) -> Link | None:
    """Waits for the link to the simulation, and polls the window meanwhile. Input events are appended to `early`.
    Returns None if the user closed the window or ended the viewer before the link was there. Raises the error that
    ended the search."""
    is_there = False
    while not is_there:
        is_there = attaching.wait(START_POLL_S)
        early += display.poll()
        is_left = any(isinstance(event, Key) and bound(event) == "Esc" for event in early)
        if display.should_close or is_left or is_asked_to_stop():
            return None  # the same cause may have ended the physics process, so its error is not reported
    return attaching.link


class StartUp:
    """Work that is postponed until the world is on the screen. It loads the overlay's library, prepares drawing
    programs, and waits until timing has settled."""

    def __init__(self, config: Config, spans: Spans) -> None:
        self._config, self._spans = config, spans
        self._is_sparse = config.fps is not None and config.fps < SPARSE_FPS
        self._load_begin_ns = self._load_end_ns = 0
        self._loading: threading.Thread | None = None
        # number of frames that showed the world; present time of the first of them
        self._frames = self._picture_ns = 0
        self._loaded_ns: int | None = None
        self._preparing_since_ns: int | None = None

    def is_over(self, row: FrameRow, loop: FrameLoop) -> bool:
        """True after start-up is over. Call this after each frame."""
        if row.mode == "none":
            return False
        self._frames += 1
        if self._frames == 1:
            spans.end_start_part("viewer_picture")
            loop.begin_anew("the first picture is there")
            self._picture_ns = row.present_ns
        if self._is_sparse:
            return self._all_at_once(loop)
        if self._frames < FIRST_FRAMES and row.present_ns - self._picture_ns < FIRST_FRAMES_NS:
            return False
        if self._loading is None:
            self._loading = threading.Thread(target=self._load, name="overlay", daemon=True)
            self._loading.start()
        if self._loading.is_alive():
            return False
        if self._config.overlay and self._loaded_ns is None and loop.over.panels is None:
            loop.over.make_panels(loop.display.framebuffer_size, loop.display.content_scale)
            return False
        if self._prepare(row, loop):
            return False
        if self._loaded_ns is None:
            self._loaded(loop)
            self._loaded_ns = row.present_ns
        return row.present_ns - self._loaded_ns > SETTLING_NS

    def close(self) -> None:
        """Waits for the imports. If the interpreter ended during an import, it would crash."""
        if self._loading is not None:
            self._loading.join()

    def _all_at_once(self, loop: FrameLoop) -> bool:
        """Does all of start-up within one frame, and returns True. Does not wait until timing has settled, because so
        few frames would not show the difference."""
        self._load()
        if self._config.overlay and loop.over.panels is None:
            loop.over.make_panels(loop.display.framebuffer_size, loop.display.content_scale)
        self._loaded(loop)
        return True

    def _loaded(self, loop: FrameLoop) -> None:
        self._spans.add(kinds.LOAD, self._load_begin_ns, self._load_end_ns)
        gc.freeze()  # imported objects stay, so collecting them would only take time
        loop.begin_anew()

    def _prepare(self, row: FrameRow, loop: FrameLoop) -> bool:
        """Makes drawing programs for a change of the interpolation method. Returns True while there are more programs
        to make, and time to make them."""
        if self._loaded_ns is not None:
            return False
        now_ns = time.perf_counter_ns()
        if self._preparing_since_ns is None:
            self._preparing_since_ns = now_ns
        ends_ns = self._preparing_since_ns + PREPARING_NS
        until_ns = min(ends_ns, now_ns + round(PREPARING_SHARE * (row.work_end_ns - row.start_ns)))
        is_more = now_ns < ends_ns
        while is_more:
            is_more = loop.stage.renderer.prepare()
            loop.stage.renderer.finish()  # drivers postpone the making of programs until this call
            if time.perf_counter_ns() >= until_ns:
                break
        return is_more

    def _load(self) -> None:
        """Imports modules that a later frame may need. So that frame does not wait for them."""
        self._load_begin_ns = time.perf_counter_ns()
        with closing(ShortSwitchInterval()):
            import numpy.ma  # noqa: F401  # numpy imports it at the first percentile or unique (10 ms)

            import twixt.render.interpolation.method
            import twixt.render.scene.trails  # noqa: F401
        if needs_overlay_library(self._config):
            from twixt.render.overlay.overlay_layer import load_overlay_library

            load_overlay_library()
        self._load_end_ns = time.perf_counter_ns()


# Longest duration, in ns, of a start that prints nothing. A longer start prints its current phase.
PATIENCE_NS = 1_000_000_000
# Interval, in seconds, at which the current phase of the start is polled.
LOOK_S = 0.25
PICTURE = "viewer_picture"  # name of a span that ends when the first picture is on the screen; not in the report
# Words for the work in each phase of the start (`report_keys.START_PHASES`), in the order of the phases.
BUSY_WITH = {
    "viewer_window": "opening the window",
    "viewer_imports": "loading libraries",
    "viewer_probe": "measuring the display",
    "viewer_attach": "waiting for the world",
    "viewer_scene": "reading the scene",
    PICTURE: "compiling the drawing code; the next start is faster",
}


class StartNotice:
    """Prints the current phase of a slow start, on a thread. begun_ns: instant at which the command was given, or None
    for now. Must be closed."""

    def __init__(self, begun_ns: int | None) -> None:
        self._begun_ns = time.perf_counter_ns() if begun_ns is None else begun_ns
        self._over = InterruptibleEvent()
        if is_terminal():
            threading.Thread(target=self._watch, name="start notice", daemon=True).start()

    def close(self) -> None:
        """Ends the printing of phases."""
        self._over.set()

    def _watch(self) -> None:
        reported = ""
        wait_s = max(0.0, (self._begun_ns + PATIENCE_NS - time.perf_counter_ns()) / 1e9)
        while not self._over.wait(wait_s) and (busy := busy_with(spans.start_part_has_ended)):
            if busy != reported:
                print_notice(f"starting: {busy}")
            reported, wait_s = busy, LOOK_S


def busy_with(has_ended: Callable[[str], bool]) -> str:
    """Current phase of the start, in words. It is "" after the first picture is on the screen."""
    if has_ended(PICTURE):
        return ""
    return next(words for part, words in BUSY_WITH.items() if not has_ended(part))
