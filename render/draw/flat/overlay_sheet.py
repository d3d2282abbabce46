"""Caches a picture of the overlay. The picture is drawn when the overlay changes, and is blended over each frame.

The overlay covers a small area of the window and seldom changes. So it is drawn into a texture. For each pixel of the
overlay's rectangles, a frame then needs one texture read and one blend. The rest of the window needs no work.

The texture's colours are premultiplied by their alpha. So blending the texture over a frame gives the same pixels as
drawing the overlay over the frame, except for 8-bit rounding. `drawing` restores the current framebuffer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import moderngl
import numpy as np

from twixt.render.draw.flat.rectangles import Rectangle

_VERTEX = """#version 330 core
in vec4 corner;  // x, y: -1..1; z, w: the same place in the texture, 0..1
noperspective out vec2 at;
void main() {
    gl_Position = vec4(corner.xy, 0.0, 1.0);
    at = corner.zw;
}
"""
# Each pixel reads one texel. In software rendering, `noperspective` saves one division for each pixel.
_FRAGMENT = """#version 330 core
uniform sampler2D sheet;
noperspective in vec2 at;
out vec4 color;
void main() { color = texture(sheet, at); }
"""


class Page(NamedTuple):
    """One of the sheet's two textures, and the framebuffer through which this texture is drawn."""

    texture: moderngl.Texture
    framebuffer: moderngl.Framebuffer


class Sheet:
    """The overlay's textures. They are made in the current OpenGL context. Call `release` while this context is
    current."""

    def __init__(self) -> None:
        context = self._context = moderngl.get_context()
        self._program = context.program(vertex_shader=_VERTEX, fragment_shader=_FRAGMENT)
        # `drawing` draws into the first page, then swaps the two pages. Frames read from the second page. If frames
        # read from the first page, llvmpipe would have to complete all draws of the frame before `drawing` could draw.
        self._pages: tuple[Page, Page] | None = None
        self._corners: moderngl.Buffer | None = None
        self._vertex_array: moderngl.VertexArray | None = None
        self._rectangles: tuple[Rectangle, ...] = ()

    @property
    def rectangles(self) -> tuple[Rectangle, ...]:
        """The rectangles of the window over which the sheet is drawn."""
        return self._rectangles

    @contextmanager
    def drawing(
        self, size_px: tuple[int, int], rectangles: Sequence[Rectangle], tint: tuple[float, float, float, float]
    ) -> Iterator[None]:
        """Context manager: what is drawn inside it goes into the sheet.

        rectangles: the areas of the sheet that are shown. These areas are first filled with the colour `tint`, rgba
        from 0 to 1.
        """
        in_use = self._context.fbo
        drawn, shown = self._pages_of(size_px)
        red, green, blue, alpha = tint
        drawn.framebuffer.use()
        try:
            for left, top, right, bottom in rectangles:
                at = left, size_px[1] - bottom, right - left, bottom - top
                drawn.framebuffer.clear(alpha * red, alpha * green, alpha * blue, alpha, viewport=at)
            yield
            self._pages = shown, drawn
            self._place(tuple(rectangles), size_px)
        finally:
            in_use.use()

    def blend(self, size_px: tuple[int, int]) -> None:
        """Blends the sheet over the current framebuffer. size_px: size of the window, the same as for `drawing`."""
        if not self._rectangles or self._vertex_array is None or self._pages is None:
            return
        context = self._context
        context.fbo.viewport = (0, 0, *size_px)
        context.enable_only(moderngl.BLEND)
        context.blend_func = moderngl.ONE, moderngl.ONE_MINUS_SRC_ALPHA
        self._pages[1].texture.use(0)
        self._vertex_array.render(moderngl.TRIANGLES, vertices=6 * len(self._rectangles))

    def complete(self) -> None:
        """Waits until all draws are complete."""
        self._context.finish()

    def release(self) -> None:
        """Releases the textures' memory. `drawing` creates the textures again."""
        for page in self._pages or ():
            page.framebuffer.release()
            page.texture.release()
        self._pages = None
        self._rectangles = ()

    def _pages_of(self, size_px: tuple[int, int]) -> tuple[Page, Page]:
        if self._pages is None or self._pages[0].texture.size != size_px:
            self.release()
            self._pages = self._page(size_px), self._page(size_px)
        return self._pages

    def _page(self, size_px: tuple[int, int]) -> Page:
        texture = self._context.texture(size_px, 4)
        texture.filter = moderngl.NEAREST, moderngl.NEAREST
        texture.repeat_x = texture.repeat_y = False
        return Page(texture, self._context.framebuffer([texture]))

    def _place(self, rectangles: tuple[Rectangle, ...], size_px: tuple[int, int]) -> None:
        if rectangles == self._rectangles:
            return
        self._rectangles = rectangles
        corners = np.array([corner for each in rectangles for corner in _triangles(each, size_px)], "f4")
        if self._corners is None or self._corners.size < corners.nbytes:
            self._corners = self._context.buffer(reserve=max(4096, 2 * corners.nbytes), dynamic=True)
            self._vertex_array = self._context.vertex_array(self._program, [(self._corners, "4f", "corner")])
        if rectangles:
            self._corners.write(corners)


def _triangles(rectangle: Rectangle, size_px: tuple[int, int]) -> list[tuple[float, float, float, float]]:
    """Returns the corners of a rectangle's two triangles, in the format of the vertex shader's input `corner`."""
    left, right = rectangle.left_px / size_px[0], rectangle.right_px / size_px[0]
    top, bottom = 1 - rectangle.top_px / size_px[1], 1 - rectangle.bottom_px / size_px[1]
    places = (left, bottom), (right, bottom), (left, top), (left, top), (right, bottom), (right, top)
    return [(2 * x - 1, 2 * y - 1, x, y) for x, y in places]
