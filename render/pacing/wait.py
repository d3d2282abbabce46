"""Waits for an instant: the thread sleeps until shortly before the instant, then it spins. Also estimates the duration
of work that is done in spare time.

A sleep ends too late. This delay depends on the machine. A spin ends on time but keeps a core busy. So the sleep is
made shorter by a margin. The margin is larger than nearly all delays that were measured, within fixed limits. This
module reads the clock.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable

from twixt.ipc.quantiles import QuantileWindow

# Margin (ns) by which sleeps are made shorter before any sleep is measured. A sleep of a few ms ends 0.1 to 0.3 ms
# late on an idle Linux machine.
FIRST_MARGIN_NS = 400_000
# Limits of the margin (ns) by which sleeps are made shorter. A smaller margin would be shorter than the call of sleep
# itself. A larger one would use a tenth of a core at 60 frames per second.
SMALLEST_MARGIN_NS, LARGEST_MARGIN_NS = 100_000, 1_500_000
# The margin is MARGIN_FACTOR times the quantile COVERED of the last REMEMBERED oversleeps (times by which sleeps ended
# too late). So one very long oversleep in twenty does not raise the margin.
REMEMBERED, COVERED, MARGIN_FACTOR = 64, 0.95, 1.25
# The margin is computed after at least this many sleeps were measured.
ENOUGH_SLEEPS = 8

# Option of Linux prctl: how much later (ns) the kernel may wake this thread, to save power
_PR_SET_TIMERSLACK = 29
_TIMER_SLACK_NS = 1_000


class SpinMargin:
    """Computes the spin margin from the oversleep (the time by which a sleep ended too late) of earlier sleeps.
    Pure."""

    def __init__(self) -> None:
        self.margin_ns = FIRST_MARGIN_NS
        self._oversleeps = QuantileWindow(REMEMBERED)

    def observe(self, oversleep_ns: int) -> None:
        """Records an oversleep: the time from the planned end of a sleep to its real end."""
        self._oversleeps.add(oversleep_ns)
        if len(self._oversleeps) >= ENOUGH_SLEEPS:
            wanted = round(self._oversleeps.quantile(COVERED) * MARGIN_FACTOR)
            self.margin_ns = min(max(wanted, SMALLEST_MARGIN_NS), LARGEST_MARGIN_NS)


class HybridWait:
    """Waits for instants of `clock` (perf_counter_ns, unless a test passes its own clock)."""

    def __init__(
        self, clock: Callable[[], int] = time.perf_counter_ns, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.margin = SpinMargin()
        self.spins = True  # False: the thread only sleeps, so it uses no core but waits end late
        self._clock = clock
        self._sleep = sleep
        _ask_for_sharp_timers()

    def about(self, instant_ns: int) -> int:
        """Sleeps until about `instant_ns`, for work that is not urgent. Returns the instant at which the sleep
        ended."""
        now_ns = self._clock()
        if instant_ns > now_ns:
            self._sleep((instant_ns - now_ns) / 1e9)
            now_ns = self._clock()
            self.margin.observe(now_ns - instant_ns)
        return now_ns

    def until(self, deadline_ns: int) -> int:
        """Waits until `deadline_ns`. Returns the instant at which the wait ended. This instant is never before
        `deadline_ns`."""
        now_ns = self._clock()
        sleep_end_ns = deadline_ns - (self.margin.margin_ns if self.spins else 0)
        if sleep_end_ns > now_ns:
            self._sleep((sleep_end_ns - now_ns) / 1e9)
            now_ns = self._clock()
            self.margin.observe(now_ns - sleep_end_ns)
        while now_ns < deadline_ns:
            now_ns = self._clock()
        return now_ns


def _ask_for_sharp_timers() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, _TIMER_SLACK_NS, 0, 0, 0)


# One kind of work is done in spare time. Its duration is estimated from its last durations. Pure.


# Until ENOUGH durations of the work are known, the expected duration is the longest of them plus MARGIN_NS, and at
# least FIRST_NS. After that, the expected duration is a quantile of the last REMEMBERED_COSTS durations, times
# COST_MARGIN_FACTOR, plus MARGIN_NS.
FIRST_NS = 1_500_000
REMEMBERED_COSTS, COST_MARGIN_FACTOR, MARGIN_NS = 64, 1.1, 100_000
ENOUGH = 8
# If the work did not fit into the spare time this many times in a row, its known durations are cleared. They may come
# from a busy machine that is no longer busy.
REFUSED_TO_FORGET = 120


class StepCost:
    """Estimates the duration of one kind of work. covered: which quantile of the last durations is used, 0..1."""

    def __init__(self, covered: float = 0.9) -> None:
        self._covered = covered
        self._durations_ns = QuantileWindow(REMEMBERED_COSTS)
        self._refused = 0  # how many times in a row the work did not fit into the spare time

    @property
    def expected_ns(self) -> int:
        """How long the work will probably take next time, in ns, margin included."""
        if len(self._durations_ns) < ENOUGH:
            return max(FIRST_NS, self._durations_ns.quantile(1.0) + MARGIN_NS)
        return round(self._durations_ns.quantile(self._covered) * COST_MARGIN_FACTOR) + MARGIN_NS

    def fits(self, now_ns: int, until_ns: int) -> bool:
        """True if work that begins at `now_ns` will probably end by `until_ns`."""
        if now_ns + self.expected_ns <= until_ns:
            self._refused = 0
            return True
        self._refused += 1
        if self._refused >= REFUSED_TO_FORGET:
            self.forget()
        return False

    def record(self, duration_ns: int) -> None:
        """Records one measured duration, in ns."""
        self._durations_ns.add(duration_ns)

    def forget(self) -> None:
        """Clears all durations."""
        self._durations_ns.clear()
        self._refused = 0
