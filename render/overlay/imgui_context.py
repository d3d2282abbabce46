"""Makes Dear ImGui contexts. Also draws the program's labels and figures, with Dear ImGui.

Labels, figures and panels each have their own context, because they change at different rates. Labels follow the
bodies in every frame, but panels are laid out only ten times a second.

Always: the functions of this module restore OpenGL's state, but they may change the current ImGui context. Import this
module late, because it loads imgui-bundle.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from twixt.ipc.interaction.overlay import OverlayFigure, Range
from twixt.render.display import glfw_library
from twixt.render.draw.flat.rectangles import TINT
from twixt.render.scene.labels import COLUMN_GAP, PlacedLabel

PACKAGE, NATIVE = "imgui_bundle", "imgui_bundle._imgui_bundle"


def _library() -> tuple[Any, Path]:
    """Returns the native module of the library (imgui-bundle), and the folder of its package. Raises
    ModuleNotFoundError if the library is not installed.

    This function does not import the package itself. The package would also load asyncio and two dozen more modules,
    which takes a quarter of the loading time. A later import of the package works as usual.
    """
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"No module named {PACKAGE!r}", name=PACKAGE)
    folders = list(found.submodule_search_locations)
    spec = importlib.machinery.PathFinder.find_spec(NATIVE, folders)
    if NATIVE not in sys.modules and spec is not None and spec.loader is not None:
        native = importlib.util.module_from_spec(spec)
        sys.modules[NATIVE] = native
        spec.loader.exec_module(native)
    return importlib.import_module(NATIVE), Path(folders[0])


with glfw_library.sharing():
    _native, _folder = _library()
imgui: Any = _native.imgui
implot: Any = _native.implot

FONT_PX = 15.0
# Colour of the shadow of each text. The shadow is shifted by one unit of text size. It makes the text readable over
# any picture.
SHADE = (0, 0, 0, 190)
# Vector from a label's position to its text, in units of text size.
LABEL_OFFSET = (6.0, -7.0)


def new_context() -> Any:
    """Makes an ImGui context with the overlay's font, and makes it the current one. ImGui then draws with the OpenGL
    3.3 context that is current now."""
    context = imgui.create_context()
    imgui.set_current_context(context)
    io = imgui.get_io()
    io.set_ini_filename("")
    io.set_log_filename("")
    font = _folder / "assets" / "fonts" / "Roboto" / "Roboto-Regular.ttf"
    if font.is_file():
        io.fonts.add_font_from_file_ttf(str(font), FONT_PX)
    imgui.style_colors_dark()
    imgui.backends.opengl3_init("#version 330")
    return context


def new_plot_context() -> Any:
    """Makes a context of ImPlot with the overlay's style, and makes it the current one. An ImGui context must be
    current."""
    context = implot.create_context()
    style = implot.get_style()
    style.plot_min_size = imgui.ImVec2(10, 10)
    style.plot_padding = imgui.ImVec2(6, 4)
    style.label_padding = imgui.ImVec2(3, 2)
    return context


def begin(size_px: tuple[int, int], scale: float, elapsed_s: float = 0.1) -> None:
    """Begins a layout in the current ImGui context, for a framebuffer of `size_px`.

    scale: pixels per unit of text size. elapsed_s: time since the previous layout, in seconds, greater than 0.
    """
    io = imgui.get_io()
    io.display_size = imgui.ImVec2(size_px[0] / scale, size_px[1] / scale)
    io.display_framebuffer_scale = imgui.ImVec2(scale, scale)
    io.delta_time = elapsed_s
    imgui.backends.opengl3_new_frame()
    imgui.new_frame()


def close_context(context: Any) -> None:
    """Destroys an ImGui context."""
    imgui.set_current_context(context)
    imgui.backends.opengl3_shutdown()
    imgui.destroy_context(context)


class LabelOverlay:
    """Labels over the picture. Each method, including `close`, needs a current OpenGL 3.3 context."""

    def __init__(self) -> None:
        self._context = new_context()
        self._laid_out: tuple[tuple[PlacedLabel, ...], tuple[int, int], float] | None = None

    def draw(self, labels: Iterable[PlacedLabel], size_px: tuple[int, int], scale: float = 1.0) -> None:
        """Draws the labels in order into the current framebuffer. Unchanged labels are not laid out again.

        size_px: size of the framebuffer. scale: pixels per unit of text size.
        """
        imgui.set_current_context(self._context)
        asked = tuple(labels), size_px, scale
        if asked != self._laid_out:
            self._lay_out(*asked)
            self._laid_out = asked
        imgui.backends.opengl3_render_draw_data(imgui.get_draw_data())

    def close(self) -> None:
        """Releases the ImGui context."""
        close_context(self._context)

    def _lay_out(self, labels: tuple[PlacedLabel, ...], size_px: tuple[int, int], scale: float) -> None:
        begin(size_px, scale)
        words = imgui.get_background_draw_list()
        for label in labels:
            columns = [text for text in (label.text, label.beside) if text]
            extents = [imgui.calc_text_size(text) for text in columns]
            width = (sum(extent.x for extent in extents) + COLUMN_GAP * (len(columns) - 1)) * label.size
            height = max((extent.y for extent in extents), default=0.0) * label.size
            x = label.x_px / scale + LABEL_OFFSET[0] * (1 - 2 * label.anchor[0]) - label.anchor[0] * width
            # A label of a position in the world has a picture; its middle is at the height of the position.
            above = LABEL_OFFSET[1] * (1.0 if label.within_px is None else label.size)
            y = label.y_px / scale + above - label.anchor[1] * height
            if label.within_px is not None:
                left, top, right, bottom = (length / scale for length in label.within_px)
                words.push_clip_rect(imgui.ImVec2(left, top), imgui.ImVec2(right, bottom))
            font, size = imgui.get_font(), imgui.get_font_size() * label.size
            for text, extent in zip(columns, extents, strict=True):
                for off, color in ((1, SHADE), (0, label.color)):
                    words.add_text(font, size, imgui.ImVec2(x + off, y + off), imgui.IM_COL32(*color), text)
                x += (extent.x + COLUMN_GAP) * label.size
            if label.within_px is not None:
                words.pop_clip_rect()
        imgui.render()


# Draws figures of the program, with the plots of the ImGui library.


# The elements of a figure are its title, the numbers on its axes, the label of its x axis, and its legend. An element
# is drawn only if the figure has at least the given width and height, in units of text size. For the legend, each name
# in the legend needs a height of NAME_HEIGHT more.
LEAST_FOR_TITLE, LEAST_FOR_NUMBERS, LEAST_FOR_LABEL = (60.0, 40.0), (100.0, 70.0), (100.0, 130.0)
LEAST_FOR_NAMES, NAME_HEIGHT = (150.0, 90.0), 18.0
# Free space above and below the points of a plot, as a share of the range of the points.
MARGIN_SHARE = 0.05
LINE_WIDTH, BAR_WIDTH = 1.5, 0.67
# Colours (red, green, blue) for lines that have no colour of their own. A reader can distinguish these colours on a
# dark background, also with most kinds of colour blindness.
COLORS = ((0.35, 0.70, 0.90), (0.90, 0.62, 0.0), (0.0, 0.75, 0.55), (0.95, 0.90, 0.25), (0.80, 0.47, 0.65))


class FigureOverlay:
    """Draws figures. Each method, including `close`, needs a current OpenGL 3.3 context."""

    def __init__(self) -> None:
        self._context = new_context()
        self._plots = new_plot_context()
        imgui.get_style().window_padding = imgui.ImVec2(0, 0)
        imgui.get_style().window_border_size = 0.0

    def draw(self, figure: OverlayFigure, size_px: tuple[int, int], scale: float) -> None:
        """Draws a figure over the whole current framebuffer. size_px: size of this framebuffer. scale: pixels per unit
        of text size."""
        imgui.set_current_context(self._context)
        implot.set_current_context(self._plots)
        begin(size_px, scale)
        width, height = size_px[0] / scale, size_px[1] / scale
        imgui.set_next_window_pos(imgui.ImVec2(0, 0))
        imgui.set_next_window_size(imgui.ImVec2(width, height))
        flags = imgui.WindowFlags_
        imgui.push_style_color(imgui.Col_.window_bg.value, imgui.ImVec4(*TINT))
        imgui.begin("figure", None, flags.no_decoration.value | flags.no_inputs.value | flags.no_saved_settings.value)
        _plot(figure, width, height)
        imgui.end()
        imgui.pop_style_color()
        imgui.render()
        imgui.backends.opengl3_render_draw_data(imgui.get_draw_data())

    def close(self) -> None:
        """Releases the ImGui contexts."""
        imgui.set_current_context(self._context)
        implot.destroy_context(self._plots)
        close_context(self._context)


def shown_ranges(figure: OverlayFigure) -> tuple[Range, Range]:
    """Ranges of the two axes of a figure. If the figure does not set the range of an axis, the range of the points is
    used. If the y range comes from the points, it has some extra space above and below."""
    x_range, y_range = figure.x_range, figure.y_range
    xs, ys = np.concatenate([line.points for line in figure.lines] or [np.zeros((0, 2))]).T
    if x_range is None:
        x_range = _range_of(xs, BAR_WIDTH if figure.kind == "bars" else 0.0)
    if y_range is None:
        low, high = _range_of(np.append(ys, 0.0) if figure.kind == "bars" else ys, 0.0)
        y_range = low - MARGIN_SHARE * (high - low), high + MARGIN_SHARE * (high - low)
    return x_range, y_range


def _range_of(values: Any, more: float) -> Range:
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()) - more, float(values.max()) + more
    # A range smaller than this is widened. So is the range of points that are all equal.
    least = 1e-6 * max(abs(low), abs(high), 1e-6)
    return (low, high) if high - low > least else (low - max(least, 0.5), high + max(least, 0.5))


def _plot(figure: OverlayFigure, width: float, height: float) -> None:
    def has_room(least: tuple[float, float], more: float = 0.0) -> bool:
        return width >= least[0] and height >= least[1] + more

    names = sum(bool(line.name) for line in figure.lines) if figure.has_legend else 0
    flags = implot.Flags_.no_inputs.value | implot.Flags_.no_menus.value | implot.Flags_.no_mouse_text.value
    if not names or not has_room(LEAST_FOR_NAMES, names * NAME_HEIGHT):
        flags |= implot.Flags_.no_legend.value
    title = figure.title.replace("##", "# ") if has_room(LEAST_FOR_TITLE) else ""
    if not implot.begin_plot(f"{title}##plot", imgui.ImVec2(-1, -1), flags):
        return
    axis = 0 if has_room(LEAST_FOR_NUMBERS) else implot.AxisFlags_.no_tick_labels.value
    implot.setup_axes(figure.x_label if has_room(LEAST_FOR_LABEL) else "", "", axis, axis)
    (left, right), (low, high) = shown_ranges(figure)
    implot.setup_axes_limits(left, right, low, high, implot.Cond_.always.value)
    implot.setup_legend(implot.Location_.north_west.value)
    for number, line in enumerate(figure.lines):
        red, green, blue = line.color or COLORS[number % len(COLORS)]
        color = imgui.ImVec4(red, green, blue, 1.0)
        spec = implot.Spec(line_color=color, fill_color=color, line_weight=LINE_WIDTH)
        xs, ys = np.ascontiguousarray(line.points.T)
        label = f"{line.name.replace('##', '# ')}##{number}"
        if figure.kind == "bars":
            implot.plot_bars(label, xs, ys, BAR_WIDTH, spec)
        else:
            implot.plot_line(label, xs, ys, spec)
    implot.end_plot()
