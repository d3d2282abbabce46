"""`twixt compare` prints the figures of two runs as a table, and plots the motion of both runs.

Each run is given as a frame log (CSV) or a report (JSON). The plot needs two frame logs.
"""

from __future__ import annotations

import json
import os
from typing import Any

from twixt.ipc.errors import TwixtError
from twixt.ipc.process.notices import print_notice
from twixt.render.measure.frame_log import read_log
from twixt.render.measure.frame_rows import FrameTable
from twixt.render.measure.report import as_text, of_log, print_table, standard_output
from twixt.render.measure.report_keys import BELOW, OLDER_SCHEMAS, SCHEMA, SECTIONS, SPREAD

# Statistics of a distribution that are compared: the median and the tail.
COMPARED_STATISTICS = ("p50", "p99")
# Largest accepted figure. The difference of two larger figures might be infinite.
MOST = 1e300
LONGEST_REPORT = 1 << 24  # largest number of characters in a report; a usual report has a few thousand


def compare_files(a: str, b: str, plot: str | None = None) -> int:
    """Runs `twixt compare A B`. Prints the table. If `plot` is given, saves the plot in the file `plot`. Returns the
    exit code. Raises TwixtError for a file that cannot be read or written."""
    (report_a, table_a), (report_b, table_b) = _read(a), _read(b)
    if plot is not None:
        from twixt.render.measure.plots import compared

        compared(_required(a, table_a), _required(b, table_b), plot, _titles(a, b))
    _show(report_a, report_b, _titles(a, b))
    return 0


def differences(a: dict[str, Any], b: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Returns every figure that at least one of the two reports has: its name, and its value in each report."""
    lines = []
    for section, keys in SECTIONS.items():
        for key, kind in keys.items():
            # a report of an older version of twixt has fewer keys
            of_a, of_b = a[section].get(key), b[section].get(key)
            below = COMPARED_STATISTICS if kind == SPREAD else BELOW.get(kind, ())
            if not below:
                lines.append((f"{section}.{key}", of_a, of_b))
            for name in below:
                lines.append((f"{section}.{key}.{name}", (of_a or {}).get(name), (of_b or {}).get(name)))
    return [line for line in lines if line[1] is not None or line[2] is not None]


def _read(path: str) -> tuple[dict[str, Any], FrameTable | None]:
    if not path.endswith(".json"):
        table = read_log(path)
        return of_log(table, f"twixt report {path}"), table
    try:
        with open(path, encoding="utf-8") as file:
            report = json.loads(file.read(LONGEST_REPORT))
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "it is not JSON"
        raise TwixtError(
            f"cannot read the report {path!r}: {reason}; write one with: twixt measure --json {path}"
        ) from None
    found = report.get("schema") if isinstance(report, dict) else None
    if found not in (SCHEMA, *OLDER_SCHEMAS):
        raise TwixtError(
            f"{path!r} must be a report with the schema {SCHEMA}, got {found!r}; "
            "write one with: twixt measure --json FILE"
        )
    _check(path, report)
    if found != SCHEMA:
        _leave_out_other_units(path, report)
    return report, None


def _check(path: str, report: dict[str, Any]) -> None:
    """Raises TwixtError unless every figure is null, a text, or a number with a magnitude below MOST. Missing figures
    are accepted, because older reports have fewer figures."""
    for section, keys in SECTIONS.items():
        values = report.setdefault(section, {})
        if not isinstance(values, dict):
            raise _changed_since(path, section)
        for key, kind in keys.items():
            value = values.get(key)
            is_several = value is not None and (kind == SPREAD or bool(BELOW.get(kind)))
            if is_several and not isinstance(value, dict):
                raise _changed_since(path, f"{section}.{key}")
            for figure in value.values() if isinstance(value, dict) else [value]:
                if not isinstance(figure, str | int | float | None) or abs(_number(figure)) >= MOST:
                    raise _changed_since(path, f"{section}.{key}")


def _leave_out_other_units(path: str, report: dict[str, Any]) -> None:
    """Removes some figures from an older report, because they had another unit or meaning: the animation errors (ms of
    simulated time) and the causes. Prints a warning."""
    print_notice(
        f"{path!r} has the older schema {report['schema']}. Its animation errors and causes cannot be compared, so "
        "they are left out. To compare them, write a new report of its frame log: twixt report LOG --json FILE"
    )
    report["motion"].pop("animation_error_ms", None)
    report["causes"] = {}


def _number(figure: Any) -> int | float:
    return figure if isinstance(figure, int | float) else 0


def _changed_since(path: str, name: str) -> TwixtError:
    return TwixtError(
        f"{path!r}: {name} is not a valid figure, so the file is damaged; "
        "write a new one with: twixt measure --json FILE"
    )


def _required(path: str, table: FrameTable | None) -> FrameTable:
    if table is None:
        raise TwixtError(f"--plot needs two frame logs, but {path!r} is a report; name the file that --log wrote")
    return table


def _titles(a: str, b: str) -> tuple[str, str]:
    """Returns the names of the two files without folder and suffix. If these names are equal, returns the full
    paths."""
    short = [os.path.splitext(os.path.basename(path))[0] for path in (a, b)]
    return (short[0], short[1]) if short[0] != short[1] else (a, b)


def _show(a: dict[str, Any], b: dict[str, Any], titles: tuple[str, str]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("figure", overflow="fold")
    for title in (*titles, "change"):
        table.add_column(title, justify="right")
    for name, first, second in differences(a, b):
        table.add_row(name, as_text(first), as_text(second), _change(first, second))
    print_table(standard_output(), table)


def _change(first: Any, second: Any) -> str:
    numbers = [value for value in (first, second) if isinstance(value, (int, float)) and not isinstance(value, bool)]
    if len(numbers) < 2:
        return "" if first == second else "differs"
    change = numbers[1] - numbers[0]
    return f"+{as_text(change)}" if change > 0 else as_text(change)
