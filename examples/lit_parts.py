"""Columns of parts: a wheel of one body, whose lamps light in turn, whose rods grow and whose cap comes and goes.

Run it with: twixt run lit_parts:LitParts
"""

import numpy as np

from twixt import Bodies, Box, Camera, Column, Compound, Cylinder, Part, Scene, Sphere, World

LAMPS = 24
RADIUS = 1.5
ROUND_S = 3.0  # the light's way round


class LitParts(World):
    """One body of many parts. What changes of them is in columns; the scene is published once."""

    dt = 1 / 30

    def __init__(self) -> None:
        angle = np.linspace(0, 2 * np.pi, LAMPS, endpoint=False)
        places = np.stack((RADIUS * np.cos(angle), RADIUS * np.sin(angle), 0 * angle), axis=1)
        turns = np.stack((0 * angle, 0 * angle, np.sin(angle / 2), np.cos(angle / 2)), axis=1)
        lamps = [Part(Sphere(0.13, color=(0.25, 0.25, 0.3)), place) for place in places]
        rods = [
            Part(Box((0.8, 0.06, 0.06), color=(0.6, 0.6, 0.65)), 0.5 * place, turn)
            for place, turn in zip(places, turns, strict=True)
        ]
        hub, cap = Part(Cylinder(0.35, 0.3, color=(0.8, 0.8, 0.85))), Part(Sphere(0.25, color=(0.9, 0.3, 0.2)))
        self.scene = Scene([Compound([*lamps, *rods, hub, cap])], camera=Camera(eye=(0, -3.4, 4.2), target=(0, 0, 0.7)))
        # A row for each part, in their order: they begin with the scene's own colours and sizes.
        columns = {
            "color": Column("f4", 4, per="part"),
            "scale3": Column("f4", 3, per="part"),
            "visible": Column("bool", per="part"),
        }
        self.bodies = Bodies(1, columns, scene=self.scene)
        self.bodies.position[0] = 0, 0, 0.7
        self.lamps, self.rods, self.cap = slice(0, LAMPS), slice(LAMPS, 2 * LAMPS), 2 * LAMPS + 1
        self.angle, self.time = angle, 0.0

    def step(self, dt: float) -> None:
        self.time += dt
        now, columns = 2 * np.pi * self.time / ROUND_S, self.bodies.columns
        light = np.exp(-2 * ((now - self.angle) % (2 * np.pi)))[:, None]
        columns["color"][self.lamps, :3] = 0.25 + light * (0.75, 0.5, -0.15)
        columns["scale3"][self.rods, 0] = 0.6 + 0.7 * light[:, 0]
        columns["visible"][self.cap] = now % (2 * np.pi) < np.pi
        turn = 0.1 * self.time
        self.bodies.orientation[0] = 0, 0, np.sin(turn), np.cos(turn)
