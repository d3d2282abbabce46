"""Shapes that are ray cast: what boxes, capsules, cylinders and ellipsoids have in common.

The one idea: a convex shape is two functions. `support` says how far it reaches along a direction: from that
follow whether it is in sight, how large a point covers it, and its rectangle. `meet` says where a ray enters it,
and how much of the pixel it covers: from that follow its outline, its true depth and its light. All work in the
body's own frame, so a shape knows nothing of cameras.

As with spheres, most are points, the cheapest thing OpenGL can draw; what a point cannot show is drawn as a
rectangle by a second program over the same bodies, and both cast the same rays. In a point the ray is followed
from the plane through the body's middle, so that small and far bodies keep their digits. Edges are smoothed by
coverage. What is the same in all pixels of a body is worked out in the vertex shader and handed on flat, packed:
each flat vec4 costs software drawing as much as two more bodies' poses.
"""

from __future__ import annotations

from typing import NamedTuple

import moderngl

from twixt.render.draw.light_glsl import LIGHT_GLSL
from twixt.render.draw.pose import FRAME_GLSL, PoseVariant, pose_glsl
from twixt.render.draw.quaternion_glsl import ROTATE_GLSL
from twixt.render.draw.spheres import LARGEST_POINT_PX


class CastShape(NamedTuple):
    """A shape's GLSL.

    vertex: `vec3 size_of(Pose)`, half extents in metres, not above 0 where there is nothing to see;
    `float support(vec3 size, vec3 along)`, how far it reaches along a direction, times that direction's length;
    `void paint(Body)`, which fills `tone_x`, `tone_y`, `tone_z` and `extent`, and may scale the ray's inputs.
    fragment: `void meet(p, d, per_px, out t, out covered)` and `vec3 shade(q, d, per_px)`, see below.
    """

    vertex: str
    fragment: str


_VERTEX = (
    ROTATE_GLSL
    + """
VARYING vec4 across;  // what a pixel to the right moves the ray by, body's frame; w: lens, see depth_at
VARYING vec4 upward;  // the same of a pixel up
VARYING vec4 way;     // the ray through the middle: of the body, unit (point), of the picture (quad)
VARYING vec4 extent;  // the shape's own numbers; w: px a unit of its lengths has (point: at its middle; quad: at 1 m)
VARYING vec4 tone_x;  // what the shape is painted with; w: depth of the pattern, below 0: plain colour
VARYING vec4 tone_y;  // w: x in px of the middle of the body (point), of the picture (quad)
VARYING vec4 tone_z;  // w: y
#if !POINT
VARYING vec4 from_eye;  // the body's middle as seen from the eye, body's frame
out vec4 rectangle;           // low, high; low.x > high.x: not drawn
#endif

struct Body {
    vec3 center;            // eye space
    vec3 right, up, back;   // the eye's axes in the body's frame
    vec3 size;
    vec3 color;
};

vec3 eye_axis(Body body, int axis) { return vec3(body.right[axis], body.up[axis], body.back[axis]); }

SHAPE

float reach(Body body, vec3 along) {
    return support(body.size, body.right * along.x + body.up * along.y + body.back * along.z);
}

void main() {
    gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
    across = upward = way = extent = tone_x = tone_y = tone_z = vec4(0.0);
#if POINT
    gl_PointSize = 1.0;
#else
    from_eye = vec4(0.0);
    rectangle = vec4(1.0, 0.0, 0.0, 0.0);
#endif
    Pose pose = drawn_pose();
    Body body;
    body.size = size_of(pose);
    body.color = pose.color;
    body.center = (view * vec4(pose.position, 1.0)).xyz;
    vec4 to_body = back(turn_after(view_turn, pose.orientation));
    body.right = rotate(to_body, vec3(1.0, 0.0, 0.0));
    body.up = rotate(to_body, vec3(0.0, 1.0, 0.0));
    body.back = cross(body.right, body.up);

    // Outside the view's four sides, or behind the eye.
    vec2 slope = 1.0 / lens.xy;
    vec3 center = body.center;
    vec2 beyond = abs(center.xy) + center.z * slope;
    vec2 nearest = vec2(reach(body, vec3(center.x < 0.0 ? -1.0 : 1.0, 0.0, slope.x)),
                        reach(body, vec3(0.0, center.y < 0.0 ? -1.0 : 1.0, slope.y)));
    float half_depth = reach(body, vec3(0.0, 0.0, 1.0));
    if (!pose.visible || any(lessThanEqual(body.size, vec3(0.0))) || center.z >= half_depth
        || any(greaterThanEqual(beyond, nearest))) return;

    float depth = -center.z;
    vec2 tangent = center.xy / depth;
    vec2 spread = vec2(reach(body, vec3(1.0, 0.0, tangent.x)), reach(body, vec3(0.0, 1.0, tangent.y)))
                  / (depth - half_depth);
    float clip_z = lens.z * center.z + lens.w;
    float diameter = 2.0 * max(spread.x, spread.y) / picture.z + 2.0;
    bool is_point = depth > 2.0 * half_depth && abs(clip_z) < depth && diameter <= LARGEST_POINT
                    && all(lessThan(abs(center.xy) * lens.xy, vec2(0.999 * depth)));
    if (is_point != (POINT == 1)) return;

    vec3 away = body.right * center.x + body.up * center.y + body.back * center.z;
    vec2 middle = 0.5 * picture.xy + grid.zw;
#if POINT
    float per_distance = inversesqrt(dot(center, center));
    across = vec4(body.right * (depth * picture.z), 0.5 - 0.5 * lens.z);
    upward = vec4(body.up * (depth * picture.z), 0.5 * lens.w / depth);
    way = vec4(away * per_distance, per_distance);
    extent.w = 1.0 / (depth * picture.z);
    middle += tangent / picture.z;
    gl_PointSize = diameter;
    gl_Position = vec4(center.xy * lens.xy, clip_z, depth);
#else
    across = vec4(body.right * picture.z, 0.5 - 0.5 * lens.z);
    upward = vec4(body.up * picture.z, 0.5 * lens.w);
    way = vec4(-body.back, picture.z);
    extent.w = 1.0 / picture.z;
    from_eye.xyz = away;
    vec2 margin = 2.0 / picture.xy;
    rectangle = depth > half_depth ? vec4((tangent - spread) * lens.xy - margin, (tangent + spread) * lens.xy + margin)
                                   : vec4(-1.0, -1.0, 1.0, 1.0);
    rectangle = clamp(rectangle, -1.0, 1.0);
#endif
    paint(body);
    tone_y.w = middle.x;
    tone_z.w = middle.y;
}
"""
)

_NAMES = ("across", "upward", "way", "extent", "tone_x", "tone_y", "tone_z", "from_eye")

_GEOMETRY = (
    "#version 330 core\nlayout(points) in;\nlayout(triangle_strip, max_vertices = 4) out;\n"
    + "".join(f"in vec4 vertex_{name}[];\nflat out vec4 {name};\n" for name in _NAMES)
    + """
in vec4 rectangle[];
void main() {
    vec4 sides = rectangle[0];
    if (sides.x >= sides.z) return;
    for (int corner = 0; corner < 4; corner++) {
"""
    + "".join(f"        {name} = vertex_{name}[0];\n" for name in _NAMES)
    + """
        gl_Position = vec4(sides[(corner & 1) * 2], sides[(corner >> 1) * 2 + 1], 0.0, 1.0);
        EmitVertex();
    }
    EndPrimitive();
}
"""
)

_FRAGMENT = (
    LIGHT_GLSL
    + """
flat in vec4 across, upward, way, extent, tone_x, tone_y, tone_z;
#if !POINT
flat in vec4 from_eye;
#endif
out vec4 color;
const float FAINT_DEPTH = 0.999999;
float px_move = 1.0;  // times `across` and `upward`: how far a pixel moves the ray near the body

SHAPE

void main() {
    vec2 off = gl_FragCoord.xy - vec2(tone_y.w, tone_z.w);
    vec3 moved = across.xyz * off.x + upward.xyz * off.y;
#if POINT
    // p: on the ray, in the plane through the middle. d: along it, by a metre, seen from the eye.
    vec3 p = moved, d = way.xyz + moved * way.w;
    float per_px = extent.w;
#else
    vec3 d = way.xyz + moved;
    float nearest = dot(from_eye.xyz, d) / dot(d, d);
    vec3 p = d * nearest - from_eye.xyz;
    float stretched = inversesqrt(1.0 + dot(off, off) * way.w * way.w);
    px_move = max(nearest, 1e-6);
    float per_px = extent.w / px_move;
    d *= stretched;
#endif
    float t, covered;
    meet(p, d, per_px, t, covered);
    // Also where nothing is drawn at all, and numbers are none.
    if (!(covered > 0.0) || extent.w == 0.0) discard;
#if POINT
    float depth = across.w + upward.w / (1.0 + t * way.w);
#else
    float distance = nearest + t * stretched;
    float depth = across.w + upward.w / distance;
    if (distance <= 0.0 || depth < 0.0) discard;
#endif
    // The faint outer half of the edge stands before nothing but the background, as with spheres.
    gl_FragDepth = covered < 0.5 ? max(depth, FAINT_DEPTH) : depth;
    color = vec4(shade(p + d * t, d, per_px), min(covered, 1.0));
}
"""
)

# What round shapes share: one colour in two tones, lit in the body's frame.
ROUND_VERTEX = """
void paint_round(Body body, float radius) {
    float px = max(-body.center.z, radius) * picture.z / radius;
    tone_x = vec4(body.color, light_eye.w > 0.5 ? -1.0 : 0.20 * clamp(1.2 - 3.0 * px, 0.0, 1.0));
    tone_y.xyz = body.right * light_eye.x + body.up * light_eye.y + body.back * light_eye.z;
    tone_z.xyz = body.up * up_eye.y + body.back * up_eye.z;
}
"""

ROUND_FRAGMENT = """
// from_z: the surface's place across z, in px. d: along the ray, unit, metres.
vec3 shade_round(vec3 normal, vec3 d, vec2 from_z) {
    if (tone_x.w < 0.0) return tone_x.rgb;
    vec2 side = clamp(from_z, -1.0, 1.0);
    float tone = 1.0 - tone_x.w * (1.0 - side.x * side.y);
    float facing = -dot(normal, d), towards = dot(normal, tone_y.xyz);
    float mirrored = 2.0 * facing * towards + dot(tone_y.xyz, d);
    return lit_by(tone_x.rgb * tone, towards, dot(normal, tone_z.xyz), mirrored, facing);
}
"""


def cast_point_program(context: moderngl.Context, variant: PoseVariant, shape: CastShape) -> moderngl.Program:
    """Draws nearly all bodies of this shape; takes GL_POINTS of bodies."""
    head = "#version 330 core\n#define POINT 1\n"
    vertex = head + "#define VARYING flat out\n" + _vertex(variant, shape)
    fragment = head + _FRAGMENT.replace("SHAPE", shape.fragment)
    return context.program(vertex_shader=vertex, fragment_shader=fragment)


def cast_quad_program(context: moderngl.Context, variant: PoseVariant, shape: CastShape) -> moderngl.Program:
    """Draws the bodies of this shape that a point cannot show; takes GL_POINTS of bodies."""
    head = "#version 330 core\n#define POINT 0\n"
    renamed = "".join(f"#define {name} vertex_{name}\n" for name in _NAMES)
    vertex = head + "#define VARYING out\n" + renamed + _vertex(variant, shape)
    fragment = head + _FRAGMENT.replace("SHAPE", shape.fragment)
    return context.program(vertex_shader=vertex, geometry_shader=_GEOMETRY, fragment_shader=fragment)


def _vertex(variant: PoseVariant, shape: CastShape) -> str:
    text = _VERTEX.replace("SHAPE", shape.vertex).replace("LARGEST_POINT", f"{LARGEST_POINT_PX}.0")
    return FRAME_GLSL + pose_glsl(variant) + text
