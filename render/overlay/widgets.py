"""Draws the widgets of the overlay's panels: text, rows, curves, sections and sliders. Also chooses the items that
fit. Users can open and close a section.

A panel is a list of items with known heights and ranks. If not all items fit, the items of the highest rank are left
out. So a small window shows fewer items, and no item covers another.

Lengths are in units of text size. If a text does not fit into a line, it is shortened and ends in dots. The choice of
items and of line breaks is pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.render.input.sliders import Knob, Turn
from twixt.render.measure.amounts import time_text
from twixt.render.overlay.panel_state import REMEMBERED


class PanelItem(NamedTuple):
    """Item that takes the whole width of a panel. rank: number that decides which items are left out. Items of the
    highest rank are left out first."""

    rank: int
    height: float
    draw: Callable[[], None]


def fitting(items: Sequence[PanelItem], most_height: float) -> list[PanelItem]:
    """Items that fit into the height `most_height`, in their order. Among items of equal rank, the last item is left
    out first."""
    kept = list(items)
    while kept and sum(item.height for item in kept) > most_height:
        highest = max(item.rank for item in kept)
        kept.pop(max(at for at, item in enumerate(kept) if item.rank == highest))
    return kept


def breaks(widths: Iterable[float], gap: float, most_width: float) -> list[bool]:
    """For each word, True if the word begins a new line. Lines are at most `most_width` wide. gap: space between
    words."""
    begins: list[bool] = []
    line = 0.0
    for width in widths:
        begins.append(not begins or line + gap + width > most_width)
        line = width if begins[-1] else line + gap + width
    return begins


def shortened(text: str, most_width: float, width_of: Callable[[str], float]) -> str:
    """Returns the text if it is not wider than `most_width`. Else returns the longest beginning of the text that fits,
    followed by dots."""
    if width_of(text) <= most_width:
        return text
    length = len(text)
    while length and width_of(text[:length].rstrip() + "..") > most_width:
        length -= 1
    return text[:length].rstrip() + ".." if length else ""


MARGIN = 8.0
PADDING = 6.0  # space in a panel above and below its content
SPACING = 2.0  # space between the lines of a panel
GAP = 8.0  # space between words in a line
PLOT_HEIGHT = 44.0
STRIP_HEIGHT = 10.0
TICK_HEIGHT = 4.0  # height of the tick of a frame with events, on the strip
# Distance between a panel's left edge and its sliders.
KNOB_NAME_WIDTH = 84.0
KNOB_GAP = 4.0
KNOB_TINT, GRAB_TINT = (0.22, 0.27, 0.36, 0.75), (0.31, 0.47, 0.74, 0.85)
# Width by which Dear ImGui indents a section's triangle.
FOLD_INDENT = 7.0
# Largest share of a row's width that its value may take. The rest is for the name, so that the name remains readable.
VALUE_SHARE = 0.7
# Colours (red, green, blue, each 0 to 1). MODE_COLORS has the colours of the MODES, in the same order. The others are
# colours of text.
MODE_COLORS = ((0.29, 0.73, 0.60), (0.95, 0.70, 0.25), (0.90, 0.33, 0.55), (0.35, 0.37, 0.40))
PLAIN = (1.0, 1.0, 1.0)
DIM = (0.62, 0.66, 0.72)
WARNING = (0.98, 0.76, 0.35)
TARGET_LINE = (1.0, 1.0, 1.0, 0.35)

Color = tuple[float, float, float]


def style(imgui: Any) -> None:
    """Sets the style of all panels in the current context. Call this before each layout."""
    its = imgui.get_style()
    its.window_padding = imgui.ImVec2(MARGIN, PADDING)
    its.item_spacing = imgui.ImVec2(GAP, SPACING)
    its.window_border_size = 0.0
    its.window_min_size = imgui.ImVec2(1, 1)
    its.set_color_(imgui.Col_.frame_bg.value, imgui.ImVec4(0.0, 0.0, 0.0, 0.0))
    for fold_color in (imgui.Col_.header, imgui.Col_.header_hovered, imgui.Col_.header_active):
        its.set_color_(fold_color.value, imgui.ImVec4(*KNOB_TINT))


def width_of(imgui: Any, text: str) -> float:
    return float(imgui.calc_text_size(text).x)


def wrapped_height(imgui: Any, text: str, width: float) -> float:
    """Height of the text in lines of at most `width`, including the space below the text."""
    return float(imgui.calc_text_size(text, wrap_width=width).y) + SPACING


def text(imgui: Any, words: str, color: Color | None = None) -> None:
    """Draws text in one line."""
    if color is not None:
        imgui.push_style_color(imgui.Col_.text.value, imgui.ImVec4(*color, 1.0))
    imgui.text_unformatted(words)
    if color is not None:
        imgui.pop_style_color()


def wrapped(imgui: Any, words: str, width: float, color: Color | None = None) -> None:
    """Draws text in lines of at most `width`."""
    imgui.push_text_wrap_pos(imgui.get_cursor_pos_x() + width)
    text(imgui, words, color)
    imgui.pop_text_wrap_pos()


def beside(imgui: Any, words: str) -> None:
    """Draws text at the right border of the current line."""
    imgui.same_line(max(0.0, imgui.get_window_width() - width_of(imgui, words) - MARGIN))
    imgui.text_unformatted(words)


def row(imgui: Any, name: str, value: str) -> None:
    """Draws a name at the left and its value at the right border."""
    across = imgui.get_content_region_avail().x

    def width(words: str) -> float:
        return width_of(imgui, words)

    value = shortened(value, across if not name else VALUE_SHARE * across, width)
    text(imgui, shortened(name, across - width(value) - GAP, width), DIM)
    beside(imgui, value)


def fitting_text(imgui: Any, variants: Sequence[str], color: Color | None = None) -> None:
    """Draws the first of the variants that fits into the line. If no variant fits, draws the last variant,
    shortened."""
    across = imgui.get_content_region_avail().x
    chosen = next((variant for variant in variants if width_of(imgui, variant) <= across), variants[-1])
    text(imgui, shortened(chosen, across, lambda item: width_of(imgui, item)), color)


def section(imgui: Any, name: str, opened: set[str], folded: str = "") -> None:
    """Draws the heading of a section. A click on the heading opens or closes the section. opened: names of the open
    sections, which this function updates. folded: text beside the heading while the section is closed."""
    flags = imgui.TreeNodeFlags_
    imgui.set_cursor_pos_x(imgui.get_cursor_pos_x() - FOLD_INDENT)
    imgui.set_next_item_open(name in opened)
    is_open = imgui.tree_node_ex(name, flags.no_tree_push_on_open.value | flags.span_avail_width.value)
    (opened.add if is_open else opened.discard)(name)
    if folded and not is_open:
        imgui.same_line()
        fitting_text(imgui, [folded], WARNING)


def knob(imgui: Any, name: str, of: Knob, figures: tuple[float, ...], turned: list[Turn]) -> None:
    """Draws a row of sliders, one slider for each figure. If the user has moved a slider, it is added to the list
    `turned`."""
    imgui.align_text_to_frame_padding()
    text(imgui, of.name, DIM)
    imgui.same_line(KNOB_NAME_WIDTH)
    no_typing = imgui.SliderFlags_.no_input.value  # the overlay receives no keys
    imgui.push_style_color(imgui.Col_.frame_bg.value, imgui.ImVec4(*KNOB_TINT))
    imgui.push_style_color(imgui.Col_.slider_grab.value, imgui.ImVec4(*GRAB_TINT))
    count = len(of.sliders)
    across = (imgui.get_content_region_avail().x - (count - 1) * KNOB_GAP) / count
    for number, (slider, figure) in enumerate(zip(of.sliders, figures, strict=True)):
        if number:
            imgui.same_line(0, KNOB_GAP)
        imgui.set_next_item_width(across)
        shown = "as measured" if name == "buffer" and not figure else slider.shown
        moved, value = imgui.slider_float(f"##{name}{number}", figure, slider.low, slider.high, shown, no_typing)
        released = imgui.is_item_deactivated_after_edit()
        if moved or released:
            turned.append(Turn(name, number, value, released))
    imgui.pop_style_color(2)


def control(imgui: Any, name: str, of: Knob, figure: float, turned: list[Turn]) -> None:
    """Draws a control of the world, of any kind. If the user has moved or pressed the control, it is added to the list
    `turned`."""
    if of.kind == "slider":
        knob(imgui, name, of, (figure,), turned)
    elif of.kind == "toggle":
        imgui.push_style_color(imgui.Col_.frame_bg.value, imgui.ImVec4(*KNOB_TINT))
        changed, is_on = imgui.checkbox(f"{of.name}##{name}", figure != 0)
        imgui.pop_style_color()
        if changed:
            turned.append(Turn(name, 0, float(is_on), True))
    elif imgui.small_button(f"{of.name}##{name}"):
        turned.append(Turn(name, 0, 1.0, True))


def plot(imgui: Any, name: str, captions: Sequence[str], figures_ms: Any, line_ms: float | None) -> None:
    """Draws a curve of the last REMEMBERED figures, with the newest figure at the right. Also draws a reference line
    at `line_ms`. captions: variants of the text above the curve, the longest first.

    The vertical axis begins at 0 ms. If `line_ms` is None, no line is drawn.
    """
    # Each point is the larger of two figures. This halves the number of points and keeps every peak.
    points = np.asarray(figures_ms[len(figures_ms) % 2 :], np.float32).reshape(-1, 2).max(axis=1)
    top_ms = max(2 * (line_ms or 0.0), 1.15 * float(points.max(initial=0)), 0.1)
    fitting_text(imgui, captions, DIM)
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


def captions(name: str, figures_ms: NDArray[np.float32], line_name: str, line_ms: float | None) -> list[str]:
    """Variants of the text above a curve: the newest figure, and the reference line if there is one."""
    newest = time_text(float(figures_ms[-1])) if len(figures_ms) else "-"
    line = [f"{name} {newest}, {line_name} {time_text(line_ms)}"] if line_ms else []
    return [*line, f"{name} {newest}", newest]


def publish_captions(intervals_ms: NDArray[np.float32]) -> list[str]:
    """Variants of the text above the curve of intervals between publishes: their mean and their 99th percentile."""
    if not len(intervals_ms):
        return ["fewer than two publishes", "-"]
    mean, most = time_text(float(intervals_ms.mean())), time_text(float(np.percentile(intervals_ms, 99)))
    return [f"publish interval {mean}, p99 {most}", f"publish interval {mean}", mean]


def strip(imgui: Any, modes: Any, events: Any) -> None:
    """Draws a coloured cell for each frame. The cells are aligned with the plot above. Consecutive frames with the
    same mode are drawn as one rectangle.

    modes: modes of the frames as indices into MODES, oldest first. events: mask of the frames with events; each of them
    has a white tick at the lower border.
    """
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
    color = imgui.get_color_u32(imgui.ImVec4(*PLAIN, 1.0))
    edges = np.flatnonzero(np.diff(events, prepend=False, append=False))
    for begin, stop in edges.reshape(-1, 2).tolist():
        left, right = at.x + (first + begin) * cell, at.x + (first + stop) * cell
        top = at.y + STRIP_HEIGHT - TICK_HEIGHT
        draw_list.add_rect_filled(imgui.ImVec2(left, top), imgui.ImVec2(right, at.y + STRIP_HEIGHT), color)
    imgui.dummy(imgui.ImVec2(across, STRIP_HEIGHT))


class PinnedPanel:
    """Window without a border, at a fixed position. It is at most `most_height` high. If its content is higher, the
    user scrolls with the wheel.

    at: position in the window at which the point `pivot` of the panel is placed. pivot: this point, in shares of the
    panel's width and height, 0 to 1. width: width of the panel. If it is None, the width of the content is used.
    panels: list to which the panel's rectangle is added. appearing: list to which the panel's name is added in the
    first layout. Then the panel's size is unknown, and Dear ImGui does not draw the panel.
    """

    def __init__(
        self,
        imgui: Any,
        panels: list[tuple[float, float, float, float]],
        appearing: list[str],
        name: str,
        at: tuple[float, float],
        pivot: tuple[float, float],
        width: float | None,
        most_height: float,
    ) -> None:
        self._panels, self._appearing, self._most_height = panels, appearing, max(1.0, most_height)
        self._imgui, self._name, self._at, self._pivot, self._width = imgui, name, at, pivot, width

    def __enter__(self) -> None:
        imgui = self._imgui
        imgui.set_next_window_pos(imgui.ImVec2(*self._at), imgui.Cond_.always.value, imgui.ImVec2(*self._pivot))
        imgui.set_next_window_bg_alpha(0.0)
        least, most = (0.0, float("inf")) if self._width is None else (self._width, self._width)
        imgui.set_next_window_size_constraints(imgui.ImVec2(least, 0.0), imgui.ImVec2(most, self._most_height))
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
        if self._imgui.is_window_appearing():
            self._appearing.append(self._name)
        else:
            self._panels.append((at.x, at.y, size.x, size.y))
        self._imgui.end()
