"""What all programs of spheres share: where a ball is, which of the programs draws it, and its frame and skin.

The one idea: each ball is drawn by exactly one program of a picture. A ball "fits" a point when it is no wider than
`range_px.y` and its middle is in the picture or near it; programs of points draw those that fit and are wider than
`range_px.x`, and the program of quads draws what is seen and does not fit.

The guard: points are drawn into a viewport that reaches GUARD_PX beyond the picture on each side (what is drawn
there is cut off), for OpenGL throws a point away with its middle. Bodies that are not drawn are put into the far
corner of the guard: not clipped (one clipped point slows software drawing of all of them), and dropped before
they reach a pixel (0.03 us a body; as a point that fails the depth test in the picture 0.14 us).

The wide view: towards the corners of the picture a ball is seen as an ellipse, drawn out away from the middle. By up
to WIDE_STRETCH that goes unnoticed where spheres are many, and circles stand for them. Beyond, programs of their own
draw ellipses, which cost a little more.
"""

from __future__ import annotations

import math

import moderngl

from twixt.render.camera import CameraMatrices
from twixt.render.draw.frame_block import GUARD_PX
from twixt.render.draw.pose import FRAME_GLSL, PoseVariant, pose_glsl
from twixt.render.draw.quaternion_glsl import ROTATE_GLSL

# Widest sphere drawn as a point, px: half of it must fit into the guard, and points may end at 255 px (llvmpipe).
LARGEST_POINT_PX = 2 * GUARD_PX
ALL_PX = (0.0, float(LARGEST_POINT_PX))

# In the corners of the picture: a lens of 45 degrees has 1.2 at 4:3 and 1.3 at 16:9.
WIDE_STRETCH = 1.25

# Half of what the darker of the skin's two tones is darker by than the lighter, where spheres are large.
FULL_CONTRAST = 0.2

_BALL = (
    f"const float FULL_CONTRAST = {FULL_CONTRAST};\n"
    + ROTATE_GLSL
    + """
uniform vec2 range_px;

// xyz: centre in eye space, w: radius; w = 0: not seen.
vec4 ball_of(Pose pose) {
    float radius = shape_size.x * mean_scale(pose);
    vec3 center = view * pose.position;
    // Outside the view's four sides, behind, or beyond: to the side planes by their distance, not by the angle.
    vec2 slope = 1.0 / lens.xy;
    vec2 beyond = (abs(center.xy) + center.z * slope) * inversesqrt(1.0 + slope * slope);
    float front = center.z + radius;
    bool seen = pose.visible && radius > 0.0 && center.z < radius && lens.z * front + lens.w < -front
                && all(lessThan(beyond, vec2(radius)));
    return vec4(center, seen ? radius : 0.0);
}

// Its diameter in px, as it were in the middle of the picture.
float width_px(vec4 ball) { return 2.0 * ball.w / (-ball.z * picture.z); }

#if WIDE
// How much longer than broad it is seen, and how much farther from the picture's middle than its own middle is.
vec2 stretch(vec3 center, float radius) {
    float radius2 = radius * radius, depth2 = center.z * center.z, room2 = depth2 - radius2;
    return vec2(sqrt((dot(center, center) - radius2) / room2), depth2 / room2);
}

// Its greatest length in px.
float length_px(vec4 ball) {
    vec2 drawn_out = stretch(ball.xyz, ball.w);
    return width_px(ball) * drawn_out.x * sqrt(drawn_out.y);
}
#else
float length_px(vec4 ball) { return width_px(ball); }
#endif

bool fits_point(vec4 ball) {
    float depth = -ball.z;
    return depth > 2.0 * ball.w && length_px(ball) <= range_px.y && abs(lens.z * ball.z + lens.w) < depth
           && all(lessThan(abs(ball.xy) * guard.xy, vec2(0.999 * depth)));
}

bool is_drawn_as_point(vec4 ball) {
    return ball.w > 0.0 && fits_point(ball) && length_px(ball) > range_px.x;
}

// Where a point that is not drawn is put: the guard's corner.
const vec4 NOWHERE = vec4(1.0);

// A direction in eye space, in the ball's own frame: that of the eye turned, the short way, to look at the ball.
vec3 facing(vec3 v, vec3 to_eye) {
    vec3 both = vec3(to_eye.xy, 1.0 + to_eye.z);
    return v - both * (dot(both, v) / both.z) + vec3(0.0, 0.0, 2.0 * dot(to_eye, v));
}

// How deep the pattern's darker tone is: it fades where pixels cover much of it, and is gone at 9 px.
float pattern_depth(float px_in_radii) {
    return light_eye.w > 0.5 ? 0.0 : FULL_CONTRAST * clamp(1.33 - 6.0 * px_in_radii, 0.0, 1.0);
}
"""
)


def sphere_vertex_glsl(variant: PoseVariant, main: str) -> str:
    """A whole vertex shader around its own declarations and `main`."""
    return "#version 330 core\n" + wide_glsl(variant) + FRAME_GLSL + pose_glsl(variant) + _BALL + main


def wide_glsl(variant: PoseVariant) -> str:
    """What tells a shader of spheres whether the view is wide."""
    return f"#define WIDE {int(variant.wide)}\n"


def is_wide(camera: CameraMatrices) -> bool:
    """Whether circles would be seen not to be the ellipses that they should be."""
    across, along = float(camera.projection[0, 0]), float(camera.projection[1, 1])
    return math.hypot(1, 1 / across, 1 / along) > WIDE_STRETCH


def sphere_points(context: moderngl.Context, variant: PoseVariant, vertex: str, fragment: str) -> moderngl.Program:
    """A program that takes GL_POINTS of bodies, and draws points."""
    return context.program(vertex_shader=sphere_vertex_glsl(variant, vertex), fragment_shader=fragment)
