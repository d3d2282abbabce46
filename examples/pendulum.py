"""A pendulum with sliders, and its energy as a live plot. Friction reduces the energy; a longer rod swings slower."""

import math

import numpy as np

import twixt


class Pendulum(twixt.World):
    """A bob on a rod. The angle is 0 where the bob hangs still."""

    dt = 1 / 240

    def __init__(self, angle: float = 2.5):
        self.gravity = twixt.Slider("gravity", 9.81, 0, 20)
        self.length = twixt.Slider("length", 1.0, 0.4, 1.2)
        self.friction = twixt.Slider("friction", 0.05, 0, 1)
        self.controls = [self.gravity, self.length, self.friction]
        self.angle, self.speed, self.time = angle, 0.0, 0.0
        self.bodies = twixt.Bodies(2, columns={"scale3": twixt.Column("f4", 3)})
        camera = twixt.Camera(eye=(0.0, -4.5, 0.1), target=(0.0, 0.0, 0.0))
        rod, bob = twixt.Box((0.03, 0.03, 1.0)), twixt.Sphere(0.12)
        self.scene = twixt.Scene([rod, bob], camera=camera, ground_z=None)
        self.bodies.columns["scale3"][:] = 1.0
        self.place()

    def step(self, dt: float) -> None:
        gravity, length = self.gravity.value, self.length.value
        self.speed -= dt * (gravity / length * math.sin(self.angle) + self.friction.value * self.speed)
        self.angle += dt * self.speed
        self.time += dt
        self.place()
        kinetic, potential = (length * self.speed) ** 2 / 2, gravity * length * (1 - math.cos(self.angle))
        self.plot("energy", self.time, kinetic=kinetic, potential=potential, total=kinetic + potential)
        self.plot("angle", self.time, math.degrees(self.angle))

    def place(self) -> None:
        length = self.length.value
        bob = length * np.array([math.sin(self.angle), 0.0, -math.cos(self.angle)])
        self.bodies.position[:] = bob / 2, bob
        self.bodies.orientation[:] = 0.0, -math.sin(self.angle / 2), 0.0, math.cos(self.angle / 2)
        self.bodies.columns["scale3"][0, 2] = length
