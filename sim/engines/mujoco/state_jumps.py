"""Detection of bodies that jump because the program writes `qpos`; they are drawn as cuts, without blending.

MuJoCo integrates `qpos` from `qvel`, so between two published states a body moves by no more than its speed times the
time between them. A motion is a jump (`Motion.is_jump`) if

    moved > gap x (speed before + speed after) + acceleration x gap^2 / 2

both for all bodies of the model together (roots of sums of squares) and for the body alone; likewise for rotations. The
gap is the simulated time between the two states plus one timestep, since poses may be one step old. All bodies together
are tested because a body that is hit at rest gets its speed from another one. The acceleration term allows for motion
that begins and ends within the gap: 1 cm at 120 states a second, half a metre at 15, a hundred metres at 1. So at a low
rate of `sync` jumps can be missed, but no motion is cut.

Bodies that a program moves all the time, as in a replay of recorded `qpos`, are blended: a jump counts only after a
state whose motion the velocities explain.

Always: bodies without a velocity (mocap bodies, what they carry, bodies welded to the world) are not compared. A number
that is not finite is no jump.
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


# Largest acceleration that is no jump, m/s^2: 20 g (a robot's hand reaches 5 g); of rotation, rad/s^2: 20 g at 0.1 m.
ACCELERATION, TURN_ACCELERATION = 200.0, 2_000.0
# Smaller motions are no jump (rounding, quaternions that the program normalizes): metres, and half radians.
LEAST_M, LEAST_TURN = 1e-3, 2e-3
# Least time between two states that counts, seconds.
SHORTEST_S = 1 / 120
# Bodies are compared if the sum changes by more than LARGER times its largest recent change. That decays by the factor
# KEPT in each state: at 120 states a second by half in 6 s.
LARGER, KEPT = 2.0, 0.999
# Weight of values that are in the sum only to detect NaN and infinity: 100 m/s change it by less than LEAST_M.
FINITE_WEIGHT = 1e-6
# Rounding error of positions in records, relative to the largest coordinate.
ROUNDING = 2.0**-22


class Motion(NamedTuple):
    """Motion between two states, of one body or of many: roots of sums of squares. moved: metres. turned: of
    differences of quaternions, halves of radians. speed, spin: of both states, added, m/s and rad/s. gap_s: seconds.
    bodies: number.
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

    Comparing all bodies takes a sixth of the time of a publish. So a sum of all poses with fixed random weights is
    compared first; bodies are compared only if it changes by more than it did recently.

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
        """Adds the weighted sum of the next state; True if it may have a jump: then call `compare`."""
        self._last_change, self._change = self._change, total - self._before
        self._before = total
        self._largest = largest = self._largest * KEPT
        return not -largest <= self._change <= largest

    def compare(self, older: NDArray[np.void], newer: NDArray[np.void], time_s: float) -> bool:
        """Compares a state that is suspect with the one before, records of dtype `BODY`, (n,); True if bodies have
        jumped, and their epochs were changed. A jump does not raise the largest recent change, so that the next is
        found."""
        gap_s, change = time_s - self.time_s, abs(self._change)
        # Not compared: the first state, a restarted world (it is cut anyway), and a state with the time of the last
        # two, which it replaces without a blend.
        if gap_s > 0 or (gap_s == 0 and self.time_s > self.time_before_s):
            gap_s = max(gap_s, SHORTEST_S) + self._step_s
            if self._has_jumps(older[self._moves], newer[self._moves], gap_s):
                return True
        if change < math.inf:
            self._largest = max(self._largest, LARGER * change)
        return False

    def skip_next(self) -> None:
        """Skips the comparison of the next state."""
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
    """True for bodies with a velocity in MuJoCo that can move."""
    return np.asarray((model.body_weldid > 0) & (model.body_mocapid[model.body_rootid] < 0))


def pose_weights(model: MjModel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights of positions, (n, 3), and of quaternions, (n, 4), for the sum of `StateJumps`: -1 to 1, not near 0;
    almost 0 for static bodies."""
    random = np.random.default_rng(5)
    weights = random.choice((-1.0, 1.0), (int(model.nbody), 7)) * random.uniform(0.3, 1.0, (int(model.nbody), 7))
    weights[~moving_bodies(model)] = FINITE_WEIGHT
    return weights[:, :3], weights[:, 3:]


def _lengths(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))


def _root(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(values @ values))


# Records of few bodies, written in as few numpy calls as possible.
#
# For few bodies a call costs more than its numbers, and ten times more after a step, when caches are cold. All inputs
# are in one block of MuJoCo's memory: one numpy `take` gathers them in the order of the following operations on long
# rows. The velocity of an origin is that of `OriginVelocity`: v = cvel[3:] + cvel[:3] x (xpos - subtree_com[root]).
#
# Always: `data` is only read.


# Number of bodies from which gathering costs more than the saved calls.
MOST_GATHERED = 150
# Longest gathered block, bytes.
MOST_BYTES = 1 << 26
# Weighted sum of a state's numbers below which no product of two of them is too large for a record. Most states are
# below it and need no `np.errstate`, within which each numpy call takes twice as long. A sum shows it: a number that is
# not finite makes it not finite, and large numbers would have to cancel each other to the last digits.
MOST = 1e8
# Axes before and after each axis.
AFTER, BEFORE = [1, 2, 0], [2, 0, 1]


class GatheredRecords:
    """Records of all bodies of `model` in `data`, whose arrays are kept. flags: of each body, (n,).

    records: dtype `BODY`, shape (n,), the same array each time. words: the same memory as words.
    """

    def __init__(self, model: MjModel, data: MjData, flags: NDArray[np.uint16]) -> None:
        count = int(model.nbody)
        self.records = new_bodies(count)
        self.records["flags"] = flags
        self.words = self.records.view(WORDS)
        numbers = self.records.view(np.float32).reshape(count, 4, 4)
        # Position, x y z of the quaternion, velocity, angular velocity are the first three of four each.
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
        """True for a model with few enough bodies."""
        addresses = [array.ctypes.data for array in (data.xpos, data.xquat, data.cvel, data.subtree_com)]
        return model.nbody <= MOST_GATHERED and max(addresses) - min(addresses) < MOST_BYTES

    def read(self) -> float:
        """Reads the present poses and velocities; returns the sum of poses for `StateJumps`."""
        gathered = self._gathered
        self._memory.take(self._places, out=gathered, mode="clip")
        # The scalar product, as both have one length; `dot` would warn of infinite numbers.
        self._total = total = np.correlate(gathered, self._weights).item()
        return total

    def write(self) -> None:
        """Writes the poses and velocities of the last `read` into `records`; call it once after each."""
        if -MOST < self._total < MOST:  # False for a NaN
            self._compute()
        else:  # a model that diverges
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
