"""MuJoCo: the passive viewer, which draws on a thread of its own; and its renderer alone, as the viewer tells no fps."""

from __future__ import annotations

import time

import mujoco
import mujoco.viewer

from twixt.render.bench.peers.same_scene import SIZE_PX, Positions

FPS_S = 2.0
GEOM = '<geom type="sphere" size="{radius:g}" pos="{x:g} 0 0" rgba="0.9 0.5 0.3 1"/>'


class Passive:
    def __init__(self, count: int, radius: float) -> None:
        geoms = "".join(GEOM.format(radius=radius, x=number * 1e-6) for number in range(count))
        light = '<light pos="0 0 5" dir="0 0 -1" castshadow="false"/>'
        self._model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{light}{geoms}</worldbody></mujoco>")
        self._data = mujoco.MjData(self._model)
        mujoco.mj_forward(self._model, self._data)
        self._fps = 0.0
        self._viewer = mujoco.viewer.launch_passive(self._model, self._data, show_left_ui=False, show_right_ui=False)
        self._look(self._viewer.cam)

    def push(self, positions: Positions) -> None:
        self._data.geom_xpos[:] = positions
        self._viewer.sync()

    def draw(self) -> None:
        """The viewer's thread does."""

    def fps(self, begin_ns: int, end_ns: int, drawn: int) -> float:
        return self._rendered_fps()

    def close(self) -> None:
        self._viewer.close()

    def _look(self, camera: mujoco.MjvCamera) -> None:
        camera.lookat[:], camera.distance, camera.azimuth, camera.elevation = 0, 5.0, 90.0, -16.0

    def _rendered_fps(self) -> float:
        window = mujoco.GLContext(*SIZE_PX)
        window.make_current()
        scene, context = mujoco.MjvScene(self._model, self._model.ngeom + 100), mujoco.MjrContext(self._model, 150)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_WINDOW, context)
        camera, option, area = mujoco.MjvCamera(), mujoco.MjvOption(), mujoco.MjrRect(0, 0, *SIZE_PX)
        self._look(camera)
        frames, begin_s = 0, time.perf_counter()
        while time.perf_counter() < begin_s + FPS_S:
            mujoco.mjv_updateScene(self._model, self._data, option, None, camera, mujoco.mjtCatBit.mjCAT_ALL, scene)
            mujoco.mjr_render(area, scene, context)
            mujoco.mjr_finish()
            frames += 1
        return frames / (time.perf_counter() - begin_s)


open_viewer = Passive
