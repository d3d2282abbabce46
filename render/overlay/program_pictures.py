"""Images and figures of the program over the picture, each where the program wants it or the panels leave room.

Always: a figure is laid out once, in the frame after it came; a frame without new ones costs a textured rectangle each.
Needs a current OpenGL context once there is something to show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from twixt.ipc.interaction.overlay_figures import OverlayFigure
from twixt.ipc.interaction.overlay_images import OverlayImage, Rect
from twixt.render.draw.flat.image_rectangles import ImageRectangles
from twixt.render.draw.flat.panel_backgrounds import Rectangle
from twixt.render.overlay.clear_places import clear_places

if TYPE_CHECKING:
    from twixt.render.overlay.figure_overlay import FigureOverlay

# Longest side of a figure that is drawn, pixels; a larger one is stretched.
LONGEST_PX = 4096


class ProgramPictures:
    """Images and figures of one program. are_shown: some were drawn last."""

    def __init__(self) -> None:
        self._images, self._figures = _Shown(), _Shown()
        self._overlay: FigureOverlay | None = None
        self._scale = 0.0
        self.are_shown = False

    def take_images(self, images: Sequence[OverlayImage]) -> None:
        """Shows these images from now on."""
        if images is not self._images.source:
            self._images.source = images
            self._images.rectangles.set_images([image.pixels for image in images])

    def take_figures(self, figures: Sequence[OverlayFigure], scale: float) -> None:
        """Shows these figures from now on; their library must have been loaded. scale: pixels per unit of text size."""
        if figures is self._figures.source and scale == self._scale:
            return
        self._scale = scale
        self._figures.source = figures
        self._figures.rectangles.set_images(())
        for figure in figures:
            if self._overlay is None:
                from twixt.render.overlay.figure_overlay import FigureOverlay

                self._overlay = FigureOverlay()
            size_px = min(figure.rect[2], LONGEST_PX), min(figure.rect[3], LONGEST_PX)
            with self._figures.rectangles.drawing(size_px):
                self._overlay.draw(figure, size_px, scale)

    def draw(self, size_px: tuple[int, int], reserved: tuple[Rectangle, ...]) -> bool:
        """Draws them over the framebuffer in use, of this size, clear of the places `reserved`; False without any."""
        shown = [each for each in (self._figures, self._images) if each.source]
        wanted = tuple(_from_top(one.rect, size_px[1]) for each in shown for one in each.source)
        places = clear_places(wanted, reserved, size_px)
        for each in shown:
            own, places = places[: len(each.source)], places[len(each.source) :]
            each.rectangles.draw(own, size_px)
        self.are_shown = bool(shown)
        return self.are_shown

    def release(self) -> None:
        """Releases textures and contexts."""
        for each in (self._images, self._figures):
            each.release()
        if self._overlay is not None:
            self._overlay.close()
            self._overlay = None


class _Shown:
    """Images or figures as they were received, and their textures, which are made with the first of them."""

    def __init__(self) -> None:
        self.source: Sequence[OverlayImage | OverlayFigure] = ()
        self._rectangles: ImageRectangles | None = None

    @property
    def rectangles(self) -> ImageRectangles:
        """Their textures, in the order of `source`."""
        if self._rectangles is None:
            self._rectangles = ImageRectangles()
        return self._rectangles

    def release(self) -> None:
        """Releases the textures."""
        if self._rectangles is not None:
            self._rectangles.release()


def _from_top(rect: Rect, height_px: int) -> Rectangle:
    left, bottom, width, height = rect
    return Rectangle(left, height_px - bottom - height, left + width, height_px - bottom)
