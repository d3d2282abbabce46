"""The report for people: what matters in a sentence, then every section as a table, then the conditions.

Needs rich, which is imported by whoever imports this module; nothing else does.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from twixt.render.measure.keys import COUNTS, NAMES, PARTS, SECTIONS, SPREAD, STATISTICS

NOT_MEASURED = "-"


def show(report: dict[str, Any], console: Console | None = None) -> None:
    """Prints a report. Standard output by default."""
    console = console or Console(highlight=False, markup=False, emoji=False)
    console.print(Text(verdict(report), style="bold"), soft_wrap=True)
    console.print(_spreads(report))
    console.print(_figures(report))
    for line in report["conditions"]:
        console.print(Text(f"- {line}", style="dim"), soft_wrap=True)


def verdict(report: dict[str, Any]) -> str:
    """The run in one sentence, as far as it was measured."""
    frames, motion, causes = report["frames"], report["motion"], report["causes"]
    parts = []
    if frames["mean_fps"] is not None:
        parts.append(f"{frames['count']} frames in {frames['seconds']:.1f} s, {frames['mean_fps']:.1f} fps")
    if motion["distinct_share"] is not None:
        parts.append(f"{motion['distinct_share']:.1%} of them a new picture")
    if motion["animation_error_ms"]["p99"] is not None:
        parts.append(f"99 % within {motion['animation_error_ms']['p99']:.2f} ms of even motion")
    bad = {name: causes[name] for name in ("physics_late", "render_late", "display_late") if causes[name]}
    if bad:
        late = _parts(causes.get("render_late_parts") or {})
        named = {name: f" ({late})" if name == "render_late" and late else "" for name in bad}
        words = (f"{count} {name.replace('_', ' ')}{named[name]}" for name, count in bad.items())
        parts.append("bad frames: " + ", ".join(words))
    return "; ".join(parts) + "." if parts else "Nothing was measured."


def _parts(counts: dict[str, int | None]) -> str:
    """The parts that frames were late by, the commonest first."""
    known = sorted(((count, name) for name, count in counts.items() if count), reverse=True)
    return ", ".join(f"{count} {name}" for count, name in known)


def _spreads(report: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("figure")
    for name in STATISTICS:
        table.add_column(name, justify="right")
    for section, keys in SECTIONS.items():
        for key, kind in keys.items():
            if kind == SPREAD and report[section][key]["mean"] is not None:
                table.add_row(f"{section}.{key}", *(as_text(report[section][key][name]) for name in STATISTICS))
    return table


def _figures(report: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for section, keys in SECTIONS.items():
        shown: list[str] = []
        names: list[str] = []
        parts: list[str] = []
        counts = ""
        for key, kind in keys.items():
            value = report[section][key]
            if kind == NAMES:
                names = [
                    f"{name.replace('_', ' ')} {as_text(item)}" for name, item in value.items() if item is not None
                ]
            elif kind == PARTS:
                parts = [f"{name} {as_text(ms)}" for name, ms in value.items() if ms is not None]
            elif kind == COUNTS:
                counts = _parts(value)
            elif kind != SPREAD and value is not None:
                shown.append(f"{key} {as_text(value)}")
        table.add_row(Text(section, style="bold"), ", ".join(shown) or NOT_MEASURED)
        if counts:
            table.add_row("", f"render late by: {counts}")
        if names:
            table.add_row("", "1 % low fps by definition: " + ", ".join(names))
        if parts:
            table.add_row("", "to the first frame, ms: " + ", ".join(parts))
    return table


def as_text(value: Any) -> str:
    """One figure, as short as it can be read."""
    if value is None:
        return NOT_MEASURED
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}" if abs(value) < 1 else f"{value:.2f}"
    return str(value)
