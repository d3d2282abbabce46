"""Subcommands of `twixt`, in the order in which `--help` lists them.

Always: a command imports its code only when it runs, so `--help` and shell completion do not import numpy.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

import twixt
from twixt.cli.flags import CommandGroup, CommandTable, argument, complete_simulations, complete_worlds, option, typed
from twixt.ipc.config.flags import BOTH, MEASURE, SIM, VIEW, Config
from twixt.ipc.errors import INTERRUPTED, READER_GONE, REFUSED, TwixtError
from twixt.ipc.process.notices import print_lines
from twixt.ipc.trace import spans

if TYPE_CHECKING:
    from twixt.sim.world.world import World

MEASURE_SECONDS = 10.0
HELP_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

commands = CommandTable()
EXISTING_FILE = click.Path(exists=True, dir_okay=False)
WORLD = argument("world", default="balls", shell_complete=complete_worlds)
WEB = option("--web", is_flag=True, help="show the world in a browser instead of a window; prints a link to the page")
FULL = option("--full", is_flag=True, help="print all figures and conditions of the report")


def command_line(arguments: list[str], of: click.Group | None = None, program: str = "twixt") -> int:
    """Runs a command line and returns the exit code. Prints click's own errors. of: group of commands to run; by
    default the commands of twixt."""
    output = sys.stdout
    # with this error handler, a file name with unusual characters can be printed
    if isinstance(output, io.TextIOWrapper):
        output.reconfigure(errors="backslashreplace")
    try:
        code = (of or group()).main(args=arguments, prog_name=program, standalone_mode=False, obj=arguments)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        print_lines(shown.getvalue())
        return REFUSED
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except SystemExit as leave:
        # Rich and click exit with code 1 if the reader of the output has closed the output. In this case click has
        # replaced `sys.stdout`.
        if leave.code == 1 and (isinstance(leave.__context__, BrokenPipeError) or sys.stdout is not output):
            return READER_GONE
        raise
    except click.Abort as abort:
        if isinstance(abort.__cause__, EOFError):  # click turns EOFError into Abort, the same as Ctrl-C
            raise abort.__cause__ from None
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def group() -> click.Group:
    """The group of all commands."""
    made = CommandGroup(commands, default="run", name="twixt", help=ABOUT, context_settings=HELP_SETTINGS)
    return click.version_option(twixt.__version__)(made)


ABOUT = """Run a physics simulation in one process and draw it in another.

\b
twixt                                   run the default world in a window
twixt run --slow-physics 40             add 40 ms of work to each step
twixt run my_module:MyWorld --set count=500
twixt measure --slow-physics 40         measure how even the motion is

WORLD is a built-in world (see twixt worlds), your own module:Class, or the file of a MuJoCo model.
twixt without a command is the same as twixt run.
"""


@commands.command(WORLD, WEB, FULL, sides=(BOTH, SIM, VIEW))
def run(**values: Any) -> int:
    """Run a world and show it in a window. Closing the window ends the run."""
    return _run(_viewed(_config(**values)))


@commands.command(
    WORLD,
    option("--web", is_flag=True, help="measure the browser view, in a Chromium that this command starts"),
    FULL,
    option(
        "--against",
        metavar="FLAGS",
        help="compare runs without these extra flags (A) with runs that have them (B), such as '--clock ahead'; --fail-if "
        "then limits the difference B - A",
    ),
    option(
        "--repeat",
        type=click.IntRange(5, 1000),
        metavar="N",
        help="with --against, number of runs of A and number of runs of B; a run takes 4 s if you do not give "
        "--seconds [default: 10]",
    ),
    sides=(BOTH, SIM, VIEW, MEASURE),
)
@click.pass_context
def measure(
    context: click.Context, seconds: float | None, fail_if: tuple[str, ...],
    against: str | None, repeat: int | None, **values: Any,
) -> int:  # fmt: skip
    """Run a world and report how even the motion was. Without --seconds, the run takes 10 s."""
    if against is not None:
        from twixt.cli import runs_in_turns as in_turns

        words = context.find_root().obj or sys.argv[1:]
        return in_turns.measure(words, against, repeat or in_turns.REPEAT, values["json"], fail_if, _seconds_of)
    if repeat is not None:
        raise click.UsageError(f"--repeat {repeat} needs --against FLAGS; add that, or leave out --repeat", context)
    from twixt.render.measure.report_keys import read_limits

    read_limits(fail_if)
    values |= {"fail_if": fail_if}
    return _run(_config(**values, seconds=MEASURE_SECONDS if seconds is None else seconds, report=True))


@commands.command(
    WORLD,
    option("--web", is_flag=True, help="also show the world in a browser; prints a link to the page"),
    option("--steps", type=click.IntRange(min=1), help="end after this number of steps"),
    option("--hash", "print_hash", is_flag=True, help="print a hash of the final state"),
    option(
        "--json",
        "json_file",
        metavar="FILE",
        help="write the figures of physics, channel and events to FILE, as JSON; - means standard output",
    ),
    sides=(BOTH, SIM),
)
def sim(steps: int | None, print_hash: bool, json_file: str | None, **values: Any) -> int:
    """Run a world without a viewer. Viewers can attach to it with twixt view."""
    from twixt.ipc.config.files import check_file
    from twixt.ipc.session import open_listener
    from twixt.sim.process.run import simulate

    config = _config(**values)
    if json_file is not None:
        check_file("--json", json_file)
    name = config.name or "default"
    listener = open_listener(name)
    with _beside(name, config):
        return simulate(
            config,
            listener=listener,
            viewer=None,
            steps=steps,
            print_hash=print_hash,
            json_file=json_file,
            find=find_world_or_model,
        )


@contextlib.contextmanager
def _beside(name: str, config: Config) -> Iterator[None]:
    """Context manager: with `config.web`, the server of the browser view runs beside the simulation `name`."""
    if not config.web:
        yield
        return
    from twixt.sim.process.viewer_process import SERVER_TIMEOUT_S, start_viewer

    server = start_viewer(name, config, lambda _ended: None)
    try:
        yield
    finally:
        server.stop(SERVER_TIMEOUT_S)


@commands.command(
    argument("name", required=False, shell_complete=complete_simulations),
    option("--wait", is_flag=True, help="wait until the simulation starts; when it ends, wait until it starts again"),
    option("--web", is_flag=True, help="show the simulation in a browser, the same as twixt serve NAME"),
    FULL,
    sides=(BOTH, VIEW),
)
def view(name: str | None, wait: bool, web: bool, **values: Any) -> int:
    """Attach a viewer to a running simulation."""
    config = _config(**values)
    if web:
        from twixt.relay.serve.owned import page_options, report_ignored
        from twixt.relay.serve.process import ServeOptions, serve

        report_ignored(config)
        return serve(ServeOptions(name=name, seconds=config.seconds, page=page_options(config)))
    from twixt.render.viewer.process import view as render

    return render(config, name, owned=False, wait=wait)


@commands.command(
    argument("name", required=False, shell_complete=complete_simulations),
    option("--port", type=click.IntRange(1, 65535), metavar="N", help="port [default: the same as the last time]"),
    option(
        "--host",
        default="127.0.0.1",
        metavar="HOST",
        show_default=True,
        help="address to listen on; beyond this machine, it needs --cert and --key",
    ),
    option("--cert", metavar="FILE", help="certificate for https (PEM)"),
    option("--key", metavar="FILE", help="private key of the certificate (PEM)"),
    option("--plain", is_flag=True, help="allow --host without a certificate; only inside a container"),
    option(
        "--allow-host",
        "hosts",
        multiple=True,
        metavar="HOST",
        help="answer requests for this host name, such as that of a proxy; you may repeat this flag",
    ),
    option(
        "--allow-origin",
        "origins",
        multiple=True,
        metavar="ORIGIN",
        help="accept pages from this origin, such as https://lab.example; you may repeat this flag",
    ),
    option(
        "--allow-control/--no-control",
        "may_control",
        default=None,
        help="let pages pause, step and reset the simulation, move its sliders, pull its bodies and send it keys and clicks [default: only if --host is this machine]",
    ),
    option("--seconds", type=float, metavar="S", help="end after S seconds"),
)
def serve(cert: str | None, plain: bool, **values: Any) -> int:
    """Show a running simulation in a browser. Prints a link to the page."""
    from twixt.relay.serve.process import ServeOptions
    from twixt.relay.serve.process import serve as run_server

    return run_server(ServeOptions(certificate=cert, is_plain=plain, **values))


@commands.command(
    argument("log", type=EXISTING_FILE),
    option("--json", "json_file", metavar="FILE", help="write the report to FILE, as JSON; - means standard output"),
    option("--plot", metavar="FILE", help="write the frame-pacing plot (PNG)"),
    FULL,
)
def report(log: str, json_file: str | None, plot: str | None, full: bool) -> int:
    """Print the report of a frame log that --log wrote."""
    from twixt.render.measure.report import report_log

    return report_log(log, json_file, plot, full)


@commands.command(
    argument("a", type=EXISTING_FILE),
    argument("b", type=EXISTING_FILE),
    option("--plot", metavar="FILE", help="draw the plots of both frame logs, one above the other (PNG)"),
)
def compare(a: str, b: str, plot: str | None) -> int:
    """Compare the figures of two frame logs or reports."""
    from twixt.cli.compare import compare_files

    return compare_files(a, b, plot)


@commands.command()
def doctor() -> int:
    """Check this machine: OpenGL, display, clock, sleep, shared memory."""
    from twixt.cli.doctor import examine

    return examine()


@commands.command()
def worlds() -> None:
    """List the built-in worlds."""
    from twixt.sim.worlds import WORLDS

    for name, entry in WORLDS.items():
        click.echo(f"{name:12} {entry.description}")


@commands.command(argument("words", nargs=-1, type=click.UNPROCESSED), ignore_unknown_options=True)
def bench(words: tuple[str, ...]) -> int:
    """Print the command that runs the benches."""
    if os.path.isdir(os.path.join(os.path.dirname(os.path.abspath(str(twixt.__file__))), "bench")):
        raise TwixtError("run all benches with: make bench; run one of them with: python -m bench NAME")
    raise TwixtError("the installed package has no benches; run them in a checkout of the source with: make bench")


def _config(**values: Any) -> Config:
    from twixt.ipc.config.flags import Config

    config = Config(**values, command=typed(), started_ns=twixt._STARTED_NS)
    config.check_files()
    if ":" not in config.world:
        # Built-in worlds need no threads for linear algebra. By default numpy starts one such thread per core. These
        # threads spin for 40 ms, even on the core on which the viewer starts. A user's own world keeps numpy's
        # default.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return config


def _viewed(config: Config) -> Config:
    """The configuration with the kind of viewer that --web or the environment variable TWIXT_VIEWER chooses."""
    from dataclasses import replace

    from twixt.sim.show.options import viewer_kind

    return replace(config, web=viewer_kind("web" if config.web else True) == "web")


def _seconds_of(words: list[str]) -> float:
    """Duration in seconds of a run of `twixt measure` with these arguments. For invalid arguments, raises the errors
    of `twixt measure`."""
    with commands["measure"].build("measure").make_context("measure", list(words)) as context:
        values = {name: value for name, value in context.params.items() if name not in ("against", "repeat")}
    return _config(**values).seconds or MEASURE_SECONDS


def _run(config: Config) -> int:
    """Runs the simulation in this process and a viewer in a child process. Returns the exit code. The viewer is
    started first, so that it starts up while this process imports numpy and makes the world."""
    from twixt.ipc.session import open_listener
    from twixt.sim.engines.mujoco.mujoco_package import is_model
    from twixt.sim.process.viewer_process import start_viewer
    from twixt.sim.worlds import WORLDS

    if config.world not in WORLDS and (":" not in config.world or is_model(config.world)):
        find_world_or_model(config.world)  # This call raises the error for an unknown world before a window opens.
    spans.end_start_part("physics_command")
    name = config.name or f"run-{os.getpid()}"
    listener = open_listener(name)
    viewer = start_viewer(name, config)
    gc.disable()  # The imports create no garbage that must be collected.
    from twixt.sim.process.run import simulate

    gc.enable()
    spans.end_start_part("physics_imports")
    return simulate(config, listener=listener, viewer=viewer, find=find_world_or_model)


def find_world_or_model(name: str) -> type[World]:
    """Returns the class of the world called `name`. `name` is a built-in world, `module:Class`, or the file of a
    physics engine's model.

    Raises the errors of `twixt.sim.worlds.find.find_world`, and TwixtError if a model's file or its engine is missing.
    """
    from twixt.sim.engines.mujoco.mujoco_package import is_model
    from twixt.sim.worlds.find import find_world

    if is_model(name):
        from twixt.sim.engines.mujoco.model_world import world_of_file

        return world_of_file(name)
    return find_world(name)
