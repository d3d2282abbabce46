"""The report of a run: one JSON document with the keys of `keys.SECTIONS`, and the same for people.

Always: every key is there; a figure that could not be measured is null and a line of `conditions` says why.
What physics and the channel counted comes from them; the rest from the rows.
"""

from __future__ import annotations

import json
import math
import os
import platform
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import twixt
from twixt.ipc.errors import TwixtError
from twixt.ipc.figures import distribution
from twixt.render.measure.frames import FrameRow, FrameTable
from twixt.render.measure.keys import SCHEMA, SECTIONS, START_PARTS, section
from twixt.render.measure.log import read_log
from twixt.render.measure.metrics import Measured, measure

if TYPE_CHECKING:
    from twixt.ipc.config import Config

Report = dict[str, Any]
# A run's own estimate of the refresh is finer than the probe's, as long as the two agree to this share.
REFRESH_AGREES = 0.05


def build(
    rows: FrameTable | Iterable[FrameRow],
    physics_blocks: dict[str, dict[str, Any]] | None,
    display: dict[str, Any],
    config: Config,
    conditions: Iterable[str] = (),
    first_frame_ms: float | None = None,
    channel: dict[str, Any] | None = None,
    forgotten: int = 0,
    first_frame_parts_ms: dict[str, float] | None = None,
) -> Report:
    """The report of a run that has just ended.

    physics_blocks: {"physics": {}, "channel": {}} as physics answered, None when it could not.
    display: any of backend, renderer, refresh_reported_hz, refresh_measured_hz, swap_blocks; present_source is what
    most rows say.
    channel: what this viewer's link counted; it stands before what physics says.
    first_frame_parts_ms: this process's, by `keys.START_PARTS`; physics' own stand in its block "start".
    forgotten: rows too old to be in memory (`FrameLog.forgotten`).
    """
    measured = measure(FrameTable.of(rows), display.get("refresh_measured_hz"), display.get("swap_blocks"))
    said = [*conditions, *measured.conditions]
    blocks = physics_blocks or {}
    physics = dict(blocks.get("physics") or {})
    if not physics:
        physics = _physics_as_seen(measured)
        said.append("physics did not answer: of its figures only the rate is known, as the drawn snapshots carried it")
    if first_frame_ms is None:
        said.append("when the command was given is not known: first_frame_ms is null")
    if forgotten:
        said.append(
            f"the run had {forgotten} more frames; the figures are those of the newest {len(measured.timing.frames)}"
        )
    as_seen = _display_as_seen(measured)
    display = as_seen | display | {"present_source": as_seen["present_source"]}
    probed_hz, whole_run_hz = display.get("refresh_measured_hz"), measured.timing.refresh_hz
    if probed_hz and whole_run_hz and abs(whole_run_hz / probed_hz - 1) > REFRESH_AGREES:
        said.append(
            f"the run's frames come at {whole_run_hz:.2f} Hz or a part of it, which is not the display's rate: "
            "it shows late frames as they come; refresh_measured_hz is that of the bare swaps before the run"
        )
    elif whole_run_hz is not None:
        display["refresh_measured_hz"] = whole_run_hz
    known = measured.sections | {
        "display": display,
        "physics": physics,
        "channel": {**(blocks.get("channel") or {}), **(channel or {})},
    }
    parts_ms = {**(first_frame_parts_ms or {}), **(blocks.get("start") or {})}
    known["latency"] = {
        **known["latency"],
        "first_frame_ms": first_frame_ms,
        "first_frame_parts_ms": {part: parts_ms.get(part) for part in START_PARTS},
    }
    known["pacer"] = {**known["pacer"], "policy": config.pacing}
    return _document(config.command, known, said)


def report_log(path: str, json_file: str | None = None, plot: str | None = None) -> int:
    """`twixt report LOG`: prints what a log alone can say, writes JSON and plot when asked. Exit code."""
    table = read_log(path)
    report = of_log(table, f"twixt report {path}")
    if plot is not None:
        from twixt.render.measure.plot import frame_pacing

        frame_pacing(table, plot, os.path.basename(path))
    if json_file is not None:
        write_json(report, json_file)
    if json_file != "-":
        show(report)
    return 0


def of_log(table: FrameTable, command: str) -> Report:
    """The report that a log alone can give."""
    measured = measure(table)
    said = [
        "from a frame log alone, which holds no renderer, no counts of physics and the channel, "
        "no first_frame_ms and no pacing policy",
        *measured.conditions,
    ]
    display = {"refresh_measured_hz": measured.timing.refresh_hz} | _display_as_seen(measured)
    return _document(command, measured.sections | {"display": display, "physics": _physics_as_seen(measured)}, said)


def write_json(report: Report, path: str) -> None:
    """The report as JSON; `-` is standard output."""
    text = json.dumps(_plain(report), indent=2, allow_nan=False) + "\n"
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise TwixtError(
            f"cannot write the report {path!r}: {error.strerror}; give --json a file in a folder that exists, or -"
        ) from None


def show(report: Report) -> None:
    """Prints the report for people."""
    from twixt.render.measure.show import show as print_report

    print_report(report)


def _document(command: str, known: dict[str, dict[str, Any]], conditions: list[str]) -> Report:
    sections = {name: section(name, known.get(name)) for name in SECTIONS}
    missing = not_measured(sections)
    if missing:
        conditions = [*conditions, f"null, as not measured: {', '.join(missing)}"]
    head: Report = {
        "schema": SCHEMA,
        "version": twixt.__version__,
        "command": command,
        "machine": machine(),
        "conditions": list(dict.fromkeys(conditions)),
    }
    return head | sections


def not_measured(sections: dict[str, dict[str, Any]]) -> list[str]:
    """The names of the keys that are null; a section without any figure by its own name."""
    missing = []
    for name, values in sections.items():
        empty = [key for key, value in values.items() if value is None or _is_empty(value)]
        missing += [name] if len(empty) == len(values) else [f"{name}.{key}" for key in empty]
    return missing


def _is_empty(value: Any) -> bool:
    return isinstance(value, dict) and all(item is None for item in value.values())


def machine() -> dict[str, Any]:
    """What the run ran on, as far as it bears on the figures."""
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load_1_min": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _display_as_seen(measured: Measured) -> dict[str, Any]:
    timing = measured.timing
    return {"swap_blocks": timing.swap_blocks if len(timing.frames) else None, "present_source": timing.source or None}


def _physics_as_seen(measured: Measured) -> dict[str, Any]:
    frames = measured.timing.frames
    return {"rate": distribution(frames["rate"][frames["newest_tick"] >= 0])}


def _plain(value: Any) -> Any:
    """The same with plain numbers, and null for what is not finite."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
