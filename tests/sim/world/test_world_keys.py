"""Keys of a world: which reach `on_key`, in which order, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.lab import Lab, MakeHost, Walk
from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.events import UserEvent
from twixt.ipc.process.user_code import UserCodeCrashed, UserCodeRefused
from twixt.ipc.session import wire
from twixt.ipc.session.host import Host
from twixt.sim.world.world import World, state_hash
from twixt.sim.world.world_guard import check_world


class Played(Walk):
    """A world that notes its keys and steps, in their order."""

    own_keys: Any = ("space", "shift")

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[str] = []

    def on_key(self, event: UserEvent) -> None:
        self.noted.append(f"{event.key_name} {event.action}")

    def step(self, dt: float) -> None:
        super().step(dt)
        self.noted.append("step")


def receive(host: Host, *events: UserEvent) -> None:
    for event in events:
        host.actions.receive("viewer", wire.Message(event.KIND, event.to_fields()))


def test_keys_reach_a_world_before_its_next_step_once_and_in_order(make_host: MakeHost) -> None:
    world = Played()
    lab = Lab(make_host(), world)
    receive(lab.host, UserEvent("key", 263), UserEvent("key", 65), UserEvent("key", 263, "repeat"))
    lab.run_steps(1)
    receive(lab.host, UserEvent("key", 263, "release"))
    lab.run_steps(2)
    assert world.noted == ["left press", "a press", "left repeat", "step", "left release", "step"]


def test_clicks_and_keys_that_the_viewer_uses_are_left_out_and_held_keys_are_released(make_host: MakeHost) -> None:
    world = Played()
    lab = Lab(make_host(), world)
    receive(
        lab.host, UserEvent("click"), UserEvent("key", 84, is_viewers=True), UserEvent("reset"), UserEvent("key", 65)
    )
    lab.host.actions.drop("viewer")
    lab.run_steps(1)
    assert world.noted == ["a press", "a release", "step"]


def test_keys_wait_while_the_world_is_paused(make_host: MakeHost) -> None:
    world = Played()
    lab = Lab(make_host(), world)
    lab.ask("pause")
    receive(lab.host, UserEvent("key", 65))
    lab.run_ms(200)
    assert world.noted == []
    lab.ask("step")
    assert world.noted[:2] == ["a press", "step"]


def test_a_key_is_no_part_of_the_state(make_host: MakeHost) -> None:
    world, other = Played(), Played()
    lab = Lab(make_host(), world)
    receive(lab.host, UserEvent("key", 65))
    lab.run_steps(3)
    for _ in range(3):
        other.step(other.dt)
    assert state_hash(world) == state_hash(other)


def test_viewers_are_told_which_keys_are_the_worlds(make_host: MakeHost) -> None:
    lab = Lab(make_host(), Played())
    said: list[dict[str, Any]] = []
    lab.host.set_status = said.append  # type: ignore[method-assign]
    lab.run_ms(300)
    assert {(status["listens"], *status["own_keys"]) for status in said} == {
        (True, "left_shift", "right_shift", "space")
    }


def test_a_world_without_on_key_keeps_no_key_from_the_viewer(make_host: MakeHost) -> None:
    class Deaf(Walk):
        own_keys = ("space",)

    lab = Lab(make_host(), Deaf())
    said: list[dict[str, Any]] = []
    lab.host.set_status = said.append  # type: ignore[method-assign]
    receive(lab.host, UserEvent("key", 65))
    lab.run_ms(300)
    assert all("own_keys" not in status and "listens" not in status for status in said)
    assert said


def test_an_exception_of_on_key_is_the_users_crash(make_host: MakeHost) -> None:
    class Clumsy(Played):
        def on_key(self, event: UserEvent) -> None:
            raise ValueError("no key here")

    lab = Lab(make_host(), Clumsy())
    receive(lab.host, UserEvent("key", 65))
    with pytest.raises(UserCodeCrashed, match=r"Clumsy.on_key raised ValueError: no key here") as crashed:
        lab.run_steps(1)
    assert "raise ValueError" in crashed.value.traceback_text


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("space", "Played.own_keys must be a list of names of keys, got 'space'"),
        (5, "Played.own_keys must be a list of names of keys, got 5"),
        (["Space"], 'Played.own_keys: a key must be named by its character, .* did you mean "space"'),
        ([65], "Played.own_keys: a key must be named by its character"),
    ],
)
def test_names_of_keys_are_checked_when_the_world_is_made_and_while_it_runs(
    make_host: MakeHost, names: Any, said: str
) -> None:
    world = Played()
    lab = Lab(make_host(), world)
    world.own_keys = names
    with pytest.raises(TwixtError, match=said):
        check_world(world)
    with pytest.raises(UserCodeRefused, match=said):
        lab.run_ms(300)


def test_a_reset_makes_a_world_that_gets_the_keys(make_host: MakeHost) -> None:
    lab = Lab(make_host(), Played())
    lab.run_steps(2)
    lab.ask("reset")
    receive(lab.host, UserEvent("key", 65))
    lab.run_steps(3)
    made: World = lab.physics.world
    assert isinstance(made, Played)
    assert "a press" in made.noted
