"""Defines the input events of a window as plain values, and converts key events to keys.

A display reports a key press as two events. The first event has the key with its unshifted character. The second event
has the character that was typed, with Shift or AltGr if they are held. `Keyboard` reports the first event at once, and
corrects the key if the second event differs.

Always: one press is one key. If Shift or AltGr was needed to type the character, this modifier is not among the key's
modifiers. `acted_ns` of each event is the instant (perf_counter_ns) at which the event was received from the display
server. The delay from input to picture is measured from this instant. Positions are in framebuffer pixels, from the
top left corner. Pure: this module uses no window library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from twixt.ipc.interaction.keyboard import CHARACTERS

# Modifiers that some displays report instead of AltGr.
ALT_GR = frozenset(("Ctrl", "Alt"))
SHIFT = frozenset(("Shift",))
NONE: frozenset[str] = frozenset()


class Key(NamedTuple):
    """Key press. name: character of the key (letters are capitals), or a name such as Space, Esc, Enter, Left, F12.

    modifiers: the held keys among Ctrl, Alt, Super and Shift, except keys that are needed to type the character.
    place: character of this key on a US keyboard. It is "" if the user's layout can type that character without Shift.
    """

    name: str
    acted_ns: int
    modifiers: frozenset[str] = frozenset()
    place: str = ""


class KeyAction(NamedTuple):
    """Press, release or repetition of a key, without regard to the key's meaning.

    code: GLFW's code of the key's position. action: "press", "release" or "repeat". mods: held modifiers as GLFW's
    bits. name: see `name_of`; "" for the name of the key on a US keyboard.
    """

    code: int
    action: str
    mods: int
    acted_ns: int
    name: str = ""


class MouseMove(NamedTuple):
    """The pointer moved to the position x_px, y_px."""

    x_px: float
    y_px: float
    acted_ns: int


class PointerLeft(NamedTuple):
    """The pointer left the window. Its position is unknown until the next `MouseMove`."""

    acted_ns: int


class MouseButton(NamedTuple):
    """A mouse button was pressed or released."""

    button: str  # "left", "right" or "middle"
    pressed: bool
    acted_ns: int
    modifiers: frozenset[str] = frozenset()


class Scroll(NamedTuple):
    """The wheel or touchpad was scrolled. dx, dy: movement in the window library's steps."""

    dx: float
    dy: float
    acted_ns: int


Event = Key | KeyAction | MouseMove | PointerLeft | MouseButton | Scroll


def name_of(character: str, place: str) -> str:
    """Returns the name of a key in `KEY_NAMES`, for a key that types a character. character: the key's unshifted
    character in the user's layout, or "". place: the key's character on a US keyboard, or "".

    The name is the character if it is the name of a key, else the place. The row of digits has the names of its places,
    because some layouts type digits only with Shift. Returns "" if neither is the name of a key.
    """
    character, place = character.lower(), place.lower()
    if place.isdigit() and not character.isdigit():
        return place
    return character if character in CHARACTERS else place


class Keyboard:
    """Keys of one window.

    layout: function that returns the characters that the user's layout can type without Shift. The layout may change
    at any time. So `layout` is called again at a key press. It is called only if the key is pressed without modifiers
    and its character differs from the character on a US keyboard.
    """

    def __init__(self, layout: Callable[[], Iterable[str]]) -> None:
        self._layout = layout
        self._pressed: Key | None = None  # last press; its typed character may not have arrived yet

    def press(self, character: str, place: str, modifiers: frozenset[str], acted_ns: int) -> Key:
        """Records the press of a key that types a character. character: the key's unshifted character in the user's
        layout, or "". place: the key's character on a US keyboard, or "". acted_ns: instant of the press
        (perf_counter_ns)."""
        name = character.upper()
        is_plain = not modifiers and place.upper() != name
        lacks = is_plain and place.upper() not in {made.upper() for made in self._layout()}
        self._pressed = Key(name, acted_ns, modifiers - SHIFT, place.upper() if lacks else "")
        return self._pressed

    def press_named(self, name: str, modifiers: frozenset[str], acted_ns: int) -> Key:
        """Records the press of a key that is the same in all layouts, such as F12."""
        self._pressed = None
        return Key(name, acted_ns, modifiers)

    def typed(self, character: str) -> tuple[Key | None, Key] | None:
        """Records the character that the last press typed. Returns the key as it was first reported (None if the key
        had no name), and the corrected key. Returns None if there is nothing to correct."""
        before, self._pressed = self._pressed, None
        if before is None or character.upper() == before.name or not character.strip():
            return None
        modifiers = NONE if before.modifiers == ALT_GR else before.modifiers
        return (before if before.name else None), Key(character.upper(), before.acted_ns, modifiers)
