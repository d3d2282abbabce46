"""VisPy's viewer: draws markers as spheres on the thread that steps."""

from __future__ import annotations

import time

from bench.peers.same_scene import SIZE_PX, Positions, fps_of


class Markers:
    """VisPy's spherical markers on a canvas, as a `same_scene.Viewer`."""

    def __init__(self, count: int, radius: float) -> None:
        from vispy import app, scene

        self._diameter = 2 * radius
        self._canvas = scene.SceneCanvas(size=SIZE_PX, show=True, vsync=False, app=app.use_app("glfw"))
        view = self._canvas.central_widget.add_view()
        view.camera = scene.TurntableCamera(fov=40, distance=5, elevation=16, azimuth=0)
        self._markers = scene.visuals.Markers(spherical=True, scaling="scene", parent=view.scene)
        self._drawn_ns: list[int] = []
        self._canvas.events.draw.connect(lambda _event: self._drawn_ns.append(time.perf_counter_ns()))

    def push(self, positions: Positions) -> None:
        self._markers.set_data(positions, size=self._diameter, edge_width=0, face_color=(0.9, 0.5, 0.3))

    def draw(self) -> None:
        self._canvas.update()
        self._canvas.app.process_events()

    def fps(self, begin_ns: int, end_ns: int) -> float:
        return fps_of(self._drawn_ns, begin_ns, end_ns)

    def close(self) -> None:
        self._canvas.close()


open_viewer = Markers
