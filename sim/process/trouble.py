"""Injects trouble into a run on purpose: slow steps, stalls, and snapshots that are lost or delayed.

The random number of a step is a hash of the seed, the kind of trouble and the step's number. So the number is the same
whether other kinds of trouble are on or off. A number from a random sequence would depend on the other kinds of
trouble.

Always: injected trouble changes neither the world nor the world's random numbers. So the states of the world have the
same bytes with and without trouble. A kind of trouble that is off costs one comparison. This module only decides which
snapshots are lost or late. It does not publish snapshots.
"""

from __future__ import annotations

import random
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from twixt.ipc.config.troubles import FIELDS, Troubles

# Input of one checksum. One checksum is the unit of the work that is injected. A checksum takes about 10 microseconds.
# Other Python threads can run during this time.
PIECE = bytes(32 * 1024)
# The number of a step is multiplied by this before it is hashed. The multiplier is odd (2**64 over the golden ratio),
# so that neighbouring steps have unrelated random numbers.
STRIDE = 0x9E37_79B9_7F4A_7C15
WORD = (1 << 64) - 1

# Function that is called during a wait with the current time in ns. It returns the time of its next call, or None.
Meanwhile = Callable[[int], int | None]


class InjectedTrouble:
    """Decides on trouble with random numbers from `seed`, and injects it. asked: the configured values. now: the
    values after commands have changed them.

    now_ns: function that reads the clock, in ns. sleep: function that waits for a number of seconds; commands do not
    end this wait.
    """

    def __init__(
        self,
        asked: Troubles,
        seed: int,
        now_ns: Callable[[], int] = time.perf_counter_ns,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.asked = self.now = asked.tidy()
        self._keys = {kind: random.Random(f"{kind} {seed}").getrandbits(64) for kind in FIELDS}
        self._now_ns, self._sleep = now_ns, sleep

    def change(self, kind: str, value: Any) -> None:
        """Changes one kind of trouble from the next step on. kind, value: as in a `Command`."""
        if kind == "drop":
            value = value or 0.0
        changed: dict[str, Any] = {FIELDS[kind]: tuple(value) if isinstance(value, list) else value}
        self.now = replace(self.now, **changed).tidy()

    # -- decisions for one step

    def work_ns(self, step: int) -> int:
        """Duration in ns of the work that is added to step number `step`."""
        if self.now.slow_physics_ms is None:
            return 0
        shortest, longest = self.now.slow_physics_ms
        return round((shortest + (longest - shortest) * self._draw("slow_physics", step)) * 1e6)

    def stall_ns(self, before_sim_ns: int, sim_time_ns: int) -> int:
        """Duration in ns of the stall before a step. sim_time_ns: simulated time at which this step begins.
        before_sim_ns: simulated time at which the previous step began."""
        if self.now.stall is None:
            return 0
        length_ms, every_s = self.now.stall
        every_ns = round(every_s * 1e9)
        return round(length_ms * 1e6) if sim_time_ns // every_ns > before_sim_ns // every_ns else 0

    def drops(self, step: int) -> bool:
        """True if the snapshot of step number `step` is lost."""
        return self.now.drop_percent > 0 and self._draw("drop", step) * 100 < self.now.drop_percent

    def delay_ns(self, step: int) -> int | None:
        """Delay in ns of the snapshot of step number `step` after its due time. None if the snapshot is not delayed."""
        if self.now.delay_ms is None:
            return None
        mean, jitter = self.now.delay_ms
        return round((mean + jitter * (2 * self._draw("delay", step) - 1)) * 1e6)

    # -- execution

    def wait(self, length_ns: int, meanwhile: Meanwhile) -> None:
        """Sleeps for `length_ns`. Calls `meanwhile` at the times that it requests."""
        now_ns = self._now_ns()
        end_ns = now_ns + length_ns
        while now_ns < end_ns:
            next_ns = meanwhile(now_ns)
            until_ns = end_ns if next_ns is None else min(end_ns, next_ns)
            self._sleep(max(0, until_ns - self._now_ns()) / 1e9)
            now_ns = self._now_ns()

    def work(self, length_ns: int, meanwhile: Meanwhile) -> None:
        """Keeps this thread's core busy for `length_ns`. Calls `meanwhile` at the times that it requests."""
        now_ns = self._now_ns()
        end_ns = now_ns + length_ns
        next_ns = meanwhile(now_ns)
        while now_ns < end_ns:
            if next_ns is not None and now_ns >= next_ns:
                next_ns = meanwhile(now_ns)
            zlib.crc32(PIECE)
            now_ns = self._now_ns()

    def _draw(self, kind: str, step: int) -> float:
        """Random number of a step, uniform in [0, 1). It is computed by the mixing function of SplitMix64 (Steele,
        Lea, Flood 2014)."""
        word = (self._keys[kind] + step * STRIDE) & WORD
        word = ((word ^ (word >> 30)) * 0xBF58_476D_1CE4_E5B9) & WORD
        word = ((word ^ (word >> 27)) * 0x94D0_49BB_1331_11EB) & WORD
        return ((word ^ (word >> 31)) >> 11) / (1 << 53)
