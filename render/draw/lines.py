"""Thin smooth lines: the grid on the ground and the outline of the scene's container.

The one idea: a line is a quad in the plane of the picture, one pixel wide whatever its distance, whose alpha
falls off across it. The grid has no vertices of its own: the n-th line follows from n and the camera. Its
finest lines are many and faint: they are plain OpenGL lines, at a third of the cost.

The grid hides nothing (bodies below the ground are seen) and is drawn before the bodies.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import moderngl
import numpy as np

from twixt.ipc.scene import Vector
from twixt.render.draw.pose import FRAME_GLSL

# The finest lines are at least this many camera distances apart.
FINEST_SHARE = 1 / 8
# The grid ends this many camera distances from its middle, the finest lines at half of that.
GRID_DISTANCES = 2.6
# Levels fainter than this are left out.
LEAST_ALPHA = 0.01
FINE_ALPHA, COARSE_ALPHA = 0.30, 0.40
# A level of more lines than this, each way, is drawn with plain ones.
MOST_SMOOTH_LINES = 24

_OUTLINE_VERTEX = (
    "#version 330 core\n"
    + FRAME_GLSL
    + """
in vec3 corner;
out vec4 tint;
out vec2 from_middle;   // in radii of the grid
void main() {
    tint = vec4(0.62, 0.68, 0.78, 0.55);
    from_middle = vec2(0.0);
    gl_Position = view * vec4(corner, 1.0);
}
"""
)

# Lines 0 .. n-1 run along x, n .. 2n-1 along y; each is a chord of the circle that bounds the grid.
_GRID_VERTEX = (
    "#version 330 core\n"
    + FRAME_GLSL
    + """
uniform int lines_each_way;
uniform float spacing;
uniform float radius;
uniform vec4 grid_tint;
out vec2 from_middle;
void grid_line(out vec4 eye_space) {
    int line = gl_VertexID / 2;
    bool along_x = line < lines_each_way;
    float number = float(line % lines_each_way - lines_each_way / 2);
    float middle = along_x ? grid.y : grid.x;
    float off = (floor(middle / spacing + 0.5) + number) * spacing - middle;
    float chord = sqrt(max(radius * radius - off * off, 0.0)) * float((gl_VertexID & 1) * 2 - 1);
    vec2 at = along_x ? vec2(chord, off) : vec2(off, chord);
    from_middle = at / radius;
    eye_space = view * vec4(grid.xy + at, up_eye.w, 1.0);
}
"""
)
_SMOOTH_GRID_VERTEX = (
    _GRID_VERTEX
    + """
out vec4 tint;
void main() {
    tint = grid_tint;
    grid_line(gl_Position);
}
"""
)
_PLAIN_GRID_VERTEX = (
    _GRID_VERTEX.replace("from_middle", "place")
    + """
flat out vec4 line_tint;
flat out float across;
void main() {
    line_tint = grid_tint;
    across = 0.0;
    vec4 at;
    grid_line(at);
    gl_Position = vec4(at.xy * lens.xy, lens.z * at.z + lens.w, -at.z);
}
"""
)

_GEOMETRY = (
    "#version 330 core\nlayout(lines) in;\nlayout(triangle_strip, max_vertices = 4) out;\n"
    + FRAME_GLSL
    + """
const float HALF_WIDTH_PX = 1.0;
in vec4 tint[];
in vec2 from_middle[];
noperspective out float across;
out vec2 place;
flat out vec4 line_tint;

void main() {
    vec4 a = gl_in[0].gl_Position, b = gl_in[1].gl_Position;
    vec2 place_a = from_middle[0], place_b = from_middle[1];
    // Cut at the near plane here: behind the eye a line has no direction in the picture.
    float near = lens.w / (lens.z - 1.0) * 1.001;
    if ((-a.z < near && -b.z < near) || a.xyz == b.xyz) return;
    if (-a.z < near) {
        float share = (-b.z - near) / (a.z - b.z);
        a = mix(b, a, share);
        place_a = mix(place_b, place_a, share);
    }
    if (-b.z < near) {
        float share = (-a.z - near) / (b.z - a.z);
        b = mix(a, b, share);
        place_b = mix(place_a, place_b, share);
    }
    vec4 start = vec4(a.xy * lens.xy, lens.z * a.z + lens.w, -a.z);
    vec4 end = vec4(b.xy * lens.xy, lens.z * b.z + lens.w, -b.z);
    vec2 along = (end.xy / end.w - start.xy / start.w) * picture.xy;
    if (dot(along, along) < 1e-6) return;
    vec2 aside = normalize(vec2(-along.y, along.x)) * (2.0 * HALF_WIDTH_PX) / picture.xy;
    line_tint = tint[0];
    for (int corner = 0; corner < 4; corner++) {
        bool is_end = corner >= 2;
        float side = float((corner & 1) * 2 - 1);
        across = side * HALF_WIDTH_PX;
        place = is_end ? place_b : place_a;
        gl_Position = is_end ? end : start;
        gl_Position.xy += side * aside * gl_Position.w;
        EmitVertex();
    }
    EndPrimitive();
}
"""
)

_FRAGMENT = """#version 330 core
noperspective in float across;
in vec2 place;
flat in vec4 line_tint;
out vec4 color;
void main() {
    float inside = max(1.0 - dot(place, place), 0.0);
    color = vec4(line_tint.rgb, line_tint.a * inside * inside * (1.0 - abs(across)));
}
"""

EDGES = np.array([(0, 1), (2, 3), (4, 5), (6, 7), (0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6), (3, 7)])


class GridLevel(NamedTuple):
    """Lines of one spacing."""

    spacing_m: float
    radius_m: float
    alpha: float


def grid_levels(distance_m: float) -> list[GridLevel]:
    """The grid seen from this far: powers of ten metres, the finest fading as the camera leaves.

    Without a jump: where one level has faded out, the next one has become what that was.
    """
    decades = math.log10(distance_m * FINEST_SHARE)
    gone = decades - math.floor(decades)
    finest_m, radius_m = 10.0 ** math.floor(decades), distance_m * GRID_DISTANCES
    levels = [
        GridLevel(finest_m, radius_m / 2, FINE_ALPHA * (1 - gone)),
        GridLevel(finest_m * 10, radius_m * (1 - gone / 2), COARSE_ALPHA + (FINE_ALPHA - COARSE_ALPHA) * gone),
        GridLevel(finest_m * 100, radius_m, COARSE_ALPHA),
    ]
    return [level for level in levels if level.alpha >= LEAST_ALPHA]


class Grid:
    """The lines on the ground around the camera's target."""

    def __init__(self, context: moderngl.Context) -> None:
        smooth = context.program(
            vertex_shader=_SMOOTH_GRID_VERTEX, geometry_shader=_GEOMETRY, fragment_shader=_FRAGMENT
        )
        plain = context.program(
            vertex_shader=_PLAIN_GRID_VERTEX,
            fragment_shader=_FRAGMENT.replace("noperspective in", "flat in"),
        )
        self.programs = smooth, plain
        self._smooth, self._plain = context.vertex_array(smooth, []), context.vertex_array(plain, [])

    def draw(self, distance_m: float) -> None:
        """distance_m: of the camera from its target."""
        for level in grid_levels(distance_m):
            lines = 2 * math.ceil(level.radius_m / level.spacing_m) + 1
            lined = self._smooth if lines <= MOST_SMOOTH_LINES else self._plain
            lined.program["lines_each_way"] = lines
            lined.program["spacing"] = level.spacing_m
            lined.program["radius"] = level.radius_m
            lined.program["grid_tint"] = (0.55, 0.60, 0.68, level.alpha)
            lined.render(moderngl.LINES, vertices=4 * lines)


class Outline:
    """The twelve edges of one box."""

    def __init__(self, context: moderngl.Context) -> None:
        self.program = context.program(
            vertex_shader=_OUTLINE_VERTEX, geometry_shader=_GEOMETRY, fragment_shader=_FRAGMENT
        )
        self._buffer = context.buffer(reserve=EDGES.size * 12)
        self._vertex_array = context.vertex_array(self.program, [(self._buffer, "3f", "corner")])

    def set(self, corners: tuple[Vector, Vector]) -> None:
        """Takes two opposite corners, metres."""
        low, high = np.array(corners, np.float32)
        eight = np.array([np.where([bit & 1, bit & 2, bit & 4], high, low) for bit in range(8)], np.float32)
        self._buffer.write(np.ascontiguousarray(eight[EDGES]).tobytes())

    def draw(self) -> None:
        """Draws all edges with the depth test that is set."""
        self._vertex_array.render(moderngl.LINES)
