"""A recorded world as arrays over time, and where its bodies were at any instant.

Always: straight between two recorded states, along the shortest turn, in the frame of the parent where there is one;
a body that changes lives between two states stays in the older one until the newer. What was not there is hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import BODY, CONTINUITY_MASK, Snapshot, new_bodies
from twixt.render.interpolation.parents import compose
from twixt.render.interpolation.poses import poses_of
from twixt.render.interpolation.quaternion import conjugate, exp, log, multiply, normalized

Times = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Places(NamedTuple):
    """n bodies at f instants, in the world. life: continuity epochs."""

    position: NDArray[np.floating]  # (f, n, 3), metres
    orientation: NDArray[np.floating]  # (f, n, 4)
    life: NDArray[np.integer]  # (f, n)
    visible: Flags  # (f, n)


class Truth:
    """A recording as arrays over time; straight between its states, which are close to each other."""

    def __init__(self, states: Sequence[Snapshot], parent_rows: NDArray[np.int32] | None = None) -> None:
        self.times_ns: Times = np.array([state.sim_time_ns for state in states])
        count = max(len(state.bodies) for state in states)
        bodies = np.zeros((len(states), count), BODY)  # those that are not there yet are hidden
        for index, state in enumerate(states):
            bodies[index, : len(state.bodies)] = state.bodies
        poses = poses_of(0, bodies.reshape(-1))
        shape = len(states), count
        self._parents = parent_rows
        self._own = Places(
            poses.position.reshape(*shape, 3),
            poses.orientation.reshape(*shape, 4),
            bodies["epoch"] & CONTINUITY_MASK,
            poses.visible.reshape(shape),
        )
        self.states = self._in_the_world(self._own)
        # What stands still all the time says nothing of a method, and would be most of some worlds.
        self.moves = _changes(self.states.position) | _changes(self.states.orientation) | _changes(self.states.visible)

    @property
    def count(self) -> int:
        """How many bodies there ever were."""
        return self.states.life.shape[1]

    def at(self, sim_times_ns: Times) -> Places:
        """All bodies at those times, (f,)."""
        times, own = self.times_ns, self._own
        index = np.clip(np.searchsorted(times, sim_times_ns, side="right") - 1, 0, len(times) - 2)
        share = np.clip((sim_times_ns - times[index]) / (times[index + 1] - times[index]), 0.0, 1.0)[:, None, None]
        share = share * (own.life[index] == own.life[index + 1])[:, :, None]
        start, end = own.position[index].astype(np.float64), own.position[index + 1]
        facing = normalized(own.orientation[index].reshape(-1, 4))
        turn = log(multiply(normalized(own.orientation[index + 1].reshape(-1, 4)), conjugate(facing)))
        turned = multiply(exp(turn * share.reshape(-1, 1)), facing).reshape(own.orientation[index].shape)
        return self._in_the_world(Places(start + (end - start) * share, turned, own.life[index], own.visible[index]))

    def during(self, since_ns: int, until_ns: int) -> slice:
        """The states from one time to the other, both included."""
        first = np.searchsorted(self.times_ns, since_ns, side="right") - 1
        last = np.searchsorted(self.times_ns, until_ns, side="left")
        return slice(max(0, int(first)), int(last) + 1)

    def _in_the_world(self, own: Places) -> Places:
        """The same, of bodies that may be given in the frames of their parents: a turning parent's children keep
        their distance between states too."""
        if self._parents is None:
            return own
        frames, count = own.life.shape
        parents = np.where(self._parents < 0, -1, count * np.arange(frames)[:, None] + self._parents)
        whole = new_bodies(frames * count)
        whole["position"], whole["orientation"] = own.position.reshape(-1, 3), own.orientation.reshape(-1, 4)
        poses = compose(poses_of(0, whole), parents.reshape(-1))
        return own._replace(
            position=poses.position.reshape(own.position.shape),
            orientation=poses.orientation.reshape(own.orientation.shape),
        )


def _changes(values: NDArray[Any]) -> Flags:
    """(n,): of which bodies these are not the same at all times; values: (f, n, ...)."""
    return (values != values[0]).reshape(*values.shape[:2], -1).any(axis=(0, 2))
