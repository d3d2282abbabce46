"""Draws the layers over the picture. These are the panels, the program's labels, images and figures, and the note
about the last key.

The import of Dear ImGui takes longer than a frame, so it is done on a separate thread. After the import, fonts and
OpenGL programs are made between frames, in steps of some milliseconds. Until they are ready, frames are drawn without
panels and labels.

Always: the panels are made only between frames. So no frame is delayed when the user opens the panels. When
`OverlayLayer.close` returns, the import has ended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from twixt.render.cores.priority import ShortSwitchInterval
from twixt.render.display.input import Event, MouseButton, MouseMove, PointerLeft
from twixt.render.overlay.program_pictures import KEYS_HEIGHT, TOP_HEIGHT, ProgramPictures, panel_places
from twixt.render.scene.labels import PlacedLabel, at_borders, foot, head
from twixt.render.scene.views import side_by_side

if TYPE_CHECKING:
    from twixt.ipc.interaction.overlay import OverlayText
    from twixt.ipc.session.link import Link
    from twixt.ipc.snapshot import Head
    from twixt.render.draw.flat.rectangles import Rectangle
    from twixt.render.draw.scene_renderer import SceneRenderer
    from twixt.render.input.sliders import Turned
    from twixt.render.measure.frame_rows import FrameRow
    from twixt.render.overlay.imgui_context import LabelOverlay
    from twixt.render.overlay.overlay import Overlay
    from twixt.render.overlay.panel_state import OverlayState, PanelFacts, PanelFigures


def load_overlay_library() -> None:
    """Imports the modules that draw panels and labels, on the calling thread.

    If the import fails, this function raises no error. The next import of these modules raises the same error and
    reports it.
    """
    with closing(ShortSwitchInterval()):
        try:
            import twixt.render.overlay.overlay
            import twixt.render.overlay.panel_state  # noqa: F401
        except Exception:
            pass


class OverlayLibrary:
    """Imports the overlay's library on its own thread. The import begins when `is_loaded` is first read."""

    def __init__(self) -> None:
        self._loading: threading.Thread | None = None

    @property
    def is_loaded(self) -> bool:
        """True if the import has ended, with or without success. The first read starts the import."""
        if self._loading is None:
            self._loading = threading.Thread(target=load_overlay_library, name="words", daemon=True)
            self._loading.start()
        return not self._loading.is_alive()

    def close(self) -> None:
        """Waits until the import has ended."""
        if self._loading is not None:
            self._loading.join()


class OverlayFrame(NamedTuple):
    """Properties of one frame that determine the layers over its picture."""

    link: Link  # link to the simulation that is drawn
    size_px: tuple[int, int]  # size of the framebuffer
    scale: float  # framebuffer pixels per unit of text size
    has_panels: bool  # True if the user wants to see the panels
    is_starting: bool
    draw_time_ns: int  # simulated time that the user saw last
    labels: Sequence[PlacedLabel] = ()  # labels in the picture
    split_labels: tuple[str, str] | None = None  # labels of the left and the right half of a split view
    note: str = ""  # note about the last key
    before_panels: Callable[[], object] = tuple  # called when all layers except the panels are drawn


class OverlayUse(NamedTuple):
    """Layers that were drawn in one frame, and the user's input on them."""

    is_drawn: bool  # True if at least one layer was drawn
    # rectangles that contain all changed pixels, or None if they are unknown
    covered: Sequence[Rectangle] | None = None
    keys: Sequence[str] = ()  # keys whose buttons were clicked
    turned: Turned | None = None  # effects of moved sliders


NOTHING_DRAWN = OverlayUse(False, ())


class OverlayLayer:
    """Layers over the picture of one viewer. The window's OpenGL context must be current.

    pacing: pacing chosen with the flag. facts: function that returns the current values for the panels. It is called
    only when the panels are laid out. panels: the panels, or None until they are made. now_ns: clock of the frames.
    """

    def __init__(
        self,
        renderer: SceneRenderer,
        pacing: str,
        facts: Callable[[], PanelFacts],
        now_ns: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self.panels: Overlay | None = None
        self._figures: PanelFigures | None = None
        self._renderer, self._pacing, self._facts, self._now_ns = renderer, pacing, facts, now_ns
        self._library = OverlayLibrary()
        self._labels: LabelOverlay | None = None
        self._pictures = ProgramPictures()
        self._making: Iterator[None] | None = None  # remaining steps until the panels or the labels can be drawn
        self._frame: OverlayFrame | None = None  # the last frame
        self._note = ""  # the note that the panels show

    def covers(self, x_px: float, y_px: float) -> bool:
        """Returns True if a visible panel covers this pixel."""
        panels = self.panels
        return panels is not None and self._frame is not None and self._frame.has_panels and panels.covers(x_px, y_px)

    @property
    def is_being_made(self) -> bool:
        """True if panels or labels are still being made. Then the next frames will differ from this frame."""
        frame = self._frame
        is_wanted = frame is not None and frame.has_panels and not frame.is_starting and self.panels is None
        return self._making is not None or is_wanted

    def make_panels(self, size_px: tuple[int, int], scale: float) -> None:
        """Begins to make the panels. The steps of this work follow between the next frames. size_px: size of the
        framebuffer. scale: pixels per unit of text size. The panels' library must be loaded."""
        if self.panels is None and self._making is None:
            self._making = self._panel_steps(size_px, scale)

    def draw(self, frame: OverlayFrame, events: list[Event]) -> OverlayUse:
        """Draws the layers into the current framebuffer, and applies mouse events to the panels."""
        self._frame = frame
        link, panels = frame.link, self._shown_panels(frame) if frame.has_panels else None
        words = frame.labels
        if panels is None and (frame.note or frame.split_labels is not None):
            words = [*words, *self._labels_without_panels(frame)]
        if texts := link.status.get("texts"):
            words = [*words, *self._texts(texts, frame, panels is not None)]
        if words:
            self._draw_words(words, frame)
        received = link.received
        has_pictures = bool(received.images or received.figures or self._pictures.are_shown)
        if has_pictures:
            has_pictures = self._draw_pictures(frame, panels is not None)
        frame.before_panels()
        if panels is not None:
            return self._draw_panels(panels, frame, events, is_alone=not words and not has_pictures)
        if self.panels is not None and events:
            self.panels.pass_events([event for event in events if _passes_hidden(event)], frame.scale)
        return OverlayUse(True) if words or has_pictures else NOTHING_DRAWN

    def make_some(self) -> bool:
        """Does one step of the work that makes the panels or labels. Returns False if there is no step to do.

        Call this between two frames, because a step draws into the current framebuffer.
        """
        if self._making is None:
            return False
        if next(self._making, self) is self:
            self._making = None
        self._renderer.invalidate()
        return True

    def redraw_early(self, size_px: tuple[int, int], scale: float, until_ns: int) -> bool:
        """Redraws the sheet of the panels, a texture that each frame copies. Does only those steps that are due and
        will probably end by `until_ns`. Returns False if there are no such steps.

        size_px, scale: framebuffer size, and pixels per unit of text size, of the next frame. This method does not
        change a frame, even if the frame is drawn and not yet shown.
        """
        frame, panels = self._frame, self.panels
        if self._making is not None or panels is None or frame is None or not frame.has_panels:
            return False
        is_done = False
        while panels.redraw_early(self._state, size_px, scale, until_ns):
            is_done = True
        return is_done

    def add(self, row: FrameRow, newest: Head | None) -> None:
        """Adds a presented frame to the figures on the panels."""
        if self._figures is not None:
            self._figures.add(row, newest)

    def reduce_redraws(self, is_reduced: bool) -> None:
        """Sets whether the panels are redrawn less often while the user does not operate them. Less frequent redraws
        leave more of the core to the physics process."""
        if self.panels is not None:
            self.panels.reduce_redraws(is_reduced)

    def close(self) -> None:
        """Waits until the import has ended. Calls no OpenGL function."""
        self._library.close()

    def release(self) -> None:
        """Releases all OpenGL objects."""
        for overlay in (self._labels, self.panels):
            if overlay is not None:
                overlay.close()
        self._pictures.release()

    def _shown_panels(self, frame: OverlayFrame) -> Overlay | None:
        """Returns the panels, or None while they are not ready."""
        if self.panels is None and not frame.is_starting and self._library.is_loaded:
            self.make_panels(frame.size_px, frame.scale)
        return self.panels

    def _labels_without_panels(self, frame: OverlayFrame) -> list[PlacedLabel]:
        """Labels of the two halves, and the note about the last key, for frames without panels."""
        halves, note, size_px, scale = frame.split_labels, frame.note, frame.size_px, frame.scale
        if frame.is_starting or not self._library.is_loaded:
            return []
        if self._labels is None:
            self._making = self._making or self._words_steps(frame)
            return []
        words = [] if halves is None else head(halves, side_by_side(size_px, 2), size_px[1], scale)
        return [*words, foot(note, size_px, scale)] if note else words

    def _texts(self, texts: Sequence[OverlayText], frame: OverlayFrame, has_panels: bool) -> list[PlacedLabel]:
        """Texts of the program. If the panels are shown, the texts are moved so that they do not overlap the panels."""
        if frame.is_starting or not self._library.is_loaded:
            return []
        room = (TOP_HEIGHT, KEYS_HEIGHT) if has_panels else (0.0, 0.0)
        return at_borders(texts, frame.size_px, frame.scale, room)

    def _draw_pictures(self, frame: OverlayFrame, has_panels: bool) -> bool:
        """Draws the program's images and figures. Returns False if there are no images and no figures."""
        if frame.is_starting:
            return False
        received = frame.link.received
        self._pictures.set_images_shown(received.images)
        if not received.figures or self._library.is_loaded:
            self._pictures.set_figures_shown(received.figures, frame.scale)
        return self._pictures.draw(frame.size_px, panel_places(frame.size_px, frame.scale) if has_panels else ())

    def _draw_panels(self, panels: Overlay, frame: OverlayFrame, events: list[Event], is_alone: bool) -> OverlayUse:
        """Draws the panels. is_alone: True if nothing else is drawn over the picture."""
        assert self._figures is not None
        if frame.note != self._note:
            self._note = frame.note
            panels.request_layout()
        used = panels.draw(self._state, events, frame.size_px, frame.scale)
        knobs = self._figures.knobs
        for turn in used.turned:
            knobs.turn(turn)
        if used.all_off:
            knobs.all_off()
        turned = knobs.due(self._now_ns(), frame.draw_time_ns)
        return OverlayUse(True, panels.covered if is_alone else None, used.pressed, turned)

    def _draw_words(self, words: Sequence[PlacedLabel], frame: OverlayFrame) -> None:
        if self._labels is None:
            from twixt.render.overlay.imgui_context import LabelOverlay

            self._labels = LabelOverlay()
        self._labels.draw(words, frame.size_px, frame.scale)

    def _state(self) -> OverlayState:
        assert self._figures is not None
        return self._figures.state(self._facts(), self._note, self._now_ns())

    # -- steps between frames. Each frame first clears the picture. So the pixels that these steps draw are never
    # visible

    def _panel_steps(self, size_px: tuple[int, int], scale: float) -> Iterator[None]:
        from twixt.render.overlay.overlay import Overlay
        from twixt.render.overlay.panel_state import PanelFigures

        self._figures, panels = PanelFigures(self._pacing), Overlay(self._now_ns)
        yield
        yield from panels.prepare(self._state, size_px, scale)
        self.panels = panels

    def _words_steps(self, frame: OverlayFrame) -> Iterator[None]:
        from twixt.render.overlay.imgui_context import LabelOverlay

        labels = LabelOverlay()
        yield
        labels.draw([foot(frame.note or "0", frame.size_px, frame.scale)], frame.size_px)
        self._labels = self._labels or labels


def _passes_hidden(event: Event) -> bool:
    """True if panels receive this event even while they are hidden. These events are: pointer moved, pointer left, and
    button released."""
    is_release = isinstance(event, MouseButton) and not event.pressed
    return is_release or isinstance(event, MouseMove | PointerLeft)
