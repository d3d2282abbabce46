"""Which swaps wait for the display, where they are not expected to. Pure.

A swap that is held up comes back at any instant; one that waits comes back whole refreshes after another that did.

Where frames are placed by the timer, all come back regularly: there a swap that only takes its time (a big picture
copied) takes the same time wherever it is called; one that waits comes back at points of a grid, however long that
takes. So: long swaps of very different lengths whose returns are whole refreshes apart.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise

from twixt.render.pacing.period import longest_common
from twixt.render.pacing.policy import BLOCKING
from twixt.render.recent import median

# A swap that takes longer waits for something.
WAITED_NS = 1_000_000
# Judged on so many frames, each time as many have passed.
FRAMES = 40
# A swap that waits takes longer than this, most of them; and their lengths differ by this share of the interval.
LONG_NS, LONG_SHARE, SPREAD_SHARE = 1_500_000, 0.75, 0.3
# Of the intervals between returns, this share are whole refreshes within a twelfth of one.
REGULAR_SHARE, REGULAR_WITHIN = 0.9, 0.08

# Two returns that waited are whole refreshes apart within this share of one; of the last swaps, so many such make a
# queue, if they are this share of those that took long. It is none where none waited though drawing took less than this
# share of a refresh: longer work drains a queue.
APART_WITHIN, LAST_SWAPS, QUEUE_WAITS, QUEUE_SHARE = 0.08, 16, 4, 0.5
DRAINS_SHARE = 0.9
# Drawing that starts later and is shorter by that waits itself, as none does in a queue: so many of the last tries.
LAST_TRIES, SHORTER_TRIES = 6, 5
# Refreshes after which the drift of a guessed period hides whether two returns are whole refreshes apart.
MOST_APART = 20


class RegularWaits:
    """Of swaps that return before their own frame is seen. queues: whether they wait for earlier ones."""

    def __init__(self, queues: bool = False) -> None:
        self.queues = queues
        self.is_in_doubt = False  # hardly any of the last swaps waited
        self.in_a_row_ns: int | None = None  # between the last two returns that waited, of frames in a row
        self._regular: deque[bool] = deque(maxlen=LAST_SWAPS)
        self._waited: deque[bool] = deque(maxlen=LAST_SWAPS)
        self._works_ns: deque[int] = deque(maxlen=LAST_SWAPS)
        self._tries: deque[bool] = deque(maxlen=LAST_TRIES)
        self._last_ns: int | None = None

    def frame(self, work_ns: int, begin_ns: int, returned_ns: int, period_ns: int) -> bool:
        """One swap of a frame that was not held back. Whether it waited for the display, as far as the returns before it
        tell."""
        waited = returned_ns - begin_ns > WAITED_NS
        regular = False
        self.in_a_row_ns = None
        if waited:
            if self._last_ns is not None:
                apart = (returned_ns - self._last_ns) / period_ns
                regular = 0.5 < apart < MOST_APART and abs(apart - round(apart)) <= APART_WITHIN
                if self._waited and self._waited[-1]:
                    self.in_a_row_ns = returned_ns - self._last_ns
            self._last_ns = returned_ns
        self._waited.append(waited)
        self._regular.append(regular)
        self._works_ns.append(work_ns)
        self.is_in_doubt = len(self._waited) == LAST_SWAPS and sum(self._regular) < QUEUE_WAITS
        if QUEUE_WAITS <= sum(self._regular) >= QUEUE_SHARE * sum(self._waited):
            self.queues = True
        elif self.is_in_doubt and not any(self._waited) and median(self._works_ns) < DRAINS_SHARE * period_ns:
            self.queues = False
        return regular

    def tried(self, is_shorter: bool) -> None:
        """A frame started a little later. Whether its drawing was shorter by that."""
        self._tries.append(is_shorter)
        if sum(self._tries) >= SHORTER_TRIES:
            self.queues = False
            self._tries.clear()

    def restart(self) -> None:
        """Swaps stopped for a while."""
        self._last_ns = None
        self._waited.clear()


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
