"""Runs the programs that `python -m bench guest` and `python -m bench mujoco` measure. Each program is a loop that
never waits. Turns with its viewer alternate with turns without the viewer.

A program reads commands from a file descriptor and writes answers to standard output. Each command and each answer is
one line of JSON. The first answer says that the loop is ready. If there is a viewer process that must be continued at
the end, the field `viewer` of this answer is its pid. An answer with the field `failure` means that the loop has
ended.

    command                                           fields of the answer
    {"do": "turn", "watched": true, "seconds": 1.0}   begin_ns, end_ns, steps, cpu_ns of the loop
    {"do": "sync", "calls": 200}                      us: durations of calls of `sync`, one right after the other

Always: all turns run the same loop in the same process. A viewer that has its own processes is stopped outside the
watched turns. It is stopped by SIGSTOP, which the channel tolerates. The viewer ends before this program. The loops of
`guest` can also run in a checkout of an earlier version of twixt. So they use only names that earlier versions have.
Each name is imported from the module where that version has it (see `HOMES`).
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from bench.processes import json_writer

# WORLD_NAME is the default world. TIME_SCALE is so large that the loop of this world never waits.
WORLD_NAME, TIME_SCALE = "balls", 1000.0
# Times in seconds at the start of a turn that are not measured. STOPPED_S: work of the stopped viewer may still be in
# progress. GOES_ON_S: the continued viewer works off its backlog.
STOPPED_S, GOES_ON_S = 0.1, 0.4
# TIMEOUT_S is the longest time for a viewer to attach. EXIT_GRACE_S is the longest time for a viewer to end. Both are
# in seconds.
TIMEOUT_S, EXIT_GRACE_S = 30.0, 10.0
# For each name, the modules of twixt that define it, in this version and in earlier versions.
HOMES = {
    "Config": ("ipc.config.flags", "ipc.config.config"),
    "Host": ("ipc.session",),
    "Physics": ("sim.process.turns", "sim.process.physics"),
    "Scene": ("ipc.scene",),
    "Sphere": ("ipc.scene",),
    "drawable_scene": ("sim.world.world",),
    "load_world": ("sim.worlds.find",),
    "open_listener": ("ipc.session",),
    "physics_def": ("sim.process.turns", "sim.process.physics"),
    "show": ("sim.show.show", "sim.show.view"),
    "start_viewer": ("sim.process.viewer_process",),
}

Step = Callable[[bool], int]  # runs the loop for a moment, watched or not; returns the number of steps since the start


class LoopViewer(Protocol):
    """Viewer of a loop. Its methods raise RuntimeError if it has ended."""

    def stop(self) -> None:
        """Stops the viewer's processes, if the viewer has processes."""

    def resume(self) -> None:
        """Continues the viewer's processes."""


class Loop(NamedTuple):
    """A loop that is measured. sync: function that hands the state over to the viewer of a model. pid: id of a viewer
    process that must be continued at the end."""

    step: Step
    viewer: LoopViewer
    sync: Callable[[], object] = lambda: None
    pid: int | None = None


class ViewerProcess:
    """twixt's viewer, which is a separate process. process: object that `start_viewer` returned for it."""

    def __init__(self, process: Any) -> None:
        self._process = process
        self.pid: int = process.pid

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        self._signal(signal.SIGSTOP)

    def _signal(self, number: signal.Signals) -> None:
        """A signal can be sent without an error even to a process that has ended, until its parent has waited for it.
        So it is checked first whether the process has ended."""
        with contextlib.suppress(ChildProcessError, ProcessLookupError):
            if os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                os.kill(self._process.pid, number)
                return
        self._process.wait(EXIT_GRACE_S)
        raise RuntimeError(f"the viewer {self._process.ending} while it was measured")


def attached(host: Any, process: Any, go_on: Callable[[], object]) -> ViewerProcess:
    """Calls `go_on` until the viewer has attached. Raises RuntimeError if the viewer ends, or if it has not attached
    after TIMEOUT_S."""
    ends_s = time.monotonic() + TIMEOUT_S

    def has_attached() -> bool:
        event = getattr(host, "viewer_attached", None)
        # `viewer_came` exists only in earlier versions
        return host.viewer_came.is_set() if event is None else event.is_set

    while not has_attached():
        if process.poll() is not None or time.monotonic() > ends_s:
            raise RuntimeError(f"no viewer came: it {process.ending}")
        go_on()
    return ViewerProcess(process)


def _named(name: str) -> Any:
    for home in HOMES[name]:
        with contextlib.suppress(ImportError, AttributeError):
            return getattr(importlib.import_module(f"twixt.{home}"), name)
    raise ImportError(f"this version of twixt has no {name} in {' or '.join(HOMES[name])}")


def world_loop(bodies: int, log: str) -> Iterator[Loop]:
    """The default world in the loop of `twixt sim`."""
    config = _named("Config")(offscreen=True, seconds=3600.0, log=log, time_scale=TIME_SCALE)
    world = _named("load_world")(WORLD_NAME, [("count", str(bodies))])
    Host, open_listener, start_viewer = map(_named, ("Host", "open_listener", "start_viewer"))
    scene, name = _named("drawable_scene")(world), f"bench-{os.getpid()}"
    host = Host(open_listener(name), scene, len(world.bodies))
    viewer = None
    try:
        physics = _named("Physics")(_named("physics_def")(config, world, host))
        physics.start()

        def step(_watched: bool = True) -> int:
            physics.turn()
            return int(physics.publisher.meter.steps)

        viewer = start_viewer(name, config)
        yield Loop(step, attached(host, viewer, step), pid=viewer.pid)
    finally:
        if viewer is not None:
            viewer.terminate()
            viewer.stop(EXIT_GRACE_S)
        host.end()


def show_loop(bodies: int, log: str) -> Iterator[Loop]:
    """A user's own loop, which moves bodies and publishes them as fast as possible."""
    Scene, Sphere, show = map(_named, ("Scene", "Sphere", "show"))
    random = np.random.default_rng(0)
    around = random.random((bodies, 3)) * bodies ** (1 / 3)
    position = around.copy()
    phase = random.random(bodies) * math.tau
    made = 0
    with contextlib.redirect_stderr(io.StringIO()):
        view = show(Scene([Sphere(radius=0.2)]), count=bodies, dt=1e-3, offscreen=True, log=log)
    with view:

        def step(_watched: bool = True) -> int:
            nonlocal made
            np.add(phase, 1e-3, out=phase)
            np.cos(phase, out=position[:, 0])
            position[:, 0] += around[:, 0]
            if view.is_open:
                view.publish(position=position)
            made += 1
            return made

        process = view._session._process
        yield Loop(step, attached(view._host, process, step), pid=process.pid)


def run_turn(step: Step, seconds: float, watched: bool = True) -> dict[str, int]:
    """Runs complete steps for about `seconds`. Returns the instants, the number of steps and the processor time of the
    thread."""
    made = begin_made = step(watched)
    begin_cpu_ns = time.thread_time_ns()
    begin_ns = now_ns = time.perf_counter_ns()
    ends_ns = begin_ns + round(seconds * 1e9)
    while now_ns < ends_ns:
        made = step(watched)
        now_ns = time.perf_counter_ns()
    cpu_ns = time.thread_time_ns() - begin_cpu_ns
    return {"begin_ns": begin_ns, "end_ns": now_ns, "steps": made - begin_made, "cpu_ns": cpu_ns}


def _turn(loop: Loop, watched: bool, seconds: float) -> dict[str, Any]:
    """Runs a turn. If `watched` is True, the viewer runs during the turn, else it is stopped. Stops the viewer
    afterwards."""
    (loop.viewer.resume if watched else loop.viewer.stop)()
    run_turn(loop.step, GOES_ON_S if watched else STOPPED_S, watched)
    found = run_turn(loop.step, seconds, watched)
    loop.viewer.stop()
    return found


def _syncs(loop: Loop, calls: int) -> dict[str, Any]:
    """Durations, in us, of calls of `sync`, one right after the other."""
    times = []
    loop.viewer.resume()
    for _ in range(calls):
        begin_ns = time.perf_counter_ns()
        loop.sync()
        times.append((time.perf_counter_ns() - begin_ns) / 1e3)
    loop.viewer.stop()
    return {"us": times}


COMMANDS: dict[str, Callable[..., dict[str, Any]]] = {"turn": _turn, "sync": _syncs}


def main(opens: str, commands: int, settle_s: float, options: dict[str, Any], has_threads: bool) -> None:
    """Runs a loop until the file descriptor `commands` is closed. opens: `module:function` that yields the loop.
    options: values for that function. settle_s: time in seconds in which the viewer loads its overlay and compiles
    its programs. has_threads: True if threads of a viewer may keep the process alive at its end."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    tell = json_writer()
    module, _, name = opens.partition(":")
    opened: Callable[..., Iterator[Loop]] = getattr(importlib.import_module(module), name)
    try:
        with contextlib.contextmanager(opened)(**options) as loop, os.fdopen(commands) as lines:
            run_turn(loop.step, settle_s)
            loop.viewer.stop()
            try:
                tell({"viewer": loop.pid})
                for line in lines:
                    wanted = json.loads(line)
                    tell(COMMANDS[wanted.pop("do")](loop, **wanted))
            finally:
                with contextlib.suppress(RuntimeError):
                    loop.viewer.resume()
    except (RuntimeError, OSError) as error:
        with contextlib.suppress(BrokenPipeError):
            tell({"failure": str(error)})
    except KeyboardInterrupt:
        pass
    if has_threads:
        os._exit(0)


def _interrupt(_number: int, _frame: object) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # a second signal must not interrupt the end of the viewer
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
