"""The default clock: no latency while physics is ahead, just enough when it is not.

It plays a due instant forward with the wall clock, `offset_ns` behind the present, and slews that offset
towards the one wanted by playing a few percent faster or slower. On underrun it holds at the newest snapshot; the
offset reached is kept (fast attack, slow release).

Physics' own changes of rate are followed as they are; only where every step takes another time is their mean
rate played instead (`SteadyRate`). What a stall costs is the user's choice (`Preferences.prefer`).
"""

from __future__ import annotations

import math

from twixt.render.playback.estimator import LeastDrawDelay, OffsetEstimator, RequiredOffset
from twixt.render.playback.modes import Preferences
from twixt.render.playback.stream import NEVER_NS, Stream

# Speed stays within 1 +- this while the excess is small: the eye does not see it, and it is what the figures call an
# error of 0.5 ms at 60 Hz.
SLEW = 0.03
SLEW_TAU_NS = 500_000_000
# An excess beyond this, or beyond 1.2 intervals, is a debt: paid at up to half as fast again.
DEBT_NS = 60_000_000
DEBT_INTERVALS = 1.2
DEBT_SPEED = 0.5
# Frames of more than this are no motion to the eye, so no change of its speed either: they pay so much more each.
SLOW_FRAME_NS = 100_000_000
# `balanced` keeps this much before the newest snapshot, and half an interval where that is more.
ROOM_NS, ROOM_INTERVALS = 33_000_000, 0.5
# The offset wanted is estimated anew for an arrival that requires more, else after this many: it is half of a call's
# cost.
ESTIMATE_EVERY = 4
# A debt that physics gives up has grown over no longer than this.
DEBT_MEMORY_NS = 1_000_000_000


class AutoMode:
    """Plays `offset_ns` behind the present; 0 is the present itself."""

    def __init__(self, preferences: Preferences) -> None:
        self.reason = "starting"
        self._preferences = preferences
        self._estimator = OffsetEstimator()
        self._draw_delay = LeastDrawDelay()
        self._draw_due_ns: int | None = None  # due instant of the draw time
        self._newest_sim_ns: int | None = None
        self._newest_due_ns = 0
        self._shortfall_ns = 0  # present - newest due, at the last frame
        self._wanted_ns = 0.0
        self._unestimated = 0
        self._slips = 0
        self._in_debt = False
        self._debt_speed = DEBT_SPEED
        self._steady = SteadyRate()
        self._brake = Brake()

    @property
    def name(self) -> str:
        return "ahead" if self._wanted_ns <= 0 else "late"

    def advance_to(self, stream: Stream, present_ns: int, passed_ns: int, draw_time_ns: int | None) -> int:
        self._learn(stream, present_ns, passed_ns)
        before, limit = self._draw_due_ns, stream.limit_due_ns
        if before is None:
            playing = present_ns - round(self._wanted_ns) if draw_time_ns is None else stream.due_of(draw_time_ns)
        else:
            if draw_time_ns is not None and stream.sim_at(before) < draw_time_ns:
                before = stream.due_of(draw_time_ns)  # what came after a silence falls due later than was thought
            advance = self._brake.soft_start(passed_ns * self._speed(stream, before, present_ns, passed_ns), passed_ns)
            playing = before + round(advance)
            if self._in_debt and draw_time_ns is not None:
                # Where the world rested there is nothing to play: the debt of a rest is free.
                playing = max(playing, min(stream.due_of(draw_time_ns), present_ns - round(self._wanted_ns)))
            playing = self._steadied(stream, draw_time_ns, playing, passed_ns, present_ns)
            playing = before + self._brake.before_end(
                playing - before, limit - before, passed_ns, self._room_ns(stream)
            )
        if playing >= limit:
            playing = limit
            self.reason = "simulated time stands" if stream.stands else "nothing newer has come: holding"
        elif playing > stream.newest_due_ns:
            self.reason = "nothing newer has come: playing on beyond the newest"
        if before is not None:
            self._brake.played(playing - before, passed_ns)
        self._draw_due_ns = playing
        return stream.sim_at(playing)

    def replanned(self, stream: Stream, draw_time_ns: int | None, stretch: float) -> None:
        """Goes on from the draw time, wherever the new plan puts it."""
        if stretch != 1.0:
            # Offsets of the old scale say nothing of the new one. What is wanted is as much of the world as before;
            # the room is wall time.
            self._estimator = self._estimator.rescaled()
            room_ns = min(self._room_ns(stream), self._wanted_ns)
            self._wanted_ns = room_ns + (self._wanted_ns - room_ns) * stretch
            self._unestimated = ESTIMATE_EVERY
            # What was a moment behind at the old scale is a long time at a slower one: up to the old speed it is
            # played.
            self._debt_speed = max(DEBT_SPEED, stretch - 1.0)
        self._newest_sim_ns = None
        self._brake, self._steady = Brake(), SteadyRate()
        if draw_time_ns is None:
            return
        self._draw_due_ns = stream.due_of(draw_time_ns)
        if stretch != 1.0 and stream.plan is not None:
            self._wanted_ns = min(self._wanted_ns, max(0, stream.plan.wall_ns - self._draw_due_ns))

    def begin_anew(self) -> None:
        """Forgets what frames met so far. The offset that they required is kept until others are measured."""
        self._estimator, self._unestimated = OffsetEstimator(), 0

    def _room_ns(self, stream: Stream) -> int:
        """Wall time to be left before the newest snapshot when the next one comes."""
        if self._preferences.prefer != "balanced":
            return 0
        return max(ROOM_NS, round(ROOM_INTERVALS * stream.rhythm.interval_ns))

    def _learn(self, stream: Stream, present_ns: int, passed_ns: int) -> None:
        newest_sim, newest_due = stream.newest_sim_ns, stream.newest_due_ns
        if newest_sim != self._newest_sim_ns:
            gap = newest_due - self._newest_due_ns
            if self._newest_sim_ns is not None and gap >= 0:  # else due instants were told anew: nothing came late
                # Between two frames the shortfall went on growing until the snapshot came. At another phase of the
                # frames, or with a little more jitter, one of them would have met that.
                required_ns = max(self._shortfall_ns, min(stream.longest_wait_ns, self._shortfall_ns + passed_ns))
                if stream.rhythm.slips == self._slips:
                    late_ns = self._draw_delay.least_ns(present_ns, present_ns - stream.newest_arrival_ns)
                    late_ns += stream.newest_arrival_ns - newest_due
                    intervals = stream.rhythm.intervals(gap, newest_sim - self._newest_sim_ns)
                    required = RequiredOffset(required_ns, gap, intervals, late_ns, stream.widest_gap)
                    self._estimator.add(present_ns, required, stream.rhythm.interval_ns)
                else:
                    # The debt was given up, and with it the lateness it made: what that required is no longer
                    # required.
                    self._slips = stream.rhythm.slips
                    self._estimator.forget_since(present_ns - DEBT_MEMORY_NS)
                self._unestimated += 1
                if required_ns > self._wanted_ns or self._unestimated >= ESTIMATE_EVERY:
                    self._unestimated = 0
                    self._wanted_ns = self._wanted(stream)
            self._newest_sim_ns, self._newest_due_ns = newest_sim, newest_due
            stream.longest_wait_ns, stream.widest_gap = NEVER_NS, 1
        elif stream.stands:
            self._newest_due_ns = newest_due
        self._shortfall_ns = present_ns - newest_due

    def _wanted(self, stream: Stream) -> float:
        rhythm = stream.rhythm
        wanted = self._estimator.offset_ns(rhythm.interval_ns, rhythm.scatter_ns, self._room_ns(stream))
        return max(wanted, self._estimator.stall_offset_ns()) if self._preferences.prefer == "smooth" else wanted

    def _steadied(
        self, stream: Stream, draw_time_ns: int | None, playing_ns: int, passed_ns: int, present_ns: int
    ) -> int:
        """`playing_ns`, or a due instant on the way of the mean rate where uneven steps make the map uneven."""
        share = self._steady.share(stream, passed_ns)
        if share <= 0 or draw_time_ns is None:
            return playing_ns
        room_ns = self._room_ns(stream)
        if self._preferences.prefer == "smooth":
            room_ns = max(0, round(self._estimator.stall_offset_ns()) - stream.rhythm.longest_gap_ns)
        step = self._steady.advance(stream, draw_time_ns, passed_ns, present_ns, room_ns)
        along_map = max(0, stream.sim_at(playing_ns) - draw_time_ns)
        self.reason = "steps of uneven length: playing their mean rate"
        return stream.due_of(draw_time_ns + round(share * step + (1 - share) * along_map))

    def _speed(self, stream: Stream, playing_ns: int, present_ns: int, passed_ns: int) -> float:
        """Playback speed, relative to the wall clock."""
        excess = present_ns - passed_ns - playing_ns - self._wanted_ns
        debt = max(DEBT_NS, DEBT_INTERVALS * stream.rhythm.interval_ns)
        self._in_debt = excess > debt
        if abs(excess) > debt:
            limit = self._debt_speed if excess > 0 else DEBT_SPEED
            self.reason = "catching up" if excess > 0 else "falling back"
        else:
            limit, self._debt_speed = SLEW, DEBT_SPEED
            if self._wanted_ns <= 0:
                self.reason = "snapshots come before they are due"
            else:
                self.reason = f"snapshots come late: {self._wanted_ns / 1e6:.1f} ms behind the present"
        speed = max(-limit, min(limit * max(1.0, passed_ns / SLOW_FRAME_NS), excess / SLEW_TAU_NS))
        # One frame must not overshoot what it corrects, however long it was.
        if passed_ns > 0 and abs(speed * passed_ns) > abs(excess):
            speed = excess / passed_ns
        return 1.0 + speed


# Playback speed of the mode `auto`: braking before the newest snapshot, and the mean rate of uneven steps.
#
# `Brake`: a clock that stops or starts within one frame changes its speed by more than the percent that the eye sees,
# so both are spread over frames. It works on the wall time played in a frame ("advance") and knows neither snapshots
# nor plans.
#
# `SteadyRate`: followed exactly, the map of uneven steps would play each interval at another speed. Instead simulated
# time advances at the mean rate of late, pulled gently towards the distance wanted. What is left before the newest
# snapshot must last until the next one comes, at the longest of the latest gaps: that bounds the speed, evenly from
# the first frame of a gap on, instead of braking at its end.


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
