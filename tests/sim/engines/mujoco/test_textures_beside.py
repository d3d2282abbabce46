"""Textures lie where MuJoCo's own renderer lays them: both draw one model without light, from the same camera."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import moderngl
import numpy as np
import pytest

from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.sim.engines.mujoco.model.model_scene import scene

pytestmark = pytest.mark.slow

mujoco = pytest.importorskip("mujoco")

SIZE_PX = 320, 240
MODEL = """
<mujoco>
  <visual><headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/></visual>
  <statistic extent="3" center="0 0 .4"/>
  <asset>
    <texture name="checker" type="2d" builtin="checker" rgb1="1 .9 .7" rgb2=".5 .3 .2" width="64" height="64"/>
    <texture name="cross" type="cube" builtin="flat" mark="edge" markrgb="1 1 1" rgb1=".8 .6 .4" rgb2=".3 .5 .2"
             width="64" height="384"/>
    <texture name="fade" type="cube" builtin="gradient" rgb1="1 .8 0" rgb2="0 .2 .8" width="64" height="384"/>
    <material name="floor" texture="checker" texrepeat="2 3" texuniform="true"/>
    <material name="tile" texture="checker" texrepeat="3 2"/>
    <material name="cross" texture="cross"/> <material name="fade" texture="fade"/>
  </asset>
  <worldbody>
    <geom type="plane" size="0 4 .1" material="floor"/>
    <geom type="plane" size=".8 .5 .1" pos="0 1 .02" material="tile"/>
    <geom type="box" size=".3 .3 .3" pos="0 -1 .5" euler="10 0 20" material="cross"/>
    <geom type="sphere" size=".35" pos="1 -1 .5" euler="20 0 30" material="cross"/>
    <geom type="ellipsoid" size=".3 .5 .25" pos="-1 0 .5" euler="0 0 30" material="fade"/>
  </worldbody>
</mujoco>
"""
THEIRS = """
import sys, numpy as np, mujoco
model = mujoco.MjModel.from_xml_string(sys.stdin.read())
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
camera = mujoco.MjvCamera()
mujoco.mjv_defaultFreeCamera(model, camera)
with mujoco.Renderer(model, 240, 320) as renderer:
    renderer.update_scene(data, camera)
    np.save(sys.argv[1], renderer.render())
"""


def drawn_by_mujoco(path: Path) -> np.ndarray:
    done = subprocess.run(
        [sys.executable, "-c", THEIRS, str(path)], input=MODEL, text=True, capture_output=True,
        env=os.environ | {"MUJOCO_GL": "egl"}, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"MuJoCo's renderer does not draw here: {done.stderr.splitlines()[-1:]}")
    return np.load(path)


def test_checkers_and_cubes_are_where_mujoco_has_them(tmp_path: Path) -> None:
    theirs = drawn_by_mujoco(tmp_path / "theirs.npy").astype(int)
    model = mujoco.MjModel.from_xml_string(MODEL)
    shown = replace(scene(model), look="unlit")
    context = moderngl.create_standalone_context(require=330, backend="egl")
    context.framebuffer([context.renderbuffer(SIZE_PX, 4)], context.depth_renderbuffer(SIZE_PX)).use()
    renderer = SceneRenderer(context, shown, 4, model.nbody)
    renderer.upload_records(0, new_bodies(len(shown.shapes)))
    assert shown.camera is not None
    renderer.draw([Layer(0)], OrbitCamera.from_camera(shown.camera).matrices(SIZE_PX), (0, 0, *SIZE_PX))
    renderer.finish()
    ours = renderer.read_pixels().astype(int)
    context.release()
    off = np.abs(theirs - ours).max(axis=2)[60:]  # without the sky and the far squares
    assert (off <= 8).mean() > 0.9
    assert (off > 60).mean() < 0.02
