"""What the user did to the window, as plain values.

Each carries the instant at which it was taken from the display server (`acted_ns`, perf_counter_ns), so
that the frame which first shows its effect can be timed. Positions are framebuffer pixels from the top left.
"""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """A key went down: a letter in capitals, the character itself, or Space, Esc, Enter, Left, F12 ...

    modifiers: any of Ctrl, Alt, Super, Shift that were held, but for those that made the character. place: the
    character of that place on a US keyboard, where the user's own layout makes that one with no key.
    """

    name: str
    acted_ns: int
    modifiers: frozenset[str] = frozenset()
    place: str = ""


class MouseMove(NamedTuple):
    x_px: float
    y_px: float
    acted_ns: int


class PointerLeft(NamedTuple):
    """The pointer is over the window no more, and moves unseen until the next `MouseMove`."""

    acted_ns: int


class MouseButton(NamedTuple):
    button: str  # "left", "right" or "middle"
    pressed: bool
    acted_ns: int


class Scroll(NamedTuple):
    dx: float
    dy: float
    acted_ns: int


Event = Key | MouseMove | PointerLeft | MouseButton | Scroll
