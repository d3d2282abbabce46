"""The overlay's panels: which words and plots stand where.

Frames at the top left, physics at the top right, banners between them, keys along the bottom: the middle of
the picture stays free, at 800x600 too. Every figure has its unit beside it; the strip has its legend in words.
What is looked at now and then (why the clock does what it does, the knobs of trouble) is folded away until asked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from twixt.render.knobs import BUFFER, TROUBLES, Knob, Turn
from twixt.render.overlay_state import MODES, REMEMBERED, OverlayState

MARGIN = 8.0
PANEL_WIDTH = 264.0
PLOT_HEIGHT = 44.0
STRIP_HEIGHT = 10.0
# A half's label fits between its panel and the middle, or at least into this.
LEAST_LABEL_WIDTH = 60.0
# Where the sliders begin, from a panel's left.
KNOB_NAME_WIDTH = 84.0
KNOB_GAP = 4.0
KNOB_TINT, GRAB_TINT = (0.22, 0.27, 0.36, 0.75), (0.31, 0.47, 0.74, 0.85)
# The library sets a fold's triangle in by this much.
FOLD_INDENT = 7.0
# Red, green, blue of each of MODES, and of text.
MODE_COLORS = ((0.29, 0.73, 0.60), (0.95, 0.70, 0.25), (0.90, 0.33, 0.55), (0.35, 0.37, 0.40))
DIM = (0.62, 0.66, 0.72)
WARNING = (0.98, 0.76, 0.35)
TARGET_LINE = (1.0, 1.0, 1.0, 0.35)


class Shown(NamedTuple):
    """What came of a layout."""

    pressed: list[str]  # keys whose buttons were clicked
    panels: list[tuple[float, float, float, float]]  # left, top, width, height of each panel
    turned: list[Turn]  # sliders that moved
    all_off: bool  # trouble is to end


def show_panels(imgui: Any, state: OverlayState, size: tuple[float, float]) -> Shown:
    """Lays all panels out within `size`; lengths here are in units of text size."""
    _style(imgui)
    panels: list[tuple[float, float, float, float]] = []
    turned: list[Turn] = []
    all_off = False
    width, height = size
    panel = min(PANEL_WIDTH, (width - 3 * MARGIN) / 2)
    with _Panel(imgui, panels, "frames", (MARGIN, MARGIN), (0, 0), panel):
        _frames(imgui, state)
        if _fold(imgui, "smooth"):
            _smooth(imgui, state, turned)
    with _Panel(imgui, panels, "physics", (width - MARGIN, MARGIN), (1, 0), panel):
        _physics(imgui, state)
        if state.troubles:
            on = [name for name in state.troubles if _is_on(name, state)]
            if _fold(imgui, "trouble", ", ".join(TROUBLES[name].name for name in on)):
                for name in state.troubles:
                    _knob(imgui, name, TROUBLES[name], state.troubles[name], turned)
                all_off = bool(on) and imgui.small_button("no trouble")
    if state.split_labels is not None:
        for side, label in enumerate(state.split_labels):
            at = (width / 2 + (MARGIN if side else -MARGIN), MARGIN)
            with _Panel(imgui, panels, f"half {side}", at, (0 if side else 1, 0), None):
                imgui.push_text_wrap_pos(max(LEAST_LABEL_WIDTH, width / 2 - panel - 4 * MARGIN))
                _text(imgui, label)
                imgui.pop_text_wrap_pos()
    if state.messages:
        with _Panel(imgui, panels, "messages", (width / 2, height * 0.80), (0.5, 1), None):
            for message in state.messages:
                _text(imgui, message, WARNING)
    pressed: list[str] = []
    if state.keys:
        with _Panel(imgui, panels, "keys", (width / 2, height - MARGIN), (0.5, 1), None):
            pressed = _keys(imgui, state, width - 4 * MARGIN)
    return Shown(pressed, panels, turned, all_off)


def _frames(imgui: Any, state: OverlayState) -> None:
    frames = state.frames
    mean_ms = frames.mean_ms()
    _text(imgui, f"{1000 / mean_ms:.1f} fps" if mean_ms else "- fps")
    _beside(imgui, f"99 % of frames within {frames.percentile_ms(99):.1f} ms")
    _plot(imgui, "frame interval", frames.figures_ms, "aimed at", state.target_ms)
    _strip(imgui, frames.modes)
    for number, mode in enumerate(MODES[:3]):
        if number:
            imgui.same_line()
        _text(imgui, mode, MODE_COLORS[number])
    _row(imgui, "drawn by", state.interpolation)
    _row(imgui, "clock", state.clock if state.clock == state.clock_mode else f"{state.clock}: {state.clock_mode}")
    if state.age_ms is not None:
        _row(imgui, "added latency", f"{round(state.age_ms, 1) + 0.0:.1f} ms")


def _smooth(imgui: Any, state: OverlayState, turned: list[Turn]) -> None:
    """Why the picture plays as it does."""
    if state.room_ms is not None:
        _row(imgui, "room to the newest snapshot", f"{state.room_ms:.1f} ms")
    if state.playing_rate is not None:
        _row(imgui, "plays at", f"{state.playing_rate:.2f} x real time")
    _row(imgui, "prefers", state.prefer)
    _row(imgui, "pacing", state.pacing)
    if state.thinned:
        _row(imgui, "snapshots thinned", f"{state.thinned:,}")
    for group, age_ms in state.group_ages_ms.items():
        _row(imgui, f"age of {group}", f"{age_ms:.1f} ms")
    if state.buffer_ms is not None:
        _knob(imgui, "buffer", BUFFER, (state.buffer_ms,), turned)
    if state.clock_reason:
        imgui.push_text_wrap_pos(0.0)
        _text(imgui, state.clock_reason, DIM)
        imgui.pop_text_wrap_pos()


def _physics(imgui: Any, state: OverlayState) -> None:
    if state.rate is None:
        _text(imgui, "no snapshot yet", DIM)
    else:
        _text(imgui, f"{state.rate:.2f} x real time", WARNING if state.rate < 0.95 * state.time_scale else None)
        if state.time_scale != 1:
            _beside(imgui, f"asked for {state.time_scale:g} x")
    _plot(imgui, "physics step", state.steps.figures_ms, "budget", state.step_budget_ms)
    _row(imgui, "bodies", f"{state.bodies:,}")
    for name, value in state.diagnostics.items():
        _row(imgui, name, f"{value:.4g}")


def _is_on(name: str, state: OverlayState) -> bool:
    return any(state.troubles[name][: TROUBLES[name].none_at or 1])


def _fold(imgui: Any, name: str, folded: str = "") -> bool:
    """A line that unfolds when it is clicked; true while it is. folded: said in it while it is not."""
    flags = imgui.TreeNodeFlags_
    imgui.set_cursor_pos_x(imgui.get_cursor_pos_x() - FOLD_INDENT)
    is_open: bool = imgui.tree_node_ex(name, flags.no_tree_push_on_open.value | flags.span_avail_width.value)
    if folded and not is_open:
        imgui.same_line()
        _text(imgui, folded, WARNING)
    return is_open


def _knob(imgui: Any, name: str, knob: Knob, figures: tuple[float, ...], turned: list[Turn]) -> None:
    """A row of sliders, one a figure."""
    imgui.align_text_to_frame_padding()
    _text(imgui, knob.name, DIM)
    imgui.same_line(KNOB_NAME_WIDTH)
    no_typing = imgui.SliderFlags_.no_input.value  # no key reaches the overlay
    imgui.push_style_color(imgui.Col_.frame_bg.value, imgui.ImVec4(*KNOB_TINT))
    imgui.push_style_color(imgui.Col_.slider_grab.value, imgui.ImVec4(*GRAB_TINT))
    count = len(knob.sliders)
    across = (imgui.get_content_region_avail().x - (count - 1) * KNOB_GAP) / count
    for number, (slider, figure) in enumerate(zip(knob.sliders, figures, strict=True)):
        if number:
            imgui.same_line(0, KNOB_GAP)
        imgui.set_next_item_width(across)
        shown = "as measured" if name == "buffer" and not figure else slider.shown
        moved, value = imgui.slider_float(f"##{name}{number}", figure, slider.low, slider.high, shown, no_typing)
        released = imgui.is_item_deactivated_after_edit()
        if moved or released:
            turned.append(Turn(name, number, value, released))
    imgui.pop_style_color(2)


def _keys(imgui: Any, state: OverlayState, width: float) -> list[str]:
    pressed = []
    line = 0.0
    for key, meaning in state.keys.items():
        needed = imgui.calc_text_size(key + meaning).x + 26
        if line and line + needed <= width:
            imgui.same_line()
        else:
            line = 0.0
        line += needed
        if imgui.small_button(key):
            pressed.append(key)
        imgui.same_line(0, 4)
        _text(imgui, meaning, DIM)
    return pressed


def _plot(imgui: Any, name: str, figures_ms: Any, line_name: str, line_ms: float | None) -> None:
    """A curve of the last REMEMBERED figures from 0 ms up, newest at the right, with a line to hold them against."""
    newest_ms = float(figures_ms[-1]) if len(figures_ms) else 0.0
    # Two figures a point, the larger one: half the lines, and no peak is lost.
    points = np.asarray(figures_ms[len(figures_ms) % 2 :], np.float32).reshape(-1, 2).max(axis=1)
    top_ms = max(2 * (line_ms or 0.0), 1.15 * float(points.max(initial=0)), 0.1)
    label = f"{name} {newest_ms:.1f} ms" + (f", {line_name} {line_ms:.1f} ms" if line_ms else "")
    _text(imgui, label, DIM)
    at = imgui.get_cursor_screen_pos()
    across = imgui.get_content_region_avail().x
    if len(points):
        known = across * len(points) / (REMEMBERED // 2)
        imgui.set_cursor_screen_pos(imgui.ImVec2(at.x + across - known, at.y))
        imgui.plot_lines(f"##{name}", points, 0, None, 0.0, top_ms, imgui.ImVec2(known, PLOT_HEIGHT))
    else:
        imgui.dummy(imgui.ImVec2(across, PLOT_HEIGHT))
    if line_ms:
        y = at.y + PLOT_HEIGHT * (1 - line_ms / top_ms)
        color = imgui.get_color_u32(imgui.ImVec4(*TARGET_LINE))
        imgui.get_window_draw_list().add_line(imgui.ImVec2(at.x, y), imgui.ImVec2(at.x + across, y), color)


def _strip(imgui: Any, modes: Any) -> None:
    """One cell a frame, aligned with the plot above; neighbours of one mode are drawn as one."""
    at = imgui.get_cursor_screen_pos()
    across = imgui.get_content_region_avail().x
    cell = across / REMEMBERED
    first = REMEMBERED - len(modes)
    draw_list = imgui.get_window_draw_list()
    starts = np.flatnonzero(np.diff(modes, prepend=255))
    for start, end in zip(starts, [*starts[1:], len(modes)], strict=False):
        color = imgui.get_color_u32(imgui.ImVec4(*MODE_COLORS[modes[start]], 1.0))
        left, right = at.x + (first + start) * cell, at.x + (first + end) * cell
        draw_list.add_rect_filled(imgui.ImVec2(left, at.y), imgui.ImVec2(right, at.y + STRIP_HEIGHT), color)
    imgui.dummy(imgui.ImVec2(across, STRIP_HEIGHT))


def _row(imgui: Any, name: str, value: str) -> None:
    _text(imgui, name, DIM)
    _beside(imgui, value)


def _beside(imgui: Any, text: str) -> None:
    """At the right border of the same line."""
    imgui.same_line(max(0.0, imgui.get_window_width() - imgui.calc_text_size(text).x - MARGIN))
    imgui.text_unformatted(text)


def _text(imgui: Any, text: str, color: tuple[float, float, float] | None = None) -> None:
    if color is None:
        imgui.text_unformatted(text)
    else:
        imgui.push_style_color(imgui.Col_.text.value, imgui.ImVec4(*color, 1.0))
        imgui.text_unformatted(text)
        imgui.pop_style_color()


def _style(imgui: Any) -> None:
    style = imgui.get_style()
    style.window_padding = imgui.ImVec2(MARGIN, 6)
    style.item_spacing = imgui.ImVec2(8, 2)
    style.window_border_size = 0.0
    style.set_color_(imgui.Col_.frame_bg.value, imgui.ImVec4(0.0, 0.0, 0.0, 0.0))
    for fold in (imgui.Col_.header, imgui.Col_.header_hovered, imgui.Col_.header_active):
        style.set_color_(fold.value, imgui.ImVec4(*KNOB_TINT))


class _Panel:
    """A borderless window that sizes itself, pinned at a point by its own corner or middle (pivot)."""

    def __init__(
        self,
        imgui: Any,
        panels: list[tuple[float, float, float, float]],
        name: str,
        at: tuple[float, float],
        pivot: tuple[float, float],
        width: float | None,
    ) -> None:
        self._panels = panels
        self._imgui, self._name, self._at, self._pivot, self._width = imgui, name, at, pivot, width

    def __enter__(self) -> None:
        imgui = self._imgui
        imgui.set_next_window_pos(imgui.ImVec2(*self._at), imgui.Cond_.always.value, imgui.ImVec2(*self._pivot))
        imgui.set_next_window_bg_alpha(0.0)
        if self._width is not None:
            imgui.set_next_window_size(imgui.ImVec2(self._width, 0.0))
        flags = imgui.WindowFlags_
        imgui.begin(
            self._name,
            None,
            flags.no_decoration.value
            | flags.no_move.value
            | flags.no_saved_settings.value
            | flags.no_focus_on_appearing.value
            | flags.no_nav.value
            | (flags.always_auto_resize.value if self._width is None else 0),
        )

    def __exit__(self, *_: object) -> None:
        at, size = self._imgui.get_window_pos(), self._imgui.get_window_size()
        self._panels.append((at.x, at.y, size.x, size.y))
        self._imgui.end()
