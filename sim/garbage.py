"""Collects garbage while the loop waits anyway, never inside a step.

What was alive when physics began is set aside and never looked at again; what a step leaves behind is collected in
waits long enough for it. Physics that never waits is collected all the same, now and then. A process that the world
forks collects as Python does.
"""

from __future__ import annotations

import gc
import time

from twixt.ipc import fork

# A young collection over what a few steps left behind takes well under this.
YOUNG_NS = 1_000_000
# Distance between full collections that fit into a wait, and the longest without one.
FULL_EVERY_NS = 2_000_000_000
FULL_AT_LATEST_NS = 20_000_000_000


class IdleCollector:
    """Takes collecting over from Python between `begin` and `end`."""

    def __init__(self) -> None:
        self._was_enabled = False

    def begin(self) -> None:
        """Sets all that is alive aside."""
        self._was_enabled = gc.isenabled()
        fork.guard(self)
        gc.collect()
        gc.freeze()
        gc.disable()
        self._full_cost_ns = 0
        self._full_ns = self._young_ns = time.perf_counter_ns()

    def end(self) -> None:
        """Gives collecting back. Harmless where nothing was taken over."""
        if self._was_enabled:
            self._was_enabled = False
            gc.unfreeze()
            gc.enable()

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`."""
        self.end()

    def tidy(self, spare_ns: int) -> None:
        """Collects what fits into `spare_ns`, or what cannot be put off any longer."""
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
