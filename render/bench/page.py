"""The benchmark's page (Markdown): what `docs/bench.md` is made of."""

from __future__ import annotations

from typing import Any

from twixt.ipc.bench import Row
from twixt.ipc.errors import TwixtError
from twixt.render.bench.table import as_text, condition_lines, wanted

ABOUT = """\
# What everything costs

Made by `{command}`; the same command makes it again on your machine. A figure alone says little of a machine that other
programs use too, so each stands beside its physical limit, measured in turns with it in one run: the **ratio** is what
holds. All are medians. *Wanted* is the bar that the figure, its ratio, or what it is over the limit should reach.
"""
PLOT = "\n![Frames a second against the number of bodies, and the least of each shape that can be drawn]({plot})\n"


def write(path: str, groups: dict[str, list[Row]], where: dict[str, Any], command: str, plot: str | None) -> None:
    """Writes the page. plot: a picture beside it, as named in the page. Raises TwixtError."""
    lines = [ABOUT.format(command=command)]
    if plot is not None:
        lines.append(PLOT.format(plot=plot))
    for group, rows in groups.items():
        lines += [f"## {group}", "", *_table(rows), ""]
        lines += [f"- {row.name}: {row.note}" for row in rows if row.note]
        lines.append("")
    lines += ["## Conditions", "", *[f"- {line}" for line in condition_lines(where)]]
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    except OSError as error:
        raise TwixtError(f"cannot write the page {path!r}: {error.strerror}; give another --out") from None


def _table(rows: list[Row]) -> list[str]:
    lines = ["| figure | is | limit | unit | ratio | wanted | the limit is |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        cells = (row.name, as_text(row.figure), as_text(row.limit), row.unit, as_text(row.ratio), wanted(row))
        lines.append(f"| {' | '.join(cells)} | {row.limit_name} |")
    return lines
