"""This module converts poses and velocities of a model's bodies from MuJoCo's arrays to twixt's records.

`xpos` and `xquat` are adjacent in MuJoCo's memory, so `gate` saves a state with a single copy. Records are written
from this copy, or directly from MuJoCo's memory.

Always: `data` is only read. Velocities are velocities of the bodies' origins. MuJoCo computes no velocity for a body
that is attached to a mocap body. So the record of such a body has no velocity, even if the body is at rest.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.ring.slot import WORDS, OpenSlot
from twixt.ipc.snapshot import CONTINUITY_MASK, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE, new_bodies
from twixt.sim.engines.mujoco.mujoco_package import mujoco
from twixt.sim.engines.mujoco.state_jumps import GatheredRecords, StateJumps, pose_weights

if TYPE_CHECKING:
    from mujoco import MjData, MjModel


# Number of values in a position and in a quaternion.
POSITION, QUATERNION = 3, 4
# Maximum number of padding bytes between the arrays `xpos` and `xquat`. Each array starts at a multiple of 64 bytes.
MOST_BETWEEN = 63
# Maximum number of bodies for which jumps are detected. In a larger model, records are written directly into the
# channel, so there are no previous records to compare.
MOST_WATCHED = 2_000


class PoseArrays(NamedTuple):
    """Poses of n bodies. position: array of shape (n, 3), in metres. quaternion: array of shape (n, 4), each (w, x, y,
    z). memory: the single block of bytes that holds both arrays, with any padding between them; None if the arrays
    are not adjacent."""

    memory: memoryview | None
    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]

    def copy_to(self, other: PoseArrays) -> None:
        """Copies the poses into `other`, which must have the same layout."""
        if self.memory is not None and other.memory is not None:
            other.memory[:] = self.memory
        else:
            other.position[...] = self.position
            other.quaternion[...] = self.quaternion


class RecordViews(NamedTuple):
    """Views of the fields of n records. Only the fields that this module writes have a view. Each view has n rows."""

    position: NDArray[np.float32]
    xyz: NDArray[np.float32]  # x, y, z of the quaternion
    w: NDArray[np.float32]
    velocity: NDArray[np.float32]
    angular_velocity: NDArray[np.float32]
    flags: NDArray[np.uint16]

    @staticmethod
    def of(records: NDArray[np.void]) -> RecordViews:
        """Returns views of the fields of records of dtype `BODY`."""
        orientation = records["orientation"]
        return RecordViews(
            records["position"],
            orientation[:, :3],
            orientation[:, 3],
            records["velocity"],
            records["angular_velocity"],
            records["flags"],
        )

    def write_poses(self, poses: PoseArrays) -> None:
        """Writes the poses and no other fields."""
        self.position[...] = poses.position
        self.xyz[...] = poses.quaternion[:, 1:]
        self.w[...] = poses.quaternion[:, 0]

    def write_state(self, poses: PoseArrays, velocity: OriginVelocity | None, flags: NDArray[np.uint16]) -> None:
        """Writes poses, velocities and flags."""
        self.write_poses(poses)
        if velocity is not None:
            velocity.write(self.velocity, self.angular_velocity)
        self.flags[...] = flags


class BodyPoses:
    """Poses and velocities of the bodies of `model`. They are read from the arrays of `data`. count: number of bodies.
    watches_jumps: if True, bodies that jump get new epochs (`StateJumps`). This needs a model of at most
    MOST_WATCHED bodies."""

    def __init__(self, model: MjModel, data: MjData, watches_jumps: bool = False) -> None:
        self.count = int(model.nbody)
        self._model, self._data = model, data
        self._live = _live_poses(data)
        is_carried = model.body_mocapid[model.body_rootid] >= 0
        moves = (model.body_weldid > 0) & ~is_carried
        self._velocity = OriginVelocity(model, data) if moves.any() else None
        is_still = is_carried if self._velocity is not None else True
        self._flags = np.where(is_still, VISIBLE, VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY).astype(np.uint16)
        self._scratch: Any = None
        self._gathered: GatheredRecords | _SummedRecords | None = None
        if self._velocity is not None and GatheredRecords.are_few(model, data):
            self._gathered = GatheredRecords(model, data, self._flags)
        elif (
            self._velocity is not None
            and watches_jumps
            and self.count <= MOST_WATCHED
            and self._live.memory is not None
        ):
            self._gathered = _SummedRecords(model, self._live, self._velocity, self._flags)
        self._jumps = StateJumps(model) if watches_jumps and self._gathered is not None else None

    def empty(self) -> PoseArrays:
        """Allocates memory for `copy_to`, with the layout of MuJoCo's arrays."""
        live = self._live
        if live.memory is None:
            return PoseArrays(None, np.zeros((self.count, POSITION)), np.zeros((self.count, QUATERNION)))
        block = bytearray(live.memory.nbytes)
        numbers = np.frombuffer(block)
        position, quaternion = numbers[: POSITION * self.count], numbers[-QUATERNION * self.count :]
        return PoseArrays(memoryview(block), position.reshape(-1, POSITION), quaternion.reshape(-1, QUATERNION))

    def memory(self) -> memoryview | None:
        """Returns MuJoCo's memory of the current poses, in the form of `PoseArrays.memory`."""
        return self._live.memory

    def copy_to(self, poses: PoseArrays) -> None:
        """Copies the current poses into `poses`."""
        self._live.copy_to(poses)

    def present(self) -> PoseArrays:
        """Returns the current poses, as views of MuJoCo's memory. After `mj_resetData` the poses are computed from
        `qpos`."""
        return self._live if self._live.quaternion[0].any() else self._after_reset()

    def write_into(self, slot: OpenSlot) -> None:
        """Writes current poses, velocities and flags of all bodies into a slot that contains no other bodies."""
        if (words := self._written()) is not None:
            slot.words()[...] = words
        else:
            self._write(slot.records)

    def write(self, records: NDArray[np.void]) -> None:
        """Writes current poses, velocities and flags into records of dtype `BODY`, shape (count,)."""
        if self._jumps is not None and (words := self._written()) is not None:
            records.view(WORDS)[...] = words
        else:
            self._write(records)

    def _written(self) -> NDArray[np.uint64] | None:
        """Updates a private copy of the records to the current state and returns its words. With few bodies, copying
        these words is much faster than writing the fields of the caller's records. Returns None if there is no
        private copy, and after `mj_resetData`."""
        gathered = self._gathered
        if gathered is None or self._live.quaternion.item(0) == 0:
            return None
        total, jumps = gathered.read(), self._jumps
        if jumps is None:
            gathered.write()
        elif jumps.is_suspect(total):
            older = gathered.records.copy()
            gathered.write()
            self._compare(jumps, gathered, older)
        else:
            gathered.write()
            jumps.time_before_s, jumps.time_s = jumps.time_s, self._data.time
        return gathered.words

    def write_surface_epochs(self, records: NDArray[np.void]) -> None:
        """Writes the epochs of skins and flexes into records of dtype `BODY`. If any body of the model is cut, all
        skins and flexes are cut."""
        if self._jumps is not None and self._jumps.cuts:
            records["epoch"] = self._jumps.cuts & CONTINUITY_MASK

    def _compare(self, jumps: StateJumps, gathered: GatheredRecords | _SummedRecords, older: NDArray[np.void]) -> None:
        time_s = self._data.time
        if jumps.compare(older, gathered.records, time_s):
            gathered.records["epoch"] = jumps.epochs
        jumps.time_before_s, jumps.time_s = jumps.time_s, time_s

    def _write_epochs(self, records: NDArray[np.void]) -> None:
        if self._jumps is not None:
            self._jumps.skip_next()
            records["epoch"] = self._jumps.epochs

    def _write(self, records: NDArray[np.void]) -> None:
        views = RecordViews.of(records)
        with np.errstate(over="ignore", invalid="ignore"):  # numbers overflow if the model diverges
            # w of the world body's quaternion is 1; only after `mj_resetData` it is 0
            if self._live.quaternion.item(0) == 0:
                views.write_poses(self._after_reset())
                views.flags[...] = VISIBLE
            else:
                views.write_state(self._live, self._velocity, self._flags)
        self._write_epochs(records)

    def write_poses(self, records: NDArray[np.void], poses: PoseArrays) -> None:
        """Writes `poses` into records of dtype `BODY`, shape (count,), without velocities."""
        views = RecordViews.of(records)
        with np.errstate(over="ignore", invalid="ignore"):
            views.write_poses(poses)
        views.flags[...] = VISIBLE
        if self._jumps is None or self._gathered is None:
            return
        # The comparison uses the current velocities. They are close to the velocities of the deferred state, because
        # the program has advanced very little since this state was stored.
        gathered = self._gathered
        older = gathered.records.copy()
        self._jumps.is_suspect(gathered.read())
        gathered.write()
        gathered.records["position"], gathered.records["orientation"] = records["position"], records["orientation"]
        self._compare(self._jumps, gathered, older)
        records["epoch"] = self._jumps.epochs

    def _after_reset(self) -> PoseArrays:
        """Computes poses from the current `qpos`. After `mj_resetData`, `xpos` and `xquat` are zero until the next
        step."""
        if self._scratch is None:
            self._scratch = mujoco.MjData(self._model)
        scratch, data = self._scratch, self._data
        scratch.qpos[:], scratch.mocap_pos[:], scratch.mocap_quat[:] = data.qpos, data.mocap_pos, data.mocap_quat
        mujoco.mj_kinematics(self._model, scratch)
        return _live_poses(scratch)


class _SummedRecords:
    """Records for models with too many bodies for `GatheredRecords`. Both classes have the same interface. live: poses
    in MuJoCo's memory."""

    def __init__(
        self, model: MjModel, live: PoseArrays, velocity: OriginVelocity | None, flags: NDArray[np.uint16]
    ) -> None:
        self.records = new_bodies(int(model.nbody))
        self.words = self.records.view(WORDS)
        self._views, self._live, self._velocity, self._flags = RecordViews.of(self.records), live, velocity, flags
        # The sum contains positions, but no rotations. With rotations, a publish of 1,000 bodies would take 5 %
        # longer.
        self._weights = pose_weights(model)[0].ravel()
        self._positions = live.position.reshape(-1)

    def read(self) -> float:
        """Returns the weighted sum of the poses for `StateJumps`."""
        return np.correlate(self._positions, self._weights).item()

    def write(self) -> None:
        """Writes current poses and velocities into `records`."""
        with np.errstate(over="ignore", invalid="ignore"):
            self._views.write_state(self._live, self._velocity, self._flags)


def _live_poses(data: MjData) -> PoseArrays:
    position, quaternion = data.xpos, data.xquat
    begin, end = position.ctypes.data, quaternion.ctypes.data + quaternion.nbytes
    memory = None
    if 0 <= quaternion.ctypes.data - begin - position.nbytes <= MOST_BETWEEN:
        memory = memoryview((ctypes.c_char * (end - begin)).from_address(begin)).cast("B")
    return PoseArrays(memory, position, quaternion)


# The code below computes the velocities of the bodies' origins from MuJoCo's `cvel`.
#
# `cvel` refers to the centre of mass of the body's tree. So the velocity of the origin is v = cvel[3:] + cvel[:3] x
# (xpos - subtree_com[root]) (Featherstone, "Rigid Body Dynamics Algorithms").
#
# Numpy is slow in loops over three numbers per body. So the velocities of few bodies are computed with one matrix
# product, in as few calls as possible. The velocities of many bodies are computed component by component, in long
# loops. For 1,000 bodies this takes 30 us instead of 75 us. If each body is a tree by itself and has its centre of
# mass at its origin, the cross product is zero and is not computed.
#
# Always: the arrays of `data` are only read.


# Smallest number of bodies for which computing component by component is faster.
MANY = 150
# If the distance between centre of mass and origin is below this limit, in metres, the distance counts as zero.
CENTERED_M = 1e-12
# Matrix of shape (9, 3). The nine products a_j b_k of two vectors, multiplied by this matrix, give the cross product a
# x b.
_CROSS = np.zeros((3, 3, 3))
for _axis in range(3):
    _after, _last = (_axis + 1) % 3, (_axis + 2) % 3
    _CROSS[_after, _last, _axis], _CROSS[_last, _after, _axis] = 1, -1
_CROSS_PRODUCT = _CROSS.reshape(9, 3)


class OriginVelocity:
    """Velocities of the origins of all bodies of `model`. They are computed from the arrays of `data`."""

    def __init__(self, model: MjModel, data: MjData) -> None:
        count = int(model.nbody)
        root = np.array(model.body_rootid)
        self._position, self._cvel, self._centers = data.xpos, data.cvel, data.subtree_com
        self._root = None if np.array_equal(root, np.arange(count)) else root
        is_alone = (model.body_subtreemass == model.body_mass) & (np.abs(model.body_ipos) < CENTERED_M).all(axis=1)
        self._has_arms = not (is_alone | (model.body_weldid == 0)).all()
        # These views are made only one time. Making a view takes as long as the matrix product for few bodies.
        self._omega, self._linear = self._cvel[:, :3], self._cvel[:, 3:]
        self._own_centers, self._arm = np.zeros((count, 3)), np.zeros((count, 1, 3))
        self._omega_column, self._products = self._omega[:, :, None], np.zeros((count, 3, 3))
        self._flat_products = self._products.reshape(-1, 9)
        self._is_many = count >= MANY
        if self._is_many:  # The rows are x, y, z, x, y. So a slice gives the axes that follow an axis.
            self._omegas, self._arms = np.zeros((5, count)), np.zeros((5, count))
            self._velocities, self._other = np.zeros((3, count)), np.zeros((3, count))

    def write(self, velocity: NDArray[np.float32], angular_velocity: NDArray[np.float32]) -> None:
        """Writes velocities and angular velocities of all bodies. Each array has the shape (n, 3)."""
        angular_velocity[...] = self._omega
        if not self._has_arms:
            velocity[...] = self._linear
            return
        centers = self._centers
        if self._root is not None:
            centers = centers.take(self._root, axis=0, out=self._own_centers, mode="clip")
        if self._is_many:
            self._write_components(velocity, centers)
        else:
            np.subtract(self._position, centers, out=self._arm[:, 0])
            np.multiply(self._omega_column, self._arm, out=self._products)
            np.matmul(self._flat_products, _CROSS_PRODUCT, out=self._own_centers)
            np.add(self._own_centers, self._linear, out=velocity, casting="same_kind")

    def _write_components(self, velocity: NDArray[np.float32], centers: NDArray[np.float64]) -> None:
        omegas, arms, crossed = self._omegas, self._arms, self._velocities
        for axis in range(3):
            np.subtract(self._position[:, axis], centers[:, axis], out=arms[axis])
            np.copyto(omegas[axis], self._cvel[:, axis])
        arms[3:], omegas[3:] = arms[:2], omegas[:2]
        np.multiply(omegas[1:4], arms[2:], out=crossed)
        np.multiply(omegas[2:], arms[1:4], out=self._other)
        np.subtract(crossed, self._other, out=crossed)
        for axis in range(3):
            np.add(crossed[axis], self._cvel[:, 3 + axis], out=velocity[:, axis], casting="same_kind")
