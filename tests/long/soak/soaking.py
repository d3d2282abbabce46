"""The world of a soak: it moves all the time, grows now and then, and changes its scene."""

from __future__ import annotations

import numpy as np

from twixt import Bodies, Camera, Scene, Sphere, World

# So few that what a larger world needs by itself is nothing beside what is allowed to grow.
FIRST, MOST = 1, 128
NEW_SCENE_S = 5.0


class Soaking(World):
    """Twice as many bodies every `grow_s` seconds, up to 128."""

    dt = 1 / 60

    def __init__(self, grow_s: float = 60.0, seed: int = 0) -> None:
        self.bodies, self._grow_s, self._now_s, self._scenes = Bodies(FIRST), grow_s, 0.0, 0
        self._set_scene()

    def step(self, dt: float) -> None:
        self._now_s += dt
        if len(self.bodies) < min(MOST, FIRST << int(self._now_s / self._grow_s)):
            for _ in range(len(self.bodies)):
                self.bodies.spawn()
        if self._now_s > self._scenes * NEW_SCENE_S:
            self._set_scene()
        angle = self._now_s + np.arange(len(self.bodies)) * 0.1
        self.bodies.position[:] = np.column_stack((np.cos(angle) * 3, np.sin(angle) * 3, 1 + np.sin(angle * 3)))

    def _set_scene(self) -> None:
        self._scenes += 1
        color = (0.4, 0.5, 0.6 + 0.2 * (self._scenes % 2))
        self.scene = Scene([Sphere(radius=0.15, color=color)] * len(self.bodies), camera=Camera((7, 5, 4), (0, 0, 1)))
