"""Images of the program over the picture, each where the program wants it or the panels leave room.

Always: a frame without new ones costs a textured rectangle each. Needs a current OpenGL context once there is something
to show.
"""

from __future__ import annotations

from collections.abc import Sequence

from twixt.ipc.interaction.overlay_images import OverlayImage, Rect
from twixt.render.draw.flat.image_rectangles import ImageRectangles
from twixt.render.draw.flat.panel_backgrounds import Rectangle
from twixt.render.overlay.clear_places import clear_places


class ProgramPictures:
    """Images of one program."""

    def __init__(self) -> None:
        self._rectangles: ImageRectangles | None = None
        self._images: Sequence[OverlayImage] = ()

    def draw(self, images: Sequence[OverlayImage], size_px: tuple[int, int], reserved: tuple[Rectangle, ...]) -> bool:
        """Draws them over the framebuffer in use, of this size, clear of the places `reserved`; False without any."""
        if images is not self._images:
            self._images = images
            self._rectangles = self._rectangles or ImageRectangles()
            self._rectangles.take([image.pixels for image in images])
        if self._rectangles is None or not images:
            return False
        wanted = tuple(_from_top(image.rect, size_px[1]) for image in images)
        self._rectangles.draw(clear_places(wanted, reserved, size_px), size_px)
        return True

    def release(self) -> None:
        """Releases the textures."""
        if self._rectangles is not None:
            self._rectangles.release()


def _from_top(rect: Rect, height_px: int) -> Rectangle:
    left, bottom, width, height = rect
    return Rectangle(left, height_px - bottom - height, left + width, height_px - bottom)
