"""This module makes the results of `measure --against`: the table and the JSON document. It also checks limits on
differences.

Always: a compared figure has the same name in `--json`, in the table and in `--fail-if`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import twixt
from twixt.cli.differences import FALSE_ALARMS, NO_VERDICT, Compared, MachineLoad, Noise
from twixt.ipc.errors import TwixtError
from twixt.render.measure.report import as_text, machine, print_table, standard_output
from twixt.render.measure.report_keys import OPERATORS, Limit, read_limits

SCHEMA = "twixt-against/1"
# Width of a table that is written to a file or a pipe, in characters. On a terminal, the terminal's width is used.
WIDTH = 120
MISSED_PER_MINUTE = "frames.missed_per_minute"
# Compared figures, by their keys in the report. Each additional figure would widen the intervals of all figures.
FIGURES = (
    "frames.cpu_ms.p50",
    "frames.cpu_ms.p99",
    "motion.animation_error_ms.p50",
    "motion.animation_error_ms.p99",
    "motion.judder.p50",
    "motion.judder.p99",
    "frames.mean_fps",
    "frames.interval_ms.p99",
    MISSED_PER_MINUTE,
    "motion.sample_age_ms.p50",
    "physics.step_ms.p50",
)


def figures_of(report: dict[str, Any]) -> dict[str, float | None]:
    """Returns the compared figures in a run's report. A figure that was not measured is None."""
    found = {name: _number(_at(report, name)) for name in FIGURES}
    seconds, missed = _number(_at(report, "frames.seconds")), _number(_at(report, "frames.missed_refreshes"))
    found[MISSED_PER_MINUTE] = missed * 60 / seconds if missed is not None and seconds else None
    return found


def read_differences(texts: Sequence[str]) -> list[Limit]:
    """Reads limits on differences, such as `FIGURE>1`. Raises TwixtError. For an unknown name, the error suggests
    similar names."""
    limits = read_limits(texts, FIGURES)
    for limit in limits:
        if not isinstance(limit.bound, float):
            raise TwixtError(
                f"--fail-if must compare a difference with a number, got {limit.bound!r} in {limit.text!r}; "
                "write it like 'frames.mean_fps<-1'"
            )
    return limits


def broken(limits: Sequence[Limit], compared: Sequence[Compared]) -> list[str]:
    """Returns the broken limits, each with the reason. A difference that is not seen (`Compared.is_seen`) counts as 0.
    If a figure has no verdict, all limits on the figure count as broken."""
    of = {one.figure: one for one in compared}
    lines = []
    for limit in limits:
        one = of.get(limit.path)
        if one is None or one.verdict == NO_VERDICT:
            lines.append(f"{limit.text}: no verdict: {one.why if one is not None else 'no runs were compared'}")
            continue
        seen = one.difference if one.is_seen and one.difference is not None else 0.0
        if OPERATORS[limit.sign](seen, limit.bound):
            lines.append(f"{limit.text}: B - A is {seen:+.4g}" if one.is_seen else f"{limit.text}: {one.verdict}")
    return lines


def show(compared: Sequence[Compared], noise: Noise, notes: Sequence[str], flags: dict[str, str]) -> None:
    """Prints the table, with a verdict for each figure, and then the notes."""
    from rich.table import Table

    console = standard_output()
    if not console.is_terminal:
        console.width = max(console.width, WIDTH)
    for side, typed in flags.items():
        console.print(f"{side}: twixt measure {typed}", soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    table.add_column("figure", no_wrap=True)
    for title in ("A", "B", "B - A", "interval"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("verdict")
    reasons, unmeasured = [], []
    for one in compared:
        if not sum(one.runs):
            unmeasured.append(one.figure)
            continue
        between = "-" if one.low is None else f"{as_text(one.low)} .. {as_text(one.high)}"
        table.add_row(one.figure, as_text(one.a), as_text(one.b), as_text(one.difference), between, _verdict(one))
        reasons += [f"no verdict: {one.why}"] if one.why else []
    print_table(console, table)
    reasons += [f"not measured: {', '.join(unmeasured)}"] if unmeasured else []
    for line in dict.fromkeys([*reasons, *notes, *noise.notes]):
        console.print(f"- {line}", soft_wrap=True)
    console.print(
        f"- A and B are medians over the runs. If A and B had the same flags, {FALSE_ALARMS:.1%} of such tables would "
        "show a difference by chance",
        soft_wrap=True,
    )


def document(
    compared: Sequence[Compared],
    noise: Noise,
    notes: Sequence[str],
    flags: dict[str, str],
    command: str,
    runs: Sequence[tuple[str, dict[str, float | None], MachineLoad, str, bool]],
) -> dict[str, Any]:
    """Returns the document of `--json`. runs: for each run its side, figures, load and fault, and True if the run
    counts."""
    return {
        "schema": SCHEMA,
        "version": twixt.__version__,
        "command": command,
        "machine": machine(),
        "flags": flags,
        "conditions": [*notes, *noise.notes],
        "too_noisy": noise.too_noisy,
        "figures": {one.figure: dataclasses.asdict(one) for one in compared},
        "runs": [
            {"side": side, "counts": counts, "fault": fault, "load": dataclasses.asdict(load), "figures": figures}
            for side, figures, load, fault, counts in runs
        ],
    }


def _verdict(one: Compared) -> str:
    if one.is_seen and one.difference is not None and one.low is not None and one.high is not None:
        ends = sorted((abs(one.low), abs(one.high)))
        return f"{one.verdict} by {as_text(abs(one.difference))} ({as_text(ends[0])}..{as_text(ends[1])})"
    return one.verdict


def _at(report: dict[str, Any], path: str) -> Any:
    value: Any = report
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
