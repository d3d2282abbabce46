"""A few hundred balls tumbling in a box that is rocked without end: the default world.

The box is drawn standing still; the rocking is in the direction of gravity, which leans over and walks
round, so that the pile keeps pouring from side to side. With `rocking_deg=0` the balls settle and rest.
Contacts, friction, spin and bounce are those of `contacts.py`; this file sets the scene and writes the bodies.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Camera, Scene, Sphere
from twixt.sim.bodies import Bodies
from twixt.sim.world import World
from twixt.sim.worlds.contacts import ContactSolver, Material, Spheres

GRAVITY_M_S2 = 9.81
# The largest weighs seven times the smallest: a wider span lets heavy balls press small ones deep into others.
RADIUS_MIN_M, RADIUS_MAX_M = 0.10, 0.19
DENSITY_KG_M3 = 1000.0
# Half the box's width for 300 balls (metres): a pile two or three balls deep.
HALF_WIDTH_M = 2.15
# The drawn box is this much as high as wide: the pile leans against its walls without rising over them.
HEIGHT_PER_WIDTH = 0.55
# Room of one ball in the lattice that they fall from, and how far each is off its place (metres).
LATTICE_M = 0.44
LATTICE_OFF_M = 0.015
START_HEIGHT_M = 0.6
START_SPEED_M_S = 0.8
# The lean of gravity grows to its full size in this time, and walks round the box in this period (seconds).
ROCKING_GROWS_S = 3.0
ROCKING_PERIOD_S = 6.0

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
    """Balls of many sizes tumble in a rocking box: contacts, friction, spin."""

    dt = 1 / 60

    def __init__(self, count: int = 300, seed: int = 0, rocking_deg: float = 36.0) -> None:
        if count < 1:
            raise TwixtError(f"count must be >= 1, got {count}")
        if not 0 <= rocking_deg <= 80:
            raise TwixtError(f"rocking_deg must be from 0 (at rest) to 80, got {rocking_deg:g}")
        self.count = count
        self.rocking_rad = math.radians(rocking_deg)
        self.half_width = max(HALF_WIDTH_M * (count / 300) ** 0.6, LATTICE_M)
        self.bodies = Bodies(count)
        self.scene = self._scene()
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """All balls above the box again, sizes, places and speeds from `seed`."""
        random = np.random.default_rng(seed)
        # Sizes travel as half floats; the physics takes what is drawn.
        radius = random.uniform(RADIUS_MIN_M, RADIUS_MAX_M, self.count).astype(np.float16).astype(float)
        side = max(1, int(2 * self.half_width / LATTICE_M))
        layer, row, column = np.unravel_index(np.arange(self.count), (-(-self.count // side**2), side, side))
        place = np.stack((column, row, layer)).astype(float)
        place[:2] -= (side - 1) / 2
        position = place * LATTICE_M + random.uniform(-LATTICE_OFF_M, LATTICE_OFF_M, place.shape)
        position[2] += START_HEIGHT_M
        self.state = Spheres(
            position=position,
            velocity=random.uniform(-START_SPEED_M_S, START_SPEED_M_S, position.shape),
            spin=np.zeros_like(position),
            radius=radius,
            mass=DENSITY_KG_M3 * 4 / 3 * math.pi * radius**3,
        )
        self.orientation = np.zeros((4, self.count))
        self.orientation[3] = 1.0
        half = self.half_width
        low, high = np.array([-half, -half, 0.0]), np.array([half, half, np.inf])
        self.solver = ContactSolver(self.state, low, high, Material())
        self.time_s = 0.0
        self.bodies.teleport(np.arange(self.count), position.T, scale=radius)
        self._write()

    def step(self, dt: float) -> None:
        """Advance by `dt` seconds."""
        self.solver.step(dt, self.gravity())
        self.time_s += dt
        self.orientation = turned(self.orientation, self.state.spin * dt)
        self._write()

    def gravity(self) -> NDArray[np.float64]:
        """Gravity now, (3,) m/s^2."""
        lean = self.rocking_rad * min(1.0, self.time_s / ROCKING_GROWS_S)
        way = 2 * math.pi * self.time_s / ROCKING_PERIOD_S
        across = GRAVITY_M_S2 * math.sin(lean)
        return np.array([across * math.cos(way), across * math.sin(way), -GRAVITY_M_S2 * math.cos(lean)])

    def diagnostics(self) -> dict[str, float]:
        """Figures for the overlay: contacts that carry, and the deepest overlap in % of the smaller radius."""
        overlap = self.solver.overlap()
        return {"contacts": float(np.count_nonzero(self.solver.push)), "overlap_percent": 100 * overlap}

    def _write(self) -> None:
        bodies, state = self.bodies, self.state
        bodies.position[:] = state.position.T
        bodies.orientation[:] = self.orientation.T
        bodies.velocity[:] = state.velocity.T
        bodies.angular_velocity[:] = state.spin.T

    def _scene(self) -> Scene:
        half = self.half_width
        height = 2 * half * HEIGHT_PER_WIDTH
        return Scene(
            [Sphere(radius=1.0, color=PALETTE[body % len(PALETTE)]) for body in range(self.count)],
            camera=Camera(
                eye=(1.45 * half, -3.13 * half, 2.4 * half), target=(0.0, 0.0, 0.36 * height), fov_y_deg=42.0
            ),
            ground=0.0,
            outline=((-half, -half, 0.0), (half, half, height)),
        )


def turned(orientation: NDArray[np.float64], turn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit quaternions (4, n) xyzw turned by rotation vectors (3, n), radians in the world frame."""
    angle = np.sqrt((turn * turn).sum(axis=0))
    # sin(angle / 2) / angle, also at 0: np.sinc(x) is sin(pi x) / (pi x).
    vx, vy, vz = turn * (0.5 * np.sinc(angle / (2 * math.pi)))
    w = np.cos(angle / 2)
    x0, y0, z0, w0 = orientation
    out = np.stack(
        (
            w * x0 + vx * w0 + vy * z0 - vz * y0,
            w * y0 + vy * w0 + vz * x0 - vx * z0,
            w * z0 + vz * w0 + vx * y0 - vy * x0,
            w * w0 - vx * x0 - vy * y0 - vz * z0,
        )
    )
    return out / np.sqrt((out * out).sum(axis=0))
