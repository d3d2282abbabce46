"""Shows balls on the corners of a turning cube, drawn twice: as children of the cube, and as bodies without a parent.

On the left the cube is the parent of its balls (`Scene.parents`). The records of these balls never change. Each frame
draws the balls relative to the drawn cube. On the right, the simulation moves balls of the same kind in the world
frame, and viewers interpolate them in the world frame. The balls on the right are the group "own". `--set own=linear`
chooses another interpolation method for them.

What to look for: on the left the balls do not move relative to the cube, however fast it turns. On the right, each
ball moves on a straight line between two snapshots. So it moves towards the axis and back. It wobbles. With `--set
rate_hz=10 --physics-hz 60` the cubes turn ten times a second. If the cubes make more than half a turn in a step, only
the methods `hermite` and `auto` turn them in the right direction.

Always: `orientation_at(t)` gives the orientation of the cubes at any simulated time t, by a formula.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import InvalidValue
from twixt.ipc.scene import Box, Camera, Group, Scene, Sphere
from twixt.sim.reproducible_math import sin_cos
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.world import FormulaWorld

Floats = NDArray[np.float64]

FASTEST_HZ = 10.0
CUBE_M = 1.5
BALL_M = 0.26
# Centres of the balls in the cube's frame, in metres.
CORNERS_M = np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * CUBE_M
# The axis of the cube leans a little towards the viewer. So near corners do not hide far corners.
LEANS = sin_cos(0.35 / (2 * math.pi))
AXIS = np.array([0.0, -LEANS.sin, LEANS.cos])
SIDE_M = 1.7
HEIGHT_M = 1.9
LEFT_COLOR, RIGHT_COLOR = (0.38, 0.66, 0.95), (0.97, 0.55, 0.30)
BALL_COLOR = (0.96, 0.95, 0.92)
CHILDREN = slice(2, 10)
OWN = slice(10, 18)


class Wobble(FormulaWorld):
    """Balls on two turning cubes. They are children of the left cube, and separate bodies on the right cube."""

    dt = 1 / 10

    def __init__(self, rate_hz: float = 2.5, own: str = "linear", seed: int = 0) -> None:
        if not 0 <= rate_hz <= FASTEST_HZ:
            raise InvalidValue(f"rate_hz must be turns per second from 0 to {FASTEST_HZ:g}, got {rate_hz:g}")
        self.rate_hz = rate_hz
        # The bodies are two cubes, the eight children of the first cube, and eight balls around the second cube.
        self.bodies = Bodies(18)
        self.bodies.position[:2] = [(-SIDE_M, 0.0, HEIGHT_M), (SIDE_M, 0.0, HEIGHT_M)]
        self.bodies.position[CHILDREN] = CORNERS_M
        cubes = [Box((CUBE_M,) * 3, LEFT_COLOR), Box((CUBE_M,) * 3, RIGHT_COLOR)]
        self.scene = Scene(
            [*cubes, *[Sphere(BALL_M, BALL_COLOR)] * 16],
            camera=Camera(eye=(0.0, -17.0, 5.0), target=(0.0, 0.0, HEIGHT_M + 0.5), fov_y_deg=19.5),
            pattern=True,
            parents={child: 0 for child in range(2, 10)},
            groups={"own": Group(bodies=range(10, 18), interpolation=own)},
        )
        self.bodies.velocity[:] = 0.0
        self.bodies.angular_velocity[:] = 0.0
        self.reset(seed)

    def orientation_at(self, sim_time_s: float) -> Floats:
        """Returns the orientation of both cubes, a unit quaternion xyzw, at a simulated time in seconds."""
        half = sin_cos(self.rate_hz * sim_time_s / 2)
        return np.array([*(AXIS * half.sin), half.cos])

    def diagnostics(self) -> dict[str, float]:
        """Figures for the overlay: the rotation of the cubes per step, in degrees."""
        return {"degrees_per_step": 360 * self.rate_hz * self.dt}

    def write(self) -> None:
        """Writes the states of the cubes and of the balls around the second cube."""
        bodies = self.bodies
        orientation = self.orientation_at(self.time_s)
        spin = 2 * math.pi * self.rate_hz * AXIS
        offset = _turned(CORNERS_M, orientation)
        bodies.orientation[:2] = orientation
        bodies.angular_velocity[:2] = spin
        bodies.orientation[OWN] = orientation
        bodies.angular_velocity[OWN] = spin
        bodies.position[OWN] = offset + bodies.position[1]
        bodies.velocity[OWN] = np.cross(spin, offset)


def _turned(vectors: Floats, orientation: Floats) -> Floats:
    """The rows of `vectors`, (n, 3), rotated by a unit quaternion xyzw."""
    axis = orientation[:3]
    across = 2.0 * np.cross(axis, vectors)
    return vectors + orientation[3] * across + np.cross(axis, across)
