"""Whether any sphere is wider than a program of points draws: asked of the GPU in each picture, of all spheres.

The one idea: the answer is an occlusion query over a draw in which each such sphere is a point and all others are
clipped away. It needs places and sizes alone, and nothing reaches a pixel: 0.013 us a body where a draw of
rectangles that are not there takes 0.13. So the few large spheres of a picture are never missing, and those
pictures that have none (most) do not pay for them.
"""

from __future__ import annotations

import moderngl

from twixt.render.draw.pose import PoseVariant
from twixt.render.draw.sphere_glsl import sphere_points

_VERTEX = """
void main() {
    vec4 ball = ball_of(drawn_pose());
    gl_PointSize = 1.0;
    // The near plane: seen wherever anything stands.
    gl_Position = ball.w > 0.0 && !fits_point(ball) ? vec4(0.0, 0.0, -1.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
}
"""
# Drawn with blending: changes no pixel.
_FRAGMENT = """#version 330 core
out vec4 color;
void main() { color = vec4(0.0); }
"""


def beyond_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Takes GL_POINTS of bodies; a sample passes for each sphere that does not fit a point of `range_px.y`."""
    return sphere_points(context, variant, _VERTEX, _FRAGMENT)
