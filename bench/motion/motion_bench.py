"""Measures the errors of each interpolation method, relative to true motion, for each world under each trouble:
`python -m bench motion`.

The figures depend only on the clock and the methods, and not on the speed of the machine. For this, worlds are
recorded, the arrivals of snapshots come from a trace, and the display is a grid of instants.

Always: the tables, the JSON document and the page in docs/ have the same figures. Only the JSON document has all of them.
This module runs no process and reads no clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import twixt
from bench.clock.traces import Arrival
from bench.motion.drawn_motion import (
    FPS,
    SECONDS,
    TROUBLES,
    DrawnFrames,
    MotionFigures,
    MotionReplay,
    TroubleTrace,
    motion_figures,
)
from bench.motion.recordings import PICTURED, Recording, Subject, subjects
from bench.pages import Block, Results, Table, TableColumn
from twixt.cli.progress import Say, progress
from twixt.ipc.errors import TwixtError
from twixt.render.interpolation import METHODS, create
from twixt.render.measure.plots import FONT_PT, INK, empty_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METHOD = TableColumn("method", lambda row: row.method)
WIDTH_IN, HEIGHT_IN = 8.0, 4.6  # 800 px
PICTURED_METHODS = ("none", "linear", "catmull", "hermite", "auto")
TROUBLE = "ahead 10 Hz"
# Two intervals in the picture, in simulated seconds. BOUNCE_S is around one impact of the bouncing ball. ROUND_S is
# one turn on the circle.
BOUNCE_S, ROUND_S = (4.6, 5.0), (3.4, 4.4)
# Visible depth of the floor, in metres.
BELOW_M = 0.1
TRUE, DRAWN, KNOWN, FLOOR = "#9fd3b0", "#2a78c2", "#d62728", "#dddddd"
SCHEMA = "twixt-bench-motion-1"
QUICK_SECONDS, QUICK_WORLDS, QUICK_TROUBLES = 4.0, 1, 2


def as_text(value: float) -> str:
    """Text of a figure. It has three digits, and at most two decimals. It is "-" if nothing could be compared."""
    if value != value:
        return "-"
    return f"{value:.0f}" if abs(value) >= 99.5 else f"{value:.1f}" if abs(value) >= 9.95 else f"{value:.2f}"


def _figure(name: str, unit: str, statistic: str, key: str) -> TableColumn:
    """Column of the table for one field of `MotionFigures`. The title of the column is narrow in a terminal."""
    narrow = name.replace(" ", "\n") + f"\n{unit} {statistic}"
    return TableColumn(f"{name} {unit} {statistic}", lambda row: getattr(row.figures, key), as_text, narrow)


FIGURES = (
    _figure("position", "mm", "p50", "position_p50_mm"),
    _figure("position", "mm", "p99", "position_p99_mm"),
    _figure("position", "mm", "max", "position_max_mm"),
    _figure("rotation", "deg", "p99", "rotation_p99_deg"),
    _figure("overshoot", "mm", "max", "overshoot_max_mm"),
    _figure("off path", "mm", "max", "off_path_max_mm"),
    _figure("jump", "mm", "p99", "jump_p99_mm"),
    _figure("age", "ms", "mean", "age_mean_ms"),
)


class SummaryColumn(NamedTuple):
    """A column of the page's summary: one figure of one world under one trouble."""

    title: str
    world: str
    trouble: str
    key: str


# What the user asks about a method, each with the case that shows it best.
SUMMARY = (
    SummaryColumn("smooth curve: position p50, mm", "circles", "ahead 10 Hz", "position_p50_mm"),
    SummaryColumn("jerk: jump p99, mm", "circles", "ahead 10 Hz", "jump_p99_mm"),
    SummaryColumn("impact: position max, mm", "circles", "ahead 10 Hz", "position_max_mm"),
    SummaryColumn("through things: overshoot max, mm", "balls", "ahead 10 Hz", "overshoot_max_mm"),
    SummaryColumn("fast turns: rotation p99, degrees", "spinners", "20 Hz, 4 ms jitter", "rotation_p99_deg"),
    SummaryColumn("teleports: off path max, mm", "teleporters", "net 30 Hz", "off_path_max_mm"),
    SummaryColumn("stall: position max, mm", "circles", "stall 500 ms every 5 s", "position_max_mm"),
    SummaryColumn("stall: age mean, ms", "circles", "stall 500 ms every 5 s", "age_mean_ms"),
)


class PageTable(NamedTuple):
    """A table of the page: one line for each world and trouble, and one column for each method."""

    title: str
    about: str
    keys: Sequence[str]


PAGE_TABLES = (
    PageTable("Position error", "Each cell has two figures in mm: p50 / p99.", ("position_p50_mm", "position_p99_mm")),
    PageTable(
        "Rotation error",
        "Each figure is the p99 in degrees. The table leaves out the cases in which the p99 of every method is 0.00 degrees.",
        ("rotation_p99_deg",),
    ),
    PageTable(
        "Overshoot",
        "Each figure is the maximum in mm. The table leaves out the cases in which the overshoot of every method is 0.00 mm.",
        ("overshoot_max_mm",),
    ),
    PageTable(
        "Off path",
        "Each figure is the maximum in mm. The table leaves out the worlds in which no body is spawned, removed or teleported.",
        ("off_path_max_mm",),
    ),
)
# Texts of figures that show no error.
NO_ERROR = ("-", "0.00")


def tables(results: Sequence[Result]) -> list[Block]:
    """One table per world and trouble, 80 characters wide in a terminal."""
    return [
        Table((METHOD, *FIGURES), list(rows), f"{world}: {trouble}")
        for (world, trouble), rows in groupby(results, key=lambda result: (result.world, result.trouble))
    ]


def page(what: Size, results: Sequence[Result]) -> Iterator[Block]:
    yield "## Summary"
    yield "Each line has one method, and each column has one case. Smaller figures are better."
    yield _summary(results)
    yield "## All cases"
    yield f"Each case is {what.seconds:g} s long. The seed of the random numbers is {what.seed}."
    for table in PAGE_TABLES:
        lines = list(_lines(results, table.keys))
        if lines:
            yield f"### {table.title}"
            yield table.about
            yield _by_method(lines, ("world", "trouble"))
    yield "### Age"
    yield "Each figure is the mean age in ms, from the world in which this mean is largest for the trouble and the method."
    yield _by_method(_ages(results), ("trouble",))


def _summary(results: Sequence[Result]) -> Table:
    found = {(row.world, row.trouble, row.method): row.figures for row in results}
    methods = list(dict.fromkeys(row.method for row in results))

    def column(shown: SummaryColumn) -> TableColumn:
        return TableColumn(
            shown.title, lambda method: getattr(found[shown.world, shown.trouble, method], shown.key), as_text
        )

    shown = [each for each in SUMMARY if (each.world, each.trouble, methods[0]) in found]
    return Table([TableColumn("method", str), *map(column, shown)], methods)


class _Line(NamedTuple):
    """A line of a table with one column for each method. begin: first cells. cells: text of each method."""

    begin: Sequence[str]
    cells: Mapping[str, str]


def _lines(results: Sequence[Result], keys: Sequence[str]) -> Iterator[_Line]:
    """Lines of a table, without the lines in which no method has an error."""
    for (world, trouble), rows in groupby(results, key=lambda row: (row.world, row.trouble)):
        cells = {row.method: [as_text(getattr(row.figures, key)) for key in keys] for row in rows}
        if any(text not in NO_ERROR for texts in cells.values() for text in texts):
            yield _Line((world, trouble), {method: " / ".join(texts) for method, texts in cells.items()})


def _ages(results: Sequence[Result]) -> list[_Line]:
    ages: dict[str, dict[str, float]] = {}
    for row in results:
        of_trouble = ages.setdefault(row.trouble, {})
        of_trouble[row.method] = max(row.figures.age_mean_ms, of_trouble.get(row.method, -np.inf))
    return [_Line((trouble,), {method: as_text(ms) for method, ms in of.items()}) for trouble, of in ages.items()]


def _by_method(lines: Sequence[_Line], titles: Sequence[str]) -> Table:
    def first(i: int) -> TableColumn:
        return TableColumn(titles[i], lambda line: line.begin[i])

    def cell(method: str) -> TableColumn:
        return TableColumn(method, lambda line: line.cells[method], right=True)

    return Table([*map(first, range(len(titles))), *map(cell, lines[0].cells)], lines)


def picture(recorded: Recording, path: str, seed: int = 0) -> None:
    """Saves the picture at `path`. Raises TwixtError if it cannot be saved.

    recorded: body 0 bounces in the xz plane, body 1 moves on a circle in the xy plane.
    """
    figure = empty_figure(WIDTH_IN, HEIGHT_IN)
    replay = MotionReplay(recorded)
    axes = figure.subplots(2, len(PICTURED_METHODS))
    for column, method in enumerate(PICTURED_METHODS):
        upper, lower = axes[:, column]
        upper.axhspan(-1.0, 0.0, color=FLOOR, linewidth=0)
        upper.set_title(method, fontsize=FONT_PT + 2, color=INK)
        rows = replay.rows(TROUBLES[TROUBLE].trace(seed, SECONDS))
        highest_m = _draw(upper, replay, rows, replay.show(rows, method, seed), 0, 2, BOUNCE_S)
        _draw(lower, replay, rows, replay.show(rows, method, seed), 1, 1, ROUND_S)
        upper.set_ylim(-BELOW_M, highest_m + BELOW_M)
        lower.set_aspect("equal")
    for one, name in zip(axes[:, 0], ("a bounce", "a circle"), strict=True):
        one.set_ylabel(name, fontsize=FONT_PT, color=INK)
    handles = axes[0][0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, fontsize=FONT_PT, frameon=False)
    save(figure, path)


def _draw(
    axes: Axes, replay: MotionReplay, rows: Sequence[Arrival], shown: DrawnFrames, body: int, up: int,
    span_s: tuple[float, float],
) -> float:  # fmt: skip
    """Draws the paths of a body in the plane of the x axis and of axis `up`. Returns the largest true coordinate of
    the body on axis `up`, in metres."""
    truth, (begin_ns, end_ns) = replay.truth, (round(second * 1e9) for second in span_s)

    def path(times_ns: NDArray[np.int64], positions: NDArray[np.floating]) -> NDArray[np.floating]:
        within = (times_ns >= begin_ns) & (times_ns <= end_ns)
        return positions[within, body][:, (0, up)]

    true, sim_ns = path(truth.times_ns, truth.states.position), np.array([row.sim_ns for row in rows])
    axes.plot(*true.T, color=TRUE, linewidth=3, label="the true path")
    snapshots = path(sim_ns, truth.at(sim_ns).position)
    axes.plot(*snapshots.T, "o", color="none", markeredgecolor=KNOWN, markersize=8, label="a snapshot")
    drawn = path(shown.asked_ns, shown.places.position)
    axes.plot(*drawn.T, "-o", color=DRAWN, linewidth=0.6, markersize=2.6, label="drawn, one dot a frame")
    axes.tick_params(left=False, bottom=False, labelleft=False, labelbottom=False)
    axes.spines[:].set_visible(False)
    return float(true[:, 1].max())


class Result(NamedTuple):
    """One line of the table, for one world, trouble and interpolation method."""

    world: str
    trouble: str
    method: str
    figures: MotionFigures


class Size(NamedTuple):
    """Worlds, troubles and interpolation methods to measure. seconds: length of each trace in seconds."""

    worlds: Mapping[str, Subject]
    troubles: Mapping[str, TroubleTrace]
    methods: Sequence[str]
    seconds: float
    seed: int


def size(
    worlds: Mapping[str, Subject], troubles: Sequence[str], methods: Sequence[str], seed: int, quick: bool
) -> Size:
    """`Size` for the options of a command. If an option has no names, all names are used. Raises TwixtError for an
    unknown name."""
    for name in troubles:
        if name not in TROUBLES:
            raise TwixtError(f"--trouble must be one of: {'; '.join(TROUBLES)}; got {name!r}")
    chosen = {name: TROUBLES[name] for name in troubles or TROUBLES}
    for name in methods:
        create(name)  # raises TwixtError for an unknown name
    if quick:
        worlds, chosen = dict([*worlds.items()][:QUICK_WORLDS]), dict([*chosen.items()][:QUICK_TROUBLES])
    return Size(worlds, chosen, methods or tuple(METHODS), QUICK_SECONDS if quick else SECONDS, seed)


def run(
    results: Results, worlds: Sequence[str], troubles: Sequence[str], methods: Sequence[str], seed: int, quick: bool
) -> int:
    """Runs the command, and returns the exit code. Raises TwixtError for an unknown name."""
    return measure(size(subjects(worlds), troubles, methods, seed, quick), results)


def measure(what: Size, results: Results) -> int:
    """Measures all errors, with progress on standard error. Shows and writes the results, and returns the exit code.
    Raises TwixtError.

    The picture shows `PICTURED`, in which body 0 bounces and body 1 moves on a circle.
    """
    results.check_files()
    rows: list[Result] = []
    total = len(what.worlds) * len(what.troubles) * len(what.methods)
    with progress() as say:
        for row in measured(what, lambda doing: say(f"{doing} ({len(rows)} of {total})")):
            rows.append(row)
    results.write(
        document(what, rows), page(what, rows), tables(rows),
        draw=lambda path: picture(PICTURED.record(SECONDS, what.seed), path),
    )  # fmt: skip
    return 0


def measured(what: Size, say: Say = str) -> Iterator[Result]:
    """Yields the results one by one. say: function that is called with a text about the next piece of work."""
    for world, subject in what.worlds.items():
        say(f"recording {world}")
        replay = MotionReplay(subject.record(what.seconds, what.seed))
        for trouble, (_, trace) in what.troubles.items():
            rows = replay.rows(trace(what.seed, what.seconds))
            for method in what.methods:
                say(f"{world}, {trouble}, {method}")
                shown = replay.show(rows, method, what.seed)
                yield Result(world, trouble, method, motion_figures(replay.truth, shown, rows))


def document(what: Size, results: Sequence[Result]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": twixt.__version__,
        "conditions": {"seconds": what.seconds, "fps": FPS, "seed": what.seed, "clock": "auto"},
        "worlds": {name: subject.about for name, subject in what.worlds.items()},
        "troubles": {name: trouble.about for name, trouble in what.troubles.items()},
        "rows": [result._asdict() | {"figures": asdict(result.figures)} for result in results],
    }
