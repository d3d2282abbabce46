"""The one publisher: both ways in, `twixt run` and `twixt.show`, publish through it.

It fills in a snapshot's head (when it is due, the rate that is held, the plan and scene it belongs to), keeps
to `publish_hz`, and meters. When a snapshot may go is asked with `ready_ns`; `publish` itself never waits and
never refuses, so that whoever owns the loop decides what to do with one that comes too soon.

Always: over any stretch of t seconds at most t x publish_hz + `BURST` snapshots are ready.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.host import Host
from twixt.ipc.plan import Plan
from twixt.ipc.scene import Scene
from twixt.ipc.snapshot import Head
from twixt.sim.accumulator import Accumulator
from twixt.sim.dilation import HeldRate
from twixt.sim.meter import Meter

# Snapshots that may follow each other at once after a rest: a viewer's first pair and one of lead. Also what
# lets a world that steps at just `publish_hz` come a little early now and then.
BURST = 3


class PublishLimit:
    """At most `publish_hz` a wall second, with bursts of up to `BURST`. Pure."""

    def __init__(self, publish_hz: float) -> None:
        self._accumulator = Accumulator(max(1, round(1e9 / publish_hz)))
        self._allowed = BURST
        self._seen_ns: int | None = None

    @property
    def period_ns(self) -> int:
        """The shortest mean distance between two snapshots."""
        return self._accumulator.period_ns

    def ready_ns(self, now_ns: int) -> int:
        """The instant from which the next snapshot may go: `now_ns`, or later."""
        self._pass_time(now_ns)
        return now_ns if self._allowed else now_ns + self.period_ns - self._accumulator.left_over_ns

    def take(self, now_ns: int) -> None:
        """One goes now."""
        self._pass_time(now_ns)
        self._allowed = max(0, self._allowed - 1)

    def _pass_time(self, now_ns: int) -> None:
        elapsed_ns = 0 if self._seen_ns is None else max(0, now_ns - self._seen_ns)
        self._seen_ns = now_ns
        self._allowed += self._accumulator.add(elapsed_ns)
        if self._allowed >= BURST:
            self._allowed = BURST
            self._accumulator.left_over_ns = 0


class Publisher:
    """Publishes bodies on a `Host` under the plan of the moment.

    plan: the first one, written at once. publish_hz: see `PublishLimit`. now_ns: the clock all times belong to.
    """

    def __init__(
        self,
        host: Host,
        plan: Plan,
        publish_hz: float,
        meter: Meter | None = None,
        now_ns: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self.meter = meter or Meter()
        self._host = host
        self._now_ns = now_ns
        self._limit = PublishLimit(publish_hz)
        self._rate = HeldRate()
        self.write_plan(plan)

    @property
    def plan(self) -> Plan:
        """The plan in force."""
        return self._plan

    @property
    def period_ns(self) -> int:
        """The shortest mean distance between two snapshots."""
        return self._limit.period_ns

    def write_plan(self, plan: Plan) -> None:
        """Viewers follow `plan` from their next frame on; heads carry its number and world epoch."""
        self._plan = plan
        self._host.write_plan(plan)
        self._rate.forget()

    def write_scene(self, scene: Scene) -> None:
        """Viewers draw `scene` from the next snapshot on."""
        self._host.write_scene(scene)

    def ready_ns(self, now_ns: int) -> int:
        """The instant from which `publish_hz` lets the next snapshot go: `now_ns`, or later."""
        return self._limit.ready_ns(now_ns)

    def publish(
        self,
        bodies: NDArray[np.void],
        *,
        tick: int,
        sim_time_ns: int,
        dt_ns: int,
        due_ns: int | None = None,
        rate: float | None = None,
        step_cost_ns: int = 0,
        columns: Mapping[str, NDArray[Any]] | None = None,
    ) -> int:
        """Makes `bodies` (dtype `BODY`) visible to viewers; the instant at which they became so.

        due_ns: now, where none is given. rate: measured over the latest snapshots, where none is given.
        """
        begin_ns = self._now_ns()
        due_ns = begin_ns if due_ns is None else due_ns
        self._rate.add(sim_time_ns, due_ns)
        head = Head(
            tick=tick,
            sim_time_ns=sim_time_ns,
            due_ns=due_ns,
            rate=self._rate.value(self._plan.rate) if rate is None else rate,
            dt_ns=dt_ns,
            step_cost_ns=step_cost_ns,
            world_epoch=self._plan.world_epoch,
            count=len(bodies),
            scene_version=self._host.scene_version,
            plan_number=self._plan.number,
        )
        published_ns = self._host.publish(head, bodies, columns or {})
        self._limit.take(begin_ns)
        self.meter.saw_published(due_ns, published_ns, self._now_ns() - begin_ns, head.rate)
        return published_ns
