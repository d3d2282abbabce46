"""`twixt measure --repeat N --against "FLAGS"`: runs as they are (A) and with those flags (B), in turns.

The one idea: each run is a `twixt measure` in a process of its own, told by the very words that were typed; the turns
are A B B A, so that what drifts bears on both alike. Ctrl-C ends the turns, and what is there is compared.

Always: no run is left behind; a run that ended badly is said and counts as none. What differs is decided in
`twixt.render.measure.against`.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from twixt.cli.cpu import CpuTime, cores
from twixt.cli.endings import AskedToEnd, takes_its_own_along
from twixt.ipc.errors import TwixtError
from twixt.render.measure.against_noise import Load, Noise

if TYPE_CHECKING:
    from twixt.render.measure.against import Compared

# Of a run: long enough for a p99 of frames, short enough for ten of each; found by docs/against.md.
SECONDS, REPEAT = 4.0, 10
# Of the wanted runs of a side, so many must count: less is another command than was asked for.
LEAST_COUNTING = 0.6
# Where more of the runs are disturbed, others would be, too; where fewer are, so many more are made in their place.
MOST_DISTURBED = 0.5
SIDES, TURNS = "AB", "ABBA"
# What one run alone can be told: the others would write over it.
OF_ONE_RUN = ("--log", "--plot", "--screenshot", "--profile", "--dt-log")
# What is told of the whole, and not of its runs. All take a value.
OF_THE_WHOLE = ("--repeat", "--against", "--json", "--fail-if")
# A run is over some seconds after its time, or it hangs.
PATIENCE_S = 60.0
# What it gets to end by itself.
FAREWELL_S = 5.0
FAILED, REFUSED, INTERRUPTED = 1, 2, 130


@dataclass
class Run:
    """One run that has ended. figures: of its report, by name. fault: why it counts as none."""

    side: str
    figures: dict[str, float | None]
    load: Load
    fault: str = ""
    is_refused: bool = False


@dataclass
class Turns:
    """All runs so far. repeat: how many of each side are wanted."""

    repeat: int
    runs: list[Run] = field(default_factory=list)
    interrupted: bool = False

    @property
    def next_side(self) -> str | None:
        """Of the next run; None: there are enough. Runs that others disturbed are made again, where they were few."""
        if len(self.runs) < 2 * self.repeat:
            return TURNS[len(self.runs) % len(TURNS)]
        disturbed = sum(bool(run.load.disturbed) for run in self.runs)
        if disturbed > MOST_DISTURBED * len(self.runs) or len(self.runs) >= 2 * self.repeat * (1 + MOST_DISTURBED):
            return None
        lacking = {side: self.repeat - self._counting(side) for side in SIDES}
        side = max(SIDES, key=lambda side: lacking[side])
        return side if lacking[side] > 0 else None

    def _counting(self, side: str) -> int:
        """Runs that are made again, and again, where they end badly, tell nothing new."""
        return sum(run.side == side and (not run.load.disturbed or bool(run.fault)) for run in self.runs)

    def said(self) -> list[str]:
        """What a reader must know of the runs themselves."""
        lines = [f"{len(self.runs)} of {2 * self.repeat} runs, then Ctrl-C"] if self.interrupted else []
        failed = [run for run in self.runs if run.fault]
        if failed:
            lines.append(
                f"{len(failed)} runs ended badly and count as none; the last, of {failed[-1].side}: {failed[-1].fault}"
            )
        return lines


def arguments_of_runs(typed: Sequence[str], against: str) -> dict[str, list[str]]:
    """What to type for a run of each side. typed: all after `twixt`. Raises TwixtError."""
    own = without(typed[1:], OF_THE_WHOLE)
    try:
        more = shlex.split(against)
    except ValueError as error:
        raise TwixtError(
            f"--against {against!r} does not read as flags ({error}); write it like '--clock ahead'"
        ) from None
    for name in (*OF_ONE_RUN, *OF_THE_WHOLE):
        if any(word == name or word.startswith(name + "=") for word in (*own, *more)):
            where = "within --against" if name in OF_THE_WHOLE else "with --against"
            raise TwixtError(f"{name} {where} is of no use: there are many runs; leave it out")
    if not any(word == "--seconds" or word.startswith("--seconds=") for word in own):
        own = [*own, "--seconds", f"{SECONDS:g}"]
    return {"A": own, "B": [*own, *more]}


def without(words: Sequence[str], names: Sequence[str]) -> list[str]:
    """The words less these options and their values."""
    left: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in names:
            skip = True
        elif not word.startswith(tuple(f"{name}=" for name in names)):
            left.append(word)
    return left


@takes_its_own_along
def measure(
    typed: Sequence[str],
    against: str,
    repeat: int,
    json_file: str | None,
    fail_if: Sequence[str],
    read: Callable[[list[str]], float],
) -> int:
    """The whole command; the exit code. typed: all after `twixt`. read: checks what a run is told, as the command line
    does, and says for how many seconds it is."""
    from twixt.ipc.config import check_file
    from twixt.render.measure import against_show
    from twixt.render.measure.report import write_json

    arguments = arguments_of_runs(typed, against)
    limits = against_show.read_differences(fail_if)
    if json_file is not None:
        check_file("--json", json_file)
    longest_s = max(read(words) for words in arguments.values()) + PATIENCE_S
    turns = _with_progress(arguments, repeat, longest_s)
    compared, noise, counting = compare(turns)
    flags = {side: shlex.join(words) for side, words in arguments.items()}
    said = turns.said()
    if json_file is not None:
        runs = [(run.side, run.figures, run.load, run.fault, at in counting) for at, run in enumerate(turns.runs)]
        command = shlex.join(["twixt", *typed])
        write_json(against_show.document(compared, noise, said, flags, command, runs), json_file)
    if json_file != "-":
        against_show.show(compared, noise, said, flags)
    broken = against_show.broken(limits, compared)
    for line in broken:
        print(f"twixt: limit broken: {line}", file=sys.stderr)
    nothing = all(run.fault for run in turns.runs)
    return INTERRUPTED if turns.interrupted else FAILED if broken or nothing else 0


def compare(turns: Turns, seed: int = 0) -> tuple[list[Compared], Noise, set[int]]:
    """What differs, how noisy it was, and which of the runs count."""
    from twixt.render.measure.against import FEWEST_RUNS, compare_runs
    from twixt.render.measure.against_noise import judge
    from twixt.render.measure.against_show import FIGURES

    good = [at for at, run in enumerate(turns.runs) if not run.fault]
    runs = [turns.runs[at] for at in good]
    made = min(turns.repeat, len(turns.runs) // 2)
    among, noise = judge(
        [run.figures for run in runs],
        [run.load for run in runs],
        [run.side for run in runs],
        max(FEWEST_RUNS, math.ceil(LEAST_COUNTING * made)),
    )
    counting = [good[at] for at in among]
    sides = [[turns.runs[at].figures for at in counting if turns.runs[at].side == side] for side in SIDES]
    return compare_runs(sides[0], sides[1], FIGURES, noise, seed), noise, set(counting)


def _with_progress(arguments: dict[str, list[str]], repeat: int, longest_s: float) -> Turns:
    from rich.console import Console

    from twixt.render.measure.against_show import figures_of

    console = Console(stderr=True)
    with console.status("") as status:
        say = status.update if console.is_terminal else lambda text: print(f"twixt: {text}", file=sys.stderr)
        return take_turns(arguments, repeat, longest_s, figures_of, say)


def take_turns(
    arguments: dict[str, list[str]], repeat: int, longest_s: float,
    pick: Callable[[dict[str, Any]], dict[str, float | None]], say: Callable[[str], None],
) -> Turns:  # fmt: skip
    """`repeat` runs of each side. longest_s: for one of them. pick: the figures of a report."""
    turns = Turns(repeat)
    begin_s = time.monotonic()
    try:
        while (side := turns.next_side) is not None:
            number, wanted = len(turns.runs), max(2 * repeat, len(turns.runs) + 1)
            left = (time.monotonic() - begin_s) / number * (wanted - number) if number else 0.0
            say(f"run {number + 1} of {wanted}: {side}" + (f", {left:.0f} s to go" if number else ""))
            turns.runs.append(run := _run(side, arguments[side], longest_s, pick))
            if run.is_refused:  # as all others would be
                raise TwixtError(f"a run of {side} was refused: {run.fault}")
    except KeyboardInterrupt:
        turns.interrupted = True
    return turns


def _run(
    side: str, arguments: list[str], longest_s: float, pick: Callable[[dict[str, Any]], dict[str, float | None]]
) -> Run:
    import twixt

    begin = CpuTime.now()
    with tempfile.TemporaryDirectory(prefix="twixt-") as folder:
        path = os.path.join(folder, "report.json")
        command = [sys.executable, "-P", str(twixt.__file__), "measure", *arguments, "--json", path]
        said, code = ended(command, longest_s)
        end = CpuTime.now()
        load = Load(cores(), end.others_since(begin), end.stolen_since(begin))
        try:
            with open(path, encoding="utf-8") as file:
                figures = pick(json.load(file))
        except (OSError, ValueError):
            return Run(side, {}, load, said if code == REFUSED else f"exit code {code}: {said}", code == REFUSED)
    return Run(side, figures, load, f"exit code {code}: {said}" if code else "")


def ended(command: list[str], longest_s: float) -> tuple[str, int]:
    """Its last words and its exit code. Ctrl-C reaches it by itself: it is in this terminal's group; it is waited
    for."""
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)
        try:
            code = child.wait(longest_s)
        except subprocess.TimeoutExpired:
            _end(child)
            return f"it took longer than {longest_s:.0f} s and was ended", child.returncode
        except AskedToEnd:
            _end(child, has_reached_it=False)
            raise
        except BaseException:
            _end(child)
            raise
        said.seek(0)
        lines = said.read().decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("twixt: ") if lines else "it said nothing", code


def _end(child: subprocess.Popen[bytes], has_reached_it: bool = True) -> None:
    """Ctrl-C has mostly reached it, too: it is not asked twice while it ends its own viewer."""
    asks = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    for push in (None, *asks) if has_reached_it else asks:
        if child.poll() is None:
            if push is not None:
                child.send_signal(push)
            try:
                child.wait(FAREWELL_S)
            except subprocess.TimeoutExpired:
                continue
