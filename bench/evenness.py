"""Measures how even the pictures of whole runs are: `python -m bench evenness`. It writes docs/evenness.md.

There are three tables: free cores, a busy program on each core, and a display whose swap waits. On request, an earlier
version of twixt is measured beside this version. Each turn measures every case once, so that the machine's state
affects all cases equally. A run is repeated if other programs took more than `MOST_OTHERS` cores from it, whatever its
figures are, but at most `MOST_RUNS - 1` times. All figures are computed from frame logs with this version's
definitions. The worst turn is shown beside the median.

Always: progress goes to standard error. Ctrl-C ends the measurement, and the figures so far are shown. Busy programs
and displays end with their measurement. A figure that was not measured is None and is in no median. A failed run is
reported and is in no figure.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import statistics
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

import twixt
from bench.pages import CUT_SHORT, Block, Notes, Results, Table, TableColumn, collected, document_of
from bench.processes import busy_loops, free_cores, process, version_command
from bench.screens import SWAY_HZ, Screen, screen
from twixt.cli.cpu_time import CpuTime, usable_cores
from twixt.cli.progress import Say
from twixt.cli.turns import order_in_turn, run_in_turns
from twixt.ipc.errors import FAILED, FINISHED, INTERRUPTED, TwixtError
from twixt.render.measure.frame_log import read_log
from twixt.render.measure.frame_rows import FrameTable
from twixt.render.measure.report import machine
from twixt.render.measure.run_figures import BAD_ERROR_MS, measure
from twixt.sim.process.viewer_command import twixt_command

SCHEMA = "twixt-evenness/2"
FREE, BUSY, SWAY = "free", "busy", "sway"
HEADINGS = {
    FREE: "Free cores",
    BUSY: "A busy program on each core",
    SWAY: f"A display whose swap waits ({SWAY_HZ} Hz)",
}
METRONOME, SWARM, BALLS = "metronome", "swarm --set count=2000", "balls --set count=1000"
# For each table, the arguments of `twixt measure`.
RUNS = {
    FREE: (
        "",
        BALLS,
        "--slow-physics 40",
        "--slow-physics 20-120",
        "--physics-hz 10",
        "--physics-hz 5",
        "--delay 80+-20 --drop 5 --publish-hz 30",
        "--delay 80+-20 --drop 5 --publish-hz 30 --clock newest-two",
        "--stall 500@5 --prefer latency",
        "--stall 500@5 --prefer smooth",
        "--slow-render 22",
        "--slow-render 50",
    ),
    BUSY: ("", METRONOME, SWARM),
    SWAY: (METRONOME, BALLS),
}
# Names of arguments in the tables. Other arguments are shown as they are typed.
NAMES = {"": "default world", METRONOME: "metronome", SWARM: "swarm of 2,000", BALLS: "1,000 balls"}
# A run with stalls is longer by this factor, so that it has several stalls.
STALLS, LONGER = "--stall", 2.5
HERE, BEFORE = "this version", "before"
# Time in seconds after the planned length of a run. A run that has not ended by then counts as hanging.
TIMEOUT_S = 60.0
QUICK_S = 0.5
MOST_OTHERS, MOST_RUNS = 0.2, 3
LEGEND = (
    "a cell is the median of the turns, with the worst turn in brackets; error: animation error in ms of display time, "
    "computed for all versions from their frame logs by one definition; missed: missed refreshes, or missed intervals of "
    "the pacer if swap does not wait"
)


@dataclass(frozen=True)
class Evenness:
    """Figures of one run. frames: number of frames that were shown after the start. distinct_percent: share of the
    frames that show another instant than the frame before. off_percent: share of the animation errors that are above
    `BAD_ERROR_MS`. latency_ms: mean added latency. rate: simulated seconds per second that physics held, median."""

    frames: int
    fps: float | None
    distinct_percent: float | None
    error_p50_ms: float | None
    error_p99_ms: float | None
    off_percent: float | None
    latency_ms: float | None
    rate: float | None
    missed_per_minute: float | None


FIGURES = tuple(item.name for item in fields(Evenness) if item.name != "frames")
# Figures for which a larger value is better.
MORE_IS_BETTER = ("fps", "distinct_percent", "rate")


class Spread(NamedTuple):
    """One figure over several runs. runs: number of the runs that have this figure."""

    median: float | None
    worst: float | None
    runs: int


class Case(NamedTuple):
    """Arguments of `twixt measure`, the table that shows them, and the version of twixt that runs them."""

    table: str
    arguments: str
    version: str

    @property
    def name(self) -> str:
        return NAMES.get(self.arguments, f"`{self.arguments}`")


class EvennessOptions(NamedTuple):
    """Options of the command. here: True to use the display of the environment instead of an Xvfb. before: folder of a
    checkout of an earlier version."""

    here: bool
    seconds: float
    turns: int
    tables: tuple[str, ...]
    quick: bool
    before: str | None


@dataclass(frozen=True)
class CaseRun:
    """One run of a case. free_before: number of cores that were free before the run. others: number of cores that
    other programs used during the run, without the busy programs of the case. stolen: number of cores
    that the host of a virtual machine took. failure: reason why the run has no figures. repeated: number of runs that
    this one replaces."""

    case: Case
    turn: int
    figures: Evenness | None
    free_before: float | None
    others: float | None
    stolen: float | None
    renderer: str | None = None
    failure: str = ""
    repeated: int = 0

    @property
    def is_disturbed(self) -> bool:
        return (self.others or 0.0) + (self.stolen or 0.0) > MOST_OTHERS

    def to_json(self) -> dict[str, Any]:
        """Case, figures and conditions of the run by name, in one flat dict."""
        figures = asdict(self.figures) if self.figures is not None else {}
        cores = {"free_cores_before": self.free_before, "others_had_cores": self.others, "stolen_cores": self.stolen}
        return {
            **self.case._asdict(),
            "turn": self.turn,
            **figures,
            **cores,
            "repeated": self.repeated,
            "failure": self.failure or None,
        }


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


RUN, VERSION = TableColumn("run", lambda row: row.case.name), TableColumn("version", lambda row: row.case.version)
COLUMNS = (
    _figure("fps", "fps", ".1f"),
    _figure("distinct, %", "distinct_percent", ".0f"),
    _figure("error p50, ms", "error_p50_ms", ".2f"),
    _figure("error p99, ms", "error_p99_ms", ".1f"),
    _figure(f"off by > {BAD_ERROR_MS:g} ms, %", "off_percent", ".1f"),
    _figure("added latency, ms", "latency_ms", ".1f"),
    _figure("speed of physics", "rate", ".2f"),
    _figure("missed a minute", "missed_per_minute", ".0f"),
)


def run(results: Results, **chosen: Any) -> int:
    """Measures all cases. Shows and writes the results, and returns the exit code. Raises TwixtError before anything
    is measured."""
    choice = EvennessOptions(**chosen)
    if choice.quick:
        choice = choice._replace(seconds=QUICK_S, turns=1)
    results.check_files()
    commands = {HERE: twixt_command()}
    if choice.before is not None:
        commands[BEFORE] = version_command(choice.before)
    kinds = {table: "sway" if table == SWAY else "here" if choice.here else "xvfb" for table in choice.tables}
    with ExitStack() as stack:
        opened = {kind: stack.enter_context(screen(kind)) for kind in dict.fromkeys(kinds.values())}
        displays = {table: opened[kind] for table, kind in kinds.items()}
        runs, interrupted = collected(lambda say: _case_runs(choice, commands, displays, say), is_logged=True)
    write_results(runs, choice, results, conditions(runs, choice, displays, interrupted))
    nothing = not any(one.figures for one in runs)
    return INTERRUPTED if interrupted else FAILED if nothing else FINISHED


def in_order(choice: EvennessOptions, versions: Sequence[str]) -> Iterator[tuple[int, Case]]:
    """Turns and cases in the order of measurement. Each turn measures each case once. The versions of a case run
    directly after each other. Every other turn runs them in reverse order."""
    for turn in range(choice.turns):
        for table in choice.tables:
            for arguments in RUNS[table][: 1 if choice.quick else None]:
                for version in order_in_turn(versions, turn):
                    yield turn, Case(table, arguments, version)


def evenness(table: FrameTable) -> Evenness:
    measured = measure(table)
    frames, motion = measured.sections["frames"], measured.sections["motion"]
    errors_ms = np.abs(measured.motion.error_ms[np.isfinite(measured.motion.error_ms)])
    error_ms, latency_ms = motion.get("animation_error_ms", {}), motion.get("sample_age_ms", {})
    rates = measured.timing.frames["rate"][measured.timing.frames["newest_tick"] >= 0]
    missed = frames.get("missed_refreshes")
    return Evenness(
        frames=len(measured.timing.frames),
        fps=frames.get("mean_fps"),
        distinct_percent=_percent(motion.get("distinct_share")),
        error_p50_ms=error_ms.get("p50"),
        error_p99_ms=error_ms.get("p99"),
        off_percent=_percent((errors_ms > BAD_ERROR_MS).mean()) if len(errors_ms) else None,
        latency_ms=latency_ms.get("mean"),
        rate=float(np.median(rates)) if len(rates) else None,
        missed_per_minute=None if missed is None else missed * 60 / frames["seconds"],
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
    columns = (RUN, *((VERSION,) if choice.before else ()), *COLUMNS)
    tables = {
        HEADINGS[name]: Table(columns, [case for case in cases if case.case.table == name], HEADINGS[name])
        for name in choice.tables
    }
    failures = [f"{one.case.name}, turn {one.turn + 1}: no figures: {one.failure}" for one in runs if one.failure]
    notes = [*_conditions_in_words(where), *failures]
    page = [block for heading, table in tables.items() for block in (f"## {heading}", table)]
    shown: list[Block] = [*tables.values(), Notes([LEGEND, *notes])]
    results.write(document, page=[*page, "## Conditions", Notes(notes)], shown=shown)


def conditions(
    runs: Sequence[CaseRun], choice: EvennessOptions, displays: Mapping[str, Screen], interrupted: bool
) -> dict[str, Any]:
    free = [one.free_before for one in runs if one.free_before is not None]
    others = [one.others for one in runs if one.others is not None]
    where: dict[str, Any] = machine() | {
        "renderer": next((one.renderer for one in runs if one.renderer), None),
        "twixt": twixt.__version__,
        "numpy": np.__version__,
        "displays": {table: display.about for table, display in displays.items()},
        "seconds": choice.seconds,
        "turns": choice.turns,
        "free_cores_before": [min(free), max(free)] if free else None,
        "others_had_cores": [min(others), max(others)] if others else None,
        "repeated": sum(one.repeated for one in runs),
        "disturbed": sum(one.is_disturbed for one in runs),
    }
    return where | CUT_SHORT if interrupted else where


def _case_runs(
    choice: EvennessOptions, commands: dict[str, list[str]], displays: Mapping[str, Screen], say: Say
) -> Iterator[CaseRun]:
    cases = list(in_order(choice, list(commands)))
    servers = {pid for display in displays.values() for pid in display.pids}

    def run(turn_and_case: tuple[int, Case]) -> CaseRun:
        turn, case = turn_and_case
        seconds = choice.seconds * (LONGER if STALLS in case.arguments else 1)
        for repeated in range(1 if choice.quick else MOST_RUNS):  # noqa: B007
            made = _measured(case, turn, commands[case.version], seconds, displays[case.table].environ, servers)
            if not made.is_disturbed:
                break
        return replace(made, repeated=repeated)

    def name(turn_and_case: tuple[int, Case]) -> str:
        case = turn_and_case[1]
        return f"{case.table}, {case.name}, {case.version}"

    return (made for _, made in run_in_turns(cases, run, len(cases), say, name))


def _measured(
    case: Case, turn: int, command: list[str], seconds: float, environ: dict[str, str], servers: Collection[int]
) -> CaseRun:
    free, figures, renderer = free_cores(), None, None
    begin = CpuTime.now(*servers)
    with tempfile.TemporaryDirectory(prefix="twixt-") as folder:
        log, report = os.path.join(folder, "frames.csv"), os.path.join(folder, "report.json")
        files = ["--seconds", f"{seconds:g}", "--log", log, "--json", report]
        loops = busy_loops(usable_cores() if case.table == BUSY else 0)
        with loops, process([*command, "measure", *shlex.split(case.arguments), *files], environ) as child:
            failure = child.failure(seconds + TIMEOUT_S)
        # read after the busy loops have ended, so that their time counts as time of the measurement
        end = CpuTime.now(*servers)
        if not failure:
            try:
                figures = evenness(read_log(log))
                with open(report, encoding="utf-8") as file:
                    renderer = json.load(file)["display"]["renderer"]
            except (TwixtError, OSError) as error:
                failure = str(error)
    if figures is not None and figures.fps is None:
        figures, failure = None, "it showed fewer than two frames"
    return CaseRun(case, turn, figures, free, end.others_since(begin), end.stolen_since(begin), renderer, failure)


def _conditions_in_words(where: dict[str, Any]) -> list[str]:
    def between(ends: list[float] | None) -> str:
        return "not known" if ends is None else f"{ends[0]:.2f} to {ends[1]:.2f}"

    return [
        f"each run was measured {where['turns']} times; a run took {where['seconds']:g} s, and a run with stalls took "
        f"{LONGER * where['seconds']:g} s",
        f"{where['processor']}, {where['cores']} cores; OpenGL renderer: {where['renderer']}",
        "; ".join(f"{table}: {about}" for table, about in where["displays"].items()),
        f"twixt {where['twixt']}, Python {where['python']}, numpy {where['numpy']}, {where['system']}",
        f"cores free before each run: {between(where['free_cores_before'])}",
        f"cores that other programs used during a run: {between(where['others_had_cores'])} (without the busy programs of "
        "the table)",
        f"{where['repeated']} runs were repeated because other programs used more than {MOST_OTHERS:g} cores meanwhile; "
        f"in {where['disturbed']} runs of the tables, other programs used more than {MOST_OTHERS:g} cores",
        *([where["cut_short"]] if "cut_short" in where else []),
    ]


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * float(share)
