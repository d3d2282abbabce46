"""A snapshot has the state of all bodies after one step. This module also computes the decaying offsets of corrected
bodies.

A body is one record of 64 bytes (one cache line), little-endian, without padding. A snapshot begins with a small head.
After the head are `count` records of bodies, and then `marks` further records. The first of these are marks (arrows,
lines, contact points), then come the packed texts of marks, then the packed vertices of deforming surfaces. After the
records are the world's own columns, one block per column. A column has one row per body, one row per part of the
bodies, or a single row for the whole world.

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

from twixt.ipc.rotation import quaternion_product

BODY = np.dtype(
    [
        ("position", "<f4", 3),  # in metres, in the world's frame or in the parent's frame
        ("epoch", "<u4"),
        ("orientation", "<f4", 4),  # unit quaternion (x, y, z, w)
        ("velocity", "<f4", 3),  # in m/s
        ("flags", "<u2"),
        ("scale", "<f2"),  # factor by which the size of the body's shape is multiplied
        ("angular_velocity", "<f4", 3),  # in rad/s, in the world's frame
        # red, green, blue, alpha: factors by which the colour of the shape is multiplied; see `has_color`
        ("color", "u1", 4),
    ]
)

# Kinds of marks. The field `kind` of a mark is an index into this table. A mark's field `size` has numbers in metres.
# The table tells the meaning of each number, for each kind of mark. An arrow and a line begin at the mark's position
# and extend along the mark's z axis. Other marks are centred at the position; the axis of capsules and cylinders is z.
MARK_KINDS = {
    "sphere": ("radius",),
    "box": ("x", "y", "z"),  # lengths of the edges
    "capsule": ("radius", "length"),  # length of the cylinder between the two hemispheres
    "cylinder": ("radius", "length"),
    "ellipsoid": ("x", "y", "z"),  # diameters
    # `radius` is the radius of the shaft. A third number other than 0 in `size` is the radius of the arrow's head. The
    # head's length is a third of the arrow's length.
    "arrow": ("radius", "length"),
    "line": ("radius", "length"),  # if the radius is 0, the line has the smallest visible width at every distance
    "axes": ("length",),
    "text": ("factor",),  # size of the letters, as a multiple of the usual size; a text has no solid
}

MARK = np.dtype(
    [
        ("key", "<u8"),  # marks with equal keys in two snapshots are the same mark, and are blended
        ("position", "<f4", 3),  # in metres, in the world's frame or in the frame of the body `body`
        ("orientation", "<f4", 4),  # unit quaternion (x, y, z, w), in the same frame
        ("size", "<f4", 3),  # in metres, see `MARK_KINDS`; unused numbers are 0
        ("color", "u1", 4),  # red, green, blue, alpha
        ("kind", "u1"),  # index in `MARK_KINDS`
        ("flags", "u1"),  # reserved, always 0
        ("shape", "<u2"),  # reserved, always 0
        ("label", "<u4"),  # number of the mark's text, see `mark_texts`; 0 if the mark has no text
        ("body", "<u4"),  # 1 + the index of the body to which the mark is attached; 0 if it is attached to none
    ]
)

# Bits of a body's `flags`. A bit HAS_... tells that the field of that name has a value. If the bit is not set, a
# velocity is ignored. A colour is never ignored, see `has_color`.
VISIBLE = 1
HAS_VELOCITY = 2
HAS_ANGULAR_VELOCITY = 4
HAS_COLOR = 8
# Red, green and blue of white, in a record's colour read as one number.
WHITE_RGB = 0xFF_FFFF

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
        ("rate", "<f8"),  # simulated seconds per wall second that the physics process achieves
        ("dt_ns", "<i8"),
        ("step_cost_ns", "<i8"),
        ("world_epoch", "<i8"),  # number that changes at every reset
        ("count", "<i8"),  # number of bodies
        ("scene_version", "<i8"),  # version of the scene that these bodies belong to
        ("plan_number", "<i8"),
        ("marks", "<i8"),  # number of records after the bodies: marks, then packed vertices
        # number of vertices of surfaces. Each vertex is three f4 numbers. Vertices are packed into the last of the
        # `marks` records.
        ("vertices", "<i8"),
        ("parts", "<i8"),  # number of rows of each part column
        ("reserved", "<i8", 2),
    ]
)


class Head(NamedTuple):
    """Head of a snapshot. It has the fields of `HEAD` in the same order. Wall instants are in ns, as read from
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

    A method of `InterpolationMethod` receives snapshots, and a `DrawFrame` has two of them.

    Attributes:
        sim_time_ns: Simulated time of the state, in ns.
        bodies: Structured array of dtype `twixt.ipc.snapshot.BODY` and shape (n,), with the fields position,
            orientation, velocity, angular_velocity, scale, color, flags and epoch.
        columns: Columns of the bodies by name, each an array of n rows.
        tick: Number of steps since the world began.
        due_ns: Wall instant at which this state is due, in ns of `time.perf_counter_ns`.
        published_ns: Wall instant at which readers could first read this state, in ns.
        rate: Simulated seconds per wall second that the physics process achieves.
        dt_ns: Simulated time of one step, in ns.
        step_cost_ns: Wall time that the step took, in ns.
        world_epoch: Number that changes at every reset.
        marks: Structured array of dtype `twixt.ipc.snapshot.MARK` and shape (m,); m may differ between snapshots.
        texts: The texts of the marks, in the form that `twixt.ipc.scene.mark_texts.text_of_label` reads.
        vertices: Array of shape (v, 3) in metres, with the vertices of all deforming bodies in the order of the
            bodies. Each vertex is in its body's frame. If there are no vertices, these bodies have their rest shapes.
        part_columns: Columns of the parts by name, each an array of p rows, one row per part of the bodies.
        part_bodies: Array of shape (p,) with the index in `bodies` of each part's body. The index is -1 if that body
            is not in `bodies`. The array is empty if the scene is not known.
        world_columns: Columns of the world by name, each an array of one row.
        scene_version: Version of the scene that these bodies belong to.

    Examples:
        ```python
        from twixt import Snapshot
        from twixt.ipc.snapshot import new_bodies

        bodies = new_bodies(2)
        bodies["position"] = [(0, 0, 0), (1, 0, 0)]
        snapshot = Snapshot(sim_time_ns=10_000_000, bodies=bodies)
        ```
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
    texts: bytes = b""


def new_bodies(count: int) -> NDArray[np.void]:
    """Returns `count` records of bodies. The bodies are visible, white, at the origin, and not rotated. Their scale is
    1 and their epoch is 0."""
    bodies = np.empty(count, BODY)
    bodies.view(RECORD)[:] = _NEW.view(RECORD)
    return bodies


def has_color(bodies: NDArray[np.void]) -> NDArray[np.bool_]:
    """Mask of the bodies whose colour is given, (n,). bodies: array of `BODY` records, shape (n,).

    A colour is given if the bit HAS_COLOR is set, or if its red, green and blue are not white. If a body's colour is
    given, its shapes without a colour are drawn in the body's colour alone. Otherwise they are drawn in a colour of the
    palette.
    """
    rgb = bodies["color"].view("<u4")[:, 0] & np.uint32(WHITE_RGB)
    return ((bodies["flags"] & HAS_COLOR) != 0) | (rgb != WHITE_RGB)


# A dtype that treats the record of a body or a mark as one block of bytes. With the dtypes `BODY` and `MARK`, numpy
# would copy field by field. This would take ten times as long.
RECORD = np.dtype(f"V{BODY.itemsize}")

_NEW = np.zeros(1, BODY)
_NEW["orientation"][:, 3] = 1.0
_NEW["scale"] = 1.0
_NEW["color"] = 255
_NEW["flags"] = VISIBLE


# A correction is a small fix of the true state. It is drawn without a visible jump.
#
# When a body is corrected, its true pose jumps. The drawn pose does not jump: it has an offset from the new true pose,
# and this offset decays. The writer stores the offset in two columns. "correction" is the pose that was drawn before
# the correction, relative to the new true pose. It has an offset (x, y, z) in metres and a rotation (x, y, z, w).
# "corrected_ns" is the simulated time of the correction. A reader multiplies the offset by its decay, and adds the
# product to the true pose. For this the reader needs no earlier snapshot, so it may skip snapshots or attach late:
#
#     position + offset * decay          rotation ** decay * orientation (world frame)
#     decay = exp(-(t - corrected_ns) / CORRECTION_TAU_NS)
#
# The drawn pose is also called the visual pose. If a body's visual pose differs from its true pose, its velocities are
# the velocities of the visual pose. So interpolation by velocities gives a smooth motion. At the instant of the
# correction these velocities are the true velocities, because the offset begins to decay only after that instant.
#
# Always: at the instant of a correction, the visual pose does not change. For this, the new offset includes the
# remainder of an earlier offset. A body that was never corrected, or whose offset has decayed, is drawn at its true
# pose. The functions are pure.

# Names of the two columns. Only the writer sets them, and a viewer does not list them.
CORRECTION, CORRECTED_NS = "correction", "corrected_ns"
OFFSET_WIDTH = 7
# Time constant of the decay in simulated time, in ns: 37 % of an offset is left after this time, and 5 % after three
# times this duration. The decay is slow enough that no jump is visible.
CORRECTION_TAU_NS = 100_000_000
# Number of time constants after which an offset counts as 0. Less than a millionth of the offset remains then.
OVER_AFTER_TAU = 14.0
# The value of the column "correction" for a body that was never corrected.
NO_OFFSET = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
# A quaternion with a smaller squared length counts as the identity.
NO_LENGTH = 1e-30


class Patch(NamedTuple):
    """Bodies whose visual pose differs from the true pose in the snapshot's records."""

    rows: NDArray[np.intp]  # array of shape (m,) with indices of bodies
    # array of shape (m,) with copies of the records of these bodies; each copy has the visual pose
    records: NDArray[np.void]


def visual(bodies: NDArray[np.void], columns: Mapping[str, NDArray[Any]], sim_time_ns: int) -> Patch:
    """Returns the bodies whose visual pose differs from their true pose at `sim_time_ns`, and their visual poses.

    bodies: array of `BODY` records, shape (n,). columns: the snapshot's columns. The result is empty if the snapshot
    does not have the two columns of corrections.
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
    # The rate of change of an offset, divided by the offset, in 1/s.
    speed = np.where(times[rows, None] < sim_time_ns, -1e9 / CORRECTION_TAU_NS, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):  # a result that is not finite is kept
        records["position"] = records["position"].astype(np.float64) + left[:, :3]
        records["velocity"] = records["velocity"].astype(np.float64) + speed * left[:, :3]
        records["orientation"] = quaternion_product(left[:, 3:], records["orientation"].astype(np.float64))
        turning = _rotated(left[:, 3:], records["angular_velocity"].astype(np.float64))
        records["angular_velocity"] = turning + speed * _rotation_vector(left[:, 3:])
    return Patch(rows, records)


def corrected(
    old_offset: ArrayLike, old_ns: ArrayLike, now_ns: int, extra_offset: ArrayLike, extra_rotation: ArrayLike
) -> NDArray[np.float32]:
    """Returns the new values of the column "correction" after a correction at `now_ns`, an array of shape (n, 7). A
    new value is the remainder of the old offset plus the extra offset.

    old_offset: the old values of the column "correction", shape (n, 7). old_ns: the old values of the column
    "corrected_ns", shape (n,). extra_offset: the position before the correction minus the corrected position, shape
    (n, 3). extra_rotation: the result of `turn_between`, shape (n, 4). An argument with a single row applies to all
    bodies. One body may be given as plain sequences of 7, 3 and 4 numbers; the result then has the shape (1, 7). A
    result that is not finite is replaced by `NO_OFFSET`.
    """
    rows = [np.atleast_2d(np.asarray(value, np.float64)) for value in (old_offset, extra_offset, extra_rotation)]
    times = np.atleast_1d(np.asarray(old_ns, np.int64))
    count = np.broadcast_shapes((len(times),), *((len(row),) for row in rows))[0]
    old, extra, turn = (np.broadcast_to(row, (count, row.shape[1])) for row in rows)
    left = remainder(old, np.broadcast_to(times, count), now_ns)
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.concatenate(
            [left[:, :3] + extra, _normalized(quaternion_product(left[:, 3:], _normalized(turn)))], axis=1
        )
        total = total.astype(np.float32)
    total[~np.isfinite(total).all(axis=1)] = NO_OFFSET
    return total


def remainder(offsets: NDArray[Any], times: NDArray[Any], now_ns: int) -> NDArray[np.float64]:
    """Returns the remainders of the offsets at `now_ns`, an array of shape (n, 7). The remainder of an offset that has
    decayed is NO_OFFSET. offsets: shape (n, 7). times: the instants at which the offsets were set, shape (n,), in
    ns.

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
    """Returns the rotations that turn the orientations `after` into the orientations `before`. They are unit
    quaternions (x, y, z, w), shape (n, 4). `corrected` needs them."""
    back = _normalized(np.atleast_2d(np.asarray(after, np.float64))) * (-1.0, -1.0, -1.0, 1.0)
    return quaternion_product(_normalized(np.atleast_2d(np.asarray(before, np.float64))), back)


def _scaled_rotation(turns: NDArray[np.float64], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the rotations `turns` along the shorter arc, with their angles multiplied by `share`; shape (n, 4)."""
    vectors = _rotation_vector(turns) * share / 2
    half = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.concatenate([vectors * np.sinc(half / np.pi), np.cos(half)], axis=1)


def _rotation_vector(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the rotation vectors of unit quaternions, along the shorter arc; shape (n, 3). A rotation vector is the
    axis times the angle in radians."""
    turns = np.where(turns[:, 3:] < 0, -turns, turns)
    sine = np.linalg.norm(turns[:, :3], axis=1, keepdims=True)
    return turns[:, :3] * (2 * np.arctan2(sine, turns[:, 3:]) / np.where(sine > 0, sine, 1.0))


def _rotated(turns: NDArray[np.float64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    across = np.cross(turns[:, :3], vectors)
    return vectors + 2 * (turns[:, 3:] * across + np.cross(turns[:, :3], across))


def _normalized(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the quaternions, scaled to length 1. A quaternion whose length is 0 or not finite becomes the
    identity."""
    with np.errstate(over="ignore", invalid="ignore"):
        squared = np.sum(turns * turns, axis=1, keepdims=True)
    good = np.isfinite(squared) & (squared > NO_LENGTH)
    return np.where(good, turns / np.sqrt(np.where(good, squared, 1.0)), (0.0, 0.0, 0.0, 1.0))
