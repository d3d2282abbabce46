"""Defines the commands of `python -m bench`: their options and functions.

Always: the code of a command is imported only when the command runs. Costs are measured in the order of `COSTS`. In
that order, entries that only copy memory come first.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable
from typing import Any

import click

from twixt.cli.command_line import HELP_SETTINGS, command_line
from twixt.cli.flags import CommandGroup, CommandTable, Read, argument, option
from twixt.cli.runs_in_turns import interrupted_by_signals
from twixt.ipc.errors import INTERRUPTED, READER_GONE, REFUSED, TwixtError, has_reader_gone, missing_package_advice
from twixt.ipc.process.notices import print_notice

PROGRAM = "python -m bench"
ABOUT = """Costs of everything, each beside its physical limit; truth and evenness of the motion.

\b
python -m bench                          all costs (an hour), the commands from channel to vsync
python -m bench --quick                  few rounds of each: that it works
python -m bench channel --json now.json  one group, kept
python -m bench channel --against now.json --fail-over 10

Run it in the top folder of a checkout; make bench ARGS="channel --quick" does the same.
"""

# Largest number of bodies of a bench.
MOST_BODIES = 100_000
# For each name, a description of what is measured, and the functions that measure it (see `cost_suite.measure`).
COSTS = {
    "channel": ("Cost of publishing and reading.", "costs.channel:channel_rows"),
    "show": ("Cost of a publish through twixt.show.", "costs.channel:show_rows"),
    "emit": ("Cost of emitting events and publishing them.", "costs.emitting:emit_rows"),
    "guest": ("Slowdown of a loop that never waits, by its viewer.", "loops.guest:rows"),
    "frame": (
        "Cost of a frame beside its drawing: waking, clock, log.",
        "costs.frame:frame_rows costs.frame:still_rows +costs.allocation:allocation_rows",
    ),
    "interpolation": ("Cost of each method, on the GPU and in numpy.", "costs.drawing:method_rows"),
    "draw": (
        "Frames a second, by number of bodies and by shape.",
        "costs.live:live_rows costs.drawing:shape_rows costs.drawing:mark_rows",
    ),
    "parts": ("Processor time of each part of a frame, in three sizes.", "costs.frame:phase_rows"),
    "looks": ("Cost of shadows, contact shading, four samples a pixel.", "costs.drawing:look_rows"),
    "start": ("From the command to the first picture.", "costs.whole_runs:start_rows"),
    "million": ("A million bodies: failed reads, memory, first picture.", "costs.whole_runs:million_rows"),
    "vsync": ("Evenness of frames where swap waits for the display.", "costs.whole_runs:vsync_rows"),
    "peers": ("Other viewers on the same scene, where installed.", "peers:peer_rows"),
}
# Name of the costs that are measured only on request.
PEERS = "peers"
# Scenes of `view.scenes`.
VIEW_SCENES = (
    "one-ball", "explosion", "pile", "orbit", "planet", "teleporter", "swarm", "runner", "flat", "two-groups", "fountain"
)  # fmt: skip
# Cases of `events.events_bench`.
EVENT_CASES = ("trouble", "stop", "overflow", "reset", "million")


def read_counts(text: str) -> tuple[int, ...]:
    """Reads whole numbers from 1 to `MOST_BODIES`, such as `1000,10000`. Raises ValueError for another text."""
    counts = tuple(int(part) for part in text.split(","))
    if not all(0 < count <= MOST_BODIES for count in counts):
        raise ValueError(f"each must be from 1 to {MOST_BODIES}, such as 1000,10000")
    return counts


def read_names(*known: str) -> Callable[[str], tuple[str, ...]]:
    """Returns a function that reads names separated by commas. It returns each name once, in the order of `known`."""

    def read(text: str) -> tuple[str, ...]:
        wanted = {name.strip() for name in text.split(",")}
        if not wanted <= set(known):
            raise ValueError(f"it is one or more of {', '.join(known)}")
        return tuple(name for name in known if name in wanted)

    return read


def names_option(flag: str, known: tuple[str, ...]) -> click.Option:
    """An option that takes some of the names `known`, separated by commas; by default all."""
    names = ", ".join(known)
    read = Read("names", read_names(*known))
    return option(flag, type=read, default=",".join(known), metavar="NAMES", help=f"which of {names}  [default: all]")


class FiniteRange(click.FloatRange):
    """A range of finite numbers. `click.FloatRange` would accept nan and, without an upper bound, inf."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if not math.isfinite(read := click.FLOAT.convert(value, parameter, context)):
            self.fail(f"it must be a finite number, got {value}", parameter, context)
        return super().convert(read, parameter, context)


def several(name: str, field: str, about: str) -> click.Option:
    return option(name, field, multiple=True, help=f"{about}; may be given again")


benches = CommandTable()


def add(name: str, runs: str, about: str, *options: click.Parameter, **fixed: Any) -> None:
    """Adds a command. runs: `module:function` of `bench` that does its work. The function is called with `Results`,
    the values of the options, and `fixed`."""

    def command(**chosen: Any) -> int:
        return call(runs, **chosen, **fixed)

    command.__name__, command.__doc__ = name, about
    benches.command(*options)(command)


@interrupted_by_signals
def call(
    runs: str, json_file: str | None = None, out: str | None = None, plot: str | None = None, **chosen: Any
) -> int:
    from bench.pages import Results

    module, _, function = runs.partition(":")
    code: int = getattr(importlib.import_module(f"bench.{module}"), function)(
        Results(typed(), json_file, out, plot), **chosen
    )
    return code


def seeds(default: int) -> click.Option:
    return option("--seeds", type=click.IntRange(min=1), default=default, show_default=True, help="of each trace")


TO_JSON = option("--json", "json_file", metavar="FILE", help="write the figures as JSON; - for standard output")
TO_PAGE = option("--out", metavar="FILE", help="write a page about it (Markdown)")
COST_OPTIONS = (
    option("--quick", is_flag=True, help="few rounds: shows that it works, not how fast"),
    TO_JSON,
    TO_PAGE,
    option("--plot", metavar="FILE", help="draw frames a second against bodies (PNG)"),
    option(
        "--against", metavar="FILE", help="show beside them the ratios of an earlier --json FILE, and what became worse"
    ),
    option(
        "--fail-over",
        type=FiniteRange(min=0),
        metavar="PERCENT",
        help="exit with 1 when a ratio is worse than --against by more than this, and by more than the noise",
    ),
)
BEFORE = option("--before", metavar="FOLDER", help="a checkout of an earlier version, in turns with this one")

for name, (about, functions) in COSTS.items():
    add(name, "cost_suite:measure", about, *COST_OPTIONS, groups={name: functions})

add(
    "motion",
    "motion.motion_bench:run",
    "Errors of each method, for each world and each trouble.",
    TO_JSON,
    TO_PAGE,
    option("--plot", metavar="FILE", help="draw a bounce and a circle as some methods draw them (PNG)"),
    several("--world", "worlds", "only this one"),
    several("--trouble", "troubles", "only this one"),
    several("--method", "methods", "only this one, or module:Class"),
    option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="of worlds and troubles"),
    option("--quick", is_flag=True, help="one world and two troubles: shows that it works"),
)

add(
    "clock",
    "clock.clock_bench:run",
    "Smoothness of each playback clock on each trace.",
    option("--json", "json_file", flag_value="-", help="the figures as JSON instead of tables"),
    seeds(12),
    TO_PAGE,
)

add(
    "pacing",
    "pacing.laboratory:run",
    """The pacer on model displays, in virtual time.

    Compared with a fixed interval and an oracle; the same figures on every machine, however busy it is. Each target is
    shown with its figure.
    """,
    seeds(10),
    option("--first-seed", type=click.IntRange(min=0), default=0, show_default=True, help="others follow it"),
    several("--display", "displays", "only this one"),
    several("--work", "works", "only this one"),
    option("--quick", is_flag=True, help="few works, short traces: shows that it works"),
    option("--fail", is_flag=True, help="exit with 1 when a bar is not met"),
    TO_JSON,
    TO_PAGE,
    option("--plot", metavar="FILE", help="draw costs by work, and four runs frame by frame (PNG)"),
    option("--frames", metavar="FILE", help="write each frame of the first display, work and seed (CSV), with reasons"),
)

add(
    "mujoco",
    "loops.mujoco_rows:run",
    """Slowdown of a loop that steps a MuJoCo model; cost of a `sync`.

    Beside twixt: MuJoCo's passive viewer, its Studio and Viser in a browser, where they are installed and have a
    display. On a machine without a screen: xvfb-run -s "-screen 0 1280x1024x24" python -m bench mujoco. Half an hour;
    --quick only shows that it works.
    """,
    *COST_OPTIONS,
    option("--model", metavar="FILE", default="", help="step this MuJoCo model instead of a humanoid"),
    option("--only", type=click.Choice(["loops", "sync"]), help="only the slowdown of loops, or the cost of a sync"),
    option(
        "--peer",
        "peers",
        type=click.Choice(["mujoco.viewer", "mujoco.studio", "viser"]),
        multiple=True,
        help="only this one beside twixt; may be given again",
    ),
    option("--pairs", type=click.IntRange(min=2), metavar="N", help="turns of a loop with each viewer (40)"),
    option("--large", "is_large", is_flag=True, help="also 10,000 bodies, which MuJoCo compiles in 20 s"),
)

add(
    "guest",
    "loops.guest:run",
    COSTS["guest"][0],
    option(
        "--bodies",
        type=Read("N,N", read_counts),
        default="1000,10000,100000",
        show_default=True,
        metavar="N,N",
        help="how many, one loop for each number",
    ),
    option(
        "--load",
        type=click.Choice(["none", "loop"]),
        default="none",
        show_default=True,
        help="another busy program at normal priority meanwhile",
    ),
    option("--seconds", type=FiniteRange(min=0.4, max=3600), default=20.0, show_default=True, help="of each loop"),
    BEFORE,
    TO_JSON,
    TO_PAGE,
)

add(
    "evenness",
    "evenness:run",
    """Evenness of worlds on free cores and under busy programs.

    \b
    An hour with all that is measured by default; a first look:
    python -m bench evenness --xvfb --seconds 10 --turns 2 --worlds metronome
    """,
    option("--xvfb", "display", flag_value="xvfb", help="on an Xvfb of its own, whose swap waits for nothing"),
    option(
        "--sway", "display", flag_value="sway", help="on a sway of its own, whose swap waits for 60 refreshes a second"
    ),
    option("--seconds", type=FiniteRange(min=0.5, max=3600), default=60.0, show_default=True, help="of each run"),
    option("--turns", type=click.IntRange(1, 1000), default=5, show_default=True, help="runs of each case"),
    option(
        "--load",
        "loads",
        type=Read("none,loops", read_names("none", "loops")),
        default="none,loops",
        show_default=True,
        metavar="NAMES",
        help="free cores, and a busy program at normal priority on each core",
    ),
    option(
        "--worlds",
        type=Read("names", read_names("balls", "metronome", "swarm")),
        default="balls,metronome,swarm",
        show_default=True,
        metavar="NAMES",
        help="which; swarm is one of 2,000",
    ),
    BEFORE,
    TO_JSON,
    TO_PAGE,
)
add(
    "view",
    "view.view_bench:run",
    """Moving bodies in the picture, by the pixels of a screen.

    \b
    Half an hour with all that is measured by default; a first look:
    python -m bench view --seconds 10 --turns 1 --scenes one-ball,orbit
    """,
    names_option("--scenes", VIEW_SCENES),
    option("--seconds", type=FiniteRange(min=0.5, max=3600), default=30.0, show_default=True, help="of each run"),
    option("--turns", type=click.IntRange(1, 1000), default=2, show_default=True, help="runs of each scene and view"),
    option("--plot", metavar="FILE", help="draw pictures of the scenes by both views (PNG)"),
    TO_JSON,
    TO_PAGE,
)
add(
    "events",
    "events.events_bench:run",
    """Events in viewers: each once, in order, in its frame.

    \b
    All cases take four minutes. A short run:
    python -m bench events --seconds 10 --only trouble
    """,
    option(
        "--seconds",
        type=FiniteRange(min=4, max=3600),
        default=60.0,
        show_default=True,
        help="length of the case with three viewers",
    ),
    names_option("--only", EVENT_CASES),
    TO_JSON,
    TO_PAGE,
)
add(
    "latency",
    "latency.latency_bench:run",
    """When a published state is seen, for each way to publish.

    For `twixt run`, `twixt.show` and MuJoCo's `sync`, each playback clock and several rates, on an Xvfb: six minutes.
    """,
    option("--quick", is_flag=True, help="two short runs: shows that it works"),
    TO_JSON,
    TO_PAGE,
)
add(
    "trace",
    "trace_plot:run",
    "Picture of a section of a `twixt run --profile` trace.",
    argument("trace", type=click.Path()),
    argument("picture", type=click.Path()),
    option("--from-ms", type=FiniteRange(min=0), help="after the command's start [the middle]"),
    option("--length-ms", type=FiniteRange(min=0, min_open=True), default=100.0, show_default=True),
)


def group() -> click.Group:
    """The group of all commands. If no command is given, it measures all costs."""

    def measure_all(peers: bool, **wanted: Any) -> int:
        if click.get_current_context().invoked_subcommand is not None:
            return 0
        groups = {name: functions for name, (_, functions) in COSTS.items() if name != PEERS or peers}
        return call("cost_suite:measure", groups=groups, **wanted)

    return CommandGroup(
        benches,
        name="bench",
        params=[*COST_OPTIONS, option("--peers", is_flag=True, help="also other viewers on the same scene")],
        callback=measure_all,
        invoke_without_command=True,
        help=ABOUT,
        context_settings=HELP_SETTINGS,
    )


def main(arguments: list[str] | None = None) -> int:
    """Runs the bench that `arguments` name, and returns the exit code. If `arguments` is None, uses `sys.argv`. Prints
    a TwixtError as one line."""
    try:
        return command_line(sys.argv[1:] if arguments is None else arguments, group(), PROGRAM)
    except KeyboardInterrupt:
        return INTERRUPTED
    except TwixtError as error:
        print_notice(str(error))
        return error.exit_code
    except Exception as error:
        if has_reader_gone(error):
            return READER_GONE
        if not (advice := missing_package_advice(error)):
            raise
        print_notice(advice)
        return REFUSED


def typed() -> str:
    return " ".join([PROGRAM, *sys.argv[1:]])
