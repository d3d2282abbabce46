"""Contains the GLSL that all programs of spheres use. It computes a sphere's position, frame and skin, and decides
which program draws the sphere.

In a picture, each ball is drawn by exactly one program. A ball "fits" a point if it is no wider than `range_px.y` and
its centre is in the picture or near the picture. Programs of points draw the balls that fit and are wider than
`range_px.x`. The program of quads draws the visible balls that do not fit.

The guard: OpenGL discards a point whose centre is outside the viewport. So points are drawn into a larger viewport, the
guarded viewport. It extends beyond the picture by GUARD_PX on each side. The scissor removes the pixels outside the
picture. Bodies that are not drawn are moved to the far corner of the guarded viewport. There they are not clipped, and
OpenGL drops them before it draws a pixel. (A single clipped point slows down software rendering of all points.) A body
that is moved to this corner takes 0.03 us. A point in the picture that fails the depth test takes 0.14 us.

The wide view: near the corners of a picture, a ball looks like an ellipse that is stretched away from the middle. If
there are many spheres, they are drawn as circles, because a stretch of up to WIDE_STRETCH is hardly visible. If the
stretch is larger, variants of the programs draw ellipses, which cost a little more.
"""

from __future__ import annotations

import math

import moderngl

from twixt.render.draw.frame.camera import CameraMatrices
from twixt.render.draw.frame.frame_block import GUARD_PX
from twixt.render.draw.glsl.light import OUTLINE_GLSL
from twixt.render.draw.glsl.pose import pose_glsl
from twixt.render.draw.glsl.uniform_blocks import PoseVariant, frame_glsl, switches_glsl

# Largest width in px of a sphere that is drawn as a point. Half of this width must fit into the margin GUARD_PX.
# Besides, the largest point of llvmpipe is 255 px wide.
LARGEST_POINT_PX = 2 * GUARD_PX
ALL_PX = (0.0, float(LARGEST_POINT_PX))

# A sphere in a corner of the picture looks stretched. Up to this stretch, spheres are drawn as circles. With a vertical
# field of view of 45 degrees, the stretch is 1.2 in a picture of 4:3 and 1.3 in a picture of 16:9.
WIDE_STRETCH = 1.25

# Half the difference between the two tones of the skin on large spheres. The lighter tone is 1.
FULL_CONTRAST = 0.2

_BALL = (
    f"const float FULL_CONTRAST = {FULL_CONTRAST};\n"
    + """
uniform vec2 range_px;

// Returns the ball. xyz: its centre in eye space. w: its radius; 0 if the ball is not visible.
vec4 ball_of(Pose pose) {
    float radius = shape_size.x * mean_scale(pose);
    vec3 center = view * pose.position;
    // Tests whether the ball is outside the four sides of the view, behind the eye, or beyond the far plane. The test
    // of the sides uses distances, not angles.
    vec2 slope = 1.0 / lens.xy, beyond = abs(center.xy) - w_at(-center.z) * slope;
    if (!PARALLEL) beyond *= inversesqrt(1.0 + slope * slope);
    float front = center.z + radius;
    bool seen = pose.visible && radius > 0.0 && (PARALLEL || center.z < radius)
                && lens.z * front + lens.w < w_at(-front) && all(lessThan(beyond, vec2(radius)));
    return vec4(center, seen ? radius : 0.0);
}

// Diameter in px that the ball would have in the middle of the picture.
float width_px(vec4 ball) { return 2.0 * ball.w / (w_at(-ball.z) * picture.z); }

#if WIDE
// The outline of a ball in the picture is an ellipse. x: the ellipse's length divided by its width. y: distance of the
// ellipse's middle from the middle of the view, divided by the distance of the ball's projected centre from the middle
// of the view.
vec2 stretch(vec3 center, float radius) {
    float radius2 = radius * radius, depth2 = center.z * center.z, room2 = depth2 - radius2;
    return vec2(sqrt((dot(center, center) - radius2) / room2), depth2 / room2);
}

// Length in px of the ball's outline in the picture.
float length_px(vec4 ball) {
    vec2 drawn_out = stretch(ball.xyz, ball.w);
    return width_px(ball) * drawn_out.x * sqrt(drawn_out.y);
}
#else
float length_px(vec4 ball) { return width_px(ball); }
#endif

bool fits_point(vec4 ball) {
    float depth = -ball.z, w = w_at(depth);
    return (PARALLEL || depth > 2.0 * ball.w) && length_px(ball) <= range_px.y && abs(lens.z * ball.z + lens.w) < w
           && all(lessThan(abs(ball.xy) * guard.xy, vec2(0.999 * w)));
}

bool is_drawn_as_point(vec4 ball) {
    return ball.w > 0.0 && fits_point(ball) && length_px(ball) > range_px.x;
}

// A point that is not drawn gets this position, the corner of the guarded viewport.
const vec4 NOWHERE = vec4(1.0);

// Converts a direction from eye space to the ball's own frame. This frame is eye space, turned by the shortest rotation
// so that it looks at the ball.
vec3 facing(vec3 v, vec3 to_eye) {
    vec3 both = vec3(to_eye.xy, 1.0 + to_eye.z);
    return v - both * (dot(both, v) / both.z) + vec3(0.0, 0.0, 2.0 * dot(to_eye, v));
}

vec3 to_eye_from(vec3 center) { return normalize(-sight_to(center)); }

// How much darker the darker tone of the pattern is. On small balls, a pixel covers much of the pattern, so the pattern
// fades. On a ball that is 9 px wide, it has disappeared.
float pattern_depth(float px_in_radii) {
    return PATTERN * FULL_CONTRAST * clamp(1.33 - 6.0 * px_in_radii, 0.0, 1.0);
}
"""
)

# In each picture, an occlusion query asks the GPU whether any sphere does not fit a point. For the query, each sphere
# that does not fit is drawn as a point of one pixel. All other spheres are clipped. This draw call needs only positions
# and sizes, and changes no pixel. It takes 0.02 us for each body; to draw empty rectangles would take 0.13 us. Because
# of the query, the large spheres of a picture are never missing. Most pictures have no large spheres, and then only the
# query costs time. The query must pass if a visible sphere does not fit a point. If the query passes without need, the
# cost is one draw call that draws nothing. So expensive parts of a pose are left out: the curve of a body is replaced
# by a straight line, with a margin for the distance between the two.
#
# The offset of the cubic curve from the straight line is the sum of two terms. Each term is a product of three factors:
# the time between the snapshots, the difference between the velocity at one end and the mean velocity, and s (1 - s)^2
# or s^2 (1 - s). The last factor is at most 4/27.
_BEYOND_VERTEX = """
void main() {
    bool continues = gl_VertexID < counts.y && ((older_place.w ^ newer_place.w) & CONTINUITY) == 0u
                     && is_finite(newer_place, newer_orientation, newer_scale);
    vec3 older = uintBitsToFloat(older_place.xyz), way = uintBitsToFloat(newer_place.xyz) - older;
    float bulge = 0.0, scale = abs(older_scale);
    vec3 position = place_from_eye(older);
    if (continues) {
        position += way * pair_share;
        scale = max(scale, abs(newer_scale));
#if !STRAIGHT
        if ((older_motion.w & newer_motion.w & HAS_VELOCITY) != 0u
            && is_below(older_motion.xyz, FARTHEST) && is_below(newer_motion.xyz, FARTHEST))
            bulge = 0.149 * (length(gaps.x * uintBitsToFloat(older_motion.xyz) - way)
                             + length(gaps.x * uintBitsToFloat(newer_motion.xyz) - way));
#endif
    }
    vec4 ball = vec4(view * position, shape_size.x * scale);
    float depth = -ball.z;
#if PLACED
    bulge += length(local_position) * scale;  // a margin in all directions
#endif
    bulge += 1e-5 * abs(depth);
    // The true ball may be nearer to the eye, or farther to the side. The difference is at most `bulge`.
    float nearest = depth - bulge;
    float wide = 1.0;
#if WIDE
    vec2 drawn_out = stretch(vec3(abs(ball.xy) + bulge, nearest), ball.w);
    wide = drawn_out.x * sqrt(drawn_out.y);
#endif
    float w = w_at(nearest);
    bool fits = (PARALLEL || nearest > 2.0 * ball.w) && 2.0 * ball.w * wide <= range_px.y * picture.z * w
                && abs(lens.z * ball.z + lens.w) < w
                && all(lessThan((abs(ball.xy) + bulge) * guard.xy, vec2(0.999 * w)));
#if PLACED
    float farthest = depth + bulge;
    fits = fits && abs(lens.w - lens.z * nearest) < w && abs(lens.w - lens.z * farthest) < w_at(farthest);
#endif
    vec2 beyond = abs(ball.xy) - w_at(depth) / lens.xy;
    if (!PARALLEL) beyond *= inversesqrt(1.0 + 1.0 / (lens.xy * lens.xy));
    bool seen = (older_motion.w & VISIBLE) != 0u && (PARALLEL || ball.z < ball.w + bulge)
                && all(lessThan(beyond, vec2(ball.w + 2.0 * bulge)));
    gl_PointSize = 1.0;
    // The point is drawn on the near plane. There a sample passes the depth test, whatever was drawn before.
    gl_Position = seen && !fits ? vec4(0.0, 0.0, -1.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
}
"""
# The point is drawn with blending and alpha 0, so no pixel changes.
_BEYOND_FRAGMENT = """#version 330 core
out vec4 color;
void main() { color = vec4(0.0); }
"""


def sphere_vertex_glsl(variant: PoseVariant, main: str) -> str:
    """Complete vertex shader of a sphere program. main: GLSL with the program's own declarations and its function
    `main`."""
    return "#version 330 core\n" + wide_glsl(variant) + frame_glsl(variant) + pose_glsl(variant) + _BALL + main


def wide_glsl(variant: PoseVariant) -> str:
    """GLSL that defines WIDE: 1 for wide views, otherwise 0."""
    return f"#define WIDE {int(variant.wide)}\n"


def is_wide(camera: CameraMatrices) -> bool:
    """True if spheres in the picture's corners are stretched by more than WIDE_STRETCH."""
    if camera.orthographic:
        return False
    across, along = float(camera.projection[0, 0]), float(camera.projection[1, 1])
    return math.hypot(1, 1 / across, 1 / along) > WIDE_STRETCH


def sphere_points(context: moderngl.Context, variant: PoseVariant, vertex: str, fragment: str) -> moderngl.Program:
    """Program that draws spheres as points. Use it with GL_POINTS, one point for each body. fragment: fragment shader
    without the line `#version`."""
    head = "#version 330 core\n" + switches_glsl(variant) + OUTLINE_GLSL
    return context.program(vertex_shader=sphere_vertex_glsl(variant, vertex), fragment_shader=head + fragment)


def beyond_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Program of the occlusion query. A sample passes for each visible sphere that may be too large for a point of the
    width `range_px.y`.

    Use it with GL_POINTS, one point for each body.
    """
    vertex = f"#define STRAIGHT {int(variant.motion == 'linear')}\n" + _BEYOND_VERTEX
    return context.program(vertex_shader=sphere_vertex_glsl(variant, vertex), fragment_shader=_BEYOND_FRAGMENT)
