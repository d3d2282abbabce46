"""How a viewer ends: why, what it says of it, the report it leaves, and the exit code.

Always: the reason is said in one line where it is not the user's own doing; a broken limit is named.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import traceback
from typing import TYPE_CHECKING, Any, NamedTuple

from twixt.ipc import start
from twixt.ipc.users_code import say

if TYPE_CHECKING:
    from twixt.ipc.config import Config
    from twixt.ipc.link import Ended
    from twixt.render.measure.log import FrameLog

CLOSED, INTERRUPTED, CRASHED, REFUSED, LIMIT_BROKEN = 0, 130, 1, 2, 1


class Outcome(NamedTuple):
    """The end of the frames. said: a line for standard error, empty where the user knows. traceback_text: what comes
    before it, where code of the user's own raised."""

    exit_code: int
    said: str = ""
    traceback_text: str = ""


def of_simulation(ended: Ended, owned: bool) -> Outcome:
    """The end of a viewer whose simulation has ended. Physics that started this viewer says its own part."""
    match ended.kind:
        case "ended":
            return Outcome(CLOSED, "" if owned else f"the simulation ended{_because(ended)}")
        case "interrupted":
            return Outcome(INTERRUPTED, "" if owned else f"the simulation was interrupted{_because(ended)}")
        case "crashed":
            return Outcome(CRASHED, "" if owned else f"the viewer ends, because physics crashed{_because(ended)}")
        case "refused":
            return Outcome(REFUSED, f"the simulation refused this viewer{_because(ended)}")
    return Outcome(CRASHED, f"the viewer ends, because {ended.message}")


def of_fault(error: Exception) -> Outcome:
    """The end of a viewer that could not draw on, with what a report of the fault needs."""
    said = f"the viewer ends, because it could not draw on: {say(error)}"
    return Outcome(CRASHED, said, "".join(traceback.format_exception(error)))


def say_code(code: int) -> None:
    """Says it to the run that started this viewer, where one did: not every process learns how its children end."""
    with contextlib.suppress(OSError):  # nobody is there
        if stat.S_ISSOCK(os.fstat(sys.stdin.fileno()).st_mode):
            os.write(sys.stdin.fileno(), b"%d" % code)


def _because(ended: Ended) -> str:
    return f": {ended.message}" if ended.message else ""


def leave_report(
    config: Config,
    log: FrameLog,
    blocks: dict[str, Any] | None,
    channel: dict[str, Any],
    display: dict[str, Any],
    conditions: list[str],
    first_frame_ms: float | None,
) -> int:
    """Prints and writes what the config asks for; the exit code says whether its limits held."""
    from twixt.render.measure import limits, report

    parts_ms = {} if config.started_ns is None else start.parts_ms(config.started_ns)
    rows = log.rows
    conditions = [*conditions, log.failure] if log.failure else conditions
    made = report.build(rows, blocks, display, config, conditions, first_frame_ms, channel, log.forgotten, parts_ms)
    if config.json is not None:
        report.write_json(made, config.json)
    if config.plot is not None:
        from twixt.render.measure.plot import frame_pacing

        frame_pacing(rows, config.plot, config.command, swap_blocks=display["swap_blocks"])
        print(f"twixt: frame-pacing plot in {config.plot}", file=sys.stderr)
    if config.json != "-":  # last: where nobody reads any more, or the disk is full, the files are there
        report.show(made)
    broken = limits.check(made, list(config.fail_if))
    for line in broken:
        print(f"twixt: limit broken: {line}", file=sys.stderr)
    return LIMIT_BROKEN if broken else 0
