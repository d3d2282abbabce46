"""A world that writes down when each of its steps began, into a file that somebody else reads meanwhile."""

from __future__ import annotations

import time

import numpy as np

from twixt import Bodies, Scene, Sphere, World

# Instants: an hour and more at 60 Hz. The first number is how many there are.
ROOM = 1 << 18


class Metered(World):
    """Fifty bodies that turn."""

    dt = 1 / 60

    def __init__(self, file: str = "steps.i8", seed: int = 0) -> None:
        self.bodies, self.scene = Bodies(50), Scene([Sphere(radius=0.1)] * 50)
        self._instants = np.memmap(file, np.int64, "w+", shape=ROOM)
        self._turn = np.linspace(0, 6, 50)

    def step(self, dt: float) -> None:
        count = int(self._instants[0]) + 1
        if count < ROOM:
            self._instants[count] = time.perf_counter_ns()
            self._instants[0] = count
        self._turn += dt
        self.bodies.position[:, 0] = np.cos(self._turn)
        self.bodies.position[:, 1] = np.sin(self._turn)
