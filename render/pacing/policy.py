"""Protocol of the pacer's policies, the frames that cross it, and the work estimate that they share.

A policy plans a frame, may hold back its swap, and takes in how it went. Its outcome names another kind of display
where frames show one; `Pacer` changes over. Always: a policy is given sane times (whole, growing), all on the clock of
the process; it reads no clock.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple, Protocol

from twixt.ipc.quantiles import QuantileWindow

# What a frame usually takes now is the median of so few that a new load shows within two frames.
LATEST_FRAMES = 3
# The work to start early for: what this share of the last frames stayed under. One long frame in 120 is not worth
# starting all others early for, one in 30 is.
REMEMBERED_FRAMES, COVERED = 100, 0.985
# The time between frames is taken from fewer: it changes with what is logged and collected there.
OVERHEAD_FRAMES = 32


class FramePlan(NamedTuple):
    """Plan of a frame."""

    start_ns: int  # when to wake and latch
    swap_at_ns: int | None  # when to swap, not before; None: as soon as it is drawn. `drawn` may move it
    present_ns: int  # when it is expected to be seen
    interval_ns: int
    planned_refreshes: int
    reason: str  # "" when nothing was out of the ordinary


class FrameTimes(NamedTuple):
    """Instants of a frame, as it went."""

    start_ns: int
    latch_ns: int
    work_end_ns: int
    swap_begin_ns: int
    swap_end_ns: int
    presented_ns: int | None = None  # when it was seen, where a fence on the next buffer said so


class FrameResult(NamedTuple):
    """Result of a frame: present, lateness, reason."""

    present_ns: int  # when it was shown: the best known of fence, swap's return and the display's grid
    deadline_ns: int  # when it was to be shown
    missed_refreshes: int
    reason: str  # all reasons of this frame, joined


# Kinds of display. FREE: swap waits for nothing. BLOCKING: swap comes back when its frame is seen. QUEUED: swap comes
# back before that, and the display keeps the pace: it blocks a later call, or the swap of a later frame.
FREE, BLOCKING, QUEUED = "free", "blocking", "queued"


class FramePlacement(NamedTuple):
    """Instants of a frame, as its policy plans them."""

    start_ns: int
    swap_at_ns: int | None
    present_ns: int
    reason: str = ""


class FoundDisplay(NamedTuple):
    """Kind of display that the outcomes of frames show."""

    display: str  # FREE, BLOCKING or QUEUED
    period_ns: int | None = None  # of its refresh, where swaps showed one
    queues: bool = False  # swaps proved to wait for it, until long work drained its queue


class FrameOutcome(NamedTuple):
    """Result of a frame, to its policy."""

    present_ns: int
    missed: int
    reason: str = ""
    display: FoundDisplay | None = None  # the display that the last outcomes show, where that is another kind


class Policy(Protocol):
    """Places frames: on the timer's grid, on whole refreshes, paced by the display, or each at once."""

    @property
    def display(self) -> str:
        """Kind of display that it is for."""
        ...

    @property
    def shown_ns(self) -> int | None:
        """The last present, or None where the next frame starts anew."""
        ...

    def plan(self, now_ns: int) -> FramePlacement:
        """Places the next frame."""
        ...

    def drawn(self, start_ns: int, work_end_ns: int) -> int | None:
        """Takes in its completed drawing. Returns when to swap, not before; None: at once."""
        ...

    def done(self, times: FrameTimes) -> FrameOutcome:
        """Takes in its swap, or its present. Returns the outcome."""
        ...

    def display_reported(self, presented_ns: int, refresh_ns: int | None) -> None:
        """Takes in the display's report of an earlier frame."""
        ...

    def restart(self) -> None:
        """Begins again after frames stopped for a while."""
        ...


class WorkEstimate:
    """Work of frames, from waking to the next frame's turn: usual value and high quantile.

    Fed by whichever policy places the frames, so that a change of policy forgets nothing.
    """

    def __init__(self) -> None:
        self._latest = QuantileWindow(LATEST_FRAMES)
        self._leads = QuantileWindow(REMEMBERED_FRAMES)  # planned start to completed drawing: work, and waking late
        self._swaps = QuantileWindow(OVERHEAD_FRAMES)
        self._overheads = QuantileWindow(OVERHEAD_FRAMES)
        self._done_ns: int | None = None

    @property
    def usual_ns(self) -> int:
        return self._latest.quantile(0.5)

    @property
    def swap_ns(self) -> int:
        """Duration of a swap that waits for nothing."""
        return self._swaps.quantile(0.5)

    @property
    def overhead_ns(self) -> int:
        """From a swap's return to being asked for the next frame."""
        return self._overheads.quantile(0.5)

    def lead_ns(self, unknown_ns: int) -> int:
        """From a frame's start to its completed drawing, for nearly every frame."""
        return max(self._leads.quantile(COVERED, unknown_ns), self.usual_ns)

    def asked(self, now_ns: int) -> None:
        """The next frame is asked for: what passed since the last swap is overhead."""
        if self._done_ns is not None:
            self._overheads.add(max(0, now_ns - self._done_ns))

    def drawn(self, work_ns: int, lead_ns: int) -> None:
        self._latest.add(work_ns)
        self._leads.add(lead_ns)

    def swapped(self, swap_ns: int, end_ns: int) -> None:
        self._swaps.add(swap_ns)
        self._done_ns = end_ns

    def restart(self) -> None:
        """Frames stopped: what passes until the next one is not counted."""
        self._done_ns = None

    def changed_over(self) -> None:
        """Begins under another policy: the waits that it sees were part of the overhead so far."""
        self._overheads.clear()
        self._done_ns = None

    def forget(self) -> None:
        """Forgets frames unlike those to come."""
        self._latest.clear()
        self._leads.clear()


# Margins for starting a frame and for handing it over before its refresh, learned from earlier frames. Pure.
#
# `StartMargin`: how much earlier than their work requires frames start; it grows with misses that an earlier start
# could have saved. `HandOver`: how long before its refresh a frame must be handed over. A guess decides between 90
# and 45 frames a second: work of 10 ms leaves 1 ms of a refresh at 90 Hz. So the guess is small, a frame that was in
# time by less lowers it at once, and two that missed with more raise it, unless as many with no more to spare were in
# time: then the miss came from a late return, not from a late hand-over.


# A miss that an earlier start could have saved adds this share of the interval to the margin; each good frame takes
# back this share of what is above the floor (half of it in 12 s at 60 frames a second). A miss is seen, a few ms of
# latency are not: quick up, slow down.
GROWS, SHRINKS = 0.2, 0.001
# An earlier start saves only frames whose cycle takes less than this share of the interval.
COSTLY = 0.95

# Before anything is learned: what a swap itself takes.
FIRST_GUARD_NS = 500_000
# Two misses among so many frames that were handed over before their refresh: one alone is a hiccup of the display.
REMEMBERED_MARGINS, AGREEING = 60, 2
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
        self._outcomes: deque[tuple[int, bool]] = deque(maxlen=REMEMBERED_MARGINS)

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
