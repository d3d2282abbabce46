"""Opens a window with an OpenGL 3.3 core context on a real display, swaps its buffers, and reads its input.

Always: `swap` returns even if the window is hidden. In that case nothing is shown, and `is_hidden` is True until the
display requests frames again. Errors of the display become `TwixtError`. This module does not decide when to draw. The
pacer decides this.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from twixt.ipc.errors import TwixtError
from twixt.render.display import glfw_library
from twixt.render.display.input import Event
from twixt.render.display.present_times import Presentation, Presented, PresentTimes
from twixt.render.display.wayland import FrameCallback
from twixt.render.draw.frame import context
from twixt.render.pacing.refresh import FenceTrial

glfw_library.choose()
import glfw  # noqa: E402  (after its library is chosen)
from glfw import library  # noqa: E402

from twixt.ipc.process.notices import print_notice  # noqa: E402
from twixt.render.display.window_events import WindowInput, WindowState  # noqa: E402

if TYPE_CHECKING:
    from twixt.render.display.wayland import AwaitCall
    from twixt.render.display.window_events import WindowPlace

OFFSCREEN_HINT = "draw without a window: --offscreen"


class DisplayGone(TwixtError):
    """The display server has ended, or has closed the connection of this window."""

    def __init__(self, backend: str) -> None:
        super().__init__(f"the display ({backend}) closed the connection; start again on a running display")


class Window:
    """Window whose OpenGL context is current on this thread. Call `close` exactly once. Raises TwixtError if there is
    no display or no OpenGL 3.3.

    size_px: width and height in text units. On a display with twice the usual number of pixels per length, a text unit
    has two pixels.

    refresh_reported_hz: refresh rate in Hz that the display reports, or None. This rate is read only one time, because
    GLFW crashes if it asks a server that has ended. The rate is not trusted. `refresh` measures the real rate.

    at_gone: function that is called when an X server ends, within the display call that detects the end. It reports
    the end and returns an exit code. Then the process ends with this code (see `glfw_library`). On Wayland, `at_gone`
    is not called. There, `poll` raises DisplayGone instead.
    """

    def __init__(self, size_px: tuple[int, int], title: str, vsync: bool = True, visible: bool = True) -> None:
        self._errors: list[str] = []
        self._frame_callback: FrameCallback | None = None
        self._vsync = vsync
        self._gone = False
        self._x11_window = 0  # id of the window, or 0 without X11
        self._place: WindowPlace | None = None
        self.at_gone: Callable[[TwixtError], int] = _say
        context.prepare_driver()
        glfw.set_error_callback(lambda _code, text: self._errors.append(_text(text)))
        if not _is_initialized():
            raise TwixtError(f"no display to open a window on ({self._error()}); {OFFSCREEN_HINT}")
        try:
            self._open(size_px, title, visible)
        except BaseException:
            glfw.terminate()
            raise

    def _open(self, size_px: tuple[int, int], title: str, visible: bool) -> None:
        glfw.window_hint(glfw.CONTEXT_VERSION_MAJOR, 3)
        glfw.window_hint(glfw.CONTEXT_VERSION_MINOR, 3)
        glfw.window_hint(glfw.OPENGL_PROFILE, glfw.OPENGL_CORE_PROFILE)
        glfw.window_hint(glfw.OPENGL_FORWARD_COMPAT, True)
        glfw.window_hint(glfw.DEPTH_BITS, 24)
        glfw.window_hint(glfw.VISIBLE, visible)
        glfw.window_hint(glfw.SCALE_TO_MONITOR, True)
        glfw.window_hint_string(glfw.X11_CLASS_NAME, "twixt")
        glfw.window_hint_string(glfw.WAYLAND_APP_ID, "twixt")
        self.backend = {glfw.PLATFORM_X11: "x11", glfw.PLATFORM_WAYLAND: "wayland", glfw.PLATFORM_WIN32: "win32",
                        glfw.PLATFORM_COCOA: "cocoa"}.get(glfw.get_platform(), "unknown")  # fmt: skip
        if self.backend == "x11":
            glfw_library.end_with_the_server(lambda: self.at_gone(DisplayGone(self.backend)))
        self.handle = glfw.create_window(*size_px, title, None, None)
        if not self.handle:
            raise TwixtError(
                f"this display offers no OpenGL 3.3 core context ({self._error()}); update its driver, "
                f"use software OpenGL with LIBGL_ALWAYS_SOFTWARE=1, or {OFFSCREEN_HINT}"
            )
        if self.backend == "x11":
            self._x11_window = int(glfw.get_x11_window(self.handle))
            glfw_library.watch(_address(glfw.get_x11_display()), self._x11_window)
        glfw.make_context_current(self.handle)
        find = _function_finder()
        self.context = context.of_window(find)
        self.screen = self.context.screen
        self.renderer = str(self.context.info["GL_RENDERER"])
        context.keep_freed_memory(self.renderer)
        self._takes_size = self.backend == "x11" and context.is_software(self.renderer)
        self.present_times = PresentTimes(self._presentation, context.NextBuffer(self.context, find))
        if self.backend == "wayland":
            self._frame_callback = FrameCallback(
                _address(glfw.get_wayland_display()), _address(glfw.get_wayland_window(self.handle))
            )
        monitor = glfw.get_primary_monitor()
        mode = glfw.get_video_mode(monitor) if monitor else None
        self.refresh_reported_hz = float(mode.refresh_rate) if mode and mode.refresh_rate > 0 else None
        self.set_vsync(self._vsync)
        self._state = WindowState(self.handle)
        self._input = WindowInput(self.handle, lambda: self.framebuffer_size[0])

    @property
    def framebuffer_size(self) -> tuple[int, int]:
        """Width and height of the framebuffer in pixels, at least 1x1. A minimised window has 0x0 pixels, which is too
        small for a picture."""
        width, height = self._state.size_px
        return max(1, width), max(1, height)

    @property
    def resizes(self) -> int:
        """Number of changes of the framebuffer's size so far."""
        return self._state.resizes

    @property
    def content_scale(self) -> float:
        """Framebuffer pixels per unit in which text is laid out. It is 2.0 on many HiDPI displays."""
        return self._state.content_scale

    @property
    def should_close(self) -> bool:
        return bool(glfw.window_should_close(self.handle)) or glfw_library.is_destroyed(self._x11_window)

    @property
    def is_called(self) -> bool:
        """True if a swap waits only for the compositor's frame callback (Wayland)."""
        return self._frame_callback is not None

    @property
    def is_hidden(self) -> bool:
        """True while frames are not shown. The window is then minimised or, on Wayland, covered. `poll` and
        `wait_events` update this property."""
        if self._frame_callback is not None:
            return self._frame_callback.is_overdue
        return self._state.is_iconified

    def set_title(self, title: str) -> None:
        glfw.set_window_title(self.handle, title)

    def set_vsync(self, vsync: bool) -> None:
        """If `vsync` is True, requests that `swap` waits for the display. If it is False, requests that `swap` does
        not wait. Drivers may ignore this request, so measure whether swaps wait."""
        self._vsync = self.present_times.is_vsynced = vsync
        glfw.swap_interval(1 if vsync and self._frame_callback is None else 0)

    def poll(self) -> list[Event]:
        """Returns the input events since the last call. Never waits. Raises DisplayGone if the display server has
        ended, but only on Wayland. For X11, see `at_gone`."""
        self._require_display()
        if self._takes_size:
            context.update_size(self.context)
        glfw.poll_events()
        return self._drain_events()

    def wait_events(self, timeout_s: float) -> list[Event]:
        """Waits up to `timeout_s` seconds for an event or a `wake`. Returns the input events, as `poll` does."""
        self._require_display()
        glfw.wait_events_timeout(timeout_s)
        return self._drain_events()

    def wake(self) -> None:
        """Makes the current `wait_events` return. If none is running, makes the next one return. Any thread may call
        this."""
        glfw.post_empty_event()

    def pop_damage(self) -> bool:
        """Returns True if the picture on the screen was lost since the last call and must be drawn again."""
        state = self._state
        is_damaged, state.is_damaged = state.is_damaged, False
        return is_damaged

    def swap(self, meanwhile: Callable[[AwaitCall], None] | None = None) -> None:
        """Shows the drawn frame. With vsync, waits until the display has received the frame. On Wayland, does nothing
        while the window is hidden.

        meanwhile: function that is called on Wayland, after the hand-over of the frame and before the wait for the
        compositor's frame callback. On other systems the window library waits within its swap, and `meanwhile` is not
        called.
        """
        if self._gone:
            return
        callback = self._frame_callback
        if callback is not None:
            callback.wait(0)
            if callback.is_overdue:
                return
            callback.request()
        self.present_times.before_swap()
        glfw.swap_buffers(self.handle)
        if callback is not None and self._vsync:
            if meanwhile is not None and not callback.wait(0):  # `callback.wait` also sends the request
                meanwhile(callback.wait)
            callback.wait()
        self.present_times.after_swap()

    def fence(self) -> int | None:
        """Waits, after a swap that returned at once, until the next buffer can be drawn on. Returns the instant at
        which the wait ended. Returns None if fences are not in use, or if this fence did not wait."""
        return None if self._gone else self.present_times.fence()

    def ask_for_presents(self) -> None:
        """From now on, asks the display for the present time of each swap. Also watches the display for changes. Loads
        the libraries that are needed for this."""
        self.present_times.begin()
        if self._place is None:
            from twixt.render.display.window_events import WindowPlace

            self._place = WindowPlace(self.handle, self.backend == "wayland")

    @property
    def present_source(self) -> str:
        """Source of present times: "display", "fence", "swap" or "timer"."""
        return self.present_times.source

    @property
    def fence_trial(self) -> FenceTrial:
        """Trial that decides whether fences after swaps are useful on this display."""
        return self.present_times.trial

    @property
    def swap_number(self) -> int:
        """Number of the last swap."""
        return self.present_times.swap_number

    def drain_changes(self) -> list[str]:
        """Returns the changes of the display since the last call, in words. A change is another monitor, another mode,
        or a sleep of the machine."""
        return self._place.look(self.present_times.output) if self._place is not None and not self._gone else []

    def drain_presents(self) -> list[Presented]:
        """Returns the display's reports about earlier swaps since the last call. Never waits."""
        return self.present_times.drain()

    def close(self) -> None:
        self.present_times.close()
        if self._frame_callback is not None:
            self._frame_callback.close()
            self._frame_callback = None
        if self._gone:
            return  # GLFW's objects ended with the server; without a server, glfw.terminate would crash
        self.context.release()
        glfw.terminate()

    def _drain_events(self) -> list[Event]:
        if self._frame_callback is not None:
            self._frame_callback.wait(0)
        self._require_display()
        return self._input.drain()

    def _require_display(self) -> None:
        """Raises DisplayGone if the display has ended. Call this also before GLFW reads events. On a broken Wayland
        connection, GLFW would dispatch old events endlessly."""
        self._gone = self._gone or (self._frame_callback is not None and self._frame_callback.is_broken)
        if self._gone:
            raise DisplayGone(self.backend)

    def _presentation(self) -> Presentation | None:
        if self.backend == "wayland":
            from twixt.render.display.wayland import WaylandPresentation

            surface = glfw.get_wayland_window(self.handle)
            return WaylandPresentation(_address(glfw.get_wayland_display()), _address(surface))
        if self.backend == "x11":
            from twixt.render.display.x11 import X11Presentation

            display, window = _address(glfw.get_x11_display()), glfw.get_x11_window(self.handle)
            return X11Presentation(display, window, glfw.get_glx_window(self.handle))
        return None

    def _error(self) -> str:
        return "; ".join(dict.fromkeys(self._errors)) or "no reason given"


def _is_initialized() -> bool:
    """Initializes GLFW. Returns False if there is no display."""
    try:
        return bool(glfw.init())
    except FileNotFoundError:  # glfw changes back to the current folder after its start, but that folder was removed
        os.chdir(os.sep)
        return bool(glfw.init())


def _say(gone: TwixtError) -> int:
    print_notice(str(gone))
    return gone.exit_code


def _text(text: bytes | str) -> str:
    return text.decode(errors="replace") if isinstance(text, bytes) else text


def _function_finder() -> Callable[[str], int]:
    """Function that returns the address of an OpenGL function by its name, or 0. It is called about 700 times while
    another thread imports modules (see `start_up`). glfw's own function releases the interpreter lock, and waits
    for the lock after each call. This function keeps the lock."""
    loaded = library.glfw
    assert loaded is not None  # a window is open
    find = ctypes.PyDLL("glfw", handle=loaded._handle).glfwGetProcAddress  # type: ignore[union-attr]  # stubs
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    return lambda name: find(name.encode()) or 0


def _address(pointer: Any) -> int:
    return int(ctypes.cast(pointer, ctypes.c_void_p).value or 0)
