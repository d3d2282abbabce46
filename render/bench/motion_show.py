"""The figures of `twixt bench motion` as tables for the terminal.

Needs rich, imported when they are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from twixt.render.bench.motion_figures import Figures

if TYPE_CHECKING:
    from twixt.render.bench.motion import Result


class Column(NamedTuple):
    """A figure: what it is, how it is read off, and whether it has room in a terminal."""

    of_what: str
    statistic: str
    of: Callable[[Figures], float]
    in_terminal: bool = True


COLUMNS = (
    Column("position mm", "p50", lambda seen: seen.position_p50_mm),
    Column("position mm", "p99", lambda seen: seen.position_p99_mm),
    Column("position mm", "max", lambda seen: seen.position_max_mm),
    Column("rotation deg", "p99", lambda seen: seen.rotation_p99_deg),
    Column("rotation deg", "max", lambda seen: seen.rotation_max_deg, False),
    Column("overshoot mm", "p99", lambda seen: seen.overshoot_p99_mm, False),
    Column("overshoot mm", "max", lambda seen: seen.overshoot_max_mm),
    Column("off path mm", "max", lambda seen: seen.off_path_max_mm),
    Column("jump mm", "p99", lambda seen: seen.jump_p99_mm),
    Column("jump mm", "max", lambda seen: seen.jump_max_mm, False),
    Column("from now mm", "p50", lambda seen: seen.now_p50_mm, False),
    Column("age ms", "mean", lambda seen: seen.age_mean_ms),
    Column("age ms", "p99", lambda seen: seen.age_p99_ms, False),
)


def show_table(results: Sequence[Result]) -> None:
    """Prints a table for each world and trouble, 80 letters wide."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    shown = [column for column in COLUMNS if column.in_terminal]
    for (world, trouble), lines in groupby(results, key=lambda result: (result.world, result.trouble)):
        table = Table(box=None, padding=(0, 1, 0, 0), title=Text(f"{world}: {trouble}", "bold"), title_justify="left")
        table.add_column("method", no_wrap=True)
        for column in shown:
            what, unit = column.of_what.rsplit(" ", 1)
            table.add_column(what.replace(" ", "\n") + f"\n{unit} {column.statistic}", justify="right")
        for line in lines:
            table.add_row(line.method, *(as_text(column.of(line.figures)) for column in shown))
        console.print(table)


def as_text(value: float) -> str:
    """Three digits, and nothing beyond a hundredth; "-" where nothing could be compared."""
    if value != value:
        return "-"
    return f"{value:.0f}" if abs(value) >= 99.5 else f"{value:.1f}" if abs(value) >= 9.95 else f"{value:.2f}"
