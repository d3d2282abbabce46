"""MuJoCo's passive viewer, which draws on a separate thread. It reports no fps, so MuJoCo's renderer is measured."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bench.peers.same_scene import SIZE_PX, Positions

if TYPE_CHECKING:
    import mujoco

FPS_S = 2.0
GEOM = '<geom type="sphere" size="{radius:g}" pos="{x:g} 0 0" rgba="0.9 0.5 0.3 1"/>'


class Passive:
    """MuJoCo's passive viewer, as a `same_scene.Viewer`."""

    def __init__(self, count: int, radius: float) -> None:
        import mujoco
        import mujoco.viewer

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
        """Does nothing, because the viewer's thread draws."""

    def fps(self, begin_ns: int, end_ns: int) -> float:
        """Frames per second of MuJoCo's renderer alone, measured during this call for FPS_S seconds."""
        return self._rendered_fps()

    def close(self) -> None:
        self._viewer.close()

    def _look(self, camera: mujoco.MjvCamera) -> None:
        camera.lookat[:], camera.distance, camera.azimuth, camera.elevation = 0, 5.0, 90.0, -16.0

    def _rendered_fps(self) -> float:
        import mujoco

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
