"""twixt: physics in one process, drawing in another, and a picture that stays smooth.

The front door: the names a user imports, and the command line. Everything else lives in
`twixt.sim` (the physics process), `twixt.render` (the render process) and `twixt.ipc` (what they share).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twixt.ipc.config import Config

__version__ = "0.1.0"
# The three folders beside this file are its subpackages, in a checkout and in an installed wheel alike.
__path__ = [os.path.dirname(os.path.abspath(__file__))]

if __name__ == "__main__":  # run as a file: `import twixt` must find this very module, not load it twice
    sys.modules["twixt"] = sys.modules["__main__"]

# Names are resolved when first used, so that `import twixt` costs nothing and `twixt --help` needs no numpy.
_HOMES = {
    "World": "twixt.sim.world",
    "Bodies": "twixt.sim.bodies",
    "Column": "twixt.sim.columns",
    "show": "twixt.sim.show",
    "Scene": "twixt.ipc.scene",
    "Camera": "twixt.ipc.scene",
    "Sphere": "twixt.ipc.scene",
    "Box": "twixt.ipc.scene",
    "Plane": "twixt.ipc.scene",
    "Group": "twixt.ipc.groups",
    "ColorBy": "twixt.ipc.groups",
    "TwixtError": "twixt.ipc.errors",
}
__all__ = ["main", *_HOMES]

_STARTED_NS = time.perf_counter_ns()  # for the first frame's latency
# Exit codes beside 0: a limit of --fail-if broken or a crash in the user's world 1, refused input 2, Ctrl-C 130.
REFUSED, INTERRUPTED = 2, 130
MEASURE_SECONDS = 10.0


def __getattr__(name: str) -> object:
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module 'twixt' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code. A refused input is one line on standard error."""
    from twixt.ipc.errors import TwixtError

    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        if arguments[:1] == ["_view"]:
            return _view_as_child(*arguments[1:])
        return _command_line(arguments)
    except TwixtError as error:
        print(getattr(error, "traceback_text", ""), end="", file=sys.stderr)
        print(f"twixt: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED


def _view_as_child(name: str, config_json: str) -> int:
    """The render process of a simulation that started it; no command line, so that it starts at once."""
    from twixt.ipc.config import Config
    from twixt.render.loop import view

    return view(Config.from_json(config_json), name, owned=os.environ.get("TWIXT_OWNED") == "1")


def _command_line(arguments: list[str]) -> int:
    import click

    try:
        code = _group().main(args=arguments, prog_name="twixt", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return REFUSED
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.Abort:
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _group() -> Any:
    """The commands, in the order in which a newcomer meets them."""
    import click

    from twixt.ipc.config import BOTH, MEASURE, SIM, VIEW

    class ByHeading(click.Command):
        """`--help` lists the options under their headings, those without one first."""

        def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
            under: dict[str, list[tuple[str, str]]] = {}
            for option in self.get_params(context):
                if isinstance(option, click.Option) and (record := option.get_help_record(context)):
                    under.setdefault(getattr(option, "heading", "Options"), []).append(record)
            for heading in sorted(under, key="Options".__ne__):
                with formatter.section(heading):
                    formatter.write_dl(under[heading])

    class RunByDefault(click.Group):
        command_class = ByHeading

        def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
            if not args or (args[0] not in self.commands and args[0] not in ("--help", "--version")):
                args = ["run", *args]
            return super().parse_args(context, args)

        def list_commands(self, context: click.Context) -> list[str]:
            return list(self.commands)

    @click.group(cls=RunByDefault, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
    @click.version_option(__version__)
    def group() -> None:
        """Physics in one process, drawing in another, and a picture that stays smooth.

        \b
        twixt                                   the default world in a window
        twixt run --slow-physics 40             physics too slow: the picture stays even
        twixt run my_module:MyWorld --set count=500
        twixt measure --slow-physics 40         how even, in numbers

        WORLD is the name of a built-in world (twixt worlds) or module:Class of your own.
        Without a command, twixt means twixt run.
        """

    world = click.argument("world", default="balls")

    @group.command()
    @world
    @_flags(BOTH, SIM, VIEW)
    def run(**values: Any) -> int:
        """Physics and a viewer, together; closing the window ends both."""
        return _run(_config(**values))

    @group.command()
    @world
    @_flags(BOTH, SIM, VIEW, MEASURE)
    def measure(seconds: float | None, fail_if: tuple[str, ...], **values: Any) -> int:
        """Run for --seconds [10], report how even the picture was, exit with 1 when a limit is broken."""
        from twixt.render.measure.limits import read_limits

        read_limits(fail_if)
        values |= {"fail_if": fail_if}
        return _run(_config(**values, seconds=MEASURE_SECONDS if seconds is None else seconds, report=True))

    @group.command()
    @world
    @click.option("--steps", type=click.IntRange(min=1), help="end after this many steps")
    @click.option("--hash", "print_hash", is_flag=True, help="print a hash of the final state")
    @click.option(
        "--json", "json_file", metavar="FILE", help="write the physics and channel figures; - for standard output"
    )
    @_flags(BOTH, SIM)
    def sim(steps: int | None, print_hash: bool, json_file: str | None, **values: Any) -> int:
        """Physics alone; viewers may attach and leave (twixt view)."""
        from twixt.ipc.config import check_file
        from twixt.ipc.session import open_door
        from twixt.sim.loop import simulate

        config = _config(**values)
        if json_file not in (None, "-"):
            check_file("--json", json_file)
        door = open_door(config.name or "default")
        return simulate(config, door=door, viewer=None, steps=steps, print_hash=print_hash, json_file=json_file)

    @group.command()
    @click.argument("name", required=False)
    @_flags(BOTH, VIEW)
    def view(name: str | None, **values: Any) -> int:
        """Attach another viewer to a running simulation."""
        from twixt.render.loop import view as render

        return render(_config(**values), name, owned=False)

    @group.command()
    @click.argument("log", type=click.Path(exists=True, dir_okay=False))
    @click.option("--json", "json_file", metavar="FILE", help="write the report as JSON; - for standard output")
    @click.option("--plot", metavar="FILE", help="write the frame-pacing plot (PNG)")
    def report(log: str, json_file: str | None, plot: str | None) -> int:
        """The report of a frame log written with --log."""
        from twixt.render.measure.report import report_log

        return report_log(log, json_file, plot)

    @group.command()
    @click.argument("a", type=click.Path(exists=True, dir_okay=False))
    @click.argument("b", type=click.Path(exists=True, dir_okay=False))
    @click.option("--plot", metavar="FILE", help="draw both runs, one above the other (PNG)")
    def compare(a: str, b: str, plot: str | None) -> int:
        """Two frame logs or reports beside each other."""
        from twixt.render.measure.compare import compare_files

        return compare_files(a, b, plot)

    @group.command()
    def doctor() -> int:
        """What this machine can do: GL, display, vsync, refresh, clock, sleep, shared memory."""
        from twixt.render.measure.doctor import examine

        return examine()

    to_json = click.option(
        "--json", "json_file", metavar="FILE", help="write the figures as JSON; - for standard output"
    )
    to_page = click.option("--out", metavar="FILE", help="write a page about it (Markdown)")

    @group.group(invoke_without_command=True)
    @to_json
    @click.option("--against", metavar="FILE", help="show beside them the ratios of an earlier --json FILE")
    @click.option("--quick", is_flag=True, help="few rounds: shows that it works, not how fast")
    @click.pass_context
    def bench(context: click.Context, json_file: str | None, against: str | None, quick: bool) -> int:
        """What publishing, reading and waking cost, each beside its physical limit; how true the motion is."""
        if context.invoked_subcommand is not None:
            return 0
        from twixt.ipc.bench import rows as channel
        from twixt.ipc.config import check_file
        from twixt.render.bench import costs as viewer
        from twixt.sim.bench import rows as simulation

        if json_file not in (None, "-"):
            check_file("--json", json_file)
        return viewer.run((channel, viewer.rows, simulation), 0.01 if quick else 1.0, json_file, against)

    @bench.command()
    @to_json
    @to_page
    @click.option("--plot", metavar="FILE", help="draw a bounce and a circle as some methods draw them (PNG)")
    @click.option("--world", "worlds", multiple=True, help="only this one; may be given again")
    @click.option("--trouble", "troubles", multiple=True, help="only this one; may be given again")
    @click.option("--method", "methods", multiple=True, help="only this one, or module:Class; may be given again")
    @click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="of worlds and troubles")
    @click.option("--quick", is_flag=True, help="one world and two troubles: shows that it works")
    def motion(
        json_file: str | None, out: str | None, plot: str | None,
        worlds: tuple[str, ...], troubles: tuple[str, ...], methods: tuple[str, ...], seed: int, quick: bool,
    ) -> int:  # fmt: skip
        """What each method draws of each world under each trouble, against what the world really did."""
        from twixt.render.bench import motion as bench_motion
        from twixt.sim.truth import PICTURED, subjects

        size = bench_motion.size(subjects(worlds), troubles, methods, seed, quick)
        return bench_motion.run(size, PICTURED, json_file, out, plot, " ".join(["twixt", *sys.argv[1:]]))

    @bench.command()
    @click.option("--json", "as_json", is_flag=True, help="the figures as JSON instead of tables")
    @click.option("--seeds", type=click.IntRange(min=1), default=12, show_default=True, help="of each trace")
    @to_page
    def clock(as_json: bool, seeds: int, out: str | None) -> int:
        """How smooth each playback clock is on each trace of snapshots, and what a call of it costs."""
        from twixt.render.bench import clock as bench_clock

        return bench_clock.run(as_json, seeds, out)

    @group.command()
    def worlds() -> None:
        """The built-in worlds."""
        from twixt.sim.worlds import WORLDS

        for name, entry in WORLDS.items():
            click.echo(f"{name:12} {entry.description}")

    return group


def _flags(*sides: str) -> Callable[[Any], Any]:
    """Click options made from the fields of `Config` that belong to `sides`."""
    import dataclasses

    import click

    from twixt.ipc.config import Config, flag_name

    class Read(click.ParamType):
        def __init__(self, name: str, read: Callable[[str], Any]) -> None:
            self.name, self.read = name, read

        def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
            if not isinstance(value, str):
                return value
            try:
                return self.read(value)
            except ValueError as error:
                self.fail(f"{value!r} does not read as {self.name} ({error})", parameter, context)

    class UnderHeading(click.Option):
        def __init__(self, *names: Any, heading: str, **how: Any) -> None:
            super().__init__(*names, **how)
            self.heading = heading

    def option(item: dataclasses.Field[Any]) -> Any:
        about, spelled = item.metadata, flag_name(item.name)
        shared = {"cls": UnderHeading, "heading": about["heading"], "help": about["help"]}
        if isinstance(item.default, bool):
            negated = spelled.replace("--", "--no-", 1)
            declared = f"{spelled}/{negated}" if item.default else spelled
            return click.option(declared, item.name, is_flag=True, default=item.default, **shared)
        kind = click.Choice(about["choices"]) if about["choices"] else Read(about["metavar"], about["read"])
        several = item.default == ()
        shown = item.default is not None and not several and item.name != "size_px"
        return click.option(
            spelled,
            item.name,
            type=kind,
            default=None if several else item.default,
            multiple=several,
            metavar=about["metavar"] or None,
            show_default=shown,
            **shared,
        )

    def decorate(command: Any) -> Any:
        wanted = [item for item in dataclasses.fields(Config) if item.metadata.get("side") in sides]
        for item in reversed(wanted):
            command = option(item)(command)
        return command

    return decorate


def _config(**values: Any) -> Config:
    from twixt.ipc.config import Config

    config = Config(**values, command=" ".join(["twixt", *sys.argv[1:]]), started_ns=_STARTED_NS)
    config.check_files()
    return config


def _run(config: Config) -> int:
    """The viewer starts first and comes up while this process imports numpy and makes the world."""
    from twixt.ipc.session import open_door
    from twixt.sim.viewer_process import start_viewer

    name = config.name or f"run-{os.getpid()}"
    door = open_door(name)
    viewer = start_viewer(name, config)
    from twixt.sim.loop import simulate

    return simulate(config, door=door, viewer=viewer)


if __name__ == "__main__":
    sys.exit(main())
