"""Draws rings over a picture: circles that face the camera, each with a radius in pixels around a point of the world.

Bodies do not hide rings, because a ring around a point of contact would be half inside the floor. A ring is a white
line between two dark ones, so that it is visible on light and on dark ground. All rings are one draw call: instances of
a narrow band of triangles, so that few pixels are shaded.
"""

from __future__ import annotations

import moderngl
import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.scene import Vector
from twixt.render.draw.flat.flat_rows import FINITE_GLSL, ORIGIN, FlatRows, places_from_eye
from twixt.render.draw.glsl.uniform_blocks import FRAME_GLSL

RING = np.dtype([("position", "<f4", 3), ("radius_px", "<f4"), ("alpha", "<f4")])
# Number of straight parts of the band. Pixels outside the circle are left out, so it may be coarse.
PARTS = 16

_VERTEX = (
    "#version 330 core\n"
    + FRAME_GLSL
    + FINITE_GLSL
    + f"const int PARTS = {PARTS};\n"
    + """
uniform float line_px;
in vec3 position;
in float radius_px;
in float alpha;
noperspective out vec2 from_middle_px;
flat out vec2 radius_and_alpha;

void main() {
    radius_and_alpha = vec2(radius_px, alpha);
    float half_turn = 3.14159265 / float(PARTS), angle = float(gl_VertexID / 2) * 2.0 * half_turn;
    // half of the white line, the dark line, and one pixel for the soft edge
    float reach_px = 1.5 * line_px + 1.0;
    float from_px = (gl_VertexID & 1) == 0 ? max(0.0, radius_px - reach_px) : (radius_px + reach_px) / cos(half_turn);
    from_middle_px = from_px * vec2(cos(angle), sin(angle));
    vec4 middle = clip_of(view * position);
    bool is_seen = is_finite(position) && middle.w > 0.0 && middle.z > -middle.w;
    gl_Position = vec4(middle.xy + 2.0 * from_middle_px / picture.xy * middle.w, 0.0, middle.w);
    if (!is_seen) gl_Position = vec4(0.0, 0.0, 2.0, 1.0);
}
"""
)
_FRAGMENT = """#version 330 core
uniform float line_px;
noperspective in vec2 from_middle_px;
flat in vec2 radius_and_alpha;
out vec4 color;
const float DARK = 0.55;  // opacity of the dark lines
void main() {
    float away_px = abs(length(from_middle_px) - radius_and_alpha.x);
    float white = clamp(0.5 * line_px + 0.5 - away_px, 0.0, 1.0);
    float dark = DARK * clamp(1.5 * line_px + 0.5 - away_px, 0.0, 1.0) * (1.0 - white);
    float covered = white + dark;
    if (covered * radius_and_alpha.y <= 0.0) discard;
    color = vec4(vec3(white / covered), covered * radius_and_alpha.y);
}
"""


class Rings(FlatRows):
    """Draws rings."""

    flags = 0

    def __init__(self, context: moderngl.Context) -> None:
        program = context.program(vertex_shader=_VERTEX, fragment_shader=_FRAGMENT)
        super().__init__(context, program, RING, "3f 1f 1f/i")

    def set(
        self,
        positions: ArrayLike,
        radii_px: NDArray[np.floating],
        alphas: NDArray[np.floating],
        line_px: float,
        eye: Vector = ORIGIN,
    ) -> None:
        """Replaces the rings. positions: (n, 3), in metres. radii_px: (n,). alphas: opacities, (n,), 0 to 1. line_px:
        width of the white line.

        eye: position of the picture's camera, in metres. Raises TwixtError if positions have a wrong shape.
        """
        places = places_from_eye("positions", positions, eye)
        rows = np.empty(len(places), RING)
        rows["position"], rows["radius_px"], rows["alpha"] = places, radii_px, alphas
        self.program["line_px"] = float(line_px)
        self._set(rows)

    def draw(self) -> None:
        """Draws the rings that were set last."""
        if self.count and self._vertex_array is not None:
            self._vertex_array.render(moderngl.TRIANGLE_STRIP, vertices=2 * (PARTS + 1), instances=self.count)
