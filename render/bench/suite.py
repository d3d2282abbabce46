"""`twixt bench`: groups of rows measured one after the other, shown, written and compared.

One idea: a group is a function that yields rows; whatever becomes of it, the rows it gave are there. Ctrl-C ends the
measuring, not the showing, and a group that cannot be measured here is a row that says why.

Always: the table, the page and the JSON document hold the same rows. Measures nothing itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from twixt.ipc.bench import Row, Say
from twixt.ipc.config import check_file
from twixt.ipc.errors import TwixtError
from twixt.render.bench import page, table
from twixt.render.bench.child import rows_of
from twixt.render.bench.conditions import Others, conditions
from twixt.render.bench.document import Before, Key, change, document, read_earlier
from twixt.render.measure.report import write_json

# The share of a whole run's rounds that shows that it works.
QUICK = 0.01
OVER, INTERRUPTED = 1, 130

Rows = Callable[[float, Say], Iterator[Row]]


class Wanted(NamedTuple):
    """What a run of the benchmark is told. None: not asked for."""

    quick: bool = False
    json_file: str | None = None
    against: str | None = None
    fail_over: float | None = None  # percent
    out: str | None = None
    plot: str | None = None
    command: str = ""


def of_viewer(*modules: str, when_whole: str = "") -> Rows:
    """The rows of modules of this folder, each in a process of its own.

    when_whole: one that takes as long for few rounds as for many, and so is left out of quick runs.
    """

    def rows(share: float, say: Say) -> Iterator[Row]:
        for module in (*modules, *([when_whole] if when_whole and share >= 1 else [])):
            yield from rows_of(f"twixt.render.bench.{module}", share, say)

    return rows


# In the order in which they are measured: what only copies memory first, what fills it last.
GROUPS: dict[str, Rows] = {
    "frame": of_viewer("costs", "still_frame", when_whole="allocation"),
    "interpolation": of_viewer("interpolation"),
    "draw": of_viewer("live", "shapes"),
    "start": of_viewer("start"),
    "million": of_viewer("million"),
    "vsync": of_viewer("vsync"),
    "peers": of_viewer("peers"),
}


def run(groups: dict[str, Rows], wanted: Wanted) -> int:
    """Measures the groups, with progress on standard error; shows and writes them. The exit code.

    0; 1 where --fail-over says so; 130 where Ctrl-C cut it short. Raises TwixtError before anything is measured.
    """
    earlier = _checked(wanted)
    where: dict[str, Any] = {}
    begin_s = time.monotonic()
    measured: dict[str, list[Row]] = {}
    interrupted = False
    try:
        for group, _ in _measured(groups, QUICK if wanted.quick else 1.0, measured, where):
            if wanted.json_file != "-":
                table.show_group(group, measured[group], earlier)
    except KeyboardInterrupt:
        interrupted = True
        where["cut_short"] = "ended with Ctrl-C: what was not measured by then is missing"
        group = next(reversed(measured), "")
        if measured.get(group) and wanted.json_file != "-":
            table.show_group(group, measured[group], earlier)
    where["seconds"] = round(time.monotonic() - begin_s, 1)
    if wanted.quick:
        where["quick"] = "few rounds: shows that it works, not how fast"
    where = conditions() | where  # last: a context of OpenGL changes how this process gets its memory
    _leave(document(measured, where, wanted.command), measured, where, wanted)
    worst = _worst(measured, earlier)
    if wanted.fail_over is not None and worst * 100 > wanted.fail_over:
        return OVER
    return INTERRUPTED if interrupted else 0


def _checked(wanted: Wanted) -> dict[Key, Before] | None:
    for flag, path in (("--json", wanted.json_file), ("--out", wanted.out), ("--plot", wanted.plot)):
        if path is not None:
            check_file(flag, path, is_picture=flag == "--plot")
    if wanted.fail_over is not None and wanted.against is None:
        raise TwixtError("--fail-over compares with an earlier run; add --against FILE")
    return read_earlier(wanted.against) if wanted.against else None


def _measured(
    groups: dict[str, Rows], share: float, measured: dict[str, list[Row]], where: dict[str, Any]
) -> Iterator[tuple[str, list[Row]]]:
    """Each group when its rows are there; `measured` holds those of the one under way, too."""
    from rich.console import Console

    for number, (group, rows) in enumerate(groups.items(), 1):
        found: list[Row] = []
        measured[group] = found
        others = Others()
        with Console(stderr=True).status("") as status:

            def say(what: str, number: int = number, group: str = group) -> None:
                status.update(f"measuring {number} of {len(groups)}, {group}: {what}")

            say("begins")
            try:
                for row in rows(share, say):
                    found.append(row)
            except TwixtError as error:
                found.append(Row(group, "", None, "", None, 0, f"not measured: {error}"))
            finally:
                if (cores := others.cores()) is not None:
                    where.setdefault("others_had_cores", {})[group] = round(cores, 2)
        yield group, found


def _leave(made: dict[str, Any], measured: dict[str, list[Row]], where: dict[str, Any], wanted: Wanted) -> None:
    if wanted.json_file:
        write_json(made, wanted.json_file)
    if wanted.plot:
        from twixt.render.bench.plot import draw

        draw([row for rows in measured.values() for row in rows], wanted.plot)
    if wanted.out:
        beside = os.path.relpath(wanted.plot, os.path.dirname(wanted.out) or ".") if wanted.plot else None
        page.write(wanted.out, measured, where, wanted.command, beside)
    if wanted.json_file != "-":
        table.show_conditions(where)


def _worst(measured: dict[str, list[Row]], earlier: dict[Key, Before] | None) -> float:
    """By what share the row that has become worst is worse, of those that are surely so."""
    changes = [change(row, earlier or {}) for rows in measured.values() for row in rows]
    return max((found.worse for found in changes if found is not None and found.is_sure), default=0.0)
