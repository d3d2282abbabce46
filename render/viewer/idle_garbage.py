"""Garbage collection of the viewer process, while no frame waits.

Python's automatic collection stops the program at any time, so it is off. Instead, new objects are collected between
two frames, if there is enough time until the next one. A large structure that one frame makes (a user's drawing) is
frozen, and collected when no frames are made.

Always: a collection in spare time is made only if its expected time is at most half of the spare time, or below a fixed
limit: 0.3 ms, raised by each frame without a collection, up to 3 ms. The expected time comes from earlier collections:
processor time, since other programs on the core do not lengthen it. Memory is bounded even without spare time: MANY new
objects are collected however long it takes, unless the last frame alone made that many, and as many as are frozen.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

# Fewest new objects (living ones that can be part of a cycle) for which a collection is worth its overhead.
FEW = 500
# A collection up to NEGLIGIBLE_NS may be made in any frame. Each frame without one raises the limit, up to LONGEST_NS.
NEGLIGIBLE_NS = 300_000
PATIENCE_NS_A_FRAME = 10_000
LONGEST_NS = 3_000_000
# So many new objects take too long for any frame's spare time (about 5 ms). Made by one frame they are a structure,
# which is probably kept; made over many frames they are garbage.
MANY = 20_000
# Time of a collection per new object, first value, and weight of each measured one (exponential average).
USUAL_NS = 250.0
LEARNING = 0.2
# After this time without frames all objects are collected: frames will probably not be made for longer still.
LONG_IDLE_NS = 2_000_000_000


class Garbage:
    """Garbage of this process. Python's automatic collection must be disabled while this is in use."""

    def __init__(self, now_ns: Callable[[], int] = time.thread_time_ns) -> None:
        self._now_ns = now_ns
        self._ns_an_object = USUAL_NS
        self._frames_waited = 0
        self._new = 0  # new objects after the last call
        self._frozen = 1  # objects frozen since the last full collection; all those of start-up count as one

    def in_spare_time(self, spare_ns: int) -> None:
        """Collects new objects if there is time. Call it between two frames. spare_ns: time until the next."""
        new = gc.get_count()[0]
        made, self._new = new - self._new, new
        if new < FEW:
            return
        self._frames_waited += 1
        patience_ns = min(LONGEST_NS, NEGLIGIBLE_NS + self._frames_waited * PATIENCE_NS_A_FRAME)
        if new * self._ns_an_object <= max(spare_ns / 2, patience_ns):
            self._look(new)
        elif made >= max(MANY, self._frozen):
            gc.freeze()
            self._frozen += new
        elif new >= MANY:
            self._look(new)
        else:
            return
        self._frames_waited = self._new = 0

    def while_idle(self, idle_ns: int) -> None:
        """Collects all objects, once no frames were made for LONG_IDLE_NS. idle_ns: time without frames so far."""
        if idle_ns >= LONG_IDLE_NS and (self._frozen or gc.get_count()[0] >= FEW):
            self._frozen = 0
            gc.unfreeze()
            gc.collect()
            gc.freeze()

    def _look(self, new: int) -> None:
        began_ns = self._now_ns()
        gc.collect(1)
        took_ns = (self._now_ns() - began_ns) / new
        self._ns_an_object += LEARNING * (took_ns - self._ns_an_object)
