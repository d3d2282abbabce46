"""Switches of the overlay and MuJoCo's options: what the code changes counts, else what users switch."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.engines.mujoco.models import HUNG, KINDS, MOVING, SKINNED, Launch
from twixt.ipc.commands import Command
from twixt.ipc.interaction.controls import Toggle
from twixt.ipc.scene import Compound, Texture
from twixt.sim.engines.mujoco.model_world import world_of_file
from twixt.sim.engines.mujoco.overlay_content import ShowSwitches

mujoco = pytest.importorskip("mujoco")

POINT, TRANSPARENT = int(mujoco.mjtVisFlag.mjVIS_CONTACTPOINT), int(mujoco.mjtVisFlag.mjVIS_TRANSPARENT)
TEXTURE, SKYBOX = int(mujoco.mjtVisFlag.mjVIS_TEXTURE), int(mujoco.mjtRndFlag.mjRND_SKYBOX)
PAINTED = """
<mujoco>
  <asset>
    <texture type="skybox" builtin="gradient" rgb1="1 1 1" rgb2="0 0 1" width="8" height="8"/>
    <texture name="squares" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 1 0" width="8" height="8"/>
    <material name="squares" texture="squares"/>
  </asset>
  <worldbody><body><freejoint/><geom type="box" size="1 1 1" material="squares" rgba="0.2 0.4 0.6 1"/></body></worldbody>
</mujoco>
"""


def made(xml: str) -> tuple[ShowSwitches, Any, dict[str, Toggle]]:
    model, opt = mujoco.MjModel.from_xml_string(xml), mujoco.MjvOption()
    switches = ShowSwitches(model, opt, mujoco.MjvScene(model, 1))
    return switches, opt, {toggle.name: toggle for toggle in switches.offered}


def test_switches_are_of_what_the_model_has() -> None:
    _, opt, of_kinds = made(KINDS)
    assert {name: of_kinds[name].value for name in ("contact point", "static body", "geoms of group 0")} == {
        "contact point": False, "static body": True, "geoms of group 0": True
    }  # fmt: skip
    assert {name for name in of_kinds if "group" in name} == {
        "geoms of group 0", "geoms of group 3", "sites of group 0", "sites of group 4"
    }  # fmt: skip
    assert {"convex hull", "mesh tree"} <= of_kinds.keys()
    assert {"tendon", "skin", "camera", "flex skin"}.isdisjoint(of_kinds)
    assert {"tendon", "camera", "light", "actuator", "equality"} <= made(HUNG)[2].keys()
    assert "skin" in made(SKINNED)[2]
    assert {toggle.section for toggle in of_kinds.values()} == {"show"}
    assert len(opt.flags) == len(mujoco.mjVISSTRING)


def test_what_the_code_has_changed_counts_and_else_what_was_switched() -> None:
    switches, opt, toggles = made(KINDS)
    assert not switches.exchange()
    toggles["contact point"]._set(1)
    toggles["geoms of group 3"]._set(1)
    toggles["sites of group 0"]._set(0)
    opt.flags[TRANSPARENT] = 1
    before = switches.parts
    assert switches.exchange()
    assert opt.flags[POINT] == 1
    assert opt.geomgroup[3] == 1
    assert opt.sitegroup[0] == 0
    assert toggles["transparent"].value
    assert switches.parts != before
    assert not switches.exchange()
    opt.flags[POINT] = 0
    toggles["contact point"]._set(1)  # as it is
    toggles["transparent"]._set(0)
    assert switches.exchange()
    assert (opt.flags[POINT], opt.flags[TRANSPARENT]) == (0, 0)
    assert not toggles["contact point"].value


def place_of(controls: Any, name: str) -> int:
    return [control.name for control in controls].index(name)


def test_a_switch_of_a_viewer_arrives_in_opt_at_a_sync_and_the_codes_change_at_the_viewer(launch: Launch) -> None:
    handle, reader = launch(KINDS, publish_hz=1e6)
    reader.until(lambda: "controls" in reader._link.status)
    rows = reader._link.status["controls"]
    place = [row[1] for row in rows].index("geoms of group 3")
    before = len(reader.scene().shapes[1].parts)  # type: ignore[union-attr]
    reader._link.send(Command("control", [place, 1.0]))

    def parts() -> int:
        handle.sync()
        shape = reader.scene().shapes[1]
        assert isinstance(shape, Compound)
        return len(shape.parts)

    reader.until(lambda: parts() == before + 1)
    assert handle.opt.geomgroup[3] == 1
    handle.opt.geomgroup[3] = 0
    handle.opt.flags[POINT] = 1
    handle.sync()
    at = [row[1] for row in rows].index("contact point")

    def told() -> bool:
        shown = reader._link.status["controls"]
        return (shown[place][2], shown[at][2]) == (0.0, 1.0)

    reader.until(told)
    assert handle.opt.geomgroup[3] == 0
    reader._link.send(Command("control", [190, 1.0]))  # of no control


def test_sky_and_textures_are_switched_by_the_code_and_by_a_viewer(launch: Launch) -> None:
    assert {"texture", "skybox"}.isdisjoint(made(HUNG)[2])
    handle, reader = launch(PAINTED, publish_hz=1e6)
    reader.until(lambda: "controls" in reader._link.status)
    names = [row[1] for row in reader._link.status["controls"]]

    def shown() -> tuple[bool, bool]:
        handle.sync()
        scene = reader.scene()
        body = scene.shapes[1]
        assert body.color[:3] == pytest.approx((0.2, 0.4, 0.6))  # type: ignore[union-attr,index]
        return isinstance(scene.background, Texture), body.material is not None  # type: ignore[union-attr]

    assert shown() == (True, True)
    reader._link.send(Command("control", [names.index("skybox"), 0.0]))
    reader._link.send(Command("control", [names.index("texture"), 0.0]))
    reader.until(lambda: shown() == (False, False))
    flags = handle.user_scn.flags  # made only now
    assert (flags[SKYBOX], handle.opt.flags[TEXTURE]) == (0, 0)
    flags[SKYBOX] = 1
    reader.until(lambda: shown() == (True, False))
    handle.opt.flags[TEXTURE] = 1
    reader.until(lambda: shown() == (True, True))
    reader._link.send(Command("control", [names.index("skybox"), 0.0]))
    reader.until(lambda: shown() == (False, True))
    assert handle.user_scn.flags[SKYBOX] == 0


def test_a_model_that_runs_shows_what_is_switched_on(tmp_path: Any) -> None:
    path = tmp_path / "model.xml"
    path.write_text(KINDS)
    world = world_of_file(str(path))()
    scene, count = world.scene, len(world.controls)
    world.step(world.dt)
    assert world.scene is scene
    assert world.marks is None
    world.controls[place_of(world.controls, "geoms of group 3")]._set(1)
    world.controls[place_of(world.controls, "joint")]._set(1)
    world.step(world.dt)
    assert len(world.scene.shapes[1].parts) == len(scene.shapes[1].parts) + 1  # type: ignore[union-attr]
    assert world.scene.camera == scene.camera
    assert world.marks is not None
    assert len(world.marks.records) >= 2
    path.write_text(MOVING)
    while not world._is_outdated():
        path.touch()
    world.reset()
    assert world.controls[place_of(world.controls, "joint")].value, "a switch outlasts a new file"
    assert len(world.controls) != count
