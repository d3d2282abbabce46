"""How much earlier than the work asks for frames start: grows with a miss that the work does not explain. Pure."""

from __future__ import annotations

# A miss that the frame's own cost does not explain adds this share of the interval to the margin; each good frame
# takes back this share of what is above the floor (half of it in 12 s at 60 frames a second). A miss is seen, a few
# ms of latency are not: quick up, slow down.
GROWS, SHRINKS = 0.2, 0.001
# A miss counts where the frame's cycle took less than this share of the interval: an earlier start could have saved it.
COSTLY = 0.95


class Margin:
    """floor_ns: the least."""

    def __init__(self, floor_ns: int) -> None:
        self.ns = self._floor_ns = floor_ns

    def learn(self, missed: bool, cycle_ns: int, interval_ns: int) -> None:
        """One frame's outcome."""
        if cycle_ns > COSTLY * interval_ns:
            return
        if missed:
            self.ns = max(self._floor_ns, min(self.ns + round(GROWS * interval_ns), interval_ns))
        else:
            self.ns -= round((self.ns - self._floor_ns) * SHRINKS)

    def forget(self) -> None:
        self.ns = self._floor_ns
