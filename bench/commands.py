"""Defines the commands of `python -m bench`: their options and functions.

Always: the code of a command is imported only when the command runs. Costs are measured in the order of `COSTS`. In
that order, entries that only copy memory come first.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from bench.command_options import (
    BEFORE,
    COST_OPTIONS,
    TO_JSON,
    TO_PAGE,
    FiniteRange,
    names_option,
    read_counts,
    seconds,
    seeds,
    several,
    turns,
)
from twixt.cli.command_line import HELP_SETTINGS, command_line
from twixt.cli.flags import CommandGroup, CommandTable, Read, argument, option
from twixt.cli.runs_in_turns import interrupted_by_signals
from twixt.ipc.config.flags import PREFERENCES
from twixt.ipc.errors import INTERRUPTED, READER_GONE, REFUSED, TwixtError, has_reader_gone, missing_package_advice
from twixt.ipc.process.notices import print_notice

PROGRAM = "python -m bench"
ABOUT = """Measure costs, each with its physical limit, and the errors and evenness of motion.

\b
python -m bench                          measure all costs, from channel to vsync (about an hour)
python -m bench --quick                  test with few rounds that the benches work
python -m bench channel --json now.json  measure one group and write its figures
python -m bench channel --against now.json --fail-over 10

Run it in the top folder of a checkout; make bench ARGS="channel --quick" does the same.
"""

# For each name, a description of what is measured, and the functions that measure it (see `cost_suite.measure`).
COSTS = {
    "channel": ("Cost of publishing and reading.", "costs.channel:channel_rows"),
    "show": ("Cost of a publish through twixt.show.", "costs.channel:show_rows"),
    "emit": ("Cost of emitting events and publishing them.", "costs.emitting:emit_rows"),
    "guest": ("Slowdown that a viewer causes in a loop that never waits.", "loops.guest:rows"),
    "frame": (
        "Cost of a frame without its drawing: waking, clock, log.",
        "costs.frame:frame_rows costs.frame:still_rows +costs.allocation:allocation_rows",
    ),
    "interpolation": ("Cost of each method, on the GPU and in numpy.", "costs.drawing:method_rows"),
    "draw": (
        "Frames per second, by number of bodies and by shape.",
        "costs.live:live_rows costs.drawing:shape_rows costs.drawing:mark_rows",
    ),
    "parts": ("Processor time of each part of a frame, in three sizes.", "costs.frame:phase_rows"),
    "looks": ("Cost of shadows, contact shading and multisampling.", "costs.drawing:look_rows"),
    "start": ("Time from the command to the first picture.", "costs.whole_runs:start_rows"),
    "million": ("Failed reads, memory, first picture with a million bodies.", "costs.whole_runs:million_rows"),
    "vsync": ("Evenness of frames if swap waits for the display.", "costs.whole_runs:vsync_rows"),
    "peers": ("Other viewers on the same scene, if they are installed.", "peers:peer_rows"),
}
# Name of the costs that are measured only on request.
PEERS = "peers"
# Tables of `evenness`.
EVENNESS_TABLES = ("free", "busy", "sway")
# Scenes of `view.scenes`.
VIEW_SCENES = (
    "one-ball", "explosion", "pile", "orbit", "planet", "teleporter", "swarm", "runner", "flat", "two-groups", "fountain"
)  # fmt: skip
# Worlds, links and rates of `web.cases`.
WEB_NAMES = {
    "worlds": ("metronome", "runner", "balls"),
    "links": ("loopback", "delay and drop", "80+-20 ms", "0.1 % loss", "5 % loss", "20 Mbit/s", "20 Mbit/s by ssh"),
    "rates": ("60", "20", "5"),
}
# Groups of `served.server_bench`.
WEB_SERVER_GROUPS = ("loop", "server", "stop")
# Cases of `events.events_bench`.
EVENT_CASES = ("trouble", "stop", "overflow", "reset", "million")


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
    results = Results(typed(), json_file, out, plot)
    code: int = getattr(importlib.import_module(f"bench.{module}"), function)(results, **chosen)
    return code


for name, (about, functions) in COSTS.items():
    add(name, "cost_suite:measure", about, *COST_OPTIONS, groups={name: functions})
add(
    "motion",
    "motion.motion_bench:run",
    "Errors of each method, for each world and each trouble.",
    TO_JSON,
    TO_PAGE,
    option("--plot", metavar="FILE", help="draw a bounce and a circle with some of the methods (PNG)"),
    several("--world", "worlds", "measure only this world"),
    several("--trouble", "troubles", "measure only this trouble"),
    several("--method", "methods", "measure only this method, a name or module:Class"),
    option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="seed of worlds and troubles"),
    option("--quick", is_flag=True, help="test with one world and two troubles that the bench works"),
)
add(
    "clock",
    "clock.clock_bench:run",
    "Smoothness of each playback clock on each trace.",
    option("--json", "json_file", flag_value="-", help="print the figures as JSON instead of tables"),
    seeds(12),
    TO_PAGE,
)
add(
    "pacing",
    "pacing.laboratory:run",
    """Cost of the pacer's frame times on model displays, in virtual time.

    The pacer is compared with a fixed interval and with an oracle. The figures are the same on every machine. Each
    target is printed with its figure.
    """,
    seeds(10),
    option("--first-seed", type=click.IntRange(min=0), default=0, show_default=True, help="first seed"),
    several("--display", "displays", "measure only this display"),
    several("--work", "works", "measure only this work"),
    option("--quick", is_flag=True, help="test with few works and short traces that the bench works"),
    option("--fail", is_flag=True, help="exit with code 1 if a target is missed"),
    TO_JSON,
    TO_PAGE,
    option("--plot", metavar="FILE", help="draw costs by work, and four runs frame by frame (PNG)"),
    option(
        "--frames", metavar="FILE", help="write each frame of the first display, work and seed, with its reason (CSV)"
    ),
)
add(
    "mujoco",
    "loops.mujoco_rows:run",
    """Slowdown of a loop that steps a MuJoCo model; cost of a `sync`.

    The bench compares twixt with MuJoCo's passive viewer, MuJoCo Studio, and Viser in a browser. It leaves out viewers
    that are not installed, or that have no display. It takes half an hour. On a machine without a display, run:
    xvfb-run -s "-screen 0 1280x1024x24" python -m bench mujoco
    """,
    *COST_OPTIONS,
    option("--model", metavar="FILE", default="", help="MuJoCo model to step, instead of a humanoid"),
    option("--only", type=click.Choice(["loops", "sync"]), help="only the slowdown of loops, or the cost of a sync"),
    option(
        "--peer",
        "peers",
        type=click.Choice(["mujoco.viewer", "mujoco.studio", "viser"]),
        multiple=True,
        help="compare twixt only with this viewer; you may repeat this flag",
    ),
    option("--pairs", type=click.IntRange(min=2), metavar="N", help="runs of a loop with each viewer [default: 40]"),
    option("--large", "is_large", is_flag=True, help="also measure 10,000 bodies; MuJoCo compiles them in 20 s"),
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
        help="numbers of bodies; each number is measured in its own loop",
    ),
    option(
        "--load",
        type=click.Choice(["none", "loop"]),
        default="none",
        show_default=True,
        help="loop: during the measurement, another program at normal priority uses a core",
    ),
    seconds(20.0, least=0.4, about="seconds of each loop"),
    BEFORE,
    TO_JSON,
    TO_PAGE,
)
add(
    "evenness",
    "evenness:run",
    """Evenness of whole runs: on free cores, on busy cores, and on sway.

    \b
    All cases take about ten minutes. Run no other programs during that time.
    The bench starts its own displays (Xvfb and sway).
    """,
    names_option("--tables", EVENNESS_TABLES),
    option("--here", is_flag=True, help="use the present display instead of an Xvfb"),
    seconds(8.0, least=0.5, about="seconds of each run"),
    turns(3, about="number of runs of each case"),
    option("--quick", is_flag=True, help="test with one short run for each table that the bench works"),
    BEFORE,
    TO_JSON,
    TO_PAGE,
)
add(
    "view",
    "view.view_bench:run",
    """Positions of moving bodies in the picture, from the pixels of a display.

    \b
    All scenes take about half an hour. A short run:
    python -m bench view --seconds 10 --turns 1 --scenes one-ball,orbit
    """,
    names_option("--scenes", VIEW_SCENES),
    seconds(30.0, least=0.5, about="seconds of each run"),
    turns(2, about="number of runs of each scene and view"),
    option("--plot", metavar="FILE", help="draw pictures of the scenes by both views (PNG)"),
    TO_JSON,
    TO_PAGE,
)
add(
    "events",
    "events.events_bench:run",
    """Check that viewers receive each event once, in order, in its frame.

    \b
    All cases take four minutes. A short run:
    python -m bench events --seconds 10 --only trouble
    """,
    seconds(60.0, least=4, about="length of the case with three viewers"),
    names_option("--only", EVENT_CASES),
    TO_JSON,
    TO_PAGE,
)
add(
    "latency",
    "latency.latency_bench:run",
    """Time from publishing a state to the frame that shows it.

    All ways to publish, playback clocks and rates take six minutes. The bench starts an Xvfb.
    """,
    option("--quick", is_flag=True, help="test with two short runs that the bench works"),
    TO_JSON,
    TO_PAGE,
)
add(
    "web",
    "web.web_bench:run",
    """Evenness of the browser view in a Chromium, over links with delay, loss and little bandwidth.

    \b
    All cases take 25 minutes. Without --rates, only those that matter for a world and a link. The links need Linux
    and root. The bench starts an Xvfb. A short run:
    python -m bench web --worlds metronome --links loopback --rates 60
    """,
    seconds(10.0, least=1, about="seconds of each run; with loss, six times as long"),
    *(names_option(f"--{name}", known) for name, known in WEB_NAMES.items()),
    option("--screen/--no-screen", default=True, help="also measure metronome by the pixels of the screen"),
    option("--prefer", type=click.Choice(PREFERENCES), default=PREFERENCES[0], show_default=True, help="of the page"),
    option("--congestion", default="cubic", show_default=True, help="TCP's congestion control, such as bbr"),
    option("--quick", is_flag=True, help="test with one world, one rate and two links that the bench works"),
    TO_JSON,
    TO_PAGE,
)
add(
    "web_server",
    "served.server_bench:run",
    """Cost of the browser view: slowdown of a loop, processor time, bytes and memory of the server.

    \b
    All groups take five minutes. Run no other programs during that time. A short run:
    python -m bench web_server --turns 1 --only server
    """,
    seconds(1.0, least=0.1, about="seconds of a turn; twice that for a paced loop"),
    turns(4, about="turns of each case"),
    names_option("--only", WEB_SERVER_GROUPS),
    option("--chromium", is_flag=True, help="also measure loops with a page in a Chromium"),
    option("--quick", is_flag=True, help="test with one short turn of each case that the bench works"),
    TO_JSON,
    TO_PAGE,
)
add(
    "pull",
    "web.pull_bench:run",
    """Time from an act of the mouse in a browser's page to the step of physics that applies the pull.

    The bench takes a minute. It starts an Xvfb and a Chromium.
    """,
    option("--drags", type=click.IntRange(1, 10_000), default=40, show_default=True, help="drags at each rate"),
    option("--quick", is_flag=True, help="test with few drags that the bench works"),
    TO_JSON,
    TO_PAGE,
)
add(
    "first-picture",
    "web.first_picture:run",
    """Time from opening the page of a running server to its first picture.

    The bench opens new Chromiums with an empty cache, on the loopback and over a link of 80+-20 ms each way, which needs
    Linux and root. It takes a minute.
    """,
    turns(5, about="number of Chromiums for each link"),
    option("--install", is_flag=True, help="also install twixt into a new environment, and show a humanoid of MuJoCo"),
    option("--quick", is_flag=True, help="test with one turn that the bench works"),
    TO_JSON,
    TO_PAGE,
)
LENGTH_MS = FiniteRange(min=0, min_open=True)
add(
    "trace",
    "trace_plot:run",
    "Draw a section of a `twixt run --profile` trace.",
    argument("trace", type=click.Path()),
    argument("picture", type=click.Path()),
    option("--from-ms", type=FiniteRange(min=0), help="begin of the section, in ms of the trace [default: the middle]"),
    option("--length-ms", type=LENGTH_MS, default=100.0, show_default=True, help="length of the section, in ms"),
)
add(
    "movie",
    "movie:run",
    "Record the moving picture of README (WebP) on an Xvfb.",
    argument("movie", type=click.Path()),
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
        params=[*COST_OPTIONS, option("--peers", is_flag=True, help="also measure other viewers on the same scene")],
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
    """The command line, with the names of files instead of absolute paths, which mean nothing on other machines."""
    return " ".join([PROGRAM, *(os.path.basename(word) if os.path.isabs(word) else word for word in sys.argv[1:])])
