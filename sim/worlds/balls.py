"""Shows balls that tumble in a rocking box. This is the default world; it has 300 balls.

The box is drawn at rest. Its rocking is simulated by gravity. The direction of gravity tilts and rotates, so that the
pile flows from side to side. With `rocking_deg=0` the balls come to rest. `contacts/solver.py` computes contacts,
friction, spin and bounce. This file makes the scene and writes the bodies.

With `--set count=10000` the box is wider and deeper. It also rocks more slowly, because waves in a wider box are
slower. With more than `MANY` balls a step is 1/30 s instead of 1/60 s: half of the cost of a step is the search for
contacts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import InvalidValue
from twixt.ipc.scene import Camera, Scene, Sphere
from twixt.sim.contacts.contact_list import cross
from twixt.sim.contacts.solver import QUICK, ContactMaterial, ContactSolver, MovingSpheres
from twixt.sim.reproducible_math import dot, sin_cos, uniform
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.settings import check_count
from twixt.sim.world.world import World

Floats = NDArray[np.floating[Any]]

GRAVITY_M_S2 = 9.81
# Smallest and largest radius of a ball, in metres. The largest ball weighs seven times as much as the smallest. With a
# wider range, heavy balls would overlap small balls deeply.
RADIUS_MIN_M, RADIUS_MAX_M = 0.10, 0.19
DENSITY_KG_M3 = 1000.0
MOST = 100_000
MANY = 3_000
# Upper limit of the memory for one ball in a pile, in bytes. Most of this memory is the list of near balls during the
# search for contacts.
BALL_BYTES = 4096
# HALF_WIDTH_M is half the width of the box for 300 balls, in metres. With this width the pile is two or three balls
# deep. With more balls, box and pile are wider and deeper.
HALF_WIDTH_M = 2.15
WIDTH_POWER = 0.4
# Height of the drawn box as a share of its width. The pile does not rise above walls of this height. A wide box is
# lower in proportion to its width, because its pile is flatter.
HEIGHT_PER_WIDTH = 0.55
FLATTER_POWER = 0.2
# Spacing of the lattice from which the balls fall, and largest random distance of a ball from its lattice point along
# each axis. Both are in metres.
LATTICE_M = 0.44
LATTICE_OFF_M = 0.015
START_HEIGHT_M = 0.6
START_SPEED_M_S = 0.8
# ROCKING_GROWS_S is the time in which the tilt of gravity grows to its full angle. ROCKING_PERIOD_S is the period in
# which the direction of the tilt rotates around the vertical. Both are in seconds, for 300 balls. Like the periods of
# waves, both times are proportional to the square root of the box's width.
ROCKING_GROWS_S = 3.0
ROCKING_PERIOD_S = 6.0
# TINY_RAD prevents a division 0 / 0 for a rotation by an angle of zero.
TINY_RAD = 1e-20

PALETTE = (
    (0.93, 0.35, 0.28),
    (0.97, 0.60, 0.25),
    (0.98, 0.83, 0.36),
    (0.56, 0.77, 0.42),
    (0.27, 0.69, 0.67),
    (0.30, 0.55, 0.87),
    (0.52, 0.42, 0.80),
    (0.90, 0.51, 0.67),
    (0.92, 0.90, 0.86),
)


class Balls(World):
    """Balls of many sizes tumble in a rocking box, with contacts, friction and spin."""

    dt = 1 / 60

    def __init__(self, count: int = 300, seed: int = 0, rocking_deg: float = 36.0) -> None:
        check_count(count, MOST, "balls", BALL_BYTES)
        if not 0 <= rocking_deg <= 80:
            raise InvalidValue(f"rocking_deg must be from 0 (at rest) to 80, got {rocking_deg:g}")
        self.count = count
        self.rocking_turns = rocking_deg / 360
        # The width is rounded to a millimetre, because the last bits of a power depend on the C library.
        self.half_width = max(round(HALF_WIDTH_M * (count / 300) ** WIDTH_POWER, 3), LATTICE_M)
        self.side = max(1, int(2 * self.half_width / LATTICE_M))
        self.slower = max(1.0, math.sqrt(self.half_width / HALF_WIDTH_M))
        self.dt = 1 / 60 if count <= MANY else 1 / 30
        self.substep_s = 1 / 120 if count <= MANY else 1 / 60
        self.bodies = Bodies(count)
        self.scene = self._scene()
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Places all balls above the floor again. Their random sizes, positions and velocities depend on `seed`."""
        random = np.random.default_rng(seed)
        # The sizes of the balls are published as half floats. So the simulation uses the same rounded values.
        radius = uniform(random, RADIUS_MIN_M, RADIUS_MAX_M, self.count).astype(np.float16).astype(np.float32)
        side = self.side
        layer, row, column = np.unravel_index(np.arange(self.count), (-(-self.count // side**2), side, side))
        place = np.stack((column, row, layer)).astype(float)
        place[:2] -= (side - 1) / 2
        position = place * LATTICE_M + uniform(random, -LATTICE_OFF_M, LATTICE_OFF_M, place.shape)
        position[2] += START_HEIGHT_M
        self.state = MovingSpheres(
            position=position.astype(np.float32),
            velocity=uniform(random, -START_SPEED_M_S, START_SPEED_M_S, position.shape).astype(np.float32),
            spin=np.zeros(position.shape, np.float32),
            radius=radius,
            mass=DENSITY_KG_M3 * 4 / 3 * math.pi * radius * radius * radius,
        )
        self.orientation = np.zeros((4, self.count), np.float32)
        self.orientation[3] = 1.0
        half = self.half_width
        low, high = np.array([-half, -half, 0.0]), np.array([half, half, np.inf])
        self.solver = ContactSolver(self.state, low, high, ContactMaterial(), self.substep_s, QUICK)
        self.time_s = 0.0
        self.bodies.teleport(np.arange(self.count), position.T, scale=radius)
        self._write()

    def step(self, dt: float) -> None:
        """Advances the balls by `dt` seconds."""
        self.solver.step(dt, self.gravity())
        self.time_s += dt
        self.orientation = turned(self.orientation, self.state.spin * np.float32(dt))
        self._write()

    def gravity(self) -> NDArray[np.float64]:
        """Acceleration of gravity at the current time, (3,) m/s^2."""
        time_s = self.time_s / self.slower
        lean = sin_cos(self.rocking_turns * min(1.0, time_s / ROCKING_GROWS_S))
        way = sin_cos(time_s / ROCKING_PERIOD_S)
        across = GRAVITY_M_S2 * lean.sin
        return np.array([across * way.cos, across * way.sin, -GRAVITY_M_S2 * lean.cos])

    def diagnostics(self) -> dict[str, float]:
        """Figures for the overlay: the number of contacts with a force, and the deepest overlap in % of the radius of
        the smaller ball."""
        overlap = self.solver.overlap()
        return {"contacts": float(np.count_nonzero(self.solver.normal_impulse)), "overlap_percent": 100 * overlap}

    def _write(self) -> None:
        bodies, state = self.bodies, self.state
        bodies.position[:] = state.position.T
        bodies.orientation[:] = self.orientation.T
        bodies.velocity[:] = state.velocity.T
        bodies.angular_velocity[:] = state.spin.T

    def _scene(self) -> Scene:
        half = self.half_width
        flatter = min(1.0, (HALF_WIDTH_M / half) ** FLATTER_POWER)
        height = 2 * half * HEIGHT_PER_WIDTH * flatter
        away = half * (0.7 + 0.3 * flatter)  # The camera is closer for a flatter box.
        # At the start the colours form stripes. Later the mixture of the colours shows how the pile flows.
        stripe = np.arange(self.count) % self.side * len(PALETTE) // self.side
        balls = [Sphere(radius=1.0, color=color) for color in PALETTE]
        return Scene(
            [balls[row] for row in stripe],
            camera=Camera(
                eye=(1.45 * away, -3.13 * away, 2.4 * away), target=(0.0, 0.0, 0.36 * height), fov_y_deg=42.0
            ),
            ground_z=0.0,
            outline=((-half, -half, 0.0), (half, half, height)),
            pattern=True,
        )


def turned(orientation: Floats, turn: Floats) -> Floats:
    """Returns unit quaternions (4, n) xyzw after a rotation of each orientation by a vector of `turn`, (3, n), in
    radians in the world frame."""
    angle = np.sqrt(dot(turn, turn))
    half = sin_cos(angle / (4 * math.pi))
    axis = turn * (half.sin / np.maximum(angle, TINY_RAD))
    before, w = orientation[:3], orientation[3]
    out = np.empty_like(orientation)
    np.multiply(axis, w, out=out[:3])
    out[:3] += before * half.cos
    out[:3] += cross(np.concatenate((axis, axis[:2])), before)
    np.multiply(half.cos, w, out=out[3])
    out[3] -= dot(axis, before)
    squares = out * out
    out /= np.sqrt(squares[0] + squares[1] + squares[2] + squares[3])
    return out
