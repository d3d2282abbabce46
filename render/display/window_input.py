"""What the user does with one window, as events.

Always: in the order in which it was done, each stamped when GLFW tells of it. Opens and closes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from twixt.render.display import glfw_library
from twixt.render.display.keyboard import Keyboard
from twixt.render.input import Event, MouseButton, MouseMove, PointerLeft, Scroll

glfw_library.choose()
import glfw  # noqa: E402  (after its library is chosen)

_NAMED_KEYS = {
    glfw.KEY_SPACE: "Space", glfw.KEY_ESCAPE: "Esc", glfw.KEY_ENTER: "Enter", glfw.KEY_TAB: "Tab",
    glfw.KEY_LEFT: "Left", glfw.KEY_RIGHT: "Right", glfw.KEY_UP: "Up", glfw.KEY_DOWN: "Down",
} | {glfw.KEY_F1 + i: f"F{i + 1}" for i in range(12)}  # fmt: skip
# The character that each key has on a US keyboard, by glfw's numbers; they count places, whatever the layout.
_PLACES = {number: chr(number) for number in (*b"',-./;=[\\]`", *range(ord("0"), ord("9") + 1), *range(65, 91))}
_LAYOUT = (*_PLACES, glfw.KEY_WORLD_1, glfw.KEY_WORLD_2)
_MODIFIERS = {glfw.MOD_CONTROL: "Ctrl", glfw.MOD_ALT: "Alt", glfw.MOD_SUPER: "Super", glfw.MOD_SHIFT: "Shift"}
_BUTTONS = {glfw.MOUSE_BUTTON_LEFT: "left", glfw.MOUSE_BUTTON_RIGHT: "right", glfw.MOUSE_BUTTON_MIDDLE: "middle"}


class WindowInput:
    """width_px: how many pixels a picture of the window is wide; positions are told in those."""

    def __init__(self, handle: Any, width_px: Callable[[], int]) -> None:
        self._events: list[Event] = []
        self._keyboard = Keyboard(lambda: filter(None, (glfw.get_key_name(number, 0) for number in _LAYOUT)))
        self._width_px = width_px
        self._width_units = glfw.get_window_size(handle)[0]
        glfw.set_window_size_callback(handle, self._on_size)
        glfw.set_key_callback(handle, self._on_key)
        glfw.set_char_callback(handle, self._on_character)
        glfw.set_cursor_pos_callback(handle, self._on_move)
        glfw.set_cursor_enter_callback(handle, self._on_enter)
        glfw.set_mouse_button_callback(handle, self._on_button)
        glfw.set_scroll_callback(handle, self._on_scroll)

    def take(self) -> list[Event]:
        """What was done since the last call."""
        events, self._events = self._events, []
        return events

    def _on_key(self, _window: Any, number: int, _scancode: int, action: int, held: int) -> None:
        if action != glfw.PRESS:
            return
        acted_ns, modifiers = time.perf_counter_ns(), frozenset(_MODIFIERS[bit] for bit in _MODIFIERS if held & bit)
        if number in _NAMED_KEYS:
            key = self._keyboard.press_named(_NAMED_KEYS[number], modifiers, acted_ns)
        else:
            character = "" if number == glfw.KEY_UNKNOWN else glfw.get_key_name(number, 0) or ""
            key = self._keyboard.press(character, _PLACES.get(number, ""), modifiers, acted_ns)
        if key.name or key.place:
            self._events.append(key)

    def _on_character(self, _window: Any, codepoint: int) -> None:
        typed = self._keyboard.typed(chr(codepoint))
        if typed is None:
            return
        before, key = typed
        if before in self._events:
            self._events.remove(before)
        self._events.append(key)

    def _on_move(self, _window: Any, x: float, y: float) -> None:
        scale = self._width_px() / max(1, self._width_units)
        self._events.append(MouseMove(x * scale, y * scale, time.perf_counter_ns()))

    def _on_enter(self, _window: Any, entered: int) -> None:
        if not entered:
            self._events.append(PointerLeft(time.perf_counter_ns()))

    def _on_button(self, _window: Any, button: int, action: int, _mods: int) -> None:
        if button in _BUTTONS:
            self._events.append(MouseButton(_BUTTONS[button], action == glfw.PRESS, time.perf_counter_ns()))

    def _on_scroll(self, _window: Any, dx: float, dy: float) -> None:
        self._events.append(Scroll(dx, dy, time.perf_counter_ns()))

    def _on_size(self, _window: Any, width: int, _height: int) -> None:
        self._width_units = width
