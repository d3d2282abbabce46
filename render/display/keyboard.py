"""Which key was meant: the character that the user's layout makes, and where that layout lacks one, the place of the
key.

The one idea: a display tells of a key press in two pieces, the key with its unshifted character, then the character
that came of it with Shift or AltGr. The first is enough to act on; the second puts it right where it differs.

Always: one press is one key. Modifiers that went into making a character (Shift, AltGr) are no modifiers of the key
any more. Pure: characters and modifiers in, keys out; knows no window library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from twixt.render.input import Key

# What AltGr looks like where the display has no name for it.
ALT_GR = frozenset(("Ctrl", "Alt"))
SHIFT = frozenset(("Shift",))
NONE: frozenset[str] = frozenset()


class Keyboard:
    """The keys of one window.

    layout: the characters that the user's layout makes without Shift, asked when a key is pressed that makes none of
    ASCII's letters and signs; layouts change while a window is open.
    """

    def __init__(self, layout: Callable[[], Iterable[str]]) -> None:
        self._layout = layout
        self._pressed: Key | None = None  # whose character may still come

    def press(self, character: str, place: str, modifiers: frozenset[str], acted_ns: int) -> Key:
        """A key that makes characters. character: unshifted, by the user's layout, "" where it makes none; place: what
        a US keyboard has there, "" where it has none."""
        name = character.upper()
        is_plain = not modifiers and place.upper() != name
        lacks = is_plain and place.upper() not in {made.upper() for made in self._layout()}
        self._pressed = Key(name, acted_ns, modifiers - SHIFT, place.upper() if lacks else "")
        return self._pressed

    def press_named(self, name: str, modifiers: frozenset[str], acted_ns: int) -> Key:
        """A key that is the same on all keyboards, such as F12."""
        self._pressed = None
        return Key(name, acted_ns, modifiers)

    def typed(self, character: str) -> tuple[Key | None, Key] | None:
        """The character that came of the last press: that press as it was told, and as it is; None where nothing
        changes.

        A press without a name was told to nobody: None in its place.
        """
        before, self._pressed = self._pressed, None
        if before is None or character.upper() == before.name or not character.strip():
            return None
        modifiers = NONE if before.modifiers == ALT_GR else before.modifiers
        return (before if before.name else None), Key(character.upper(), before.acted_ns, modifiers)
