"""Corrections: an authority's small fix of the true state, drawn without a visible jump.

When a body is corrected, its drawn pose keeps its offset from the new true pose, and that offset decays. The writer
keeps, for corrected bodies, two columns: "correction" (offset xyz in metres, rotation xyzw, of the pose drawn before
relative to the new true one) and "corrected_ns" (simulated time of the correction). A reader adds offset x decay to
each snapshot and needs no earlier snapshot for it, so it may skip snapshots or attach late:

    position + offset * decay          rotation ** decay * orientation (world frame)
    decay = exp(-(t - corrected_ns) / CORRECTION_TAU_NS)

Velocities are those of the visual pose, so that methods that use them see one smooth motion; at the instant of
the correction itself they are the true ones, because nothing decays before it.

Always: right after a correction the visual pose is the one before it, with what remained of an earlier correction; a
body never corrected, or whose offset has decayed, is drawn at its true pose. Pure: reads no clock, changes no
argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Columns of a snapshot that the writer keeps; a viewer does not list them.
CORRECTION, CORRECTED_NS = "correction", "corrected_ns"
OFFSET_WIDTH = 7
# Simulated time in which an offset falls to 37 %: no jump is seen. After three times that no offset is seen either.
CORRECTION_TAU_NS = 100_000_000
# After this many time constants less than a millionth of the offset remains, and it counts as decayed.
OVER_AFTER_TAU = 14.0
# The offset of a body that was never corrected.
NO_OFFSET = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
# A quaternion with a smaller squared length counts as the identity.
NO_LENGTH = 1e-30


class Patch(NamedTuple):
    """Bodies whose visual pose differs from the pose of their records."""

    rows: NDArray[np.intp]  # (m,), indices of bodies
    records: NDArray[np.void]  # (m,), their records with the visual pose


def visual(bodies: NDArray[np.void], columns: Mapping[str, NDArray[Any]], sim_time_ns: int) -> Patch:
    """Bodies whose visual pose differs from the true one at `sim_time_ns`, with their records as drawn.

    bodies: `BODY` records, (n,). columns: the snapshot's; without the two of corrections no row is patched.
    """
    offsets, times = columns.get(CORRECTION), columns.get(CORRECTED_NS)
    if offsets is None or times is None or offsets.shape[1:] != (OFFSET_WIDTH,) or times.ndim != 1:
        return Patch(np.empty(0, np.intp), bodies[:0].copy())
    count = min(len(bodies), len(offsets), len(times))
    rows = np.flatnonzero(_age(times[:count], sim_time_ns) < OVER_AFTER_TAU)
    left = remainder(offsets[rows], times[rows], sim_time_ns)
    elsewhere = (left != NO_OFFSET).any(axis=1)
    rows, left = rows[elsewhere], left[elsewhere]
    records = bodies[rows]
    speed = np.where(times[rows, None] < sim_time_ns, -1e9 / CORRECTION_TAU_NS, 0.0)  # of the decay, 1/s
    with np.errstate(over="ignore", invalid="ignore"):  # a body that is not finite stays so
        records["position"] = records["position"].astype(np.float64) + left[:, :3]
        records["velocity"] = records["velocity"].astype(np.float64) + speed * left[:, :3]
        records["orientation"] = _quaternion_product(left[:, 3:], records["orientation"].astype(np.float64))
        turning = _rotated(left[:, 3:], records["angular_velocity"].astype(np.float64))
        records["angular_velocity"] = turning + speed * _rotation_vector(left[:, 3:])
    return Patch(rows, records)


def corrected(
    old_offset: ArrayLike, old_ns: ArrayLike, now_ns: int, extra_offset: ArrayLike, extra_rotation: ArrayLike
) -> NDArray[np.float32]:
    """Offsets to keep after a correction at `now_ns`: the rest of the old ones plus the new ones, (n, 7).

    old_offset: (n, 7), as kept since old_ns, (n,). extra_offset: (n, 3), the position before less the corrected
    one. extra_rotation: (n, 4), as `turn_between` gives it. A single row is used for all bodies; one body may be given
    as plain rows of 7, 3 and 4 numbers, the result is (1, 7) then. An offset that is not finite
    is replaced by `NO_OFFSET`.
    """
    rows = [np.atleast_2d(np.asarray(value, np.float64)) for value in (old_offset, extra_offset, extra_rotation)]
    times = np.atleast_1d(np.asarray(old_ns, np.int64))
    count = np.broadcast_shapes((len(times),), *((len(row),) for row in rows))[0]
    old, extra, turn = (np.broadcast_to(row, (count, row.shape[1])) for row in rows)
    left = remainder(old, np.broadcast_to(times, count), now_ns)
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.concatenate(
            [left[:, :3] + extra, _normalized(_quaternion_product(left[:, 3:], _normalized(turn)))], axis=1
        )
        total = total.astype(np.float32)
    total[~np.isfinite(total).all(axis=1)] = NO_OFFSET
    return total


def remainder(offsets: NDArray[Any], times: NDArray[Any], now_ns: int) -> NDArray[np.float64]:
    """Undecayed part at `now_ns` of offsets (n, 7) made at times (n,). NO_OFFSET where it has decayed.

    Before its own time an offset has not decayed; a snapshot is never older than a correction that it holds.
    """
    left = np.array(np.broadcast_to(NO_OFFSET, (len(offsets), OFFSET_WIDTH)))
    age = _age(times, now_ns)
    rows = np.flatnonzero((age < OVER_AFTER_TAU) & (offsets != NO_OFFSET).any(axis=1))
    rows = rows[np.isfinite(offsets[rows]).all(axis=1)]
    decay = np.exp(-age[rows])[:, None]
    left[rows, :3] = offsets[rows, :3] * decay
    left[rows, 3:] = _scaled_rotation(_normalized(offsets[rows, 3:].astype(np.float64)), decay)
    return left


def _age(times: NDArray[Any], now_ns: int) -> NDArray[np.float64]:
    return np.maximum(np.int64(now_ns) - times.astype(np.int64), 0) / CORRECTION_TAU_NS


def turn_between(before: ArrayLike, after: ArrayLike) -> NDArray[np.float64]:
    """Rotations from orientations `after` back to `before`, unit quaternions xyzw, (n, 4), for `corrected`."""
    back = _normalized(np.atleast_2d(np.asarray(after, np.float64))) * (-1.0, -1.0, -1.0, 1.0)
    return _quaternion_product(_normalized(np.atleast_2d(np.asarray(before, np.float64))), back)


def _scaled_rotation(turns: NDArray[np.float64], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotations with their angle, along the shorter arc, multiplied by `share`: (n, 4)."""
    vectors = _rotation_vector(turns) * share / 2
    half = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.concatenate([vectors * np.sinc(half / np.pi), np.cos(half)], axis=1)


def _rotation_vector(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Axis times angle in radians, (n, 3), of unit quaternions, along the shorter arc."""
    turns = np.where(turns[:, 3:] < 0, -turns, turns)
    sine = np.linalg.norm(turns[:, :3], axis=1, keepdims=True)
    return turns[:, :3] * (2 * np.arctan2(sine, turns[:, 3:]) / np.where(sine > 0, sine, 1.0))


def _rotated(turns: NDArray[np.float64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    across = np.cross(turns[:, :3], vectors)
    return vectors + 2 * (turns[:, 3:] * across + np.cross(turns[:, :3], across))


def _quaternion_product(second: NDArray[np.float64], first: NDArray[np.float64]) -> NDArray[np.float64]:
    """Product of quaternions xyzw: the rotation by `first`, then by `second`."""
    a, b = second[:, :3], first[:, :3]
    vector = second[:, 3:] * b + first[:, 3:] * a + np.cross(a, b)
    scalar = second[:, 3:] * first[:, 3:] - np.sum(a * b, axis=1, keepdims=True)
    return np.concatenate([vector, scalar], axis=1)


def _normalized(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit quaternions; the identity where the length is 0 or not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        squared = np.sum(turns * turns, axis=1, keepdims=True)
    good = np.isfinite(squared) & (squared > NO_LENGTH)
    return np.where(good, turns / np.sqrt(np.where(good, squared, 1.0)), (0.0, 0.0, 0.0, 1.0))
