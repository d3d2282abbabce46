"""A game in 2D, seen straight from above: flat colours with outlines. Both paddles play by themselves.

Run it with: twixt run pong:Pong
"""

import numpy as np

from twixt import Bodies, Box, Camera, Scene, Shape, Sphere, World

PADDLE, WALL = Box((0.15, 1.0, 0.1), color=(0.2, 0.45, 0.8)), Box((6.0, 0.1, 0.1), color=(0.4, 0.4, 0.45))


class Pong(World):
    """A ball between two paddles and two walls. A missed ball starts again in the middle: a cut, not a streak."""

    dt = 1 / 30

    def __init__(self, seed: int = 0):
        self.random, self.bodies = np.random.default_rng(seed), Bodies(5)
        self.bodies.position[1:, :2] = [(-2.8, 0), (2.8, 0), (0, -2.1), (0, 2.1)]
        shapes: list[Shape] = [Sphere(0.12, color=(0.9, 0.35, 0.2)), PADDLE, PADDLE, WALL, WALL]
        camera, paper = Camera((0, 0, 1), (0, 0, 0), orthographic_height=5), (0.94, 0.94, 0.9)
        self.scene = Scene(shapes, camera=camera, look="flat", ground_z=None, background=paper)
        self.shoot(1)

    def shoot(self, direction: float) -> None:
        angle = self.random.uniform(-0.7, 0.7)
        self.velocity = 4 * np.array((direction * np.cos(angle), np.sin(angle)))

    def step(self, dt: float) -> None:
        ball, paddles = self.bodies.position[0, :2], self.bodies.position[1:3, 1]
        ball += dt * self.velocity
        paddles += np.clip(ball[1] - paddles, -1.5 * dt, 1.5 * dt) * (np.sign(self.velocity[0]) == (-1, 1))
        if abs(ball[1]) > 1.9:
            self.velocity[1] = -np.copysign(self.velocity[1], ball[1])
        if abs(ball[0]) > 2.65:
            if abs(ball[1] - paddles[int(ball[0] > 0)]) > 0.5:
                self.bodies.teleport(0, (0, 0, 0))
            self.shoot(-np.sign(self.velocity[0]))
