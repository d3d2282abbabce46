"""Meshes from a file: two gears of one STL file turn in each other. The file is read once, and drawn by one call.

Run it with: twixt run mesh_file:Gears (needs, in the checkout: pip install '.[mesh]'), or with a mesh of your own:
twixt run mesh_file:Gears --set path=part.stl
"""

from pathlib import Path

import numpy as np

from twixt import Bodies, Camera, Mesh, Scene, World

TEETH = 16  # of each gear in gear.stl, whose pitch circle has a radius of 1 m
COLORS = [(0.85, 0.55, 0.2), (0.35, 0.5, 0.7)]


class Gears(World):
    """Two gears side by side, which turn in opposite directions."""

    dt = 1 / 30

    def __init__(self, path: str = "", turns_per_s: float = 0.1):
        gear = Mesh.from_file(path or Path(__file__).with_name("gear.stl"))
        self.bodies = Bodies(2)
        self.bodies.position[:, 0] = (-1.0, 1.0)
        self.bodies.color = COLORS
        self.scene = Scene([gear, gear], camera=Camera(eye=(0.6, -3.4, 4.2), target=(0, 0, 0)), ground_z=None)
        self.turns_per_s, self.time = turns_per_s, 0.0
        self.step(0.0)

    def step(self, dt: float) -> None:
        self.time += dt
        angle = 2 * np.pi * self.turns_per_s * self.time
        # Where teeth meet, one gear has a tooth and the other a gap.
        angles = np.array([angle, np.pi + np.pi / TEETH - angle])
        self.bodies.orientation[:, 2] = np.sin(angles / 2)
        self.bodies.orientation[:, 3] = np.cos(angles / 2)
