"""Events of a world, from its step to the ring that viewers read."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from tests.sim.lab import Lab, MakeHost, ResettableWalk, Walk
from twixt.ipc.config.troubles import Troubles
from twixt.ipc.process.user_code import UserCodeCrashed
from twixt.ipc.ring.events import EventReader
from twixt.sim.publish.event_buffer import MOST_A_STEP
from twixt.sim.world.world import state_hash


class Emitting(ResettableWalk):
    """A walk that emits one event in each step, with the number of the step, and one in `__init__` and `reset`."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.emit("init")

    def step(self, dt: float) -> None:
        super().step(dt)
        self.steps += 1
        self.emit("step", body=self.steps % 3, strength=self.steps)

    def reset(self, seed: int) -> None:
        self.emit("reset")
        super().reset(seed)


class Events:
    """Reader of the events of a lab: (name, strength, time in ms, world epoch) of each."""

    def __init__(self, lab: Lab) -> None:
        self.reader = EventReader(lab.host._events.memory)

    def read(self) -> list[tuple[str, float, float, int]]:
        return [
            (self.reader.names[name], strength, time_ns / 1e6, epoch)
            for name, strength, time_ns, epoch in self.reader.unread()
            .records[["name", "strength", "sim_time_ns", "world_epoch"]]
            .tolist()
        ]


@pytest.mark.parametrize(
    ("troubles", "publish_hz"), [(Troubles(), 120), (Troubles(drop_percent=90), 120), (Troubles(), 5)], ids=repr
)
def test_the_events_of_each_step_are_published_once_whether_or_not_its_snapshot_is(
    make_host: MakeHost, troubles: Troubles, publish_hz: float
) -> None:
    lab = Lab(make_host(), Emitting(), troubles=troubles, publish_hz=publish_hz)
    events = Events(lab)
    lab.run_steps(60)
    assert events.read() == [("step", step, 20.0 * step, 0) for step in range(1, 61)]
    assert lab.physics.events.report() == {"emitted": 60, "dropped": 0}


def test_events_are_in_the_ring_before_the_snapshot_of_their_step_is_visible(make_host: MakeHost) -> None:
    lab = Lab(make_host(), Emitting())
    events, seen = Events(lab), []
    begin = lab.host.ring.begin

    def counted(*size: Any, **sizes: Any) -> Any:
        slot = begin(*size, **sizes)
        commit = slot.commit

        def looked(slot: Any) -> Any:
            seen.append((slot.head.tick, events.reader.unread().first - 1))
            return commit(slot)

        slot.commit = looked
        return slot

    lab.host.ring.begin = counted  # type: ignore[method-assign]
    lab.run_steps(20)
    assert seen[1:]
    assert all(first <= tick for tick, first in seen)


def test_an_event_of_a_reset_belongs_to_the_new_world_and_has_the_time_of_the_reset(make_host: MakeHost) -> None:
    lab = Lab(make_host(), Emitting())
    events = Events(lab)
    lab.run_steps(3)
    lab.ask("reset")
    lab.run_steps(2)
    assert [(name, time_ms, epoch) for name, _, time_ms, epoch in events.read()] == [
        ("step", 20.0, 0), ("step", 40.0, 0), ("step", 60.0, 0), ("reset", 0.0, 1), ("step", 20.0, 1), ("step", 40.0, 1),
    ]  # fmt: skip


def test_a_world_that_is_made_anew_by_a_reset_goes_on_emitting(make_host: MakeHost) -> None:
    class Anew(Walk):
        def step(self, dt: float) -> None:
            super().step(dt)
            self.emit("step")

    lab = Lab(make_host(), Anew())
    events = Events(lab)
    lab.run_steps(1)
    lab.ask("reset")
    lab.run_steps(1)
    assert [(name, epoch) for name, _, _, epoch in events.read()] == [("step", 0), ("step", 1)]


def test_of_a_step_that_raises_no_event_is_published(make_host: MakeHost) -> None:
    class Raising(Emitting):
        def step(self, dt: float) -> None:
            super().step(dt)
            if self.steps == 3:
                self.emit("last")
                self.emit("hit", body="ball")  # type: ignore[arg-type]

    lab = Lab(make_host(), Raising())
    events = Events(lab)
    with pytest.raises(UserCodeCrashed, match=r"emit\(body\) must be a whole number, got 'ball'") as crashed:
        lab.run_steps(9)
    assert 'self.emit("hit", body="ball")' in crashed.value.traceback_text
    assert "event_buffer" not in crashed.value.traceback_text
    assert [strength for _, strength, _, _ in events.read()] == [1.0, 2.0]


def test_dropped_events_are_in_the_status(make_host: MakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    class Flooding(Walk):
        def step(self, dt: float) -> None:
            super().step(dt)
            self.emit_many("flood", strength=np.ones(MOST_A_STEP + 2))

    host, statuses = make_host(), list[dict[str, Any]]()
    monkeypatch.setattr(host, "set_status", lambda status: statuses.append(dict(status)))
    lab = Lab(host, Flooding())
    lab.run_ms(500)
    assert "events_dropped" not in statuses[0]
    assert statuses[-1]["events_dropped"] == 2 * statuses[-1]["tick"]
    assert "events were dropped: one step may emit 16,384" in lab.physics.warning


def test_events_change_no_state_and_copies_emit_nothing(make_host: MakeHost) -> None:
    lab = Lab(make_host(), Emitting())
    events = Events(lab)
    lab.run_steps(10)
    alone = Emitting()
    for _ in range(10):
        alone.step(0.02)
    assert state_hash(lab.physics.world) == state_hash(alone)
    assert len(events.read()) == 10
    lab.world.spend = int  # type: ignore[attr-defined]  # the lab's own function cannot be copied
    for copied in (copy.copy(lab.world), copy.deepcopy(lab.world), pickle.loads(pickle.dumps(lab.world))):
        copied.step(0.02)
        copied.emit_many("copy", body=[1, 2])
    assert not lab.physics.events.pending
