"""Viewers of a MuJoCo model that the bench compares, each behind the same few calls.

One idea: a viewer is made from a model and its data and is showing when it has been made. Its `sync` is the viewer's
own, without a wrapper, as the cost of a call is what is measured.

Always: a viewer that cannot be shown here raises: a library that is not there, a display, a driver.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import mujoco

TWIXT, PASSIVE, STUDIO, VISER = "twixt", "mujoco.viewer", "mujoco.studio", "viser"
PEERS = (PASSIVE, STUDIO, VISER)
# Longest time for a viewer to come, seconds.
PATIENCE_S = 30.0
# Side lengths of a window whose size can be chosen, pixels: those of twixt's.
WIDTH_PX, HEIGHT_PX = 1280, 720


class ModelViewer(Protocol):
    """A viewer of one model. sync: hands the present state over."""

    sync: Callable[[], object]

    def stop(self) -> None:
        """Stops its processes, if it has processes of its own."""

    def go_on(self) -> None:
        """Continues them."""

    def close(self) -> None:
        """Closes it."""


class TwixtViewer:
    """twixt's: a process of its own, offscreen where there is no display."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, publish_hz: float | None = None) -> None:
        from twixt.sim.engines.mujoco.mujoco_viewer import launch_passive

        options: dict[str, Any] = {} if publish_hz is None else {"publish_hz": publish_hz}
        self._handle = launch_passive(model, data, offscreen=not has_display(), **options)
        self.sync: Callable[[], object] = self._handle.sync
        view = self._handle._view
        ends_s = time.monotonic() + PATIENCE_S
        while not view._host.viewer_came.is_set():
            if not view.is_open or time.monotonic() > ends_s:
                raise RuntimeError(f"no viewer came: {view.closed_because}")
            self.sync()
            time.sleep(0.001)
        process = view._session._process
        assert process is not None, "a viewer has come"
        self._pid = process.pid

    def stop(self) -> None:
        os.kill(self._pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self._pid, signal.SIGCONT)

    def close(self) -> None:
        self.go_on()
        self._handle.close()


class ThreadViewer:
    """Base of viewers that are threads of this process: there is nothing to stop."""

    def stop(self) -> None:
        """Stops nothing."""

    def go_on(self) -> None:
        """Continues nothing."""


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

        del native_viewer  # imported here, since a failure of its import would end its thread alone
        require_display()
        # The one mode that Python's Studio draws in with MuJoCo 4.0: in the others its first frame ends the process,
        # with the words "Target not found".
        config = viewer_protocol.ViewerConfig(width=WIDTH_PX, height=HEIGHT_PX, gfx="opengl_software")
        self._handle = launch_passive.launch(config)
        self._handle.set_model(model, data=data)
        self.sync: Callable[[], object] = self._handle.sync

    def close(self) -> None:
        self._handle.close()


def viser_viewer(model: mujoco.MjModel, data: mujoco.MjData) -> ModelViewer:
    """Viser's, imported when it is asked for."""
    from bench.stepping.viser_viewer import ViserViewer

    return ViserViewer(model, data)


VIEWERS: dict[str, Callable[..., ModelViewer]] = {
    TWIXT: TwixtViewer, PASSIVE: PassiveViewer, STUDIO: StudioViewer, VISER: viser_viewer
}  # fmt: skip


def has_display() -> bool:
    """True where the environment names a display."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def require_display() -> None:
    """Raises RuntimeError without a display."""
    if not has_display():
        raise RuntimeError("it needs a display")
