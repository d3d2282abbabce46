"""Names of keys, and the state of the keys of all viewers: which are down, and how often each was pressed.

A key has the name of its character, such as "a", "1" or "[", or a word, such as "left" or "f1". "shift", "ctrl", "alt"
and "super" stand for the keys on both sides of the keyboard.

Always: the keys of a viewer that has disconnected are up. One thread changes the state. Other threads may read it at
any time.
"""

from __future__ import annotations

from typing import Any

from twixt.ipc.errors import InvalidValue, text_of
from twixt.ipc.process.user_code import suggestion_for

_WORDS = {
    32: "space", 161: "world_1", 162: "world_2", 256: "escape", 257: "enter", 258: "tab", 259: "backspace",
    260: "insert", 261: "delete", 262: "right", 263: "left", 264: "down", 265: "up", 266: "page_up", 267: "page_down",
    268: "home", 269: "end", 280: "caps_lock", 281: "scroll_lock", 282: "num_lock", 283: "print_screen", 284: "pause",
    330: "keypad_decimal", 331: "keypad_divide", 332: "keypad_multiply", 333: "keypad_subtract", 334: "keypad_add",
    335: "keypad_enter", 336: "keypad_equal", 340: "left_shift", 341: "left_ctrl", 342: "left_alt", 343: "left_super",
    344: "right_shift", 345: "right_ctrl", 346: "right_alt", 347: "right_super", 348: "menu",
}  # fmt: skip
# Names of keys that are characters: the characters of a US keyboard, without Shift.
CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789',-./;=[\\]`")
# Name of each key on a US keyboard, by GLFW's code. A code stands for a place on the keyboard.
KEY_NAMES: dict[int, str] = {
    **{ord(character.upper()): character for character in sorted(CHARACTERS)},
    **_WORDS,
    **{290 + i: f"f{i + 1}" for i in range(25)},
    **{320 + i: f"keypad_{i}" for i in range(10)},
}
# Names that stand for two keys.
BOTH_SIDES = {name: (f"left_{name}", f"right_{name}") for name in ("shift", "ctrl", "alt", "super")}
_ALL_NAMES = frozenset((*KEY_NAMES.values(), *BOTH_SIDES))
# Other programs' words for keys, for the hint of the error.
_OTHER_WORDS = {" ": "space", "return": "enter", "control": "ctrl", "del": "delete", "pgup": "page_up"}


def names_of(key: Any) -> tuple[str, ...]:
    """Returns the names of the keys that `key` stands for: itself, or the keys on both sides. Raises TwixtError for
    anything but the name of a key."""
    if not (isinstance(key, str) and key in _ALL_NAMES):
        hint = ""
        if isinstance(key, str):
            word = key.lower()
            known = _OTHER_WORDS.get(word, word)
            hint = f'did you mean "{known}"?' if known in _ALL_NAMES else suggestion_for(word, sorted(_ALL_NAMES))
        raise InvalidValue(
            f'a key must be named by its character, such as "a", "1" or "[", or by a word, such as "left", '
            f'"space", "f1" or "shift", got {text_of(key)}{hint and "; "}{hint}'
        )
    return BOTH_SIDES.get(key, (key,))


class KeyStates:
    """State of the keys of all viewers. down: names of the keys that are down; replaced as a whole. presses: number of
    presses of each key, by name; a key that was never pressed has no entry."""

    def __init__(self) -> None:
        self.down: frozenset[str] = frozenset()
        self.presses: dict[str, int] = {}
        self._names_of_viewer: dict[object, dict[int, str]] = {}

    def press(self, viewer: object, code: int, name: str) -> None:
        """Records that a viewer's user has pressed a key. code: GLFW's code of the key's place."""
        # The count comes first: a reader that sees the key down has then already counted this press.
        self.presses[name] = self.presses.get(name, 0) + 1
        self._names_of_viewer.setdefault(viewer, {})[code] = name
        self._collect()

    def release(self, viewer: object, code: int) -> None:
        """Records that a viewer's user has released a key. Has no effect if the key is up."""
        if self._names_of_viewer.get(viewer, {}).pop(code, None) is not None:
            self._collect()

    def release_all(self, viewer: object) -> dict[int, str]:
        """Releases all keys of a viewer. Returns the names of the keys that were down, by code."""
        names = self._names_of_viewer.pop(viewer, {})
        self._collect()
        return names

    def _collect(self) -> None:
        self.down = frozenset(name for names in self._names_of_viewer.values() for name in names.values())
