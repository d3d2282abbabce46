"""A picture of the window's size that is drawn now and then, and laid over each frame.

The one idea: what covers a part of the window and changes seldom is drawn into a texture; a frame then costs one
texture read and one blend for each pixel of the rectangles that hold something, and the rest of the window nothing.
Where a processor draws, rectangles over what does not move are copied instead: software/still_panels.py.

Always: the texture's colours are multiplied by their alpha already, so that laying it over a frame gives what drawing
over that frame would have given, within the rounding of 8 bits. `drawing` leaves the framebuffer in use as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import moderngl
import numpy as np

from twixt.render.draw.panes import Rectangle
from twixt.render.draw.software.beneath import Beneath
from twixt.render.draw.software.still_panels import StillPanels, pieces_of

_VERTEX = """#version 330 core
in vec4 corner;  // x, y: -1..1; z, w: the same place in the texture, 0..1
noperspective out vec2 at;
void main() {
    gl_Position = vec4(corner.xy, 0.0, 1.0);
    at = corner.zw;
}
"""
# Every pixel gets its own texel: without perspective the software renderer spares a division for each.
_FRAGMENT = """#version 330 core
uniform sampler2D sheet;
noperspective in vec2 at;
out vec4 color;
void main() { color = texture(sheet, at); }
"""


class Sheet:
    """One texture, made with the OpenGL context that is current. `release` it while that still is."""

    def __init__(self) -> None:
        context = self._context = moderngl.get_context()
        self._program = context.program(vertex_shader=_VERTEX, fragment_shader=_FRAGMENT)
        self._texture: moderngl.Texture | None = None
        # What is laid: read from the texture that is drawn into, llvmpipe would first complete all that the frame has drawn.
        self._shown: moderngl.Texture | None = None
        self._framebuffer: moderngl.Framebuffer | None = None
        self._corners: moderngl.Buffer | None = None
        self._vertex_array: moderngl.VertexArray | None = None
        self._rectangles: tuple[Rectangle, ...] = ()
        self._pieces: tuple[Rectangle, ...] = ()  # of the rectangles, as they are drawn
        self._version = 0  # of what it holds
        self._still = StillPanels()
        self._laid_in: tuple[moderngl.Framebuffer, tuple[int, int]] | None = None  # by the last `lay`, until `settle`

    @property
    def rectangles(self) -> tuple[Rectangle, ...]:
        """What is laid over a frame."""
        return self._rectangles

    @contextmanager
    def drawing(
        self, size_px: tuple[int, int], rectangles: Sequence[Rectangle], tint: tuple[float, float, float, float]
    ) -> Iterator[None]:
        """Inside, drawing goes into the sheet, which has this tint (rgba) in these rectangles; only they will be shown."""
        in_use = self._context.fbo
        self._fit(size_px)
        self._place(tuple(rectangles), size_px)
        assert self._framebuffer is not None
        red, green, blue, alpha = tint
        self._version += 1
        self._framebuffer.use()
        try:
            for left, top, right, bottom in rectangles:
                at = left, size_px[1] - bottom, right - left, bottom - top
                self._framebuffer.clear(alpha * red, alpha * green, alpha * blue, alpha, viewport=at)
            yield
            assert self._shown is not None
            self._context.copy_framebuffer(self._shown, self._framebuffer)
        finally:
            in_use.use()

    def lay(self, size_px: tuple[int, int], beneath: Beneath | None = None) -> None:
        """Lays it over the framebuffer in use, a window of the size in which it was drawn.

        beneath: what is known of the picture there. With it, `settle` belongs to the frame.
        """
        if not self._rectangles or self._vertex_array is None or self._shown is None:
            return
        context = self._context
        target = context.fbo
        numbers = self._still.blended(self._pieces, self._version, beneath, size_px, target.glo)
        self._laid_in = None if beneath is None else (target, size_px)
        if not numbers:
            return
        target.viewport = (0, 0, *size_px)
        context.enable_only(moderngl.BLEND)
        context.blend_func = moderngl.ONE, moderngl.ONE_MINUS_SRC_ALPHA
        self._shown.use(0)
        first = numbers[0]
        for number, following in pairwise((*numbers, -1)):
            if following != number + 1:
                self._vertex_array.render(moderngl.TRIANGLES, vertices=6 * (number + 1 - first), first=6 * first)
                first = following

    def settle(self) -> None:
        """Brings what `lay` left to be copied, into the framebuffer of then, when all that was drawn is complete."""
        if self._laid_in is not None:
            self._still.settle(*self._laid_in)
            self._laid_in = None

    def complete(self) -> None:
        """Waits until what was drawn is complete."""
        self._context.finish()

    def release(self) -> None:
        """Gives the texture back; may be drawn into again."""
        for held in (self._framebuffer, self._texture, self._shown):
            if held is not None:
                held.release()
        self._framebuffer = self._texture = self._shown = None
        self._rectangles, self._pieces, self._laid_in = (), (), None
        self._still.release()

    def _fit(self, size_px: tuple[int, int]) -> None:
        if self._texture is not None and self._texture.size == size_px:
            return
        self.release()
        self._texture = self._context.texture(size_px, 4)
        self._shown = self._context.texture(size_px, 4)
        self._shown.filter = moderngl.NEAREST, moderngl.NEAREST
        self._shown.repeat_x = self._shown.repeat_y = False
        self._framebuffer = self._context.framebuffer([self._texture])

    def _place(self, rectangles: tuple[Rectangle, ...], size_px: tuple[int, int]) -> None:
        if rectangles == self._rectangles:
            return
        self._rectangles, self._pieces = rectangles, pieces_of(rectangles)
        corners = np.array([corner for each in self._pieces for corner in _triangles(each, size_px)], "f4")
        if self._corners is None or self._corners.size < corners.nbytes:
            self._corners = self._context.buffer(reserve=max(4096, 2 * corners.nbytes), dynamic=True)
            self._vertex_array = self._context.vertex_array(self._program, [(self._corners, "4f", "corner")])
        if rectangles:
            self._corners.write(corners)


def _triangles(rectangle: Rectangle, size_px: tuple[int, int]) -> list[tuple[float, float, float, float]]:
    """The corners of two triangles that make the rectangle, as the vertex shader takes them."""
    left, right = rectangle.left_px / size_px[0], rectangle.right_px / size_px[0]
    top, bottom = 1 - rectangle.top_px / size_px[1], 1 - rectangle.bottom_px / size_px[1]
    places = (left, bottom), (right, bottom), (left, top), (left, top), (right, bottom), (right, top)
    return [(2 * x - 1, 2 * y - 1, x, y) for x, y in places]
