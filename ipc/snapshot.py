"""Snapshot: the state of all bodies after one step, and the decaying offsets of corrected bodies.

One body is one 64-byte record, one cache line, little-endian, without hidden padding. A snapshot is a small head,
`count` records of bodies, and `marks` records of marks: arrows, lines, contact points and the like. The vertices of
deforming surfaces are packed into the last of these records. A world's own columns follow, one block each, with a row
for each body, for each part of the bodies, or for the whole world.

Always: `BODY.itemsize == MARK.itemsize == 64`, so that bodies and marks share the memory of a slot. An epoch (low 16
bits count cuts, high 16 bits count corrections) is compared for equality only, so that a reader that skipped snapshots
still detects a cut or a correction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

BODY = np.dtype(
    [
        ("position", "<f4", 3),  # metres
        ("epoch", "<u4"),
        ("orientation", "<f4", 4),  # unit quaternion xyzw
        ("velocity", "<f4", 3),  # m/s
        ("flags", "<u2"),
        ("scale", "<f2"),  # uniform scale of the body's shape
        ("angular_velocity", "<f4", 3),  # rad/s, world frame
        ("color", "u1", 4),  # rgba, multiplies the colour of the shape
    ]
)

# Kinds of marks in the order of their numbers in `kind`, each with the numbers of its `size`, metres. An arrow and a
# line begin at the position and extend along their own z. The others are centred there; round ones turn around their z.
MARK_KINDS = {
    "sphere": ("radius",),
    "box": ("x", "y", "z"),  # edges
    "capsule": ("radius", "length"),  # length of the straight part
    "cylinder": ("radius", "length"),
    "ellipsoid": ("x", "y", "z"),  # diameters
    # Radius of the shaft. A third number that is not 0 is the radius of a head that takes a third of the length.
    "arrow": ("radius", "length"),
    "line": ("radius", "length"),  # radius 0: as thin as can be seen, at every distance
    "axes": ("length",),
}

MARK = np.dtype(
    [
        ("key", "<u8"),  # marks of one key in two snapshots are one mark, and blended
        ("position", "<f4", 3),  # metres
        ("orientation", "<f4", 4),  # unit quaternion xyzw
        ("size", "<f4", 3),  # metres, see `MARK_KINDS`; the rest 0
        ("color", "u1", 4),  # rgba
        ("kind", "u1"),  # place in `MARK_KINDS`
        ("flags", "u1"),  # reserved, 0
        ("shape", "<u2"),  # reserved, 0
        ("label", "<u4"),  # i + 1: the text i of `Scene.labels`; 0: none
        ("spare", "<u4"),  # 0
    ]
)

# Bits of a body's `flags`. HAS_...: the field is set; else it is not used.
VISIBLE = 1
HAS_VELOCITY = 2
HAS_ANGULAR_VELOCITY = 4

# Low half of an epoch: continuity (spawn, despawn, teleport). High half: corrections.
CONTINUITY_MASK = 0xFFFF
CORRECTION_STEP = 0x1_0000

# The head of a snapshot in shared memory. 8-byte fields only; the size is two cache lines.
HEAD = np.dtype(
    [
        ("tick", "<i8"),  # steps since the world began
        ("sim_time_ns", "<i8"),
        ("due_ns", "<i8"),  # wall instant at which this state is due
        ("published_ns", "<i8"),  # when it became visible
        ("rate", "<f8"),  # simulated seconds per wall second that physics is holding
        ("dt_ns", "<i8"),
        ("step_cost_ns", "<i8"),
        ("world_epoch", "<i8"),  # changes at every reset
        ("count", "<i8"),  # bodies
        ("scene_version", "<i8"),  # the scene these bodies belong to
        ("plan_number", "<i8"),
        ("marks", "<i8"),  # records after those of the bodies: marks, then vertices
        ("vertices", "<i8"),  # of surfaces, 3 f4 each, packed into the last of these records
        ("parts", "<i8"),  # rows of each part column
        ("reserved", "<i8", 2),
    ]
)


class Head(NamedTuple):
    """Head of a snapshot: every field but bodies, columns and marks, in the order of `HEAD`. Times in ns of
    `time.perf_counter_ns`."""

    tick: int = 0
    sim_time_ns: int = 0
    due_ns: int = 0
    published_ns: int = 0
    rate: float = 1.0
    dt_ns: int = 0
    step_cost_ns: int = 0
    world_epoch: int = 0
    count: int = 0  # type: ignore[assignment]  # replaces the method `count` of tuples, which a head does not need
    scene_version: int = 0
    plan_number: int = 0
    marks: int = 0
    vertices: int = 0
    parts: int = 0


NO_MARKS: NDArray[np.void] = np.zeros(0, MARK)
NO_VERTICES: NDArray[np.float32] = np.zeros((0, 3), np.float32)
NO_COSTS: NDArray[np.intp] = np.zeros(0, np.intp)
VERTEX_BYTES = 12


def vertex_records(vertices: int) -> int:
    """Number of records into which `vertices` vertices are packed."""
    return -(-vertices * VERTEX_BYTES // MARK.itemsize)


@dataclass(frozen=True)
class Snapshot:
    """The state of all bodies after a step, in memory of its own.

    bodies: structured array of dtype `BODY`, shape (n,). columns: name -> array of n rows. marks: structured array of
    dtype `MARK`, shape (m,); m is another in each snapshot. vertices: of all deforming bodies, one after the other,
    (v, 3) metres, each body's in its own frame; none: they have their rest shapes. part_columns: name -> array of p
    rows, one a part of the bodies. part_bodies: (p,), index into `bodies` for each part, -1 for a body that is not
    among them; empty where the scene is not known. world_columns: name -> array of one row. scene_version: of the scene
    that these bodies belong to.
    """

    sim_time_ns: int
    bodies: NDArray[np.void]
    columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    tick: int = 0
    due_ns: int = 0
    published_ns: int = 0
    rate: float = 1.0
    dt_ns: int = 0
    step_cost_ns: int = 0
    world_epoch: int = 0
    marks: NDArray[np.void] = field(default_factory=lambda: NO_MARKS)
    vertices: NDArray[np.float32] = field(default_factory=lambda: NO_VERTICES)
    part_columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    part_bodies: NDArray[np.intp] = field(default_factory=lambda: NO_COSTS)
    world_columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    scene_version: int = 0


def new_bodies(count: int) -> NDArray[np.void]:
    """`count` visible records at the origin: unit orientation and scale, white, epoch 0."""
    bodies = np.empty(count, BODY)
    bodies.view(RECORD)[:] = _NEW.view(RECORD)
    return bodies


# A record of a body or a mark as one block of bytes. numpy copies structured records field by field, which takes ten
# times as long.
RECORD = np.dtype(f"V{BODY.itemsize}")

_NEW = np.zeros(1, BODY)
_NEW["orientation"][:, 3] = 1.0
_NEW["scale"] = 1.0
_NEW["color"] = 255
_NEW["flags"] = VISIBLE


# Corrections: small fixes of the true state, drawn without a visible jump.
#
# When a body is corrected, its drawn pose keeps its offset from the new true pose, and that offset decays. The writer
# keeps, for corrected bodies, two columns: "correction" (offset xyz in metres, rotation xyzw, of the pose drawn
# before relative to the new true one) and "corrected_ns" (simulated time of the correction). A reader adds offset x
# decay to each snapshot and needs no earlier snapshot for it, so it may skip snapshots or attach late:
#
#     position + offset * decay          rotation ** decay * orientation (world frame)
#     decay = exp(-(t - corrected_ns) / CORRECTION_TAU_NS)
#
# Velocities are those of the visual pose, so that methods that use them see one smooth motion. At the instant of the
# correction they are the true ones, because no offset decays before it.
#
# Always: right after a correction the visual pose is the previous visual pose, so an earlier correction's remaining offset
# is included. A body that was never corrected, or whose offset has decayed, is drawn at its true pose. Pure functions.

# Columns of a snapshot that the writer keeps; a viewer does not list them.
CORRECTION, CORRECTED_NS = "correction", "corrected_ns"
OFFSET_WIDTH = 7
# Simulated time in which an offset falls to 37 %: no jump is visible. After three times that no offset is visible.
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
    """Offsets to keep after a correction at `now_ns`: the undecayed old ones plus the new ones, (n, 7).

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
    """Undecayed remainder at `now_ns` of offsets (n, 7) made at times (n,). NO_OFFSET where it has decayed.

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
