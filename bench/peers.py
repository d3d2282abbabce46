"""Compares twixt with other viewers on the same scene: `python -m bench peers`.

Three figures are measured: frames per second at 30 states per second, the cost of the hand-over of a state, and the
slowdown of a loop. Each viewer runs in its own process and is used as its guide shows. If a viewer hangs or is not
installed, a row tells this.

If a viewer draws on the thread that steps the simulation, its `draw` makes a frame. If it has its own thread or
process for drawing, `draw` does nothing. `fps` counts drawn frames, not calls of `draw`.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bench.processes import function_call, json_writer, process
from bench.rows import Row, not_measured
from twixt.cli.progress import Say
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Camera, Scene
from twixt.ipc.scene.shapes import Sphere
from twixt.render.draw.frame import context
from twixt.render.measure.frame_log import read_log
from twixt.sim.show.show import show

COUNTS, QUICK_COUNTS = (1_000, 10_000), (200,)
# Longest time, in seconds, for the measurement of one viewer with one number of bodies.
TIMEOUT_S = 60.0
OURS = "twixt"
STATES_HZ = 30
SIZE_PX = (800, 600)
# Work in one step of the simulation. MATRIX is the size of the matrices, and PRODUCTS is the number of products. One
# core needs about 2 ms for this work.
MATRIX, PRODUCTS = 160, 8
SETTLING_S = 1.0
# Time, in seconds, over which MuJoCo's renderer is measured.
FPS_S = 2.0
GEOM = '<geom type="sphere" size="{radius:g}" pos="{x:g} 0 0" rgba="0.9 0.5 0.3 1"/>'

Positions = NDArray[np.float32]


class Viewer(Protocol):
    """Interface of a viewer. Its constructor takes the number of spheres, and their radius in metres."""

    def push(self, positions: Positions) -> None:
        """Hands a state over to the viewer. positions: positions of the spheres, shape (n, 3), in metres."""

    def draw(self) -> None:
        """Makes a frame. Does nothing if another thread or process makes the frames."""

    def fps(self, begin_ns: int, end_ns: int) -> float:
        """Frames per second from `begin_ns` to `end_ns`."""

    def close(self) -> None: ...


class ShownView:
    """twixt's own viewer, which is another process. Its frames are counted in its log."""

    def __init__(self, count: int, radius: float) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._log = os.path.join(self._folder.name, "log.csv")
        scene = Scene([Sphere(radius)], ground_z=None, camera=Camera((0, -5, 1.5), (0, 0, 0), fov_y_deg=40))
        options: dict[str, Any] = {"overlay": False, "pacing": "unlimited", "log": self._log, "size_px": SIZE_PX}
        self._view = show(scene, 1 / STATES_HZ, count, **options)
        self.close = self._view.close

    def push(self, positions: Positions) -> None:
        self._view.publish(position=positions)

    def draw(self) -> None:
        """Does nothing, because the viewer's process draws."""

    def fps(self, begin_ns: int, end_ns: int) -> float:
        present_ns = read_log(self._log)["present_ns"]
        self._folder.cleanup()
        return fps_of(present_ns, begin_ns, end_ns)


class Passive:
    """MuJoCo's passive viewer, which draws on a thread. It reports no frames per second, so MuJoCo's renderer is
    measured instead."""

    def __init__(self, count: int, radius: float) -> None:
        import mujoco
        import mujoco.viewer

        geoms = "".join(GEOM.format(radius=radius, x=number * 1e-6) for number in range(count))
        light = '<light pos="0 0 5" dir="0 0 -1" castshadow="false"/>'
        self._model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{light}{geoms}</worldbody></mujoco>")
        self._data = mujoco.MjData(self._model)
        mujoco.mj_forward(self._model, self._data)
        self._viewer = mujoco.viewer.launch_passive(self._model, self._data, show_left_ui=False, show_right_ui=False)
        self._look(self._viewer.cam)
        self.close = self._viewer.close

    def push(self, positions: Positions) -> None:
        self._data.geom_xpos[:] = positions
        self._viewer.sync()

    def draw(self) -> None:
        """Does nothing, because the viewer's thread draws."""

    def fps(self, begin_ns: int, end_ns: int) -> float:
        """Frames per second of MuJoCo's renderer alone, measured during this call for FPS_S seconds."""
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

    def _look(self, camera: Any) -> None:
        camera.lookat[:], camera.distance, camera.azimuth, camera.elevation = 0, 5.0, 90.0, -16.0


class Markers:
    """VisPy's spherical markers on a canvas. They are drawn on the thread that steps the simulation."""

    def __init__(self, count: int, radius: float) -> None:
        from vispy import app, scene

        self._diameter = 2 * radius
        self._canvas = scene.SceneCanvas(size=SIZE_PX, show=True, vsync=False, app=app.use_app("glfw"))
        view = self._canvas.central_widget.add_view()
        view.camera = scene.TurntableCamera(fov=40, distance=5, elevation=16, azimuth=0)
        self._markers = scene.visuals.Markers(spherical=True, scaling="scene", parent=view.scene)
        self._drawn_ns: list[int] = []
        self._canvas.events.draw.connect(lambda _event: self._drawn_ns.append(time.perf_counter_ns()))
        self.close = self._canvas.close

    def push(self, positions: Positions) -> None:
        self._markers.set_data(positions, size=self._diameter, edge_width=0, face_color=(0.9, 0.5, 0.3))

    def draw(self) -> None:
        self._canvas.update()
        self._canvas.app.process_events()

    def fps(self, begin_ns: int, end_ns: int) -> float:
        return fps_of(self._drawn_ns, begin_ns, end_ns)


class Peer(NamedTuple):
    """Another viewer. viewer: its adapter. pip: argument for `pip install`. used: text for a note, which tells how the
    viewer is used."""

    viewer: Callable[[int, float], Viewer]
    pip: str
    used: str


# For each name of a viewer and of its Python module, the viewer.
PEERS = {
    "mujoco": Peer(
        Passive, "mujoco", "launch_passive; fps by mjr_render in a window, as the viewer tells none"
    ),
    "vispy": Peer(
        Markers, "vispy glfw", "scene.visuals.Markers(spherical=True), drawn by the thread that steps"
    ),
}  # fmt: skip


def peer_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Three rows for each viewer and number of bodies. They are compared with twixt on the same scene. share: share of
    a whole run's rounds. If it is below 1, there are few bodies and a short run."""
    counts, seconds = (COUNTS, 4.0) if share >= 1 else (QUICK_COUNTS, 0.3)
    there = [name for name in PEERS if importlib.util.find_spec(name) is not None]
    for name, peer in PEERS.items():
        if name not in there:
            yield Row(name, "", None, OURS, None, 0, f"not installed; to get it: pip install {peer.pip}")
    for count in counts if there else ():
        say(f"{OURS}, {count:,} spheres")
        ours = _measured(OURS, count, seconds)
        for name in there:
            what = f"{name}, {count:,} spheres"
            say(what)
            try:
                yield from _rows(what, _measured(name, count, seconds), ours, PEERS[name].used)
            except TwixtError as error:
                yield not_measured(what, OURS, str(error))


def _rows(what: str, found: dict[str, Any], ours: dict[str, Any], used: str) -> Iterator[Row]:
    yield Row(f"{what}: drawn", "fps", found["fps"], OURS, ours["fps"], 1, used)
    yield Row(f"{what}: a state handed over", "ms", found["publish_ms"], OURS, ours["publish_ms"], 1)
    slowed = (found["shown_ms"] / found["alone_ms"] - 1, ours["shown_ms"] / ours["alone_ms"] - 1)
    note = f"slowed by {slowed[0]:.0%}; with {OURS} by {slowed[1]:.0%}"
    yield Row(f"{what}: a step while shown", "ms", found["shown_ms"], "a step alone", found["alone_ms"], 1, note)


def _measured(name: str, count: int, seconds: float) -> dict[str, Any]:
    with process(function_call("bench.peers:measure", name=name, count=count, seconds=seconds)) as child:
        child.wait(TIMEOUT_S)
        return dict(json.loads(child.out.splitlines()[-1]))


def measure(name: str, count: int, seconds: float) -> None:
    """Measures a viewer in this process. Prints four figures. fps: frames per second. publish_ms: median time for the
    hand-over of a state. shown_ms: mean time of a step with the viewer. alone_ms: mean time of a step without the
    viewer."""
    tell = json_writer()
    context.prepare_driver()  # gives all viewers the same number of drawing threads
    alone_ms = _step_ms(seconds / 2, lambda: None)
    opened = ShownView if name == OURS else PEERS[name].viewer
    viewer: Viewer = opened(count, 0.06 * (count / 1000) ** -0.26)
    try:
        states = _swinging(count)
        pushed_ms: list[float] = []

        def push() -> None:
            positions = next(states)
            begin_ns = time.perf_counter_ns()
            viewer.push(positions)
            pushed_ms.append((time.perf_counter_ns() - begin_ns) / 1e6)

        _play(SETTLING_S, push, viewer.draw)
        begin_ns = time.perf_counter_ns()
        _play(seconds, push, viewer.draw)
        end_ns = time.perf_counter_ns()

        def push_and_draw() -> None:
            push()
            viewer.draw()

        pushed_ms.clear()
        shown_ms = _step_ms(seconds, push_and_draw)
        publish_ms = statistics.median(pushed_ms)
    finally:
        viewer.close()
    alone_ms = (alone_ms + _step_ms(seconds / 2, lambda: None)) / 2
    fps = viewer.fps(begin_ns, end_ns)
    tell({"fps": fps, "publish_ms": publish_ms, "shown_ms": shown_ms, "alone_ms": alone_ms})


def _swinging(count: int) -> Iterator[Positions]:
    """Positions of spheres that swing about their places in a box of 2 m. There is one array of positions per
    state."""
    random = np.random.default_rng(0)
    places = random.uniform(-1, 1, (count, 3)).astype(np.float32)
    swing = random.normal(0, 0.1, (count, 3)).astype(np.float32)
    number = 0
    while True:
        number += 1
        yield places + swing * np.float32(math.sin(number / STATES_HZ))


def fps_of(instants_ns: ArrayLike, begin_ns: int, end_ns: int) -> float:
    """Frames per second from `begin_ns` to `end_ns`. instants_ns: one instant for each frame."""
    frames = np.asarray(instants_ns, np.int64)
    return np.count_nonzero((frames >= begin_ns) & (frames < end_ns)) / (end_ns - begin_ns) * 1e9


def _play(seconds: float, push: Callable[[], object], draw: Callable[[], object]) -> None:
    """Pushes states at STATES_HZ, and draws without pause, for `seconds`."""
    begin_s = next_s = time.perf_counter()
    while (now_s := time.perf_counter()) < begin_s + seconds:
        if now_s >= next_s:
            next_s += 1 / STATES_HZ
            push()
        before_s = time.perf_counter()
        draw()
        # the call of `draw` was too short for a frame; another thread or process draws
        if time.perf_counter() - before_s < 1e-3:
            time.sleep(1e-3)


def _step_ms(seconds: float, show: Callable[[], object]) -> float:
    """Mean time, in ms, of a step of a simulation that never waits. The simulation calls `show` 30 times a second."""
    matrix = np.random.default_rng(0).random((MATRIX, MATRIX)) / MATRIX
    begin_s = next_s = time.perf_counter()
    steps = 0
    while (now_s := time.perf_counter()) < begin_s + seconds:
        if now_s >= next_s:
            next_s = max(next_s + 1 / STATES_HZ, now_s)
            show()
        for _ in range(PRODUCTS):
            matrix = np.einsum("ij,jk->ik", matrix, matrix) + 0.5  # einsum uses one core in every build of numpy
            matrix /= matrix.max() * MATRIX
        steps += 1
    return (time.perf_counter() - begin_s) / steps * 1e3
