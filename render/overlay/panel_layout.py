"""Lays out the overlay's panels.

The figures of the frames are at the top left, with the program's plots below them. The figures of the physics process
are at the top right. The keys are along the bottom, and the banners are above the keys. The middle of the picture is
free even at 800x600. Every figure has its unit beside it. The strip that shows the modes of the frames has a legend in
words. Items that are rarely needed are folded until the user opens them, for example the sliders of injected troubles.

Always: at any size of the window, no panel overlaps another or extends beyond the window. A small window shows fewer
items.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from twixt.render.input.sliders import BUFFER, TROUBLES, Turn
from twixt.render.measure.amounts import rate_text, time_text
from twixt.render.overlay import widgets as ui
from twixt.render.overlay.event_items import EVENTS, event_items
from twixt.render.overlay.panel_state import MODES, OverlayState
from twixt.render.overlay.plot_panel import plot_items
from twixt.render.overlay.widgets import PanelItem, breaks, fitting

PANEL_WIDTH = 264.0
# Smallest width beside a panel at which the label of a half of the split view is placed there. If there is less space,
# the label is placed below the panel.
LEAST_LABEL_WIDTH = 90.0
# Shares of the window's height. PANEL_SHARE: largest height of a panel without open sections. KEYS_SHARE: largest
# height of the keys. BANNERS_END: lowest position of the lower end of the banners.
PANEL_SHARE, KEYS_SHARE, BANNERS_END = 0.5, 0.2, 0.8
# Width of a key's entry without its two texts. It is the width of the button's border and of the gaps.
KEY_WIDTH = 26.0
PLAYBACK, TROUBLE, KEYS = "playback", "trouble", "keys"
# Largest width of the plots, as a share of the window's width, if that is more than PANEL_WIDTH.
PLOTS_SHARE = 0.3
# Height that the figures of the frames leave for the first plot.
PLOT_ROOM = 140.0


class LayoutResult(NamedTuple):
    """Rectangles of the panels, and the user's input on them."""

    pressed: list[str]  # keys whose buttons were clicked
    panels: list[tuple[float, float, float, float]]  # left, top, width and height of each panel
    turned: list[Turn]  # sliders that the user moved
    all_off: bool  # "no trouble" was clicked
    is_unfinished: bool  # the size of a panel is not known yet, so one more layout is needed


def show_panels(imgui: Any, state: OverlayState, size: tuple[float, float], opened: set[str]) -> LayoutResult:
    """Lays out all panels. size: width and height of the available space, in units of text size.

    opened: names of the panels' sections that are open. A click on a section changes this set.
    """
    ui.style(imgui)
    return _Layout(imgui, state, size, opened).shown()


class _Layout:
    """One layout, made from the bottom to the top. Keys and banners are placed first. Then the figures get the
    remaining space."""

    def __init__(self, imgui: Any, state: OverlayState, size: tuple[float, float], opened: set[str]) -> None:
        self._imgui, self._state, self._opened = imgui, state, opened
        self._width, self._height = size
        self._panels: list[tuple[float, float, float, float]] = []
        self._appearing: list[str] = []
        self._turned: list[Turn] = []
        self._pressed: list[str] = []
        self._all_off = False
        self._line = imgui.get_text_line_height() + ui.SPACING
        self._panel_width = min(PANEL_WIDTH, (self._width - 3 * ui.MARGIN) / 2)
        self._inside = self._panel_width - 2 * ui.MARGIN

    def shown(self) -> LayoutResult:
        end = self._banners(self._keys(self._height - ui.MARGIN))
        labels, width = self._state.split_labels, self._width / 2 - self._panel_width - 4 * ui.MARGIN
        is_between = width >= LEAST_LABEL_WIDTH
        if not is_between:
            width = self._width / 2 - 4 * ui.MARGIN
        heights = [] if labels is None else [self._label_height(label, width) for label in labels]
        room = end - 2 * ui.MARGIN - (0 if is_between or not heights else max(heights) + ui.MARGIN)
        left_room = max(room / 3, room - PLOT_ROOM) if self._state.plots else room
        frames_end = self._column("frames", 0, self._frames(left_room), left_room)
        physics_end = self._column("physics", 1, self._physics(room), room)
        self._plots(frames_end + (0 if is_between or not heights else heights[0] + ui.MARGIN), end)
        for side, label in enumerate(labels or ()):
            at, pivot = (self._width / 2 + (ui.MARGIN if side else -ui.MARGIN), ui.MARGIN), (0 if side else 1, 0)
            if not is_between:
                left = self._width / 2 + ui.MARGIN if side else ui.MARGIN
                at, pivot = (left, (physics_end if side else frames_end) + ui.MARGIN), (0, 0)
            if at[1] + heights[side] <= end:
                with self._panel(f"half {side}", at, pivot, None, heights[side]):
                    ui.wrapped(self._imgui, label, width)
        return LayoutResult(self._pressed, self._panels, self._turned, self._all_off, bool(self._appearing))

    # -- at the bottom

    def _keys(self, end: float) -> float:
        """Shows the keys above `end`, and returns the position of their upper end. The keys are folded if they would
        need more than KEYS_SHARE of the window's height."""
        keys = self._state.keys
        if not keys:
            return end
        imgui, room = self._imgui, self._width - 4 * ui.MARGIN
        begins = breaks((ui.width_of(imgui, key + does) + KEY_WIDTH for key, does in keys.items()), 0, room)
        height = self._height_of_lines(sum(begins))
        is_folded = height > KEYS_SHARE * self._height
        most = end - ui.MARGIN
        if is_folded:
            height = self._height_of_lines(1)
        if height > most:
            return end
        at, pivot = (self._width / 2, end), (0.5, 1)
        if not is_folded:
            with self._panel("keys", at, pivot, None, height):
                self._key_buttons(begins)
            return end - height
        width = ui.width_of(imgui, KEYS) + 2 * ui.MARGIN + 24
        if KEYS in self._opened:
            width, height = self._width - 2 * ui.MARGIN, min(most, self._height_of_lines(1 + sum(begins)))
        with self._panel("folded keys", at, pivot, width, height):
            ui.section(imgui, KEYS, self._opened)
            if KEYS in self._opened:
                self._key_buttons(begins)
        return end - height

    def _key_buttons(self, begins: list[bool]) -> None:
        imgui = self._imgui
        for (key, does), is_first in zip(self._state.keys.items(), begins, strict=True):
            if not is_first:
                imgui.same_line()
            if imgui.small_button(key):
                self._pressed.append(key)
            imgui.same_line(0, 4)
            ui.text(imgui, does, ui.DIM)

    def _banners(self, end: float) -> float:
        """Shows the banners above `end`, which is the upper end of the keys. Returns the lower end of the remaining
        space."""
        lines = [(message, ui.WARNING) for message in self._state.messages]
        lines += [(text, ui.PLAIN) for text in (self._state.outside, self._state.note) if text]
        if not lines:
            return end
        width = self._width - 4 * ui.MARGIN
        height = (
            sum(ui.wrapped_height(self._imgui, message, width) for message, _ in lines) - ui.SPACING + 2 * ui.PADDING
        )
        end = min(BANNERS_END * self._height, end - ui.MARGIN)
        height = min(height, end - ui.MARGIN)
        if height < self._height_of_lines(1):
            return end
        with self._panel("messages", (self._width / 2, end), (0.5, 1), None, height):
            for message, color in lines:
                ui.wrapped(self._imgui, message, width, color)
        return end - height

    # -- at the top

    def _column(self, name: str, side: int, items: list[PanelItem], room: float) -> float:
        """Shows a panel at the top of one side (0 is left, 1 is right). The panel is at most `room` high. Returns the
        position of the panel's lower end."""
        if not items or self._inside <= 0:
            return 0.0
        height = sum(item.height for item in items) - ui.SPACING + 2 * ui.PADDING
        at = (self._width - ui.MARGIN if side else ui.MARGIN, ui.MARGIN)
        with self._panel(name, at, (side, 0), self._panel_width, min(height, room)):
            for item in items:
                item.draw()
        return ui.MARGIN + min(height, room)

    def _plots(self, top: float, end: float) -> None:
        """Shows the program's plots at the left, between `top` and `end`."""
        width = max(self._panel_width, PLOTS_SHARE * self._width)
        top += ui.MARGIN
        room = end - top - ui.MARGIN - 2 * ui.PADDING
        plots = self._state.plots if self._inside > 0 else ()
        if items := plot_items(self._imgui, plots, self._opened, width - 2 * ui.MARGIN, room):
            with self._panel("plots", (ui.MARGIN, top), (0, 0), width, room + 2 * ui.PADDING):
                for item in items:
                    item.draw()

    def _frames(self, room: float) -> list[PanelItem]:
        imgui, state, frames, line = self._imgui, self._state, self._state.frames, self._line
        mean_ms = frames.mean_ms()
        fps = f"{1000 / mean_ms:.1f} fps" if mean_ms else "- fps"
        legend = breaks([ui.width_of(imgui, mode) for mode in MODES[:3]], ui.GAP, self._inside)

        def words_of_modes() -> None:
            for mode, color, is_first in zip(MODES, ui.MODE_COLORS, legend, strict=False):
                if not is_first:
                    imgui.same_line()
                ui.text(imgui, mode, color)

        def curve() -> None:
            captions = ui.captions("frame interval", frames.figures_ms, "target", state.target_ms)
            ui.plot(imgui, "frame interval", captions, frames.figures_ms, state.target_ms)

        within = f"99 % of frames within {time_text(frames.percentile_ms(99))}" if mean_ms else ""
        clock = state.clock if state.clock == state.clock_mode else f"{state.clock}: {state.clock_mode}"
        items = [
            *self._pair(fps, within, 9),
            PanelItem(8, line + ui.PLOT_HEIGHT + ui.SPACING, curve),
            PanelItem(1, ui.STRIP_HEIGHT + ui.SPACING, lambda: ui.strip(imgui, frames.modes, frames.events)),
            PanelItem(3, line * sum(legend), words_of_modes),
            self._row("method", state.interpolation, 4),
            self._row("clock", clock, 5),
        ]
        if state.left_out:
            items.append(self._row("lower quality", state.left_out, 5))
        if state.for_physics:
            items.append(self._row("core sharing", state.for_physics, 6))
        if state.age_ms is not None:
            items.append(self._row("added latency", time_text(round(state.age_ms, 1)), 6))
        is_open = PLAYBACK in self._opened
        items.append(PanelItem(0 if is_open else 2, line, lambda: ui.section(imgui, PLAYBACK, self._opened)))
        if is_open:
            items += self._smooth()
        return self._fitted(items, room, is_open)

    def _smooth(self) -> list[PanelItem]:
        """Items that show the figures and the settings of the playback clock."""
        imgui, state = self._imgui, self._state
        items = []
        if state.room_ms is not None:
            items.append(self._row("newest snapshot is ahead by", time_text(round(state.room_ms, 1))))
        if state.late_by:
            items.append(self._row("last late frame", state.late_by))
        if state.playing_rate is not None:
            items.append(self._row("playback rate", rate_text(state.playing_rate)))
        items += [self._row("prefer", state.prefer), self._row("pacing", state.pacing)]
        if state.thinned:
            items.append(self._row("snapshots left out", f"{state.thinned:,}"))
        items += [self._row(f"age of {group}", time_text(round(age, 1))) for group, age in state.group_ages_ms.items()]
        if state.buffer_ms is not None:
            at_ms = (state.buffer_ms,)
            items.append(self._knob(lambda: ui.knob(imgui, "buffer", BUFFER, at_ms, self._turned)))
        if state.clock_reason:
            height = ui.wrapped_height(imgui, state.clock_reason, self._inside)
            items.append(PanelItem(0, height, lambda: ui.wrapped(imgui, state.clock_reason, self._inside, ui.DIM)))
        return items

    def _physics(self, room: float) -> list[PanelItem]:
        imgui, state, line = self._imgui, self._state, self._line
        if state.rate is None:
            items = [PanelItem(0, line, lambda: ui.fitting_text(imgui, ["no snapshot yet"], ui.DIM))]
        else:
            asked = (
                f"time scale {rate_text(state.time_scale).replace(' real time', '')}" if state.time_scale != 1 else ""
            )
            color = ui.WARNING if state.rate < 0.95 * state.time_scale else None
            items = self._pair(rate_text(state.rate), asked, 6, color)

        def curve() -> None:
            if state.publishes_ms is not None:
                ui.plot(imgui, "publishes", ui.publish_captions(state.publishes_ms), state.publishes_ms, None)
                return
            captions = ui.captions("physics step", state.steps.figures_ms, "budget", state.step_budget_ms)
            ui.plot(imgui, "physics step", captions, state.steps.figures_ms, state.step_budget_ms)

        items += [PanelItem(8, line + ui.PLOT_HEIGHT + ui.SPACING, curve), self._row("bodies", f"{state.bodies:,}", 4)]
        of_world = dict.fromkeys(knob.section for knob, _ in state.controls.values())
        is_open = (TROUBLE in self._opened and bool(state.troubles)) or not self._opened.isdisjoint(of_world)
        is_open = is_open or (EVENTS in self._opened and state.events is not None)
        sections = [item for section in of_world for item in self._controls(section, section in self._opened)]
        sections += event_items(imgui, state.events, state.events_dropped, self._opened)
        sections += self._trouble(TROUBLE in self._opened)
        kept = self._fitted(items + sections, room, is_open)
        at = sum(item in items for item in kept)
        left = room - 2 * ui.PADDING + ui.SPACING - sum(item.height for item in kept)
        return kept[:at] + self._diagnostics(int(left // line)) + kept[at:]

    def _diagnostics(self, lines: int) -> list[PanelItem]:
        """Items for the world's own figures, in at most `lines` lines. If not all figures fit, the last line tells how
        many are missing."""
        rows = [self._row(" ".join(name.split()), f"{value:.4g}") for name, value in self._state.diagnostics.items()]
        if len(rows) <= lines:
            return rows
        more = f"{len(rows) - lines + 1:,} more in a larger window"
        says = PanelItem(0, self._line, lambda: ui.fitting_text(self._imgui, [more, more.split(" in")[0]], ui.DIM))
        return [*rows[: lines - 1], says] if lines > 0 else []

    def _controls(self, section: str, is_open: bool) -> list[PanelItem]:
        """Items for the controls of the world in one section of a panel. Two switches share a row if their names
        fit."""
        imgui = self._imgui
        items = [PanelItem(0 if is_open else 2, self._line, lambda: ui.section(imgui, section, self._opened))]
        if not is_open:
            return items
        names = [name for name, (knob, _) in self._state.controls.items() if knob.section == section]
        while names:
            first = names.pop(0)
            if names and self._is_narrow(first) and self._is_narrow(names[0]):
                items.append(self._knob(self._controlling(first, names.pop(0))))
            else:
                items.append(self._knob(self._controlling(first)))
        return items

    def _is_narrow(self, name: str) -> bool:
        knob, _ = self._state.controls[name]
        width = ui.width_of(self._imgui, knob.name) + self._imgui.get_frame_height() + 2 * ui.GAP
        return knob.kind == "toggle" and width <= self._inside / 2

    def _controlling(self, *names: str) -> Callable[[], None]:
        def draw() -> None:
            for place, name in enumerate(names):
                if place:
                    self._imgui.same_line(ui.MARGIN + place * self._inside / len(names))
                knob, figure = self._state.controls[name]
                ui.control(self._imgui, name, knob, figure, self._turned)

        return draw

    def _trouble(self, is_open: bool) -> list[PanelItem]:
        imgui, troubles = self._imgui, self._state.troubles
        if not troubles:
            return []
        on = [name for name in troubles if any(troubles[name][: TROUBLES[name].none_at or 1])]
        folded = ", ".join(TROUBLES[name].name for name in on)
        items = [PanelItem(0 if is_open else 2, self._line, lambda: ui.section(imgui, TROUBLE, self._opened, folded))]
        if is_open:
            items += [self._knob(self._turning(name)) for name in troubles]
        if is_open and on:
            items.append(PanelItem(0, self._line, self._draw_all_off))
        return items

    def _turning(self, name: str) -> Callable[[], None]:
        return lambda: ui.knob(self._imgui, name, TROUBLES[name], self._state.troubles[name], self._turned)

    def _draw_all_off(self) -> None:
        self._all_off = self._imgui.small_button("all off")

    # -- items

    def _pair(
        self, text: str, aside: str, rank: int, color: tuple[float, float, float] | None = None
    ) -> list[PanelItem]:
        """Items for a line with `text` at the left and `aside` at the right. If both do not fit into one line, `aside`
        gets its own line. rank: rank of that line."""
        imgui, line = self._imgui, self._line
        if ui.width_of(imgui, text) + ui.GAP + ui.width_of(imgui, aside) > self._inside:
            return [
                PanelItem(0, line, lambda: ui.fitting_text(imgui, [text], color)),
                PanelItem(
                    rank, line, lambda: ui.fitting_text(imgui, [aside, aside.replace(" of frames within", ":")], ui.DIM)
                ),
            ]

        def both() -> None:
            ui.text(imgui, text, color)
            if aside:
                ui.beside(imgui, aside)

        return [PanelItem(0, line, both)]

    def _row(self, name: str, value: str, rank: int = 0) -> PanelItem:
        return PanelItem(rank, self._line, lambda: ui.row(self._imgui, name, value))

    def _knob(self, draw: Callable[[], None]) -> PanelItem:
        return PanelItem(0, self._imgui.get_frame_height() + ui.SPACING, draw)

    def _fitted(self, items: list[PanelItem], room: float, is_opened: bool) -> list[PanelItem]:
        """Items that fit into the panel. If a section of the panel is open, the items may take all of `room`. Else
        they may take only PANEL_SHARE of the window's height."""
        room = room if is_opened else min(room, PANEL_SHARE * self._height)
        left = room - 2 * ui.PADDING + ui.SPACING
        # Items of rank 0 are never left out. If they extend beyond `room`, the user scrolls with the wheel.
        if is_opened:
            left -= sum(item.height for item in items if not item.rank)
            kept = fitting([item for item in items if item.rank], left)
            return [item for item in items if not item.rank or item in kept] if room > 0 else []
        return fitting(items, left)

    def _height_of_lines(self, count: int) -> float:
        return count * self._line - ui.SPACING + 2 * ui.PADDING

    def _label_height(self, label: str, width: float) -> float:
        return ui.wrapped_height(self._imgui, label, width) - ui.SPACING + 2 * ui.PADDING

    def _panel(
        self, name: str, at: tuple[float, float], pivot: tuple[float, float], width: float | None, most: float
    ) -> ui.PinnedPanel:
        return ui.PinnedPanel(self._imgui, self._panels, self._appearing, name, at, pivot, width, most)
