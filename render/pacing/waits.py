"""Whether swaps wait for a display though frames are placed by the timer. Pure.

A swap that only takes its time (a big picture copied) takes the same time wherever it is called; one that waits comes
back at points of a grid, however long that takes. So: long swaps of very different lengths whose returns are whole
refreshes apart.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise

from twixt.render.pacing.period import longest_common
from twixt.render.pacing.policy import BLOCKING

# Judged on so many frames, each time as many have passed.
FRAMES = 40
# A swap that waits takes longer than this, most of them; and their lengths differ by this share of the interval.
LONG_NS, LONG_SHARE, SPREAD_SHARE = 1_500_000, 0.75, 0.3
# Of the intervals between returns, this share are whole refreshes within a twelfth of one.
REGULAR_SHARE, REGULAR_WITHIN = 0.9, 0.08


class Waits:
    """period_ns: of the display found."""

    def __init__(self) -> None:
        self.period_ns: int | None = None
        self._swaps_ns: deque[int] = deque(maxlen=FRAMES)
        self._ends_ns: deque[int] = deque(maxlen=FRAMES)
        self._fresh = 0

    def frame(self, begin_ns: int, end_ns: int, interval_ns: int) -> str | None:
        """One swap; the kind of display that the last ones show, if it is one that blocks."""
        self._swaps_ns.append(end_ns - begin_ns)
        self._ends_ns.append(end_ns)
        self._fresh += 1
        if self._fresh < FRAMES:
            return None
        self._fresh = 0
        swaps = sorted(self._swaps_ns)
        long = sum(ns > LONG_NS for ns in swaps)
        spread_ns = swaps[int(0.9 * FRAMES)] - swaps[int(0.1 * FRAMES)]
        if long < LONG_SHARE * FRAMES or spread_ns < SPREAD_SHARE * interval_ns:
            return None
        intervals = [b - a for a, b in pairwise(self._ends_ns)]
        self.period_ns = longest_common(intervals, REGULAR_WITHIN, REGULAR_SHARE)
        return BLOCKING if self.period_ns else None
