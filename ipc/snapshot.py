"""The snapshot: the state of all bodies after one step, as it crosses from physics to a viewer.

One body is one 64-byte record, one cache line, little-endian, no hidden padding. A snapshot is a small
head and `count` records; a world's own columns follow, one block each.

Always: `BODY.itemsize == 64`; an epoch is compared for equality only (low 16 bits count cuts, high 16
bits count corrections), so that a reader that skipped snapshots still sees that something happened.
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
        ("reserved", "<i8", 5),
    ]
)


class Head(NamedTuple):
    """What a reader knows of a snapshot without its bodies, in the order of `HEAD`. Times in ns of
    `time.perf_counter_ns`."""

    tick: int = 0
    sim_time_ns: int = 0
    due_ns: int = 0
    published_ns: int = 0
    rate: float = 1.0
    dt_ns: int = 0
    step_cost_ns: int = 0
    world_epoch: int = 0
    count: int = 0  # type: ignore[assignment]  # which tuples have as a method; nobody counts values in a head
    scene_version: int = 0
    plan_number: int = 0

    @property
    def lateness_ns(self) -> int:
        """How long after its due instant it became visible; negative when ahead."""
        return self.published_ns - self.due_ns


@dataclass(frozen=True)
class Snapshot:
    """The state of all bodies after a step, in memory of its own.

    bodies: structured array of dtype `BODY`, shape (n,). columns: name -> array of n rows.
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


def new_bodies(count: int) -> NDArray[np.void]:
    """`count` visible records at the origin: unit orientation and scale, white, epoch 0."""
    bodies = np.empty(count, BODY)
    bodies.view(RECORD)[:] = _NEW.view(RECORD)
    return bodies


# A record as one block of bytes: numpy copies those at once, and structured ones field by field, ten times slower.
RECORD = np.dtype(f"V{BODY.itemsize}")

_NEW = np.zeros(1, BODY)
_NEW["orientation"][:, 3] = 1.0
_NEW["scale"] = 1.0
_NEW["color"] = 255
_NEW["flags"] = VISIBLE
