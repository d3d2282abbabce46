"""twixt runs the physics in one process and draws in another process, so that the picture stays smooth.

This module has the names that a user imports, and `main`. The commands are in `twixt.cli`, the physics process is in
`twixt.sim`, the render process in `twixt.render`, and code that both processes share in `twixt.ipc`. The distribution
is called twixt-viewer. `twixt_viewer.py` looks for this name here, to tell this file from another package `twixt`.

Always: `import twixt` imports no numpy, and no other module of twixt except `errors`. Each public name is imported
when it is first used.
"""

import os as _os
import sys as _sys
import time as _time

__version__ = "0.1.0"
# The folders beside this file are its subpackages, both in a checkout and in an installed wheel. The second folder has
# the submodules of engines, such as `twixt.mujoco_viewer`.
__path__ = [_os.path.dirname(_os.path.abspath(__file__))]
__path__ = [*__path__, _os.path.join(*__path__, "sim", "engines", "viewers")]

# if this file is run directly, `import twixt` must return this module and not load the module again
if __name__ == "__main__":
    _sys.modules["twixt"] = _sys.modules["__main__"]

# these imports work only after `__path__` and `sys.modules` are set
from twixt.ipc.errors import INTERRUPTED as _INTERRUPTED
from twixt.ipc.errors import REFUSED as _REFUSED
from twixt.ipc.errors import mixed_installation_advice as _mixed_installation_advice

# A viewer runs this file as `__main__`, and does not repeat the line. In a checkout this file has another name.
_is_installed = __name__ == "twixt" and _os.path.basename(__file__) == "__init__.py"
if _is_installed and (_advice := _mixed_installation_advice(_os.path.dirname(__path__[0]))):
    from twixt.ipc.process.notices import print_notice as _print_notice

    _print_notice(_advice)

# Names are imported when they are first used. So `import twixt` is fast, and `twixt --help` needs no numpy. Type
# checkers and editors read the imports below instead. TYPE_CHECKING is defined here, because an import of `typing`
# takes some ms. Its value is written as a call: jedi does not read the imports below a literal False.
TYPE_CHECKING = bool(0)
if TYPE_CHECKING:
    from twixt import mujoco_viewer as mujoco_viewer
    from twixt.ipc.errors import TwixtError
    from twixt.ipc.interaction.controls import Button, Slider, Toggle
    from twixt.ipc.interaction.events import UserEvent
    from twixt.ipc.interaction.overlay import OverlayFigure, OverlayImage, OverlayLine, OverlayText
    from twixt.ipc.ring.events import Event
    from twixt.ipc.rotation import rotation, turn_towards
    from twixt.ipc.scene import (
        Box,
        Camera,
        Capsule,
        Compound,
        Cylinder,
        Ellipsoid,
        Material,
        Mesh,
        Part,
        Plane,
        Scene,
        Shape,
        Sphere,
        Texture,
    )
    from twixt.ipc.scene.groups import ColorBy, Group
    from twixt.ipc.snapshot import Snapshot
    from twixt.render.events.event_function import EventFunction
    from twixt.render.interpolation.protocol import InterpolationMethod
    from twixt.render.scene.user_drawing import DrawFrame, DrawFunction
    from twixt.sim.process.viewer_command import freeze_support
    from twixt.sim.show.options import ViewerOptions
    from twixt.sim.show.show import show
    from twixt.sim.show.view import View
    from twixt.sim.world.bodies import Bodies
    from twixt.sim.world.columns import Column
    from twixt.sim.world.marks import Marks
    from twixt.sim.world.surfaces import Surfaces
    from twixt.sim.world.world import World
_HOMES = {
    "World": "twixt.sim.world.world",
    "Bodies": "twixt.sim.world.bodies",
    "Column": "twixt.sim.world.columns",
    "Marks": "twixt.sim.world.marks",
    "Surfaces": "twixt.sim.world.surfaces",
    "show": "twixt.sim.show.show",
    "View": "twixt.sim.show.view",
    "ViewerOptions": "twixt.sim.show.options",
    "freeze_support": "twixt.sim.process.viewer_command",
    **dict.fromkeys(
        (
            "Scene",
            "Camera",
            "Shape",
            "Sphere",
            "Box",
            "Plane",
            "Capsule",
            "Cylinder",
            "Ellipsoid",
            "Compound",
            "Part",
            "Mesh",
            "Material",
            "Texture",
        ),
        "twixt.ipc.scene",
    ),
    **dict.fromkeys(("Slider", "Toggle", "Button"), "twixt.ipc.interaction.controls"),
    **dict.fromkeys(("OverlayFigure", "OverlayLine"), "twixt.ipc.interaction.overlay"),
    "OverlayText": "twixt.ipc.interaction.overlay",
    "OverlayImage": "twixt.ipc.interaction.overlay",
    "Group": "twixt.ipc.scene.groups",
    "ColorBy": "twixt.ipc.scene.groups",
    "rotation": "twixt.ipc.rotation",
    "turn_towards": "twixt.ipc.rotation",
    "UserEvent": "twixt.ipc.interaction.events",
    "Event": "twixt.ipc.ring.events",
    "Snapshot": "twixt.ipc.snapshot",
    "InterpolationMethod": "twixt.render.interpolation.protocol",
    "EventFunction": "twixt.render.events.event_function",
    **dict.fromkeys(("DrawFrame", "DrawFunction"), "twixt.render.scene.user_drawing"),
    "TwixtError": "twixt.ipc.errors",
}
# Submodules with the viewers for physics engines. Each requires that its engine is installed. These names are not in
# `__all__`, so that `from twixt import *` does not require an engine.
_ENGINES = ("mujoco_viewer",)
# This is a literal list, because type checkers cannot evaluate an expression here.
__all__ = [
    "Bodies",
    "Box",
    "Button",
    "Camera",
    "Capsule",
    "ColorBy",
    "Column",
    "Compound",
    "Cylinder",
    "DrawFrame",
    "DrawFunction",
    "Ellipsoid",
    "Event",
    "EventFunction",
    "Group",
    "InterpolationMethod",
    "Marks",
    "Material",
    "Mesh",
    "OverlayFigure",
    "OverlayImage",
    "OverlayLine",
    "OverlayText",
    "Part",
    "Plane",
    "Scene",
    "Shape",
    "Slider",
    "Snapshot",
    "Sphere",
    "Surfaces",
    "Texture",
    "Toggle",
    "TwixtError",
    "UserEvent",
    "View",
    "ViewerOptions",
    "World",
    "freeze_support",
    "main",
    "rotation",
    "show",
    "turn_towards",
]

# Instant at which twixt started. The time to the first frame is measured from it.
_STARTED_NS = _time.perf_counter_ns()
# Commands that start no viewer in advance. No viewer is started for help, shell completion and `--against` either.
_WITHOUT_VIEWER = {"sim", "view", "serve", "report", "compare", "doctor", "bench", "worlds"}
# Flags of runs that start no viewer with a window, or start it later.
_WITHOUT_VIEWER_FLAGS = ("--against", "--web")
_HELP_FLAGS, _COMPLETION_VARIABLE = {"-h", "--help", "--version"}, "_TWIXT_COMPLETE"


if not TYPE_CHECKING:  # hidden from type checkers: with this function they would accept any name

    def __getattr__(name: str) -> object:
        import importlib

        home = _HOMES.get(name)
        if home is None and name not in _ENGINES:
            raise AttributeError(f"module 'twixt' has no attribute {name!r}")
        from twixt.ipc.process.interrupts import raising_dropped_ctrl_c

        with raising_dropped_ctrl_c():
            if home is None:
                return _viewer_of_engine(name)
            value = getattr(importlib.import_module(home), name)
        globals()[name] = value
        return value


def _viewer_of_engine(name: str) -> object:
    """Imports a submodule of `_ENGINES`. Raises AttributeError if it cannot be imported, so that `hasattr`, `help` and
    completion work without the engine. For `from twixt import NAME`, Python then imports the submodule again, so that
    the statement raises the ImportError."""
    import importlib

    try:
        return importlib.import_module(f"twixt.{name}")
    except Exception as error:  # engines load libraries, which may raise any exception
        from twixt.ipc.errors import TwixtError

        raise AttributeError(str(error)) from None if isinstance(error, TwixtError) else error


def __dir__() -> list[str]:
    return [*__all__, *_ENGINES, "__version__"]


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line `twixt`. A TwixtError is printed as one line on standard error.

    Args:
        arguments: Words of the command line. By default the words of `sys.argv`.

    Returns:
        The exit code of the command. The code is 0 if there was no error, and 1 if your code raised an error or a
        limit of --fail-if was broken. The code is 2 if an input cannot be used, and 130 after Ctrl-C. The page
        docs/command-line.md lists all codes.

    Examples:
        ```python
        import twixt

        twixt.main(["worlds"])  # lists the built-in worlds
        ```
    """
    try:
        from twixt.ipc.process.interrupts import CtrlCRecorder

        with CtrlCRecorder() as ctrl_c:
            try:
                return _main(_sys.argv[1:] if arguments is None else arguments)
            except ImportError:  # numpy turns a KeyboardInterrupt into an ImportError
                if not ctrl_c.was_received:
                    raise
                return _INTERRUPTED
    except KeyboardInterrupt:
        return _INTERRUPTED


def _main(arguments: list[str]) -> int:
    from twixt.ipc.errors import TwixtError
    from twixt.ipc.process.notices import print_notice

    try:
        if arguments[:1] in (["_view"], ["_serve"], ["_measure"]):
            from twixt.sim.process import viewer_command

            # This call comes before the import of numpy, because it sets the search path.
            is_owned = viewer_command.consume_variables()
            if arguments[0] == "_serve":
                from twixt.relay.serve.owned import serve_as_child

                return serve_as_child()
            if arguments[0] == "_measure":
                from twixt.cli.web_measure import measure_as_child

                return measure_as_child()
            from twixt.render.viewer.owned_viewer import view_as_child

            return view_as_child(is_owned)
        if not _needs_viewer(arguments):
            return _run_command(arguments)
        from twixt.sim.process.viewer_process import early_viewer

        with early_viewer():
            return _run_command(arguments)
    except TwixtError as error:
        print_notice(str(error), getattr(error, "traceback_text", ""))
        return error.exit_code
    except Exception as error:
        from twixt.ipc.errors import (
            READER_GONE,
            damaged_module_advice,
            exhaustion_advice,
            has_reader_gone,
            missing_package_advice,
        )

        if has_reader_gone(error):
            _discard_output()
            return READER_GONE
        advice = exhaustion_advice(error) or damaged_module_advice(error) or missing_package_advice(error)
        if not advice:
            raise
        print_notice(advice)
        _discard_output()
        return _REFUSED


def _discard_output() -> None:
    """Discards the text of standard output that is not written yet. Otherwise Python would try to write this text at
    exit, and would print a traceback."""
    import sys

    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        _os.dup2(_os.open(_os.devnull, _os.O_WRONLY), sys.stdout.fileno())


def _needs_viewer(arguments: list[str]) -> bool:
    """True if the command will probably need a viewer. The arguments are not parsed for this."""
    if (
        _COMPLETION_VARIABLE in _os.environ
        or _HELP_FLAGS & set(arguments)
        or any(word.startswith(_WITHOUT_VIEWER_FLAGS) for word in arguments)
    ):
        return False
    return not arguments or arguments[0] not in _WITHOUT_VIEWER


def _run_command(arguments: list[str]) -> int:
    from twixt.cli.command_line import command_line

    return command_line(arguments)


del TYPE_CHECKING

if __name__ == "__main__":
    _sys.exit(main())
