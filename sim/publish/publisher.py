"""Contains the publisher of snapshots for `twixt run` and `twixt.show`, and the counters of the physics process.

The publisher writes the head of each snapshot (due instant, rate, plan, scene version). It computes when `publish_hz`
allows the next snapshot. It also counts snapshots. A delayed snapshot stays in private memory. A call of `release` at
or after its release instant publishes it. Every other snapshot is written directly into the channel. `publish` never
blocks. It does not check the rate: ask `ready_ns` before you publish.
"""

from __future__ import annotations

import struct
import time
from array import array
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

from numpy.typing import NDArray

from twixt.ipc.plan import Plan
from twixt.ipc.quantiles import distribution
from twixt.ipc.ring.layout import ColumnForm, part_count
from twixt.ipc.ring.slot import NO_COLUMNS, OpenSlot, PrivateSlot
from twixt.ipc.scene import Camera, Scene
from twixt.ipc.session.host import Host
from twixt.ipc.snapshot import Head
from twixt.ipc.trace.spans import NOT_RECORDED, PUBLISH, Spans
from twixt.sim.publish.delay_line import DelayedSnapshot, DelayLine
from twixt.sim.publish.limits import PublishLimit
from twixt.sim.schedule.schedule import HeldRate


class Publisher:
    """Publishes snapshots on a `Host` under the current plan. Open a slot with `begin`, fill it, and pass it to
    `publish`.

    - plan: the first plan, which is written at once.
    - publish_hz: limit on the rate, see `PublishLimit`; None for no limit.
    - meter: the counters to use; None for a new `Meter`.
    - now_ns: function that reads the clock for all times.
    - spans: trace that records each publish.
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
        self._spans = None if spans is NOT_RECORDED else spans
        self.meter = meter or Meter()
        self._host, self._ring = host, host.ring
        self._now_ns = now_ns
        self._limit = None if publish_hz is None else PublishLimit(publish_hz)
        self._rate = HeldRate()
        self._delay_line = DelayLine()
        self._dropped = 0
        self._plan = plan
        # The last plan that was completely written to the channel. An interrupted write leaves an older plan here.
        self._written: Plan | None = None
        self.write_plan(plan)

    @property
    def plan(self) -> Plan:
        """The current plan."""
        return self._plan

    @property
    def period_ns(self) -> int:
        """The shortest mean interval between two snapshots, in ns."""
        return 0 if self._limit is None else self._limit.period_ns

    def write_plan(self, plan: Plan) -> None:
        """Makes `plan` the current plan. Viewers follow it from their next frame on. The head of every later snapshot
        has the number and the world epoch of this plan.

        Delayed snapshots are then released at their due instants in the new plan plus their delays. If the new plan is
        a reset, delayed snapshots are dropped.
        """
        if plan.world_epoch != self._plan.world_epoch:
            self._delay_line.clear()
        self._delay_line.replan(plan)
        self._plan = plan
        self._rate.clear()
        self._ring.write_plan(plan)
        self._written = plan

    def write_scene(self, scene: Scene) -> None:
        """Publishes `scene`. Viewers draw it from the next snapshot on."""
        self._host.write_scene(scene)

    def write_camera(self, camera: Camera | None) -> None:
        """Publishes a camera without a scene. Viewers apply the camera at once."""
        self._host.write_camera(camera)

    @property
    def next_release_ns(self) -> int | None:
        """Release instant of the oldest delayed snapshot; None if no snapshot is delayed."""
        return self._delay_line.next_release_ns

    def ready_ns(self, now_ns: int) -> int:
        """The earliest instant, at or after `now_ns`, at which `publish_hz` allows the next snapshot."""
        return now_ns if self._limit is None else self._limit.ready_ns(now_ns)

    def begin(
        self,
        count: int,
        marks: int = 0,
        columns: Mapping[str, NDArray[Any]] = NO_COLUMNS,
        layout: Mapping[str, ColumnForm] | None = None,
        delay_ns: int | None = None,
    ) -> OpenSlot:
        """Opens and returns a slot for `count` bodies and `marks` marks, with the given columns. Fill the slot, then
        pass it to `publish`.

        layout: forms of the columns; None if every column has one row per body. delay_ns: time from the due instant
        until the snapshot becomes visible, in ns. If `delay_ns` is None, the snapshot becomes visible at once or, if
        other snapshots are delayed, together with the last of them.
        """
        if delay_ns is None and not self._delay_line:
            return self._begin_visible(count, marks, columns, layout)
        slot = PrivateSlot(partial(self._delay, delay_ns, layout))
        slot.reopen(0, count, marks)
        slot.columns = columns
        return slot

    def publish(
        self,
        slot: OpenSlot,
        *,
        tick: int,
        sim_time_ns: int,
        dt_ns: int,
        due_ns: int | None = None,
        rate: float | None = None,
        step_cost_ns: int = 0,
        vertices: int = 0,
        begin_ns: int | None = None,
    ) -> int | None:
        """Makes a slot that has been filled visible to viewers. Returns the instant at which the slot became visible.
        Returns None if the slot is delayed or waits for memory.

        - due_ns: instant at which the snapshot is due; None for the current time.
        - rate: simulated seconds per wall second; None for the rate measured over the latest snapshots.
        - vertices: number of vertices packed into the last records of marks, see `Surfaces.after`.
        - begin_ns: instant at which this publish began; None for the current time.
        """
        if self._written is not self._plan:  # An earlier `write_plan` was interrupted.
            self.write_plan(self._plan)
        now_ns = self._now_ns()
        if begin_ns is None:
            begin_ns = now_ns
        if due_ns is None:
            due_ns = now_ns
        self._rate.add(sim_time_ns, due_ns)
        plan = self._plan
        if rate is None:
            rate = self._rate.value(plan.rate)
        if self._limit is not None:
            self._limit.record(now_ns)
        with slot:
            # The arguments are positional, because field names would take twice as long.
            slot.head = Head._make(
                (
                    tick,
                    sim_time_ns,
                    due_ns,
                    0,  # The 0 is the value of `published_ns`.
                    rate,
                    dt_ns,
                    step_cost_ns,
                    plan.world_epoch,
                    slot.count,
                    self._host.scene.version,
                    plan.number,
                    slot.mark_count,
                    vertices,
                    slot.part_count,
                )
            )
        self._count(slot, begin_ns)
        return slot.published_ns

    def count_lost(self) -> None:
        """Counts a snapshot as lost, as if a bad network connection had lost it. For the limit `publish_hz`, a lost
        snapshot counts as published."""
        if self._limit is not None:
            self._limit.record(self._now_ns())
        self.meter.lost += 1

    def release(self, now_ns: int) -> int | None:
        """Publishes the delayed snapshots whose release instant is at or before `now_ns`. Returns the release instant
        of the next delayed snapshot, or None if there is no other."""
        if not self._delay_line:  # Without injected delays the delay line is always empty.
            return None
        for one in self._delay_line.pop_due(now_ns):
            self._publish_delayed(one)
        return self._delay_line.next_release_ns

    def release_all(self) -> None:
        """Publishes all delayed snapshots. Call this at the end of a run."""
        for one in self._delay_line.pop_all():
            self._publish_delayed(one)

    def _begin_visible(
        self, count: int, marks: int, columns: Mapping[str, NDArray[Any]], layout: Mapping[str, ColumnForm] | None
    ) -> OpenSlot:
        parts = 0
        if columns or self._ring.columns:
            self._fit_columns(columns, layout)
            parts = part_count(columns, self._ring.columns)
        slot = self._ring.begin(count, marks=marks, parts=parts)
        slot.columns = columns
        return slot

    def _delay(self, delay_ns: int | None, layout: Mapping[str, ColumnForm] | None, slot: OpenSlot) -> None:
        """Puts a complete snapshot into the delay line. If the delay line is full, counts the snapshot as lost."""
        if not self._delay_line.add(slot.head, slot.records, slot.columns, delay_ns, slot.marks, layout):
            self.meter.lost += 1

    def _publish_delayed(self, delayed: DelayedSnapshot) -> None:
        begin_ns, head = self._now_ns(), delayed.head
        with self._begin_visible(head.count, len(delayed.marks), delayed.columns, delayed.layout) as slot:
            slot.write(delayed.bodies, delayed.marks)
            slot.head = head
        self._count(slot, begin_ns)

    def _count(self, slot: OpenSlot, begin_ns: int) -> None:
        """Counts this snapshot. Also counts earlier snapshots that had waited for memory in the channel or were
        dropped there."""
        waiting = self._ring.waiting
        if waiting.dropped != self._dropped:
            self.meter.dropped += waiting.dropped - self._dropped
            self._dropped = waiting.dropped
        while waiting.late:
            late = waiting.late.popleft()
            self.meter.published_at(late.head.due_ns, late.published_ns, late.cost_ns, late.head.rate)
        published_ns, head = slot.published_ns, slot.head
        if published_ns is not None:
            end_ns = self._now_ns()
            if self._spans is not None:
                self._spans.add(PUBLISH, begin_ns, end_ns, head.tick, published_ns - head.due_ns)
            self.meter.published_at(head.due_ns, published_ns, end_ns - begin_ns, head.rate)

    def _fit_columns(self, columns: Mapping[str, NDArray[Any]], layout: Mapping[str, ColumnForm] | None) -> None:
        if layout is None:
            layout = {name: (rows.dtype.str, 1 if rows.ndim == 1 else rows.shape[1]) for name, rows in columns.items()}
        # The columns differ after the first correction, or after a reset with other bodies.
        if layout != self._ring.columns:
            self._ring.set_columns(layout)


# Counters and times of the physics process: the `physics` block of the report.
#
# Counters cover the whole run. Distributions cover only the latest `KEPT_SAMPLES` samples. This limits the memory of
# long runs. Always: a distribution without samples is null, never 0. Reads no clock.
#
# `late`: snapshots that became visible more than `LATE_NS` after they were due. `dropped`: steps that are too late, so
# that the physics process will not make them up, plus snapshots that a newer snapshot replaced before the channel had
# enough memory. `lost`: snapshots that injected faults removed. Snapshots that were not published because of
# `--publish-hz` have no counter; their number is `steps - published - lost`. `widened` and `narrowed`: number of times
# that the step multiple grew and shrank. `rate` does not include pauses.


# Publishing takes about ten microseconds, and waking up takes about a hundred microseconds. Only a delay longer than
# this is visible in a viewer.
LATE_NS = 1_000_000
# Number of samples that are stored of each kind. At 60 Hz these are the samples of 18 minutes. They take 0.5 MiB.
KEPT_SAMPLES = 65_536


class Samples:
    """The latest `KEPT_SAMPLES` samples, each a row of `width` numbers."""

    def __init__(self, width: int = 1) -> None:
        self._values, self._width, self._next = array("d"), width, 0
        self._replace = struct.Struct(f"{width}d").pack_into

    def add(self, *row: float) -> None:
        """Adds a row. When the memory is full, the new row replaces the oldest row."""
        if len(self._values) < KEPT_SAMPLES * self._width:
            self._values.extend(row)
            return
        self._replace(self._values, self._next * self._values.itemsize, *row)
        self._next = (self._next + self._width) % len(self._values)

    def column(self, place: int = 0) -> array[float]:
        """The number at index `place` of every row, the oldest row first."""
        oldest = self._next // self._width
        found = self._values[place :: self._width]
        return found[oldest:] + found[:oldest]


class Meter:
    """Counters and samples of one run of the physics process."""

    def __init__(self) -> None:
        self.steps = self.published = self.dropped = self.late = self.lost = 0
        self.widened = self.narrowed = 0
        self._multiple = 1
        self.given_up_ns = 0
        self._step_ms = Samples()
        # Each row has the cost in ms, the instants `due_ns` and `published_ns`, and the rate, or 0 if there is no rate.
        self._publishes = Samples(4)

    def stepped(self, cost_ns: int, multiple: int = 1) -> None:
        """Counts a step that made `multiple` of the world's own steps."""
        self.steps += 1
        self.widened += multiple > self._multiple
        self.narrowed += multiple < self._multiple
        self._multiple = multiple
        self._step_ms.add(cost_ns / 1e6)

    def published_at(self, due_ns: int, published_ns: int, cost_ns: int, rate: float) -> None:
        """Counts a snapshot that became visible. cost_ns: time that publishing this snapshot took, in ns."""
        self.published += 1
        self.late += published_ns - due_ns > LATE_NS
        self._publishes.add(cost_ns / 1e6, due_ns, published_ns, rate)

    def gave_up(self, debt_ns: int, steps: int) -> None:
        """Counts time that a new plan gave up. `debt_ns` is wall time; it equals `steps` steps of simulated time."""
        self.given_up_ns += debt_ns
        self.dropped += steps

    def report(self) -> dict[str, Any]:
        """The `physics` block of the report. All values can be encoded as JSON."""
        return {
            "steps": self.steps,
            "published": self.published,
            "dropped": self.dropped,
            "late": self.late,
            "lost": self.lost,
            "widened": self.widened,
            "narrowed": self.narrowed,
            "given_up_ms": self.given_up_ns / 1e6,
            "rate": distribution(filter(None, self._publishes.column(3))),
            "step_ms": distribution(self._step_ms.column()),
            "publish_ms": distribution(self._publishes.column(0)),
            "lead_ms": distribution(
                (due_ns - published_ns) / 1e6
                for due_ns, published_ns in zip(self._publishes.column(1), self._publishes.column(2), strict=True)
            ),
        }

    def loop_report(self) -> dict[str, Any]:
        """The `physics` block of the report of a user's own loop. twixt does not know its steps, so the block has the
        intervals between publishes instead."""
        return {
            "published": self.published,
            "dropped": self.dropped,
            "rate": distribution(filter(None, self._publishes.column(3))),
            "publish_ms": distribution(self._publishes.column(0)),
            "publish_interval_ms": distribution(
                (later_ns - earlier_ns) / 1e6 for earlier_ns, later_ns in pairwise(self._publishes.column(2))
            ),
        }
