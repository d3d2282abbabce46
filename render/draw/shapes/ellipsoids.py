"""Draws ellipsoids by the code of ray_cast.py. A sphere with a separate scale along each axis is also drawn as an
ellipsoid.

The three half axes of an ellipsoid are used as units of length. With these units, the ellipsoid is a ball of radius 1,
and straight rays stay straight.
"""

from __future__ import annotations

from twixt.render.draw.shapes.capsules import (
    PLAIN_SKIN_FRAGMENT,
    PLAIN_SKIN_VERTEX,
    POINT_SKIN_FRAGMENT,
    POINT_SKIN_VERTEX,
    QUAD_SKIN_FRAGMENT,
    QUAD_SKIN_GEOMETRY,
)
from twixt.render.draw.shapes.ray_cast import CastShape, PointCast

_SIZE = "vec3 size_of(Pose pose) { return shape_size * pose.scale; }"
_SUPPORT = "float support(vec3 size, vec3 along) { return length(size * along); }"
_AROUND = "float around(vec3 size) { return max(max(size.x, size.y), size.z); }"

# A frame whose units of length are the half axes of the ellipsoid. In this frame, u points to the right in the picture,
# v up, and h to the eye. The three are at right angles.
_BALL = """
flat out vec4 turn;    // x, y: change of u for a pixel right (x) and up (y); z: change of v for a pixel up
flat out vec4 deep;    // x, y, z: change of depth per u, v, h; w: depth at the middle
// The normal's components are sums of u, v, h times these factors. bent.xyz: factors for the first component; bent.w:
// factor on h for the third component.
flat out vec4 bent;
flat out vec4 bent_up; // x, y: factors on v, h for the second component

struct Ball {
    vec3 u, v, h;  // in the body's frame
    mat3 uvw;      // frame of the normal's components, in eye space
    float px;      // size of a pixel, as a multiple of the radius of the ball with the same volume
};

Ball ball_of(Body body) {
    vec3 per_size = 1.0 / body.size, sight = body.sight;
    vec3 to_eye = normalize(-(body.right * sight.x + body.up * sight.y + body.back * sight.z));
    float steep = length(to_eye * per_size);
    vec3 right = body.right * per_size * body.metres_px, up = body.up * per_size * body.metres_px;
    Ball ball;
    ball.h = to_eye * per_size / steep;
    ball.u = normalize(right - ball.h * dot(right, ball.h));
    ball.v = cross(ball.h, ball.u);
    turn = vec4(dot(right, ball.u), dot(up, ball.u), dot(up, ball.v), 0.0);
    vec3 backward = body.back * body.size * depth_by_metre(body.depth);
    deep = vec4(dot(backward, ball.u), dot(backward, ball.v), dot(backward, ball.h), window_depth(body.depth));
    vec3 sideways = normalize(ball.u * per_size), third = cross(to_eye, sideways);
    vec3 of_v = ball.v * per_size, of_h = ball.h * per_size;
    bent = vec4(dot(ball.u * per_size, sideways), dot(of_v, sideways), dot(of_h, sideways), steep);
    bent_up = vec4(dot(of_v, third), dot(of_h, third), 0.0, 0.0);
    ball.uvw = transpose(mat3(body.right, body.up, body.back)) * mat3(sideways, third, to_eye);
    ball.px = body.metres_px * pow(per_size.x * per_size.y * per_size.z, 1.0 / 3.0);
    return ball;
}
"""

_NORMAL = """
vec3 normal_of(vec3 q) {
    vec3 normal = vec3(dot(bent.xyz, q), bent_up.x * q.y + bent_up.y * q.z, bent.w * q.z);
    return normal * inversesqrt(dot(normal, normal));
}
"""

_POINT_VERTEX = (
    POINT_SKIN_VERTEX
    + _BALL
    + """
// The pattern at a place is the product of the place's x and y on the body. turn.w: mean of the pattern; bent_up.w: its
// least value.
flat out vec4 first;   // x, y, z: the body's x axis in the frame u, v, h, times the strength; w: red
flat out vec4 second;  // x, y, z: the body's y axis in the frame u, v, h; w: green; blue is bent_up.z

void show(Body body, vec2 middle) {
    Ball ball = ball_of(body);
    vec3 color = skin_color(body);
    float strength = pattern_depth(ball.px);
    first = vec4(vec3(ball.u.x, ball.v.x, ball.h.x) * (2.0 * strength / ball.px), color.r);
    second = vec4(ball.u.y, ball.v.y, ball.h.y, color.g);
    bent_up.zw = vec2(color.b, 1.0 - 2.0 * strength);
    turn.w = 1.0 - strength;
    light_skin(ball.uvw, middle);
}
"""
)

_POINT_FRAGMENT = (
    POINT_SKIN_FRAGMENT
    + """
flat in vec4 turn, deep, bent, bent_up, first, second;
"""
    + _NORMAL
    + """
void main() {
    vec2 off = gl_FragCoord.xy - vec2(light_uvw.w, up_uvw.w);
    float u = dot(off, turn.xy), v = off.y * turn.z, room = 1.0 - u * u - v * v;
    // Half of the change of `room` for a pixel to the right, and for a pixel up.
    vec2 slope = vec2(u * turn.x, u * turn.y + v * turn.z);
    float covered = 0.5 * room * inversesqrt(max(dot(slope, slope), 1e-9)) + 0.5;
    vec3 q = vec3(u, v, sqrt(max(room, 0.0)));
    gl_FragDepth = depth_of(dot(deep.xyz, q) + deep.w, covered);
    float pattern = clamp(dot(first.xyz, q) * dot(second.xyz, q) + turn.w, bent_up.w, 1.0);
    float width_px = 2.0 / max(turn.x, turn.z);
    color = covering(skin(vec3(first.w, second.w, bent_up.z), normal_of(q), pattern), covered, width_px);
}
"""
)

_PLAIN_VERTEX = (
    PLAIN_SKIN_VERTEX
    + _BALL
    + """
void show(Body body, vec2 middle) {
    Ball ball = ball_of(body);
    light_skin(body, ball.uvw, ball.px);
    bent_up.zw = middle;
}
"""
)

_PLAIN_FRAGMENT = (
    PLAIN_SKIN_FRAGMENT
    + "flat in vec4 turn, deep, bent, bent_up;\n"
    + _NORMAL
    + """
void main() {
    vec2 off = gl_FragCoord.xy - bent_up.zw;
    float u = dot(off, turn.xy), v = off.y * turn.z, room = 1.0 - u * u - v * v;
    vec3 q = vec3(u, v, sqrt(max(room, 0.0)));
    gl_FragDepth = room > 0.0 ? dot(deep.xyz, q) + deep.w : 1.0;
    color = skin(normal_of(q));
}
"""
)

_QUAD_GEOMETRY = (
    QUAD_SKIN_GEOMETRY
    + """
// After this function, positions and directions of rays are divided by the half axes.
void paint(Body body) {
    float radius = pow(body.size.x * body.size.y * body.size.z, 1.0 / 3.0);
    paint_skin(body, radius);
    extent = vec4(body.size, extent.w * radius);
    across.xyz /= body.size;
    upward.xyz /= body.size;
    way.xyz /= body.size;
    from_eye.xyz /= body.size;
}
"""
)

_QUAD_FRAGMENT = (
    QUAD_SKIN_FRAGMENT
    + """
void meet(vec3 p, vec3 d, float per_px, out float t, out float covered) {
    float per_dd = 1.0 / dot(d, d), nearest = -dot(p, d) * per_dd;
    vec3 aside = p + d * nearest;
    float room = 1.0 - dot(aside, aside);
    // Half of the change of `room` for a pixel to the right, and for a pixel up.
    vec2 slope = vec2(dot(aside, across.xyz), dot(aside, upward.xyz)) * px_move;
    covered = 0.5 * room * inversesqrt(max(dot(slope, slope), 1e-12)) + 0.5;
    t = nearest - sqrt(max(room, 0.0) * per_dd);
}

void on_surface(vec3 q, vec3 d, out vec3 face, out vec3 at, out vec3 half_size, out vec3 along) {
    face = normalize(q * extent.yzx * extent.zxy);
    at = q;
    half_size = extent.xyz;
    along = d * half_size;
}

vec3 shade(vec3 q, vec3 d, float per_px) {
    vec3 normal = normalize(q * extent.yzx * extent.zxy);
    return skin(normal, d * extent.xyz, q.xy * per_px);
}
"""
)

ELLIPSOID = CastShape(
    _SIZE,
    _SUPPORT,
    _AROUND,
    PointCast(_POINT_VERTEX, _POINT_FRAGMENT),
    PointCast(_PLAIN_VERTEX, _PLAIN_FRAGMENT),
    _QUAD_GEOMETRY,
    _QUAD_FRAGMENT,
)
