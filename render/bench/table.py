"""The benchmark's rows in a terminal, group by group, as they come."""

from __future__ import annotations

from typing import Any

from twixt.ipc.bench import Row
from twixt.render.bench.document import Before, Key, change
from twixt.render.bench.turns import holds


def show_group(group: str, rows: list[Row], earlier: dict[Key, Before] | None) -> None:
    """Prints a group's rows, and how they changed against an `earlier` run where there is one."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column(Text(group, "bold"), no_wrap=True)
    for heading in ("is", "limit", "", "ratio"):
        table.add_column(heading, justify="left" if not heading else "right", no_wrap=True)
    if earlier is not None:
        table.add_column("before", no_wrap=True)
    table.add_column("wanted", no_wrap=True)
    table.add_column("the limit is", overflow="fold")
    for row in rows:
        before = [] if earlier is None else [changed(row, earlier)]
        cells = (as_text(row.figure), as_text(row.limit), row.unit, as_text(row.ratio), *before, wanted(row))
        table.add_row(Text(row.name), *cells, row.limit_name)
    console = Console(highlight=False)
    console.print(table)
    for row in rows:
        if row.note:
            console.print(Text(f"- {row.name}: {row.note}"), soft_wrap=True)
    console.print()


def show_conditions(where: dict[str, Any]) -> None:
    """Prints what it was measured under."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for line in condition_lines(where):
        console.print(Text(f"- {line}", "dim"), soft_wrap=True)


def condition_lines(where: dict[str, Any]) -> list[str]:
    """The conditions in words, one a line."""
    plain = [f"{name.replace('_', ' ')} {value}" for name, value in where.items() if name != "others_had_cores"]
    lines = ["medians, taken in turns; " + ", ".join(plain)]
    cores = where.get("others_had_cores")
    if cores:
        said = ", ".join(f"{group} {share:.2f}" for group, share in cores.items())
        lines.append(f"other programs meanwhile had so many cores: {said}")
    return lines


def wanted(row: Row) -> str:
    """The row's bar, and whether it reaches it."""
    found = holds(row)
    return row.bar if found is None else f"{row.bar} {'ok' if found else 'MISSED'}"


def changed(row: Row, earlier: dict[Key, Before]) -> str:
    """The ratio of an earlier run, and by how much this one is surely better or worse."""
    found = change(row, earlier)
    if found is None:
        return "-"
    if not found.is_sure:
        return as_text(found.before)
    return f"{as_text(found.before)} {'WORSE' if found.worse > 0 else 'better'} {abs(found.worse):.0%}"


def as_text(value: float | None) -> str:
    """Three digits; the fourth of a measured time says nothing."""
    return "-" if value is None else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
