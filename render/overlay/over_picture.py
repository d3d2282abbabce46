"""Layers over the picture of a frame: panels, labels, and a note of the last key.

The one idea: importing Dear ImGui takes longer than a frame, so a thread imports it. Fonts and programs are then
made in steps of some milliseconds between two frames. Until they are ready, frames are drawn without panels and words.

Always: no part of the panels is made within a frame, so that opening them delays no frame. When `OverPicture.close`
returns, the import has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from twixt.render.controls.user_input import covers_nothing
from twixt.render.cores.priority import ShortTurns
from twixt.render.display.input import Event
from twixt.render.overlay.clear_places import KEYS_HEIGHT, TOP_HEIGHT, panel_places
from twixt.render.overlay.program_pictures import ProgramPictures
from twixt.render.scene.labels import PlacedLabel, at_borders, foot, head
from twixt.render.scene.picture import DrawnPicture
from twixt.render.scene.stage import side_by_side

if TYPE_CHECKING:
    from twixt.ipc.session.client import Link
    from twixt.ipc.snapshot import Head
    from twixt.render.controls.user_input import UserInput
    from twixt.render.display.display import Display
    from twixt.render.measure.frame_rows import FrameRow
    from twixt.render.overlay.imgui_context import LabelOverlay
    from twixt.render.overlay.panel_state import Panel, PictureFacts
    from twixt.render.viewer.frame_loop import FrameLoop


def load_overlay_library() -> None:
    """Imports the modules that draw panels and labels, on the caller's thread.

    Ignores a failed import: the next import of the modules raises again, and is reported there.
    """
    with closing(ShortTurns()):
        try:
            import twixt.render.overlay.panel_state  # noqa: F401
        except Exception:
            pass


class OverlayLibrary:
    """Import of the library on a thread of its own; it begins when `is_loaded` is first read."""

    def __init__(self) -> None:
        self._loading: threading.Thread | None = None

    @property
    def is_loaded(self) -> bool:
        """True if the import has ended, with or without success. The first call starts it."""
        if self._loading is None:
            self._loading = threading.Thread(target=load_overlay_library, name="words", daemon=True)
            self._loading.start()
        return not self._loading.is_alive()

    def close(self) -> None:
        """Waits for the import."""
        if self._loading is not None:
            self._loading.join()


class OverPicture:
    """Layers over the picture of one frame loop. Needs the window's OpenGL context to be current."""

    def __init__(self, loop: FrameLoop, display: Display, user_input: UserInput, pacing: str) -> None:
        self.panel: Panel | None = None
        self.notice = ""  # for the user, on the panels
        self.key_note = ""  # of the last key, while it is shown
        self._loop, self._display, self._input, self._pacing = loop, display, user_input, pacing
        self._library = OverlayLibrary()
        self._labels: LabelOverlay | None = None
        self._pictures = ProgramPictures()
        self._making: Iterator[None] | None = None  # remaining steps before the panels or the labels can be drawn
        self._shown: DrawnPicture | None = None  # in the last frame

    @property
    def covers(self) -> Callable[[float, float], bool]:
        """Function of a pixel: true if a shown panel covers it."""
        return self.panel.covers if self.panel is not None and self._loop.controls.overlay else covers_nothing

    @property
    def is_being_made(self) -> bool:
        """True if the panels are wanted and not complete yet, so that the next frames will differ."""
        is_wanted = self._loop.controls.overlay and self.panel is None
        return self._making is not None or (is_wanted and not self._loop.is_starting)

    def make_panel(self) -> None:
        """Begins making the panels between the next frames. Their library must have been loaded."""
        if self.panel is None and self._making is None:
            self._making = self._panel_steps()

    def draw(self, shown: DrawnPicture | None, events: list[Event], size_px: tuple[int, int]) -> bool:
        """Draws panels and labels into the framebuffer in use and obeys the mouse on them; False: nothing was drawn.

        shown: the picture of this frame, None before the first snapshot. events: of this frame. size_px: of the
        framebuffer.
        """
        self._shown = shown
        panel = self._shown_panel()
        words = (
            self._loop.stage.labels
            if panel is not None
            else self._loop.stage.labels + self._labels_without_panels(size_px)
        )
        if texts := self._texts(size_px, panel is not None):
            words = [*words, *texts]
        if words:
            self._draw_words(words, size_px)
        has_pictures = self._draw_pictures(size_px, panel is not None)
        if panel is not None:
            self._draw_panel(panel, events, size_px)
        elif self.panel is not None and events:
            self.panel.pass_hidden_events(events, self._display.content_scale)
        if not words and not has_pictures:
            self._loop.stage.renderer.mark_covered(() if panel is None else panel.covered)
        return bool(words) or has_pictures or panel is not None

    def make_some(self) -> bool:
        """Does one step of making panels or labels that are not ready; False if all are.

        Call it between two frames: it draws into the framebuffer in use.
        """
        if self._making is None:
            return False
        if next(self._making, self) is self:
            self._making = None
        self._loop.stage.renderer.invalidate()
        return True

    def redraw_early(self, until_ns: int) -> bool:
        """Does the steps of a redraw of the panels' sheet that are due and expected to end by `until_ns`; False: none.

        Changes no pixel of a frame, not even of one that was drawn but is not presented yet.
        """
        if self._making is not None or self.panel is None or not self._loop.controls.overlay:
            return False
        size_px, scale = self._display.framebuffer_size, self._display.content_scale
        is_done = False
        while self.panel.redraw_early(self._loop, size_px, scale, until_ns, self._facts):
            is_done = True
        return is_done

    def note(self, row: FrameRow, newest: Head | None) -> None:
        """Adds a presented frame to the figures of the panels."""
        if self.panel is not None:
            self.panel.note(row, newest)

    def be_sparing(self, sparing: bool) -> None:
        """Sets whether the panels are redrawn less often, to leave the core to physics."""
        if self.panel is not None:
            self.panel.be_sparing(sparing)

    def follow(self, link: Link) -> None:
        """Shows the figures of another simulation from now on."""
        if self.panel is not None:
            self.panel.follow(link)

    def close(self) -> None:
        """Waits for the import. Does not call OpenGL."""
        self._library.close()

    def release(self) -> None:
        """Releases all OpenGL objects."""
        for overlay in (self._labels, self.panel):
            if overlay is not None:
                overlay.close()
        self._pictures.release()

    def _shown_panel(self) -> Panel | None:
        """The panels; None while they are hidden, or not ready."""
        if not self._loop.controls.overlay:
            return None
        if self.panel is None and not self._loop.is_starting and self._library.is_loaded:
            self.make_panel()
        return self.panel

    def _labels_without_panels(self, size_px: tuple[int, int]) -> list[PlacedLabel]:
        """Labels of the two halves and the note of the last key, which are shown without the panels, too."""
        loop, scale = self._loop, self._display.content_scale
        halves, note = loop.stage.split_labels, self.key_note
        if (halves is None and not note) or loop.is_starting or not self._library.is_loaded:
            return []
        if self._labels is None:
            self._making = self._making or self._words_steps()
            return []
        words = [] if halves is None else head(halves, side_by_side(size_px, 2), size_px[1], scale)
        return [*words, foot(note, size_px, scale)] if note else words

    def _texts(self, size_px: tuple[int, int], has_panel: bool) -> list[PlacedLabel]:
        """Texts of the program, below and above the panels where those are shown."""
        texts = self._loop.link.status.get("texts")
        if not texts or self._loop.is_starting or not self._library.is_loaded:
            return []
        room = (TOP_HEIGHT, KEYS_HEIGHT) if has_panel else (0.0, 0.0)
        return at_borders(texts, size_px, self._display.content_scale, room)

    def _draw_pictures(self, size_px: tuple[int, int], has_panel: bool) -> bool:
        """Draws images and figures of the program; False without any."""
        if self._loop.is_starting:
            return False
        received, scale = self._loop.link.received, self._display.content_scale
        self._pictures.take_images(received.images)
        if not received.figures or self._library.is_loaded:
            self._pictures.take_figures(received.figures, scale)
        return self._pictures.draw(size_px, panel_places(size_px, scale) if has_panel else ())

    def _draw_panel(self, panel: Panel, events: list[Event], size_px: tuple[int, int]) -> None:
        draw_time_ns = self._loop.record.last.draw_time_ns
        keys = panel.draw(self._loop, events, size_px, self._display.content_scale, self._facts)
        if keys:
            self._input.press_all(keys, self._loop.timer.now_ns(), draw_time_ns)
        self._input.turn(panel.turned(draw_time_ns))

    def _draw_words(self, words: list[PlacedLabel], size_px: tuple[int, int]) -> None:
        if self._labels is None:
            from twixt.render.overlay.imgui_context import LabelOverlay

            self._labels = LabelOverlay()
        self._labels.draw(words, size_px, self._display.content_scale)

    def _facts(self) -> PictureFacts:
        from twixt.render.overlay.panel_state import PictureFacts

        loop, shown = self._loop, self._shown
        present_ns, stage = loop.record.last.present_ns, loop.stage
        ages_ms = {} if shown is None else {n: (present_ns - due) / 1e6 for n, due in shown.group_due_ns.items()}
        notices = (self.notice,) if self.notice else ()
        return PictureFacts(stage.history.thinned, ages_ms, stage.split_labels, stage.messages + notices)

    # -- steps between frames: each frame begins by clearing the picture, so that trial drawing is never visible

    def _panel_steps(self) -> Iterator[None]:
        from twixt.render.overlay.panel_state import Panel

        panel = Panel(self._loop.link, self._pacing, self._loop.timer.now_ns)
        yield
        yield from panel.prepare(self._loop, self._display.framebuffer_size, self._display.content_scale, self._facts)
        self.panel = panel

    def _words_steps(self) -> Iterator[None]:
        from twixt.render.overlay.imgui_context import LabelOverlay

        labels, size_px = LabelOverlay(), self._display.framebuffer_size
        yield
        labels.draw([foot(self.key_note or "0", size_px, self._display.content_scale)], size_px)
        self._labels = self._labels or labels
