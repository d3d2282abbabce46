"""The publisher of `twixt run` and of `twixt.show`.

It fills in a snapshot's head (due instant, rate, plan, scene version), limits to `publish_hz`, and meters. A delayed
snapshot is kept as a copy until `release` finds it due; the others are published without a copy. `ready_ns` returns the
earliest instant for the next one. `publish` itself never waits and never refuses: the caller's loop decides about a
snapshot that is too early.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.plan import Plan
from twixt.ipc.ring.layout import ColumnForm
from twixt.ipc.ring.slot import OpenSlot
from twixt.ipc.scene import Camera, Scene
from twixt.ipc.session.host import Host
from twixt.ipc.snapshot import BODY, NO_MARKS, Head
from twixt.ipc.trace.spans import NOT_RECORDED, PUBLISH, Spans
from twixt.sim.publish.delay_line import DelayLine
from twixt.sim.publish.limits import PublishLimit
from twixt.sim.publish.step_meter import Meter
from twixt.sim.schedule.step_costs import HeldRate


@dataclass(frozen=True)
class InPlace:
    """`count` bodies that `write` writes into the records it is given, as `World.write_bodies` does."""

    count: int
    write: Callable[[NDArray[np.void]], object]

    def filled(self) -> NDArray[np.void]:
        """The bodies, shape (count,), in memory of their own: a delayed snapshot cannot wait in the slot."""
        records = np.zeros(self.count, BODY)
        self.write(records)
        return records


class Publisher:
    """Publishes bodies on a `Host` under the plan in force.

    plan: the first one, written at once. publish_hz: see `PublishLimit`; None: without one. meter: by default a new one. now_ns: the clock
    of all times. spans: records each publish.
    """

    def __init__(
        self,
        host: Host,
        plan: Plan,
        publish_hz: float | None,
        meter: Meter | None = None,
        now_ns: Callable[[], int] = time.perf_counter_ns,
        spans: Spans = NOT_RECORDED,
    ) -> None:
        self._spans = spans
        self.meter = meter or Meter()
        self._host = host
        self._now_ns = now_ns
        self._limit = None if publish_hz is None else PublishLimit(publish_hz)
        self._rate = HeldRate()
        self._delay_line = DelayLine()
        self._dropped = 0
        self._plan = plan
        self._written: Plan | None = None  # the last one completely written to the channel
        self.write_plan(plan)

    @property
    def plan(self) -> Plan:
        """The plan in force."""
        return self._plan

    @property
    def period_ns(self) -> int:
        """The shortest mean interval between two snapshots."""
        return 0 if self._limit is None else self._limit.period_ns

    def write_plan(self, plan: Plan) -> None:
        """Puts `plan` in force: viewers follow it from their next frame on; heads carry its number and world epoch.

        Delayed snapshots are released by their due instants in it; those from before a reset are dropped.
        """
        if plan.world_epoch != self._plan.world_epoch:
            self._delay_line.clear()
        self._delay_line.replan(plan)
        self._plan = plan
        self._rate.forget()
        self._host.write_plan(plan)
        self._written = plan

    def write_scene(self, scene: Scene) -> None:
        """Publishes `scene`; viewers draw it from the next snapshot on."""
        self._host.write_scene(scene)

    def write_camera(self, camera: Camera | None) -> None:
        """Publishes a camera by itself; viewers obey it at once."""
        self._host.write_camera(camera)

    @property
    def next_release_ns(self) -> int | None:
        """Release instant of the oldest delayed snapshot; None when there is none."""
        return self._delay_line.next_release_ns

    def ready_ns(self, now_ns: int) -> int:
        """The earliest instant for the next snapshot by `publish_hz`: `now_ns`, or later."""
        return now_ns if self._limit is None else self._limit.ready_ns(now_ns)

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
        layout: Mapping[str, ColumnForm] | None = None,
        marks: NDArray[np.void] = NO_MARKS,
        vertices: int = 0,
        delay_ns: int | None = None,
        begin_ns: int | None = None,
    ) -> int | None:
        """Makes `bodies`, columns and `marks` visible to viewers; returns the instant at which they became visible, None
        while they are delayed.

        bodies: an array (n,) of dtype `BODY`, a writer into the slot, or a slot that is already written. marks: an
        array (m,) of dtype `MARK`; those of a slot are already written too. layout: forms of the columns, of bodies alone by
        default. vertices: packed into the last of these
        records, see `Surfaces.after`. due_ns: by default now. rate: by default
        measured over the latest snapshots. delay_ns: after its due instant; None: at once, or together with the last
        delayed one, if there are any. begin_ns: the instant at which this publish began, by default now.
        """
        if self._written is not self._plan:  # an interruption came between its two writes
            self.write_plan(self._plan)
        now_ns = self._now_ns()
        begin_ns = now_ns if begin_ns is None else begin_ns
        due_ns = now_ns if due_ns is None else due_ns
        self._rate.add(sim_time_ns, due_ns)
        plan = self._plan
        # In the order of the fields, and not by their names: that takes twice as long.
        head = Head._make(
            (
                tick,
                sim_time_ns,
                due_ns,
                0,  # published_ns
                self._rate.value(plan.rate) if rate is None else rate,
                dt_ns,
                step_cost_ns,
                plan.world_epoch,
                len(bodies) if isinstance(bodies, np.ndarray) else bodies.count,
                self._host.scene_version,
                plan.number,
                len(marks),
                vertices,
                0,  # parts
            )
        )
        if self._limit is not None:
            self._limit.take(now_ns)
        if isinstance(bodies, OpenSlot) or (delay_ns is None and not self._delay_line):
            return self._send(head, bodies, columns or {}, layout, marks, begin_ns)
        in_place = isinstance(bodies, InPlace)
        records = bodies.filled() if isinstance(bodies, InPlace) else bodies
        if not self._delay_line.add(head, records, columns or {}, delay_ns, in_place, marks, layout):
            self.meter.lost += 1
        return None

    def lose(self) -> None:
        """Counts a snapshot as lost, as on a bad link. It counts for `publish_hz` too."""
        if self._limit is not None:
            self._limit.take(self._now_ns())
        self.meter.lost += 1

    def release(self, now_ns: int) -> int | None:
        """Publishes delayed snapshots whose release instant is `now_ns` or before; returns the next release instant, or
        None."""
        if not self._delay_line:  # always so without injected delays
            return None
        for one in self._delay_line.take(now_ns):
            self._send(one.head, one.bodies, one.columns, one.layout, one.marks, self._now_ns())
        return self._delay_line.next_release_ns

    def release_all(self) -> None:
        """Publishes all delayed snapshots, at the end of a run."""
        for one in self._delay_line.take_all():
            self._send(one.head, one.bodies, one.columns, one.layout, one.marks, self._now_ns())

    def _send(
        self,
        head: Head,
        bodies: NDArray[np.void] | InPlace | OpenSlot,
        columns: Mapping[str, NDArray[Any]],
        layout: Mapping[str, ColumnForm] | None,
        marks: NDArray[np.void],
        begin_ns: int,
    ) -> int | None:
        published_ns: int | None
        if columns or self._host.columns:
            self._fit_columns(columns, layout)
        if isinstance(bodies, InPlace):
            published_ns = self._host.publish_in_place(head, bodies.write, columns, marks)
        elif isinstance(bodies, OpenSlot):
            with bodies as slot:
                slot.head, slot.columns = head, columns
            published_ns = slot.published_ns
        else:
            published_ns = self._host.publish(head, bodies, columns, marks)
        self._count_late()
        if published_ns is None:
            return None
        end_ns = self._now_ns()
        self._spans.add(PUBLISH, begin_ns, end_ns, head.tick, published_ns - head.due_ns)
        self.meter.published_at(head.due_ns, published_ns, end_ns - begin_ns, head.rate)
        return published_ns

    def _count_late(self) -> None:
        """Counts snapshots that waited in the channel for memory, and those that were dropped there."""
        host = self._host
        if host.dropped != self._dropped:
            self.meter.dropped += host.dropped - self._dropped
            self._dropped = host.dropped
        while host.late:
            late = host.late.popleft()
            self.meter.published_at(late.head.due_ns, late.published_ns, late.cost_ns, late.head.rate)

    def _fit_columns(self, columns: Mapping[str, NDArray[Any]], layout: Mapping[str, ColumnForm] | None) -> None:
        if layout is None:
            layout = {name: (rows.dtype.str, 1 if rows.ndim == 1 else rows.shape[1]) for name, rows in columns.items()}
        if layout != self._host.columns:  # the first correction, or other bodies after a reset
            self._host.set_columns(layout)
