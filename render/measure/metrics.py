"""The figures of a run, from its rows: the sections of the report that a frame log can give.

Every definition is in `intervals`, `motion` and `causes`; here each becomes a figure under its key.

Always: a figure that could not be measured is None and one of `conditions` says why; never 0.
Pure: rows in, figures out; reads no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.figures import distribution
from twixt.render.measure.causes import Causes, causes, parts_of
from twixt.render.measure.conditions import conditions
from twixt.render.measure.frames import NO_GPU_TIME, FrameTable
from twixt.render.measure.intervals import Intervals, intervals, low_1_percent_fps
from twixt.render.measure.keys import RENDER_PARTS
from twixt.render.measure.motion import Motion, motion

# A pacer that follows the measured refresh moves its interval a little all the time; a decision moves it further.
DECISION = 1.02


@dataclass(frozen=True)
class Measured:
    """A run taken apart: per frame for the plots, and the report's sections."""

    timing: Intervals
    motion: Motion
    causes: Causes
    sections: dict[str, dict[str, Any]]  # frames, motion, latency, pacer, causes
    conditions: list[str]


def measure(table: FrameTable, refresh_hz: float | None = None, swap_blocks: bool | None = None) -> Measured:
    """All that the rows say. refresh_hz, swap_blocks: as measured in the run; not given, from the rows."""
    timing = intervals(table, refresh_hz, swap_blocks)
    moved = motion(timing)
    why = causes(timing, moved)
    sections = {
        "frames": _frames(timing),
        "motion": _motion(timing, moved),
        "latency": _latency(timing, moved),
        "pacer": _pacer(timing),
        "causes": _causes(timing, why),
    }
    return Measured(timing, moved, why, sections, conditions(timing, moved))


def _frames(timing: Intervals) -> dict[str, Any]:
    frames, joined = timing.frames, timing.joined
    seconds = float(np.nansum(timing.interval_ms)) / 1e3
    if not joined.any() or seconds <= 0:
        return {"count": len(frames) or None}
    planned = np.isfinite(timing.planned_ms) & joined
    gpu = frames["gpu_ns"]
    return {
        "count": len(frames),
        "seconds": seconds,
        "mean_fps": float(joined.sum()) / seconds,
        "interval_ms": distribution(timing.interval_ms),
        "deviation_ms": distribution(np.abs(timing.deviation_ms)),
        "missed_refreshes": int(np.nansum(timing.missed)) if planned.any() else None,
        "hitch_ms_per_s": float(np.nansum(timing.late_ms)) / seconds if planned.any() else None,
        "low_1_percent_fps": low_1_percent_fps(timing.interval_ms),
        "cpu_ms": distribution((frames["work_end_ns"] - frames["start_ns"]) / 1e6),
        "gpu_ms": distribution(gpu[gpu != NO_GPU_TIME] / 1e6),
    }


def _motion(timing: Intervals, moved: Motion) -> dict[str, Any]:
    frames, running = timing.frames, moved.running
    if not moved.drawn.any():
        return {}
    aged = moved.steady & (frames["draw_due_ns"] != 0)
    grouped = moved.steady & (frames["group_due_ns"] != 0)
    return {
        "distinct_share": _share(moved.step_ms != 0, running),
        "held_share": _share(frames.is_text("mode", "held"), running),
        "extrapolated_share": _share(frames.is_text("mode", "extrapolated"), running),
        "reversals": int(moved.reversed.sum()),
        "left_out": moved.left_out,
        "animation_error_ms": distribution(np.abs(moved.error_ms)),
        "judder": distribution(np.abs(moved.judder)),
        "sample_age_ms": distribution((timing.present_ns - frames["draw_due_ns"])[aged] / 1e6),
        "group_age_ms": distribution((timing.present_ns - frames["group_due_ns"])[grouped] / 1e6),
        "offset_ms": distribution(frames["offset_ns"][moved.drawn] / 1e6),
    }


def _latency(timing: Intervals, moved: Motion) -> dict[str, Any]:
    frames = timing.frames
    used = moved.steady & (frames["used_published_ns"] != 0)
    acted = frames["input_acted_ns"] > 0
    return {
        "sim_to_present_ms": distribution((timing.present_ns - frames["used_published_ns"])[used] / 1e6),
        "input_to_present_ms": distribution((timing.present_ns - frames["input_acted_ns"])[acted] / 1e6),
    }


def _pacer(timing: Intervals) -> dict[str, Any]:
    pace_ms = timing.frames["pacer_interval_ns"] / 1e6
    paced = pace_ms[pace_ms > 0]
    if not len(paced):
        return {}
    change = paced[1:] / paced[:-1]
    return {
        "quality": _most_used(timing.frames, "quality"),
        "interval_ms": distribution(paced),
        "widened": int((change > DECISION).sum()),
        "narrowed": int((change < 1 / DECISION).sum()),
        "wake_error_us": distribution(timing.frames["wake_error_ns"] / 1e3),
    }


def _causes(timing: Intervals, why: Causes) -> dict[str, Any]:
    if not timing.joined.any():
        return {}
    counts: dict[str, Any] = {name: int(mask.sum()) for name, mask in why._asdict().items() if name != "part"}
    if parts_of(timing.frames).any():
        counts["render_late_parts"] = {name: int((why.part == i).sum()) for i, name in enumerate(RENDER_PARTS)}
    return counts


def _most_used(frames: FrameTable, column: str) -> str | None:
    """Of a column of texts."""
    if not len(frames):
        return None
    numbers, counts = np.unique(frames[column], return_counts=True)
    return frames.words.texts[int(numbers[counts.argmax()])] or None


def _share(what: NDArray[np.bool_], among: NDArray[np.bool_]) -> float | None:
    return float(what[among].mean()) if among.any() else None
