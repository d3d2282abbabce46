"""Modes of the playback clock: their Protocol, the user's preferences, and the two modes that learn nothing.

`ahead` draws the present, `newest-two` lags one interval. The others are `auto_clock` and `buffered_clock`. A mode
proposes a draw time; `PlaybackClock` keeps it from running back and from passing the newest snapshot. Reads no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from twixt.ipc.config.config import PREFERENCES
from twixt.ipc.errors import TwixtError
from twixt.render.playback.stream import Stream

MAX_BUFFER_MS = 60_000.0


@dataclass
class Preferences:
    """The user's choices for a clock; modes read them in every frame.

    prefer: what a stall costs. latency: no added latency, plays to the newest snapshot, then holds. balanced: some
    room before the newest snapshot, in which the clock brakes. smooth: as much latency as the longest stall of the
    last minutes needed, so that only the first one shows.
    buffer_ms: delay of the mode `buffered`; None: taken from measured jitter.
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
    """Mode of a clock: proposes the draw time; the clock keeps it monotonic and bounded."""

    reason: str

    @property
    def name(self) -> str: ...

    def advance_to(self, stream: Stream, present_ns: int, passed_ns: int, draw_time_ns: int | None) -> int:
        """Moves on to `present_ns` and returns its draw time. passed_ns: since the frame before, which drew
        `draw_time_ns`; None: nothing is drawn yet."""

    def replanned(self, stream: Stream, draw_time_ns: int | None, stretch: float) -> None:
        """The map changed: wall intervals are `stretch` times as long."""

    def begin_anew(self) -> None:
        """Forgets what frames met so far: it says nothing of those to come."""


class StatelessMode:
    """Part of the modes that learn nothing from frames and follow the map as it is."""

    def replanned(self, stream: Stream, draw_time_ns: int | None, stretch: float) -> None:
        """Nothing to change."""

    def begin_anew(self) -> None:
        """Nothing to forget."""


class PresentMode(StatelessMode):
    """`ahead`: draws the instant that falls due at present. No added latency while physics runs ahead, else it
    holds."""

    name = "ahead"

    def __init__(self) -> None:
        self.reason = "draws what falls due at present"

    def advance_to(self, stream: Stream, present_ns: int, passed_ns: int, draw_time_ns: int | None) -> int:
        if present_ns > stream.newest_due_ns:
            self.reason = "nothing is due yet that is newer: holding"
        else:
            self.reason = "draws what falls due at present"
        return stream.sim_at(present_ns)


class NewestTwoMode(StatelessMode):
    """`newest-two`: draws between the two newest, one interval late: from the older, since the newer one arrived."""

    name = "newest-two"

    def __init__(self) -> None:
        self.reason = "between the two newest, one interval late"

    def advance_to(self, stream: Stream, present_ns: int, passed_ns: int, draw_time_ns: int | None) -> int:
        due_ns = stream.previous_due_ns + present_ns - stream.newest_arrival_ns
        return stream.sim_at(min(due_ns, stream.newest_due_ns))
