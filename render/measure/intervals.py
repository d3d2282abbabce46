"""How evenly the frames reached the display.

`present` is when swap returned. For everything that compares motion with time, and for missed refreshes,
the grid fitted to the returns is used where swap blocks; the intervals and their deviation are those of the
returns themselves, so that no jitter is smoothed away.

Always: a frame without a frame before it (the first, the one after a refresh probe, the one after frames rested
because nothing moved) has no interval: a rest is in no figure, neither as a long frame nor in the mean fps.
Pure: rows in, arrays out, one place per frame; NaN where there is nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from twixt.render.measure.frames import FrameTable
from twixt.render.measure.grid import fit_grid
from twixt.render.measure.keys import LOW_1_PERCENT

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Intervals:
    """One place per frame that is no probe. ms unless the name says otherwise."""

    frames: FrameTable
    joined: NDArray[np.bool_]  # the row before is the frame before
    present_ns: NDArray[np.int64]
    interval_ms: Floats
    planned_ms: Floats  # n refreshes, or the pacer's interval where the display does not block
    deviation_ms: Floats
    missed: Floats  # refreshes beyond those planned
    late_ms: Floats  # how much longer than planned, never negative
    swap_blocks: bool
    refresh_hz: float | None  # of the grid, where swap blocks


def intervals(table: FrameTable, refresh_hz: float | None = None, swap_blocks: bool | None = None) -> Intervals:
    """What lay between the frames. Not given: whether swap blocks and the refresh are taken from the rows."""
    shown = ~table["probe"]
    frames = table.where(shown)
    joined = np.r_[False, shown[:-1]][shown] & (frames["rested_ns"] == 0) if len(table) else np.zeros(0, bool)
    refreshes = np.maximum(frames["planned_refreshes"], 1)
    pacer_ms = np.where(frames["pacer_interval_ns"] > 0, frames["pacer_interval_ns"] / 1e6, np.nan)
    if swap_blocks is None:
        swap_blocks = len(frames) > 0 and float((frames["planned_refreshes"] > 0).mean()) > 0.5
    present_ns = frames["present_ns"].astype(np.int64)
    interval_ms = since_before(present_ns, joined) / 1e6
    refresh_ms, planned_ms = pacer_ms, pacer_ms
    hint_ms = 1e3 / refresh_hz if refresh_hz else _typical(pacer_ms / refreshes)
    if swap_blocks and hint_ms is not None:
        present_ns, period_ms = _on_the_grid(present_ns, joined, hint_ms)
        refresh_ms = np.full(len(frames), period_ms)
        planned_ms = refreshes * period_ms
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
    )


def low_1_percent_fps(interval_ms: Floats) -> dict[str, float | None]:
    """The usual definitions of "1 % low", by name (`keys.LOW_1_PERCENT` says each in words)."""
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
    """Each value less the one before; NaN where no frame is before."""
    if not len(values):
        return np.zeros(0)
    return np.where(joined, np.diff(values, prepend=values[:1]), np.nan)


def _on_the_grid(
    returns_ns: NDArray[np.int64], joined: NDArray[np.bool_], hint_ms: float
) -> tuple[NDArray[np.int64], float]:
    """The refresh of each frame, and the mean refresh in ms, over the stretches of frames in a row."""
    grids = [fit_grid(returns_ns[a:b], hint_ms * 1e6) for a, b in pairwise([*np.flatnonzero(~joined), len(joined)])]
    measured = [(len(grid.instants_ns), grid.period_ns) for grid in grids if grid.period_ns is not None]
    frames = sum(count for count, _ in measured)
    period_ms = sum(count * period_ns for count, period_ns in measured) / frames / 1e6 if frames else hint_ms
    return np.concatenate([grid.instants_ns for grid in grids]) if grids else returns_ns, period_ms


def _typical(values: Floats) -> float | None:
    return float(np.nanmedian(values)) if np.isfinite(values).any() else None
