"""Common interface to the viewers of a MuJoCo model that the benchmark compares.

The constructor of a viewer takes a model and its data, and opens the window. It raises an exception if the viewer
cannot run, for lack of a library, a display or a driver. `sync` is the viewer's own method without a wrapper, because
the cost of that call is measured.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import mujoco

from bench.screens import end_with_parent

if TYPE_CHECKING:
    import mujoco


TWIXT, PASSIVE, STUDIO, VISER = "twixt", "mujoco.viewer", "mujoco.studio", "viser"
PEERS = (PASSIVE, STUDIO, VISER)
# Longest start of a viewer, seconds.
TIMEOUT_S = 30.0
# Size of twixt's window, also used for every other window whose size can be chosen, pixels.
WIDTH_PX, HEIGHT_PX = 1280, 720
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# The browser opens a window without a frame and draws with the system's OpenGL, always at full speed. It may be
# stopped for any time: no watchdog ends it.
BROWSER_OPTIONS = (
    f"--window-size={WIDTH_PX},{HEIGHT_PX}", "--window-position=0,0", "--no-first-run", "--no-default-browser-check",
    "--use-angle=gl", "--ignore-gpu-blocklist", "--ozone-platform-hint=auto",
    "--disable-gpu-watchdog", "--disable-hang-monitor",
    "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
)  # fmt: skip
# Test picture from the browser: its side lengths in pixels, and the smallest standard deviation of its values. A
# smaller one means that the picture is blank, so the browser does not draw.
PROBE_PX, LEAST_CONTRAST = (90, 160), 1.0
HOW_TO_INSTALL = "Viser is not installed; type: pip install mjviser"


class ModelViewer(Protocol):
    """A viewer of one model. sync: hands the current state over to the viewer."""

    sync: Callable[[], object]

    def stop(self) -> None:
        """Stops the viewer's processes, if it has any."""

    def resume(self) -> None:
        """Continues the viewer's processes."""

    def close(self) -> None:
        """Closes the viewer."""


class TwixtViewer:
    """twixt's viewer, a separate process. Without a display it draws offscreen."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, publish_hz: float | None = None) -> None:
        from twixt.sim.engines.mujoco.mujoco_viewer import launch_passive

        options: dict[str, Any] = {} if publish_hz is None else {"publish_hz": publish_hz}
        self._handle = launch_passive(model, data, offscreen=not has_display(), **options)
        self.sync: Callable[[], object] = self._handle.sync
        view = self._handle._view
        ends_s = time.monotonic() + TIMEOUT_S
        while not view._host.viewer_attached.is_set:
            if not view.is_open or time.monotonic() > ends_s:
                raise RuntimeError(f"no viewer came: {view.closed_because}")
            self.sync()
            time.sleep(0.001)
        process = view._session._process
        assert process is not None, "a viewer has come"
        self._pid = process.pid

    def stop(self) -> None:
        os.kill(self._pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self._pid, signal.SIGCONT)

    def close(self) -> None:
        self.resume()
        self._handle.close()


class ThreadViewer:
    """Base of viewers that are threads of this process, and so have no processes to stop."""

    def stop(self) -> None:
        """No-op."""

    def resume(self) -> None:
        """No-op."""


class PassiveViewer(ThreadViewer):
    """MuJoCo's passive viewer."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        import mujoco.viewer

        require_display()
        self._handle = mujoco.viewer.launch_passive(model, data)
        self.sync: Callable[[], object] = self._handle.sync

    def close(self) -> None:
        self._handle.close()


class StudioViewer(ThreadViewer):
    """MuJoCo's Studio, without its panels."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        from mujoco.studio import launch_passive, native_viewer, viewer_protocol

        del native_viewer  # imported first: if its import failed later, only the viewer's thread would end
        require_display()
        # With MuJoCo 4.0 Python's Studio draws only in this mode. In the others its first frame ends the process with
        # "Target not found".
        config = viewer_protocol.ViewerConfig(width=WIDTH_PX, height=HEIGHT_PX, gfx="opengl_software")
        self._handle = launch_passive.launch(config)
        self._handle.set_model(model, data=data)
        self.sync: Callable[[], object] = self._handle.sync

    def close(self) -> None:
        self._handle.close()


def viser_viewer(model: mujoco.MjModel, data: mujoco.MjData) -> ModelViewer:
    """Makes Viser's viewer."""
    return ViserViewer(model, data)


VIEWERS: dict[str, Callable[..., ModelViewer]] = {
    TWIXT: TwixtViewer, PASSIVE: PassiveViewer, STUDIO: StudioViewer, VISER: viser_viewer
}  # fmt: skip


def has_display() -> bool:
    """True if the environment names a display."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def require_display() -> None:
    """Raises RuntimeError if there is no display."""
    if not has_display():
        raise RuntimeError("it needs a display")


class ViserViewer:
    """Viser's viewer. `stop` stops only the browser, because the server is idle without a `sync`. scene: mjviser's
    scene. client: handle of the browser in Viser's server."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        try:
            import viser
            from mjviser import ViserMujocoScene
        except ImportError as error:
            raise RuntimeError(f"{HOW_TO_INSTALL} ({error})") from None

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
            self._require_picture()
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

    def _require_picture(self) -> None:
        if self.client.get_render(*PROBE_PX, timeout=TIMEOUT_S).std() < LEAST_CONTRAST:
            raise RuntimeError("its browser draws nothing")


class Browser:
    """A browser that shows an address, with its own process group and its own folder."""

    def __init__(self, program: str, address: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="twixt-browser-", ignore_cleanup_errors=True)
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # the browser's sandbox does not work for root
        self._process = subprocess.Popen(
            [program, *BROWSER_OPTIONS, *sandbox, f"--user-data-dir={self._folder.name}", f"--app={address}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            process_group=0, preexec_fn=end_with_parent,
        )  # fmt: skip

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to all processes of the browser."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def close(self) -> None:
        """Ends all processes of the browser and removes its folder."""
        self.signal(signal.SIGKILL)
        self._process.wait()
        self._folder.cleanup()


def _browser() -> str:
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    raise RuntimeError("Viser draws in a browser, and no Chromium is here; on Debian: apt-get install chromium")
