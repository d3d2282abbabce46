"""Runs the loop of the physics process. Each turn steps the world, publishes a snapshot, or waits until a step or a
snapshot is due.

Schedule, publisher and injected trouble decide what a turn does. The turn then does it. Commands are executed at the
start of a turn. A command that arrives during a wait ends the wait.

Always: the world's states depend only on its seed and the lengths of its steps. Each step is published, with two
exceptions. Because of `publish_hz`, a later step may be published instead. Injected trouble may lose a step. The first
snapshot of a world, single steps and the last state are never lost. Delayed snapshots are released in time, also
during waits and stalls.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from twixt.ipc.commands import CONTROL, Command
from twixt.ipc.config.flags import Config
from twixt.ipc.config.troubles import FIELDS
from twixt.ipc.process.notices import print_notice
from twixt.ipc.process.user_code import calling_user_code
from twixt.ipc.scene import Scene
from twixt.ipc.session.host import Host
from twixt.ipc.trace import spans as kinds
from twixt.ipc.trace.spans import NOT_RECORDED, Spans
from twixt.sim.process.figures import checked_diagnostics, status_of
from twixt.sim.process.idle_collector import IdleCollector
from twixt.sim.process.trouble import InjectedTrouble
from twixt.sim.publish.event_buffer import EventBuffer
from twixt.sim.publish.limits import BodyLimit
from twixt.sim.publish.publisher import Publisher
from twixt.sim.schedule.schedule import Schedule, StepTimes
from twixt.sim.schedule.step_multiple import DtLog, Stride
from twixt.sim.world.world import World
from twixt.sim.world.world_guard import GuardedWorld

# Longest wait of one turn, in ns. After each turn the caller checks whether the viewer has ended or the time is over.
LONGEST_WAIT_NS = 50_000_000
# Lead of viewers that is assumed before a viewer has reported its own lead: two frames at 60 Hz, in ns. Because of
# this lead, a viewer that has just attached gets its first snapshots in time.
ASSUMED_VIEWERS_LEAD_NS = 33_333_333
# Interval between two status messages to viewers, in ns.
STATUS_NS = 200_000_000
# Longest wait, in seconds, at the end of a run until the channel has memory for the last state. The wait takes seconds
# only with very many bodies.
ROOM_PATIENCE_S = 10.0


@dataclass(frozen=True)
class PhysicsDef:
    """Arguments of `Physics`. The function `physics_def` makes them from a configuration. Change single arguments with
    `replace`.

    remake: function that constructs the world again; used to reset a world without a method `reset`. seed: argument
    for `reset`. now_ns: function that reads the clock, in ns. wait: function that waits for a number of seconds, or
    until a command arrives. dt_log: logs every step. spans: recorder of turns.
    """

    world: World
    host: Host
    schedule: Schedule
    publisher: Publisher
    trouble: InjectedTrouble
    remake: Callable[[], World]
    seed: Any
    now_ns: Callable[[], int]
    wait: Callable[[float], object]
    collector: IdleCollector | None = None
    dt_log: DtLog | None = None
    spans: Spans = NOT_RECORDED


def physics_def(
    config: Config,
    world: World,
    host: Host,
    stride: Stride | None = None,
    now_ns: Callable[[], int] = time.perf_counter_ns,
    spans: Spans = NOT_RECORDED,
) -> PhysicsDef:
    """Returns the arguments for a `Physics` object that runs `world` on `host`, as configured by `config`. Also writes
    the first plan to the host."""
    lead_ns = None if config.lead_ms is None else round(config.lead_ms * 1e6)
    schedule = Schedule(world.dt, config.time_scale, lead_ns, round(1e9 / config.publish_hz), stride)
    return PhysicsDef(
        world=world,
        host=host,
        schedule=schedule,
        publisher=Publisher(host, schedule.plan, config.publish_hz, now_ns=now_ns, spans=spans),
        trouble=InjectedTrouble(config.troubles, config.seed),
        remake=type(world),
        seed=config.seed,
        now_ns=now_ns,
        # The queue is looked up at each call, because a forked child has another queue.
        wait=lambda timeout_s: host.commands.wait(timeout_s),
        spans=spans,
    )


class StepState(Enum):
    """State of the newest step: it is not published yet, is published, or was lost because of injected trouble."""

    UNPUBLISHED, PUBLISHED, LOST = range(3)


class Physics:
    """Steps a world and publishes its snapshots during one run. The caller calls `turn` again and again. `world`,
    `schedule` and `publisher` may be read between two turns.

    is_half_made: True during a step or reset. An interruption during this time leaves the world between two states.
    """

    def __init__(self, parts: PhysicsDef) -> None:
        self.schedule, self.publisher, self.trouble = parts.schedule, parts.publisher, parts.trouble
        self.wants_to_quit = self.is_half_made = False
        self.warning = ""
        self._parts, self._host, self._now_ns, self._spans = parts, parts.host, parts.now_ns, parts.spans
        self._guarded = GuardedWorld(parts.world, parts.remake, parts.seed, self._warn)
        self.events = EventBuffer(parts.host, self._warn)
        parts.host.plots.next_time_s = parts.schedule.next_time_s
        self._guarded.record(parts.host.plots, self.events)
        self._times = StepTimes()
        self._status_ns = 0
        self._step_state = StepState.UNPUBLISHED
        self._body_limit = BodyLimit(parts.host.ring, self._warn)
        self._publish(in_time=True)

    @property
    def world(self) -> World:
        """The current world; a reset may replace it."""
        return self._guarded.world

    def start(self) -> None:
        """Starts simulated time."""
        self.schedule.start(self._now_ns())
        self.publisher.write_plan(self.schedule.plan)

    def turn(self) -> None:
        """Executes all pending commands, then either publishes, steps or waits."""
        for command in self._host.commands.drain():
            begin_ns = self._now_ns()
            self._carry_out(command)
            self._spans.add(kinds.COMMAND, begin_ns, self._now_ns())
        now_ns = self._now_ns()
        self.publisher.release(now_ns)
        self._send_status(now_ns)
        if self._status_ns == now_ns and self._guarded.is_outdated():
            self._reset(now_ns)
        start_ns = self.schedule.start_ns(self._viewers_lead_ns)
        if self._step_state is StepState.UNPUBLISHED:
            ready_ns = self.publisher.ready_ns(now_ns)
            is_overtaken = start_ns is not None and max(now_ns, start_ns) < ready_ns
            if not is_overtaken:
                publish_ns = max(ready_ns, self.schedule.publish_from_ns(now_ns))
                return self._publish() if publish_ns <= now_ns else self._wait_until(publish_ns)
        if start_ns is None or start_ns > now_ns:
            return self._wait_until(start_ns)
        self._step()

    def finish(self) -> None:
        """Checks all bodies, and publishes the last state, whatever `publish_hz` and injected trouble would decide."""
        self._guarded.check_all_bodies(self.schedule.tick)
        self.publisher.release_all()
        if self._step_state is not StepState.PUBLISHED:
            self._publish(in_time=True)
        self._host.ring.await_room(ROOM_PATIENCE_S)

    @property
    def _viewers_lead_ns(self) -> int:
        return self._host.lead_ns or ASSUMED_VIEWERS_LEAD_NS

    # -- step, publish, wait, status

    def _step(self) -> None:
        begin_ns, trouble, schedule, spans = self._now_ns(), self.trouble, self.schedule, self._spans
        spans.start(begin_ns)
        if trouble.now.stall and (stall_ns := trouble.stall_ns(schedule.before_sim_time_ns, schedule.sim_time_ns)):
            trouble.wait(stall_ns, self.publisher.release)
            spans.lap(kinds.STALL)
        if work_ns := trouble.work_ns(schedule.tick + 1):
            trouble.work(work_ns, self.publisher.release)
            spans.lap(kinds.WORK)
        multiple = schedule.stride.multiple
        self.is_half_made = True
        self._guarded.apply_actions(self._host.actions)
        self._guarded.step(schedule.next_dt_s)
        if self._parts.dt_log:
            self._parts.dt_log.stepped(multiple)
        spans.lap(kinds.STEP, schedule.tick + 1, multiple)
        end_ns = self._now_ns()
        self._write_scene(self._guarded.check_step(schedule.tick + 1))
        busy = self._times.stepped(begin_ns, end_ns)
        self.publisher.meter.stepped(self._times.cost_ns, multiple)
        given_up_ns = schedule.stepped(end_ns, busy.busy_ns, busy.reach_ns)
        if given_up_ns:
            self.publisher.meter.gave_up(given_up_ns, round(given_up_ns * schedule.time_scale / schedule.dt_ns))
            self.publisher.write_plan(schedule.plan)
        if self.events.pending:
            self._flush_events(schedule.before_sim_time_ns)
        self._step_state, self.is_half_made = StepState.UNPUBLISHED, False
        self._guarded.check_some_bodies(schedule.tick, schedule.dt_s, self._host)

    def _publish(self, in_time: bool = False) -> None:
        schedule, bodies, trouble = self.schedule, self._guarded.world.bodies, self.trouble
        extras, begin_ns = self._guarded.extras(schedule.tick), self._now_ns()
        most = self._body_limit.allowed(len(bodies), begin_ns, len(extras.records))
        count = min(most, len(bodies))
        if schedule.tick and not (in_time or schedule.is_paused) and trouble.drops(schedule.tick):
            self._step_state = StepState.LOST
            return self.publisher.count_lost()
        self._step_state = StepState.PUBLISHED
        shown = extras.first(most - count)
        slot = self.publisher.begin(
            count,
            len(shown.records),
            bodies._published_columns(schedule.sim_time_ns, count),
            bodies._column_layout,
            delay_ns=None if in_time else trouble.delay_ns(schedule.tick),
        )
        try:
            self._guarded.write_snapshot(slot, shown.records)
        except BaseException:
            slot.abort()
            raise
        self.publisher.publish(
            slot,
            tick=schedule.tick,
            sim_time_ns=schedule.sim_time_ns,
            dt_ns=schedule.made_dt_ns,
            # In a pause, a step has no due time. None stands for the current time. Viewers follow the plan in a pause.
            due_ns=None if schedule.is_paused else schedule.due_ns,
            rate=schedule.rate,
            step_cost_ns=self._times.cost_ns,
            vertices=shown.vertices,
            begin_ns=begin_ns,
        )
        schedule.published()
        if self._times.is_busy:
            self._times.published(self._now_ns())

    def _wait_until(self, until_ns: int | None) -> None:
        begin_ns = self._now_ns()
        until_ns = min(until_ns or begin_ns + LONGEST_WAIT_NS, begin_ns + LONGEST_WAIT_NS)
        release_ns = self.publisher.next_release_ns
        if release_ns is not None:
            until_ns = min(until_ns, release_ns)
        if self._parts.collector:
            self._parts.collector.collect_in(until_ns - begin_ns)
        left_ns = until_ns - self._now_ns()
        if left_ns > 0:
            self._parts.wait(left_ns / 1e9)
        self._spans.add(kinds.WAIT, begin_ns, self._now_ns())
        self._times.waited(begin_ns, self._now_ns(), until_ns)

    def _write_scene(self, scene: Scene | None) -> None:
        if scene is not None:
            self.publisher.write_scene(scene)

    def _send_status(self, now_ns: int) -> None:
        if now_ns - self._status_ns < STATUS_NS:
            return
        self._status_ns = now_ns
        schedule, meter = self.schedule, self.publisher.meter
        lead_ns = schedule.lead_ns(self._viewers_lead_ns)
        self._spans.add(kinds.PACE, now_ns, now_ns, lead_ns, round(schedule.rate * 1e6))
        self._host.set_status(
            {
                "world": self._guarded.name,
                "step_ms": self._times.cost_ns / 1e6,
                "lead_ms": lead_ns / 1e6,
                "warning": self.warning,
                "diagnostics": self._diagnostics(),
                **self._guarded.offers(),
                **status_of(schedule, meter, self.trouble),
                **({"events_dropped": self.events.dropped} if self.events.dropped else {}),
            }
        )
        if self._parts.collector and self._times.is_busy:
            self._parts.collector.collect_in(0)

    def _diagnostics(self) -> dict[str, float]:
        name, world = self._guarded.name, self._guarded.world
        with calling_user_code(f"{name}.diagnostics"):
            return checked_diagnostics(world.diagnostics(), name, self._warn_once)

    # -- commands

    def _carry_out(self, command: Command) -> None:
        now_ns, schedule = self._now_ns(), self.schedule
        plan = schedule.plan
        if command.name == "pause":
            schedule.pause(now_ns, command.draw_time_ns)
        elif command.name == "resume":
            schedule.start(now_ns)
        elif command.name == "step":
            self._single_step(now_ns, command.draw_time_ns)
        elif command.name == "time_scale":
            schedule.set_time_scale(now_ns, float(command.value))  # type: ignore[arg-type]
        elif command.name == "reset":
            self._reset(now_ns)
        elif command.name in FIELDS:
            self.trouble.change(command.name, command.value)
        elif command.name == CONTROL:
            index, value = command.value  # type: ignore[misc]
            self._guarded.set_control(int(index), float(value))
        elif command.name == "quit":
            self.wants_to_quit = True
        if schedule.plan is not plan and schedule.plan is not self.publisher.plan:
            self.publisher.write_plan(schedule.plan)

    def _single_step(self, now_ns: int, draw_time_ns: int) -> None:
        schedule = self.schedule
        schedule.pause(now_ns, draw_time_ns)
        if self._step_state is StepState.UNPUBLISHED:
            self._publish()
        target_ns = schedule.next_step_target_ns(draw_time_ns)
        if target_ns is None:
            self._step()
            self._publish()
            target_ns = schedule.sim_time_ns
        schedule.hold_at(self._now_ns(), target_ns)

    def _reset(self, now_ns: int) -> None:
        self.is_half_made = True
        self._write_scene(self._guarded.reset())
        self._times.restart()
        self.schedule.reset(now_ns)
        self.is_half_made = False
        if self._parts.dt_log:
            self._parts.dt_log.begin()
        self.publisher.write_plan(self.schedule.plan)
        self._flush_events(self.schedule.sim_time_ns)
        self._publish()

    def _flush_events(self, previous_ns: int) -> None:
        """Publishes the events of the last step, or of a reset. previous_ns: simulated time before it."""
        schedule, bodies = self.schedule, len(self._guarded.world.bodies)
        self.events.flush(previous_ns, schedule.sim_time_ns, schedule.plan.world_epoch, bodies)

    # -- warnings, on the terminal and in the status

    def _warn_once(self, warning: str) -> None:
        if not self.warning:
            self._warn(warning)

    def _warn(self, warning: str) -> None:
        self.warning = warning
        print_notice(warning)
