"""Physics of a `VirtualViewer` that emits events: in virtual time, with pauses, slow motion, single steps, resets and
skipped snapshots."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tests.publishing import publish
from tests.render.viewer.virtual_viewer import LEAD_NS, START_NS, STEP_NS, VirtualViewer
from twixt.ipc.plan import Plan
from twixt.ipc.ring.events import EVENT
from twixt.ipc.session.host import Host
from twixt.ipc.snapshot import Head, new_bodies

# Parts of a step at which something happens: between two steps, and at the end of a step.
PARTS = (0.3, 0.3, 0.75, 1.0)


class Emitted(NamedTuple):
    """An event: its number, its world and its instant."""

    number: int
    world_epoch: int
    instant_ns: int


class EmittingPhysics:
    """Takes over the physics of a viewer. Each step emits an event at each of PARTS; `values[0]` is its number.

    every: only each so many steps' snapshot is published. emitted: all events so far.
    """

    def __init__(self, made: VirtualViewer, host: Host | None = None, every: int = 1) -> None:
        made.stop_physics()
        self.time, self.host, self.every = made.time, host or made.host, every
        self.emitted: list[Emitted] = []
        self.rate, self.world_epoch, self.tick = 1.0, 0, made.tick - 1 if host is None else 0
        self._plans, self._turn = made._plans, 0
        self._wall_ns, self._sim_ns = START_NS, 0
        self._bodies = new_bodies(1)
        self.host.ring.writer._now_ns = lambda: made.time.at_ns
        if host is not None:
            self._wall_ns = made.time.at_ns
            self._plan()
            self._publish()
        self._go_on()

    @property
    def sim_time_ns(self) -> int:
        """Simulated time that is due now."""
        return self._sim_ns + round((self.time.at_ns - self._wall_ns) * self.rate)

    def set_rate(self, rate: float) -> None:
        """0 for a pause."""
        self._sim_ns, self._wall_ns, self.rate = self.sim_time_ns, self.time.at_ns, rate
        self._plan()
        self._go_on()

    def single_step(self) -> None:
        """In a pause: the next step, as the key for it does."""
        self._step()
        self._sim_ns = self.tick * STEP_NS
        self._plan()

    def reset(self) -> None:
        self.world_epoch += 1
        self._sim_ns, self._wall_ns, self.tick = 0, self.time.at_ns, 0
        self._plan()
        self._publish()
        self._go_on()

    def stall(self, ms: float) -> None:
        """No step for so long; the due times stay."""
        self._turn += 1
        turn = self._turn
        self.time.at(self.time.at_ns + round(ms * 1e6), lambda: self._steps_on(turn))

    def emit(self, *instants_ns: int) -> None:
        """Emits an event at each of these instants of simulated time."""
        records = np.zeros(len(instants_ns), EVENT)
        records["body"], records["position"], records["values"] = -1, np.nan, np.nan
        for record, instant_ns in zip(records, instants_ns, strict=True):
            one = Emitted(len(self.emitted), self.world_epoch, instant_ns)
            self.emitted.append(one)
            record["sim_time_ns"], record["world_epoch"], record["name"] = instant_ns, self.world_epoch, 1
            record["values"][0] = one.number
        self.host.append_events(records, ["tick"])

    def _plan(self) -> None:
        self._plans += 1
        plan = Plan(self._plans, self.world_epoch, self.time.at_ns, self._sim_ns, self.rate)
        self.host.ring.write_plan(plan)

    def _due_ns(self, tick: int) -> int:
        return self._wall_ns + round((tick * STEP_NS - self._sim_ns) / (self.rate or 1.0))

    @property
    def _lead_ns(self) -> int:
        return round(LEAD_NS / min(1.0, self.rate))

    def _step(self) -> None:
        self.tick += 1
        self.emit(*(round((self.tick - 1 + part) * STEP_NS) for part in PARTS))
        if self.tick % self.every == 0:
            self._publish()

    def _publish(self) -> None:
        self._bodies["position"][0, 0] = self.tick
        head: dict[str, Any] = {
            "tick": self.tick,
            "sim_time_ns": self.tick * STEP_NS,
            "due_ns": self._due_ns(self.tick),
        }
        plan = {"plan_number": self._plans} if "plan_number" in Head._fields else {}
        publish(
            self.host.ring,
            Head(**head, **plan, dt_ns=STEP_NS, count=1, world_epoch=self.world_epoch, rate=self.rate or 1.0),
            self._bodies,
        )

    def _go_on(self) -> None:
        self._turn += 1
        if self.rate > 0:
            self._schedule(self._turn)

    def _schedule(self, turn: int) -> None:
        self.time.at(max(self.time.at_ns, self._due_ns(self.tick + 1) - self._lead_ns), lambda: self._steps_on(turn))

    def _steps_on(self, turn: int) -> None:
        if turn == self._turn:
            self._step()
            self._schedule(turn)
