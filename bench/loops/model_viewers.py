"""Common interface of the viewers of a MuJoCo model that the benchmark compares, and the loop that steps a model.

The constructor of a viewer takes a model and the data of the model, and opens the window. It raises an exception if
the viewer cannot run, for lack of a library, a display or a driver. `sync` is the viewer's own method, without a
wrapper, because the cost of that call is measured.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, Protocol

import mujoco

from bench.loops.watched_loop import Loop, LoopViewer, attached
from bench.processes import process

TWIXT, PASSIVE, STUDIO, VISER = "twixt", "mujoco.viewer", "mujoco.studio", "viser"
PEERS = (PASSIVE, STUDIO, VISER)
# Longest time, in seconds, that the start of a viewer may take.
TIMEOUT_S = 30.0
# Size of twixt's window in pixels. Every other window whose size can be chosen has the same size.
WIDTH_PX, HEIGHT_PX = 1280, 720
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Options of the browser. The browser opens a window without a frame, and always draws at full speed with the system's
# OpenGL. It may be stopped for any time, because no watchdog ends it.
BROWSER_OPTIONS = (
    f"--window-size={WIDTH_PX},{HEIGHT_PX}", "--window-position=0,0", "--no-first-run", "--no-default-browser-check",
    "--use-angle=gl", "--ignore-gpu-blocklist", "--ozone-platform-hint=auto",
    "--disable-gpu-watchdog", "--disable-hang-monitor",
    "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
)  # fmt: skip
# PROBE_PX has the side lengths, in pixels, of a test picture from the browser. LEAST_CONTRAST is the smallest standard
# deviation of the values of this picture. A smaller standard deviation means that the picture is blank, so the browser
# does not draw.
PROBE_PX, LEAST_CONTRAST = (90, 160), 1.0
# Number of steps after which the data of a model are reset. So all turns see the same states. A humanoid falls for
# about two seconds in that time.
RESET_STEPS = 700


class ModelViewer(LoopViewer, Protocol):
    """A viewer of one model. sync: method that hands the current state over to the viewer."""

    sync: Callable[[], object]

    def close(self) -> None: ...


class TwixtViewer:
    """twixt's viewer, which is a separate process. Without a display, it draws offscreen."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, **options: Any) -> None:
        from twixt.sim.engines.mujoco.mujoco_viewer import launch_passive

        self._handle = launch_passive(model, data, offscreen=not has_display(), **options)
        self.sync: Callable[[], object] = self._handle.sync

        def go_on() -> None:
            self.sync()
            time.sleep(0.001)

        view = self._handle._view
        viewer = attached(view._host, view._session._process, go_on)
        self.stop, self.resume, self.pid = viewer.stop, viewer.resume, viewer.pid

    def close(self) -> None:
        with suppress(RuntimeError):
            self.resume()
        self._handle.close()


class ThreadViewer:
    """A viewer that is a thread of this process. So it has no processes to stop. handle: object that MuJoCo returned
    for this viewer."""

    def __init__(self, handle: Any) -> None:
        self.sync, self.close = handle.sync, handle.close

    def stop(self) -> None:
        """Does nothing."""

    def resume(self) -> None:
        """Does nothing."""


def passive_viewer(model: mujoco.MjModel, data: mujoco.MjData) -> ThreadViewer:
    import mujoco.viewer

    require_display()
    return ThreadViewer(mujoco.viewer.launch_passive(model, data))


def studio_viewer(model: mujoco.MjModel, data: mujoco.MjData) -> ThreadViewer:
    """MuJoCo's Studio, without its panels."""
    from mujoco.studio import launch_passive, native_viewer, viewer_protocol

    # Imported here, before the viewer's thread. If its import failed later, only that thread would end.
    del native_viewer
    require_display()
    # With MuJoCo 4.0, Python's Studio draws only in this mode. In the other modes, its first frame ends the process
    # with "Target not found".
    config = viewer_protocol.ViewerConfig(width=WIDTH_PX, height=HEIGHT_PX, gfx="opengl_software")
    handle = launch_passive.launch(config)
    handle.set_model(model, data=data)
    return ThreadViewer(handle)


class ViserViewer:
    """Viser's viewer. `stop` stops only the browser, because the server is idle without a `sync`. scene: scene object
    of mjviser. client: handle of the browser in Viser's server."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        try:
            import viser
            from mjviser import ViserMujocoScene
        except ImportError as error:
            raise RuntimeError(f"Viser is not installed; type: pip install mjviser ({error})") from None

        require_display()
        browser = _browser()
        self._server = viser.ViserServer(host="127.0.0.1", verbose=False)
        self.scene = ViserMujocoScene(self._server, model, num_envs=1)
        self.scene.create_visualization_gui()
        self.sync: Callable[[], object] = partial(self.scene.update_from_mjdata, data)
        came = threading.Event()
        self._server.on_client_connect(lambda _client: came.set())
        self._browser = Browser(browser, f"http://127.0.0.1:{self._server.get_port()}/")
        try:
            if not came.wait(TIMEOUT_S):
                raise RuntimeError(f"the browser did not come within {TIMEOUT_S:g} s")
            mujoco.mj_forward(model, data)
            self.sync()
            if self.client.get_render(*PROBE_PX, timeout=TIMEOUT_S).std() < LEAST_CONTRAST:
                raise RuntimeError("its browser draws nothing")
        except BaseException:
            self.close()
            raise

    def stop(self) -> None:
        if not self._server.get_clients():
            raise RuntimeError("its browser has left")
        self._browser.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._browser.signal(signal.SIGCONT)

    def close(self) -> None:
        self._browser.close()
        self._server.stop()

    @property
    def client(self) -> Any:
        return next(iter(self._server.get_clients().values()))


VIEWERS: dict[str, Callable[..., ModelViewer]] = {
    TWIXT: TwixtViewer, PASSIVE: passive_viewer, STUDIO: studio_viewer, VISER: ViserViewer
}  # fmt: skip


def has_display() -> bool:
    """True if the environment names a display."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def require_display() -> None:
    """Raises RuntimeError if there is no display."""
    if not has_display():
        raise RuntimeError("it needs a display")


class Browser:
    """A browser that shows an address. It has its own process group and its own folder."""

    def __init__(self, program: str, address: str) -> None:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # the browser's sandbox does not work for root
        with ExitStack() as stack:
            folder = tempfile.TemporaryDirectory(prefix="twixt-browser-", ignore_cleanup_errors=True)
            shown = [f"--user-data-dir={stack.enter_context(folder)}", f"--app={address}"]
            child = process([program, *BROWSER_OPTIONS, *sandbox, *shown], is_apart=True)
            self._group = stack.enter_context(child).pid
            stack.callback(self.signal, signal.SIGKILL)
            self._started = stack.pop_all()

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to all processes of the browser."""
        with suppress(ProcessLookupError):
            os.killpg(self._group, number)

    def close(self) -> None:
        """Ends all processes of the browser and removes its folder."""
        self._started.close()


def _browser() -> str:
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    raise RuntimeError("Viser draws in a browser, and no Chromium is here; on Debian: apt-get install chromium")


def model_loop(
    viewer: str, model: str, sync_hz: float | None = None, publish_hz: float | None = None
) -> Iterator[Loop]:
    """Steps a MuJoCo model. sync_hz: number of calls of `sync` per second of the wall clock. If it is None, `sync` is
    called after every step."""
    made_model = mujoco.MjModel.from_xml_path(model)
    data = mujoco.MjData(made_model)
    options = {} if publish_hz is None else {"publish_hz": publish_hz}
    try:
        opened = VIEWERS[viewer](made_model, data, **options)
    except Exception as error:  # a library, a display or a driver is missing
        raise RuntimeError(f"{type(error).__name__}: {error}") from error
    sync, period_ns, next_ns, made = opened.sync, 0 if sync_hz is None else round(1e9 / sync_hz), 0, 0

    def step(watched: bool) -> int:
        nonlocal made, next_ns
        if made % RESET_STEPS == 0:
            mujoco.mj_resetData(made_model, data)
        mujoco.mj_step(made_model, data)
        made += 1
        if watched and (not period_ns or time.perf_counter_ns() >= next_ns):
            next_ns = time.perf_counter_ns() + period_ns
            sync()
        return made

    try:
        yield Loop(step, opened, sync, opened.pid if isinstance(opened, TwixtViewer) else None)
    finally:
        with suppress(ProcessLookupError, RuntimeError):
            opened.close()
