"""Program of `python -m bench guest`: a simulation that never waits, whose viewer is stopped and continued in turns.

All turns run the same loop in the same process. In one turn the viewer is stopped (by SIGSTOP, which the channel
tolerates), in the next it runs. Steps are timed by the wall clock. `LoopProcess` requests the turns.

Always: the viewer is a separate process that draws offscreen with the default pacing, and ends before this program.
This program can also run in a checkout of an earlier version of twixt. So it uses only names that earlier versions
have, and imports each from the module where that version has it (`HOMES`).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

WORLD, LOOP = "world", "show"
# The default world, and a time scale so large that its loop never waits.
WORLD_NAME, TIME_SCALE = "balls", 1000.0
# Time at the start of a turn that is not measured, s. STOPPED_S: work of the stopped viewer may still be in progress.
# GOES_ON_S: the continued viewer works off its backlog.
STOPPED_S, GOES_ON_S = 0.1, 0.4
# Longest time for a viewer to attach (s).
TIMEOUT_S = 30.0
# Longest time for a viewer to end (s).
EXIT_GRACE_S = 10.0

# Name -> modules of twixt that define it, newest version first; `module:name` if it has another name there.
HOMES = {
    "Config": ("ipc.config.flags", "ipc.config.config", "ipc.config"),
    "Host": ("ipc.session",),
    "Physics": ("sim.process.turns", "sim.process.physics", "sim.physics"),
    "Publisher": ("sim.publish.publisher", "sim.publisher"),
    "Scene": ("ipc.scene",),
    "Schedule": ("sim.schedule.schedule", "sim.schedule"),
    "Sphere": ("ipc.scene",),
    "Trouble": ("sim.process.trouble", "sim.process.injected_trouble", "sim.trouble"),
    "Troubles": ("ipc.config.troubles", "ipc.troubles"),
    "drawable_scene": ("sim.world.world", "sim.world"),
    "load_world": ("sim.worlds.find", "sim.world"),
    "open_listener": ("ipc.session", "ipc.session:open_door"),
    "physics_def": ("sim.process.turns", "sim.process.physics"),
    "show": ("sim.show.view", "sim.show.show", "sim.show"),
    "start_viewer": ("sim.process.viewer_process", "sim.viewer_process"),
}

Step = Callable[[], int]  # runs the loop for a moment; returns the number of steps since the start


def _named(name: str) -> Any:
    for home in HOMES[name]:
        module, _, older = home.partition(":")
        with contextlib.suppress(ImportError, AttributeError):
            return getattr(importlib.import_module(f"twixt.{module}"), older or name)
    raise ImportError(f"this version of twixt has no {name} in {' or '.join(HOMES[name])}")


def world_steps(bodies: int, log: str, options: dict[str, Any]) -> Iterator[tuple[Any, Any, Step]]:
    """Runs the default world in the loop of `twixt sim`. Yields the host, the viewer's process and a `Step`."""
    Config, Host, open_listener, start_viewer = map(_named, ("Config", "Host", "open_listener", "start_viewer"))
    drawable_scene, load_world = map(_named, ("drawable_scene", "load_world"))
    config = Config(offscreen=True, seconds=3600.0, log=log, time_scale=TIME_SCALE, **options)
    world = load_world(WORLD_NAME, [("count", str(bodies))])
    name = f"bench-{os.getpid()}"
    host = Host(open_listener(name), drawable_scene(world), len(world.bodies))
    viewer = None
    try:
        physics = _physics_of(config, world, host)
        physics.start()

        def step() -> int:
            physics.turn()
            return int(physics.publisher.meter.steps)

        viewer = start_viewer(name, config)
        yield host, viewer, step
    finally:
        if viewer is not None:
            viewer.terminate()
            viewer.stop(EXIT_GRACE_S)
        host.end()


def _physics_of(config: Any, world: Any, host: Any) -> Any:
    """Makes the physics of `world` in the way of the version that runs."""
    Physics = _named("Physics")
    with contextlib.suppress(ImportError):
        return Physics(_named("physics_def")(config, world, host))
    Publisher, Schedule, Trouble, Troubles = map(_named, ("Publisher", "Schedule", "Trouble", "Troubles"))
    schedule = Schedule(world.dt, TIME_SCALE, None, round(1e9 / config.publish_hz))
    publisher = Publisher(host, schedule.plan, config.publish_hz)
    return Physics(world, lambda: world, 0, schedule, publisher, host, Trouble(Troubles(), 0))


def show_steps(bodies: int, log: str, options: dict[str, Any]) -> Iterator[tuple[Any, Any, Step]]:
    """Runs a user's own loop, which moves bodies and publishes them as fast as possible. Yields the host, the viewer's
    process and a `Step`."""
    Scene, Sphere, show = map(_named, ("Scene", "Sphere", "show"))
    random = np.random.default_rng(0)
    side_m = bodies ** (1 / 3)
    around = random.random((bodies, 3)) * side_m
    position = around.copy()
    phase = random.random(bodies) * math.tau
    made = 0
    with contextlib.redirect_stderr(io.StringIO()):
        view = show(Scene([Sphere(radius=0.2)]), count=bodies, dt=1e-3, offscreen=True, log=log, **options)
    with view:

        def step() -> int:
            nonlocal made
            np.add(phase, 1e-3, out=phase)
            np.cos(phase, out=position[:, 0])
            position[:, 0] += around[:, 0]
            if view.is_open:
                view.publish(position=position)
            made += 1
            return made

        session = getattr(view, "_session", None) or view._showing  # its name in older versions
        yield view._host, session._process, step


KINDS = {WORLD: world_steps, LOOP: show_steps}


def run_turn(step: Step, seconds: float) -> dict[str, Any]:
    """Runs complete steps for about `seconds`. Returns begin_ns and end_ns, and the number of steps and the thread's
    processor time between these instants."""
    made = begin_made = step()
    begin_cpu_ns = time.thread_time_ns()
    begin_ns = now_ns = time.perf_counter_ns()
    ends_ns = begin_ns + round(seconds * 1e9)
    while now_ns < ends_ns:
        made = step()
        now_ns = time.perf_counter_ns()
    cpu_ns = time.thread_time_ns() - begin_cpu_ns
    return {"begin_ns": begin_ns, "end_ns": now_ns, "steps": made - begin_made, "cpu_ns": cpu_ns}


def attach_viewer(host: Any, viewer: Any, step: Step, settling_s: float) -> None:
    """Runs steps until the viewer has attached, and then for `settling_s`. Raises RuntimeError if the viewer does not
    attach within TIMEOUT_S, or ends."""
    patience_ends = time.monotonic() + TIMEOUT_S
    while not host.viewer_attached.is_set:
        if viewer.poll() is not None or time.monotonic() > patience_ends:
            raise RuntimeError(f"no viewer came: it {viewer.ending}")
        step()
    run_turn(step, settling_s)
    if viewer.poll() is not None:
        raise RuntimeError(f"the viewer {viewer.ending}")


def json_writer() -> Callable[..., None]:
    """Redirects other output to standard error. Returns a function that writes a line of JSON to standard output."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(**told: Any) -> None:
        print(json.dumps(told), file=out, flush=True)

    return tell


def main() -> None:
    """`watched_loop.py world|show --bodies N --settle S --commands FD --log FILE`: runs turns for `LoopProcess`."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _exit_on_signal)
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=KINDS)
    parser.add_argument("--bodies", type=int, required=True)
    parser.add_argument("--settle", type=float, required=True)
    parser.add_argument("--commands", type=int, required=True)
    parser.add_argument("--log", required=True)
    asked = parser.parse_args()
    tell = json_writer()
    opened = contextlib.contextmanager(KINDS[asked.way])
    try:
        with opened(asked.bodies, asked.log, {}) as (host, viewer, step), os.fdopen(asked.commands) as commands:
            attach_viewer(host, viewer, step, asked.settle)
            tell(viewer=viewer.pid)
            try:
                for line in commands:
                    wanted = json.loads(line)
                    tell(watched=wanted["watched"], **turn(viewer.pid, step, wanted["watched"], wanted["seconds"]))
            except ProcessLookupError:
                viewer.wait(EXIT_GRACE_S)
                raise RuntimeError(f"the viewer {viewer.ending} while it was measured") from None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(viewer.pid, signal.SIGCONT)
    except (RuntimeError, OSError) as error:
        tell(failure=str(error))
    except (KeyboardInterrupt, BrokenPipeError):
        pass


def turn(viewer_pid: int, step: Step, watched: bool, seconds: float) -> dict[str, Any]:
    """Runs a turn with the viewer running (`watched`) or stopped. Stops the viewer afterwards. Raises
    ProcessLookupError if the viewer has ended."""
    os.kill(viewer_pid, signal.SIGCONT if watched else signal.SIGSTOP)
    run_turn(step, GOES_ON_S if watched else STOPPED_S)
    found = run_turn(step, seconds)
    require_alive(viewer_pid)
    os.kill(viewer_pid, signal.SIGSTOP)
    return found


def require_alive(viewer_pid: int) -> None:
    """Raises ProcessLookupError if the viewer's process has ended.

    Sending a signal is no test, because that succeeds even for an ended process, until its parent has waited for it.
    """
    with contextlib.suppress(ChildProcessError):
        if os.waitid(os.P_PID, viewer_pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return
    raise ProcessLookupError(f"process {viewer_pid} has ended")


def _exit_on_signal(_number: int, _frame: object) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # a second signal must not interrupt the end of the viewer
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
