"""Corrections: an authority's small fix of the true state, of which the eye sees no jump.

When a body is corrected, its drawn pose keeps the offset it had from the new one, and that offset decays. The
writer keeps, for corrected bodies, two columns: "correction" (offset xyz in metres, rotation xyzw; the older
drawn pose relative to the new true one) and "corrected_ns" (simulated time of it). A reader that skipped
snapshots or came late then only adds offset x decay, once a snapshot, and knows nothing of what went before:

    position + offset * decay          rotation ** decay * orientation (world frame)
    decay = exp(-(t - corrected_ns) / CORRECTION_TAU_NS)

Velocities are those of the visual pose, so that methods that use them see one smooth motion; at the instant of
the correction itself they are the true ones, because nothing decays before it.

Always: right after a correction the visual pose is the one before it, whatever was still left of an earlier
one; a body never corrected, or whose offset has decayed, is drawn as it is. Pure: reads no clock, changes no
argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

# The columns of a snapshot that the writer keeps and readers do not show.
CORRECTION, CORRECTED_NS = "correction", "corrected_ns"
OFFSET_WIDTH = 7
# Simulated time in which an offset falls to 37 %: gone for the eye in three times that, and still no jump.
CORRECTION_TAU_NS = 100_000_000
# After so many of these the offset is below a thousandth of a thousandth of itself, and is over.
OVER_AFTER_TAU = 14.0
# The offset of what was never corrected.
NO_OFFSET = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
# A squared length below this is no rotation at all.
NO_LENGTH = 1e-30


class Patch(NamedTuple):
    """The bodies that are drawn elsewhere than their records say."""

    rows: NDArray[np.intp]  # (m,), indices of bodies
    records: NDArray[np.void]  # (m,), their records with the visual pose


def visual(bodies: NDArray[np.void], columns: Mapping[str, NDArray[Any]], sim_time_ns: int) -> Patch:
    """What of a snapshot at `sim_time_ns` is drawn elsewhere: rows of `bodies`, and their records as drawn.

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
        records["orientation"] = _product(left[:, 3:], records["orientation"].astype(np.float64))
        turning = _turned(left[:, 3:], records["angular_velocity"].astype(np.float64))
        records["angular_velocity"] = turning + speed * _rotation_vector(left[:, 3:])
    return Patch(rows, records)


def corrected(
    old_offset: ArrayLike, old_ns: ArrayLike, now_ns: int, extra_offset: ArrayLike, extra_rotation: ArrayLike
) -> NDArray[np.float32]:
    """The offsets to keep after a correction at `now_ns`: what is left of the old ones, and the new ones, (n, 7).

    old_offset: (n, 7), as kept since old_ns, (n,). extra_offset: (n, 3), the position before less the corrected
    one. extra_rotation: (n, 4), as `turn_between` gives it. A single row stands for all; one body may come as plain
    rows of 7, 3 and 4 numbers, and its answer is (1, 7). What is not finite counts as no offset.
    """
    rows = [np.atleast_2d(np.asarray(value, np.float64)) for value in (old_offset, extra_offset, extra_rotation)]
    times = np.atleast_1d(np.asarray(old_ns, np.int64))
    count = np.broadcast_shapes((len(times),), *((len(row),) for row in rows))[0]
    old, extra, turn = (np.broadcast_to(row, (count, row.shape[1])) for row in rows)
    left = remainder(old, np.broadcast_to(times, count), now_ns)
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.concatenate([left[:, :3] + extra, _unit(_product(left[:, 3:], _unit(turn)))], axis=1)
        total = total.astype(np.float32)
    total[~np.isfinite(total).all(axis=1)] = NO_OFFSET
    return total


def remainder(offsets: NDArray[Any], times: NDArray[Any], now_ns: int) -> NDArray[np.float64]:
    """What is left at `now_ns` of offsets, (n, 7), made at times, (n,); NO_OFFSET where it is over.

    Before its own time an offset is whole: a snapshot is never older than the correction that it tells of.
    """
    left = np.array(np.broadcast_to(NO_OFFSET, (len(offsets), OFFSET_WIDTH)))
    age = _age(times, now_ns)
    rows = np.flatnonzero((age < OVER_AFTER_TAU) & (offsets != NO_OFFSET).any(axis=1))
    rows = rows[np.isfinite(offsets[rows]).all(axis=1)]
    decay = np.exp(-age[rows])[:, None]
    left[rows, :3] = offsets[rows, :3] * decay
    left[rows, 3:] = _part_of(_unit(offsets[rows, 3:].astype(np.float64)), decay)
    return left


def _age(times: NDArray[Any], now_ns: int) -> NDArray[np.float64]:
    return np.maximum(np.int64(now_ns) - times.astype(np.int64), 0) / CORRECTION_TAU_NS


def turn_between(before: ArrayLike, after: ArrayLike) -> NDArray[np.float64]:
    """The rotation that leads from orientations `after` back to `before`, (n, 4): what `corrected` takes."""
    back = _unit(np.atleast_2d(np.asarray(after, np.float64))) * (-1.0, -1.0, -1.0, 1.0)
    return _product(_unit(np.atleast_2d(np.asarray(before, np.float64))), back)


def _part_of(turns: NDArray[np.float64], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rotations with their angle, the short way round, times share: (n, 4)."""
    vectors = _rotation_vector(turns) * share / 2
    half = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.concatenate([vectors * np.sinc(half / np.pi), np.cos(half)], axis=1)


def _rotation_vector(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Axis times angle in radians, (n, 3), of unit quaternions, the short way round."""
    turns = np.where(turns[:, 3:] < 0, -turns, turns)
    sine = np.linalg.norm(turns[:, :3], axis=1, keepdims=True)
    return turns[:, :3] * (2 * np.arctan2(sine, turns[:, 3:]) / np.where(sine > 0, sine, 1.0))


def _turned(turns: NDArray[np.float64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    across = np.cross(turns[:, :3], vectors)
    return vectors + 2 * (turns[:, 3:] * across + np.cross(turns[:, :3], across))


def _product(second: NDArray[np.float64], first: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quaternions xyzw: turn by `first`, then by `second`."""
    a, b = second[:, :3], first[:, :3]
    vector = second[:, 3:] * b + first[:, 3:] * a + np.cross(a, b)
    scalar = second[:, 3:] * first[:, 3:] - np.sum(a * b, axis=1, keepdims=True)
    return np.concatenate([vector, scalar], axis=1)


def _unit(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit quaternions; not turned where there is no length or it is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        squared = np.sum(turns * turns, axis=1, keepdims=True)
    good = np.isfinite(squared) & (squared > NO_LENGTH)
    return np.where(good, turns / np.sqrt(np.where(good, squared, 1.0)), (0.0, 0.0, 0.0, 1.0))
