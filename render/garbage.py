"""Garbage of the viewer, looked for when nobody waits for a picture.

The one idea: Python's own collector stops the program when it likes, so it is off; here only what is new since the
last look is looked through, between two frames, and only where the time until the next one suffices. What is too much
for that (a program that draws builds a large structure at once) is set aside unread, and looked through when frames
rest.

Always: a look in spare time is expected to take at most half of it, by what looks took so far.
"""

from __future__ import annotations

import gc
import time

# New objects (that can be part of a cycle, and are alive) below which looking is not worth its overhead.
FEW = 500
# A look that short may be made in any frame; each frame in which it could not be made allows for a little more.
NEGLIGIBLE_NS = 300_000
PATIENCE_NS_A_FRAME = 10_000
LONGEST_NS = 3_000_000
# So many new objects will not fit into any frame's spare time.
MANY = 20_000
# What looking through one object takes at first, and how fast what was measured since replaces that.
USUAL_NS = 250.0
LEARNING = 0.2
# Frames that have rested so long will probably go on resting: time for all that was set aside.
LONG_REST_NS = 2_000_000_000


class Garbage:
    """Of this process. `gc` is to be disabled while it is in use."""

    def __init__(self) -> None:
        self._ns_an_object = USUAL_NS
        self._frames_waited = 0
        self._is_set_aside = True  # something is, such as what start-up left

    def in_spare_time(self, spare_ns: int) -> None:
        """Between two frames, of which the next begins in `spare_ns`."""
        new = gc.get_count()[0]
        if new < FEW:
            return
        self._frames_waited += 1
        patience_ns = min(LONGEST_NS, NEGLIGIBLE_NS + self._frames_waited * PATIENCE_NS_A_FRAME)
        if new * self._ns_an_object <= max(spare_ns / 2, patience_ns):
            self._look(new)
        elif new >= MANY:
            gc.freeze()
            self._is_set_aside = True
        else:
            return
        self._frames_waited = 0

    def at_rest(self, rested_ns: int) -> None:
        """No frames are made since so long; once they have rested long, everything is looked through."""
        if rested_ns >= LONG_REST_NS and (self._is_set_aside or gc.get_count()[0] >= FEW):
            self._is_set_aside = False
            gc.unfreeze()
            gc.collect()
            gc.freeze()

    def _look(self, new: int) -> None:
        began_ns = time.perf_counter_ns()
        gc.collect(1)
        took_ns = (time.perf_counter_ns() - began_ns) / new
        self._ns_an_object += LEARNING * (took_ns - self._ns_an_object)
