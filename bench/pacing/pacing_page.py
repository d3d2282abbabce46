"""Makes the tables and the picture of `python -m bench pacing`, for docs/pacing.md.

The upper half of the picture shows the cost of each contestant with each work trace. Costs further left are better.
The lower half shows, against time, for how long each frame was visible. The picture is readable at a width of 900 px.
matplotlib is imported only for a picture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.pacing import cases
from bench.pacing.cases import NEVER, TWIXT
from bench.pacing.play import twixt_pacer
from bench.pages import Block, Notes, Table, TableColumn
from twixt.render.measure.plots import FONT_PT, INK, RULE, empty_figure, save

if TYPE_CHECKING:
    from bench.pacing.cases import CaseRow, LaboratoryResults, PlayedRun, Target


SHORT = {"twixt": "twixt", "never widen": "never", "oracle": "oracle"}
COSTS = "cost"  # unit of the targets for costs; there are many of these targets, so only missed ones are shown


# A case is listed if its cost exceeds a limit. The limit is COSTLIER_SHARE times the cost of a fixed interval, plus
# COSTLIER_MORE.
COSTLIER_SHARE, COSTLIER_MORE = 1.25, 20


class PageTable(NamedTuple):
    """A table of the page. rows: function that selects the rows. contestants: whose figures are in a cell. figures:
    names and formats of the figures of each contestant."""

    title: str
    legend: str
    rows: Callable[[LaboratoryResults], Iterable[CaseRow]]
    contestants: Sequence[str]
    figures: Sequence[tuple[str, str]]


def _plain(found: LaboratoryResults) -> list[CaseRow]:
    return [row for row in found.rows if "," not in row.display]


def _helped(found: LaboratoryResults) -> list[CaseRow]:
    """Rows of displays with a fence or with reports."""
    return [row for row in found.rows if "," in row.display]


PAGE_TABLES = (
    PageTable(
        "Cost",
        "Each cell has three costs in ms per second: twixt's cost / the cost of *never widen* / the oracle's cost.",
        _plain,
        cases.CONTESTANTS,
        (("cost", ".0f"),),
    ),
    PageTable(
        "Off",
        "Each cell has two shares of frames that are off: twixt's share / the share of *never widen*.",
        _plain,
        (TWIXT, NEVER),
        (("off_share", ".1%"),),
    ),
    PageTable(
        "Frame rate, error and lag",
        "Each cell has three figures of twixt's pacer: frames per second / error in ms / lag in ms.",
        _plain,
        (TWIXT,),
        (("fps", ".1f"), ("error_p99_ms", ".1f"), ("latency_ms", ".0f")),
    ),
    PageTable(
        "With a fence, or with the display's reports",
        "Each cell has three figures of twixt's pacer: cost in ms per second / share of frames that are off / lag in ms.",
        _helped,
        (TWIXT,),
        (("cost", ".0f"), ("off_share", ".1%"), ("latency_ms", ".0f")),
    ),
    PageTable(
        "After a change of mode",
        "Each cell has three figures of twixt's pacer after the change: "
        "cost in ms per second / share of frames that are off / lag in ms.",
        lambda found: found.changes,
        (TWIXT,),
        (("cost", ".0f"), ("off_share", ".1%"), ("latency_ms", ".0f")),
    ),
)


def page(found: LaboratoryResults) -> Iterator[Block]:
    yield (
        f"Each trace of work was played with {found.seeds} seeds of the random numbers, for {found.seconds:g} s each. "
        "The first second does not count."
    )
    yield "## Targets"
    yield from _targets(found.targets)
    yield "## Cases where twixt is worse than a fixed interval"
    yield from _costlier(found.rows)
    yield "## All figures"
    yield "Each figure is the mean of all seeds."
    for about in PAGE_TABLES:
        rows = [row for row in about.rows(found) if row.contestant in about.contestants]
        if rows:
            yield f"### {about.title}"
            yield about.legend
            yield _by_display(rows, about)


def _by_display(rows: Sequence[CaseRow], about: PageTable) -> Table:
    """Table with one line for each work or change of mode, and one column for each display."""
    cells: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        texts = (format(getattr(row.figures, name), form) for name, form in about.figures)
        cells.setdefault(row.work, {}).setdefault(row.display, []).extend(texts)
    displays = list(dict.fromkeys(row.display for row in rows))

    def column(display: str) -> TableColumn:
        return TableColumn(display, lambda line: " / ".join(line[1].get(display, ["-"])), right=True)

    return Table([TableColumn("", lambda line: line[0]), *map(column, displays)], list(cells.items()))


def shown(found: LaboratoryResults) -> list[Block]:
    """Tables of the displays and of the changes of mode, and a table of the targets, for a terminal."""
    targets = [
        f"{'met    ' if target.is_met else 'NOT MET'} {in_words(target)}"
        for target in found.targets
        if not target.is_met or target.unit != COSTS
    ]
    if found.targets:
        targets.append(f"{sum(target.is_met for target in found.targets)} of {len(found.targets)} targets met")
    return [*_tables(found), *targets]


def in_words(target: Target) -> str:
    return f"{target.name}: {target.figure:.4g} {target.unit}, must be {'<=' if target.is_most else '>='} {target.limit:.4g}"


def _tables(found: LaboratoryResults) -> Iterator[Table]:
    for display, rows in groupby(found.rows, key=lambda row: row.display):
        yield _table(display, list(rows))
    for display, rows in groupby(found.changes, key=lambda row: row.display):
        yield _table(f"{display}, from a change of mode on", list(rows))


def _table(title: str, rows: Sequence[CaseRow]) -> Table:
    """Table with one line per work trace. It has the costs of all contestants. It also has four figures of twixt's
    pacer, which is the first contestant: frames per second, 99th percentile of the error, share of frames that are
    off by more than 2 ms, and lag. The lag is the time from the start of a frame until the frame is visible."""
    contestants = list(dict.fromkeys(row.contestant for row in rows))
    own = contestants[0]

    def figure(title: str, name: str, contestant: str, form: str, in_terminal: str) -> TableColumn:
        return TableColumn(title, lambda line: getattr(line[1][contestant], name), form, in_terminal, right=True)

    columns = [
        TableColumn("", lambda line: line[0], in_terminal="work"),
        *(figure(f"cost, {name}", "cost", name, ".0f", f"cost\n{SHORT[name]}") for name in contestants),
        figure("fps", "fps", own, ".1f", "fps"),
        figure("error p99 ms", "error_p99_ms", own, ".1f", "p99\nms"),
        figure("off", "off_share", own, ".1%", "off by\n> 2 ms"),
        figure("lag ms", "latency_ms", own, ".0f", "lag\nms"),
        *(figure(f"off, {name}", "off_share", name, ".1%", f"off,\n{SHORT[name]}") for name in contestants[1:2]),
    ]
    works = groupby(rows, key=lambda row: row.work)
    return Table(columns, [(work, {row.contestant: row.figures for row in line}) for work, line in works], title)


TARGET_COLUMNS = (
    TableColumn("target", lambda target: target.name),
    TableColumn("figure", lambda target: f"{target.figure:.4g} {target.unit}"),
    TableColumn("must be", lambda target: f"{'<=' if target.is_most else '>='} {target.limit:.4g}"),
    TableColumn("result", lambda target: "met" if target.is_met else "**not met**"),
)


def _targets(targets: Sequence[Target]) -> Iterator[Block]:
    met = sum(target.is_met for target in targets)
    yield f"The pacer meets {met} of {len(targets)} targets. The table has the worst figure of all seeds."
    yield Table(TARGET_COLUMNS, [target for target in targets if target.unit != COSTS])
    costs = [target for target in targets if target.unit == COSTS]
    missed = [in_words(target) for target in costs if not target.is_met]
    yield (
        "On some displays a swap does not wait for its own frame. There the mean cost of all seeds must be at most 1.1 "
        "times the\ncost on `blocking` with the same work, plus 1. "
        f"The pacer meets {len(costs) - len(missed)} of these {len(costs)} targets." + (" Not met:" if missed else "")
    )
    if missed:
        yield Notes(missed)


def _figure(title: str, line: int, name: str, form: str) -> TableColumn:
    return TableColumn(title, lambda row: getattr(row[line], name), form, right=False)


COSTLIER_COLUMNS = (
    TableColumn("display: work", lambda line: line[0]),
    _figure("cost, twixt", 1, "cost", ".0f"),
    _figure("cost, never widen", 2, "cost", ".0f"),
    _figure("off, twixt", 1, "off_share", ".1%"),
    _figure("off, never widen", 2, "off_share", ".1%"),
)


def _costlier(rows: Sequence[CaseRow]) -> Iterator[Block]:
    """Cases in which a fixed interval costs much less than twixt's pacer, with the shares of frames that are off."""
    of = {(row.display, row.work, row.contestant): row.figures for row in rows}
    compared = [
        (f"{display}: {work}", figures, of[display, work, NEVER])
        for (display, work, contestant), figures in of.items()
        if contestant == TWIXT and (display, work, NEVER) in of
    ]
    costlier = [line for line in compared if line[1].cost > COSTLIER_SHARE * line[2].cost + COSTLIER_MORE]
    costlier.sort(key=lambda line: line[2].cost - line[1].cost)
    yield (
        f"In {len(costlier)} of {len(compared)} cases, the cost of twixt is more than {COSTLIER_SHARE:g} times the cost of "
        f"a fixed interval, plus {COSTLIER_MORE}{':' if costlier else '.'}"
    )
    if costlier:
        yield Table(COSTLIER_COLUMNS, costlier)


WIDTH_IN, HEIGHT_IN = 9.0, 7.2
COMPARED = ("timer", "blocking", "returns at once", "queue of two")
# Markers of the contestants. The largest marker is drawn first. So all markers are visible where costs are equal.
MARKERS = {
    "oracle": {"marker": "o", "s": 60, "facecolors": "none", "edgecolors": "#999999"},
    "never widen": {"marker": "|", "s": 70, "color": "#d62728"},
    "twixt": {"marker": "o", "s": 16, "color": "#2a78c2"},
}
FRAME, REFRESH = "#2a78c2", "#9fd3b0"
BEFORE_S, AFTER_S = 1.5, 6.0
LONGEST_MS = 55.0


def draw(found: LaboratoryResults, path: str) -> None:
    """Saves the picture at `path`. Raises TwixtError if it cannot be saved."""
    figure = empty_figure(WIDTH_IN, HEIGHT_IN)
    halves: Any = figure.subfigures(2, 1, height_ratios=(4, 3))
    upper, lower = halves
    displays = [name for name in COMPARED if any(row.display == name for row in found.rows)]
    panels = _panels(upper, max(1, len(displays)))
    for axes, display in zip(panels, displays, strict=False):
        _costs(axes, [row for row in found.rows if row.display == display], display)
    handles = panels[0].get_legend_handles_labels()
    upper.legend(*handles, loc="outside lower center", ncols=3, fontsize=FONT_PT, frameon=False)
    runs = {
        "20 ms of work for 3 s, timer": cases.tried(twixt_pacer, cases.LOAD, "timer", 0),
        "the same, blocking": cases.tried(twixt_pacer, cases.LOAD, cases.BLOCKING, 0),
        "60 to 90 Hz": cases.changed(twixt_pacer, "60 to 90 Hz, seamless", cases.BLOCKING, 0),
        "60 to 144 Hz": cases.changed(twixt_pacer, "60 to 144 Hz", cases.BLOCKING, 0),
    }
    panels = _panels(lower, len(runs))
    for axes, (name, run) in zip(panels, runs.items(), strict=True):
        _frames(axes, name, run)
    panels[0].set_ylabel("a frame was seen for (ms)", fontsize=FONT_PT, color=INK)
    save(figure, path)


def _panels(figure: Any, count: int) -> list[Any]:
    panels: list[Any] = list(figure.subplots(1, count, squeeze=False, sharey=True)[0])
    for one in panels:
        one.tick_params(labelsize=FONT_PT - 1, colors=INK)
        one.spines[["top", "right"]].set_visible(False)
    return panels


def _costs(axes: Any, rows: Sequence[CaseRow], display: str) -> None:
    works = list(dict.fromkeys(row.work for row in rows))
    for name, marker in MARKERS.items():
        cost_of = {row.work: row.figures.cost for row in rows if row.contestant == name}
        axes.scatter([cost_of.get(work) for work in works], range(len(works)), label=name, **marker)
    axes.set_yticks(range(len(works)), works)
    axes.set_ylim(len(works) - 0.5, -0.5)
    axes.set_xlim(left=-20)
    axes.grid(axis="y", color=RULE, linewidth=0.6)
    axes.set_title(display, fontsize=FONT_PT + 1, color=INK)
    axes.set_xlabel("cost, ms a second", fontsize=FONT_PT, color=INK)


def _frames(axes: Any, title: str, run: PlayedRun) -> None:
    begin_ns = run.change_ns or run.work.loads[0].begin_ns
    times, lengths_ms, refreshes_ms = [], [], []
    for earlier, later in pairwise(run.seen):
        time_s = (earlier.visible_ns - begin_ns) / 1e9
        if -BEFORE_S <= time_s <= AFTER_S:
            times.append(time_s)
            lengths_ms.append(min((later.visible_ns - earlier.visible_ns) / 1e6, LONGEST_MS))
            refreshes_ms.append(run.display.mode_at(begin_ns + round(time_s * 1e9)).period_ns / 1e6)
    axes.plot(times, refreshes_ms, color=REFRESH, linewidth=3)
    axes.plot(times, lengths_ms, ".", color=FRAME, markersize=2.5)
    for load in run.work.loads:
        axes.axvspan(0, (load.end_ns - load.begin_ns) / 1e9, color=RULE, linewidth=0)
    axes.set_ylim(0, LONGEST_MS)
    axes.set_title(title, fontsize=FONT_PT, color=INK)
    axes.set_xlabel("s", fontsize=FONT_PT, color=INK)
