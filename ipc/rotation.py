"""Quaternions: conversion between the two orders of their numbers, and quaternions of a rotation about an axis or
towards a direction.

A body's forward axis is x and its up axis is z. Shapes and marks with a length (capsules, cylinders, arrows, lines)
extend along their own z axis.

Always: `rotation` and `turn_towards` return unit quaternions xyzw in float64. q and -q are the same rotation.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import InvalidType, InvalidValue, text_of

# Order of the numbers of a quaternion. Records, arrays of bodies and scenes always have the order "xyzw".
QuatOrder = Literal["xyzw", "wxyz"]
XYZW: Final = "xyzw"
# The numbers of a quaternion in each order, as error texts name them.
COMPONENTS = {XYZW: "(x, y, z, w)", "wxyz": "(w, x, y, z)"}
# Indices of the axis that turns to the direction, and of the axis that is then near `up`.
AXES = {"x": (0, 2), "z": (2, 1)}
# If the sine of the angle between a direction and `up` is smaller than this, they count as parallel.
PARALLEL_SINE = 1e-8


def is_w_first(quat: object) -> bool:
    """True for the order "wxyz". Raises TwixtError for any value that is not an order."""
    if isinstance(quat, str) and quat in COMPONENTS:
        return quat != XYZW
    advice = "" if isinstance(quat, str) else "; pass the quaternions as orientation"
    raise InvalidValue(f'quat must be "xyzw" or "wxyz", got {text_of(quat)}{advice}')


def in_xyzw(values: ArrayLike | None, quat: QuatOrder) -> ArrayLike | None:
    """Quaternions in the order xyzw, (..., 4). values: quaternions in the order `quat`; None stays None. Raises
    TwixtError for an unknown order."""
    if not is_w_first(quat) or values is None:
        return values
    array = np.asanyarray(values)
    return np.roll(array, -1, axis=-1) if array.ndim else array


def quaternion_product(second: NDArray[np.float64], first: NDArray[np.float64]) -> NDArray[np.float64]:
    """Products of quaternions xyzw, (..., 4). A product rotates by `first` and then by `second`."""
    a, b = second[..., :3], first[..., :3]
    vector = second[..., 3:] * b + first[..., 3:] * a + np.cross(a, b)
    return np.concatenate((vector, second[..., 3:] * first[..., 3:] - _dot(a, b)), axis=-1)


def rotation(axis: ArrayLike, angle: ArrayLike) -> NDArray[np.float64]:
    """Unit quaternions xyzw of rotations about an axis, by the right-hand rule.

    Args:
        axis: (3,), or (n, 3) with one row for each rotation. The length of each vector may be any number above 0.
        angle: Angle in radians, a number or (n,).

    Returns:
        The quaternions, float64. The shape is (4,) if both arguments are for one rotation, else (n, 4).

    Raises:
        TwixtError: An argument has a wrong shape or type, a number is not finite, or an axis has length 0. The error
            is also a ValueError or a TypeError.

    Examples:
        ```python
        import numpy as np
        import twixt

        print(twixt.rotation((0, 0, 1), np.pi / 2))  # [0. 0. 0.70710678 0.70710678]
        yaw = np.linspace(0, np.pi, 10)
        turns = twixt.rotation((0, 0, 1), yaw)  # (10, 4), for View.publish(orientation=turns)
        ```
    """
    axes = _directions("rotation(axis)", axis)
    angles = _numbers("rotation(angle)", angle, ())
    shape = _common_shape("rotation needs one angle for each axis", axes.shape[:-1], angles.shape)
    return _about(np.broadcast_to(axes, (*shape, 3)), np.broadcast_to(angles[..., None], (*shape, 1)))


def turn_towards(
    direction: ArrayLike, up: ArrayLike = (0.0, 0.0, 1.0), forward: Literal["x", "z"] = "x"
) -> NDArray[np.float64]:
    """Unit quaternions xyzw that turn a body's forward axis to a direction.

    The body's up axis is then as near to `up` as possible. If a direction is parallel to `up`, the rotation is the
    shortest rotation from the forward axis to the direction. If the direction is also opposite to the forward axis,
    the rotation is the half turn about the up axis.

    Args:
        direction: (3,), or (n, 3) with one row for each rotation. The length of each vector may be any number above 0.
        up: (3,) or (n, 3), as for `direction`.
        forward: "x": the x axis is turned to the direction, and the z axis is near `up`. "z": the z axis is turned to
            the direction, and the y axis is near `up`. Use "z" for capsules and cylinders, which extend along z.

    Returns:
        The quaternions, float64. The shape is (4,) if both arguments are for one rotation, else (n, 4).

    Raises:
        TwixtError: An argument has a wrong shape or type, a number is not finite, or a direction has length 0. The
            error is also a ValueError or a TypeError.

    Examples:
        ```python
        import numpy as np
        import twixt

        velocity = np.array([[1, 0, 0], [0, 2, 0]])
        cars = twixt.turn_towards(velocity)  # (2, 4)
        rod = twixt.turn_towards((0, 1, 1), forward="z")  # a capsule along the segment from (0, 0, 0) to (0, 1, 1)
        ```
    """
    if not isinstance(forward, str) or forward not in AXES:
        raise InvalidValue(f'turn_towards(forward) must be "x" or "z", got {text_of(forward)}')
    towards, ups = _directions("turn_towards(direction)", direction), _directions("turn_towards(up)", up)
    shape = (*_common_shape("turn_towards needs one up for each direction", towards.shape[:-1], ups.shape[:-1]), 3)
    towards, ups = np.broadcast_to(towards, shape), np.broadcast_to(ups, shape)
    ahead, top = np.eye(3)[list(AXES[forward])]

    # The shortest rotation of the forward axis, then a roll about the direction (Rodrigues 1840).
    axes = np.cross(ahead, towards)
    sine, cosine = np.linalg.norm(axes, axis=-1, keepdims=True), _dot(towards, ahead)
    axes = np.where(sine > 0, axes / np.where(sine > 0, sine, 1.0), top)
    turned_top = top * cosine + np.cross(axes, top) * sine + axes * _dot(axes, top) * (1.0 - cosine)
    roll = np.arctan2(_dot(towards, np.cross(turned_top, ups)), _dot(turned_top, ups))
    is_parallel = np.linalg.norm(np.cross(towards, ups), axis=-1, keepdims=True) < PARALLEL_SINE
    first, second = _about(axes, np.arctan2(sine, cosine)), _about(towards, np.where(is_parallel, 0.0, roll))

    turns = quaternion_product(second, first)
    return turns / np.linalg.norm(turns, axis=-1, keepdims=True)


def _about(axes: NDArray[np.float64], angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit quaternions of rotations about unit vectors, (..., 4). axes: (..., 3). angles: radians, (..., 1)."""
    half = angles / 2
    return np.concatenate((axes * np.sin(half), np.cos(half)), axis=-1)


def _dot(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sum(left * right, axis=-1, keepdims=True)


def _directions(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Unit vectors of the directions of `value`, (3,) or (n, 3)."""
    vectors = _numbers(name, value, (3,))
    largest = np.abs(vectors).max(axis=-1, keepdims=True)  # without it, squares could overflow or become 0
    if not largest.all():
        row = f" in row {np.flatnonzero(largest == 0)[0]}" if vectors.ndim > 1 else ""
        raise InvalidValue(f"{name} must be longer than 0, got [0, 0, 0]{row}; leave it out, or give another direction")
    scaled = vectors / largest
    return scaled / np.linalg.norm(scaled, axis=-1, keepdims=True)


def _numbers(name: str, value: ArrayLike, row: tuple[int, ...]) -> NDArray[np.float64]:
    """Finite numbers of the shape `row`, or of n such rows."""
    try:
        array: NDArray[Any] = np.asarray(value)
    except Exception as error:  # the conversion of another library's array may raise any exception
        raise InvalidType(f"{name} must be a numpy array or numbers, got {type(value).__name__} ({error})") from error
    rows = array.ndim - len(row)
    if array.dtype.kind not in "fiu" or rows not in (0, 1) or array.shape[rows:] != row:
        wanted = "a number or numbers of shape (n,)" if not row else "numbers of shape (3,) or (n, 3)"
        raise InvalidValue(f"{name} must be {wanted}, got {array.dtype} of shape {array.shape}")
    found = array.astype(np.float64)
    if not np.isfinite(found).all():
        raise InvalidValue(f"{name} must be finite, got {found[~np.isfinite(found)][0]}")
    return found


def _common_shape(rule: str, first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(first, second)
    except ValueError as error:
        raise InvalidValue(f"{rule}, got {first[0]} and {second[0]}") from error
