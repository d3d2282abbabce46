"""Playback speed of the mode `auto`: braking before the newest snapshot, and the mean rate of uneven steps.

`Brake`: a clock that stops or starts within one frame changes its speed by more than the percent that the eye sees, so
both are spread over frames. It works on the wall time played in a frame ("advance") and knows neither snapshots nor
plans.

`SteadyRate`: followed exactly, the map of uneven steps would play each interval at another speed. Instead simulated
time advances at the mean rate of late, pulled gently towards the distance wanted. What is left before the newest
snapshot must last until the next one comes, at the longest of the latest gaps: that bounds the speed, evenly from the
first frame of a gap on, instead of braking at its end.
"""

from __future__ import annotations

import math

from twixt.render.playback.stream import Stream

# -- Brake

# After a stop, speed comes back by no more than this a second: from rest to 1 in three frames at 60 Hz.
GAIN_PER_NS = 24e-9
# Below the first speed for so long it has stopped; a shorter lack is made up for at once. At the last it has started.
STOPPED, STOP_NS, STARTED = 0.1, 30_000_000, 1.3
# Below this share of the room it brakes to a stop; above, a snapshot that is a little late costs a few percent.
FULL_BRAKING = 0.75
# Braking goes on from at least this speed: a start is not braked to nothing.
LEAST_SPEED = 0.4
# Where there is no room, and too little left for a whole frame, this share of the lack is kept for the next one.
KEPT_SHARE = 0.4
# Less than this left is played at once: a stop is a stop.
REMAINDER_NS = 200_000

# -- SteadyRate

# Relative change of the interval from one snapshot to the next: even below, uneven above, mixed between.
EVEN, UNEVEN = 0.03, 0.08
# The same change in wall time: below, nobody sees it (a loop that sleeps 2 ms at a time scatters by a third of that,
# and a dozen intervals make one frame).
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
# What is left lasts no less than this: when the longest gap is over, it is played in this time.
LEAST_LASTING_NS = 10_000_000


class Brake:
    """Bounds a frame's advance by the speed of the frame before, and by what is left."""

    def __init__(self) -> None:
        self._speed = 1.0
        self._starting = False
        self._stopped_ns = 0

    def soft_start(self, advance: float, passed_ns: int) -> float:
        """`advance`, or less where that would be too sudden after a stop."""
        if not self._starting:
            return advance
        return min(advance, passed_ns * (self._speed + GAIN_PER_NS * passed_ns))

    def before_end(self, advance: int, left_ns: int, passed_ns: int, room_ns: int) -> int:
        """`advance`, or less where only `left_ns` is left: speed <= sqrt(left / room), then losing as much in each
        frame as brings it to rest at the end."""
        if 0 < left_ns < room_ns:
            advance = min(advance, round(passed_ns * math.sqrt(left_ns / room_ns)))
            if left_ns < FULL_BRAKING * room_ns:
                # Speeds v - d, v - 2d, ... down to 0, a frame each, sum up to v * v / 2d - v / 2 frames' worth.
                speed = max(LEAST_SPEED, min(1.0, self._speed))
                speed -= speed * speed / (2 * left_ns / max(passed_ns, 1) + speed)
                advance = min(advance, round(passed_ns * speed))
        elif advance >= left_ns > REMAINDER_NS:
            advance = round(left_ns - KEPT_SHARE * min(left_ns, advance - left_ns))
        return advance

    def played(self, advance: int, passed_ns: int) -> None:
        """Records what the frame played in the end."""
        if passed_ns <= 0:
            return
        self._speed = advance / passed_ns
        self._stopped_ns = self._stopped_ns + passed_ns if self._speed < STOPPED else 0
        self._starting = self._stopped_ns > STOP_NS or (self._starting and self._speed < STARTED)


class SteadyRate:
    """Mean rate, and its weight against following the map. The draw time is the caller's."""

    def __init__(self) -> None:
        self._rate: float | None = None
        self._share = 0.0

    def share(self, stream: Stream, passed_ns: int) -> float:
        """Weight of the steady rate. 0 for even streams."""
        relative = stream.rhythm.slope_change
        if relative <= EVEN and self._share == 0:
            return 0.0
        change_ns = relative * stream.rhythm.interval_ns
        now = min(1.0, (relative - EVEN) / (UNEVEN - EVEN), (change_ns - UNSEEN_NS) / (SEEN_NS - UNSEEN_NS))
        released = self._share * math.exp(-passed_ns / RELEASE_TAU_NS)
        self._share = max(now, released) if released > 0.01 else max(now, 0.0)
        return self._share

    def advance(self, stream: Stream, draw_time_ns: int, passed_ns: int, present_ns: int, room_ns: int) -> float:
        """Simulated time to play in the `passed_ns` of wall time before `present_ns`. Never negative.

        room_ns: wall time to keep in hand beside what the gaps ask for.
        """
        rhythm = stream.rhythm
        mean = sum(stream.mean_rate(over_ns) for over_ns in MEANS_OVER_NS) / len(MEANS_OVER_NS)
        if self._rate is None:
            self._rate = mean
        self._rate += (mean - self._rate) * -math.expm1(-passed_ns / RATE_TAU_NS)
        rate = max(self._rate, 1e-9)
        left_ns = stream.newest_sim_ns - draw_time_ns
        since_ns = max(0, present_ns - stream.newest_due_ns)
        # The step that physics is making counts by the share of it that is probably done: left would swing with it.
        under_way_ns = min(since_ns / max(1.0, rhythm.mean_gap_ns), 1.0) * rhythm.sim_interval_ns
        goal_ns = rate * (rhythm.longest_gap_ns + RESERVE_INTERVALS * rhythm.mean_gap_ns + room_ns)
        pull = (left_ns + under_way_ns - goal_ns) / (rate * PULL_TAU_NS)
        lasts_ns = max(LEAST_LASTING_NS, rhythm.longest_gap_ns - since_ns)
        bound_ns = left_ns * -math.expm1(-passed_ns / lasts_ns)
        return min(passed_ns * rate * (1.0 + max(-PULL_MAX, min(PULL_MAX, pull))), bound_ns)
