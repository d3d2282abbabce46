"""The cause of each bad frame.

A frame is bad when it missed a refresh, held the picture while simulated time ran, or has an animation error above
2 ms of display time. Each has one cause, by the first rule that fits:

1. the picture held or was extrapolated in this frame or the one before: *physics late*
   (nothing newer had been published; the frame after a hold makes the jump);
2. it missed no refresh, and the distance of its present from the prediction changed by less than half the error since
   the frame before: *physics late* (it was shown as planned; the drawn time was uneven, because snapshots came
   unevenly);
3. the frame began or was handed over late: *render late*. One of these is true:
   - it woke late, or its work took longer than its planned interval;
   - its parts took longer than usual, by at least 1 ms and half of its lateness;
   - its time from handing over to the predicted present was shorter than that of nearly all frames that are not bad,
     because of its own work and not because the swap before it returned late (where swap does not block, shorter by at
     least half of its lateness);
4. otherwise *display late*: it was handed over in time, and shown late.

In rule 3 the work of the frame before counts too, because its delay may show in this frame. A frame after a render
late one is render late as well where it missed no refresh, and its error is less than half of that one's, or has the
opposite sign and about the same size: the pacer's prediction settles. A frame that is render late has the part
(`PARTS`) that exceeded its usual time most.
Pure: rows in, causes out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.render.measure.frame_rows import FrameTable
from twixt.render.measure.intervals import Intervals
from twixt.render.measure.motion import LEAST_RATE, DrawnMotion
from twixt.render.measure.report_keys import RENDER_PARTS

BAD_ERROR_MS = 2.0  # a step of the picture that a trained eye sees at 60 Hz
LATE_WAKE_MS = 1.0  # of the hybrid wait; its p99 on an idle machine is far below
# A smaller excess over the usual is noise.
LEAST_EXCESS_MS = 1.0
# Number of frames in a row whose median is the usual value: about two seconds at 60 Hz.
USUAL_OF = 128
# Share of the frames that are not bad whose time from handing over to the predicted present may be shorter.
HASTY_SHARE = 0.05
# Largest ratio, as measured, between a jump and the error of the frame before for which it makes up.
JUMP_SHARE = 1.25
NO_PART = -1
PARTS = tuple(RENDER_PARTS)

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Causes(NamedTuple):
    """Bad frames by cause. A frame is in one of them at most.

    part: index in `PARTS` of a frame that is render late; `NO_PART` for all others, and where parts were not measured.
    """

    physics_late: Mask
    render_late: Mask
    display_late: Mask
    part: NDArray[np.int64]


def causes(timing: Intervals, moved: DrawnMotion) -> Causes:
    """The cause of each bad frame."""
    frames = timing.frames
    error_ms = np.abs(np.nan_to_num(moved.error_ms))
    missed = np.nan_to_num(timing.missed) > 0
    held = moved.running & (frames["plan_rate"] >= LEAST_RATE) & (frames.is_text("mode", "held") | (moved.step_ms == 0))
    bad = missed | held | (error_ms > BAD_ERROR_MS)

    stood = moved.running & (held | frames.is_text("mode", "extrapolated"))
    lateness_ms = np.maximum(error_ms, np.where(missed, np.nan_to_num(timing.late_ms), 0.0))
    parts_ms = parts_of(frames)
    excess_ms = np.maximum(0.0, parts_ms - _usual(parts_ms))
    overran = _overran(timing, parts_ms)
    off_ms = np.where(frames["predicted_present_ns"] > 0, timing.present_ns - frames["predicted_present_ns"], 0) / 1e6
    moved_off_ms = np.abs(np.diff(off_ms, prepend=off_ms[:1]))
    off_the_prediction = (frames["predicted_present_ns"] == 0) | (moved_off_ms >= error_ms / 2)

    explained_ms = excess_ms.sum(1)
    explained_ms = np.maximum(explained_ms, _before(explained_ms))
    explains = (explained_ms >= LEAST_EXCESS_MS) & (explained_ms >= lateness_ms / 2)
    late = overran | _handed_over_late(timing, bad, lateness_ms)

    physics = bad & (stood | _before(stood) | ~(missed | off_the_prediction))
    render = bad & ~physics & (late | _before(late) | explains)
    part = np.where(render & parts_ms.any(1), _part(parts_ms, excess_ms), NO_PART)
    settles = bad & ~physics & ~render & ~missed & _before(render) & _makes_good(moved, error_ms)
    part = np.where(settles, _before(part), part)
    render = render | settles
    return Causes(physics, render, bad & ~physics & ~render, part)


def _makes_good(moved: DrawnMotion, error_ms: Floats) -> Mask:
    """Mask of frames that jump by the lateness of the frame before, or have less than half of its error, while the
    pacer's prediction settles."""
    before_ms = _before(error_ms)
    opposite = np.nan_to_num(moved.error_ms) * _before(np.nan_to_num(moved.error_ms)) < 0
    good: Mask = (error_ms < before_ms / 2) | (opposite & (error_ms < JUMP_SHARE * before_ms))
    return good


def parts_of(frames: FrameTable) -> Floats:
    """Time of each part in ms, (frames, parts) in the order of `PARTS`; all 0 where they were not measured."""
    return np.stack([frames[f"{name}_ns"] for name in PARTS], axis=1) / 1e6


def _overran(timing: Intervals, parts_ms: Floats) -> Mask:
    frames = timing.frames
    work_ms = np.maximum((frames["work_end_ns"] - frames["start_ns"]) / 1e6, parts_ms.sum(1))
    return (work_ms > timing.planned_ms) | (frames["wake_error_ns"] / 1e6 > LATE_WAKE_MS)


def _handed_over_late(timing: Intervals, bad: Mask, lateness_ms: Floats) -> Mask:
    """Mask of frames handed over later, against their predicted present, than nearly all frames that were not bad."""
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
    """Time (ms) from the frame's planned begin, or from the return of the swap before it if that was later, to its
    handing over."""
    swap_end_ns = np.where(frames["swap_end_ns"] > 0, frames["swap_end_ns"], frames["present_ns"])
    planned_ns = frames["start_ns"] - np.maximum(frames["wake_error_ns"], 0)
    span_ms: Floats = (frames["swap_begin_ns"] - np.maximum(planned_ns, _before(swap_end_ns))) / 1e6
    return span_ms


def _part(parts_ms: Floats, excess_ms: Floats) -> NDArray[np.int64]:
    """The part with the largest excess over usual in the frame or the one before; without an excess, the longest."""
    excess_ms, taken_ms = (np.maximum(each, _before(each)) for each in (excess_ms, parts_ms))
    unusual = excess_ms.max(1, initial=0.0) >= LEAST_EXCESS_MS / 2
    part: NDArray[np.int64] = np.where(unusual, excess_ms.argmax(1), taken_ms.argmax(1))
    return part


def _usual(values: Floats) -> Floats:
    """For each frame, the medians of the USUAL_OF frames around it."""
    usual = np.zeros_like(values)
    for first in range(0, len(values), USUAL_OF):
        stretch = slice(max(0, min(first, len(values) - USUAL_OF)), first + USUAL_OF)
        usual[first : first + USUAL_OF] = np.median(values[stretch], axis=0)
    return usual


def _before(values: NDArray[np.generic]) -> NDArray:  # type: ignore[type-arg]
    """The values of the frame before each frame."""
    return np.concatenate((np.zeros_like(values[:1]), values[:-1]))
