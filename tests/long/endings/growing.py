"""What kill orders bring along: worlds, one that outgrows its memory again and again and one that takes a while to be
there, and a drawing that says how many frames there were.
"""

from __future__ import annotations

import itertools
import time

import numpy as np

from twixt import Bodies, Scene, Sphere, World

# Events in a step. The first value of each is its number, from 1.
EVENTS_PER_STEP = 3
# Twice as many bodies every so many steps, from one body on to so many.
STEPS_PER_DOUBLING, MOST = 6, 2048

FRAMES_PER_WORD = 5
_frames = itertools.count()


def count(_frame: object) -> None:
    """Called once a frame (`--draw growing:count`)."""
    if (number := next(_frames)) % FRAMES_PER_WORD == 0:
        print("tick", number, flush=True)


class Growing(World):
    """A growth each tenth of a second; every body is where its number and the step put it."""

    dt = 1 / 60

    def __init__(self, seed: int = 0) -> None:
        self.bodies, self.scene, self._steps = Bodies(1), Scene([Sphere(radius=0.1)]), 0
        self._emitted = 0

    def step(self, dt: float) -> None:
        self._steps += 1
        if self._steps % STEPS_PER_DOUBLING == 0 and len(self.bodies) < MOST:
            for _ in range(len(self.bodies)):
                self.bodies.spawn()
        self.bodies.position[:, 0] = np.arange(len(self.bodies)) % 64 * 0.2
        self.bodies.position[:, 1] = np.arange(len(self.bodies)) // 64 * 0.2
        self.bodies.position[:, 2] = np.sin(self._steps * dt)
        for _ in range(EVENTS_PER_STEP):
            self._emitted += 1
            self.emit("step", body=0, values=(self._emitted,))


class Loading(Growing):
    """Half a second passes before it is there: viewers find no listener."""

    def __init__(self, seed: int = 0) -> None:
        time.sleep(0.5)
        super().__init__(seed)
