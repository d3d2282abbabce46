"""Draws images and figures of the program over the picture. Each image or figure is at its requested place, or at the
nearest place that the panels leave free.

Always: a figure is laid out only once, in the frame after it arrived. Every frame draws each figure as one textured
rectangle. If there is something to show, the functions need a current OpenGL context.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.interaction.overlay import OverlayFigure, OverlayImage, Rect
from twixt.render.draw.flat.rectangles import ImageRectangles, Rectangle
from twixt.render.overlay.panel_layout import PANEL_WIDTH
from twixt.render.overlay.widgets import MARGIN

if TYPE_CHECKING:
    from twixt.render.overlay.imgui_context import FigureOverlay


# Longest side, in pixels, of the texture into which a figure is drawn. If a figure is larger on the screen, its
# texture is stretched.
LONGEST_PX = 4096


class ProgramPictures:
    """Images and figures of one program. are_shown: True if the last `draw` drew at least one of them."""

    def __init__(self) -> None:
        self._images, self._figures = _Shown(), _Shown()
        self._overlay: FigureOverlay | None = None
        self._scale = 0.0
        self.are_shown = False

    def set_images_shown(self, images: Sequence[OverlayImage]) -> None:
        """Sets the images to show from now on."""
        if images is not self._images.source:
            self._images.source = images
            self._images.rectangles.set_images([image.pixels for image in images])

    def set_figures_shown(self, figures: Sequence[OverlayFigure], scale: float) -> None:
        """Sets the figures to show from now on. The library that draws figures must be loaded. scale: pixels per unit
        of text size."""
        if figures is self._figures.source and scale == self._scale:
            return
        self._scale = scale
        self._figures.source = figures
        self._figures.rectangles.set_images(())
        for figure in figures:
            if self._overlay is None:
                from twixt.render.overlay.imgui_context import FigureOverlay

                self._overlay = FigureOverlay()
            size_px = min(figure.rect[2], LONGEST_PX), min(figure.rect[3], LONGEST_PX)
            with self._figures.rectangles.drawing(size_px):
                self._overlay.draw(figure, size_px, scale)

    def draw(self, size_px: tuple[int, int], reserved: tuple[Rectangle, ...]) -> bool:
        """Draws all images and figures over the current framebuffer. Moves them off the rectangles `reserved`.
        size_px: size of the framebuffer. Returns False if there are no images and no figures."""
        shown = [each for each in (self._figures, self._images) if each.source]
        wanted = tuple(_from_top(one.rect, size_px[1]) for each in shown for one in each.source)
        places = clear_places(wanted, reserved, size_px)
        for each in shown:
            own, places = places[: len(each.source)], places[len(each.source) :]
            each.rectangles.draw(own, size_px)
        self.are_shown = bool(shown)
        return self.are_shown

    def release(self) -> None:
        """Releases textures and ImGui contexts."""
        for each in (self._images, self._figures):
            each.release()
        if self._overlay is not None:
            self._overlay.close()
            self._overlay = None


class _Shown:
    """Images or figures as received, and their textures. The textures are made at the first use."""

    def __init__(self) -> None:
        self.source: Sequence[OverlayImage | OverlayFigure] = ()
        self._rectangles: ImageRectangles | None = None

    @property
    def rectangles(self) -> ImageRectangles:
        """Textures in the order of `source`."""
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


# Finds free places for the program's rectangles, beside the panels of twixt.
#
# A rectangle stays at its requested place unless a panel is there. If a panel is there, the rectangle moves to the
# nearest free place. At a free place it overlaps no panel, and no rectangle that it did not overlap at its requested
# place. If there is no free place, the rectangle does not move.
#
# Pure. The reserved places do not depend on the panels' content, so images and figures do not jump when the content
# changes.


# Heights in units of text size. TOP_HEIGHT: height of a panel in a top corner whose sections are all closed.
# KEYS_HEIGHT: height of the panel with the keys.
TOP_HEIGHT, KEYS_HEIGHT = 216.0, 56.0
# A number larger than any distance in a window, in pixels.
LARGEST = 1 << 40


def panel_places(size_px: tuple[int, int], scale: float) -> tuple[Rectangle, ...]:
    """Rectangles that are reserved for the panels, with all sections of the panels closed. size_px: size of the
    window. scale: pixels per unit of text size."""
    width_px, height_px = size_px
    across = min(round((MARGIN + PANEL_WIDTH) * scale), width_px // 2)
    top, keys = round((MARGIN + TOP_HEIGHT) * scale), round(KEYS_HEIGHT * scale)
    return (
        Rectangle(0, 0, across, top),
        Rectangle(width_px - across, 0, width_px, top),
        Rectangle(0, height_px - keys, width_px, height_px),
    )


@lru_cache(maxsize=4)
def clear_places(
    wanted: tuple[Rectangle, ...], reserved: tuple[Rectangle, ...], size_px: tuple[int, int]
) -> tuple[Rectangle, ...]:
    """Returns the rectangles `wanted`. Each of them is moved off the rectangles `reserved` if there is room in the
    window. size_px: size of the window."""
    placed: list[Rectangle] = []
    for number, one in enumerate(wanted):
        others = (placed[at] for at in range(number) if not _overlap(wanted[at], one))
        placed.append(_nearest(one, [*reserved, *others], size_px))
    return tuple(placed)


def _nearest(wanted: Rectangle, taken: list[Rectangle], size_px: tuple[int, int]) -> Rectangle:
    if not taken:
        return wanted
    left, top, right, bottom = np.array(taken).T[..., None, None]
    width, height = wanted.right_px - wanted.left_px, wanted.bottom_px - wanted.top_px
    across = _tried(wanted.left_px, width, left, right, size_px[0])[:, None]
    down = _tried(wanted.top_px, height, top, bottom, size_px[1])[None, :]
    is_taken = (across < right) & (left < across + width) & (down < bottom) & (top < down + height)
    distance = np.abs(across - wanted.left_px) + np.abs(down - wanted.top_px)
    column, row = np.unravel_index(np.where(is_taken.any(axis=0), LARGEST, distance).argmin(), distance.shape)
    if is_taken[:, column, row].any():
        return wanted
    x, y = int(across[column, 0]), int(down[0, row])
    return Rectangle(x, y, x + width, y + height)


def _tried(
    wanted: int, length: int, starts: NDArray[np.int64], ends: NDArray[np.int64], most: int
) -> NDArray[np.int64]:
    """Start positions to try for an interval of `length` along one axis. These are the requested position, and the
    positions directly before or after another rectangle. A position is left out if the interval would not lie
    within the window (0 to `most`)."""
    beside = np.concatenate([starts.ravel() - length, ends.ravel()])
    return np.append(wanted, beside[(beside >= 0) & (beside <= most - length)])


def _overlap(one: Rectangle, other: Rectangle) -> bool:
    return (
        one.left_px < other.right_px
        and other.left_px < one.right_px
        and one.top_px < other.bottom_px
        and other.top_px < one.bottom_px
    )
