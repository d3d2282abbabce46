"""Physics in virtual time, which only a test advances: a real world on a real host, without a clock or real waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from twixt.ipc.commands import Command
from twixt.ipc.config.config import Config
from twixt.ipc.config.troubles import Troubles
from twixt.ipc.ring.slot import OpenSlot
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session.host import Host
from twixt.ipc.snapshot import Head
from twixt.sim.process.injected_trouble import InjectedTrouble
from twixt.sim.process.physics import Physics, physics_def
from twixt.sim.schedule.dt_log import DtLog
from twixt.sim.schedule.schedule import Schedule
from twixt.sim.schedule.step_multiple import Stride
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.world import World

MS = 1_000_000
MakeHost = Callable[..., Host]


class Walk(World):
    """Bodies on random walks. spend: called in each step, to take virtual time."""

    dt = 0.02

    def __init__(self, count: int = 3, seed: int = 0) -> None:
        self.bodies = Bodies(count)
        self.scene = Scene([Sphere()] * count)
        self.seed = seed
        self.random = np.random.default_rng(seed)
        self.spend: Callable[[], None] = lambda: None

    def step(self, dt: float) -> None:
        self.spend()
        self.bodies.velocity[:] = self.random.normal(size=(len(self.bodies), 3))
        self.bodies.position += self.bodies.velocity * dt


class ResettableWalk(Walk):
    def reset(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.bodies.teleport(slice(None), (0, 0, 0))


class Published(NamedTuple):
    now_ns: int
    tick: int
    sim_time_ns: int
    due_ns: int | None
    plan_number: int


class Visible(NamedTuple):
    """Snapshot that became visible to viewers, and the instant of that."""

    now_ns: int
    head: Head

    @property
    def late_ms(self) -> float:
        return (self.now_ns - self.head.due_ns) / MS


class Lab:
    """Physics in virtual time: a step costs `cost_ms`, a wait ends a little late or at a command.

    `published`: calls of `Publisher.publish`; `visible`: snapshots that viewers could read; both with their instants.
    """

    def __init__(
        self,
        host: Host,
        world: World | None = None,
        *,
        lead_ms: float | None = None,
        publish_hz: float = 120,
        scale: float = 1.0,
        troubles: Troubles | None = None,
        seed: int = 0,
        stride: Stride | None = None,
        dt_log: DtLog | None = None,
    ) -> None:
        self.ns = 10**9
        self.cost_ms = 1.0
        self.oversleep_ns = 100_000
        self.commands: list[Command] = []
        self.published: list[Published] = []
        self.visible: list[Visible] = []
        self.world = world or Walk()
        self.host = host
        config = Config(time_scale=scale, lead_ms=lead_ms, publish_hz=publish_hz)
        self._begin = host.ring.begin
        host.ring.begin = self._see  # type: ignore[method-assign]
        definition = replace(
            physics_def(config, self.world, host, stride, now_ns=self.now_ns),
            seed=0,
            trouble=InjectedTrouble(troubles or Troubles(), seed, self._look, self._wait),
            wait=self._wait,
            dt_log=dt_log,
        )
        self._publish = definition.publisher.publish
        definition.publisher.publish = self._note  # type: ignore[method-assign]
        host.commands.drain = self._drain  # type: ignore[method-assign]
        if isinstance(self.world, Walk):
            self.world.spend = self._spend
        self.physics = Physics(definition)
        self.physics.start()

    @property
    def schedule(self) -> Schedule:
        return self.physics.schedule

    def now_ns(self) -> int:
        return self.ns

    def run_ms(self, length_ms: float) -> None:
        end_ns = self.ns + length_ms * MS
        while self.ns < end_ns:
            self.physics.turn()
            self.ns += 1000  # every turn takes some time

    def ask(self, name: str, value: Any = None, draw_time_ns: int = 0) -> None:
        self.commands.append(Command(name, value, draw_time_ns=draw_time_ns))
        self.physics.turn()

    def run_steps(self, steps: int) -> None:
        while self.schedule.tick < steps:
            self.physics.turn()
            self.ns += 1000

    def _look(self) -> int:
        self.ns += 100_000  # a piece of injected work
        return self.ns

    def _see(self, *size: Any, **sizes: Any) -> OpenSlot:
        slot = self._begin(*size, **sizes)
        commit = slot.commit

        def seen(slot: OpenSlot) -> int | None:
            self.visible.append(Visible(self.ns, slot.head))
            return commit(slot)

        slot.commit = seen
        return slot

    def _spend(self) -> None:
        self.ns += round(self.cost_ms * MS)

    def _wait(self, timeout_s: float) -> None:
        self.ns += round(timeout_s * 1e9) + self.oversleep_ns

    def _drain(self) -> list[Command]:
        drained, self.commands = self.commands, []
        return drained

    def _note(self, bodies: Any, **stamp: Any) -> int | None:
        self.published.append(
            Published(
                self.ns,
                stamp["tick"],
                stamp["sim_time_ns"],
                stamp["due_ns"],
                self.physics.publisher.plan.number if self.published else 1,
            )
        )
        return self._publish(bodies, **stamp)
