"""Keys that a loop asks for by name, from lists of events and from an attached viewer."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.sim.watched import Watched
from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.events import UserEvent
from twixt.ipc.interaction.keyboard import KEY_NAMES
from twixt.ipc.session import attach, wire
from twixt.ipc.session.viewers import ReceivedActions
from twixt.sim.show.keys import Keys

CODES = {name: code for code, name in KEY_NAMES.items()}
PATIENCE_S = 30.0


class Typing:
    """The keys of a program, and viewers whose users type. status: the fields that viewers have received."""

    def __init__(self) -> None:
        self.actions, self.status = ReceivedActions(), {}  # type: ReceivedActions, dict[str, Any]
        self.keys = Keys(SimpleNamespace(actions=self.actions), self.status.update)  # type: ignore[arg-type]

    def act(self, action: str, *names: str, viewer: str = "viewer", is_viewers: bool = False) -> None:
        for name in names:
            event = UserEvent("key", CODES[name], action, is_viewers=is_viewers)
            self.actions.receive(viewer, wire.Message(event.KIND, event.to_fields()))

    def press(self, *names: str, **of: Any) -> None:
        self.act("press", *names, **of)

    def release(self, *names: str, **of: Any) -> None:
        self.act("release", *names, **of)


@pytest.fixture
def typing() -> Typing:
    made = Typing()
    for key in ("a", "left", "space", "shift"):
        assert not made.keys.held(key)
        assert not made.keys.pressed(key)
    return made


def test_a_key_is_held_from_its_press_to_its_release(typing: Typing) -> None:
    typing.press("left")
    assert [typing.keys.held("left") for _ in range(3)] == [True] * 3
    assert not typing.keys.held("a")
    typing.release("left")
    assert [typing.keys.held("left") for _ in range(2)] == [False] * 2


def test_a_press_is_told_once_although_the_key_is_held_and_repeats(typing: Typing) -> None:
    typing.press("space")
    assert [typing.keys.pressed("space") for _ in range(3)] == [True, False, False]
    typing.act("repeat", "space", "space")
    assert not typing.keys.pressed("space")
    typing.release("space")
    assert not typing.keys.pressed("space")
    typing.press("space")
    assert typing.keys.pressed("space")


def test_a_press_and_a_release_between_two_looks_both_count(typing: Typing) -> None:
    typing.press("a")
    typing.release("a")
    assert [typing.keys.pressed("a") for _ in range(2)] == [True, False]
    assert [typing.keys.held("a") for _ in range(2)] == [True, False]
    for _ in range(2):
        typing.press("a")
        typing.release("a")
    assert [typing.keys.pressed("a") for _ in range(2)] == [True, False]


def test_the_first_look_at_a_key_sees_no_earlier_press_but_a_key_that_is_down() -> None:
    typing = Typing()
    typing.press("a", "b")
    typing.release("a")
    assert [typing.keys.pressed("a"), typing.keys.held("a")] == [False, False]
    assert [typing.keys.pressed("b"), typing.keys.held("b")] == [False, True]


def test_shift_is_the_key_on_either_side(typing: Typing) -> None:
    typing.press("left_shift", "right_shift")
    typing.release("left_shift")
    assert typing.keys.held("shift")
    assert typing.keys.pressed("shift")
    assert [typing.keys.held("left_shift"), typing.keys.held("right_shift")] == [False, True]
    typing.release("right_shift")
    typing.keys.held("shift")
    assert not typing.keys.held("shift")


def test_no_key_sticks_when_a_viewer_ends_and_another_viewers_keys_stay_down(typing: Typing) -> None:
    typing.press("left", "a", viewer="one")
    typing.press("a", viewer="other")
    assert [typing.keys.held("left"), typing.keys.held("a")] == [True, True]
    typing.actions.drop("one")
    assert [typing.keys.held("left"), typing.keys.held("a")] == [False, True]
    typing.actions.end()
    assert not typing.keys.held("a")


def test_a_key_that_the_viewer_uses_is_not_the_programs_until_it_asks_for_it(typing: Typing) -> None:
    typing.press("space", is_viewers=True)
    assert [typing.keys.held("space"), typing.keys.pressed("space")] == [False, False]
    typing.release("space", is_viewers=True)
    assert typing.status == {
        "listens": True,
        "own_keys": ["a", "left", "left_shift", "right_shift", "space"],
    }


@pytest.mark.parametrize("key", ["Left", "lefft", 65, None, ["a"]])
def test_an_unknown_key_is_refused_each_time_and_asks_for_nothing(key: Any) -> None:
    typing = Typing()
    for look in (typing.keys.held, typing.keys.pressed):
        with pytest.raises(TwixtError, match="a key must be named by its character"):
            look(key)
    assert typing.status == {}


def until(is_so: Callable[[], object]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline_s


def test_a_views_keys_and_its_events_do_not_steal_from_each_other_and_viewers_are_told() -> None:
    both = Watched()
    view, other = both.view, attach(both.view.name)
    assert not view.keys.held("a")
    until(lambda: [both.link.wait(0.02)] and both.link.status.get("own_keys") == ["a"])
    assert both.link.status["listens"] is True
    other.send_action(UserEvent("key", 65))
    until(lambda: view.keys.held("a"))
    assert [event.key_name for event in view.events()] == ["a"]
    assert view.keys.pressed("a")
    other.close()
    until(lambda: not view.keys.held("a"))
    assert [(event.key_name, event.action) for event in view.events()] == [("a", "release")]
    both.link.close()
    view.close()
    assert not view.keys.held("a")
