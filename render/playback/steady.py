"""Playing a rate instead of the map: for physics whose every step takes another time.

Followed exactly, the map of such a stream would play each interval at another speed. Here simulated time
advances at the mean rate of late, pulled gently towards the distance wanted. What is left before the newest
snapshot must last until the next one comes, at the longest of the latest gaps: that bounds the speed, evenly from the
first frame of a gap on, instead of braking at its end.
"""

from __future__ import annotations

import math

from twixt.render.playback.stream import Stream

# Relative change of the interval from one snapshot to the next: even below, uneven above, mixed between.
EVEN, UNEVEN = 0.03, 0.08
# The same change in wall time: below, nobody sees it (a loop that sleeps 2 ms at a time scatters by a third of that, and
# a dozen intervals make one frame).
UNSEEN_NS, SEEN_NS = 1_000_000, 4_000_000
# Steps that look even for a moment are not taken for even at once.
RELEASE_TAU_NS = 1_500_000_000
# Two means in equal parts: of the rate at the present only the half second before it is known, the half second after
# it will be like the last seconds. Either alone errs a tenth more on steps of 20-120 ms, or is 15 ms later.
MEANS_OVER_NS = 500_000_000, 2_000_000_000
# The mean jumps with every snapshot; the speed played goes there in two frames.
RATE_TAU_NS = 30_000_000
# Pull towards the distance wanted, and what it may change of the speed.
PULL_TAU_NS = 1_000_000_000
PULL_MAX = 0.5
# Kept in hand beside the longest gap, in mean intervals. On steps of 20-120 ms (40 seeds) the p99 error is at most
# 1.75 ms at 149 ms of age; 0.6 gives 1.9 at 143, 0.3 gives 2.1 at 134.
RESERVE_INTERVALS = 0.9
# When the longest gap is over, what is left is played in this time; so is no more than it at any time.
LAST_NS = 10_000_000


class Steady:
    """The rate it plays; the time it played is its caller's."""

    def __init__(self) -> None:
        self._rate: float | None = None
        self._share = 0.0

    def share(self, stream: Stream, passed_ns: int) -> float:
        """How much of the speed should be the steady rate: 0 for even streams."""
        relative = stream.rhythm.slope_change
        if relative <= EVEN and self._share == 0:
            return 0.0
        change_ns = relative * stream.rhythm.interval_ns
        now = min(1.0, (relative - EVEN) / (UNEVEN - EVEN), (change_ns - UNSEEN_NS) / (SEEN_NS - UNSEEN_NS))
        released = self._share * math.exp(-passed_ns / RELEASE_TAU_NS)
        self._share = max(now, released) if released > 0.01 else max(now, 0.0)
        return self._share

    def advance(self, stream: Stream, drawn_ns: int, passed_ns: int, present_ns: int, room_ns: int) -> float:
        """Simulated time to play in the `passed_ns` of wall time before `present_ns`. Never negative.

        room_ns: wall time to keep in hand beside what the gaps ask for.
        """
        rhythm = stream.rhythm
        mean = sum(stream.mean_rate(over_ns) for over_ns in MEANS_OVER_NS) / len(MEANS_OVER_NS)
        if self._rate is None:
            self._rate = mean
        self._rate += (mean - self._rate) * -math.expm1(-passed_ns / RATE_TAU_NS)
        rate = max(self._rate, 1e-9)
        left_ns = stream.newest_sim_ns - drawn_ns
        since_ns = max(0, present_ns - stream.newest_due_ns)
        # The step that physics is making counts by the share of it that is probably done: left would swing with it.
        under_way_ns = min(since_ns / max(1.0, rhythm.mean_gap_ns), 1.0) * rhythm.sim_interval_ns
        goal_ns = rate * (rhythm.longest_gap_ns + RESERVE_INTERVALS * rhythm.mean_gap_ns + room_ns)
        pull = (left_ns + under_way_ns - goal_ns) / (rate * PULL_TAU_NS)
        lasts_ns = max(LAST_NS, rhythm.longest_gap_ns - since_ns)
        bound_ns = left_ns * -math.expm1(-passed_ns / lasts_ns)
        return min(passed_ns * rate * (1.0 + max(-PULL_MAX, min(PULL_MAX, pull))), bound_ns)
