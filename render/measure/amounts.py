"""Texts of times and rates, with the unit in which the number is readable.

Always: a text has three significant digits, or two decimals below 10. A value that is not finite is "-".
"""

from __future__ import annotations

import math

# Units of time in ms, the largest first, and the smallest number of each that is shown in this unit.
UNITS = (
    ("years", 365.25 * 86_400_000.0, 2.0),
    ("days", 86_400_000.0, 2.0),
    ("h", 3_600_000.0, 2.0),
    ("min", 60_000.0, 2.0),
    ("s", 1_000.0, 1.0),
    ("ms", 1.0, 1.0),
    ("µs", 1e-3, 1.0),
    ("ns", 1e-6, 0.0),
)
# Rates in this range are shown as multiples of real time. Other rates are shown as simulated time per second.
LEAST_RATE, MOST_RATE = 0.01, 1000.0
UNKNOWN = "-"


def time_text(ms: float) -> str:
    """Text of a duration, such as "850 ns", "16.7 ms" or "28.8 days". ms: duration in milliseconds."""
    if not math.isfinite(ms):
        return UNKNOWN
    size = float(f"{abs(ms):.3g}")
    if not size:
        return "0 ms"
    unit, length_ms, _ = next(unit for unit in UNITS if size >= unit[1] * unit[2])
    return f"{'-' if ms < 0 else ''}{number_text(size / length_ms)} {unit}"


def rate_text(rate: float) -> str:
    """Text of a rate in simulated seconds per wall second, such as "0.40 x real time" or "28.8 days/s"."""
    if rate and not LEAST_RATE <= abs(rate) < MOST_RATE:
        return f"{time_text(rate * 1e3)}/s" if math.isfinite(rate) else UNKNOWN
    return f"{number_text(rate)} x real time"


def number_text(number: float) -> str:
    """Text of a number with three significant digits, or two decimals below 10."""
    digits = 2 if abs(number) < 9.995 else 1 if abs(number) < 99.95 else 0
    return f"{number:.{digits}f}"
