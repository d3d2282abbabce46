"""Bodies that a viewer's user drags, in MuJoCo's own terms: the perturbation, forces in `xfrc_applied`, mocap poses.

The one idea: a pull sets MuJoCo's `MjvPerturb`, as its own viewer's mouse does; MuJoCo then computes the spring, with the
body's true mass, and moves mocap bodies.

Always: only what was added here is taken away again, and only where it is still there, number by number: what the program
writes into `xfrc_applied` stays, to the last bit. When the drag ends, or the viewer goes, the force is gone with the next
`sync`, and with `close`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.interaction.user_actions import Pull
from twixt.ipc.session.received_actions import ReceivedActions
from twixt.sim.engines.mujoco.model.model_camera import default_camera
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjData, MjModel, MjvPerturb


class MouseForces:
    """Pulls of the users of one view on the bodies of `data`. perturb: MuJoCo's struct, which the program may read, and
    set itself."""

    def __init__(self, model: MjModel, data: MjData, perturb: MjvPerturb, users: ReceivedActions) -> None:
        self._model, self._data, self._perturb, self._users = model, data, perturb, users
        self._scene: Any = None  # MuJoCo's struct, which `mjv_initPerturb` asks for
        self._pull = Pull()  # the one that `perturb` has
        self._begun_turn: NDArray[np.float64] = np.zeros(4)
        self._is_on = False  # there is something to be taken away, or to be watched
        # Body, what it has now, what it had without our part.
        self._left: tuple[int, NDArray[np.float64], NDArray[np.float64]] | None = None

    @property
    def is_needed(self) -> bool:
        """True if `apply` has something to do."""
        return bool(self._users.pulls or self._is_on or self._perturb.active)

    def apply(self) -> None:
        """Brings forces, mocap poses and `perturb` up to date; to be called in each `sync` while `is_needed`."""
        if not self.is_needed:
            return
        pulls, perturb = self._users.pulls, self._perturb
        if pulls or self._pull.body is not None:
            self._follow(pulls[-1] if pulls else Pull())
        if perturb.active or perturb.active2 or self._left is not None:
            self._take_away()
            if perturb.active or perturb.active2:
                self._add()
        self._is_on = bool(self._left is not None or self._pull.body is not None or perturb.active2)

    def end(self) -> None:
        """Takes the force away: the viewer goes."""
        self._take_away()

    def _follow(self, pull: Pull) -> None:
        """Sets `perturb` to the user's pull."""
        before, self._pull, perturb = self._pull, pull, self._perturb
        if pull.body is None or pull.body >= self._model.nbody:
            perturb.active = perturb.select = 0
            return
        if (pull.body, pull.point) != (before.body, before.point):
            perturb.select, perturb.flexselect, perturb.skinselect = pull.body, -1, -1
            perturb.localpos[:] = pull.point
        if not pull.is_held:
            perturb.active = 0
            return
        kind = mujoco.mjtPertBit.mjPERT_ROTATE if pull.is_turn else mujoco.mjtPertBit.mjPERT_TRANSLATE
        if perturb.active != int(kind):
            if self._scene is None:
                self._scene = mujoco.MjvScene(self._model, 1)
                mujoco.mjv_updateCamera(self._model, self._data, default_camera(self._model), self._scene)
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

    def _add(self) -> None:
        perturb, data = self._perturb, self._data
        body = int(perturb.select)
        if not 0 < body < self._model.nbody:
            return
        mujoco.mjv_applyPerturbPose(self._model, data, perturb, 0)
        if not self._model.body_dofnum[self._model.body_weldid[body]]:
            return  # a mocap body, or one that nothing moves
        forces = data.xfrc_applied[body]
        before = forces.copy()
        forces[:] = 0
        mujoco.mjv_applyPerturbForce(self._model, data, perturb)
        is_pulled = forces.any()
        forces += before
        if is_pulled:
            self._left = body, forces.copy(), before

    def _take_away(self) -> None:
        left, self._left = self._left, None
        if left is not None:
            body, whole, before = left
            forces = self._data.xfrc_applied[body]
            is_ours = (forces == whole) | (np.isnan(forces) & np.isnan(whole))  # a body without a place
            forces[is_ours] = before[is_ours]
