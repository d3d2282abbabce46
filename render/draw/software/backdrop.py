"""What lies behind the bodies, background and grid, kept as a picture as long as the camera stands.

The one idea: a copy of pixels that are stored alike is a copy of memory, which takes a fifth of the time in which a
processor fills them with one colour, and none of the time of the grid's lines. Pixels are stored alike where the
texture has the framebuffer's own order of channels and rows: that of a window is B, G, R, A from the top down, so its
backdrop is kept upside down.

Always: the pixels laid down are those that drawing them would give; what they depend on is the key. Whether laying
them down is faster here is measured when the first is kept (formats that are not alike make it slower than drawing);
if not, nothing is kept any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from ctypes import POINTER, byref, c_double, c_int, c_uint, c_void_p

import moderngl

from twixt.render.draw.frame_block import Viewport
from twixt.render.draw.software.gl import function

# Two halves of a split picture, and the whole one.
MOST_KEPT = 3
# Each way is timed so often; the least of them counts.
TRIES = 3

COLOR_BIT, DEPTH_BIT = 0x4000, 0x100
READ_FRAMEBUFFER, DRAW_FRAMEBUFFER, FRAMEBUFFER = 0x8CA8, 0x8CA9, 0x8D40
SCISSOR_TEST, NEAREST, TEXTURE_2D, COLOR_ATTACHMENT = 0x0C11, 0x2600, 0x0DE1, 0x8CE0
# Without a size the format follows what is handed over: B, G, R, A for windows, R, G, B, A for framebuffers.
RGBA, RGBA8, UNSIGNED_BYTE, BGRA, REVERSED_8888 = 0x1908, 0x8058, 0x1401, 0x80E1, 0x8367


class _Kept:
    """A picture of one part of the framebuffer."""

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.framebuffer = self.texture = 0
        self.is_filled = False


class Backdrop:
    """Lays down what `draw` would draw. For contexts in which a processor draws."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._gl = _Functions()
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
        width, height = viewport[2:]
        if not kept.framebuffer:
            self._make(kept, width, height, is_window=target.glo == 0)
        self._blit(target.glo, viewport, kept.framebuffer, _part((0, 0, width, height), target.glo == 0))
        self._restore(target, viewport)
        kept.is_filled = True

    def _copy(self, target: moderngl.Framebuffer, viewport: Viewport, kept: _Kept) -> None:
        self._blit(kept.framebuffer, (0, 0, *viewport[2:]), target.glo, _part(viewport, target.glo == 0))
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

    def _blit(self, source: int, source_part: Viewport, to: int, to_part: tuple[int, int, int, int]) -> None:
        """Copies pixels. to_part: left, bottom, right, top; below above it: upside down."""
        gl, (left, bottom, width, height) = self._gl, source_part
        gl.glDisable(SCISSOR_TEST)
        gl.glBindFramebuffer(READ_FRAMEBUFFER, source)
        gl.glBindFramebuffer(DRAW_FRAMEBUFFER, to)
        gl.glBlitFramebuffer(left, bottom, left + width, bottom + height, *to_part, COLOR_BIT, NEAREST)

    def _restore(self, target: moderngl.Framebuffer, viewport: Viewport) -> None:
        target.use()
        target.viewport = target.scissor = viewport

    def _make(self, kept: _Kept, width: int, height: int, is_window: bool) -> None:
        """The texture to copy from."""
        gl, names = self._gl, (c_uint(), c_uint())
        gl.glGenTextures(1, byref(names[0]))
        gl.glBindTexture(TEXTURE_2D, names[0].value)
        form = (RGBA, BGRA, REVERSED_8888) if is_window else (RGBA8, RGBA, UNSIGNED_BYTE)
        gl.glTexImage2D(TEXTURE_2D, 0, form[0], width, height, 0, form[1], form[2], None)
        gl.glBindTexture(TEXTURE_2D, 0)
        gl.glGenFramebuffers(1, byref(names[1]))
        gl.glBindFramebuffer(FRAMEBUFFER, names[1].value)
        gl.glFramebufferTexture2D(FRAMEBUFFER, COLOR_ATTACHMENT, TEXTURE_2D, names[0].value, 0)
        kept.texture, kept.framebuffer = names[0].value, names[1].value

    def _give_back(self, kept: _Kept) -> None:
        if kept.framebuffer:
            self._gl.glDeleteFramebuffers(1, byref(c_uint(kept.framebuffer)))
            self._gl.glDeleteTextures(1, byref(c_uint(kept.texture)))


def _part(viewport: Viewport, is_upside_down: bool) -> tuple[int, int, int, int]:
    left, bottom, width, height = viewport
    ends = (bottom + height, bottom) if is_upside_down else (bottom, bottom + height)
    return left, ends[0], left + width, ends[1]


class _Functions:
    """OpenGL's, by their names."""

    def __init__(self) -> None:
        whole, names = c_int, POINTER(c_uint)
        self.glBlitFramebuffer = function("glBlitFramebuffer", *[whole] * 8, c_uint, c_uint)
        self.glBindFramebuffer = function("glBindFramebuffer", c_uint, c_uint)
        self.glDisable = function("glDisable", c_uint)
        self.glClearDepth = function("glClearDepth", c_double)
        self.glClear = function("glClear", c_uint)
        self.glGenTextures = function("glGenTextures", whole, names)
        self.glBindTexture = function("glBindTexture", c_uint, c_uint)
        self.glTexImage2D = function(
            "glTexImage2D", c_uint, whole, whole, whole, whole, whole, c_uint, c_uint, c_void_p
        )
        self.glGenFramebuffers = function("glGenFramebuffers", whole, names)
        self.glFramebufferTexture2D = function("glFramebufferTexture2D", c_uint, c_uint, c_uint, c_uint, whole)
        self.glDeleteFramebuffers = function("glDeleteFramebuffers", whole, names)
        self.glDeleteTextures = function("glDeleteTextures", whole, names)
        self.are_there = all(self.__dict__.values())
