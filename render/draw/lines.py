"""The outline of the scene's container: the twelve edges of a box, as thin smooth lines.

Each edge is a quad in the plane of the picture whose alpha falls off across it, cut at the near plane first.
"""

from __future__ import annotations

import moderngl
import numpy as np

from twixt.ipc.scene import Vector
from twixt.render.draw.pose import FRAME_GLSL

_VERTEX = "#version 330 core\nin vec3 corner;\nvoid main() { gl_Position = vec4(corner, 1.0); }\n"

_GEOMETRY = (
    "#version 330 core\nlayout(lines) in;\nlayout(triangle_strip, max_vertices = 4) out;\n"
    + FRAME_GLSL
    + """
const float HALF_WIDTH_PX = 1.4;
noperspective out float across;

void main() {
    vec3 a = (view * gl_in[0].gl_Position).xyz, b = (view * gl_in[1].gl_Position).xyz;
    float near = lens.w / (lens.z - 1.0) * 1.001;
    if (-a.z < near && -b.z < near) return;
    if (-a.z < near) a = mix(b, a, (-b.z - near) / (a.z - b.z));
    if (-b.z < near) b = mix(a, b, (-a.z - near) / (b.z - a.z));
    vec4 start = vec4(a.xy * lens.xy, lens.z * a.z + lens.w, -a.z);
    vec4 end = vec4(b.xy * lens.xy, lens.z * b.z + lens.w, -b.z);
    vec2 along = (end.xy / end.w - start.xy / start.w) * picture.xy;
    if (dot(along, along) < 1e-6) return;
    vec2 aside = normalize(vec2(-along.y, along.x)) * (2.0 * HALF_WIDTH_PX) / picture.xy;
    across = -HALF_WIDTH_PX;
    gl_Position = start - vec4(aside * start.w, 0.0, 0.0);
    EmitVertex();
    gl_Position = end - vec4(aside * end.w, 0.0, 0.0);
    EmitVertex();
    across = HALF_WIDTH_PX;
    gl_Position = start + vec4(aside * start.w, 0.0, 0.0);
    EmitVertex();
    gl_Position = end + vec4(aside * end.w, 0.0, 0.0);
    EmitVertex();
    EndPrimitive();
}
"""
)

_FRAGMENT = """#version 330 core
noperspective in float across;
out vec4 color;
void main() {
    color = vec4(0.62, 0.68, 0.78, 0.55 * clamp(1.4 - abs(across), 0.0, 1.0));
}
"""

EDGES = np.array([(0, 1), (2, 3), (4, 5), (6, 7), (0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6), (3, 7)])


class Outline:
    """The edges of one box, kept on the GPU."""

    def __init__(self, context: moderngl.Context, program: moderngl.Program, corners: tuple[Vector, Vector]) -> None:
        low, high = np.array(corners, np.float32)
        eight = np.array([np.where([bit & 1, bit & 2, bit & 4], high, low) for bit in range(8)], np.float32)
        self._buffer = context.buffer(np.ascontiguousarray(eight[EDGES]).tobytes())
        self._vertex_array = context.vertex_array(program, [(self._buffer, "3f", "corner")])

    def draw(self) -> None:
        """Draws all edges with the depth test that is set."""
        self._vertex_array.render(moderngl.LINES)

    def release(self) -> None:
        """Gives the GPU memory back."""
        self._vertex_array.release()
        self._buffer.release()


def line_program(context: moderngl.Context) -> moderngl.Program:
    """Draws GL_LINES of world positions `corner` as smooth lines."""
    return context.program(vertex_shader=_VERTEX, geometry_shader=_GEOMETRY, fragment_shader=_FRAGMENT)
