"""What showing costs a simulation: a publish of `twixt.show`, and the steps of a world that somebody watches.

One idea: to tell a few percent apart, the very same steps are made over and over, from the same start, without a
viewer and with one, by a loop that never rests. Whole rounds are compared, so that waiting for a core counts;
the CPU time beside it leaves that out: where it grew much less, no core was free.

Always: the viewer is a process of its own, drawing offscreen, and is gone when the rows are there.
Does not keep a core free for the viewer.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.bench import BODIES, Memcpy, Row, Say, interleaved, rounds_of
from twixt.ipc.config import Config
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import Host, open_door
from twixt.ipc.snapshot import BODY
from twixt.ipc.troubles import Troubles
from twixt.sim.physics import Physics
from twixt.sim.publisher import Publisher
from twixt.sim.schedule import FASTEST, Schedule
from twixt.sim.show import show
from twixt.sim.trouble import Trouble
from twixt.sim.viewer_process import ViewerProcess, start_viewer
from twixt.sim.world import World, drawable_scene, load_world

SHOW_ROUNDS = 1000
# The default world; of a thousand balls the rounds differ among themselves by more than a viewer costs.
WATCHED_WORLD, WATCHED_BALLS = "balls", 300
# A round is about 0.4 s. Each time a viewer comes, so many rounds are made before it and with it.
WATCHED_STEPS, WATCHED_TIMES, ROUNDS_A_TIME = 150, 4, 3
# A viewer that has come loads its overlay and compiles its programs first; its steps do not count (seconds).
SETTLING_S = 1.0
# For a viewer to come, and to go (seconds).
PATIENCE_S = 10.0


def rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """The rows of the simulation's side. share: of a whole run's rounds. say: told what is measured next."""
    for kind in (np.float32, np.float64):
        say(f"twixt.show, {np.dtype(kind).name}")
        yield _shown(np.dtype(kind), rounds_of(SHOW_ROUNDS, share))
    say("a simulation that is watched")
    yield _watched(share)


def _shown(kind: np.dtype, rounds: int) -> Row:
    """A publish through `twixt.show`, position and orientation given as arrays of that kind."""
    random = np.random.default_rng(0)
    position = random.random((BODIES, 3)).astype(kind)
    orientation: NDArray[np.floating] = random.normal(size=(BODIES, 4)).astype(kind)
    orientation /= np.linalg.norm(orientation, axis=1, keepdims=True)
    with show(Scene([Sphere()]), count=BODIES, name=f"bench-{os.getpid()}", viewer=False) as view:
        published, copied = interleaved(
            rounds, lambda: view.publish(position=position, orientation=orientation), Memcpy(BODIES * BODY.itemsize)
        )
    name = f"show {BODIES:,} bodies, {kind.name}"
    return Row(name, "us", published, "memcpy", copied, rounds)


def _watched(share: float) -> Row:
    name = f"step {WATCHED_BALLS} balls, watched"
    run = _Unpaced(load_world(WATCHED_WORLD, [("count", str(WATCHED_BALLS))]), max(1, round(WATCHED_STEPS * share)))
    alone: list[Round] = []
    watched: list[Round] = []
    shares: list[float | None] = []
    try:
        run.round()  # what is slow the first time
        for _ in range(max(1, round(WATCHED_TIMES * share))):
            alone += [run.round() for _ in range(ROUNDS_A_TIME)]
            viewer = run.start_viewer()
            try:
                if not run.is_watched(viewer):
                    why = f"no viewer came: it {viewer.ending}"
                    return Row(name, "ms", None, "not watched", _step_ms(alone), len(alone), why)
                others = _Others(viewer.pid)
                watched += [run.round() for _ in range(ROUNDS_A_TIME)]
                shares.append(others.share())
            finally:
                viewer.terminate()
                viewer.stop(PATIENCE_S)
    finally:
        run.host.end()
    with_ms, alone_ms = _step_ms(watched), _step_ms(alone)
    spread = (max(alone).step_ms - min(alone).step_ms) / alone_ms
    note = (
        f"slowed by {with_ms / alone_ms - 1:.1%}, in CPU time by {_cpu_ms(watched) / _cpu_ms(alone) - 1:.1%}; "
        f"rounds without a viewer differ by up to {spread:.1%}"
    )
    known = [part for part in shares if part is not None]
    if known:
        note += f"; meanwhile other programs had up to {max(known):.0%} of a core"
    return Row(name, "ms", with_ms, "not watched", alone_ms, len(watched), note)


class Round(NamedTuple):
    """The mean cost of a step: by the clock, and what its thread had of a core."""

    step_ms: float
    cpu_ms: float


def _step_ms(rounds: list[Round]) -> float:
    return statistics.median(taken.step_ms for taken in rounds)


def _cpu_ms(rounds: list[Round]) -> float:
    return statistics.median(taken.cpu_ms for taken in rounds)


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


class _Unpaced:
    """A world in the loop of `twixt sim`, told to run so fast that it never waits; rounds of the same steps."""

    def __init__(self, world: World, steps: int) -> None:
        self.name, self._steps = f"bench-{os.getpid()}", steps
        self.host = Host(open_door(self.name), drawable_scene(world), len(world.bodies))
        config = Config()
        schedule = Schedule(world.dt, FASTEST, None, round(1e9 / config.publish_hz))
        publisher = Publisher(self.host, schedule.plan, config.publish_hz)
        self._physics = Physics(world, lambda: world, 0, schedule, publisher, self.host, Trouble(Troubles(), 0))
        self._physics.start()

    def round(self) -> Round:
        """The same steps as in every round, with everything that the loop does between them."""
        meter = self._physics.publisher.meter
        self._physics.world.reset(0)  # type: ignore[attr-defined]  # this world has one
        ends = meter.steps + self._steps
        begin_ns, begin_cpu_ns = time.perf_counter_ns(), time.thread_time_ns()
        while meter.steps < ends:
            self._physics.turn()
        cpu_ns, took_ns = time.thread_time_ns() - begin_cpu_ns, time.perf_counter_ns() - begin_ns
        return Round(took_ns / self._steps / 1e6, cpu_ns / self._steps / 1e6)

    def start_viewer(self) -> ViewerProcess:
        self.host.viewer_came.clear()
        return start_viewer(self.name, Config(offscreen=True))

    def is_watched(self, viewer: ViewerProcess) -> bool:
        """Goes on until the viewer has come and settled; whether it has."""
        patience_ends = time.monotonic() + PATIENCE_S
        while not self.host.viewer_came.is_set():
            if viewer.poll() is not None or time.monotonic() > patience_ends:
                return False
            self._physics.turn()
        settled = time.monotonic() + SETTLING_S
        while time.monotonic() < settled:
            self._physics.turn()
        return viewer.poll() is None
