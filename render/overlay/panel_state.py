"""Panels of one viewer: their values, taken from the frame loop, and their input.

Made after the first frame, so that the world is visible before the overlay's library is loaded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from twixt.ipc.config.troubles import FIELDS
from twixt.ipc.snapshot import Head
from twixt.render.controls.key_bindings import Controls
from twixt.render.controls.sliders import Knobs, Turned
from twixt.render.display.input import Event, MouseButton, MouseMove, PointerLeft
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.overlay.overlay import REDRAW_NS, SPARING_NS, Overlay
from twixt.render.overlay.shown_values import DrawnAge, LatenessCause, OverlayState, PlotHistory

if TYPE_CHECKING:
    from twixt.ipc.session.client import Link
    from twixt.render.draw.flat.panel_backgrounds import Rectangle
    from twixt.render.viewer.frame_loop import FrameLoop

# Age of the newest snapshot from which a message reports it, unless physics is paused.
SILENT_NS = 1_000_000_000


class PictureFacts(NamedTuple):
    """Facts of the picture that the panels show and that no `FrameRow` has."""

    thinned: int = 0  # snapshots dropped before they were drawn, because the viewer's ring was full
    group_ages_ms: Mapping[str, float] = {}  # of groups with a draw time of their own, by name
    split_labels: tuple[str, str] | None = None  # of the left and the right half
    messages: tuple[str, ...] = ()  # banners besides those of `messages`


class Panel:
    """One viewer's overlay. now_ns: clock of its frame loop."""

    def __init__(self, link: Link, pacing: str, now_ns: Callable[[], int] = time.perf_counter_ns) -> None:
        self._link, self._pacing, self._now_ns = link, pacing, now_ns
        self._knobs = Knobs()
        self._overlay = Overlay(now_ns)
        self._frames, self._steps = PlotHistory(), PlotHistory()
        self._ages = DrawnAge()
        self._late_by = LatenessCause()
        self._row = FrameRow()
        self._newest = Head()
        self._note = ""

    def follow(self, link: Link) -> None:
        """Shows the figures of another simulation from now on."""
        self._link, self._newest = link, Head()

    def covers(self, x_px: float, y_px: float) -> bool:
        """True if a panel, as last shown, covers that pixel."""
        return self._overlay.covers(x_px, y_px)

    def note(self, row: FrameRow, newest: Head | None) -> None:
        """Adds a presented frame, and the newest step if it is a new one. Intervals with a rest are left out."""
        if self._row.present_ns and not row.rested_ns:
            self._frames.add((row.present_ns - self._row.present_ns) / 1e6, row.mode)
        if newest is not None and newest.tick != self._newest.tick:
            self._steps.add(newest.step_cost_ns / 1e6)
            self._newest = newest
        self._ages.add(row)
        self._late_by.add(row)
        self._row = row

    def draw(
        self,
        loop: FrameLoop,
        events: list[Event],
        size_px: tuple[int, int],
        scale: float,
        facts: Callable[[], PictureFacts] = PictureFacts,
    ) -> list[str]:
        """Draws the panels; returns the keys whose buttons were clicked.

        facts: called only when the panels are laid out anew.
        """
        if loop.over.key_note != self._note:
            self._note = loop.over.key_note
            self._overlay.request_layout()
        used = self._overlay.draw(lambda: self._state(loop, facts()), events, size_px, scale)
        for turn in used.turned:
            self._knobs.turn(turn)
        if used.all_off:
            self._knobs.all_off()
        return used.pressed

    @property
    def covered(self) -> Sequence[Rectangle] | None:
        """All that the last `draw` drew over; None: unknown."""
        return self._overlay.covered

    def be_sparing(self, is_sparing: bool) -> None:
        """Sets whether panels that are not in use are redrawn less often."""
        self._overlay.every_ns = SPARING_NS if is_sparing else REDRAW_NS

    def redraw_early(
        self,
        loop: FrameLoop,
        size_px: tuple[int, int],
        scale: float,
        until_ns: int,
        facts: Callable[[], PictureFacts] = PictureFacts,
    ) -> bool:
        """As `Overlay.redraw_early`."""
        return self._overlay.redraw_early(lambda: self._state(loop, facts()), size_px, scale, until_ns)

    def prepare(
        self, loop: FrameLoop, size_px: tuple[int, int], scale: float, facts: Callable[[], PictureFacts] = PictureFacts
    ) -> Iterator[None]:
        """Prepares the first frame with panels in steps of some milliseconds; it then takes no longer than others."""
        return self._overlay.prepare(lambda: self._state(loop, facts()), size_px, scale)

    def pass_hidden_events(self, events: list[Event], scale: float) -> None:
        """Passes the pointer's moves and button releases to hidden panels. Presses and the wheel are left out."""
        self._overlay.pass_events([event for event in events if _passes_hidden(event)], scale)

    def turned(self, draw_time_ns: int) -> Turned:
        """Effects of the sliders that are due now; call it in every frame in which the panels are drawn."""
        return self._knobs.due(self._now_ns(), draw_time_ns)

    def close(self) -> None:
        self._overlay.close()

    def _state(self, loop: FrameLoop, facts: PictureFacts) -> OverlayState:
        row, newest, controls, clock = self._row, self._newest, loop.controls, loop.clock
        troubles = troubles_of(self._link.status)
        buffer_ms = {"buffer": clock.buffer_ms or 0.0} if clock.mode == "buffered" else {}
        self._knobs.reflect(troubles | buffer_ms, self._now_ns())
        offered = self._knobs.offer(self._link.status.get("controls", ()), self._now_ns())
        return OverlayState(
            frames=self._frames,
            steps=self._steps,
            target_ms=row.pacer_interval_ns / 1e6 or None,
            step_budget_ms=newest.dt_ns / 1e6 / controls.time_scale if newest.dt_ns else None,
            rate=0.0 if controls.paused else newest.rate,
            time_scale=controls.time_scale,
            age_ms=self._ages.mean_ms,
            late_by=self._late_by.text,
            clock=controls.clock,
            clock_mode=row.clock_mode,
            interpolation=controls.interpolation,
            for_physics=loop.core_sharing.status.partition(":")[0],
            left_out=level.name if (level := loop.stage.renderer.level).left_out else "",
            room_ms=clock.state.room_ns / 1e6,
            playing_rate=clock.state.rate,
            clock_reason=clock.state.reason,
            prefer=controls.prefer,
            thinned=facts.thinned,
            group_ages_ms=facts.group_ages_ms,
            troubles={name: self._knobs.figures(name) for name in troubles},
            controls={name: (self._knobs.knob(name), self._knobs.figures(name)[0]) for name in offered},
            buffer_ms=self._knobs.figures("buffer")[0] if buffer_ms else None,
            split_labels=facts.split_labels,
            pacing=self._pacing,
            bodies=newest.count,
            diagnostics=self._link.status.get("diagnostics", {}),
            messages=messages(self._link, row, newest, controls) + facts.messages,
            note=self._note,
            keys=controls.keys,
        )


def _passes_hidden(event: Event) -> bool:
    is_release = isinstance(event, MouseButton) and not event.pressed
    return is_release or isinstance(event, MouseMove | PointerLeft)


def messages(link: Link, row: FrameRow, newest: Head, controls: Controls) -> tuple[str, ...]:
    """Banners for the user."""
    shown: list[str] = []
    if link.ended is not None:
        shown.append(
            f"physics {link.ended.kind}: {link.ended.message}" if link.ended.message else f"physics {link.ended.kind}"
        )
    elif controls.paused:
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
