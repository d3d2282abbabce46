"""Frames a second against bodies, both on logarithmic scales: each shape as the viewer draws it, and the least of it.

Readable at 800 px. Needs matplotlib, imported when a plot is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable

from twixt.ipc.bench import Row
from twixt.render.bench.live import EMPTY, fps_of
from twixt.render.measure.figure import FONT_PT, INK, RULE, new_figure, save

WIDTH_IN, HEIGHT_IN = 8.0, 4.5

COLORS = {"sphere": "#2a78c2", "box": "#d62728", "capsule": "#2ca02c", "cylinder": "#9467bd", "ellipsoid": "#e8a317"}
GREY = "#999999"


def draw(rows: Iterable[Row], path: str) -> None:
    """Saves the plot; shapes that were not measured are not in it. Raises TwixtError."""
    ours: dict[str, list[tuple[int, float]]] = {}
    least: dict[str, list[tuple[int, float]]] = {}
    empty: list[tuple[int, float]] = []
    for row in rows:
        found = fps_of(row.name)
        if found is None or row.figure is None or row.limit is None:
            continue
        shape, count = found
        if row.limit_name == EMPTY:
            empty.append((count, row.limit))
        else:
            ours.setdefault(shape, []).append((count, row.figure))
            least.setdefault(shape, []).append((count, row.limit))
    figure, (axes,) = new_figure(WIDTH_IN, HEIGHT_IN)
    for shape, points in ours.items():
        color = COLORS.get(shape, INK)
        axes.plot(*zip(*points, strict=True), "-o", color=color, markersize=4, label=shape)
        axes.plot(*zip(*least[shape], strict=True), "--", color=color, linewidth=1)
    axes.plot([], [], "--", color=GREY, linewidth=1, label="the least of the same")
    if empty:
        axes.plot(*zip(*empty, strict=True), ":", color=GREY, label=EMPTY)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("bodies", fontsize=FONT_PT, color=INK)
    axes.set_ylabel("frames a second", fontsize=FONT_PT, color=INK)
    axes.grid(color=RULE, linewidth=0.6)
    axes.legend(fontsize=FONT_PT - 1, frameon=False, loc="lower left")
    save(figure, path)
