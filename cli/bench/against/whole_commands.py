"""Whole `twixt measure --against` commands, run one after the other, and the number with a correct verdict.

The one idea: commands drawn at random from recorded runs (`against_bench`) test the statistics. Here the command itself
is run as a user types it: as often with equal flags as with three more milliseconds of work a frame, in turns.

Always: "no verdict" and a command that failed count as wrong. No command begins after the given minutes; one that was
not run is not counted.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

from twixt.cli.against.differences import FEWEST_RUNS, HIGHER, NO_DIFFERENCE, NO_VERDICT
from twixt.cli.against.runs_in_turns import ended
from twixt.cli.pages import Say
from twixt.ipc.errors import TwixtError
from twixt.render.measure.report.report import machine
from twixt.sim.process.viewer_command import twixt_command

KINDS = {"equal": "", "slowed": "--slow-render 3"}
FOUND_IN = "frames.cpu_ms.p50"
# One command: the fewest runs a side that allow a verdict, each short. With the starts of its processes it takes about
# 20 s. It is judged like any other.
WORLD, REPEAT, SECONDS = "metronome", FEWEST_RUNS, 1.0
LONGEST_S = 300.0
FOUND = "found"
RIGHT = {"equal": NO_DIFFERENCE, "slowed": FOUND}

CommandResult = dict[str, Any]


def typed(flags: str) -> list[str]:
    """Arguments that a user types after `twixt`."""
    return ["measure", WORLD, "--offscreen", "--seconds", f"{SECONDS:g}", "--repeat", str(REPEAT), "--against", flags]


def run_commands(count: int, minutes: float, say: Say) -> dict[str, Any]:
    """Runs `count` commands of each kind, none begun after `minutes`; returns results and conditions to be recorded."""
    begin_s, load = time.monotonic(), os.getloadavg()[0]
    made: list[CommandResult] = []
    interrupted = False
    try:
        for number in range(count):
            for kind, flags in KINDS.items():
                passed_s = time.monotonic() - begin_s
                if passed_s > 60 * minutes:
                    break
                left_s = passed_s / len(made) * (2 * count - len(made)) if made else 0.0
                say(f"{number + 1} of {count}, {kind}; {left_s / 60:.0f} minutes to go; " + "; ".join(counted(made)))
                made.append({"kind": kind, **_run_command(kind, flags)})
    except KeyboardInterrupt:
        interrupted = True
    return {
        "wanted": count,
        "interrupted": interrupted,
        "made": made,
        "minutes": (time.monotonic() - begin_s) / 60,
        "machine": machine(),
        "load_before": load,
        "load_after": os.getloadavg()[0],
        "typed": {kind: ["twixt", *typed(flags)] for kind, flags in KINDS.items()},
    }


def verdict_of(kind: str, document: dict[str, Any]) -> CommandResult:
    """Result of one command, from its `--json`. said: `RIGHT[kind]` where it is correct, else the wrong result."""
    figures = {name: one for name, one in document["figures"].items() if sum(one["runs"])}
    seen = [name for name, one in figures.items() if one["verdict"] not in (NO_DIFFERENCE, NO_VERDICT)]
    none = [name for name, one in figures.items() if one["verdict"] == NO_VERDICT]
    why = document["too_noisy"] or (figures[none[0]]["why"] if none else "")
    if kind == "slowed":
        verdict = figures.get(FOUND_IN, {"verdict": NO_VERDICT})["verdict"]
        said = FOUND if verdict == HIGHER else verdict if verdict == NO_VERDICT else "not found"
    else:
        said = f"a difference in {', '.join(seen)}" if seen else NO_VERDICT if none or not figures else NO_DIFFERENCE
    return {"said": said, "why": why, "seen": seen, "conditions": document["conditions"]}


def counted(made: Sequence[CommandResult]) -> list[str]:
    """One line for each kind of command: how many were correct."""
    return [f"{kind}: {right} of {of} {RIGHT[kind]}" for kind, right, of in shares(made)]


def shares(made: Sequence[CommandResult]) -> Iterator[tuple[str, int, int]]:
    """Yields for each kind: its name, the number of correct commands, the number of all."""
    for kind, right in RIGHT.items():
        said = [one["said"] for one in made if one["kind"] == kind]
        yield kind, said.count(right), len(said)


def section(commands: dict[str, Any]) -> str:
    """The page's section about the commands (Markdown). Raises TwixtError where the recording was changed."""
    try:
        return _section(commands)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise TwixtError("the commands of the recording were changed since; make them anew with --commands N") from None


def _section(commands: dict[str, Any]) -> str:
    made, about = commands["made"], commands["machine"]
    rows = [
        f"| `{' '.join(_quoted(commands['typed'][kind]))}` | {RIGHT[kind]} | {right} of {of} |"
        for kind, right, of in shares(made)
    ]
    wrong = [f"- {one['kind']}: {one['said']}{': ' + one['why'] if one['why'] else ''}" for one in made]
    wrong = [line for line, one in zip(wrong, made, strict=True) if one["said"] != RIGHT[one["kind"]]]
    short = 2 * commands["wanted"] - len(made)
    return SECTION.format(
        machine=f"{about['processor']}, {about['cores']} cores, {about['system']}",
        before=float(commands["load_before"]),
        after=float(commands["load_after"]),
        minutes=float(commands["minutes"]),
        rows="\n".join(rows),
        wrong="\n".join(wrong) + "\n" if wrong else "",
        short=f"{short} of the wanted commands were not made: the time was over.\n" if short else "",
        found_in=FOUND_IN,
    )


def _quoted(words: Sequence[str]) -> list[str]:
    return [f'"{word}"' if " " in word or not word else word for word in words]


def _run_command(kind: str, flags: str) -> CommandResult:
    with tempfile.TemporaryDirectory(prefix="twixt-") as folder:
        path = os.path.join(folder, "against.json")
        command = twixt_command(*typed(flags), "--json", path)
        words, code = ended(command, LONGEST_S)
        try:
            with open(path, encoding="utf-8") as file:
                return verdict_of(kind, json.load(file))
        except (OSError, ValueError):
            return {"said": f"exit code {code}", "why": words, "seen": [], "conditions": []}


SECTION = """
## Whole commands

Each command was run as it is typed, equal and slowed ones in turns, {minutes:.0f} minutes altogether. With equal flags
every figure must have no difference; the work must be found in `{found_in}`; no verdict counts as wrong.

- On {machine}.
- Load of the last minute: {before:.1f} before, {after:.1f} after.

| command | should say | said so |
| --- | --- | ---: |
{rows}

{wrong}{short}"""
