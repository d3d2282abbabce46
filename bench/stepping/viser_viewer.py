"""Viser's viewer of a MuJoCo model: its server in this process, and a browser that draws.

One idea: without a client Viser only keeps the newest messages, so that a comparison needs one that draws them. It is
a Chromium of the system with its window on the display. Where no GPU draws, its WebGL is drawn by the same software
OpenGL as the other viewers' windows; Chromium's own software WebGL draws a sixth of the frames (measured with Chromium
156: 1.6 against 12.4 a second on two slow cores).

Model and poses go through `mjviser`, as in its example of a loop of one's own: each `sync` sends all poses.
Always: the browser has answered with a picture before the viewer counts as made, and ends with this process.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import mujoco

from bench.screens import end_with_parent
from bench.stepping.model_viewers import HEIGHT_PX, PATIENCE_S, WIDTH_PX, require_display

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# A window without a frame, drawn by the system's OpenGL, always at full speed; it may be stopped as long as one likes.
BROWSER_OPTIONS = (
    f"--window-size={WIDTH_PX},{HEIGHT_PX}", "--window-position=0,0", "--no-first-run", "--no-default-browser-check",
    "--use-angle=gl", "--ignore-gpu-blocklist", "--ozone-platform-hint=auto",
    "--disable-gpu-watchdog", "--disable-hang-monitor",
    "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
)  # fmt: skip
# Side lengths of the picture that shows that the browser draws, pixels; a blank one varies less than this.
PROBE_PX, LEAST_CONTRAST = (90, 160), 1.0
HOW_TO_INSTALL = "Viser is not installed; type: pip install mjviser"


class ViserViewer:
    """Viser's. A stop concerns the browser: the server rests without a `sync`. scene: mjviser's. client: the browser, as
    Viser's server knows it."""

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
            if not came.wait(PATIENCE_S):
                raise RuntimeError(f"the browser did not come within {PATIENCE_S:g} s")
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

    def go_on(self) -> None:
        self._browser.signal(signal.SIGCONT)

    def close(self) -> None:
        self._browser.close()
        self._server.stop()

    @property
    def client(self) -> Any:
        return next(iter(self._server.get_clients().values()))

    def _require_picture(self) -> None:
        if self.client.get_render(*PROBE_PX, timeout=PATIENCE_S).std() < LEAST_CONTRAST:
            raise RuntimeError("its browser draws nothing")


class Browser:
    """A browser at an address, in a process group and a folder of its own."""

    def __init__(self, program: str, address: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="twixt-browser-", ignore_cleanup_errors=True)
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # it has none for root
        self._process = subprocess.Popen(
            [program, *BROWSER_OPTIONS, *sandbox, f"--user-data-dir={self._folder.name}", f"--app={address}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            process_group=0, preexec_fn=end_with_parent,
        )  # fmt: skip

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to all of its processes."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def close(self) -> None:
        """Ends all of its processes and removes its folder."""
        self.signal(signal.SIGKILL)
        self._process.wait()
        self._folder.cleanup()


def _browser() -> str:
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    raise RuntimeError("Viser draws in a browser, and no Chromium is here; on Debian: apt-get install chromium")
