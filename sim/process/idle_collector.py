"""Collects garbage in the physics process during waits that are long enough, and never inside a step.

Objects that exist when `begin` is called are frozen, so the collector never scans them again. If no wait is long
enough, collections are rare and run between two steps. If the world forks a process, Python's own collector runs in
that process.
"""

from __future__ import annotations

import gc
import time

from twixt.ipc.process import fork

# Longest duration of a young collection that is assumed, in ns.
YOUNG_NS = 1_000_000
# Shortest time between two full collections during waits, and longest time without a full collection, in ns.
FULL_EVERY_NS = 2_000_000_000
FULL_AT_LATEST_NS = 20_000_000_000


class IdleCollector:
    """Replaces Python's own garbage collector between `begin` and `end`."""

    def __init__(self) -> None:
        self._was_enabled = False

    def begin(self) -> None:
        """Freezes all existing objects, and stops Python's collector."""
        self._was_enabled = gc.isenabled()
        fork.guard(self)
        gc.collect()
        gc.freeze()
        gc.disable()
        self._full_cost_ns = 0
        self._full_ns = self._young_ns = time.perf_counter_ns()

    def end(self) -> None:
        """Unfreezes all objects and restarts Python's collector. A call before `begin` does no harm."""
        if self._was_enabled:
            self._was_enabled = False
            gc.unfreeze()
            gc.enable()

    def close_in_child(self) -> None:
        """Implements `fork.Guarded`: calls `end`."""
        self.end()

    def collect_in(self, spare_ns: int) -> None:
        """Runs a collection if one is due and fits into a wait of `spare_ns`. If a collection is overdue, runs it in
        any case."""
        now_ns = time.perf_counter_ns()
        fits = spare_ns > 2 * self._full_cost_ns + YOUNG_NS
        if now_ns - self._full_ns > (FULL_EVERY_NS if fits else FULL_AT_LATEST_NS):
            gc.collect()
            self._full_ns = time.perf_counter_ns()
            self._full_cost_ns = self._full_ns - now_ns
        elif gc.get_count()[0] > gc.get_threshold()[0] and (
            spare_ns > YOUNG_NS or now_ns - self._young_ns > FULL_EVERY_NS
        ):
            gc.collect(1)
            self._young_ns = now_ns
