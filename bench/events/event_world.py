"""A world that emits numbered events and writes what it emitted to a file.

Always: events have consecutive numbers, also after a reset. The file has them in the order in which viewers must
deliver them: by simulated time, and events of the same instant in the order of their calls.
"""

from __future__ import annotations

import math
import os
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene, Sphere
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.world import World

# One event of the file. emitted_ns: instant at which the step had emitted it.
EMITTED = np.dtype([("number", "<i8"), ("world_epoch", "<i8"), ("sim_time_ns", "<i8"), ("emitted_ns", "<i8")])
NAMES = ("hit", "goal", "step", "Ünïcode", "a name of exactly 40 bytes, no byte more")
# Every so many events has a text.
TEXT_EVERY = 8
# From this number of events a step on, they are emitted by one call.
MANY = 1_000
BODIES = 8


class Emission(NamedTuple):
    """Arguments of the event with a number. Values of the event are this number and `is_many`, which is 1 if it was
    emitted by `emit_many`."""

    name: str
    body: int | None
    strength: float
    text: str


def emission(number: int, is_many: bool) -> Emission:
    name, body, strength = NAMES[number % len(NAMES)], number % BODIES, number % 5
    if is_many:
        return Emission(name, body, strength, "")
    return Emission(name, body if number % 2 else None, strength, "" if number % TEXT_EVERY else f"no. {number}")


class EventWorld(World):
    """Balls on a circle, and events.

    out: file for the emitted events. rate: events a simulated second. burst: number of further events in one step,
    every `burst_s` seconds. begin: name of a file; events begin when it is there. seconds: simulated time, in seconds, in
    which events are emitted. spread: True if events are spread within the step, in random order; else each has the time
    of its step.
    """

    dt = 0.01

    def __init__(
        self, out: str, begin: str, rate: float = 1500, burst: int = 1000, burst_s: float = 6, seconds: float = 60,
        spread: bool = True, seed: int = 0,
    ) -> None:  # fmt: skip
        self.begin_file, self.rate, self.burst, self.spread = begin, rate, burst, spread
        self.burst_ns, self.most_ns = round(burst_s * 1e9), round(seconds * 1e9)
        self.past_ns = -1  # time in which events were emitted; -1 if they have not begun
        self.random = np.random.default_rng(seed)
        self.number = self.world_epoch = 0
        self.file = open(out, "wb", buffering=1 << 16)  # noqa: SIM115  (open as long as the process)
        self.bodies, self.scene = Bodies(BODIES), Scene([Sphere(0.2)] * BODIES)
        self.begin()

    def reset(self) -> None:
        """Begins at simulated time 0. Numbers go on."""
        self.world_epoch += 1
        self.begin()
        self.bodies.teleport(slice(None), self.bodies.position)

    def begin(self) -> None:
        self.time_ns = 0
        self.place()

    def step(self, dt: float) -> None:
        """Moves the bodies and emits the events of the step."""
        before_ns = self.time_ns
        self.time_ns += round(dt * 1e9)
        self.place()
        if self.past_ns < 0 and os.path.exists(self.begin_file):
            self.past_ns = 0
        if 0 <= self.past_ns < self.most_ns:
            before = self.count_in(self.past_ns)
            self.past_ns += self.time_ns - before_ns
            if count := self.count_in(self.past_ns) - before:
                self.emit_all(before_ns, count)

    def count_in(self, past_ns: int) -> int:
        """Number of events in the first `past_ns` of events. Bursts come in the middle of each `burst_s`."""
        return int(self.rate * past_ns / 1e9 + 1e-6) + self.burst * ((past_ns + self.burst_ns // 2) // self.burst_ns)

    def place(self) -> None:
        angle = self.time_ns / 1e9 + np.linspace(0, 2 * math.pi, BODIES, endpoint=False)
        self.bodies.position[:] = np.column_stack((2 * np.cos(angle), 2 * np.sin(angle), np.full(BODIES, 0.5)))

    def emit_all(self, before_ns: int, count: int) -> None:
        numbers = np.arange(self.number, self.number + count)
        self.number += count
        if count >= MANY and not self.spread:
            numbers, at_ns = self.emit_at_once(numbers), np.full(count, self.time_ns)
        else:
            at_ns = np.full(count, self.time_ns)
            if self.spread:
                at_ns = self.random.integers(before_ns, self.time_ns, count, endpoint=True)
            for number, instant_ns in zip(numbers.tolist(), at_ns.tolist(), strict=True):
                name, body, strength, text = emission(number, False)
                values = number, 0
                self.emit(name, body=body, strength=strength, values=values, text=text, at=instant_ns / 1e9)
        rows = np.zeros(count, EMITTED)
        rows["number"], rows["world_epoch"], rows["sim_time_ns"] = numbers, self.world_epoch, at_ns
        rows["emitted_ns"] = time.perf_counter_ns()
        self.file.write(rows[np.argsort(at_ns, kind="stable")].tobytes())

    def emit_at_once(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Emits events by one call for each name. Returns the numbers in the order of the calls."""
        groups = [numbers[numbers % len(NAMES) == place] for place in range(len(NAMES))]
        for name, group in zip(NAMES, groups, strict=True):
            values = np.column_stack((group, np.ones(len(group), int)))
            self.emit_many(name, body=group % BODIES, strength=group % 5, values=values)
        return np.concatenate(groups)
