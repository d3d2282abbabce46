"""Measures how much a viewer slows down a loop that never waits: `python -m bench guest`. The slowdown is measured in
wall time.

The default world and a user's own loop run as fast as possible, each in its own process. The viewer of a loop is
stopped and continued in turns of a second (`watched_loop`). On free cores the viewer should not slow the loop down.
While another program is busy, the viewer may slow it down a little, and must still draw motion.

In the notes, animation errors are in ms of display time. Free cores are the cores that no program used before the run.
Others are the programs other than the loop, its viewer and the load that was asked for.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench import cost_suite
from bench.loops.loop_process import LOOP, WORLD, LoopTurn, loop_process, slowdown, step_us
from bench.pages import Results
from bench.processes import HERE, busy_loops, free_cores, version_command
from bench.rows import Row
from twixt.cli.cpu_time import CpuTime
from twixt.cli.progress import Say
from twixt.ipc.errors import TwixtError
from twixt.render.measure.evenness import intervals, motion
from twixt.render.measure.frame_log import read_log
from twixt.render.measure.frame_rows import FrameTable

BODIES, LOADS = (1_000, 10_000, 100_000), ("none", "loop")
ROW_SECONDS, FEWEST_SECONDS = 10.0, 0.4
TURN_S = 1.0
# Limits of the time that is not measured after a viewer has attached. It lasts SETTLING_TURNS turns, but at most
# SETTLING_S seconds.
SETTLING_TURNS, SETTLING_S = 5, 3.0
# For each load, the largest slowdown in percent, and the smallest number of frames per second.
TARGETS = {"none": (3.0, 0.0), "loop": (8.0, 15.0)}


class LoopCase(NamedTuple):
    """A loop that is measured. folder: checkout of twixt that the loop runs."""

    way: str
    bodies: int
    load: str
    folder: str = HERE
    version: str = "this version"

    @property
    def name(self) -> str:
        """Name of the row."""
        version = "" if self.folder == HERE else f", {self.version}"
        busy = ", a busy program" if self.load == "loop" else ""
        return f"step of {self.bodies:,} bodies, {self.way}{version}, watched{busy}"


def rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of all loops, without other programs and beside one other program."""
    seconds = max(FEWEST_SECONDS, ROW_SECONDS * min(1.0, 4 * share))
    for load in LOADS if share >= 1 else LOADS[:1]:
        yield from _measured(cases(BODIES if share >= 1 else BODIES[:1], load), seconds, say)


def cases(bodies: tuple[int, ...], load: str, before: str | None = None) -> Iterator[LoopCase]:
    """Cases in the order of measurement. before: folder of a checkout of an earlier version, or None. Each case of
    that version comes right after the same case of this version."""
    for way in (WORLD, LOOP):
        for count in bodies:
            yield LoopCase(way, count, load)
            if before:
                yield LoopCase(way, count, load, os.path.abspath(before), "before")


def run(results: Results, bodies: tuple[int, ...], load: str, seconds: float, before: str | None) -> int:
    """Measures the cases. Shows and writes the figures, and returns the exit code. Raises TwixtError before the first
    measurement if a file or `before` cannot be used."""
    if before is not None:
        version_command(before)  # raises TwixtError for a folder that is no checkout
    wanted = list(cases(bodies, load, before))
    groups = {"guest": lambda _share, say: _measured(wanted, seconds, say)}
    return cost_suite.run(groups, results, cost_suite.SuiteOptions())


def _measured(wanted: Iterable[LoopCase], seconds: float, say: Say) -> Iterator[Row]:
    for case in wanted:
        say(f"{case.way}, {case.bodies:,} bodies, load {case.load}, {case.version}")
        yield measure(case, seconds)


def measure(case: LoopCase, seconds: float) -> Row:
    """Runs one loop with its viewer, and returns its figures."""
    turn_s = min(TURN_S, seconds / 4)
    rounds = max(1, round(seconds / 2 / turn_s))
    free = free_cores()
    with busy_loops(1 if case.load == "loop" else 0) as busy, tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "frames.csv")
        begin, turns, others = CpuTime.now(*busy), list[LoopTurn](), None
        settle_s = min(SETTLING_S, SETTLING_TURNS * turn_s)
        program = loop_process(case.way, settle_s, case.folder, bodies=case.bodies, log=log)
        with program as loop, contextlib.suppress(TwixtError):
            for number in range(2 * rounds + 1):  # an odd number, so that each watched turn has two neighbours
                turns.append(loop.turn(number % 2 == 1, turn_s))
                others = CpuTime.now(*busy, *loop.pids).lost_since(begin)
        if loop.failure:  # the viewer may have died; then it did not run during the whole last turn
            turns = []
        fps, error_p99_ms = None, None
        with contextlib.suppress(TwixtError):  # if no viewer attached, there is no log
            fps, error_p99_ms = watched_frames(read_log(log), turns)
    slow, watched_us = slowdown(turns), step_us(turns, True)
    more: dict[str, Any] = {"way": case.way, "bodies": case.bodies, "load": case.load, "version": case.version}
    more |= {"fps": fps, "animation_error_p99_ms": error_p99_ms, "step_us": watched_us}
    more |= {"step_alone_us": step_us(turns, False), "free_cores_before": free, "others_had_cores": others}
    more |= {"load_average": os.getloadavg()[0], "failure": loop.failure or None, "slower_percent": None}
    if slow is None or watched_us is None:
        return Row(case.name, "us", None, "the viewer stopped", None, 0, f"not measured: {loop.failure}", more=more)
    names = ("slower_percent", "slower_low_percent", "slower_high_percent", "slower_worst_percent", "pairs")
    most, least_fps = TARGETS[case.load]
    missed = f" (target: {least_fps:g}, not met)" if (fps or 0) < least_fps else ""
    note = (
        f"slower by {slow.median:+.1f} % of wall time (95 % interval {slow.low:+.1f} to {slow.high:+.1f}, worst pair "
        f"{slow.worst:+.1f}) in {slow.pairs} pairs of turns; {_text(fps, '.0f')} fps{missed}; p99 of the animation error: "
        f"{_text(error_p99_ms, '.1f')} ms; {_text(free, '.2f')} cores were free before the measurement, and other "
        f"programs used {_text(others, '.2f')} cores during it"
    )
    return Row(
        case.name, "us", watched_us, "the viewer stopped", watched_us / (1 + slow.median / 100), slow.pairs, note,
        noise=slow.noise, target=f"ratio <= {1 + most / 100:g}", more=more | dict(zip(names, slow, strict=True)),
    )  # fmt: skip


def _text(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def watched_frames(frames: FrameTable, turns: list[LoopTurn]) -> tuple[float | None, float | None]:
    """Frames per second, and 99th percentile of the animation error in ms of display time, over the watched turns."""
    shown, seconds = 0, 0.0
    errors: list[NDArray[np.float64]] = [np.zeros(0)]
    for turn in turns:
        if turn.watched:
            present_ns = frames["present_ns"]
            part = frames.where((present_ns >= turn.begin_ns) & (present_ns < turn.end_ns))
            shown, seconds = shown + len(part), seconds + (turn.end_ns - turn.begin_ns) / 1e9
            if len(part) > 1:
                timing = intervals(part)
                moved = motion(timing)
                with np.errstate(divide="ignore", invalid="ignore"):
                    errors.append(np.abs(moved.step_ms / moved.rate - timing.interval_ms))
    every = np.concatenate(errors)
    every = every[np.isfinite(every)]
    return shown / seconds if seconds else None, float(np.quantile(every, 0.99)) if len(every) else None
