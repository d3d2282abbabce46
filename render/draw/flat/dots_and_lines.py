"""Draws round dots and thin lines among the bodies, and rings over them. Dots and lines show trails, the user's own
drawing, thin marks, and the scene's outline.

Each call uploads all rows at once into a reused buffer, and makes one draw call. A row is a dot or a line. A line is a
quad in the plane of the picture. It has the same width at every distance. The edges of dots and lines fade over one
pixel.

A row with a number that is not finite is skipped. Bodies hide dots and lines. Dots and lines hide nothing. Positions
are uploaded relative to the eye. The eye is subtracted before the positions are rounded to float32. So positions in
double precision are as steady far from the origin as near the origin.
"""

from __future__ import annotations

import moderngl
import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Vector
from twixt.render.draw.flat.flat_rows import FINITE_GLSL, ORIGIN, FlatRows, places_from_eye
from twixt.render.draw.flat.ring_drawing import Rings
from twixt.render.draw.frame.frame_block import FrameTarget, Viewport
from twixt.render.draw.glsl.uniform_blocks import FRAME_GLSL

POINT = np.dtype([("position", "<f4", 3), ("color", "u1", 4)])
LINE = np.dtype([("start", "<f4", 3), ("end", "<f4", 3), ("color", "u1", 4)])
OUTLINE_COLOR = (158, 173, 199, 140)
EDGES = np.array([(0, 1), (2, 3), (4, 5), (6, 7), (0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6), (3, 7)])

# A point that must not be visible is moved to the far plane, and not outside the picture. A single point outside the
# picture must be clipped, and this slows down software rendering of all points.
_POINT_VERTEX = (
    "#version 330 core\n"
    + FRAME_GLSL
    + FINITE_GLSL
    + """
uniform float size_px;
in vec3 position;
in vec4 color;
flat out vec4 tint;
void main() {
    tint = color;
    gl_PointSize = size_px + 1.0;
    vec3 seen = view * position;
    gl_Position = clip_of(seen);
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
    + FINITE_GLSL
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
    // The line is cut at the near plane here, because behind the eye of a perspective camera a line has no direction
    // in the picture.
    float near = lens.w / (lens.z - 1.0) * 1.001;
    if (!PARALLEL) {
        if (-a.z < near && -b.z < near) return;
        if (-a.z < near) a = mix(b, a, (-b.z - near) / (a.z - b.z));
        if (-b.z < near) b = mix(a, b, (-a.z - near) / (b.z - a.z));
    }
    vec4 begin = clip_of(a), end = clip_of(b);
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


class Dots(FlatRows):
    """Draws round dots."""

    flags = moderngl.DEPTH_TEST | moderngl.PROGRAM_POINT_SIZE

    def __init__(self, context: moderngl.Context) -> None:
        program = context.program(vertex_shader=_POINT_VERTEX, fragment_shader=_POINT_FRAGMENT)
        super().__init__(context, program, POINT, "3f 4f1")

    def set(self, positions: ArrayLike, colors: ArrayLike, size_px: float, eye: Vector = ORIGIN) -> None:
        """Replaces the dots. positions: (n, 3), in metres. colors: (n, 4) or one (4,), rgba from 0 to 255. size_px:
        diameter of a dot.

        eye: position of the picture's camera, in metres. Raises TwixtError if an argument is wrong.
        """
        if not 0 < size_px < np.inf:
            raise TwixtError(f"the size of points must be a finite number of pixels > 0, got {size_px!r}")
        places = places_from_eye("positions", positions, eye)
        rows = np.empty(len(places), POINT)
        rows["position"], rows["color"] = places, _colors(colors, len(places))
        self.program["size_px"] = float(size_px)
        self._set(rows)


class SmoothLines(FlatRows):
    """Draws straight lines that are one pixel wide."""

    def __init__(self, context: moderngl.Context) -> None:
        program = context.program(
            vertex_shader=_LINE_VERTEX, geometry_shader=_LINE_GEOMETRY, fragment_shader=_LINE_FRAGMENT
        )
        super().__init__(context, program, LINE, "3f 3f 4f1")

    def set(self, starts: ArrayLike, ends: ArrayLike, colors: ArrayLike, eye: Vector = ORIGIN) -> None:
        """Replaces the lines. starts, ends: (n, 3), in metres. colors: (n, 4) or one (4,), rgba from 0 to 255.

        eye: position of the picture's camera, in metres. Raises TwixtError if an argument is wrong.
        """
        begin, end = places_from_eye("starts", starts, eye), places_from_eye("ends", ends, eye)
        if len(begin) != len(end):
            raise TwixtError(f"lines need as many ends as starts, got {len(begin)} starts and {len(end)} ends")
        rows = np.empty(len(begin), LINE)
        rows["start"], rows["end"], rows["color"] = begin, end, _colors(colors, len(begin))
        self._set(rows)


class Outline:
    """Draws the twelve edges of one box."""

    def __init__(self, context: moderngl.Context) -> None:
        self._lines = SmoothLines(context)
        self._edges = np.zeros((2, 0, 3))  # start and end of each edge
        self._eye: Vector | None = None  # position of the eye in the last picture; None before the first picture

    def set(self, corners: tuple[Vector, Vector]) -> None:
        """Replaces the box. corners: its lowest and its highest corner in the world, in metres."""
        low, high = np.array(corners, np.float64)
        eight = np.array([np.where([bit & 1, bit & 2, bit & 4], high, low) for bit in range(8)])
        self._edges, self._eye = eight[EDGES.T], None

    def draw(self, eye: Vector) -> None:
        """Draws all edges with the current depth test. eye: position of the picture's camera, in metres."""
        if eye != self._eye:
            self._eye = eye
            starts, ends = self._edges
            self._lines.set(starts, ends, np.array(OUTLINE_COLOR, np.uint8), eye)
        self._lines.draw()


class DotsAndLines:
    """Draws dots and lines into pictures. The programs are compiled when they are used for the first time.

    outline: draws the outline of the scene.
    """

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self.outline = Outline(context)
        self._dots: Dots | None = None
        self._lines: SmoothLines | None = None
        self._rings: Rings | None = None
        self._any_frames = self._among_frames = 0  # see `note`

    @property
    def are_drawn(self) -> bool:
        """True if the current or the previous frame contains dots, lines or rings."""
        return self._any_frames > 0

    @property
    def are_among_bodies(self) -> bool:
        """True if the current or the previous frame contains dots or lines, which bodies may hide."""
        return self._among_frames > 0

    def dots(self) -> Dots:
        """Draws the dots. Call `Dots.set` first, and then `draw` with this object."""
        self._dots = self._dots or Dots(self._context)
        return self._dots

    def lines(self) -> SmoothLines:
        """Draws the lines. Call `SmoothLines.set` first, and then `draw` with this object."""
        self._lines = self._lines or SmoothLines(self._context)
        return self._lines

    def rings(self) -> Rings:
        """Draws the rings. Call `Rings.set` first, and then `draw` with this object."""
        self._rings = self._rings or Rings(self._context)
        return self._rings

    def prepare(self) -> bool:
        """Compiles the program of rings, so that the frame of the first event does not wait for it. Returns False if it
        is compiled already. Set an empty scissor rectangle before the call."""
        if self._rings is not None:
            return False
        rings = self.rings()
        rings.set(np.zeros((1, 3)), np.ones(1), np.ones(1), 1.0)
        self._context.enable_only(moderngl.BLEND | rings.flags)
        rings.draw()
        return True

    def note(self, rows: FlatRows) -> None:
        """Records that the current frame draws these rows."""
        if rows.count:
            self._any_frames = 2  # the current frame and the next one
            if rows.flags & moderngl.DEPTH_TEST:
                self._among_frames = 2

    def draw(self, rows: FlatRows, target: FrameTarget, viewport: Viewport) -> None:
        """Draws the rows that were set last. They are drawn into the picture at `viewport`."""
        framebuffer = target.framebuffer
        framebuffer.use()
        target.limit(viewport)
        self._context.enable_only(moderngl.BLEND | rows.flags)
        framebuffer.depth_mask = False
        rows.draw()
        framebuffer.depth_mask = True
        target.uncut()

    def end_frame(self) -> None:
        """Ends the frame."""
        self._any_frames = max(0, self._any_frames - 1)
        self._among_frames = max(0, self._among_frames - 1)


def _colors(values: ArrayLike, count: int) -> NDArray[np.uint8]:
    colors = np.asarray(values, np.uint8)
    if colors.shape not in ((4,), (count, 4)) and count:
        raise TwixtError(f"colors must be rgba from 0 to 255, shape ({count}, 4) or (4,), got {colors.shape}")
    return colors if count else np.zeros((0, 4), np.uint8)
