"""The least that draws moving spheres at all: what the viewer's own drawing is measured against.

The one idea: points of 12 bytes, in two buffers that the vertex shader mixes, each shaded as a ball by its
place in the point. One radius, one colour, no depth but the point's own, nothing hidden, no background but a
clear. Whatever draws all that a viewer must draw as fast as this has no cost of its own.
"""

from __future__ import annotations

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.render.camera import CameraMatrices

Viewport = tuple[int, int, int, int]
Color = tuple[float, float, float]

_VERTEX = """#version 330 core
uniform mat4 to_clip;
uniform float alpha;
uniform float width_px;   // of a sphere at 1 m
in vec3 older;
in vec3 newer;
void main() {
    gl_Position = to_clip * vec4(mix(older, newer, alpha), 1.0);
    gl_PointSize = width_px / gl_Position.w;
}
"""
_FRAGMENT = """#version 330 core
uniform vec3 color;
out vec4 seen;
void main() {
    vec2 at = gl_PointCoord * 2.0 - 1.0;
    float off = dot(at, at);
    if (off > 1.0) discard;
    vec3 normal = vec3(at.x, -at.y, sqrt(1.0 - off));
    float sun = max(dot(normal, vec3(0.40, 0.50, 0.77)), 0.0);
    seen = vec4(color * (0.3 + 0.7 * sun), 1.0);
}
"""


class LeanSpheres:
    """Two snapshots' positions (n, 3), metres, and one radius and colour for all."""

    def __init__(
        self,
        context: moderngl.Context,
        older: NDArray[np.floating],
        newer: NDArray[np.floating],
        radius: float,
        color: Color = (0.9, 0.5, 0.3),
    ) -> None:
        self._context = context
        self._count = len(older)
        self._radius = radius
        self._program = context.program(vertex_shader=_VERTEX, fragment_shader=_FRAGMENT)
        self._program["color"] = color
        self._buffers = [context.buffer(np.ascontiguousarray(places, "<f4")) for places in (older, newer)]
        inputs = [(buffer, "3f", name) for buffer, name in zip(self._buffers, ("older", "newer"), strict=True)]
        self._array = context.vertex_array(self._program, inputs)

    def draw(self, camera: CameraMatrices, viewport: Viewport, alpha: float) -> None:
        """Clears the framebuffer in use and draws into a part of it; does not wait for the end."""
        target = self._context.fbo
        target.viewport = viewport
        target.clear(0.0, 0.0, 0.0, 1.0, depth=1.0)
        self._context.enable_only(moderngl.DEPTH_TEST | moderngl.PROGRAM_POINT_SIZE)
        self._program["to_clip"].write((camera.projection @ camera.view).T.astype("<f4").tobytes())  # type: ignore[union-attr]
        self._program["alpha"] = alpha
        self._program["width_px"] = self._radius * float(camera.projection[1, 1]) * viewport[3]
        self._array.render(moderngl.POINTS)

    def release(self) -> None:
        """Gives the GPU memory back."""
        for buffer in self._buffers:
            buffer.release()
        self._array.release()
        self._program.release()
