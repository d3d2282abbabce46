"""Caches pixels of a framebuffer in a texture and copies them back. Also draws pictures at a smaller size and enlarges
them.

If two pictures have the same format, their pixels are copied as plain memory, which is fast. So the texture has the
same order of channels and of rows as the framebuffer. A window stores the channels in the order B, G, R, A, and its
rows from top to bottom. So the pixels of a window are cached upside down. Depth is cached in the framebuffer's format,
together with the stencil if it is in the same words.

All positions are counted from the bottom left, in the texture and in the framebuffer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from ctypes import POINTER, byref, c_double, c_int, c_uint, c_void_p
from functools import cache

import moderngl
import numpy as np

from twixt.render.draw.frame.context import gl_function
from twixt.render.draw.frame.frame_block import FrameTarget, Viewport

COLOR_BIT, DEPTH_BIT, STENCIL_BIT = 0x4000, 0x100, 0x400
READ_FRAMEBUFFER, DRAW_FRAMEBUFFER, FRAMEBUFFER = 0x8CA8, 0x8CA9, 0x8D40
SCISSOR_TEST, NEAREST, TEXTURE_2D, COLOR_ATTACHMENT = 0x0C11, 0x2600, 0x0DE1, 0x8CE0
# If a texture has the format RGBA (without a size), its channels have the same order as the data passed with the
# format: B, G, R, A for windows. For other framebuffers, the format is RGBA8.
RGBA, RGBA8, UNSIGNED_BYTE, BGRA, REVERSED_8888 = 0x1908, 0x8058, 0x1401, 0x80E1, 0x8367
RENDERBUFFER, OBJECT_TYPE, DEPTH_SIZE, STENCIL_SIZE = 0x8D41, 0x8CD0, 0x8216, 0x8217
# OpenGL's constants for depth and stencil: the first pair for a window, the second pair for other framebuffers.
WINDOW_PARTS, OTHER_PARTS = (0x1801, 0x1802), (0x8D00, 0x8D20)
DEPTH_ATTACHMENT, DEPTH_STENCIL_ATTACHMENT = 0x8D00, 0x821A
# Depth formats. The key is the number of bits of depth, and the number of bits of stencil.
DEPTH_FORMATS = {(24, 8): 0x88F0, (24, 0): 0x81A6, (16, 0): 0x81A5, (32, 0): 0x81A7}
COLOR_READ_FORMAT = 0x8B9B
# If the depth is the same everywhere, this number of rows is copied to all other rows.
STRIP_PX = 64


class Functions:
    """The OpenGL functions that this module calls. are_there: True if all of them were found."""

    def __init__(self) -> None:
        whole, names = c_int, POINTER(c_uint)
        self.glBlitFramebuffer = gl_function("glBlitFramebuffer", *[whole] * 8, c_uint, c_uint)
        self.glBindFramebuffer = gl_function("glBindFramebuffer", c_uint, c_uint)
        self.glDisable = gl_function("glDisable", c_uint)
        self.glClearDepth = gl_function("glClearDepth", c_double)
        self.glClear = gl_function("glClear", c_uint)
        self.glGenTextures = gl_function("glGenTextures", whole, names)
        self.glBindTexture = gl_function("glBindTexture", c_uint, c_uint)
        self.glTexImage2D = gl_function(
            "glTexImage2D", c_uint, whole, whole, whole, whole, whole, c_uint, c_uint, c_void_p
        )
        self.glGenFramebuffers = gl_function("glGenFramebuffers", whole, names)
        self.glFramebufferTexture2D = gl_function("glFramebufferTexture2D", c_uint, c_uint, c_uint, c_uint, whole)
        self.glDeleteFramebuffers = gl_function("glDeleteFramebuffers", whole, names)
        self.glDeleteTextures = gl_function("glDeleteTextures", whole, names)
        self.glGetError = gl_function("glGetError")
        self.glGenRenderbuffers = gl_function("glGenRenderbuffers", whole, names)
        self.glBindRenderbuffer = gl_function("glBindRenderbuffer", c_uint, c_uint)
        self.glRenderbufferStorage = gl_function("glRenderbufferStorage", c_uint, c_uint, whole, whole)
        self.glFramebufferRenderbuffer = gl_function("glFramebufferRenderbuffer", c_uint, c_uint, c_uint, c_uint)
        self.glDeleteRenderbuffers = gl_function("glDeleteRenderbuffers", whole, names)
        self.glGetFramebufferAttachmentParameteriv = gl_function(
            "glGetFramebufferAttachmentParameteriv", c_uint, c_uint, c_uint, POINTER(c_int)
        )
        self.glGetIntegerv = gl_function("glGetIntegerv", c_uint, POINTER(c_int))
        self.are_there = all(self.__dict__.values())


@cache
def functions() -> Functions:
    """Returns the functions. They are looked up at the first call. They act on the current OpenGL context."""
    return Functions()


class Pixels:
    """A cached picture. size_px: its width and height. framebuffer: OpenGL name of the framebuffer from which and to
    which the picture is copied; 0 means a window.

    own_framebuffer: OpenGL name of the framebuffer that contains the cached picture. texture: OpenGL name of the
    texture that contains its colours. is_upside_down: True if the rows are stored from top to bottom. has_depth: True
    if depth is also copied. If the format of the depth is unknown, each copy sets an OpenGL error. `store` and
    `restore` bind other framebuffers and disable the scissor. The caller must then set its framebuffer and its scissor
    again.
    """

    def __init__(self, size_px: tuple[int, int], framebuffer: int, has_depth: bool = False) -> None:
        self.size_px, self.framebuffer, self.has_depth = size_px, framebuffer, has_depth
        self._gl, names = functions(), (c_uint(), c_uint())
        gl = self._gl
        gl.glGenTextures(1, byref(names[0]))
        gl.glBindTexture(TEXTURE_2D, names[0].value)
        form = (RGBA, BGRA, REVERSED_8888) if _is_bgra(gl, framebuffer) else (RGBA8, RGBA, UNSIGNED_BYTE)
        gl.glTexImage2D(TEXTURE_2D, 0, form[0], *size_px, 0, form[1], form[2], None)
        gl.glBindTexture(TEXTURE_2D, 0)
        gl.glGenFramebuffers(1, byref(names[1]))
        gl.glBindFramebuffer(FRAMEBUFFER, names[1].value)
        gl.glFramebufferTexture2D(FRAMEBUFFER, COLOR_ATTACHMENT, TEXTURE_2D, names[0].value, 0)
        self.texture, self.own_framebuffer = names[0].value, names[1].value
        self.is_upside_down = not framebuffer
        self._depth, self._bits = c_uint(), COLOR_BIT
        if has_depth:
            self._add_depth()

    def store(self, area: Viewport) -> None:
        """Stores an area of the framebuffer. The area must have the size of the picture."""
        self._blit(self.framebuffer, area, self.own_framebuffer, (0, 0, *self.size_px), self._bits)

    def restore(self, area: Viewport, colors_alone: bool = False) -> None:
        """Copies the picture into an area of the framebuffer. The area must have the size of the picture. colors_alone:
        True if only colours are copied."""
        bits = COLOR_BIT if colors_alone else self._bits
        self._blit(self.own_framebuffer, (0, 0, *self.size_px), self.framebuffer, area, bits)

    def restore_areas(self, areas: Sequence[Viewport], left_bottom: tuple[int, int], is_far: bool) -> None:
        """Copies the colours of some areas of the picture to the same places in the framebuffer. The depth is copied
        only in the first area.

        left_bottom: position of the picture in the framebuffer, px. is_far: True if the depth is the same everywhere.
        Then a few rows of depth are copied to all other rows. This is fast because these few rows stay in the
        processor's cache.
        """
        self._bind(self.own_framebuffer, self.framebuffer)
        for area in areas:
            self._copy(area, left_bottom, area[1] - left_bottom[1], COLOR_BIT)
        left, bottom, width, height = areas[0]
        depth = self._bits & ~COLOR_BIT
        if not is_far:
            self._copy(areas[0], left_bottom, bottom - left_bottom[1], depth)
            return
        for row in range(0, height, STRIP_PX):
            strip = left, bottom + row, width, min(STRIP_PX, height - row)
            self._copy(strip, left_bottom, 0, depth)

    def release(self) -> None:
        """Releases the memory."""
        self._gl.glDeleteFramebuffers(1, byref(c_uint(self.own_framebuffer)))
        self._gl.glDeleteTextures(1, byref(c_uint(self.texture)))
        if self._depth.value:
            self._gl.glDeleteRenderbuffers(1, byref(self._depth))

    def _add_depth(self) -> None:
        """Gives the picture a depth buffer with the same format as the framebuffer's depth."""
        gl, sizes = self._gl, []
        gl.glBindFramebuffer(FRAMEBUFFER, self.framebuffer)
        for attachment, size in zip(
            OTHER_PARTS if self.framebuffer else WINDOW_PARTS, (DEPTH_SIZE, STENCIL_SIZE), strict=True
        ):
            found = c_int(0)
            gl.glGetFramebufferAttachmentParameteriv(FRAMEBUFFER, attachment, OBJECT_TYPE, byref(found))
            if found.value:  # the framebuffer has depth or stencil
                gl.glGetFramebufferAttachmentParameteriv(FRAMEBUFFER, attachment, size, byref(found))
            sizes.append(found.value)
        has_stencil = sizes[1] > 0
        gl.glGenRenderbuffers(1, byref(self._depth))
        gl.glBindRenderbuffer(RENDERBUFFER, self._depth.value)
        gl.glRenderbufferStorage(RENDERBUFFER, DEPTH_FORMATS.get((sizes[0], sizes[1]), 0), *self.size_px)
        gl.glBindFramebuffer(FRAMEBUFFER, self.own_framebuffer)
        attachment = DEPTH_STENCIL_ATTACHMENT if has_stencil else DEPTH_ATTACHMENT
        gl.glFramebufferRenderbuffer(FRAMEBUFFER, attachment, RENDERBUFFER, self._depth.value)
        # If the stencil shares words with depth, the stencil is copied too. Otherwise depth could not be copied as
        # plain memory.
        self._bits = COLOR_BIT | DEPTH_BIT | (STENCIL_BIT if has_stencil else 0)

    def _row(self, bottom: int, height: int) -> int:
        return self.size_px[1] - bottom - height if self.is_upside_down else bottom

    def _blit(self, source: int, source_area: Viewport, to: int, to_area: Viewport, bits: int) -> None:
        gl, (left, bottom, width, height) = self._gl, source_area
        to_left, to_bottom = to_area[:2]
        rows = (to_bottom + height, to_bottom) if self.is_upside_down else (to_bottom, to_bottom + height)
        self._bind(source, to)
        gl.glBlitFramebuffer(
            left, bottom, left + width, bottom + height, to_left, rows[0], to_left + width, rows[1], bits, NEAREST
        )

    def _copy(self, area: Viewport, left_bottom: tuple[int, int], kept_bottom: int, bits: int) -> None:
        """Copies rows of the picture into an area of the framebuffer. The first of these rows is `kept_bottom`. Both
        framebuffers must be bound."""
        left, bottom, width, height = area
        at, row = left - left_bottom[0], self._row(kept_bottom, height)
        ends = (bottom + height, bottom) if self.is_upside_down else (bottom, bottom + height)
        self._gl.glBlitFramebuffer(
            at, row, at + width, row + height, left, ends[0], left + width, ends[1], bits, NEAREST
        )

    def _bind(self, source: int, to: int) -> None:
        self._gl.glDisable(SCISSOR_TEST)
        self._gl.glBindFramebuffer(READ_FRAMEBUFFER, source)
        self._gl.glBindFramebuffer(DRAW_FRAMEBUFFER, to)


def _is_bgra(gl: Functions, framebuffer: int) -> bool:
    """Binds a framebuffer. Returns True if it stores its channels in the order B, G, R, A, as windows do."""
    if not framebuffer:
        return True
    gl.glBindFramebuffer(FRAMEBUFFER, framebuffer)
    found = c_int(0)
    gl.glGetIntegerv(COLOR_READ_FORMAT, byref(found))
    gl.glGetError()  # OpenGL sets an error if it cannot report the format; this clears the error
    return found.value == BGRA


# At the coarsest quality level, a picture is drawn at a smaller size and then enlarged to its place in the frame.
#
# llvmpipe has a faster rasterizer for textured rectangles. llvmpipe uses this rasterizer only under three conditions:
# the framebuffer has no depth buffer; framebuffer and texture both store B, G, R, A; texture coordinates are
# interpolated with perspective. A window has a depth buffer. So the picture is enlarged into a texture, and the memory
# of this texture is then copied into the window. At 1280x800 this takes 1.3 ms. Other methods take longer: to draw a
# rectangle into the window takes 3.5 ms, an enlarging blit 6 ms, and numpy 1.5 ms. Pixels are repeated, not blended. To
# blend neighbouring pixels would take 0.9 ms more. With few bodies, as in the default world, this quality level would
# then save no time.
#
# A small framebuffer has the same formats as the framebuffer of the frame, because the programs of bodies are already
# compiled for these formats. If these are not the formats of a window, the pixels are the same, but enlarging takes
# longer.


_VERTEX = """#version 330 core
in vec4 corner;  // x, y: -1..1; z, w: the same place in the texture, 0..1
out vec2 at;
void main() {
    gl_Position = vec4(corner.xy, 0.0, 1.0);
    at = corner.zw;
}
"""
_FRAGMENT = """#version 330 core
uniform sampler2D small;
in vec2 at;
out vec4 color;
void main() { color = texture(small, at); }
"""
# Two triangles that form a rectangle. llvmpipe recognizes this because both have the same winding and share two
# corners.
SQUARE = ((0, 0), (1, 0), (1, 1), (0, 0), (1, 1), (0, 1))

# This area is drawn to compile the program in advance. Its width and height are not powers of two, because llvmpipe
# compiles another program for powers of two.
COMPILED_PART = 0, 0, 3, 3


class SmallPicture:
    """A small picture of an area of the framebuffer `screen`. The picture is drawn into `framebuffer`. Its width and
    height, `size_px`, are `scale` times those of the area."""

    def __init__(self, context: moderngl.Context, screen: moderngl.Framebuffer, area: Viewport, scale: float) -> None:
        self.area, self._context = area, context
        self.size_px = math.ceil(area[2] * scale), math.ceil(area[3] * scale)
        self._drawn, self._enlarged = Pixels(self.size_px, screen.glo, has_depth=True), Pixels(area[2:], screen.glo)
        self.framebuffer = context.detect_framebuffer(self._drawn.own_framebuffer)
        self._whole = context.detect_framebuffer(self._enlarged.own_framebuffer)
        self._texture = context.external_texture(self._drawn.texture, self.size_px, 4, 0, "f1")
        self._texture.filter = moderngl.NEAREST, moderngl.NEAREST
        self._texture.repeat_x = self._texture.repeat_y = False

    def seen_in(self, viewport: Viewport) -> Viewport:
        """Converts a viewport of the frame to the matching viewport of the small framebuffer."""
        return (
            round((viewport[0] - self.area[0]) * self.size_px[0] / self.area[2]),
            round((viewport[1] - self.area[1]) * self.size_px[1] / self.area[3]),
            max(1, round(viewport[2] * self.size_px[0] / self.area[2])),
            max(1, round(viewport[3] * self.size_px[1] / self.area[3])),
        )

    def enlarge(self, square: moderngl.VertexArray) -> None:
        """Enlarges the picture into a texture. square: vertices from `SmallPictures._squares`."""
        self._whole.use()
        self._whole.viewport = (0, 0, *self.area[2:])
        self._texture.use(0)
        self._context.enable_only(moderngl.NOTHING)
        square.render(moderngl.TRIANGLES, vertices=len(SQUARE), first=len(SQUARE) * self._enlarged.is_upside_down)

    def copy(self) -> None:
        """Copies the enlarged picture to its place in the frame. The caller must then set the framebuffer again."""
        self._enlarged.restore(self.area)

    def release(self) -> None:
        """Releases the memory."""
        self._drawn.release()
        self._enlarged.release()


class SmallPictures:
    """Stores the small pictures of a frame: one for each area of `target` into which the frame draws a picture."""

    def __init__(self, context: moderngl.Context, target: FrameTarget) -> None:
        self._context, self._target = context, target
        self._square: moderngl.VertexArray | None = None
        self._made: dict[tuple[object, ...], SmallPicture] = {}
        self._used: set[tuple[object, ...]] = set()  # keys of the small pictures that this frame has used
        # Between `begin` and `end`: the small picture that is being drawn, and the framebuffer of the frame.
        self._begun: tuple[SmallPicture, moderngl.Framebuffer] | None = None

    def begin(self, viewport: Viewport, area: Viewport, scale: float) -> Viewport:
        """Begins the next small picture. It shows `area`, which is part of the frame's viewport. Its width and height
        are `scale` times those of the area. Returns the picture's viewport in the small framebuffer."""
        screen = self._target.framebuffer
        key = screen.glo, area, scale
        if key not in self._made:
            self._made[key] = SmallPicture(self._context, screen, area, scale)
        self._used.add(key)
        small = self._made[key]
        self._begun = small, screen
        self._target.uncut()
        seen = small.seen_in(viewport)
        self._target.move(small.framebuffer, seen, (0, 0, *small.size_px))
        return seen

    @property
    def is_begun(self) -> bool:
        """True if a small picture has begun (`begin`) and has not ended (`end`)."""
        return self._begun is not None

    def end(self) -> None:
        """Ends the small picture: enlarges it to its place in the frame. Everything that is drawn later is drawn into
        the frame itself."""
        if self._begun is None:
            return
        (small, screen), self._begun = self._begun, None
        small.enlarge(self._squares())
        small.copy()
        self._target.uncut()
        self._target.framebuffer = screen
        screen.use()

    def end_frame(self) -> None:
        """Frees the small pictures that this frame did not use."""
        for key in self._made.keys() - self._used:
            self._made.pop(key).release()
        self._used.clear()

    def prepare(self) -> bool:
        """Compiles the program that enlarges pictures, and changes no picture. Returns False if the program is already
        compiled."""
        if self._square is not None:
            return False
        screen = self._target.framebuffer
        small = SmallPicture(self._context, screen, COMPILED_PART, 1.0)
        small.enlarge(self._squares())
        self._context.finish()
        small.release()
        screen.use()
        return True

    def release(self) -> None:
        """Releases the GPU memory."""
        self._used.clear()
        self.end_frame()

    def _squares(self) -> moderngl.VertexArray:
        """Vertices of two rectangles: one upright, one upside down."""
        if self._square is None:
            rows = [(2 * x - 1, 2 * y - 1, x, 1 - y if flips else y) for flips in (False, True) for x, y in SQUARE]
            program = self._context.program(vertex_shader=_VERTEX, fragment_shader=_FRAGMENT)
            buffer = self._context.buffer(np.array(rows, "f4").tobytes())
            self._square = self._context.vertex_array(program, [(buffer, "4f", "corner")])
        return self._square
