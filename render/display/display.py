"""Defines the display that a viewer draws on. It has the interface of a display, chooses between a window and memory,
and measures the refresh of the display.

Always: if there is no display server, a run draws in memory and ends after a limited time. A user's own loop without a
display continues.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from twixt.ipc.config.flags import Config
from twixt.ipc.errors import DISPLAY_VARIABLES, NO_DISPLAY, NoDisplay, TwixtError, install_command
from twixt.ipc.process.notices import print_notice
from twixt.render.display.input import Event
from twixt.render.display.offscreen import OffscreenWindow
from twixt.render.pacing.refresh import Refresh, SwapProbe

if TYPE_CHECKING:
    from twixt.render.display.present_times import Presented
    from twixt.render.display.wayland import AwaitCall
    from twixt.render.draw.frame.context import Context
    from twixt.render.pacing.refresh import FenceTrial

# Default length of a run without a display, in seconds. Such a run has no window that the user could close, so the run
# ends by itself.
OFFSCREEN_SECONDS = 10.0
OFFSCREEN_SCREENSHOT = "twixt-screenshot.png"
OFFSCREEN_PLOT = "twixt-pacing.png"
# Time of this screenshot after the first frame, as a share of the run's length. It is late, so that the figures on the
# overlay are those of the run.
OFFSCREEN_AT_SHARE = 0.8


class Display(Protocol):
    """Surface that frames are drawn on: a window, a picture in memory, or a test's own object.

    backend: window system, such as "x11", or "offscreen". renderer: GL_RENDERER. refresh_reported_hz: refresh rate in
    Hz that the display reports, or None. This rate is not trusted. is_called: True if a swap waits only for the
    compositor's frame callback. at_gone: function that is called when the display server ends, see `Window`.
    """

    backend: str
    renderer: str
    refresh_reported_hz: float | None
    at_gone: Callable[[TwixtError], int]

    @property
    def context(self) -> Context:
        """OpenGL context to draw with. It is current on this thread."""

    @property
    def is_called(self) -> bool: ...

    @property
    def should_close(self) -> bool:
        """True after the user has closed the window."""

    @property
    def is_hidden(self) -> bool:
        """True while frames are not shown."""

    @property
    def framebuffer_size(self) -> tuple[int, int]:
        """Width and height of the framebuffer in pixels, at least 1x1."""

    @property
    def resizes(self) -> int:
        """Number of changes of the framebuffer's size so far."""

    @property
    def content_scale(self) -> float:
        """Framebuffer pixels per unit in which text is laid out."""

    @property
    def present_source(self) -> str:
        """Source of present times: "display", "fence", "swap" or "timer"."""

    @property
    def fence_trial(self) -> FenceTrial | None:
        """Trial that decides whether fences after swaps are useful on this display. It is None if no fences are
        made."""

    @property
    def swap_number(self) -> int:
        """Number of the last swap."""

    def set_title(self, title: str) -> None: ...

    def set_vsync(self, vsync: bool) -> None:
        """If `vsync` is True, requests that `swap` waits for the display. If it is False, requests that `swap` does
        not wait."""

    def poll(self) -> list[Event]:
        """Returns the input events since the last call. Never waits."""

    def wait_events(self, timeout_s: float) -> list[Event]:
        """Waits up to `timeout_s` seconds for an event or a `wake`. Returns the input events, as `poll` does."""

    def wake(self) -> None:
        """Makes the current `wait_events` return. If none is running, makes the next one return. Any thread may call
        this."""

    def pop_damage(self) -> bool:
        """Returns True if the picture on the screen was lost since the last call."""

    def swap(self, meanwhile: Callable[[AwaitCall], None] | None = None) -> None:
        """Shows the drawn frame. meanwhile: function that is called after the hand-over of the frame and before the
        wait. It is called only if `is_called` is True."""

    def fence(self) -> int | None:
        """Waits, after a swap, until the next buffer can be drawn on. Returns the instant at which the wait ended.
        Returns None if fences are not in use, or if this fence did not wait."""

    def ask_for_presents(self) -> None:
        """From now on, asks the display for the present time of each swap. Also watches the display for changes."""

    def drain_changes(self) -> list[str]:
        """Returns the changes of the display since the last call, in words."""

    def drain_presents(self) -> list[Presented]:
        """Returns the display's reports about shown swaps since the last call. Never waits."""

    def close(self) -> None: ...


def open_display(config: Config) -> Display:
    """Opens a window of the config's size. If this is requested or there is no display, opens a picture in memory
    instead.

    Raises NoDisplay if there is no display, the run is a user's own loop, and nothing uses its frames. The loop then
    continues without a viewer, because a viewer would only use processor time. Raises TwixtError if it can draw
    neither on a window nor in memory.
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
    """Returns the config for a run that draws in memory because there is no display. Prints the reason. The run ends
    after a time, with a report, a screenshot and a plot. If matplotlib is not installed, a line says that there will
    be no plot. If the run is a user's own loop without a given length, the loop continues, and the config is not
    changed."""
    if config.users_loop and config.seconds is None:
        see = f"open a window with: twixt view {config.name}"
        print_notice(f"{NO_DISPLAY}: drawing offscreen ({renderer}); the loop continues; {see}")
        return config
    seconds = config.seconds or OFFSCREEN_SECONDS
    print_notice(f"{NO_DISPLAY}: drawing offscreen ({renderer}) for {seconds:g} s, then the report")
    if config.report:
        return config
    return replace(
        config,
        seconds=seconds,
        screenshot=config.screenshot or OFFSCREEN_SCREENSHOT,
        at_s=OFFSCREEN_AT_SHARE * seconds if config.screenshot is None and config.at_s is None else config.at_s,
        plot=config.plot or _offscreen_plot(),
        report=True,
    )


def _offscreen_plot() -> str | None:
    """File for the plot of a run without a display. None if matplotlib is not installed."""
    if find_spec("matplotlib"):
        return OFFSCREEN_PLOT
    print_notice(f"no plot, because matplotlib is not installed; install it with: {install_command('matplotlib')}")
    return None


def _is_kept(config: Config) -> bool:
    """True if something uses the frames: a length of the run, a screenshot, a log, a profile or the user's own
    drawing."""
    return any(
        setting is not None for setting in (config.seconds, config.screenshot, config.log, config.profile, config.draw)
    )


def probe_refresh(display: Display, early: list[Event]) -> Refresh:
    """Measures the refresh period with empty swaps. Also finds out whether swaps wait for the display. Call this
    before there is anything to draw.

    early: list to which input events during the measurement are appended.
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
