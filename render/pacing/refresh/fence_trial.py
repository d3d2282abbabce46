"""Trial of fences after the swap as present times: tried, kept, or given up where they tell nothing.

The one idea: it is not known beforehand what a driver's fence waits for, so it is tried where swaps come back at once,
kept where it waits, and given up where it does not, or where what was planned by it came out wrong. Tried again ever
more rarely.

Always: one trial for one window; the window reports swaps and fences to it, the pacer outcomes. Pure: instants in.
"""

from __future__ import annotations

# A fence waits no longer: a refresh at 20 Hz.
LONGEST_FENCE_NS = 50_000_000
# A swap that comes back sooner waited for nothing; a fence that waited no longer waited for nothing, either.
AT_ONCE_NS, WAITED_NS = 200_000, 300_000
# Of so many swaps in a row, how many must have come back at once for a fence to be tried; and of so many fences how
# many must have waited for it to be kept.
WATCHED, MOSTLY = 12, 9
# After a fence that did not serve, so many frames without one, doubled each time: what did not wait then may later.
FRAMES_UNTIL_AGAIN = 240
MOST_UNTIL_AGAIN = 15_360


class FenceTrial:
    """is_on: fences are made, on trial or because they serve."""

    def __init__(self) -> None:
        self.is_on = False
        self.serves = False
        self._waits: list[bool] = []
        self._pause, self._next_pause = 0, FRAMES_UNTIL_AGAIN
        self._is_disproved = False

    @property
    def is_believed(self) -> bool:
        """True if a fence's return may be taken for a present: not for a while after outcomes disproved it."""
        return not (self._is_disproved and self._pause)

    def swapped(self, duration_ns: int, is_vsynced: bool) -> None:
        """Takes in the duration of a swap."""
        if self.is_on:
            if not is_vsynced:
                self._end()
            return
        if self._pause:
            self._pause -= 1
            return
        self._waits = [*self._waits[1 - WATCHED :], is_vsynced and duration_ns < AT_ONCE_NS]
        if sum(self._waits) >= MOSTLY:
            self.is_on, self._waits = True, []

    def fenced(self, duration_ns: int) -> bool:
        """Takes in the duration of a fence. Returns True if its return is a present."""
        waited = WAITED_NS < duration_ns < LONGEST_FENCE_NS
        self._waits = [*self._waits[1 - WATCHED :], waited]
        if len(self._waits) == WATCHED:
            self.serves = sum(self._waits) >= MOSTLY
            if not self.serves and not any(self._waits[-MOSTLY:]):
                self._end()
        return waited

    def disproved(self) -> None:
        """Fences waited, and frames planned by their returns showed that they were no presents."""
        self._end()
        self._is_disproved = True

    def _end(self) -> None:
        self.is_on = self.serves = self._is_disproved = False
        self._waits = []
        self._pause, self._next_pause = self._next_pause, min(2 * self._next_pause, MOST_UNTIL_AGAIN)
