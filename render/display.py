"""The display a viewer draws on: a window where there is one, else a picture in memory, and what its swap does."""

from __future__ import annotations

import os
import sys
import time

from twixt.ipc.config import Config
from twixt.ipc.errors import TwixtError
from twixt.render.offscreen import OffscreenWindow
from twixt.render.refresh import Refresh, SwapProbe

# Without a display nobody would close the window.
OFFSCREEN_SECONDS = 10.0
OFFSCREEN_SCREENSHOT = "twixt-screenshot.png"
OFFSCREEN_PLOT = "twixt-pacing.png"

if sys.platform == "linux":
    DISPLAY_VARIABLES: tuple[str, ...] = ("DISPLAY", "WAYLAND_DISPLAY")
else:
    DISPLAY_VARIABLES = ()


def open_display(config: Config):  # type: ignore[no-untyped-def]  # Window | OffscreenWindow; glfw is loaded late
    """A window of the config's size; drawn offscreen where that is asked for or there is no display."""
    if config.offscreen:
        return OffscreenWindow(config.size_px)
    if DISPLAY_VARIABLES and not any(os.environ.get(name) for name in DISPLAY_VARIABLES):
        return _instead(config, f"no display ({' and '.join(DISPLAY_VARIABLES)} are not set)")
    from twixt.render.window import Window

    return Window(config.size_px, f"twixt: {config.world}", vsync=config.pacing in ("auto", "vsync"))


def without_display(config: Config) -> Config:
    """What a run does where nobody can watch or close it: it ends by itself and leaves a report and pictures."""
    from dataclasses import replace

    if config.report:
        return config
    return replace(
        config,
        seconds=config.seconds or OFFSCREEN_SECONDS,
        screenshot=config.screenshot or OFFSCREEN_SCREENSHOT,
        plot=config.plot or OFFSCREEN_PLOT,
        report=True,
    )


def probe_refresh(window) -> Refresh:  # type: ignore[no-untyped-def]
    """Whether swap waits for the display, found out by swapping empty pictures while there is nothing to draw yet."""
    probe = SwapProbe(window.refresh_reported_hz)
    while not probe.done and not window.is_hidden:
        window.poll()
        window.context.clear()
        if probe.pause_ns:
            time.sleep(probe.pause_ns / 1e9)
        begin_ns = time.perf_counter_ns()
        window.swap()
        probe.add(begin_ns, time.perf_counter_ns())
    return probe.verdict()


def _instead(config: Config, reason: str) -> OffscreenWindow:
    try:
        window = OffscreenWindow(config.size_px)
    except TwixtError as error:
        raise TwixtError(f"{reason}, and {error}") from None
    seconds = without_display(config).seconds
    print(f"twixt: {reason}: drawing offscreen ({window.renderer}) for {seconds:g} s, then the report", file=sys.stderr)
    return window
