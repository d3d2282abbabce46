"""Conversion of records of bodies into the frames of other parents than those with which they were published.

A body whose parent changes between two snapshots is blended in the world's frame there. The neighbouring snapshots that
a method reads are converted into the same frame.

Always: the pose in the world stays; a velocity that does not follow from those given (its own, the parent's, and the
parent's angular velocity) counts as not given. Pure.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY
from twixt.render.interpolation.parents import generations, within
from twixt.render.interpolation.quaternion import conjugate, multiply, normalized, rotate

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]


class _WorldMotion:
    """Poses and velocities of n records in the world's frame."""

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

    parents, wanted: the row of each body's parent, -1 for none. Returns `bodies` itself where the parents are the same.
    """
    own, others = within(parents, len(bodies)), within(wanted, len(bodies))
    rows = np.flatnonzero(own != others)
    if not len(rows):
        return bodies
    target = others[rows]
    used = _with_ancestors(np.concatenate((rows, target[target >= 0])), own)
    above = own[used]
    with np.errstate(all="ignore"):  # records may hold anything
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
    """Flags of bodies whose motion is composed with a parent's, without those of unknown velocities."""
    turns = (flags & of_parent & HAS_ANGULAR_VELOCITY) != 0
    moves = ((flags & of_parent & HAS_VELOCITY) != 0) & ((of_parent & HAS_ANGULAR_VELOCITY) != 0)
    kept = flags & ~np.array(HAS_VELOCITY | HAS_ANGULAR_VELOCITY, flags.dtype)
    return (
        kept
        | np.where(moves, HAS_VELOCITY, 0).astype(flags.dtype)
        | np.where(turns, HAS_ANGULAR_VELOCITY, 0).astype(flags.dtype)
    )
