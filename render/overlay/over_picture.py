"""What a frame shows over its picture: the panels, and words such as labels and what a key did.

The one idea: the library behind it is loaded on a thread, and what it needs is made in steps of some milliseconds
between two frames; until that is there, frames go on without it.

Always: of the panels nothing is made within a frame, so whoever asks for them sees no long one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from twixt.render.input import Event
from twixt.render.labels import PlacedLabel, foot, head
from twixt.render.picture.picture import Shown
from twixt.render.picture.stage import side_by_side
from twixt.render.pointer import covers_nothing
from twixt.render.start_up import OnDemand

if TYPE_CHECKING:
    from twixt.ipc.link import Link
    from twixt.ipc.snapshot import Head
    from twixt.render.draw.software.beneath import Beneath
    from twixt.render.frame_loop import FrameLoop
    from twixt.render.measure.frames import FrameRow
    from twixt.render.overlay.panel import More, Panel
    from twixt.render.overlay.words import LabelOverlay
    from twixt.render.steering import Steering


class OverPicture:
    """Of one frame loop. Needs the window's OpenGL context to be current."""

    def __init__(self, loop: FrameLoop, window: Any, steering: Steering, pacing: str) -> None:
        self.panel: Panel | None = None
        self._loop, self._window, self._steering, self._pacing = loop, window, steering, pacing
        self._library = OnDemand()
        self._labels: LabelOverlay | None = None
        self._making: Iterator[None] | None = None  # steps left until the panel, or what draws words, is there
        self._shown: Shown | None = None  # by the last frame

    @property
    def covers(self) -> Callable[[float, float], bool]:
        """Whether a panel that is shown lies over a pixel."""
        return self.panel.covers if self.panel is not None and self._loop.controls.overlay else covers_nothing

    @property
    def is_being_made(self) -> bool:
        """Whether the next frames are to show more of it."""
        is_wanted = self._loop.controls.overlay and self.panel is None
        return self._making is not None or (is_wanted and not self._loop.is_starting)

    def make_panel(self) -> None:
        """Has the panel made between the frames to come. Its library must have been loaded."""
        if self.panel is None and self._making is None:
            self._making = self._panel_steps()

    def draw(self, shown: Shown | None, events: list[Event], size_px: tuple[int, int]) -> bool:
        """Draws it over the picture in the framebuffer in use, and obeys what the mouse did on it; False: nothing was."""
        self._shown = shown
        panel = self._shown_panel()
        words = self._loop.stage.labels if panel is not None else self._loop.stage.labels + self._said(size_px)
        if words:
            self._draw_words(words, size_px)
        if panel is not None:
            self._draw_panel(panel, events, size_px, None if words else self._loop.stage.renderer.beneath)
        elif self.panel is not None and events:
            self.panel.pass_by(events, self._window.content_scale)
        return bool(words) or panel is not None

    def settle(self) -> None:
        """The frame's last part, when all that was drawn is complete."""
        if self.panel is not None:
            self.panel.settle()

    def in_spare_time(self, until_ns: int, is_long: bool) -> bool:
        """Between two frames: makes what is wanted and not there, else draws the panels anew where that is due soon.

        until_ns: when the next frame begins. is_long: that leaves time for more than what must be. True: something was
        done.
        """
        if self._making is not None:
            if next(self._making, self) is self:
                self._making = None
            return True
        if self.panel is None or not is_long or not self._loop.controls.overlay:
            return False
        size_px, scale = self._window.framebuffer_size, self._window.content_scale
        return self.panel.redraw_early(self._loop, size_px, scale, until_ns - time.perf_counter_ns(), self._more)

    def note(self, row: FrameRow, newest: Head | None) -> None:
        """Remembers a frame that was shown."""
        if self.panel is not None:
            self.panel.note(row, newest)

    def be_sparing(self, sparing: bool) -> None:
        """Whether the panels are drawn anew more seldom."""
        if self.panel is not None:
            self.panel.be_sparing(sparing)

    def follow(self, link: Link) -> None:
        """Of another simulation from now on."""
        if self.panel is not None:
            self.panel.follow(link)

    def close(self) -> None:
        """Nothing is loaded any more. Does not call OpenGL."""
        self._library.close()

    def release(self) -> None:
        """Gives back what OpenGL holds."""
        for overlay in (self._labels, self.panel):
            if overlay is not None:
                overlay.close()

    # -- parts of it

    def _shown_panel(self) -> Panel | None:
        """None while it is hidden, or is still being loaded or made."""
        if not self._loop.controls.overlay:
            return None
        if self.panel is None and not self._loop.is_starting and self._library.is_there:
            self.make_panel()
        return self.panel

    def _said(self, size_px: tuple[int, int]) -> list[PlacedLabel]:
        """What the two halves are, and what a key did: said without the panels, too."""
        loop, scale = self._loop, self._window.content_scale
        halves, note = loop.stage.split_labels, loop.note
        if (halves is None and not note) or loop.is_starting or not self._library.is_there:
            return []
        if self._labels is None:
            self._making = self._making or self._words_steps()
            return []
        words = [] if halves is None else head(halves, side_by_side(size_px, 2), size_px[1], scale)
        return [*words, foot(note, size_px, scale)] if note else words

    def _draw_panel(self, panel: Panel, events: list[Event], size_px: tuple[int, int], beneath: Beneath | None) -> None:
        draw_time_ns = self._loop.last.draw_time_ns
        keys = panel.draw(self._loop, events, size_px, self._window.content_scale, self._more, beneath)
        self._steering.press_all(keys, draw_time_ns)
        self._steering.turn(panel.turned(time.perf_counter_ns(), draw_time_ns))

    def _draw_words(self, words: list[PlacedLabel], size_px: tuple[int, int]) -> None:
        if self._labels is None:
            from twixt.render.overlay.words import LabelOverlay

            self._labels = LabelOverlay()
        self._labels.draw(words, size_px, self._window.content_scale)

    def _more(self) -> More:
        from twixt.render.overlay.panel import More

        loop, shown = self._loop, self._shown
        present_ns, stage = loop.last.present_ns, loop.stage
        ages_ms = {} if shown is None else {n: (present_ns - due) / 1e6 for n, due in shown.group_due_ns.items()}
        notices = (loop.notice,) if loop.notice else ()
        return More(stage.history.thinned, ages_ms, stage.split_labels, stage.messages + notices)

    # -- made between frames: the next one begins with a clear picture, so what is drawn for trial is never seen

    def _panel_steps(self) -> Iterator[None]:
        from twixt.render.overlay.panel import Panel

        panel = Panel(self._loop.link, self._pacing)
        yield
        yield from panel.get_ready(self._loop, self._window.framebuffer_size, self._window.content_scale, self._more)
        self.panel = panel

    def _words_steps(self) -> Iterator[None]:
        from twixt.render.overlay.words import LabelOverlay

        labels, size_px = LabelOverlay(), self._window.framebuffer_size
        yield
        labels.draw([foot(self._loop.note or "0", size_px, self._window.content_scale)], size_px)
        self._labels = self._labels or labels
