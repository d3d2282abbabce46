"""Injected trouble: slow steps, stalls, losses, delays.

The random number of a step is a hash of the seed, the kind of trouble and the step's number, not the next of a
sequence. So it does not depend on which other kinds are on.

Always: the world and its random numbers are not changed, so that its states are the same bytes with and without
trouble; a kind that is off costs one comparison. Publishes nothing: it decides which snapshots are lost or late.
"""

from __future__ import annotations

import random
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from twixt.ipc.config.troubles import FIELDS, Troubles

# One piece of work, a checksum, takes some 10 microseconds, and releases Python's lock for other threads meanwhile.
PIECE = bytes(32 * 1024)
# Multiplier of the step number, odd (2**64 over the golden ratio), so that neighbouring steps share no pattern.
STRIDE = 0x9E37_79B9_7F4A_7C15
WORD = (1 << 64) - 1

# Called during a wait with the present instant; returns the instant of its next call, or None.
Meanwhile = Callable[[int], int | None]


class InjectedTrouble:
    """Injected trouble with random numbers from `seed`. asked: the configuration; `now`: the present values.

    now_ns, sleep: the clock, and a wait in seconds that commands do not end.
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
        """Changes one kind from the next step on; kind and value as in a `Command`."""
        if kind == "drop":
            value = value or 0.0
        changed: dict[str, Any] = {FIELDS[kind]: tuple(value) if isinstance(value, list) else value}
        self.now = replace(self.now, **changed).tidy()

    # -- decisions for one step

    def work_ns(self, step: int) -> int:
        """Work added to step number `step`, ns."""
        if self.now.slow_physics_ms is None:
            return 0
        shortest, longest = self.now.slow_physics_ms
        return round((shortest + (longest - shortest) * self._draw("slow_physics", step)) * 1e6)

    def stall_ns(self, before_sim_ns: int, sim_time_ns: int) -> int:
        """The stall before a step that begins at `sim_time_ns`, ns; the step before began at `before_sim_ns`."""
        if self.now.stall is None:
            return 0
        length_ms, every_s = self.now.stall
        every_ns = round(every_s * 1e9)
        return round(length_ms * 1e6) if sim_time_ns // every_ns > before_sim_ns // every_ns else 0

    def drops(self, step: int) -> bool:
        """True if the snapshot of that step is lost."""
        return self.now.drop_percent > 0 and self._draw("drop", step) * 100 < self.now.drop_percent

    def delay_ns(self, step: int) -> int | None:
        """Delay of that step's snapshot after its due instant; None: not delayed."""
        if self.now.delay_ms is None:
            return None
        mean, jitter = self.now.delay_ms
        return round((mean + jitter * (2 * self._draw("delay", step) - 1)) * 1e6)

    # -- execution

    def wait(self, length_ns: int, meanwhile: Meanwhile) -> None:
        """Stalls for `length_ns`: sleeps, except for `meanwhile`."""
        now_ns = self._now_ns()
        end_ns = now_ns + length_ns
        while now_ns < end_ns:
            next_ns = meanwhile(now_ns)
            until_ns = end_ns if next_ns is None else min(end_ns, next_ns)
            self._sleep(max(0, until_ns - self._now_ns()) / 1e9)
            now_ns = self._now_ns()

    def work(self, length_ns: int, meanwhile: Meanwhile) -> None:
        """Keeps this thread's core busy for `length_ns`, except for `meanwhile`."""
        now_ns = self._now_ns()
        end_ns = now_ns + length_ns
        next_ns = meanwhile(now_ns)
        while now_ns < end_ns:
            if next_ns is not None and now_ns >= next_ns:
                next_ns = meanwhile(now_ns)
            zlib.crc32(PIECE)
            now_ns = self._now_ns()

    def _draw(self, kind: str, step: int) -> float:
        """Random number of a step, uniform in [0, 1): mixing function of SplitMix64 (Steele, Lea, Flood 2014)."""
        word = (self._keys[kind] + step * STRIDE) & WORD
        word = ((word ^ (word >> 30)) * 0xBF58_476D_1CE4_E5B9) & WORD
        word = ((word ^ (word >> 27)) * 0x94D0_49BB_1331_11EB) & WORD
        return ((word ^ (word >> 31)) >> 11) / (1 << 53)
