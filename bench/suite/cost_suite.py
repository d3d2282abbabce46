"""`python -m bench`: groups of rows measured one after the other, shown, written and compared with an earlier run.

One idea: a group is a function that yields rows; the rows it has yielded are kept however it ends. Ctrl-C ends the
measurement, and what was measured is shown. A group that cannot be measured here is a row that says why.

Always: the table, the page and the JSON document hold the same rows. Measures nothing itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from bench.costs.channel import channel_rows, show_rows
from bench.guest.guest_bench import rows as guest_rows
from bench.pages import Notes, Results, show
from bench.rows import Row, rows_of
from bench.suite.earlier_run import EarlierFigure, RowKey, change, document, read_earlier
from bench.suite.suite_page import condition_lines, draw, group_parts, page
from twixt.cli.cpu_time import CpuTime
from twixt.cli.progress import Say, progress
from twixt.ipc.config.config import Config
from twixt.ipc.errors import FAILED, INTERRUPTED, TwixtError
from twixt.render.measure.report.report import machine

# Share of a whole run's rounds in a quick run, which only shows that everything works.
QUICK = 0.01

Rows = Callable[[float, Say], Iterator[Row]]


class SuiteOptions(NamedTuple):
    """Options of a run of the benchmark. None: not asked for. is_logged: see `progress`."""

    quick: bool = False
    json_file: str | None = None
    against: str | None = None
    fail_over: float | None = None  # percent
    out: str | None = None
    plot: str | None = None
    command: str = ""
    is_logged: bool = False


def parts_of(*parts: str, when_whole: str = "") -> Rows:
    """The rows of functions of `bench` (`module:function`), each in a process of its own.

    when_whole: a function that takes as long for few rounds as for many, and so is left out of quick runs.
    """

    def rows(share: float, say: Say) -> Iterator[Row]:
        for part in (*parts, *([when_whole] if when_whole and share >= 1 else [])):
            yield from rows_of(f"bench.{part}", share, say)

    return rows


# In the order of measurement: groups that only copy memory first, the one that fills it among the last.
GROUPS: dict[str, Rows] = {
    "channel": channel_rows,
    "show": show_rows,
    "guest": guest_rows,
    "frame": parts_of(
        "costs.frame_costs:frame_rows", "costs.frame_costs:still_rows", when_whole="costs.allocation:allocation_rows"
    ),
    "interpolation": parts_of("costs.draw_costs:method_rows"),
    "draw": parts_of("costs.live:live_rows", "costs.draw_costs:shape_rows", "costs.mark_costs:mark_rows"),
    "parts": parts_of("costs.frame_parts:part_rows"),
    "looks": parts_of("costs.look_costs:look_rows"),
    "start": parts_of("costs.whole_runs:start_rows"),
    "million": parts_of("costs.whole_runs:million_rows"),
    "vsync": parts_of("costs.whole_runs:vsync_rows"),
    "peers": parts_of("peers:peer_rows"),
}


def run(groups: dict[str, Rows], options: SuiteOptions) -> int:
    """Measures these groups, with progress on standard error; shows and writes them. Returns the exit code.

    0; 1 where --fail-over is exceeded; 130 after Ctrl-C. Raises TwixtError before anything is measured.
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
                    found.append(row)  # one by one: Ctrl-C leaves those measured before it
        except KeyboardInterrupt:
            interrupted = True
            where["cut_short"] = "ended with Ctrl-C: what was not measured by then is missing"
        if (cores := CpuTime.now().lost_since(before)) is not None:
            where.setdefault("others_had_cores", {})[group] = round(cores, 2)
        if results.is_shown and (found or not interrupted):
            show(*group_parts(group, found, earlier), "")
        if interrupted:
            break
    where["seconds"] = round(time.monotonic() - begin_s, 1)
    if options.quick:
        where["quick"] = "few rounds: shows that it works, not how fast"
    where = conditions() | where  # last: an OpenGL context changes how this process allocates memory
    results.leave(
        document(measured, where, options.command),
        page=page(measured, where),
        shown=[Notes(condition_lines(where))],
        draw=lambda path: draw([row for rows in measured.values() for row in rows], path),
    )
    if options.fail_over is not None and _worst(measured, earlier) * 100 > options.fail_over:
        return FAILED
    return INTERRUPTED if interrupted else 0


def _measured(group: str, rows: Rows, share: float, say: Say, progress_so_far: str) -> Iterator[Row]:
    """The rows of a group; where it cannot be measured, a row that says why."""

    def say_in_group(what: str) -> None:
        say(f"{progress_so_far}, {group}: {what}")

    say_in_group("begins")
    try:
        yield from rows(share, say_in_group)
    except TwixtError as error:
        yield Row(group, "", None, "", None, 0, f"not measured: {error}")


def conditions() -> dict[str, Any]:
    """Conditions of the figures: machine and display, as one flat table. Opens a window for a moment."""
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
    """Largest share by which a row became surely worse; 0 where none did."""
    changes = [change(row, earlier or {}) for rows in measured.values() for row in rows]
    return max((found.worse for found in changes if found is not None and found.is_sure), default=0.0)
