"""The figures of `twixt bench evenness`: a table in the terminal, JSON, and a Markdown table for a page."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import twixt
from twixt.cli.bench.evenness import LOOPS, SAID, Case, Ran, Wanted, summary
from twixt.cli.bench.evenness_figures import NOTICED_MS
from twixt.cli.cpu import cores
from twixt.ipc.errors import TwixtError

if TYPE_CHECKING:
    from twixt.cli.bench.evenness_figures import Several

SCHEMA = "twixt-evenness/1"
COLUMNS = (
    "world", "busy programs", "version", "fps", "error p50, ms", "error p99, ms", f"off by > {NOTICED_MS:g} ms, %",
    "missed a minute", "frames",
)  # fmt: skip
FORMS = {"fps": ".1f", "error_p50_ms": ".2f", "error_p99_ms": ".1f", "off_percent": ".1f", "missed_per_minute": ".0f"}
LEGEND = (
    "median of the turns, and in brackets the worst of them; error: animation error in ms of display time, computed for "
    "all versions from their frame logs by one definition; missed: refreshes, or the pacer's own intervals where swap "
    "waits for nothing"
)


def leave(ran: Sequence[Ran], wanted: Wanted, display: str, interrupted: bool) -> None:
    """Shows it and writes the files. Raises TwixtError."""
    where = conditions(ran, wanted, display, interrupted)
    lines = [cells(case, found) for case, found in summary(ran).items()]
    if wanted.json_file is not None:
        from twixt.render.measure.report import write_json

        rows = [
            case._asdict() | {
                "turns": found["turns"], "frames": found["frames"], "failures": found["failures"],
                **{name: one.__dict__ for name, one in found["figures"].items()},
            }
            for case, found in summary(ran).items()
        ]  # fmt: skip
        made = {
            "schema": SCHEMA, "version": twixt.__version__, "command": wanted.command, "conditions": where,
            "rows": rows, "runs": [one.to_json() for one in ran],
        }  # fmt: skip
        write_json(made, wanted.json_file)
    said = [*_in_words(where), *_failures(ran)]
    if wanted.out is not None:
        # A page is read elsewhere, where that folder is not.
        command = wanted.command.replace(wanted.before, "FOLDER") if wanted.before else wanted.command
        _write(wanted.out, lines, said, command)
    if wanted.json_file != "-":
        _show(lines, said)


def conditions(ran: Sequence[Ran], wanted: Wanted, display: str, interrupted: bool) -> dict[str, Any]:
    """What the figures were measured under."""
    from twixt.render.measure.report import machine

    free = [one.free_before for one in ran if one.free_before is not None]
    others = [one.others for one in ran if one.others is not None]
    where: dict[str, Any] = machine() | {
        "kernel": platform.release(), "display": display, "seconds": wanted.seconds, "turns": wanted.turns,
        "free_cores_before": [min(free), max(free)] if free else None,
        "others_had_cores": [min(others), max(others)] if others else None,
    }  # fmt: skip
    if interrupted:
        where["cut_short"] = "ended with Ctrl-C: what was not measured by then is missing"
    return where


def cells(case: Case, found: dict[str, Any]) -> list[str]:
    """One line of the table, as texts."""
    load = f"{cores()} loops" if case.load == LOOPS else "none"
    head = [SAID[case.world], load, case.version]
    if not found["turns"]:
        return [*head, *["not measured"] * len(FORMS), "0"]
    return [*head, *(_text(found["figures"][name], form) for name, form in FORMS.items()), f"{found['frames']:,}"]


def _text(one: Several, form: str) -> str:
    if one.median is None or one.worst is None:
        return "-"
    return f"{one.median:{form}} ({one.worst:{form}})" if one.runs > 1 else f"{one.median:{form}}"


def _in_words(where: dict[str, Any]) -> list[str]:
    def between(ends: list[float] | None) -> str:
        return "unknown" if ends is None else f"{ends[0]:.2f} to {ends[1]:.2f}"

    return [
        f"{where['processor']}, {where['cores']} cores, {where['system']}; {where['display']}; {where['turns']} turns of "
        f"{where['seconds']:g} s each",
        f"cores free before the runs: {between(where['free_cores_before'])}; other programs had meanwhile, beside the "
        f"busy ones: {between(where['others_had_cores'])} cores; load average {where['load_1_min']}",
        *([where["cut_short"]] if "cut_short" in where else []),
    ]


def _failures(ran: Sequence[Ran]) -> list[str]:
    return [
        f"{SAID[one.case.world]}, load {one.case.load}, {one.case.version}, turn {one.turn + 1}: no figures: "
        f"{one.failure}"
        for one in ran
        if one.failure
    ]


def _write(path: str, lines: list[list[str]], said: list[str], command: str) -> None:
    rows = [list(COLUMNS), ["---"] * 3 + ["---:"] * (len(COLUMNS) - 3), *lines]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    notes = "\n".join(f"- {line}" for line in (LEGEND, *said))
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"Made by `{command}`.\n\n{table}\n\n{notes}\n")
    except OSError as error:
        raise TwixtError(
            f"cannot write {path!r}: {error.strerror}; give --out a file in a folder that exists"
        ) from None


def _show(lines: list[list[str]], said: list[str]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = max(console.width, 150)
    table = Table(box=None, pad_edge=False)
    for at, column in enumerate(COLUMNS):
        table.add_column(column, justify="left" if at < 3 else "right")
    for texts in lines:
        table.add_row(*texts)
    console.print(table)
    for line in (LEGEND, *said):
        console.print(f"- {line}", soft_wrap=True)
