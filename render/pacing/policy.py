"""Defines the protocol of the pacer's policies, their data types, and the estimate of work that all policies share.

A policy plans a frame, may delay the frame's swap, and records the frame's times. If frames show that the display is
of another kind, the policy's outcome names this kind, and `Pacer` changes the policy. This module also contains the
margins for the start and for the hand-over of a frame.

Always: a policy gets times that were checked: they are whole numbers, they increase, and all are on the clock of the
process. A policy reads no clock.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple, Protocol

from twixt.ipc.quantiles import QuantileWindow

# The usual work is the median of the last LATEST_FRAMES frames. So the policies notice a new load within two frames.
LATEST_FRAMES = 3
# Frames start early enough that the share COVERED of the last REMEMBERED_FRAMES frames would have been in time. This
# allows for one long frame in 30, but not for one in 120.
REMEMBERED_FRAMES, COVERED = 100, 0.985
# The time between two frames is estimated from this number of frames. The number is small because the time varies, for
# example when the log is written or garbage is collected.
OVERHEAD_FRAMES = 32


class FramePlan(NamedTuple):
    """Plan of a frame.

    Attributes:
        start_ns: Instant at which the frame wakes up and reads its input.
        swap_at_ns: Earliest instant of the swap. None: the swap follows as soon as the frame is drawn. `Pacer.drawn`
            may change this instant.
        present_ns: Expected present time.
        interval_ns: Frame interval.
        planned_refreshes: Frame interval as a number of refreshes.
        reason: Reason for the plan. "" if nothing unusual happened.
    """

    start_ns: int  # instant at which the frame wakes up and reads its input
    # earliest instant of the swap; None: the swap follows as soon as the frame is drawn. `drawn` may change this
    # instant
    swap_at_ns: int | None
    present_ns: int  # expected present time
    interval_ns: int
    planned_refreshes: int
    reason: str  # reason for the plan; "" if nothing unusual happened


class FrameTimes(NamedTuple):
    """Measured instants of a frame, in ns.

    Attributes:
        start_ns: Instant at which the frame woke up.
        latch_ns: Instant at which the frame read the state that it draws.
        work_end_ns: Instant at which drawing was complete.
        swap_begin_ns: Instant at which the swap was called.
        swap_end_ns: Instant at which the swap returned.
        presented_ns: Present time that a fence on the next buffer measured. None if there was no fence.
    """

    start_ns: int
    latch_ns: int
    work_end_ns: int
    swap_begin_ns: int
    swap_end_ns: int
    presented_ns: int | None = None  # present time that a fence on the next buffer measured; None without a fence


class FrameResult(NamedTuple):
    """Result of a frame: when it was shown, how late it was, and the reason.

    Attributes:
        present_ns: Best known present time: from a fence, from the return of the swap, or from the display's grid.
        deadline_ns: Present time that was planned.
        missed_refreshes: Number of refreshes by which the frame came later than planned.
        reason: All reasons that were given for this frame, as one text.
    """

    present_ns: int  # best known present time: from a fence, from the return of swap, or from the display's grid
    deadline_ns: int  # present time that was planned
    missed_refreshes: int
    reason: str  # all reasons that were given for this frame, as one text


# Kinds of display. FREE: the swap of a frame does not wait. BLOCKING: the swap returns when its frame is shown.
# QUEUED: the swap returns before its frame is shown. The display sets the pace: it blocks a later call, or the swap of
# a later frame.
FREE, BLOCKING, QUEUED = "free", "blocking", "queued"


class FramePlacement(NamedTuple):
    """Instants of a frame, as its policy plans them."""

    start_ns: int
    swap_at_ns: int | None
    present_ns: int
    reason: str = ""


class FoundDisplay(NamedTuple):
    """Kind of display that the last frames show."""

    display: str  # FREE, BLOCKING or QUEUED
    period_ns: int | None = None  # refresh period in ns, if swaps showed one
    queues: bool = False  # True: swaps waited for the display until long work drained the display's queue


class FrameOutcome(NamedTuple):
    """Result of a frame, as its policy computes it."""

    present_ns: int
    missed: int
    reason: str = ""
    display: FoundDisplay | None = None  # another kind of display, if the last frames show one; otherwise None


class Policy(Protocol):
    """Places frames in one of four ways: on the timer's grid, on whole refreshes, at the display's pace, or as soon as
    possible."""

    @property
    def display(self) -> str:
        """Kind of display that the policy is for."""
        ...

    @property
    def shown_ns(self) -> int | None:
        """Last present time, in ns; None if the next frame begins a new grid."""
        ...

    def plan(self, now_ns: int) -> FramePlacement:
        """Places the next frame."""
        ...

    def drawn(self, start_ns: int, work_end_ns: int) -> int | None:
        """Records that drawing has ended. Returns the earliest instant at which to swap. None: swap at once."""
        ...

    def done(self, times: FrameTimes) -> FrameOutcome:
        """Records a finished frame. Returns its outcome."""
        ...

    def display_reported(self, presented_ns: int, refresh_ns: int | None) -> None:
        """Records the display's report of an earlier frame."""
        ...

    def restart(self) -> None:
        """Begins anew after a time without frames."""
        ...


class WorkEstimate:
    """Estimates the work of frames: its usual value and a high quantile. All policies share one estimate, so the
    estimate is kept when the policy changes."""

    def __init__(self) -> None:
        self._latest = QuantileWindow(LATEST_FRAMES)
        # Time of each frame from its planned start to the end of its drawing. This time includes a late wake-up.
        self._leads = QuantileWindow(REMEMBERED_FRAMES)
        self._swaps = QuantileWindow(OVERHEAD_FRAMES)
        self._overheads = QuantileWindow(OVERHEAD_FRAMES)
        self._done_ns: int | None = None

    @property
    def usual_ns(self) -> int:
        return self._latest.quantile(0.5)

    @property
    def swap_ns(self) -> int:
        """Duration in ns of a swap that does not wait."""
        return self._swaps.quantile(0.5)

    @property
    def overhead_ns(self) -> int:
        """Time in ns from the return of a swap to the request for the next frame."""
        return self._overheads.quantile(0.5)

    def lead_ns(self, unknown_ns: int) -> int:
        """Time in ns from the planned start of a frame to the end of its drawing. Nearly every frame needs at most
        this time. unknown_ns: value that is returned until frames have been measured."""
        return max(self._leads.quantile(COVERED, unknown_ns), self.usual_ns)

    def asked(self, now_ns: int) -> None:
        """Records the request for the next frame. The time from the last swap to this request is overhead."""
        if self._done_ns is not None:
            self._overheads.add(max(0, now_ns - self._done_ns))

    def drawn(self, work_ns: int, lead_ns: int) -> None:
        self._latest.add(work_ns)
        self._leads.add(lead_ns)

    def swapped(self, swap_ns: int, end_ns: int) -> None:
        self._swaps.add(swap_ns)
        self._done_ns = end_ns

    def restart(self) -> None:
        """Call this when frames have stopped. Then the time until the next frame does not count as overhead."""
        self._done_ns = None

    def changed_over(self) -> None:
        """Clears the measured overhead after a change of policy. The overhead includes waits that the new policy
        counts separately."""
        self._overheads.clear()
        self._done_ns = None

    def forget(self) -> None:
        """Clears the measured work, because the next frames will differ."""
        self._latest.clear()
        self._leads.clear()


# Two margins are learned from earlier frames: for the start of a frame, and for its hand-over before the refresh.
# Pure.
#
# `StartMargin` learns by how much frames must start earlier than their work requires. The margin grows with each miss
# that an earlier start could have prevented. `HandOver` learns the guard. A frame must be handed over before its
# refresh by at least the guard. The guard's first value must be small. At 90 Hz, work of 10 ms leaves 1 ms of a
# refresh, so the guard decides between 90 and 45 frames per second. If a frame was in time with less time to spare
# than the guard, the guard is lowered at once. If two frames missed their refresh with more time to spare than the
# guard, the guard is raised. The guard is not raised if as many frames with no more time to spare were in time. Then
# the misses were caused by a late return, not by a late hand-over.


# A miss that an earlier start could have prevented adds GROWS times the interval to the start margin. Each frame that
# is in time removes the share SHRINKS of the margin above its least value. At 60 frames per second, half of this
# excess is removed in 12 s. So the margin grows fast and shrinks slowly: a miss is visible, but a few ms of latency
# are not.
GROWS, SHRINKS = 0.2, 0.001
# An earlier start helps a frame only if the time for the frame's work is less than this share of the interval.
COSTLY = 0.95

# First value of the hand-over's guard, in ns. It is the usual duration of a swap that does not wait.
FIRST_GUARD_NS = 500_000
# The hand-over's guard grows after AGREEING misses among the last REMEMBERED_MARGINS frames. A single miss may be an
# outlier, so it is not enough.
REMEMBERED_MARGINS, AGREEING = 60, 2
# Largest guard of the hand-over, as a share of the refresh period. No compositor needs more time.
LONGEST_SHARE = 0.6
# A frame can change the guard of the hand-over. The new guard then differs by this time (ns) from the time that the
# frame had to spare.
STEP_NS = 100_000
# Two misses are enough to raise the hand-over's guard up to this value (ns). If the hand-over is so close to the
# refresh, the phase of the grid decides which frames are in time.
SMALL_NS = 1_000_000


class HandOver:
    """Learns the guard of the hand-over. guard_ns: if a frame is handed over at least this long before a refresh, this
    refresh shows it."""

    def __init__(self) -> None:
        self.guard_ns = FIRST_GUARD_NS
        # For each frame: the time that it had to spare in ns, and True if it missed its refresh.
        self._outcomes: deque[tuple[int, bool]] = deque(maxlen=REMEMBERED_MARGINS)

    def learn(self, spare_ns: int, missed: bool, period_ns: int) -> None:
        """Records a frame that was handed over `spare_ns` before its refresh."""
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
    """Learns the margin `ns` by which frames start earlier. floor_ns: least margin. first_ns: first margin, if it is
    larger."""

    def __init__(self, floor_ns: int, first_ns: int = 0) -> None:
        self._floor_ns = floor_ns
        self.ns = max(floor_ns, first_ns)

    def learn(self, missed: bool, short_ns: int, cycle_ns: int, interval_ns: int) -> None:
        """Records one frame. short_ns: time by which the frame's work ended too late, in ns. If the work ended in
        time, a miss had another cause, such as a late wake-up or a long swap. Such a miss does not raise the margin."""
        if cycle_ns > COSTLY * interval_ns:
            return
        if not missed:
            self.ns -= round((self.ns - self._floor_ns) * SHRINKS)
        elif short_ns > 0:
            self.ns = max(self._floor_ns, min(self.ns + round(GROWS * interval_ns), interval_ns))

    def forget(self) -> None:
        self.ns = self._floor_ns
