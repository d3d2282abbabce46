"""What a bad frame is put down to.

A frame is bad when it missed a refresh, held the picture while simulated time ran, or has an animation
error above 2 ms. Each has one cause, by the first rule that fits:

1. the picture held or was extrapolated in this frame or the one before: *physics late*
   (nothing newer had been published; the frame after a hold makes the jump);
2. the frame's work outlasted its interval, or the process woke late: *render late*;
3. it missed a refresh: *display late* (the work was in time, the swap came back late);
4. its present differs from the prediction by half the error or more: *display late*;
5. otherwise the drawn time itself was uneven, because snapshots came unevenly: *physics late*.

A frame takes the work of the frame before into account, for whose delay it may be paying.
Pure: rows in, counts out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.render.measure.intervals import Intervals
from twixt.render.measure.motion import Motion

BAD_ERROR_MS = 2.0  # a step of the picture that a trained eye sees at 60 Hz
LATE_WAKE_NS = 1_000_000  # of the hybrid wait; its p99 on an idle machine is far below


class Causes(NamedTuple):
    """Where each bad frame belongs; a frame is in one of them at most."""

    physics_late: NDArray[np.bool_]
    render_late: NDArray[np.bool_]
    display_late: NDArray[np.bool_]


def causes(timing: Intervals, moved: Motion) -> Causes:
    """The cause of each bad frame."""
    frames = timing.frames
    error_ms = np.abs(np.nan_to_num(moved.error_ms))
    missed = np.nan_to_num(timing.missed) > 0
    held = moved.running & (frames.is_text("mode", "held") | (moved.step_ms == 0))
    bad = missed | held | (error_ms > BAD_ERROR_MS)

    stood = moved.running & (held | frames.is_text("mode", "extrapolated"))
    work_ms = (frames["work_end_ns"] - frames["start_ns"]) / 1e6
    overran = (work_ms > timing.planned_ms) | (frames["wake_error_ns"] > LATE_WAKE_NS)
    off_ms = (timing.present_ns - frames["predicted_present_ns"]) / 1e6
    moved_off_ms = np.abs(np.diff(off_ms, prepend=off_ms[:1]))
    off_the_prediction = (frames["predicted_present_ns"] > 0) & (moved_off_ms >= error_ms / 2)

    physics = bad & (stood | _before(stood))
    render = bad & ~physics & (overran | _before(overran))
    display = bad & ~physics & ~render & (missed | off_the_prediction)
    return Causes(physics | (bad & ~render & ~display), render, display)


def _before(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The mask, one frame later."""
    return np.r_[False, mask[:-1]] if len(mask) else mask
