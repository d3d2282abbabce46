"""Measures how evenly worlds are shown, on free cores and beside busy programs: `python -m bench evenness`. On
request, compares this version of twixt with an earlier version.

Versions run in turns, in alternating order, so that the machine's state affects them equally. All figures are computed
from frame logs with this version's definitions. No turn is excluded: the worst turn is shown beside the median.

Always: progress goes to standard error. Ctrl-C ends the measurement, and the figures so far are shown. Busy programs
and displays end with their measurement. A figure that was not measured is None and is in no median. A failed run is
reported and is in no figure.
"""

from __future__ import annotations

import math
import os
import platform
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from bench.pages import CUT_SHORT, Notes, Results, Table, TableColumn, collected, document_of
from bench.processes import busy_loops, free_cores, process, version_command
from bench.screens import Screen, screen
from twixt.cli.cpu_time import CpuTime, usable_cores
from twixt.cli.progress import Say
from twixt.cli.turns import order_in_turn, run_in_turns
from twixt.ipc.errors import FAILED, FINISHED, INTERRUPTED, TwixtError
from twixt.render.measure.evenness import intervals, motion
from twixt.render.measure.frame_log import read_log
from twixt.render.measure.frame_rows import FrameTable
from twixt.render.measure.report import machine
from twixt.sim.process.viewer_command import twixt_command

SCHEMA = "twixt-evenness/1"
# Smallest animation error that an eye may notice, in ms of display time.
NOTICED_MS = 2.0
# Loads beside a run: NONE means no busy programs, and LOOPS means one busy loop per core.
NONE, LOOPS = "none", "loops"
# For each name of a world on a page, the command-line arguments of the world.
WORLDS = {"balls": ("balls",), "metronome": ("metronome",), "swarm": ("swarm", "--set", "count=2000")}
WORLD_NAMES = {"balls": "default world", "metronome": "metronome", "swarm": "swarm, 2,000"}
HERE, BEFORE = "this version", "before"
# Time in seconds after the planned length of a run. A run that has not ended by then counts as hanging.
TIMEOUT_S = 60.0
LEGEND = (
    "median of the turns, and in brackets the worst of them; error: animation error in ms of display time, computed for "
    "all versions from their frame logs by one definition; missed: refreshes, or the pacer's own intervals where swap "
    "waits for nothing"
)


@dataclass(frozen=True)
class Evenness:
    """Figures of one run. frames: number of frames that were shown after the start. off_percent: share of the
    animation errors that are above `NOTICED_MS`, in percent."""

    frames: int
    fps: float | None
    error_p50_ms: float | None
    error_p99_ms: float | None
    off_percent: float | None
    missed_per_minute: float | None


FIGURES = tuple(item.name for item in fields(Evenness) if item.name != "frames")
# Figures for which a larger value is better.
MORE_IS_BETTER = ("fps",)


class Spread(NamedTuple):
    """One figure over several runs. runs: number of the runs that have this figure."""

    median: float | None
    worst: float | None
    runs: int


class Case(NamedTuple):
    """A world, a version of twixt that draws it, and a load. Each turn measures each case once."""

    load: str
    world: str
    version: str

    @property
    def name(self) -> str:
        return f"{WORLD_NAMES[self.world]}, load {self.load}, {self.version}"


class EvennessOptions(NamedTuple):
    """Options of the command. before: folder of a checkout of an earlier version."""

    display: str
    seconds: float
    turns: int
    loads: tuple[str, ...]
    worlds: tuple[str, ...]
    before: str | None


@dataclass(frozen=True)
class CaseRun:
    """One run of a case. free_before: number of cores that were free before the run. others: number of cores that
    other programs used during the run, without the chosen load. failure: reason why the run has no figures."""

    case: Case
    turn: int
    figures: Evenness | None
    free_before: float | None
    others: float | None
    stolen: float | None
    failure: str = ""

    def to_json(self) -> dict[str, Any]:
        """Case, figures and conditions of the run by name, in one flat dict."""
        figures = asdict(self.figures) if self.figures is not None else {}
        cores = {"free_cores_before": self.free_before, "others_had_cores": self.others, "stolen_cores": self.stolen}
        return {**self.case._asdict(), "turn": self.turn, **figures, **cores, "failure": self.failure or None}


class CaseFigures(NamedTuple):
    """Results of all turns of a case. turns: number of the turns that have figures. frames: total number of frames."""

    case: Case
    turns: int
    frames: int
    failures: list[str]
    figures: dict[str, Spread]

    def to_json(self) -> dict[str, Any]:
        """Case, counts and figures by name, in one flat dict."""
        counts = {"turns": self.turns, "frames": self.frames, "failures": self.failures}
        return self.case._asdict() | counts | {name: spread._asdict() for name, spread in self.figures.items()}


def _figure(title: str, name: str, form: str) -> TableColumn:
    """Column that shows the median of a figure. If there are several runs, the worst value follows in brackets."""

    def text(row: CaseFigures) -> str:
        median, worst, runs = row.figures[name]
        if median is None or not row.turns:
            return "-" if row.turns else "not measured"
        return f"{median:{form}}" + (f" ({worst:{form}})" if runs > 1 else "")

    return TableColumn(title, text, right=True)


COLUMNS = (
    TableColumn("world", lambda row: WORLD_NAMES[row.case.world]),
    TableColumn("busy programs", lambda row: f"{usable_cores()} loops" if row.case.load == LOOPS else "none"),
    TableColumn("version", lambda row: row.case.version),
    _figure("fps", "fps", ".1f"),
    _figure("error p50, ms", "error_p50_ms", ".2f"),
    _figure("error p99, ms", "error_p99_ms", ".1f"),
    _figure(f"off by > {NOTICED_MS:g} ms, %", "off_percent", ".1f"),
    _figure("missed a minute", "missed_per_minute", ".0f"),
    TableColumn("frames", lambda row: row.frames, ",d"),
)


def run(results: Results, display: str | None, **chosen: Any) -> int:
    """Measures all cases. Shows and writes the results, and returns the exit code. Raises TwixtError before anything
    is measured."""
    choice = EvennessOptions(display or "here", **chosen)
    results.check_files()
    commands = {HERE: twixt_command()}
    if choice.before is not None:
        commands[BEFORE] = version_command(choice.before)
    with screen(choice.display) as shown:
        runs, interrupted = collected(lambda say: _case_runs(choice, commands, shown, say), is_logged=True)
    write_results(runs, choice, results, conditions(runs, choice, shown.about, interrupted))
    nothing = not any(one.figures for one in runs)
    return INTERRUPTED if interrupted else FAILED if nothing else FINISHED


def in_order(choice: EvennessOptions, versions: Sequence[str]) -> Iterator[tuple[int, Case]]:
    """Turns and cases in the order of measurement. Each turn measures each case once. The versions of a case run
    directly after each other. Every other turn runs them in reverse order."""
    for turn in range(choice.turns):
        for load in choice.loads:
            for world in choice.worlds:
                for version in order_in_turn(versions, turn):
                    yield turn, Case(load, world, version)


def evenness(table: FrameTable) -> Evenness:
    timing = intervals(table)
    moved = motion(timing)
    seconds = float(np.nansum(timing.interval_ms)) / 1e3 if len(timing.frames) else 0.0
    errors = np.abs(moved.error_ms[np.isfinite(moved.error_ms)])
    p50, p99 = np.percentile(errors, (50, 99)) if len(errors) else (None, None)
    planned = np.isfinite(timing.planned_ms) & timing.joined
    return Evenness(
        frames=len(timing.frames),
        fps=_known(timing.joined.sum() / seconds) if seconds > 0 else None,
        error_p50_ms=_known(p50),
        error_p99_ms=_known(p99),
        off_percent=_known(100 * (errors > NOTICED_MS).mean()) if len(errors) else None,
        missed_per_minute=_known(np.nansum(timing.missed) * 60 / seconds) if seconds > 0 and planned.any() else None,
    )


def several(runs: Sequence[Evenness]) -> dict[str, Spread]:
    found = {}
    for name in FIGURES:
        values = [value for run in runs if (value := getattr(run, name)) is not None and math.isfinite(value)]
        worst = min if name in MORE_IS_BETTER else max
        found[name] = Spread(statistics.median(values), worst(values), len(values)) if values else Spread(None, None, 0)
    return found


def by_case(runs: Sequence[CaseRun]) -> list[CaseFigures]:
    """The figures of each case, in the order in which cases were first measured."""
    found = []
    for case in dict.fromkeys(one.case for one in runs):
        own = [one for one in runs if one.case == case]
        good = [one.figures for one in own if one.figures is not None]
        failures = [one.failure for one in own if one.failure]
        found.append(CaseFigures(case, len(good), sum(one.frames for one in good), failures, several(good)))
    return found


def write_results(runs: Sequence[CaseRun], choice: EvennessOptions, results: Results, where: dict[str, Any]) -> None:
    """Shows the figures and writes the files. Raises TwixtError."""
    cases = by_case(runs)
    document = document_of(SCHEMA, results.command, where, cases, runs)
    failures = [f"{one.case.name}, turn {one.turn + 1}: no figures: {one.failure}" for one in runs if one.failure]
    # The page shows FOLDER, because its readers do not have that folder.
    command = results.command.replace(choice.before, "FOLDER") if choice.before else results.command
    table, notes = Table(COLUMNS, cases), Notes([LEGEND, *_conditions_in_words(where), *failures])
    results.write(document, page=[f"Made by `{command}`.", table, notes], shown=[table, notes])


def conditions(runs: Sequence[CaseRun], choice: EvennessOptions, display: str, interrupted: bool) -> dict[str, Any]:
    free = [one.free_before for one in runs if one.free_before is not None]
    others = [one.others for one in runs if one.others is not None]
    where: dict[str, Any] = machine() | {
        "kernel": platform.release(),
        "display": display,
        "seconds": choice.seconds,
        "turns": choice.turns,
        "free_cores_before": [min(free), max(free)] if free else None,
        "others_had_cores": [min(others), max(others)] if others else None,
    }
    return where | CUT_SHORT if interrupted else where


def _case_runs(choice: EvennessOptions, commands: dict[str, list[str]], display: Screen, say: Say) -> Iterator[CaseRun]:
    cases = list(in_order(choice, list(commands)))

    def run(turn_and_case: tuple[int, Case]) -> CaseRun:
        turn, case = turn_and_case
        return _measured(case, turn, commands[case.version], choice.seconds, display)

    return (made for _, made in run_in_turns(cases, run, len(cases), say, lambda turn_and_case: turn_and_case[1].name))


def _measured(case: Case, turn: int, command: list[str], seconds: float, display: Screen) -> CaseRun:
    free, figures = free_cores(), None
    begin = CpuTime.now(*display.pids)
    with tempfile.TemporaryDirectory(prefix="twixt-") as folder:
        log = os.path.join(folder, "frames.csv")
        arguments = ["measure", *WORLDS[case.world], "--seconds", f"{seconds:g}", "--log", log]
        loops = busy_loops(usable_cores() if case.load == LOOPS else 0)
        with loops, process([*command, *arguments], display.environ) as child:
            failure = child.failure(seconds + TIMEOUT_S)
        # read after the busy loops have ended, so that their time counts as time of the measurement
        end = CpuTime.now(*display.pids)
        if not failure:
            try:
                figures = evenness(read_log(log))
            except TwixtError as error:
                failure = str(error)
    if figures is not None and figures.fps is None:
        figures, failure = None, "it showed fewer than two frames"
    return CaseRun(case, turn, figures, free, end.others_since(begin), end.stolen_since(begin), failure)


def _conditions_in_words(where: dict[str, Any]) -> list[str]:
    def between(ends: list[float] | None) -> str:
        return "unknown" if ends is None else f"{ends[0]:.2f} to {ends[1]:.2f}"

    machine = f"{where['processor']}, {where['cores']} cores, {where['system']}; {where['display']}"
    return [
        f"{machine}; {where['turns']} turns of {where['seconds']:g} s each",
        f"cores free before the runs: {between(where['free_cores_before'])}; other programs had meanwhile, beside the "
        f"busy ones: {between(where['others_had_cores'])} cores; load average {where['load_1_min']}",
        *([where["cut_short"]] if "cut_short" in where else []),
    ]


def _known(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
