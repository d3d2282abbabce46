"""A figure for a paper: three chains hang as catenaries, at high resolution and without a window. Make it with:
twixt run paper_figure:Catenaries --offscreen --size 2400x1350 --quality best --seconds 3 --screenshot figure.png
"""

import numpy as np

from twixt import Bodies, Camera, Capsule, Scene, Sphere, World

LINKS = 40  # of a chain
COLORS = np.array([(38, 70, 83), (42, 157, 143), (231, 111, 81), (90, 90, 95)], np.uint8)


class Catenaries(World):
    """Chains between two posts, z = c cosh(x / c); the sags change slowly."""

    dt = 1 / 30

    def __init__(self) -> None:
        self.bodies, self.time = Bodies(3 * LINKS + 6), 0.0
        self.bodies.color = np.repeat(COLORS, (LINKS, LINKS, LINKS, 6), axis=0)
        self.bodies.position[-6:] = [(x, y, 2.0) for y in (-0.8, 0, 0.8) for x in (-2, 2)]
        shapes = [Capsule(0.035, 0.13)] * (3 * LINKS) + [Sphere(0.08)] * 6
        camera = Camera(eye=(1.4, -7.5, 2.6), target=(0, 0, 1.25), fov_y_deg=21)
        self.scene = Scene(shapes, camera=camera, background=(0.97, 0.97, 0.97))
        self.step(0.0)

    def step(self, dt: float) -> None:
        self.time += dt
        x = np.linspace(-2, 2, LINKS + 1)
        for chain, c in enumerate((1.8, 2.4, 3.6)):
            c *= 1 + 0.05 * np.sin(self.time + chain)
            z = 2 + c * (np.cosh(x / c) - np.cosh(2 / c))
            y = np.full(LINKS, 0.8 * (chain - 1))
            half = (np.pi / 2 - np.arctan2(np.diff(z), np.diff(x))) / 2  # from z to the link's direction, about y
            links = slice(chain * LINKS, (chain + 1) * LINKS)
            self.bodies.position[links] = np.stack(((x[1:] + x[:-1]) / 2, y, (z[1:] + z[:-1]) / 2), axis=1)
            self.bodies.orientation[links] = np.stack((0 * half, np.sin(half), 0 * half, np.cos(half)), axis=1)
