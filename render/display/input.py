"""Input events of a window as plain values, and the conversion of key events to keys.

A display reports a key press in two events. The first has the key with its unshifted character, the second the
character typed with Shift or AltGr. `Keyboard` reports the first event at once, and corrects the key if the second
differs.

Always: one press is one key. If Shift or AltGr was needed to type the character, it is not among the key's modifiers.
Each event has the instant at which it was received from the display server (`acted_ns`, perf_counter_ns). This is used
to time the first frame that shows the event's effect. Positions are framebuffer pixels from the top left. Pure: uses
no window library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

# Modifiers that a display reports instead of AltGr if it does not distinguish AltGr.
ALT_GR = frozenset(("Ctrl", "Alt"))
SHIFT = frozenset(("Shift",))
NONE: frozenset[str] = frozenset()


class Key(NamedTuple):
    """Key press. name: the character (letters are capitals), or a name such as Space, Esc, Enter, Left, F12.

    modifiers: the held keys among Ctrl, Alt, Super and Shift, except those needed to type the character. place: the
    character of this key on a US keyboard, if the user's layout cannot type that character without Shift; else "".
    """

    name: str
    acted_ns: int
    modifiers: frozenset[str] = frozenset()
    place: str = ""


class KeyAction(NamedTuple):
    """Press, release or repetition of a key, independent of the key's meaning.

    code: GLFW's code of the key's position. action: "press", "release" or "repeat". mods: GLFW's bits of modifiers.
    """

    code: int
    action: str
    mods: int
    acted_ns: int


class MouseMove(NamedTuple):
    """The pointer moved to this position."""

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
    """The wheel or touchpad was scrolled. dx, dy: in the window library's steps."""

    dx: float
    dy: float
    acted_ns: int


Event = Key | KeyAction | MouseMove | PointerLeft | MouseButton | Scroll


class Keyboard:
    """Keys of one window.

    layout: returns the characters that the user's layout can type without Shift. It is called when a key is pressed
    without modifiers and its character differs from a US keyboard's, because the layout may change at any time.
    """

    def __init__(self, layout: Callable[[], Iterable[str]]) -> None:
        self._layout = layout
        self._pressed: Key | None = None  # last press, whose typed character may still arrive

    def press(self, character: str, place: str, modifiers: frozenset[str], acted_ns: int) -> Key:
        """Records the press of a key that types a character. character: the key's unshifted character in the user's
        layout, or "". place: the key's character on a US keyboard, or "". acted_ns: perf_counter_ns."""
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
        """Records the character typed by the last press. Returns the key as first reported (None if it had no name),
        and the corrected key. Returns None if there is nothing to correct.
        """
        before, self._pressed = self._pressed, None
        if before is None or character.upper() == before.name or not character.strip():
            return None
        modifiers = NONE if before.modifiers == ALT_GR else before.modifiers
        return (before if before.name else None), Key(character.upper(), before.acted_ns, modifiers)
