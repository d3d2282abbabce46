"""`python -m bench guest`: how much a viewer slows down a loop that never waits, by the wall clock.

The default world and a user's own loop run as fast as possible, each in its own process. The viewer of a loop is
stopped and continued in turns of a second (`watched_loop`). On free cores the viewer should not slow the loop down.
While another program is busy, the viewer may slow it down a little, and must still draw motion.

Progress is shown on standard error. Ctrl-C ends the measurement and all its processes, and the figures measured so far
are shown. The table marks missed limits; the exit code does not depend on them.
"""

from __future__ import annotations

import contextlib
import os
import platform
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import twixt
from bench.guest import watched_loop
from bench.load import busy_loops, free_cores
from bench.loop_process import loop_process
from bench.pages import Notes, Results, Table, TableColumn
from bench.rows import Row
from bench.slowdown import LoopTurn, Slowdown, WatchedFrames, slowdown, step_us, watched_frames
from twixt.cli.cpu_time import CpuTime, usable_cores
from twixt.cli.progress import Say, progress
from twixt.ipc.errors import FAILED, FINISHED, INTERRUPTED, TwixtError
from twixt.sim.process.viewer_command import python_program

BODIES = (1_000, 10_000, 100_000)
LOADS = ("none", "loop")
SECONDS, ROW_SECONDS, FEWEST_SECONDS = 20.0, 10.0, 0.4
TURN_S = 1.0
# Time that is not measured after a viewer has attached: SETTLING_TURNS turns, but at most SETTLING_S seconds. The
# viewer loads its overlay and compiles its programs meanwhile.
SETTLING_TURNS, SETTLING_S = 5, 3.0
# Name of the version that runs this benchmark.
HERE = "this version"
# Load -> largest slowdown in percent, and smallest frames per second (None: no limit).
BARS = {"none": (3.0, None), "loop": (8.0, 15.0)}
LEGEND = (
    "p99: animation error in ms of display time; free: cores that nothing used before; others: cores that other "
    "programs had meanwhile, beside the load that was asked for"
)


class LoopCase(NamedTuple):
    """A loop to be measured. folder: checkout of twixt that the loop runs."""

    way: str
    bodies: int
    load: str
    folder: str
    version: str = HERE


@dataclass(frozen=True)
class WatchedLoop:
    """Figures of a loop. free_before, others: mean numbers of cores; None if the system does not report them."""

    case: LoopCase
    slow: Slowdown | None
    seen: WatchedFrames
    step_us: float | None
    alone_us: float | None
    free_before: float | None
    others: float | None
    load_average: float
    failure: str = ""

    def to_json(self) -> dict[str, Any]:
        """Name -> value, for the case and all figures."""
        slow = self.slow
        return {
            "way": self.case.way,
            "bodies": self.case.bodies,
            "load": self.case.load,
            "version": self.case.version,
            "slower_percent": slow and slow.median,
            "slower_low_percent": slow and slow.low,
            "slower_high_percent": slow and slow.high,
            "slower_worst_percent": slow and slow.worst,
            "pairs": slow and slow.pairs,
            "fps": self.seen.fps,
            "animation_error_p99_ms": self.seen.error_p99_ms,
            "step_us": self.step_us,
            "step_alone_us": self.alone_us,
            "free_cores_before": self.free_before,
            "others_had_cores": self.others,
            "load_average": self.load_average,
            "failure": self.failure or None,
        }

    def row(self) -> Row:
        """The figures as a row of `python -m bench`."""
        case = self.case
        name = f"step of {case.bodies:,} bodies, {case.way}, watched" + (", a busy program" * (case.load == "loop"))
        if self.slow is None:
            return Row(name, "us", None, "the viewer stopped", None, 0, self.failure)
        slow, most = self.slow, BARS[case.load][0]
        limit_us = (self.step_us or 0.0) / (1 + slow.median / 100)
        return Row(
            name,
            "us",
            self.step_us,
            "the viewer stopped",
            limit_us,
            slow.pairs,
            note=f"wall clock; {in_words(self, slow)}",
            noise=max(0.0, (slow.high - slow.low) / 4 / 100),
            bar=f"ratio <= {1 + most / 100:g}",
        )


def in_words(one: WatchedLoop, slow: Slowdown) -> str:
    """Text with the figures of a measured loop."""
    seen = one.seen
    return (
        f"slower by {slow.median:+.1f} % ({slow.low:+.1f} to {slow.high:+.1f}, worst {slow.worst:+.1f}) in "
        f"{slow.pairs} turns; {_text(seen.fps, '.0f')} fps, animation error p99 {_text(seen.error_p99_ms, '.1f')} ms; "
        f"free cores before {_text(one.free_before, '.2f')}, others had {_text(one.others, '.2f')}"
    )


def _wanted(one: WatchedLoop) -> str:
    if one.slow is None:
        return f"not measured: {one.failure}"
    most, least_fps = BARS[one.case.load]
    bar = f"<= {most:g} {'ok' if one.slow.median <= most else 'MISSED'}"
    if least_fps is None:
        return bar
    return f"{bar}, >= {least_fps:g} fps {'ok' if (one.seen.fps or 0) >= least_fps else 'MISSED'}"


def _of_measured(title: str, read: Any, form: str = "") -> TableColumn:
    return TableColumn(title, lambda one: None if one.slow is None else read(one), form, right=False, wraps=True)


COLUMNS = (
    TableColumn("loop", lambda one: one.case.way + (f", {one.case.version}" * (one.case.version != HERE)), wraps=True),
    TableColumn("bodies", lambda one: one.case.bodies, ",d", right=False, wraps=True),
    TableColumn("load", lambda one: one.case.load, wraps=True),
    _of_measured("slower, %", lambda one: one.slow.median, "+.1f"),
    _of_measured("95 %", lambda one: f"{one.slow.low:+.1f} {one.slow.high:+.1f}"),
    _of_measured("worst", lambda one: one.slow.worst, "+.1f"),
    _of_measured("fps", lambda one: one.seen.fps, ".0f"),
    _of_measured("p99, ms", lambda one: one.seen.error_p99_ms, ".1f"),
    _of_measured("free", lambda one: one.free_before, ".2f"),
    _of_measured("others", lambda one: one.others, ".2f"),
    TableColumn("wanted", _wanted, wraps=True),
)


def rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of `python -m bench`. share: share of a whole run's turns to measure."""
    is_whole = share >= 1
    seconds = max(FEWEST_SECONDS, ROW_SECONDS * min(1.0, 4 * share))
    for case in cases(BODIES if is_whole else BODIES[:1], LOADS if is_whole else LOADS[:1], None):
        yield measure(case, seconds, say).row()


def cases(bodies: tuple[int, ...], loads: tuple[str, ...], before: str | None) -> list[LoopCase]:
    """Cases in the order of measurement. before: checkout of an earlier version, or None. Each of its cases comes
    right after the same case of this version."""
    here = os.path.dirname(os.path.abspath(str(twixt.__file__)))
    versions = [(here, HERE)] + ([(os.path.abspath(before), "before")] if before else [])
    return [
        LoopCase(way, count, load, folder, version)
        for load in loads
        for way in watched_loop.KINDS
        for count in bodies
        for folder, version in versions
    ]


def run(bodies: tuple[int, ...], load: str, seconds: float, before: str | None, results: Results) -> int:
    """Measures the cases, shows and writes the figures, and returns the exit code. Raises TwixtError before the first
    measurement if files or `before` cannot be used."""
    results.check_files()
    if before is not None and not os.path.isfile(os.path.join(before, "twixt.py")):
        raise TwixtError(f"--before {before!r} is no checkout of twixt: it has no twixt.py; give a folder that has one")
    wanted, found, is_cut_short = cases(bodies, (load,), before), [], False
    try:
        with progress() as say:
            for number, case in enumerate(wanted, 1):
                say(f"{number} of {len(wanted)}: {case.way}, {case.bodies:,} bodies, {case.version}")
                found.append(measure(case, seconds))
    except KeyboardInterrupt:
        is_cut_short = True
    write_results(found, results, is_cut_short)
    if is_cut_short:
        return INTERRUPTED
    return FAILED if all(one.slow is None for one in found) else FINISHED


def write_results(found: list[WatchedLoop], results: Results, is_cut_short: bool) -> None:
    """Shows the figures and writes the files of results. Raises TwixtError."""
    where: dict[str, Any] = {
        "cores": usable_cores(),
        "kernel": platform.release(),
        "load_average": round(os.getloadavg()[0], 2),
    }
    if is_cut_short:
        where["cut_short"] = "ended with Ctrl-C: what was not measured by then is missing"
    conditions = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in where.items())
    table, notes = Table(COLUMNS, found), Notes([f"{conditions}; {LEGEND}"])
    results.write(
        {"command": results.command, "conditions": where, "rows": [one.to_json() for one in found]},
        page=[f"Made by `{results.command}`.", table, notes],
        shown=[table, notes],
    )


def measure(case: LoopCase, seconds: float, say: Say = str) -> WatchedLoop:
    """Runs one loop with its viewer and returns its figures."""
    say(f"{case.way}, {case.bodies:,} bodies, load {case.load}")
    turn_s = min(TURN_S, seconds / 4)
    rounds = max(1, round(seconds / 2 / turn_s))
    free = free_cores()
    with busy_loops(1 if case.load == "loop" else 0) as busy, tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "frames.csv")
        begin, turns, others = CpuTime.now(*busy), list[LoopTurn](), None
        with loop_process(_command(case, turn_s, log)) as loop, contextlib.suppress(TwixtError):
            for number in range(2 * rounds + 1):  # an odd number, so that each watched turn has two neighbours
                turns.append(loop.turn(number % 2 == 1, turn_s).wall)
                others = CpuTime.now(*busy, *loop.pids).lost_since(begin)
        if loop.failure:  # the viewer may have died, and then it did not run during the whole last turn
            turns = []
        return WatchedLoop(
            case,
            slowdown(turns),
            seen=_watched_frames(log, turns),
            step_us=step_us(turns, True),
            alone_us=step_us(turns, False),
            free_before=free,
            others=others,
            load_average=os.getloadavg()[0],
            failure=loop.failure,
        )


def _watched_frames(log: str, turns: list[LoopTurn]) -> WatchedFrames:
    from twixt.render.measure.frame_log import read_log

    try:
        return watched_frames(read_log(log), turns)
    except TwixtError:  # no viewer attached, so there is no log
        return WatchedFrames(None, None)


def _command(case: LoopCase, turn_s: float, log: str) -> list[str]:
    loop = os.path.abspath(str(watched_loop.__file__))
    code = (
        f"import runpy, sys; sys.path.insert(0, {case.folder!r}); sys.argv[0] = 'guest_loop'; "
        f"runpy.run_path({loop!r}, run_name='__main__')"
    )
    settle_s = min(SETTLING_S, SETTLING_TURNS * turn_s)
    options = ["--bodies", str(case.bodies), "--settle", str(settle_s), "--log", log]
    return [python_program(), "-P", "-c", code, case.way, *options]


def _text(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
