"""Balls that bounce on a floor. Each impact emits an event, and the viewer draws a ring where and when the ball hits.

Run it with: twixt run bounce:Bounce
"""

import numpy as np

from twixt import Bodies, Camera, Scene, Sphere, World

RADIUS, GRAVITY, KEPT, SLOWEST = 0.25, 9.81, 0.9, 3.0  # metres, m/s2, share of the speed after an impact, m/s


class Bounce(World):
    """Balls that lose a tenth of their speed at each impact; the floor throws slow ones up again.

    A picture between two states cannot know of an impact between them. So a ball that reaches the floor during a step
    touches it at the end of the step, where the event happens. The drawn ball then touches the floor in the frame of
    the event at any rate of physics, even with --physics-hz 5.
    """

    def __init__(self, count: int = 5):
        self.bodies, self.speed = Bodies(count), np.zeros(count)
        self.bodies.position[:, 0] = np.linspace(-2.4, 2.4, count)
        self.bodies.position[:, 2] = np.linspace(1.0, 3.0, count)
        self.scene = Scene([Sphere(RADIUS)] * count, camera=Camera((0, -7.5, 1.8), (0, 0, 0.9)))

    def step(self, dt: float) -> None:
        position, height = self.bodies.position, self.bodies.position[:, 2] - RADIUS
        impact = np.sqrt(self.speed**2 + 2 * GRAVITY * height)  # speed with which each ball reaches the floor
        hits = height + dt * self.speed - GRAVITY * dt**2 / 2 <= 0
        position[:, 2] = np.where(hits, RADIUS, position[:, 2] + dt * self.speed - GRAVITY * dt**2 / 2)
        thrown = np.where(impact > SLOWEST, KEPT * impact, 7.0)
        self.speed = np.where(hits, thrown, self.speed - GRAVITY * dt)
        self.bodies.velocity[:, 2] = self.speed
        for ball in np.flatnonzero(hits):
            self.emit("hit", body=int(ball), position=position[ball] - (0, 0, RADIUS), strength=impact[ball])
