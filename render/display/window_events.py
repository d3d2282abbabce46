"""Reads from GLFW the events of a window, and the changes of the display that shows the window.

Each check compares the display's properties with the properties at the last check, and reports each change once, in
words. On X11 the window's monitor is the monitor that contains the window's centre. On Wayland a window does not know
its position. The compositor names the monitor when it reports that a frame was shown. If the compositor names no
monitor, the monitor is known only if there is a single one.

Always: an unknown value (None or 0) is not a change. A check takes microseconds, because on X11 the server is asked
only when monitors are added or removed. On X11, a new mode of the same monitor is not reported, because GLFW does not
report it. Then the pacer measures the new refresh. `Changes` is pure.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from twixt.ipc.interaction.events import KEY_ACTIONS
from twixt.render.display import glfw_library
from twixt.render.display.input import Event, KeyAction, Keyboard, MouseButton, MouseMove, PointerLeft, Scroll, name_of

glfw_library.choose()
import glfw  # noqa: E402  (after its library is chosen)

# Least time in ns that counts as a sleep of the machine. One system clock counts the time in which the machine sleeps,
# and another clock does not. If the difference between these clocks grew by more than this time, the machine slept.
SLEPT_NS = 100_000_000
# Interval, in ns, at which the modes of monitors are read on Wayland. On Wayland, the client knows the modes without a
# request to the compositor.
MODES_EVERY_NS = 500_000_000


class Signs(NamedTuple):
    """Properties of the display at one check. monitor: id of the monitor that shows the window, or 0 if it is unknown.
    mode: width and height of this monitor in pixels, and its reported refresh rate in Hz. monitors: number of
    monitors. asleep_ns: difference in ns between the clock that counts the machine's sleep and the clock that does
    not, or None if it is unknown."""

    monitor: int = 0
    mode: tuple[int, ...] = ()
    monitors: int = 0
    asleep_ns: int | None = None


class Changes:
    """Compares the properties of one display with its properties at the last check."""

    def __init__(self) -> None:
        self._last = Signs()

    def look(self, signs: Signs) -> list[str]:
        """Returns the changes since the last check, in words. signs: properties of the display now."""
        last, changes = self._last, []
        self._last = Signs(
            signs.monitor or last.monitor, signs.mode or last.mode, signs.monitors or last.monitors, signs.asleep_ns
        )
        if last.monitor and signs.monitor and signs.monitor != last.monitor:
            changes.append("the window is on another monitor")
        elif last.mode and signs.mode and signs.mode != last.mode:
            changes.append(f"the monitor's mode changed to {_words(signs.mode)}")
        if last.monitors and signs.monitors and signs.monitors != last.monitors:
            changes.append(f"the number of monitors changed to {signs.monitors}")
        if last.asleep_ns is not None and signs.asleep_ns is not None:
            slept_ns = signs.asleep_ns - last.asleep_ns
            if slept_ns > SLEPT_NS:
                changes.append(f"the machine slept for {slept_ns / 1e9:.1f} s")
        return changes


def _words(mode: tuple[int, ...]) -> str:
    width, height, hz = mode
    return f"{width}x{height}, {hz} Hz"


class Monitor(NamedTuple):
    """A monitor. name: its id. x, y: position of its top left corner. mode: its width and height in pixels, and its
    reported refresh rate in Hz."""

    name: int
    x: int
    y: int
    mode: tuple[int, int, int]

    def holds(self, x: int, y: int) -> bool:
        return self.x <= x < self.x + self.mode[0] and self.y <= y < self.y + self.mode[1]


class WindowPlace:
    """The monitor that shows one window, and changes of this monitor. Make this object after the first frame is on the
    screen, because a request to the server for the monitors takes time."""

    def __init__(self, handle: Any, is_wayland: bool) -> None:
        self._is_wayland = is_wayland
        self._changes = Changes()
        self._middle = 0, 0
        self._looked_ns = 0
        self._monitors = _monitors(is_wayland)
        self._are_stale = False
        glfw.set_monitor_callback(self._on_monitor)
        if not is_wayland:
            self._on_position(handle, *glfw.get_window_pos(handle))
            glfw.set_window_pos_callback(handle, self._on_position)
        self.look(0)

    def look(self, output: int) -> list[str]:
        """Returns the changes since the last check, in words. output: id of the monitor that the compositor names, or
        0 if it names none."""
        now_ns = time.perf_counter_ns()
        if self._are_stale or (self._is_wayland and now_ns - self._looked_ns > MODES_EVERY_NS):
            self._are_stale, self._looked_ns = False, now_ns
            self._monitors = _monitors(self._is_wayland)
        monitor = self._monitor(output)
        name, mode = (monitor.name, monitor.mode) if monitor else (output, ())
        return self._changes.look(Signs(name, mode, len(self._monitors), _asleep_ns(now_ns)))

    def _monitor(self, output: int) -> Monitor | None:
        if self._is_wayland:
            named = [monitor for monitor in self._monitors if monitor.name == output]
            return named[0] if named else None if output else self._only()
        return next((monitor for monitor in self._monitors if monitor.holds(*self._middle)), None)

    def _only(self) -> Monitor | None:
        return self._monitors[0] if len(self._monitors) == 1 else None

    def _on_position(self, window: Any, x: int, y: int) -> None:
        width, height = glfw.get_window_size(window)
        self._middle = x + width // 2, y + height // 2

    def _on_monitor(self, _monitor: Any, _event: int) -> None:
        self._are_stale = True


def _monitors(is_wayland: bool) -> list[Monitor]:
    found = []
    for monitor in glfw.get_monitors() or []:
        mode = glfw.get_video_mode(monitor)
        if mode is not None:
            name = glfw.get_wayland_monitor(monitor) if is_wayland else monitor
            number = ctypes.cast(name, ctypes.c_void_p).value or 0
            size = mode.size.width, mode.size.height
            found.append(Monitor(number, *glfw.get_monitor_pos(monitor), (*size, mode.refresh_rate)))
    return found


def _asleep_ns(now_ns: int) -> int | None:
    """Difference in ns between the clock that counts the machine's sleep and the clock that does not."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)  # Linux
    return None if boot is None else time.clock_gettime_ns(boot) - now_ns


# Receives the input events and the state of one window, from glfw's callbacks.
#
# Always: events are in the order in which the user acted. Each event has the instant at which GLFW reported it. This
# code opens and closes no window.


glfw_library.choose()

_NAMED_KEYS = {
    glfw.KEY_SPACE: "Space", glfw.KEY_ESCAPE: "Esc", glfw.KEY_ENTER: "Enter", glfw.KEY_TAB: "Tab",
    glfw.KEY_LEFT: "Left", glfw.KEY_RIGHT: "Right", glfw.KEY_UP: "Up", glfw.KEY_DOWN: "Down",
} | {glfw.KEY_F1 + i: f"F{i + 1}" for i in range(12)}  # fmt: skip
# Character of each key on a US keyboard, by GLFW's key number. A key number stands for a position on the keyboard,
# which does not depend on the layout.
_PLACES = {number: chr(number) for number in (*b"',-./;=[\\]`", *range(ord("0"), ord("9") + 1), *range(65, 91))}
_LAYOUT = (*_PLACES, glfw.KEY_WORLD_1, glfw.KEY_WORLD_2)
_MODIFIERS = {glfw.MOD_CONTROL: "Ctrl", glfw.MOD_ALT: "Alt", glfw.MOD_SUPER: "Super", glfw.MOD_SHIFT: "Shift"}
_BUTTONS = {glfw.MOUSE_BUTTON_LEFT: "left", glfw.MOUSE_BUTTON_RIGHT: "right", glfw.MOUSE_BUTTON_MIDDLE: "middle"}


class WindowInput:
    """Keys, mouse and wheel of one window. Positions are in framebuffer pixels. width_px: function that returns the
    framebuffer's width."""

    def __init__(self, handle: Any, width_px: Callable[[], int]) -> None:
        self._events: list[Event] = []
        self._names: dict[int, str] = {}  # names of the keys that were pressed and type a character, by GLFW's number
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
        """Returns the events since the last call."""
        events, self._events = self._events, []
        return events

    def _on_key(self, _window: Any, number: int, _scancode: int, action: int, held: int) -> None:
        acted_ns, modifiers = time.perf_counter_ns(), _modifiers(held)
        is_press, character, place = action == glfw.PRESS, "", _PLACES.get(number, "")
        if is_press and number not in _NAMED_KEYS and number != glfw.KEY_UNKNOWN:
            character = glfw.get_key_name(number, 0) or ""
        if is_press and number in _LAYOUT:
            self._names[number] = name_of(character, place)
        if number != glfw.KEY_UNKNOWN:
            # A release has the name of its press, even if the layout has changed meanwhile.
            name = self._names.get(number, "")
            self._events.append(KeyAction(number, KEY_ACTIONS[action], held, acted_ns, name))
        if not is_press:
            return
        if number in _NAMED_KEYS:
            key = self._keyboard.press_named(_NAMED_KEYS[number], modifiers, acted_ns)
        else:
            key = self._keyboard.press(character, place, modifiers, acted_ns)
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
    """Size, scale and visibility of one window, as last reported. is_damaged: True if the window must be drawn
    again."""

    def __init__(self, handle: Any) -> None:
        # The size is read here only one time. On X11, each read is a round trip to the server, and takes several times
        # as long as a frame's own work.
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
