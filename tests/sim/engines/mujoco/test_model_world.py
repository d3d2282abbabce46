"""Worlds from model files: found by path, stepped, reset, refused."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import twixt
from tests.sim.engines.mujoco.models import HUNG, KINDS, MOVING
from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.controls import Control
from twixt.sim.engines.mujoco.model_world import world_of_file
from twixt.sim.engines.mujoco.mujoco_package import loaded_model
from twixt.sim.engines.mujoco.overlay_content import SECTION
from twixt.sim.world.world import MOST_FIGURES, World, filled_bodies, reset_world, state_hash
from twixt.sim.world.world_guard import GuardedWorld
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
NO_RESET = '<option><flag autoreset="disable"/></option><worldbody>'


def load_world(name: str, settings: Sequence[tuple[str, str]] = ()) -> World:
    return make_world(world_of_file(name), settings, 0)


@pytest.fixture
def moving(users_folder: Path) -> str:
    (users_folder / "moving.xml").write_text(MOVING)
    return "moving.xml"


def own(world: World) -> list[Control]:
    """The model's own controls, without the switches of what is shown."""
    return [control for control in world.controls if control.section != SECTION]


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
    with pytest.raises(TwixtError, match="no keyframe '²'"):
        load_world(moving, [("keyframe", "²")])


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


def test_a_model_that_mujoco_resets_itself_is_cut(users_folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (users_folder / "unstable.xml").write_text(UNSTABLE)
    world = load_world("unstable.xml", [("keyframe", "0")])
    epochs = []
    for _ in range(40):
        world.step(world.dt)
        epochs.append(int(filled_bodies(world).epoch[1]))
    assert epochs[0] == 0
    assert epochs[-1] > 0
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("twixt:")]
    assert len(said) == 1
    assert "the model in unstable.xml became unstable after" in said[0]
    assert "smaller timestep" in said[0]


def test_a_model_that_is_lost_is_named_with_a_way_out(users_folder: Path) -> None:
    (users_folder / "lost.xml").write_text(UNSTABLE.replace("<worldbody>", NO_RESET))
    world, warnings = load_world("lost.xml", [("keyframe", "0")]), list[str]()
    guarded = GuardedWorld(world, lambda: world, 0, warnings.append)
    for _ in range(200):
        guarded.step(world.dt)
    guarded.check_all_bodies(200)
    assert len(warnings) == 1
    assert "it is not drawn; the model in lost.xml is unstable; give its <option> a smaller timestep" in warnings[0]


def test_as_many_joints_are_shown_as_viewers_are_told(users_folder: Path) -> None:
    joints = "".join(f'<body><joint name="j{i}"/><geom size="1"/></body>' for i in range(100))
    (users_folder / "many.xml").write_text(f"<mujoco><worldbody>{joints}</worldbody></mujoco>")
    figures = list(load_world("many.xml").diagnostics())
    assert figures == ["contacts", *(f"j{i}" for i in range(MOST_FIGURES - 1))]


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


TUNED = """
<mujoco>
  <worldbody>
    <body name="arm"><joint name="hinge" axis="0 1 0"/><geom type="capsule" size="0.05" fromto="0 0 0 1 0 0"/></body>
    <body name="ball" pos="2 0 0"><freejoint/><geom size="0.1"/></body>
  </worldbody>
  <actuator><motor name="motor" joint="hinge" ctrlrange="-2 2"/><motor joint="hinge"/></actuator>
  <equality><connect name="rope" body1="ball" anchor="0 0 0"/></equality>
  <keyframe><key name="up" qpos="1.5 2 0 3 1 0 0 0" ctrl="0.5 0"/></keyframe>
</mujoco>
"""


# Distinct textures of 64 MiB in all.
TEXTURES_TOO_LARGE = "".join(
    f"""<texture name="t{i}" type="2d" builtin="flat" rgb1="0 0 {i / 4}" width="2000" height="2000"/>
    <material name="m{i}" texture="t{i}"/>"""
    for i in range(5)
)
SHOWN_TEXTURES = "".join(f"""<geom size="0.1" contype="0" conaffinity="0" material="m{i}"/>""" for i in range(5))


@pytest.fixture
def tuned(users_folder: Path) -> Path:
    path = users_folder / "tuned.xml"
    path.write_text(TUNED)
    return path


def test_a_model_offers_its_actuators_equalities_and_keyframes(tuned: Path) -> None:
    world = load_world(tuned.name)
    assert [(control._kind, control.name) for control in own(world)] == [
        ("button", "up"), ("slider", "motor"), ("slider", "actuator 1"), ("toggle", "rope"),
    ]  # fmt: skip
    up, motor, _, rope = own(world)
    assert motor._shown == (0, -2, 2)
    assert rope._shown == (1, 0, 1)
    motor._set(1.25)
    rope._set(0)
    world.step(world.dt)
    data = world._data  # type: ignore[attr-defined]
    assert data.ctrl.tolist() == [1.25, 0]
    assert data.eq_active.tolist() == [0]
    before = filled_bodies(world).records["epoch"].copy()
    up._set(1)
    world.step(world.dt)
    assert motor._shown == (0.5, -2, 2)
    assert (filled_bodies(world).records["epoch"] != before).all()
    assert world.diagnostics()["hinge"] == pytest.approx(1.5, abs=0.01)


def test_what_nobody_moved_is_the_models_own_affair(tuned: Path) -> None:
    world = load_world(tuned.name)
    data = world._data  # type: ignore[attr-defined]
    data.ctrl[:] = (5.0, 0.25)  # as a plugin or a callback of the model's would
    world.step(world.dt)
    assert data.ctrl.tolist() == [5.0, 0.25]
    world.controls[2]._set(0.5)
    world.step(world.dt)
    data.ctrl[1] = 0.75
    world.step(world.dt)
    assert data.ctrl.tolist() == [5.0, 0.75], "what a user has set counts once"


def test_a_file_that_is_saved_again_is_loaded_again_with_other_bodies(
    tuned: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    world = load_world(tuned.name)
    assert not world._is_outdated()
    tuned.write_text(TUNED.replace("<motor", "<moter"))
    assert not world._is_outdated()
    assert re.search(r"MuJoCo cannot load 'tuned.xml': .*moter.*; the old model stays in use", capfd.readouterr().err)
    tuned.write_text(TUNED.replace("<worldbody>", f"<asset>{TEXTURES_TOO_LARGE}</asset><worldbody>{SHOWN_TEXTURES}"))
    assert not world._is_outdated()  # MuJoCo loads it, a scene does not hold it
    assert re.search(
        r"'tuned.xml' cannot be shown: .*56 MiB in all, got .*; the old model stays in use", capfd.readouterr().err
    )
    world.step(world.dt)
    more = '<body name="second"><freejoint/><geom size="0.2"/></body></worldbody>'
    tuned.write_text(TUNED.replace("</worldbody>", more).partition("<keyframe>")[0] + "</mujoco>")
    assert world._is_outdated()
    count = len(world.bodies)
    assert reset_world(world, 0)
    assert len(world.bodies) == len(world.scene.shapes) == count + 1
    assert [control.name for control in own(world)] == ["motor", "actuator 1", "rope"]
    assert not world._is_outdated()
    world.step(world.dt)


def test_tendons_of_a_models_world_are_its_marks(users_folder: Path, moving: str) -> None:
    (users_folder / "hung.xml").write_text(HUNG)
    world = load_world("hung.xml")
    assert world.marks is not None
    before = world.marks.records.copy()
    assert len(before)
    for _ in range(100):
        world.step(world.dt)
    after = world.marks.records
    assert after["key"].tolist() == before["key"].tolist()
    assert not np.array_equal(after["position"], before["position"])
    assert load_world(moving).marks is None


ARENA = """
<mujoco>
  <worldbody>
    <geom type="box" size="{half} {half} 0.1" pos="0 0 -0.1"/>
    <body name="ball" pos="3 0 0.2"><freejoint/><geom size="0.2"/></body>
    <body name="robot" pos="1 2 0.5">
      <freejoint/><geom type="box" size="0.3 0.2 0.1"/>
      <body pos="0.3 0 0"><joint axis="0 1 0"/><geom type="capsule" size="0.05" fromto="0 0 0 0.4 0 0"/></body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize(("half", "is_tracked"), [(2, False), (60, True)])
def test_a_robot_in_a_far_larger_arena_is_tracked_from_near(users_folder: Path, half: int, is_tracked: bool) -> None:
    (users_folder / "arena.xml").write_text(ARENA.format(half=half))
    camera = load_world("arena.xml").scene.camera
    assert camera is not None
    if not is_tracked:
        assert camera.body is None
        return
    assert (camera.body, camera.rotates_with_body) == (2, False)  # of the tree with the most bodies
    assert 1 < np.linalg.norm(camera.eye) < 4


def test_a_pull_moves_a_body_for_one_step_and_no_longer(moving: str) -> None:
    pulled, other = load_world(moving), load_world(moving)
    for world in (pulled, other):
        world.step(world.dt)
    pulled.apply_force(1, np.array([0.0, 0, 1e4]), filled_bodies(pulled).position[1])  # type: ignore[attr-defined]
    pulled.apply_force(99, np.ones(3), np.zeros(3))  # type: ignore[attr-defined]
    for world in (pulled, other):
        world.step(world.dt)
    first = pulled._data.qvel[2] - other._data.qvel[2]  # type: ignore[attr-defined]
    assert first > 0.1
    for world in (pulled, other):
        world.step(world.dt)
    again = pulled._data.qvel[2] - other._data.qvel[2]  # type: ignore[attr-defined]
    assert again == pytest.approx(first, rel=0.05)


def test_an_actuator_whose_range_no_slider_can_show_has_the_usual_one(users_folder: Path) -> None:
    (users_folder / "wide.xml").write_text(TUNED.replace('ctrlrange="-2 2"', 'ctrlrange="-1e30 1e30"'))
    world = load_world("wide.xml")
    assert world.controls[1]._shown == (0, -1, 1)


def test_a_model_whose_name_is_not_utf_8_is_refused_in_plain_words(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.xml")
    path.write_text(HUNG)
    with pytest.raises(TwixtError, match=r"UTF-8 names only, got '.*caf\\udce9.xml'; rename the file") as raised:
        loaded_model(path)
    assert raised.value.exit_code == 2
