"""twixt's own viewer, through `twixt.show`."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import twixt
from bench.peers.same_scene import SIZE_PX, STATES_HZ, Positions, fps_of
from twixt.ipc.scene import Camera, Scene
from twixt.ipc.scene.shapes import Sphere
from twixt.render.measure.frame_log import read_log


class ShownView:
    """A viewer in another process. Its frames are counted in its log."""

    def __init__(self, count: int, radius: float) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._log = os.path.join(self._folder.name, "log.csv")
        scene = Scene([Sphere(radius)], ground=None, camera=Camera((0, -5, 1.5), (0, 0, 0), fov_y_deg=40))
        show: Any = twixt.show
        self._view = show(
            scene, 1 / STATES_HZ, count, overlay=False, pacing="unlimited", log=self._log, size_px=SIZE_PX
        )

    def push(self, positions: Positions) -> None:
        self._view.publish(position=positions)

    def draw(self) -> None:
        """Does nothing, because the viewer's process draws."""

    def fps(self, begin_ns: int, end_ns: int) -> float:
        present_ns = read_log(self._log)["present_ns"]
        self._folder.cleanup()
        return fps_of(present_ns, begin_ns, end_ns)

    def close(self) -> None:
        self._view.close()


open_viewer = ShownView
