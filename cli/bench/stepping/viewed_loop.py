"""A program that steps a model in turns, with a viewer and without: run for `twixt bench mujoco`, one for each viewer.

It reads commands from a file descriptor, a line of JSON each, and answers each with a line of JSON on standard output:

    {"do": "turn", "watched": true, "seconds": 1.0}   begin_ns, end_ns, steps, cpu_ns of the loop
    {"do": "sync", "calls": 200}                      states handed over back to back: us, the time of each

Always: with and without are the same loop over the same states, since the data is reset every RESET_STEPS steps. A turn
without the viewer does not call `sync`, and the viewer, where it is a process of its own, is stopped (SIGSTOP).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

import mujoco

TWIXT, PASSIVE, STUDIO = "twixt", "mujoco.viewer", "mujoco.studio"
# Steps after which the data is reset: about two seconds of a humanoid that falls.
RESET_STEPS = 700
# Time left out at the start of a turn, seconds: after the viewer was stopped, and after it was continued.
STOPPED_S, GOES_ON_S = 0.1, 0.4
# Longest time for a viewer to come, seconds.
PATIENCE_S = 30.0


class ModelViewer(Protocol):
    """A viewer of one model."""

    def sync(self) -> None:
        """Hands the present state over."""

    def stop(self) -> None:
        """Stops it where it is a process of its own."""

    def go_on(self) -> None:
        """Continues it."""

    def close(self) -> None:
        """Closes it."""


class TwixtViewer:
    """twixt's: a process of its own, offscreen where there is no display."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, publish_hz: float | None = None) -> None:
        from twixt.sim.engines.mujoco.mujoco_viewer import launch_passive

        options: dict[str, Any] = {} if publish_hz is None else {"publish_hz": publish_hz}
        self._handle = launch_passive(model, data, offscreen=not _has_display(), **options)
        self.sync = self._handle.sync
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


class PassiveViewer:
    """MuJoCo's passive viewer: a thread of this process."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        import mujoco.viewer

        _require_display()
        self._handle = mujoco.viewer.launch_passive(model, data)
        self.sync = self._handle.sync

    def stop(self) -> None:
        """Has no process of its own."""

    def go_on(self) -> None:
        """Has no process of its own."""

    def close(self) -> None:
        self._handle.close()


class StudioViewer:
    """MuJoCo's Studio: a thread of this process."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        from mujoco.studio import launch_passive, native_viewer, viewer_protocol

        del native_viewer  # imported here, since a failure of its import would end its thread alone
        _require_display()
        self._handle = launch_passive.launch(viewer_protocol.ViewerConfig())
        self._handle.set_model(model, data=data)
        self.sync = self._handle.sync

    def stop(self) -> None:
        """Has no process of its own."""

    def go_on(self) -> None:
        """Has no process of its own."""

    def close(self) -> None:
        self._handle.close()


VIEWERS: dict[str, Callable[..., ModelViewer]] = {TWIXT: TwixtViewer, PASSIVE: PassiveViewer, STUDIO: StudioViewer}


class SteppedLoop:
    """The loop. sync_hz: None: `sync` after every step; else so often a second of the wall clock."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, viewer: ModelViewer, sync_hz: float | None) -> None:
        self._model, self._data, self._viewer = model, data, viewer
        self._period_ns = 0 if sync_hz is None else round(1e9 / sync_hz)
        self._made = 0

    def turn(self, watched: bool, seconds: float) -> dict[str, Any]:
        """Runs a stretch, after one that is left out."""
        if watched:
            self._viewer.go_on()
            self._steps(GOES_ON_S, True)
        else:
            self._viewer.stop()
            self._steps(STOPPED_S, False)
        return {"watched": watched, **self._steps(seconds, watched)}

    def sync_us(self, calls: int) -> list[float]:
        """Times of states handed over back to back, us."""
        self._viewer.go_on()
        sync, taken = self._viewer.sync, []
        for _ in range(calls):
            begin_ns = time.perf_counter_ns()
            sync()
            taken.append((time.perf_counter_ns() - begin_ns) / 1e3)
        return taken

    def settle(self, seconds: float) -> None:
        """Steps while the viewer loads what it loads after its first frames."""
        self._steps(seconds, True)

    def _steps(self, seconds: float, watched: bool) -> dict[str, int]:
        model, data, sync, period_ns = self._model, self._data, self._viewer.sync, self._period_ns
        made = begin_made = self._made
        begin_cpu_ns = time.thread_time_ns()
        next_ns = begin_ns = now_ns = time.perf_counter_ns()
        ends_ns = begin_ns + round(seconds * 1e9)
        while now_ns < ends_ns:
            if made % RESET_STEPS == 0:
                mujoco.mj_resetData(model, data)
            mujoco.mj_step(model, data)
            made += 1
            now_ns = time.perf_counter_ns()
            if watched and now_ns >= next_ns:
                next_ns = now_ns + period_ns
                sync()
        self._made = made
        cpu_ns = time.thread_time_ns() - begin_cpu_ns
        return {"begin_ns": begin_ns, "end_ns": now_ns, "steps": made - begin_made, "cpu_ns": cpu_ns}


def _has_display() -> bool:
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _require_display() -> None:
    if not _has_display():
        raise RuntimeError("it needs a display")


def main() -> None:
    """`--viewer NAME --model FILE --commands FD --settle S [--sync-hz HZ] [--publish-hz HZ]`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--viewer", choices=VIEWERS, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--commands", type=int, required=True)
    parser.add_argument("--settle", type=float, required=True)
    parser.add_argument("--sync-hz", type=float)
    parser.add_argument("--publish-hz", type=float)
    asked = parser.parse_args()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # other output must not come between the lines of JSON

    def tell(**told: Any) -> None:
        print(json.dumps(told), file=out, flush=True)

    model = mujoco.MjModel.from_xml_path(asked.model)
    data = mujoco.MjData(model)
    options = {} if asked.publish_hz is None else {"publish_hz": asked.publish_hz}
    try:
        viewer = VIEWERS[asked.viewer](model, data, **options)
    except Exception as error:  # of a library that is not there, of a display, of a driver
        return tell(failure=f"{type(error).__name__}: {error}")
    try:
        loop = SteppedLoop(model, data, viewer, asked.sync_hz)
        loop.settle(asked.settle)
        tell(bodies=model.nbody)
        with os.fdopen(asked.commands) as commands:
            for line in commands:
                wanted = json.loads(line)
                match wanted.pop("do"):
                    case "turn":
                        tell(**loop.turn(**wanted))
                    case "sync":
                        tell(us=loop.sync_us(**wanted))
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    finally:
        with contextlib.suppress(ProcessLookupError):
            viewer.close()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main()
    sys.stdout.flush()
    os._exit(0)  # viewers that are threads may keep the process alive
