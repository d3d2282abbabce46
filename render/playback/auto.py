"""Default mode `auto` of the playback clock: it adds no latency while the physics process is ahead; otherwise it adds
the smallest delay that avoids underruns.

The mode advances a due time with the wall clock, at an offset behind the present time. It changes this offset slowly
to the wanted offset: playback becomes a few percent faster or slower. On an underrun, playback holds at the newest
snapshot. The offset that playback has then is kept (fast attack, slow release).

The clock follows changes of the rate of physics. But if steps take different times, the clock plays their mean rate
(`SteadyRate`). The user chooses how the clock responds to stalls (`Preferences.prefer`).
"""

from __future__ import annotations

import math

from twixt.render.playback.estimator import LeastDrawDelay, OffsetEstimator, RequiredOffset
from twixt.render.playback.modes import Preferences
from twixt.render.playback.stream import NEVER_NS, Stream

# The playback speed stays between 1 - SLEW and 1 + SLEW while the excess (delay beyond the wanted delay) is small.
# Such a change of speed is not visible: it is an animation error of 0.5 ms at 60 Hz.
SLEW = 0.03
SLEW_TAU_NS = 500_000_000
# The excess (delay beyond the wanted delay) is a debt if it is larger than DEBT_NS and larger than DEBT_INTERVALS
# intervals. Playback reduces a debt at up to 1.5 times the usual speed.
DEBT_NS = 60_000_000
DEBT_INTERVALS = 1.2
DEBT_SPEED = 0.5
# If a frame takes longer than this (ns), it is not seen as motion, and a change of playback speed is not visible
# either. So the speed of such frames may deviate more.
SLOW_FRAME_NS = 100_000_000
# If the preference is `balanced`, playback stays behind the newest snapshot by this time: ROOM_NS or ROOM_INTERVALS
# intervals, whichever is larger.
ROOM_NS, ROOM_INTERVALS = 33_000_000, 0.5
# The wanted offset is estimated again after this many arrivals of snapshots, or earlier if an arrival requires a
# larger offset. The estimate takes half of the time of a call of the clock.
ESTIMATE_EVERY = 4
# When the physics process drops a debt (time by which it is late), the offsets of this time (ns) before are discarded.
# The debt may have caused them.
DEBT_MEMORY_NS = 1_000_000_000


class AutoMode:
    """Mode `auto`: plays at an offset behind the present time."""

    def __init__(self, preferences: Preferences) -> None:
        self.reason = "starting"
        self._preferences = preferences
        self._estimator = OffsetEstimator()
        self._draw_delay = LeastDrawDelay()
        self._draw_due_ns: int | None = None  # due time of the last draw time
        self._newest_sim_ns: int | None = None
        self._newest_due_ns = 0
        self._shortfall_ns = 0  # at the last frame: present time minus due time of the newest snapshot, in ns
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
                before = stream.due_of(draw_time_ns)  # after a gap, snapshots fall due later than was expected
            advance = self._brake.soft_start(passed_ns * self._speed(stream, before, present_ns, passed_ns), passed_ns)
            playing = before + round(advance)
            if self._in_debt and draw_time_ns is not None:
                # While the world rests nothing moves, so playback skips its debt (the time that it is behind) at once.
                playing = max(playing, min(stream.due_of(draw_time_ns), present_ns - round(self._wanted_ns)))
            playing = self._steadied(stream, draw_time_ns, playing, passed_ns, present_ns)
            playing = before + self._brake.before_end(
                playing - before, limit - before, passed_ns, self._room_ns(stream)
            )
        if playing >= limit:
            playing = limit
            self.reason = "simulated time is stopped" if stream.stands else "no newer snapshot: holding"
        elif playing > stream.newest_due_ns:
            self.reason = "no newer snapshot: extrapolating"
        if before is not None:
            self._brake.played(playing - before, passed_ns)
        self._draw_due_ns = playing
        return stream.sim_at(playing)

    def replanned(self, stream: Stream, draw_time_ns: int | None, stretch: float) -> None:
        """Continues from the draw time, at its due time in the new plan."""
        if stretch != 1.0:
            # Offsets at the old time scale do not predict offsets at the new one. The wanted offset stays the same in
            # simulated time. The room before the newest snapshot stays the same in wall time.
            self._estimator = self._estimator.rescaled()
            room_ns = min(self._room_ns(stream), self._wanted_ns)
            self._wanted_ns = room_ns + (self._wanted_ns - room_ns) * stretch
            self._unestimated = ESTIMATE_EVERY
            # A delay that is short at the old time scale is long at a slower time scale. So playback catches up at up
            # to the speed of the old time scale.
            self._debt_speed = max(DEBT_SPEED, stretch - 1.0)
        self._newest_sim_ns = None
        self._brake, self._steady = Brake(), SteadyRate()
        if draw_time_ns is None:
            return
        self._draw_due_ns = stream.due_of(draw_time_ns)
        if stretch != 1.0 and stream.plan is not None:
            self._wanted_ns = min(self._wanted_ns, max(0, stream.plan.wall_ns - self._draw_due_ns))

    def begin_anew(self) -> None:
        """Clears the statistics of the start-up frames. The offset is kept until new offsets are measured."""
        self._estimator, self._unestimated = OffsetEstimator(), 0

    def _room_ns(self, stream: Stream) -> int:
        """Wall time in ns by which playback should still be behind the newest snapshot when the next one arrives."""
        if self._preferences.prefer != "balanced":
            return 0
        return max(ROOM_NS, round(ROOM_INTERVALS * stream.rhythm.interval_ns))

    def _learn(self, stream: Stream, present_ns: int, passed_ns: int) -> None:
        newest_sim, newest_due = stream.newest_sim_ns, stream.newest_due_ns
        if newest_sim != self._newest_sim_ns:
            gap = newest_due - self._newest_due_ns
            # otherwise due times were changed, and no snapshot was late
            if self._newest_sim_ns is not None and gap >= 0:
                # Between two frames, the shortfall (present time minus newest due time) grew until the snapshot
                # arrived. If frames came at other instants, or with a little more jitter, a frame would have measured
                # the larger value.
                required_ns = max(self._shortfall_ns, min(stream.longest_wait_ns, self._shortfall_ns + passed_ns))
                if stream.rhythm.slips == self._slips:
                    late_ns = self._draw_delay.least_ns(present_ns, present_ns - stream.newest_arrival_ns)
                    late_ns += stream.newest_arrival_ns - newest_due
                    intervals = stream.rhythm.intervals(gap, newest_sim - self._newest_sim_ns)
                    required = RequiredOffset(required_ns, gap, intervals, late_ns, stream.widest_gap)
                    self._estimator.add(present_ns, required, stream.rhythm.interval_ns)
                else:
                    # The physics process dropped its debt. Discard the offsets that the debt caused.
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
        """Returns `playing_ns` if steps are even. If steps are uneven, returns the due time that playback at their
        mean rate reaches, or a time between both."""
        share = self._steady.share(stream, passed_ns)
        if share <= 0 or draw_time_ns is None:
            return playing_ns
        room_ns = self._room_ns(stream)
        if self._preferences.prefer == "smooth":
            room_ns = max(0, round(self._estimator.stall_offset_ns()) - stream.rhythm.longest_gap_ns)
        step = self._steady.advance(stream, draw_time_ns, passed_ns, present_ns, room_ns)
        along_map = max(0, stream.sim_at(playing_ns) - draw_time_ns)
        self.reason = "steps of uneven length: playing at their mean rate"
        return stream.due_of(draw_time_ns + round(share * step + (1 - share) * along_map))

    def _speed(self, stream: Stream, playing_ns: int, present_ns: int, passed_ns: int) -> float:
        """Playback speed relative to the wall clock (1: simulated time passes as planned)."""
        excess = present_ns - passed_ns - playing_ns - self._wanted_ns
        debt = max(DEBT_NS, DEBT_INTERVALS * stream.rhythm.interval_ns)
        self._in_debt = excess > debt
        if abs(excess) > debt:
            limit = self._debt_speed if excess > 0 else DEBT_SPEED
            self.reason = "catching up" if excess > 0 else "slowing down"
        else:
            limit, self._debt_speed = SLEW, DEBT_SPEED
            if self._wanted_ns <= 0:
                self.reason = "snapshots arrive before they are due"
            else:
                self.reason = f"snapshots arrive late: playing {self._wanted_ns / 1e6:.1f} ms behind"
        speed = max(-limit, min(limit * max(1.0, passed_ns / SLOW_FRAME_NS), excess / SLEW_TAU_NS))
        # A single frame must not overshoot the wanted offset, however long the frame was.
        if passed_ns > 0 and abs(speed * passed_ns) > abs(excess):
            speed = excess / passed_ns
        return 1.0 + speed


# Playback speed of the mode `auto`: playback brakes before the newest snapshot, and plays uneven steps at their mean
# rate.
#
# `Brake` spreads stops and starts over several frames, because a sudden stop or start is visible. `Brake` changes the
# wall time that a frame plays (its "advance"), and uses no snapshots or plans.
#
# `SteadyRate` smooths uneven steps. If playback followed the map of uneven steps exactly, each interval would play at
# another speed. Instead, simulated time advances at the recent mean rate. A slow correction leads it to the wanted
# distance from the newest snapshot. The simulated time that is left before the newest snapshot must last until the
# next one arrives. The arrival is expected after the longest of the last gaps. This limits the speed from the first
# frame of a gap on, so that playback does not have to brake at the end.


# -- Brake

# Largest acceleration of playback after a stop, per ns: from speed 0 to 1 in three frames at 60 Hz.
GAIN_PER_NS = 24e-9
# The clock counts as stopped if its speed has been below STOPPED for STOP_NS. After a shorter stop, the clock catches
# up at once. The clock counts as started again when it reaches the speed STARTED.
STOPPED, STOP_NS, STARTED = 0.1, 30_000_000, 1.3
# If less than this share of the room before the newest snapshot is left, the clock brakes to a stop. If more is left,
# a snapshot that is a little late costs only a few percent of speed.
FULL_BRAKING = 0.75
# Braking is computed from a speed of at least this. Otherwise a clock that is just starting would be braked to a stop.
LEAST_SPEED = 0.4
# If the time before the newest snapshot is too short for a whole frame, and there is no room, this share of the
# missing time is left for the next frame.
KEPT_SHARE = 0.4
# If less time (ns) than this is left before the newest snapshot, it is played at once.
REMAINDER_NS = 200_000

# -- SteadyRate

# Limits of the relative change of the interval from one snapshot to the next. Steps are even below EVEN and uneven
# above UNEVEN. Between these limits, both ways of playing are blended.
EVEN, UNEVEN = 0.03, 0.08
# Limits of the change of the interval from one snapshot to the next, in ns of wall time. A change below UNSEEN_NS is
# invisible. For example, a loop that sleeps 2 ms at a time scatters by a third of these 2 ms, and a frame contains a
# dozen of its intervals.
UNSEEN_NS, SEEN_NS = 1_000_000, 4_000_000
# Time constant (ns) with which the weight of the mean rate decreases after steps have become even again.
RELEASE_TAU_NS = 1_500_000_000
# The rate is averaged over two windows of these lengths (ns). The rate is the mean of both averages. The short window
# gives the rate just before the present time; the long window predicts the rate after it. The short or the long window
# alone has a tenth more error on steps of 20-120 ms, or is 15 ms later.
MEANS_OVER_NS = 500_000_000, 2_000_000_000
# Time constant (ns) with which the mean rate is smoothed. The mean rate jumps with every snapshot, and the smoothed
# rate follows within two frames.
RATE_TAU_NS = 30_000_000
# The distance from the newest snapshot is corrected slowly. PULL_TAU_NS: time constant (ns) of the correction.
# PULL_MAX: its largest effect on the speed.
PULL_TAU_NS = 1_000_000_000
PULL_MAX = 0.5
# Reserve of playback in addition to the longest gap between snapshots, in mean intervals. Measured on steps of 20-120
# ms (40 seeds): with 0.9 the p99 error is at most 1.75 ms at 149 ms of age; with 0.6 it is 1.9 ms at 143 ms, with 0.3
# it is 2.1 ms at 134 ms.
RESERVE_INTERVALS = 0.9
# After the longest gap has passed, the remaining simulated time is played over at least this time (ns).
LEAST_LASTING_NS = 10_000_000


class Brake:
    """Limits a frame's advance (the time that it plays) by two quantities: the speed of the previous frame, and the
    time left before the newest snapshot."""

    def __init__(self) -> None:
        self._speed = 1.0
        self._starting = False
        self._stopped_ns = 0

    def soft_start(self, advance: float, passed_ns: int) -> float:
        """Returns `advance` (the time that the frame plays), or less while playback accelerates after a stop."""
        if not self._starting:
            return advance
        return min(advance, passed_ns * (self._speed + GAIN_PER_NS * passed_ns))

    def before_end(self, advance: int, left_ns: int, passed_ns: int, room_ns: int) -> int:
        """Returns `advance`, or less if only `left_ns` is left. Then the speed is at most sqrt(left / room), followed
        by a constant deceleration to rest at the end."""
        if 0 < left_ns < room_ns:
            advance = min(advance, round(passed_ns * math.sqrt(left_ns / room_ns)))
            if left_ns < FULL_BRAKING * room_ns:
                # The speeds v - d, v - 2d, ... down to 0, each for one frame, add up to v * v / 2d - v / 2 frames.
                speed = max(LEAST_SPEED, min(1.0, self._speed))
                speed -= speed * speed / (2 * left_ns / max(passed_ns, 1) + speed)
                advance = min(advance, round(passed_ns * speed))
        elif advance >= left_ns > REMAINDER_NS:
            advance = round(left_ns - KEPT_SHARE * min(left_ns, advance - left_ns))
        return advance

    def played(self, advance: int, passed_ns: int) -> None:
        """Records the advance (the time that the frame played)."""
        if passed_ns <= 0:
            return
        self._speed = advance / passed_ns
        self._stopped_ns = self._stopped_ns + passed_ns if self._speed < STOPPED else 0
        self._starting = self._stopped_ns > STOP_NS or (self._starting and self._speed < STARTED)


class SteadyRate:
    """Mean rate of uneven steps, and its weight. The rest of the weight is that of the map from wall time to simulated
    time."""

    def __init__(self) -> None:
        self._rate: float | None = None
        self._share = 0.0

    def share(self, stream: Stream, passed_ns: int) -> float:
        """Weight of the mean rate, from 0 to 1; it is 0 if steps are even."""
        relative = stream.rhythm.slope_change
        if relative <= EVEN and self._share == 0:
            return 0.0
        change_ns = relative * stream.rhythm.interval_ns
        now = min(1.0, (relative - EVEN) / (UNEVEN - EVEN), (change_ns - UNSEEN_NS) / (SEEN_NS - UNSEEN_NS))
        released = self._share * math.exp(-passed_ns / RELEASE_TAU_NS)
        self._share = max(now, released) if released > 0.01 else max(now, 0.0)
        return self._share

    def advance(self, stream: Stream, draw_time_ns: int, passed_ns: int, present_ns: int, room_ns: int) -> float:
        """Simulated time in ns to play in the `passed_ns` of wall time before `present_ns`. The result is never
        negative.

        room_ns: wall time that is kept in reserve in addition to the gaps between snapshots.
        """
        rhythm = stream.rhythm
        mean = sum(stream.mean_rate(over_ns) for over_ns in MEANS_OVER_NS) / len(MEANS_OVER_NS)
        if self._rate is None:
            self._rate = mean
        self._rate += (mean - self._rate) * -math.expm1(-passed_ns / RATE_TAU_NS)
        rate = max(self._rate, 1e-9)
        left_ns = stream.newest_sim_ns - draw_time_ns
        since_ns = max(0, present_ns - stream.newest_due_ns)
        # The step that the physics process is computing counts by the share of it that is probably completed.
        # Otherwise `left_ns` would oscillate.
        under_way_ns = min(since_ns / max(1.0, rhythm.mean_gap_ns), 1.0) * rhythm.sim_interval_ns
        goal_ns = rate * (rhythm.longest_gap_ns + RESERVE_INTERVALS * rhythm.mean_gap_ns + room_ns)
        pull = (left_ns + under_way_ns - goal_ns) / (rate * PULL_TAU_NS)
        lasts_ns = max(LEAST_LASTING_NS, rhythm.longest_gap_ns - since_ns)
        bound_ns = left_ns * -math.expm1(-passed_ns / lasts_ns)
        return min(passed_ns * rate * (1.0 + max(-PULL_MAX, min(PULL_MAX, pull))), bound_ns)
