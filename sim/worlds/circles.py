"""Shows two motions, each drawn twice: on the left in the current state, on the right interpolated. There are ten
steps a second.

One ball moves along a circle, another ball bounces. On the left both balls are drawn without interpolation, in the
state of the newest step that is due. The balls on the left are the group "current". `--set left=METHOD` chooses
another interpolation method for them. On the right the balls are drawn with the interpolation method of the run.

What to look for: the balls on the left move in visible steps, those on the right move evenly. Both sides show the same
simulated time. Dots mark the true paths. `--set paths=false` hides the dots. `--interpolation linear` draws straight
lines instead of the circle. `hermite` stays on the circle but sinks through the floor at a bounce. `auto` has neither
fault. With `--physics-hz 60` both sides are smooth. With `--physics-hz 4` both are coarse, each in its own way.

Always: `states_at(t)` computes the states of the two balls at any simulated time t by a formula.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Box, Camera, Group, Scene, Sphere
from twixt.sim.reproducible_math import sin_cos
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.world import FormulaWorld

CIRCLE_M = 1.15
CIRCLE_PERIOD_S = 2.4
# Position of the circle's centre in metres, relative to the middle of its half of the scene.
CIRCLE_X_M, CIRCLE_HEIGHT_M = -0.4, 1.6
BALL_M = 0.24
GRAVITY_M_S2 = 9.81
BOUNCE_PERIOD_S = 1.13  # The period is not a multiple of a step, so a bounce may be at any time between two steps.
BOUNCE_SPEED_M_S = GRAVITY_M_S2 * BOUNCE_PERIOD_S / 2
BOUNCE_X_M = 1.3
# Greatest height of the lowest point of the bouncing ball, in metres.
BOUNCE_M = BOUNCE_SPEED_M_S * BOUNCE_PERIOD_S / 4
SIDE_M = 1.9  # Distance from the middle of the scene to the middle of each half, in metres.
CIRCLE_DOTS = 48
BOUNCE_DOTS = 9
DOT_M = 0.022
DOT_COLOR = (0.46, 0.48, 0.52)
CIRCLE_COLOR, BOUNCE_COLOR = (0.97, 0.62, 0.27), (0.38, 0.66, 0.95)
FLOOR_COLOR = (0.34, 0.36, 0.40)


class PathStates(NamedTuple):
    """Positions and velocities of the circling ball and the bouncing ball, relative to the centre of their half of the
    scene: (2, 3) each, in metres and m/s."""

    position: NDArray[np.float64]
    velocity: NDArray[np.float64]


def states_at(sim_time_s: float) -> PathStates:
    """States of both balls at a simulated time in seconds."""
    rate = 2 * math.pi / CIRCLE_PERIOD_S
    z, x = sin_cos(sim_time_s / CIRCLE_PERIOD_S)
    since_s = sim_time_s % BOUNCE_PERIOD_S
    height = BOUNCE_SPEED_M_S * since_s - GRAVITY_M_S2 * since_s * since_s / 2
    return PathStates(
        np.array(
            [[CIRCLE_X_M + CIRCLE_M * x, 0.0, CIRCLE_HEIGHT_M + CIRCLE_M * z], [BOUNCE_X_M, 0.0, BALL_M + height]]
        ),
        np.array(
            [
                [-CIRCLE_M * rate * z, 0.0, CIRCLE_M * rate * x],
                [0.0, 0.0, BOUNCE_SPEED_M_S - GRAVITY_M_S2 * since_s],
            ]
        ),
    )


class Circles(FormulaWorld):
    """Two balls on known paths. Each is drawn twice: in its current state, and interpolated."""

    dt = 1 / 10

    def __init__(self, left: str = "none", paths: bool = True, seed: int = 0) -> None:
        dots = _dots() if paths else np.empty((0, 3))
        # The bodies are two balls on the left, two on the right, two floors, and the dots of the paths.
        self.bodies = Bodies(4 + 2 + len(dots))
        self.bodies.position[4:6] = [(-SIDE_M, 0.0, -0.04), (SIDE_M, 0.0, -0.04)]
        self.bodies.position[6:] = dots
        balls = [Sphere(BALL_M, CIRCLE_COLOR), Sphere(BALL_M, BOUNCE_COLOR)]
        floor = Box((3.5, 0.9, 0.08), FLOOR_COLOR)
        self.scene = Scene(
            [*balls, *balls, floor, floor, *[Sphere(DOT_M, DOT_COLOR)] * len(dots)],
            camera=Camera(eye=(-0.1, -20.0, 3.6), target=(-0.1, 0.0, 2.2), fov_y_deg=16.6),
            ground_z=None,
            pattern=True,
            groups={"current": Group(bodies=(0, 1), interpolation=left)},
        )
        self.bodies.velocity[:] = 0.0
        self.bodies.angular_velocity[:] = 0.0
        self.reset(seed)

    def write(self) -> None:
        """Writes the states of the four moving balls."""
        position, velocity = states_at(self.time_s)
        for first, side_m in ((0, -SIDE_M), (2, SIDE_M)):
            self.bodies.position[first : first + 2] = np.add(position, (side_m, 0.0, 0.0))
            self.bodies.velocity[first : first + 2] = velocity


def _dots() -> NDArray[np.float64]:
    """Points along the true paths in both halves of the scene, (m, 3), in metres."""
    circle = [states_at(CIRCLE_PERIOD_S * dot / CIRCLE_DOTS).position[0] for dot in range(CIRCLE_DOTS)]
    bounce = [(BOUNCE_X_M, 0.0, BALL_M + BOUNCE_M * dot / (BOUNCE_DOTS - 1)) for dot in range(BOUNCE_DOTS)]
    half = np.array([*circle, *bounce])
    return np.concatenate((half - (SIDE_M, 0.0, 0.0), np.add(half, (SIDE_M, 0.0, 0.0))))
