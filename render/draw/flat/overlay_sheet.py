"""Cached picture of the overlay, drawn when it changes and blended over each frame.

The one idea: the overlay covers a part of the window and changes seldom, so it is drawn into a texture. A frame then
costs one texture read and one blend for each pixel of the overlay's rectangles, and nothing for the rest of the window.
Where the CPU draws, rectangles over still parts of the picture are copied instead: `StillPanels`.

Always: the texture's colours are premultiplied by their alpha, so that blending it over a frame gives the same as
drawing over that frame, within the rounding of 8 bits. `drawing` restores the framebuffer in use.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations, pairwise
from typing import NamedTuple

import moderngl
import numpy as np

from twixt.render.draw.flat.panel_backdrop import PanelBackdrop
from twixt.render.draw.flat.panel_backgrounds import Rectangle
from twixt.render.draw.frame.frame_block import Viewport
from twixt.render.draw.software.kept_pixels import Pixels

_VERTEX = """#version 330 core
in vec4 corner;  // x, y: -1..1; z, w: the same place in the texture, 0..1
noperspective out vec2 at;
void main() {
    gl_Position = vec4(corner.xy, 0.0, 1.0);
    at = corner.zw;
}
"""
# Each pixel reads one texel. `noperspective` saves software drawing a division for each.
_FRAGMENT = """#version 330 core
uniform sampler2D sheet;
noperspective in vec2 at;
out vec4 color;
void main() { color = texture(sheet, at); }
"""
# Panels are checked in pieces no wider than this: if a ball is under one piece, the others can still be copied.
PIECE_PX = 180


def pieces_of(rectangles: Iterable[Rectangle]) -> tuple[Rectangle, ...]:
    """Splits rectangles into pieces up to PIECE_PX wide, from left to right."""
    pieces = []
    for left, top, right, bottom in rectangles:
        count = math.ceil((right - left) / PIECE_PX)
        ends = [left + (right - left) * number // count for number in range(count + 1)]
        pieces += [Rectangle(begin, top, end, bottom) for begin, end in pairwise(ends)]
    return tuple(pieces)


def runs_of(pieces: Iterable[Rectangle]) -> list[Rectangle]:
    """Joins pieces that touch side by side and have the same rows."""
    runs: list[Rectangle] = []
    for piece in pieces:
        last = runs[-1] if runs else None
        if last and last.right_px == piece.left_px and last[1::2] == piece[1::2]:
            runs[-1] = last._replace(right_px=piece.right_px)
        else:
            runs.append(piece)
    return runs


class StillPanels:
    """Copies of a sheet's rectangles over still parts of the picture."""

    def __init__(self) -> None:
        self._pixels: Pixels | None = None
        self._kept: dict[Rectangle, Hashable] = {}  # key of the pixels kept of each rectangle
        self._to_lay: list[Rectangle] = []
        self._to_take: list[tuple[Rectangle, Hashable]] = []
        self._looked_at: tuple[Rectangle, ...] = ()
        self._are_apart = True  # no two of `_looked_at` overlap

    def blended(
        self, rectangles: tuple[Rectangle, ...], version: int, beneath: PanelBackdrop | None, size_px: tuple[int, int],
        framebuffer: int,
    ) -> list[int]:  # fmt: skip
        """Indices of the rectangles to blend in this frame; `settle` copies the others.

        version: changes with the sheet's pixels. beneath: still parts of the picture, None if unknown. framebuffer:
        OpenGL name of the one that is drawn into.
        """
        self._to_lay, self._to_take = [], []
        if rectangles != self._looked_at:
            self._looked_at, self._are_apart = rectangles, _are_apart(rectangles)
        if beneath is None or not self._are_apart:
            return list(range(len(rectangles)))
        found = []
        for number, (rectangle, is_free) in enumerate(zip(rectangles, beneath.free(rectangles, size_px), strict=True)):
            key = version, beneath.key, size_px, framebuffer
            if is_free and self._kept.get(rectangle) == key:
                self._to_lay.append(rectangle)
                continue
            found.append(number)
            if is_free:
                self._to_take.append((rectangle, key))
        return found

    def settle(self, target: moderngl.Framebuffer, size_px: tuple[int, int]) -> None:
        """Copies the rectangles that `blended` left out, and keeps the pixels of newly blended still ones.

        Call it when all draws into this framebuffer, the one given to `blended`, are complete.
        """
        if not self._to_lay and not self._to_take:
            return
        if self._pixels is None or self._pixels.size_px != size_px or self._pixels.framebuffer != target.glo:
            self.release()
            self._pixels = Pixels(size_px, target.glo)
        for rectangle in runs_of(self._to_lay):
            part = _part(rectangle, size_px)
            self._pixels.lay(part, part[:2])
        for rectangle, key in self._to_take:
            part = _part(rectangle, size_px)
            self._pixels.take(part, part[:2])
            self._kept[rectangle] = key
        if len(self._kept) > 2 * len(self._to_lay + self._to_take):  # most are of panels that have changed since
            self._kept = {one: self._kept[one] for one in (*self._to_lay, *(taken for taken, _ in self._to_take))}
        self._to_lay, self._to_take = [], []
        target.use()

    def release(self) -> None:
        """Gives the memory back."""
        if self._pixels is not None:
            self._pixels.release()
        self._pixels = None
        self._kept.clear()


def _are_apart(rectangles: Sequence[Rectangle]) -> bool:
    return all(
        one.right_px <= other.left_px or other.right_px <= one.left_px
        or one.bottom_px <= other.top_px or other.bottom_px <= one.top_px
        for one, other in combinations(rectangles, 2)
    )  # fmt: skip


def _part(rectangle: Rectangle, size_px: tuple[int, int]) -> Viewport:
    left, top, right, bottom = rectangle
    return left, size_px[1] - bottom, right - left, bottom - top


class Page(NamedTuple):
    """One of a sheet's two textures, and the framebuffer that draws into it."""

    texture: moderngl.Texture
    framebuffer: moderngl.Framebuffer


class Sheet:
    """The overlay's textures, made with the current OpenGL context. Call `release` while that context is current."""

    def __init__(self) -> None:
        context = self._context = moderngl.get_context()
        self._program = context.program(vertex_shader=_VERTEX, fragment_shader=_FRAGMENT)
        # `drawing` draws into the first, then exchanges the two. Frames read the second: for a read of the page that is
        # drawn into, llvmpipe would first complete all draws of the frame.
        self._pages: tuple[Page, Page] | None = None
        self._corners: moderngl.Buffer | None = None
        self._vertex_array: moderngl.VertexArray | None = None
        self._rectangles: tuple[Rectangle, ...] = ()
        self._pieces: tuple[Rectangle, ...] = ()  # of the rectangles, as they are drawn
        self._version = 0  # of the pixels
        self._still = StillPanels()
        self._laid_in: tuple[moderngl.Framebuffer, tuple[int, int]] | None = None  # of the last `lay`, until `settle`

    @property
    def rectangles(self) -> tuple[Rectangle, ...]:
        """Rectangles that are drawn over a frame."""
        return self._rectangles

    @contextmanager
    def drawing(
        self, size_px: tuple[int, int], rectangles: Sequence[Rectangle], tint: tuple[float, float, float, float]
    ) -> Iterator[None]:
        """Context manager: draws inside it go into the sheet.

        rectangles: the parts that are shown, filled with tint, rgba 0..1.
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
            self._version += 1
            self._place(tuple(rectangles), size_px)
        finally:
            in_use.use()

    def lay(self, size_px: tuple[int, int], beneath: PanelBackdrop | None = None) -> None:
        """Blends the sheet over the framebuffer in use. size_px: of the window, as in `drawing`.

        beneath: still parts of the picture. If given, the frame must also call `settle`.
        """
        if not self._rectangles or self._vertex_array is None or self._pages is None:
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
        self._pages[1].texture.use(0)
        first = numbers[0]
        for number, following in pairwise((*numbers, -1)):
            if following != number + 1:
                self._vertex_array.render(moderngl.TRIANGLES, vertices=6 * (number + 1 - first), first=6 * first)
                first = following

    def settle(self) -> None:
        """Copies the rectangles that `lay` left out, into the same framebuffer, when all of its draws are complete."""
        if self._laid_in is not None:
            self._still.settle(*self._laid_in)
            self._laid_in = None

    def complete(self) -> None:
        """Waits until all draws are complete."""
        self._context.finish()

    def release(self) -> None:
        """Gives the textures' memory back; `drawing` makes new ones."""
        for page in self._pages or ():
            page.framebuffer.release()
            page.texture.release()
        self._pages = None
        self._rectangles, self._pieces, self._laid_in = (), (), None
        self._still.release()

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
        self._rectangles, self._pieces = rectangles, pieces_of(rectangles)
        corners = np.array([corner for each in self._pieces for corner in _triangles(each, size_px)], "f4")
        if self._corners is None or self._corners.size < corners.nbytes:
            self._corners = self._context.buffer(reserve=max(4096, 2 * corners.nbytes), dynamic=True)
            self._vertex_array = self._context.vertex_array(self._program, [(self._corners, "4f", "corner")])
        if rectangles:
            self._corners.write(corners)


def _triangles(rectangle: Rectangle, size_px: tuple[int, int]) -> list[tuple[float, float, float, float]]:
    """Corners of the two triangles of a rectangle, as the vertex shader's `corner`."""
    left, right = rectangle.left_px / size_px[0], rectangle.right_px / size_px[0]
    top, bottom = 1 - rectangle.top_px / size_px[1], 1 - rectangle.bottom_px / size_px[1]
    places = (left, bottom), (right, bottom), (left, top), (left, top), (right, bottom), (right, top)
    return [(2 * x - 1, 2 * y - 1, x, y) for x, y in places]
