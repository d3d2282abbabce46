"""Where on the display a window is, watched for changes: monitor, mode, a machine that slept.

On X11 the monitor is the one that holds the window's middle. On Wayland a window does not know where it is: the
monitor is the one that the compositor names when it tells of a present, and without that the first.

Always: a look costs microseconds; the server is asked only where monitors come and go.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any, NamedTuple

from twixt.render.display import glfw_library
from twixt.render.display.changes import Changes, Signs

glfw_library.choose()
import glfw  # noqa: E402  (after its library is chosen)

# On Wayland modes are known here and looked at so often; a change is no matter of frames.
MODES_EVERY_NS = 500_000_000


class Monitor(NamedTuple):
    name: int
    x: int
    y: int
    mode: tuple[int, int, int]

    def holds(self, x: int, y: int) -> bool:
        return self.x <= x < self.x + self.mode[0] and self.y <= y < self.y + self.mode[1]


class WindowPlace:
    """Of one window. Set up when its first frame is on the screen: asking for monitors takes the server's time."""

    def __init__(self, handle: Any, is_wayland: bool) -> None:
        self._is_wayland = is_wayland
        self._changes = Changes()
        self._middle, self._size_units = (0, 0), glfw.get_window_size(handle)
        self._looked_ns = 0
        self._monitors = _monitors(is_wayland)
        self._are_stale = False
        glfw.set_monitor_callback(self._on_monitor)
        if not is_wayland:
            self._on_position(handle, *glfw.get_window_pos(handle))
            glfw.set_window_pos_callback(handle, self._on_position)
        self.look(0)

    def look(self, output: int) -> list[str]:
        """What changed since the last look. output: the monitor that the compositor names, 0: none."""
        now_ns = time.perf_counter_ns()
        if self._are_stale or (self._is_wayland and now_ns - self._looked_ns > MODES_EVERY_NS):
            self._are_stale, self._looked_ns = False, now_ns
            self._monitors = _monitors(self._is_wayland)
        monitor = self._monitor(output)
        return self._changes.look(Signs(
            monitor.name if monitor else output, monitor.mode if monitor else (), len(self._monitors), _asleep_ns(now_ns)
        ))  # fmt: skip

    def _monitor(self, output: int) -> Monitor | None:
        if self._is_wayland:
            named = [monitor for monitor in self._monitors if monitor.name == output]
            return named[0] if named else None if output else self._only()
        return next((monitor for monitor in self._monitors if monitor.holds(*self._middle)), None)

    def _only(self) -> Monitor | None:
        return self._monitors[0] if len(self._monitors) == 1 else None

    def _on_position(self, _window: Any, x: int, y: int) -> None:
        width, height = self._size_units
        self._middle = x + width // 2, y + height // 2

    def _on_monitor(self, _monitor: Any, _event: int) -> None:
        self._are_stale = True


def _monitors(is_wayland: bool) -> list[Monitor]:
    found = []
    for monitor in glfw.get_monitors() or []:
        mode = glfw.get_video_mode(monitor)
        if mode is not None:
            name = glfw.get_wayland_monitor(monitor) if is_wayland else monitor
            found.append(Monitor(
                ctypes.cast(name, ctypes.c_void_p).value or 0, *glfw.get_monitor_pos(monitor), (mode.size.width, mode.size.height, mode.refresh_rate)
            ))  # fmt: skip
    return found


def _asleep_ns(now_ns: int) -> int | None:
    """By how much the clock that counts the machine's sleep is ahead of the one that does not."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)  # Linux
    return None if boot is None else time.clock_gettime_ns(boot) - now_ns
