"""How a clock comes to a stop before the newest snapshot, and how it starts again.

Both are changes of speed that the eye sees more than a percent of error: so they are spread over frames. Works on the
wall time played in a frame ("advance"); knows neither snapshots nor plans.
"""

from __future__ import annotations

import math

# After a stop, speed comes back by no more than this a second: from rest to 1 in three frames at 60 Hz.
GAIN_PER_NS = 24e-9
# Below this speed for so long it has stopped; a shorter lack is made up for at once. At the second it has started.
STOPPED, STOP_NS, STARTED = 0.1, 30_000_000, 1.3
# Below this share of the room it brakes in earnest; above, a snapshot that is a little late costs a few percent.
EARNEST = 0.75
# Braking goes on from at least this speed: a start is not braked to nothing.
LEAST = 0.4
# Where there is no room, and too little left for a whole frame, this share of the lack is kept for the next one.
KEPT = 0.4
# Less than this left is played at once: a stop is a stop.
REST_NS = 200_000


class Brake:
    """Remembers the speed of the frame before, and whether it is coming back from a stop."""

    def __init__(self) -> None:
        self._speed = 1.0
        self._starting = False
        self._stopped_ns = 0

    def gently(self, advance: float, passed_ns: int) -> float:
        """`advance`, or less where that would be too sudden after a stop."""
        if not self._starting:
            return advance
        return min(advance, passed_ns * (self._speed + GAIN_PER_NS * passed_ns))

    def before_end(self, advance: int, left_ns: int, passed_ns: int, room_ns: int) -> int:
        """`advance`, or less where only `left_ns` is left: speed <= sqrt(left / room), then losing as much in each
        frame as brings it to rest at the end."""
        if 0 < left_ns < room_ns:
            advance = min(advance, round(passed_ns * math.sqrt(left_ns / room_ns)))
            if left_ns < EARNEST * room_ns:
                # Speeds v - d, v - 2d, ... down to 0, a frame each, sum up to v * v / 2d - v / 2 frames' worth.
                speed = max(LEAST, min(1.0, self._speed))
                speed -= speed * speed / (2 * left_ns / max(passed_ns, 1) + speed)
                advance = min(advance, round(passed_ns * speed))
        elif advance >= left_ns > REST_NS:
            advance = round(left_ns - KEPT * min(left_ns, advance - left_ns))
        return advance

    def moved(self, advance: int, passed_ns: int) -> None:
        """So much was played in the end."""
        if passed_ns <= 0:
            return
        self._speed = advance / passed_ns
        self._stopped_ns = self._stopped_ns + passed_ns if self._speed < STOPPED else 0
        self._starting = self._stopped_ns > STOP_NS or (self._starting and self._speed < STARTED)
