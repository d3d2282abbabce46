"""All shapes there are, tumbling without gravity.

Run it with: twixt run shapes:Tumbling
"""

import numpy as np

from twixt import Bodies, Box, Camera, Capsule, Compound, Cylinder, Ellipsoid, Part, Plane, Scene, Shape, Sphere, World

SHAPES: list[Shape] = [
    Sphere(radius=0.42),
    Box(size=(0.8, 0.6, 0.5)),
    Capsule(radius=0.22, length=0.6),
    Cylinder(radius=0.34, length=0.7),
    Ellipsoid(size=(1.0, 0.7, 0.45)),
    Plane(size=(0.8, 0.8)),
    Compound(
        [
            Part(Cylinder(radius=0.06, length=0.9)),
            Part(Box(size=(0.4, 0.2, 0.2), color=(0.6, 0.62, 0.66)), position=(0, 0, 0.4)),
            Part(Sphere(radius=0.09), position=(0, 0, -0.45)),
        ]
    ),
]


class Tumbling(World):
    """Rows of shapes, each turning about an axis of its own."""

    dt = 1 / 60

    def __init__(self, rows: int = 5, seed: int = 0):
        random = np.random.default_rng(seed)
        count = rows * len(SHAPES)
        row, column = np.divmod(np.arange(count), len(SHAPES))
        self.bodies = Bodies(count)
        self.bodies.position[:] = np.stack((column - 3, row - (rows - 1) / 2, np.full(count, 0.5)), axis=1) * 1.25
        axis = random.normal(size=(count, 3))
        self.axis = axis / np.linalg.norm(axis, axis=1, keepdims=True)
        self.turns_s = random.uniform(0.1, 0.4, (count, 1))  # a second
        self.bodies.angular_velocity[:] = 2 * np.pi * self.turns_s * self.axis
        self.time = 0.0
        camera = Camera(eye=(1.0, -10.0, 6.0), target=(0, -0.3, 0.3), fov_y_deg=40)
        self.scene = Scene(SHAPES * rows, camera=camera, pattern=True)  # in two tones: their rotation is visible
        self.step(0.0)

    def step(self, dt: float) -> None:
        self.time += dt
        half_turn = np.pi * self.turns_s * self.time
        self.bodies.orientation[:, :3] = self.axis * np.sin(half_turn)
        self.bodies.orientation[:, 3:] = np.cos(half_turn)
