"""Input events and state of one window, from glfw's callbacks.

Always: events are in the order in which the user acted; each is stamped when GLFW reports it. Opens and closes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from twixt.ipc.interaction.events import KEY_ACTIONS
from twixt.render.display import glfw_library
from twixt.render.display.input import Event, KeyAction, Keyboard, MouseButton, MouseMove, PointerLeft, Scroll

glfw_library.choose()
import glfw  # noqa: E402  (after its library is chosen)

_NAMED_KEYS = {
    glfw.KEY_SPACE: "Space", glfw.KEY_ESCAPE: "Esc", glfw.KEY_ENTER: "Enter", glfw.KEY_TAB: "Tab",
    glfw.KEY_LEFT: "Left", glfw.KEY_RIGHT: "Right", glfw.KEY_UP: "Up", glfw.KEY_DOWN: "Down",
} | {glfw.KEY_F1 + i: f"F{i + 1}" for i in range(12)}  # fmt: skip
# Character of each key on a US keyboard, by GLFW's key number. Key numbers are places, independent of the layout.
_PLACES = {number: chr(number) for number in (*b"',-./;=[\\]`", *range(ord("0"), ord("9") + 1), *range(65, 91))}
_LAYOUT = (*_PLACES, glfw.KEY_WORLD_1, glfw.KEY_WORLD_2)
_MODIFIERS = {glfw.MOD_CONTROL: "Ctrl", glfw.MOD_ALT: "Alt", glfw.MOD_SUPER: "Super", glfw.MOD_SHIFT: "Shift"}
_BUTTONS = {glfw.MOUSE_BUTTON_LEFT: "left", glfw.MOUSE_BUTTON_RIGHT: "right", glfw.MOUSE_BUTTON_MIDDLE: "middle"}


class WindowInput:
    """Keys, mouse and wheel of one window. width_px: returns the framebuffer's width; positions are in its pixels."""

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

    def drain(self) -> list[Event]:
        """Events since the last call."""
        events, self._events = self._events, []
        return events

    def _on_key(self, _window: Any, number: int, _scancode: int, action: int, held: int) -> None:
        acted_ns, modifiers = time.perf_counter_ns(), _modifiers(held)
        if number != glfw.KEY_UNKNOWN:
            self._events.append(KeyAction(number, KEY_ACTIONS[action], held, acted_ns))
        if action != glfw.PRESS:
            return
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

    def _on_button(self, _window: Any, button: int, action: int, held: int) -> None:
        if button in _BUTTONS:
            is_pressed, now_ns = action == glfw.PRESS, time.perf_counter_ns()
            self._events.append(MouseButton(_BUTTONS[button], is_pressed, now_ns, _modifiers(held)))

    def _on_scroll(self, _window: Any, dx: float, dy: float) -> None:
        self._events.append(Scroll(dx, dy, time.perf_counter_ns()))

    def _on_size(self, _window: Any, width: int, _height: int) -> None:
        self._width_units = width


def _modifiers(held: int) -> frozenset[str]:
    return frozenset(name for bit, name in _MODIFIERS.items() if held & bit)


class WindowState:
    """Size, scale and visibility of one window, as last reported. is_damaged: the window must be drawn again."""

    def __init__(self, handle: Any) -> None:
        # Read once: on X11 each read is a round trip to the server, which takes several times a frame's own time.
        self.size_px = glfw.get_framebuffer_size(handle)
        self.is_iconified = bool(glfw.get_window_attrib(handle, glfw.ICONIFIED))
        self.content_scale = float(glfw.get_window_content_scale(handle)[0])
        self.resizes = 0
        self.is_damaged = False
        glfw.set_framebuffer_size_callback(handle, self._on_framebuffer_size)
        glfw.set_window_iconify_callback(handle, self._on_iconify)
        glfw.set_window_content_scale_callback(handle, self._on_content_scale)
        glfw.set_window_refresh_callback(handle, self._on_refresh)

    def _on_framebuffer_size(self, _window: Any, width_px: int, height_px: int) -> None:
        self.size_px = width_px, height_px
        self.resizes += 1
        self.is_damaged = True

    def _on_iconify(self, _window: Any, iconified: int) -> None:
        self.is_iconified = bool(iconified)
        self.is_damaged = True

    def _on_content_scale(self, _window: Any, scale: float, _scale_y: float) -> None:
        self.content_scale = float(scale)

    def _on_refresh(self, _window: Any) -> None:
        self.is_damaged = True
