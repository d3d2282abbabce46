"""Computes the evenness of frames: frame intervals, missed refreshes, the grid of refreshes, and drawn motion.

`present` of a frame is the best known instant at which the frame was shown. If the display reported the frame,
`present` is the reported instant. Otherwise `present` is the instant at which the fence or the swap returned. If the
fence or the swap waits for the display, a grid of refreshes is fitted to the returns. If the display reported only
some frames, the returns of the other frames are shifted by the median difference between returns and reports.
Intervals and deviations are computed before the fit, so the fit does not hide jitter.

Grid of refreshes: if swap blocks, the display changes at nearly equal intervals. Swaps return after these instants
with jitter. Some returns are very late, because the process was not woken. Each return gets the number of its refresh.
The instants of the refreshes lie on a local straight line through about half a second of returns. The fit is robust
against single late returns (locally weighted regression with bisquare weights, Cleveland 1979), and it follows a timer
that drifts. If the frame becomes visible a constant time after the return, the fit does not remove this delay.

Always: a frame has no interval if it is the first frame, or if it follows a refresh probe or a pause without motion.
So a pause affects no figure: it does not count as a long frame, and does not lower the mean fps. Frames that the
display discarded are in no figure, because they were never visible. The instants of the grid never decrease. Pure:
rows are given, and arrays are returned, with one element per frame. An element without a value is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.render.display.present_times import DISCARDED
from twixt.render.measure.frame_rows import FrameTable
from twixt.render.measure.report_keys import LOW_1_PERCENT

# The grid at a return of a swap is fitted to this many returns before it and after it: 0.25 s at 60 Hz on each side.
# With fewer returns the grid would follow the jitter. With more returns it would not follow a timer that drifts.
REACH = 15
ROUNDS = 3  # the fit computes its weights this many times; more rounds change nothing
FEWEST = 8  # a piece with fewer returns than this is not fitted
# Smallest spread (ns) by which the fit divides distances from the line. Without this limit, there would be a division
# by zero when all returns are exactly on the line.
LEAST_SPREAD_NS = 10_000.0
PHASE_GAIN = 0.2  # for each return, the phase of the count moves by this share of the error of the return
LOOK_AHEAD = 2  # this many next returns tell whether a return was only late or belongs to a later refresh
BLOCK = 4096  # this many frames are fitted at once, to limit the memory


def count_refreshes(returns_ns: NDArray[np.int64], period_ns: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns for each swap return the number of its refresh, and the number of the piece to which the return belongs.

    If a late return is followed by an early return, each counts as one refresh. If a return comes far too early (its
    swap did not block), a new piece begins.
    """
    numbers = np.zeros(len(returns_ns), np.int64)
    pieces = np.zeros(len(returns_ns), np.int64)
    number = piece = 0
    on_time_ns = _without_lateness(returns_ns, period_ns).tolist()
    phase_ns = on_time_ns[0] if on_time_ns else 0.0
    for i, return_ns in enumerate(on_time_ns):
        if i:
            passed = max(1, round((return_ns - phase_ns) / period_ns))
            number += passed
            phase_ns += passed * period_ns
            error_ns = return_ns - phase_ns
            if error_ns < -0.75 * period_ns:
                piece += 1
                phase_ns = return_ns
            else:
                phase_ns += PHASE_GAIN * min(max(error_ns, -period_ns / 4), period_ns / 4)
        numbers[i], pieces[i] = number, piece
    return numbers, pieces


def _without_lateness(returns_ns: NDArray[np.int64], period_ns: float) -> NDArray[np.float64]:
    """Moves a late return to an earlier instant (ns) if the next returns show that it was only late. Then each return
    keeps its own refresh."""
    least = returns_ns.astype(np.float64)
    for ahead in range(1, LOOK_AHEAD + 1):
        least[:-ahead] = np.minimum(least[:-ahead], returns_ns[ahead:] - ahead * period_ns)
    return least


class FittedGrid(NamedTuple):
    """Grid of refreshes. instants_ns: instant of each frame's refresh. period_ns: mean period; None for too few
    frames."""

    instants_ns: NDArray[np.int64]
    period_ns: float | None


def fit_grid(returns_ns: NDArray[np.int64], period_hint_ns: float) -> FittedGrid:
    """Fits a grid of refreshes to returns of consecutive frames. period_hint_ns: refresh period, correct within 10
    %."""
    numbers, pieces = count_refreshes(returns_ns, period_hint_ns)
    fitted = returns_ns.copy()
    time_ns = refreshes = 0
    for piece in np.unique(pieces):
        chosen = np.flatnonzero(pieces == piece)
        if len(chosen) >= FEWEST:
            fitted[chosen] = _fit_piece(returns_ns[chosen], numbers[chosen])
            time_ns += int(fitted[chosen[-1]] - fitted[chosen[0]])
            refreshes += int(numbers[chosen[-1]] - numbers[chosen[0]])
    return FittedGrid(np.maximum.accumulate(fitted), time_ns / refreshes if refreshes else None)


def _fit_piece(returns_ns: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    fitted = np.empty_like(returns_ns)
    count = len(returns_ns)
    reach = min(REACH, (count - 1) // 2)
    for first in range(0, count, BLOCK):
        here = np.arange(first, min(first + BLOCK, count))
        # Near the ends of the array, the window is shifted to stay inside the array. There the window is not centred.
        at = np.clip(here, reach, count - 1 - reach)[:, None] + np.arange(-reach, reach + 1)
        x = (numbers[at] - numbers[here][:, None]).astype(float)
        y = (returns_ns[at] - returns_ns[here][:, None]).astype(float)
        distance = np.abs(at - here[:, None])
        near = (1 - (distance / (distance.max(1, keepdims=True) + 1)) ** 3) ** 3
        weight = near
        for _ in range(ROUNDS):
            level, slope = _line(x, y, weight)
            off = np.abs(y - level[:, None] - slope[:, None] * x)
            spread = np.maximum(np.median(off, axis=1, keepdims=True), LEAST_SPREAD_NS)
            weight = near * np.maximum(0.0, 1 - (off / (6 * spread)) ** 2) ** 2
        level, _ = _line(x, y, weight)
        fitted[here] = returns_ns[here] + np.rint(level).astype(np.int64)
    return fitted


def _line(
    x: NDArray[np.float64], y: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fits a weighted straight line to each row of x and y. Returns the lines' values at x = 0 and their slopes."""
    total = weight.sum(1)
    mean_x = (weight * x).sum(1) / total
    mean_y = (weight * y).sum(1) / total
    spread = (weight * (x - mean_x[:, None]) ** 2).sum(1)
    together = (weight * (x - mean_x[:, None]) * (y - mean_y[:, None])).sum(1)
    slope = np.divide(together, spread, out=np.zeros_like(spread), where=spread > 0)
    return mean_y - slope * mean_x, slope


Floats = NDArray[np.float64]

# Shortest refresh period (ms) of a grid. With a shorter one (from a modified log), refresh numbers could overflow.
LEAST_REFRESH_MS = 1e-3


@dataclass(frozen=True)
class Intervals:
    """Frame intervals of a run. Arrays have one element per frame, without the frames of the refresh probe."""

    frames: FrameTable
    joined: NDArray[np.bool_]  # the previous row is the previous frame, and no probe or pause is between them
    present_ns: NDArray[np.int64]
    interval_ms: Floats
    planned_ms: Floats  # time of the planned refreshes, or the pacer's interval if swap does not block
    deviation_ms: Floats
    missed: Floats  # number of refreshes that passed beyond the planned number
    late_ms: Floats  # time by which the interval was longer than planned; never negative
    swap_blocks: bool
    refresh_hz: float | None  # refresh rate of the grid; None if swap does not block
    source: str  # source of most present times: display | fence | swap | timer; empty if there are no frames
    is_reported: NDArray[np.bool_]  # True: the display reported the present time of this frame
    return_off_ms: Floats  # time from the display's report to the swap's return; NaN without a report


def intervals(table: FrameTable, refresh_hz: float | None = None, swap_blocks: bool | None = None) -> Intervals:
    """Computes the frame intervals. refresh_hz, swap_blocks: values measured in the run; None: estimated from the
    rows."""
    table = table.where(~table.is_text("present_flags", DISCARDED))
    shown = ~table["probe"]
    frames = table.where(shown)
    joined = np.r_[False, shown[:-1]][shown] & (frames["rested_ns"] == 0) if len(table) else np.zeros(0, bool)
    refreshes = np.maximum(frames["planned_refreshes"], 1)
    pacer_ms = np.where(frames["pacer_interval_ns"] > 0, frames["pacer_interval_ns"] / 1e6, np.nan)
    if swap_blocks is None:
        swap_blocks = len(frames) > 0 and float((frames["planned_refreshes"] > 0).mean()) > 0.5
    present_ns, is_reported, return_off_ms = _presents(frames)
    reported_ns = present_ns
    interval_ms = since_before(present_ns, joined) / 1e6
    refresh_ms, planned_ms = pacer_ms, pacer_ms
    hint_ms = 1e3 / refresh_hz if refresh_hz else _typical(pacer_ms / refreshes)
    if hint_ms is not None and hint_ms < LEAST_REFRESH_MS:
        hint_ms = None
    if swap_blocks and hint_ms is not None:
        present_ns, period_ms = _on_the_grid(present_ns, joined, hint_ms)
        refresh_ms = np.full(len(frames), period_ms)
        planned_ms = refreshes * period_ms
        present_ns = np.where(is_reported, reported_ns, present_ns)
    fitted_ms = since_before(present_ns, joined) / 1e6
    return Intervals(
        frames,
        joined,
        present_ns,
        interval_ms,
        planned_ms,
        deviation_ms=interval_ms - planned_ms,
        missed=np.maximum(0.0, np.rint((fitted_ms - planned_ms) / refresh_ms)),
        late_ms=np.maximum(0.0, fitted_ms - planned_ms),
        swap_blocks=swap_blocks,
        refresh_hz=1e3 / float(refresh_ms[0]) if swap_blocks and hint_ms is not None and len(frames) else None,
        source=_source(frames, swap_blocks),
        is_reported=is_reported,
        return_off_ms=return_off_ms,
    )


def _presents(frames: FrameTable) -> tuple[NDArray[np.int64], NDArray[np.bool_], Floats]:
    """Returns three arrays: the best known present time (ns) of each frame before any fit; a mask of the frames that
    the display reported; the swap's return minus the display's report (ms)."""
    display_ns = frames["display_present_ns"].astype(np.int64)
    present_ns = frames["present_ns"].astype(np.int64)
    is_reported = display_ns > 0
    if not is_reported.any():
        return present_ns, is_reported, np.full(len(frames), np.nan)
    returned_ns = np.where(frames["swap_end_ns"] > 0, frames["swap_end_ns"], present_ns).astype(np.int64)
    off_ns = np.where(is_reported, returned_ns - display_ns, 0)
    silent_ns = returned_ns - np.int64(np.median(off_ns[is_reported]))
    return np.where(is_reported, display_ns, silent_ns), is_reported, np.where(is_reported, off_ns / 1e6, np.nan)


def _source(frames: FrameTable, swap_blocks: bool) -> str:
    """Source of most present times. A log of an older version has no column for the source. Then the result is "swap",
    or "timer" if swap does not block."""
    if not len(frames):
        return ""
    numbers, counts = np.unique(frames["present_source"], return_counts=True)
    return frames.words.texts[int(numbers[counts.argmax()])] or ("swap" if swap_blocks else "timer")


def low_1_percent_fps(interval_ms: Floats) -> dict[str, float | None]:
    """The "1 % low" fps by each usual definition. `report_keys.LOW_1_PERCENT` explains the names of the definitions."""
    slowest = np.sort(interval_ms[np.isfinite(interval_ms)])[::-1]
    if not len(slowest):
        return dict.fromkeys(LOW_1_PERCENT)
    worst = slowest[: max(1, round(len(slowest) / 100))]
    filled_ms = np.cumsum(slowest)
    within = slowest[: int(np.searchsorted(filled_ms, filled_ms[-1] / 100)) + 1]
    lows = (
        1e3 / np.percentile(slowest, 99),
        1e3 / worst.mean(),
        (1e3 / worst).mean(),
        1e3 / within[-1],
        1e3 / within.mean(),
    )
    return dict(zip(LOW_1_PERCENT, map(float, lows), strict=True))


def since_before(values: NDArray[np.int64], joined: NDArray[np.bool_]) -> Floats:
    """Each value minus the value of the previous frame; NaN if the frame does not directly follow another frame."""
    if not len(values):
        return np.zeros(0)
    return np.where(joined, np.diff(values, prepend=values[:1]), np.nan)


def _on_the_grid(
    returns_ns: NDArray[np.int64], joined: NDArray[np.bool_], hint_ms: float
) -> tuple[NDArray[np.int64], float]:
    """Fits a grid of refreshes to each group of consecutive frames. Returns the instant (ns) of each frame's refresh,
    and the mean refresh period in ms."""
    grids = [fit_grid(returns_ns[a:b], hint_ms * 1e6) for a, b in pairwise([*np.flatnonzero(~joined), len(joined)])]
    measured = [(len(grid.instants_ns), grid.period_ns) for grid in grids if grid.period_ns is not None]
    frames = sum(count for count, _ in measured)
    period_ms = sum(count * period_ns for count, period_ns in measured) / frames / 1e6 if frames else hint_ms
    return np.concatenate([grid.instants_ns for grid in grids]) if grids else returns_ns, period_ms


def _typical(values: Floats) -> float | None:
    return float(np.nanmedian(values)) if np.isfinite(values).any() else None


# Evenness of drawn motion: the simulated time that was drawn is compared with the time that passed on the display.
#
# The animation error of frame i, where j is the previous frame, is
#   (drawn(i) - drawn(j)) / r(i) - (present(i) - present(j))
# The animation error is in ms of display time, so errors that are equally visible have the same value at every time
# scale. r(i) is the rate of physics: the simulated time per second that falls due within half a second before and
# after present(i). r(i) is computed after the run, from the snapshots in the log. Judder of frame i is the change of
# the drawn speed since frame j, divided by r(i). A judder of 1 means that the speed changed by the world's full speed.
#
# Always: a constant delay between present time and visible change has no effect on these figures. Some frames have no
# animation error, and are counted: frames within half a second of a pause, a change of time scale or a reset, where no
# single speed is right, and frames whose r is unknown or below `LEAST_RATE`. Pure. A value that is unknown is NaN.

Mask = NDArray[np.bool_]

HALF_WINDOW_NS = 500_000_000
# Snapshots must cover at least this much (ns) of the window of one second around a present time. If they cover less, r
# would be a guess from few snapshots.
LEAST_COVER_NS = 250_000_000
# Least rate (simulated seconds per wall second) for which an animation error is computed. Slower motion is not visible
# as motion, and a division by a smaller rate would enlarge rounding errors.
LEAST_RATE = 0.01
# If a snapshot was first seen less than this time (ns) after a change of plan, its due instant may still come from the
# previous plan.
STALE_AFTER_CHANGE_NS = 100_000_000


@dataclass(frozen=True)
class DrawnMotion:
    """Drawn motion of a run. Arrays have one element per frame. Times are in ms of display time unless a comment says
    otherwise."""

    drawn: Mask  # True: something was drawn
    running: Mask  # True: this frame and the previous one were drawn, and simulated time could pass between them
    steady: Mask  # running, and no pause, change of time scale or reset is within half a second
    step_ms: Floats  # simulated time that was drawn since the previous frame, in ms of simulated time
    shown_ms: Floats  # step_ms divided by r(i), or by the rate of the snapshots if r(i) is unknown
    ideal_ms: Floats  # time since the previous frame was shown; equal to shown_ms if the motion is even
    error_ms: Floats  # animation error, with sign
    judder: Floats  # change of the drawn speed, with sign, as a share of r(i)
    reversed: Mask  # True: the drawn time went backwards without a reset
    rate: Floats  # r(i), the rate of physics
    changes: int  # number of pauses, changes of time scale and resets
    left_out: int  # number of frames that follow a drawn frame but have no animation error


def motion(timing: Intervals) -> DrawnMotion:
    """Computes the drawn motion and how much it deviates from even motion."""
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
    """Change of the drawn speed since the previous frame, divided by r(i). NaN unless both frames have an error."""
    speed = np.where(np.isfinite(error_ms) & (passed_ms > 0), step_ms, np.nan) / np.where(passed_ms > 0, passed_ms, 1.0)
    return np.diff(speed, prepend=np.nan) / rate


def _near(present_ns: NDArray[np.int64], changes: NDArray[np.intp]) -> Mask:
    """Mask of frames within half a second of a change. changes: indices of the first frames after changes."""
    near = np.zeros(len(present_ns), bool)
    for i in changes:
        near |= (present_ns > present_ns[i - 1] - HALF_WINDOW_NS) & (present_ns < present_ns[i] + HALF_WINDOW_NS)
    return near


def _rates(timing: Intervals, changes: NDArray[np.intp]) -> Floats:
    """Rate of physics r(i) of every frame, from the snapshots between the changes before and after the frame."""
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
    """Map from due instant to simulated time, for the frames from `first` to `end`. Each snapshot that was the newest
    one in some frame gives one point."""
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
