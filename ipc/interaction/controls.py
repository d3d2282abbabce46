"""Controls that a world or a user's own loop shows in its viewers: sliders, switches and buttons.

    self.gravity = Slider("gravity", 9.81, low=0, high=20)      # in __init__
    self.kick = Button("kick")
    self.controls = [self.gravity, self.kick]
    ...
    if self.kick.pressed(): ...                                   # in step
    self.velocity[:, 2] -= dt * self.gravity.value

A user's own loop makes controls with methods of its view, such as `view.slider("gravity", 9.81, 0, 20)`.

A control is an object with a value. The program reads the value, and viewers change it between two steps. If the
program assigns a value, viewers show that value.

Always: the value obeys the control's rule, whatever a viewer sends. A control that nobody changes does not affect a
run.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

from twixt.ipc.errors import InvalidType, InvalidValue, named_arguments, refusal, text_of
from twixt.ipc.process.renamed import closed_attributes, former_arguments
from twixt.ipc.scene.checks import flag

# Largest number of controls of a world. Among more controls, users could not find the control that they want in the
# overlay.
MOST_CONTROLS = 192
LONGEST_NAME = 60
KINDS = ("slider", "toggle", "button")
# Name of the overlay's section in which a control appears by default.
SECTION = "controls"
FORMER_ARGUMENTS = {"fold": "section"}
FORMER_NAMES = {"fold": "section", "set": "_set", "shown": "_shown", "kind": "_kind"}


def _no_receiver() -> None:
    """Default value of `on_change`, for a control that no loop uses yet."""


@closed_attributes(FORMER_NAMES)
@former_arguments(FORMER_ARGUMENTS)
@named_arguments
class Slider:
    """A number from `low` to `high` that the user may change.

    A world lists its controls in `self.controls`. Your own loop adds them with `View.slider`, `View.toggle` and
    `View.button`.

    Args:
        name: The slider's label in the overlay, a text of 1 to 60 characters.
        value: The number at the start.
        low: Lowest number.
        high: Highest number.
        section: Name of the slider's section in the overlay, a text of 1 to 60 characters.

    Attributes:
        value: The current number. The program may assign another number from `low` to `high`.
        on_change: Function that is called after the program has assigned a value.

    Raises:
        TwixtError: An argument or an assigned number is invalid. The error is also a ValueError or a TypeError.

    Examples:
        ```python
        from twixt import Bodies, Button, Scene, Slider, Sphere, Toggle, World

        class Fall(World):
            def __init__(self):
                self.bodies, self.scene = Bodies(1), Scene([Sphere(0.2)])
                self.gravity = Slider("gravity", 9.81, low=0, high=20)
                self.is_frozen, self.kick = Toggle("frozen"), Button("kick")
                self.controls = [self.gravity, self.is_frozen, self.kick]

            def step(self, dt: float) -> None:
                if self.kick.pressed():
                    self.bodies.velocity[0, 2] = 5
                if not self.is_frozen.value:
                    self.bodies.velocity[0, 2] -= dt * self.gravity.value
                    self.bodies.position += dt * self.bodies.velocity

        world = Fall()
        world.step(world.dt)
        ```
    """

    name: str
    section: str
    low: float
    high: float
    on_change: Callable[[], None]
    _kind = "slider"

    def __init__(self, name: str, value: float, low: float, high: float, section: str = SECTION) -> None:
        self.name, self.section = _checked_name("Slider", name), _checked_name("Slider", section)
        self.low, self.high = _number(self, "low", low), _number(self, "high", high)
        if not self.low < self.high:
            raise InvalidValue(f"Slider {name!r}: low must be below high, got {text_of(low)} and {high!r}")
        self._value = self._checked(value)
        self.on_change = _no_receiver

    @property
    def value(self) -> float:
        """The current number. Assign another number from `low` to `high` to change it."""
        return self._value

    @value.setter
    def value(self, value: float) -> None:
        self._value = self._checked(value)
        self.on_change()

    def _set(self, number: float) -> None:
        """Sets a value that a viewer sent. A value outside of the range is replaced by the nearest end of the
        range."""
        self._value = min(self.high, max(self.low, float(number)))

    def _checked(self, value: Any) -> float:
        number = _number(self, "value", value)
        if not self.low <= number <= self.high:
            raise InvalidValue(
                f"Slider {self.name!r}: value must be from {self.low:g} to {self.high:g}, got {text_of(value)}"
            )
        return number

    @property
    def _shown(self) -> tuple[float, float, float]:
        """The numbers that are sent to viewers: value, lowest value and highest value."""
        return self.value, self.low, self.high


@closed_attributes(FORMER_NAMES)
@former_arguments(FORMER_ARGUMENTS)
@named_arguments
class Toggle:
    """A switch that the user may turn on or off. For an example see `Slider`.

    Args:
        name: The switch's label in the overlay, a text of 1 to 60 characters.
        value: The state at the start.
        section: Name of the switch's section in the overlay, a text of 1 to 60 characters.

    Attributes:
        value: The current state. The program may assign True or False.
        is_on: The current state as a plain attribute, which is faster to read. Do not assign to `is_on`.
        on_change: Function that is called after the program has assigned a state.

    Raises:
        TwixtError: An argument or an assigned state is invalid. The error is also a TypeError.
    """

    name: str
    section: str
    is_on: bool
    on_change: Callable[[], None]
    _kind = "toggle"

    def __init__(self, name: str, value: bool = False, section: str = SECTION) -> None:
        self.name, self.section = _checked_name("Toggle", name), _checked_name("Toggle", section)
        self.is_on = flag("Toggle.value", value)
        self.on_change = _no_receiver

    @property
    def value(self) -> bool:
        """The current state. Assign True or False to change it."""
        return self.is_on

    @value.setter
    def value(self, value: bool) -> None:
        self.is_on = flag("Toggle.value", value)
        self.on_change()

    def _set(self, number: float) -> None:
        """Sets the state that a viewer sent: 0 is off, any other number is on."""
        self.is_on = bool(number != 0)

    @property
    def _shown(self) -> tuple[float, float, float]:
        """The numbers that are sent to viewers, as in `Slider._shown`."""
        return float(self.value), 0.0, 1.0


@closed_attributes(FORMER_NAMES | {"taken": "pressed"})
@former_arguments(FORMER_ARGUMENTS)
@named_arguments
class Button:
    """A button that the user may press. For an example see `Slider`.

    Args:
        name: The button's label in the overlay, a text of 1 to 60 characters.
        section: Name of the button's section in the overlay, a text of 1 to 60 characters.

    Raises:
        TwixtError: An argument is invalid. The error is also a ValueError or a TypeError.
    """

    name: str
    section: str
    _kind = "button"

    def __init__(self, name: str, section: str = SECTION) -> None:
        self.name, self.section = _checked_name("Button", name), _checked_name("Button", section)
        self._is_pressed = False

    def pressed(self) -> bool:
        """True if the user has pressed the button since the last call of `pressed`.

        Returns:
            True or False. The next call returns False unless the user has pressed the button again.
        """
        pressed, self._is_pressed = self._is_pressed, False
        return pressed

    def _set(self, _number: float) -> None:
        """Records that a viewer's user pressed the button."""
        self._is_pressed = True

    @property
    def _shown(self) -> tuple[float, float, float]:
        """The numbers that are sent to viewers, as in `Slider._shown`. The value is always 0 and has no meaning."""
        return 0.0, 0.0, 1.0


Control = Slider | Toggle | Button
# Kind, name and section of a control, by which it is found again after its world was constructed anew.
ControlKey = tuple[str, str, str]


def control_key(control: Control) -> ControlKey:
    """The key of a control."""
    kind, name, *_, section = to_status([control])[0]
    return kind, name, section


def checked_controls(value: Any, owner: str) -> tuple[Control, ...]:
    """Returns `value` as a tuple of controls, in the same order. owner: name of the world's attribute that has this
    value; the error message names it. Raises TwixtError if `value` contains anything else."""
    if not isinstance(value, Sequence) or not all(isinstance(control, Control) for control in value):
        raise InvalidType(f"{owner} must be a list of Slider, Toggle and Button, got {text_of(value)}")
    if len(value) > MOST_CONTROLS:
        raise InvalidValue(
            f"{owner} may have {MOST_CONTROLS} controls at most, got {len(value)}; leave some of them out"
        )
    return tuple(value)


def set_value(control: Control, number: float) -> None:
    """Sets the value of a control that a viewer sent. A value outside of a slider's range is replaced by the nearest
    end of the range; a switch is off for 0 and on for any other number; a button counts as pressed."""
    control._set(number)


def to_status(controls: Sequence[Control]) -> list[list[Any]]:
    """Controls as a field of a status message: a list [kind, name, value, low, high, section] for each control."""
    return [[control._kind, control.name, *control._shown, control.section] for control in controls]


def is_status(value: Any) -> bool:
    """True if `value`, which another process sent, has the form that `to_status` makes."""
    return isinstance(value, list) and len(value) <= MOST_CONTROLS and all(map(_is_row, value))


def _is_row(row: Any) -> bool:
    if not (isinstance(row, list) and len(row) == 6 and row[0] in KINDS):
        return False
    if not all(isinstance(text, str) and 0 < len(text) <= LONGEST_NAME for text in (row[1], row[5])):
        return False
    numbers = row[2:5]
    are_finite = all(type(number) in (int, float) and math.isfinite(number) for number in numbers)
    return are_finite and numbers[1] < numbers[2]


def _checked_name(kind: str, name: Any) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise refusal(name, str)(f"{kind}: name must be a text of 1 to {LONGEST_NAME} characters, got {text_of(name)}")
    return name


def _number(slider: Slider, field: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    # The test is True for NaN as well. Larger numbers would overflow the overlay's 32-bit floats.
    if not abs(number) < 1e30:
        raise refusal(value, numbers.Real)(
            f"Slider {slider.name!r}: {field} must be a finite number, got {text_of(value)}"
        )
    return number
