"""Evenness of the drawn motion: simulated time drawn against the time that passed on the display.

Animation error of frame i, j the one before: (drawn(i) - drawn(j)) / r(i) - (present(i) - present(j)), in ms
of display time, so that the same visible judder has the same figure at every time scale. r(i) is the rate of physics:
the simulated time that falls due within half a second on either side of present(i), per second, computed afterwards
from the snapshots in the log. Judder of frame i: the change of the drawn speed since frame j, relative to r(i); 1 is
the whole speed of the world.

Always: a constant time between present and glass changes nothing. Left out, and counted, are frames within half a
second of a pause, a change of time scale or a reset, where no single speed is right; and frames whose r is unknown or
below `LEAST_RATE`.
Pure: rows in, arrays out, one element per frame; NaN where there is no value.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from twixt.render.measure.intervals import Intervals, since_before

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

HALF_WINDOW_NS = 500_000_000
# Least part of the window that snapshots must cover; with less, r is a guess from a few of them.
LEAST_COVER_NS = 250_000_000
# Simulated per wall seconds. Slower motion is not seen as motion, and dividing by it would enlarge rounding errors.
LEAST_RATE = 0.01
# Snapshots first seen so soon after a change may still have the older plan's due instants.
STALE_AFTER_CHANGE_NS = 100_000_000


@dataclass(frozen=True)
class DrawnMotion:
    """One element per frame, in ms of display time unless the comment has another unit."""

    drawn: Mask  # something was drawn
    running: Mask  # and simulated time was meant to pass since the frame before
    steady: Mask  # and no pause, change of scale or reset lies within half a second
    step_ms: Floats  # simulated time drawn since the frame before, in ms of simulated time
    shown_ms: Floats  # the same in ms of display time, by r; where that is unknown, by the rate of the snapshots
    ideal_ms: Floats  # since the present before: what shown_ms should have been
    error_ms: Floats  # the animation error, signed
    judder: Floats  # the change of drawn speed, signed, as a share of r
    reversed: Mask  # drawn time went back without a reset
    rate: Floats  # r(i)
    changes: int  # pauses, changes of scale and resets seen
    left_out: int  # frames that follow a drawn frame and have no animation error


def motion(timing: Intervals) -> DrawnMotion:
    """Drawn motion, and its errors against even motion at the presents."""
    frames = timing.frames
    drawn = ~frames.is_text("mode", "none")
    pair = timing.joined & drawn & np.r_[False, drawn[:-1]] if len(frames) else drawn
    epoch, scale = frames["world_epoch"], frames["plan_rate"]
    changed = np.zeros(len(frames), bool)
    changed[1:] = (epoch[1:] != epoch[:-1]) | (scale[1:] != scale[:-1])
    same_world = np.ones(len(frames), bool)
    same_world[1:] = epoch[1:] == epoch[:-1]
    moving = scale > 0
    running = pair & same_world & moving & np.r_[False, moving[:-1]] if len(frames) else pair
    steady = running & ~_near(timing.present_ns, np.flatnonzero(changed))
    step_ms = np.where(pair & same_world, since_before(frames["draw_time_ns"], timing.joined), np.nan) / 1e6
    rate = np.where(steady, _rates(timing, np.flatnonzero(changed)), np.nan)
    usable = np.where(rate >= LEAST_RATE, rate, np.nan)
    passed_ms = since_before(timing.present_ns, timing.joined) / 1e6
    error_ms = step_ms / usable - passed_ms
    return DrawnMotion(
        drawn, running, steady,
        step_ms=step_ms,
        shown_ms=np.where(step_ms == 0, 0.0, step_ms / _or_else(usable, frames["rate"])),
        ideal_ms=np.where(running, passed_ms, np.nan),
        error_ms=error_ms,
        judder=_judder(step_ms, passed_ms, usable, error_ms),
        reversed=step_ms < 0,
        rate=rate,
        changes=int(changed.sum()),
        left_out=int((pair & ~np.isfinite(error_ms)).sum()),
    )  # fmt: skip


def _or_else(usable: Floats, published: Floats) -> Floats:
    return np.where(np.isfinite(usable), usable, np.where(published >= LEAST_RATE, published, np.nan))


def _judder(step_ms: Floats, passed_ms: Floats, rate: Floats, error_ms: Floats) -> Floats:
    """Difference of the drawn speeds of two frames that both have an error, relative to r of the later one."""
    speed = np.where(np.isfinite(error_ms) & (passed_ms > 0), step_ms, np.nan) / np.where(passed_ms > 0, passed_ms, 1.0)
    return np.diff(speed, prepend=np.nan) / rate


def _near(present_ns: NDArray[np.int64], changes: NDArray[np.intp]) -> Mask:
    """Mask of frames within half a second of a change. It lies between the frame that shows it and the one before."""
    near = np.zeros(len(present_ns), bool)
    for i in changes:
        near |= (present_ns > present_ns[i - 1] - HALF_WINDOW_NS) & (present_ns < present_ns[i] + HALF_WINDOW_NS)
    return near


def _rates(timing: Intervals, changes: NDArray[np.intp]) -> Floats:
    """r(i) of every frame, each from the snapshots seen between the same two changes."""
    rates = np.full(len(timing.frames), np.nan)
    edges = [0, *changes.tolist(), len(rates)]
    for first, end in pairwise(edges):
        due_ns, sim_ns = _due_map(timing, first, end)
        if len(due_ns) < 2:
            continue
        zero_ns = due_ns[0]
        present = timing.present_ns[first:end]
        low = np.maximum(present - HALF_WINDOW_NS, due_ns[0])
        high = np.minimum(present + HALF_WINDOW_NS, due_ns[-1])
        cover = high - low
        sim = np.interp(np.stack((low, high)) - zero_ns, due_ns - zero_ns, sim_ns - sim_ns[0])
        rates[first:end] = np.where(cover >= LEAST_COVER_NS, (sim[1] - sim[0]) / np.maximum(cover, 1), np.nan)
    return rates


def _due_map(timing: Intervals, first: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The map due -> simulated time between two changes: the newest snapshot each time it is a new one."""
    rows = timing.frames.packed[first:end]
    ticks = timing.frames["newest_tick"]
    new = np.ones(end - first, bool)
    new[1:] = ticks[first + 1 : end] != ticks[first : end - 1]
    new &= rows["newest_tick"] >= 0
    if first:
        new[0] = False
        new &= timing.present_ns[first:end] >= timing.present_ns[first] + STALE_AFTER_CHANGE_NS
    due_ns, sim_ns = rows["newest_due_ns"][new].astype(np.int64), rows["newest_sim_time_ns"][new].astype(np.int64)
    order = np.argsort(due_ns, kind="stable")
    due_ns, sim_ns = due_ns[order], np.maximum.accumulate(sim_ns[order])
    last_of_instant = np.r_[due_ns[1:] != due_ns[:-1], np.ones(min(1, len(due_ns)), bool)]
    return due_ns[last_of_instant], sim_ns[last_of_instant]
