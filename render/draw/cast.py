"""Shapes that are ray cast: what boxes, capsules, cylinders and ellipsoids have in common.

The one idea: a small body is seen from one direction only. So where it is small, all that its pixels need is worked
out once, in the vertex shader, for rays that run side by side; the body is a point, the cheapest thing OpenGL can
draw. What is larger, or around the eye, is a rectangle whose pixels cast true rays. Each body is drawn by exactly
one of the two; which sizes are points, and in which of two qualities, cast_drawing.py says.

A shape says how far it reaches along a direction, `support`: from that follow whether it is in sight, how large a
point covers it, and its rectangle. Depth is that of the surface; edges are smoothed by coverage, but for the plain
quality.

Software drawing is what is counted here. It works through a pixel's whole shader, some 3 ns for each operation on
eight pixels; a flat vec4 more costs 30 ns a body; and `discard` costs more than the pixels that it saves: a pixel
that is not covered gets the depth of the background instead, which never passes.
"""

from __future__ import annotations

from typing import NamedTuple

import moderngl

from twixt.render.draw.light_glsl import LIGHT_GLSL, POLYNOMIAL_GLSL
from twixt.render.draw.pose import FRAME_GLSL, PoseVariant, pose_glsl
from twixt.render.draw.quaternion_glsl import ROTATE_GLSL

# Rims and shades at the edges of a body come in from this width to twice that; points have none.
DETAIL_PX = 22.0


class PointCast(NamedTuple):
    """vertex: `void show(Body, vec2 middle)`, which fills flat outputs of its own. fragment: a main that takes them."""

    vertex: str
    fragment: str


class CastShape(NamedTuple):
    """A shape's GLSL.

    size: `vec3 size_of(Pose)`, half extents in metres, not above 0 where there is nothing to see.
    support: `float support(vec3 size, vec3 along)`, how far it reaches along a direction, times that one's length.
    around: `float around(vec3 size)`, the radius of a ball around all of it.
    points, plain_points: the two qualities.
    quad_geometry: `void paint(Body)`, which fills `tone_x`, `tone_y`, `tone_z` and `extent`, and may scale the ray.
    quad_fragment: `void meet(p, d, per_px, out t, out covered)`, where along the ray surface begins and how much of
    the pixel it covers; `vec3 shade(q, d, per_px)`, its colour there. All in the body's frame.
    """

    size: str
    support: str
    around: str
    points: PointCast
    plain_points: PointCast
    quad_geometry: str
    quad_fragment: str


# A body as the eye has it, and what both programs ask of it.
_BODY = """
struct Body {
    vec3 center;            // eye space
    vec3 right, up, back;   // the eye's axes in the body's frame
    vec3 size;
    vec3 color;
    float depth, half_depth;
    vec2 tangent, spread;   // of the middle, and from there to the sides
    float width_px;
};

vec3 eye_axis(Body body, int axis) { return vec3(body.right[axis], body.up[axis], body.back[axis]); }

SUPPORT

float reach(Body body, vec3 along) {
    return support(body.size, body.right * along.x + body.up * along.y + body.back * along.z);
}

Body body_of(vec3 center, vec4 to_body, vec3 size, vec3 color) {
    Body body;
    body.center = center;
    body.right = rotate(to_body, vec3(1.0, 0.0, 0.0));
    body.up = rotate(to_body, vec3(0.0, 1.0, 0.0));
    body.back = cross(body.right, body.up);
    body.size = size;
    body.color = color;
    body.depth = -center.z;
    body.half_depth = reach(body, vec3(0.0, 0.0, 1.0));
    body.tangent = center.xy / body.depth;
    body.spread = vec2(reach(body, vec3(1.0, 0.0, body.tangent.x)), reach(body, vec3(0.0, 1.0, body.tangent.y)))
                  / (body.depth - body.half_depth);
    body.width_px = 2.0 * max(body.spread.x, body.spread.y) / picture.z + 1.0;
    return body;
}
"""

_SEEN = """
uniform vec2 range_px;  // y: the widest point

// Inside the view's four sides, and not behind the eye.
bool is_seen(Body body) {
    vec2 slope = 1.0 / lens.xy, side = vec2(body.center.x < 0.0 ? -1.0 : 1.0, body.center.y < 0.0 ? -1.0 : 1.0);
    vec2 beyond = abs(body.center.xy) - body.depth * slope;
    vec2 nearest = vec2(reach(body, vec3(side.x, 0.0, slope.x)), reach(body, vec3(0.0, side.y, slope.y)));
    return all(greaterThan(body.size, vec3(0.0))) && body.depth > -body.half_depth && all(lessThan(beyond, nearest));
}

bool is_point(Body body) {
    return all(greaterThan(body.size, vec3(0.0))) && body.depth > 2.0 * body.half_depth
           && abs(lens.z * body.center.z + lens.w) < body.depth && body.width_px <= range_px.y
           && all(lessThan(abs(body.center.xy) * guard.xy, vec2(0.999 * body.depth)));
}

SIZE

Body drawn_body(out vec4 to_body) {
    Pose pose = drawn_pose();
    to_body = back(turn_after(view_turn, pose.orientation));
    vec3 size = pose.visible ? size_of(pose) : vec3(0.0);
    return body_of(view * pose.position, to_body, size, pose.color);
}
"""

# A point that is not drawn is put into the corner of the guarded viewport, see sphere_glsl.py.
_POINT_MAIN = """
void main() {
    vec4 to_body;
    Body body = drawn_body(to_body);
    show(body, 0.5 * picture.xy + grid.zw + body.tangent / picture.z);
    gl_PointSize = 1.0;
    gl_Position = vec4(1.0);
    if (is_point(body)) {
        gl_PointSize = body.width_px;
        gl_Position = vec4(body.center.xy * guard.xy, lens.z * body.center.z + lens.w, body.depth);
    }
}
"""

# As beyond.py has it for spheres, of the balls around bodies: without their turns, half of a pose's cost.
_BEYOND_MAIN = """
uniform vec2 range_px;

SIZE

AROUND

void main() {
    Pose pose = drawn_pose();
    vec3 size = pose.visible ? size_of(pose) : vec3(0.0), center = view * pose.position;
    float radius = around(size), depth = -center.z;
    vec2 slope = 1.0 / lens.xy, aside = abs(center.xy), tangent = aside / depth;
    bool seen = all(greaterThan(size, vec3(0.0))) && depth > -radius
                && all(lessThan((aside - depth * slope) * inversesqrt(1.0 + slope * slope), vec2(radius)));
    vec2 spread = radius * sqrt(1.0 + tangent * tangent) / (depth - radius);
    bool fits = depth > 2.0 * radius && abs(lens.z * center.z + lens.w) < depth
                && 2.0 * max(spread.x, spread.y) / picture.z + 1.0 <= range_px.y
                && all(lessThan(aside * guard.xy, vec2(0.999 * depth)));
    gl_PointSize = 1.0;
    gl_Position = seen && !fits ? vec4(0.0, 0.0, -1.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
}
"""
_BEYOND_FRAGMENT = "out vec4 color; void main() { color = vec4(0.0); }"

_POINT_FRAGMENT = """
out vec4 color;
// What is not covered lies in the background. The faint outer half of an edge stands before nothing but that: with
// its true depth it would keep out what is behind, drawn later, and show what is behind that.
float depth_of(float depth, float covered) { return covered < 0.5 ? 1.0 - 2e-6 * covered : depth; }
"""

_QUAD_MAIN = """
out vec4 vertex_center, vertex_turn, vertex_size, vertex_color;
void main() {
    Body body = drawn_body(vertex_turn);
    vertex_center = vec4(body.center, is_seen(body) && !is_point(body) ? 1.0 : 0.0);
    vertex_size = vec4(body.size, 0.0);
    vertex_color = vec4(body.color, 0.0);
    gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
"""

# What a rectangle's pixels are told, each a flat vec4.
_TOLD = {
    "across": "what a pixel to the right moves the ray by, body's frame; w: 0.5 - 0.5 lens.z",
    "upward": "the same of a pixel up; w: 0.5 lens.w",
    "way": "the ray through the middle of the picture; w: metres a pixel spans at 1 m",
    "from_eye": "the body's middle",
    "extent": "the shape's own numbers; w: px that a unit of its lengths has at 1 m",
    "tone_x": "what the shape is painted with; w: depth of the pattern, below 0: plain colour",
    "tone_y": "w: x of the middle of the picture, px",
    "tone_z": "w: y of it",
}

_QUAD_GEOMETRY = (
    "in vec4 vertex_center[], vertex_turn[], vertex_size[], vertex_color[];\n"
    + "".join(f"vec4 {name};  // {meaning}\nflat out vec4 told_{name};\n" for name, meaning in _TOLD.items())
    + """
// What small bodies do without, in the larger ones.
float detail(Body body) {
    if (body.depth <= body.half_depth) return 1.0;
    return clamp(body.width_px / DETAIL_PX - 1.0, 0.0, 1.0);
}

PAINT

void main() {
    if (vertex_center[0].w < 0.5) return;
    Body body = body_of(vertex_center[0].xyz, vertex_turn[0], vertex_size[0].xyz, vertex_color[0].xyz);
    across = vec4(body.right * picture.z, 0.5 - 0.5 * lens.z);
    upward = vec4(body.up * picture.z, 0.5 * lens.w);
    way = vec4(-body.back, picture.z);
    from_eye = vec4(body.right * body.center.x + body.up * body.center.y + body.back * body.center.z, 0.0);
    extent = vec4(0.0, 0.0, 0.0, 1.0 / picture.z);
    paint(body);
    tone_y.w = 0.5 * picture.x + grid.z;
    tone_z.w = 0.5 * picture.y + grid.w;
    vec2 low = vec2(-1.0), high = vec2(1.0), margin = 2.0 / picture.xy;
    if (body.depth > body.half_depth) {
        low = clamp((body.tangent - body.spread) * lens.xy - margin, -1.0, 1.0);
        high = clamp((body.tangent + body.spread) * lens.xy + margin, -1.0, 1.0);
    }
    for (int corner = 0; corner < 4; corner++) {
"""
    + "".join(f"        told_{name} = {name};\n" for name in _TOLD)
    + """
        gl_Position = vec4((corner & 1) == 0 ? low.x : high.x, (corner >> 1) == 0 ? low.y : high.y, 0.0, 1.0);
        EmitVertex();
    }
    EndPrimitive();
}
"""
).replace("DETAIL_PX", str(DETAIL_PX))

_QUAD_FRAGMENT = (
    "".join(f"flat in vec4 told_{name};\n#define {name} told_{name}\n" for name in _TOLD)
    + """
out vec4 color;
const float FAINT_DEPTH = 0.999999;
float px_move;  // times `across` and `upward`: how far a pixel moves the ray near the body

MEET

void main() {
    vec2 off = gl_FragCoord.xy - vec2(tone_y.w, tone_z.w);
    vec3 d = way.xyz + across.xyz * off.x + upward.xyz * off.y;
    // From where the ray is nearest to the body's middle: keeps its digits where that is far.
    float nearest = dot(from_eye.xyz, d) / dot(d, d), ahead = inversesqrt(1.0 + dot(off, off) * way.w * way.w);
    px_move = max(nearest, 1e-12);
    float per_px = extent.w / px_move, t, covered;
    vec3 p = d * nearest - from_eye.xyz;
    d *= ahead;
    meet(p, d, per_px, t, covered);
    float distance = nearest + t * ahead, depth = across.w + upward.w / distance;
    bool is_there = covered > 0.0 && distance > 0.0 && depth >= 0.0;
    gl_FragDepth = !is_there ? 1.0 : covered < 0.5 ? max(depth, FAINT_DEPTH) : depth;
    color = vec4(shade(p + d * t, d, per_px), min(covered, 1.0));
}
"""
)


def cast_point_program(
    context: moderngl.Context, variant: PoseVariant, shape: CastShape, points: PointCast
) -> moderngl.Program:
    """Draws the small bodies of this shape; takes GL_POINTS of bodies, into the guarded viewport."""
    head = FRAME_GLSL, pose_glsl(variant), ROTATE_GLSL, LIGHT_GLSL, POLYNOMIAL_GLSL, _seen(shape)
    return context.program(
        vertex_shader=_text(*head, points.vertex, _POINT_MAIN),
        fragment_shader=_text(_POINT_FRAGMENT, points.fragment),
    )


def cast_beyond_program(context: moderngl.Context, variant: PoseVariant, shape: CastShape) -> moderngl.Program:
    """A sample passes for each body of this shape that is seen and might be no point; takes GL_POINTS of bodies."""
    main = _BEYOND_MAIN.replace("SIZE", shape.size).replace("AROUND", shape.around)
    vertex = _text(FRAME_GLSL, pose_glsl(variant), main)
    return context.program(vertex_shader=vertex, fragment_shader=_text(_BEYOND_FRAGMENT))


def cast_quad_program(context: moderngl.Context, variant: PoseVariant, shape: CastShape) -> moderngl.Program:
    """Draws the other bodies of this shape; takes GL_POINTS of bodies."""
    strip = "layout(points) in;\nlayout(triangle_strip, max_vertices = 4) out;\n"
    paint = _QUAD_GEOMETRY.replace("PAINT", shape.quad_geometry)
    return context.program(
        vertex_shader=_text(FRAME_GLSL, pose_glsl(variant), ROTATE_GLSL, _seen(shape), _QUAD_MAIN),
        geometry_shader=_text(strip, FRAME_GLSL, LIGHT_GLSL, ROTATE_GLSL, _body(shape), paint),
        fragment_shader=_text(LIGHT_GLSL, _QUAD_FRAGMENT.replace("MEET", shape.quad_fragment)),
    )


def _text(*parts: str) -> str:
    return "#version 330 core\n" + "\n".join(parts)


def _body(shape: CastShape) -> str:
    return _BODY.replace("SUPPORT", shape.support)


def _seen(shape: CastShape) -> str:
    return _body(shape) + _SEEN.replace("SIZE", shape.size)
