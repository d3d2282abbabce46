"""Worlds from model files: found by path, stepped, reset, refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import twixt
from tests.sim.engines.mujoco.models import KINDS, MOVING
from twixt.ipc.errors import TwixtError
from twixt.sim.engines.mujoco.model_world import world_of_file
from twixt.sim.world.world import World, filled_bodies, reset_world, state_hash
from twixt.sim.worlds.find import make_world

mujoco = pytest.importorskip("mujoco")

# A sphere on a slide that is pushed until numbers overflow: MuJoCo resets the data itself.
UNSTABLE = """
<mujoco>
  <option timestep="0.1" integrator="Euler"/>
  <worldbody><body><joint name="x" type="slide" axis="1 0 0" stiffness="1e4"/><geom size="1" mass="0.01"/></body>
  </worldbody>
  <keyframe><key qpos="1"/></keyframe>
</mujoco>
"""


def load_world(name: str, settings: Sequence[tuple[str, str]] = ()) -> World:
    return make_world(world_of_file(name), settings, 0)


@pytest.fixture
def moving(users_folder: Path) -> str:
    (users_folder / "moving.xml").write_text(MOVING)
    return "moving.xml"


def test_a_file_is_a_world_that_steps_as_mujoco_does(moving: str) -> None:
    world = load_world(moving)
    assert world.dt == 0.002
    model = mujoco.MjModel.from_xml_path(moving)
    data = mujoco.MjData(model)
    for _ in range(50):
        world.step(world.dt)
        mujoco.mj_step(model, data)
    assert np.allclose(filled_bodies(world).position, data.xpos)
    assert len(world.scene.shapes) == len(world.bodies) == model.nbody
    assert "contacts" in world.diagnostics()


def test_its_states_depend_on_the_steps_alone_and_a_reset_begins_anew(moving: str) -> None:
    first, second = load_world(moving), load_world(f"mujoco:{moving}")
    first.step(first.dt)
    assert reset_world(first, 0)
    for world in (first, second):
        for _ in range(20):
            world.step(world.dt)
    assert state_hash(first) == state_hash(second)


def test_a_keyframe_is_where_it_starts_and_where_a_reset_goes(moving: str) -> None:
    for name in ("high", "0"):
        world = load_world(moving, [("keyframe", name)])
        assert filled_bodies(world).position[1].tolist() == [0, 0, 9]
        for _ in range(9):
            world.step(world.dt)
        assert filled_bodies(world).position[1, 2] != 9
        reset_world(world, 0)
        assert filled_bodies(world).position[1].tolist() == [0, 0, 9]
    with pytest.raises(TwixtError, match="no keyframe 'hihg'; did you mean \"high\""):
        load_world(moving, [("keyframe", "hihg")])


@pytest.mark.parametrize("hertz", [60, 1000])
def test_physics_hz_sets_the_models_timestep(moving: str, hertz: int) -> None:
    world = make_world(world_of_file(moving), (), 0, 1 / hertz)
    world.step(world.dt)
    model = mujoco.MjModel.from_xml_path(moving)
    model.opt.timestep = 1 / hertz
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data)
    mujoco.mj_step(model, data)
    world.step(world.dt)
    assert np.allclose(filled_bodies(world).position, data.xpos)


def test_a_widened_step_is_made_of_the_models_own(moving: str) -> None:
    wide, narrow = load_world(moving), load_world(moving)
    wide.step(3 * wide.dt)
    for _ in range(3):
        narrow.step(narrow.dt)
    assert state_hash(wide) == state_hash(narrow)


def test_a_model_that_mujoco_resets_itself_is_cut(users_folder: Path) -> None:
    (users_folder / "unstable.xml").write_text(UNSTABLE)
    world = load_world("unstable.xml", [("keyframe", "0")])
    epochs = []
    for _ in range(40):
        world.step(world.dt)
        epochs.append(int(filled_bodies(world).epoch[1]))
    assert epochs[0] == 0
    assert epochs[-1] > 0


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("broken.xml", "<mujoco><worldbody><geom/></worldbody></mujoco>", "size 0 must be positive"),
        ("cut.xml", KINDS[:200], "XML"),
        ("gone.xml", None, "no file 'gone.xml'"),
        ("mujoco:gone.xml", None, "no file 'gone.xml'"),
        ("empty.mjb", "", "empty.mjb"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_named_with_mujocos_words(
    users_folder: Path, name: str, text: str | None, words: str
) -> None:
    if text is not None:
        (users_folder / name).write_text(text)
    done = subprocess.run(
        [sys.executable, str(twixt.__file__), "sim", name, "--steps", "1"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith("twixt: ")
    assert words in line
    assert name.removeprefix("mujoco:") in line
