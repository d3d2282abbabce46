"""Draws the overlay's panels over the picture, with Dear ImGui. The panels show how smooth the picture is, the causes
of unevenness, and the keys.

People read a figure only a few times a second. So the panels are drawn only ten times a second, into a texture called
the sheet (`draw.flat.overlay_sheet`). Each frame copies the sheet. A redraw of the sheet has two steps, layout and
drawing. Each step takes about a millisecond. Steps that are done in spare time delay no frame. If the redraw is
LATE_NS overdue, a frame does one of the steps. While the user operates the panels (the pointer is on a panel or drags
a slider), every frame lays out the panels and draws them directly.

Always: Dear ImGui receives every mouse event at once and in order, even if it draws rarely. A sheet is copied only
into frames of the size for which the sheet was drawn.

This module does not call the window. Input events and the size are passed in. So the overlay can also draw in memory,
with any libglfw. Import this module late, because it loads imgui-bundle. The overlay draws into the current
framebuffer and restores OpenGL's state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from twixt.render.display.input import MouseButton, MouseMove, PointerLeft, Scroll
from twixt.render.draw.flat.overlay_sheet import Sheet
from twixt.render.draw.flat.rectangles import TINT, Pane, Panes, Rectangle, whole_pixels
from twixt.render.input.sliders import Turn
from twixt.render.overlay.imgui_context import begin, close_context, imgui, implot, new_context, new_plot_context
from twixt.render.overlay.panel_layout import show_panels
from twixt.render.overlay.panel_state import OverlayState
from twixt.render.overlay.plot_panel import open_at_start
from twixt.render.pacing.wait import StepCost

# Interval, in ns, at which the panels are redrawn in spare time. Users can read figures about this often. The interval
# is a little shorter than six frames at 60 Hz.
REDRAW_NS = 95_000_000
# Interval of redraws, in ns, while the physics process waits for a core. It is longer than the usual interval, because
# a redraw takes 3 ms of processor time.
REDUCED_REDRAW_NS = 500_000_000
# Time in ns by which a redraw may be overdue. If there is no spare time until then, the frames do the redraw, one step
# in each frame. The figures then change five times a second. While the world is paused, frames are drawn for 300 ms
# after the last change. This is long enough for the redraw.
LATE_NS = 100_000_000
# If a redraw is overdue by more than this time (in ns), frames had stopped or are rare. Then one frame does the whole
# redraw.
LONG_LATE_NS = 400_000_000
# Quantile of the recent durations of a step. The step begins if the spare time is at least this quantile. If another
# program interrupts the step, the frame is delayed no more than if the frame did the step itself.
COVERED = 0.8
# Number of layouts until the panels are complete. The effect of mouse input is visible in the next layout. A panel's
# new size is used in the layout after the next.
LAYOUTS_AT_ONCE = 3
# Smallest time between two layouts, in seconds, that is passed to Dear ImGui. Dear ImGui refuses zero.
LEAST_ELAPSED_S = 1e-4
# Pointer position, -FLT_MAX, that means "outside the window" to Dear ImGui.
OUTSIDE = -3.4028234663852886e38
_BUTTONS = {"left": 0, "right": 1, "middle": 2}


class PanelInput(NamedTuple):
    """Effects of mouse events on the panels."""

    pressed: list[str]  # names of the keys whose buttons were clicked
    turned: list[Turn]  # sliders that the user moved, in order
    all_off: bool  # "no trouble" was clicked


NO_INPUT = PanelInput([], [], False)


class Overlay:
    """Panels in one ImGui context. Each method, including `close`, needs a current OpenGL 3.3 context. now_ns:
    function that returns the current instant."""

    def __init__(self, now_ns: Callable[[], int] = time.perf_counter_ns) -> None:
        self._now_ns = now_ns
        self._context, self._plots = new_context(), new_plot_context()
        # instant of the last layout; instant of the layout that the panels' texture shows
        self._laid_out_ns = self._sheet_ns = 0
        self._layouts_due = LAYOUTS_AT_ONCE
        self._size: tuple[int, int, float] | None = None
        self._used = NO_INPUT
        self._opened: set[str] = set()  # names of the panels' sections that are open
        self._offered: set[str] = set()  # names of the sections that were opened when they were shown first
        self._is_turning = False  # True while the user drags a slider
        # position of the pointer, or None if it is unknown or outside the window
        self._pointer_px: tuple[float, float] | None = None
        self._down: set[str] = set()  # mouse buttons that are down
        self._panes, self._sheet = Panes(), Sheet()
        self._shown_panes: list[Pane] = []
        self._rectangles: tuple[Rectangle, ...] = ()  # rectangles of the panels in whole pixels
        # pixels that the last `draw` drew over, or None if they are unknown
        self.covered: Sequence[Rectangle] | None = ()
        self.every_ns = REDRAW_NS  # interval of regular redraws
        # durations of the two steps in spare time
        self._layout_cost, self._drawing_cost = StepCost(COVERED), StepCost(COVERED)

    def draw(
        self,
        state: Callable[[], OverlayState],
        events: Iterable[Any],
        size_px: tuple[int, int],
        framebuffer_scale: float = 1.0,
    ) -> PanelInput:
        """Draws the panels and returns the results of the user's mouse input on them.

        state: function that returns the values to show. It is called only when the panels are laid out again. events:
        input events of this frame, see `render.display.input`. framebuffer_scale: pixels per unit of text size. It is
        2 on many high-resolution displays.
        """
        now_ns = self._now_ns()
        imgui.set_current_context(self._context)
        self.pass_events(events, framebuffer_scale)
        if (*size_px, framebuffer_scale) != self._size:
            self._layouts_due = LAYOUTS_AT_ONCE
        if self.is_in_use or self._layouts_due > 1:
            self._lay_out(state, size_px, framebuffer_scale, now_ns)
            self._draw_straight(size_px)
            self.covered = None
            self.request_layout()  # the panels' texture shows an older layout
        else:
            late_ns = now_ns - self._sheet_ns - self.every_ns
            if self._layouts_due or late_ns >= LONG_LATE_NS:
                self._redraw_sheet(state, size_px, framebuffer_scale, now_ns)
            elif late_ns >= LATE_NS:
                self._step(state, size_px, framebuffer_scale, now_ns)
            self._sheet.blend(size_px)
            self.covered = self._sheet.rectangles
        used, self._used = self._used, NO_INPUT
        return used

    def redraw_early(
        self,
        state: Callable[[], OverlayState],
        size_px: tuple[int, int],
        framebuffer_scale: float,
        until_ns: int,
    ) -> bool:
        """Redraws the sheet, which is the texture that each frame copies. Does only the next step of the redraw, and
        only if this step is due and will probably end by `until_ns`.

        Returns False if nothing was done. Call this method again until it returns False. It changes only the sheet's
        framebuffer.
        """
        now_ns = self._now_ns()
        is_known = (*size_px, framebuffer_scale) == self._size and not self._layouts_due
        if not is_known or self.is_in_use or now_ns - self._sheet_ns < self.every_ns:
            return False
        cost = self._drawing_cost if self._is_laid_out else self._layout_cost
        if not cost.fits(now_ns, until_ns):
            return False
        imgui.set_current_context(self._context)
        self._step(state, size_px, framebuffer_scale, now_ns)
        self._sheet.complete()
        cost.record(self._now_ns() - now_ns)
        return True

    def prepare(
        self, state: Callable[[], OverlayState], size_px: tuple[int, int], framebuffer_scale: float
    ) -> Iterator[None]:
        """Makes glyphs and OpenGL programs before their first use, in steps of some milliseconds each.

        Do these steps between two frames. The steps draw into the current framebuffer, which each frame clears first.
        """
        for step in (self._lay_out, self._lay_out, self._try_straight, self._redraw_sheet):
            imgui.set_current_context(self._context)
            step(state, size_px, framebuffer_scale, self._now_ns())
            self._sheet.complete()
            yield
        self._sheet.blend(size_px)
        self._sheet.complete()
        self._layouts_due = 0

    @property
    def is_in_use(self) -> bool:
        """True if the pointer is on a panel or drags a slider."""
        return self._is_turning or (self._pointer_px is not None and self.covers(*self._pointer_px))

    def reduce_redraws(self, is_reduced: bool) -> None:
        """Sets whether the panels are redrawn less often while the user does not operate them."""
        self.every_ns = REDUCED_REDRAW_NS if is_reduced else REDRAW_NS

    def request_layout(self) -> None:
        """Requests a layout in the next frame."""
        self._layouts_due = max(self._layouts_due, 1)

    def covers(self, x_px: float, y_px: float) -> bool:
        """Returns True if a panel covers this pixel. x_px, y_px: position of the pixel, from the top left corner."""
        return any(
            0 <= x_px - pane.left_px < pane.width_px and 0 <= y_px - pane.top_px < pane.height_px
            for pane in self._shown_panes
        )

    def pass_events(self, events: Iterable[Any], scale: float) -> None:
        """Passes mouse events to Dear ImGui, which queues them until the next layout. scale: pixels per unit of text
        size, as in `begin`."""
        imgui.set_current_context(self._context)
        io, was_in_use = imgui.get_io(), self.is_in_use
        for event in events:
            if isinstance(event, MouseMove):
                self._pointer_px = event.x_px, event.y_px
                io.add_mouse_pos_event(event.x_px / scale, event.y_px / scale)
            # a drag may continue outside the window, so then the position is kept
            elif isinstance(event, PointerLeft) and not self._down:
                self._pointer_px = None
                io.add_mouse_pos_event(OUTSIDE, OUTSIDE)
            elif isinstance(event, MouseButton) and event.button in _BUTTONS:
                (self._down.add if event.pressed else self._down.discard)(event.button)
                io.add_mouse_button_event(_BUTTONS[event.button], event.pressed)
                if was_in_use or self.is_in_use:
                    self._layouts_due = LAYOUTS_AT_ONCE
            elif isinstance(event, Scroll):
                io.add_mouse_wheel_event(event.dx, event.dy)
        if was_in_use and not self.is_in_use:
            self.request_layout()  # so that no button remains highlighted

    def close(self) -> None:
        """Releases the ImGui context and the sheet."""
        self._sheet.release()
        imgui.set_current_context(self._context)
        implot.destroy_context(self._plots)
        close_context(self._context)

    @property
    def _is_laid_out(self) -> bool:
        """True if the last layout is newer than the layout on the sheet, which is the texture that each frame
        copies."""
        return self._sheet_ns < self._laid_out_ns

    def _step(self, state: Callable[[], OverlayState], size_px: tuple[int, int], scale: float, now_ns: int) -> None:
        if self._is_laid_out:
            self._draw_sheet(size_px)
        else:
            self._lay_out(state, size_px, scale, now_ns)

    def _redraw_sheet(
        self, state: Callable[[], OverlayState], size_px: tuple[int, int], scale: float, now_ns: int
    ) -> None:
        self._lay_out(state, size_px, scale, now_ns)
        self._draw_sheet(size_px)

    def _draw_sheet(self, size_px: tuple[int, int]) -> None:
        with self._sheet.drawing(size_px, self._rectangles, TINT):
            imgui.backends.opengl3_render_draw_data(imgui.get_draw_data())
        self._sheet_ns = self._laid_out_ns

    def _draw_straight(self, size_px: tuple[int, int]) -> None:
        """Draws the last layout into the current framebuffer, not into the panels' texture."""
        self._panes.draw(self._rectangles, size_px)
        imgui.backends.opengl3_render_draw_data(imgui.get_draw_data())

    def _try_straight(
        self, _state: Callable[[], OverlayState], size_px: tuple[int, int], _scale: float, _now_ns: int
    ) -> None:
        self._draw_straight(size_px)

    def _lay_out(self, state: Callable[[], OverlayState], size_px: tuple[int, int], scale: float, now_ns: int) -> None:
        self._layouts_due = max(0, self._layouts_due - 1)
        begin(size_px, scale, max(LEAST_ELAPSED_S, (now_ns - self._laid_out_ns) / 1e9))
        self._size, self._laid_out_ns = (*size_px, scale), now_ns
        implot.set_current_context(self._plots)
        values = state()
        new = open_at_start(values.plots, (knob for knob, _ in values.controls.values())) - self._offered
        self._offered |= new
        self._opened |= new
        shown = show_panels(imgui, values, (size_px[0] / scale, size_px[1] / scale), self._opened)
        before = self._used
        self._used = PanelInput(
            before.pressed + shown.pressed, before.turned + shown.turned, before.all_off or shown.all_off
        )
        self._shown_panes = [Pane(*(length * scale for length in panel)) for panel in shown.panels]
        self._rectangles = whole_pixels(self._shown_panes, size_px)
        if shown.is_unfinished:
            self.request_layout()
        imgui.render()
        self._is_turning = imgui.is_any_item_active()
