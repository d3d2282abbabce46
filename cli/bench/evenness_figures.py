"""How even the picture of one run was, from its frame log, and of several runs: their median and the worst.

Always: versions are compared by one definition, ours, whatever their own reports say. A figure that was not measured is
None and counts in no median; a run without frames has no figures at all.
Pure: rows in, figures out.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from twixt.render.measure.frames import FrameTable
from twixt.render.measure.intervals import intervals
from twixt.render.measure.motion import motion

# An animation error that an eye may notice, in ms of display time.
NOTICED_MS = 2.0


@dataclass(frozen=True)
class Evenness:
    """One run. frames: shown after the start. off_percent: of the frames that have an animation error, those with more
    than `NOTICED_MS`."""

    frames: int
    fps: float | None
    error_p50_ms: float | None
    error_p99_ms: float | None
    off_percent: float | None
    missed_per_minute: float | None


@dataclass(frozen=True)
class Several:
    """A figure of several runs. runs: that have it."""

    median: float | None
    worst: float | None
    runs: int


FIGURES = tuple(item.name for item in fields(Evenness) if item.name != "frames")
# Of these more is better.
MORE_IS_BETTER = ("fps",)


def evenness(table: FrameTable) -> Evenness:
    """Of one run's frame log."""
    timing = intervals(table)
    moved = motion(timing)
    seconds = float(np.nansum(timing.interval_ms)) / 1e3 if len(timing.frames) else 0.0
    errors = np.abs(moved.error_ms[np.isfinite(moved.error_ms)])
    p50, p99 = np.percentile(errors, (50, 99)) if len(errors) else (None, None)
    planned = np.isfinite(timing.planned_ms) & timing.joined
    return Evenness(
        frames=len(timing.frames),
        fps=_known(timing.joined.sum() / seconds) if seconds > 0 else None,
        error_p50_ms=_known(p50),
        error_p99_ms=_known(p99),
        off_percent=_known(100 * (errors > NOTICED_MS).mean()) if len(errors) else None,
        missed_per_minute=_known(np.nansum(timing.missed) * 60 / seconds) if seconds > 0 and planned.any() else None,
    )


def several(runs: Sequence[Evenness]) -> dict[str, Several]:
    """The figures of several runs, by name."""
    found = {}
    for name in FIGURES:
        values = [value for run in runs if (value := getattr(run, name)) is not None and math.isfinite(value)]
        worst = min if name in MORE_IS_BETTER else max
        found[name] = Several(
            statistics.median(values) if values else None, worst(values) if values else None, len(values)
        )
    return found


def _known(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
