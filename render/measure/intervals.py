"""Evenness of the frames on the display.

`present` of a frame is the best instant known: the display's own word; else the return of the fence or of the swap,
on the grid fitted to these returns where they wait for the display. Where the display spoke of most frames, the
others' returns are moved by the median distance between its words and the returns. Intervals and their deviation
are those of the words and returns themselves, so that no jitter is smoothed away.

Always: a frame without a frame before it (the first, the one after a refresh probe, the one after frames rested
because nothing moved) has no interval: a rest is in no figure, neither as a long frame nor in the mean fps. Frames that
the display discarded are in no figure: nobody saw them.
Pure: rows in, arrays out, one place per frame; NaN where there is nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from twixt.render.display.presentation import DISCARDED
from twixt.render.measure.frames import FrameTable
from twixt.render.measure.grid import fit_grid
from twixt.render.measure.keys import LOW_1_PERCENT

Floats = NDArray[np.float64]

# No display is faster. A shorter refresh, of a log that was changed, has no grid: its numbers need not fit 64 bits.
LEAST_REFRESH_MS = 1e-3


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
    source: str  # display | fence | swap | timer: where most presents are from; empty: there are no frames
    spoken: NDArray[np.bool_]  # the display said when this frame was shown
    return_off_ms: Floats  # the swap's return less the display's word; NaN where it did not speak


def intervals(table: FrameTable, refresh_hz: float | None = None, swap_blocks: bool | None = None) -> Intervals:
    """What lay between the frames. Not given: whether swap blocks and the refresh are taken from the rows."""
    table = table.where(~table.is_text("present_flags", DISCARDED))
    shown = ~table["probe"]
    frames = table.where(shown)
    joined = np.r_[False, shown[:-1]][shown] & (frames["rested_ns"] == 0) if len(table) else np.zeros(0, bool)
    refreshes = np.maximum(frames["planned_refreshes"], 1)
    pacer_ms = np.where(frames["pacer_interval_ns"] > 0, frames["pacer_interval_ns"] / 1e6, np.nan)
    if swap_blocks is None:
        swap_blocks = len(frames) > 0 and float((frames["planned_refreshes"] > 0).mean()) > 0.5
    present_ns, spoken, return_off_ms = _presents(frames)
    words_ns = present_ns
    interval_ms = since_before(present_ns, joined) / 1e6
    refresh_ms, planned_ms = pacer_ms, pacer_ms
    hint_ms = 1e3 / refresh_hz if refresh_hz else _typical(pacer_ms / refreshes)
    if hint_ms is not None and hint_ms < LEAST_REFRESH_MS:
        hint_ms = None
    if swap_blocks and hint_ms is not None:
        present_ns, period_ms = _on_the_grid(present_ns, joined, hint_ms)
        refresh_ms = np.full(len(frames), period_ms)
        planned_ms = refreshes * period_ms
        present_ns = np.where(spoken, words_ns, present_ns)
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
        spoken=spoken,
        return_off_ms=return_off_ms,
    )


def _presents(frames: FrameTable) -> tuple[NDArray[np.int64], NDArray[np.bool_], Floats]:
    """The best instant of each frame, before any fit; where the display spoke; how far off the swap's return was."""
    said_ns = frames["display_present_ns"].astype(np.int64)
    present_ns = frames["present_ns"].astype(np.int64)
    spoken = said_ns > 0
    if not spoken.any():
        return present_ns, spoken, np.full(len(frames), np.nan)
    returned_ns = np.where(frames["swap_end_ns"] > 0, frames["swap_end_ns"], present_ns).astype(np.int64)
    off_ns = np.where(spoken, returned_ns - said_ns, 0)
    silent_ns = returned_ns - np.int64(np.median(off_ns[spoken]))
    return np.where(spoken, said_ns, silent_ns), spoken, np.where(spoken, off_ns / 1e6, np.nan)


def _source(frames: FrameTable, swap_blocks: bool) -> str:
    """As most rows say. An older log does not: there it is the swap's return, or the timer's where that never waits."""
    if not len(frames):
        return ""
    numbers, counts = np.unique(frames["present_source"], return_counts=True)
    return frames.words.texts[int(numbers[counts.argmax()])] or ("swap" if swap_blocks else "timer")


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
