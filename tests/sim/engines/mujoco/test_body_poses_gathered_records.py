"""Records written by one gather are those that are written field by field."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.sim.engines.mujoco.models import HUNG, KINDS, MOVING
from twixt.ipc.ring.slot import PrivateSlot
from twixt.ipc.snapshot import BODY, new_bodies
from twixt.sim.engines.mujoco.body_poses import BodyPoses

mujoco = pytest.importorskip("mujoco")


def moving(xml: str) -> tuple[Any, Any]:
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    data.qvel[:] = np.random.default_rng(3).normal(size=model.nv)
    mujoco.mj_step(model, data, 3)
    return model, data


def written(poses: BodyPoses) -> np.ndarray:
    """Records that hold the present state, written into a slot."""
    slot = PrivateSlot(lambda slot: None)
    slot.reopen(1, poses.count)
    poses.write_into(slot)
    return slot.records


@pytest.mark.parametrize("xml", [MOVING, KINDS, HUNG])
def test_all_fields_are_those_of_the_other_way(xml: str) -> None:
    model, data = moving(xml)
    poses = BodyPoses(model, data)
    assert poses._gathered is not None
    for _ in range(3):
        mujoco.mj_step(model, data)
        wanted = new_bodies(model.nbody)
        poses.write(wanted)
        found = written(poses)
        for name in BODY.names or ():
            assert np.allclose(found[name], wanted[name], atol=1e-6), name
    assert np.abs(found["velocity"]).max() > 0.1


def test_after_a_reset_the_poses_are_those_of_the_present_joints_and_later_ones_have_velocities() -> None:
    model, data = moving(MOVING)
    poses = BodyPoses(model, data)
    before = written(poses)["flags"].tolist()
    mujoco.mj_resetData(model, data)
    assert written(poses)["position"][1].tolist() == [0, 0, 1]
    mujoco.mj_step(model, data)
    assert written(poses)["flags"].tolist() == before


@pytest.mark.filterwarnings("error")
def test_a_model_that_diverges_is_written_without_a_warning() -> None:
    model, data = moving(MOVING)
    data.xpos[1], data.cvel[2], data.xpos[3] = 1e300, np.inf, np.nan
    assert not np.isfinite(written(BodyPoses(model, data))["position"][1]).any()
    data.xpos[1], data.xpos[2] = np.inf, -np.inf
    assert not np.isfinite(written(BodyPoses(model, data))["position"][1:3]).any()
