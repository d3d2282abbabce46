"""The panel of the program's live plots. Each plot is a section with its lines, and with a legend that has the newest
values.

Always: the axes cover all points of the plot that are finite. If there is not enough height for all plots, the last
ones show only their names. Lengths are in units of text size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from twixt.ipc.interaction.controls import SECTION
from twixt.ipc.interaction.overlay import Range
from twixt.ipc.interaction.plots import OverlayPlot, PlotSeries
from twixt.render.input.sliders import Knob
from twixt.render.overlay import widgets as ui
from twixt.render.overlay.widgets import PanelItem, breaks

# Largest number of controls of a section that is open at the start. More would cover the picture.
MOST_OPENED = 12
# Smallest and largest height of the lines of a plot.
LEAST_HEIGHT, MOST_HEIGHT = 46.0, 150.0
# Least height of the lines for numbers on the x axis, and least width for numbers on the y axis.
LEAST_FOR_X, LEAST_FOR_Y = 72.0, 120.0
# Free space above and below the points, as a share of their range.
MARGIN_SHARE = 0.06
LINE_WIDTH = 1.5
# Colours (red, green, blue) of the lines, in turn. They can be distinguished on a dark background, also with most
# kinds of colour blindness.
COLORS = (
    *((0.35, 0.70, 0.90), (0.90, 0.62, 0.0), (0.0, 0.75, 0.55), (0.95, 0.90, 0.25), (0.80, 0.47, 0.65)),
    *((0.90, 0.40, 0.20), (0.75, 0.75, 0.80), (0.45, 0.55, 0.95)),
)


def open_at_start(plots: Sequence[OverlayPlot], knobs: Iterable[Knob]) -> set[str]:
    """Names of the sections that are open when they are shown first: all plots, and each section of controls that is
    the default one or has sliders or buttons, unless it has more than MOST_OPENED controls. knobs: all controls."""
    found = {section_of(plot) for plot in plots}
    of_sections: dict[str, list[str]] = {}
    for knob in knobs:
        of_sections.setdefault(knob.section, []).append(knob.kind)
    for section, its in of_sections.items():
        if len(its) <= MOST_OPENED and (section == SECTION or set(its) != {"toggle"}):
            found.add(section)
    return found


def section_of(plot: OverlayPlot) -> str:
    """Name of the section of a plot. Dear ImGui shows the part before `##`."""
    return f"{_plain(plot.name)}##plot"


def plot_items(
    imgui: Any, plots: Sequence[OverlayPlot], opened: set[str], width: float, room: float
) -> list[PanelItem]:
    """Items of the panel, in a height of at most `room`. opened: names of the open sections."""
    line = imgui.get_text_line_height() + ui.SPACING
    legends = [_legend(imgui, plot, width) if section_of(plot) in opened else None for plot in plots]
    heights: list[float] = []
    for most_lines in (None, 1):  # legends are shortened to one line if the lines of a plot would not fit
        legends = [None if legend is None else legend[:most_lines] for legend in legends]
        heights = plot_heights([None if legend is None else line * len(legend) for legend in legends], line, room)
        if len(heights) == len(plots) and sum(map(bool, heights)) == len(legends) - legends.count(None):
            break
    items: list[PanelItem] = []
    for plot, legend, height in zip(plots, legends, heights, strict=False):
        items.append(PanelItem(0, line, partial(_heading, imgui, plot, opened)))
        if legend is None or not height:
            continue
        items += [PanelItem(0, line, partial(_words, imgui, words)) for words in legend]
        items.append(PanelItem(0, height + ui.SPACING, partial(_lines, imgui, plot, width, height)))
    return items


def plot_heights(legends: Sequence[float | None], line: float, room: float) -> list[float]:
    """Height of the lines of each plot; 0 for a plot that shows only its name. Plots whose names do not fit are left
    out. legends: height of each plot's legend; None for a plot whose section is closed. line: height of a name."""
    shown = list(legends[: max(0, int(room // line))])
    left = room - line * len(shown)
    kept = [at for at, legend in enumerate(shown) if legend is not None]
    while kept and sum(shown[at] or 0.0 for at in kept) + (LEAST_HEIGHT + ui.SPACING) * len(kept) > left:
        kept.pop()
    each = (left - sum(shown[at] or 0.0 for at in kept)) / len(kept) - ui.SPACING if kept else 0.0
    return [min(each, MOST_HEIGHT) if at in kept else 0.0 for at in range(len(shown))]


def shown_range(values: Sequence[Any], margin_share: float = 0.0) -> Range:
    """Range of all values that are finite, widened by `margin_share` at each end. values: arrays of shape (n,)."""
    found = [(np.fmin.reduce(each), np.fmax.reduce(each)) for each in values if len(each)]
    ends = [end for pair in found for end in map(float, pair) if np.isfinite(end)]
    if not ends:
        return 0.0, 1.0
    low, high = min(ends), max(ends)
    # A smaller range is widened. So is the range of values that are all equal.
    least = 1e-6 * max(abs(low), abs(high), 1e-6)
    if high - low <= least:
        return low - max(least, 0.5), high + max(least, 0.5)
    return low - margin_share * (high - low), high + margin_share * (high - low)


def _heading(imgui: Any, plot: OverlayPlot, opened: set[str]) -> None:
    ui.section(imgui, section_of(plot), opened)
    if len(plot.series) == 1 and not plot.series[0].name:
        ui.beside(imgui, _newest(plot.series[0]))


# A word of a legend: its text and its colour.
Word = tuple[str, ui.Color]


def _legend(imgui: Any, plot: OverlayPlot, width: float) -> list[list[Word]]:
    """Lines of the legend."""
    words = [
        (f"{_plain(series.name)} {_newest(series)}", _color(number))
        for number, series in enumerate(plot.series)
        if series.name
    ]

    def width_of(text: str) -> float:
        return ui.width_of(imgui, text)

    words = [(ui.shortened(text, width, width_of), color) for text, color in words]
    lines: list[list[Word]] = []
    for word, is_first in zip(words, breaks((width_of(text) for text, _ in words), ui.GAP, width), strict=True):
        if is_first:
            lines.append([])
        lines[-1].append(word)
    return lines


def _words(imgui: Any, words: Sequence[Word]) -> None:
    for number, (text, color) in enumerate(words):
        if number:
            imgui.same_line()
        ui.text(imgui, text, color)


def _lines(imgui: Any, plot: OverlayPlot, width: float, height: float) -> None:
    from twixt.render.overlay.imgui_context import implot

    no_labels = implot.AxisFlags_.no_tick_labels.value
    flags = implot.Flags_.canvas_only.value | implot.Flags_.no_inputs.value
    if not implot.begin_plot(f"##{plot.name}", imgui.ImVec2(width, height), flags):
        return
    x_flags, y_flags = 0 if height >= LEAST_FOR_X else no_labels, 0 if width >= LEAST_FOR_Y else no_labels
    implot.setup_axes("", "", x_flags, y_flags)
    left, right = shown_range([series.xs for series in plot.series])
    low, high = shown_range([series.ys for series in plot.series], MARGIN_SHARE)
    implot.setup_axes_limits(left, right, low, high, implot.Cond_.always.value)
    for number, series in enumerate(plot.series):
        if len(series.xs):
            spec = implot.Spec(line_color=imgui.ImVec4(*_color(number), 1.0), line_weight=LINE_WIDTH)
            implot.plot_line(f"##{number}", series.xs, series.ys, spec)
    implot.end_plot()


def _color(number: int) -> ui.Color:
    return COLORS[number % len(COLORS)]


def _newest(series: PlotSeries) -> str:
    return f"{series.ys[-1]:.4g}" if len(series.ys) else ""


def _plain(name: str) -> str:
    return name.replace("##", "# ")
