"""Describes how a viewer ended: its reason, its message, its report and its exit code.

Always: the reason is printed in one line, unless the user ended the viewer. Each limit that did not hold is printed.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any, NamedTuple

from twixt.ipc.config.files import write_json
from twixt.ipc.errors import FAILED, FINISHED, INTERRUPTED, REFUSED, TwixtError, missing_package_advice
from twixt.ipc.process.notices import print_notice
from twixt.ipc.process.user_code import error_text
from twixt.ipc.trace import spans

if TYPE_CHECKING:
    from twixt.ipc.config.flags import Config
    from twixt.ipc.session.link import Ended
    from twixt.render.measure.frame_log import FrameLog


class Outcome(NamedTuple):
    """Exit code and messages of a viewer. message: line for standard error, or "" if the user ended the viewer.
    traceback_text: traceback that is printed before that line, or "" if drawing raised no error."""

    exit_code: int
    message: str = ""
    traceback_text: str = ""


def of_simulation(ended: Ended, owned: bool) -> Outcome:
    """Outcome of a viewer whose simulation has ended. owned: True if the physics process started this viewer. That
    process then prints most reasons itself."""
    match ended.kind:
        case "ended":
            return Outcome(FINISHED, "" if owned else f"the simulation ended{_because(ended)}")
        case "interrupted":
            return Outcome(INTERRUPTED, "" if owned else f"the simulation was interrupted{_because(ended)}")
        case "crashed":
            return Outcome(FAILED, "" if owned else f"the viewer ends, because physics crashed{_because(ended)}")
        case "refused":
            return Outcome(REFUSED, f"the simulation refused this viewer{_because(ended)}")
    return Outcome(FAILED, f"the viewer ends, because {ended.message}")


def of_fault(error: Exception) -> Outcome:
    """Outcome of a viewer that an error stopped. If a package is missing, the message names the package. Else the
    outcome contains the traceback for a bug report."""
    if missing := missing_package_advice(error):
        return Outcome(REFUSED, missing)
    message = f"the viewer ends, because drawing failed: {error_text(error)}"
    return Outcome(FAILED, message, "".join(traceback.format_exception(error)))


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
    events: dict[str, int],
) -> int:
    """Prints and writes the reports that the config asks for. Returns FINISHED if all limits hold and all files were
    written. Else returns another exit code. If a file cannot be written, the error is printed, and the other files
    are still written."""
    from twixt.render.measure import report
    from twixt.render.measure.report_keys import check

    parts_ms = {} if config.started_ns is None else spans.start_phases_ms(config.started_ns)
    rows = log.rows
    conditions = [*conditions, log.failure] if log.failure else conditions
    run = report.FinishedRun(
        rows,
        blocks,
        display,
        config,
        conditions,
        first_frame_ms=first_frame_ms,
        channel=channel,
        forgotten=log.forgotten,
        first_frame_parts_ms=parts_ms,
        events=events,
    )
    made = report.build(run)
    unwritten = 0
    try:
        if config.json is not None:
            write_json(made, config.json)
    except TwixtError as error:
        unwritten = _say_unwritten(error)
    try:
        if config.plot is not None:
            from twixt.render.measure.plots import frame_pacing

            frame_pacing(rows, config.plot, config.command, swap_blocks=display["swap_blocks"])
            print_notice(f"wrote the frame-pacing plot {config.plot}")
    except TwixtError as error:
        unwritten = _say_unwritten(error)
    if config.json != "-":  # standard output is last, so that the files are written even if it fails
        report.show(made, full=config.full)
    broken = check(made, list(config.fail_if))
    for line in broken:
        print_notice(f"limit broken: {line}")
    return unwritten or (FAILED if broken else FINISHED)


def _say_unwritten(error: TwixtError) -> int:
    """Prints the error, and returns its exit code. If the error were raised further, it would look like the end of the
    physics process."""
    print_notice(str(error))
    return error.exit_code
