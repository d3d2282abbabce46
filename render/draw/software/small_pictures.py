"""Pictures drawn at a smaller size and enlarged to their place in the frame, for the coarsest quality level.

llvmpipe has a faster rasterizer for textured rectangles. It is used only in a framebuffer without a depth buffer, if
framebuffer and texture store B, G, R, A, and texture coordinates are interpolated with perspective. A window has a
depth buffer, so the picture is enlarged into a texture, whose memory is then copied: 1.3 ms at 1280x800, against 3.5 ms
for a rectangle drawn into the window, 6 ms for an enlarging blit, and 1.5 ms by numpy. Blending neighbouring pixels
would take 0.9 ms more; with few bodies, as in the default world, this level would then save nothing.

Always: pixels are repeated, not blended. Small framebuffers have the formats of the frame's framebuffer, for which the
bodies' programs are compiled already. Formats other than a window's give the same pixels, more slowly.
"""

from __future__ import annotations

import math

import moderngl
import numpy as np

from twixt.render.draw.frame.frame_block import FrameTarget, Viewport
from twixt.render.draw.software.kept_pixels import Pixels

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
# Two triangles that llvmpipe recognizes as a rectangle: the same winding, and two common corners.
SQUARE = ((0, 0), (1, 0), (1, 1), (0, 0), (1, 1), (0, 1))

# Part for compiling ahead: not a power of two, for which llvmpipe would compile another program.
COMPILED_PART = 0, 0, 3, 3


class SmallPicture:
    """A picture of a part of `screen`, drawn at `scale` times its size, `size_px`, into `framebuffer`."""

    def __init__(self, context: moderngl.Context, screen: moderngl.Framebuffer, part: Viewport, scale: float) -> None:
        self.part, self._context = part, context
        self.size_px = math.ceil(part[2] * scale), math.ceil(part[3] * scale)
        self._drawn, self._enlarged = Pixels(self.size_px, screen.glo, has_depth=True), Pixels(part[2:], screen.glo)
        self.framebuffer = context.detect_framebuffer(self._drawn.own_framebuffer)
        self._whole = context.detect_framebuffer(self._enlarged.own_framebuffer)
        self._texture = context.external_texture(self._drawn.texture, self.size_px, 4, 0, "f1")
        self._texture.filter = moderngl.NEAREST, moderngl.NEAREST
        self._texture.repeat_x = self._texture.repeat_y = False

    def seen_in(self, viewport: Viewport) -> Viewport:
        """The viewport of the small framebuffer for one of the frame's."""
        return (
            round((viewport[0] - self.part[0]) * self.size_px[0] / self.part[2]),
            round((viewport[1] - self.part[1]) * self.size_px[1] / self.part[3]),
            max(1, round(viewport[2] * self.size_px[0] / self.part[2])),
            max(1, round(viewport[3] * self.size_px[1] / self.part[3])),
        )

    def enlarge(self, square: moderngl.VertexArray) -> None:
        """Enlarges it into a texture. square: as from `SmallPictures._squares`."""
        self._whole.use()
        self._whole.viewport = (0, 0, *self.part[2:])
        self._texture.use(0)
        self._context.enable_only(moderngl.NOTHING)
        square.render(moderngl.TRIANGLES, vertices=len(SQUARE), first=len(SQUARE) * self._enlarged.is_upside_down)

    def copy(self) -> None:
        """Copies the enlarged picture to its place. The caller sets the framebuffer to use next."""
        self._enlarged.restore(self.part)

    def release(self) -> None:
        """Gives the memory back."""
        self._drawn.release()
        self._enlarged.release()


class SmallPictures:
    """Small pictures of a frame, one for each part of `target` that it draws a picture into."""

    def __init__(self, context: moderngl.Context, target: FrameTarget) -> None:
        self._context, self._target = context, target
        self._square: moderngl.VertexArray | None = None
        self._made: dict[tuple[object, ...], SmallPicture] = {}
        self._used: set[tuple[object, ...]] = set()  # in this frame
        self._begun: tuple[SmallPicture, moderngl.Framebuffer] | None = None  # the second: the frame's

    def begin(self, viewport: Viewport, part: Viewport, scale: float) -> Viewport:
        """Has the next picture, of this part of the frame's viewport, drawn at `scale` times its size. Returns its viewport
        in the small framebuffer."""
        screen = self._target.framebuffer
        key = screen.glo, part, scale
        if key not in self._made:
            self._made[key] = SmallPicture(self._context, screen, part, scale)
        self._used.add(key)
        small = self._made[key]
        self._begun = small, screen
        self._target.uncut()
        seen = small.seen_in(viewport)
        self._target.move(small.framebuffer, seen, (0, 0, *small.size_px))
        return seen

    @property
    def is_begun(self) -> bool:
        """True between `begin` and `end`."""
        return self._begun is not None

    def end(self) -> None:
        """Enlarges the last picture to its place in the frame; later draws go into the frame itself."""
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
        """Compiles the program that enlarges, changing no picture; False if it was compiled before."""
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
        """Gives the GPU memory back."""
        self._used.clear()
        self.end_frame()

    def _squares(self) -> moderngl.VertexArray:
        """The rectangle twice: upright, and upside down."""
        if self._square is None:
            rows = [(2 * x - 1, 2 * y - 1, x, 1 - y if flips else y) for flips in (False, True) for x, y in SQUARE]
            program = self._context.program(vertex_shader=_VERTEX, fragment_shader=_FRAGMENT)
            buffer = self._context.buffer(np.array(rows, "f4").tobytes())
            self._square = self._context.vertex_array(program, [(buffer, "4f", "corner")])
        return self._square
