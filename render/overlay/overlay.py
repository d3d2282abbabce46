"""The overlay: how smooth it is, why, and what the keys do, drawn over the picture with Dear ImGui.

The one idea: people read a figure a few times a second, so the panels are laid out and drawn ten times a second into
a picture of their own (`draw.sheet`), and a frame only lays that over. While somebody uses them (the pointer is on a
panel, a slider is in the hand) they are laid out and drawn in every frame, straight into it.

Always: the library is given every event of the mouse, in order, when it is made, however seldom it draws; what is laid
over a frame was drawn for the size that this frame has.

It takes plain input events and a size, and touches no window: which libglfw is loaded does not matter, and
it draws offscreen as well. Import this module late: it pulls in imgui-bundle.
Draws into the framebuffer in use; OpenGL's state is as before when it returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from twixt.render.draw.panes import TINT, Pane, Panes, Rectangle, whole_pixels
from twixt.render.draw.sheet import Sheet
from twixt.render.draw.software.beneath import Beneath
from twixt.render.input import MouseButton, MouseMove, PointerLeft, Scroll
from twixt.render.knobs import Turn
from twixt.render.overlay.context import begin, close_context, imgui, new_context
from twixt.render.overlay.layout import show_panels
from twixt.render.overlay.state import OverlayState

# The panels are drawn anew in a frame after so long: figures change as fast as they can be read.
REDRAW_NS = 100_000_000
# And while physics waits for a core: a redraw takes 3 ms of one.
SPARING_NS = 500_000_000
# In spare time between frames they are drawn anew a frame of 60 Hz earlier: then no frame has to.
EARLY_NS = REDRAW_NS - 17_000_000
# What the mouse does shows in the layout after, and a panel that finds its own size in the one after that.
LAYOUTS_AT_ONCE = 3
# The library takes no time of zero between two layouts.
LEAST_ELAPSED_S = 1e-4
# Where the library believes the pointer while it is not over the window.
NOWHERE = -3.4028234663852886e38
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
        self._pointer_px: tuple[float, float] | None = None  # None: not known, or not over the window
        self._down: set[str] = set()  # buttons of the mouse
        self._panes, self._sheet = Panes(), Sheet()
        self._shown_panes: list[Pane] = []
        self._rectangles: tuple[Rectangle, ...] = ()  # pixels of the panes
        self.layouts = 0  # how often the panels were laid out and drawn
        self.layout_ns = 0  # cost of the last layout, without drawing it
        self.every_ns = REDRAW_NS  # between two redraws that nobody asked for
        self._redraw_ns = 0  # cost of the last one in spare time, drawing included

    def draw(
        self,
        state: Callable[[], OverlayState],
        events: Iterable[Any],
        size_px: tuple[int, int],
        framebuffer_scale: float = 1.0,
        now_ns: int | None = None,
        beneath: Beneath | None = None,
    ) -> Used:
        """Draws the overlay and answers what the mouse did on it.

        state: asked only when the panels are laid out anew. events: of this frame; `render.input`'s.
        framebuffer_scale: pixels per unit of text size, 2 on many high-resolution displays. now_ns: of perf_counter_ns,
        for tests. beneath: what is known of the picture under it. With it, `settle` belongs to the frame.
        """
        now_ns = time.perf_counter_ns() if now_ns is None else now_ns
        imgui.set_current_context(self._context)
        self.hear(events, framebuffer_scale)
        if (*size_px, framebuffer_scale) != self._size:
            self._layouts_due = LAYOUTS_AT_ONCE
        if self.is_in_use or self._layouts_due > 1:
            self._lay_out(state, size_px, framebuffer_scale, now_ns)
            self._draw_straight(size_px)
            self.stir()  # the sheet holds what was before
        else:
            if self._layouts_due or now_ns - self._laid_out_ns >= self.every_ns:
                self._redraw_sheet(state, size_px, framebuffer_scale, now_ns)
            self._sheet.lay(size_px, beneath)
        used, self._used = self._used, NOTHING_USED
        return used

    def settle(self) -> None:
        """The frame's last part, when all that was drawn is complete."""
        self._sheet.settle()

    def redraw_early(
        self, state: Callable[[], OverlayState], size_px: tuple[int, int], framebuffer_scale: float, spare_ns: int,
        now_ns: int | None = None,
    ) -> bool:  # fmt: skip
        """Between two frames: draws the panels anew where that is due soon and fits into the spare time.

        The next `draw` then only lays them over. False: nothing was done.
        """
        began_ns = time.perf_counter_ns()
        now_ns = began_ns if now_ns is None else now_ns
        is_known = (*size_px, framebuffer_scale) == self._size and not self._layouts_due
        early_ns = self.every_ns - (REDRAW_NS - EARLY_NS)
        if not is_known or self.is_in_use or now_ns - self._laid_out_ns < early_ns or 2 * self._redraw_ns > spare_ns:
            return False
        imgui.set_current_context(self._context)
        self._redraw_sheet(state, size_px, framebuffer_scale, now_ns)
        self._sheet.complete()
        self._redraw_ns = time.perf_counter_ns() - began_ns
        return True

    def get_ready(
        self, state: Callable[[], OverlayState], size_px: tuple[int, int], framebuffer_scale: float
    ) -> Iterator[None]:
        """Steps that make what is made at first use (letters, programs), each of some milliseconds.

        Draws into the framebuffer in use: between two frames, where the next one begins with a clear picture.
        """
        for step in (self._lay_out, self._lay_out, self._try_straight, self._redraw_sheet):
            imgui.set_current_context(self._context)
            step(state, size_px, framebuffer_scale, time.perf_counter_ns())
            self._sheet.complete()
            yield
        self._sheet.lay(size_px)
        self._sheet.complete()
        self._layouts_due = 0

    @property
    def is_in_use(self) -> bool:
        """Whether the pointer is on a panel, or a slider in the user's hand."""
        return self._is_turning or (self._pointer_px is not None and self.covers(*self._pointer_px))

    def stir(self) -> None:
        """Lays the panels out in the next frame."""
        self._layouts_due = max(self._layouts_due, 1)

    def covers(self, x_px: float, y_px: float) -> bool:
        """Whether a panel lies over the picture there."""
        return any(
            0 <= x_px - pane.left_px < pane.width_px and 0 <= y_px - pane.top_px < pane.height_px
            for pane in self._shown_panes
        )

    def hear(self, events: Iterable[Any], scale: float) -> None:
        """Passes the mouse's events on to the library, which remembers them until the next layout."""
        imgui.set_current_context(self._context)
        io, was_in_use = imgui.get_io(), self.is_in_use
        for event in events:
            if isinstance(event, MouseMove):
                self._pointer_px = event.x_px, event.y_px
                io.add_mouse_pos_event(event.x_px / scale, event.y_px / scale)
            elif isinstance(event, PointerLeft) and not self._down:  # what is dragged goes on beyond the window
                self._pointer_px = None
                io.add_mouse_pos_event(NOWHERE, NOWHERE)
            elif isinstance(event, MouseButton) and event.button in _BUTTONS:
                (self._down.add if event.pressed else self._down.discard)(event.button)
                io.add_mouse_button_event(_BUTTONS[event.button], event.pressed)
                if was_in_use or self.is_in_use:
                    self._layouts_due = LAYOUTS_AT_ONCE
            elif isinstance(event, Scroll):
                io.add_mouse_wheel_event(event.dx, event.dy)
        if was_in_use and not self.is_in_use:
            self.stir()  # nothing is shown as pointed at any more

    def close(self) -> None:
        """Gives everything back."""
        self._sheet.release()
        close_context(self._context)

    def _redraw_sheet(
        self, state: Callable[[], OverlayState], size_px: tuple[int, int], scale: float, now_ns: int
    ) -> None:
        self._lay_out(state, size_px, scale, now_ns)
        with self._sheet.drawing(size_px, self._rectangles, TINT):
            imgui.backends.opengl3_render_draw_data(imgui.get_draw_data())

    def _draw_straight(self, size_px: tuple[int, int]) -> None:
        """Draws what was laid out last into the framebuffer in use."""
        self._panes.draw(self._rectangles, size_px)
        imgui.backends.opengl3_render_draw_data(imgui.get_draw_data())

    def _try_straight(
        self, _state: Callable[[], OverlayState], size_px: tuple[int, int], _scale: float, _now_ns: int
    ) -> None:
        self._draw_straight(size_px)

    def _lay_out(self, state: Callable[[], OverlayState], size_px: tuple[int, int], scale: float, now_ns: int) -> None:
        began_ns = time.perf_counter_ns()
        self._layouts_due = max(0, self._layouts_due - 1)
        begin(size_px, scale, max(LEAST_ELAPSED_S, (now_ns - self._laid_out_ns) / 1e9))
        self._size, self._laid_out_ns = (*size_px, scale), now_ns
        shown = show_panels(imgui, state(), (size_px[0] / scale, size_px[1] / scale), self._opened)
        before = self._used
        self._used = Used(before.pressed + shown.pressed, before.turned + shown.turned, before.all_off or shown.all_off)
        self._shown_panes = [Pane(*(length * scale for length in panel)) for panel in shown.panels]
        self._rectangles = whole_pixels(self._shown_panes, size_px)
        if shown.is_unfinished:
            self.stir()
        imgui.render()
        self._is_turning = imgui.is_any_item_active()
        self.layouts += 1
        self.layout_ns = time.perf_counter_ns() - began_ns
