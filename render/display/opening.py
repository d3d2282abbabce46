"""The display a viewer draws on: a window where there is one, else a picture in memory, and what its swap does."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace

from twixt.ipc.config import Config
from twixt.ipc.errors import DISPLAY_VARIABLES, NO_DISPLAY, NoDisplay, TwixtError
from twixt.render.display.offscreen import OffscreenWindow
from twixt.render.input import Event
from twixt.render.pacing.refresh import Refresh, SwapProbe

# Without a display nobody would close the window.
OFFSCREEN_SECONDS = 10.0
OFFSCREEN_SCREENSHOT = "twixt-screenshot.png"
OFFSCREEN_PLOT = "twixt-pacing.png"


def open_display(config: Config):  # type: ignore[no-untyped-def]  # Window | OffscreenWindow; glfw is loaded late
    """A window of the config's size; drawn offscreen where that is asked for or there is no display.

    Raises NoDisplay where nobody would see or keep what is drawn: a user's own loop does not share its processor with
    that, and goes on without a viewer.
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
    """What a run does where nobody can watch or close it, and says so: it ends by itself and leaves a report and
    pictures. A user's own loop does so where it was told how long, else it goes on."""
    if config.users_loop and config.seconds is None:
        see = f"see it with: twixt view {config.name}"
        print(f"twixt: {NO_DISPLAY}: drawing offscreen ({renderer}); the loop goes on; {see}", file=sys.stderr)
        return config
    seconds = config.seconds or OFFSCREEN_SECONDS
    print(f"twixt: {NO_DISPLAY}: drawing offscreen ({renderer}) for {seconds:g} s, then the report", file=sys.stderr)
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
    """Whether something is left of what is drawn, or done with it."""
    return any(
        wish is not None for wish in (config.seconds, config.screenshot, config.log, config.profile, config.draw)
    )


def probe_refresh(window, early: list[Event]) -> Refresh:  # type: ignore[no-untyped-def]
    """Whether swap waits for the display, found out by swapping empty pictures while there is nothing to draw yet.

    early: what the user did meanwhile is added to it.
    """
    probe = SwapProbe(window.refresh_reported_hz, window.is_called)
    while not probe.done and not window.is_hidden:
        early += window.poll()
        window.context.clear()
        if probe.pause_ns:
            time.sleep(probe.pause_ns / 1e9)
        begin_ns = time.perf_counter_ns()
        window.swap()
        probe.add(begin_ns, time.perf_counter_ns())
    return probe.verdict()
