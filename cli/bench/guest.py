"""`twixt bench guest`: how much slower a loop that never rests is while a viewer watches it, by the wall clock.

One idea: physics' core is the user's. The default world and a user's own loop run as fast as they go, in a process of
their own; their viewer is stopped and let go on in turns of a second (`guest_loop`). On free cores the loop should
not notice its viewer; with another busy program the viewer takes a small share, and is still seen moving.

Always: progress on standard error; Ctrl-C ends the measuring, not the showing; every process has gone at the end.
Does not judge by itself: the bars stand beside the figures.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import twixt
from twixt.cli.bench import guest_loop, guest_machine
from twixt.cli.bench.guest_figures import Picture, Slowdown, Turn, picture, slowdown, step_us
from twixt.ipc.bench import Row, Say
from twixt.ipc.config import check_file
from twixt.ipc.errors import TwixtError
from twixt.render.bench.child import end

BODIES = (1_000, 10_000, 100_000)
LOADS = ("none", "loop")
SECONDS, ROW_SECONDS, FEWEST_SECONDS = 20.0, 10.0, 0.4
TURN_S = 1.0
# What is wanted, by load: slower by so many percent at most, and so many frames a second at least.
BARS = {"none": (3.0, None), "loop": (8.0, 15.0)}
HERE = "this version"
INTERRUPTED = 130
# For a loop to end once it is asked to.
FAREWELL_S = 15.0


class Case(NamedTuple):
    """One loop that is measured. folder: of the version of twixt that it runs."""

    way: str
    bodies: int
    load: str
    folder: str
    version: str = HERE


@dataclass(frozen=True)
class Found:
    """One loop, measured. Cores: mean numbers of them; None where the system does not say."""

    case: Case
    slow: Slowdown | None
    seen: Picture
    step_us: float | None
    alone_us: float | None
    free_before: float | None
    others: float | None
    load_average: float
    failure: str = ""

    def to_json(self) -> dict[str, Any]:
        """Flat, by name."""
        slow = self.slow
        return {
            "way": self.case.way, "bodies": self.case.bodies, "load": self.case.load, "version": self.case.version,
            "slower_percent": slow and slow.median, "slower_low_percent": slow and slow.low,
            "slower_high_percent": slow and slow.high, "slower_worst_percent": slow and slow.worst,
            "pairs": slow and slow.pairs, "fps": self.seen.fps, "animation_error_p99_ms": self.seen.error_p99_ms,
            "step_us": self.step_us, "step_alone_us": self.alone_us, "free_cores_before": self.free_before,
            "others_had_cores": self.others, "load_average": self.load_average, "failure": self.failure or None,
        }  # fmt: skip

    def row(self) -> Row:
        """As a row of `twixt bench`."""
        case = self.case
        name = f"step of {case.bodies:,} bodies, {case.way}, watched" + (", a busy program" * (case.load == "loop"))
        if self.slow is None:
            return Row(name, "us", None, "the viewer stopped", None, 0, self.failure)
        slow, most = self.slow, BARS[case.load][0]
        noise = max(0.0, (slow.high - slow.low) / 4 / 100)
        limit_us = (self.step_us or 0.0) / (1 + slow.median / 100)
        words = f"wall clock; {said(self)}"
        return Row(
            name, "us", self.step_us, "the viewer stopped", limit_us, slow.pairs, words, noise,
            f"ratio <= {1 + most / 100:g}",
        )  # fmt: skip


def said(found: Found) -> str:
    """One case in words."""
    if found.slow is None:
        return found.failure
    slow, seen = found.slow, found.seen
    return (
        f"slower by {slow.median:+.1f} % ({slow.low:+.1f} to {slow.high:+.1f}, worst {slow.worst:+.1f}) in "
        f"{slow.pairs} turns; {_text(seen.fps, '.0f')} fps, animation error p99 {_text(seen.error_p99_ms, '.1f')} ms; "
        f"free cores before {_text(found.free_before, '.2f')}, others had {_text(found.others, '.2f')}"
    )


def rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """The rows of `twixt bench`. share: of a whole run's turns."""
    is_whole = share >= 1
    seconds = max(FEWEST_SECONDS, ROW_SECONDS * min(1.0, 4 * share))
    for case in cases(BODIES if is_whole else BODIES[:1], LOADS if is_whole else LOADS[:1], None):
        yield measure(case, seconds, say).row()


def cases(bodies: tuple[int, ...], loads: tuple[str, ...], before: str | None) -> list[Case]:
    """In the order in which they are measured; the earlier version right beside this one."""
    here = os.path.dirname(os.path.abspath(str(twixt.__file__)))
    versions = [(here, HERE)] + ([(os.path.abspath(before), "before")] if before else [])
    return [
        Case(way, count, load, folder, version)
        for load in loads
        for way in guest_loop.KINDS
        for count in bodies
        for folder, version in versions
    ]


def run(
    bodies: tuple[int, ...], load: str, seconds: float, before: str | None, json_file: str | None, out: str | None,
    command: str,
) -> int:  # fmt: skip
    """Measures, shows and writes; the exit code. Raises TwixtError before anything is measured."""
    _check(before, json_file, out)
    from rich.console import Console

    from twixt.cli.bench import guest_page

    wanted, found, code = cases(bodies, (load,), before), [], 0
    try:
        with Console(stderr=True).status("") as status:
            for number, case in enumerate(wanted, 1):
                status.update(f"{number} of {len(wanted)}: {case.way}, {case.bodies:,} bodies, {case.version}")
                found.append(measure(case, seconds))
    except KeyboardInterrupt:
        code = INTERRUPTED
    guest_page.leave(found, command, json_file, out, cut_short=code != 0)
    return code or int(all(one.slow is None for one in found))


def _check(before: str | None, json_file: str | None, out: str | None) -> None:
    for flag, path in (("--json", json_file), ("--out", out)):
        if path is not None:
            check_file(flag, path)
    if before is not None and not os.path.isfile(os.path.join(before, "twixt.py")):
        raise TwixtError(f"--before {before!r} is no checkout of twixt: it has no twixt.py; give a folder that has one")


def measure(case: Case, seconds: float, say: Say = str) -> Found:
    """One loop and its viewer, from their start to their end."""
    say(f"{case.way}, {case.bodies:,} bodies, load {case.load}")
    turn_s = min(TURN_S, seconds / 4)
    rounds = max(1, round(seconds / 2 / turn_s))
    free = guest_machine.free_before()
    with guest_machine.busy_loops(1 if case.load == "loop" else 0) as busy, tempfile.TemporaryDirectory() as folder:
        counted = guest_machine.Cores(os.getpid(), *busy)
        log = os.path.join(folder, "frames.csv")
        turns, failure = _turns(case, rounds, turn_s, log, counted)
        average = os.getloadavg()[0]
        seen = _picture(log, turns)
    return Found(
        case, slowdown(turns), seen, step_us(turns, True), step_us(turns, False), free, counted.others, average, failure
    )


def _picture(log: str, turns: list[Turn]) -> Picture:
    from twixt.render.measure.log import read_log

    try:
        return picture(read_log(log), turns)
    except TwixtError:  # it never came
        return Picture(None, None)


def _turns(case: Case, rounds: int, turn_s: float, log: str, counted: guest_machine.Cores) -> tuple[list[Turn], str]:
    """The turns of a loop that runs meanwhile, and why there are none."""
    with tempfile.TemporaryFile() as words:
        child = subprocess.Popen(
            _command(case, rounds, turn_s, log), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=words,
            text=True, encoding="utf-8",
        )  # fmt: skip
        counted.include(child.pid)
        turns: list[Turn] = []
        failure = ""
        try:
            assert child.stdout is not None
            for line in child.stdout:
                told = json.loads(line)
                match told.pop("kind"):
                    case "viewer":
                        counted.include(told["pid"])
                    case "turn":
                        turns.append(Turn(**told))
                        counted.look()
                    case "error":
                        failure = told["words"]
            child.wait()
        finally:
            end(child, FAREWELL_S)
        words.seek(0)
        last = words.read().decode(errors="replace").strip().splitlines()[-1:]
    if not turns:
        failure = failure or f"the loop ended with {child.returncode}: {''.join(last) or 'it said nothing'}"
    return turns, failure


def _command(case: Case, rounds: int, turn_s: float, log: str) -> list[str]:
    loop = os.path.abspath(str(guest_loop.__file__))
    arguments = [
        case.way, "--bodies", str(case.bodies), "--rounds", str(rounds), "--turn", str(turn_s), "--log", log
    ]  # fmt: skip
    code = (
        f"import runpy, sys; sys.path.insert(0, {case.folder!r}); sys.argv[0] = 'guest_loop'; "
        f"runpy.run_path({loop!r}, run_name='__main__')"
    )
    return [sys.executable, "-P", "-c", code, *arguments]


def _text(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
