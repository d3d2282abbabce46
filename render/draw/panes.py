"""Dim rectangles behind the overlay's words.

Drawn here and not by the overlay's library, whose only shader looks a texture up for every pixel: behind
three panels that is half of all that the overlay costs in software drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import moderngl

_VERTEX = """#version 330 core
uniform vec4 corners;  // left, bottom, right, top, -1..1
void main() {
    vec2 at = vec2((gl_VertexID & 1) == 0 ? corners.x : corners.z, (gl_VertexID >> 1) == 0 ? corners.y : corners.w);
    gl_Position = vec4(at, 0.0, 1.0);
}
"""
_FRAGMENT = "#version 330 core\nuniform vec4 tint;\nout vec4 color;\nvoid main() { color = tint; }\n"

TINT = (0.05, 0.055, 0.065, 0.66)


class Pane(NamedTuple):
    """A rectangle in pixels from the top left."""

    left_px: float
    top_px: float
    width_px: float
    height_px: float


class Panes:
    """Draws them with the OpenGL context that is current."""

    def __init__(self) -> None:
        self._context = moderngl.get_context()
        self._program = self._context.program(vertex_shader=_VERTEX, fragment_shader=_FRAGMENT)
        self._program["tint"] = TINT
        self._vertex_array = self._context.vertex_array(self._program, [])

    def draw(self, panes: Sequence[Pane], size_px: tuple[int, int]) -> None:
        """Dims these parts of the framebuffer in use."""
        context = self._context
        context.fbo.viewport = (0, 0, *size_px)
        context.enable_only(moderngl.BLEND)
        context.blend_func = (  # type: ignore[assignment]
            moderngl.SRC_ALPHA, moderngl.ONE_MINUS_SRC_ALPHA, moderngl.ONE, moderngl.ONE_MINUS_SRC_ALPHA
        )  # fmt: skip
        width_px, height_px = size_px
        for pane in panes:
            left, top = 2 * pane.left_px / width_px - 1, 1 - 2 * pane.top_px / height_px
            right, bottom = left + 2 * pane.width_px / width_px, top - 2 * pane.height_px / height_px
            self._program["corners"] = (left, bottom, right, top)
            self._vertex_array.render(moderngl.TRIANGLE_STRIP, vertices=4)
