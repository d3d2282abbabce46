"""`twixt bench against`: how often `twixt measure --against` is right, by the number of runs.

One idea: real runs are recorded once, some as they are and as many with three more milliseconds of work a frame; then
commands of N runs a side are put together from them by lot, many hundred times, and judged by the very code of the
command. Equal flags should come out with no difference in *every* figure, the work should be found in `cpu_ms`. Beside
them stand whole commands, as they are typed (`whole_commands`).

Always: the same recording gives the same page (a fixed seed). What other programs had of the machine is recorded with
each run and judged with it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from twixt.cli.against import REPEAT, SECONDS, Run, Turns, compare, take_turns
from twixt.cli.bench.whole_commands import run_commands, section
from twixt.ipc.config import check_file
from twixt.ipc.errors import TwixtError
from twixt.render.measure.against import FALSE_ALARMS, HIGHER, NO_DIFFERENCE, NO_VERDICT
from twixt.render.measure.against_noise import Load
from twixt.render.measure.against_show import FIGURES, figures_of
from twixt.render.measure.report import machine

SCHEMA = "twixt-against-runs/1"
WORLDS = ("metronome", "balls")
MORE = ("--slow-render", "3")
FOUND_IN = "frames.cpu_ms.p50"
NUMBERS = (5, 6, 8, 10, 12)
# What the runs had: cores that others left alone, or whatever others left of them.
FREE, AS_RECORDED = "free", "as recorded"
FEWEST_QUIET = 16
LONGEST_S = 60.0
INTERRUPTED = 130


class Wanted(NamedTuple):
    """What it is told. recorded: a file of earlier runs, instead of new ones. commands: how many whole ones to run of
    each kind, for so many minutes."""

    runs: int
    trials: int
    recorded: str | None
    record: str | None
    out: str | None
    commands: int | None
    minutes: float
    command: str


@dataclass(frozen=True)
class Right:
    """How often commands of `runs` runs a side were right. Shares of `trials`."""

    world: str
    runs: int
    trials: int
    equal_clean: float  # equal flags: no difference seen in every figure
    equal_no_verdict: float
    work_found: float
    work_no_verdict: float
    false_figures: tuple[str, ...]  # that differed by chance
    cores: str


Recording = dict[str, Any]
# A recording of whole commands alone.
NOTHING: Recording = {"schema": SCHEMA, "worlds": {}}


def run(wanted: Wanted) -> int:
    """Records, tries, shows; the exit code. Raises TwixtError."""
    for flag, path in (("--record", wanted.record), ("--out", wanted.out)):
        if path is not None:
            check_file(flag, path)
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("") as status:
        say: Callable[[str], None] = (
            status.update if console.is_terminal else lambda text: print(f"twixt: {text}", file=sys.stderr)
        )
        if wanted.recorded:
            recording = read(wanted.recorded)
        else:
            recording = NOTHING | {"machine": machine()} if wanted.commands else _recorded(wanted.runs, say)
        if recording.get("interrupted"):
            return INTERRUPTED
        if wanted.commands:
            recording["commands"] = run_commands(wanted.commands, wanted.minutes, say)
        if wanted.record is not None:
            _write(wanted.record, json.dumps(recording, indent=0) + "\n", "--record")
        found = []
        for cores, world, runs in pools_of(recording):
            for number in NUMBERS:
                say(f"{world}, {cores}: {wanted.trials} commands of {number} runs a side")
                found.append(tried(world, runs, number, wanted.trials, cores))
    text = page(recording, found, wanted.command)
    if wanted.out is not None:
        _write(wanted.out, text, "--out")
    print("\n".join(_table(found)))
    if "commands" in recording:
        print(section(recording["commands"]))
    return INTERRUPTED if wanted.commands and recording["commands"]["interrupted"] else 0


def pools_of(recording: Recording) -> list[tuple[str, str, list[Run]]]:
    """What commands are put together from: cores, world, runs. Free cores first, then all runs where some were not."""
    worlds = runs_of(recording)
    quiet = {world: [run for run in runs if not run.load.disturbed] for world, runs in worlds.items()}
    pools = [(FREE, world, runs) for world, runs in quiet.items() if len(runs) >= FEWEST_QUIET]
    return pools + [(AS_RECORDED, world, runs) for world, runs in worlds.items() if len(runs) > len(quiet[world])]


def tried(world: str, runs: Sequence[Run], number: int, trials: int, cores: str = FREE, seed: int = 0) -> Right:
    """Commands put together by lot, with replacement, of `number` runs a side."""
    random = np.random.default_rng(seed)
    usual, slowed = ([run for run in runs if run.side == side] for side in "AB")
    if len(usual) < 2 or len(slowed) < 2:
        raise TwixtError(f"{world}: {len(usual)} runs of A and {len(slowed)} of B; at least 2 of each are needed")
    clean = no_equal = seen = no_work = 0
    false: list[str] = []
    for trial in range(trials):
        pool = (usual, slowed)[trial % 2]
        compared = compare(_command(pool, pool, number, random), trial)[0]
        clean += all(one.verdict == NO_DIFFERENCE for one in compared if sum(one.runs))
        no_equal += any(one.verdict == NO_VERDICT for one in compared if sum(one.runs))
        false += [one.figure for one in compared if one.is_seen]
        compared = compare(_command(usual, slowed, number, random), trial)[0]
        verdict = next(one.verdict for one in compared if one.figure == FOUND_IN)
        seen += verdict == HIGHER
        no_work += verdict == NO_VERDICT
    return Right(
        world, number, trials, clean / trials, no_equal / trials, seen / trials, no_work / trials,
        tuple(sorted(set(false))), cores,
    )  # fmt: skip


def runs_of(recording: Recording) -> dict[str, list[Run]]:
    """The runs of each world. Raises TwixtError."""
    try:
        for one in (one for runs in recording["worlds"].values() for one in runs):
            for value in (*one["figures"].values(), *one["load"].values()):
                if not isinstance(value, int | float | None):
                    raise TypeError(value)
        for name in ("processor", "cores", "system"):
            recording["machine"][name]
        return {
            world: [Run(one["side"], one["figures"], Load(**one["load"])) for one in runs]
            for world, runs in recording["worlds"].items()
        }
    except (KeyError, TypeError, AttributeError):
        raise TwixtError("the recording was changed since; make one with: twixt bench against --record FILE") from None


def read(path: str) -> Recording:
    """A recording that was written before. Raises TwixtError."""
    make = f"make one with: twixt bench against --record {path}"
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no JSON"
        raise TwixtError(f"cannot read the runs {path!r}: {reason}; {make}") from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise TwixtError(f"{path!r} is no recording of the form {SCHEMA}; {make}")
    return found


def page(recording: Recording, found: Sequence[Right], command: str) -> str:
    """The page about it (Markdown)."""
    about, runs = recording["machine"], runs_of(recording)
    loads = [run.load.others for one in runs.values() for run in one if run.load.others is not None]
    shares = np.percentile(loads, (50, 90, 100)) if loads else (0.0, 0.0, 0.0)
    counts = "; ".join(
        f"{world}: {sum(run.side == 'A' for run in one)} as they are, {sum(run.side == 'B' for run in one)} with "
        f"`{' '.join(MORE)}`" for world, one in runs.items()
    )  # fmt: skip
    text = ABOUT.format(
        command=command, seconds=f"{SECONDS:g}", counts=counts, repeat=REPEAT, alarms=f"{FALSE_ALARMS:.1%}",
        figures=len(FIGURES), machine=f"{about['processor']}, {about['cores']} cores, {about['system']}",
        others="{:.2f}, {:.2f} and {:.2f}".format(*shares), table="\n".join(_table(found)),
        trials=found[0].trials if found else 0,
    )  # fmt: skip
    return text + (section(recording["commands"]) if "commands" in recording else "")


def _recorded(count: int, say: Callable[[str], None]) -> Recording:
    worlds: dict[str, list[dict[str, Any]]] = {}
    for world in WORLDS:
        usual = [world, "--seconds", f"{SECONDS:g}"]
        turns: Turns = take_turns(
            {"A": usual, "B": [*usual, *MORE]}, count, SECONDS + LONGEST_S, figures_of,
            lambda text, world=world: say(f"{world}: {text}"),  # type: ignore[misc]
        )  # fmt: skip
        if turns.interrupted:
            return {"interrupted": True}
        worlds[world] = [
            {"side": run.side, "figures": run.figures, "load": asdict(run.load)} for run in turns.runs if not run.fault
        ]
    return {"schema": SCHEMA, "machine": machine(), "worlds": worlds}


def _command(a: Sequence[Run], b: Sequence[Run], number: int, random: np.random.Generator) -> Turns:
    """Runs by lot as the command would have made them, whichever side they were recorded on."""
    pools, turns = {"A": a, "B": b}, Turns(number)
    while (side := turns.next_side) is not None:
        one = pools[side][int(random.integers(0, len(pools[side])))]
        turns.runs.append(Run(side, one.figures, one.load))
    return turns


def _table(found: Sequence[Right]) -> list[str]:
    rows = [
        "| world | cores | runs a side | equal flags: no difference in any figure | `--slow-render 3` found in cpu_ms | "
        "no verdict (equal, slowed) |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    return rows + [
        f"| {one.world} | {one.cores} | {one.runs} | {one.equal_clean:.1%} | {one.work_found:.1%} | {one.equal_no_verdict:.1%}, "
        f"{one.work_no_verdict:.1%} |"
        for one in found
    ]


def _write(path: str, text: str, flag: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        where = os.path.dirname(path) or "."
        raise TwixtError(
            f"cannot write {path!r} ({error.strerror}); give {flag} a file, {where!r} is no good"
        ) from None


ABOUT = """\
# How often `twixt measure --against` is right

Made by `{command}`.

`twixt measure WORLD --repeat N --against "FLAGS"` runs the world N times as it is (A) and N times with the flags (B), in
turns A B B A, {seconds} s each, and says of each of up to {figures} figures: *no difference seen*, *B is higher by x*,
*B is lower by x*, or *no verdict*.

- The run is what is counted, not the frame: the frames of one run share its luck.
- A difference is seen where two judges agree: a permutation test of all figures at once (Westfall and Young; by Welch's
  t and by Kolmogorov's distance), and the bootstrap interval of the difference of the medians, at a level divided by the
  number of figures. Of *whole tables* of equal runs at most {alarms} show a difference in any figure.
- A run during which other programs had more than a quarter of the machine is left out, said, and made again. Where more
  than half are such, or the middle half of A's runs differ among themselves by a third, there is no verdict, and it says
  why.

## How often it is right

- Recorded in turns: {counts}.
- On {machine}.
- Other programs had {others} cores at the median, at 90 % and at most.

From these, {trials} commands of each size were put together by lot, with replacement, and judged by the code of the
command: from the runs that others left alone (cores: free), and from all (as recorded). No verdict counts as wrong.

{table}

With fewer than 5 runs a side there is no verdict: they can be dealt to two sides in too few ways. The default is
{repeat}: it bears some runs that are left out, and single runs that the machine spoilt without being seen to.
"""
