"""Shows bodies that turn several times between two snapshots, at exactly known speeds.

Each column of bodies turns faster than the column to its left. By default the columns make 1/8, 1/4, 1/2, 1, 1.5 and 3
turns in a step. In each column, a bar with a ball on its tip turns in the plane of the picture. Below the bar, a
second ball turns about a slanted axis. A step is half a second long, so that single turns are visible.

What to look for: the interpolation methods `hermite` and `auto` use the angular velocities. So all columns turn
evenly, each faster than the column to its left. The method `linear` uses the shortest rotation between two
orientations. So a half turn may go in either direction, and whole turns are not visible. Try `--interpolation linear`,
or `--set turns=3,3.2,5`.

Always: `orientation_at(t)` gives the orientations at any simulated time t, and each step writes exactly these
orientations. The ball on the tip of a bar is a child of the bar. It never moves in the bar's frame.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import InvalidValue
from twixt.ipc.scene import Box, Camera, Scene, Sphere
from twixt.sim.reproducible_math import sin_cos
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.world import FormulaWorld

MOST_SPINNERS = 100
MOST_TURNS = 1000.0
COLUMN_M = 2.0
BAR_M = (1.45, 0.22, 0.16)
BAR_HEIGHT_M = 3.05
TIP_M = (0.72, 0.0, 0.0)  # Centre of the ball on the tip of a bar, in metres, in the bar's frame.
TIP_RADIUS_M = 0.17
BALL_RADIUS_M = 0.68
BALL_HEIGHT_M = 1.0
# The bars turn in the plane that faces the camera, counter-clockwise as seen from the camera.
BAR_AXIS = (0.0, -1.0, 0.0)
BALL_AXIS = (0.48, -0.36, 0.8)
FOV_Y_DEG = 28.0
COLORS = (
    (0.36, 0.62, 0.90),
    (0.33, 0.74, 0.72),
    (0.55, 0.77, 0.42),
    (0.95, 0.79, 0.34),
    (0.95, 0.58, 0.28),
    (0.92, 0.38, 0.33),
)
TIP_COLOR = (0.96, 0.95, 0.92)


class Spinners(FormulaWorld):
    """Bodies that turn several times between two snapshots."""

    dt = 0.5

    def __init__(self, turns: str = "0.125,0.25,0.5,1,1.5,3", seed: int = 0) -> None:
        per_step = _read_turns(turns)
        count = len(per_step)
        # First the values of the bars, then those of the balls.
        self.turns_per_step = np.concatenate((per_step, per_step))
        self.axis = np.repeat((BAR_AXIS, BALL_AXIS), count, axis=0)
        x = COLUMN_M * (np.arange(count) - (count - 1) / 2)
        self.bodies = Bodies(3 * count)  # The bodies are the bars, the balls, and the balls on the tips of the bars.
        self.bodies.position[: 2 * count, 0] = np.tile(x, 2)
        self.bodies.position[:count, 2] = BAR_HEIGHT_M
        self.bodies.position[count : 2 * count, 2] = BALL_HEIGHT_M
        self.bodies.position[2 * count :] = TIP_M
        colors = [COLORS[column % len(COLORS)] for column in range(count)]
        bars, balls = [Box(BAR_M, color) for color in colors], [Sphere(BALL_RADIUS_M, color) for color in colors]
        middle_m = (BAR_HEIGHT_M + BALL_HEIGHT_M) / 2
        room_m = max(COLUMN_M * count, 4.5) * 0.75 / 2 / math.tan(math.radians(FOV_Y_DEG / 2))
        self.scene = Scene(
            [*bars, *balls, *[Sphere(TIP_RADIUS_M, TIP_COLOR)] * count],
            camera=Camera(eye=(0.0, -room_m, middle_m + 0.6), target=(0.0, 0.0, middle_m), fov_y_deg=FOV_Y_DEG),
            pattern=True,
            parents={2 * count + column: column for column in range(count)},
        )
        self.bodies.velocity[:] = 0.0  # The velocity 0 is given explicitly, because the bodies only turn.
        self.reset(seed)

    def orientation_at(self, sim_time_s: float) -> NDArray[np.float64]:
        """Returns the orientations of the n bars, then of the n balls, at a simulated time in seconds, as unit
        quaternions xyzw, (2 n, 4)."""
        turns = np.remainder(self.turns_per_step * (sim_time_s / self.dt), 1.0)
        half = sin_cos(turns[:, None] / 2)
        return np.concatenate((self.axis * half.sin, half.cos), axis=1)

    def diagnostics(self) -> dict[str, float]:
        """Figures for the overlay: the number of turns per step of the fastest body."""
        return {"turns_per_step": float(np.abs(self.turns_per_step).max())}

    def write(self) -> None:
        """Writes the orientations and angular velocities of all bodies."""
        spinners = len(self.turns_per_step)
        self.bodies.orientation[:spinners] = self.orientation_at(self.time_s)
        rate = 2 * np.pi * self.turns_per_step / self.dt
        self.bodies.angular_velocity[:spinners] = self.axis * rate[:, None]


def _read_turns(text: str) -> NDArray[np.float64]:
    try:
        turns = np.array([float(part) for part in str(text).split(",")])
    except ValueError:
        turns = np.array([np.nan])
    if len(turns) > MOST_SPINNERS or not (np.abs(turns) <= MOST_TURNS).all():
        raise InvalidValue(
            f"turns must be a list of 1 to {MOST_SPINNERS} numbers of turns per step, each from {-MOST_TURNS:g} to "
            f"{MOST_TURNS:g}, such as 0.25,1,3; got {text!r}"
        )
    return turns
