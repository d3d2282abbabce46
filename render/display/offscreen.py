"""Draws without a display, in a framebuffer of an EGL context.

Always: `swap` waits until drawing is complete, but does not wait for a display. The picture is never hidden and has no
input events.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from twixt.ipc.errors import TwixtError
from twixt.ipc.process.interrupts import InterruptibleEvent
from twixt.render.display.input import Event
from twixt.render.display.present_times import Presented
from twixt.render.draw.frame import context
from twixt.render.pacing.refresh import FenceTrial

if TYPE_CHECKING:
    from twixt.render.display.wayland import AwaitCall


class OffscreenWindow:
    """Picture in memory. size_px: its width and height. screen: framebuffer in which it is drawn. Raises TwixtError if
    there is no OpenGL."""

    backend = "offscreen"
    refresh_reported_hz: float | None = None
    is_called = False
    should_close = False
    is_hidden = False
    content_scale = 1.0
    present_source = "timer"
    fence_trial: FenceTrial | None = None
    swap_number = 0  # number of the last swap
    resizes = 0

    def __init__(self, size_px: tuple[int, int]) -> None:
        # The function `at_gone` is never called, because there is no display that could end.
        self.at_gone: Callable[[TwixtError], int] = lambda _gone: TwixtError.exit_code
        context.prepare_driver()
        self.context = context.without_window()
        self.renderer = str(self.context.info["GL_RENDERER"])
        context.keep_freed_memory(self.renderer)
        self.framebuffer_size = size_px
        self._woken = InterruptibleEvent()
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

    def pop_damage(self) -> bool:
        return False

    def swap(self, _meanwhile: Callable[[AwaitCall], None] | None = None) -> None:
        self.swap_number += 1
        self.context.finish()

    def fence(self) -> int | None:
        return None

    def ask_for_presents(self) -> None:
        pass

    def drain_changes(self) -> list[str]:
        return []

    def drain_presents(self) -> list[Presented]:
        return []

    def close(self) -> None:
        self.context.release()
