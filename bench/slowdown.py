"""Slowdown of a watched loop, computed from turns with the viewer stopped and turns with the viewer running.

A turn is compared with the turns right before and after it, so that drift (clocks, other programs, the loop's own
work) cancels out. The figure is the median over the turns, with a bootstrap interval and the worst turn.

Pure. Always: an unknown figure is None.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.render.measure.evenness import intervals, motion
from twixt.render.measure.frame_rows import FrameTable

# Number of bootstrap resamples, and the share of them that lies inside the interval.
RESAMPLES, INTERVAL_SHARE = 2000, 0.95


class LoopTurn(NamedTuple):
    """One turn of the loop. watched: True if the viewer was running."""

    watched: bool
    begin_ns: int
    end_ns: int
    steps: int

    @property
    def step_us(self) -> float:
        """Mean duration of a step, us."""
        return (self.end_ns - self.begin_ns) / 1e3 / max(1, self.steps)


class Slowdown(NamedTuple):
    """Slowdown in percent of the duration of a step with the viewer stopped. low, high: interval of the median."""

    median: float
    low: float
    high: float
    worst: float
    pairs: int


class WatchedFrames(NamedTuple):
    """Frames shown in the watched turns."""

    fps: float | None
    error_p99_ms: float | None


def slowdown(turns: list[LoopTurn], seed: int = 0) -> Slowdown | None:
    """Slowdown of the watched turns, each relative to the mean of its two unwatched neighbours. None if no watched
    turn has two such neighbours."""
    ratios = np.array(
        [
            2 * turn.step_us / (before.step_us + after.step_us) - 1
            for before, turn, after in zip(turns, turns[1:], turns[2:], strict=False)
            if turn.watched and not before.watched and not after.watched
        ]
    )
    if not len(ratios):
        return None
    picks = np.random.default_rng(seed).integers(0, len(ratios), (RESAMPLES, len(ratios)))
    medians = np.median(ratios[picks], axis=1)
    low, high = np.quantile(medians, [(1 - INTERVAL_SHARE) / 2, (1 + INTERVAL_SHARE) / 2])
    median, worst = np.median(ratios), ratios.max()
    return Slowdown(100 * float(median), 100 * float(low), 100 * float(high), 100 * float(worst), len(ratios))


def step_us(turns: list[LoopTurn], watched: bool) -> float | None:
    """Median duration of a step, us, in the watched turns (`watched` True) or in the others."""
    return float(np.median([t.step_us for t in turns if t.watched == watched] or [np.nan])) if turns else None


def watched_frames(frames: FrameTable, turns: list[LoopTurn]) -> WatchedFrames:
    """Frames a second and p99 of the animation error, in ms of display time, over the watched turns."""
    shown, seconds = 0, 0.0
    errors: list[NDArray[np.float64]] = []
    for turn in turns:
        if not turn.watched:
            continue
        present_ns = frames["present_ns"]
        part = frames.where((present_ns >= turn.begin_ns) & (present_ns < turn.end_ns))
        shown, seconds = shown + len(part), seconds + (turn.end_ns - turn.begin_ns) / 1e9
        if len(part) > 1:
            errors.append(_errors_ms(part))
    every = np.concatenate(errors) if errors else np.zeros(0)
    every = every[np.isfinite(every)]
    return WatchedFrames(shown / seconds if seconds else None, float(np.quantile(every, 0.99)) if len(every) else None)


def _errors_ms(part: FrameTable) -> NDArray[np.float64]:
    timing = intervals(part)
    moved = motion(timing)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: NDArray[np.float64] = np.abs(moved.step_ms / moved.rate - timing.interval_ms)
    return found
