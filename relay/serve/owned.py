"""Server of the browser view that a run or a loop has started for itself. The hidden command `_serve` starts it.

Always: it ends with its simulation, and a page that is closed ends neither.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Collection
from typing import Any

from twixt.ipc.config.flags import Config, flag_name
from twixt.ipc.process.notices import print_notice
from twixt.ipc.process.viewer_order import read_order, sending_exit_code, write_from_the_background
from twixt.relay.serve.process import ServeOptions, serve

# Options that only a viewer with a window has.
ONLY_IN_WINDOW = (
    "log", "json", "plot", "screenshot", "profile", "fail_if", "draw", "on_event", "offscreen",
)  # fmt: skip
# Options with which the page begins.
PAGE_OPTIONS = ("interpolation", "clock", "prefer", "buffer_ms", "split", "trails", "camera", "overlay", "keys")
# Names that `twixt run` and `twixt.show` make from the process id. Their link is kept under the name without it.
GENERATED_NAME = re.compile(r"(run|show)-\d+(-\d+)?")


def serve_as_child() -> int:
    """Waits for the order of the run, and serves its simulation to the end. Returns the exit code, and also sends it
    to the run. Raises TwixtError."""
    write_from_the_background()
    line = sys.stdin.readline()
    if not line:
        return 0  # the run's command was refused
    return sending_exit_code(lambda: _serve(line))


def _serve(line: str) -> int:
    order = read_order(line)
    report_ignored(order.config)
    return serve(options_of(order.config, order.name))


def report_ignored(config: Config, known: Collection[str] = ()) -> None:
    """Prints the options that only a viewer with a window has, if any are set. known: names of
    options that are not ignored here."""
    if ignored := [flag_name(name) for name in ONLY_IN_WINDOW if name not in known and _is_set(config, name)]:
        print_notice(f"the browser view ignores {', '.join(ignored)}; only a window has them")


def options_of(config: Config, name: str) -> ServeOptions:
    """Options of the server for the simulation `name`."""
    found = GENERATED_NAME.fullmatch(name)
    return ServeOptions(
        name=name, kept_as=found[1] if found else name, seconds=config.seconds, is_owned=True, page=page_options(config)
    )


def page_options(config: Config) -> dict[str, Any]:
    """Settings with which a page begins."""
    return {each: getattr(config, each) for each in PAGE_OPTIONS if _is_set(config, each)}


def _is_set(config: Config, name: str) -> bool:
    default = next(field.default for field in dataclasses.fields(Config) if field.name == name)
    return getattr(config, name) != default
