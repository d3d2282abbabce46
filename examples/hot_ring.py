"""Columns of your own: a torch goes round a ring of beads, which glow and stretch with the heat that it leaves.

Run it with: twixt run hot_ring:HotRing
"""

import numpy as np

from twixt import Bodies, Box, Camera, ColorBy, Column, Group, Scene, Sphere, World

RADIUS = 2.0
HEIGHT = 0.25  # of a cold bead
ROUND_S = 4.0  # the torch's way round


class HotRing(World):
    """A ring of beads, a torch, and a ghost of the torch."""

    dt = 1 / 20

    def __init__(self, count: int = 72):
        # A value of each body's own, blended like its position: `heat` for the colour, `scale3` for its three lengths.
        self.bodies = Bodies(count + 2, columns={"heat": Column("f4"), "scale3": Column("f4", 3)})
        self.angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
        self.bodies.position[:count] = on_ring(self.angle, HEIGHT / 2)
        self.beads, self.torch, self.ghost = slice(0, count), count, count + 1
        self.bodies.columns["heat"][count:] = (2.0, -1.0)  # white hot and cold
        self.time = 0.0
        self.scene = Scene(
            [Box((0.14, 0.14, HEIGHT), color=(1, 1, 1))] * count + [Sphere(0.2, color=(1, 1, 1))] * 2,
            camera=Camera(eye=(0, -5.2, 4.6), target=(0, 0, 0.35)),
            color_by=ColorBy("heat", low=0, high=1, low_color=(0.12, 0.22, 0.5), high_color=(1, 0.55, 0.15)),
            # Where the torch was half a second ago: the same body once more, drawn with a delay of its own.
            groups={"late": Group([self.ghost], delay_ms=500)},
        )

    def step(self, dt: float) -> None:
        self.time += dt
        now = 2 * np.pi * self.time / ROUND_S
        self.bodies.position[[self.torch, self.ghost]] = on_ring(now, 4.5 * HEIGHT)

        heat = self.bodies.columns["heat"][self.beads]
        spread = np.roll(heat, 1) + np.roll(heat, -1) - 2 * heat
        near = np.exp(-(((self.angle - now + np.pi) % (2 * np.pi) - np.pi) ** 2) / 0.02)
        heat += dt * (4 * spread - 1.1 * heat + 4 * near)
        self.bodies.columns["scale3"][self.beads, 2] = 1 + 3 * heat
        self.bodies.position[self.beads, 2] = HEIGHT / 2 * (1 + 3 * heat)


def on_ring(angle: float | np.ndarray, height: float) -> np.ndarray:
    """Places at these angles, in metres."""
    return np.stack((RADIUS * np.cos(angle), RADIUS * np.sin(angle), height + 0 * angle), axis=-1)
