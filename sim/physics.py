"""World, schedule and publisher joined: one turn does what is due now, or waits until something is.

The schedule decides when, the publisher how a snapshot goes out, the world what is in it, injected trouble what goes
wrong; a turn only carries it out. Commands are obeyed at the start of a turn, and end a wait.

Always: the world's states depend on its seed and the lengths of its steps alone; a step that was made is published
unless `publish_hz` lets a later one go instead, or trouble loses it; the first snapshot of a world, single steps and
the last state are never lost; snapshots under way leave in time also while physics waits or stalls. Times come from
`now_ns`, waiting from `wait`; neither is decided here.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc import spans as kinds
from twixt.ipc.commands import Command
from twixt.ipc.host import Host
from twixt.ipc.ring import RecordsKept
from twixt.ipc.scene import Scene
from twixt.ipc.spans import NOT_RECORDED, Spans
from twixt.ipc.troubles import FIELDS
from twixt.sim.crash import blamed_on_the_world
from twixt.sim.garbage import IdleCollector
from twixt.sim.health import Health
from twixt.sim.held import Held, WorldChanged
from twixt.sim.publisher import InPlace, Publisher
from twixt.sim.room_to_show import RoomToShow
from twixt.sim.schedule import Schedule
from twixt.sim.status import figures_of, status_of
from twixt.sim.trouble import Trouble
from twixt.sim.world import World, filled_bodies, reset_world, write_bodies, writes_in_place

if TYPE_CHECKING:
    from twixt.sim.dt_log import DtLog

# A wait is cut here, so that the caller sees soon that the viewer has gone or the time is over.
LONGEST_WAIT_NS = 50_000_000
# What a viewer's lead is taken to be until it has told: two frames at 60 Hz. A viewer that has just come finds what
# it needs at once, instead of a few snapshots that are late for it.
ASSUMED_VIEWERS_LEAD_NS = 33_333_333
# How often viewers are told about physics.
STATUS_NS = 200_000_000
# At the end, until the channel has room for the last state: memory for all bodies there may be takes some seconds.
ROOM_PATIENCE_S = 10.0


class Physics:
    """A world in motion. `turn` again and again; `world`, `schedule` and `publisher` may be looked at between turns.

    remake: makes the world anew, for a reset of a world without `reset`. dt_log: told of every step. spans: where
    turns are recorded.
    """

    def __init__(
        self,
        world: World,
        remake: Callable[[], World],
        seed: Any,
        schedule: Schedule,
        publisher: Publisher,
        host: Host,
        trouble: Trouble,
        now_ns: Callable[[], int] = time.perf_counter_ns,
        wait: Callable[[float], object] | None = None,
        collector: IdleCollector | None = None,
        dt_log: DtLog | None = None,
        spans: Spans = NOT_RECORDED,
    ) -> None:
        self.world, self.schedule, self.publisher, self.trouble = world, schedule, publisher, trouble
        self.wants_to_quit = False
        self.warning = ""
        self.is_half_made = False  # True where an interruption would leave the world between two states
        self._is_sick = False
        self._remake, self._seed, self._host, self._now_ns = remake, seed, host, now_ns
        self._wait = wait or host.wait_command
        self._collector, self._dt_log, self._spans = collector, dt_log, spans
        self._name = type(world).__name__
        self._held, self._health = Held(world), Health(f"{self._name}.step")
        self._cost_ns = 0
        self._step_end_ns: int | None = None
        self._waited_ns = 0
        self._publish_delay_ns = 0  # from the end of a step until it was visible
        self._waited_for_ns: int | None = None
        self._status_ns = 0
        self._check_tick = 1
        self._is_unpublished, self._is_lost = True, False
        self._room = RoomToShow(host, self._warn)
        self._publish(in_time=True)

    def start(self) -> None:
        """Simulated time begins to run."""
        self.schedule.start(self._now_ns())
        self.publisher.write_plan(self.schedule.plan)

    def turn(self) -> None:
        """Obeys commands, then publishes, steps, or waits: one of them."""
        for command in self._host.drain_commands():
            begin_ns = self._now_ns()
            self._obey(command)
            self._spans.add(kinds.COMMAND, begin_ns, self._now_ns())
        now_ns = self._now_ns()
        self.publisher.release(now_ns)
        self._tell(now_ns)
        start_ns = self.schedule.start_ns(self._viewers_lead_ns)
        if self._is_unpublished:
            ready_ns = self.publisher.ready_ns(now_ns)
            is_overtaken = start_ns is not None and max(now_ns, start_ns) < ready_ns
            if not is_overtaken:
                publish_ns = max(ready_ns, self.schedule.publish_from_ns(now_ns))
                return self._publish() if publish_ns <= now_ns else self._wait_until(publish_ns)
        if start_ns is None or start_ns > now_ns:
            return self._wait_until(start_ns)
        self._step()

    def finish(self) -> None:
        """The last state is published, whatever `publish_hz` and trouble say, and looked through."""
        if not self._is_sick:
            self._warn(self._health.look_at_all(filled_bodies(self.world).records, self.schedule.tick))
        self.publisher.release_all()
        if self._is_unpublished or self._is_lost:
            self._publish(in_time=True)
        self._host.await_room(ROOM_PATIENCE_S)

    @property
    def _viewers_lead_ns(self) -> int:
        return self._host.lead_ns or ASSUMED_VIEWERS_LEAD_NS

    # -- one thing each

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
        with blamed_on_the_world(f"{self._name}.step"):
            self.world.step(schedule.next_dt_s)
        if self._dt_log:
            self._dt_log.stepped(multiple)
        spans.lap(kinds.STEP, schedule.tick + 1, multiple)
        end_ns = self._now_ns()
        self._tell_of_scene(self._held.look(self.world, schedule.tick + 1))
        self._warn(self._held.warning())
        self._cost_ns = end_ns - begin_ns
        busy_ns = self._cost_ns if self._step_end_ns is None else end_ns - self._step_end_ns - self._waited_ns
        reach_ns = None if self._waited_for_ns is None else end_ns - self._waited_for_ns + self._publish_delay_ns
        self._step_end_ns, self._waited_ns, self._waited_for_ns = end_ns, 0, None
        self.publisher.meter.stepped(self._cost_ns, multiple)
        given_up_ns = schedule.stepped(end_ns, busy_ns, reach_ns)
        if given_up_ns:
            self.publisher.meter.gave_up(given_up_ns, round(given_up_ns * schedule.time_scale / schedule.dt_ns))
            self.publisher.write_plan(schedule.plan)
        self._is_unpublished, self.is_half_made = True, False
        if schedule.tick >= self._check_tick:
            self._check_tick = schedule.tick + self._health.steps_until_next(len(self.world.bodies), schedule.dt_s)
            self._check_health()

    def _publish(self, in_time: bool = False) -> None:
        schedule, bodies, trouble = self.schedule, self.world.bodies, self.trouble
        count = self._room.of(len(bodies), self._now_ns())
        self._is_unpublished = False
        if schedule.tick and not (in_time or schedule.is_paused) and trouble.drops(schedule.tick):
            self._is_lost = True
            return self.publisher.lose()
        self._is_lost = False
        columns = bodies.published_columns(schedule.sim_time_ns)
        try:
            self.publisher.publish(
                self._records(count),
                tick=schedule.tick,
                sim_time_ns=schedule.sim_time_ns,
                dt_ns=schedule.made_dt_ns,
                # While paused there is no telling when: now, and a viewer goes by the plan.
                due_ns=None if schedule.is_paused else schedule.due_ns,
                rate=schedule.rate,
                step_cost_ns=self._cost_ns,
                columns={name: values[:count] for name, values in columns.items()},
                delay_ns=None if in_time else trouble.delay_ns(schedule.tick),
            )
        except RecordsKept as error:
            raise WorldChanged(f"{self._name}.write_bodies keeps what it is given: {error}") from error
        schedule.published()
        if self._step_end_ns is not None and not self._waited_ns:
            self._publish_delay_ns = self._now_ns() - self._step_end_ns

    def _records(self, count: int) -> InPlace | NDArray[np.void]:
        """The first `count` bodies, in the way in which they are published."""
        if not writes_in_place(self.world):
            return self.world.bodies.records[:count]
        if count == len(self.world.bodies):
            return InPlace(count, self._write)
        return filled_bodies(self.world).records[:count]

    def _write(self, records: NDArray[np.void]) -> None:
        write_bodies(self.world, records)

    def _wait_until(self, until_ns: int | None) -> None:
        begin_ns = self._now_ns()
        until_ns = min(until_ns or begin_ns + LONGEST_WAIT_NS, begin_ns + LONGEST_WAIT_NS)
        release_ns = self.publisher.next_release_ns
        if release_ns is not None:
            until_ns = min(until_ns, release_ns)
        if self._collector:
            self._collector.tidy(until_ns - begin_ns)
        left_ns = until_ns - self._now_ns()
        if left_ns > 0:
            self._wait(left_ns / 1e9)
        self._spans.add(kinds.WAIT, begin_ns, self._now_ns())
        self._waited_ns += self._now_ns() - begin_ns
        self._waited_for_ns = until_ns

    def _tell_of_scene(self, scene: Scene | None) -> None:
        if scene is not None:
            self.publisher.write_scene(scene)

    def _tell(self, now_ns: int) -> None:
        if now_ns - self._status_ns < STATUS_NS:
            return
        self._status_ns = now_ns
        schedule, meter = self.schedule, self.publisher.meter
        lead_ns = schedule.lead_ns(self._viewers_lead_ns)
        self._spans.add(kinds.PACE, now_ns, now_ns, lead_ns, round(schedule.rate * 1e6))
        self._host.set_status(
            {
                "world": self._name,
                "step_ms": self._cost_ns / 1e6,
                "lead_ms": schedule.lead_ns(self._viewers_lead_ns) / 1e6,
                "warning": self.warning,
                "diagnostics": self._diagnostics(),
                **status_of(schedule, meter, self.trouble),
            }
        )
        if self._collector and self._step_end_ns and not self._waited_ns:
            self._collector.tidy(0)

    def _diagnostics(self) -> dict[str, float]:
        diagnostics: Callable[[], dict[str, Any]] | None = getattr(self.world, "diagnostics", None)
        if diagnostics is None:
            return {}
        with blamed_on_the_world(f"{self._name}.diagnostics"):
            return figures_of(diagnostics(), self._name, self._warn_once)

    # -- what the user asks

    def _obey(self, command: Command) -> None:
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
        elif command.name == "quit":
            self.wants_to_quit = True
        if schedule.plan is not plan and schedule.plan is not self.publisher.plan:
            self.publisher.write_plan(schedule.plan)

    def _single_step(self, now_ns: int, drawn_ns: int) -> None:
        schedule = self.schedule
        schedule.pause(now_ns, drawn_ns)
        if self._is_unpublished:
            self._publish()
        target_ns = schedule.next_step_target_ns(drawn_ns)
        if target_ns is None:
            self._step()
            self._publish()
            target_ns = schedule.sim_time_ns
        schedule.hold_at(self._now_ns(), target_ns)

    def _reset(self, now_ns: int) -> None:
        self.is_half_made = True
        if not reset_world(self.world, self._seed):
            self.world = self._remake()
        self._tell_of_scene(self._held.anew(self.world))
        self._warn(self._held.warning())
        self._check_tick, self._step_end_ns = 1, None
        self.schedule.reset(now_ns)
        self.is_half_made = False
        if self._dt_log:
            self._dt_log.begin()
        self.publisher.write_plan(self.schedule.plan)
        self._publish()

    # -- a world that misbehaves

    def _check_health(self) -> None:
        if not self._is_sick and (newest := self._newest()) is not None:
            sickness = self._health.look(*newest)
            self._is_sick = bool(sickness)
            self._warn(sickness)

    def _newest(self) -> tuple[NDArray[np.void], int] | None:
        """The bodies and after which step; where the world writes them in place, as they were last published."""
        if not writes_in_place(self.world):
            return self.world.bodies.records, self.schedule.tick
        newest = self._host.newest()
        return None if newest is None else (newest.bodies, newest.head.tick)

    def _warn_once(self, warning: str) -> None:
        if not self.warning:
            self._warn(warning)

    def _warn(self, warning: str) -> None:
        if warning:
            self.warning = warning
            print(f"twixt: {warning}", file=sys.stderr, flush=True)
