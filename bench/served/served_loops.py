"""Loops whose browser view is measured: one that never waits, and one that is paced to real time.

The program runs a turn for each command that comes, and waits for the next one without using a core. It begins with a
line that says that it is ready.

    command                         fields of the answer
    {"do": "turn", "seconds": 1.0}  begin_ns, end_ns, steps, cpu_ns of the loop's thread; late_ns: lateness of each step

Always: both loops move and publish the same bodies, with velocities and angular velocities, and start no viewer.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

import twixt
from bench.served.commanded import commands_of
from bench.served.server_figures import lateness_ns

FULL_SPEED, PACED = "full speed", "paced"
PHYSICS_HZ = 60
RADIUS_M, SPACING_M, SPEED_M_S = 0.2, 1.0, 1.0
# Time at the start of a turn that is not measured, in seconds: viewers work off their backlog.
SETTLE_S = 0.4


def main(commands: int, kind: str, bodies: int, name: str) -> None:
    """Runs turns of a loop until the file descriptor `commands` is closed. kind: FULL_SPEED or PACED. name: of the
    simulation."""
    scene = twixt.Scene([twixt.Sphere(RADIUS_M)])
    with suppress(BrokenPipeError), twixt.show(scene, 1 / PHYSICS_HZ, bodies, name=name, viewer=False) as view:
        steps = _steps(view, bodies)
        next(steps)
        for command, answer in commands_of(commands):
            answer(_turn(view, steps, kind, command["seconds"]))


def _steps(view: Any, bodies: int) -> Iterator[None]:
    """Moves all bodies on circles, and publishes them, once for each item."""
    side = math.ceil(bodies ** (1 / 3))
    at = np.stack(np.unravel_index(np.arange(bodies), (side, side, side)), axis=1) * SPACING_M
    phase = np.random.default_rng(0).random(bodies) * math.tau
    position, velocity, angular = at.copy(), np.zeros((bodies, 3)), np.full((bodies, 3), 0.5)
    for number in itertools.count():
        angle = phase + number / PHYSICS_HZ
        np.add(at[:, 0], np.cos(angle), out=position[:, 0])
        np.multiply(np.sin(angle), -SPEED_M_S, out=velocity[:, 0])
        view.publish(position=position, velocity=velocity, angular_velocity=angular, sim_time=number / PHYSICS_HZ)
        yield


def _turn(view: Any, steps: Iterator[None], kind: str, seconds: float) -> dict[str, Any]:
    times = itertools.repeat(0.0) if kind == FULL_SPEED else view.real_time(1 / PHYSICS_HZ)
    settled_ns = time.perf_counter_ns() + round(SETTLE_S * 1e9)
    for _ in times:
        next(steps)
        if time.perf_counter_ns() > settled_ns:
            break
    due_s, began_ns = list[float](), list[int]()
    begin_cpu_ns, begin_ns = time.thread_time_ns(), time.perf_counter_ns()
    now_ns, made, ends_ns = begin_ns, 0, begin_ns + round(seconds * 1e9)
    for at_s in times:
        if kind == PACED:
            due_s.append(at_s)
            began_ns.append(time.perf_counter_ns())
        next(steps)
        made += 1
        if (now_ns := time.perf_counter_ns()) > ends_ns:
            break
    cpu_ns = time.thread_time_ns() - begin_cpu_ns
    late_ns = lateness_ns(due_s, began_ns)
    return {"begin_ns": begin_ns, "end_ns": now_ns, "steps": made, "cpu_ns": cpu_ns, "late_ns": late_ns}
