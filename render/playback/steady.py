"""Playing a rate instead of the map: for physics whose every step takes another time.

Followed exactly, the map of such a stream would play each interval at another speed. Here simulated time
advances at the mean rate of the last second, pulled gently towards the distance that the needs ask for,
and slowed before the newest snapshot instead of running into it.
"""

from __future__ import annotations

import math

from twixt.render.playback.stream import Stream

# Relative change of the interval from one snapshot to the next (median of 15): even below, uneven above, mixed between.
EVEN, UNEVEN = 0.03, 0.08
# The same change in wall time: below, nobody sees it (a loop that sleeps 2 ms at a time scatters by a third of that, and
# a dozen intervals make one frame).
UNSEEN_NS, SEEN_NS = 1_000_000, 4_000_000
# The rate played is the mean over this, and follows it with this time constant: steps of 20-120 ms come 14 a second.
MEAN_OVER_NS = 1_000_000_000
RATE_TAU_NS = 30_000_000
# Pull towards the distance wanted, and what it may change of the speed. This and the next two trade error against
# age on steps of 20-120 ms: here the p99 error is 1.6 ms at 170 ms of age; half the reserve gives 2.1 ms at 145 ms.
PULL_TAU_NS = 1_000_000_000
PULL_MAX = 0.5
# What is left before the newest snapshot is never played faster than in this time.
BARRIER_NS = 80_000_000
# The mean drifts from the truth by some tens of ms over its window: intervals kept in hand for that.
RESERVE_INTERVALS = 0.9


class Steady:
    """The rate it plays; the time it played is its caller's."""

    def __init__(self) -> None:
        self._rate: float | None = None

    def share(self, stream: Stream) -> float:
        """How much of the speed should be the steady rate: 0 for even streams."""
        relative = stream.rhythm.slope_change
        change_ns = relative * stream.rhythm.interval_ns
        return max(0.0, min(1.0, (relative - EVEN) / (UNEVEN - EVEN), (change_ns - UNSEEN_NS) / (SEEN_NS - UNSEEN_NS)))

    def advance(self, stream: Stream, drawn_ns: int, passed_ns: int, lag_ns: float, wanted_ns: float) -> float:
        """Simulated time to play in `passed_ns` of wall time, `lag_ns` behind the present. Never negative."""
        mean = stream.mean_rate(MEAN_OVER_NS)
        if self._rate is None:
            self._rate = mean
        self._rate += (mean - self._rate) * -math.expm1(-passed_ns / RATE_TAU_NS)
        goal_ns = wanted_ns + RESERVE_INTERVALS * stream.rhythm.interval_ns
        pull = max(-PULL_MAX, min(PULL_MAX, (lag_ns - goal_ns) / PULL_TAU_NS))
        left_ns = stream.newest_sim_ns - drawn_ns
        return min(passed_ns * self._rate * (1.0 + pull), left_ns * -math.expm1(-passed_ns / BARRIER_NS))
