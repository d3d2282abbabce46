"""Computes with arrays of quaternions xyzw: normalizes and multiplies them, converts them to rotation vectors and back,
and blends two along the shortest rotation.

Results are always finite, and returned quaternions have unit length. This is true even if the inputs are not finite or
do not have unit length. A rotation vector is the axis of a rotation times its angle in radians. So rotation vectors can
be added and multiplied by a number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Least sine of the angle between two quaternions for which slerp is used. With a smaller sine, the weights of slerp
# lose precision. A linear blend is used instead. It differs from slerp by less than 1e-7.
NEAR_PARALLEL_SINE = 1e-3
# If the squared length of a quaternion is smaller than this, the quaternion is not an orientation.
NO_LENGTH = 1e-30
# Least sine of half the angle of a rotation for which the axis is computed. With a smaller sine, the axis would not be
# precise. The quotient angle / sine is then 2, with an error of at most 1e-16.
NO_AXIS_SINE = 1e-12


def normalized(quaternions: NDArray[np.floating]) -> Floats:
    """Scales quaternions to unit length, (n, 4). The result is the identity if the length of a quaternion is 0 or not
    finite."""
    unit = np.array(quaternions, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        squared = np.einsum("ij,ij->i", unit, unit)
    broken = ~np.isfinite(squared) | (squared < NO_LENGTH)
    if broken.any():
        unit[broken] = (0.0, 0.0, 0.0, 1.0)
        squared[broken] = 1.0
    return unit / np.sqrt(squared)[:, None]


def multiply(second: Floats, first: Floats) -> Floats:
    """Product second * first, (n, 4). It is the rotation `first` followed by the rotation `second`, both in world axes.
    Hamilton 1844."""
    x1, y1, z1, w1 = second.T
    x2, y2, z2, w2 = first.T
    return np.stack(
        (
            w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
            w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
            w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
            w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
        ),
        axis=1,
    )


def conjugate(quaternions: Floats) -> Floats:
    """Inverse rotations, (n, 4), of unit quaternions."""
    return quaternions * (-1.0, -1.0, -1.0, 1.0)


def rotate(quaternions: Floats, vectors: NDArray[np.floating]) -> Floats:
    """Rotates `vectors`, (n, 3), by unit quaternions, (n, 4)."""
    axis, w = quaternions[:, :3], quaternions[:, 3:]
    return vectors + 2.0 * np.cross(axis, np.cross(axis, vectors) + w * vectors)


def exp(rotation: NDArray[np.floating]) -> Floats:
    """Converts rotation vectors (n, 3), of any angle, to unit quaternions (n, 4). Euler 1775.

    If a vector or its length is not finite, the result is the identity.
    """
    rotation = np.asarray(rotation, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        angle = np.sqrt(np.einsum("ij,ij->i", rotation, rotation))
    broken = ~np.isfinite(angle)
    if broken.any():
        rotation, angle = np.where(broken[:, None], 0.0, rotation), np.where(broken, 0.0, angle)
    # np.sinc(x) is sin(pi x) / (pi x), so this factor is sin(angle / 2) / angle. It is correct even if the angle is 0.
    axis = rotation * (0.5 * np.sinc(angle / (2.0 * np.pi)))[:, None]
    return normalized(np.concatenate((axis, np.cos(angle / 2.0)[:, None]), axis=1))


def log(quaternions: NDArray[np.floating]) -> Floats:
    """Converts quaternions to rotation vectors, (n, 3). Each is the shortest rotation vector of its rotation, at most
    half a turn.

    log(q) == log(-q). This is true even at exactly half a turn, where both directions are equally short.
    """
    unit = normalized(quaternions)
    unit = np.where(_pointing_back(unit)[:, None], -unit, unit)
    axis, w = unit[:, :3], unit[:, 3]
    sine = np.sqrt(np.einsum("ij,ij->i", axis, axis))
    tiny = sine < NO_AXIS_SINE
    # atan2 is precise even if the angle is near 0 or near half a turn. arccos would not be precise there.
    per_sine = np.where(tiny, 2.0, 2.0 * np.arctan2(sine, w) / np.where(tiny, 1.0, sine))
    return axis * per_sine[:, None]


def slerp(start: NDArray[np.floating], end: NDArray[np.floating], alpha: float) -> Floats:
    """Shortest-path spherical interpolation, (n, 4). Ken Shoemake 1985.

    q and -q are the same orientation, so the shorter of the two ways round is used. At exactly half a turn, both ways
    are equally short. Then `start` and `end` are blended with their given signs.
    """
    start, end = normalized(start), normalized(end)
    end = np.where(np.einsum("ij,ij->i", start, end)[:, None] < 0, -end, end)
    # For nearly equal rotations, atan2 of the two lengths is precise. arccos would not be precise.
    angle = 2.0 * np.arctan2(np.linalg.norm(end - start, axis=1), np.linalg.norm(end + start, axis=1))
    sine = np.sin(angle)
    near = sine < NEAR_PARALLEL_SINE
    divisor = np.where(near, 1.0, sine)
    weight_start = np.where(near, 1.0 - alpha, np.sin((1.0 - alpha) * angle) / divisor)
    weight_end = np.where(near, alpha, np.sin(alpha * angle) / divisor)
    return normalized(weight_start[:, None] * start + weight_end[:, None] * end)


def _pointing_back(unit: Floats) -> NDArray[np.bool_]:
    """Mask (n,): True where -q must be used instead of q. This is the case if w < 0, or if w is 0 and the first nonzero
    value of z, y, x is negative."""
    x, y, z, w = unit.T
    return (w < 0) | ((w == 0) & ((z < 0) | ((z == 0) & ((y < 0) | ((y == 0) & (x < 0))))))
