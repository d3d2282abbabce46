"""Labels beside bodies: the Sun and four planets on their orbits, and the day as a text that changes.

Run it with: twixt run solar_system:SolarSystem --trails all
"""

import numpy as np

from twixt import Bodies, Camera, Marks, Scene, Sphere, World

DAYS_PER_SECOND = 40
ORBITS = np.array((0.0, 1.5, 2.4, 3.4, 4.6))  # metres; not to scale
PERIODS = np.array((1.0, 88, 225, 365, 687))  # days


class SolarSystem(World):
    """The inner planets on circles, in their true periods."""

    dt = 1 / 60

    def __init__(self) -> None:
        self.bodies, self.marks = Bodies(len(ORBITS)), Marks()
        self.scene = Scene(
            [
                Sphere(0.7, color=(1, 0.8, 0.3), label="Sun"),
                Sphere(0.12, color=(0.7, 0.65, 0.6), label="Mercury"),
                Sphere(0.22, color=(0.95, 0.8, 0.55), label="Venus"),
                Sphere(0.24, color=(0.35, 0.6, 1), label="Earth"),
                Sphere(0.17, color=(0.9, 0.4, 0.25), label="Mars"),
            ],
            camera=Camera((0, -9, 6), (0, 0, 0)),
            ground_z=None,
        )
        self.days = 0.0

    def step(self, dt: float) -> None:
        self.days += DAYS_PER_SECOND * dt
        angle = 2 * np.pi * self.days / PERIODS
        self.bodies.position[:, 0] = ORBITS * np.cos(angle)
        self.bodies.position[:, 1] = ORBITS * np.sin(angle)
        self.marks.clear()
        self.marks.add("text", (-0.4, 0, -3.5), text=f"day {self.days:.0f}", size=1.5)
