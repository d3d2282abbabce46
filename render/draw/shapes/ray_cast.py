"""This module contains the code that ray cast shapes have in common. These shapes are boxes, capsules, cylinders and
ellipsoids.

All rays from the eye to a small body are nearly parallel. So the vertex shader treats them as parallel and computes the
inputs of the body's pixels only once. The body is then drawn as a point, the cheapest primitive of OpenGL. If a body is
larger, or if the eye is inside it, the body is drawn as a rectangle. Then the exact ray is cast for each pixel. Each
body is drawn in exactly one of these two ways. Points have two qualities. shape_draws.py chooses the quality, and the
sizes of bodies that are drawn as points.

Each shape defines the function `support`, which returns the shape's extent along a direction. The visibility of a body,
the size of its point and its rectangle follow from this extent. Each pixel gets the depth of the surface. Edges are
smooth: alpha is the share of a pixel that the body covers. In the plain quality, edges are not smooth.

The following costs are those of software rendering. Software rendering executes the whole shader for each pixel. Each
operation on eight pixels takes about 3 ns. Each additional input of type flat vec4 costs 30 ns for each body. The
statement `discard` costs more than it saves. So a pixel that the body does not cover is not discarded. It gets the
depth of the background, which never passes the depth test.
"""

from __future__ import annotations

from typing import NamedTuple

import moderngl

from twixt.render.draw.glsl.light import FINISH_GLSL, LIGHT_GLSL, OUTLINE_GLSL, POLYNOMIAL_GLSL
from twixt.render.draw.glsl.pose import ROTATE_GLSL, pose_glsl
from twixt.render.draw.glsl.uniform_blocks import PoseVariant, frame_glsl, switches_glsl

# Width of a body in px up to which its edges have no rims and no shades. Up to twice this width, rims and shades fade
# in. Bodies that are drawn as points have none.
DETAIL_PX = 22.0


class PointCast(NamedTuple):
    """GLSL of a shape drawn as points.

    vertex: function `void show(Body, vec2 middle)`, which sets the flat outputs of the shape. fragment: function
    `main`, which reads these outputs.
    """

    vertex: str
    fragment: str


class CastShape(NamedTuple):
    """The GLSL functions of a shape.

    size: `vec3 size_of(Pose)`, half extents in metres; 0 or less for a body that is not drawn.
    support: `float support(vec3 size, vec3 along)`, extent from the centre along a direction, times the length of
    `along`.
    around: `float around(vec3 size)`, radius of a ball around the whole shape.
    points, plain_points: the two qualities of points.
    quad_geometry: `void paint(Body)`, which sets `tone_x`, `tone_y`, `tone_z` and `extent`, and may scale the ray.
    quad_fragment: three functions that work in the body's frame. `void meet(p, d, per_px, out t, out covered)`
    computes the place of the surface along the ray, and the covered share of the pixel. `vec3 shade(q, d, per_px)`
    returns the colour of this place. `void on_surface(q, d, out face, out at, out half_size, out along)` is called for
    materials. It computes the unit normal, the place in half extents from the middle, the half extents, and the
    direction of the ray in metres.
    """

    size: str
    support: str
    around: str
    points: PointCast
    plain_points: PointCast
    quad_geometry: str
    quad_fragment: str


# A body in eye space. The programs for points and for rectangles use it.
_BODY = """
struct Body {
    vec3 center;            // in eye space
    vec3 right, up, back;   // axes of the eye in the body's frame
    vec3 size;
    vec4 color;             // w: alpha
    float depth, half_depth;
    vec2 at, spread;        // the body's middle and half sides, projected to the plane at 1 m distance
    vec2 lean;              // ray through the middle: its x and y for each metre of depth
    vec3 sight;             // direction of this ray in eye space, not normalized
    float width_px, metres_px;
};

vec3 eye_axis(Body body, int axis) { return vec3(body.right[axis], body.up[axis], body.back[axis]); }

SUPPORT

float reach(Body body, vec3 along) {
    return support(body.size, body.right * along.x + body.up * along.y + body.back * along.z);
}

Body body_of(vec3 center, vec4 to_body, vec3 size, vec4 color) {
    Body body;
    body.center = center;
    body.right = rotate(to_body, vec3(1.0, 0.0, 0.0));
    body.up = rotate(to_body, vec3(0.0, 1.0, 0.0));
    body.back = cross(body.right, body.up);
    body.size = size;
    body.color = color;
    body.depth = -center.z;
    body.half_depth = reach(body, vec3(0.0, 0.0, 1.0));
    body.at = center.xy / w_at(body.depth);
    body.lean = PARALLEL ? vec2(0.0) : body.at;
    body.sight = sight_to(center);
    body.spread = vec2(reach(body, vec3(1.0, 0.0, body.lean.x)), reach(body, vec3(0.0, 1.0, body.lean.y)))
                  / w_at(body.depth - body.half_depth);
    body.width_px = 2.0 * max(body.spread.x, body.spread.y) / picture.z + 1.0;
    body.metres_px = w_at(body.depth) * picture.z;
    return body;
}
"""

_SEEN = """
uniform vec2 range_px;  // y: width of the widest point

// True if the body is inside the four sides of the view and not behind the eye.
bool is_seen(Body body) {
    vec2 slope = 1.0 / lens.xy, side = vec2(body.center.x < 0.0 ? -1.0 : 1.0, body.center.y < 0.0 ? -1.0 : 1.0);
    vec2 beyond = abs(body.center.xy) - w_at(body.depth) * slope;
    if (PARALLEL) slope = vec2(0.0);
    vec2 nearest = vec2(reach(body, vec3(side.x, 0.0, slope.x)), reach(body, vec3(0.0, side.y, slope.y)));
    return all(greaterThan(body.size, vec3(0.0))) && (PARALLEL || body.depth > -body.half_depth)
           && all(lessThan(beyond, nearest));
}

bool is_point(Body body) {
    float w = w_at(body.depth);
    return all(greaterThan(body.size, vec3(0.0))) && (PARALLEL || body.depth > 2.0 * body.half_depth)
           && abs(lens.z * body.center.z + lens.w) < w && body.width_px <= range_px.y
           && all(lessThan(abs(body.center.xy) * guard.xy, vec2(0.999 * w)));
}

SIZE

Body drawn_body(out vec4 to_body) {
    Pose pose = drawn_pose();
    to_body = back(turn_after(view_turn, pose.orientation));
    vec3 size = pose.visible ? size_of(pose) : vec3(0.0);
    return body_of(view * pose.position, to_body, size, vec4(pose.color, pose.alpha));
}
"""

# If a body is not drawn, its point is moved to the corner of the guarded viewport, see sphere_common.py.
_POINT_MAIN = """
void main() {
    vec4 to_body;
    Body body = drawn_body(to_body);
    show(body, 0.5 * picture.xy + grid.zw + body.at / picture.z);
    gl_PointSize = 1.0;
    gl_Position = vec4(1.0);
    if (is_point(body)) {
        gl_PointSize = body.width_px;
        gl_Position = vec4(body.center.xy * guard.xy, lens.z * body.center.z + lens.w, w_at(body.depth));
    }
}
"""

# The occlusion query for ray cast shapes. It works like the query for spheres in sphere_common.py. It tests the ball
# around each body, so it does not need the orientation. To compute the orientation is half the cost of a pose.
_BEYOND_MAIN = """
uniform vec2 range_px;

SIZE

AROUND

void main() {
    Pose pose = drawn_pose();
    vec3 size = pose.visible ? size_of(pose) : vec3(0.0), center = view * pose.position;
    float radius = around(size), depth = -center.z;
    float w = w_at(depth);
    vec2 slope = 1.0 / lens.xy, aside = abs(center.xy), lean = PARALLEL ? vec2(0.0) : aside / depth;
    vec2 beyond = aside - w * slope;
    if (!PARALLEL) beyond *= inversesqrt(1.0 + slope * slope);
    bool seen = all(greaterThan(size, vec3(0.0))) && (PARALLEL || depth > -radius)
                && all(lessThan(beyond, vec2(radius)));
    vec2 spread = radius * sqrt(1.0 + lean * lean) / w_at(depth - radius);
    bool fits = (PARALLEL || depth > 2.0 * radius) && abs(lens.z * center.z + lens.w) < w
                && 2.0 * max(spread.x, spread.y) / picture.z + 1.0 <= range_px.y
                && all(lessThan(aside * guard.xy, vec2(0.999 * w)));
    gl_PointSize = 1.0;
    gl_Position = seen && !fits ? vec4(0.0, 0.0, -1.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
}
"""
_BEYOND_FRAGMENT = "out vec4 color; void main() { color = vec4(0.0); }"

_POINT_FRAGMENT = """
out vec4 color;
// A pixel that the body does not cover gets the depth of the background. The faint outer half of a soft edge gets this
// depth too. If this half had the depth of the surface, it would hide bodies that are behind the edge and drawn later.
// The background would then show through the edge.
float depth_of(float depth, float covered) { return covered < FAINT_BELOW ? 1.0 - 2e-6 * covered : depth; }

vec4 covering(vec3 tone, float covered, float width_px) {
    return vec4(OUTLINED ? with_outline(tone, covered - 0.5, width_px) : tone, covered);
}
"""

_QUAD_MAIN = """
out vec4 vertex_center, vertex_turn, vertex_size, vertex_color;
void main() {
    Body body = drawn_body(vertex_turn);
    vertex_center = vec4(body.center, is_seen(body) && !is_point(body) ? 1.0 : 0.0);
    vertex_size = vec4(body.size, 0.0);
    vertex_color = body.color;
    gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
"""

# Inputs for the pixels of a rectangle. Each input is a flat vec4.
_TOLD = {
    "across": "what a pixel to the right moves the ray by, body's frame; w: constant part of the depth",
    "upward": "the same of a pixel up; w: depth by 1 / distance, or by distance if orthographic",
    "way": "the ray through the middle of the picture; w: metres a pixel spans at 1 m",
    "from_eye": "the body's middle; w: its alpha",
    "extent": "the shape's own numbers; w: px that a unit of its lengths has at 1 m",
    "tone_x": "what the shape is painted with; w: depth of the pattern, below 0: plain colour, less its width in px",
    "tone_y": "w: x of the middle of the picture, px",
    "tone_z": "w: y of it",
}

_QUAD_GEOMETRY = (
    "in vec4 vertex_center[], vertex_turn[], vertex_size[], vertex_color[];\n"
    + "".join(f"vec4 {name};  // {meaning}\nflat out vec4 told_{name};\n" for name, meaning in _TOLD.items())
    + """
// Strength of the rims and shades at a body's edges: 0 for a small body.
float detail(Body body) {
    if (!PARALLEL && body.depth <= body.half_depth) return 1.0;
    return clamp(body.width_px / DETAIL_PX - 1.0, 0.0, 1.0);
}

PAINT

void main() {
    if (vertex_center[0].w < 0.5) return;
    Body body = body_of(vertex_center[0].xyz, vertex_turn[0], vertex_size[0].xyz, vertex_color[0]);
    across = vec4(body.right * picture.z, PARALLEL ? 0.5 + 0.5 * lens.w : 0.5 - 0.5 * lens.z);
    upward = vec4(body.up * picture.z, PARALLEL ? -0.5 * lens.z : 0.5 * lens.w);
    way = vec4(-body.back, picture.z);
    from_eye = vec4(body.right * body.center.x + body.up * body.center.y + body.back * body.center.z, body.color.a);
    extent = vec4(0.0, 0.0, 0.0, 1.0 / picture.z);
    paint(body);
    if (OUTLINED) tone_x.w = !PARALLEL && body.depth <= body.half_depth ? -100.0 : -body.width_px;
    tone_y.w = 0.5 * picture.x + grid.z;
    tone_z.w = 0.5 * picture.y + grid.w;
    vec2 low = vec2(-1.0), high = vec2(1.0), margin = 2.0 / picture.xy;
    if (PARALLEL || body.depth > body.half_depth) {
        low = clamp((body.at - body.spread) * lens.xy - margin, -1.0, 1.0);
        high = clamp((body.at + body.spread) * lens.xy + margin, -1.0, 1.0);
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
// `across` and `upward` times this factor: how far the ray moves near the body, from one pixel to the next.
float px_move;

MEET

void main() {
    vec2 off = gl_FragCoord.xy - vec2(tone_y.w, tone_z.w);
    // In perspective, the rays of pixels have different directions. In an orthographic view, they start at different
    // places.
    vec3 moved = across.xyz * off.x + upward.xyz * off.y, d = way.xyz, from = from_eye.xyz;
    if (PARALLEL) from -= moved; else d += moved;
    // Lengths along the ray are measured from the point of the ray that is nearest to the body's middle. So the lengths
    // keep their digits even if the body is far from the eye.
    float nearest = dot(from, d) / dot(d, d);
    float ahead = PARALLEL ? 1.0 : inversesqrt(1.0 + dot(off, off) * way.w * way.w);
    px_move = PARALLEL ? 1.0 : max(nearest, 1e-12);
    float per_px = extent.w / px_move, t, covered;
    vec3 p = d * nearest - from;
    d *= ahead;
    meet(p, d, per_px, t, covered);
    float distance = nearest + t * ahead;
    float depth = across.w + (PARALLEL ? upward.w * distance : upward.w / distance);
    bool is_there = covered > 0.0 && (PARALLEL || distance > 0.0) && depth >= 0.0;
#if FINISH
    vec3 place = p + d * t, face, at, half_size, along;
    on_surface(place, d, face, at, half_size, along);
    vec4 texel_there = texel(at, half_size);
    color = vec4(tone_x.rgb * texel_there.rgb, min(covered, 1.0) * texel_there.a);
    if (tone_x.w >= 0.0) color.rgb = finished(color.rgb, face, -normalize(along), tone_y.xyz, tone_z.xyz);
#else
    color = vec4(shade(p + d * t, d, per_px), min(covered, 1.0));
#endif
#if TRANSPARENT
    gl_FragDepth = is_there ? depth : 1.0;
    color.a *= from_eye.w;
#else
    gl_FragDepth = !is_there ? 1.0 : covered < FAINT_BELOW ? max(depth, FAINT_DEPTH) : depth;
#endif
    if (OUTLINED) color.rgb = with_outline(color.rgb, covered - 0.5, -tone_x.w);
}
"""
)


def cast_point_program(
    context: moderngl.Context, variant: PoseVariant, shape: CastShape, points: PointCast
) -> moderngl.Program:
    """Program that draws the small bodies of this shape. Use it with GL_POINTS, one point for each body, in the guarded
    viewport."""
    head = frame_glsl(variant), pose_glsl(variant), LIGHT_GLSL, POLYNOMIAL_GLSL, _seen(shape)
    return context.program(
        vertex_shader=_text(*head, points.vertex, _POINT_MAIN),
        fragment_shader=_text(switches_glsl(variant), OUTLINE_GLSL, _POINT_FRAGMENT, points.fragment),
    )


def cast_beyond_program(context: moderngl.Context, variant: PoseVariant, shape: CastShape) -> moderngl.Program:
    """Program of the occlusion query. A sample passes for each visible body of this shape that may be too large for a
    point.

    Use it with GL_POINTS, one point for each body.
    """
    main = _BEYOND_MAIN.replace("SIZE", shape.size).replace("AROUND", shape.around)
    vertex = _text(frame_glsl(variant), pose_glsl(variant), main)
    return context.program(vertex_shader=vertex, fragment_shader=_text(_BEYOND_FRAGMENT))


def cast_quad_program(context: moderngl.Context, variant: PoseVariant, shape: CastShape) -> moderngl.Program:
    """Program that draws rectangles: it draws the bodies of this shape that are too large for a point. Use it with
    GL_POINTS, one point for each body."""
    strip = "layout(points) in;\nlayout(triangle_strip, max_vertices = 4) out;\n"
    paint = _QUAD_GEOMETRY.replace("PAINT", shape.quad_geometry)
    return context.program(
        vertex_shader=_text(frame_glsl(variant), pose_glsl(variant), _seen(shape), _QUAD_MAIN),
        geometry_shader=_text(strip, frame_glsl(variant), LIGHT_GLSL, ROTATE_GLSL, _body(shape), paint),
        fragment_shader=_text(
            switches_glsl(variant),
            LIGHT_GLSL,
            FINISH_GLSL,
            OUTLINE_GLSL,
            _QUAD_FRAGMENT.replace("MEET", shape.quad_fragment),
        ),
    )


def _text(*parts: str) -> str:
    return "#version 330 core\n" + "\n".join(parts)


def _body(shape: CastShape) -> str:
    return _BODY.replace("SUPPORT", shape.support)


def _seen(shape: CastShape) -> str:
    return _body(shape) + _SEEN.replace("SIZE", shape.size)
