"""When the display really changed, from when swap returned.

Where swap blocks, the display changes at nearly equal instants; the returns follow them with jitter, now
and then very late because the process was not woken. Each return is given its refresh number, and the
instants are a local straight line through about half a second of returns, robust against single late ones
(locally weighted regression with bisquare weights, Cleveland 1979). Displays whose timer wanders are followed.

Always: the answer grows with the frames. A constant distance between return and glass stays in it.
Pure: instants in, instants out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Returns on either side in a local fit: 0.25 s at 60 Hz. Fewer follow the jitter, more miss a wandering timer.
REACH = 15
ROUNDS = 3  # of reweighting; further ones change nothing
FEWEST = 8  # returns in a piece worth fitting; fewer stay as measured
# Spread below which a return counts as on the line, so that exact returns do not divide by zero.
LEAST_SPREAD_NS = 10_000.0
PHASE_GAIN = 0.2  # how much of a return's error moves the running phase while refreshes are counted
LOOK_AHEAD = 2  # returns after a late one that show that it was late, and not a refresh further
BLOCK = 4096  # frames fitted at once: bounds the memory


def count_refreshes(returns_ns: NDArray[np.int64], period_ns: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The refresh number of each return, and the number of the piece it belongs to.

    A late return followed by an early one counts one refresh each. A return far before its time (swap did
    not block) begins a new piece.
    """
    numbers = np.zeros(len(returns_ns), np.int64)
    pieces = np.zeros(len(returns_ns), np.int64)
    number = piece = 0
    on_time_ns = _made_good(returns_ns, period_ns).tolist()
    phase_ns = on_time_ns[0] if on_time_ns else 0.0
    for i, return_ns in enumerate(on_time_ns):
        if i:
            passed = max(1, round((return_ns - phase_ns) / period_ns))
            number += passed
            phase_ns += passed * period_ns
            error_ns = return_ns - phase_ns
            if error_ns < -0.75 * period_ns:
                piece += 1
                phase_ns = return_ns
            else:
                phase_ns += PHASE_GAIN * min(max(error_ns, -period_ns / 4), period_ns / 4)
        numbers[i], pieces[i] = number, piece
    return numbers, pieces


def _made_good(returns_ns: NDArray[np.int64], period_ns: float) -> NDArray[np.float64]:
    """The returns without the lateness that the next ones made good: each of them took a refresh of its own."""
    least = returns_ns.astype(np.float64)
    for ahead in range(1, LOOK_AHEAD + 1):
        least[:-ahead] = np.minimum(least[:-ahead], returns_ns[ahead:] - ahead * period_ns)
    return least


class Grid(NamedTuple):
    """instants_ns: of each frame's refresh. period_ns: mean over the frames, None where there were too few."""

    instants_ns: NDArray[np.int64]
    period_ns: float | None


def fit_grid(returns_ns: NDArray[np.int64], period_hint_ns: float) -> Grid:
    """The refreshes behind the returns of frames in a row. period_hint_ns: right within 10 %."""
    numbers, pieces = count_refreshes(returns_ns, period_hint_ns)
    fitted = returns_ns.copy()
    time_ns = refreshes = 0
    for piece in np.unique(pieces):
        chosen = np.flatnonzero(pieces == piece)
        if len(chosen) >= FEWEST:
            fitted[chosen] = _fit_piece(returns_ns[chosen], numbers[chosen])
            time_ns += int(fitted[chosen[-1]] - fitted[chosen[0]])
            refreshes += int(numbers[chosen[-1]] - numbers[chosen[0]])
    return Grid(np.maximum.accumulate(fitted), time_ns / refreshes if refreshes else None)


def _fit_piece(returns_ns: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    fitted = np.empty_like(returns_ns)
    count = len(returns_ns)
    reach = min(REACH, (count - 1) // 2)
    for first in range(0, count, BLOCK):
        here = np.arange(first, min(first + BLOCK, count))
        # at the ends the window stays inside and is no longer centred
        at = np.clip(here, reach, count - 1 - reach)[:, None] + np.arange(-reach, reach + 1)
        x = (numbers[at] - numbers[here][:, None]).astype(float)
        y = (returns_ns[at] - returns_ns[here][:, None]).astype(float)
        distance = np.abs(at - here[:, None])
        near = (1 - (distance / (distance.max(1, keepdims=True) + 1)) ** 3) ** 3
        weight = near
        for _ in range(ROUNDS):
            level, slope = _line(x, y, weight)
            off = np.abs(y - level[:, None] - slope[:, None] * x)
            spread = np.maximum(np.median(off, axis=1, keepdims=True), LEAST_SPREAD_NS)
            weight = near * np.maximum(0.0, 1 - (off / (6 * spread)) ** 2) ** 2
        level, _ = _line(x, y, weight)
        fitted[here] = returns_ns[here] + np.rint(level).astype(np.int64)
    return fitted


def _line(
    x: NDArray[np.float64], y: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Level at x = 0 and slope of each row's weighted straight line."""
    total = weight.sum(1)
    mean_x = (weight * x).sum(1) / total
    mean_y = (weight * y).sum(1) / total
    spread = (weight * (x - mean_x[:, None]) ** 2).sum(1)
    together = (weight * (x - mean_x[:, None]) * (y - mean_y[:, None])).sum(1)
    slope = np.divide(together, spread, out=np.zeros_like(spread), where=spread > 0)
    return mean_y - slope * mean_x, slope
