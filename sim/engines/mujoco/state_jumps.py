"""This module detects bodies that jump because the program writes `qpos`. Such bodies are drawn with a cut, which
means without blending.

MuJoCo integrates `qpos` from `qvel`. So between two published states, the distance that a body moves is about its
speed times the time between the states. A motion counts as a jump (`Motion.is_jump`) if the condition below holds
twice: for all bodies of the model together (roots of sums of squares), and for the body alone.

    moved > gap x (speed before + speed after) + acceleration x gap^2 / 2

The test for rotations is similar. The gap is the simulated time between the two states plus one timestep, because
poses may be one step old. All bodies are tested together because a body at rest that is hit gets its speed from
another body. The acceleration term allows for a motion that begins and ends within the gap. The term is 1 cm at 120
states a second, half a metre at 15 states a second, and a hundred metres at 1 state a second. So if `sync` is called
at a low rate, a jump may be missed, but a continuous motion is never cut.

If a program moves bodies in every state, as in a replay of recorded `qpos`, the bodies are blended. For this reason a
jump counts only if the velocities explain the motion that ended in the previous state.

Always: bodies without a velocity are not compared. These are mocap bodies, bodies attached to a mocap body, and bodies
welded to the world. A number that is not finite does not count as a jump.
"""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.ring.slot import WORDS
from twixt.ipc.snapshot import CONTINUITY_MASK, new_bodies

if TYPE_CHECKING:
    from mujoco import MjData, MjModel


# ACCELERATION: largest acceleration that does not count as a jump, in m/s^2. It is 20 g; a robot's hand reaches 5 g.
# TURN_ACCELERATION: largest angular acceleration that does not count as a jump, in rad/s^2. At a radius of 0.1 m it is
# 20 g.
ACCELERATION, TURN_ACCELERATION = 200.0, 2_000.0
# LEAST_M: smallest distance that counts as a jump, in metres. LEAST_TURN: smallest rotation that counts as a jump, as
# half its angle in radians. Smaller motions come from rounding, or from a program that normalizes quaternions.
LEAST_M, LEAST_TURN = 1e-3, 2e-3
# Shortest time between two states that the test uses, in seconds. A shorter time counts as this time.
SHORTEST_S = 1 / 120
# Bodies are compared if the weighted sum of all poses changes by more than LARGER times its largest recent change.
# With each state, the largest recent change is multiplied by KEPT. At 120 states a second, it halves in 6 s.
LARGER, KEPT = 2.0, 0.999
# Weight of values that are in the sum only to detect NaN and infinity. The weight is so small that 100 m/s change the
# sum by less than LEAST_M.
FINITE_WEIGHT = 1e-6
# Rounding error of positions in records, as a fraction of the largest coordinate.
ROUNDING = 2.0**-22


class Motion(NamedTuple):
    """Motion of one body or many bodies between two states. Values for many bodies are roots of sums of squares.
    moved: distance in metres. turned: length of the difference of the quaternions, which is half the angle in
    radians. speed: sum of the speeds in both states, in m/s. spin: sum of the angular speeds in both states, in
    rad/s. gap_s: gap between the states, in seconds. bodies: number of bodies.
    """

    moved: float
    turned: float
    speed: float
    spin: float
    gap_s: float
    bodies: int = 1

    @property
    def is_jump(self) -> bool:
        """True if neither the velocities nor a possible acceleration explain the motion."""
        gap_s, root = self.gap_s, self.bodies**0.5 * self.gap_s**2
        return (
            self.moved > gap_s * self.speed + LEAST_M + root * ACCELERATION / 2
            or self.turned > gap_s * self.spin / 2 + LEAST_TURN + root * TURN_ACCELERATION / 4
        )


class StateJumps:
    """Compares each published state of `model` with the previous state, and stores the epochs of the bodies.

    Comparing all bodies takes a sixth of the time of a publish. So first the sum of all poses, with constant random
    weights, is compared with the sum of the previous state. Bodies are compared only if the change of this sum is
    larger than its recent changes.

    epochs: epochs of all bodies, an array of shape (n,), for records of dtype `BODY`. cuts: number of states with a
    jump. time_s, time_before_s: simulated times of the last state and of the previous state; the caller sets both
    after each state.
    """

    def __init__(self, model: MjModel) -> None:
        self.epochs, self.cuts = np.zeros(int(model.nbody), np.uint32), 0
        self.time_s = self.time_before_s = math.nan
        self._root, self._step_s = np.array(model.body_rootid), float(model.opt.timestep)
        self._moves = np.flatnonzero(moving_bodies(model))
        self._before, self._change, self._last_change, self._largest = math.nan, 0.0, 0.0, 0.0

    def is_suspect(self, total: float) -> bool:
        """Call this method for each state. total: weighted sum of the state. Returns True if the state may have a
        jump. In this case call `compare`."""
        self._last_change, self._change = self._change, total - self._before
        self._before = total
        self._largest = largest = self._largest * KEPT
        return not -largest <= self._change <= largest

    def compare(self, older: NDArray[np.void], newer: NDArray[np.void], time_s: float) -> bool:
        """Compares a suspect state with the previous state. older, newer: records of dtype `BODY`, shape (n,). If
        bodies have jumped, changes their epochs and returns True. A jump does not increase the largest recent
        change, so that the next jump is found as well."""
        gap_s, change = time_s - self.time_s, abs(self._change)
        # Three kinds of states are not compared. The first state has no previous state. In the first state of a
        # restarted world, all bodies are drawn with a cut anyway. If three states have the same time, the third
        # replaces the second without blending.
        if gap_s > 0 or (gap_s == 0 and self.time_s > self.time_before_s):
            gap_s = max(gap_s, SHORTEST_S) + self._step_s
            if self._has_jumps(older[self._moves], newer[self._moves], gap_s):
                return True
        if change < math.inf:
            self._largest = max(self._largest, LARGER * change)
        return False

    def skip_next(self) -> None:
        """Marks the next state as the first state, which is not compared."""
        self._before = self.time_s = self.time_before_s = math.nan

    def _has_jumps(self, older: NDArray[np.void], newer: NDArray[np.void], gap_s: float) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):
            moved = _lengths(newer["position"].astype(float) - older["position"])
            now, before = newer["orientation"].astype(float), older["orientation"]
            # A quaternion and its negative mean the same rotation.
            turned = np.minimum(_lengths(now - before), _lengths(now + before))
            speeds = [_lengths(records["velocity"].astype(float)) for records in (older, newer)]
            spins = [_lengths(records["angular_velocity"].astype(float)) for records in (older, newer)]
            rounding = float(np.abs(newer["position"]).max()) * ROUNDING
        speed, spin = (sum(_root(each) for each in both) for both in (speeds, spins))
        if not Motion(_root(moved) - rounding, _root(turned), speed, spin, gap_s, len(moved)).is_jump:
            return False
        # There is no jump if the velocities do not explain the previous change of the sum. The program then moves
        # bodies in every state. The weights are at most 1, so the change of the sum is at most the sum of all motions.
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
    """Returns a mask of the bodies that can move and for which MuJoCo computes a velocity."""
    return np.asarray((model.body_weldid > 0) & (model.body_mocapid[model.body_rootid] < 0))


def pose_weights(model: MjModel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns weights for the sum of `StateJumps`: weights of positions, shape (n, 3), and weights of quaternions,
    shape (n, 4). The magnitude of a weight is from 0.3 to 1. For a body outside `moving_bodies` the weight is
    almost 0."""
    random = np.random.default_rng(5)
    weights = random.choice((-1.0, 1.0), (int(model.nbody), 7)) * random.uniform(0.3, 1.0, (int(model.nbody), 7))
    weights[~moving_bodies(model)] = FINITE_WEIGHT
    return weights[:, :3], weights[:, 3:]


def _lengths(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))


def _root(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(values @ values))


# The code below writes the records of few bodies, in as few numpy calls as possible.
#
# With few bodies, the call of a numpy function costs more than its arithmetic. After a step, the processor's caches do
# not have the data, and the call costs ten times as much. All inputs are in one block of MuJoCo's memory. So a single
# numpy `take` gathers all inputs, in the order that the next operations need; these operations work on long rows. The
# velocity of an origin is computed as in `OriginVelocity`: v = cvel[3:] + cvel[:3] x (xpos - subtree_com[root]).
#
# Always: `data` is only read.


# Largest number of bodies for which gathering saves time.
MOST_GATHERED = 150
# Longest block of memory from which values are gathered, in bytes.
MOST_BYTES = 1 << 26
# Limit for the weighted sum of a state's numbers. Below the limit, no product of two of these numbers is too large for
# a record. Most states are below the limit. They do not need `np.errstate`, in which each numpy call takes twice as
# long. The test by the sum is reliable: one number that is not finite makes the sum not finite, and large numbers are
# unlikely to cancel each other to the last digit.
MOST = 1e8
# For each axis: the axis after it, and the axis before it.
AFTER, BEFORE = [1, 2, 0], [2, 0, 1]


class GatheredRecords:
    """Records of all bodies of `model`, from the arrays of `data`. flags: flags of each body, an array of shape (n,).

    records: dtype `BODY`, shape (n,); `write` overwrites them. words: the same memory as an array of words.
    """

    def __init__(self, model: MjModel, data: MjData, flags: NDArray[np.uint16]) -> None:
        count = int(model.nbody)
        self.records = new_bodies(count)
        self.records["flags"] = flags
        self.words = self.records.view(WORDS)
        numbers = self.records.view(np.float32).reshape(count, 4, 4)
        # A record has four groups of four floats. The first three floats of each group are used here: position, x y z
        # of the quaternion, velocity, angular velocity.
        self._fields, self._w, self._velocity = numbers[:, :, :3], numbers[:, 1, 3], numbers[:, 2, :3]
        arrays = data.xpos, data.xquat, data.cvel, data.subtree_com
        begin = min(array.ctypes.data for array in arrays)
        size = max(array.ctypes.data + array.nbytes for array in arrays) - begin
        self._memory = np.frombuffer((ctypes.c_char * size).from_address(begin), np.float64)
        places = [(array.ctypes.data - begin) // 8 + np.arange(array.size).reshape(array.shape) for array in arrays]
        position, quaternion, cvel, centers = places
        omega, linear, centers = cvel[:, :3], cvel[:, 3:], centers[model.body_rootid]
        wanted = [
            np.stack([position, quaternion[:, 1:], linear, omega], axis=1),
            quaternion[:, 0],
            *(omega[:, AFTER], omega[:, BEFORE]),
            *(position[:, BEFORE], position[:, AFTER]),
            *(centers[:, BEFORE], centers[:, AFTER]),
            linear,
        ]
        self._places = np.concatenate([part.ravel() for part in wanted])
        of_position, of_quaternion = pose_weights(model)
        weights = [np.full(part.shape, FINITE_WEIGHT) for part in wanted]
        weights[0][:, 0], weights[0][:, 1], weights[1][:] = of_position, of_quaternion[:, 1:], of_quaternion[:, 0]
        self._weights = np.concatenate([part.ravel() for part in weights])
        self._total = 0.0
        self._gathered = gathered = np.zeros(self._places.size)
        ends = np.cumsum([part.size for part in wanted]).tolist()
        self._gathered_fields, self._gathered_w = gathered[: ends[0]].reshape(count, 4, 3), gathered[ends[0] : ends[1]]
        self._omegas, self._arms = gathered[ends[1] : ends[3]], gathered[ends[3] : ends[5]]
        self._centers, self._linear = gathered[ends[5] : ends[7]], gathered[ends[7] :]
        self._first, self._second = self._omegas[: 3 * count], self._omegas[3 * count :]
        self._crossed = self._first.reshape(count, 3)

    @staticmethod
    def are_few(model: MjModel, data: MjData) -> bool:
        """True if the model is small enough for this class."""
        addresses = [array.ctypes.data for array in (data.xpos, data.xquat, data.cvel, data.subtree_com)]
        return model.nbody <= MOST_GATHERED and max(addresses) - min(addresses) < MOST_BYTES

    def read(self) -> float:
        """Reads the current poses and velocities. Returns the weighted sum of the state for `StateJumps`."""
        gathered = self._gathered
        self._memory.take(self._places, out=gathered, mode="clip")
        # Both arrays have the same length, so this is the scalar product. `dot` would warn about infinite numbers.
        self._total = total = np.correlate(gathered, self._weights).item()
        return total

    def write(self) -> None:
        """Writes the poses and velocities of the last `read` into `records`. Call this method exactly one time after
        each `read`."""
        if -MOST < self._total < MOST:  # the test is False for NaN as well
            self._compute()
        else:  # numbers are very large because the model diverges
            with np.errstate(over="ignore", invalid="ignore"):
                self._compute()

    def _compute(self) -> None:
        arms = self._arms
        arms -= self._centers
        omegas = self._omegas
        omegas *= arms
        crossed = self._first
        crossed -= self._second
        crossed += self._linear
        self._fields[...] = self._gathered_fields
        self._velocity[...] = self._crossed
        self._w[...] = self._gathered_w
