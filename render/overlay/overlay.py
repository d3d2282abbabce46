"""The overlay: how smooth it is, why, and what the keys do, drawn over the picture with Dear ImGui.

The one idea: people read a figure a few times a second, so the panels are laid out anew only as often
(or at once when the mouse is used on them); in between, the same triangles are drawn again.

It takes plain input events and a size, and touches no window: which libglfw is loaded does not matter, and
it draws offscreen as well. Import this module late: it pulls in imgui-bundle.
Draws into the framebuffer in use; OpenGL's state is as before when it returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from twixt.render.draw.panes import Pane, Panes
from twixt.render.input import MouseButton, MouseMove, Scroll
from twixt.render.knobs import Turn
from twixt.render.overlay.context import begin, close_context, imgui, new_context
from twixt.render.overlay.layout import show_panels
from twixt.render.overlay.state import OverlayState

# For so long the same layout is drawn: figures change 7 times a second, which is as fast as they can be read, and
# seven of eight frames at 60 Hz are spared the layout.
LAYOUT_NS = 8 * 1_000_000_000 // 60
# What the mouse does shows in the layout after, and a panel that finds its own size in the one after that.
LAYOUTS_AT_ONCE = 3
_BUTTONS = {"left": 0, "right": 1, "middle": 2}


class Used(NamedTuple):
    """What the mouse did on the panels."""

    pressed: list[str]  # keys whose buttons were clicked, by name
    turned: list[Turn]  # sliders that moved, in order
    all_off: bool  # trouble is to end


NOTHING_USED = Used([], [], False)


class Overlay:
    """One ImGui context. Needs a current OpenGL 3.3 context; `close` it while that still is."""

    def __init__(self) -> None:
        self._context = new_context()
        self._laid_out_ns = 0
        self._layouts_due = LAYOUTS_AT_ONCE
        self._size: tuple[int, int, float] | None = None
        self._used = NOTHING_USED
        self._opened: set[str] = set()  # names of what the user has unfolded
        self._is_turning = False  # a slider is in the user's hand
        self._panes = Panes()
        self._shown_panes: list[Pane] = []
        self.layout_ns = 0  # cost of the last layout, without drawing it

    def draw(
        self,
        state: Callable[[], OverlayState],
        events: Iterable[Any],
        size_px: tuple[int, int],
        framebuffer_scale: float = 1.0,
        now_ns: int | None = None,
    ) -> Used:
        """Draws the overlay and answers what the mouse did on it.

        state: asked only when the panels are laid out anew. events: of this frame; `render.input`'s.
        framebuffer_scale: pixels per unit of text size, 2 on many high-resolution displays. now_ns: of perf_counter_ns,
        for tests.
        """
        imgui.set_current_context(self._context)
        is_used = self._take(events, framebuffer_scale)
        size = (*size_px, framebuffer_scale)
        if is_used or size != self._size:
            self._layouts_due = LAYOUTS_AT_ONCE
        now_ns = time.perf_counter_ns() if now_ns is None else now_ns
        if self._layouts_due or now_ns - self._laid_out_ns >= LAYOUT_NS:
            self._size = size
            self._layouts_due = max(0, self._layouts_due - 1)
            self._laid_out_ns = now_ns
            self._lay_out(state(), size_px, framebuffer_scale)
        self._panes.draw(self._shown_panes, size_px)
        imgui.backends.opengl3_render_draw_data(imgui.get_draw_data())
        used, self._used = self._used, NOTHING_USED
        return used

    def stir(self) -> None:
        """Lays the panels out in the next frame."""
        self._layouts_due = max(self._layouts_due, 1)

    def covers(self, x_px: float, y_px: float) -> bool:
        """Whether a panel lies over the picture there."""
        return any(
            0 <= x_px - pane.left_px < pane.width_px and 0 <= y_px - pane.top_px < pane.height_px
            for pane in self._shown_panes
        )

    def close(self) -> None:
        """Gives everything back."""
        close_context(self._context)

    def _lay_out(self, state: OverlayState, size_px: tuple[int, int], scale: float) -> None:
        began_ns = time.perf_counter_ns()
        begin(size_px, scale)
        shown = show_panels(imgui, state, (size_px[0] / scale, size_px[1] / scale), self._opened)
        if shown.pressed or shown.turned or shown.all_off:
            self._used = Used(shown.pressed, shown.turned, shown.all_off)
        self._shown_panes = [Pane(*(length * scale for length in panel)) for panel in shown.panels]
        if shown.is_unfinished:
            self.stir()
        imgui.render()
        self._is_turning = imgui.is_any_item_active()
        self.layout_ns = time.perf_counter_ns() - began_ns

    def _take(self, events: Iterable[Any], scale: float) -> bool:
        """Passes mouse events on; true when one asks for a new layout at once."""
        io = imgui.get_io()
        used = False
        for event in events:
            if isinstance(event, MouseMove):
                io.add_mouse_pos_event(event.x_px / scale, event.y_px / scale)
                used = used or self._is_turning
            elif isinstance(event, MouseButton) and event.button in _BUTTONS:
                io.add_mouse_button_event(_BUTTONS[event.button], event.pressed)
                used = True
            elif isinstance(event, Scroll):
                io.add_mouse_wheel_event(event.dx, event.dy)
        return used
