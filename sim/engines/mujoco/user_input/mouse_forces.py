"""A user can drag bodies with the mouse in a viewer. A drag sets `MjvPerturb`, forces in `xfrc_applied`, and poses of
mocap bodies.

A pull sets MuJoCo's `MjvPerturb`, as the mouse does in MuJoCo's own viewer. From `MjvPerturb`, MuJoCo computes the
force of a spring with the body's true mass, and moves mocap bodies. Several handles may show the same `MjData`. So the
forces on each `MjData` are stored together, and summed.

Always: only forces that this module added are removed, and only if the value in `xfrc_applied` has not changed since
then. So values that the program writes stay exactly the same. When a drag or the viewer ends, the next `sync` or
`close` removes the force. One case is not covered. If the program changes a value with `+=` during a pull, the result
contains the pull, but looks like a value that the program wrote. So this result is kept as the program's value.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.interaction.events import Pull
from twixt.ipc.session.viewers import ReceivedActions
from twixt.sim.engines.mujoco.model.model_camera import default_camera
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjData, MjModel, MjvPerturb


class BodyForce(NamedTuple):
    """Force (N) and torque (N m) on the centre of mass of a body, in the world frame; an array of shape (6,)."""

    body: int
    force: NDArray[np.float64]


class _Row(NamedTuple):
    """A row of `xfrc_applied`. Both arrays have the shape (6,). own: the program's value. whole: the last written sum
    of `own` and all pulls."""

    own: NDArray[np.float64]
    whole: NDArray[np.float64]


class DataForces:
    """Pulls of all handles on the bodies of one `data`. Any thread may use this object.

    Always: even if a signal handler raises an exception at any point, each row contains the program's value, with or
    without the pulls. All rows that contain pulls are in `_rows`.
    """

    def __init__(self, data: MjData) -> None:
        self._data = data
        self._lock = threading.RLock()  # the lock is re-entrant, because a signal handler may call `close`
        self._is_busy = False
        self._pending: deque[tuple[object, Callable[[], BodyForce | None] | None]] = deque()
        self._pulls: dict[object, BodyForce] = {}
        self._rows: dict[int, _Row] = {}

    @staticmethod
    def of(data: MjData) -> DataForces:
        """Returns the `DataForces` of `data`. All callers get the same object. The object holds a reference to
        `data`."""
        with _known_lock:
            found = _known.get(id(data))
            if found is None:
                found = _known[id(data)] = DataForces(data)
            return found

    def pull(self, puller: object, force: Callable[[], BodyForce | None]) -> None:
        """Replaces the force of one puller. force: function that returns the force, or None. The function may write
        into `xfrc_applied`."""
        self._pending.append((puller, force))
        with self._lock:
            self._carry_out()

    def release(self, puller: object) -> None:
        """Removes the force of one puller."""
        self._pending.append((puller, None))
        with self._lock:
            self._carry_out()

    def release_later(self, puller: object) -> None:
        """Removes the force of a puller that was garbage-collected. This method does not wait. If another thread holds
        the lock, a later call of any method removes the force."""
        self._pending.append((puller, None))
        if self._lock.acquire(blocking=False):
            try:
                self._carry_out()
            finally:
                self._lock.release()

    def has(self, puller: object) -> bool:
        """True if a force of the puller is applied."""
        return puller in self._pulls

    def _carry_out(self) -> None:
        # This call comes from a signal handler or the garbage collector. The interrupted call does the remaining work.
        if self._is_busy:
            return
        self._is_busy = True
        try:
            while self._pending:
                puller, force = self._pending.popleft()
                pull = None if force is None else force()
                if pull is None:
                    self._pulls.pop(puller, None)
                else:
                    self._pulls[puller] = pull
                for body in {*self._rows, *(each.body for each in self._pulls.values())}:
                    self._write(body)
        finally:
            self._is_busy = False

    def _write(self, body: int) -> None:
        row, known = self._data.xfrc_applied[body], self._rows.get(body)
        own = row.copy()
        if known is not None:
            # If the body's position is NaN, the pull is NaN as well.
            is_ours = (row == known.whole) | (np.isnan(row) & np.isnan(known.whole))
            own[is_ours] = known.own[is_ours]
        forces = [pull.force for pull in self._pulls.values() if pull.body == body]
        row[:] = own
        self._rows.pop(body, None)
        if forces:
            # The entry in `_rows` is made before the row is written. So after an interruption between these two
            # actions, the row still has the program's value.
            self._rows[body] = known = _Row(own, own + sum(forces))
            row[:] = known.whole


_known: weakref.WeakValueDictionary[int, DataForces] = weakref.WeakValueDictionary()
_known_lock = threading.Lock()


class MouseForces:
    """Pulls by the users of one view on the bodies of `data`. perturb: MuJoCo's struct, which the program may read and
    set."""

    def __init__(self, model: MjModel, data: MjData, perturb: MjvPerturb, users: ReceivedActions) -> None:
        self._model, self._data, self._perturb, self._users = model, data, perturb, users
        self._scene: Any = None  # MuJoCo's struct that `mjv_initPerturb` requires
        self._pull = Pull()  # the pull with which `perturb` was set
        # body and point that were grabbed, according to `perturb`
        self._grabbed: tuple[int, tuple[float, float, float]] | None = None
        self._begun_turn: NDArray[np.float64] = np.zeros(4)
        self._is_on = False  # True if a force must be removed later, or if `perturb` must be watched
        self._forces, self._puller = DataForces.of(data), object()
        weakref.finalize(self, self._forces.release_later, self._puller).atexit = False

    @property
    def is_needed(self) -> bool:
        """True if `apply` must be called."""
        return bool(self._users.pulls or self._is_on or self._perturb.active)

    def apply(self) -> None:
        """Updates forces, mocap poses and `perturb`. Call this method in each `sync` while `is_needed` is True."""
        pulls, perturb = self._users.pulls, self._perturb
        if pulls or self._pull.body is not None:
            self._follow(pulls[-1] if pulls else Pull())
        if perturb.active or perturb.active2:
            self._forces.pull(self._puller, self._force)
        elif self._forces.has(self._puller):
            self._forces.release(self._puller)
        is_pulling = self._forces.has(self._puller)
        self._is_on = bool(is_pulling or self._pull.body is not None or perturb.active2)

    def end(self) -> None:
        """Removes the force of this view. Call this method when the viewer ends."""
        self._forces.release(self._puller)

    def _follow(self, pull: Pull) -> None:
        """Sets `perturb` to the user's pull."""
        self._pull, perturb = pull, self._perturb
        if pull.body is None or pull.body >= self._model.nbody:
            perturb.active = perturb.select = 0
            self._grabbed = None
            return
        if (pull.body, pull.point) != self._grabbed:
            perturb.select, perturb.flexselect, perturb.skinselect = pull.body, -1, -1
            perturb.localpos[:] = pull.point
            self._grabbed = pull.body, pull.point
        if not pull.is_held:
            perturb.active = 0
            return
        kind = mujoco.mjtPertBit.mjPERT_ROTATE if pull.is_turn else mujoco.mjtPertBit.mjPERT_TRANSLATE
        if perturb.active != int(kind):
            if self._scene is None:
                scene = mujoco.MjvScene(self._model, 1)
                mujoco.mjv_updateCamera(self._model, self._data, default_camera(self._model), scene)
                # The scene is stored only when it is complete, because a signal handler may raise an exception
                # anywhere.
                self._scene = scene
            mujoco.mjv_initPerturb(self._model, self._data, self._scene, perturb)
            self._begun_turn = np.array(perturb.refquat)
            perturb.active = int(kind)
        if pull.is_turn:
            turn = np.zeros(4)
            angle = math.dist(pull.turn, (0, 0, 0))
            mujoco.mju_axisAngle2Quat(turn, np.array(pull.turn) / (angle or 1.0), angle)
            mujoco.mju_mulQuat(perturb.refquat, turn, self._begun_turn)
        else:
            perturb.refpos[:] += pull.target - perturb.refselpos
            perturb.refselpos[:] = pull.target

    def _force(self) -> BodyForce | None:
        """Returns the force that `perturb` causes now, or None. A mocap body is moved instead."""
        perturb, data = self._perturb, self._data
        body = int(perturb.select)
        if not 0 < body < self._model.nbody:
            return None
        mujoco.mjv_applyPerturbPose(self._model, data, perturb, 0)
        if not self._model.body_dofnum[self._model.body_weldid[body]]:
            return None  # the body is a mocap body or static
        row = data.xfrc_applied[body]
        before = row.copy()
        try:
            row[:] = 0
            mujoco.mjv_applyPerturbForce(self._model, data, perturb)
            force = row.copy()
        finally:
            row[:] = before
        return BodyForce(body, force) if force.any() else None
