"""Velocities of origins against MuJoCo's own, in each of the ways in which they are computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.sim.engines.mujoco.models import MOVING
from twixt.ipc.snapshot import BODY

mujoco = pytest.importorskip("mujoco")

from twixt.sim.engines.mujoco import body_poses  # noqa: E402
from twixt.sim.engines.mujoco.body_poses import OriginVelocity  # noqa: E402

BALLS = """
<mujoco><worldbody>
  <body><geom size="0.1"/></body>
  <body pos="1 0 0"><freejoint/><geom size="0.1"/></body>
  <body pos="2 0 0"><freejoint/><geom type="box" size="0.1 0.2 0.3"/></body>
</worldbody></mujoco>
"""
OFF_CENTER = BALLS.replace('size="0.1 0.2 0.3"', 'size="0.1 0.2 0.3" pos="0 0.5 0"')


def moving(xml: str) -> tuple[Any, Any]:
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    data.qvel[:] = np.random.default_rng(2).normal(size=model.nv)
    mujoco.mj_step(model, data, 3)
    mujoco.mj_forward(model, data)
    return model, data


@pytest.mark.parametrize("many", [1, 1000])
@pytest.mark.parametrize("xml", [MOVING, BALLS, OFF_CENTER])
def test_each_way_gives_mujocos_own_velocities(xml: str, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_poses, "MANY", many)
    model, data = moving(xml)
    records = np.zeros(model.nbody, BODY)
    velocity = OriginVelocity(model, data)
    velocity.write(records["velocity"], records["angular_velocity"])
    assert velocity._has_arms == (xml != BALLS)
    for body in range(model.nbody):
        own = np.zeros(6)
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, own, 0)
        if model.body_mocapid[body] < 0:
            assert records["angular_velocity"][body] == pytest.approx(own[:3], abs=1e-5)
            assert records["velocity"][body] == pytest.approx(own[3:], abs=1e-5)
