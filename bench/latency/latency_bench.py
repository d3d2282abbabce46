"""Measures when a published state is seen: `python -m bench latency`. The programs and their viewers are real, on an
Xvfb.

Always: progress goes to standard error. Ctrl-C ends the measurement, and the figures so far are shown. A failed run is
reported and has no figure.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bench.latency.latency_runs import (
    AUTO,
    COLUMNS,
    FPS,
    LATEST,
    LONG_START_S,
    MEASURED_S,
    OWN_PACE,
    RATE_SHIFT,
    RATES_HZ,
    RUN,
    SHOW,
    START_S,
    SYNC,
    WAYS,
    Case,
    CaseRun,
    measured,
)
from bench.pages import CUT_SHORT, Notes, Results, Table, TableColumn, collected, document_of
from bench.processes import free_cores
from bench.screens import Screen, screen
from twixt.cli.progress import Say
from twixt.cli.turns import run_in_turns
from twixt.ipc.errors import FAILED, FINISHED, INTERRUPTED
from twixt.render.measure.report import machine

SCHEMA = "twixt-latency/1"
WAY_NAMES = {
    RUN: "`twixt run`, from the due instant",
    SHOW: "`show`, loop of `real_time()`",
    OWN_PACE: "`show`, without `real_time()`",
    SYNC: "MuJoCo, `sync`",
}
LEGEND = (
    f"Each cell has two times in ms: mean / 99th percentile. The viewer drew one body at {FPS} frames a second and "
    f"640x480, with software rendering. Each run was measured for {MEASURED_S:g} s after its first {START_S:g} s (with "
    f"the clock `{AUTO}` at {min(RATES_HZ)} states a second, after its first {LONG_START_S:g} s)",
    f"The measured rates are {100 * RATE_SHIFT:.2g} % higher than those in the table, so that the phase between states "
    "and frames changes",
)
# Cases of a short measurement, and the measured time of each run, in seconds.
QUICK_CASES, QUICK_S = (Case(RUN, 60, AUTO), Case(SHOW, 60, LATEST)), 1.0


class Row(NamedTuple):
    """A row of the table: all clocks for one way to publish and one rate."""

    way: str
    rate_hz: int
    runs: dict[str, CaseRun]

    def cell(self, column: str) -> str | None:
        run = self.runs.get(column)
        if run is None:
            return None
        return "failed" if run.figures is None else f"{round(run.figures.mean_ms)} / {round(run.figures.p99_ms)}"


def _column(name: str) -> TableColumn:
    title = f'`interpolation="{LATEST}"`' if name == LATEST else f"clock `{name}`"
    return TableColumn(title, lambda row: row.cell(name), in_terminal=name, right=True)


TABLE = (
    TableColumn("way to publish", lambda row: WAY_NAMES[row.way]),
    TableColumn("states a second", lambda row: f"{row.rate_hz}", right=True),
    *(_column(name) for name in COLUMNS),
)


def cases(quick: bool = False) -> list[Case]:
    """All cases, in the order of measurement. A loop that sets its own pace is measured only with the usual clock."""
    if quick:
        return list(QUICK_CASES)
    return [
        Case(way, rate_hz, column)
        for way in WAYS
        for rate_hz in RATES_HZ
        for column in ((AUTO,) if way == OWN_PACE else COLUMNS)
    ]


def run(results: Results, quick: bool) -> int:
    """Measures all cases. Shows and writes the results, and returns the exit code. Raises TwixtError before anything
    is measured."""
    results.check_files()
    chosen, measured_s = cases(quick), QUICK_S if quick else MEASURED_S
    free = [free_cores()]
    with screen("xvfb") as shown:
        runs, interrupted = collected(lambda say: _runs(chosen, measured_s, shown, say), is_logged=True)
        free.append(free_cores())
    where = machine() | {"kernel": platform.release(), "display": shown.about, "free_cores": free}
    where["is_real_time"] = os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR)
    write_results(runs, results, where | (CUT_SHORT if interrupted else {}))
    return INTERRUPTED if interrupted else FAILED if any(one.failure for one in runs) else FINISHED


def rows_of(runs: Sequence[CaseRun]) -> list[Row]:
    """Rows of the table, in the order of measurement."""
    rows: dict[tuple[str, int], Row] = {}
    for one in runs:
        way, rate_hz, column = one.case
        rows.setdefault((way, rate_hz), Row(way, rate_hz, {})).runs[column] = one
    return list(rows.values())


def write_results(runs: Sequence[CaseRun], results: Results, where: dict[str, Any]) -> None:
    """Shows the figures and writes the files. Raises TwixtError."""
    failures = [f"{one.case.name}: no figures: {one.failure}" for one in runs if one.failure]
    before, after = ("unknown" if cores is None else f"{cores:.2f}" for cores in where["free_cores"])
    conditions = (
        f"{where['processor']}, {where['cores']} cores, {where['system']}; {where['display']}; cores free before the "
        f"runs: {before}, after the runs: {after}"
        + ("; all processes of the runs had real-time priority" if where["is_real_time"] else "")
    )
    cut = [where["cut_short"]] if "cut_short" in where else []
    table, notes = Table(TABLE, rows_of(runs)), Notes([*LEGEND, conditions, *cut, *failures])
    document = document_of(SCHEMA, results.command, where, [], runs)
    results.write(document, page=[f"Made by `{results.command}`.", table, notes], shown=[table, notes])


def _runs(chosen: Sequence[Case], measured_s: float, display: Screen, say: Say) -> Iterator[CaseRun]:
    made = run_in_turns(
        chosen, lambda case: measured(case, display, measured_s), len(chosen), say, lambda case: case.name
    )
    return (run for _, run in made)
