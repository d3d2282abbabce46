"""Spring between a body and the pointer: force and torque on a body that the user drags.

The one idea: a damped spring of a fixed rhythm, as MuJoCo's: its stiffness is the body's mass times the square of
`RATE_PER_S`, its damping critical. A viewer does not know masses; it assumes water in the body's shapes. An engine that
knows them makes its own force of the same pull (`Pull.target`, `Pull.turn`).

Always: finite; zero where the point is at the pointer and at rest. Pure: numbers in, numbers out.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Box, Capsule, Compound, Cylinder, Ellipsoid, Shape, Sphere

# Of the spring: 1 / e of the way in a fifth of a second. Slower than MuJoCo's own (10), because this force comes some
# frames late: with twice the rate, or bodies of a third of the assumed mass, it would swing.
RATE_PER_S = 5.0
DENSITY_KG_M3 = 1000.0
# Of a shape whose volume is not known, such as a mesh: share of its bounding sphere that is filled.
FILLED = 0.1
# A point is not taken to be faster than this, m/s: beyond it a body was cut to another place.
FASTEST_M_S = 100.0

Vector = NDArray[np.float64]


class Grip(NamedTuple):
    """Force at a point, N, and torque about the body's position, N m, world."""

    force: Vector
    torque: Vector


def mass_of(shape: Shape, scale: float = 1.0) -> float:
    """Assumed mass of a body, kg."""
    return DENSITY_KG_M3 * _volume(shape) * abs(scale) ** 3


def pulled(mass: float, at: Vector, target: Vector, velocity: Vector, middle: Vector) -> Grip:
    """Grip that pulls the point `at`, which moves with `velocity` (m/s), towards `target`. middle: the body's position;
    all metres, world. mass: kg."""
    force = mass * RATE_PER_S * (RATE_PER_S * (target - at) - 2 * _limited(velocity))
    return Grip(force, np.cross(at - middle, force))


def turned(mass: float, reach_m: float, left: Vector, rate: Vector) -> Grip:
    """Grip that turns a body by the rotation vector `left` (radians, world). rate: its angular velocity, rad/s. reach_m:
    its bounding radius; its inertia is taken as that of a ball of half that radius."""
    inertia = 0.4 * mass * (reach_m / 2) ** 2
    return Grip(np.zeros(3), inertia * RATE_PER_S * (RATE_PER_S * left - 2 * _limited(rate)))


def rotation_between(before: NDArray[np.floating], now: NDArray[np.floating]) -> Vector:
    """Rotation vector (radians, world) that turns the first orientation into the second; unit quaternions xyzw."""
    (x, y, z, w), (a, b, c, d) = (np.asarray(turn, np.float64) for turn in (now, before))
    # now x conjugate of before
    vector = np.array([-w * a + x * d - y * c + z * b, -w * b + y * d - z * a + x * c, -w * c + z * d - x * b + y * a])
    cosine = w * d + x * a + y * b + z * c
    sine = float(np.linalg.norm(vector))
    if sine == 0:
        return np.zeros(3)
    angle = 2 * math.atan2(sine, abs(cosine)) * (1 if cosine >= 0 else -1)
    return vector / sine * angle


def _limited(velocity: Vector) -> Vector:
    speed = float(np.linalg.norm(velocity))
    return velocity if speed <= FASTEST_M_S else np.zeros(3)


def _volume(shape: Shape) -> float:
    match shape:
        case Compound():
            return sum(_volume(part.shape) for part in shape.parts)
        case Sphere():
            return 4 / 3 * math.pi * shape.radius**3
        case Box():
            return math.prod(shape.size)
        case Ellipsoid():
            return math.pi / 6 * math.prod(shape.size)
        case Cylinder():
            return math.pi * shape.radius**2 * shape.length
        case Capsule():
            return math.pi * shape.radius**2 * (shape.length + 4 / 3 * shape.radius)
        case _:
            return FILLED * 4 / 3 * math.pi * shape.reach**3
