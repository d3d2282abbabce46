"""The tables of `twixt bench pacing` on a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from twixt.cli.bench.pacing.bars import Bar
    from twixt.cli.bench.pacing.call_cost import CallCost
    from twixt.cli.bench.pacing.laboratory import Found, Row

SHORT = {"twixt": "twixt", "never widen": "never", "oracle": "oracle"}
COSTS = "cost"  # of bars that compare costs: many, so only those not met are shown


def tables(found: Found) -> None:
    """Each display's rows, the changes of mode, then the bars."""
    console = Console()
    for display, rows in groupby(found.rows, key=lambda row: row.display):
        console.print(of_display(display, list(rows)))
    if found.changes:
        for display, rows in groupby(found.changes, key=lambda row: row.display):
            console.print(of_display(f"{display}, from a change of mode on", list(rows)))
    _say_bars(console, found.bars)


def of_display(title: str, rows: Sequence[Row]) -> Table:
    """A line a work: cost and frames a second, error p99, share off by > 2 ms, lag (start to present) of twixt's pacer."""
    grid = Table(title=title, title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0))
    grid.add_column("work", no_wrap=True)
    contestants = list(dict.fromkeys(row.contestant for row in rows))
    for name in contestants:
        grid.add_column(f"cost\n{SHORT[name]}", justify="right")
    for title in ("fps", "p99\nms", "off by\n> 2 ms", "lag\nms"):
        grid.add_column(title, justify="right")
    if len(contestants) > 1:
        grid.add_column("off,\nnever", justify="right")
    for work, line in groupby(rows, key=lambda row: row.work):
        of = {row.contestant: row.figures for row in line}
        own = next(iter(of.values()))
        cells = [f"{figure.cost:.0f}" for figure in of.values()]
        cells += [f"{own.fps:.1f}", f"{own.error_p99_ms:.1f}", f"{own.off_share:.1%}", f"{own.latency_ms:.0f}"]
        cells += [f"{figure.off_share:.1%}" for figure in list(of.values())[1:2]]
        grid.add_row(work, *cells)
    return grid


def said(bar: Bar) -> str:
    """The check with its figure."""
    return f"{bar.name}: {bar.figure:.4g} {bar.unit}, must be {'<=' if bar.is_most else '>='} {bar.limit:.4g}"


def call_cost(of: CallCost) -> None:
    """What the pacer itself takes."""
    print(
        f"the pacer's calls of one frame: median {of.median_us:.0f} us, p99 {of.p99_us:.0f}, longest {of.longest_us:.0f}"
    )


def _say_bars(console: Console, bars: Sequence[Bar]) -> None:
    for bar in bars:
        if not bar.is_met or bar.unit != COSTS:
            console.print(f"{'met    ' if bar.is_met else 'NOT MET'} {said(bar)}", highlight=False, soft_wrap=True)
    if bars:
        console.print(f"{sum(bar.is_met for bar in bars)} of {len(bars)} bars met", highlight=False)
