"""Motion of a spiral galaxy: one small matrix per ring and instant moves all of its bodies.

A body keeps eight floats, which never change: its position in its ring as if that were a circle (x, y, and the height
z), a 1, and its first orientation. The ring's matrix maps them to the sixteen floats of a record: position, velocity,
orientation and angular velocity are linear in them.

The arms are a density wave: rings are nested ellipses, each rotated a little against the next. Bodies move along them,
inner ones faster, through arms that rotate slowly as a whole (Kalnajs 1973). The size and the tilt of the rings
oscillate, as waves that run outward.

Always: velocities are the derivatives of positions, angular velocities those of orientations; a matrix has no
subnormal and no infinite number, so that a product copies the numbers that it multiplies by 1. Does not depend on the
number of bodies.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE

Floats = NDArray[np.float64]

# Places of the floats that a body keeps, and of the sixteen words of a record.
KEPT = 8
PLANE, HEIGHT, ONE, FIRST_TURN = slice(0, 2), 2, 3, slice(4, 8)
WORDS = 16
X_Y, Z, EPOCH, ORIENTATION, X_Y_SPEED, Z_SPEED = slice(0, 2), 2, 3, slice(4, 8), slice(8, 10), 10
FLAGS_AND_SCALE, ANGULAR_VELOCITY, COLOR = 11, slice(12, 15), 15

DISC_M = 6.0
CORE_M = 0.55
# Density falls exponentially with the radius; this share of the disc's radius is the scale length.
THINS_SHARE = 0.34
# Flattening of the ellipses, reached at this share of the disc's radius; rotation of the outermost against the first.
FLATTENING, FLAT_FROM_SHARE = 0.28, 0.45
TWIST_RAD = 2.3 * math.pi
ARMS_HZ = 0.012
SPEED_M_S = 1.3  # almost the same at all radii of the disc, as in real ones
# Waves that run outward: amplitude (breath: share of the size; lean: slope at the rim), frequency, waves on the disc.
BREATH, BREATH_HZ, BREATHS = 0.045, 0.11, 1.3
LEAN, LEAN_HZ, LEANS = 0.11, 0.035, 0.8
SPIN_HZ = (0.05, 0.4)
EPOCHS_FROM = 0x3F80_0000  # the bits of 1.0
SCALES = (0.85, 1.15)  # of the bodies' shape, by ring


class Rings:
    """`count` rings, from the centre outward, for equal numbers of bodies. radius: (count,) metres.

    epoch: that of all bodies, 0 to 65535.
    """

    def __init__(self, count: int, epoch: int, random: np.random.Generator) -> None:
        self.radius = CORE_M / 4 + DISC_M * _radius_shares(count)
        self._outward = self.radius / DISC_M
        self._speed = SPEED_M_S / (self.radius + CORE_M)
        self._start = random.uniform(0, 2 * math.pi, count)
        self._flat = 1 - FLATTENING * np.minimum(1.0, self._outward / FLAT_FROM_SHARE)
        self._axis = random.standard_normal((count, 3))
        self._axis /= np.linalg.norm(self._axis, axis=1, keepdims=True)
        self._spin = 2 * math.pi * random.uniform(*SPIN_HZ, count)
        self._spin_start = random.uniform(0, 2 * math.pi, count)
        self._matrices = np.zeros((count, KEPT, WORDS), np.float32)
        # Flags and scale are the bits of a float that is neither subnormal nor infinite. The offset EPOCHS_FROM makes
        # the epoch such a float, too: only changes of an epoch matter.
        self._matrices[:, ONE, EPOCH] = np.array(EPOCHS_FROM + epoch, np.uint32).view(np.float32)
        scale = random.uniform(*SCALES, count).astype(np.float16).view(np.uint16).astype(np.uint32)
        flags = np.uint32(VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY)
        self._matrices[:, ONE, FLAGS_AND_SCALE] = (scale << np.uint32(16) | flags).view(np.float32)
        self._matrices[:, ONE, ANGULAR_VELOCITY] = self._axis * self._spin[:, None]

    def matrices(self, time_s: float) -> NDArray[np.float32]:
        """Matrices (count, 8, 16) from kept floats to records at `time_s`. Each call overwrites the array."""
        self._move(time_s)
        self._turn(time_s)
        return self._matrices

    def _move(self, time_s: float) -> None:
        arms_rate, breath_rate, lean_rate = (2 * math.pi * hz for hz in (ARMS_HZ, BREATH_HZ, LEAN_HZ))
        breath = breath_rate * time_s - 2 * math.pi * BREATHS * self._outward
        size, size_rate = 1 + BREATH * np.sin(breath), BREATH * breath_rate * np.cos(breath)
        # In the ring's plane: first rotated by `round_`, then flattened, then rotated by `way`.
        way = TWIST_RAD * self._outward + arms_rate * time_s
        round_ = self._start + self._speed * time_s
        cw, sw, cr, sr, flat = np.cos(way), np.sin(way), np.cos(round_), np.sin(round_), self._flat
        shape = np.array(
            (
                (cw * cr - sw * flat * sr, -cw * sr - sw * flat * cr),
                (sw * cr + cw * flat * sr, -sw * sr + cw * flat * cr),
            )
        )
        place = size * shape
        # The derivative of a rotation is the rotation and a quarter turn: after it (`turned`), or before (`went_on`).
        turned = np.stack((-place[1], place[0]))
        went_on = np.stack((place[:, 1], -place[:, 0]), axis=1)
        speed = size_rate * shape + arms_rate * turned + self._speed * went_on
        lean = lean_rate * time_s - 2 * math.pi * LEANS * self._outward
        slope = LEAN * self._outward * np.stack((np.cos(lean), np.sin(lean)))
        slope_rate = lean_rate * np.stack((-slope[1], slope[0]))
        height = slope[0] * place[0] + slope[1] * place[1]
        climb = slope_rate[0] * place[0] + slope_rate[1] * place[1] + slope[0] * speed[0] + slope[1] * speed[1]
        out = self._matrices
        out[:, PLANE, X_Y] = place.T
        out[:, PLANE, X_Y_SPEED] = speed.T
        out[:, PLANE, Z] = height.T
        out[:, PLANE, Z_SPEED] = climb.T
        out[:, HEIGHT, Z] = size
        out[:, HEIGHT, Z_SPEED] = size_rate

    def _turn(self, time_s: float) -> None:
        half = (self._spin_start + self._spin * time_s) / 2
        x, y, z = (self._axis * np.sin(half)[:, None]).T
        w = np.cos(half)
        # The product (x, y, z, w) q of quaternions, as a matrix by which a row q is multiplied.
        rows = np.array(((w, z, -y, -x), (-z, w, x, -y), (y, -x, w, -z), (x, y, z, w)))
        self._matrices[:, FIRST_TURN, ORIENTATION] = rows.transpose(2, 0, 1)


def _radius_shares(count: int) -> Floats:
    """Radii of rings with equal shares of an exponential disc that ends at 1, (count,), as shares of its radius."""
    radius = np.linspace(0, 1, 513)
    inside = 1 - (1 + radius / THINS_SHARE) * np.exp(-radius / THINS_SHARE)
    return np.interp((np.arange(count) + 0.5) / count, inside / inside[-1], radius)
