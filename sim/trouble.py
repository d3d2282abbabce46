"""Trouble on purpose, to see and to measure what a picture makes of it: slow steps, stalls, losses, delays.

One idea: what happens to a step is drawn from the seed, the kind of trouble and the step's number, not from a
sequence, so that it is the same whatever else is switched on or off meanwhile. Always: the world is not touched and
no random number of its is drawn, so that its states are the same bytes with trouble and without; a kind that
is off costs a comparison. Does not publish: it says which snapshots are lost and how late the others are.
"""

from __future__ import annotations

import random
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from twixt.ipc.troubles import FIELDS, Troubles

# One piece of work takes some 10 microseconds, and lets other threads of the process run meanwhile.
PIECE = bytes(32 * 1024)
# Steps are told apart by this odd number (2**64 over the golden ratio), so that neighbours share no pattern.
STRIDE = 0x9E37_79B9_7F4A_7C15
WORD = (1 << 64) - 1

# Called meanwhile with the instant; returns that at which it wants to be called next, or None.
Meanwhile = Callable[[int], int | None]


class Trouble:
    """What `asked` asks for, drawn from `seed`; `now` is what is in force.

    now_ns, sleep: the clock, and a wait in seconds that no command ends.
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
        """From the next step on; kind and value as a `Command` has them."""
        if kind == "drop":
            value = value or 0.0
        changed: dict[str, Any] = {FIELDS[kind]: tuple(value) if isinstance(value, list) else value}
        self.now = replace(self.now, **changed).tidy()

    # -- what the figures say of one step

    def work_ns(self, step: int) -> int:
        """The length of the work added to step number `step`."""
        if self.now.slow_physics_ms is None:
            return 0
        shortest, longest = self.now.slow_physics_ms
        return round((shortest + (longest - shortest) * self._draw("slow_physics", step)) * 1e6)

    def stall_ns(self, before_sim_ns: int, sim_time_ns: int) -> int:
        """The length of the stall in front of a step that begins at `sim_time_ns`, the one before at `before_sim_ns`."""
        if self.now.stall is None:
            return 0
        length_ms, every_s = self.now.stall
        every_ns = round(every_s * 1e9)
        return round(length_ms * 1e6) if sim_time_ns // every_ns > before_sim_ns // every_ns else 0

    def drops(self, step: int) -> bool:
        """Whether the snapshot after that step is lost."""
        return self.now.drop_percent > 0 and self._draw("drop", step) * 100 < self.now.drop_percent

    def delay_ns(self, step: int) -> int | None:
        """How long after its due instant the snapshot after that step goes out; None: no delay."""
        if self.now.delay_ms is None:
            return None
        mean, jitter = self.now.delay_ms
        return round((mean + jitter * (2 * self._draw("delay", step) - 1)) * 1e6)

    # -- what it does

    def wait(self, length_ns: int, meanwhile: Meanwhile) -> None:
        """A stall: nothing is done but what is done `meanwhile`."""
        now_ns = self._now_ns()
        end_ns = now_ns + length_ns
        while now_ns < end_ns:
            wanted_ns = meanwhile(now_ns)
            until_ns = end_ns if wanted_ns is None else min(end_ns, wanted_ns)
            self._sleep(max(0, until_ns - self._now_ns()) / 1e9)
            now_ns = self._now_ns()

    def work(self, length_ns: int, meanwhile: Meanwhile) -> None:
        """Keeps this thread's core busy, but for what is done `meanwhile`."""
        now_ns = self._now_ns()
        end_ns = now_ns + length_ns
        wanted_ns = meanwhile(now_ns)
        while now_ns < end_ns:
            if wanted_ns is not None and now_ns >= wanted_ns:
                wanted_ns = meanwhile(now_ns)
            zlib.crc32(PIECE)
            now_ns = self._now_ns()

    def _draw(self, kind: str, step: int) -> float:
        """Uniform in [0, 1): the mixing function of SplitMix64 (Steele, Lea, Flood 2014)."""
        word = (self._keys[kind] + step * STRIDE) & WORD
        word = ((word ^ (word >> 30)) * 0xBF58_476D_1CE4_E5B9) & WORD
        word = ((word ^ (word >> 27)) * 0x94D0_49BB_1331_11EB) & WORD
        return ((word ^ (word >> 31)) >> 11) / (1 << 53)
