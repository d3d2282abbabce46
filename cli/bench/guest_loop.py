"""A simulation that never rests, whose viewer is stopped and let go on in turns: what `twixt bench guest` starts.

One idea: the same loop, the same process, the same minute. In one turn the viewer is stopped (SIGSTOP, which the
channel bears), in the next it runs; steps are counted by the wall clock. It tells of each turn in a line of JSON.

Always: the viewer is a process of its own that draws offscreen, paced as ever, and has gone when this ends. Uses only
names that earlier versions have too, so that it can run in a checkout of one and be compared.
"""

from __future__ import annotations

import argparse
import contextlib
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
# Of the world: the default one, asked for so many simulated seconds a second that it never waits.
WORLD_NAME, TIME_SCALE = "balls", 1000.0
# After the viewer was stopped or let go on: what was under way, and what it missed (seconds).
STOPPED_S, GOES_ON_S = 0.1, 0.4
# A viewer that has come loads its overlay and compiles its programs first: so many turns, but no longer (seconds).
SETTLING_TURNS, SETTLING_S = 5, 3.0
# For a viewer to come (seconds).
PATIENCE_S = 30.0
# For it to go (seconds).
FAREWELL_S = 10.0

Step = Callable[[], int]  # goes on for a moment; steps made since the start


def world_steps(bodies: int, log: str, options: dict[str, Any]) -> Iterator[tuple[Any, Any, Step]]:
    """The default world in the loop of `twixt sim`."""
    from twixt.ipc.config import Config
    from twixt.ipc.session import Host, open_door
    from twixt.ipc.troubles import Troubles
    from twixt.sim.physics import Physics
    from twixt.sim.publisher import Publisher
    from twixt.sim.schedule import Schedule
    from twixt.sim.trouble import Trouble
    from twixt.sim.viewer_process import start_viewer
    from twixt.sim.world import drawable_scene, load_world

    config = Config(offscreen=True, seconds=3600.0, log=log, **options)
    world = load_world(WORLD_NAME, [("count", str(bodies))])
    name = f"bench-{os.getpid()}"
    host = Host(open_door(name), drawable_scene(world), len(world.bodies))
    viewer = None
    try:
        schedule = Schedule(world.dt, TIME_SCALE, None, round(1e9 / config.publish_hz))
        publisher = Publisher(host, schedule.plan, config.publish_hz)
        physics = Physics(world, lambda: world, 0, schedule, publisher, host, Trouble(Troubles(), 0))
        physics.start()

        def step() -> int:
            physics.turn()
            return publisher.meter.steps

        viewer = start_viewer(name, config)
        yield host, viewer, step
    finally:
        if viewer is not None:
            viewer.terminate()
            viewer.stop(FAREWELL_S)
        host.end()


def show_steps(bodies: int, log: str, options: dict[str, Any]) -> Iterator[tuple[Any, Any, Step]]:
    """A loop of a user's own that moves its bodies and publishes them, as fast as it goes."""
    from twixt.ipc.scene import Scene, Sphere
    from twixt.sim.show import show

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

        yield view._host, view._showing._process, step


KINDS = {WORLD: world_steps, LOOP: show_steps}


def run_turns(step: Step, seconds: float) -> dict[str, Any]:
    """Steps for so long; how many and since when, at whole steps."""
    made = begin_made = step()
    begin_ns = now_ns = time.perf_counter_ns()
    ends_ns = begin_ns + round(seconds * 1e9)
    while now_ns < ends_ns:
        made = step()
        now_ns = time.perf_counter_ns()
    return {"begin_ns": begin_ns, "end_ns": now_ns, "steps": made - begin_made}


def come(host: Any, viewer: Any, step: Step, settling_s: float) -> None:
    """Goes on until the viewer has come and settled. Raises RuntimeError."""
    patience_ends = time.monotonic() + PATIENCE_S
    while not host.viewer_came.is_set():
        if viewer.poll() is not None or time.monotonic() > patience_ends:
            raise RuntimeError(f"no viewer came: it {viewer.ending}")
        step()
    run_turns(step, settling_s)
    if viewer.poll() is not None:
        raise RuntimeError(f"the viewer {viewer.ending}")


def teller() -> Callable[..., None]:
    """Tells whoever started this, one line at a time; what a viewer prints is not for them."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(kind: str, **told: Any) -> None:
        print(json.dumps({"kind": kind, **told}), file=out, flush=True)

    return tell


def main() -> None:
    """`guest_loop.py world|show --bodies N --rounds N --turn S --log FILE`; each turn is told of."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=KINDS)
    parser.add_argument("--bodies", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--turn", type=float, required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--options", default="{}")
    asked = parser.parse_args()
    tell = teller()
    opened = contextlib.contextmanager(KINDS[asked.way])
    try:
        with opened(asked.bodies, asked.log, json.loads(asked.options)) as (host, viewer, step):
            come(host, viewer, step, min(SETTLING_S, SETTLING_TURNS * asked.turn))
            tell("viewer", pid=viewer.pid)
            take_turns(viewer.pid, step, asked.rounds, asked.turn, tell)
    except (RuntimeError, OSError) as error:
        tell("error", words=str(error))
    except (KeyboardInterrupt, BrokenPipeError):
        pass


def take_turns(viewer_pid: int, step: Step, rounds: int, turn_s: float, tell: Callable[..., None]) -> None:
    """Stopped, running, stopped, ... and once more stopped at the end, so that each running one has two neighbours."""
    try:
        for _ in range(rounds):
            os.kill(viewer_pid, signal.SIGSTOP)
            run_turns(step, STOPPED_S)
            tell("turn", watched=False, **run_turns(step, turn_s))
            os.kill(viewer_pid, signal.SIGCONT)
            run_turns(step, GOES_ON_S)
            tell("turn", watched=True, **run_turns(step, turn_s))
        os.kill(viewer_pid, signal.SIGSTOP)
        run_turns(step, STOPPED_S)
        tell("turn", watched=False, **run_turns(step, turn_s))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(viewer_pid, signal.SIGCONT)


def _leave(_number: int, _frame: object) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # asked twice, it still takes its viewer along
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
