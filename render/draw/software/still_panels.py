"""Panels over parts of a picture that do not move: laid by copying pixels that were blended in a frame before.

The one idea: where neither the panel nor what is beneath it has changed, the pixels are those of the frame before. They
are kept when they were blended once, and a copy of memory puts them into each frame after, when all else is drawn; that
takes a tenth of the time of blending them.

Always: what is copied was blended of the same panel over the same picture. Where it is not known that nothing moves
beneath (beneath.py), panels are blended.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations, pairwise

import moderngl

from twixt.render.draw.frame_block import Viewport
from twixt.render.draw.panes import Rectangle
from twixt.render.draw.software.beneath import Beneath
from twixt.render.draw.software.pixels import Functions, Pixels

# Panels are looked at in pieces no wider than this: where a ball is under one, the others are copied all the same.
PIECE_PX = 180


def pieces_of(rectangles: Iterable[Rectangle]) -> tuple[Rectangle, ...]:
    """The same pixels in pieces, from left to right."""
    pieces = []
    for left, top, right, bottom in rectangles:
        count = math.ceil((right - left) / PIECE_PX)
        ends = [left + (right - left) * number // count for number in range(count + 1)]
        pieces += [Rectangle(begin, top, end, bottom) for begin, end in pairwise(ends)]
    return tuple(pieces)


def runs_of(pieces: Iterable[Rectangle]) -> list[Rectangle]:
    """What lies side by side, as one."""
    runs: list[Rectangle] = []
    for piece in pieces:
        last = runs[-1] if runs else None
        if last and last.right_px == piece.left_px and last[1::2] == piece[1::2]:
            runs[-1] = last._replace(right_px=piece.right_px)
        else:
            runs.append(piece)
    return runs


class StillPanels:
    """Of one sheet."""

    def __init__(self) -> None:
        self._gl: Functions | None = None
        self._pixels: Pixels | None = None
        self._kept: dict[Rectangle, Hashable] = {}  # what the pixels there are of
        self._to_lay: list[Rectangle] = []
        self._to_take: list[tuple[Rectangle, Hashable]] = []
        self._looked_at: tuple[Rectangle, ...] = ()
        self._are_apart = True  # the rectangles looked at

    def blended(
        self, rectangles: tuple[Rectangle, ...], version: int, beneath: Beneath | None, size_px: tuple[int, int],
        framebuffer: int,
    ) -> list[int]:  # fmt: skip
        """Which of a sheet's rectangles are to be blended in this frame; the others come with `settle`.

        version: of what the sheet holds. beneath: None where nothing is known of the picture. framebuffer: the name of
        the one that is drawn into.
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
        """Once everything else is drawn into this framebuffer, in which `blended` was asked."""
        if not self._to_lay and not self._to_take:
            return
        if self._pixels is None or self._pixels.size_px != size_px or self._pixels.framebuffer != target.glo:
            self.release()
            self._gl = self._gl or Functions()
            self._pixels = Pixels(self._gl, size_px, target.glo)
        for rectangle in runs_of(self._to_lay):
            part = _part(rectangle, size_px)
            self._pixels.lay(part, part[:2])
        for rectangle, key in self._to_take:
            part = _part(rectangle, size_px)
            self._pixels.take(part, part[:2])
            self._kept[rectangle] = key
        if len(self._kept) > 2 * len(self._to_lay + self._to_take):  # panels of other sizes
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
