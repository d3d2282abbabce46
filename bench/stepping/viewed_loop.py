"""Program of `python -m bench mujoco`, one process per viewer: steps a model in turns with the viewer and without it.

It reads commands from a file descriptor, one line of JSON each, and answers each by a line of JSON on standard output:

    command                                           fields of the answer
    {"do": "turn", "watched": true, "seconds": 1.0}   begin_ns, end_ns, steps, cpu_ns of the loop
    {"do": "sync", "calls": 200}                      us: durations of calls of `sync`, one right after the other

Always: turns with and without the viewer run the same loop over the same states, because the data is reset every
RESET_STEPS steps. A turn without the viewer does not call `sync`. A viewer that has its own processes is stopped
(SIGSTOP) outside its turns, so that it does not disturb other programs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

import mujoco

from bench.stepping.model_viewers import VIEWERS, ModelViewer

# Number of steps after which the data is reset. A humanoid falls for about two seconds in that time.
RESET_STEPS = 700
# Time at the start of a turn that is not measured, s: after the viewer was stopped, and after it was continued.
STOPPED_S, GOES_ON_S = 0.1, 0.4


class SteppedLoop:
    """The measured loop. sync_hz: calls of `sync` per second of the wall clock; None calls it after every step."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, viewer: ModelViewer, sync_hz: float | None) -> None:
        self._model, self._data, self._viewer = model, data, viewer
        self._period_ns = 0 if sync_hz is None else round(1e9 / sync_hz)
        self._made = 0

    def turn(self, watched: bool, seconds: float) -> dict[str, Any]:
        """Runs the loop for a time that is not measured, then for `seconds`. Returns the answer of a turn."""
        if not watched:
            self._steps(STOPPED_S, False)
            return {"watched": False, **self._steps(seconds, False)}
        with self._running_viewer():
            self._steps(GOES_ON_S, True)
            return {"watched": True, **self._steps(seconds, True)}

    def sync_us(self, calls: int) -> list[float]:
        """Durations (us) of calls of `sync`, one right after the other."""
        sync, times = self._viewer.sync, []
        with self._running_viewer():
            for _ in range(calls):
                begin_ns = time.perf_counter_ns()
                sync()
                times.append((time.perf_counter_ns() - begin_ns) / 1e3)
        return times

    def settle(self, seconds: float) -> None:
        """Runs the loop for `seconds`, in which the viewer finishes loading."""
        with self._running_viewer():
            self._steps(seconds, True)

    @contextlib.contextmanager
    def _running_viewer(self) -> Iterator[None]:
        self._viewer.resume()
        try:
            yield
        finally:
            self._viewer.stop()

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
    os.dup2(2, 1)  # other output goes to standard error, not between the lines of JSON

    def tell(**told: Any) -> None:
        print(json.dumps(told), file=out, flush=True)

    model = mujoco.MjModel.from_xml_path(asked.model)
    data = mujoco.MjData(model)
    options = {} if asked.publish_hz is None else {"publish_hz": asked.publish_hz}
    try:
        viewer = VIEWERS[asked.viewer](model, data, **options)
    except Exception as error:  # a missing library, display or driver
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
    except RuntimeError as error:  # the viewer has ended
        tell(failure=str(error))
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
