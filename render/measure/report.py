"""Builds the report of a run: a JSON document with the keys of `report_keys.SECTIONS`, and a text for the user.

The text begins with one sentence that says the result. Then it has a short table or, if requested, tables of all
sections and the conditions of the run.

Always: every key is present in the report. A figure that could not be measured is null, and a line of `conditions`
says why. The physics process and the channel report their own counts; all other figures are computed from the run's
rows. rich is imported only when text is printed.
"""

from __future__ import annotations

import contextlib
import io
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import twixt
from twixt.ipc.config.files import write_json
from twixt.ipc.quantiles import distribution
from twixt.render.measure.frame_log import read_log
from twixt.render.measure.frame_rows import FrameRow, FrameTable
from twixt.render.measure.report_keys import (
    COUNTS,
    NAMES,
    PHASES,
    SCHEMA,
    SECTIONS,
    SPREAD,
    START_PHASES,
    STATISTICS,
    section,
)
from twixt.render.measure.run_figures import Measured, measure
from twixt.render.measure.summary import rows, sentence

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from twixt.ipc.config.flags import Config


Report = dict[str, Any]
# The refresh rate that is estimated from the run's rows is more precise than the rate that the probe measured before
# the run. The estimate is used if it differs from the measured rate by at most this share.
REFRESH_AGREES = 0.05


@dataclass(frozen=True)
class FinishedRun:
    """Data that the viewer has of a run that has just ended.

    physics_blocks: answer of the physics process, {"physics": {}, "channel": {}, "start": {}}; None if the process did
    not answer. display: any of backend, renderer, refresh_reported_hz, refresh_measured_hz, swap_blocks. (The value of
    present_source comes from the rows.) channel: counts of this viewer's link to the channel. These counts replace the
    counts that the physics process sent. first_frame_parts_ms: durations of the viewer's phases in `START_PHASES`, in
    ms. The durations of the physics process' phases are in its block "start". forgotten: number of old rows that are
    no longer in memory (`FrameLog.forgotten`).
    events: the viewer's counts of the program's events (`ViewerEvents.counts`).
    """

    rows: FrameTable | Iterable[FrameRow]
    physics_blocks: dict[str, dict[str, Any]] | None
    display: dict[str, Any]
    config: Config
    conditions: Sequence[str] = ()
    first_frame_ms: float | None = None
    channel: dict[str, Any] | None = None
    forgotten: int = 0
    first_frame_parts_ms: dict[str, float] | None = None
    events: dict[str, int] | None = None


def build(run: FinishedRun) -> Report:
    """Builds the report of a run that has just ended."""
    display = run.display
    measured = measure(FrameTable.of(run.rows), display.get("refresh_measured_hz"), display.get("swap_blocks"))
    conditions = [*run.conditions, *measured.conditions]
    blocks = run.physics_blocks or {}
    physics = dict(blocks.get("physics") or {})
    if not physics:
        physics = _physics_as_seen(measured)
        conditions.append("physics did not send its figures. Only its rate is known, from the drawn snapshots")
    if run.first_frame_ms is None:
        conditions.append("the start time of the command is not known, so first_frame_ms is null")
    if run.forgotten:
        conditions.append(
            f"the figures are those of the newest {len(measured.timing.frames)} frames; {run.forgotten} older frames "
            "were not kept"
        )
    as_seen = _display_as_seen(measured)
    display = as_seen | display | {"present_source": as_seen["present_source"]}
    probed_hz, whole_run_hz = display.get("refresh_measured_hz"), measured.timing.refresh_hz
    if probed_hz and whole_run_hz and abs(whole_run_hz / probed_hz - 1) > REFRESH_AGREES:
        conditions.append(
            f"the frames of the run give a refresh rate of {whole_run_hz:.2f} Hz. It differs from refresh_measured_hz, "
            "because the display shows late frames at once. refresh_measured_hz was measured with empty frames, before "
            "the run"
        )
    elif whole_run_hz is not None:
        display["refresh_measured_hz"] = whole_run_hz
    known = measured.sections | {
        "display": display,
        "physics": physics,
        "channel": {**(blocks.get("channel") or {}), **(run.channel or {})},
    }
    parts_ms = {**(run.first_frame_parts_ms or {}), **(blocks.get("start") or {})}
    known["latency"] = {
        **known["latency"],
        "first_frame_ms": run.first_frame_ms,
        "first_frame_parts_ms": {part: parts_ms.get(part) for part in START_PHASES},
    }
    known["events"] = {**known["events"], **(blocks.get("events") or {}), **(run.events or {})}
    if blocks and not blocks.get("events"):
        conditions.append("this simulation does not count its events, so events.emitted and events.dropped are null")
    known["pacer"] = {**known["pacer"], "policy": run.config.pacing}
    return _document(run.config.command, known, conditions)


def report_log(path: str, json_file: str | None = None, plot: str | None = None, full: bool = False) -> int:
    """Implements `twixt report LOG`: prints a report that is built from a log alone. Writes the report as JSON, and a
    plot, if they are requested. full: as for `show`.

    Returns the exit code. Raises TwixtError.
    """
    table = read_log(path)
    report = of_log(table, f"twixt report {path}")
    if plot is not None:
        from twixt.render.measure.plots import frame_pacing

        frame_pacing(table, plot, os.path.basename(path))
    if json_file is not None:
        write_json(report, json_file)
    if json_file != "-":
        show(report, full=full)
    return 0


def of_log(table: FrameTable, command: str) -> Report:
    """Builds the report from a log alone. Figures that a log does not contain are then missing."""
    measured = measure(table)
    conditions = [
        "the report is from a frame log alone. The log does not contain the renderer, the counts of physics and the "
        "channel, first_frame_ms and the pacing policy",
        *measured.conditions,
    ]
    display = {"refresh_measured_hz": measured.timing.refresh_hz} | _display_as_seen(measured)
    return _document(
        command, measured.sections | {"display": display, "physics": _physics_as_seen(measured)}, conditions
    )


def _document(command: str, known: dict[str, dict[str, Any]], conditions: list[str]) -> Report:
    sections = {name: section(name, known.get(name)) for name in SECTIONS}
    missing = not_measured(sections)
    if missing:
        conditions = [*conditions, f"these figures were not measured, so they are null: {', '.join(missing)}"]
    head: Report = {
        "schema": SCHEMA,
        "version": twixt.__version__,
        "command": command,
        "machine": machine(),
        "conditions": list(dict.fromkeys(conditions)),
    }
    return head | sections


def not_measured(sections: dict[str, dict[str, Any]]) -> list[str]:
    """Names of the report's keys whose values are null. If all keys of a section are null, the section's name stands
    for all of them."""
    missing = []
    for name, values in sections.items():
        empty = [key for key, value in values.items() if value is None or _is_empty(value)]
        missing += [name] if len(empty) == len(values) else [f"{name}.{key}" for key in empty]
    return missing


def _is_empty(value: Any) -> bool:
    return isinstance(value, dict) and all(item is None for item in value.values())


def machine() -> dict[str, Any]:
    """Properties of this machine that affect the measured figures."""
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load_1_min": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _display_as_seen(measured: Measured) -> dict[str, Any]:
    timing = measured.timing
    return {"swap_blocks": timing.swap_blocks if len(timing.frames) else None, "present_source": timing.source or None}


def _physics_as_seen(measured: Measured) -> dict[str, Any]:
    frames = measured.timing.frames
    return {"rate": distribution(frames["rate"][frames["newest_tick"] >= 0])}


NOT_MEASURED = "-"


def show(report: dict[str, Any], console: Console | None = None, full: bool = False) -> None:
    """Prints the report as text, by default on standard output: a sentence and a short table. full: True to print all
    figures and the conditions instead of the short table."""
    from rich.text import Text

    console = console or standard_output()
    console.print(Text(sentence(report), style="bold"), soft_wrap=True)
    if not full:
        print_table(console, _summary(report))
        console.print(Text("For all figures and conditions use --full or --json FILE.", style="dim"), soft_wrap=True)
        return
    print_table(console, _spreads(report))
    print_table(console, _figures(report))
    for line in report["conditions"]:
        console.print(Text(f"- {line}", style="dim"), soft_wrap=True)


def _summary(report: dict[str, Any]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for name, text in rows(report):
        table.add_row(Text(name, style="bold"), text)
    return table


def _costs_in_words(counts: dict[str, int | None]) -> str:
    """Number of frames that each cost made late, in words. The most frequent cost comes first."""
    known = sorted(((count, name) for name, count in counts.items() if count), reverse=True)
    return ", ".join(f"{count} {name}" for count, name in known)


def _spreads(report: dict[str, Any]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("figure")
    for name in STATISTICS:
        table.add_column(name, justify="right")
    for name in SECTIONS:
        for key, spread in report[name].items():
            if isinstance(spread, dict) and set(spread) == set(STATISTICS) and spread["mean"] is not None:
                table.add_row(f"{name}.{key}", *(as_text(spread[statistic]) for statistic in STATISTICS))
    return table


def _figures(report: dict[str, Any]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for section_name, keys in SECTIONS.items():
        shown: list[str] = []
        names: list[str] = []
        phases: list[str] = []
        counts = ""
        for key, kind in keys.items():
            value = report[section_name][key]
            if kind == NAMES:
                names = [
                    f"{name.replace('_', ' ')} {as_text(item)}" for name, item in value.items() if item is not None
                ]
            elif kind == PHASES:
                phases = [f"{name} {as_text(ms)}" for name, ms in value.items() if ms is not None]
            elif kind == COUNTS:
                counts = _costs_in_words(value)
            elif kind != SPREAD and value is not None:
                shown.append(f"{key} {as_text(value)}")
        if section_name == "events" and not any(report["events"].get(key) for key in keys if key != "late_ms"):
            continue  # no event was emitted
        table.add_row(Text(section_name, style="bold"), ", ".join(shown) or NOT_MEASURED)
        if counts:
            table.add_row("", f"render_late by cost: {counts}")
        if names:
            table.add_row("", "1 % low fps, by definition: " + ", ".join(names))
        if phases:
            table.add_row("", "phases up to the first frame, ms: " + ", ".join(phases))
    return table


def as_text(value: Any) -> str:
    """Text of one figure, rounded to a few digits."""
    if value is None:
        return NOT_MEASURED
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}" if abs(value) < 1 else f"{value:.2f}"
    return str(value)


# Texts and tables are printed on standard output, in any encoding and width.
#
# Always: characters that the encoding does not have are written as escape sequences. No word of a table is cut: if the
# terminal is too narrow for a table, the terminal wraps the lines.


# A number of characters that is larger than the width of any table.
WIDEST = 100_000


def standard_output() -> Console:
    """Console that prints to standard output, without markup, highlighting or emoji. Printing raises OSError if the
    disk is full, and BrokenPipeError if the program that reads the output has ended."""
    from rich.console import Console

    if isinstance(sys.stdout, io.TextIOWrapper):
        with contextlib.suppress(ValueError):  # standard output is closed
            sys.stdout.reconfigure(errors="backslashreplace")

    class Output(Console):
        def on_broken_pipe(self) -> None:
            raise  # the error is not passed to rich, because rich would end the process with code 1

    return Output(highlight=False, markup=False, emoji=False)


def print_table(console: Console, table: Table) -> None:
    """Prints the table at the console's width, or wider if its words need more space."""
    from rich.cells import cell_len
    from rich.measure import Measurement

    unlimited = console.options.update(width=WIDEST)
    for column in table.columns:
        if column.no_wrap:  # each line of a cell counts as one word
            cells = [str(cell) for cell in (column.header, *column.cells)]
            column.min_width = max(cell_len(line) for cell in cells for line in cell.split("\n"))
    before = console.width
    console.width = max(before, Measurement.get(console, unlimited, table).minimum)
    try:
        console.print(table)
    finally:
        console.width = before
