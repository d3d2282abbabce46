"""This module computes quantiles of a list of measured values, and of a window with the latest values.

A percentile of a list is interpolated linearly between the sorted values. This is numpy's default (Hyndman and Fan
1996, type 7). A window stores its values in two lists: in order of arrival, and sorted by size. So a new value takes
two binary searches, and a quantile is read by its index (nearest rank).

Always: a distribution has five keys. If there is no measured value, the value of each key is None, never 0.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable

import numpy as np

Distribution = dict[str, float | None]


def distribution(values: Iterable[float]) -> Distribution:
    """Returns mean, p50, p90, p99 and max of `values`, in the unit of `values`. Values that are not finite are
    ignored."""
    measured = np.fromiter(values, np.float64)
    measured = measured[np.isfinite(measured)]
    if not len(measured):
        return dict.fromkeys(("mean", "p50", "p90", "p99", "max"))
    with np.errstate(over="ignore"):  # the sum of very large values may overflow
        p50, p90, p99, largest = np.percentile(measured, (50, 90, 99, 100))
        mean = measured.mean()
    return {
        "mean": float(mean),
        "p50": float(p50),
        "p90": float(p90),
        "p99": float(p99),
        "max": float(largest),
    }


def median(values: Iterable[float]) -> float:
    """Returns the median of one or more values. This function replaces `statistics.median`, because the import of
    `statistics` adds 5 ms to the start."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


class QuantileWindow:
    """Quantiles of the last `size` values that were added."""

    def __init__(self, size: int) -> None:
        self._values: deque[int] = deque(maxlen=size)
        self._ordered: list[int] = []

    def __len__(self) -> int:
        return len(self._values)

    def add(self, value: int) -> None:
        """Adds a value. If the window is full, its oldest value is removed."""
        values, ordered = self._values, self._ordered
        if len(values) == values.maxlen:
            del ordered[bisect_left(ordered, values[0])]
        values.append(value)
        insort(ordered, value)

    def clear(self) -> None:
        self._values.clear()
        self._ordered.clear()

    def quantile(self, share: float, unknown: int = 0) -> int:
        """Returns the smallest value v in the window such that enough values of the window are <= v. At least the
        fraction `share` (0 to 1) of all values is enough. Returns `unknown` if the window is empty."""
        ordered = self._ordered
        if not ordered:
            return unknown
        return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]
