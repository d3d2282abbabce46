"""Figures of the overlay's panels, updated in each frame, and the values of their sliders.

Always: figures are updated in every frame; the panels' values are computed only when the panels are laid out anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from twixt.ipc.config.troubles import FIELDS
from twixt.ipc.snapshot import Head
from twixt.render.input.sliders import Knobs
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.overlay.shown_values import DrawnAge, LatenessCause, OverlayState, PlotHistory

if TYPE_CHECKING:
    from twixt.ipc.session.link import Link
    from twixt.render.input.keys import ViewerSettings
    from twixt.render.playback import ClockState

# Age of the newest snapshot from which a message reports it, unless physics is paused.
SILENT_NS = 1_000_000_000


class PanelFacts(NamedTuple):
    """Facts that the panels show and that no `FrameRow` has."""

    link: Link  # to the simulation that is drawn
    settings: ViewerSettings
    clock: ClockState
    buffer_ms: float | None = None  # of the buffered clock; 0: by the measured jitter; None: another clock
    for_physics: str = ""  # measure in favour of physics, such as "staying off core 1"
    left_out: str = ""  # quality level if it is not the highest
    thinned: int = 0  # snapshots dropped before they were drawn, because the viewer's ring was full
    group_ages_ms: Mapping[str, float] = {}  # of groups with a draw time of their own, by name
    split_labels: tuple[str, str] | None = None  # of the left and the right half
    messages: tuple[str, ...] = ()  # banners besides those of `messages`


class PanelFigures:
    """Figures of one viewer's panels. pacing: as chosen by its flag."""

    def __init__(self, pacing: str) -> None:
        self.knobs = Knobs()
        self.frames, self.steps = PlotHistory(), PlotHistory()
        self._pacing = pacing
        self._ages, self._late_by = DrawnAge(), LatenessCause()
        self._row, self._newest = FrameRow(), Head()

    def forget_snapshots(self) -> None:
        """Drops the newest snapshot: another simulation is drawn from now on."""
        self._newest = Head()

    def add(self, row: FrameRow, newest: Head | None) -> None:
        """Adds a presented frame, and the newest step if it is a new one. Intervals with a rest are left out."""
        if self._row.present_ns and not row.rested_ns:
            self.frames.add((row.present_ns - self._row.present_ns) / 1e6, row.mode)
        if newest is not None and newest.tick != self._newest.tick:
            self.steps.add(newest.step_cost_ns / 1e6)
            self._newest = newest
        self._ages.add(row)
        self._late_by.add(row)
        self._row = row

    def state(self, facts: PanelFacts, note: str, now_ns: int) -> OverlayState:
        """All values that the panels show. note: of the last key. now_ns: the instant, for the sliders."""
        row, newest, settings, clock, knobs = self._row, self._newest, facts.settings, facts.clock, self.knobs
        status = facts.link.status
        troubles = troubles_of(status)
        buffer_ms = {} if facts.buffer_ms is None else {"buffer": facts.buffer_ms}
        knobs.reflect(troubles | buffer_ms, now_ns)
        offered = knobs.offer(status.get("controls", ()), now_ns)
        return OverlayState(
            frames=self.frames,
            steps=self.steps,
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
            messages=messages(facts.link, row, newest, settings) + facts.messages,
            note=note,
            keys=settings.keys,
        )


def messages(link: Link, row: FrameRow, newest: Head, settings: ViewerSettings) -> tuple[str, ...]:
    """Banners for the user."""
    shown: list[str] = []
    if link.ended is not None:
        shown.append(
            f"physics {link.ended.kind}: {link.ended.message}" if link.ended.message else f"physics {link.ended.kind}"
        )
    elif settings.paused:
        shown.append("paused: Space goes on, . makes one step")
    elif newest.published_ns and row.present_ns - newest.published_ns > SILENT_NS:
        seconds = (row.present_ns - newest.published_ns) / 1e9
        shown.append(f"physics has published nothing for {seconds:.0f} s; the picture waits for it")
    warning = link.status.get("warning")
    if warning:
        shown.append(str(warning))
    return tuple(shown)


def troubles_of(status: Mapping[str, Any]) -> dict[str, Any]:
    """Injected troubles in a status of physics: values by the name of the command that sets them."""
    values = {**status, **status.get("trouble", {})}
    return {name: values[field] for name, field in FIELDS.items() if field in values}
