"""What there is to type after `twixt`, in the order in which a newcomer meets it, and what each command does.

Always: a command's work is imported when it runs; `--help` and a shell that completes wait for no numpy.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import TYPE_CHECKING, Any

import click

import twixt
from twixt.cli import completion, costs
from twixt.cli.benches import benches
from twixt.cli.flags import argument, option, typed
from twixt.cli.table import Commands, Table
from twixt.ipc import start
from twixt.ipc.config import BOTH, MEASURE, SIM, VIEW

if TYPE_CHECKING:
    from twixt.ipc.config import Config

REFUSED, INTERRUPTED = 2, 130  # exit codes
MEASURE_SECONDS = 10.0

commands = Table()
EXISTING_FILE = click.Path(exists=True, dir_okay=False)
WORLD = argument("world", default="balls", shell_complete=completion.worlds)


def command_line(arguments: list[str]) -> int:
    """Run it; the exit code. What click refuses it says itself."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a file's name of any bytes can be said, on any terminal
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = group().main(args=arguments, prog_name="twixt", standalone_mode=False, obj=arguments)
    except click.ClickException as error:
        error.show()
        return REFUSED
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.Abort as abort:
        if isinstance(abort.__cause__, EOFError):  # click takes that for Ctrl-C
            raise abort.__cause__ from None
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def group() -> click.Group:
    """All commands under one roof."""
    about = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
    made = Commands(commands, default="run", name="twixt", help=ABOUT, context_settings=about)
    return click.version_option(twixt.__version__)(made)


ABOUT = """Physics in one process, drawing in another, and a picture that stays smooth.

\b
twixt                                   the default world in a window
twixt run --slow-physics 40             physics too slow: the picture stays even
twixt run my_module:MyWorld --set count=500
twixt measure --slow-physics 40         how even, in numbers

WORLD is the name of a built-in world (twixt worlds) or module:Class of your own.
Without a command, twixt means twixt run.
"""


@commands.command(WORLD, sides=(BOTH, SIM, VIEW))
def run(**values: Any) -> int:
    """Physics and a viewer, together; closing the window ends both."""
    return _run(_config(**values))


@commands.command(
    WORLD,
    option(
        "--against",
        metavar="FLAGS",
        help="run in turns without (A) and with these further flags (B), such as '--clock ahead', and say which "
        "figures differ; --fail-if then limits B - A",
    ),
    option(
        "--repeat",
        type=click.IntRange(1, 1000),
        metavar="N",
        help="runs of each with --against, of 4 s by default [10]",
    ),
    sides=(BOTH, SIM, VIEW, MEASURE),
)
@click.pass_context
def measure(
    context: click.Context, seconds: float | None, fail_if: tuple[str, ...],
    against: str | None, repeat: int | None, **values: Any,
) -> int:  # fmt: skip
    """Run for --seconds [10], report how even the picture was, exit with 1 when a limit is broken."""
    if against is not None:
        from twixt.cli import against as in_turns

        words = context.find_root().obj or sys.argv[1:]
        return in_turns.measure(words, against, repeat or in_turns.REPEAT, values["json"], fail_if, _seconds_of)
    if repeat is not None:
        raise click.UsageError(f"--repeat {repeat} is for --against FLAGS; add that, or leave it out", context)
    from twixt.render.measure.limits import read_limits

    read_limits(fail_if)
    values |= {"fail_if": fail_if}
    return _run(_config(**values, seconds=MEASURE_SECONDS if seconds is None else seconds, report=True))


@commands.command(
    WORLD,
    option("--steps", type=click.IntRange(min=1), help="end after this many steps"),
    option("--hash", "print_hash", is_flag=True, help="print a hash of the final state"),
    option("--json", "json_file", metavar="FILE", help="write the physics and channel figures; - for standard output"),
    sides=(BOTH, SIM),
)
def sim(steps: int | None, print_hash: bool, json_file: str | None, **values: Any) -> int:
    """Physics alone; viewers may attach and leave (twixt view)."""
    from twixt.ipc.config import check_file
    from twixt.ipc.session import open_door
    from twixt.sim.loop import simulate

    config = _config(**values)
    if json_file is not None:
        check_file("--json", json_file)
    door = open_door(config.name or "default")
    return simulate(config, door=door, viewer=None, steps=steps, print_hash=print_hash, json_file=json_file)


@commands.command(
    argument("name", required=False, shell_complete=completion.simulations),
    option("--wait", is_flag=True, help="wait for a simulation that is not there yet, or that ended and comes back"),
    sides=(BOTH, VIEW),
)
def view(name: str | None, wait: bool, **values: Any) -> int:
    """Attach another viewer to a running simulation."""
    from twixt.render.loop import view as render

    return render(_config(**values), name, owned=False, wait=wait)


@commands.command(
    argument("log", type=EXISTING_FILE),
    option("--json", "json_file", metavar="FILE", help="write the report as JSON; - for standard output"),
    option("--plot", metavar="FILE", help="write the frame-pacing plot (PNG)"),
)
def report(log: str, json_file: str | None, plot: str | None) -> int:
    """The report of a frame log written with --log."""
    from twixt.render.measure.report import report_log

    return report_log(log, json_file, plot)


@commands.command(
    argument("a", type=EXISTING_FILE),
    argument("b", type=EXISTING_FILE),
    option("--plot", metavar="FILE", help="draw both runs, one above the other (PNG)"),
)
def compare(a: str, b: str, plot: str | None) -> int:
    """Two frame logs or reports beside each other."""
    from twixt.render.measure.compare import compare_files

    return compare_files(a, b, plot)


@commands.command()
def doctor() -> int:
    """What this machine can do: GL, display, vsync, refresh, clock, sleep, shared memory."""
    from twixt.render.measure.doctor import examine

    return examine()


@commands.command(
    *costs.OPTIONS,
    option("--peers", is_flag=True, help="other viewers on the same scene, too, where they are installed"),
    below=benches,
)
@click.pass_context
def bench(context: click.Context, peers: bool, **wanted: Any) -> int:
    """What everything costs, each figure beside its physical limit; how true the motion is.

    Without a command, all costs are measured.
    """
    if context.invoked_subcommand is not None:
        return 0
    return costs.measure([name for name in costs.COSTS if name != costs.PEERS or peers], **wanted)


@commands.command()
def worlds() -> None:
    """The built-in worlds."""
    from twixt.sim.worlds import WORLDS

    for name, entry in WORLDS.items():
        click.echo(f"{name:12} {entry.description}")


def _config(**values: Any) -> Config:
    from twixt.ipc.config import Config

    config = Config(**values, command=typed(), started_ns=twixt.STARTED_NS)
    config.check_files()
    if ":" not in config.world:
        # Built-in worlds have no linear algebra that gains from a thread a core. numpy starts those all the same, and
        # they spin for 40 ms, on the core where the viewer comes up. What a user's own world does is the user's.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return config


def _seconds_of(words: list[str]) -> float:
    """For how long `twixt measure WORDS` measures; refuses what it would refuse."""
    with commands["measure"].made("measure").make_context("measure", list(words)) as context:
        told = {name: value for name, value in context.params.items() if name not in ("against", "repeat")}
    return _config(**told).seconds or MEASURE_SECONDS


def _run(config: Config) -> int:
    """The viewer comes up while this process imports numpy and makes the world."""
    from twixt.ipc.session import open_door
    from twixt.sim.viewer_process import start_viewer
    from twixt.sim.worlds import WORLDS

    if ":" not in config.world and config.world not in WORLDS:
        from twixt.sim.world import find_world

        find_world(config.world)  # says what is wrong, before a window opens
    start.ended("physics_command")
    name = config.name or f"run-{os.getpid()}"
    door = open_door(name)
    viewer = start_viewer(name, config)
    gc.disable()  # of what is imported nothing is garbage
    from twixt.sim.loop import simulate

    gc.enable()
    start.ended("physics_imports")
    return simulate(config, door=door, viewer=viewer)
