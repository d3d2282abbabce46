"""twixt: physics in one process, drawing in another, and a picture that stays smooth.

The front door: the names a user imports, and `main`. Everything else lives in `twixt.cli` (the commands),
`twixt.sim` (the physics process), `twixt.render` (the render process) and `twixt.ipc` (what they share).
"""

from __future__ import annotations

import os
import sys
import time

__version__ = "0.1.0"
# The folders beside this file are its subpackages, in a checkout and in an installed wheel alike.
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
    "Capsule": "twixt.ipc.scene",
    "Cylinder": "twixt.ipc.scene",
    "Ellipsoid": "twixt.ipc.scene",
    "Group": "twixt.ipc.groups",
    "ColorBy": "twixt.ipc.groups",
    "TwixtError": "twixt.ipc.errors",
}
__all__ = ["main", *_HOMES]

STARTED_NS = time.perf_counter_ns()  # for the first frame's latency
# Exit codes beside 0: a limit of --fail-if broken or a crash in the user's world 1, refused input 2, Ctrl-C 130.
REFUSED, INTERRUPTED = 2, 130
# What starts no viewer of its own: these commands, a cry for help, a shell that completes.
WITHOUT_VIEWER = {"sim", "view", "report", "compare", "doctor", "bench", "worlds"}
OF_MANY_RUNS = "--against"  # each run starts its own viewer
HELPS, COMPLETES = {"-h", "--help", "--version"}, "_TWIXT_COMPLETE"


def __getattr__(name: str) -> object:
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module 'twixt' has no attribute {name!r}")
    from twixt.ipc.ctrl_c import not_dropped

    with not_dropped():
        value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code. A refused input is one line on standard error."""
    try:
        from twixt.ipc.ctrl_c import NotedCtrlC

        with NotedCtrlC() as ctrl_c:
            try:
                return _main(sys.argv[1:] if arguments is None else arguments)
            except ImportError:  # what numpy makes of a KeyboardInterrupt
                if not ctrl_c.came:
                    raise
                return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED


def _main(arguments: list[str]) -> int:
    from twixt.ipc.errors import TwixtError

    try:
        if arguments[:1] == ["_view"]:
            from twixt.render.child import view_as_child

            return view_as_child()
        if not _shows_a_run(arguments):
            return _obey(arguments)
        from twixt.sim.viewer_process import viewer_begun_early

        with viewer_begun_early():
            return _obey(arguments)
    except TwixtError as error:
        print(getattr(error, "traceback_text", ""), end="", file=sys.stderr)
        print(f"twixt: {error}", file=sys.stderr)
        return error.exit_code
    except Exception as error:
        from twixt.ipc.errors import say_damaged, say_exhausted

        if not (said := say_exhausted(error) or say_damaged(error)):
            raise
        print(f"twixt: {said}", file=sys.stderr)
        _drop_unwritten()
        return REFUSED


def _drop_unwritten() -> None:
    """What standard output would not take: Python tries again when it ends, with a traceback and a code of its own."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _shows_a_run(arguments: list[str]) -> bool:
    """Whether a viewer will be wanted, as far as that can be told before the command line is read."""
    if COMPLETES in os.environ or HELPS & set(arguments) or any(word.startswith(OF_MANY_RUNS) for word in arguments):
        return False
    return not arguments or arguments[0] not in WITHOUT_VIEWER


def _obey(arguments: list[str]) -> int:
    from twixt.cli.commands import command_line

    return command_line(arguments)


if __name__ == "__main__":
    sys.exit(main())
