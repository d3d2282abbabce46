"""A viewer sends user actions to the program. A user action is an event, a camera view (`Look`) or a pull on a body
(`Pull`).

Each event is delivered exactly one time. Events are delivered in order. A new `Look` of a viewer replaces the viewer's
previous `Look`. A new `Pull` replaces the viewer's previous `Pull`.

Always: an action is checked when it is made, so that its receiver may use it without a check. Only `body` must be
checked by the receiver: it may be the index of a body that does not exist. Not here: queues (`ipc.session.viewers`).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

from twixt.ipc.errors import InvalidType, InvalidValue, text_of
from twixt.ipc.interaction.keyboard import KEY_NAMES
from twixt.ipc.scene import Camera
from twixt.ipc.scene.checks import Vector, set_field, vector
from twixt.ipc.scene.groups import body_index

KEY, CLICK, RESET = EVENTS = ("key", "click", "reset")
# Actions of a key. The index of an action is GLFW's number for this action.
RELEASE, PRESS, REPEAT = KEY_ACTIONS = ("release", "press", "repeat")
BUTTONS = ("left", "right", "middle")
# Largest key code and largest set of modifier bits; both are GLFW's. The magnitude of each instant is below
# WHOLE_LIMIT, so that each instant fits into a signed 64-bit number.
MOST_KEY, MOST_MODS, WHOLE_LIMIT = 1023, 0xFF, 1 << 63
# Largest width or height of a window, in pixels.
MOST_PX = 1 << 20
NOWHERE: Vector = (0.0, 0.0, 0.0)
_NAMES = frozenset(("", *KEY_NAMES.values()))


class ActionError(InvalidValue):
    """A user action breaks a rule."""


class ActionTypeError(ActionError, InvalidType):
    """A value of a user action has the wrong type."""


class UserAction:
    """A user action that is sent as a message. KIND: the kind of that message."""

    KIND: ClassVar[str]

    def to_fields(self) -> dict[str, Any]:
        """Returns the action as the fields of a message.

        Returns:
            A value for each field, by name.
        """
        return asdict(self)  # type: ignore[call-overload, no-any-return]  # each subclass is a dataclass

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        """Returns the action with these fields, which `to_fields` made.

        Args:
            fields: A value for each field, by name.

        Returns:
            The action.

        Raises:
            TwixtError: The fields are invalid. The error is an ActionError.
        """
        try:
            return cls(**fields)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise ActionError(f"a viewer sent a damaged {cls.KIND} ({str(error)[:200]})") from error


@dataclass(frozen=True)
class UserEvent(UserAction):
    """One action of a user in a viewer: a key, a click, or a request for a reset.

    `View.events` yields such events, and `World.on_key` receives them. Key events have `key`, `action`, `mods`,
    `is_viewers` and `key_name`. Click events have `button`, `clicks`, `body` and `point`. Key and click events have
    `pointer_px` and `pointer`.

    Attributes:
        name: "key", "click" or "reset" (the user pressed R in the viewer).
        key: GLFW's code for the key's place on the keyboard. The code is the same in all keyboard layouts. For letters
            and digits the code is the character at this place on a US keyboard, such as `ord("A")`.
        action: "press", "repeat" or "release".
        mods: The keys that are held, as GLFW's bits (Shift 1, Ctrl 2, Alt 4, Super 8).
        is_viewers: True if the viewer itself has acted on the key.
        button: "left", "right" or "middle".
        clicks: Number of clicks: 1, or 2 for a double click.
        body: Index of the body under a click. None if there is no body under the click.
        point: Point of that body under the click, in metres, in the world frame.
        acted_ns: Wall instant at which the user acted, in ns of `time.perf_counter_ns`.
        draw_time_ns: Simulated time of the picture that the user saw, in ns.
        key_name: Name of the key, such as "a", "1", "left", "space", "f1" or "left_shift". The name is the character
            that the key types without Shift in the user's keyboard layout, so "z" is the key that is labelled Z. If
            this character is not on a US keyboard, such as a Cyrillic letter, the key has its US name. The keys of the
            row of digits have the names "0" to "9" in all layouts. A key without a name has "".
        pointer_px: Position of the pointer in the window, x and y in framebuffer pixels from the top left. None if the
            pointer is outside the window.
        pointer: The point under the pointer in the plane that faces the camera and contains the camera's target, in
            metres, in the world frame. In a 2D world this is the point under the pointer. None if the pointer is not
            on the picture.

    Examples:
        ```python
        import twixt

        with twixt.show(twixt.Scene([twixt.Sphere()]), dt=1 / 60) as view:
            for t in view.real_time():
                for event in view.events():
                    if event.name == "click" and event.body is not None:
                        print("body", event.body, "at", event.point)
                    elif event.name == "key" and event.action == "press":
                        print("key", event.key_name)
                view.publish(position=(t, 0, 1))
        ```
    """

    KIND: ClassVar[str] = "event"

    name: str
    key: int = 0
    action: str = PRESS
    mods: int = 0
    is_viewers: bool = False
    button: str = ""
    clicks: int = 0
    body: int | None = None
    point: Vector | None = None
    acted_ns: int = 0
    draw_time_ns: int = 0
    key_name: str = ""
    pointer_px: tuple[float, float] | None = None
    pointer: Vector | None = None

    def __post_init__(self) -> None:
        _require("name", self.name, self.name in EVENTS, f"one of {', '.join(EVENTS)}")
        _require("action", self.action, self.action in KEY_ACTIONS, f"one of {', '.join(KEY_ACTIONS)}")
        _require("button", self.button, self.button in ("", *BUTTONS), f"one of {', '.join(BUTTONS)}")
        _require("is_viewers", self.is_viewers, isinstance(self.is_viewers, bool), "True or False", bool)
        for name, most in (("key", MOST_KEY), ("mods", MOST_MODS), ("clicks", 255)):
            _require_whole(name, getattr(self, name), 0, most)
        for name in ("acted_ns", "draw_time_ns"):
            _require_whole(name, getattr(self, name), -WHOLE_LIMIT, WHOLE_LIMIT - 1)
        if self.body is not None:
            set_field(self, "body", body_index("body", self.body))
        for name in ("point", "pointer"):
            if getattr(self, name) is not None:
                set_field(self, name, vector(name, getattr(self, name)))
        if self.pointer_px is not None:
            x_px, y_px = self.pointer_px
            are_finite = all(type(length_px) in (int, float) and math.isfinite(length_px) for length_px in (x_px, y_px))
            _require("pointer_px", self.pointer_px, are_finite, "two finite numbers")
            set_field(self, "pointer_px", (x_px, y_px))
        if self.name == KEY and not self.key_name:
            set_field(self, "key_name", KEY_NAMES.get(self.key, ""))
        _require("key_name", self.key_name, self.key_name in _NAMES, "the name of a key")


@dataclass(frozen=True)
class Pull(UserAction):
    """A body that the user drags or has selected. body: index of the body; None if the user no longer drags or selects
    a body. is_held: True while the body is dragged, False if it is only selected.

    point: the point at which the user grabbed the body, in metres, in the body's frame. at: position of that point in
    the drawn picture, in metres, in the world frame. target: the point under the pointer, in metres, in the world
    frame.
    is_turn: True if the user turns the body, False if the user moves it. turn: rotation vector of the turn since the
    user grabbed the body, in radians, in the world frame.
    force: force in N, which acts at the point `at`. torque: torque in N m about the body's position; it includes the
    torque that `force` causes.
    position: position of the body in the drawn picture, in metres, in the world frame.
    """

    KIND: ClassVar[str] = "pull"

    body: int | None = None
    point: Vector = NOWHERE
    at: Vector = NOWHERE
    target: Vector = NOWHERE
    is_turn: bool = False
    turn: Vector = NOWHERE
    force: Vector = NOWHERE
    torque: Vector = NOWHERE
    is_held: bool = True
    position: Vector = NOWHERE

    @property
    def dragged_to(self) -> Vector:
        """Position of the body at which the grabbed point is under the pointer, in metres, in the world frame."""
        x, y, z = (
            target + position - at for target, position, at in zip(self.target, self.position, self.at, strict=True)
        )
        return x, y, z

    def __post_init__(self) -> None:
        if self.body is not None:
            set_field(self, "body", body_index("body", self.body))
        for name in ("is_turn", "is_held"):
            _require(name, getattr(self, name), isinstance(getattr(self, name), bool), "True or False", bool)
        for name in ("point", "at", "target", "turn", "force", "torque", "position"):
            set_field(self, name, vector(name, getattr(self, name)))


@dataclass(frozen=True)
class Look(UserAction):
    """The camera view of a viewer. camera: the viewer's current camera. camera_version: version of the published
    camera that the viewer applied last.

    is_moved: True if the user has moved the camera since the viewer applied that published camera. size_px: width and
    height of the window, in pixels.
    """

    KIND: ClassVar[str] = "look"

    camera: Camera
    camera_version: int
    size_px: tuple[int, int]
    is_moved: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.camera, Camera):
            set_field(self, "camera", Camera(**self.camera))
        _require_whole("camera_version", self.camera_version, 0, WHOLE_LIMIT - 1)
        _require("is_moved", self.is_moved, isinstance(self.is_moved, bool), "True or False", bool)
        width_px, height_px = self.size_px
        for length_px in (width_px, height_px):
            _require_whole("size_px", length_px, 0, MOST_PX)
        set_field(self, "size_px", (width_px, height_px))


def _require(name: str, value: object, holds: bool, rule: str, kind: type = str) -> None:
    if not holds:
        wrong = ActionError if isinstance(value, kind) else ActionTypeError
        raise wrong(f"{name} must be {rule}, got {text_of(value)[:40]}")


def _require_whole(name: str, value: object, least: int, most: int) -> None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    _require(name, value, is_whole and least <= value <= most, f"a whole number from {least} to {most}", int)  # type: ignore[operator]
