"""Draws rectangles over the picture: images, and dim rectangles ("panes") behind the overlay's text.

The panes are drawn by this module and not by the overlay's library. The library's only shader reads a texture for every
pixel. For three panels, these reads are half of the overlay's cost in software rendering.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

_VERTEX = """#version 330 core
uniform vec4 corners;  // left, bottom, right, top, -1..1
void main() {
    vec2 at = vec2((gl_VertexID & 1) == 0 ? corners.x : corners.z, (gl_VertexID >> 1) == 0 ? corners.y : corners.w);
    gl_Position = vec4(at, 0.0, 1.0);
}
"""
_FRAGMENT = "#version 330 core\nuniform vec4 tint;\nout vec4 color;\nvoid main() { color = tint; }\n"

# Colour of panes: red, green, blue, alpha. Each number is a multiple of 1/255, so that all programs that draw the
# colour round it to the same value.
TINT = (13 / 255, 14 / 255, 17 / 255, 168 / 255)


class Pane(NamedTuple):
    """A rectangle. Its coordinates are in pixels, counted from the top left of the window."""

    left_px: float
    top_px: float
    width_px: float
    height_px: float


class Rectangle(NamedTuple):
    """A rectangle of whole pixels, counted from the top left of the window. The pixels in column right_px and in row
    bottom_px are not part of the rectangle."""

    left_px: int
    top_px: int
    right_px: int
    bottom_px: int


def whole_pixels(panes: Iterable[Pane], size_px: tuple[int, int]) -> tuple[Rectangle, ...]:
    """Converts panes to whole pixels. Each rectangle contains the pixels of the window whose centres lie in the pane. A
    pane without such pixels is left out."""
    width_px, height_px = size_px
    found = []
    for left, top, width, height in panes:
        rectangle = Rectangle(
            max(0, _first(left)), max(0, _first(top)),
            min(width_px, _first(left + width)), min(height_px, _first(top + height)),
        )  # fmt: skip
        if rectangle.left_px < rectangle.right_px and rectangle.top_px < rectangle.bottom_px:
            found.append(rectangle)
    return tuple(found)


def _first(edge_px: float) -> int:
    """Returns the first pixel whose centre is at this edge or after it."""
    return math.ceil(edge_px - 0.5)


class Panes:
    """Draws panes with the current OpenGL context."""

    def __init__(self) -> None:
        self._context = moderngl.get_context()
        self._program = self._context.program(vertex_shader=_VERTEX, fragment_shader=_FRAGMENT)
        self._program["tint"] = TINT
        self._vertex_array = self._context.vertex_array(self._program, [])

    def draw(self, rectangles: Sequence[Rectangle], size_px: tuple[int, int]) -> None:
        """Dims these areas of the current framebuffer."""
        context = self._context
        context.fbo.viewport = (0, 0, *size_px)
        context.enable_only(moderngl.BLEND)
        context.blend_func = (  # type: ignore[assignment]
            moderngl.SRC_ALPHA, moderngl.ONE_MINUS_SRC_ALPHA, moderngl.ONE, moderngl.ONE_MINUS_SRC_ALPHA
        )  # fmt: skip
        width_px, height_px = size_px
        for left, top, right, bottom in rectangles:
            self._program["corners"] = (
                2 * left / width_px - 1, 1 - 2 * bottom / height_px, 2 * right / width_px - 1, 1 - 2 * top / height_px
            )  # fmt: skip
            self._vertex_array.render(moderngl.TRIANGLE_STRIP, vertices=4)


# This code draws images over the picture. The images are textures in rectangles of the window.
#
# `set_images` uploads the pixels once. If the new image has the same size, the texture is reused.


_IMAGE_VERTEX = """#version 330 core
uniform vec4 corners;  // left, bottom, right, top, -1..1
uniform bool begins_below;  // the texture's first row is the lowest row of the image
out vec2 at;
void main() {
    vec2 share = vec2(gl_VertexID & 1, gl_VertexID >> 1);
    gl_Position = vec4(mix(corners.xy, corners.zw, share), 0.0, 1.0);
    at = vec2(share.x, begins_below ? share.y : 1.0 - share.y);
}
"""
_IMAGE_FRAGMENT = """#version 330 core
uniform sampler2D shown;
in vec2 at;
out vec4 color;
void main() { color = texture(shown, at); }
"""
# Number of components of a texture into which a picture is drawn: red, green, blue and alpha. A texture that is made
# from given pixels has no alpha.
DRAWN_COMPONENTS = 4


class ImageRectangles:
    """Draws textures in rectangles of the window, with the current OpenGL context."""

    def __init__(self) -> None:
        self._context = moderngl.get_context()
        self._program = self._context.program(vertex_shader=_IMAGE_VERTEX, fragment_shader=_IMAGE_FRAGMENT)
        self._vertex_array = self._context.vertex_array(self._program, [])
        self._textures: list[moderngl.Texture] = []

    def set_images(self, images: Sequence[NDArray[np.uint8]]) -> None:
        """Sets the images that the next `draw` shows. Each image has shape (rows, columns, 3) and begins with its top
        row."""
        unused = self._textures
        self._textures = [self._texture_of(pixels, unused.pop(0) if unused else None) for pixels in images]
        for texture in unused:
            texture.release()

    @contextmanager
    def drawing(self, size_px: tuple[int, int]) -> Iterator[None]:
        """Context manager that adds an image of this size. What is drawn inside the context goes into the image. The
        image's colours are premultiplied by alpha."""
        in_use = self._context.fbo
        made = self._context.texture(size_px, DRAWN_COMPONENTS)
        made.repeat_x = made.repeat_y = False
        framebuffer = self._context.framebuffer([made])
        framebuffer.use()
        framebuffer.clear()
        try:
            yield
        finally:
            in_use.use()
            framebuffer.release()
        self._textures.append(made)

    def draw(self, rectangles: Iterable[Rectangle], size_px: tuple[int, int]) -> None:
        """Draws each image over its rectangle of the current framebuffer. Later images cover earlier images."""
        context = self._context
        context.fbo.viewport = (0, 0, *size_px)
        context.enable_only(moderngl.BLEND)
        context.blend_func = moderngl.ONE, moderngl.ONE_MINUS_SRC_ALPHA
        width_px, height_px = size_px
        for (left, top, right, bottom), texture in zip(rectangles, self._textures, strict=True):
            # If the sizes are equal, each pixel is copied exactly. This also holds with the rounding of software
            # rendering.
            is_whole = texture.size == (right - left, bottom - top)
            texture.filter = (moderngl.NEAREST, moderngl.NEAREST) if is_whole else (moderngl.LINEAR, moderngl.LINEAR)
            texture.use(0)
            self._program["begins_below"] = texture.components == DRAWN_COMPONENTS
            self._program["corners"] = (
                2 * left / width_px - 1, 1 - 2 * bottom / height_px, 2 * right / width_px - 1, 1 - 2 * top / height_px
            )  # fmt: skip
            self._vertex_array.render(moderngl.TRIANGLE_STRIP, vertices=4)

    def release(self) -> None:
        """Releases the textures' memory."""
        self.set_images(())

    def _texture_of(self, pixels: NDArray[np.uint8], before: moderngl.Texture | None) -> moderngl.Texture:
        size = pixels.shape[1], pixels.shape[0]
        if before is not None and before.size == size:
            before.write(pixels, alignment=1)
            return before
        if before is not None:
            before.release()
        made = self._context.texture(size, 3, pixels, alignment=1)
        made.repeat_x = made.repeat_y = False
        return made
