"""Evenness of a body that crosses the screen at constant speed, from the pictures that an observer saw. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# A step of more than this many times the median is a cut, as is a step backwards: the body begins its next crossing.
CUT = 20.0


def screen_figures(seen_ns: NDArray[np.int64], x_px: NDArray[np.float64]) -> dict[str, Any] | None:
    """Figures of the pictures between two instants. seen_ns: instant at which each picture was first seen. x_px: column
    of the body in it. None if there are fewer than three pictures.

    The error of a picture is (x - x before) / speed - (seen - seen before), in ms, without the cuts. The speed is that
    of all steps together. reversals: steps backwards that are no cut.
    """
    if len(seen_ns) < 3:
        return None
    step_px, interval_ms = np.diff(x_px), np.diff(seen_ns) / 1e6
    usual_px = float(np.median(step_px))
    is_cut = (np.abs(step_px) > CUT * abs(usual_px)) | ~np.isfinite(step_px)
    step_px, interval_ms = step_px[~is_cut], interval_ms[~is_cut]
    if not len(step_px) or step_px.sum() <= 0:
        return None
    speed = step_px.sum() / interval_ms.sum()
    error_ms = np.abs(step_px / speed - interval_ms)
    return {
        "pictures": len(seen_ns),
        "speed_px_s": speed * 1e3,
        "interval_p1_ms": float(np.percentile(interval_ms, 1)),
        "interval_p99_ms": float(np.percentile(interval_ms, 99)),
        "error_p50_ms": float(np.median(error_ms)),
        "error_p99_ms": float(np.percentile(error_ms, 99)),
        "reversals": int((step_px < 0).sum()),
    }
