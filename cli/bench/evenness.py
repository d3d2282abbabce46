"""`twixt bench evenness`: how even worlds look on free cores and under busy programs, beside an earlier version.

One idea: what a machine does to one run it does to the next, so versions take turns, each turn in the other order, and
all figures are computed from the frame logs by one definition. The worst turn stands beside the median: nothing is
left out.

Always: progress on standard error; Ctrl-C ends the measuring, not the showing; busy programs and displays end with
what they were started for. A run that ended badly is said and is in no figure.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import twixt
from twixt.cli.bench.evenness_figures import Evenness, evenness, several
from twixt.cli.bench.guest_machine import busy_loops, free_before
from twixt.cli.bench.screens import Screen, screen
from twixt.cli.cpu import CpuTime, cores
from twixt.ipc.config import check_file
from twixt.ipc.errors import TwixtError
from twixt.render.bench.child import end

# By name, what is typed.
WORLDS = {"balls": ("balls",), "metronome": ("metronome",), "swarm": ("swarm", "--set", "count=2000")}
SAID = {"balls": "default world", "metronome": "metronome", "swarm": "swarm, 2,000"}
NONE, LOOPS = "none", "loops"
LOADS = (NONE, LOOPS)
HERE, BEFORE = "this version", "before"
# A run is over some seconds after its time, or it hangs.
PATIENCE_S = 60.0
FAREWELL_S = 5.0
FAILED, INTERRUPTED = 1, 130


class Case(NamedTuple):
    """What is measured once a turn."""

    load: str
    world: str
    version: str


class Wanted(NamedTuple):
    """What a measurement is told."""

    display: str
    seconds: float
    turns: int
    loads: tuple[str, ...]
    worlds: tuple[str, ...]
    before: str | None
    json_file: str | None
    out: str | None
    command: str


@dataclass(frozen=True)
class Ran:
    """One run. free_before: cores that nothing used before it. others: cores that other programs had meanwhile, beside
    the load that was asked for. failure: why there is no figure."""

    case: Case
    turn: int
    figures: Evenness | None
    free_before: float | None
    others: float | None
    stolen: float | None
    failure: str = ""

    def to_json(self) -> dict[str, Any]:
        """Flat, by name."""
        figures = asdict(self.figures) if self.figures is not None else {}
        return self.case._asdict() | {
            "turn": self.turn, **figures, "free_cores_before": self.free_before, "others_had_cores": self.others,
            "stolen_cores": self.stolen, "failure": self.failure or None,
        }  # fmt: skip


def run(wanted: Wanted) -> int:
    """Measures, shows and writes; the exit code. Raises TwixtError before anything is measured."""
    for flag, path in (("--json", wanted.json_file), ("--out", wanted.out)):
        if path is not None:
            check_file(flag, path)
    commands = {HERE: [sys.executable, "-P", str(twixt.__file__)]}
    if wanted.before is not None:
        commands[BEFORE] = command_in(wanted.before)
    from twixt.cli.bench import evenness_page

    ran: list[Ran] = []
    interrupted = False
    with screen(wanted.display) as where:
        try:
            _take_turns(wanted, commands, where, ran)
        except KeyboardInterrupt:
            interrupted = True
    evenness_page.leave(ran, wanted, where.said, interrupted)
    nothing = not any(one.figures for one in ran)
    return INTERRUPTED if interrupted else FAILED if nothing else 0


def command_in(folder: str) -> list[str]:
    """How twixt is started in a checkout: by its own environment, where it has one. Raises TwixtError."""
    program = os.path.join(os.path.abspath(folder), "twixt.py")
    if not os.path.isfile(program):
        raise TwixtError(f"--before {folder!r} is no checkout of twixt: it has no twixt.py; give a folder that has one")
    python = os.path.join(os.path.abspath(folder), ".venv", "bin", "python")
    return [python if os.path.exists(python) else sys.executable, "-P", program]


def in_order(wanted: Wanted, versions: Sequence[str]) -> Iterator[tuple[int, Case]]:
    """Each case once a turn; the versions beside each other, in the other order every other turn."""
    for turn in range(wanted.turns):
        for load in wanted.loads:
            for world in wanted.worlds:
                for version in versions if turn % 2 == 0 else list(reversed(versions)):
                    yield turn, Case(load, world, version)


def summary(ran: Sequence[Ran]) -> dict[Case, dict[str, Any]]:
    """Of each case: `several` of its turns, how many turns and frames, and the failures."""
    found: dict[Case, dict[str, Any]] = {}
    for case in sorted({one.case for one in ran}, key=lambda case: [one.case for one in ran].index(case)):
        runs = [one for one in ran if one.case == case]
        good = [one.figures for one in runs if one.figures is not None]
        found[case] = {
            "figures": several(good), "turns": len(good), "frames": sum(one.frames for one in good),
            "failures": [one.failure for one in runs if one.failure],
        }  # fmt: skip
    return found


def _take_turns(wanted: Wanted, commands: dict[str, list[str]], where: Screen, ran: list[Ran]) -> None:
    from rich.console import Console

    cases = list(in_order(wanted, list(commands)))
    console = Console(stderr=True)
    begin_s = time.monotonic()
    with console.status("") as status:
        say: Callable[[str], None] = (
            status.update if console.is_terminal else lambda text: print(f"twixt: {text}", file=sys.stderr)
        )
        for number, (turn, case) in enumerate(cases):
            left_s = (time.monotonic() - begin_s) / number * (len(cases) - number) if number else 0.0
            ahead = f", {_long(left_s)} to go" if number else ""
            say(f"run {number + 1} of {len(cases)}: {SAID[case.world]}, load {case.load}, {case.version}{ahead}")
            ran.append(_measured(case, turn, commands[case.version], wanted.seconds, where))


def _measured(case: Case, turn: int, command: list[str], seconds: float, where: Screen) -> Ran:
    free = free_before()
    begin = CpuTime.now(*where.pids)
    with tempfile.TemporaryDirectory(prefix="twixt-") as folder:
        log = os.path.join(folder, "frames.csv")
        arguments = ["measure", *WORLDS[case.world], "--seconds", f"{seconds:g}", "--log", log]
        with busy_loops(cores() if case.load == LOOPS else 0):
            failure = _run([*command, *arguments], where.environ, seconds + PATIENCE_S)
        end = CpuTime.now(*where.pids)  # the loops have ended: they count as own
        figures, failure = (None, failure) if failure else _figures(log)
    return Ran(case, turn, figures, free, end.others_since(begin), end.stolen_since(begin), failure)


def _figures(log: str) -> tuple[Evenness | None, str]:
    from twixt.render.measure.log import read_log

    try:
        found = evenness(read_log(log))
    except TwixtError as error:
        return None, str(error)
    return (found, "") if found.fps is not None else (None, "it showed fewer than two frames")


def _run(command: list[str], environ: dict[str, str], longest_s: float) -> str:
    """Why it ended badly; empty where it ended well."""
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said
        )  # fmt: skip
        try:
            code = child.wait(longest_s)
        except subprocess.TimeoutExpired:
            return f"it took longer than {longest_s:.0f} s"
        finally:
            end(child, FAREWELL_S)
        said.seek(0)
        lines = said.read().decode(errors="replace").strip().splitlines()
    return f"exit code {code}: {lines[-1] if lines else 'it said nothing'}" if code else ""


def _long(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"
