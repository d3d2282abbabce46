"""Collects the figures for the overlay's panels, and the values of their sliders.

Always: figures are updated in every frame. The values to show are computed only when the panels are laid out again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.config.troubles import FIELDS
from twixt.ipc.quantiles import median
from twixt.ipc.snapshot import Head
from twixt.render.input.sliders import Knob, Knobs
from twixt.render.measure.amounts import time_text
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.measure.report_keys import RENDER_COSTS

if TYPE_CHECKING:
    from twixt.ipc.interaction.plots import OverlayPlot
    from twixt.ipc.session.link import Link
    from twixt.render.events.event_counts import EventFacts
    from twixt.render.input.keys import ViewerSettings
    from twixt.render.playback import ClockState


# Collects figures of recent frames: the plots, the age of the drawn state, and the cause of lateness. Also has the
# values that the overlay shows.
#
# Always: the cause of lateness is empty if no frame was late in the last `SHOWN_NS`. This code reads no clock and
# imports no drawing module.


# Number of frames, and of physics steps, in the plots. They last four seconds at 60 Hz.
REMEMBERED = 240

# Modes of a frame, named as in the frame log. They are in the order of the colours of the strip on the panel.
MODES = ("interpolated", "held", "extrapolated", "none")
NUMBER_OF = {mode: number for number, mode in enumerate(MODES)}
# Number of frames over which the age of the drawn state is averaged. They last half a second at 60 Hz. The age grows
# while the same state is shown in every frame.
AGES = 30
# Least delay of a late frame, in ns. The delay is the time from its planned instant to its present time. The report
# uses another rule: it decides from the whole log (`run_figures.causes`).
LATE_NS = 2_000_000
# Number of frames whose median cost is the usual cost of a frame.
USUAL_OF = 31
SHOWN_NS = 5_000_000_000  # time in ns for which a cause is shown


class PlotHistory:
    """The last `REMEMBERED` figures, oldest first. Each figure has a mode. To add a figure takes three
    writes."""

    def __init__(self) -> None:
        self._figures = np.zeros(REMEMBERED, np.float32)
        self._modes = np.full(REMEMBERED, MODES.index("none"), np.uint8)
        self._events = np.zeros(REMEMBERED, np.bool_)
        self._next = 0  # index for the next figure
        self._count = 0

    def add(self, figure_ms: float, mode: str = "none", has_events: bool = False) -> None:
        """Adds the figure of one frame or step. mode: one of `MODES`. has_events: True if the frame was the first to
        reach an event of the program."""
        at = self._next
        self._figures[at] = figure_ms
        self._events[at] = has_events
        self._modes[at] = NUMBER_OF[mode]
        self._next = (at + 1) % REMEMBERED
        self._count = min(self._count + 1, REMEMBERED)

    @property
    def figures_ms(self) -> NDArray[np.float32]:
        """Copy of the figures, oldest first. Its shape is (count,), with at most REMEMBERED elements."""
        return self._in_order(self._figures)

    @property
    def modes(self) -> NDArray[np.uint8]:
        """Copy of the modes as indices into `MODES`, oldest first."""
        return self._in_order(self._modes)

    @property
    def events(self) -> NDArray[np.bool_]:
        """Mask of the frames with events, oldest first."""
        return self._in_order(self._events)

    def percentile_ms(self, percent: float) -> float:
        """Percentile of the stored figures, in ms. It is 0 if no figures are stored."""
        return float(np.percentile(self.figures_ms, percent)) if self._count else 0.0

    def mean_ms(self) -> float:
        """Mean of the stored figures, in ms. It is 0 if no figures are stored."""
        return float(self.figures_ms.mean()) if self._count else 0.0

    def _in_order(self, values: NDArray[Any]) -> NDArray[Any]:
        if self._count < REMEMBERED:
            return values[: self._count].copy()
        return np.concatenate((values[self._next :], values[: self._next]))


class DrawnAge:
    """Age of the drawn state at the instant at which the state is shown, averaged over recent frames."""

    def __init__(self) -> None:
        self._ages_ms: deque[float] = deque(maxlen=AGES)

    def add(self, row: FrameRow) -> None:
        """Adds a frame. Frames of a pause are left out: their age grows, but this growth is not latency."""
        if row.draw_due_ns and row.clock_mode != "paused":
            self._ages_ms.append((row.present_ns - row.draw_due_ns) / 1e6)

    @property
    def mean_ms(self) -> float | None:
        """Mean age of the drawn state over the last `AGES` frames, in ms. It is None before the first frame."""
        return sum(self._ages_ms) / len(self._ages_ms) if self._ages_ms else None


class LatenessCause:
    """Cause of the last late frame. It is found by comparison with the frames before that frame.

    In a held frame, the drawn state stands still. If a frame was held while the world was not paused, the cause is the
    physics process. If a frame was presented at least `LATE_NS` after its planned instant, the cause is the cost that
    most exceeds its median. The excess must be at least a quarter of the delay. If there is no such cost and the swap
    took longer than its median, the cause is the display. In all other cases the cause does not change.
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
        """Cause in words, such as "draw, 31 ms more than usual". It is "" if no frame was late in the last
        `SHOWN_NS`."""
        return self._text if self._now_ns - self._at_ns < SHOWN_NS else ""

    def _of(self, row: FrameRow) -> str:
        if row.mode == "held" and row.plan_rate > 0:
            return "physics: no newer snapshot"
        late_ns = row.present_ns - row.predicted_present_ns
        if not row.predicted_present_ns or late_ns < LATE_NS or not self._rows:
            return ""
        usual_ns = [median(before) for before in zip(*map(_costs_ns, self._rows), strict=True)]
        more_ns = [now - usual for now, usual in zip(_costs_ns(row), usual_ns, strict=True)]
        most_ns = max(more_ns)
        if most_ns >= late_ns / 4:
            return f"{tuple(RENDER_COSTS)[more_ns.index(most_ns)]}, {time_text(most_ns / 1e6)} more than usual"
        return (
            f"display, {time_text(late_ns / 1e6)} later than planned"
            if _swap_ns(row) > median(map(_swap_ns, self._rows))
            else ""
        )


def _costs_ns(row: FrameRow) -> tuple[int, ...]:
    return tuple(getattr(row, f"{name}_ns") for name in RENDER_COSTS)


def _swap_ns(row: FrameRow) -> int:
    return row.swap_end_ns - row.swap_begin_ns


@dataclass(frozen=True, eq=False)
class OverlayState:
    """Values that the panels show at one instant. None means that a value is unknown, or not known yet."""

    frames: PlotHistory  # frame intervals, with each frame's mode
    steps: PlotHistory  # costs of physics steps
    target_ms: float | None = None  # frame interval that the pacer aims at
    # Intervals between publishes of a user's own loop, in ms, oldest first. None in a run: it shows the steps instead.
    publishes_ms: NDArray[np.float32] | None = None
    # Longest wall time of a step, in ms, with which the simulation can keep the requested time scale.
    step_budget_ms: float | None = None
    rate: float | None = None  # simulated seconds per wall second
    time_scale: float = 1.0  # requested simulated seconds per wall second
    age_ms: float | None = None  # age of the drawn state at the instant at which it is shown
    late_by: str = ""  # cause of the last late frame, or "" if no frame was late in the last `SHOWN_NS`
    clock: str = ""  # name of the chosen clock, such as "auto"
    clock_mode: str = ""  # current mode of the clock, such as "ahead"
    interpolation: str = ""
    for_physics: str = (
        ""  # how the viewer disturbs the physics process less, such as "avoiding core 1, where physics never sleeps"
    )
    left_out: str = ""  # quality level of the picture, such as "no shadows", or "" at the highest level
    room_ms: float | None = None  # wall time from the draw time to the newest snapshot
    playing_rate: float | None = None  # simulated seconds per wall second at which the clock plays
    clock_reason: str = ""
    prefer: str = ""
    pacing: str = ""
    thinned: int = 0  # number of snapshots dropped before they were drawn, because the viewer's ring was full
    # age of each group of bodies that has its own draw time, by the group's name
    group_ages_ms: Mapping[str, float] = field(default_factory=dict)
    # values of the sliders, by the name of their command
    troubles: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    controls: Mapping[str, tuple[Knob, float]] = field(default_factory=dict)  # the world's controls and their values
    # Buffer of the clock `buffered`, in ms. If it is 0, the buffer is computed from measured jitter. If it is None,
    # another clock is in use.
    buffer_ms: float | None = None
    split_labels: tuple[str, str] | None = None  # labels of the left and the right half, or None without a split view
    bodies: int = 0
    diagnostics: Mapping[str, float] = field(default_factory=dict)  # the world's own figures
    plots: Sequence[OverlayPlot] = ()  # the program's live plots
    messages: tuple[str, ...] = ()  # banners, such as "paused" or a message that the simulation crashed
    events: EventFacts | None = None  # None if there never was an event
    events_dropped: int = 0  # number of events that were too many for one step
    outside: str = ""  # text about bodies outside the picture, or "" if there are none
    note: str = ""  # note about the last key
    keys: Mapping[str, str] = field(default_factory=dict)  # line of help for each key


# If the newest snapshot is older than this time (in ns) and the world is not paused, a banner tells the user.
SILENT_NS = 1_000_000_000


class PanelFacts(NamedTuple):
    """Values that the panels show and that are not in a `FrameRow`."""

    link: Link  # link to the simulation that is drawn
    settings: ViewerSettings
    clock: ClockState
    # Buffer of the clock `buffered`, in ms. If it is 0, the buffer is computed from measured jitter. If it is None,
    # another clock is in use.
    buffer_ms: float | None = None
    for_physics: str = (
        ""  # how the viewer disturbs the physics process less, such as "avoiding core 1, where physics never sleeps"
    )
    left_out: str = ""  # quality level of the picture, or "" at the highest level
    thinned: int = 0  # number of snapshots dropped before they were drawn, because the viewer's ring was full
    # age of each group of bodies that has its own draw time, by the group's name
    group_ages_ms: Mapping[str, float] = {}
    split_labels: tuple[str, str] | None = None  # labels of the left and the right half
    publish_intervals_ms: Collection[float] = ()  # the last intervals between publishes, oldest first
    messages: tuple[str, ...] = ()  # banners in addition to the banners of the function `messages`
    events: EventFacts | None = None  # None if there never was an event
    outside: str = ""  # text about bodies outside the picture, or "" if there are none


class PanelFigures:
    """Figures on the panels of one viewer. pacing: pacing chosen with the flag."""

    def __init__(self, pacing: str) -> None:
        self.knobs = Knobs()
        self.frames, self.steps = PlotHistory(), PlotHistory()
        self._pacing = pacing
        self._ages, self._late_by = DrawnAge(), LatenessCause()
        self._row, self._newest = FrameRow(), Head()

    def add(self, row: FrameRow, newest: Head | None) -> None:
        """Adds a presented frame. Adds the newest physics step if it is new. Intervals during which no frames were
        made are left out. Frames of the start are left out as well, as in the report."""
        if row.probe:
            self._row = row
            return
        if self._row.present_ns and not self._row.probe and not row.rested_ns:
            self.frames.add((row.present_ns - self._row.present_ns) / 1e6, row.mode, row.events > 0)
        if newest is not None and (newest.tick, newest.world_epoch) != (self._newest.tick, self._newest.world_epoch):
            self.steps.add(newest.step_cost_ns / 1e6)
            self._newest = newest
        self._ages.add(row)
        self._late_by.add(row)
        self._row = row

    def state(self, facts: PanelFacts, note: str, now_ns: int) -> OverlayState:
        """Returns all values that the panels show. note: note about the last key. now_ns: current instant."""
        row, newest, settings, clock, knobs = self._row, self._newest, facts.settings, facts.clock, self.knobs
        status = facts.link.status
        troubles = troubles_of(status)
        buffer_ms = {} if facts.buffer_ms is None else {"buffer": facts.buffer_ms}
        publishes_ms = np.array(facts.publish_intervals_ms, np.float32) if settings.own_loop else None
        knobs.reflect(troubles | buffer_ms, now_ns)
        offered = knobs.offer(status.get("controls", ()), now_ns)
        return OverlayState(
            frames=self.frames,
            steps=self.steps,
            publishes_ms=publishes_ms,
            target_ms=row.pacer_interval_ns / 1e6 or None,
            step_budget_ms=newest.dt_ns / 1e6 / settings.time_scale if newest.dt_ns else None,
            rate=0.0 if settings.paused else newest.rate,
            time_scale=settings.time_scale,
            age_ms=self._ages.mean_ms,
            late_by=self._late_by.text,
            clock=settings.clock,
            clock_mode=row.clock_mode,
            interpolation=settings.interpolation,
            for_physics=facts.for_physics,
            left_out=facts.left_out,
            room_ms=clock.room_ns / 1e6,
            playing_rate=clock.rate,
            clock_reason=clock.reason,
            prefer=settings.prefer,
            thinned=facts.thinned,
            group_ages_ms=facts.group_ages_ms,
            troubles={name: knobs.figures(name) for name in troubles},
            controls={name: (knobs.knob(name), knobs.figures(name)[0]) for name in offered},
            buffer_ms=knobs.figures("buffer")[0] if buffer_ms else None,
            split_labels=facts.split_labels,
            pacing=self._pacing,
            bodies=newest.count,
            diagnostics=status.get("diagnostics", {}),
            plots=facts.link.received.plots,
            messages=messages(facts.link, row, newest, settings) + facts.messages,
            events=facts.events,
            events_dropped=status.get("events_dropped", 0),
            outside=facts.outside,
            note=note,
            keys=settings.keys,
        )


def messages(link: Link, row: FrameRow, newest: Head, settings: ViewerSettings) -> tuple[str, ...]:
    """Banners to show now, on the panels."""
    shown: list[str] = []
    if link.ended is not None:
        shown.append(
            f"physics {link.ended.kind}: {link.ended.message}" if link.ended.message else f"physics {link.ended.kind}"
        )
    elif settings.paused:
        shown.append("paused: Space continues, . makes one step")
    elif newest.published_ns and row.present_ns - newest.published_ns > SILENT_NS:
        seconds = (row.present_ns - newest.published_ns) / 1e9
        shown.append(f"no snapshot from physics for {seconds:.0f} s, so the picture does not move")
    warning = link.status.get("warning")
    if warning:
        shown.append(str(warning))
    return tuple(shown)


def troubles_of(status: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the injected troubles in a status of the physics process. Each value has as its key the name of the
    command that sets it."""
    values = {**status, **status.get("trouble", {})}
    return {name: values[field] for name, field in FIELDS.items() if field in values}
