"""The snapshot: the state of all bodies after one step, as physics writes it and a viewer reads it.

One body is one 64-byte record, one cache line, little-endian, no hidden padding. A snapshot is a small
head, `count` records of bodies, and `marks` records of marks: arrows, lines, contact points, whatever comes and goes
by the hundred. The vertices of deforming surfaces are packed into the last of these. A world's own columns follow, one
block each, with a row for each body, a row for each part of the bodies, or one row for the whole world.

Always: `BODY.itemsize == MARK.itemsize == 64`, so that bodies and marks share the memory of a slot; an epoch (low 16
bits count cuts, high 16 bits count corrections) is compared for equality only, so that a reader that skipped snapshots
still finds that there was a cut or a correction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
# line begin at the position and go along their own z; the others are centred there, round ones around their own z.
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

# Bits of a body's `flags`. HAS_...: that field is given, else it is not used.
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
        ("due_ns", "<i8"),  # wall instant at which the world should look like this
        ("published_ns", "<i8"),  # when it became visible
        ("rate", "<f8"),  # simulated seconds per wall second that physics is holding
        ("dt_ns", "<i8"),
        ("step_cost_ns", "<i8"),
        ("world_epoch", "<i8"),  # changes at every reset
        ("count", "<i8"),  # bodies
        ("scene_version", "<i8"),  # the scene these bodies belong to
        ("plan_number", "<i8"),
        ("marks", "<i8"),  # records after those of the bodies: of marks, then of vertices
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
NO_PARTS: NDArray[np.intp] = np.zeros(0, np.intp)
VERTEX_BYTES = 12


def vertex_records(vertices: int) -> int:
    """Number of records into which so many vertices are packed."""
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
    part_bodies: NDArray[np.intp] = field(default_factory=lambda: NO_PARTS)
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
