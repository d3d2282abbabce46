"""A real viewer under busy programs: what it leaves to a loop that never rests, and not to one that does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from twixt.ipc.scene import Scene, Sphere
from twixt.render.measure.frame_log import read_log
from twixt.render.measure.frame_rows import FrameTable
from twixt.sim.show.show import show

pytestmark = [
    pytest.mark.stress,
    pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="skipped: no schedstat"),
]

BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    for _ in range(10**6): pass"
# How long the loop is watched (seconds); where other programs have the cores, too, once more and for longer.
LOOKS_S = (4.0, 12.0, 40.0)


@pytest.fixture
def busy() -> Iterator[None]:
    """A busy program on each core."""
    loops = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(os.cpu_count() or 1)]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


def frames_of(log: Path, rests_s: float, seconds: float) -> FrameTable:
    """Of a viewer whose loop rests so long after each publish."""
    position = np.random.default_rng(0).random((2000, 3)) * 12
    with show(Scene([Sphere(radius=0.3)]), capacity=2000, dt=1e-3, offscreen=True, log=log) as view:
        came_s: float | None = None
        while view.is_open and (came_s is None or time.monotonic() - came_s < seconds):
            position[:, 0] += 1e-4
            view.publish(position=position)
            if came_s is None and view._host.viewer_attached.is_set:
                came_s = time.monotonic()
            if rests_s:
                time.sleep(rests_s)
    return read_log(log)


def bounds(frames: FrameTable) -> list[str]:
    return [row.pacer_reason for row in frames if "at most" in row.pacer_reason]


@pytest.mark.usefixtures("busy")
def test_frames_become_fewer_where_a_loop_that_never_rests_waits_for_a_core(tmp_path: Path) -> None:
    assert any(bounds(frames_of(tmp_path / "log.csv", 0.0, seconds)) for seconds in LOOKS_S)


@pytest.mark.usefixtures("busy")
def test_no_frame_is_given_up_for_a_loop_that_rests(tmp_path: Path) -> None:
    frames = frames_of(tmp_path / "log.csv", 0.1, LOOKS_S[0])
    assert len(frames) > 10
    assert bounds(frames) == []


STAYS_OFF = """
import os, subprocess, sys, threading, time
from types import SimpleNamespace
from twixt.render.cores.sharing import mask_of
from twixt.render.cores.sharing import CoreSharing
own, said = mask_of(os.getpid()), []
loop = subprocess.Popen([sys.executable, "-c", sys.argv[1]])
pacer = SimpleNamespace(forget_work=said.append, at_most=lambda fps: None)
sharing = CoreSharing(SimpleNamespace(physics_pid=loop.pid), pacer, SimpleNamespace(spins=True), lambda: 0, lambda: True)
clock_ns = 1 - time.perf_counter_ns()
def frame(later_ns=0):
    global clock_ns
    clock_ns += later_ns
    sharing.frame_done(clock_ns + time.perf_counter_ns())
def until_off():
    for _ in range(600):
        frame()
        if mask_of(os.getpid()) < own: return True
        threading.Event().wait(0.03)
try:
    print(until_off())
    frame(later_ns=10_000_000_000); print(mask_of(os.getpid()) < own)
    frame(later_ns=700_000_000); print(mask_of(os.getpid()) == own, sharing.status == "", said[-1][:7])
    print(until_off()); sharing.rest(); print(mask_of(os.getpid()) == own)
finally:
    loop.kill(); loop.wait(); sharing.close()
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="skipped: a single core")
def test_no_core_is_stayed_off_by_frames_too_rare_to_be_judged_nor_while_they_rest() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STAYS_OFF, BUSY], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == ["True", "True", "True True no core", "True", "True"]
