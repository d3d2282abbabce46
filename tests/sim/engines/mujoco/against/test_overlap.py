"""Small models beside MuJoCo's own renderer, pixel by pixel. The ten large ones: see overlap.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from bench.loops.mujoco_rows import humanoids_xml
from tests.sim.engines.mujoco.models import KINDS

mujoco = pytest.importorskip("mujoco")
pytest.importorskip("mujoco.egl", reason="MuJoCo's own renderer needs EGL here")

from tests.sim.engines.mujoco.against.overlap import agreement, near_edges, of_state  # noqa: E402
from tests.sim.engines.mujoco.against.pictures import MujocosPictures, TwixtPictures, viewers_camera  # noqa: E402

pytestmark = pytest.mark.slow

SIZE_PX = (480, 360)
# Without glass, without a floor of many colours, and without heights that lie in the floor.
OPAQUE = (
    KINDS.replace('rgba="1 1 1 0.1"', 'group="4"')
    .replace('texture="checker"', 'rgba="0.2 0.5 0.7 1"')
    .replace('pos="5 0 0"', 'pos="5 0 0.5"')
)
HUMANOIDS = humanoids_xml(2).replace("<worldbody>", "<statistic center='0 1.5 1' extent='3'/><worldbody>")
# Three faces at one edge, one face twice, and one without an area.
NOT_MANIFOLD = """
<mujoco>
  <asset>
    <mesh name="fan" inertia="shell" vertex="0 0 0  1 0 0  0 1 0  0 -1 0  0 0 1  1 1 1" face="0 1 2  1 0 3  0 1 4  0 1 2  2 2 5  2 4 5"/>
  </asset>
  <worldbody><body><freejoint/><geom type="mesh" mesh="fan"/></body></worldbody>
</mujoco>
"""
# Squares of constant size, and glass that is no mesh.
SQUARES = """
<mujoco>
  <asset>
    <texture name="squares" type="2d" builtin="checker" rgb1="0.1 0.2 0.3" rgb2="0.9 0.3 0.4" width="64" height="64"/>
    <material name="squares" texture="squares" texrepeat="1 1" texuniform="true"/>
  </asset>
  <worldbody>
    <geom type="plane" size="{size}" material="squares"/>
    <geom type="box" size="0.1 0.1 0.01" pos="0 0 0.2" rgba="0 1 0 0.5"/>
  </worldbody>
</mujoco>
"""
SKY = """
<mujoco>
  <visual><rgba haze="0 0 0 0"/></visual>
  <asset><texture type="skybox" builtin="gradient" rgb1="1 1 1" rgb2="0 0 0" width="64" height="384"/></asset>
  <worldbody><geom size="0.001"/><camera pos="0 0 5" xyaxes="{look}" fovy="80"/></worldbody>
</mujoco>
"""
# Without a floor, so that they are seen from below.
BOXES = """
<mujoco>
  <worldbody>
    <geom type="box" size="1 0.3 0.2"/>
    <body pos="1.2 0.9 0.5" euler="20 40 10"><geom type="box" size="0.5 0.4 0.3"/></body>
    <body pos="-1 -1.4 0.3"><geom type="box" size="0.2 0.8 0.3"/></body>
  </worldbody>
</mujoco>
"""
CAMERAS = {
    "wall": 'pos="1 -9 3" xyaxes="1 0 0 0 0.3 1" fovy="60"',
    "above": 'pos="1 1 12" xyaxes="1 0 0 0 1 0" fovy="50"',
    "above, turned": 'pos="1 1 12" xyaxes="0 1 0 -1 0 0" fovy="50"',
    "above, turned by 200 degrees": 'pos="1 1 12" euler="0 0 200" fovy="50"',
    "nearly above": 'pos="1 1 12" euler="0.01 0 90" fovy="50"',
    "rolled": 'pos="1 -9 3" xyaxes="1 0 0.5 -0.2 0.3 1" fovy="60"',
    "upside down": 'pos="1 -9 3" xyaxes="-1 0 0 0 -0.3 -1" fovy="60"',
    "off centre": 'pos="1 -9 3" xyaxes="1 0 0 0 0.3 1" focal="0.03 0.03" sensorsize="0.048 0.036" principal="0.008 0.005"',
    "off centre, rolled": 'pos="1 -9 3" xyaxes="1 0 0.5 -0.2 0.3 1" focal="0.02 0.02" sensorsize="0.048 0.036" '
    'principal="-0.012 -0.008"',
    "off centre, above": 'pos="1 1 12" xyaxes="0 1 0 -1 0 0" focal="0.04 0.04" sensorsize="0.048 0.036" '
    'principal="0 -0.015"',
    "rolled, orthographic": 'pos="1 -9 3" xyaxes="1 0 0.5 -0.2 0.3 1" fovy="9" {orthographic}',
}
ORTHOGRAPHIC = 'projection="orthographic"' if hasattr(mujoco, "mjtProjection") else 'orthographic="true"'


@pytest.fixture(scope="module")
def pictures() -> Iterator[TwixtPictures]:
    made = TwixtPictures(SIZE_PX)
    yield made
    made.release()


def fixed(number: int) -> Any:
    """A camera of the model, as an MjvCamera."""
    camera = mujoco.MjvCamera()
    camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, number
    return camera


def stepped(text: str, steps: int = 20) -> tuple[Any, Any]:
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for _ in range(steps):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    return model, data


@pytest.mark.parametrize("size", ["1.4 0.8 0.1", "0.4 0.2 0.1", "0 0 0.1"])
def test_squares_of_a_plane_and_glass_above_are_as_mujoco_draws_them(pictures: TwixtPictures, size: str) -> None:
    found = of_state(pictures, *stepped(SQUARES.format(size=size), steps=0))
    assert found.all_colors > 0.98


@pytest.mark.parametrize("text", [OPAQUE, HUMANOIDS], ids=["kinds", "humanoids"])
def test_a_model_covers_the_pixels_that_mujoco_covers_in_its_colours(pictures: TwixtPictures, text: str) -> None:
    found = of_state(pictures, *stepped(text))
    assert found.pixels > 1000
    assert found.overlap >= 0.99
    assert found.colors >= 0.95
    assert found.all_colors >= 0.95


def test_a_mesh_that_is_no_surface_of_a_body_covers_what_it_covers_in_mujoco(pictures: TwixtPictures) -> None:
    found = of_state(pictures, *stepped(NOT_MANIFOLD))
    assert found.pixels > 1000
    assert found.overlap >= 0.99


@pytest.mark.parametrize("name", CAMERAS)
def test_a_camera_of_the_model_sees_what_it_sees_in_mujoco(pictures: TwixtPictures, name: str) -> None:
    camera_xml = f"<camera {CAMERAS[name].format(orthographic=ORTHOGRAPHIC)}/>"
    found = of_state(pictures, *stepped(OPAQUE.replace("<worldbody>", f"<worldbody>{camera_xml}")), camera=fixed(0))
    assert found.pixels > 1000
    assert found.overlap >= 0.99


def test_a_rolled_camera_on_a_body_that_turns_sees_what_it_sees_in_mujoco(pictures: TwixtPictures) -> None:
    head = '<freejoint/><geom size="0.1" pos="0 1 0"/><camera pos="0.1 0.2 0.3" euler="3 5 40" fovy="60"/>'
    body = f'<body pos="0 0 5">{head}</body>'
    model, data = stepped(BOXES.replace("</worldbody>", f"{body}</worldbody>"), steps=0)
    data.qpos[:3], data.qpos[3:] = (0.5, -3.5, 3.5), (0.93, 0.36, 0.05, 0.06)
    mujoco.mj_forward(model, data)
    found = of_state(pictures, model, data, camera=fixed(0))
    assert found.pixels > 1000
    assert found.overlap >= 0.99


@pytest.mark.parametrize(("azimuth", "elevation"), [(0, -90), (90, -90), (200, -90), (30, 90), (60, 120)])
def test_a_free_camera_straight_above_or_below_sees_what_it_sees_in_mujoco(
    pictures: TwixtPictures, azimuth: float, elevation: float
) -> None:
    model, data = stepped(BOXES)
    camera = viewers_camera(model)
    camera.azimuth, camera.elevation = azimuth, elevation
    found = of_state(pictures, model, data, camera=camera)
    assert found.pixels > 1000
    assert found.overlap >= 0.99


@pytest.mark.parametrize("look", ["1 0 0 0 0.3 1", "0 1 0 -0.9 0 0.5", "-1 0.3 0 0.3 1 3", "0.3 -1 0 1 0.3 9"])
def test_a_sky_is_seen_as_mujoco_shows_it(pictures: TwixtPictures, look: str) -> None:
    model, data = stepped(SKY.format(look=look), steps=0)
    colors = np.random.default_rng(1).integers(0, 256, (6, 4, 4, 3)).astype(np.uint8)
    model.tex_data[:] = np.kron(colors, np.ones((1, 16, 16, 1), np.uint8)).ravel()
    camera = mujoco.MjvCamera()
    camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, 0
    mujocos = MujocosPictures(model, SIZE_PX)
    theirs = mujocos.shown(data, camera)
    mujocos.release()
    ours = pictures.shown(model, data, camera)
    assert np.mean(np.abs(ours.astype(int) - theirs).max(axis=-1) < 12) > 0.95


def test_a_body_that_is_elsewhere_or_has_another_colour_is_told(pictures: TwixtPictures) -> None:
    model, data = stepped(OPAQUE)
    mujocos = MujocosPictures(model, SIZE_PX)
    theirs = mujocos.seen(data, viewers_camera(model))
    mujocos.release()
    data.xpos[1] += (0.1, 0, 0)
    assert agreement(pictures.seen(model, data), theirs).overlap < 0.98
    data.xpos[1] -= (0.1, 0, 0)
    ours = pictures.seen(model, data)
    assert agreement(ours, theirs).colors >= 0.95
    assert agreement(ours._replace(colors=ours.colors // 2), theirs).colors < 0.5


def test_pixels_at_most_one_from_another_label_are_near_an_edge() -> None:
    labels = np.zeros((4, 6), np.int32)
    labels[:, 3:] = 1
    assert near_edges(labels)[1].tolist() == [False, False, True, True, False, False]
    assert not near_edges(np.full((3, 3), 7, np.int32)).any()
