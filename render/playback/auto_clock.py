"""The default clock: no latency while physics is ahead, just enough when it is not.

It plays a due instant forward with the wall clock, `offset_ns` behind the present, and slews that offset
towards the one wanted by playing a few percent faster or slower. On underrun it holds at the newest snapshot; the
offset reached is kept (fast attack, slow release).

Physics' own changes of rate are followed as they are; only where every step takes another time is their mean
rate played instead (`SteadyRate`). What a stall costs is the user's choice (`Preferences.prefer`).
"""

from __future__ import annotations

from twixt.render.playback.modes import Preferences
from twixt.render.playback.offset_estimator import LeastDrawDelay, OffsetEstimator, RequiredOffset
from twixt.render.playback.playback_speed import Brake, SteadyRate
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
