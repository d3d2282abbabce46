"""What the overlay shows: plain values, and the short memory of recent frames and steps behind its plots.

Knows nothing of how it is drawn, and imports nothing that draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Frames and steps that the plots go back: four seconds at 60 Hz.
REMEMBERED = 240

# How a frame got its picture, in the words of the frame log; the strip's colours go by this order.
MODES = ("interpolated", "held", "extrapolated", "none")
NUMBER_OF = {mode: number for number, mode in enumerate(MODES)}


class Recent:
    """The last `REMEMBERED` figures and one mode each, oldest first when read. Adding one costs two writes."""

    def __init__(self) -> None:
        self._figures = np.zeros(REMEMBERED, np.float32)
        self._modes = np.full(REMEMBERED, MODES.index("none"), np.uint8)
        self._next = 0  # where the next figure goes
        self._held = 0

    def add(self, figure_ms: float, mode: str = "none") -> None:
        """Takes in one frame or step. mode: one of `MODES`."""
        at = self._next
        self._figures[at] = figure_ms
        self._modes[at] = NUMBER_OF[mode]
        self._next = (at + 1) % REMEMBERED
        self._held = min(self._held + 1, REMEMBERED)

    @property
    def figures_ms(self) -> NDArray[np.float32]:
        """A copy, oldest first, shape (up to REMEMBERED,)."""
        return self._in_order(self._figures)

    @property
    def modes(self) -> NDArray[np.uint8]:
        """Indices into `MODES`, a copy, oldest first."""
        return self._in_order(self._modes)

    def percentile_ms(self, percent: float) -> float:
        """A percentile of the remembered figures; 0 when there are none."""
        return float(np.percentile(self.figures_ms, percent)) if self._held else 0.0

    def mean_ms(self) -> float:
        """The mean of the remembered figures; 0 when there are none."""
        return float(self.figures_ms.mean()) if self._held else 0.0

    def _in_order(self, values: NDArray[Any]) -> NDArray[Any]:
        if self._held < REMEMBERED:
            return values[: self._held].copy()
        return np.concatenate((values[self._next :], values[: self._next]))


@dataclass(frozen=True, eq=False)
class OverlayState:
    """One moment of the viewer, for people. Times in milliseconds; None: not known (yet)."""

    frames: Recent  # frame intervals, with each frame's mode
    steps: Recent  # costs of physics steps
    target_ms: float | None = None  # interval the pacer aims at
    step_budget_ms: float | None = None  # wall time a step may take to hold real time
    rate: float | None = None  # simulated seconds per wall second
    time_scale: float = 1.0  # the rate asked for
    age_ms: float | None = None  # how far behind the present that is what the picture shows
    late_by: str = ""  # what the last late frame was late by; empty: none was for some seconds
    clock: str = ""  # chosen, such as "auto"
    clock_mode: str = ""  # what it does now, such as "ahead"
    interpolation: str = ""
    for_physics: str = ""  # what the viewer does for physics that never rests, such as "staying off core 1"
    left_out: str = ""  # the level drawn where that is not the finest, such as "no shadows"
    room_ms: float | None = None  # from what is drawn to the newest snapshot
    playing_rate: float | None = None  # simulated per wall second of the picture
    clock_reason: str = ""
    prefer: str = ""
    pacing: str = ""
    thinned: int = 0  # snapshots given up undrawn, because the viewer's ring was full
    group_ages_ms: Mapping[str, float] = field(default_factory=dict)  # groups drawn at an instant of their own
    troubles: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # a knob's figures, where physics has it
    buffer_ms: float | None = None  # of the buffered clock; 0: as measured jitter asks; None: another clock
    split_labels: tuple[str, str] | None = None  # of the left and the right half, where there are two
    bodies: int = 0
    diagnostics: Mapping[str, float] = field(default_factory=dict)  # the world's own figures
    messages: tuple[str, ...] = ()  # banners: paused, physics crashed, no answer for 3 s
    note: str = ""  # what the key pressed last did
    keys: Mapping[str, str] = field(default_factory=dict)  # key -> what it does
