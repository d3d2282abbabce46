"""Quaternions xyzw, many at once: unit length, and the shortest way from one to another.

Always: results are finite unit quaternions, whatever finite or broken ones come in.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Below this sine the weights of slerp lose digits, and the straight way is the same to 1e-7.
NEAR_PARALLEL_SINE = 1e-3
# A squared length below this is no orientation at all.
NO_LENGTH = 1e-30


def normalized(quaternions: NDArray[np.floating]) -> NDArray[np.float64]:
    """Unit quaternions, (n, 4); the identity for what has no length or is not finite."""
    unit = np.array(quaternions, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        squared = np.einsum("ij,ij->i", unit, unit)
    broken = ~np.isfinite(squared) | (squared < NO_LENGTH)
    if broken.any():
        unit[broken] = (0.0, 0.0, 0.0, 1.0)
        squared[broken] = 1.0
    return unit / np.sqrt(squared)[:, None]


def slerp(start: NDArray[np.floating], end: NDArray[np.floating], alpha: float) -> NDArray[np.float64]:
    """Shortest-path spherical interpolation, (n, 4). Ken Shoemake 1985.

    q and -q are one orientation: of the two ways round the shorter is taken. At exactly half a turn both are
    as short, and the one through `start` and `end` as they stand is taken.
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
