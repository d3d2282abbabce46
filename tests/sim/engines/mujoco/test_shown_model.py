"""Fields of a model that are compared with what they held before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from tests.sim.engines.mujoco.against.arrays import EVERYTHING  # noqa: E402
from tests.sim.engines.mujoco.models import KINDS, Launch  # noqa: E402
from twixt.sim.engines.mujoco import shown_model  # noqa: E402
from twixt.sim.engines.mujoco.model.model_scene import light  # noqa: E402
from twixt.sim.engines.mujoco.shown_model import (  # noqa: E402
    ALL_BUT_COLORS,
    COLORS,
    EFFECTS,
    PIECE,
    SHAPES,
    UNSHOWN,
    WatchedModel,
    value_of,
)

EVERY = float("inf")
NUMBERS = ("vis.headlight.active", "vis.global_.fovy", "vis.map.alpha", "vis.map.znear", "vis.map.zfar", "stat.extent")
LIT = KINDS.replace(
    "<worldbody>", '<worldbody><light directional="true" pos="1 0 3" dir="-0.3 0 -1"/><camera pos="0 -5 1" fovy="50"/>'
)
ALWAYS = 1e6  # states a second: each is let through


def model_of(xml: str = LIT) -> Any:
    return mujoco.MjModel.from_xml_string(xml)


@pytest.mark.parametrize("name", sorted(EFFECTS))
def test_a_change_of_each_field_is_found_with_its_effect_alone(name: str) -> None:
    model = model_of(EVERYTHING)
    watched = WatchedModel(model, ALL_BUT_COLORS | COLORS)
    *path, last = name.split(".")
    owner, value = value_of(model, ".".join(path)) if path else model, value_of(model, name)
    if value is None or (isinstance(value, np.ndarray) and not value.size):
        return  # of a kind that this model, or this version of MuJoCo, lacks
    if isinstance(value, np.ndarray):
        last_one = value.reshape(-1)[-1:]
        last_one[:] = ~last_one if value.dtype == bool else last_one + 1
    else:
        setattr(owner, last, value + 1)
    assert watched.compare(EVERY)
    assert watched.changed == EFFECTS[name]
    assert watched.unshown == ([name] if EFFECTS[name] == UNSHOWN else [])
    watched.changed = 0
    assert watched.compare(EVERY)
    assert watched.changed == 0


def test_the_numbers_of_the_visual_part_are_found_in_memory() -> None:
    assert set(shown_model._offsets()) == set(NUMBERS)


def test_a_look_compares_no_more_than_it_may_and_goes_on_there() -> None:
    geoms = "".join(f'<geom size="0.1" pos="{place} 0 0"/>' for place in range(9000))
    model = model_of(f"<mujoco><worldbody>{geoms}</worldbody></mujoco>")
    watched = WatchedModel(model, ALL_BUT_COLORS)
    model.geom_size[8999] = 0.2
    looks = 1
    while not watched.compare(PIECE):
        looks += 1
    assert looks > 5
    assert watched.changed == SHAPES
    watched.changed = 0
    while not watched.compare(PIECE):
        pass
    assert watched.changed == 0


def test_what_lies_between_two_fields_is_no_change_of_them() -> None:
    model = model_of()
    watched = WatchedModel(model, ALL_BUT_COLORS)
    model.geom_friction[:] += 1
    model.vis.scale.forcewidth = 9
    model.body_mass[:] *= 2
    model.body_ipos[:] += 1  # no geom of this model is in the frame of its body's inertia
    assert watched.compare(EVERY)
    assert watched.changed == 0


def test_lights_and_angles_of_view_that_change_are_shown_without_a_new_shape(launch: Launch) -> None:
    handle, reader = launch(LIT, publish_hz=ALWAYS)
    before = handle._view.scene

    def until(is_so: Any) -> None:
        reader.until(lambda: (handle.sync(), is_so(handle._view.scene))[1])

    for change in (
        lambda model: model.light_dir.__setitem__(0, (0.9, 0, -0.4)),
        lambda model: model.light_active.__setitem__(0, 0),
        lambda model: model.vis.headlight.diffuse.__setitem__(slice(None), 0.9),
        lambda model: setattr(model.vis.headlight, "active", 0),
    ):
        was = light(handle.m)
        change(handle.m)
        wanted = light(handle.m)
        assert wanted != was
        until(lambda scene, wanted=wanted: (scene.light, scene.brightness) == (wanted.towards, wanted.brightness))
    handle.m.vis.global_.fovy = 70
    until(lambda scene: scene.camera.fov_y_deg == 70)
    handle.cam.type, handle.cam.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, 0
    until(lambda scene: scene.camera.fov_y_deg == 50)
    handle.m.cam_fovy[0] = 33
    until(lambda scene: scene.camera.fov_y_deg == 33)
    assert handle._view.scene.shapes == before.shapes


def test_a_geom_that_changes_its_kind_is_shown_so(launch: Launch) -> None:
    handle, reader = launch(KINDS, publish_hz=ALWAYS)
    egg = handle.m.geom("egg")
    egg.type[:] = mujoco.mjtGeom.mjGEOM_BOX
    reader.until(lambda: (handle.sync(), "Box(size=(0.2, 0.4, 0.6)" in repr(handle._view.scene))[1])


def test_the_pose_of_a_geom_counts_only_where_mujoco_reads_it(launch: Launch) -> None:
    handle, reader = launch(KINDS, publish_hz=ALWAYS)
    model, data = handle.m, handle.d
    numbers = [model.geom(name).id for name in ("ball", "egg", "box", "palm")]
    assert set(model.geom_sameframe[numbers].tolist()) > {1, 3}  # the frame of its body, that with a place of its own
    model.geom_pos[numbers] += (0, 0, 0.3)
    model.geom_size[numbers[0], 0] = 0.15  # another scene has to come
    mujoco.mj_kinematics(model, data)
    reader.until(lambda: (handle.sync(), "0.15" in repr(handle._view.scene))[1])
    places = {}
    for body, shape in enumerate(handle._view.scene.shapes[: model.nbody]):
        parts = getattr(shape, "parts", None)
        places[body] = [(0, 0, 0)] if parts is None else [part.position for part in parts]
    for number in numbers:
        body = int(model.geom_bodyid[number])
        local = data.xmat[body].reshape(3, 3).T @ (data.geom_xpos[number] - data.xpos[body])
        assert min(np.abs(np.subtract(place, local)).max() for place in places[body]) < 1e-6


def test_a_field_that_is_not_shown_is_named_once(launch: Launch, capfd: pytest.CaptureFixture[str]) -> None:
    handle, reader = launch(LIT, publish_hz=ALWAYS)
    said = ""

    def is_said(text: str) -> bool:
        nonlocal said
        handle.sync()
        said += capfd.readouterr().err
        return text in said

    handle.m.vis.map.znear = 0.5
    reader.until(lambda: is_said("model.vis.map.znear: no effect yet"))
    handle.m.vis.map.znear = 0.7
    handle.m.mat_reflectance[:] = 0.5
    reader.until(lambda: is_said("model.mat_reflectance: no effect yet"))
    assert said.count("model.vis.map.znear") == 1
