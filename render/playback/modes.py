"""Defines the modes of the playback clock: their protocol, the user's preferences, and the modes `ahead`, `newest-two`
and `buffered`.

The mode `ahead` draws the simulated time that is due when the frame is shown; `newest-two` lags by one interval;
`buffered` keeps a fixed delay. The mode `auto` has its own module. A mode proposes a draw time; `PlaybackClock` limits
it and never lets it decrease. No mode reads a clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from twixt.ipc.config.flags import PREFERENCES
from twixt.ipc.errors import TwixtError
from twixt.render.playback.stream import Stream

MAX_BUFFER_MS = 60_000.0


@dataclass
class Preferences:
    """The user's choices for a clock. The modes of the clock read these choices in every frame.

    prefer: how the clock responds to stalls. latency: the clock adds no latency; it plays to the newest snapshot and
    then holds. balanced: the clock stays some time behind the newest snapshot, and uses this time to slow down before
    it stops. smooth: the clock adds as much latency as the longest stall of the last minutes needed, so that only the
    first stall is visible. buffer_ms: delay of the mode `buffered`, in ms; None: the delay is computed from measured
    jitter.
    """

    prefer: str = "latency"
    buffer_ms: float | None = None

    def __setattr__(self, name: str, value: object) -> None:
        if name == "prefer" and value not in PREFERENCES:
            raise TwixtError(f"prefer must be one of {', '.join(PREFERENCES)}, got {value!r}")
        if name == "buffer_ms" and value is not None:
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= MAX_BUFFER_MS:
                raise TwixtError(
                    f"buffer_ms must be 0 to {MAX_BUFFER_MS:.0f}, or None to measure the jitter, got {value!r}"
                )
            value = float(value)
        super().__setattr__(name, value)


class ClockMode(Protocol):
    """Protocol of the clock's modes. A mode proposes the draw time; the clock limits it and never lets it decrease."""

    reason: str

    @property
    def name(self) -> str: ...

    def advance_to(self, stream: Stream, present_ns: int, passed_ns: int, draw_time_ns: int | None) -> int:
        """Advances to the frame at `present_ns` and returns the draw time of this frame. passed_ns: wall time since
        the previous frame. draw_time_ns: draw time of the previous frame; None: nothing was drawn yet."""

    def replanned(self, stream: Stream, draw_time_ns: int | None, stretch: float) -> None:
        """Adapts to a new map from wall time to simulated time. stretch: factor by which the map makes intervals of
        wall time longer."""

    def begin_anew(self) -> None:
        """Clears the statistics of the start-up frames."""


class StatelessMode:
    """Base class of the modes that follow the map from wall time to simulated time and keep no statistics."""

    def replanned(self, stream: Stream, draw_time_ns: int | None, stretch: float) -> None:
        """No-op: there is no state."""

    def begin_anew(self) -> None:
        """No-op: there are no statistics."""


class PresentMode(StatelessMode):
    """Mode `ahead`: draws the simulated time that is due when the frame is shown. This mode adds no latency while the
    physics process runs ahead. Otherwise it holds the newest snapshot."""

    name = "ahead"

    def __init__(self) -> None:
        self.reason = "drawing the time that is due now"

    def advance_to(self, stream: Stream, present_ns: int, passed_ns: int, draw_time_ns: int | None) -> int:
        if present_ns > stream.newest_due_ns:
            self.reason = "no newer snapshot: holding"
        else:
            self.reason = "drawing the time that is due now"
        return stream.sim_at(present_ns)


class NewestTwoMode(StatelessMode):
    """Mode `newest-two`: draws between the two newest snapshots, one interval late. When a snapshot arrives, playback
    starts at the snapshot before it."""

    name = "newest-two"

    def __init__(self) -> None:
        self.reason = "between the two newest snapshots, one interval late"

    def advance_to(self, stream: Stream, present_ns: int, passed_ns: int, draw_time_ns: int | None) -> int:
        due_ns = stream.previous_due_ns + present_ns - stream.newest_arrival_ns
        return stream.sim_at(min(due_ns, stream.newest_due_ns))


# Mode `buffered`: a fixed delay. As in network games, small corrections of the playback speed keep the delay, even if
# the motion is uneven.
#
# If `buffer_ms` is not set, the delay behind the newest received snapshot is computed from measured jitter: buffer =
# interval x ((interval + deviation) / interval + tolerance). The clock runs 2 % faster when it is an interval too
# late, and 4 % slower when it is an interval too early. The clock never lags by more than twice the buffer, because it
# skips the backlog after a stall (dynamic adjustment and clamp of snapshot interpolation in networking libraries for
# games).
#
# If `buffer_ms` is set, the delay behind the present time is exactly this value. The clock advances a due time instead
# of a simulated time, and so follows changes of rate and slow motion. A buffer of simulated time would hold or skip at
# such changes.


# Number of snapshots that the buffer keeps in reserve, in addition to the snapshot that is expected next.
TOLERANCE = 1.0
CATCH_UP, SLOW_DOWN = 0.02, 0.04
# The playback speed stays 1 while the drift (difference from the wanted delay) is at most this many intervals.
THRESHOLD = 1.0
# Averaging times (ns) of two quantities: the drift, and the deviation of the time between arrivals of snapshots.
DRIFT_OVER_NS, DEVIATION_OVER_NS = 1_000_000_000, 2_000_000_000
# A gap between snapshots is a stop, not jitter, if it is at least STOP_NS and at least STOP_INTERVALS intervals long.
STOP_NS, STOP_INTERVALS = 1_000_000_000, 4
# During this many first gaps between snapshots, the clock is never ahead of the wanted delay. So the buffer is full
# from the start.
FIRST_GAPS = 3
# Time constant (ns) with which the delay approaches the delay that the user has set. The speed of the clock changes by
# at most CATCH_UP and SLOW_DOWN. If the two delays differ by more than 60 ms and by more than 1.2 intervals, the clock
# runs up to a quarter faster or slower. So the user soon sees an effect of a moved slider.
SET_TAU_NS = 500_000_000
SET_FAR_NS, SET_FAR_INTERVALS, SET_SPEED = 60_000_000, 1.2, 0.25


def buffer_ns(interval_ns: float, deviation_ns: float, tolerance: float = TOLERANCE) -> float:
    """Delay behind the newest snapshot, in ns. deviation_ns: standard deviation of the time between arrivals of
    snapshots. interval_ns: usual time between snapshots, > 0."""
    return interval_ns * ((interval_ns + deviation_ns) / interval_ns + tolerance)


class BufferedMode:
    """Advances a due time with the wall clock. The playback speed has one of three values, unless the user sets the
    delay."""

    name = "buffered"

    def __init__(self, preferences: Preferences) -> None:
        self.reason = "starting"
        self._preferences = preferences
        self._draw_due_ns: int | None = None
        self._arrivals = ArrivalJitter()
        self._newest_arrival_ns: int | None = None
        self._drift_ns: float | None = None
        self._gaps_left = FIRST_GAPS

    def advance_to(self, stream: Stream, present_ns: int, passed_ns: int, draw_time_ns: int | None) -> int:
        self._draw_due_ns = playing = self._played(stream, present_ns, passed_ns, draw_time_ns)
        if playing >= stream.limit_due_ns:
            self._draw_due_ns = playing = stream.limit_due_ns
            self.reason = "no newer snapshot: holding"
        return stream.sim_at(playing)

    def replanned(self, stream: Stream, draw_time_ns: int | None, stretch: float) -> None:
        """Continues from the draw time, at its due time in the new plan."""
        self._drift_ns = None
        if stretch != 1.0:
            self._arrivals = ArrivalJitter()
        if draw_time_ns is not None:
            self._draw_due_ns = stream.due_of(draw_time_ns)

    def begin_anew(self) -> None:
        """No-op: this mode has statistics of arrivals, not of frames."""

    def _played(self, stream: Stream, present_ns: int, passed_ns: int, draw_time_ns: int | None) -> int:
        delay_ms = self._preferences.buffer_ms
        if delay_ms is not None:
            return self._at_delay(stream, present_ns, passed_ns, draw_time_ns, round(delay_ms * 1e6))
        interval_ns = stream.rhythm.interval_ns
        is_new = stream.newest_arrival_ns != self._newest_arrival_ns
        if is_new:
            self._newest_arrival_ns = stream.newest_arrival_ns
            self._arrivals.add(stream.newest_arrival_ns, interval_ns)
        lag_ns = round(buffer_ns(interval_ns, self._arrivals.deviation_ns)) if interval_ns else 0
        target = stream.newest_due_ns - lag_ns
        if self._draw_due_ns is None:
            return (
                target
                if draw_time_ns is None
                else max(target - lag_ns, min(target + lag_ns, stream.due_of(draw_time_ns)))
            )
        playing = self._draw_due_ns + round(passed_ns * self._speed(interval_ns, lag_ns))
        if is_new and interval_ns:
            drift = target - playing
            if self._drift_ns is None:
                self._drift_ns = drift
            self._drift_ns += (drift - self._drift_ns) * min(1.0, interval_ns / DRIFT_OVER_NS)
        if is_new:
            inside = max(target - lag_ns, min(target + lag_ns, playing))
            if self._gaps_left and interval_ns:
                self._gaps_left -= 1
                inside = min(inside, target)
            if inside != playing:
                playing, self._drift_ns = inside, target - inside
        return playing

    def _speed(self, interval_ns: int, lag_ns: int) -> float:
        drift = (self._drift_ns or 0.0) / (THRESHOLD * interval_ns) if interval_ns else 0.0
        behind = f"{lag_ns / 1e6:.1f} ms behind the newest snapshot"
        if drift > 1:
            self.reason = f"catching up: more than {behind}"
            return 1 + CATCH_UP
        if drift < -1:
            self.reason = f"slowing down: less than {behind}"
            return 1 - SLOW_DOWN
        self.reason = behind
        return 1.0

    def _at_delay(
        self, stream: Stream, present_ns: int, passed_ns: int, draw_time_ns: int | None, delay_ns: int
    ) -> int:
        self.reason = f"{delay_ns / 1e6:.1f} ms behind the time that is due now"
        if self._draw_due_ns is None:
            return present_ns - delay_ns if draw_time_ns is None else stream.due_of(draw_time_ns)
        excess = present_ns - delay_ns - (self._draw_due_ns + passed_ns)
        fast, slow = CATCH_UP, SLOW_DOWN
        if abs(excess) > max(SET_FAR_NS, SET_FAR_INTERVALS * stream.rhythm.interval_ns):
            fast = slow = SET_SPEED
        if excess:
            self.reason = ("catching up to " if excess > 0 else "slowing down to ") + self.reason
        change = max(-slow * passed_ns, min(fast * passed_ns, excess * min(1.0, passed_ns / SET_TAU_NS)))
        return self._draw_due_ns + passed_ns + round(change)


class ArrivalJitter:
    """Moving standard deviation of the time between arrivals of snapshots."""

    def __init__(self) -> None:
        self._arrival_ns: int | None = None
        self._mean_ns: float | None = None
        self._variance = 0.0

    @property
    def deviation_ns(self) -> float:
        """Standard deviation of the time between the last arrivals, in ns."""
        return self._variance**0.5

    def add(self, arrival_ns: int, interval_ns: int) -> None:
        """Records the arrival of a snapshot that is newer than all others. interval_ns: usual interval between
        snapshots, in ns; 0 if it is not known yet."""
        gap = 0 if self._arrival_ns is None else arrival_ns - self._arrival_ns
        if gap > 0 and interval_ns and gap < max(STOP_NS, STOP_INTERVALS * interval_ns):
            if self._mean_ns is None:
                self._mean_ns = float(gap)
            share = min(1.0, interval_ns / DEVIATION_OVER_NS)
            off = gap - self._mean_ns
            self._mean_ns += share * off
            # West 1979: exponentially weighted variance.
            self._variance = (1 - share) * (self._variance + share * off * off)
        self._arrival_ns = arrival_ns
