"""What showing costs a simulation: a publish of `twixt.show`, and the steps of a world that somebody watches.

One idea: to tell a few per mille apart, the same viewer is stopped and let go on in turns, half a second each, while
the loop of `twixt sim` steps and publishes at the world's own rate. What counts is the CPU time of a step, all threads
of this process together. By the clock such a simulation is not slowed at all; and one that never rests would be by
whatever else draws on its core.

Always: the viewer is a process of its own, drawing offscreen as fast as it can, and is gone when the rows are there.
Does not keep a core free for the viewer.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import statistics
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.bench import Memcpy, Row, Say, interleaved, rounds_of
from twixt.ipc.config import Config
from twixt.ipc.layout import MAX_SLOTS
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import Host, open_door
from twixt.ipc.snapshot import BODY
from twixt.ipc.troubles import Troubles
from twixt.sim.physics import Physics
from twixt.sim.publisher import Publisher
from twixt.sim.schedule import Schedule
from twixt.sim.show import show
from twixt.sim.trouble import Trouble
from twixt.sim.viewer_process import ViewerProcess, start_viewer
from twixt.sim.world import World, drawable_scene, load_world

# Bodies shown, and rounds of each: half a second or so.
SHOWN = {1_000: 2000, 10_000: 800, 100_000: 100}
# What is wanted of a publish of `twixt.show`, us.
SHOW_BODY_US, SHOW_US = 0.012, 20
# The world that is watched: the one whose steps are cheap beside what is seen of them.
WATCHED_WORLD, WATCHED = "swarm", (1_000, 10_000, 100_000)
# Rounds with the viewer, and as many with it stopped; seconds of each.
WATCHED_ROUNDS, ROUND_S = 16, 0.5
# After it was stopped or let go on: what was under way, and what it missed (seconds).
TURN_S = 0.05
# A viewer that has come loads its overlay and compiles its programs first; its steps do not count (seconds).
SETTLING_S = 2.0
# For a viewer to come, and to go (seconds).
PATIENCE_S = 10.0


def rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """The rows of the simulation's side. share: of a whole run's rounds. say: told what is measured next."""
    for count, rounds in SHOWN.items():
        for kind in (np.float32, np.float64):
            say(f"twixt.show, {count:,} bodies, {np.dtype(kind).name}")
            yield _shown(count, np.dtype(kind), rounds_of(rounds, share))
    for count in WATCHED if share >= 1 else WATCHED[:1]:
        say(f"a simulation of {count:,} bodies that is watched")
        yield _watched(count, rounds_of(WATCHED_ROUNDS, share), ROUND_S * min(1.0, 4 * share))


def _shown(count: int, kind: np.dtype, rounds: int) -> Row:
    """A publish through `twixt.show`, position and orientation given as arrays of that kind."""
    random = np.random.default_rng(0)
    position = random.random((count, 3)).astype(kind)
    orientation: NDArray[np.floating] = random.normal(size=(count, 4)).astype(kind)
    orientation /= np.linalg.norm(orientation, axis=1, keepdims=True)
    with contextlib.redirect_stderr(io.StringIO()):  # nobody is to look at it
        view = show(Scene([Sphere()]), count=count, name=f"bench-{os.getpid()}", viewer=False)
    with view:

        def publish() -> None:
            view.publish(position=position, orientation=orientation)

        for _ in range(MAX_SLOTS):  # a slot is first written whole
            publish()
        published, copied = interleaved(rounds, publish, Memcpy(count * BODY.itemsize))
    note = f"{(published - SHOW_US) / count * 1e3:.1f} ns a body and {SHOW_US} us"
    bar = f"figure <= {SHOW_BODY_US * count + SHOW_US:.0f}"
    return Row(f"show {count:,} bodies, {kind.name}", "us", published, "memcpy", copied, rounds, note, bar=bar)


def _watched(count: int, rounds: int, round_s: float) -> Row:
    name, limit_name = f"step of {count:,} bodies, watched", "the viewer stopped"
    run = _Paced(load_world(WATCHED_WORLD, [("count", str(count))]))
    alone: list[Round] = []
    watched: list[Round] = []
    try:
        viewer = run.start_viewer()
        try:
            if not run.is_watched(viewer):
                return Row(name, "us", None, limit_name, None, 0, f"no viewer came: it {viewer.ending}")
            others = _Others(viewer.pid)
            for _ in range(rounds):
                for taken, number in ((alone, signal.SIGSTOP), (watched, signal.SIGCONT)):
                    os.kill(viewer.pid, number)
                    run.turns(TURN_S)
                    taken.append(run.turns(round_s))
            share = others.share()
        finally:
            viewer.terminate()
            viewer.stop(PATIENCE_S)
    finally:
        run.host.end()
    with_us, alone_us = _cpu_us(watched), _cpu_us(alone)
    note = f"CPU time; {_late(watched)} of {rounds} rounds late by the clock, {_late(alone)} with the viewer stopped"
    if share is not None:
        note += f"; other programs had {share:.0%} of a core"
    noise = statistics.stdev(one.cpu_us for one in alone) / alone_us / rounds**0.5
    return Row(name, "us", with_us, limit_name, alone_us, rounds, note, noise, "ratio <= 1.02")


class Round(NamedTuple):
    """What this process had of the cores for a step, and how many steps are missing by the clock."""

    cpu_us: float
    missing: float


def _late(rounds: list[Round]) -> int:
    return sum(taken.missing > 1 for taken in rounds)


def _cpu_us(rounds: list[Round]) -> float:
    return statistics.median(taken.cpu_us for taken in rounds)


class _Others:
    """What other programs have of a core, from now until asked; None where the system does not say."""

    def __init__(self, viewer_pid: int) -> None:
        self._pids = os.getpid(), viewer_pid
        self._begin_s, self._begin_used_s = time.monotonic(), self._used_s()

    def share(self) -> float | None:
        used_s, began_at_s = self._used_s(), self._begin_used_s
        if used_s is None or began_at_s is None:
            return None
        return max(0.0, used_s - began_at_s) / (time.monotonic() - self._begin_s)

    def _used_s(self) -> float | None:
        """CPU time of everything that runs here but this process and the viewer (Linux, proc(5))."""
        try:
            with open("/proc/stat", encoding="ascii") as file:
                user, nice, system, _idle, _iowait, *rest = map(int, file.readline().split()[1:9])
            ticks = user + nice + system + sum(rest)
            for pid in self._pids:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                    ticks -= sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
        except OSError:
            return None
        return ticks / os.sysconf("SC_CLK_TCK")


class _Paced:
    """A world in the loop of `twixt sim`, at its own rate."""

    def __init__(self, world: World) -> None:
        self.name = f"bench-{os.getpid()}"
        self.host = Host(open_door(self.name), drawable_scene(world), len(world.bodies))
        config = Config()
        self._dt_s = world.dt
        schedule = Schedule(world.dt, 1.0, None, round(1e9 / config.publish_hz))
        publisher = Publisher(self.host, schedule.plan, config.publish_hz)
        self._physics = Physics(world, lambda: world, 0, schedule, publisher, self.host, Trouble(Troubles(), 0))
        self._physics.start()

    def turns(self, seconds: float) -> Round:
        """What the loop does for so long."""
        meter = self._physics.publisher.meter
        steps, begin_cpu_ns, end_s = meter.steps, time.process_time_ns(), time.monotonic() + seconds
        while time.monotonic() < end_s:
            self._physics.turn()
        cpu_ns, made = time.process_time_ns() - begin_cpu_ns, meter.steps - steps
        return Round(cpu_ns / max(1, made) / 1e3, seconds / self._dt_s - made)

    def start_viewer(self) -> ViewerProcess:
        self.host.viewer_came.clear()
        return start_viewer(self.name, Config(offscreen=True, seconds=3600.0))

    def is_watched(self, viewer: ViewerProcess) -> bool:
        """Goes on until the viewer has come and settled; whether it has."""
        patience_ends = time.monotonic() + PATIENCE_S
        while not self.host.viewer_came.is_set():
            if viewer.poll() is not None or time.monotonic() > patience_ends:
                return False
            self._physics.turn()
        self.turns(SETTLING_S)
        return viewer.poll() is None
