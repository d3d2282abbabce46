"""Drawing without a display: a GL context through EGL and a framebuffer in place of a window.

Same interface as `Window`. Always: `swap` never blocks, nothing is ever hidden, nobody presses a key.
"""

from __future__ import annotations

import threading

from twixt.render import software_gl
from twixt.render.display.presentation import Presented
from twixt.render.draw import context
from twixt.render.input import Event


class OffscreenWindow:
    """A picture of `size_px` that nobody sees; `screen` holds it."""

    backend = "offscreen"
    refresh_reported_hz: float | None = None
    is_called = False
    should_close = False
    is_hidden = False
    content_scale = 1.0
    pointer = 0
    present_source = "timer"
    swap_number = 0  # of the last swap

    def __init__(self, size_px: tuple[int, int]) -> None:
        software_gl.before_context()
        self.context = context.without_window()
        self.renderer = str(self.context.info["GL_RENDERER"])
        software_gl.after_context(self.renderer)
        self.framebuffer_size = size_px
        self._woken = threading.Event()
        self.screen = self.context.framebuffer(
            [self.context.renderbuffer(size_px, 4)], self.context.depth_renderbuffer(size_px)
        )
        self.screen.use()

    def set_title(self, title: str) -> None:
        pass

    def set_vsync(self, vsync: bool) -> None:
        pass

    def poll(self) -> list[Event]:
        return []

    def wait_events(self, timeout_s: float) -> list[Event]:
        self._woken.wait(timeout_s)
        self._woken.clear()
        return []

    def wake(self) -> None:
        self._woken.set()

    def take_damage(self) -> bool:
        return False

    def swap(self) -> None:
        self.swap_number += 1
        self.context.finish()

    def fence(self) -> int | None:
        return None

    def ask_for_presents(self) -> None:
        pass

    def take_changes(self) -> list[str]:
        return []

    def take_presents(self) -> list[Presented]:
        return []

    def close(self) -> None:
        self.context.release()
