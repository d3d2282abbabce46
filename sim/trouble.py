"""Trouble on purpose: real work added to every step, to see and to measure what a picture makes of slow physics.

Always: the same seed gives the same lengths in the same order; the world is not touched, and no random number of
its is drawn, so that its states are the same bytes with trouble and without.
"""

from __future__ import annotations

import random
import time
import zlib
from collections.abc import Callable, Sequence

# One piece of work takes some 10 microseconds, and lets other threads of the process run meanwhile.
PIECE = bytes(32 * 1024)


class Trouble:
    """Work of a length drawn uniformly from `slow_ms` (shortest, longest), added to each step; None: no work."""

    def __init__(
        self, slow_ms: Sequence[float] | None, seed: int, now_ns: Callable[[], int] = time.perf_counter_ns
    ) -> None:
        self.slow_ms = None if slow_ms is None else (float(slow_ms[0]), float(slow_ms[1]))
        self._random = random.Random(f"trouble {seed}")
        self._now_ns = now_ns

    def next_work_ns(self) -> int:
        """The length of the next step's work."""
        return 0 if self.slow_ms is None else round(self._random.uniform(*self.slow_ms) * 1e6)

    def work(self) -> None:
        """Keeps this thread's core busy for as long as the next step's work is."""
        length_ns = self.next_work_ns()
        if not length_ns:
            return
        end_ns = self._now_ns() + length_ns
        while self._now_ns() < end_ns:
            zlib.crc32(PIECE)
