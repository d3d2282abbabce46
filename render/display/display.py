"""Display that a viewer draws on: its interface, the choice between window and memory, the probe of its swaps.

Always: without a display server a run draws in memory and ends by itself; a user's own loop continues.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from twixt.ipc.config.flags import Config
from twixt.ipc.errors import DISPLAY_VARIABLES, NO_DISPLAY, NoDisplay, TwixtError
from twixt.ipc.process.notices import print_notice
from twixt.render.display.input import Event
from twixt.render.display.offscreen import OffscreenWindow
from twixt.render.pacing.refresh import Refresh, SwapProbe

if TYPE_CHECKING:
    from twixt.render.display.present_times import Presented
    from twixt.render.display.wayland import AwaitCall
    from twixt.render.draw.frame.context import Context
    from twixt.render.pacing.refresh import FenceTrial

# Length of a run without a display, where none is given: there is no window to close.
OFFSCREEN_SECONDS = 10.0
OFFSCREEN_SCREENSHOT = "twixt-screenshot.png"
OFFSCREEN_PLOT = "twixt-pacing.png"


class Display(Protocol):
    """Surface that frames are drawn on: a window, a picture in memory, or one that a test makes.

    backend: window system, such as "x11", or "offscreen". renderer: GL_RENDERER. refresh_reported_hz: refresh rate that
    the display reports, None where it reports none; never trusted. is_called: a swap waits for the compositor's frame
    callback, and for nothing else. at_gone: see `Window`.
    """

    backend: str
    renderer: str
    refresh_reported_hz: float | None
    at_gone: Callable[[TwixtError], int]

    @property
    def context(self) -> Context:
        """OpenGL context to draw with, current on this thread."""

    @property
    def is_called(self) -> bool: ...

    @property
    def should_close(self) -> bool:
        """True once the user has closed it."""

    @property
    def is_hidden(self) -> bool:
        """True while frames are not shown."""

    @property
    def framebuffer_size(self) -> tuple[int, int]:
        """Pixels to draw, at least 1x1."""

    @property
    def resizes(self) -> int:
        """Number of changes of the framebuffer's size."""

    @property
    def content_scale(self) -> float:
        """Framebuffer pixels per unit in which text is laid out."""

    @property
    def present_source(self) -> str:
        """Source of present times: display | fence | swap | timer."""

    @property
    def fence_trial(self) -> FenceTrial | None:
        """Trial of fences after its swaps; None where it makes none."""

    @property
    def swap_number(self) -> int:
        """Number of the last swap."""

    def set_title(self, title: str) -> None: ...

    def set_vsync(self, vsync: bool) -> None:
        """Requests that `swap` waits for the display, or that it does not."""

    def poll(self) -> list[Event]:
        """Input events since the last call. Never waits."""

    def wait_events(self, timeout_s: float) -> list[Event]:
        """Like `poll`, but waits up to `timeout_s` for an event or a `wake`."""

    def wake(self) -> None:
        """Ends the current `wait_events`, or the next one if none is running. May be called from any thread."""

    def pop_damage(self) -> bool:
        """True if the picture on the screen was lost since the last call."""

    def swap(self, meanwhile: Callable[[AwaitCall], None] | None = None) -> None:
        """Shows what was drawn. meanwhile: if the display `is_called`, called after the hand-over, before the wait."""

    def fence(self) -> int | None:
        """Waits, after a swap, until the next buffer can be drawn on; returns that instant. None where fences are not
        in use or this one did not wait."""

    def ask_for_presents(self) -> None:
        """Asks the display from now on when each swap was shown, and watches it for changes."""

    def drain_changes(self) -> list[str]:
        """Changes of the display since the last call, in words."""

    def drain_presents(self) -> list[Presented]:
        """Presents that the display reported since the last call. Never waits."""

    def close(self) -> None: ...


def open_display(config: Config) -> Display:
    """Opens a window of the config's size; draws offscreen if that is requested or there is no display.

    Raises NoDisplay if a user's own loop has no display and no frame would be kept: the loop then continues
    without a viewer, which would only use processor time. Raises TwixtError if nothing can be drawn on.
    """
    if config.offscreen:
        return OffscreenWindow(config.size_px)
    if DISPLAY_VARIABLES and not any(os.environ.get(name) for name in DISPLAY_VARIABLES):
        if config.users_loop and not _is_kept(config):
            raise NoDisplay(NO_DISPLAY)
        try:
            return OffscreenWindow(config.size_px)
        except TwixtError as error:
            raise TwixtError(f"{NO_DISPLAY}, and {error}") from None
    from twixt.render.display.window import Window

    return Window(config.size_px, f"twixt: {config.world}", vsync=config.pacing in ("auto", "vsync"))


def without_display(config: Config, renderer: str) -> Config:
    """Config for drawing in memory where there is no display; prints why. The run ends after a time, with a report and
    pictures. A user's own loop without a given length continues instead, with an unchanged config."""
    if config.users_loop and config.seconds is None:
        see = f"see it with: twixt view {config.name}"
        print_notice(f"{NO_DISPLAY}: drawing offscreen ({renderer}); the loop goes on; {see}")
        return config
    seconds = config.seconds or OFFSCREEN_SECONDS
    print_notice(f"{NO_DISPLAY}: drawing offscreen ({renderer}) for {seconds:g} s, then the report")
    if config.report:
        return config
    return replace(
        config,
        seconds=seconds,
        screenshot=config.screenshot or OFFSCREEN_SCREENSHOT,
        plot=config.plot or OFFSCREEN_PLOT,
        report=True,
    )


def _is_kept(config: Config) -> bool:
    """True if frames are kept or used: a length, screenshot, log, profile or drawing of the user's is given."""
    return any(
        setting is not None for setting in (config.seconds, config.screenshot, config.log, config.profile, config.draw)
    )


def probe_refresh(display: Display, early: list[Event]) -> Refresh:
    """Measures refresh period and blocking of swaps, by empty swaps before there is anything to draw.

    early: input events of that time are appended to it.
    """
    probe = SwapProbe(display.refresh_reported_hz, display.is_called)
    while not probe.done and not display.is_hidden:
        early += display.poll()
        display.context.clear()
        if probe.pause_ns:
            time.sleep(probe.pause_ns / 1e9)
        begin_ns = time.perf_counter_ns()
        display.swap()
        probe.add(begin_ns, time.perf_counter_ns())
    return probe.verdict()
