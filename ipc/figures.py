"""The `{}` of the report: how a list of measured values is spread.

Pure. Percentiles interpolate linearly between the sorted values (numpy's default, Hyndman and Fan 1996,
type 7). Always: five keys; every value None where nothing was measured, never 0 for it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

Distribution = dict[str, float | None]


def distribution(values: Iterable[float]) -> Distribution:
    """mean, p50, p90, p99 and max of `values`, in their unit. Values that are not finite are left out."""
    measured = np.fromiter(values, np.float64)
    measured = measured[np.isfinite(measured)]
    if not len(measured):
        return dict.fromkeys(("mean", "p50", "p90", "p99", "max"))
    with np.errstate(over="ignore"):  # the sum of values that are close to the largest number
        p50, p90, p99, largest = np.percentile(measured, (50, 90, 99, 100))
        mean = measured.mean()
    return {
        "mean": float(mean),
        "p50": float(p50),
        "p90": float(p90),
        "p99": float(p99),
        "max": float(largest),
    }
