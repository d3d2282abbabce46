"""Values that the overlay shows, and the figures of recent frames behind them: plots, age, cause of lateness.

Always: the cause of lateness is empty if no frame was late in the last `SHOWN_NS`. Reads no clock and imports nothing
that draws.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.quantiles import median
from twixt.render.input.sliders import Knob
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.measure.report_keys import RENDER_COSTS

# Frames and steps in the plots: four seconds at 60 Hz.
REMEMBERED = 240

# Modes of a frame as the frame log names them, in the order of the strip's colours.
MODES = ("interpolated", "held", "extrapolated", "none")
NUMBER_OF = {mode: number for number, mode in enumerate(MODES)}
# Frames whose age is averaged: half a second at 60 Hz. The age of a held state grows until the next one.
AGES = 30
# Delay after its plan from which a frame is late. The report uses the whole log instead (`measure.causes`).
LATE_NS = 2_000_000
# Number of frames whose median is the usual value of a cost.
USUAL_OF = 31
SHOWN_NS = 5_000_000_000  # for which a cause is shown


class PlotHistory:
    """The last `REMEMBERED` figures, each with a mode, oldest first. Adding one costs two writes."""

    def __init__(self) -> None:
        self._figures = np.zeros(REMEMBERED, np.float32)
        self._modes = np.full(REMEMBERED, MODES.index("none"), np.uint8)
        self._next = 0  # where the next figure goes
        self._count = 0

    def add(self, figure_ms: float, mode: str = "none") -> None:
        """Adds one frame or step. mode: one of `MODES`."""
        at = self._next
        self._figures[at] = figure_ms
        self._modes[at] = NUMBER_OF[mode]
        self._next = (at + 1) % REMEMBERED
        self._count = min(self._count + 1, REMEMBERED)

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
        return float(np.percentile(self.figures_ms, percent)) if self._count else 0.0

    def mean_ms(self) -> float:
        """The mean of the remembered figures; 0 when there are none."""
        return float(self.figures_ms.mean()) if self._count else 0.0

    def _in_order(self, values: NDArray[Any]) -> NDArray[Any]:
        if self._count < REMEMBERED:
            return values[: self._count].copy()
        return np.concatenate((values[self._next :], values[: self._next]))


class DrawnAge:
    """Age of the drawn state at its present, over recent frames."""

    def __init__(self) -> None:
        self._ages_ms: deque[float] = deque(maxlen=AGES)

    def add(self, row: FrameRow) -> None:
        """Adds a frame. Paused frames are left out: their age grows, but is no latency."""
        if row.draw_due_ns and row.clock_mode != "paused":
            self._ages_ms.append((row.present_ns - row.draw_due_ns) / 1e6)

    @property
    def mean_ms(self) -> float | None:
        """Mean of the last `AGES` frames; None before the first."""
        return sum(self._ages_ms) / len(self._ages_ms) if self._ages_ms else None


class LatenessCause:
    """Cause of the last late frame, by comparison with the frames before it.

    Late: held while physics was not paused (the cause is physics), or presented `LATE_NS` or more after its plan. Then
    the cause is the cost that exceeds its median most, if by a quarter of the delay or more; else the
    display, if the swap took longer than its median; else the cause before stays.
    """

    def __init__(self) -> None:
        self._rows: deque[FrameRow] = deque(maxlen=USUAL_OF)
        self._text, self._at_ns, self._now_ns = "", 0, 0

    def add(self, row: FrameRow) -> None:
        """Adds a presented frame."""
        self._now_ns = row.present_ns
        text = self._of(row)
        if text:
            self._text, self._at_ns = text, row.present_ns
        self._rows.append(row)

    @property
    def text(self) -> str:
        """Cause in words, such as "draw, 31 ms more than usual"; empty while frames are in time."""
        return self._text if self._now_ns - self._at_ns < SHOWN_NS else ""

    def _of(self, row: FrameRow) -> str:
        if row.mode == "held" and row.plan_rate > 0:
            return "physics: nothing newer to draw"
        late_ns = row.present_ns - row.predicted_present_ns
        if not row.predicted_present_ns or late_ns < LATE_NS or not self._rows:
            return ""
        usual_ns = [median(before) for before in zip(*map(_costs_ns, self._rows), strict=True)]
        more_ns = [now - usual for now, usual in zip(_costs_ns(row), usual_ns, strict=True)]
        most_ns = max(more_ns)
        if most_ns >= late_ns / 4:
            return f"{tuple(RENDER_COSTS)[more_ns.index(most_ns)]}, {most_ns / 1e6:.0f} ms more than usual"
        return (
            f"display, {late_ns / 1e6:.0f} ms after the plan"
            if _swap_ns(row) > median(map(_swap_ns, self._rows))
            else ""
        )


def _costs_ns(row: FrameRow) -> tuple[int, ...]:
    return tuple(getattr(row, f"{name}_ns") for name in RENDER_COSTS)


def _swap_ns(row: FrameRow) -> int:
    return row.swap_end_ns - row.swap_begin_ns


@dataclass(frozen=True, eq=False)
class OverlayState:
    """Values shown at one moment. Times in milliseconds; None: not known (yet)."""

    frames: PlotHistory  # frame intervals, with each frame's mode
    steps: PlotHistory  # costs of physics steps
    target_ms: float | None = None  # interval the pacer aims at
    step_budget_ms: float | None = None  # wall time a step may take to hold real time
    rate: float | None = None  # simulated seconds per wall second
    time_scale: float = 1.0  # the rate asked for
    age_ms: float | None = None  # age of the drawn state at its present
    late_by: str = ""  # cause of the last late frame; empty: none in the last `SHOWN_NS`
    clock: str = ""  # as chosen, such as "auto"
    clock_mode: str = ""  # its mode now, such as "ahead"
    interpolation: str = ""
    for_physics: str = ""  # measure in favour of physics that never waits, such as "staying off core 1"
    left_out: str = ""  # quality level if it is not the highest, such as "no shadows"
    room_ms: float | None = None  # from the draw time to the newest snapshot
    playing_rate: float | None = None  # simulated seconds per wall second at which the picture plays
    clock_reason: str = ""
    prefer: str = ""
    pacing: str = ""
    thinned: int = 0  # snapshots dropped before they were drawn, because the viewer's ring was full
    group_ages_ms: Mapping[str, float] = field(default_factory=dict)  # of groups with a draw time of their own
    troubles: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # slider values, by command
    controls: Mapping[str, tuple[Knob, float]] = field(default_factory=dict)  # of the world, with their values
    buffer_ms: float | None = None  # of the buffered clock; 0: by the measured jitter; None: another clock
    split_labels: tuple[str, str] | None = None  # of the left and the right half; None: no split
    bodies: int = 0
    diagnostics: Mapping[str, float] = field(default_factory=dict)  # the world's own figures
    messages: tuple[str, ...] = ()  # banners: paused, physics crashed, nothing published for 3 s
    note: str = ""  # effect of the key pressed last
    keys: Mapping[str, str] = field(default_factory=dict)  # effect by key
