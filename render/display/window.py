"""The window: an OpenGL 3.3 core context on a real display, its swaps and its input.

Always: `swap` comes back, also when the window is hidden (it then shows nothing, and `is_hidden` says so
until the display asks for frames again). Errors of the display become `TwixtError`.
Decides nothing about time: see `pacer`.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from twixt.ipc.errors import TwixtError
from twixt.render import software_gl
from twixt.render.display import glfw_library, x11_errors
from twixt.render.display.present_times import PresentTimes
from twixt.render.display.presentation import Presentation, Presented
from twixt.render.display.wayland_frame import FrameCallback
from twixt.render.draw import context
from twixt.render.input import Event

glfw_library.choose()
import glfw  # noqa: E402  (after its library is chosen)
from glfw import library  # noqa: E402

from twixt.render.display.window_input import WindowInput  # noqa: E402

if TYPE_CHECKING:
    from twixt.render.display.window_place import WindowPlace

OFFSCREEN_HINT = "draw without a window: --offscreen"


class DisplayGone(TwixtError):
    """The display server ended, or threw this window out."""

    def __init__(self, backend: str) -> None:
        super().__init__(f"the display ({backend}) closed the connection; start again on a running one")


class Window:
    """A window of `size_px`, already current. Close it with `close`, once.

    size_px: in the units in which text is laid out: on a display of twice the usual density it has twice the pixels.

    refresh_reported_hz: what the display says of itself, asked once (of a server that has gone, GLFW asks in vain
    and crashes); None where it says nothing. Never trusted: see `refresh`.
    at_gone: what is done within the call in which an X server goes, and gives the exit code with which the process
    ends there (see `x11_errors`); it says so. On other displays `poll` raises DisplayGone.
    """

    def __init__(self, size_px: tuple[int, int], title: str, vsync: bool = True, visible: bool = True) -> None:
        self._errors: list[str] = []
        self._frame_callback: FrameCallback | None = None
        self._vsync = vsync
        self._gone = False
        self._place: WindowPlace | None = None
        self.at_gone: Callable[[DisplayGone], int] = _say
        self._is_damaged = False
        software_gl.before_context()
        glfw.set_error_callback(lambda _code, text: self._errors.append(_text(text)))
        if not glfw.init():
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
            x11_errors.end_with_the_server(lambda: self.at_gone(DisplayGone(self.backend)))
        self.handle = glfw.create_window(*size_px, title, None, None)
        if not self.handle:
            raise TwixtError(
                f"this display gives no OpenGL 3.3 core context ({self._error()}); update its driver, "
                f"use software OpenGL with LIBGL_ALWAYS_SOFTWARE=1, or {OFFSCREEN_HINT}"
            )
        glfw.make_context_current(self.handle)
        find = _function_finder()
        self.context = context.of_window(find)
        self.screen = self.context.screen
        self.renderer = str(self.context.info["GL_RENDERER"])
        software_gl.after_context(self.renderer)
        self.present_times = PresentTimes(self._presentation, context.NextBuffer(self.context, find))
        if self.backend == "wayland":
            self._frame_callback = FrameCallback(
                _address(glfw.get_wayland_display()), _address(glfw.get_wayland_window(self.handle))
            )
        monitor = glfw.get_primary_monitor()
        mode = glfw.get_video_mode(monitor) if monitor else None
        self.refresh_reported_hz = float(mode.refresh_rate) if mode and mode.refresh_rate > 0 else None
        self.set_vsync(self._vsync)
        # Asked for once: on X11 each question is a round trip to the server, several times a frame's own cost.
        self._size_px = glfw.get_framebuffer_size(self.handle)
        self._is_iconified = bool(glfw.get_window_attrib(self.handle, glfw.ICONIFIED))
        self._content_scale = float(glfw.get_window_content_scale(self.handle)[0])
        self._input = WindowInput(self.handle, lambda: self.framebuffer_size[0])
        glfw.set_framebuffer_size_callback(self.handle, self._on_framebuffer_size)
        glfw.set_window_iconify_callback(self.handle, self._on_iconify)
        glfw.set_window_content_scale_callback(self.handle, self._on_content_scale)
        glfw.set_window_refresh_callback(self.handle, self._on_refresh)

    @property
    def pointer(self) -> int:
        """Address of the GLFWwindow, for libraries that share the same libglfw (see `glfw_library`)."""
        return _address(self.handle)

    @property
    def framebuffer_size(self) -> tuple[int, int]:
        """Pixels to draw, at least 1x1 (a minimised window has 0x0, and no picture can be that small)."""
        width, height = self._size_px
        return max(1, width), max(1, height)

    @property
    def content_scale(self) -> float:
        """Framebuffer pixels per unit in which text is laid out: 2.0 on many HiDPI displays."""
        return self._content_scale

    @property
    def should_close(self) -> bool:
        return bool(glfw.window_should_close(self.handle))

    @property
    def is_called(self) -> bool:
        """A swap waits until the display calls for the next frame, and for nothing else."""
        return self._frame_callback is not None

    @property
    def is_hidden(self) -> bool:
        """Minimised or covered, so that frames are not shown. Call `poll` or `wait_events` to find out when it ends."""
        if self._frame_callback is not None:
            return self._frame_callback.is_overdue
        return self._is_iconified

    def set_title(self, title: str) -> None:
        glfw.set_window_title(self.handle, title)

    def set_vsync(self, vsync: bool) -> None:
        """Whether `swap` is asked to wait for the display. Whether it does, only measuring tells."""
        self._vsync = self.present_times.is_vsynced = vsync
        glfw.swap_interval(1 if vsync and self._frame_callback is None else 0)

    def poll(self) -> list[Event]:
        """What the user did since the last call. Never waits. Raises DisplayGone, unless `at_gone` is called."""
        glfw.poll_events()
        return self._taken()

    def wait_events(self, timeout_s: float) -> list[Event]:
        """Like `poll`, but waits up to `timeout_s` for something to happen, `wake` included."""
        glfw.wait_events_timeout(timeout_s)
        return self._taken()

    def wake(self) -> None:
        """Ends a `wait_events`, also the next one where none is going on. From any thread."""
        glfw.post_empty_event()

    def take_damage(self) -> bool:
        """Whether what was on the screen has been lost since the last call, so that it must be drawn again."""
        damaged, self._is_damaged = self._is_damaged, False
        return damaged

    def swap(self) -> None:
        """Shows what was drawn; with vsync, waits until the display took it. Skipped while hidden."""
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
            callback.wait()
        self.present_times.after_swap()

    def fence(self) -> int | None:
        """After a swap that waited for nothing on a display that has its own pace: when the next picture could be
        drawn. None where that is not known, or waited for nothing either."""
        return None if self._gone else self.present_times.fence()

    def ask_for_presents(self) -> None:
        """From now on the display is asked when it showed each swap, and watched for changes. What that takes is loaded
        here."""
        self.present_times.begin()
        if self._place is None:
            from twixt.render.display.window_place import WindowPlace

            self._place = WindowPlace(self.handle, self.backend == "wayland")

    @property
    def present_source(self) -> str:
        """By what presents are known: display | fence | swap | timer."""
        return self.present_times.source

    @property
    def swap_number(self) -> int:
        """Of the last swap."""
        return self.present_times.swap_number

    def take_changes(self) -> list[str]:
        """What changed about the display since the last call: another monitor, another mode, a machine that slept."""
        return self._place.look(self.present_times.output) if self._place is not None and not self._gone else []

    def take_presents(self) -> list[Presented]:
        """What the display said of earlier swaps since the last call. Never waits."""
        return self.present_times.take()

    def close(self) -> None:
        self.present_times.close()
        if self._frame_callback is not None:
            self._frame_callback.close()
            self._frame_callback = None
        if self._gone:
            return  # everything held there went with it, and saying goodbye to nobody crashes
        self.context.release()
        glfw.terminate()

    def _taken(self) -> list[Event]:
        callback = self._frame_callback
        if callback is not None:
            callback.wait(0)
            self._gone = self._gone or callback.is_broken
        if self._gone:
            raise DisplayGone(self.backend)
        return self._input.take()

    def _presentation(self) -> Presentation | None:
        if self.backend == "wayland":
            from twixt.render.display.presentation_wayland import WaylandPresentation

            surface = glfw.get_wayland_window(self.handle)
            return WaylandPresentation(_address(glfw.get_wayland_display()), _address(surface))
        if self.backend == "x11":
            from twixt.render.display.presentation_x11 import X11Presentation

            display, window = _address(glfw.get_x11_display()), glfw.get_x11_window(self.handle)
            return X11Presentation(display, window, glfw.get_glx_window(self.handle))
        return None

    def _error(self) -> str:
        return "; ".join(dict.fromkeys(self._errors)) or "no reason given"

    def _on_framebuffer_size(self, _window: Any, width_px: int, height_px: int) -> None:
        self._size_px = width_px, height_px
        self._is_damaged = True

    def _on_iconify(self, _window: Any, iconified: int) -> None:
        self._is_iconified = bool(iconified)
        self._is_damaged = True

    def _on_content_scale(self, _window: Any, scale: float, _scale_y: float) -> None:
        self._content_scale = float(scale)

    def _on_refresh(self, _window: Any) -> None:
        self._is_damaged = True


def _say(gone: DisplayGone) -> int:
    print(f"twixt: {gone}", file=sys.stderr, flush=True)
    return gone.exit_code


def _text(text: bytes | str) -> str:
    return text.decode(errors="replace") if isinstance(text, bytes) else text


def _function_finder() -> Callable[[str], int]:
    """Where the context's functions lie, by name. Some 700 are asked for, while another thread imports (`start_up`): a
    call that gave Python's lock away, as glfw's own does, would wait each time to have it back."""
    loaded = library.glfw
    assert loaded is not None  # a window is open
    find = ctypes.PyDLL("glfw", handle=loaded._handle).glfwGetProcAddress  # type: ignore[union-attr]  # stubs
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    return lambda name: find(name.encode()) or 0


def _address(pointer: Any) -> int:
    return int(ctypes.cast(pointer, ctypes.c_void_p).value or 0)
