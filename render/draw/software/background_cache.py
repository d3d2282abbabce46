"""Background, grid and floors that stand still as a cached picture, drawn again when the camera moves.

The one idea: a copy of pixels in the same format (kept_pixels.py) takes a fifth of the time in which the CPU fills
them with one colour, and saves the time of the grid's lines. With its depth, a floor that fills the picture is copied in
0.1 ms.

Always: the copied pixels are those that drawing would give; the key holds everything that they depend on. One frame
after the first picture is kept, copying is timed against drawing (between different formats it is slower). If it is
not faster, nothing is kept from then on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

import moderngl

from twixt.render.draw.frame.frame_block import Viewport
from twixt.render.draw.software.kept_pixels import DEPTH_BIT, STENCIL_BIT, Pixels, functions

# Pictures kept: two halves of a split window and the whole one, or those of two framebuffers.
MOST_KEPT = 3
# Timings of each way; the shortest counts.
TRIES = 3

Place = tuple[int, Viewport]  # a framebuffer's name, and a part of it


class _Kept:
    """Cached picture of one part of one framebuffer: another framebuffer may store its rows in the opposite order."""

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.has_depth = False
        self.pixels: Pixels | None = None
        self.is_filled = False


class BackgroundCache:
    """Cached pictures of the background, for contexts in which the CPU draws."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._gl = functions()
        self._is_faster: bool | None = None  # copying is faster than drawing; None: not measured yet
        self._copies_depth = True  # no copy of depth has failed
        self._kept: dict[Place, _Kept] = {}
        self._ahead: tuple[Place, Hashable] | None = None  # place and key of the background laid ahead

    def lay(
        self,
        target: moderngl.Framebuffer,
        viewport: Viewport,
        key: Hashable,
        draw: Callable[[], None],
        has_depth: bool = False,
    ) -> None:
        """Fills the part of `target` with the background.

        key: everything that its pixels depend on. draw: does the same by drawing. has_depth: its depth is kept and
        copied, too; else that is 1.0 (farthest) all over.
        """
        place, (ahead, self._ahead) = (target.glo, viewport), (self._ahead, None)
        kept = self._kept.get(place)
        if ahead == (place, key):
            self._restore(target, viewport)
        elif not self.may_copy or (has_depth and not self._copies_depth):
            draw()
        elif kept is None or kept.key != key:
            self._forget_some(place)
            kept = self._kept.setdefault(place, _Kept(key))
            kept.key, kept.is_filled, kept.has_depth = key, False, has_depth
            draw()
        elif kept.is_filled:
            if self._is_faster is None:  # not in the frame that kept the first picture: both take long
                self._compare(target, viewport, kept, draw)
            else:
                self._copy(target, viewport, kept)
        else:
            draw()
            self._context.error  # noqa: B018  # clears an older error
            self._keep(target, viewport, kept)
            # Some framebuffers cannot be copied from, such as those with several samples a pixel.
            if (self._is_faster is None or has_depth) and self._context.error != "GL_NO_ERROR":
                if has_depth:
                    self._copies_depth = False
                else:
                    self._is_faster = False
                self.release()

    def lay_ahead(self, target: moderngl.Framebuffer, viewport: Viewport, key: Hashable) -> bool:
        """Fills the part ahead of the next `lay`, which then has nothing to copy. Returns False if nothing was done.

        Nothing may be drawn there between the two calls.
        """
        kept = self._kept.get((target.glo, viewport))
        if not self.is_copied or kept is None or not kept.is_filled or kept.key != key:
            return False
        self._copy(target, viewport, kept)
        self._ahead = (target.glo, viewport), key
        return True

    def forget_ahead(self) -> None:
        """Forgets the background laid ahead: its frame has ended."""
        self._ahead = None

    @property
    def may_copy(self) -> bool:
        """False if copies of pixels are known to be slower than drawing."""
        return self._is_faster is not False and self._gl.are_there

    @property
    def is_copied(self) -> bool:
        """True if copies of pixels are known to be faster than drawing."""
        return self._is_faster is True

    def release(self) -> None:
        """Gives the pictures' memory back."""
        for kept in self._kept.values():
            self._give_back(kept)
        self._kept.clear()

    def _forget_some(self, place: Place) -> None:
        while len(self._kept) >= MOST_KEPT and place not in self._kept:
            self._give_back(self._kept.pop(next(iter(self._kept))))

    def _keep(self, target: moderngl.Framebuffer, viewport: Viewport, kept: _Kept) -> None:
        """Keeps the pixels that were just drawn."""
        if kept.pixels is not None and kept.pixels.has_depth != kept.has_depth:
            self._give_back(kept)
        if kept.pixels is None:
            kept.pixels = Pixels(viewport[2:], target.glo, kept.has_depth)
        kept.pixels.take(viewport)
        self._restore(target, viewport)
        kept.is_filled = True

    def _copy(self, target: moderngl.Framebuffer, viewport: Viewport, kept: _Kept) -> None:
        assert kept.pixels is not None
        kept.pixels.lay(viewport)
        self._restore(target, viewport)
        if kept.has_depth:
            return
        self._gl.glClearDepth(1.0)  # other code with this context may have set another value
        # If depth and stencil are in one word, clearing depth alone reads, masks and writes it: twice the time.
        self._gl.glClear(DEPTH_BIT | STENCIL_BIT)

    def _compare(self, target: moderngl.Framebuffer, viewport: Viewport, kept: _Kept, draw: Callable[[], None]) -> None:
        def taken_ns(work: Callable[[], None]) -> int:
            self._context.finish()
            begin_ns = time.perf_counter_ns()
            work()
            self._context.finish()
            return time.perf_counter_ns() - begin_ns

        drawn_ns = min(taken_ns(draw) for _ in range(TRIES))
        self._context.error  # noqa: B018  # clears an older error, which does not come from copying
        copied_ns = min(taken_ns(lambda: self._copy(target, viewport, kept)) for _ in range(TRIES))
        self._is_faster = copied_ns < drawn_ns and self._context.error == "GL_NO_ERROR"
        if not self._is_faster:
            self.release()
            draw()

    def _restore(self, target: moderngl.Framebuffer, viewport: Viewport) -> None:
        target.use()
        target.viewport = target.scissor = viewport

    def _give_back(self, kept: _Kept) -> None:
        if kept.pixels is not None:
            kept.pixels.release()
            kept.pixels = None
