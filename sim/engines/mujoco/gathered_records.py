"""Records of few bodies, written in as few calls of numpy as there can be.

For few bodies a call costs more than its numbers, and ten times more after a step, which leaves nothing in the caches.
All numbers that are needed lie in one block of MuJoCo's memory: they are gathered by one `take`, in the order in which
the rest of the work is done on long rows. The velocity of an origin is that of `origin_velocity`: v = cvel[3:] +
cvel[:3] x (xpos - subtree_com[root]).

Always: `data` is only read.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.ring.slot import WORDS
from twixt.ipc.snapshot import new_bodies
from twixt.sim.engines.mujoco.state_jumps import FINITE_WEIGHT, pose_weights

if TYPE_CHECKING:
    from mujoco import MjData, MjModel

# Bodies from which the gathered numbers cost more than the calls that are saved.
MOST_GATHERED = 150
# Longest block that is seen as one, bytes.
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
        self._taken = taken = np.zeros(self._places.size)
        ends = np.cumsum([part.size for part in wanted]).tolist()
        self._taken_fields, self._taken_w = taken[: ends[0]].reshape(count, 4, 3), taken[ends[0] : ends[1]]
        self._omegas, self._arms = taken[ends[1] : ends[3]], taken[ends[3] : ends[5]]
        self._centers, self._linear = taken[ends[5] : ends[7]], taken[ends[7] :]
        self._first, self._second = self._omegas[: 3 * count], self._omegas[3 * count :]
        self._crossed = self._first.reshape(count, 3)

    @staticmethod
    def are_few(model: MjModel, data: MjData) -> bool:
        """True for a model that this is made for."""
        addresses = [array.ctypes.data for array in (data.xpos, data.xquat, data.cvel, data.subtree_com)]
        return model.nbody <= MOST_GATHERED and max(addresses) - min(addresses) < MOST_BYTES

    def take(self) -> float:
        """Takes the present poses and velocities; returns the sum of poses for `StateJumps`."""
        taken = self._taken
        self._memory.take(self._places, out=taken, mode="clip")
        # The scalar product, as both have one length; `dot` would warn of infinite numbers.
        self._total = total = np.correlate(taken, self._weights).item()
        return total

    def write(self) -> None:
        """Writes the poses and velocities taken into `records`; call it once after each `take`."""
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
        self._fields[...] = self._taken_fields
        self._velocity[...] = self._crossed
        self._w[...] = self._taken_w
