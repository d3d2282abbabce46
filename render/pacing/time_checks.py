"""Checks reported times: makes them increase, tells a jump of the clock from a long frame. Pure.

Policies count on times that grow. A clock that is set back, or a process that was suspended, gives others. So a
policy's own times are the caller's plus an offset, which a jump changes.
"""

from __future__ import annotations

import math

from twixt.render.pacing.policy import FrameTimes

# A refresh outside is none of a display (10 to 650 Hz).
SHORTEST_REFRESH_NS, LONGEST_REFRESH_NS = 1_540_000, 100_000_000
# Between two calls no more passes: a suspended machine, or another clock.
LONGEST_STEP_NS = 60_000_000_000
# A step back so small is one of many readings of the same instant.
SMALLEST_BACK_NS = 1_000_000_000
# The display's word comes so late at most, and never from so far ahead.
OLDEST_WORD_NS, AHEAD_NS = 2_000_000_000, 500_000_000


def sane_length_ns(length_ns: float | None) -> int | None:
    """A length that can be a refresh, else None."""
    if length_ns is None or not math.isfinite(length_ns):
        return None
    return round(length_ns) if SHORTEST_REFRESH_NS <= length_ns <= LONGEST_REFRESH_NS else None


class PacerClock:
    """jumped: the last `now` was no continuation of the times before it."""

    def __init__(self) -> None:
        self.jumped = False
        self._last_ns: int | None = None  # of the policies
        self._offset_ns = 0

    def now(self, instant_ns: int) -> int:
        """Instant of a call, for the policies. Sets `jumped`."""
        instant_ns = _whole(instant_ns)
        self.jumped = False
        at_ns = instant_ns + self._offset_ns
        if self._last_ns is None:
            self._last_ns = at_ns
        step_ns = at_ns - self._last_ns
        if step_ns > LONGEST_STEP_NS or step_ns < -SMALLEST_BACK_NS:
            self.jumped = True
            self._offset_ns = self._last_ns - instant_ns
            at_ns = self._last_ns
        self._last_ns = max(at_ns, self._last_ns)
        return self._last_ns

    def within(self, instant_ns: int) -> int:
        """An instant of the frame that is being made: after the last, and not by a jump."""
        last_ns = self._last_ns if self._last_ns is not None else self.now(instant_ns)
        at_ns = _whole(instant_ns) + self._offset_ns
        if not last_ns <= at_ns <= last_ns + LONGEST_STEP_NS:
            return last_ns
        return at_ns

    def times(self, times: FrameTimes) -> FrameTimes:
        """Times of one frame for the policies, each no earlier than the one before it."""
        start_ns = self.within(times.start_ns)
        latch_ns = max(start_ns, self.within(times.latch_ns))
        work_end_ns = max(latch_ns, self.within(times.work_end_ns))
        swap_begin_ns = max(work_end_ns, self.within(times.swap_begin_ns))
        swap_end_ns = max(swap_begin_ns, self.within(times.swap_end_ns))
        presented_ns = None
        if times.presented_ns is not None:
            presented_ns = max(swap_begin_ns, self.within(times.presented_ns))
        self._last_ns = max(swap_end_ns, presented_ns or 0)
        return FrameTimes(start_ns, latch_ns, work_end_ns, swap_begin_ns, swap_end_ns, presented_ns)

    def recent(self, instant_ns: int) -> int | None:
        """An instant that the display gave, if it can be one of a frame just shown."""
        at_ns = _whole(instant_ns) + self._offset_ns
        if self._last_ns is None or not -OLDEST_WORD_NS <= at_ns - self._last_ns <= AHEAD_NS:
            return None
        return at_ns

    def back(self, at_ns: int) -> int:
        """Instant of a policy, for the caller."""
        return at_ns - self._offset_ns


def _whole(instant_ns: float) -> int:
    if isinstance(instant_ns, int):
        return instant_ns
    return round(instant_ns) if math.isfinite(instant_ns) else 0
