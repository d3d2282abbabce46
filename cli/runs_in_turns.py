"""This module runs `twixt measure` with two sets of flags, A and B, in turns. The command is `twixt measure --repeat N
--against "FLAGS"`.

Each run is a `twixt measure` in a separate process, with the arguments that the user typed. The order is A B B A, so
that a drift of the machine affects both sides alike. After Ctrl-C no further run starts, and the runs that were made
so far are compared. SIGTERM and SIGHUP end the command and its children.

Always: no process is left running. A failed run is reported and does not count. Not here: the comparison of the
figures (`differences`).
"""

from __future__ import annotations

import functools
import json
import math
import os
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from twixt.cli.cpu_time import CpuTime, usable_cores
from twixt.cli.differences import Compared, MachineLoad, Noise
from twixt.cli.progress import Say, progress, write_each
from twixt.cli.turns import order_in_turn, run_in_turns
from twixt.ipc.errors import FAILED, FINISHED, INTERRUPTED, REFUSED, TwixtError, exit_code_of
from twixt.ipc.process.notices import print_notice
from twixt.sim.process.viewer_command import twixt_command

# The first of these signals raises EndRequested in the main thread. The exit code names the signal. If a signal is
# ignored (nohup) or already has a handler, its handling is not changed.
SIGNALS = ("SIGTERM", "SIGHUP")


class EndRequested(KeyboardInterrupt):
    """SIGTERM or SIGHUP raises this exception. These signals reach only this process; Ctrl-C reaches the children as
    well."""


def interrupted_by_signals(does: Callable[..., int]) -> Callable[..., int]:
    """Wraps a command so that SIGTERM and SIGHUP interrupt it. After such a signal, the exit code is that of the
    signal."""

    @functools.wraps(does)
    def ending(*values: Any, **named: Any) -> int:
        came: list[int] = []

        def ask(number: int, _frame: object) -> None:
            came.append(number)
            if len(came) == 1:
                raise EndRequested

        if threading.current_thread() is not threading.main_thread():
            return does(*values, **named)
        numbers = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
        unhandled = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]
        try:
            for number in unhandled:
                signal.signal(number, ask)
            code = does(*values, **named)
        except EndRequested:
            code = FINISHED
        finally:
            for number in unhandled:
                signal.signal(number, signal.SIG_DFL)
        return exit_code_of(-came[0]) if came else code

    return ending


# SECONDS: default length of a run, in seconds. REPEAT: default number of runs per side. A run of this length is long
# enough for a p99 of its frames, and short enough for ten runs per side. Both were chosen by the figures in
# docs/against.md.
SECONDS, REPEAT = 4.0, 10
# Smallest fraction of a side's runs that must count. If fewer runs of a side count, there is no verdict.
LEAST_COUNTING = 0.6
# Largest fraction of disturbed runs. If a larger fraction is disturbed, no run is repeated: repetitions would probably
# be disturbed as well. At most this fraction of the requested runs is repeated.
MOST_DISTURBED = 0.5
SIDES = "AB"
# Flags that are refused, because they are for the report of one run: each run would overwrite the file of the previous
# run, and no run prints its report.
SINGLE_RUN_FLAGS = ("--log", "--plot", "--screenshot", "--profile", "--dt-log", "--full")
# Flags that are refused, because with them twixt prints something and makes no run.
NO_RUN_FLAGS = ("--help", "-h")
# Flags for the command as a whole. The single runs of the command do not get these flags. Each of these flags has a
# value.
COMMAND_FLAGS = ("--repeat", "--against", "--json", "--fail-if")
# Longest time in seconds that a run may take in addition to its measured seconds. A run that takes longer counts as
# hanging, and is ended.
PATIENCE_S = 60.0
# Time in seconds that a child gets to end by itself. The child gets the same time after each signal.
GRACE_PERIOD_S = 5.0


@dataclass
class Run:
    """A run that has ended. figures: compared figures of the run's report, by name. fault: why the run failed and does
    not count; empty if it did not fail. is_refused: True if twixt refused the run's command line."""

    side: str
    figures: dict[str, float | None]
    load: MachineLoad
    fault: str = ""
    is_refused: bool = False


@dataclass
class Turns:
    """All runs so far. repeat: number of runs that the user requested for each side."""

    repeat: int
    runs: list[Run] = field(default_factory=list)
    interrupted: bool = False

    @property
    def next_side(self) -> str | None:
        """Returns the side of the next run, or None if no further run is needed. Disturbed runs are repeated. If too
        many runs are disturbed, no run is repeated."""
        if len(self.runs) < 2 * self.repeat:
            return order_in_turn(SIDES, len(self.runs) // 2)[len(self.runs) % 2]
        disturbed = sum(bool(run.load.disturbed) for run in self.runs)
        if disturbed > MOST_DISTURBED * len(self.runs) or len(self.runs) >= 2 * self.repeat * (1 + MOST_DISTURBED):
            return None
        lacking = {side: self.repeat - self._counting(side) for side in SIDES}
        side = max(SIDES, key=lambda side: lacking[side])
        return side if lacking[side] > 0 else None

    def _counting(self, side: str) -> int:
        """Returns the number of a side's runs that need not be repeated. These are the undisturbed runs and the failed
        runs. A failed run would fail again."""
        return sum(run.side == side and (not run.load.disturbed or bool(run.fault)) for run in self.runs)

    def notes(self) -> list[str]:
        """Returns notes on interrupted and failed runs, for the reader of the figures."""
        lines = [f"Ctrl-C ended the runs after {len(self.runs)} of {2 * self.repeat}"] if self.interrupted else []
        failed = [run for run in self.runs if run.fault]
        if failed:
            lines.append(
                f"{len(failed)} runs failed and do not count; the last failed run was a run of {failed[-1].side}: "
                f"{failed[-1].fault}"
            )
        return lines


def arguments_of_runs(typed: Sequence[str], against: str) -> dict[str, list[str]]:
    """Returns the command-line arguments of a run, for each side. typed: all arguments that the user typed after
    `twixt`. Raises TwixtError for flags that are refused."""
    own = without(typed[1:], COMMAND_FLAGS)
    try:
        more = shlex.split(against)
    except ValueError as error:
        raise TwixtError(f"--against must be flags, got {against!r} ({error}); write it like '--clock ahead'") from None
    for name in (*SINGLE_RUN_FLAGS, *COMMAND_FLAGS):
        if any(word == name or word.startswith(name + "=") for word in (*own, *more)):
            where = "used within" if name in COMMAND_FLAGS else "combined with"
            raise TwixtError(f"{name} cannot be {where} --against, because there are many runs; leave it out")
    for name in NO_RUN_FLAGS:
        if name in (*own, *more):
            raise TwixtError(
                f"{name} cannot be combined with --against, because twixt makes no run with {name}; leave it out"
            )
    if "--" in (*own, *more):
        raise TwixtError("-- cannot be combined with --against, because more flags are added after it; leave it out")
    if not any(word == "--seconds" or word.startswith("--seconds=") for word in own):
        own = [*own, "--seconds", f"{SECONDS:g}"]
    return {"A": own, "B": [*own, *more]}


def without(words: Sequence[str], names: Sequence[str]) -> list[str]:
    """Returns the arguments without the options `names` and without the values of these options."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in names:
            skip = True
        elif not word.startswith(tuple(f"{name}=" for name in names)):
            kept.append(word)
    return kept


@interrupted_by_signals
def measure(
    typed: Sequence[str],
    against: str,
    repeat: int,
    json_file: str | None,
    fail_if: Sequence[str],
    read: Callable[[list[str]], float],
) -> int:
    """Runs the whole command and returns the exit code. typed: all arguments that the user typed after `twixt`. read:
    function that checks the arguments of a run in the same way as the command line, and returns the duration of the
    measurement in seconds."""
    from twixt.cli import run_tables
    from twixt.ipc.config.files import check_file, write_json

    arguments = arguments_of_runs(typed, against)
    limits = run_tables.read_differences(fail_if)
    if json_file is not None:
        check_file("--json", json_file)
    longest_s = max(read(words) for words in arguments.values()) + PATIENCE_S
    turns = _with_progress(arguments, repeat, longest_s)
    compared, noise, counting = compare(turns)
    flags = {side: shlex.join(words) for side, words in arguments.items()}
    notes = turns.notes()
    writers: list[Callable[[], None]] = []
    if json_file is not None:
        runs = [(run.side, run.figures, run.load, run.fault, at in counting) for at, run in enumerate(turns.runs)]
        made = run_tables.document(compared, noise, notes, flags, shlex.join(["twixt", *typed]), runs)
        writers.append(lambda: write_json(made, json_file))
    if json_file != "-":
        writers.append(lambda: run_tables.show(compared, noise, notes, flags))
    write_each(*writers)
    broken = run_tables.broken(limits, compared)
    for line in broken:
        print_notice(f"limit broken: {line}")
    nothing = any(all(run.fault for run in turns.runs if run.side == side) for side in SIDES)
    return INTERRUPTED if turns.interrupted else FAILED if broken or nothing else 0


def compare(turns: Turns, seed: int = 0) -> tuple[list[Compared], Noise, set[int]]:
    """Compares the two sides. Returns the figures with their verdicts, the noise of the machine, and the indices of
    the runs that count."""
    from twixt.cli.differences import FEWEST_RUNS, compare_runs, counting_runs
    from twixt.cli.run_tables import FIGURES

    good = [at for at, run in enumerate(turns.runs) if not run.fault]
    runs = [turns.runs[at] for at in good]
    made = min(turns.repeat, len(turns.runs) // 2)
    among, noise = counting_runs(
        [run.figures for run in runs],
        [run.load for run in runs],
        [run.side for run in runs],
        max(FEWEST_RUNS, math.ceil(LEAST_COUNTING * made)),
    )
    counting = [good[at] for at in among]
    sides = [[turns.runs[at].figures for at in counting if turns.runs[at].side == side] for side in SIDES]
    return compare_runs(sides[0], sides[1], FIGURES, noise, seed), noise, set(counting)


def _with_progress(arguments: dict[str, list[str]], repeat: int, longest_s: float) -> Turns:
    from twixt.cli.run_tables import figures_of

    with progress(is_logged=True) as say:
        return make_runs(arguments, repeat, longest_s, figures_of, say)


def make_runs(
    arguments: dict[str, list[str]],
    repeat: int,
    longest_s: float,
    pick: Callable[[dict[str, Any]], dict[str, float | None]],
    say: Say,
) -> Turns:
    """Makes `repeat` runs of each side, and repeats disturbed runs. longest_s: longest duration of a run, in seconds;
    a run that takes longer is ended. pick: function that returns the compared figures of a report. say: function
    that shows progress. Raises TwixtError if twixt refuses a run's arguments."""
    turns = Turns(repeat)

    def run_of(side: str) -> Run:
        return _run(side, arguments[side], longest_s, pick)

    try:
        sides = iter(lambda: turns.next_side, None)
        for _, run in run_in_turns(sides, run_of, 2 * repeat, say):
            turns.runs.append(run)
            if run.is_refused:  # the other runs of this side would be refused as well
                raise TwixtError(f"the flags of {run.side} are not accepted: {run.fault}")
    except KeyboardInterrupt:
        turns.interrupted = True
    return turns


def _run(
    side: str, arguments: list[str], longest_s: float, pick: Callable[[dict[str, Any]], dict[str, float | None]]
) -> Run:
    begin = CpuTime.now()
    with tempfile.TemporaryDirectory(prefix="twixt-") as folder:
        path = os.path.join(folder, "report.json")
        command = twixt_command("measure", *arguments, "--json", path)
        last_line, code = ended(command, longest_s)
        end = CpuTime.now()
        load = MachineLoad(usable_cores(), end.others_since(begin), end.stolen_since(begin))
        try:
            with open(path, encoding="utf-8") as file:
                figures = pick(json.load(file))
        except (OSError, ValueError):
            return Run(
                side, {}, load, last_line if code == REFUSED else f"exit code {code}: {last_line}", code == REFUSED
            )
    return Run(side, figures, load, f"exit code {code}: {last_line}" if code else "")


def ended(command: list[str], longest_s: float) -> tuple[str, int]:
    """Runs a command until it ends. Returns the last line of its standard error, and its exit code.

    The child is in this terminal's process group, so the child itself receives Ctrl-C. After Ctrl-C this function
    waits until the child has ended. A child that takes longer than `longest_s` is ended.
    """
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            code = child.wait(longest_s)
        except subprocess.TimeoutExpired:
            _end(child)
            return f"the run took longer than {longest_s:.0f} s and was stopped", child.returncode
        except EndRequested:
            _end(child, has_reached_it=False)
            raise
        except BaseException:
            _end(child)
            raise
        errors.seek(0)
        lines = errors.read().decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("twixt: ") if lines else "no message", code


def _end(child: subprocess.Popen[bytes], has_reached_it: bool = True) -> None:
    """Ends a child with SIGINT, then SIGTERM, then SIGKILL. has_reached_it: True if the child has probably received
    Ctrl-C itself. The child then gets `GRACE_PERIOD_S` to end its viewer before the first signal."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    for number in (None, *signals) if has_reached_it else signals:
        if child.poll() is None:
            if number is not None:
                child.send_signal(number)
            try:
                child.wait(GRACE_PERIOD_S)
            except subprocess.TimeoutExpired:
                continue
