"""Words in the picture, drawn in every frame with the overlay's library, whether the overlay is shown or not.

An ImGui context of its own: words follow what moves in every frame, while the overlay's panels are laid out a few
times a second. Words that stand where they stood are not laid out anew. Import this module late: it pulls in imgui-bundle.
Draws into the framebuffer in use; OpenGL's state is as before when it returns.
"""

from __future__ import annotations

from collections.abc import Iterable

from twixt.render.labels import PlacedLabel
from twixt.render.overlay.context import begin, close_context, imgui, new_context

# Behind each word, one pixel off: words are read over anything.
SHADE = (0, 0, 0, 190)
# From a label's place to its words, so that they stand beside it. In units of text size.
BESIDE = (6.0, -7.0)


class LabelOverlay:
    """Needs a current OpenGL 3.3 context; `close` it while that still is."""

    def __init__(self) -> None:
        self._context = new_context()
        self._laid_out: tuple[tuple[PlacedLabel, ...], tuple[int, int], float] | None = None

    def draw(self, labels: Iterable[PlacedLabel], size_px: tuple[int, int], scale: float = 1.0) -> None:
        """Draws them in their order. size_px: of the framebuffer; scale: its pixels per unit of text size."""
        imgui.set_current_context(self._context)
        asked = tuple(labels), size_px, scale
        if asked != self._laid_out:
            self._lay_out(*asked)
            self._laid_out = asked
        imgui.backends.opengl3_render_draw_data(imgui.get_draw_data())

    def close(self) -> None:
        """Gives everything back."""
        close_context(self._context)

    def _lay_out(self, labels: tuple[PlacedLabel, ...], size_px: tuple[int, int], scale: float) -> None:
        begin(size_px, scale)
        words = imgui.get_background_draw_list()
        for label in labels:
            x, y = label.x_px / scale + BESIDE[0], label.y_px / scale + BESIDE[1]
            if label.within_px is not None:
                left, top, right, bottom = (length / scale for length in label.within_px)
                words.push_clip_rect(imgui.ImVec2(left, top), imgui.ImVec2(right, bottom))
            words.add_text(imgui.ImVec2(x + 1, y + 1), imgui.IM_COL32(*SHADE), label.text)
            words.add_text(imgui.ImVec2(x, y), imgui.IM_COL32(*label.color), label.text)
            if label.within_px is not None:
                words.pop_clip_rect()
        imgui.render()
