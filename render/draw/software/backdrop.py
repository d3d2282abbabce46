"""What lies behind the bodies, background and grid, kept as a picture as long as the camera stands.

The one idea: a copy of pixels that are stored alike (pixels.py) takes a fifth of the time in which a processor fills
them with one colour, and none of the time of the grid's lines.

Always: the pixels laid down are those that drawing them would give; what they depend on is the key. Whether laying
them down is faster here is measured when the first is kept (formats that are not alike make it slower than drawing);
if not, nothing is kept any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

import moderngl

from twixt.render.draw.frame_block import Viewport
from twixt.render.draw.software.pixels import DEPTH_BIT, Functions, Pixels

# Two halves of a split picture, and the whole one.
MOST_KEPT = 3
# Each way is timed so often; the least of them counts.
TRIES = 3


class _Kept:
    """A picture of one part of the framebuffer."""

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.pixels: Pixels | None = None
        self.is_filled = False


class Backdrop:
    """Lays down what `draw` would draw. For contexts in which a processor draws."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._gl = Functions()
        self._is_faster: bool | None = None  # than drawing; None: not known yet
        self._kept: dict[Viewport, _Kept] = {}

    def lay(self, target: moderngl.Framebuffer, viewport: Viewport, key: Hashable, draw: Callable[[], None]) -> None:
        """Fills the part of `target` with what is behind the bodies, and its depth with the farthest.

        key: all that it depends on. draw: does the same by drawing.
        """
        kept = self._kept.get(viewport)
        if self._is_faster is False or not self._gl.are_there:
            draw()
        elif kept is None or kept.key != key:
            self._forget_some(viewport)
            self._kept[viewport] = kept or _Kept(key)
            self._kept[viewport].key, self._kept[viewport].is_filled = key, False
            draw()
        elif kept.is_filled:
            if self._is_faster is None:  # in a frame after the one that made the first picture: both take long
                self._compare(target, viewport, kept, draw)
            else:
                self._copy(target, viewport, kept)
        else:
            draw()
            self._context.error  # noqa: B018  # forgets an older one
            self._keep(target, viewport, kept)
            # Some framebuffers cannot be copied from, such as those with several samples a pixel.
            if self._is_faster is None and self._context.error != "GL_NO_ERROR":
                self._is_faster = False
                self.release()

    @property
    def is_copied(self) -> bool:
        """Whether copies of pixels are known to be faster than drawing."""
        return self._is_faster is True

    def release(self) -> None:
        """Gives the pictures' memory back."""
        for kept in self._kept.values():
            self._give_back(kept)
        self._kept.clear()

    def _forget_some(self, viewport: Viewport) -> None:
        while len(self._kept) >= MOST_KEPT and viewport not in self._kept:
            self._give_back(self._kept.pop(next(iter(self._kept))))

    def _keep(self, target: moderngl.Framebuffer, viewport: Viewport, kept: _Kept) -> None:
        """Makes a picture of what was just drawn."""
        if kept.pixels is None:
            kept.pixels = Pixels(self._gl, viewport[2:], target.glo)
        kept.pixels.framebuffer = target.glo
        kept.pixels.take(viewport)
        self._restore(target, viewport)
        kept.is_filled = True

    def _copy(self, target: moderngl.Framebuffer, viewport: Viewport, kept: _Kept) -> None:
        assert kept.pixels is not None
        kept.pixels.framebuffer = target.glo
        kept.pixels.lay(viewport)
        self._restore(target, viewport)
        self._gl.glClearDepth(1.0)  # whoever else cleared with this context may have left another
        self._gl.glClear(DEPTH_BIT)

    def _compare(self, target: moderngl.Framebuffer, viewport: Viewport, kept: _Kept, draw: Callable[[], None]) -> None:
        def taken_ns(work: Callable[[], None]) -> int:
            self._context.finish()
            begin_ns = time.perf_counter_ns()
            work()
            self._context.finish()
            return time.perf_counter_ns() - begin_ns

        self._context.error  # noqa: B018  # an older one, of whatever drew since, says nothing of copying
        drawn_ns = min(taken_ns(draw) for _ in range(TRIES))
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
