"""Skins and flexes of a model, as vertices that viewers receive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twixt
from tests.sim.engines.mujoco.models import FLEXED, MOVING, SKINNED, Launch
from tests.sim.watched import Watched
from twixt.ipc.scene import Mesh
from twixt.ipc.snapshot import VISIBLE
from twixt.sim.engines.mujoco.model.model_surfaces import SIDES, _tube_faces, tubes
from twixt.sim.engines.mujoco.model_world import world_of_file
from twixt.sim.world.world import filled_bodies, state_hash

mujoco = pytest.importorskip("mujoco")

SLEEVE, CUFF = slice(0, 6), slice(6, 9)


def state(xml: str, steps: int = 0) -> tuple[Any, Any]:
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    if xml == SKINNED:
        data.qpos[:] = 0.3, 0.9
    for _ in range(steps):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    return model, data


def skins(model: Any, data: Any) -> np.ndarray:
    """Vertices of all skins as MuJoCo's own visualizer computes them."""
    scene = mujoco.MjvScene(model, maxgeom=100)
    mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), None, mujoco.MjvCamera(), 7, scene)
    return np.array(scene.skinvert).reshape(-1, 3)


def test_a_model_without_skins_and_flexes_has_no_more_bodies_than_its_own(launch: Launch) -> None:
    handle, reader = launch(MOVING)
    seen = reader.newest()
    assert (len(seen.bodies), len(seen.vertices)) == (handle.m.nbody, 0)


def test_a_skin_is_a_body_beyond_the_models_own_that_moves_with_its_bones(launch: Launch) -> None:
    handle, reader = launch(SKINNED, publish_hz=1e6)
    model, data = handle.m, handle.d
    shapes = twixt.mujoco_viewer.scene(model).shapes
    assert len(shapes) == model.nbody + 2
    sleeve = shapes[model.nbody]
    assert isinstance(sleeve, Mesh)
    assert sleeve.deforms
    assert sleeve.vertices == pytest.approx(model.skin_vert[SLEEVE])
    assert tuple(sleeve.color[:3]) == pytest.approx((0.8, 0.4, 0.2))  # type: ignore[index]
    for angles in ((0.0, 0.0), (0.3, 0.9), (-1.0, 2.0)):
        data.qpos[:] = angles
        mujoco.mj_forward(model, data)
        handle.sync()
        seen = reader.newest()
        expected = skins(model, data)
        assert seen.vertices[SLEEVE] == pytest.approx(expected[SLEEVE], abs=1e-6)
        assert len(seen.bodies) == model.nbody + 2
        assert seen.bodies["position"][model.nbody :].tolist() == [[0, 0, 0]] * 2
        assert seen.bodies["flags"][model.nbody :].tolist() == [VISIBLE, 0], "the cuff is in a hidden group"
        assert seen.bodies["position"][: model.nbody] == pytest.approx(data.xpos, abs=1e-6)
        assert np.ptp(expected[SLEEVE], axis=0)[0] > 0.5


def test_options_say_which_skins_are_shown(launch: Launch) -> None:
    handle, reader = launch(SKINNED, publish_hz=1e6)

    def shown() -> list[bool]:
        handle.sync()
        return (reader.newest().bodies["flags"][handle.m.nbody :] == VISIBLE).tolist()

    assert shown() == [True, False]
    handle.opt.skingroup[4] = 1
    assert shown() == [True, True]
    assert reader.newest().vertices[CUFF] == pytest.approx(skins(handle.m, handle.d)[CUFF], abs=1e-6)
    handle.opt.flags[mujoco.mjtVisFlag.mjVIS_SKIN] = 0
    assert shown() == [False, False]


def test_the_last_state_of_a_loop_that_stops_is_shown_with_its_skin(launch: Launch) -> None:
    handle, reader = launch(SKINNED, publish_hz=0.1)
    for angle in (0.2, 0.4, 0.6):
        handle.d.qpos[:] = angle
        mujoco.mj_forward(handle.m, handle.d)
        handle.d.time += 0.01
        handle.sync()
    expected = skins(handle.m, handle.d)
    handle.d.xpos[:], handle.d.xquat[:] = 0, 1  # what is put aside is a copy
    reader.until(lambda: np.allclose(reader.newest().vertices[SLEEVE], expected[SLEEVE], atol=1e-6))


def test_a_flex_is_shown_by_its_faces_and_a_cable_by_tubes_along_its_edges(
    launch: Launch, capfd: pytest.CaptureFixture[str]
) -> None:
    handle, reader = launch(FLEXED, publish_hz=1e6)
    model, data = handle.m, handle.d
    assert "flexes" not in capfd.readouterr().err
    cloth, cable, jelly = twixt.mujoco_viewer.scene(model).shapes[model.nbody :]
    assert isinstance(cloth, Mesh)
    assert isinstance(jelly, Mesh)
    assert isinstance(cable, Mesh)
    assert (len(cloth.vertices), len(cloth.faces)) == (12, 12)
    assert (len(jelly.vertices), len(jelly.faces)) == (27, 48)
    assert (len(cable.vertices), len(cable.faces)) == (3 * 2 * SIDES, 3 * 2 * SIDES)
    edges = np.sort(jelly.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all(), "its shell is closed"
    for _ in range(50):
        mujoco.mj_step(model, data)
    handle.sync()
    seen = reader.newest().vertices
    starts = model.flex_vertadr
    of_cloth, of_cable, of_jelly = (
        data.flexvert_xpos[starts[flex] : starts[flex] + model.flex_vertnum[flex]] for flex in range(3)
    )
    cut = len(of_cloth), len(of_cloth) + len(cable.vertices)
    assert seen[: cut[0]] == pytest.approx(of_cloth, abs=1e-6)
    assert seen[cut[1] :] == pytest.approx(of_jelly, abs=1e-6)
    ends = seen[cut[0] : cut[1]].reshape(3, 2, SIDES, 3)
    middles = ends.mean(axis=2)
    assert middles.mean(axis=1) == pytest.approx((of_cable[:-1] + of_cable[1:]) / 2, abs=1e-5)
    assert np.linalg.norm(ends - middles[:, :, None], axis=3) == pytest.approx(model.flex_radius[1], abs=1e-5)
    assert seen[:, 2].mean() < cloth.vertices[:, 2].mean()
    handle.opt.flags[mujoco.mjtVisFlag.mjVIS_FLEXSKIN] = 0
    handle.sync()
    flags = reader.newest().bodies["flags"][model.nbody :]
    assert (flags[0], flags[1] != 0, flags[2]) == (0, True, 0)
    handle.opt.flags[mujoco.mjtVisFlag.mjVIS_FLEXEDGE] = 0
    handle.sync()
    assert not reader.newest().bodies["flags"][model.nbody :].any()


def test_the_faces_of_a_tube_look_outwards() -> None:
    corners = tubes(np.array([(0.0, 0, 0), (1.0, 2, 3)]), np.array([(0, 1)]), 0.5)
    middle = np.array([0.5, 1, 1.5])
    along = np.array([1, 2, 3]) / 14**0.5
    for face in corners[_tube_faces(1)]:
        normal = np.cross(face[1] - face[0], face[2] - face[0])
        outwards = face.mean(axis=0) - middle
        assert normal @ (outwards - along * (outwards @ along)) > 0


@pytest.mark.parametrize("xml", [SKINNED, FLEXED])
def test_after_a_reset_surfaces_are_where_the_next_step_begins(launch: Launch, xml: str) -> None:
    handle, reader = launch(xml, publish_hz=1e6)
    rest = reader.newest().vertices.copy()
    for _ in range(20):
        mujoco.mj_step(handle.m, handle.d)
    handle.sync()
    assert np.abs(reader.newest().vertices - rest).max() > 1e-4
    mujoco.mj_resetData(handle.m, handle.d)
    handle.sync()
    assert reader.newest().vertices == pytest.approx(rest, abs=1e-5)


@pytest.mark.parametrize("xml", [SKINNED, FLEXED])
def test_a_loop_of_ones_own_and_a_world_of_the_file_send_the_same(xml: str, tmp_path: Path) -> None:
    model, data = state(xml)
    mujoco.mj_resetData(model, data)
    mujoco.mj_step(model, data)
    watched = Watched(twixt.mujoco_viewer.scene(model), dt=0.002)
    twixt.mujoco_viewer.publish(watched.view, data)
    seen = watched.newest()
    (tmp_path / "model.xml").write_text(xml)
    world = world_of_file(str(tmp_path / "model.xml"))()
    world.step(world.dt)
    hashed = state_hash(world)
    assert world.surfaces.vertices == pytest.approx(seen.vertices, abs=1e-6)
    assert len(world.bodies) == len(seen.bodies)
    assert filled_bodies(world).records["flags"].tolist() == seen.bodies["flags"].tolist()
    world.apply_force(len(world.bodies) - 1, np.ones(3), np.zeros(3))  # type: ignore[attr-defined]
    world.step(world.dt)
    assert state_hash(world) != hashed
    watched.link.close()
    watched.view.close()
