"""A world made from a model file: `twixt run humanoid.xml`, `twixt run mujoco:humanoid.xml`.

It steps with the model's own timestep, and starts, and starts again at a reset, as MuJoCo's own viewer does or at a
keyframe: `--set keyframe=home`.

Always: a state depends on the file and the number of steps alone. A model that MuJoCo itself resets, because it has
become unstable, is cut.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.process.user_code import near_name
from twixt.ipc.snapshot import CONTINUITY_MASK, RECORD, new_bodies
from twixt.sim.engines.mujoco.body_poses import BodyPoses
from twixt.sim.engines.mujoco.model_file import PREFIX, loaded_model
from twixt.sim.engines.mujoco.model_scene import scene
from twixt.sim.engines.mujoco.mujoco_package import mujoco, required
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.world import World


def world_of_file(name: str) -> type[World]:
    """The world of a model file, named as in `is_model`. Raises TwixtError without MuJoCo, or without the file."""
    path = name.removeprefix(PREFIX)
    required()
    if not os.path.isfile(path):
        raise TwixtError(f"no file {path!r}; give the path of a MuJoCo model, such as humanoid.xml")
    return type("MujocoModel", (ModelWorld,), {"path": path, "__module__": __name__})


class ModelWorld(World):
    """The model in the file `path`. keyframe: name or number of the one to start at; empty for the model's own start."""

    path = ""
    dt = 0.0  # the model's own; another one by --physics-hz

    def __init__(self, keyframe: str = "") -> None:
        self._model = model = loaded_model(self.path)
        self._data = mujoco.MjData(model)
        self._keyframe = _number_of(model, keyframe)
        if self.dt:
            model.opt.timestep = self.dt
        self.dt = float(model.opt.timestep)
        self._poses = BodyPoses(model, self._data)
        self.scene = scene(model)
        self.bodies = Bodies(self._poses.count)
        self._epoch = 0
        self.reset()

    def reset(self) -> None:
        """Starts again."""
        if self._keyframe is None:
            mujoco.mj_resetData(self._model, self._data)
        else:
            mujoco.mj_resetDataKeyframe(self._model, self._data, self._keyframe)
        mujoco.mj_forward(self._model, self._data)

    def step(self, dt: float) -> None:
        """Makes as many of the model's steps as `dt` seconds hold: one, or more with --when-slow widen."""
        for _ in range(max(1, round(dt / self.dt))):
            before = self._data.time
            mujoco.mj_step(self._model, self._data)
            if self._data.time <= before:  # MuJoCo has reset it, and made the step
                self._epoch = (self._epoch + 1) & CONTINUITY_MASK

    def write_bodies(self, records: NDArray[np.void]) -> None:
        """Writes all bodies."""
        records.view(RECORD)[:] = new_bodies(1).view(RECORD)
        self._poses.write(records)
        records["epoch"] = self._epoch

    def diagnostics(self) -> dict[str, float]:
        """Number of contacts."""
        return {"contacts": float(self._data.ncon)}


def _number_of(model: Any, keyframe: str) -> int | None:
    names = [model.key(number).name for number in range(model.nkey)]
    if not keyframe:
        return None
    if keyframe in names:
        return names.index(keyframe)
    if keyframe.isdigit() and int(keyframe) < model.nkey:
        return int(keyframe)
    has = f"it has {', '.join(names) or model.nkey}" if model.nkey else "it has none"
    raise TwixtError(f"the model has no keyframe {keyframe!r}; {near_name(keyframe, names) or has}")
