"""Jumps of `qpos` that velocities do not explain: such bodies are cut, not drawn on the way.

MuJoCo integrates `qpos` from `qvel`, so between two published states a body moves by no more than its speed times the
time between them. A program that writes `qpos` moves it farther. It is a jump (`Motion.is_jump`) if

    moved > gap x (speed before + speed after) + acceleration x gap^2 / 2

for all bodies of a model together (roots of sums of squares), and for the body by itself; and alike for turns. The gap is
the simulated time between the two states, and one timestep more, since poses may be one step behind. All bodies together,
since what strikes a body has a speed itself. The acceleration is for motion that begins and ends within the gap: at 120
states a second that is 2 cm, at 15 half a metre, at 1 a hundred metres. So at a low rate of `sync` jumps are missed, and
no motion is cut.

A program that moves bodies by hand all the time, such as a replay of recorded `qpos`, is blended as before: a jump counts
only after a state that had moved by no more than its velocities explain.

Always: bodies without a velocity (a mocap body and what it carries, what is welded to the world) are not compared. A
number that is not finite is no jump.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import CONTINUITY_MASK

if TYPE_CHECKING:
    from mujoco import MjModel

# Acceleration that is no jump, m/s^2: 20 g; a robot's hand has 5 g. And of a turn, rad/s^2: 20 g at 0.1 m.
ACCELERATION, TURN_ACCELERATION = 200.0, 2_000.0
# What moved by less is explained: rounding, and quaternions that the program normalizes. Metres, and halves of radians.
LEAST_M, LEAST_TURN = 1e-3, 2e-3
# Least time between two states that counts, seconds.
SHORTEST_S = 1 / 120
# A change of the sum is looked at that is so many times the largest of late; and how fast that one is forgotten, which
# at 120 states a second takes 6 s for a half.
LARGER, KEPT = 2.0, 0.999
# Weight of numbers that only have to be finite: 100 m/s change the sum by less than what `LEAST_M` is for.
TINY = 1e-6
# Of positions in records, relative to the farthest.
ROUNDING = 2.0**-22


class Motion(NamedTuple):
    """Motion between two states, of one body or of many: roots of sums of squares. moved: metres. turned: of differences
    of quaternions, halves of radians. speed, spin: of both states, added, m/s and rad/s. gap_s: seconds. bodies: number.
    """

    moved: float
    turned: float
    speed: float
    spin: float
    gap_s: float
    bodies: int = 1

    @property
    def is_jump(self) -> bool:
        """True if neither velocities nor a possible acceleration explain what moved."""
        gap_s, root = self.gap_s, self.bodies**0.5 * self.gap_s**2
        return (
            self.moved > gap_s * self.speed + LEAST_M + root * ACCELERATION / 2
            or self.turned > gap_s * self.spin / 2 + LEAST_TURN + root * TURN_ACCELERATION / 4
        )


class StateJumps:
    """Compares published states of `model` with those before, and keeps the bodies' epochs.

    To compare all bodies in each publish would cost a sixth of it. So one number stands for a state, a sum of its poses
    with fixed random weights; only where it changes by more than it did of late bodies are compared.

    epochs: of all bodies, (n,), for records of dtype `BODY`. cuts: number of states that had a jump. time_s,
    time_before_s: simulated time of the last state, and of the one before, to be set after each.
    """

    def __init__(self, model: MjModel) -> None:
        self.epochs, self.cuts = np.zeros(int(model.nbody), np.uint32), 0
        self.time_s = self.time_before_s = math.nan
        self._root, self._step_s = np.array(model.body_rootid), float(model.opt.timestep)
        self._moves = np.flatnonzero(moving_bodies(model))
        self._before, self._change, self._last_change, self._largest = math.nan, 0.0, 0.0, 0.0

    def is_suspect(self, total: float) -> bool:
        """Takes the weighted sum of the next state; True if it may have a jump: then `compare` is to be called."""
        self._last_change, self._change = self._change, total - self._before
        self._before = total
        self._largest = largest = self._largest * KEPT
        return not -largest <= self._change <= largest

    def compare(self, older: NDArray[np.void], newer: NDArray[np.void], time_s: float) -> bool:
        """Compares a state that is suspect with the one before, records of dtype `BODY`, (n,); True if bodies have
        jumped, and their epochs were changed. Jumps make no change the largest one of late, so that the next is found."""
        gap_s, change = time_s - self.time_s, abs(self._change)
        # Else it is the first state, the world has restarted, which is a cut of its own, or time stands for long, and a
        # state replaces the one before without a blend.
        if gap_s > 0 or (gap_s == 0 and self.time_s > self.time_before_s):
            gap_s = max(gap_s, SHORTEST_S) + self._step_s
            if self._has_jumps(older[self._moves], newer[self._moves], gap_s):
                return True
        if change < math.inf:
            self._largest = max(self._largest, LARGER * change)
        return False

    def forget(self) -> None:
        """Has the next state be compared with none."""
        self._before = self.time_s = self.time_before_s = math.nan

    def _has_jumps(self, older: NDArray[np.void], newer: NDArray[np.void], gap_s: float) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):
            moved = _lengths(newer["position"].astype(float) - older["position"])
            now, before = newer["orientation"].astype(float), older["orientation"]
            turned = np.minimum(_lengths(now - before), _lengths(now + before))  # a quaternion and its negative are one
            speeds = [_lengths(records["velocity"].astype(float)) for records in (older, newer)]
            spins = [_lengths(records["angular_velocity"].astype(float)) for records in (older, newer)]
            rounding = float(np.abs(newer["position"]).max()) * ROUNDING
        speed, spin = (sum(_root(each) for each in both) for both in (speeds, spins))
        if not Motion(_root(moved) - rounding, _root(turned), speed, spin, gap_s, len(moved)).is_jump:
            return False
        # With weights up to 1 the sum changes by no more than the poses.
        if abs(self._last_change) > 2 * gap_s * (_root(speeds[0]) + _root(spins[0])) + LEAST_M + rounding:
            return False
        rows = zip(moved - rounding, turned, speeds[0] + speeds[1], spins[0] + spins[1], strict=True)
        has_jumped = [Motion(m, t, both_speeds, both_spins, gap_s).is_jump for m, t, both_speeds, both_spins in rows]
        if not any(has_jumped):
            return False
        is_cut = np.isin(self._root, self._root[self._moves[has_jumped]])
        self.epochs[is_cut] = (self.epochs[is_cut] + 1) & CONTINUITY_MASK
        self.cuts += 1
        return True


def moving_bodies(model: MjModel) -> NDArray[np.bool_]:
    """True for bodies whose velocity MuJoCo knows, and which can have one."""
    return np.asarray((model.body_weldid > 0) & (model.body_mocapid[model.body_rootid] < 0))


def pose_weights(model: MjModel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights of positions, (n, 3), and of quaternions, (n, 4), for the sum that `StateJumps` takes: from -1 to 1, none
    near 0; all but 0 for bodies that do not move."""
    random = np.random.default_rng(5)
    weights = random.choice((-1.0, 1.0), (int(model.nbody), 7)) * random.uniform(0.3, 1.0, (int(model.nbody), 7))
    weights[~moving_bodies(model)] = TINY
    return weights[:, :3], weights[:, 3:]


def _lengths(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))


def _root(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(values @ values))
