"""Contacts that begin: which, when, how strong; through `launch_passive` and in the world of a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.sim.emitted import Emitted
from tests.sim.engines.mujoco.models import Launch
from tests.sim.lab import MakeHost
from twixt.ipc.errors import TwixtError
from twixt.ipc.ring.events import Event, event_of
from twixt.sim.engines.mujoco.model_world import world_of_file
from twixt.sim.engines.mujoco.visual.contact_events import REST_S, ContactEvents
from twixt.sim.world.world import state_hash
from twixt.sim.worlds.find import make_world

mujoco = pytest.importorskip("mujoco")

# Two balls over a floor, of 1 kg and 2 kg, which fall without bouncing.
FALLING = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1"/>
    <body name="one" pos="0 0 1"><freejoint/><geom name="ball" size=".1" mass="1"/></body>
    <body name="two" pos="2 0 .1"><freejoint/><geom name="resting" size=".1" mass="2"/></body>
  </worldbody>
</mujoco>
"""
FLOOR, BALL, RESTING = range(3)


class Model:
    """A model with its data and the contacts that begin."""

    def __init__(self, xml: str = FALLING) -> None:
        self.model = mujoco.MjModel.from_xml_string(xml)
        self.data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, self.data)
        self.contacts = ContactEvents(self.model, self.data)
        self.found: list[tuple[float, dict[str, Any]]] = []
        self.contacts.look()

    def step(self, is_done: Callable[[], bool], most: int = 5000) -> None:
        for _ in range(most):
            if is_done():
                return
            mujoco.mj_step(self.model, self.data)
            if (begun := self.contacts.look()) is not None:
                self.found.append((self.data.time, begun._asdict()))
        raise AssertionError("not done")

    def run(self, seconds: float) -> None:
        end_s = self.data.time + seconds
        self.step(lambda: bool(self.data.time >= end_s))

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return [tuple(row) for _, begun in self.found for row in begun["values"].tolist()]


def test_a_ball_that_falls_begins_one_contact_with_its_place_body_and_impulse() -> None:
    falling = Model()
    falling.run(2.0)
    ((time_s, begun),) = falling.found
    assert time_s == pytest.approx(np.sqrt(2 * 0.9 / 9.81), abs=0.006)
    assert begun["values"].tolist() == [[FLOOR, BALL]]
    assert begun["body"].tolist() == [1]
    assert begun["position"] == pytest.approx(np.zeros((1, 3)), abs=0.01)
    assert begun["strength"] == pytest.approx([1 * np.sqrt(2 * 9.81 * 0.9)], rel=0.02)


def test_the_impulse_grows_with_the_mass() -> None:
    heavy = Model(FALLING.replace('mass="1"', 'mass="5"'))
    heavy.run(1.0)
    assert heavy.found[0][1]["strength"] == pytest.approx([5 * np.sqrt(2 * 9.81 * 0.9)], rel=0.02)


def test_the_body_is_the_faster_one_whichever_geom_comes_first() -> None:
    for speeds, body in (((0, -3), 2), ((3, 0), 1)):
        two = Model('<mujoco><option gravity="0 0 0"/><worldbody>'
            '<body><freejoint/><geom size=".1"/></body><body pos=".5 0 0"><freejoint/><geom size=".1"/></body>'
            "</worldbody></mujoco>")  # fmt: skip
        two.data.qvel[0], two.data.qvel[6] = speeds
        two.run(0.2)
        ((_, begun),) = two.found
        assert begun["body"].tolist() == [body]


def test_a_contact_that_breaks_for_a_moment_does_not_begin_again_but_one_that_was_apart_does() -> None:
    falling = Model()
    falling.run(2.0)
    for apart_s in (0.9 * REST_S, 1.1 * REST_S):
        falling.found.clear()
        height = falling.data.qpos[2]
        falling.data.qpos[2], falling.data.qvel[2] = height + 1, 0
        falling.run(apart_s)
        assert falling.found == []
        falling.data.qpos[2], falling.data.qvel[2] = height - 1e-4, -1
        falling.run(0.02)
        assert falling.pairs == ([(FLOOR, BALL)] if apart_s > REST_S else [])


def test_a_box_that_rattles_on_four_corners_begins_one_contact() -> None:
    box = Model('<mujoco><worldbody><geom type="plane" size="5 5 .1"/><body pos="0 0 .3" euler="3 5 0"><freejoint/>'
        '<geom type="box" size=".2 .2 .1"/></body></worldbody></mujoco>')  # fmt: skip
    box.run(3.0)
    assert box.data.ncon == 4
    assert box.pairs == [(0, 1)]


def test_after_time_went_back_the_contacts_of_the_first_state_do_not_begin() -> None:
    falling = Model()
    falling.run(2.0)
    falling.found.clear()
    mujoco.mj_resetData(falling.model, falling.data)
    falling.run(1.0)
    assert falling.pairs == [(FLOOR, BALL)]


def test_a_state_that_has_diverged_does_not_raise() -> None:
    falling = Model(FALLING.replace("<option", '<option><flag autoreset="disable"/></option><option'))
    falling.data.qvel[:] = np.nan
    falling.data.qpos[2] = 0.05
    mujoco.mj_forward(falling.model, falling.data)
    falling.contacts.look()


def events_of(reader: Any) -> list[Event]:
    events = reader._link.events
    return [event_of(record, events.names[record["name"]]) for record in events.unread().records]


def test_a_handle_emits_contacts_at_their_times_in_the_ring_of_its_view(launch: Launch) -> None:
    handle, reader = launch(FALLING, events="contacts", publish_hz=0.1)
    times = []
    for _ in range(400):
        mujoco.mj_step(handle.m, handle.d)
        handle.sync()
        if handle.d.ncon == 2:
            times.append(handle.d.time)
    handle.emit("end", body=2)
    handle.emit("middle", at=times[0] + 0.01, values=np.ones(2))
    reader.until(lambda: reader._link.events.has_unread)  # the last state is published when no other follows
    contact, middle, end = events_of(reader)
    assert (contact.name, contact.sim_time, contact.body) == ("contact", pytest.approx(times[0]), 1)
    assert contact.values == (FLOOR, BALL)
    assert (middle.name, middle.sim_time) == ("middle", pytest.approx(times[0] + 0.01))
    assert (end.name, end.sim_time, end.body) == ("end", pytest.approx(handle.d.time), 2)
    assert handle.view._warnings._status._fields.get("warning") is None


@pytest.mark.parametrize("events", [True, False, None])
def test_a_handle_without_the_option_emits_no_contacts(launch: Launch, events: bool | None) -> None:
    handle, reader = launch(FALLING, **({} if events is None else {"events": events}))
    for _ in range(300):
        mujoco.mj_step(handle.m, handle.d)
        handle.sync()
    handle.emit_many("end", body=[1, 2])
    reader.until(lambda: reader._link.events.has_unread)
    assert [(event.name, event.body) for event in events_of(reader)] == [("end", 1), ("end", 2)]


@pytest.mark.parametrize("events", ["contact", 7])
def test_a_handle_refuses_another_value_of_the_option(launch: Launch, events: Any) -> None:
    with pytest.raises(TwixtError, match="events must be .*got " + repr(events)):
        launch(FALLING, events=events)


def test_after_close_a_handle_emits_nothing(launch: Launch) -> None:
    handle, _ = launch(FALLING, events="contacts")
    handle.close()
    handle.emit("late")
    handle.sync()


def test_the_world_of_a_file_emits_contacts_with_a_setting_and_its_state_is_the_same(
    users_folder: Path, make_host: MakeHost
) -> None:
    (users_folder / "falling.xml").write_text(FALLING)
    worlds = [make_world(world_of_file("falling.xml"), given, 0) for given in ([("events", "contacts")], [])]
    emitted = Emitted(make_host())
    worlds[0]._event_buffer = emitted.buffer
    for _ in range(2):
        for world in worlds:
            for _ in range(500):
                world.step(world.dt)
        (event,) = emitted.flush()
        assert (event.name, event.body, event.values) == ("contact", 1, (FLOOR, BALL))
        assert state_hash(worlds[0]) == state_hash(worlds[1])
        for world in worlds:
            world.reset()
    with pytest.raises(TwixtError, match="^events must be contacts or left out, got 'all'"):
        make_world(world_of_file("falling.xml"), [("events", "all")], 0)


@pytest.mark.parametrize(("end", "ball"), [(".5 0 0", ".4 .2 0"), ("0 .5 0", "-.2 .4 0")])
def test_the_speed_of_a_body_that_turns_is_that_of_its_point_at_the_contact(end: str, ball: str) -> None:
    bar = Model(f"""<mujoco><option gravity="0 0 0"/><worldbody>
        <body><freejoint/><geom type="capsule" size=".05" fromto="0 0 0 {end}" mass="1"/></body>
        <body pos="{ball}"><freejoint/><geom size=".05" mass="1"/></body></worldbody></mujoco>""")
    bar.data.qvel[5] = 2.0
    bar.run(0.2)
    ((_, begun),) = bar.found
    assert begun["body"].tolist() == [1]
    invweight = bar.model.body_invweight0[1:, 0].sum()
    assert begun["strength"] * invweight == pytest.approx([2.0 * 0.4], rel=0.1)


def test_an_event_that_is_later_than_the_published_state_waits_for_its_own(launch: Launch) -> None:
    handle, reader = launch(FALLING, publish_hz=0.1)
    handle.emit("later", at=0.1)
    mujoco.mj_step(handle.m, handle.d)
    handle.sync()
    reader.until(lambda: handle._publisher.published >= 2)  # the first state, and this one because no other follows
    assert events_of(reader) == []
    for _ in range(60):
        mujoco.mj_step(handle.m, handle.d)
        handle.sync()
    reader.until(lambda: reader._link.events.has_unread)
    assert [(event.name, event.sim_time) for event in events_of(reader)] == [("later", 0.1)]
