"""The one publisher: both ways in, `twixt run` and `twixt.show`, publish through it.

It fills in a snapshot's head (when it is due, the rate that is held, the plan and scene it belongs to), keeps
to `publish_hz`, and meters. One that is to be late waits as a copy until `release` finds it due; the others go
out without one. When a snapshot may go is asked with `ready_ns`; `publish` itself never waits and
never refuses, so that whoever owns the loop decides what to do with one that comes too soon.

Always: over any stretch of t seconds at most t x publish_hz + `BURST` snapshots are ready.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.host import Host
from twixt.ipc.plan import Plan
from twixt.ipc.ring import OpenSlot
from twixt.ipc.scene import Scene
from twixt.ipc.snapshot import BODY, Head
from twixt.ipc.spans import NOT_RECORDED, PUBLISH, Spans
from twixt.sim.accumulator import Accumulator
from twixt.sim.delay_line import DelayLine
from twixt.sim.dilation import HeldRate
from twixt.sim.meter import Meter

# Snapshots that may follow each other at once after a rest: a viewer's first pair and one of lead. Also what
# lets a world that steps at just `publish_hz` come a little early now and then.
BURST = 3


@dataclass(frozen=True)
class InPlace:
    """`count` bodies that `write` puts into the records it is given, as `World.write_bodies` does."""

    count: int
    write: Callable[[NDArray[np.void]], object]

    def filled(self) -> NDArray[np.void]:
        """The bodies in memory of their own, for whoever cannot wait in place."""
        records = np.zeros(self.count, BODY)
        self.write(records)
        return records


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
    spans: where what goes out is recorded.
    """

    def __init__(
        self,
        host: Host,
        plan: Plan,
        publish_hz: float,
        meter: Meter | None = None,
        now_ns: Callable[[], int] = time.perf_counter_ns,
        spans: Spans = NOT_RECORDED,
    ) -> None:
        self._spans = spans
        self.meter = meter or Meter()
        self._host = host
        self._now_ns = now_ns
        self._limit = PublishLimit(publish_hz)
        self._rate = HeldRate()
        self._line = DelayLine()
        self._dropped = 0
        self._plan = plan
        self._written: Plan | None = None  # the last one of which viewers are known to have been told
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
        """Viewers follow `plan` from their next frame on; heads carry its number and world epoch.

        What is under way is due as it says; of a world before a reset, it is dropped.
        """
        if plan.world_epoch != self._plan.world_epoch:
            self._line.clear()
        self._line.replan(plan)
        self._plan = plan
        self._rate.forget()
        self._host.write_plan(plan)
        self._written = plan

    def write_scene(self, scene: Scene) -> None:
        """Viewers draw `scene` from the next snapshot on."""
        self._host.write_scene(scene)

    @property
    def next_release_ns(self) -> int | None:
        """The instant at which something under way is to be visible; None when nothing is."""
        return self._line.next_release_ns

    def ready_ns(self, now_ns: int) -> int:
        """The instant from which `publish_hz` lets the next snapshot go: `now_ns`, or later."""
        return self._limit.ready_ns(now_ns)

    def publish(
        self,
        bodies: NDArray[np.void] | InPlace | OpenSlot,
        *,
        tick: int,
        sim_time_ns: int,
        dt_ns: int,
        due_ns: int | None = None,
        rate: float | None = None,
        step_cost_ns: int = 0,
        columns: Mapping[str, NDArray[Any]] | None = None,
        delay_ns: int | None = None,
        begin_ns: int | None = None,
    ) -> int | None:
        """Makes `bodies` and their columns, n rows each, visible to viewers; the instant at which they became so,
        None while they are under way.

        bodies: an array of dtype `BODY`, or who writes them into their slot, or a slot that is written. due_ns: now,
        where none is given. rate: measured over the latest snapshots, where none is given. delay_ns: how long after
        its due instant; None: at once, unless others are still under way before it. begin_ns: since when this
        publish has been under way, where not since now.
        """
        if self._written is not self._plan:  # an interruption came between
            self.write_plan(self._plan)
        now_ns = self._now_ns()
        begin_ns = now_ns if begin_ns is None else begin_ns
        due_ns = now_ns if due_ns is None else due_ns
        self._rate.add(sim_time_ns, due_ns)
        head = Head(
            tick=tick,
            sim_time_ns=sim_time_ns,
            due_ns=due_ns,
            rate=self._rate.value(self._plan.rate) if rate is None else rate,
            dt_ns=dt_ns,
            step_cost_ns=step_cost_ns,
            world_epoch=self._plan.world_epoch,
            count=len(bodies) if isinstance(bodies, np.ndarray) else bodies.count,
            scene_version=self._host.scene_version,
            plan_number=self._plan.number,
        )
        self._limit.take(now_ns)
        if isinstance(bodies, OpenSlot) or (delay_ns is None and not self._line):
            return self._send(head, bodies, columns or {}, begin_ns)
        in_place = isinstance(bodies, InPlace)
        records = bodies.filled() if isinstance(bodies, InPlace) else bodies
        if not self._line.add(head, records, columns or {}, delay_ns, are_private=in_place):
            self.meter.lost += 1
        return None

    def lose(self) -> None:
        """A snapshot that would go out now is lost, as on a bad link: it counts for `publish_hz` all the same."""
        self._limit.take(self._now_ns())
        self.meter.lost += 1

    def release(self, now_ns: int) -> int | None:
        """Makes visible what was delayed until `now_ns`; the instant at which the next one is, None without any."""
        if not self._line:  # as always without injected delays
            return None
        for one in self._line.take(now_ns):
            self._send(one.head, one.bodies, one.columns, self._now_ns())
        return self._line.next_release_ns

    def release_all(self) -> None:
        """Makes visible whatever is under way: nothing comes after it."""
        for one in self._line.take_all():
            self._send(one.head, one.bodies, one.columns, self._now_ns())

    def _send(
        self,
        head: Head,
        bodies: NDArray[np.void] | InPlace | OpenSlot,
        columns: Mapping[str, NDArray[Any]],
        begin_ns: int,
    ) -> int | None:
        published_ns: int | None
        if columns or self._host.columns:
            self._fit_columns(columns)
        if isinstance(bodies, InPlace):
            published_ns = self._host.publish_in_place(head, bodies.write, columns)
        elif isinstance(bodies, OpenSlot):
            with bodies as slot:
                slot.head, slot.columns = head, columns
            published_ns = slot.published_ns
        else:
            published_ns = self._host.publish(head, bodies, columns)
        self._count_late()
        if published_ns is None:
            return None
        end_ns = self._now_ns()
        self._spans.add(PUBLISH, begin_ns, end_ns, head.tick, published_ns - head.due_ns)
        self.meter.saw_published(head.due_ns, published_ns, end_ns - begin_ns, head.rate)
        return published_ns

    def _count_late(self) -> None:
        """What waited for room in the channel, and what was dropped there."""
        host = self._host
        if host.dropped != self._dropped:
            self.meter.dropped += host.dropped - self._dropped
            self._dropped = host.dropped
        while host.late:
            late = host.late.popleft()
            self.meter.saw_published(late.head.due_ns, late.published_ns, late.cost_ns, late.head.rate)

    def _fit_columns(self, columns: Mapping[str, NDArray[Any]]) -> None:
        kinds = {name: (rows.dtype.str, 1 if rows.ndim == 1 else rows.shape[1]) for name, rows in columns.items()}
        if kinds != self._host.columns:  # the first correction, or other bodies after a reset
            self._host.set_columns(kinds)
