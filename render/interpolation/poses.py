"""Poses: the drawn state of all bodies at one draw time; which bodies may be blended; poses in the frames of parents.

A body that is not finite is hidden and counted. Returned arrays belong to the caller and never to a snapshot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import CONTINUITY_MASK, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE, new_bodies
from twixt.render.interpolation.quaternion import conjugate, multiply, normalized, rotate


@dataclass(frozen=True, eq=False)
class Poses:
    """n bodies at `draw_time_ns`, the instant that is really drawn. The arrays belong to the caller.

    Row i is body i. A body that is only in the newer snapshot has no row yet.
    """

    draw_time_ns: int
    position: NDArray[np.float64]  # (n, 3), metres; float32 would be too coarse far from the origin
    orientation: NDArray[np.float32]  # (n, 4), unit quaternions xyzw
    scale: NDArray[np.float32]  # (n,)
    color: NDArray[np.uint8]  # (n, 4), rgba
    visible: NDArray[np.bool_]  # (n,)
    columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    not_finite: int = 0  # number of bodies hidden because their values are not finite
    epoch: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))  # (n,), epoch that is drawn
    drawable: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))  # (n,), values are finite
    part_columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)  # a row for each part of the scene
    world_columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)  # one row

    def __len__(self) -> int:
        return len(self.position)


def finite(bodies: NDArray[np.void]) -> NDArray[np.bool_]:
    """(n,): True for bodies whose pose is finite and can be drawn."""
    with np.errstate(invalid="ignore"):
        return (
            (np.abs(bodies["position"]) < FARTHEST).all(axis=1)
            & (np.abs(bodies["orientation"]) < FARTHEST).all(axis=1)
            & np.isfinite(bodies["scale"])
        )


def same_continuity(old: NDArray[np.void], new: NDArray[np.void]) -> NDArray[np.bool_]:
    """(min(n, m),): True for bodies that were not spawned, despawned or moved elsewhere between the two snapshots."""
    both = min(len(old), len(new))
    return ((old["epoch"][:both] ^ new["epoch"][:both]) & CONTINUITY_MASK) == 0


def may_be_blended(old: NDArray[np.void], new: NDArray[np.void]) -> NDArray[np.bool_]:
    """(min(n, m),): True for bodies that may be blended: they have the same continuity and are finite in both
    snapshots."""
    both = min(len(old), len(new))
    return same_continuity(old, new) & finite(old[:both]) & finite(new[:both])


def poses_of(draw_time_ns: int, bodies: NDArray[np.void]) -> Poses:
    """Copies the published state, without columns, and normalizes the orientations."""
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
    """Copies the poses of `rows`. Columns of parts and of the world are not changed."""
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
    """Converts poses to `BODY` records, (n,), for a slot that is drawn without blending. They have epoch 0 and no
    velocities; the velocity fields hold the rounding error of each position in float32 instead."""
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
    """Poses of no bodies."""
    return Poses(
        0,
        np.zeros((0, 3)),
        np.zeros((0, 4), np.float32),
        np.zeros(0, np.float32),
        np.zeros((0, 4), np.uint8),
        np.zeros(0, np.bool_),
    )


# Limits within which values are blended or extrapolated, shared by the numpy methods and the shaders.
#
# This section contains only constants, so that the shaders can be made before the numpy methods are imported.


# Largest coordinate, m. The square of a larger one exceeds float32. Bodies beyond it are hidden, as with NaN.
FARTHEST = 1e30
# Largest rotation between two snapshots that follows the angular velocities, radians (64 turns). In single precision a
# larger angle has an error above 1e-4. Such a body turns the short way, which looks the same.
MOST_TURN_RAD = 128 * math.pi

# Rule 1 of auto (hermite.py). Largest change of the acceleration, relative to it. On a circle it is 0.52 at 30 degrees
# a snapshot and 0.7 at 41; at a bounce it is above 1.
ACCELERATION_CHANGE = 0.7
# Rule 2. Largest distance from the parabola, relative to the change of velocity times the gap. On a circle it is 0.044
# at 30 degrees a snapshot and 0.07 at 48. For a bounce it is the distance of the bounce from the middle of the
# interval, relative to the interval.
POSITION_MISMATCH = 0.07
# Rule 3. Largest velocity at an end, relative to the mean velocity, with which a cubic stays between its ends.
SWING = 3.0
# Largest value (m, m/s) whose squares can be compared in float32. For larger values motion is straight.
LARGEST_COMPARED = 1e15
# Largest angle between the newer orientation and the one that the angular velocities lead to: this many radians, plus
# this fraction of the change of the angular velocities times the gap.
TURN_OFF_RAD = 0.25
TURN_OFF_OF_CHANGE = 0.25


# Composition of world poses, for bodies whose poses are given in the frame of a parent.
#
# A child is blended in its parent's frame, then placed in the world by the parent's drawn pose. So a child keeps its
# distance from the parent however fast the parent turns.
#
# Position and orientation are composed; scale is not inherited. A child of a hidden parent is drawn. If the parent is
# not drawn because it is not finite, the child is hidden and counted. The loop runs over generations, not over bodies.
# Scenes refuse cycles of parents; bodies in a cycle keep their poses.


def compose(poses: Poses, parent_rows: NDArray[np.integer]) -> Poses:
    """World poses of bodies whose poses are given in their parents' frames.

    parent_rows: (n,), the row of each body's parent, -1 for none. A row that is not in `poses` counts as none. Bodies
    beyond the end of `parent_rows` have no parent. If no body has a parent, `poses` itself is returned.
    """
    parents = within(parent_rows, len(poses))
    if not (parents >= 0).any():
        return poses
    position = poses.position.copy()
    orientation = normalized(poses.orientation)
    drawable = poses.drawable.copy()
    for generation in generations(parents):
        parent = parents[generation]
        drawable[generation] &= drawable[parent]
        with np.errstate(over="ignore", invalid="ignore"):
            position[generation] = position[parent] + rotate(orientation[parent], position[generation])
        orientation[generation] = normalized(multiply(orientation[parent], orientation[generation]))
    placed = drawable & (np.abs(position) < FARTHEST).all(axis=1)
    return replace(
        poses,
        position=position,
        orientation=orientation.astype(np.float32),
        visible=poses.visible & placed,
        not_finite=poses.not_finite + int(np.count_nonzero(poses.visible & ~placed)),
        drawable=placed,
    )


def within(parent_rows: NDArray[np.integer], count: int) -> NDArray[np.int64]:
    """Parents of `count` bodies, (count,). -1 if there is none, if its row is not below `count`, or if `parent_rows`
    is too short."""
    parents = np.full(count, -1, np.int64)
    parents[: len(parent_rows)] = parent_rows[:count]
    parents[(parents < 0) | (parents >= count)] = -1
    return parents


def generations(parents: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    """Rows of the bodies by generation: first the children of bodies without parents, then their children, and so
    on."""
    generations = []
    placed = parents < 0
    waiting = np.flatnonzero(~placed)
    while len(waiting):
        ready = placed[parents[waiting]]
        if not ready.any():
            break
        generations.append(waiting[ready])
        placed[waiting[ready]] = True
        waiting = waiting[~ready]
    return generations


# Converts records of bodies from the frames of their parents into the frames of other parents.
#
# If the parent of a body changes between two snapshots, the body is blended in the world frame between them. The
# neighbouring snapshots that a method reads are converted into the same frame.
#
# World poses stay the same. A velocity counts as given only if everything that it is computed from is given: the
# body's velocity, the parent's velocity and the parent's angular velocity. Pure.


Rows = NDArray[np.intp]
Floats = NDArray[np.float64]


class _WorldMotion:
    """Poses and velocities of n records in the world frame."""

    def __init__(self, bodies: NDArray[np.void], parents: NDArray[np.int64]) -> None:
        self.position = bodies["position"].astype(np.float64)
        self.velocity = bodies["velocity"].astype(np.float64)
        self.spin = bodies["angular_velocity"].astype(np.float64)
        self.orientation = normalized(bodies["orientation"]).astype(np.float64)
        self.flags = bodies["flags"].copy()
        for rows in generations(parents):
            parent = parents[rows]
            turn, arm = self.orientation[parent], rotate(self.orientation[parent], self.position[rows])
            moved = np.cross(self.spin[parent], arm) + rotate(turn, self.velocity[rows])
            self.position[rows] = self.position[parent] + arm
            self.velocity[rows] = self.velocity[parent] + moved
            self.spin[rows] = self.spin[parent] + rotate(turn, self.spin[rows])
            self.orientation[rows] = normalized(multiply(turn, self.orientation[rows]))
            self.flags[rows] = _known(self.flags[rows], self.flags[parent])


def in_frames_of(
    bodies: NDArray[np.void], parents: NDArray[np.integer], wanted: NDArray[np.integer]
) -> NDArray[np.void]:
    """Records (n,) of dtype `BODY`, converted from the frames of `parents` into those of `wanted`.

    parents, wanted: the row of each body's parent, -1 for none. Returns `bodies` itself if the parents are the same.
    """
    own, others = within(parents, len(bodies)), within(wanted, len(bodies))
    rows = np.flatnonzero(own != others)
    if not len(rows):
        return bodies
    target = others[rows]
    used = _with_ancestors(np.concatenate((rows, target[target >= 0])), own)
    above = own[used]
    with np.errstate(all="ignore"):  # records may hold any values
        world = _WorldMotion(bodies[used], np.where(above < 0, -1, np.searchsorted(used, above)))
        changed = bodies.copy()
        at = np.searchsorted(used, rows)
        _write(changed, rows, world.position[at], world.velocity[at], world.spin[at], world.orientation[at])
        changed["flags"][rows] = world.flags[at]
        is_child = target >= 0
        children, at, parent = rows[is_child], at[is_child], np.searchsorted(used, target[is_child])
        back = conjugate(world.orientation[parent])
        arm = world.position[at] - world.position[parent]
        moved = world.velocity[at] - world.velocity[parent] - np.cross(world.spin[parent], arm)
        _write(
            changed,
            children,
            rotate(back, arm),
            rotate(back, moved),
            rotate(back, world.spin[at] - world.spin[parent]),
            multiply(back, world.orientation[at]),
        )
        changed["flags"][children] = _known(world.flags[at], world.flags[parent])
    return changed


def _with_ancestors(rows: Rows, parents: NDArray[np.int64]) -> Rows:
    """These rows and all their ancestors, ascending."""
    known = np.unique(rows)
    while True:
        above = parents[known]
        more = np.union1d(known, above[above >= 0])
        if len(more) == len(known):
            return known
        known = more


def _write(
    bodies: NDArray[np.void], rows: Rows, position: Floats, velocity: Floats, spin: Floats, orientation: Floats
) -> None:
    bodies["position"][rows], bodies["velocity"][rows] = position, velocity
    bodies["angular_velocity"][rows], bodies["orientation"][rows] = spin, orientation


def _known(flags: NDArray[np.integer], of_parent: NDArray[np.integer]) -> NDArray[np.integer]:
    """Flags of bodies whose motion is composed with a parent's. Flags of velocities that are not known are cleared."""
    turns = (flags & of_parent & HAS_ANGULAR_VELOCITY) != 0
    moves = ((flags & of_parent & HAS_VELOCITY) != 0) & ((of_parent & HAS_ANGULAR_VELOCITY) != 0)
    kept = flags & ~np.array(HAS_VELOCITY | HAS_ANGULAR_VELOCITY, flags.dtype)
    return (
        kept
        | np.where(moves, HAS_VELOCITY, 0).astype(flags.dtype)
        | np.where(turns, HAS_ANGULAR_VELOCITY, 0).astype(flags.dtype)
    )
