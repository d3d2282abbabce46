"""Actions of viewers' users at the host: each event once and in order, the latest view, pulls that end with the viewer."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from twixt.ipc.interaction.events import Look, Pull, UserAction, UserEvent
from twixt.ipc.scene import Camera
from twixt.ipc.session import wire
from twixt.ipc.session.viewers import MOST_EVENTS, ReceivedActions


def message(action: UserAction) -> wire.Message:
    return wire.Message(action.KIND, action.to_fields())


def codes(users: ReceivedActions) -> list[int]:
    found = []
    while (event := users.next_event()) is not None:
        found.append(event.key)
    return found


def test_events_come_once_and_in_order_and_the_newest_are_kept() -> None:
    users = ReceivedActions()
    assert codes(users) == []
    for number in range(MOST_EVENTS + 3):
        users.receive("viewer", message(UserEvent("key", number)))
    assert codes(users) == [*range(3, MOST_EVENTS + 3)]
    assert codes(users) == []


def test_a_pull_is_the_latest_of_its_viewer_and_ends_by_release_or_with_the_viewer() -> None:
    users = ReceivedActions()
    first, second, third = Pull(1, force=(1, 0, 0)), Pull(1, force=(2, 0, 0)), Pull(4)
    users.receive("a", message(first))
    users.receive("a", message(second))
    users.receive("b", message(third))
    assert users.pulls == (second, third)
    users.receive("a", message(Pull()))
    assert users.pulls == (third,)
    users.drop("b")
    users.drop("b")
    assert users.pulls == ()


def test_keys_of_a_viewer_that_has_ended_are_released_and_the_release_is_an_event() -> None:
    users = ReceivedActions()
    users.receive("a", message(UserEvent("key", 65)))
    users.receive("b", message(UserEvent("key", 263)))
    assert (users.keys.down, codes(users)) == ({"a", "left"}, [65, 263])
    users.drop("a")
    users.drop("a")
    released = users.next_event()
    assert released is not None
    assert (released.name, released.key, released.key_name, released.action) == ("key", 65, "a", "release")
    assert (users.next_event(), users.keys.down) == (None, {"left"})
    users.end()
    assert users.keys.down == set()
    users.receive("b", message(UserEvent("key", 66)))
    assert users.keys.down == set()


def test_keys_that_the_viewer_uses_and_repetitions_are_no_presses() -> None:
    users = ReceivedActions()
    for event in (
        UserEvent("key", 84, is_viewers=True),
        UserEvent("key", 65),
        UserEvent("key", 65, "repeat"),
        UserEvent("key", 1000),
        UserEvent("click"),
    ):
        users.receive("a", message(event))
    assert (users.keys.down, users.keys.presses) == ({"a"}, {"a": 1})
    users.receive("a", message(UserEvent("key", 65, "release")))
    assert users.keys.down == set()


def test_a_drag_moves_the_bodies_that_the_program_has_entered_and_no_others() -> None:
    users = ReceivedActions()
    users.dragged[1] = (0.0, 0.0, 0.0)
    users.receive("a", message(Pull(1, at=(0, 0, 1), target=(5, 0, 1))))
    users.receive("a", message(Pull(2, target=(7, 0, 0))))
    users.receive("a", message(Pull(1, target=(8, 0, 0), is_held=False)))
    users.receive("a", message(Pull(1, target=(9, 0, 0), is_turn=True)))
    assert users.dragged == {1: (5, 0, 0)}
    users.receive("a", message(Pull()))
    assert users.dragged == {1: (5, 0, 0)}


def test_a_view_counts_as_moved_only_where_its_user_moved_it() -> None:
    users = ReceivedActions()
    still, moved = Look(Camera(), 1, (8, 6)), Look(Camera((1, 2, 3)), 1, (8, 6), True)
    users.receive("a", message(still))
    assert (users.look, users.moved) == (still, None)
    users.receive("a", message(moved))
    users.receive("b", message(still))
    assert (users.look, users.moved) == (still, moved)


def test_a_wait_ends_with_an_event_and_with_the_end() -> None:
    users, seen = ReceivedActions(), []

    def read() -> None:
        while users.wait():
            seen.extend(codes(users))

    reader = threading.Thread(target=read)
    reader.start()
    users.receive("a", message(UserEvent("key", 65)))
    while not seen:
        assert reader.is_alive()
    users.receive("a", message(Pull(1)))
    users.end()
    reader.join(60)
    assert (seen, users.pulls, users.wait()) == ([65], (), False)


def test_actions_of_a_viewer_reach_the_host_and_its_pull_ends_with_it(channel: Any, until: Any) -> None:
    host = channel.open()
    link = channel.attach()
    look = Look(Camera((1, 2, 3), body=2), 1, (640, 480), True)
    for action in (UserEvent("key", 65), UserEvent("reset"), Pull(3, force=(1, 2, 3)), look):
        assert link.send_action(action)
    until(lambda: host.actions.moved)
    assert host.actions.look == look
    assert [event.force for event in host.actions.pulls] == [(1, 2, 3)]
    assert [event and event.name for event in (host.actions.next_event(), host.actions.next_event())] == [
        "key",
        "reset",
    ]
    link.close()
    until(lambda: not host.actions.pulls)


@pytest.mark.parametrize("kind", [UserEvent.KIND, Pull.KIND, Look.KIND])
def test_a_damaged_action_ends_its_viewer_alone(channel: Any, until: Any, kind: str) -> None:
    host = channel.open()
    good, bad = channel.attach(), channel.attach()
    bad._send_message(kind, {"body": "arm"})
    until(lambda: bad.poll() or bad.ended)
    assert bad.ended is not None
    assert f"a viewer sent a damaged {kind}" in bad.ended.message
    good.send_action(UserEvent("key", 66))
    until(lambda: host.actions.next_event())
    assert good.ended is None
