"""How much slower a loop is while it is watched: figures of turns with the viewer stopped and running.

One idea: a turn is held against those right before and after it, so that what drifts (clocks, other programs, the
loop's own work) cancels out. The median over the turns is the figure, a bootstrap says how sure it is, and the worst
turn stands beside it.

Pure: turns in, figures out. Always: what cannot be said is None.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.render.measure.frames import FrameTable
from twixt.render.measure.intervals import intervals
from twixt.render.measure.motion import motion

# Resamples of the bootstrap, and the share of them that the interval holds.
RESAMPLES, HELD = 2000, 0.95


class Turn(NamedTuple):
    """A stretch of the loop. watched: the viewer was running."""

    watched: bool
    begin_ns: int
    end_ns: int
    steps: int

    @property
    def step_us(self) -> float:
        return (self.end_ns - self.begin_ns) / 1e3 / max(1, self.steps)


class Slowdown(NamedTuple):
    """In percent of the time of a step with the viewer stopped."""

    median: float
    low: float
    high: float
    worst: float
    pairs: int


class Picture(NamedTuple):
    """What was shown in the turns in which the viewer ran."""

    fps: float | None
    error_p99_ms: float | None


def slowdown(turns: list[Turn], seed: int = 0) -> Slowdown | None:
    """Each watched turn against the mean of its two neighbours; None without a whole pair."""
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
    low, high = np.quantile(medians, [(1 - HELD) / 2, (1 + HELD) / 2])
    median, worst = np.median(ratios), ratios.max()
    return Slowdown(100 * float(median), 100 * float(low), 100 * float(high), 100 * float(worst), len(ratios))


def step_us(turns: list[Turn], watched: bool) -> float | None:
    """Median time of a step in the turns of that kind."""
    return float(np.median([t.step_us for t in turns if t.watched == watched] or [np.nan])) if turns else None


def picture(frames: FrameTable, turns: list[Turn]) -> Picture:
    """Frames a second, and the animation error's p99 in ms of display time, over the watched turns."""
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
    return Picture(shown / seconds if seconds else None, float(np.quantile(every, 0.99)) if len(every) else None)


def _errors_ms(part: FrameTable) -> NDArray[np.float64]:
    timing = intervals(part)
    moved = motion(timing)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: NDArray[np.float64] = np.abs(moved.step_ms / moved.rate - timing.interval_ms)
    return found


def as_json(what: tuple[Any, ...] | None) -> dict[str, Any] | None:
    """Its fields by name."""
    return None if what is None else what._asdict()  # type: ignore[attr-defined]
