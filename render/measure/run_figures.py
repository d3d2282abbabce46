"""Computes the figures of a run from its rows: the report's sections that can be computed from a frame log, their
conditions, and the cause of each bad frame. The module `evenness` defines intervals and motion.

Always: a figure that could not be measured is None, never 0, and one of the conditions says why. Pure: this module
gets rows, returns figures, and reads no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.quantiles import distribution
from twixt.render.measure.evenness import LEAST_RATE, DrawnMotion, Intervals, intervals, low_1_percent_fps, motion
from twixt.render.measure.frame_rows import NO_GPU_TIME, FrameTable
from twixt.render.measure.report_keys import RENDER_COSTS

# For each source of present times: what the present time means, and which delay until the frame is visible is unknown.
PRESENTS = {
    "display": "the present time of a frame is the time that the display reported; a delay after that time is not measured",
    "fence": "the present time of a frame is the end of its fence{fitted}; a constant delay after it is not measured",
    "swap": "the present time of a frame is the return of its swap{fitted}; a constant delay after it is not measured",
    "page": "the present time of a frame is its timestamp plus one refresh; the delay after it is not measured",
    "timer": "the present time of a frame is estimated from the return of its swap, which does not wait for the display; "
    "the delay from then to the screen is not measured, and may differ from frame to frame",
}
# A quality level may change during a run. A report lists at most this many periods with one level.
MOST_STRETCHES = 8


def conditions(timing: Intervals, moved: DrawnMotion) -> list[str]:
    """Conditions under which the figures were measured, and reasons why figures are missing."""
    frames = timing.frames
    if not timing.joined.any():
        return ["fewer than two frames were presented, so there are no frame, motion, latency and pacer figures"]
    lines = _present_conditions(timing)
    if not timing.swap_blocks:
        lines.append(
            "missed refreshes, deviation and hitches are relative to the pacer's interval, because swap does not wait"
        )
    if not (frames["pacer_interval_ns"] > 0).any():
        lines.append("frames were not paced, so there are no deviation, missed refreshes, hitches and pacer intervals")
    rested_ns = frames["rested_ns"]
    if rested_ns.any():
        lines.append(
            f"no frames were drawn in {(rested_ns > 0).sum()} pauses, {rested_ns.sum() / 1e9:.1f} s together, because "
            "nothing moved or the window was hidden; no figure includes these pauses"
        )
    if moved.drawn.any():
        lines.append("animation errors are in ms of display time; judder is a fraction of the world's speed")
    if moved.changes:
        lines.append(f"number of pauses, changes of time scale and resets: {moved.changes}")
    if moved.left_out:
        lines.append(
            f"{moved.left_out} frames do not count for animation error and judder, because they are within 0.5 s of a "
            f"pause, a change of time scale or a reset, or the rate of physics is unknown or below {LEAST_RATE:g}"
        )
    if not moved.drawn.any():
        lines.append("no snapshot was drawn, so there are no motion and latency figures")
    elif not np.isfinite(moved.error_ms).any():
        lines.append(
            "the run is shorter than 0.25 s, or every 0.25 s of it had a pause, a change of time scale or a reset, "
            "so there are no animation errors, ages and sim_to_present_ms"
        )
    if not (frames["group_due_ns"] != 0).any():
        lines.append("all groups of bodies are drawn at the same simulated time, so there is no group_age_ms")
    if not (frames["gpu_ns"] != NO_GPU_TIME).any():
        lines.append("the GPU time of frames was not measured, so there is no gpu_ms")
    if not (frames["input_acted_ns"] > 0).any():
        lines.append("no key or button was used, so there is no input_to_present_ms")
    if not (frames["events"] > 0).any():
        lines.append("no frame showed an event of the program, so there is no events.late_ms")
    return lines + _quality_conditions(timing)


def _quality_conditions(timing: Intervals) -> list[str]:
    """Condition that lists the quality levels in the order of time. No condition if the run had only one level."""
    levels, present_ns = timing.frames["quality"], timing.present_ns
    begins = [0, *(np.flatnonzero(np.diff(levels)) + 1).tolist()] if len(levels) else []
    if len(begins) < 2:
        return []
    texts = timing.frames.words.texts
    instants_s = [*(present_ns[begins] / 1e9).tolist(), present_ns[-1] / 1e9]
    stretches = [
        f"{texts[int(levels[begin])] or 'none'} for {later_s - begun_s:.1f} s"
        for begin, begun_s, later_s in zip(begins, instants_s, instants_s[1:], strict=False)
    ]
    more = f", and {len(stretches) - MOST_STRETCHES} more" if len(stretches) > MOST_STRETCHES else ""
    return [f"the quality level changed during the run: {', then '.join(stretches[:MOST_STRETCHES])}{more}"]


def _present_conditions(timing: Intervals) -> list[str]:
    fitted = " (for motion and latency, fitted to the refresh grid)" if timing.swap_blocks else ""
    lines = [PRESENTS.get(timing.source, PRESENTS["swap"]).format(fitted=fitted)]
    if timing.is_reported.any():
        off_ms = timing.return_off_ms[timing.is_reported]
        usual_ms = float(np.median(off_ms))
        spread_ms = float(np.percentile(np.abs(off_ms - usual_ms), 99))
        lines.append(
            f"the display reported the present times of {timing.is_reported.sum()} of {len(timing.is_reported)} frames; "
            f"the median swap returned {abs(usual_ms):.2f} ms {'after' if usual_ms >= 0 else 'before'} its frame was "
            f"shown; 99 % of the swaps differ from the median by at most {spread_ms:.2f} ms"
        )
    if len(timing.frames) and timing.frames.is_text("present_source", "").all():
        lines.append(
            "the log is of an older version. It lacks the source of present times, the costs of frames and the quality"
        )
    return lines


# The pacer often changes its frame interval by a little, to follow the measured refresh. Only a change of the interval
# by more than this factor counts as a decision.
DECISION = 1.02


@dataclass(frozen=True)
class Measured:
    """Values of a run: one per frame for the plots, and the sections of the report."""

    timing: Intervals
    motion: DrawnMotion
    causes: Causes
    sections: dict[str, dict[str, Any]]  # the sections frames, motion, latency, pacer, causes and events
    conditions: list[str]


def measure(table: FrameTable, refresh_hz: float | None = None, swap_blocks: bool | None = None) -> Measured:
    """Computes all figures of the rows. refresh_hz, swap_blocks: values measured in the run; None: they are estimated
    from the rows."""
    timing = intervals(table, refresh_hz, swap_blocks)
    moved = motion(timing)
    why = causes(timing, moved)
    sections = {
        "frames": _frames(timing),
        "motion": _motion(timing, moved),
        "latency": _latency(timing, moved),
        "pacer": _pacer(timing),
        "causes": _causes(timing, why),
        "events": _events(timing),
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
        "cpu_ms": distribution((frames["work_end_ns"] - frames["start_ns"] + frames["ahead_ns"]) / 1e6),
        "gpu_ms": distribution(gpu[gpu != NO_GPU_TIME] / 1e6),
    }


def _motion(timing: Intervals, moved: DrawnMotion) -> dict[str, Any]:
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


def _latency(timing: Intervals, moved: DrawnMotion) -> dict[str, Any]:
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
    counts: dict[str, Any] = {name: int(mask.sum()) for name, mask in why._asdict().items() if name != "cost"}
    if costs_of(timing.frames).any():
        counts["render_late_parts"] = {name: int((why.cost == i).sum()) for i, name in enumerate(RENDER_COSTS)}
    return counts


def _events(timing: Intervals) -> dict[str, Any]:
    """Events that the frames were the first to reach, and the largest lateness of those of each frame."""
    frames = timing.frames
    counts = frames["events"]
    if not counts.any():
        return {}
    return {"delivered": int(counts.sum()), "late_ms": distribution(frames["event_late_ns"][counts > 0] / 1e6)}


def _most_used(frames: FrameTable, column: str) -> str | None:
    if not len(frames):
        return None
    numbers, counts = np.unique(frames[column], return_counts=True)
    return frames.words.texts[int(numbers[counts.argmax()])] or None


def _share(mask: NDArray[np.bool_], among: NDArray[np.bool_]) -> float | None:
    return float(mask[among].mean()) if among.any() else None


# The cause of each bad frame is found by four rules.
#
# A frame is bad in three cases: it missed a refresh, it held the picture while simulated time ran, or its animation
# error is above 2 ms of display time. Each bad frame has exactly one cause, which is given by the first rule that fits:
#
# 1. *Physics late*: the picture was held or extrapolated in this frame or in the previous frame, because nothing newer
#    had been published. (After a hold the next frame jumps, so this rule also looks at the previous frame.)
# 2. *Physics late*: the frame missed no refresh and was shown as planned. "As planned" means: since the previous
#    frame, the difference between present time and prediction changed by less than half of the animation error. So the
#    drawn time was uneven, because snapshots came at uneven times.
# 3. *Render late*: the frame began late or was handed over late. One of these is true:
#    - The frame woke late, or its work took longer than its planned interval.
#    - The frame's durations by cause were longer than usual: together by at least 1 ms and by at least half of its
#      lateness.
#    - The time from hand-over to predicted present time was shorter than in nearly all frames that are not bad. The
#      reason is the frame's own work, not a late return of the previous swap. If swap does not block, this time must
#      be shorter by at least half of the lateness.
# 4. *Display late*: all other cases. The frame was handed over in time, but shown late.
#
# In rule 3 the work of the previous frame counts too, because its delay may show in this frame. After a render late
# frame, the pacer's prediction needs time to settle. So the next bad frame is also render late if it missed no refresh
# and one of two conditions holds: its error is less than half of the previous error, or its error has the opposite
# sign and about the same size. The cost of a render late frame is the one in `COST_NAMES` that exceeded its usual
# value most. Pure: the rules get rows and return causes.


BAD_ERROR_MS = 2.0  # smallest uneven step, in ms, that a trained eye sees at 60 Hz
# A frame counts as woken late if it woke up later than planned by more than this time (ms). On an idle machine, 99 %
# of wake-ups are late by much less than this.
LATE_WAKE_MS = 1.0
# If a cost exceeds its usual value by less than this (ms), the excess is noise.
LEAST_EXCESS_MS = 1.0
# The usual value of a cost is the median over this many consecutive frames: about two seconds at 60 Hz.
USUAL_OF = 128
# A frame is handed over late if the time from its hand-over to its predicted present time is below a limit. The limit
# is this quantile of the times of frames that are not bad.
HASTY_SHARE = 0.05
# The motion drawn in one frame can be too large or too small, because it corrects the error of the previous frame.
# JUMP_SHARE is the largest measured ratio of this correction to the corrected error.
JUMP_SHARE = 1.25
NO_COST = -1
COST_NAMES = tuple(RENDER_COSTS)

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Causes(NamedTuple):
    """For each cause, a mask of the bad frames that have this cause. A frame is in at most one of the masks.

    cost: index in `COST_NAMES` of the cost of a render late frame; `NO_COST` for other frames, and if no costs were
    measured.
    """

    physics_late: Mask
    render_late: Mask
    display_late: Mask
    cost: NDArray[np.int64]


def causes(timing: Intervals, moved: DrawnMotion) -> Causes:
    """Finds the cause of each bad frame."""
    frames = timing.frames
    error_ms = np.abs(np.nan_to_num(moved.error_ms))
    missed = np.nan_to_num(timing.missed) > 0
    held = moved.running & (frames["plan_rate"] >= LEAST_RATE) & (frames.is_text("mode", "held") | (moved.step_ms == 0))
    bad = missed | held | (error_ms > BAD_ERROR_MS)

    stood = moved.running & (held | frames.is_text("mode", "extrapolated"))
    lateness_ms = np.maximum(error_ms, np.where(missed, np.nan_to_num(timing.late_ms), 0.0))
    costs_ms = costs_of(frames)
    excess_ms = np.maximum(0.0, costs_ms - _usual(costs_ms))
    overran = _overran(timing, costs_ms)
    off_ms = np.where(frames["predicted_present_ns"] > 0, timing.present_ns - frames["predicted_present_ns"], 0) / 1e6
    moved_off_ms = np.abs(np.diff(off_ms, prepend=off_ms[:1]))
    off_the_prediction = (frames["predicted_present_ns"] == 0) | (moved_off_ms >= error_ms / 2)

    explained_ms = excess_ms.sum(1)
    explained_ms = np.maximum(explained_ms, _before(explained_ms))
    explains = (explained_ms >= LEAST_EXCESS_MS) & (explained_ms >= lateness_ms / 2)
    late = overran | _handed_over_late(timing, bad, lateness_ms)

    physics = bad & (stood | _before(stood) | ~(missed | off_the_prediction))
    render = bad & ~physics & (late | _before(late) | explains)
    cost = np.where(render & costs_ms.any(1), _main_cost(costs_ms, excess_ms), NO_COST)
    settles = bad & ~physics & ~render & ~missed & _before(render) & _makes_good(moved, error_ms)
    cost = np.where(settles, _before(cost), cost)
    render = render | settles
    return Causes(physics, render, bad & ~physics & ~render, cost)


def _makes_good(moved: DrawnMotion, error_ms: Floats) -> Mask:
    """Mask of frames in which the pacer's prediction may be settling. Such a frame compensates for the previous
    frame's error with a jump, or has less than half of this error."""
    before_ms = _before(error_ms)
    opposite = np.nan_to_num(moved.error_ms) * _before(np.nan_to_num(moved.error_ms)) < 0
    good: Mask = (error_ms < before_ms / 2) | (opposite & (error_ms < JUMP_SHARE * before_ms))
    return good


def costs_of(frames: FrameTable) -> Floats:
    """Durations of each frame by cause in ms, shape (frames, causes). The causes are in the order of `COST_NAMES`.
    Zero means that a duration was not measured."""
    return np.stack([frames[f"{name}_ns"] for name in COST_NAMES], axis=1) / 1e6


def _overran(timing: Intervals, costs_ms: Floats) -> Mask:
    frames = timing.frames
    work_ms = np.maximum((frames["work_end_ns"] - frames["start_ns"]) / 1e6, costs_ms.sum(1))
    return (work_ms > timing.planned_ms) | (frames["wake_error_ns"] / 1e6 > LATE_WAKE_MS)


def _handed_over_late(timing: Intervals, bad: Mask, lateness_ms: Floats) -> Mask:
    """Mask of frames that were handed over late because of their own work. The time from their hand-over to their
    predicted present time is shorter than in nearly all frames that are not bad."""
    frames = timing.frames
    known = (frames["predicted_present_ns"] > 0) & (frames["swap_begin_ns"] > 0)
    lead_ms = np.where(known, frames["predicted_present_ns"] - frames["swap_begin_ns"], 0) / 1e6
    good = known & ~bad
    if not good.any():
        return np.zeros(len(frames), bool)
    late_by_ms = np.where(known, np.quantile(lead_ms[good], HASTY_SHARE) - lead_ms, 0.0)
    enough_ms = 0.0 if timing.swap_blocks else lateness_ms / 2
    span_ms = _span_ms(frames)
    own_ms = span_ms - _usual(span_ms[:, None])[:, 0]
    late: Mask = (late_by_ms > LEAST_EXCESS_MS / 2) & (late_by_ms >= enough_ms) & (own_ms >= late_by_ms / 2)
    return late


def _span_ms(frames: FrameTable) -> Floats:
    """Time (ms) that each frame took until its hand-over. The time begins at the planned begin of the frame, or at the
    return of the previous swap if this return was later."""
    swap_end_ns = np.where(frames["swap_end_ns"] > 0, frames["swap_end_ns"], frames["present_ns"])
    planned_ns = frames["start_ns"] - np.maximum(frames["wake_error_ns"], 0)
    span_ms: Floats = (frames["swap_begin_ns"] - np.maximum(planned_ns, _before(swap_end_ns))) / 1e6
    return span_ms


def _main_cost(costs_ms: Floats, excess_ms: Floats) -> NDArray[np.int64]:
    """Index of the cost that most exceeds its usual value, in the frame itself or in the previous frame. If no cost
    exceeds its usual value, the index of the largest cost."""
    excess_ms, spent_ms = (np.maximum(each, _before(each)) for each in (excess_ms, costs_ms))
    unusual = excess_ms.max(1, initial=0.0) >= LEAST_EXCESS_MS / 2
    cost: NDArray[np.int64] = np.where(unusual, excess_ms.argmax(1), spent_ms.argmax(1))
    return cost


def _usual(values: Floats) -> Floats:
    """For each frame, the median of the values in a block of USUAL_OF frames. The block contains the frame."""
    usual = np.zeros_like(values)
    for first in range(0, len(values), USUAL_OF):
        stretch = slice(max(0, min(first, len(values) - USUAL_OF)), first + USUAL_OF)
        usual[first : first + USUAL_OF] = np.median(values[stretch], axis=0)
    return usual


def _before(values: NDArray[np.generic]) -> NDArray:  # type: ignore[type-arg]
    """For each frame, the value of the previous frame; 0 for the first frame."""
    return np.concatenate((np.zeros_like(values[:1]), values[:-1]))
