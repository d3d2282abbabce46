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
    table.add_column(Text(group, "bold"), overflow="fold")
    for heading in ("is", "", "ratio"):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    if earlier is not None:
        table.add_column("before", no_wrap=True)
    table.add_column("wanted", no_wrap=True)
    table.add_column("limit", overflow="fold")
    for row in rows:
        before = [] if earlier is None else [changed(row, earlier)]
        limit = f"{as_text(row.limit)} {row.limit_name}"
        table.add_row(Text(row.name), as_text(row.figure), row.unit, as_text(row.ratio), *before, wanted(row), limit)
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
    """The row's bar, and whether it reaches it: of a ratio with an x, of what it is over its limit with a +."""
    if not row.bar:
        return ""
    what, sign, value = row.bar.split()
    bar = f"{sign} {value}x" if what == "ratio" else f"{sign} +{value}" if what == "over" else f"{sign} {value}"
    found = holds(row)
    return bar if found is None else f"{bar} {'ok' if found else 'MISSED'}"


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
