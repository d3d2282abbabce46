"""Balls that bounce on a floor. Each impact emits an event, and the viewer draws a ring where and when the ball hits.

Run it with: twixt run bounce:Bounce
"""

import numpy as np

from twixt import Bodies, Camera, Scene, Sphere, World

RADIUS = 0.25
GRAVITY = 9.81


class Bounce(World):
    """Balls that fall from different heights and lose a little speed at each impact."""

    dt = 1 / 60

    def __init__(self, count: int = 5):
        self.count, self.time = count, 0.0
        camera = Camera((0, -9, 3), (0, 0, 1.2))
        self.scene = Scene([Sphere(RADIUS)] * count, camera=camera)
        self.bodies = Bodies(count)
        self.height = np.linspace(1.5, 3.0, count)
        self.speed = np.zeros(count)
        self.place()

    def step(self, dt: float) -> None:
        for i in range(self.count):
            self.fly(i, dt)
        self.time += dt
        self.place()

    def fly(self, i: int, left: float) -> None:
        at = self.time
        while True:
            height, speed = self.height[i] - RADIUS, self.speed[i]
            until = (speed + np.sqrt(max(0.0, speed**2 + 2 * GRAVITY * height))) / GRAVITY
            if until > left:
                break
            at, left = at + until, left - until
            impact = GRAVITY * until - speed
            self.height[i], self.speed[i] = RADIUS, max(0.85 * impact, 1.0)
            point = (self.bodies.position[i, 0], self.bodies.position[i, 1], 0.0)
            self.emit("hit", body=i, position=point, strength=impact, at=at)
        self.height[i] += self.speed[i] * left - GRAVITY * left**2 / 2
        self.speed[i] -= GRAVITY * left

    def place(self) -> None:
        self.bodies.position[:, 0] = np.linspace(-2.5, 2.5, self.count)
        self.bodies.position[:, 2] = self.height
        self.bodies.velocity[:, 2] = self.speed
