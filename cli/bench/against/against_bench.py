"""`twixt bench against`: share of correct verdicts of `twixt measure --against`, by the number of runs.

One idea: real runs are recorded once, half of them with three more milliseconds of work a frame. Commands of N runs a
side are then drawn from them at random, many hundred times, and evaluated by the command's own code. With equal flags
no figure may show a difference; the added work must be found in `cpu_ms`. Whole commands, run as a user types them, are
counted beside these (`whole_commands`).

Always: the same recording gives the same page (a fixed seed). The processor time of other programs is recorded with
each run and decides, as in the command, which runs count.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from twixt.cli.against.differences import FALSE_ALARMS, HIGHER, NO_DIFFERENCE, NO_VERDICT
from twixt.cli.against.noise import MachineLoad
from twixt.cli.against.runs_in_turns import REPEAT, SECONDS, Run, Turns, compare, take_turns
from twixt.cli.against.tables import FIGURES, figures_of
from twixt.cli.bench.against.whole_commands import run_commands, section
from twixt.cli.pages import Say, Table, TableColumn, progress
from twixt.ipc.config.output_files import check_file, write_text
from twixt.ipc.errors import FINISHED, INTERRUPTED, TwixtError
from twixt.render.measure.report.report import machine

SCHEMA = "twixt-against-runs/1"
WORLDS = ("metronome", "balls")
MORE = ("--slow-render", "3")
FOUND_IN = "frames.cpu_ms.p50"
NUMBERS = (5, 6, 8, 10, 12)
# Names of the pools: only runs that other programs left alone, or all recorded runs. The first needs so many.
FREE, AS_RECORDED = "free", "as recorded"
FEWEST_QUIET = 16
LONGEST_S = 60.0  # beyond a run's own seconds
LONGEST_RECORDING = 1 << 26  # characters; a run has some hundred


class AgainstOptions(NamedTuple):
    """Options of the command. recorded: a file of earlier runs, used instead of new ones. commands: number of whole
    commands of each kind; minutes: no command begins later."""

    runs: int
    trials: int
    recorded: str | None
    record: str | None
    out: str | None
    commands: int | None
    minutes: float
    command: str


@dataclass(frozen=True)
class RightShares:
    """Shares (0..1) of `trials` commands of `runs` runs a side by their verdict."""

    world: str
    runs: int
    trials: int
    equal_clean: float  # equal flags: "no difference" in every figure
    equal_no_verdict: float
    work_found: float
    work_no_verdict: float
    false_figures: tuple[str, ...]  # seen to differ with equal flags
    cores: str


COLUMNS = (
    TableColumn("world", lambda one: one.world),
    TableColumn("cores", lambda one: one.cores),
    TableColumn("runs a side", lambda one: one.runs, "d"),
    TableColumn("equal flags: no difference in any figure", lambda one: one.equal_clean, ".1%"),
    TableColumn("`--slow-render 3` found in cpu_ms", lambda one: one.work_found, ".1%"),
    TableColumn(
        "no verdict (equal, slowed)", lambda one: f"{one.equal_no_verdict:.1%}, {one.work_no_verdict:.1%}", right=True
    ),
)

Recording = dict[str, Any]
# A recording without runs, for whole commands alone.
NOTHING: Recording = {"schema": SCHEMA, "worlds": {}}


def run(choice: AgainstOptions) -> int:
    """Records runs, evaluates commands drawn from them, shows and writes; returns the exit code. Raises TwixtError."""
    for flag, path in (("--record", choice.record), ("--out", choice.out)):
        if path is not None:
            check_file(flag, path)
    with progress(is_logged=True) as say:
        if choice.recorded:
            recording = read(choice.recorded)
        else:
            recording = NOTHING | {"machine": machine()} if choice.commands else _recorded(choice.runs, say)
        if recording.get("interrupted"):
            return INTERRUPTED
        if choice.commands:
            recording["commands"] = run_commands(choice.commands, choice.minutes, say)
        if choice.record is not None:
            write_text(choice.record, json.dumps(recording, indent=0) + "\n", "--record")
        found = []
        for cores, world, runs in pools_of(recording):
            for number in NUMBERS:
                say(f"{world}, {cores}: {choice.trials} commands of {number} runs a side")
                found.append(tried(world, runs, number, choice.trials, cores))
    text = page(recording, found, choice.command)
    if choice.out is not None:
        write_text(choice.out, text)
    print(Table(COLUMNS, found).markdown())
    if "commands" in recording:
        print(section(recording["commands"]))
    return INTERRUPTED if choice.commands and recording["commands"]["interrupted"] else FINISHED


def pools_of(recording: Recording) -> list[tuple[str, str, list[Run]]]:
    """Pools of runs to draw from: (cores, world, runs). The undisturbed runs, then all where some were disturbed."""
    worlds = runs_of(recording)
    quiet = {world: [run for run in runs if not run.load.disturbed] for world, runs in worlds.items()}
    pools = [(FREE, world, runs) for world, runs in quiet.items() if len(runs) >= FEWEST_QUIET]
    return pools + [(AS_RECORDED, world, runs) for world, runs in worlds.items() if len(runs) > len(quiet[world])]


def tried(world: str, runs: Sequence[Run], number: int, trials: int, cores: str = FREE, seed: int = 0) -> RightShares:
    """Shares of correct verdicts of `trials` commands, each of `number` runs a side drawn at random with replacement.

    Raises TwixtError where a side has fewer than 2 runs.
    """
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
    return RightShares(
        world,
        number,
        trials,
        equal_clean=clean / trials,
        equal_no_verdict=no_equal / trials,
        work_found=seen / trials,
        work_no_verdict=no_work / trials,
        false_figures=tuple(sorted(set(false))),
        cores=cores,
    )


def runs_of(recording: Recording) -> dict[str, list[Run]]:
    """The recorded runs of each world, checked. Raises TwixtError."""
    try:
        for one in (one for runs in recording["worlds"].values() for one in runs):
            for value in (*one["figures"].values(), *one["load"].values()):
                if not isinstance(value, int | float | None):
                    raise TypeError(value)
        for name in ("processor", "cores", "system"):
            recording["machine"][name]
        return {
            world: [Run(one["side"], one["figures"], MachineLoad(**one["load"])) for one in runs]
            for world, runs in recording["worlds"].items()
        }
    except (KeyError, TypeError, AttributeError):
        raise TwixtError("the recording was changed since; make one with: twixt bench against --record FILE") from None


def read(path: str) -> Recording:
    """The recording in a file. Raises TwixtError."""
    make = f"make one with: twixt bench against --record {path}"
    try:
        with open(path, encoding="utf-8") as file:
            found = json.loads(file.read(LONGEST_RECORDING))
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "it is no JSON"
        raise TwixtError(f"cannot read the runs {path!r}: {reason}; {make}") from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise TwixtError(f"{path!r} is no recording of the form {SCHEMA}; {make}")
    return found


def page(recording: Recording, found: Sequence[RightShares], command: str) -> str:
    """The page of the results (Markdown)."""
    about, runs = recording["machine"], runs_of(recording)
    loads = [run.load.others for one in runs.values() for run in one if run.load.others is not None]
    shares = np.percentile(loads, (50, 90, 100)) if loads else (0.0, 0.0, 0.0)
    counts = "; ".join(
        f"{world}: {sum(run.side == 'A' for run in one)} as they are, {sum(run.side == 'B' for run in one)} with "
        f"`{' '.join(MORE)}`"
        for world, one in runs.items()
    )
    text = ABOUT.format(
        command=command,
        seconds=f"{SECONDS:g}",
        counts=counts,
        repeat=REPEAT,
        alarms=f"{FALSE_ALARMS:.1%}",
        figures=len(FIGURES),
        machine=f"{about['processor']}, {about['cores']} cores, {about['system']}",
        others="{:.2f}, {:.2f} and {:.2f}".format(*shares),
        table=Table(COLUMNS, found).markdown(),
        trials=found[0].trials if found else 0,
    )
    return text + (section(recording["commands"]) if "commands" in recording else "")


def _recorded(count: int, say: Say) -> Recording:
    worlds: dict[str, list[dict[str, Any]]] = {}
    for world in WORLDS:
        usual = [world, "--seconds", f"{SECONDS:g}"]

        def say_of_world(text: str, world: str = world) -> object:
            return say(f"{world}: {text}")

        turns = take_turns({"A": usual, "B": [*usual, *MORE]}, count, SECONDS + LONGEST_S, figures_of, say_of_world)
        if turns.interrupted:
            return {"interrupted": True}
        worlds[world] = [
            {"side": run.side, "figures": run.figures, "load": asdict(run.load)} for run in turns.runs if not run.fault
        ]
    return {"schema": SCHEMA, "machine": machine(), "worlds": worlds}


def _command(a: Sequence[Run], b: Sequence[Run], number: int, random: np.random.Generator) -> Turns:
    """A command of runs drawn at random from the pools; each run gets the side for which it is drawn."""
    pools, turns = {"A": a, "B": b}, Turns(number)
    while (side := turns.next_side) is not None:
        one = pools[side][int(random.integers(0, len(pools[side])))]
        turns.runs.append(Run(side, one.figures, one.load))
    return turns


ABOUT = """\
# How often `twixt measure --against` is right

Made by `{command}`.

`twixt measure WORLD --repeat N --against "FLAGS"` runs the world N times as it is (A) and N times with the flags (B), in
turns A B B A, {seconds} s each, and says of each of up to {figures} figures: *no difference seen*, *B is higher by x*,
*B is lower by x*, or *no verdict*.

- One run counts as one observation, not one frame: what disturbs a run affects all of its frames.
- A difference is reported only if two tests agree: a permutation test of all figures at once (Westfall and Young; by
  Welch's t and by Kolmogorov's distance), and the bootstrap interval of the difference of the medians, at a level divided
  by the number of figures. Of *whole tables* of equal runs at most {alarms} show a difference in any figure.
- A run during which other programs had more than a quarter of the cores is left out, reported, and made again. If more
  than half are left out, or if the quartiles of A's runs are a third apart, there is no verdict, but a reason.

## How often it is right

- Recorded in turns: {counts}.
- On {machine}.
- Other programs had {others} cores at the median, at 90 % and at most.

From these, {trials} commands of each size were drawn at random, with replacement, and evaluated by the code of the
command: from the undisturbed runs (cores: free), and from all (as recorded). No verdict counts as wrong.

{table}

With fewer than 5 runs a side there is no verdict: there are too few ways to divide them into two sides. The default is
{repeat}, which allows for some runs that are left out, and for single disturbed runs that were not recognised.
"""
