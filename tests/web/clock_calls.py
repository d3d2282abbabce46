"""Calls of a playback clock, played by the native clock and by the clock of the page, and their answers compared."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.clock.traces import MS, SECOND, START_NS
from tests.web.in_node import run_in_node
from twixt.ipc.plan import Plan
from twixt.render.playback import MODES, PREFERENCES, PlaybackClock

PLAY = """
const {PlaybackClock} = await import(WEB + "playback_clock.js");
const verbs = {
  observe: (clock, ...row) => clock.observe(...row),
  replan: (clock, number, worldEpoch, wallNs, simNs, rate) => clock.replan({number, worldEpoch, wallNs, simNs, rate}),
  select: (clock, mode) => clock.select(mode),
  prefer: (clock, prefer) => { clock.prefer = prefer; },
  buffer: (clock, bufferMs) => { clock.bufferMs = bufferMs; },
  reach: (clock, reachNs) => { clock.reachNs = reachNs; },
  anew: (clock) => clock.beginAnew(),
};
answer(given.map(({mode, prefer, buffer_ms, calls}) => {
  const clock = new PlaybackClock(mode, prefer, buffer_ms);
  const frames = [];
  for (const [verb, ...values] of calls) {
    if (verb !== "draw") { verbs[verb](clock, ...values); continue; }
    const drawTimeNs = clock.drawTimeNs(values[0]);
    const {mode, reason, held, offsetNs, roomNs, rate} = clock.state;
    frames.push([mode, reason, held, drawTimeNs, offsetNs, roomNs, clock.dueNs(drawTimeNs + values[1]), rate]);
  }
  return frames;
}));
"""
# Largest difference of a time between both clocks, in ns. If a snapshot is due at 2^70 ns (a pause holds it back), offset
# and room of the frame are differences of times beyond 2^53, of which a double has only the first digits.
MOST_NS, MOST_SHARE = 1000, 1e-14


@dataclass
class PlayedClock:
    """A native clock that notes what it was asked and what it answered."""

    mode: str = "auto"
    prefer: str = "latency"
    buffer_ms: float | None = None
    calls: list[list[Any]] = field(default_factory=list)
    frames: list[list[Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clock = PlaybackClock(self.mode, self.prefer, self.buffer_ms)

    def observe(
        self, sim_time_ns: int, due_ns: int, arrival_ns: int, world_epoch: int = 0, plan_number: int | None = None
    ) -> None:
        row = [sim_time_ns, due_ns, arrival_ns, world_epoch, plan_number]
        self.calls.append(["observe", *row])
        self.clock.observe(*row)

    def replan(self, plan: Plan) -> None:
        self.calls.append(["replan", *plan])
        self.clock.replan(plan)

    def select(self, mode: str) -> None:
        self.calls.append(["select", mode])
        self.clock.select(mode)

    def set_prefer(self, prefer: str) -> None:
        self.calls.append(["prefer", prefer])
        self.clock.prefer = prefer

    def set_buffer_ms(self, buffer_ms: float | None) -> None:
        self.calls.append(["buffer", buffer_ms])
        self.clock.buffer_ms = buffer_ms

    def set_reach_ns(self, reach_ns: int) -> None:
        self.calls.append(["reach", reach_ns])
        self.clock.reach_ns = reach_ns

    def begin_anew(self) -> None:
        self.calls.append(["anew"])
        self.clock.begin_anew()

    def draw_time_ns(self, present_ns: int, asked_ns: int = 0) -> int:
        """Draws a frame. asked_ns: distance from the draw time at which `due_ns` is asked, too."""
        self.calls.append(["draw", present_ns, asked_ns])
        drawn = self.clock.draw_time_ns(present_ns)
        state = self.clock.state
        due_ns = self.clock.due_ns(drawn + asked_ns)
        times = [drawn, state.offset_ns, state.room_ns, due_ns]
        self.frames.append([state.mode, state.reason, state.held, *times, state.rate])
        return drawn


def largest_difference_ns(clocks: Sequence[PlayedClock], names: Iterable[str]) -> float:
    """Plays the calls in the page's clock. Largest difference of a draw time, in ns.

    Raises AssertionError at the first frame that differs by more than MOST_NS, or has another mode or reason.
    """
    given = [{key: getattr(clock, key) for key in ("mode", "prefer", "buffer_ms", "calls")} for clock in clocks]
    largest = 0.0
    for name, clock, answers in zip(names, clocks, run_in_node(PLAY, given), strict=True):
        assert len(answers) == len(clock.frames)
        for index, (ours, theirs) in enumerate(zip(clock.frames, answers, strict=True)):
            where = f"{name}, frame {index}: {ours} in Python, {theirs} in JavaScript"
            assert ours[:3] == theirs[:3], where
            most_ns = max(MOST_NS, MOST_SHARE * max(map(abs, ours[4:7])))
            assert abs(ours[3] - theirs[3]) <= MOST_NS, where
            assert all(abs(a - b) <= most_ns for a, b in zip(ours[4:7], theirs[4:7], strict=True)), where
            assert abs(ours[7] - theirs[7]) <= 1e-3 * max(1.0, abs(ours[7])), where
            largest = max(largest, abs(ours[3] - theirs[3]))
    return largest


def wild_calls(seed: int, count: int) -> PlayedClock:
    """A clock and `count` calls at random, which need not make sense."""
    generator = random.Random(seed)
    pick, whole = generator.choice, generator.randint
    clock = PlayedClock(pick(list(MODES)), pick(PREFERENCES), pick([None, None, 0.0, 80.0]))
    present_ns, plans, epoch = pick([0, START_NS, 1 << 52]), 0, 0
    for _ in range(count):
        verb = pick(
            ["observe"] * 8 + ["draw"] * 8 + ["replan", "replan", "select", "prefer", "buffer", "reach", "anew"]
        )
        if verb == "observe":
            epoch = max(epoch, generator.choices([0, 1, 2], [90, 2, 1])[0])
            number = pick([None, plans, plans, max(0, plans - 1), plans + 1])
            sim_ns = pick([whole(0, 400 * MS), whole(0, 24) * 16 * MS])
            clock.observe(sim_ns, present_ns + whole(-50 * MS, 400 * MS), present_ns, pick([0, epoch, epoch]), number)
        elif verb == "draw":
            present_ns += pick([0, 7, 16, 17, 33, 400]) * MS + whole(0, MS)
            clock.draw_time_ns(present_ns - pick([0, 0, 0, 10 * MS]), whole(-50 * MS, 50 * MS))
        elif verb == "replan":
            plans += generator.choices([0, 1, 2], [1, 8, 1])[0]
            rate = pick([0.0, 0.0, 0.01, 0.3, 1.0, 1.0, 100.0])
            wall_ns = present_ns + whole(-50 * MS, 400 * MS)
            clock.replan(Plan(plans, pick([epoch, epoch, epoch + 1]), wall_ns, whole(0, 400 * MS), rate))
        elif verb == "select":
            clock.select(pick(list(MODES)))
        elif verb == "prefer":
            clock.set_prefer(pick(PREFERENCES))
        elif verb == "buffer":
            clock.set_buffer_ms(pick([None, 0.0, 80.0, 500.0, generator.uniform(0, 300)]))
        elif verb == "reach":
            clock.set_reach_ns(pick([0, 0, 20 * MS, 250 * MS]))
        else:
            clock.begin_anew()
    return clock


@dataclass(order=True)
class Message:
    """A snapshot or a plan on its way to the viewer."""

    arrival_ns: int
    row: tuple[int, int, int, int] | Plan = field(compare=False)  # of a snapshot: simulated time, due, epoch, plan


class TroubledPhysics:
    """A simulation that is paused, stepped, slowed and reset at random, and the link to its viewer.

    Snapshots are lost, come twice, late and out of order; plans come before or after their snapshots.
    """

    def __init__(self, seed: int) -> None:
        self.generator = random.Random(seed)
        self.step_ns = self.generator.choice([2, 8, 16, 50, 200]) * MS + self.generator.randint(0, MS)
        self.plan = Plan(1, 0, START_NS, 0, 1.0)
        self.sim_ns, self.due_ns, self.free_ns = 0, START_NS, START_NS
        self.lead_ns = self.generator.choice([0, 0, self.step_ns, 30 * MS])
        self.cost_ns = self.generator.choice([0, 0, 0, self.step_ns // 2, self.step_ns * 2])
        self.delay_ns, self.jitter_ns = self.generator.choice([(0, 0), (0, MS), (60 * MS, 40 * MS)])
        self.lost = self.generator.choice([0.0, 0.0, 0.05])
        self.disorder = self.generator.choice([0.0, 0.02])
        self.sent = [Message(START_NS, self.plan)]

    def run_until(self, now_ns: int) -> None:
        """Steps whose turn has come by `now_ns`."""
        while self.plan.rate > 0:
            due_ns = self.plan.due_ns(self.sim_ns)
            assert due_ns is not None
            at_ns = max(due_ns - self.lead_ns, self.free_ns)
            if at_ns > now_ns:
                return
            if self.cost_ns:
                self.free_ns = at_ns + round(self.cost_ns * self.generator.uniform(0.5, 1.5))
                due_ns = max(due_ns, self.due_ns + 1, self.free_ns)
            self._publish(at_ns, due_ns)

    def _publish(self, at_ns: int, due_ns: int) -> None:
        row = (self.sim_ns, due_ns, self.plan.world_epoch, self.plan.number)
        self.due_ns = due_ns
        for _ in range(1 + (self.generator.random() < self.disorder)):
            late_ns = self.delay_ns + self.generator.randint(0, self.jitter_ns)
            late_ns += 100 * MS * (self.generator.random() < self.disorder)
            if self.generator.random() >= self.lost:
                self.sent.append(Message(at_ns + late_ns, row))
        self.sim_ns += self.step_ns

    def disturb(self, now_ns: int) -> None:
        """A pause, a step, a change of scale, a state that was edited, a stall, or a reset."""
        newest_ns = max(0, self.sim_ns - self.step_ns)
        what = self.generator.choice(["pause", "resume", "scale", "step", "step", "edit", "stall", "reset"])
        sim_ns, rate, epoch = min(newest_ns, self.plan.sim_time_at_ns(now_ns)), 0.0, self.plan.world_epoch
        if what == "stall":
            self.free_ns = now_ns + self.generator.randint(0, 900) * MS
            return
        if what == "edit":  # the same simulated time is published again, due later
            row = (newest_ns, max(now_ns, self.due_ns) + self.generator.randint(0, 40) * MS, epoch, self.plan.number)
            self.sent.append(Message(now_ns + self.delay_ns, row))
            return
        if what == "step":
            self._publish(now_ns, now_ns)
            sim_ns = self.sim_ns - self.step_ns
        elif what in ("resume", "scale"):
            rate = 1.0 if what == "resume" else self.generator.choice([0.1, 0.25, 0.5, 2.0, 10.0])
        elif what == "reset":
            epoch, rate, sim_ns, self.sim_ns = epoch + 1, 1.0, 0, 0
        self.plan = Plan(self.plan.number + 1, epoch, now_ns, sim_ns, rate)
        self.sent.append(Message(now_ns + self.generator.choice([0, self.delay_ns, 2 * self.delay_ns]), self.plan))

    def arrived(self, now_ns: int) -> Iterator[Message]:
        self.sent.sort()
        while self.sent and self.sent[0].arrival_ns <= now_ns:
            yield self.sent.pop(0)


def troubled_calls(seed: int, seconds: float, every_s: float = 0.5) -> PlayedClock:
    """A clock that follows a simulation with trouble about every `every_s`, and a user who changes its settings."""
    physics = TroubledPhysics(seed)
    generator = physics.generator
    pick = generator.choice
    mode, prefer = pick(["auto", "auto", "auto", *MODES]), pick(PREFERENCES)
    clock = PlayedClock(mode, prefer, pick([None, None, 0.0, 80.0]))
    clock.set_reach_ns(pick([0, 0, 0, 40 * MS, 250 * MS]))
    frame_ns, latch_ns = pick([SECOND // 60, SECOND // 144, SECOND // 10]), pick([0, 15 * MS])
    now_ns = START_NS + generator.randint(0, frame_ns)
    while now_ns < START_NS + seconds * SECOND:
        physics.run_until(now_ns)
        for message in physics.arrived(now_ns):
            if isinstance(message.row, Plan):
                clock.replan(message.row)
            else:
                sim_ns, due_ns, epoch, number = message.row
                clock.observe(sim_ns, due_ns, message.arrival_ns, epoch, pick([number, number, number, None]))
        clock.draw_time_ns(now_ns + latch_ns)
        passed_ns = frame_ns + (0 if generator.random() < 0.95 else generator.randint(0, 300 * MS))
        now_ns += passed_ns
        if generator.random() < passed_ns / (every_s * SECOND):
            physics.disturb(now_ns)
        if generator.random() < passed_ns / (4 * every_s * SECOND):
            pick([
                lambda: clock.select(pick(["auto", *MODES])),
                lambda: clock.set_prefer(pick(PREFERENCES)),
                lambda: clock.set_buffer_ms(pick([None, 0.0, 80.0, 500.0, generator.uniform(0, 300)])),
                lambda: clock.set_reach_ns(pick([0, 20 * MS, 250 * MS])),
                clock.begin_anew,
            ])()  # fmt: skip
    return clock
