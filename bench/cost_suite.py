"""`python -m bench`: measures groups of rows one after the other; shows, writes and compares them with an earlier run.

A group is a function that yields rows. Rows that it has yielded remain, even if it fails later. Ctrl-C ends the
measurement, and the rows measured so far are shown. A group that cannot be measured gives a row with the reason.

Always: the table, the page and the JSON document have the same rows.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import twixt
from bench.costs.channel import channel_rows, show_rows
from bench.costs.live import EMPTY, fps_of
from bench.guest.guest_bench import rows as guest_rows
from bench.pages import PAGE, TERMINAL, Block, Notes, Results, Table, TableColumn, show
from bench.rows import MORE_IS_BETTER, Row, holds, rows_of
from twixt.cli.cpu_time import CpuTime
from twixt.cli.progress import Say, progress
from twixt.ipc.config.flags import Config
from twixt.ipc.errors import FAILED, INTERRUPTED, TwixtError
from twixt.render.measure.plots import FONT_PT, INK, RULE, new_figure, save
from twixt.render.measure.report import machine

SCHEMA = "twixt-bench-2"
# Assumed noise of a row whose noise is not known; smallest noise assumed when two runs are compared.
UNKNOWN_NOISE, LEAST_NOISE = 0.10, 0.05

RowKey = tuple[str, str]
WIDTH_IN, HEIGHT_IN = 8.0, 4.5
COLORS = {"sphere": "#2a78c2", "box": "#d62728", "capsule": "#2ca02c", "cylinder": "#9467bd", "ellipsoid": "#e8a317"}
GREY = "#999999"
# A quick run only shows that everything works. It makes this share of a whole run's rounds.
QUICK = 0.01
Rows = Callable[[float, Say], Iterator[Row]]


class EarlierFigure(NamedTuple):
    """Ratio of a row in an earlier run, and its noise."""

    ratio: float | None
    noise: float | None


class RatioChange(NamedTuple):
    """Change of a ratio. worse: share by which the ratio became worse; negative if better. is_sure: True if the change
    is larger than the noise."""

    before: float
    worse: float
    is_sure: bool


def document(groups: dict[str, list[Row]], conditions: dict[str, Any], command: str = "") -> dict[str, Any]:
    """The document that `--json` writes and `--against` reads."""
    listed = [
        {"group": group} | row._asdict() | {"ratio": row.ratio, "over": row.over, "holds": holds(row)}
        for group, rows in groups.items()
        for row in rows
    ]
    return {
        "schema": SCHEMA, "version": twixt.__version__, "command": command, "conditions": conditions, "rows": listed,
    }  # fmt: skip


def read_earlier(path: str) -> dict[RowKey, EarlierFigure]:
    """The ratios of an earlier run's `--json` document. Raises TwixtError."""
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
    """Change of a row's ratio; None if one of the two runs has no ratio."""
    before = earlier.get((row.name, row.limit_name))
    if before is None or not before.ratio or not row.ratio:
        return None
    worse = (before.ratio / row.ratio if row.unit in MORE_IS_BETTER else row.ratio / before.ratio) - 1
    noise = math.hypot(*(UNKNOWN_NOISE if noise is None else noise for noise in (before.noise, row.noise)))
    return RatioChange(before.ratio, worse, abs(worse) > max(noise, LEAST_NOISE))


def page(groups: dict[str, list[Row]], where: dict[str, Any]) -> Iterator[Block]:
    """Figures for docs/bench.md."""
    for group, rows in groups.items():
        yield f"## {group}"
        yield from group_blocks(group, rows)
    yield "## Conditions"
    yield Notes(condition_lines(where))


def group_blocks(group: str, rows: Sequence[Row], earlier: dict[RowKey, EarlierFigure] | None = None) -> list[Block]:
    """Table of a group's rows, then their notes. If there is an `earlier` run, the table shows the changes since
    then."""
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
    """The conditions as text lines."""
    plain = [f"{name.replace('_', ' ')} {value}" for name, value in where.items() if name != "others_had_cores"]
    lines = ["medians, taken in turns; " + ", ".join(plain)]
    cores = where.get("others_had_cores")
    if cores:
        shares = ", ".join(f"{group} {share:.2f}" for group, share in cores.items())
        lines.append(f"other programs meanwhile had so many cores: {shares}")
    return lines


def bar_text(row: Row) -> str:
    """Text of the row's bar, followed by ok or MISSED. Ratios are shown with an x, excesses over the limit with a
    +."""
    if not row.bar:
        return ""
    what, sign, value = row.bar.split()
    bar = f"{sign} {value}x" if what == "ratio" else f"{sign} +{value}" if what == "over" else f"{sign} {value}"
    found = holds(row)
    return bar if found is None else f"{bar} {'ok' if found else 'MISSED'}"


def change_text(row: Row, earlier: dict[RowKey, EarlierFigure]) -> str:
    """Ratio in the earlier run. If the change is sure, also the share by which this run is better or worse."""
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
    """Saves the plot of the shapes that were measured. Raises TwixtError."""
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


class SuiteOptions(NamedTuple):
    """Options of a run of the benchmark. None: not requested. is_logged: see `progress`."""

    quick: bool = False
    json_file: str | None = None
    against: str | None = None
    fail_over: float | None = None  # percent
    out: str | None = None
    plot: str | None = None
    command: str = ""
    is_logged: bool = False


def rows_of_functions(*functions: str, when_whole: str = "") -> Rows:
    """A group with the rows of these functions of `bench` (`module:function`), each run in a separate process.

    when_whole: a further function that is skipped in quick runs, because fewer rounds do not make it faster.
    """

    def rows(share: float, say: Say) -> Iterator[Row]:
        for function in (*functions, *([when_whole] if when_whole and share >= 1 else [])):
            yield from rows_of(f"bench.{function}", share, say)

    return rows


# In the order of measurement. Groups that only copy memory come first; the group that fills memory is among the last.
GROUPS: dict[str, Rows] = {
    "channel": channel_rows,
    "show": show_rows,
    "guest": guest_rows,
    "frame": rows_of_functions(
        "costs.frame_costs:frame_rows", "costs.frame_costs:still_rows", when_whole="costs.allocation:allocation_rows"
    ),
    "interpolation": rows_of_functions("costs.draw_costs:method_rows"),
    "draw": rows_of_functions("costs.live:live_rows", "costs.draw_costs:shape_rows", "costs.mark_costs:mark_rows"),
    "parts": rows_of_functions("costs.frame_phases:phase_rows"),
    "looks": rows_of_functions("costs.draw_costs:look_rows"),
    "start": rows_of_functions("costs.whole_runs:start_rows"),
    "million": rows_of_functions("costs.whole_runs:million_rows"),
    "vsync": rows_of_functions("costs.whole_runs:vsync_rows"),
    "peers": rows_of_functions("peers:peer_rows"),
}


def run(groups: dict[str, Rows], options: SuiteOptions) -> int:
    """Measures these groups, with progress on standard error; shows and writes the rows. Returns the exit code.

    The exit code is 1 if --fail-over is exceeded, 130 after Ctrl-C, else 0. Raises TwixtError before anything is
    measured.
    """
    results = Results(options.command, options.json_file, options.out, options.plot)
    results.check_files()
    if options.fail_over is not None and options.against is None:
        raise TwixtError("--fail-over compares with an earlier run; add --against FILE")
    earlier = read_earlier(options.against) if options.against else None
    where: dict[str, Any] = {}
    begin_s = time.monotonic()
    measured: dict[str, list[Row]] = {}
    interrupted = False
    share = QUICK if options.quick else 1.0
    for number, (group, rows) in enumerate(groups.items(), 1):
        measured[group] = found = list[Row]()
        before = CpuTime.now()
        try:
            with progress(options.is_logged) as say:
                for row in _measured(group, rows, share, say, f"measuring {number} of {len(groups)}"):
                    found.append(row)  # one by one, so that rows measured before Ctrl-C remain
        except KeyboardInterrupt:
            interrupted = True
            where["cut_short"] = "ended with Ctrl-C: what was not measured by then is missing"
        if (cores := CpuTime.now().lost_since(before)) is not None:
            where.setdefault("others_had_cores", {})[group] = round(cores, 2)
        if results.is_shown and (found or not interrupted):
            show(*group_blocks(group, found, earlier), "")
        if interrupted:
            break
    where["seconds"] = round(time.monotonic() - begin_s, 1)
    if options.quick:
        where["quick"] = "few rounds: shows that it works, not how fast"
    where = conditions() | where  # called last, because an OpenGL context changes how this process allocates memory
    results.write(
        document(measured, where, options.command),
        page=page(measured, where),
        shown=[Notes(condition_lines(where))],
        draw=lambda path: draw([row for rows in measured.values() for row in rows], path),
    )
    if options.fail_over is not None and _worst(measured, earlier) * 100 > options.fail_over:
        return FAILED
    return INTERRUPTED if interrupted else 0


def _measured(group: str, rows: Rows, share: float, say: Say, progress_so_far: str) -> Iterator[Row]:
    """Yields the rows of a group; if it cannot be measured, yields a row with the reason."""

    def say_in_group(what: str) -> None:
        say(f"{progress_so_far}, {group}: {what}")

    say_in_group("begins")
    try:
        yield from rows(share, say_in_group)
    except TwixtError as error:
        yield Row(group, "", None, "", None, 0, f"not measured: {error}")


def conditions() -> dict[str, Any]:
    """Conditions of the figures (machine and display) in one flat dict. Opens a window for a moment."""
    return machine() | {"numpy": np.__version__} | _display()


def _display() -> dict[str, Any]:
    from twixt.render.display.display import open_display

    try:
        window = open_display(Config(pacing="unlimited"))
    except TwixtError as error:
        return {"display": f"none: {error}"}
    try:
        return {
            "display": window.backend, "size": "x".join(str(side) for side in window.framebuffer_size),
            "opengl": window.context.info["GL_VERSION"], "renderer": window.renderer,
            "drawing_threads": os.environ.get("LP_NUM_THREADS"),
        }  # fmt: skip
    finally:
        window.close()


def _worst(measured: dict[str, list[Row]], earlier: dict[RowKey, EarlierFigure] | None) -> float:
    """Largest share by which a row became worse, counting only sure changes; 0 if there are none."""
    changes = [change(row, earlier or {}) for rows in measured.values() for row in rows]
    return max((found.worse for found in changes if found is not None and found.is_sure), default=0.0)
