"""Evenness of a body that crosses the screen at constant speed, from the pictures that an observer saw. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# A step of more than this many times the median is a cut, as is a step backwards: the body begins its next crossing.
CUT = 20.0


class Pictures(NamedTuple):
    """Pictures of one stretch of time. seen_ns: instant at which each was first seen. x_px: column of the body in it."""

    seen_ns: NDArray[np.int64]
    x_px: NDArray[np.float64]

    def between(self, begin_ns: int, end_ns: int) -> Pictures:
        """The pictures that were first seen between two instants."""
        inside = (self.seen_ns > begin_ns) & (self.seen_ns < end_ns)
        return Pictures(self.seen_ns[inside], self.x_px[inside])


def screen_figures(stretches: Sequence[Pictures]) -> dict[str, Any] | None:
    """Figures of the pictures of all stretches together. None if there are no steps.

    The error of a picture is (x - x before) / speed - (seen - seen before), in ms, without the cuts. The speed is that
    of all steps together. reversals: steps backwards that are no cut.
    """
    step_px = np.concatenate([np.diff(each.x_px) for each in stretches])
    interval_ms = np.concatenate([np.diff(each.seen_ns) / 1e6 for each in stretches])
    if not len(step_px):
        return None
    usual_px = float(np.median(step_px))
    is_cut = (np.abs(step_px) > CUT * abs(usual_px)) | ~np.isfinite(step_px)
    step_px, interval_ms = step_px[~is_cut], interval_ms[~is_cut]
    if not len(step_px) or step_px.sum() <= 0:
        return None
    speed = step_px.sum() / interval_ms.sum()
    error_ms = np.abs(step_px / speed - interval_ms)
    return {
        "pictures": sum(len(each.seen_ns) for each in stretches),
        "speed_px_s": speed * 1e3,
        "interval_p1_ms": float(np.percentile(interval_ms, 1)),
        "interval_p99_ms": float(np.percentile(interval_ms, 99)),
        "error_p50_ms": float(np.median(error_ms)),
        "error_p99_ms": float(np.percentile(error_ms, 99)),
        "reversals": int((step_px < 0).sum()),
    }
