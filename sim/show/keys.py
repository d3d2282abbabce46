"""Keys that a user's loop asks for by name.

Always: no call blocks. A key that is held in a viewer counts as released when this viewer's window loses the keyboard,
and when the viewer ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from twixt.ipc.interaction.keyboard import names_of

if TYPE_CHECKING:
    from twixt.ipc.session.host import Host


class _AskedKey:
    """A key that the program has asked for. names: its name, or the names of the keys on both sides. held_presses,
    pressed_presses: number of presses at the last call of `held` and of `pressed`."""

    def __init__(self, names: tuple[str, ...], presses: int) -> None:
        self.names, self.held_presses, self.pressed_presses = names, presses, presses


class Keys:
    """State of the keyboard, for your own loop. `View.keys` is such an object.

    A key is named by its character, such as "a", "1" or "[", or by a word: "left", "right", "up", "down", "space",
    "enter", "escape", "tab", "backspace", "insert", "delete", "home", "end", "page_up", "page_down", "caps_lock",
    "num_lock", "scroll_lock", "print_screen", "pause", "menu", "f1" to "f25", "left_shift", "right_shift",
    "left_ctrl", "right_ctrl", "left_alt", "right_alt", "left_super", "right_super", "keypad_0" to "keypad_9",
    "keypad_decimal", "keypad_divide", "keypad_multiply", "keypad_subtract", "keypad_add", "keypad_enter" and
    "keypad_equal". The names "shift", "ctrl", "alt" and "super" mean the key on either side. Characters are those that
    the key types without Shift in the user's keyboard layout; see `UserEvent.key_name`.

    A key that the program has asked for belongs to the program. The viewer then does not act on it, even if it is one
    of the viewer's own keys, such as Space, R or Esc. This takes effect at most 0.2 s after the first call with this
    name. `View.events` still yields the events of these keys.

    Examples:
        ```python
        import twixt

        x = 0.0
        with twixt.show(twixt.Scene([twixt.Sphere()]), dt=1 / 60) as view:
            for t in view.real_time():
                if view.keys.held("left"):
                    x -= 0.05
                if view.keys.pressed("space"):
                    x = 0.0
                view.publish(position=(x, 0, 1))
        ```
    """

    def __init__(self, host: Host, set_fields: Callable[..., None]) -> None:
        self._host = host
        self._set_fields = set_fields  # sets fields of the status that viewers receive
        self._asked: dict[str, _AskedKey] = {}

    def held(self, key: str) -> bool:
        """True while the key is down in any viewer.

        Args:
            key: Name of the key.

        Returns:
            True while the key is down. If it was pressed and released again since the last call with this name, the
            result is True once.

        Raises:
            TwixtError: No key has this name.
        """
        asked = self._asked_for(key)
        presses = self._presses(asked.names)
        was_pressed, asked.held_presses = presses > asked.held_presses, presses
        return was_pressed or not self._host.actions.keys.down.isdisjoint(asked.names)

    def pressed(self, key: str) -> bool:
        """True if the key was pressed at least one time since the last call with this name.

        The repeats of a held key do not count as presses.

        Args:
            key: Name of the key.

        Returns:
            True if it was pressed, even if it is up again. The first call with a name returns False.

        Raises:
            TwixtError: No key has this name.
        """
        asked = self._asked_for(key)
        presses = self._presses(asked.names)
        was_pressed, asked.pressed_presses = presses > asked.pressed_presses, presses
        return was_pressed

    def _asked_for(self, key: str) -> _AskedKey:
        try:
            return self._asked[key]
        except (KeyError, TypeError):  # an unhashable `key` raises TypeError
            names = names_of(key)
        asked = self._asked[key] = _AskedKey(names, self._presses(names))
        own_keys = {name for each in self._asked.values() for name in each.names}
        self._set_fields(listens=True, own_keys=sorted(own_keys))
        return asked

    def _presses(self, names: tuple[str, ...]) -> int:
        presses = self._host.actions.keys.presses
        return sum([presses.get(name, 0) for name in names])
