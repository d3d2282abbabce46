"""The picture of `twixt bench pacing`: what each contestant costs under each work, and four runs frame by frame.

Above, a line a work, left is better; below, how long each frame was really seen, against time. Readable at 900 px.
Needs matplotlib, imported when a picture is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from twixt.cli.bench.pacing import bars, cases
from twixt.cli.bench.pacing.play import Enter, landed
from twixt.render.measure.figure import FONT_PT, INK, RULE, empty_figure, save

if TYPE_CHECKING:
    from twixt.cli.bench.pacing.bars import Run
    from twixt.cli.bench.pacing.laboratory import Found

WIDTH_IN, HEIGHT_IN = 9.0, 7.2
COMPARED = ("timer", "blocking", "returns at once", "queue of two")
# Largest first, so that equal ones are all seen.
LOOKS = {
    "oracle": {"marker": "o", "s": 60, "facecolors": "none", "edgecolors": "#999999"},
    "never widen": {"marker": "|", "s": 70, "color": "#d62728"},
    "twixt": {"marker": "o", "s": 16, "color": "#2a78c2"},
}
FRAME, REFRESH = "#2a78c2", "#9fd3b0"
BEFORE_S, AFTER_S = 1.5, 6.0
LONGEST_MS = 55.0


def draw(found: Found, path: str, enter: Enter = landed) -> None:
    """Saves the picture. Raises TwixtError."""
    figure = empty_figure(WIDTH_IN, HEIGHT_IN)
    halves: Any = figure.subfigures(2, 1, height_ratios=(4, 3))
    upper, lower = halves
    shown = [name for name in COMPARED if any(row.display == name for row in found.rows)]
    for axes, display in zip(_panels(upper, max(1, len(shown)), sharey=True), shown, strict=False):
        _costs(axes, found, display)
    upper.legend(*_handles(upper), loc="outside lower center", ncols=3, fontsize=FONT_PT, frameon=False)
    runs = {
        "20 ms of work for 3 s, timer": bars.tried(enter, cases.LOAD, "timer", 0),
        "the same, blocking": bars.tried(enter, cases.LOAD, cases.BLOCKING, 0),
        "60 to 90 Hz": bars.changed(enter, "60 to 90 Hz, seamless", cases.BLOCKING, 0),
        "60 to 144 Hz": bars.changed(enter, "60 to 144 Hz", cases.BLOCKING, 0),
    }
    panels = _panels(lower, len(runs), sharey=True)
    for axes, (name, run) in zip(panels, runs.items(), strict=True):
        _frames(axes, name, run)
    panels[0].set_ylabel("a frame was seen for (ms)", fontsize=FONT_PT, color=INK)
    save(figure, path)


def _panels(figure: Any, count: int, **how: Any) -> list[Any]:
    panels: list[Any] = list(figure.subplots(1, count, squeeze=False, **how)[0])
    for one in panels:
        one.tick_params(labelsize=FONT_PT - 1, colors=INK)
        for side in ("top", "right"):
            one.spines[side].set_visible(False)
    return panels


def _handles(figure: Any) -> tuple[Sequence[Any], Sequence[str]]:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    return handles, labels


def _costs(axes: Any, found: Found, display: str) -> None:
    rows = [row for row in found.rows if row.display == display]
    works = list(dict.fromkeys(row.work for row in rows))
    for name, look in LOOKS.items():
        cost_of = {row.work: row.figures.cost for row in rows if row.contestant == name}
        axes.scatter([cost_of.get(work) for work in works], range(len(works)), label=name, **look)
    axes.set_yticks(range(len(works)), works)
    axes.set_ylim(len(works) - 0.5, -0.5)
    axes.set_xlim(left=-20)
    axes.grid(axis="y", color=RULE, linewidth=0.6)
    axes.set_title(display, fontsize=FONT_PT + 1, color=INK)
    axes.set_xlabel("cost, ms a second", fontsize=FONT_PT, color=INK)


def _frames(axes: Any, title: str, run: Run) -> None:
    begin_ns = run.change_ns or run.work.loads[0].begin_ns
    points = [
        ((earlier.visible_ns - begin_ns) / 1e9, (later.visible_ns - earlier.visible_ns) / 1e6)
        for earlier, later in pairwise(run.seen)
        if -BEFORE_S <= (earlier.visible_ns - begin_ns) / 1e9 <= AFTER_S
    ]
    times = [time_s for time_s, _ in points]
    refreshes = [run.display.mode_at(begin_ns + round(time_s * 1e9)).period_ns / 1e6 for time_s in times]
    axes.plot(times, refreshes, color=REFRESH, linewidth=3)
    axes.plot(times, [min(length_ms, LONGEST_MS) for _, length_ms in points], ".", color=FRAME, markersize=2.5)
    for load in run.work.loads:
        axes.axvspan(0, (load.end_ns - load.begin_ns) / 1e9, color=RULE, linewidth=0)
    axes.set_ylim(0, LONGEST_MS)
    axes.set_title(title, fontsize=FONT_PT, color=INK)
    axes.set_xlabel("s", fontsize=FONT_PT, color=INK)
