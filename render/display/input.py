"""Input events of a window as plain values, and the keys of its key events.

A display reports a key press in two events: the key with its unshifted character, then the character typed with Shift or
AltGr. `Keyboard` reports the first at once, and corrects it if the second differs.

Always: one press is one key. Modifiers that made the character (Shift, AltGr) are not among the key's modifiers. Each
event carries the instant at which it was received from the display server (`acted_ns`, perf_counter_ns), so that the
frame that first shows its effect can be timed. Positions are framebuffer pixels from the top left. Pure: uses no window
library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

# Modifiers that a display reports for AltGr if it has no name for AltGr.
ALT_GR = frozenset(("Ctrl", "Alt"))
SHIFT = frozenset(("Shift",))
NONE: frozenset[str] = frozenset()


class Key(NamedTuple):
    """Key press. name: the character, a letter as capital; or Space, Esc, Enter, Left, F12 ...

    modifiers: those of Ctrl, Alt, Super, Shift that were held, without those that made the character. place: character
    of this key on a US keyboard, if no key of the user's layout makes that character without Shift; else "".
    """

    name: str
    acted_ns: int
    modifiers: frozenset[str] = frozenset()
    place: str = ""


class KeyAction(NamedTuple):
    """A key of the keyboard pressed, released, or repeated while held, independent of its meaning.

    code: GLFW's, of the key's place. action: "press", "release" or "repeat". mods: GLFW's bits.
    """

    code: int
    action: str
    mods: int
    acted_ns: int


class MouseMove(NamedTuple):
    """Pointer moved to this position."""

    x_px: float
    y_px: float
    acted_ns: int


class PointerLeft(NamedTuple):
    """Pointer left the window; its position is not known until the next `MouseMove`."""

    acted_ns: int


class MouseButton(NamedTuple):
    """Mouse button pressed, or released."""

    button: str  # "left", "right" or "middle"
    pressed: bool
    acted_ns: int
    modifiers: frozenset[str] = frozenset()


class Scroll(NamedTuple):
    """Wheel or touchpad scrolled, in the window library's steps."""

    dx: float
    dy: float
    acted_ns: int


Event = Key | KeyAction | MouseMove | PointerLeft | MouseButton | Scroll


class Keyboard:
    """Keys of one window.

    layout: returns the characters that the user's layout makes without Shift. Called when a key without modifiers is
    pressed whose character differs from that of a US keyboard, because layouts change while a window is open.
    """

    def __init__(self, layout: Callable[[], Iterable[str]]) -> None:
        self._layout = layout
        self._pressed: Key | None = None  # its character may still come

    def press(self, character: str, place: str, modifiers: frozenset[str], acted_ns: int) -> Key:
        """Press of a key that makes characters. character: the unshifted one in the user's layout, "" for none. place:
        the one that a US keyboard has there, "" for none. acted_ns: perf_counter_ns."""
        name = character.upper()
        is_plain = not modifiers and place.upper() != name
        lacks = is_plain and place.upper() not in {made.upper() for made in self._layout()}
        self._pressed = Key(name, acted_ns, modifiers - SHIFT, place.upper() if lacks else "")
        return self._pressed

    def press_named(self, name: str, modifiers: frozenset[str], acted_ns: int) -> Key:
        """Press of a key that is the same in all layouts, such as F12."""
        self._pressed = None
        return Key(name, acted_ns, modifiers)

    def typed(self, character: str) -> tuple[Key | None, Key] | None:
        """Records the character typed by the last press. Returns that press as it was reported (None if it had no
        name) and as it is correct; None if nothing changes.
        """
        before, self._pressed = self._pressed, None
        if before is None or character.upper() == before.name or not character.strip():
            return None
        modifiers = NONE if before.modifiers == ALT_GR else before.modifiers
        return (before if before.name else None), Key(character.upper(), before.acted_ns, modifiers)
