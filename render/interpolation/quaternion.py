"""Arrays of quaternions xyzw: unit length, products, rotation vectors, and the shortest rotation between two.

Always: results are finite and returned quaternions have unit length, also for inputs that are not finite or not of
unit length. A rotation vector is axis times angle (radians), so that rotations can be added and scaled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Below this sine the weights of slerp lose digits, and the straight way is the same to 1e-7.
NEAR_PARALLEL_SINE = 1e-3
# A quaternion with a squared length below this is no orientation.
NO_LENGTH = 1e-30
# Below this sine of half an angle the axis has no digits left to divide by; angle / sine is then 2 to 1e-16.
NO_AXIS_SINE = 1e-12


def normalized(quaternions: NDArray[np.floating]) -> Floats:
    """Unit quaternions, (n, 4); the identity where the length is 0 or not finite."""
    unit = np.array(quaternions, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        squared = np.einsum("ij,ij->i", unit, unit)
    broken = ~np.isfinite(squared) | (squared < NO_LENGTH)
    if broken.any():
        unit[broken] = (0.0, 0.0, 0.0, 1.0)
        squared[broken] = 1.0
    return unit / np.sqrt(squared)[:, None]


def multiply(second: Floats, first: Floats) -> Floats:
    """The turn `first` followed by `second`, both in world axes: the product second * first, (n, 4). Hamilton 1844."""
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
    """The turns back, (n, 4), for unit quaternions."""
    return quaternions * (-1.0, -1.0, -1.0, 1.0)


def rotate(quaternions: Floats, vectors: NDArray[np.floating]) -> Floats:
    """`vectors` (n, 3) turned by unit quaternions (n, 4)."""
    axis, w = quaternions[:, :3], quaternions[:, 3:]
    return vectors + 2.0 * np.cross(axis, np.cross(axis, vectors) + w * vectors)


def exp(rotation: NDArray[np.floating]) -> Floats:
    """The turn about each rotation vector (n, 3), by any angle, as unit quaternions (n, 4). Euler 1775.

    A vector that is not finite, or whose length is not, does not turn.
    """
    rotation = np.asarray(rotation, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        angle = np.sqrt(np.einsum("ij,ij->i", rotation, rotation))
    broken = ~np.isfinite(angle)
    if broken.any():
        rotation, angle = np.where(broken[:, None], 0.0, rotation), np.where(broken, 0.0, angle)
    # sin(angle / 2) / angle, also at 0: np.sinc(x) is sin(pi x) / (pi x).
    axis = rotation * (0.5 * np.sinc(angle / (2.0 * np.pi)))[:, None]
    return normalized(np.concatenate((axis, np.cos(angle / 2.0)[:, None]), axis=1))


def log(quaternions: NDArray[np.floating]) -> Floats:
    """The shortest rotation vector (n, 3) of each turn, at most half a turn long.

    Always log(q) == log(-q), also at exactly half a turn, where both ways are as short.
    """
    unit = normalized(quaternions)
    unit = np.where(_pointing_back(unit)[:, None], -unit, unit)
    axis, w = unit[:, :3], unit[:, 3]
    sine = np.sqrt(np.einsum("ij,ij->i", axis, axis))
    tiny = sine < NO_AXIS_SINE
    # atan2 is exact where arccos loses its digits, near no turn and near half a turn.
    per_sine = np.where(tiny, 2.0, 2.0 * np.arctan2(sine, w) / np.where(tiny, 1.0, sine))
    return axis * per_sine[:, None]


def slerp(start: NDArray[np.floating], end: NDArray[np.floating], alpha: float) -> Floats:
    """Shortest-path spherical interpolation, (n, 4). Ken Shoemake 1985.

    q and -q are one orientation: the shorter of the two ways round is used. At exactly half a turn both are equally
    short; then `start` and `end` are blended with the signs that they have.
    """
    start, end = normalized(start), normalized(end)
    end = np.where(np.einsum("ij,ij->i", start, end)[:, None] < 0, -end, end)
    # atan2 of the two lengths is exact where arccos loses its digits, for nearly equal rotations.
    angle = 2.0 * np.arctan2(np.linalg.norm(end - start, axis=1), np.linalg.norm(end + start, axis=1))
    sine = np.sin(angle)
    near = sine < NEAR_PARALLEL_SINE
    divisor = np.where(near, 1.0, sine)
    weight_start = np.where(near, 1.0 - alpha, np.sin((1.0 - alpha) * angle) / divisor)
    weight_end = np.where(near, alpha, np.sin(alpha * angle) / divisor)
    return normalized(weight_start[:, None] * start + weight_end[:, None] * end)


def _pointing_back(unit: Floats) -> NDArray[np.bool_]:
    """(n,): True where -q is to be used instead of q: w < 0, or, if w is 0, the first of z, y, x that is not 0 is
    negative."""
    x, y, z, w = unit.T
    return (w < 0) | ((w == 0) & ((z < 0) | ((z == 0) & ((y < 0) | ((y == 0) & (x < 0))))))
