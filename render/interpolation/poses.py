"""Defines `Poses`, the drawn state of all bodies at one draw time. Also decides which bodies may be blended, and
converts poses between the frames of parents and the world frame.

If the values of a body are not finite, the body is hidden and counted. Returned arrays belong to the caller. They are
never arrays of a snapshot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import (
    CONTINUITY_MASK,
    HAS_ANGULAR_VELOCITY,
    HAS_COLOR,
    HAS_VELOCITY,
    VISIBLE,
    has_color,
    new_bodies,
)
from twixt.render.interpolation.quaternion import conjugate, multiply, normalized, rotate


@dataclass(frozen=True, eq=False)
class Poses:
    """State of n bodies at `draw_time_ns`, the simulated time that is really drawn. The arrays belong to the caller.

    Row i is body i. A body that is only in the newer snapshot has no row yet.
    """

    draw_time_ns: int
    position: NDArray[np.float64]  # (n, 3), metres; float32 would be too coarse far from the origin
    orientation: NDArray[np.float32]  # (n, 4), unit quaternions xyzw
    scale: NDArray[np.float32]  # (n,)
    color: NDArray[np.uint8]  # (n, 4), rgba
    visible: NDArray[np.bool_]  # (n,)
    columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    not_finite: int = 0  # number of bodies that are hidden because their values are not finite
    epoch: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))  # (n,), epoch of the drawn state
    drawable: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))  # (n,), True if finite
    part_columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)  # each has a row for each part
    world_columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)  # each has one row
    has_color: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))  # (n,), True if color is given

    def __len__(self) -> int:
        return len(self.position)


def finite(bodies: NDArray[np.void]) -> NDArray[np.bool_]:
    """Mask (n,): True for bodies whose pose is finite and can be drawn."""
    with np.errstate(invalid="ignore"):
        return (
            (np.abs(bodies["position"]) < FARTHEST).all(axis=1)
            & (np.abs(bodies["orientation"]) < FARTHEST).all(axis=1)
            & np.isfinite(bodies["scale"])
        )


def same_continuity(old: NDArray[np.void], new: NDArray[np.void]) -> NDArray[np.bool_]:
    """Mask (min(n, m),): True for bodies that were not spawned, despawned or moved elsewhere between the two
    snapshots."""
    both = min(len(old), len(new))
    return ((old["epoch"][:both] ^ new["epoch"][:both]) & CONTINUITY_MASK) == 0


def may_be_blended(old: NDArray[np.void], new: NDArray[np.void]) -> NDArray[np.bool_]:
    """Mask (min(n, m),): True for bodies that may be blended. Such a body is finite in both snapshots, and was not
    spawned, despawned or moved elsewhere between them."""
    both = min(len(old), len(new))
    return same_continuity(old, new) & finite(old[:both]) & finite(new[:both])


def poses_of(draw_time_ns: int, bodies: NDArray[np.void]) -> Poses:
    """Makes poses from published records, without columns. The values are copied, and the orientations are
    normalized."""
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
        has_color=has_color(bodies),
    )


def select_rows(poses: Poses, rows: NDArray[np.intp]) -> Poses:
    """Copies the poses of the bodies `rows`. The columns of parts and of the world stay complete."""
    return replace(
        poses,
        position=poses.position[rows],
        orientation=poses.orientation[rows],
        scale=poses.scale[rows],
        color=poses.color[rows],
        visible=poses.visible[rows],
        epoch=poses.epoch[rows],
        drawable=poses.drawable[rows],
        has_color=poses.has_color[rows],
        columns={name: values[rows] for name, values in poses.columns.items()},
    )


def records_of(poses: Poses) -> NDArray[np.void]:
    """Converts poses to `BODY` records, (n,), for a slot that is drawn without blending. The records have epoch 0 and
    no velocities. Their velocity fields contain the error that each position has because it is rounded to float32."""
    records = new_bodies(len(poses))
    with np.errstate(over="ignore", invalid="ignore"):
        records["position"] = poses.position
        records["velocity"] = poses.position - records["position"]
    records["orientation"] = poses.orientation
    records["color"] = poses.color
    records["flags"] = np.where(poses.visible, VISIBLE, 0) | np.where(poses.has_color, HAS_COLOR, 0)
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


# These limits say which values are blended or extrapolated. The interpolation methods in numpy and the shaders use the
# same limits.
#
# This section contains only constants. So the shaders can be made before the methods in numpy are imported.


# Largest coordinate of a body in metres. The square of a larger coordinate exceeds float32. A body with a larger
# coordinate is hidden, like a body with a NaN.
FARTHEST = 1e30
# Largest rotation between two snapshots, in radians (64 turns), for which a body follows its angular velocities. In
# single precision a larger angle has an error above 1e-4. A body that rotates faster turns the short way, which looks
# the same.
MOST_TURN_RAD = 128 * math.pi

# Rule 1 of the method `auto` (hermite.py): largest change of the acceleration, as a share of the acceleration. For a
# body on a circle, the change is 0.52 if it moves by 30 degrees between two snapshots, and 0.7 if it moves by 41
# degrees. At a bounce, the change is above 1.
ACCELERATION_CHANGE = 0.7
# Rule 2: largest distance of a position from the parabola. It is divided by the change of the velocity and by the time
# between the snapshots. For a body on a circle, the result is 0.044 if the body moves by 30 degrees between two
# snapshots, and 0.07 if it moves by 48 degrees. For a bounce, the result is the time from the middle of the interval to
# the bounce, as a share of the interval.
POSITION_MISMATCH = 0.07
# Rule 3: largest velocity at an end of a cubic, as a multiple of the mean velocity, with which the cubic stays between
# its two ends.
SWING = 3.0
# Largest coordinate in m, and largest velocity in m/s, whose squares can be compared in float32. A body with larger
# values moves straight.
LARGEST_COMPARED = 1e15
# The angular velocities predict an orientation at the newer snapshot. These two values limit the angle between the
# predicted and the published orientation. The limit is the first value, in radians, plus a product: the second value
# times the change of the angular velocity times the time between the snapshots.
TURN_OFF_RAD = 0.25
TURN_OFF_OF_CHANGE = 0.25


# This section computes the world poses of bodies whose poses are given in the frame of a parent.
#
# A child is blended in its parent's frame. Then the drawn pose of the parent gives the child its place in the world. So
# a child keeps its distance from the parent, however fast the parent turns.
#
# A child inherits the position and the orientation of its parent, but not the scale. If the parent is hidden by the
# user, the child is still drawn. If the parent is not drawn because its values are not finite, the child is hidden and
# counted. The loop runs over generations, not over bodies. A scene refuses cycles of parents. If there is a cycle in
# spite of this, the bodies in the cycle keep their poses.


def compose(poses: Poses, parent_rows: NDArray[np.integer]) -> Poses:
    """Computes the world poses of bodies whose poses are given in their parents' frames.

    parent_rows: for each body, the index of its parent in `poses`, (n,); -1 if the body has no parent. If this index is
    not in `poses`, the body counts as having no parent. Bodies beyond the end of `parent_rows` have no parent. If no
    body has a parent, `poses` itself is returned.
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
    """For each of `count` bodies, the index of its parent, (count,). The index is -1 if the body has no parent, if the
    parent's index is not below `count`, or if `parent_rows` has no entry for the body."""
    parents = np.full(count, -1, np.int64)
    parents[: len(parent_rows)] = parent_rows[:count]
    parents[(parents < 0) | (parents >= count)] = -1
    return parents


def generations(parents: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    """Indices of the bodies of each generation: first the children of bodies without parents, then the children of
    these children, and so on."""
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


# This section converts records of bodies from the frames of their parents into the frames of other parents.
#
# If the parent of a body changes between two snapshots, the body is blended in the world frame from the first to the
# second. The neighbouring snapshots that an interpolation method reads are converted into the world frame too.
#
# The world poses of bodies stay the same. A converted velocity counts as given only if everything from which it is
# computed is given: the body's velocity, the parent's velocity and the parent's angular velocity.


Rows = NDArray[np.intp]
Floats = NDArray[np.float64]


class _WorldMotion:
    """Poses and velocities of n bodies in the world frame."""

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

    parents, wanted: for each body, the index of its parent; -1 if the body has no parent. Returns `bodies` itself if
    `parents` and `wanted` are the same.
    """
    own, others = within(parents, len(bodies)), within(wanted, len(bodies))
    rows = np.flatnonzero(own != others)
    if not len(rows):
        return bodies
    target = others[rows]
    used = _with_ancestors(np.concatenate((rows, target[target >= 0])), own)
    above = own[used]
    with np.errstate(all="ignore"):  # records may contain any values
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
    """The bodies `rows` and all their ancestors, ascending."""
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
    """Flags of bodies whose motion was converted by the motion of their parents. The flag of a velocity is cleared if
    the body's or the parent's velocity is not known. of_parent: flags of the parents."""
    turns = (flags & of_parent & HAS_ANGULAR_VELOCITY) != 0
    moves = ((flags & of_parent & HAS_VELOCITY) != 0) & ((of_parent & HAS_ANGULAR_VELOCITY) != 0)
    kept = flags & ~np.array(HAS_VELOCITY | HAS_ANGULAR_VELOCITY, flags.dtype)
    return (
        kept
        | np.where(moves, HAS_VELOCITY, 0).astype(flags.dtype)
        | np.where(turns, HAS_ANGULAR_VELOCITY, 0).astype(flags.dtype)
    )
