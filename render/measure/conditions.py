"""Conditions of a run's figures, from its rows: what a reader must know to trust them, and why those missing are
missing.

Pure: rows in, sentences out.
"""

from __future__ import annotations

import numpy as np

from twixt.render.measure.frames import NO_GPU_TIME
from twixt.render.measure.intervals import Intervals
from twixt.render.measure.motion import LEAST_RATE, Motion

# By the source of most presents: what they are, and what lies between them and the glass.
PRESENTS = {
    "display": "present is what the display said of each frame; what it does after that is in no figure",
    "fence": "present is when the fence after the swap was passed{fitted}; the constant time from there to the glass is "
    "unknown and in no figure",
    "swap": "present is when swap returned{fitted}; the constant time from there to the glass is unknown and in no figure",
    "timer": "present is reckoned from swap's return, which does not wait for the display; when the display takes a frame from "
    "there to the glass is unknown, may differ from frame to frame, and is in no figure",
}


def conditions(timing: Intervals, moved: Motion) -> list[str]:
    """What a reader must know to trust the figures, and why those that are missing are missing."""
    frames = timing.frames
    if not timing.joined.any():
        return ["fewer than two frames were presented: no frame, motion, latency and pacer figures"]
    said = _of_presents(timing)
    if not timing.swap_blocks:
        said.append(
            "swap does not block here: missed refreshes, deviation and hitches are against the pacer's own interval"
        )
    if not (frames["pacer_interval_ns"] > 0).any():
        said.append("frames were not paced: no deviation, missed refreshes, hitches and pacer intervals")
    rested_ns = frames["rested_ns"]
    if rested_ns.any():
        said.append(
            f"no frames were made for {rested_ns.sum() / 1e9:.1f} s in {(rested_ns > 0).sum()} rests, while nothing "
            "moved or the window was hidden: these are in no figure"
        )
    if moved.drawn.any():
        said.append("animation errors are in ms of display time, judder is a share of the world's own speed")
    if moved.changes:
        said.append(f"{moved.changes} pauses, changes of time scale or resets")
    if moved.left_out:
        said.append(
            f"{moved.left_out} frames are left out of animation error and judder: within half a second of a pause, a "
            f"change of scale or a reset, or where the rate of physics is unknown or below {LEAST_RATE:g}"
        )
    if not moved.drawn.any():
        said.append("no snapshot was drawn: no motion and latency figures")
    elif not np.isfinite(moved.error_ms).any():
        said.append(
            "no quarter of a second of snapshots without a pause, a change of scale or a reset: "
            "no animation error, ages and sim_to_present_ms"
        )
    if not (frames["group_due_ns"] != 0).any():
        said.append("no group of bodies is drawn at an instant of its own: no group_age_ms")
    if not (frames["gpu_ns"] != NO_GPU_TIME).any():
        said.append("this driver gave no time of the GPU's own, or was not asked: no gpu_ms")
    if not (frames["input_acted_ns"] > 0).any():
        said.append("no key or button was used: no input_to_present_ms")
    return said


def _of_presents(timing: Intervals) -> list[str]:
    fitted = ", in motion and latency the grid fitted to these instants" if timing.swap_blocks else ""
    said = [PRESENTS.get(timing.source, PRESENTS["swap"]).format(fitted=fitted)]
    if timing.spoken.any():
        off_ms = timing.return_off_ms[timing.spoken]
        usual_ms = float(np.median(off_ms))
        spread_ms = float(np.percentile(np.abs(off_ms - usual_ms), 99))
        said.append(
            f"the display said when {int(timing.spoken.sum())} of {len(timing.spoken)} frames were shown; the swap's "
            f"return was {abs(usual_ms):.2f} ms {'after' if usual_ms >= 0 else 'before'} that in the median, 99 % within "
            f"{spread_ms:.2f} ms of the median"
        )
    if len(timing.frames) and timing.frames.is_text("present_source", "").all():
        said.append(
            "an older log: it does not say where presents are from, how long the parts of frames took, and the quality"
        )
    return said
