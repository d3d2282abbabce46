"""The figures of `twixt bench guest` as a table in the terminal, as JSON and as a page (Markdown)."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING, Any

from twixt.cli.bench import guest_machine
from twixt.ipc.errors import TwixtError

if TYPE_CHECKING:
    from twixt.cli.bench.guest import Found
    from twixt.cli.bench.guest_figures import Slowdown

ABOUT = """\
# What a viewer takes from a loop that never rests

Made by `{command}`. The loop runs as fast as it goes, in a process of its own; its viewer is stopped and let go on in
turns of a second, and steps are counted by the wall clock. *Slower* is the median over the turns, each against its two
neighbours, with the interval that holds 95 % of resampled medians; *worst* is the slowest turn.
"""
COLUMNS = (
    "loop", "bodies", "load", "slower, %", "95 %", "worst", "fps", "p99, ms", "free", "others", "wanted",
)  # fmt: skip
LEGEND = (
    "p99: animation error in ms of display time; free: cores that nothing used before; others: cores that other "
    "programs had meanwhile, beside the load that was asked for"
)


def leave(found: list[Found], command: str, json_file: str | None, out: str | None, cut_short: bool) -> None:
    """Shows it and writes the files. Raises TwixtError."""
    where: dict[str, Any] = {
        "cores": guest_machine.cores(), "kernel": platform.release(), "load_average": round(os.getloadavg()[0], 2),
    }  # fmt: skip
    if cut_short:
        where["cut_short"] = "ended with Ctrl-C: what was not measured by then is missing"
    if json_file is not None:
        from twixt.render.measure.report import write_json

        write_json({"command": command, "conditions": where, "rows": [one.to_json() for one in found]}, json_file)
    if out is not None:
        _write(out, found, command, where)
    if json_file != "-":
        _show(found, where)


def cells(one: Found) -> list[str]:
    """One line of the table, as texts."""
    from twixt.cli.bench.guest import HERE

    case, slow, seen = one.case, one.slow, one.seen
    way = case.way if case.version == HERE else f"{case.way}, {case.version}"
    if slow is None:
        return [way, f"{case.bodies:,}", case.load, *["-"] * 7, f"not measured: {one.failure}"]
    return [
        way, f"{case.bodies:,}", case.load, f"{slow.median:+.1f}", f"{slow.low:+.1f} {slow.high:+.1f}",
        f"{slow.worst:+.1f}", _text(seen.fps, ".0f"), _text(seen.error_p99_ms, ".1f"), _text(one.free_before, ".2f"),
        _text(one.others, ".2f"), _wanted(one, slow),
    ]  # fmt: skip


def _wanted(one: Found, slow: Slowdown) -> str:
    from twixt.cli.bench.guest import BARS

    most, least = BARS[one.case.load]
    said = f"<= {most:g} {'ok' if slow.median <= most else 'MISSED'}"
    if least is None:
        return said
    return f"{said}, >= {least:g} fps {'ok' if (one.seen.fps or 0) >= least else 'MISSED'}"


def _show(found: list[Found], where: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1, 0, 0))
    for name in COLUMNS:
        table.add_column(name, overflow="fold")
    for one in found:
        table.add_row(*map(Text, cells(one)))
    console = Console(highlight=False)
    console.print(table)
    console.print(Text(_conditions(where), "dim"), soft_wrap=True)


def _write(path: str, found: list[Found], command: str, where: dict[str, Any]) -> None:
    lines = [ABOUT.format(command=command), f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    lines += [f"| {' | '.join(cells(one))} |" for one in found]
    lines += ["", f"- {_conditions(where)}"]
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    except OSError as error:
        raise TwixtError(f"cannot write the page {path!r}: {error.strerror}; give another --out") from None


def _conditions(where: dict[str, Any]) -> str:
    told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in where.items())
    return f"{told}; {LEGEND}"


def _text(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
