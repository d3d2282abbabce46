"""Defines the keys of the report, and limits on its figures, such as `--fail-if "motion.animation_error_ms.p99>2"`.

A limit names a figure of the report and a condition. The run fails if the condition of a limit is true. `read_limits`
reads the limits before the run, and `check` compares them with the report after the run.

Always: if a figure was not measured, a limit on this figure counts as broken. This module imports almost nothing. So a
wrong limit is refused before a window or a file is opened.
"""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from twixt.ipc.errors import TwixtError

SCHEMA = "twixt-report/2"
# Schemas of older reports that can still be read. In these reports, animation errors were not in ms of display time.
# So their animation errors and causes cannot be used.
OLDER_SCHEMAS = ("twixt-report/1",)

# Kinds of keys. A key has one figure, a distribution (its name ends with the unit), or several figures that have
# names.
FIGURE, SPREAD, NAMES, PHASES, COUNTS = "figure", "spread", "names", "parts", "counts"
STATISTICS = ("mean", "p50", "p90", "p99", "max")

# Usual definitions of "1 % low" (in fps, computed from frame intervals). The report has one figure for each of these
# definitions.
_LONGEST = "take the longest frame intervals until their sum is 1 % of the time"
LOW_1_PERCENT = {
    "percentile": "1000 / the 99th percentile of the frame intervals",
    "mean_of_slowest_intervals": "1000 / the mean of the longest 1 % of the frame intervals",
    "mean_of_lowest_fps": "the mean of the fps of the longest 1 % of the frame intervals",
    "shortest_in_slowest_1_percent_of_time": f"{_LONGEST}: 1000 / the shortest of these intervals",
    "mean_over_slowest_1_percent_of_time": f"{_LONGEST}: 1000 / the mean of these intervals",
}

# Phases in which each process starts, up to the first frame, in order. See `twixt.ipc.trace.spans`. The durations of
# the viewer's phases add up to first_frame_ms. The phases of the physics process run at the same time.
START_PHASES = {
    "viewer_spawn": "from the command to the start of the viewer's process",
    "viewer_interpreter": "the start of Python in the viewer",
    "viewer_config": "reading the configuration",
    "viewer_window": "opening the window, while other modules are imported",
    "viewer_imports": "the remaining imports",
    "viewer_probe": "testing if swap waits for the display",
    "viewer_attach": "waiting for the first snapshot of physics, and attaching",
    "viewer_scene": "reading the scene and preparing its drawing",
    "viewer_first_frame": "reading the snapshot, compiling, drawing, swapping",
    "physics_command": "reading the command line",
    "physics_imports": "importing numpy and the code that steps and publishes",
    "physics_world": "finding and making the world",
    "physics_first_snapshot": "making shared memory and publishing the first snapshot",
    "physics_viewer": "waiting for the viewer",
}

# Costs (kinds of time) that can make a frame late, see `twixt.render.cores.thread_time`. For each cost the report has
# the number of frames that this cost made late.
RENDER_COSTS = {
    "draw": "drawing, and waiting until it is complete",
    "upload": "reading snapshots, and uploading them to the GPU",
    "user": "the functions of --draw and --on-event",
    "gc": "garbage collection of Python",
    "stolen": "other programs used the cores, or the process was stopped",
    "other": "events, the log, and all work between frames",
}

SECTIONS: dict[str, dict[str, str]] = {
    "display": dict.fromkeys(
        ("backend", "renderer", "refresh_reported_hz", "refresh_measured_hz", "swap_blocks", "present_source"), FIGURE
    ),
    "frames": {
        "count": FIGURE, "seconds": FIGURE, "mean_fps": FIGURE, "interval_ms": SPREAD, "deviation_ms": SPREAD,
        "missed_refreshes": FIGURE, "hitch_ms_per_s": FIGURE, "low_1_percent_fps": NAMES,
        "cpu_ms": SPREAD, "gpu_ms": SPREAD,
    },
    "motion": {
        "distinct_share": FIGURE, "held_share": FIGURE, "extrapolated_share": FIGURE, "reversals": FIGURE,
        "left_out": FIGURE, "animation_error_ms": SPREAD, "judder": SPREAD, "sample_age_ms": SPREAD,
        "group_age_ms": SPREAD, "offset_ms": SPREAD,
    },
    "physics": {
        "steps": FIGURE, "published": FIGURE, "dropped": FIGURE, "late": FIGURE, "rate": SPREAD, "step_ms": SPREAD,
        "publish_ms": SPREAD, "lead_ms": SPREAD,
    },
    "channel": dict.fromkeys(("pairs_read", "retries", "pairs_failed", "skipped", "bytes_per_snapshot"), FIGURE),
    "latency": {
        "first_frame_ms": FIGURE, "first_frame_parts_ms": PHASES, "sim_to_present_ms": SPREAD,
        "input_to_present_ms": SPREAD,
    },
    "pacer": {
        "policy": FIGURE, "quality": FIGURE, "interval_ms": SPREAD, "widened": FIGURE, "narrowed": FIGURE,
        "wake_error_us": SPREAD,
    },
    "causes": dict.fromkeys(("physics_late", "render_late", "display_late"), FIGURE) | {"render_late_parts": COUNTS},
    "events": dict.fromkeys(("emitted", "dropped", "delivered", "lost", "reset", "pending"), FIGURE) | {"late_ms": SPREAD},
}  # fmt: skip
# Names of the figures below a key, for each kind of key that has several figures.
BELOW = {SPREAD: STATISTICS, NAMES: tuple(LOW_1_PERCENT), PHASES: tuple(START_PHASES), COUNTS: tuple(RENDER_COSTS)}
HEAD = ("schema", "version", "command", "machine", "conditions")


def unmeasured(kind: str) -> Any:
    """Value of a key of this kind if nothing was measured."""
    return dict.fromkeys(BELOW[kind]) if kind in BELOW else None


def section(name: str, known: dict[str, Any] | None = None) -> dict[str, Any]:
    """Section of the report with all its keys in order, and with the values from `known`. Keys of `known` that are not
    keys of the section are added at the end."""
    empty = {key: unmeasured(kind) for key, kind in SECTIONS[name].items()}
    return empty | {key: value for key, value in (known or {}).items() if value is not None or key not in empty}


def figure_paths() -> list[str]:
    """Names of all figures that can have a limit, for example motion.animation_error_ms.p99."""
    paths = []
    for name, keys in SECTIONS.items():
        for key, kind in keys.items():
            paths += [f"{name}.{key}.{last}".rstrip(".") for last in BELOW.get(kind, ("",))]
    return paths


OPERATORS = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
_FORM = re.compile(r"\s*([A-Za-z0-9_.]+)\s*(>=|<=|==|!=|>|<)\s*(\S+)\s*")
_WORDS = {"true": True, "false": False}


class Limit(NamedTuple):
    """Condition under which a run fails. path: name of the figure that is compared. bound: value with which it is
    compared. sign: kind of comparison, for example >. text: the condition as the user typed it."""

    text: str
    path: str
    sign: str
    bound: float | bool | str


def read_limits(texts: Iterable[str], known: Sequence[str] | None = None) -> list[Limit]:
    """Parses limits that the user typed. known: names of all figures that can have a limit, by default those of the
    report.

    Raises TwixtError for the first wrong limit. The message has the rule that the limit breaks, or the names of
    figures that are most similar.
    """
    return [_read(text, known) for text in texts]


def check(report: dict[str, Any], limits: Iterable[str | Limit]) -> list[str]:
    """Returns one line for each broken limit, with the limit and the measured figure."""
    broken = []
    for limit in (item if isinstance(item, Limit) else _read(item) for item in limits):
        value = _figure(report, limit.path)
        if value is None:
            broken.append(f"{limit.text}: {limit.path} was not measured; --full prints the reason")
        elif _holds(value, limit):
            shown = f"{value:g}" if isinstance(value, float) else value
            broken.append(f"{limit.text}: {limit.path} is {shown}")
    return broken


def _read(text: str, known: Sequence[str] | None = None) -> Limit:
    form = _FORM.fullmatch(text)
    if form is None:
        raise TwixtError(
            f"--fail-if must be FIGURE OPERATOR NUMBER with one of {' '.join(OPERATORS)}, got {text!r}; "
            f"write it like 'motion.animation_error_ms.p99>2'"
        )
    path, sign, bound_text = form.groups()
    known = figure_paths() if known is None else list(known)
    if path not in known:
        raise TwixtError(f"--fail-if must name a figure of the report, got {path!r}; {_way_out(path, known)}")
    return Limit(text, path, sign, _bound(text, bound_text, sign))


def _bound(text: str, bound_text: str, sign: str) -> float | bool | str:
    if bound_text.lower() in _WORDS:
        return _WORDS[bound_text.lower()]
    try:
        bound = float(bound_text)
    except ValueError:
        if sign in ("==", "!="):
            return bound_text
        raise TwixtError(
            f"--fail-if must compare with a number, got {bound_text!r} in {text!r}; write it like 2 or 0.99"
        ) from None
    if not math.isfinite(bound):
        raise TwixtError(
            f"--fail-if must compare with a finite number, got {bound_text!r} in {text!r}; write it like 2 or 0.99"
        )
    return bound


def _way_out(path: str, known: list[str]) -> str:
    section, _, key = path.partition(".")
    if SECTIONS.get(section, {}).get(key) == SPREAD:
        return f"name one of its figures: {', '.join(f'{path}.{last}' for last in STATISTICS)}"
    below = [name for name in known if name.startswith(path + ".")]
    near = (
        below or difflib.get_close_matches(path, known, n=3, cutoff=0.5) or [name for name in known if path in name][:3]
    )
    return (
        f"similar names: {', '.join(near)}"
        if near
        else f"the sections are {', '.join(SECTIONS)}; --json writes all names"
    )


def _figure(report: dict[str, Any], path: str) -> Any:
    value: Any = report
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _holds(value: Any, limit: Limit) -> bool:
    if isinstance(value, str) != isinstance(limit.bound, str):
        return limit.sign == "!="
    return bool(OPERATORS[limit.sign](value, limit.bound))
