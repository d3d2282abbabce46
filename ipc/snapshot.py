"""Snapshot: the state of all bodies after one step, and the decaying offsets of corrected bodies.

A body is one record of 64 bytes (one cache line), little-endian, without padding. A snapshot begins with a small head.
After the head are `count` records of bodies, and then `marks` further records. The first of these are marks (arrows,
lines, contact points), the others are the packed vertices of deforming surfaces. After the records are the world's own
columns, one block per column. A column has one row per body, one row per part of the bodies, or a single row for the
whole world.

Always: `BODY.itemsize == MARK.itemsize == 64`, so that bodies and marks share the memory of a slot. The low 16 bits of
an epoch count cuts, the high 16 bits count corrections. Epochs are only compared for equality. So a reader that
skipped snapshots still detects a cut or a correction.
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
        ("color", "u1", 4),  # rgba; a factor on the colour of the shape
    ]
)

# Kinds of marks. The field `kind` of a mark is an index into this table. A mark's field `size` has numbers in metres;
# the tuple of its kind tells the meaning of each number. An arrow and a line begin at the mark's position and extend
# along the mark's z axis. Other marks are centred at the position; the axis of capsules and cylinders is z.
MARK_KINDS = {
    "sphere": ("radius",),
    "box": ("x", "y", "z"),  # lengths of the edges
    "capsule": ("radius", "length"),  # length of the straight part
    "cylinder": ("radius", "length"),
    "ellipsoid": ("x", "y", "z"),  # diameters
    # radius: of the shaft. A third number other than 0 in `size` is the radius of the arrow's head. The head's length
    # is a third of the arrow's length.
    "arrow": ("radius", "length"),
    "line": ("radius", "length"),  # with radius 0, the line has the smallest visible width at every distance
    "axes": ("length",),
}

MARK = np.dtype(
    [
        ("key", "<u8"),  # marks with equal keys in two snapshots are the same mark, and are blended
        ("position", "<f4", 3),  # metres
        ("orientation", "<f4", 4),  # unit quaternion xyzw
        ("size", "<f4", 3),  # metres, see `MARK_KINDS`; unused numbers are 0
        ("color", "u1", 4),  # rgba
        ("kind", "u1"),  # index in `MARK_KINDS`
        ("flags", "u1"),  # reserved, 0
        ("shape", "<u2"),  # reserved, 0
        ("label", "<u4"),  # 1 + the index of a text in `Scene.labels`; 0 for no text
        ("spare", "<u4"),  # 0
    ]
)

# Bits of a body's `flags`. HAS_...: the field of that name has a value. If the bit is not set, the field is ignored.
VISIBLE = 1
HAS_VELOCITY = 2
HAS_ANGULAR_VELOCITY = 4

# The low half of an epoch counts cuts (spawn, despawn, teleport), the high half counts corrections.
CONTINUITY_MASK = 0xFFFF
CORRECTION_STEP = 0x1_0000

# The head of a snapshot in shared memory. It has only 8-byte fields, and a size of two cache lines.
HEAD = np.dtype(
    [
        ("tick", "<i8"),  # number of steps since the world began
        ("sim_time_ns", "<i8"),
        ("due_ns", "<i8"),  # wall instant at which this state is due
        ("published_ns", "<i8"),  # wall instant at which readers could first read this state
        ("rate", "<f8"),  # simulated seconds per wall second that physics achieves
        ("dt_ns", "<i8"),
        ("step_cost_ns", "<i8"),
        ("world_epoch", "<i8"),  # changes at every reset
        ("count", "<i8"),  # number of bodies
        ("scene_version", "<i8"),  # version of the scene that these bodies belong to
        ("plan_number", "<i8"),
        ("marks", "<i8"),  # number of records after the bodies: marks, then packed vertices
        # number of vertices of surfaces, 3 f4 each; they are packed into the last of the `marks` records
        ("vertices", "<i8"),
        ("parts", "<i8"),  # number of rows of each part column
        ("reserved", "<i8", 2),
    ]
)


class Head(NamedTuple):
    """Head of a snapshot, with the fields of `HEAD` in the same order. Wall instants are in ns of
    `time.perf_counter_ns`."""

    tick: int = 0
    sim_time_ns: int = 0
    due_ns: int = 0
    published_ns: int = 0
    rate: float = 1.0
    dt_ns: int = 0
    step_cost_ns: int = 0
    world_epoch: int = 0
    count: int = 0  # type: ignore[assignment]  # bodies; replaces `tuple.count`, which is not needed here
    scene_version: int = 0
    plan_number: int = 0
    marks: int = 0
    vertices: int = 0
    parts: int = 0


NO_MARKS: NDArray[np.void] = np.zeros(0, MARK)
NO_VERTICES: NDArray[np.float32] = np.zeros((0, 3), np.float32)
NO_PARTS: NDArray[np.intp] = np.zeros(0, np.intp)
VERTEX_BYTES = 12


def vertex_records(vertices: int) -> int:
    """Number of records that `vertices` packed vertices need."""
    return -(-vertices * VERTEX_BYTES // MARK.itemsize)


@dataclass(frozen=True)
class Snapshot:
    """The state of all bodies after a step, in private arrays (not in shared memory).

    bodies: structured array of dtype `BODY`, shape (n,). columns: name -> array of n rows. marks: structured array of
    dtype `MARK`, shape (m,); m may differ between snapshots. vertices: vertices of all deforming bodies in the order
    of the bodies, (v, 3) metres, each in its body's frame; if empty, the bodies have their rest shapes. part_columns:
    name -> array of p rows, one row per part of the bodies. part_bodies: (p,), for each part the index of its body in
    `bodies`, or -1 if that body is not in `bodies`; empty if the scene is not known. world_columns: name -> array of
    one row. scene_version: version of the scene that these bodies belong to.
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
    part_bodies: NDArray[np.intp] = field(default_factory=lambda: NO_PARTS)
    world_columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    scene_version: int = 0


def new_bodies(count: int) -> NDArray[np.void]:
    """`count` records of visible white bodies at the origin, not rotated, with scale 1 and epoch 0."""
    bodies = np.empty(count, BODY)
    bodies.view(RECORD)[:] = _NEW.view(RECORD)
    return bodies


# dtype that treats the record of a body or a mark as one block of bytes. With `BODY` or `MARK`, numpy would copy field
# by field, which takes ten times as long.
RECORD = np.dtype(f"V{BODY.itemsize}")

_NEW = np.zeros(1, BODY)
_NEW["orientation"][:, 3] = 1.0
_NEW["scale"] = 1.0
_NEW["color"] = 255
_NEW["flags"] = VISIBLE


# Corrections: small fixes of the true state, drawn without a visible jump.
#
# When a body is corrected, its true pose jumps. The drawn pose does not jump: it has an offset from the new true pose,
# and this offset decays. The writer stores it in two columns. "correction" is the pose that was drawn before the
# correction, relative to the new true pose: offset xyz in metres, and rotation xyzw. "corrected_ns" is the simulated
# time of the correction. A reader adds offset x decay to each snapshot. For this the reader needs no earlier snapshot,
# so it may skip snapshots or attach late:
#
#     position + offset * decay          rotation ** decay * orientation (world frame)
#     decay = exp(-(t - corrected_ns) / CORRECTION_TAU_NS)
#
# The drawn pose is also called the visual pose. If a body's visual pose differs from its true pose, its velocities are
# the velocities of the visual pose. So interpolation by velocities gives a smooth motion. At the instant of the
# correction these velocities are the true velocities, because the offset begins to decay only after that instant.
#
# Always: a correction does not change the visual pose at its instant. For this, the new offset includes the remainder
# of an earlier offset. A body that was never corrected, or whose offset has decayed, is drawn at its true pose. Pure
# functions.

# Names of the two columns. Only the writer sets them, and a viewer does not list them.
CORRECTION, CORRECTED_NS = "correction", "corrected_ns"
OFFSET_WIDTH = 7
# Simulated time in which an offset decays to 37 %. This is slow enough that no jump is visible. After three times this
# duration the offset is no longer visible.
CORRECTION_TAU_NS = 100_000_000
# After this many time constants, less than a millionth of the offset remains. The offset is then treated as 0.
OVER_AFTER_TAU = 14.0
# The value of the column "correction" for a body that was never corrected.
NO_OFFSET = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
# A quaternion with a smaller squared length counts as the identity.
NO_LENGTH = 1e-30


class Patch(NamedTuple):
    """Bodies whose visual pose differs from the true pose in the snapshot's records."""

    rows: NDArray[np.intp]  # (m,), indices of bodies
    records: NDArray[np.void]  # (m,), copies of the records of these bodies, with the visual pose


def visual(bodies: NDArray[np.void], columns: Mapping[str, NDArray[Any]], sim_time_ns: int) -> Patch:
    """The bodies whose visual pose differs from their true pose at `sim_time_ns`, and their visual poses.

    bodies: `BODY` records, (n,). columns: the snapshot's columns. The result is empty if the snapshot lacks the two
    columns of corrections.
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
    # Rate of change of an offset, divided by the offset, 1/s.
    speed = np.where(times[rows, None] < sim_time_ns, -1e9 / CORRECTION_TAU_NS, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):  # a result that is not finite is kept
        records["position"] = records["position"].astype(np.float64) + left[:, :3]
        records["velocity"] = records["velocity"].astype(np.float64) + speed * left[:, :3]
        records["orientation"] = _quaternion_product(left[:, 3:], records["orientation"].astype(np.float64))
        turning = _rotated(left[:, 3:], records["angular_velocity"].astype(np.float64))
        records["angular_velocity"] = turning + speed * _rotation_vector(left[:, 3:])
    return Patch(rows, records)


def corrected(
    old_offset: ArrayLike, old_ns: ArrayLike, now_ns: int, extra_offset: ArrayLike, extra_rotation: ArrayLike
) -> NDArray[np.float32]:
    """New values of the column "correction" after a correction at `now_ns`, (n, 7): what remains of the old offsets,
    plus the extra offsets.

    old_offset, old_ns: the old values of the columns "correction", (n, 7), and "corrected_ns", (n,). extra_offset: the
    position before the correction minus the corrected position, (n, 3). extra_rotation: the result of `turn_between`,
    (n, 4). An argument with a single row applies to all bodies. One body may be given as plain sequences of 7, 3 and 4
    numbers; the result is then (1, 7). A result that is not finite is replaced by `NO_OFFSET`.
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
    """The part of the offsets that has not decayed at `now_ns`, (n, 7). offsets: (n, 7). times: (n,), the instants at
    which the offsets were set. NO_OFFSET where an offset has decayed.

    If `now_ns` is before an offset's instant, the offset is returned unchanged. In a snapshot this does not occur: a
    snapshot is never older than the corrections in it.
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
    """Rotations that turn orientations `after` into orientations `before`: unit quaternions xyzw, (n, 4), for
    `corrected`."""
    back = _normalized(np.atleast_2d(np.asarray(after, np.float64))) * (-1.0, -1.0, -1.0, 1.0)
    return _quaternion_product(_normalized(np.atleast_2d(np.asarray(before, np.float64))), back)


def _scaled_rotation(turns: NDArray[np.float64], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rotations `turns`, along the shorter arc, with the angles multiplied by `share`: (n, 4)."""
    vectors = _rotation_vector(turns) * share / 2
    half = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.concatenate([vectors * np.sinc(half / np.pi), np.cos(half)], axis=1)


def _rotation_vector(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotation vectors (axis times angle in radians) of unit quaternions, along the shorter arc: (n, 3)."""
    turns = np.where(turns[:, 3:] < 0, -turns, turns)
    sine = np.linalg.norm(turns[:, :3], axis=1, keepdims=True)
    return turns[:, :3] * (2 * np.arctan2(sine, turns[:, 3:]) / np.where(sine > 0, sine, 1.0))


def _rotated(turns: NDArray[np.float64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    across = np.cross(turns[:, :3], vectors)
    return vectors + 2 * (turns[:, 3:] * across + np.cross(turns[:, :3], across))


def _quaternion_product(second: NDArray[np.float64], first: NDArray[np.float64]) -> NDArray[np.float64]:
    """Products of quaternions xyzw: rotations by `first` and then by `second`."""
    a, b = second[:, :3], first[:, :3]
    vector = second[:, 3:] * b + first[:, 3:] * a + np.cross(a, b)
    scalar = second[:, 3:] * first[:, 3:] - np.sum(a * b, axis=1, keepdims=True)
    return np.concatenate([vector, scalar], axis=1)


def _normalized(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """The quaternions scaled to length 1. A quaternion whose length is 0 or not finite becomes the identity."""
    with np.errstate(over="ignore", invalid="ignore"):
        squared = np.sum(turns * turns, axis=1, keepdims=True)
    good = np.isfinite(squared) & (squared > NO_LENGTH)
    return np.where(good, turns / np.sqrt(np.where(good, squared, 1.0)), (0.0, 0.0, 0.0, 1.0))
