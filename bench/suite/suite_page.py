"""Rows of the benchmark in a terminal and on its page, `docs/bench.md`; and its picture.

The picture: frames a second against bodies, both on logarithmic scales: each shape as the viewer draws it, and its lean
draw. Readable at 800 px. matplotlib is imported when a picture is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bench.costs.live import EMPTY, fps_of
from bench.pages import PAGE, TERMINAL, Notes, Part, Table, TableColumn
from bench.rows import Row, holds
from bench.suite.earlier_run import EarlierFigure, RowKey, change
from twixt.render.measure.report.plots import FONT_PT, INK, RULE, new_figure, save

WIDTH_IN, HEIGHT_IN = 8.0, 4.5
COLORS = {"sphere": "#2a78c2", "box": "#d62728", "capsule": "#2ca02c", "cylinder": "#9467bd", "ellipsoid": "#e8a317"}
GREY = "#999999"


def page(groups: dict[str, list[Row]], where: dict[str, Any]) -> Iterator[Part]:
    """Figures of docs/bench.md."""
    for group, rows in groups.items():
        yield f"## {group}"
        yield from group_parts(group, rows)
    yield "## Conditions"
    yield Notes(condition_lines(where))


def group_parts(group: str, rows: Sequence[Row], earlier: dict[RowKey, EarlierFigure] | None = None) -> list[Part]:
    """Table of a group's rows, with their change against an `earlier` run where there is one; then their notes."""
    columns = [
        TableColumn("figure", lambda row: row.name, in_terminal=group, wraps=True),
        TableColumn("is", lambda row: row.figure, as_text),
        TableColumn("limit", lambda row: row.limit, as_text, where=PAGE),
        TableColumn("unit", lambda row: row.unit, in_terminal=""),
        TableColumn("ratio", lambda row: row.ratio, as_text),
        TableColumn("wanted", bar_text),
        TableColumn("the limit is", lambda row: row.limit_name, where=PAGE),
        TableColumn("limit", lambda row: f"{as_text(row.limit)} {row.limit_name}", where=TERMINAL, wraps=True),
    ]
    if earlier is not None:
        columns.insert(5, TableColumn("before", lambda row: change_text(row, earlier), where=TERMINAL))
    return [Table(columns, rows), Notes([f"{row.name}: {row.note}" for row in rows if row.note])]


def condition_lines(where: dict[str, Any]) -> list[str]:
    """The conditions in words, one a line."""
    plain = [f"{name.replace('_', ' ')} {value}" for name, value in where.items() if name != "others_had_cores"]
    lines = ["medians, taken in turns; " + ", ".join(plain)]
    cores = where.get("others_had_cores")
    if cores:
        shares = ", ".join(f"{group} {share:.2f}" for group, share in cores.items())
        lines.append(f"other programs meanwhile had so many cores: {shares}")
    return lines


def bar_text(row: Row) -> str:
    """The row's bar, and ok or MISSED. A ratio has an x, an excess over the limit a +."""
    if not row.bar:
        return ""
    what, sign, value = row.bar.split()
    bar = f"{sign} {value}x" if what == "ratio" else f"{sign} +{value}" if what == "over" else f"{sign} {value}"
    found = holds(row)
    return bar if found is None else f"{bar} {'ok' if found else 'MISSED'}"


def change_text(row: Row, earlier: dict[RowKey, EarlierFigure]) -> str:
    """Ratio of an earlier run, and, where the change is sure, the share by which this run is better or worse."""
    found = change(row, earlier)
    if found is None:
        return "-"
    if not found.is_sure:
        return as_text(found.before)
    return f"{as_text(found.before)} {'WORSE' if found.worse > 0 else 'better'} {abs(found.worse):.0%}"


def as_text(value: float | None) -> str:
    """Text of a figure: three digits, or a whole number from 100 on; "-" for None."""
    return "-" if value is None else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


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
