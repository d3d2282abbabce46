"""Runs the loops that publish to a viewer: `twixt.show` with and without `real_time`, and MuJoCo's `sync`.

A loop runs in a process that the bench starts. It saves the simulated time of each state, and the instant at which it
called `publish` or `sync`.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np

import twixt
from twixt.sim.show.real_time import RealTime

SHOW, OWN_PACE, SYNC = "show", "own pace", "sync"
# A body that moves at constant speed, so that each frame differs from the frame before.
SPEED_M_S = 0.1
MODEL = """
<mujoco>
  <option timestep="{dt_s!r}" gravity="0 0 0"/>
  <worldbody>
    <body><joint type="slide" axis="1 0 0"/><geom type="sphere" size="0.1" mass="1"/></body>
  </worldbody>
</mujoco>
"""


def main(way: str, rate_hz: float, out: str, **options: Any) -> None:
    """Runs a loop until its view closes. way: SHOW, OWN_PACE or SYNC. out: file for the states, of shape (n, 2): the
    simulated time and the instant of the call, both in ns. options: those of the view."""
    loop = {SHOW: _show, OWN_PACE: _own_pace, SYNC: _sync}[way]
    states = array("q")
    for sim_time_s, called_ns in loop(1 / rate_hz, options):
        states.extend((round(sim_time_s * 1e9), called_ns))
    np.save(out, np.frombuffer(states, np.int64).reshape(-1, 2))


def _show(dt_s: float, options: dict[str, Any]) -> Iterator[tuple[float, int]]:
    with twixt.show(_scene(), dt=dt_s, **options) as view:
        for t in view.real_time():
            called_ns = time.perf_counter_ns()
            view.publish(position=(SPEED_M_S * t, 0, 0), sim_time=t)
            yield t, called_ns


def _own_pace(dt_s: float, options: dict[str, Any]) -> Iterator[tuple[float, int]]:
    """A loop that computes for `dt_s` before each publish, and does not wait for its due instants."""
    with twixt.show(_scene(), dt=dt_s, **options) as view:
        t = 0.0
        while view.is_open:
            time.sleep(dt_s)
            called_ns = time.perf_counter_ns()
            view.publish(position=(SPEED_M_S * t, 0, 0), sim_time=t)
            yield t, called_ns
            t += dt_s


def _sync(dt_s: float, options: dict[str, Any]) -> Iterator[tuple[float, int]]:
    import mujoco

    from twixt.sim.engines.mujoco import mujoco_viewer

    model = mujoco.MjModel.from_xml_string(MODEL.format(dt_s=dt_s))
    data = mujoco.MjData(model)
    data.qvel[0] = SPEED_M_S
    with mujoco_viewer.launch_passive(model, data, **options) as viewer:
        times = RealTime(dt_s, time.perf_counter_ns())
        while viewer.is_running():
            mujoco.mj_step(model, data)
            called_ns = time.perf_counter_ns()
            viewer.sync()
            yield data.time, called_ns
            left_ns = times.next_ns(time.perf_counter_ns()) - time.perf_counter_ns()
            time.sleep(max(0, left_ns) / 1e9)


def _scene() -> twixt.Scene:
    return twixt.Scene([twixt.Sphere(0.1)], camera=twixt.Camera((0, -3, 1), (0, 0, 0)))
