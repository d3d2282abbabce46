"""Poses: the drawn state of all bodies at one draw time, and which bodies may be blended.

Always: a body that is not finite is hidden and counted; arrays are the caller's own, never a snapshot's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import CONTINUITY_MASK, VISIBLE, new_bodies
from twixt.render.interpolation.quaternion import normalized
from twixt.render.interpolation.trusted_range import FARTHEST


@dataclass(frozen=True, eq=False)
class Poses:
    """n bodies at `draw_time_ns`, the instant really drawn. Arrays are the caller's own.

    Row i is body i. A body that only the newer snapshot has is not there yet.
    """

    draw_time_ns: int
    position: NDArray[np.float64]  # (n, 3), metres; far from the origin a float32 would not tell frames apart
    orientation: NDArray[np.float32]  # (n, 4), unit quaternions xyzw
    scale: NDArray[np.float32]  # (n,)
    color: NDArray[np.uint8]  # (n, 4), rgba
    visible: NDArray[np.bool_]  # (n,)
    columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    not_finite: int = 0  # bodies hidden because their numbers are not finite
    epoch: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))  # (n,), of the life drawn
    drawable: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))  # (n,), whose numbers are finite
    part_columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)  # a row for each part of the scene
    world_columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)  # one row

    def __len__(self) -> int:
        return len(self.position)


def finite(bodies: NDArray[np.void]) -> NDArray[np.bool_]:
    """(n,): True for bodies whose pose can be drawn."""
    with np.errstate(invalid="ignore"):
        return (
            (np.abs(bodies["position"]) < FARTHEST).all(axis=1)
            & (np.abs(bodies["orientation"]) < FARTHEST).all(axis=1)
            & np.isfinite(bodies["scale"])
        )


def same_life(old: NDArray[np.void], new: NDArray[np.void]) -> NDArray[np.bool_]:
    """(min(n, m),): True for bodies that were not spawned, despawned or moved elsewhere between the two snapshots."""
    both = min(len(old), len(new))
    return ((old["epoch"][:both] ^ new["epoch"][:both]) & CONTINUITY_MASK) == 0


def continues(old: NDArray[np.void], new: NDArray[np.void]) -> NDArray[np.bool_]:
    """(min(n, m),): True for bodies that may be blended: the same life of a body, and finite in both snapshots."""
    both = min(len(old), len(new))
    return same_life(old, new) & finite(old[:both]) & finite(new[:both])


def poses_of(draw_time_ns: int, bodies: NDArray[np.void]) -> Poses:
    """State as published, copied, without columns; orientations unit."""
    wanted = (bodies["flags"] & VISIBLE) != 0
    drawable = finite(bodies)
    return Poses(
        draw_time_ns,
        position=bodies["position"].astype(np.float64),
        orientation=normalized(bodies["orientation"]).astype(np.float32),
        scale=bodies["scale"].astype(np.float32),
        color=bodies["color"].copy(),
        visible=wanted & drawable,
        not_finite=int(np.count_nonzero(wanted & ~drawable)),
        epoch=bodies["epoch"].copy(),
        drawable=drawable,
    )


def select_rows(poses: Poses, rows: NDArray[np.intp]) -> Poses:
    """Poses of `rows` alone, as copies; columns of parts and of the world as they are."""
    return replace(
        poses,
        position=poses.position[rows],
        orientation=poses.orientation[rows],
        scale=poses.scale[rows],
        color=poses.color[rows],
        visible=poses.visible[rows],
        epoch=poses.epoch[rows],
        drawable=poses.drawable[rows],
        columns={name: values[rows] for name, values in poses.columns.items()},
    )


def records_of(poses: Poses) -> NDArray[np.void]:
    """Poses as `BODY` records, (n,), for a slot that is drawn as it is: epoch 0, no velocities, but in their place
    what a float32 leaves of each position."""
    records = new_bodies(len(poses))
    with np.errstate(over="ignore", invalid="ignore"):
        records["position"] = poses.position
        records["velocity"] = poses.position - records["position"]
    records["orientation"] = poses.orientation
    records["color"] = poses.color
    records["flags"] = np.where(poses.visible, VISIBLE, 0)
    with np.errstate(over="ignore", invalid="ignore"):
        records["scale"] = poses.scale
    return records


def no_poses() -> Poses:
    """Nothing to draw yet."""
    return Poses(
        0,
        np.zeros((0, 3)),
        np.zeros((0, 4), np.float32),
        np.zeros(0, np.float32),
        np.zeros((0, 4), np.uint8),
        np.zeros(0, np.bool_),
    )
