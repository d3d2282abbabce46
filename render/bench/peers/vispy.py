"""VisPy: markers drawn as spheres, on the thread that steps."""

from __future__ import annotations

from vispy import app, scene

from twixt.render.bench.peers.same_scene import SIZE_PX, Positions


class Markers:
    def __init__(self, count: int, radius: float) -> None:
        self._diameter = 2 * radius
        self._canvas = scene.SceneCanvas(size=SIZE_PX, show=True, vsync=False, app=app.use_app("glfw"))
        view = self._canvas.central_widget.add_view()
        view.camera = scene.TurntableCamera(fov=40, distance=5, elevation=16, azimuth=0)
        self._markers = scene.visuals.Markers(spherical=True, scaling="scene", parent=view.scene)
        self._frames = 0
        self._canvas.events.draw.connect(self._count)

    def push(self, positions: Positions) -> None:
        self._markers.set_data(positions, size=self._diameter, edge_width=0, face_color=(0.9, 0.5, 0.3))

    def draw(self) -> None:
        self._canvas.update()
        self._canvas.app.process_events()

    def fps(self, begin_ns: int, end_ns: int, drawn: int) -> float:
        return drawn / (end_ns - begin_ns) * 1e9

    def close(self) -> None:
        self._canvas.close()

    def _count(self, _event: object) -> None:
        self._frames += 1


open_viewer = Markers
