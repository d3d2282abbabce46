"""The overlay's panels: which words and plots stand where.

Frames at the top left, physics at the top right, banners between them, keys along the bottom: the middle of
the picture stays free, at 800x600 too. Every figure has its unit beside it; the strip has its legend in words.
What is looked at now and then (why the clock does what it does, the knobs of trouble) is folded away until asked for.

Always: no panel lies over another or beyond the window, whatever its size; where there is no room, less is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from twixt.render.knobs import BUFFER, TROUBLES, Turn
from twixt.render.overlay import widgets as ui
from twixt.render.overlay.room import Part, breaks, fitting
from twixt.render.overlay.state import MODES, OverlayState

PANEL_WIDTH = 264.0
# A half's label stands between its panel and the middle where there is so much room, else below its panel.
LEAST_LABEL_WIDTH = 90.0
# Of a window's height: what panels take by themselves, what the keys may, and where banners end at most.
PANEL_SHARE, KEYS_SHARE, BANNERS_END = 0.5, 0.2, 0.8
# Around a key's name and what it does.
KEY_WIDTH = 26.0
SMOOTH, TROUBLE, KEYS = "smooth", "trouble", "keys"


class Shown(NamedTuple):
    """What came of a layout."""

    pressed: list[str]  # keys whose buttons were clicked
    panels: list[tuple[float, float, float, float]]  # left, top, width, height of each panel
    turned: list[Turn]  # sliders that moved
    all_off: bool  # trouble is to end
    is_unfinished: bool  # something has yet to get its size: lay it out again


def show_panels(imgui: Any, state: OverlayState, size: tuple[float, float], opened: set[str]) -> Shown:
    """Lays all panels out within `size`; lengths here are in units of text size.

    opened: which folds the user has opened, changed where one is clicked.
    """
    ui.style(imgui)
    return _Layout(imgui, state, size, opened).shown()


class _Layout:
    """One layout, from the bottom up: what there must be first, figures in the room that is left."""

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

    def shown(self) -> Shown:
        end = self._banners(self._keys(self._height - ui.MARGIN))
        labels, width = self._state.split_labels, self._width / 2 - self._panel_width - 4 * ui.MARGIN
        is_between = width >= LEAST_LABEL_WIDTH
        if not is_between:
            width = self._width / 2 - 4 * ui.MARGIN
        heights = [] if labels is None else [self._high(label, width) for label in labels]
        room = end - 2 * ui.MARGIN - (0 if is_between or not heights else max(heights) + ui.MARGIN)
        frames_end = self._column("frames", 0, self._frames(room), room)
        physics_end = self._column("physics", 1, self._physics(room), room)
        for side, label in enumerate(labels or ()):
            at, pivot = (self._width / 2 + (ui.MARGIN if side else -ui.MARGIN), ui.MARGIN), (0 if side else 1, 0)
            if not is_between:
                left = self._width / 2 + ui.MARGIN if side else ui.MARGIN
                at, pivot = (left, (physics_end if side else frames_end) + ui.MARGIN), (0, 0)
            if at[1] + heights[side] <= end:
                with self._panel(f"half {side}", at, pivot, None, heights[side]):
                    ui.wrapped(self._imgui, label, width)
        return Shown(self._pressed, self._panels, self._turned, self._all_off, bool(self._appearing))

    # -- at the bottom

    def _keys(self, end: float) -> float:
        """Shows the keys above `end`, folded where they take too much of the window; where they begin."""
        keys = self._state.keys
        if not keys:
            return end
        imgui, room = self._imgui, self._width - 4 * ui.MARGIN
        begins = breaks((ui.width_of(imgui, key + does) + KEY_WIDTH for key, does in keys.items()), 0, room)
        height = self._of_lines(sum(begins))
        is_folded = height > KEYS_SHARE * self._height
        most = end - ui.MARGIN
        if is_folded:
            height = self._of_lines(1)
        if height > most:
            return end
        at, pivot = (self._width / 2, end), (0.5, 1)
        if not is_folded:
            with self._panel("keys", at, pivot, None, height):
                self._key_buttons(begins)
            return end - height
        width = ui.width_of(imgui, KEYS) + 2 * ui.MARGIN + 24
        if KEYS in self._opened:
            width, height = self._width - 2 * ui.MARGIN, min(most, self._of_lines(1 + sum(begins)))
        with self._panel("folded keys", at, pivot, width, height):
            ui.fold(imgui, KEYS, self._opened)
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
        """Shows what is to be said in words above the keys, which begin at `end`; where free room ends."""
        said = [(message, ui.WARNING) for message in self._state.messages]
        if self._state.note:
            said.append((self._state.note, ui.PLAIN))
        if not said:
            return end
        width = self._width - 4 * ui.MARGIN
        height = (
            sum(ui.wrapped_height(self._imgui, message, width) for message, _ in said) - ui.SPACING + 2 * ui.PADDING
        )
        end = min(BANNERS_END * self._height, end - ui.MARGIN)
        height = min(height, end - ui.MARGIN)
        if height < self._of_lines(1):
            return end
        with self._panel("messages", (self._width / 2, end), (0.5, 1), None, height):
            for message, color in said:
                ui.wrapped(self._imgui, message, width, color)
        return end - height

    # -- at the top

    def _column(self, name: str, side: int, parts: list[Part], room: float) -> float:
        """Shows a panel at the top of that side; where it ends."""
        if not parts or self._inside <= 0:
            return 0.0
        height = sum(part.height for part in parts) - ui.SPACING + 2 * ui.PADDING
        at = (self._width - ui.MARGIN if side else ui.MARGIN, ui.MARGIN)
        with self._panel(name, at, (side, 0), self._panel_width, min(height, room)):
            for part in parts:
                part.draw()
        return ui.MARGIN + min(height, room)

    def _frames(self, room: float) -> list[Part]:
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
            ui.plot(imgui, "frame interval", frames.figures_ms, "aimed at", state.target_ms)

        clock = state.clock if state.clock == state.clock_mode else f"{state.clock}: {state.clock_mode}"
        parts = [
            *self._pair(fps, f"99 % of frames within {frames.percentile_ms(99):.1f} ms", 9),
            Part(8, line + ui.PLOT_HEIGHT + ui.SPACING, curve),
            Part(1, ui.STRIP_HEIGHT + ui.SPACING, lambda: ui.strip(imgui, frames.modes)),
            Part(3, line * sum(legend), words_of_modes),
            self._row("drawn by", state.interpolation, 4),
            self._row("clock", clock, 5),
        ]
        if state.left_out:
            parts.append(self._row("drawn cheaper", state.left_out, 5))
        if state.for_physics:
            parts.append(self._row("for physics", state.for_physics, 6))
        if state.age_ms is not None:
            parts.append(self._row("added latency", f"{round(state.age_ms, 1) + 0.0:.1f} ms", 6))
        is_open = SMOOTH in self._opened
        parts.append(Part(0 if is_open else 2, line, lambda: ui.fold(imgui, SMOOTH, self._opened)))
        if is_open:
            parts += self._smooth()
        return self._fitted(parts, room, is_open)

    def _smooth(self) -> list[Part]:
        """Why the picture plays as it does."""
        imgui, state = self._imgui, self._state
        parts = []
        if state.room_ms is not None:
            parts.append(self._row("room to the newest snapshot", f"{state.room_ms:.1f} ms"))
        if state.late_by:
            parts.append(self._row("last late by", state.late_by))
        if state.playing_rate is not None:
            parts.append(self._row("plays at", f"{state.playing_rate:.2f} x real time"))
        parts += [self._row("prefers", state.prefer), self._row("pacing", state.pacing)]
        if state.thinned:
            parts.append(self._row("snapshots thinned", f"{state.thinned:,}"))
        parts += [self._row(f"age of {group}", f"{age:.1f} ms") for group, age in state.group_ages_ms.items()]
        if state.buffer_ms is not None:
            at_ms = (state.buffer_ms,)
            parts.append(self._knob(lambda: ui.knob(imgui, "buffer", BUFFER, at_ms, self._turned)))
        if state.clock_reason:
            height = ui.wrapped_height(imgui, state.clock_reason, self._inside)
            parts.append(Part(0, height, lambda: ui.wrapped(imgui, state.clock_reason, self._inside, ui.DIM)))
        return parts

    def _physics(self, room: float) -> list[Part]:
        imgui, state, line = self._imgui, self._state, self._line
        if state.rate is None:
            parts = [Part(0, line, lambda: ui.fitting_text(imgui, ["no snapshot yet"], ui.DIM))]
        else:
            asked = f"asked for {state.time_scale:g} x" if state.time_scale != 1 else ""
            color = ui.WARNING if state.rate < 0.95 * state.time_scale else None
            parts = self._pair(f"{state.rate:.2f} x real time", asked, 6, color)

        def curve() -> None:
            ui.plot(imgui, "physics step", state.steps.figures_ms, "budget", state.step_budget_ms)

        parts += [Part(8, line + ui.PLOT_HEIGHT + ui.SPACING, curve), self._row("bodies", f"{state.bodies:,}", 4)]
        is_open = TROUBLE in self._opened and bool(state.troubles)
        trouble = self._trouble(is_open) if state.troubles else []
        kept = self._fitted(parts + trouble, room, is_open)
        at = sum(part in parts for part in kept)
        left = room - 2 * ui.PADDING + ui.SPACING - sum(part.height for part in kept)
        return kept[:at] + self._diagnostics(int(left // line)) + kept[at:]

    def _diagnostics(self, lines: int) -> list[Part]:
        """The world's own figures, as many as there are lines for, and how many more there are."""
        rows = [self._row(" ".join(name.split()), f"{value:.4g}") for name, value in self._state.diagnostics.items()]
        if len(rows) <= lines:
            return rows
        more = f"{len(rows) - lines + 1:,} more in a larger window"
        says = Part(0, self._line, lambda: ui.fitting_text(self._imgui, [more, more.split(" in")[0]], ui.DIM))
        return [*rows[: lines - 1], says] if lines > 0 else []

    def _trouble(self, is_open: bool) -> list[Part]:
        imgui, troubles = self._imgui, self._state.troubles
        on = [name for name in troubles if any(troubles[name][: TROUBLES[name].none_at or 1])]
        folded = ", ".join(TROUBLES[name].name for name in on)
        parts = [Part(0 if is_open else 2, self._line, lambda: ui.fold(imgui, TROUBLE, self._opened, folded))]
        if is_open:
            parts += [self._knob(self._turning(name)) for name in troubles]
        if is_open and on:
            parts.append(Part(0, self._line, self._no_trouble))
        return parts

    def _turning(self, name: str) -> Callable[[], None]:
        return lambda: ui.knob(self._imgui, name, TROUBLES[name], self._state.troubles[name], self._turned)

    def _no_trouble(self) -> None:
        self._all_off = self._imgui.small_button("no trouble")

    # -- parts

    def _pair(self, said: str, aside: str, rank: int, color: tuple[float, float, float] | None = None) -> list[Part]:
        """A line with something at its right, which goes into a line of its own, of that rank, where it does not fit."""
        imgui, line = self._imgui, self._line
        if ui.width_of(imgui, said) + ui.GAP + ui.width_of(imgui, aside) > self._inside:
            return [
                Part(0, line, lambda: ui.fitting_text(imgui, [said], color)),
                Part(
                    rank, line, lambda: ui.fitting_text(imgui, [aside, aside.replace(" of frames within", ":")], ui.DIM)
                ),
            ]

        def both() -> None:
            ui.text(imgui, said, color)
            if aside:
                ui.beside(imgui, aside)

        return [Part(0, line, both)]

    def _row(self, name: str, value: str, rank: int = 0) -> Part:
        return Part(rank, self._line, lambda: ui.row(self._imgui, name, value))

    def _knob(self, draw: Callable[[], None]) -> Part:
        return Part(0, self._imgui.get_frame_height() + ui.SPACING, draw)

    def _fitted(self, parts: list[Part], room: float, is_asked_for: bool) -> list[Part]:
        """Those there is room for; what the user has opened may take all of it, else the panel stays small."""
        room = room if is_asked_for else min(room, PANEL_SHARE * self._height)
        left = room - 2 * ui.PADDING + ui.SPACING
        if is_asked_for:  # what does not fit even so is reached with the wheel
            left -= sum(part.height for part in parts if not part.rank)
            kept = fitting([part for part in parts if part.rank], left)
            return [part for part in parts if not part.rank or part in kept] if room > 0 else []
        return fitting(parts, left)

    def _of_lines(self, count: int) -> float:
        return count * self._line - ui.SPACING + 2 * ui.PADDING

    def _high(self, label: str, width: float) -> float:
        return ui.wrapped_height(self._imgui, label, width) - ui.SPACING + 2 * ui.PADDING

    def _panel(
        self, name: str, at: tuple[float, float], pivot: tuple[float, float], width: float | None, most: float
    ) -> ui.Panel:  # fmt: skip
        return ui.Panel(self._imgui, self._panels, self._appearing, name, at, pivot, width, most)
