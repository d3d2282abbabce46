"""Start-up of a viewer: window first, then the world, then everything else; and the notice of a slow start.

Imports and the opening of the window run in parallel. Modules and programs that the first frame does not need are
loaded after it.

Always: when the process ends, no thread is importing, because that would crash the interpreter. A start that takes
longer than a second prints its current phase, but only on a terminal, so that programs that read standard error get no
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
from twixt.ipc.trace import spans
from twixt.ipc.trace import spans as kinds
from twixt.render.cores.priority import ShortSwitchInterval
from twixt.render.display.input import Event, Key
from twixt.render.input.keys import bound
from twixt.render.viewer.attach import BackgroundAttach

if TYPE_CHECKING:
    from twixt.ipc.config.flags import Config
    from twixt.ipc.session.link import Link
    from twixt.ipc.trace.spans import Spans
    from twixt.render.display.display import Display
    from twixt.render.measure.frame_rows import FrameRow
    from twixt.render.viewer.loop import FrameLoop


# The first frames are expensive: drivers compile programs at first use, and a copy of the background is stored and its
# speed is tested. Importing delays a frame by some 15 ms, because it holds the interpreter lock. So importing begins
# after FIRST_FRAMES frames, or FIRST_FRAMES_NS after the first one if frames take long.
FIRST_FRAMES, FIRST_FRAMES_NS = 3, 100_000_000
# Time from the end of the start-up work until frames count in the figures. In this time viewer and physics adapt to
# each other's timing.
SETTLING_NS = 500_000_000
# Longest time for preparing drawing programs for a change of method. A program takes milliseconds, but longer on a
# machine that has never compiled it; the result is stored for the next start. The other programs are made when they
# are needed.
PREPARING_NS = 500_000_000
# Time that preparing may add to a frame, as a share of the frame's own work; at least one program is made. Only few
# frames of half a second fit into PREPARING_NS, so each of them must make several programs.
PREPARING_SHARE = 0.25
# With `--fps` below this, start-up with one step per frame would take too long, so the first frame with a picture does
# all steps.
SPARSE_FPS = 10
# Interval between two polls of the window while physics is still loading its world.
START_POLL_S = 0.02


class Loading(threading.Thread):
    """Imports, on a thread of its own, the modules that every viewer draws with."""

    def __init__(self) -> None:
        super().__init__(name="imports", daemon=True)
        self._turns = ShortSwitchInterval()
        self.start()

    def run(self) -> None:
        """Imports. If a module cannot be imported, its next import raises the error again."""
        try:
            import twixt.ipc.session.link
            import twixt.render.viewer.loop  # noqa: F401
        except Exception:
            pass

    def finish(self) -> None:
        """Waits until the imports are done. May be called again."""
        self.join()
        self._turns.close()


def needs_overlay_library(config: Config) -> bool:
    """True if the picture contains panels or labels from the start."""
    return config.overlay or config.draw is not None or config.split is not None


def attached(
    attaching: BackgroundAttach, display: Display, early: list[Event], is_asked_to_stop: Callable[[], bool]
) -> Link | None:
    """Waits for the link, and polls the window meanwhile; input events are appended to `early`. Returns None if the
    user closed the window or ended the viewer before. Raises the error that ended the search."""
    is_there = False
    while not is_there:
        is_there = attaching.wait(START_POLL_S)
        early += display.poll()
        is_left = any(isinstance(event, Key) and bound(event) == "Esc" for event in early)
        if display.should_close or is_left or is_asked_to_stop():
            return None  # the same cause may have ended physics, so that error is not reported
    return attaching.link


class StartUp:
    """Work postponed until the world is on the screen: loading the overlay's library, drawing programs, settling."""

    def __init__(self, config: Config, spans: Spans) -> None:
        self._config, self._spans = config, spans
        self._is_sparse = config.fps is not None and config.fps < SPARSE_FPS
        self._load_begin_ns = self._load_end_ns = 0
        self._loading: threading.Thread | None = None
        self._frames = self._picture_ns = 0  # number of frames that showed the world; present time of the first
        self._loaded_ns: int | None = None
        self._preparing_since_ns: int | None = None

    def is_over(self, row: FrameRow, loop: FrameLoop) -> bool:
        """True once start-up is over. Call it after each frame."""
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
        """Waits for the imports, because the interpreter crashes if it ends within one."""
        if self._loading is not None:
            self._loading.join()

    def _all_at_once(self, loop: FrameLoop) -> bool:
        """Does all of start-up within one frame; returns True. Does not wait for timing to settle, because so few
        frames would not show it."""
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
        """Makes drawing programs for a change of method. Returns True while there are more to make, and time for
        them."""
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
            loop.stage.renderer.finish()  # drivers postpone the work until then
            if time.perf_counter_ns() >= until_ns:
                break
        return is_more

    def _load(self) -> None:
        """Imports modules that a later frame may need, so that the frame does not wait for them."""
        self._load_begin_ns = time.perf_counter_ns()
        with closing(ShortSwitchInterval()):
            import numpy.ma  # noqa: F401  # numpy imports it at the first percentile or unique (10 ms)

            import twixt.render.interpolation.method
            import twixt.render.scene.trails  # noqa: F401
        if needs_overlay_library(self._config):
            from twixt.render.overlay.overlay_layer import load_overlay_library

            load_overlay_library()
        self._load_end_ns = time.perf_counter_ns()


# A start that takes longer than this prints its current phase.
PATIENCE_NS = 1_000_000_000
# Interval of polling the current phase of the start.
LOOK_S = 0.25
PICTURE = "viewer_picture"  # ends when the first picture is on the screen; not in the report
# Text for the work in each phase of the start (`report_keys.START_PHASES`), in order.
BUSY_WITH = {
    "viewer_window": "opening the window",
    "viewer_imports": "loading libraries",
    "viewer_probe": "measuring the display",
    "viewer_attach": "waiting for the world to be made",
    "viewer_scene": "reading the scene",
    PICTURE: "compiling what draws the scene, which the next start will find made",
}


class StartNotice:
    """Prints, on a thread, the current phase of a slow start. begun_ns: instant of the command; None: now. Must be
    closed."""

    def __init__(self, begun_ns: int | None) -> None:
        self._begun_ns = time.perf_counter_ns() if begun_ns is None else begun_ns
        self._over = InterruptibleEvent()
        if is_terminal():
            threading.Thread(target=self._watch, name="start notice", daemon=True).start()

    def close(self) -> None:
        """Ends the printing."""
        self._over.set()

    def _watch(self) -> None:
        reported = ""
        wait_s = max(0.0, (self._begun_ns + PATIENCE_NS - time.perf_counter_ns()) / 1e9)
        while not self._over.wait(wait_s) and (busy := busy_with(spans.start_part_has_ended)):
            if busy != reported:
                print_notice(f"starting: {busy}")
            reported, wait_s = busy, LOOK_S


def busy_with(has_ended: Callable[[str], bool]) -> str:
    """Current phase of the start, in words; "" once the first picture is on the screen."""
    if has_ended(PICTURE):
        return ""
    return next(words for part, words in BUSY_WITH.items() if not has_ended(part))
