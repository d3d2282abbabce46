"""Lines: the grid on the ground and the outline of the scene's container.

The grid has no vertices of its own: the n-th line follows from n and the camera. Its lines are many and
faint, so they are plain OpenGL lines: smooth ones cost software drawing three times as much. It hides nothing
(bodies below the ground are seen) and is drawn before the bodies.

The outline's twelve edges are smooth.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import moderngl
import numpy as np

from twixt.ipc.scene import Vector
from twixt.render.camera import CameraMatrices
from twixt.render.draw.marks import SmoothLines
from twixt.render.draw.pose import FRAME_GLSL

# The finest lines are at least this many camera distances apart.
FINEST_SHARE = 1 / 8
# The grid and, within it, the finest lines end this many camera distances from the middle.
GRID_DISTANCES, FINE_DISTANCES = 2.2, 0.75
# Share of the way to the next spacing after which the finest lines are gone: there would be hundreds.
FINE_SHARE = 0.65
FINE_ALPHA, COARSE_ALPHA = 0.30, 0.40
OUTLINE_COLOR = (158, 173, 199, 140)

# Lines 0 .. n-1 run along x, n .. 2n-1 along y; each is a chord of the circle that bounds the grid.
_GRID_VERTEX = (
    "#version 330 core\n"
    + FRAME_GLSL
    + """
uniform int lines_each_way;
uniform float spacing;
uniform vec2 nearest;   // the line of each way that is nearest to the middle, from there
uniform float radius;
out vec2 from_middle;   // in radii of the grid
void main() {
    int line = gl_VertexID / 2;
    bool along_x = line < lines_each_way;
    float number = float(line % lines_each_way - lines_each_way / 2);
    float off = (along_x ? nearest.y : nearest.x) + number * spacing;
    float chord = sqrt(max(radius * radius - off * off, 0.0)) * float((gl_VertexID & 1) * 2 - 1);
    vec2 at = along_x ? vec2(chord, off) : vec2(off, chord);
    from_middle = at / radius;
    vec3 seen = view * vec3(grid.xy + at, up_eye.w);
    gl_Position = vec4(seen.xy * lens.xy, lens.z * seen.z + lens.w, -seen.z);
}
"""
)
_GRID_FRAGMENT = """#version 330 core
uniform vec4 tint;
in vec2 from_middle;
out vec4 color;
void main() {
    float inside = max(1.0 - dot(from_middle, from_middle), 0.0);
    color = vec4(tint.rgb, tint.a * inside * inside);
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
    spacing_m, full_m, fine_m = 10.0 ** math.floor(decades), distance_m * GRID_DISTANCES, distance_m * FINE_DISTANCES
    levels = [
        GridLevel(spacing_m * 10, full_m + (fine_m - full_m) * gone, COARSE_ALPHA + (FINE_ALPHA - COARSE_ALPHA) * gone),
        GridLevel(spacing_m * 100, full_m, COARSE_ALPHA),
    ]
    if gone < FINE_SHARE:
        levels.append(GridLevel(spacing_m, fine_m, FINE_ALPHA * (1 - gone / FINE_SHARE)))
    return levels


class Grid:
    """The lines on the ground around the camera's target."""

    def __init__(self, context: moderngl.Context) -> None:
        self.program = context.program(vertex_shader=_GRID_VERTEX, fragment_shader=_GRID_FRAGMENT)
        self._vertex_array = context.vertex_array(self.program, [])

    def draw(self, camera: CameraMatrices) -> None:
        """Where the camera and its target are so far off that numbers cannot tell them apart, there is no ground to be
        seen."""
        distance_m = math.dist(camera.eye, camera.target)
        if distance_m == 0:
            return
        for level in grid_levels(distance_m):
            lines = 2 * math.ceil(level.radius_m / level.spacing_m) + 1
            self.program["lines_each_way"] = lines
            self.program["spacing"] = level.spacing_m
            self.program["nearest"] = tuple(_nearest_line(at, level.spacing_m) for at in camera.target[:2])
            self.program["radius"] = level.radius_m
            self.program["tint"] = (0.55, 0.60, 0.68, level.alpha)
            self._vertex_array.render(moderngl.LINES, vertices=4 * lines)


def _nearest_line(at_m: float, spacing_m: float) -> float:
    """How far the line nearest to a place is from there, metres."""
    return math.floor(at_m / spacing_m + 0.5) * spacing_m - at_m


class Outline:
    """The twelve edges of one box."""

    def __init__(self, context: moderngl.Context) -> None:
        self._lines = SmoothLines(context)
        self._edges = np.zeros((2, 0, 3))  # where they start and end
        self._eye: Vector | None = None  # of the picture drawn last

    @property
    def program(self) -> moderngl.Program:
        return self._lines.program

    def set(self, corners: tuple[Vector, Vector]) -> None:
        """Takes two opposite corners, metres."""
        low, high = np.array(corners, np.float64)
        eight = np.array([np.where([bit & 1, bit & 2, bit & 4], high, low) for bit in range(8)])
        self._edges, self._eye = eight[EDGES.T], None

    def draw(self, eye: Vector) -> None:
        """Draws all edges with the depth test that is set."""
        if eye != self._eye:
            self._eye = eye
            starts, ends = self._edges
            self._lines.set(starts, ends, np.array(OUTLINE_COLOR, np.uint8), eye)
        self._lines.draw()
