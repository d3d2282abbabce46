"""Garbage collection of physics: in waits that are long enough for it, never inside a step.

Objects that are alive when physics begins are frozen: the collector does not scan them again. Without waits it collects
rarely, between two steps. In a process that the world forks, Python's own collector is on.
"""

from __future__ import annotations

import gc
import time

from twixt.ipc.process import fork

# A young collection after a few steps takes well under this.
YOUNG_NS = 1_000_000
# Interval of full collections that fit into a wait, and the longest time without one.
FULL_EVERY_NS = 2_000_000_000
FULL_AT_LATEST_NS = 20_000_000_000


class IdleCollector:
    """Collects in place of Python's own collector between `begin` and `end`."""

    def __init__(self) -> None:
        self._was_enabled = False

    def begin(self) -> None:
        """Freezes all objects that are alive, and stops Python's collector."""
        self._was_enabled = gc.isenabled()
        fork.guard(self)
        gc.collect()
        gc.freeze()
        gc.disable()
        self._full_cost_ns = 0
        self._full_ns = self._young_ns = time.perf_counter_ns()

    def end(self) -> None:
        """Unfreezes all objects and restarts Python's collector. Harmless before `begin`."""
        if self._was_enabled:
            self._was_enabled = False
            gc.unfreeze()
            gc.enable()

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`."""
        self.end()

    def collect_in(self, spare_ns: int) -> None:
        """Runs a collection that fits into a wait of `spare_ns`, or that has been due for too long."""
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
