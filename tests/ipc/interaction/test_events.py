"""Actions of a viewer's user: what is sent is received, and what breaks a rule is refused in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.events import Look, Pull, UserAction, UserEvent
from twixt.ipc.scene import Camera

ACTIONS: list[UserAction] = [
    UserEvent("key", 65, "release", 3, True, acted_ns=5, draw_time_ns=7),
    UserEvent("key", 90, key_name="y", pointer_px=(3.5, 4.0), pointer=(1.0, 2.0, 0.0)),
    UserEvent("click", button="left", clicks=2, body=3, point=(1.0, 2.0, 3.0)),
    UserEvent("reset"),
    Pull(),
    Pull(5, position=(1.0, 2.0, 3.0)),
    Pull(2, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), True, (0.5, 0.0, 0.0), (1.0, 2.0, 3.0), (4.0, 5.0, 6.0)),
    Look(Camera(body=1, orthographic_height=3.0, rotates_with_body=False, locked=True), 4, (800, 600), True),
]


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_is_received_as_it_was_sent(action: UserAction) -> None:
    assert type(action).from_fields(json.loads(json.dumps(action.to_fields()))) == action


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (UserEvent, {}),
        (UserEvent, {"name": "wink"}),
        (UserEvent, {"name": "key", "key": 5000}),
        (UserEvent, {"name": "key", "key": "A"}),
        (UserEvent, {"name": "key", "key": True}),
        (UserEvent, {"name": "key", "action": 1}),
        (UserEvent, {"name": "key", "action": []}),
        (UserEvent, {"name": "key", "acted_ns": 1 << 63}),
        (UserEvent, {"name": "click", "body": -1}),
        (UserEvent, {"name": "click", "body": 1 << 40}),
        (UserEvent, {"name": "click", "point": [1, 2]}),
        (UserEvent, {"name": "click", "point": [1, 2, 10**400]}),
        (UserEvent, {"name": "click", "button": "fourth"}),
        (UserEvent, {"name": "key", "colour": 1}),
        (UserEvent, {"name": "key", "key_name": "left or right"}),
        (UserEvent, {"name": "key", "key_name": ["a"]}),
        (UserEvent, {"name": "key", "pointer_px": [1]}),
        (UserEvent, {"name": "key", "pointer_px": [1, 2, 3]}),
        (UserEvent, {"name": "key", "pointer_px": [1, float("nan")]}),
        (UserEvent, {"name": "key", "pointer_px": [1, 10**400]}),
        (UserEvent, {"name": "key", "pointer_px": "12"}),
        (UserEvent, {"name": "key", "pointer": [1, 2]}),
        (Pull, {"body": 0, "position": [1, 2]}),
        (Pull, {"body": 0, "force": [1, 2, float("nan")]}),
        (Pull, {"body": 0, "torque": [float("inf"), 0, 0]}),
        (Pull, {"body": "arm"}),
        (Pull, {"body": 0, "is_turn": 1}),
        (Look, {"camera": {}, "camera_version": 1}),
        (Look, {"camera": None, "camera_version": 1, "size_px": [1, 2]}),
        (Look, {"camera": {"eye": [0, 0, 0]}, "camera_version": 1, "size_px": [1, 2]}),
        (Look, {"camera": {}, "camera_version": 1, "size_px": [1, 2, 3]}),
        (Look, {"camera": {}, "camera_version": 1, "size_px": [1 << 30, 2]}),
        (Look, {"camera": {}, "camera_version": -1, "size_px": [1, 2]}),
    ],
)
def test_what_breaks_a_rule_is_refused(kind: type[UserAction], fields: dict[str, Any]) -> None:
    with pytest.raises(TwixtError):
        kind.from_fields(fields)


def test_a_key_is_named_as_on_a_us_keyboard_unless_its_viewer_names_it() -> None:
    assert [UserEvent("key", code).key_name for code in (65, 263, 32, 1000)] == ["a", "left", "space", ""]
    assert UserEvent("key", 89, key_name="z").key_name == "z"
    assert UserEvent("click").key_name == ""


def test_a_drag_moves_the_body_so_that_the_grabbed_point_is_under_the_pointer() -> None:
    pull = Pull(0, at=(1.0, 0.5, 0.0), target=(3.0, 0.5, 1.0), position=(1.0, 0.0, 0.0))
    assert pull.dragged_to == (3.0, 0.0, 1.0)
