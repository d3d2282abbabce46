"""The two clocks that need no memory: `ahead` draws the present, `newest-two` lags one interval.

Both only say where they would be; the clock that asks keeps the promises (never back, never beyond).
"""

from __future__ import annotations

from twixt.render.playback.stream import Stream


class Ahead:
    """Draw the instant that falls due at present: no added latency while physics runs ahead, else it holds."""

    name = "ahead"

    def __init__(self) -> None:
        self.reason = "draws what falls due at present"

    def choose_ns(self, stream: Stream, present_ns: int, passed_ns: int, drawn_ns: int | None) -> int:
        if present_ns > stream.newest_due_ns:
            self.reason = "nothing is due yet that is newer: holding"
        else:
            self.reason = "draws what falls due at present"
        return stream.sim_at(present_ns)

    def replanned(self, stream: Stream, drawn_ns: int | None, stretch: float) -> None:
        """Follows the map as it is; nothing of its own to change."""

    def begin_anew(self) -> None:
        """Has learned nothing."""


class NewestTwo:
    """Draw between the two newest, one interval late: from the older, since the newer one arrived."""

    name = "newest-two"

    def __init__(self) -> None:
        self.reason = "between the two newest, one interval late"

    def choose_ns(self, stream: Stream, present_ns: int, passed_ns: int, drawn_ns: int | None) -> int:
        due_ns = stream.previous_due_ns + present_ns - stream.newest_arrival_ns
        return stream.sim_at(min(due_ns, stream.newest_due_ns))

    def replanned(self, stream: Stream, drawn_ns: int | None, stretch: float) -> None:
        """Follows the map as it is; nothing of its own to change."""

    def begin_anew(self) -> None:
        """Has learned nothing."""
