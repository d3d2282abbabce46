"""Margins for starting a frame and for handing it over before its refresh, learned from earlier frames. Pure.

`StartMargin`: how much earlier than their work requires frames start; it grows with misses that an earlier start
could have saved. `HandOver`: how long before its refresh a frame must be handed over. A guess decides between 90 and
45 frames a second: work of 10 ms leaves 1 ms of a refresh at 90 Hz. So the guess is small, a frame that was in time by
less lowers it at once, and two that missed with more raise it, unless as many with no more to spare were in time: then
the miss came from a late return, not from a late hand-over.
"""

from __future__ import annotations

from collections import deque

# A miss that an earlier start could have saved adds this share of the interval to the margin; each good frame takes
# back this share of what is above the floor (half of it in 12 s at 60 frames a second). A miss is seen, a few ms of
# latency are not: quick up, slow down.
GROWS, SHRINKS = 0.2, 0.001
# An earlier start saves only frames whose cycle takes less than this share of the interval.
COSTLY = 0.95

# Before anything is learned: what a swap itself takes.
FIRST_GUARD_NS = 500_000
# Two misses among so many frames that were handed over before their refresh: one alone is a hiccup of the display.
REMEMBERED_FRAMES, AGREEING = 60, 2
# No display composes longer than this share of its refresh.
LONGEST_SHARE = 0.6
# Above the latest that missed.
STEP_NS = 100_000
# So much is asked for without further proof: near it the grid's phase decides which frames were in time.
SMALL_NS = 1_000_000


class HandOver:
    """guard_ns: a frame handed over so long before a refresh is shown at it."""

    def __init__(self) -> None:
        self.guard_ns = FIRST_GUARD_NS
        # Time to spare, and whether it missed.
        self._outcomes: deque[tuple[int, bool]] = deque(maxlen=REMEMBERED_FRAMES)

    def learn(self, spare_ns: int, missed: bool, period_ns: int) -> None:
        """Takes in a frame that was handed over `spare_ns` before its refresh."""
        if spare_ns <= 0 or spare_ns > LONGEST_SHARE * period_ns:
            return
        if not missed:
            self._outcomes.append((spare_ns, False))
            if spare_ns < self.guard_ns:
                self.guard_ns = max(0, spare_ns - STEP_NS)
            return
        if spare_ns < self.guard_ns:
            return
        self._outcomes.append((spare_ns, True))
        misses = sorted(ns for ns, was_missed in self._outcomes if was_missed and ns > self.guard_ns)
        if len(misses) < AGREEING:
            return
        wanted_ns = misses[-AGREEING] + STEP_NS
        in_time = sum(not was_missed and ns < wanted_ns for ns, was_missed in self._outcomes)
        if wanted_ns <= SMALL_NS or in_time < len(misses):
            self.guard_ns = min(wanted_ns, round(LONGEST_SHARE * period_ns))
            self._outcomes.clear()

    def forget(self) -> None:
        self.guard_ns = FIRST_GUARD_NS
        self._outcomes.clear()


class StartMargin:
    """floor_ns: the least. first_ns: to begin with, where more is wiser."""

    def __init__(self, floor_ns: int, first_ns: int = 0) -> None:
        self._floor_ns = floor_ns
        self.ns = max(floor_ns, first_ns)

    def learn(self, missed: bool, short_ns: int, cycle_ns: int, interval_ns: int) -> None:
        """Takes in one frame's outcome. short_ns: by how much its work ended too late. If it ended in time, a miss had
        another cause, such as a late wake-up or a long swap, and does not raise the margin.
        """
        if cycle_ns > COSTLY * interval_ns:
            return
        if not missed:
            self.ns -= round((self.ns - self._floor_ns) * SHRINKS)
        elif short_ns > 0:
            self.ns = max(self._floor_ns, min(self.ns + round(GROWS * interval_ns), interval_ns))

    def forget(self) -> None:
        self.ns = self._floor_ns
