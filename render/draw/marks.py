"""Marks: round dots and thin lines among the bodies, for trails and for the user's own drawing.

The one idea: whatever the number of marks, a call is one upload into a buffer that is kept, and one draw. A line
is a quad in the plane of the picture, as wide whatever its distance; edges of both fade over a pixel.

Always: what is not finite is skipped; bodies hide marks and marks hide nothing. Places come to the GPU from the eye,
and are rounded after that: in double precision they stand far from the origin as still as at it.
"""

from __future__ import annotations

import moderngl
import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Vector
from twixt.render.draw.pose import FRAME_GLSL

POINT = np.dtype([("position", "<f4", 3), ("color", "u1", 4)])
LINE = np.dtype([("start", "<f4", 3), ("end", "<f4", 3), ("color", "u1", 4)])
# Marks that a buffer has room for from the beginning; it doubles when there are more.
LEAST_CAPACITY = 1024
ORIGIN = (0.0, 0.0, 0.0)

_FINITE = """
// By the bits, NaN above all: compilers may turn a comparison with NaN round.
bool is_finite(vec3 v) {
    return all(lessThan(floatBitsToUint(v) & 0x7FFFFFFFu, uvec3(0x7F800000u)));
}
"""

# What must not be seen is put on the far plane, not outside the picture: one clipped point slows software drawing
# of all of them.
_POINT_VERTEX = (
    "#version 330 core\n"
    + FRAME_GLSL
    + _FINITE
    + """
uniform float size_px;
in vec3 position;
in vec4 color;
flat out vec4 tint;
void main() {
    tint = color;
    gl_PointSize = size_px + 1.0;
    vec3 seen = view * position;
    gl_Position = vec4(seen.xy * lens.xy, lens.z * seen.z + lens.w, -seen.z);
    if (!is_finite(position) || any(greaterThanEqual(abs(gl_Position.xyz), gl_Position.www))) {
        gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
        gl_PointSize = 1.0;
        tint = vec4(0.0);
    }
}
"""
)
_POINT_FRAGMENT = """#version 330 core
uniform float size_px;
flat in vec4 tint;
out vec4 color;
void main() {
    float from_middle_px = length(gl_PointCoord - 0.5) * (size_px + 1.0);
    float covered = clamp(0.5 * size_px + 0.5 - from_middle_px, 0.0, 1.0);
    if (covered * tint.a <= 0.0) discard;
    color = vec4(tint.rgb, tint.a * covered);
}
"""

_LINE_VERTEX = (
    "#version 330 core\n"
    + FRAME_GLSL
    + _FINITE
    + """
in vec3 start;
in vec3 end;
in vec4 color;
out vec3 from, to;
out vec4 tint;
void main() {
    from = view * start;
    to = view * end;
    tint = is_finite(start) && is_finite(end) ? color : vec4(0.0);
    gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
"""
)
_LINE_GEOMETRY = (
    "#version 330 core\nlayout(points) in;\nlayout(triangle_strip, max_vertices = 4) out;\n"
    + FRAME_GLSL
    + """
in vec3 from[], to[];
in vec4 tint[];
const float HALF_WIDTH_PX = 1.0;
noperspective out float across;
flat out vec4 line_tint;

void main() {
    vec3 a = from[0], b = to[0];
    if (tint[0].a <= 0.0) return;
    // Cut at the near plane here: behind the eye a line has no direction in the picture.
    float near = lens.w / (lens.z - 1.0) * 1.001;
    if (-a.z < near && -b.z < near) return;
    if (-a.z < near) a = mix(b, a, (-b.z - near) / (a.z - b.z));
    if (-b.z < near) b = mix(a, b, (-a.z - near) / (b.z - a.z));
    vec4 begin = vec4(a.xy * lens.xy, lens.z * a.z + lens.w, -a.z);
    vec4 end = vec4(b.xy * lens.xy, lens.z * b.z + lens.w, -b.z);
    vec2 along = (end.xy / end.w - begin.xy / begin.w) * picture.xy;
    if (dot(along, along) < 1e-6) return;
    vec2 aside = normalize(vec2(-along.y, along.x)) * (2.0 * HALF_WIDTH_PX) / picture.xy;
    for (int corner = 0; corner < 4; corner++) {
        float side = float((corner & 1) * 2 - 1);
        across = side * HALF_WIDTH_PX;
        line_tint = tint[0];
        gl_Position = corner >= 2 ? end : begin;
        gl_Position.xy += side * aside * gl_Position.w;
        EmitVertex();
    }
    EndPrimitive();
}
"""
)
_LINE_FRAGMENT = """#version 330 core
noperspective in float across;
flat in vec4 line_tint;
out vec4 color;
void main() { color = vec4(line_tint.rgb, line_tint.a * (1.0 - abs(across))); }
"""


class _Marks:
    """Rows in a buffer that grows, drawn by one program."""

    def __init__(self, context: moderngl.Context, program: moderngl.Program, row: np.dtype, layout: str) -> None:
        self.program = program
        self._context, self._row, self._layout = context, row, layout
        self._buffer: moderngl.Buffer | None = None
        self._vertex_array: moderngl.VertexArray | None = None
        self._count = 0

    def draw(self) -> None:
        """Draws what was set last, with the depth test that is set."""
        if self._count and self._vertex_array is not None:
            self._vertex_array.render(moderngl.POINTS, vertices=self._count)

    def _set(self, rows: NDArray[np.void]) -> None:
        self._count = len(rows)
        if not self._count:
            return
        if self._buffer is None or self._buffer.size < rows.nbytes:
            capacity = LEAST_CAPACITY
            while capacity < self._count:
                capacity *= 2
            if self._buffer is not None and self._vertex_array is not None:
                self._vertex_array.release()
                self._buffer.release()
            self._buffer = self._context.buffer(reserve=capacity * self._row.itemsize, dynamic=True)
            names = self._row.names or ()
            self._vertex_array = self._context.vertex_array(self.program, [(self._buffer, self._layout, *names)])
        self._buffer.write(rows)


class Dots(_Marks):
    """Round dots."""

    def __init__(self, context: moderngl.Context) -> None:
        program = context.program(vertex_shader=_POINT_VERTEX, fragment_shader=_POINT_FRAGMENT)
        super().__init__(context, program, POINT, "3f 4f1")

    def set(self, positions: ArrayLike, colors: ArrayLike, size_px: float, eye: Vector = ORIGIN) -> None:
        """positions: (n, 3), metres. colors: (n, 4) or one (4,), rgba 0..255. size_px: their diameter. Raises TwixtError.

        eye: where the picture that they are drawn into is seen from.
        """
        if not 0 < size_px < np.inf:
            raise TwixtError(f"the size of points must be a finite number of pixels > 0, got {size_px!r}")
        places = _places("positions", positions, eye)
        rows = np.empty(len(places), POINT)
        rows["position"], rows["color"] = places, _colors(colors, len(places))
        self.program["size_px"] = float(size_px)
        self._set(rows)


class SmoothLines(_Marks):
    """Straight lines, a pixel wide."""

    def __init__(self, context: moderngl.Context) -> None:
        program = context.program(
            vertex_shader=_LINE_VERTEX, geometry_shader=_LINE_GEOMETRY, fragment_shader=_LINE_FRAGMENT
        )
        super().__init__(context, program, LINE, "3f 3f 4f1")

    def set(self, starts: ArrayLike, ends: ArrayLike, colors: ArrayLike, eye: Vector = ORIGIN) -> None:
        """starts, ends: (n, 3), metres. colors: (n, 4) or one (4,), rgba 0..255. eye: as for dots. Raises TwixtError."""
        begin, end = _places("starts", starts, eye), _places("ends", ends, eye)
        if len(begin) != len(end):
            raise TwixtError(f"lines need as many ends as starts, got {len(begin)} starts and {len(end)} ends")
        rows = np.empty(len(begin), LINE)
        rows["start"], rows["end"], rows["color"] = begin, end, _colors(colors, len(begin))
        self._set(rows)


def _places(name: str, values: ArrayLike, eye: Vector) -> NDArray[np.float32]:
    """Places from the eye."""
    places = np.asarray(values)
    if places.size == 0:
        return np.zeros((0, 3), np.float32)
    if places.ndim != 2 or places.shape[1] != 3:
        raise TwixtError(f"{name} must be three numbers a row, shape (n, 3), got {places.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        if places.dtype != np.float32:
            return (places.astype(np.float64) - eye).astype(np.float32)
        # As the shaders of bodies do it.
        high = np.array(eye, np.float32)
        return (places - high) - (np.array(eye) - high).astype(np.float32)


def _colors(values: ArrayLike, count: int) -> NDArray[np.uint8]:
    colors = np.asarray(values, np.uint8)
    if colors.shape not in ((4,), (count, 4)) and count:
        raise TwixtError(f"colors must be rgba from 0 to 255, shape ({count}, 4) or (4,), got {colors.shape}")
    return colors if count else np.zeros((0, 4), np.uint8)
