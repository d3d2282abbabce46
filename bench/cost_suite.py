"""Measures costs: groups of rows, one group after the other. Shows and writes the rows, and compares them with an
earlier run.

Rows that a group has yielded remain, even if the group fails later. A group that cannot be measured gives a row with
the reason.

Always: the table, the page and the JSON document have the same rows.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import twixt
from bench.pages import CUT_SHORT, PAGE, TERMINAL, Block, Notes, Results, Table, TableColumn, collected, show
from bench.rows import MORE_IS_BETTER, Row, not_measured, rows_of
from bench.screens import opened_window
from twixt.cli.cpu_time import CpuTime
from twixt.cli.progress import Say
from twixt.ipc.errors import FAILED, INTERRUPTED, TwixtError
from twixt.render.measure.plots import FONT_PT, INK, RULE, new_figure, save
from twixt.render.measure.report import machine

SCHEMA = "twixt-bench-2"
# UNKNOWN_NOISE is assumed for a row whose noise is not known. LEAST_NOISE is the smallest noise that is assumed when
# two runs are compared.
UNKNOWN_NOISE, LEAST_NOISE = 0.10, 0.05
# Share of a whole run's rounds that a quick run makes. A quick run only shows that everything works.
QUICK = 0.01
WIDTH_IN, HEIGHT_IN = 8.0, 4.5
COLORS = {"sphere": "#2a78c2", "box": "#d62728", "capsule": "#2ca02c", "cylinder": "#9467bd", "ellipsoid": "#e8a317"}
GREY = "#999999"
# Name of the limit in a row of frames per second. The limit is the rate of a window that is only cleared and swapped.
EMPTY = "clear + swap"

RowKey = tuple[str, str]
Rows = Callable[[float, Say], Iterator[Row]]


class EarlierFigure(NamedTuple):
    """Ratio of a row in an earlier run, and the noise of this ratio."""

    ratio: float | None
    noise: float | None


class RatioChange(NamedTuple):
    """Change of a ratio between two runs. worse: share by which the ratio became worse, negative if it became better.
    is_sure: True if the change is larger than the noise."""

    before: float
    worse: float
    is_sure: bool


def document(groups: dict[str, list[Row]], conditions: dict[str, Any], command: str = "") -> dict[str, Any]:
    listed = []
    for group, rows in groups.items():
        for row in rows:
            found = {"group": group, **row._asdict(), "ratio": row.ratio, "over": row.over, "holds": row.holds}
            listed.append(found | found.pop("more"))
    return {
        "schema": SCHEMA, "version": twixt.__version__, "command": command, "conditions": conditions, "rows": listed,
    }  # fmt: skip


def read_earlier(path: str) -> dict[RowKey, EarlierFigure]:
    """Reads the ratios of an earlier run from its `--json` document. Raises TwixtError if it cannot be read."""
    make = f"make one with: python -m bench --json {path}"
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        if found["schema"] != SCHEMA:
            raise TwixtError(f"{path!r} must be of the form {SCHEMA}, got {found['schema']!r}; {make}")
        return {(row["name"], row["limit_name"]): EarlierFigure(row["ratio"], row["noise"]) for row in found["rows"]}
    except OSError as error:
        raise TwixtError(f"cannot read {path!r}: {error.strerror}; {make}") from None
    except (ValueError, KeyError, TypeError):
        raise TwixtError(f"{path!r} must be figures of a benchmark; {make}") from None


def change(row: Row, earlier: dict[RowKey, EarlierFigure]) -> RatioChange | None:
    """Change of a row's ratio. It is None if one of the two runs has no ratio for this row."""
    before = earlier.get((row.name, row.limit_name))
    if before is None or not before.ratio or not row.ratio:
        return None
    worse = (before.ratio / row.ratio if row.unit in MORE_IS_BETTER else row.ratio / before.ratio) - 1
    noise = math.hypot(*(UNKNOWN_NOISE if noise is None else noise for noise in (before.noise, row.noise)))
    return RatioChange(before.ratio, worse, abs(worse) > max(noise, LEAST_NOISE))


def group_blocks(group: str, rows: Sequence[Row], earlier: dict[RowKey, EarlierFigure] | None = None) -> list[Block]:
    """Table of a group's rows, followed by the notes of the rows. earlier: figures of an earlier run, whose ratios the
    table shows as well."""
    columns = [
        TableColumn("what", lambda row: row.name, in_terminal=group, wraps=True),
        TableColumn("measured", lambda row: row.figure, as_text),
        TableColumn("limit", lambda row: row.limit, as_text, where=PAGE),
        TableColumn("unit", lambda row: row.unit, in_terminal=""),
        TableColumn("ratio", lambda row: row.ratio, as_text),
        TableColumn("target", _target_text),
        TableColumn("the limit is", lambda row: row.limit_name, where=PAGE),
        TableColumn("limit", lambda row: f"{as_text(row.limit)} {row.limit_name}", where=TERMINAL, wraps=True),
    ]
    if earlier is not None:
        columns.insert(5, TableColumn("before", lambda row: _change_text(change(row, earlier)), where=TERMINAL))
    return [Table(columns, rows), Notes([f"{row.name}: {row.note}" for row in rows if row.note])]


def _target_text(row: Row) -> str:
    """Target of the row, and whether it is met. A target for a ratio is shown with an x. A target for the excess over
    the limit is shown with a +."""
    if not row.target:
        return ""
    what, sign, value = row.target.split()
    target = f"{sign} " + {"ratio": f"{value}x", "over": f"+{value}", "figure": value}[what]
    return target if row.holds is None else f"{target} {'met' if row.holds else 'not met'}"


def _change_text(found: RatioChange | None) -> str:
    """Ratio in the earlier run. If the change is sure, the text also tells by what share this run is better or
    worse."""
    if found is None:
        return "-"
    word = f" {'WORSE' if found.worse > 0 else 'better'} {abs(found.worse):.0%}" if found.is_sure else ""
    return as_text(found.before) + word


def as_text(value: float | None) -> str:
    """Text of a figure. It has three digits, or is a whole number from 100 on. It is "-" for None."""
    return "-" if value is None else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def fps_name(shape: str, count: int) -> str:
    """Name of a row of frames per second, in the form that `fps_of` parses."""
    return f"{shape} fps, {count:,} bodies"


def fps_of(name: str) -> tuple[str, int] | None:
    """Shape and number of bodies that the name of a row of frames per second contains. It is None for other rows."""
    shape, found, rest = name.partition(" fps, ")
    words = rest.split()
    return (shape, int(words[0].replace(",", ""))) if found and words[1:] == ["bodies"] else None


def draw(rows: Iterable[Row], path: str) -> None:
    """Saves the plot of the shapes that were measured, at `path`. Raises TwixtError if it cannot be saved."""
    shapes: dict[str, list[tuple[int, float, float]]] = {}
    empty: list[tuple[int, float, float]] = []
    for row in rows:
        if (found := fps_of(row.name)) and row.figure is not None and row.limit is not None:
            shape, count = found
            points = empty if row.limit_name == EMPTY else shapes.setdefault(shape, [])
            points.append((count, row.figure, row.limit))
    figure, (axes,) = new_figure(WIDTH_IN, HEIGHT_IN)
    for shape, points in shapes.items():
        counts, fps, least = zip(*points, strict=True)
        color = COLORS.get(shape, INK)
        axes.plot(counts, fps, "-o", color=color, markersize=4, label=shape)
        axes.plot(counts, least, "--", color=color, linewidth=1)
    axes.plot([], [], "--", color=GREY, linewidth=1, label="limit of the same shape")
    if empty:
        counts, _, least = zip(*empty, strict=True)
        axes.plot(counts, least, ":", color=GREY, label=EMPTY)
    axes.set(xscale="log", yscale="log")
    axes.set_xlabel("bodies", fontsize=FONT_PT, color=INK)
    axes.set_ylabel("frames a second", fontsize=FONT_PT, color=INK)
    axes.grid(color=RULE, linewidth=0.6)
    axes.legend(fontsize=FONT_PT - 1, frameon=False, loc="lower left")
    save(figure, path)


class SuiteOptions(NamedTuple):
    """Options of a run of the benchmark. fail_over: largest change for the worse, in percent. is_logged: see
    `progress`."""

    quick: bool = False
    against: str | None = None
    fail_over: float | None = None
    is_logged: bool = False


def measure(results: Results, groups: Mapping[str, str], **options: Any) -> int:
    """Measures groups of row functions. groups: for each group, its functions as `module:function` of `bench`,
    separated by spaces. A function after a `+` is left out of quick runs, because fewer rounds do not make it
    faster. options: values of `SuiteOptions`."""

    def group(functions: str) -> Rows:
        def rows(share: float, say: Say) -> Iterator[Row]:
            for function in functions.split():
                if share >= 1 or not function.startswith("+"):
                    yield from rows_of(f"bench.{function.lstrip('+')}", share, say)

        return rows

    return run({name: group(functions) for name, functions in groups.items()}, results, SuiteOptions(**options))


def run(groups: Mapping[str, Rows], results: Results, options: SuiteOptions) -> int:
    """Measures these groups, with progress on standard error. Shows and writes the rows, and returns the exit code.

    The exit code is 1 if --fail-over is exceeded, 130 after Ctrl-C, and 0 in other cases. Raises TwixtError before
    anything is measured.
    """
    results.check_files()
    if options.fail_over is not None and options.against is None:
        raise TwixtError("--fail-over compares with an earlier run; add --against FILE")
    earlier = read_earlier(options.against) if options.against else None
    where: dict[str, Any] = {}
    begin_s = time.monotonic()
    measured: dict[str, list[Row]] = {}
    interrupted = False
    for number, (group, rows) in enumerate(groups.items(), 1):
        before = CpuTime.now()
        made = _group_rows(group, rows, QUICK if options.quick else 1.0, f"measuring {number} of {len(groups)}")
        measured[group], interrupted = collected(made, options.is_logged)
        if (cores := CpuTime.now().lost_since(before)) is not None:
            where.setdefault("others_had_cores", {})[group] = round(cores, 2)
        if results.is_shown and (measured[group] or not interrupted):
            show(*group_blocks(group, measured[group], earlier), "")
        if interrupted:
            where |= CUT_SHORT
            break
    where["seconds"] = round(time.monotonic() - begin_s, 1)
    if options.quick:
        where["quick"] = "few rounds: shows that it works, not how fast"
    where = conditions() | where
    every = [row for rows_of_group in measured.values() for row in rows_of_group]
    notes = Notes(_condition_lines(where))
    page = [block for group, found in measured.items() for block in (f"## {group}", *group_blocks(group, found))]
    results.write(
        document(measured, where, results.command), page=[*page, "## Conditions", notes], shown=[notes],
        draw=lambda path: draw(every, path),
    )  # fmt: skip
    changes = [found for row in every if (found := change(row, earlier or {})) is not None and found.is_sure]
    if options.fail_over is not None and any(100 * found.worse > options.fail_over for found in changes):
        return FAILED
    return INTERRUPTED if interrupted else 0


def _group_rows(group: str, rows: Rows, share: float, progress_so_far: str) -> Callable[[Say], Iterator[Row]]:
    def measured(say: Say) -> Iterator[Row]:
        def say_in_group(what: str) -> None:
            say(f"{progress_so_far}, {group}: {what}")

        say_in_group("begins")
        try:
            yield from rows(share, say_in_group)
        except TwixtError as error:
            yield not_measured(group, reason=str(error))

    return measured


def _condition_lines(where: dict[str, Any]) -> list[str]:
    plain = [f"{name.replace('_', ' ')} {value}" for name, value in where.items() if name != "others_had_cores"]
    lines = ["each figure is the median of all rounds; " + ", ".join(plain)]
    if cores := where.get("others_had_cores"):
        shares = ", ".join(f"{group} {share:.2f}" for group, share in cores.items())
        lines.append(f"cores that other programs used while a group was measured: {shares}")
    return lines


def conditions() -> dict[str, Any]:
    """Conditions of the figures, in one flat dict: the machine and the display. Opens a window for a moment."""
    where = machine() | {"numpy": np.__version__}
    try:
        with opened_window() as window:
            return where | {
                "display": window.backend, "size": "x".join(str(side) for side in window.framebuffer_size),
                "opengl": window.context.info["GL_VERSION"], "renderer": window.renderer,
                "drawing_threads": os.environ.get("LP_NUM_THREADS"),
            }  # fmt: skip
    except TwixtError as error:
        return where | {"display": f"none: {error}"}
