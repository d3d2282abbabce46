"""Paces a user's loop to real time.

Iteration k is due at the instant start + k * dt, so that waits that end late do not add up. An iteration that is late
begins at once. The iterations after it follow without a wait until the lateness is made good. An iteration that is too
late moves the start: it is due now, and the time of the stall is given up.

Always: `RealTime` reads no clock and never waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from twixt.ipc.errors import InvalidValue, text_of

if TYPE_CHECKING:
    from twixt.sim.show.session import ViewerSession

# Largest lateness, in ns, that is made good. It is longer than the usual hiccups of a desktop, such as a garbage
# collection or another program that starts. A loop that made good a longer stall would visibly race.
LONGEST_LATENESS_NS = 100_000_000
# The lateness of this many iterations is made good in any case, so that a loop with a long dt keeps to real time.
LEAST_MADE_GOOD = 2
# Longest wait, in s, after which a loop with a long dt checks whether its view is still open.
LONGEST_WAIT_S = 0.1


class RealTime:
    """Instants of the iterations of one loop. dt_s: seconds from one iteration to the next. start_ns: instant of the
    first iteration. iteration: number of the current iteration, from 0."""

    def __init__(self, dt_s: float, start_ns: int) -> None:
        self.iteration = 0
        self._dt_s, self._start_ns = dt_s, start_ns
        self._most_late_ns = max(LONGEST_LATENESS_NS, round(LEAST_MADE_GOOD * dt_s * 1e9))

    def next_ns(self, now_ns: int) -> int:
        """Begins the next iteration. Returns the instant at which it is due. If it has passed, do not wait."""
        self.iteration += 1
        due_ns = self._start_ns + round(self.iteration * self._dt_s * 1e9)
        if now_ns - due_ns > self._most_late_ns:
            self._start_ns += now_ns - due_ns
            return now_ns
        return due_ns


def checked_dt_s(dt: Any) -> float:
    """Returns `dt` in seconds. Raises TwixtError for anything but a finite number of at least a nanosecond."""
    is_number = isinstance(dt, int | float | np.integer | np.floating) and not isinstance(dt, bool)
    if not (is_number and 1e-9 <= dt < 1e9):
        raise InvalidValue(
            f"real_time(dt) must be seconds from one iteration to the next, >= 1e-9, got {text_of(dt)}; "
            "leave it out to use the dt of the view"
        )
    return float(dt)


def paced(session: ViewerSession, dt_s: float, now_ns: Callable[[], int] = time.perf_counter_ns) -> Iterator[float]:
    """Yields the times of the iterations, in seconds: 0, dt_s, 2 * dt_s and so on. Waits before each for its instant.
    Ends when the session is over. now_ns: function that reads the clock, in ns."""
    if session.is_over:
        return
    times = RealTime(dt_s, now_ns())
    while True:
        yield times.iteration * dt_s
        due_ns = times.next_ns(now_ns())
        while not session.is_over:
            left_s = (due_ns - now_ns()) / 1e9
            if left_s <= 0:
                break
            # A command, such as the user's quit, ends this wait. `is_over` applies commands.
            session.host.commands.wait(min(left_s, LONGEST_WAIT_S))
        else:
            return
