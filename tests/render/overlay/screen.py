"""Overlay drawn offscreen, with a clock that only its frames advance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import moderngl
import numpy as np

from twixt.ipc.interaction.plots import OverlayPlot, PlotSeries
from twixt.render.input.keys import KEYS
from twixt.render.overlay.overlay import Overlay
from twixt.render.overlay.panel_state import MODES, OverlayState, PlotHistory

SIZE_PX = (800, 600)
NO_TROUBLE = {"slow_physics": (0.0, 0.0), "stall": (0.0, 5.0), "drop": (0.0,), "delay": (0.0, 0.0)}
# Positions of the sections' lines, with two diagnostics.
SMOOTH_PX, TROUBLE_PX = (60, 182), (570, 136)
FRAMES_PER_LAYOUT = 6  # frames between two layouts
FRAME_NS = 16_666_667


def plot(name: str = "energy", **series: Any) -> OverlayPlot:
    """A plot of these values at x from 0 to 10."""
    lines = {label: np.array(ys, float) for label, ys in series.items()}
    return OverlayPlot(
        name, tuple(PlotSeries(label, np.linspace(0.0, 10.0, len(ys)), ys) for label, ys in lines.items())
    )


def state_of(**changed: Any) -> OverlayState:
    frames, steps = PlotHistory(), PlotHistory()
    for number in range(300):
        frames.add(16.7 + number % 7, MODES[number // 40 % 3])
        steps.add(3.0)
    return OverlayState(**{
        "frames": frames, "steps": steps, "target_ms": 16.7, "step_budget_ms": 16.7, "rate": 0.5, "age_ms": 12.0,
        "clock": "auto", "clock_mode": "ahead", "interpolation": "linear", "pacing": "vsync", "bodies": 300,
        "diagnostics": {"energy": 1.5}, "keys": KEYS,
        "room_ms": 33.3, "playing_rate": 0.5, "clock_reason": "physics is 12 ms late, so it plays 3 % slower",
        "prefer": "latency", "troubles": NO_TROUBLE, **changed,
    })  # fmt: skip


class Frames:
    """Frames of one overlay over a picture in which neighbouring pixels differ. spare_ns: spare time before each."""

    def __init__(self, context: moderngl.Context) -> None:
        self.context, self.now_ns, self.asked = context, 10**15, 0
        self.overlay = Overlay(self._read_clock)
        self.size_px, self.spare_ns = (0, 0), 10**9
        self.resize(SIZE_PX)

    def resize(self, size_px: tuple[int, int]) -> None:
        self.size_px = size_px
        width_px, height_px = size_px
        x, y = np.meshgrid(np.arange(width_px), np.arange(height_px))
        self.behind = np.stack([x * 7 % 256, y * 5 % 256, (x + y) * 3 % 256], 2).astype(np.uint8)
        self._picture = self.context.texture(size_px, 3, np.flipud(self.behind).tobytes(), alignment=1)
        self._picture_framebuffer = self.context.framebuffer([self._picture])
        self.framebuffer = self.context.framebuffer([self.context.renderbuffer(size_px, 4)])
        self.framebuffer.use()

    def frame(self, *events: Any, scale: float = 1.0, **changed: Any) -> list[str]:
        """Draws one frame; returns the keys whose buttons were clicked."""
        self.now_ns += FRAME_NS
        while self.redraw_early(self.spare_ns, scale, **changed):
            pass
        self.context.copy_framebuffer(self.framebuffer, self._picture_framebuffer)
        self.framebuffer.use()
        return self.overlay.draw(lambda: self._state(changed), events, self.size_px, scale).pressed

    def redraw_early(self, spare_ns: int, scale: float = 1.0, **changed: Any) -> bool:
        """Does the next step of a redraw, if it is due and fits into `spare_ns`."""
        until_ns = self.now_ns + 1 + spare_ns
        return self.overlay.redraw_early(lambda: self._state(changed), self.size_px, scale, until_ns)

    def frames(self, count: int, **changed: Any) -> int:
        """Draws `count` frames; returns the number of layouts in them."""
        before = self.asked
        for _ in range(count):
            self.frame(**changed)
        return self.asked - before

    def play(self, *frames: Iterable[Any]) -> list[str]:
        """Draws one frame for each group of events; returns the keys whose buttons were clicked."""
        return [key for events in frames for key in self.frame(*events)]

    def draw_straight(self) -> None:
        """Draws the last layout directly over the picture, without the sheet."""
        self.context.copy_framebuffer(self.framebuffer, self._picture_framebuffer)
        self.framebuffer.use()
        self.overlay._draw_straight(self.size_px)

    def pixels(self) -> np.ndarray:
        raw = self.framebuffer.read(components=3, alignment=1)
        return np.flipud(np.frombuffer(raw, np.uint8).reshape(self.size_px[1], self.size_px[0], 3)).astype(int)

    def _read_clock(self) -> int:
        self.now_ns += 1  # so that a redraw takes some time
        return self.now_ns

    def _state(self, changed: dict[str, Any]) -> OverlayState:
        self.asked += 1
        return state_of(**changed)
