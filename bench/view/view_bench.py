"""Measures whether moving bodies stay in the picture, and how smoothly the camera moves: `python -m bench view`.

Each turn shows a scene of `scenes` twice on an Xvfb: by the automatic camera, and by the still view. Another process
(`observer`) reads the pixels.

Always: progress goes to standard error. Ctrl-C ends the measurement, and the figures so far are shown. A failed run is
reported and is in no figure. A figure that was not measured is None and is in no median.
"""

from __future__ import annotations

import math
import os
import platform
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from bench.pages import CUT_SHORT, Notes, Results, Table, TableColumn, collected, document_of
from bench.processes import HERE, free_cores, function_call, process
from bench.screens import Screen, mapped_screen
from bench.view.pictures import draw_pictures
from bench.view.scene_world import SceneWorld
from bench.view.scenes import SCENES
from bench.view.view_figures import FIGURES, FILLED_S, FILLED_SHARE, Observed, ViewFigures, view_figures
from twixt.cli.progress import Say
from twixt.cli.turns import order_in_turn, run_in_turns
from twixt.ipc.errors import FAILED, FINISHED, INTERRUPTED, TwixtError
from twixt.render.measure.frame_log import read_log
from twixt.render.measure.report import machine
from twixt.sim.process.viewer_command import twixt_command

SCHEMA = "twixt-view/1"
SIZE_PX = (800, 600)
AUTO, STILL = "auto", "still view"
# Flags of each view.
VIEWS = {AUTO: (), STILL: ("--still-view",)}
# At this quality, also pixels at the edges of bodies have exact colours.
FLAGS = ("--no-overlay", "--fps", "60", "--size", "{}x{}".format(*SIZE_PX), "--quality", "low")
# Time in seconds after the planned length of a run. A run that has not ended by then counts as hanging.
TIMEOUT_S = 60.0
WHOLE_WANTED, FILLED_WANTED, STILL_WANTED = 99.5, 90.0, 95.0


class ViewCase(NamedTuple):
    scene: str
    view: str

    @property
    def name(self) -> str:
        return f"{self.scene}, {self.view}"


@dataclass(frozen=True)
class ViewRun:
    """One run of a case. free_before: number of cores that were free before the run. failure: reason why the run has
    no figures."""

    case: ViewCase
    turn: int
    figures: ViewFigures | None
    free_before: float | None
    failure: str = ""

    def to_json(self) -> dict[str, Any]:
        """Case, figures and conditions of the run by name, in one flat dict."""
        figures = asdict(self.figures) if self.figures is not None else {}
        told = {"turn": self.turn, "free_cores_before": self.free_before, "failure": self.failure or None}
        return {**self.case._asdict(), **figures, **told}


class CaseMedians(NamedTuple):
    """Medians of the turns of a case, by name of the figure. turns: number of turns that have figures."""

    case: ViewCase
    turns: int
    figures: dict[str, float | None]

    @property
    def scene(self) -> type[SceneWorld]:
        return SCENES[self.case.scene]

    @property
    def misses(self) -> list[str]:
        """Names of the figures for which the automatic camera is below its target."""
        if self.case.view != AUTO:
            return []
        filled = "filled_4s" if self.scene.is_lone else "filled"
        wanted = {"whole": WHOLE_WANTED, filled: FILLED_WANTED}
        if self.scene.bounded_from_s is not None:
            wanted["still"] = STILL_WANTED
        found = {name: self.figures.get(name) for name in wanted}
        return [name for name, value in found.items() if value is not None and value < wanted[name]]

    def to_json(self) -> dict[str, Any]:
        """Case, count and figures by name, in one flat dict."""
        return {**self.case._asdict(), "turns": self.turns, **self.figures, "misses": self.misses}


def _figure(title: str, name: str, form: str) -> TableColumn:
    def text(row: CaseMedians) -> str:
        value = row.figures.get(name)
        if value is None:
            return "-" if row.turns else "not measured"
        return f"{value:{form}}" + (" not met" if name in row.misses else "")

    return TableColumn(title, text, right=True)


COLUMNS = (
    TableColumn("scene", lambda row: row.case.scene),
    TableColumn("view", lambda row: row.case.view),
    _figure("whole, %", "whole", ".1f"),
    _figure("filled, %", "filled", ".1f"),
    _figure(f"filled over {FILLED_S:g} s, %", "filled_4s", ".1f"),
    TableColumn("bounded from, s", lambda row: row.scene.bounded_from_s, "g"),
    _figure("still, %", "still", ".1f"),
    _figure("speed change, px", "speed_change_px", ".2f"),
    _figure("p99", "speed_change_p99_px", ".2f"),
    _figure("cuts", "cuts", ".0f"),
    _figure("missed a minute", "missed_per_minute", ".1f"),
    _figure("error p50, ms", "error_p50_ms", ".2f"),
    _figure("error p99, ms", "error_p99_ms", ".2f"),
    TableColumn("samples", lambda row: row.figures.get("samples"), ".0f"),
)
LEGEND = (
    "each figure is the median of the turns; it is computed from the pixels of the screen, which are read about 15 times a "
    "second",
    "whole: share of the samples in which no body touches the edge of the picture, and no body is outside; the target is "
    f"at least {WHOLE_WANTED:g} %",
    f"filled: share of the samples in which the box around all bodies takes at least {FILLED_SHARE:.0%} of the picture's "
    f"width or height; the target is at least {FILLED_WANTED:g} %",
    f"filled over {FILLED_S:g} s: as *filled*, for a box around the bodies of the last {FILLED_S:g} s; for a lone body, "
    "the target is for this figure and not for *filled*",
    "still: share of the samples in which the background has not changed since the previous sample; if the bodies stay "
    f"within bounds, the target is at least {STILL_WANTED:g} %",
    "bounded from: simulated time from which the bodies stay within bounds; *still* is computed from this time on; if "
    "there is no such time, *still* is computed from the whole run",
    "speed change: largest change of the camera's speed between two frames, in px per frame, as the median over fixed "
    "markers; p99: 99th percentile of these changes",
    "cuts: number of pictures that have no marker in common with the previous picture",
    "missed a minute: number of frames that were shown later than planned, per minute; error: animation error in ms of "
    "display time; *missed* and *error* come from the frame log",
    f"flags of the viewer: {' '.join(FLAGS)}",
)


def run(results: Results, scenes: tuple[str, ...], seconds: float, turns: int) -> int:
    """Measures all scenes. Shows and writes the results, and returns the exit code. Raises TwixtError before anything
    is measured."""
    results.check_files()
    with mapped_screen(SIZE_PX) as shown:
        runs, interrupted = collected(lambda say: _case_runs(scenes, seconds, turns, shown, say), is_logged=True)
    where = _conditions(runs, seconds, turns, shown.about) | (CUT_SHORT if interrupted else {})
    write_results(runs, results, where, scenes)
    nothing = not any(one.figures for one in runs)
    return INTERRUPTED if interrupted else FAILED if nothing else FINISHED


def in_order(scenes: Sequence[str], turns: int) -> Iterator[tuple[int, ViewCase]]:
    """Turns and cases in the order of measurement. The views of a scene run directly after each other. Every other turn
    runs them in reverse order."""
    for scene in scenes:
        for turn in range(turns):
            for view in order_in_turn(tuple(VIEWS), turn):
                yield turn, ViewCase(scene, view)


def by_case(runs: Sequence[ViewRun]) -> list[CaseMedians]:
    """Medians of each case, in the order in which cases were first measured."""
    found = []
    for case in dict.fromkeys(one.case for one in runs):
        good = [one.figures for one in runs if one.case == case and one.figures is not None]
        found.append(CaseMedians(case, len(good), {name: _median(good, name) for name in FIGURES}))
    return found


def write_results(
    runs: Sequence[ViewRun], results: Results, where: dict[str, Any], pictured: Sequence[str] = ()
) -> None:
    """Shows the figures and writes the files. pictured: scenes in the figure of pictures. Raises TwixtError."""
    cases = by_case(runs)
    document = document_of(SCHEMA, results.command, where, cases, runs)
    failures = [f"{one.case.name}, turn {one.turn + 1}: no figures: {one.failure}" for one in runs if one.failure]
    free = where["free_cores_before"]
    told = [
        f"{where['processor']}, {where['cores']} cores, {where['system']}; {where['display']}; "
        f"{where['turns']} turns of {where['seconds']:g} s each; cores free before the runs: "
        + ("unknown" if free is None else f"{free[0]:.2f} to {free[1]:.2f}"),
        *([where["cut_short"]] if "cut_short" in where else []),
    ]
    table, notes = Table(COLUMNS, cases), Notes([*LEGEND, *told, *failures])
    page: list[str | Table | Notes] = [f"Made by `{results.command}`.", table, notes]
    results.write(document, page=page, shown=[table, notes], draw=lambda path: draw_pictures(pictured, path))


def _conditions(runs: Sequence[ViewRun], seconds: float, turns: int, display: str) -> dict[str, Any]:
    free = [one.free_before for one in runs if one.free_before is not None]
    return machine() | {
        "kernel": platform.release(),
        "display": display,
        "seconds": seconds,
        "turns": turns,
        "free_cores_before": [min(free), max(free)] if free else None,
    }


def _case_runs(scenes: Sequence[str], seconds: float, turns: int, display: Screen, say: Say) -> Iterator[ViewRun]:
    cases = list(in_order(scenes, turns))

    def run(turn_and_case: tuple[int, ViewCase]) -> ViewRun:
        turn, case = turn_and_case
        return _measured(case, turn, seconds, display)

    return (made for _, made in run_in_turns(cases, run, len(cases), say, lambda turn_and_case: turn_and_case[1].name))


def _measured(case: ViewCase, turn: int, seconds: float, display: Screen) -> ViewRun:
    free, figures = free_cores(), None
    scene = SCENES[case.scene]
    with tempfile.TemporaryDirectory(prefix="twixt-") as folder:
        log, pictures = os.path.join(folder, "frames.csv"), os.path.join(folder, "pictures.npz")
        watch = function_call("bench.view.observer:observe", screen_file=display.pixels_file, out=pictures)
        command = [*twixt_command(), "run", f"{scene.__module__}:{scene.__name__}", *FLAGS, *VIEWS[case.view]]
        with process(watch, is_read=True, is_apart=True) as observer:
            next(observer.lines(), None)  # it is ready
            with process([*command, "--seconds", f"{seconds:g}", "--log", log], display.environ, cwd=HERE) as child:
                failure = child.failure(seconds + TIMEOUT_S)
        if not failure:
            try:
                figures = view_figures(Observed.read(pictures), read_log(log), scene())
            except (TwixtError, OSError) as error:
                failure = str(error)
    if figures is not None and not figures.samples:
        figures, failure = None, "no picture of the scene was seen"
    return ViewRun(case, turn, figures, free, failure)


def _median(runs: Sequence[ViewFigures], name: str) -> float | None:
    values = [value for run in runs if (value := getattr(run, name)) is not None and math.isfinite(value)]
    return statistics.median(values) if values else None
