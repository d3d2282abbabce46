"""Capsules (see ray_cast.py): all balls of one radius with centres on a segment of the body's z axis.

Each point of a capsule's surface is on a ball around one point of its axis. That is the axis point where the ray meets
the infinite cylinder, clamped to the segment. The result is exact: the cylinder touches each ball inside it along a
whole circle.
"""

from __future__ import annotations

from twixt.render.draw.shapes.ray_cast import CastShape, PointCast
from twixt.render.draw.shapes.round_skin import (
    PLAIN_SKIN_FRAGMENT,
    PLAIN_SKIN_VERTEX,
    POINT_SKIN_FRAGMENT,
    POINT_SKIN_VERTEX,
    QUAD_SKIN_FRAGMENT,
    QUAD_SKIN_GEOMETRY,
)

# With a scale along each axis the cross section stays round: its radius is scaled by the mean of x and y.
ROUND_SIZE = """
vec3 size_of(Pose pose) {
    float around = 0.5 * (pose.scale.x + pose.scale.y);
    return shape_size * vec3(around, around, pose.scale.z);
}
"""
_SUPPORT = "float support(vec3 size, vec3 along) { return size.z * abs(along.z) + size.x * length(along); }"
_AROUND = "float around(vec3 size) { return size.x + size.z; }"

# A body with an axis, lengths in radii. Frame: u along the axis as seen in the picture, v across it, w to the eye.
_AXIS = """
flat out vec4 turn;  // what a pixel to the right and one up are in u, and in v
flat out vec4 form;  // half the axis as seen; its sine and cosine against the view; px of half a radius
flat out vec4 deep;  // depth by u, by the axis's point, by w; at the middle

struct Axis {
    mat3 uvw;      // eye space
    vec3 way;      // of the axis, to the end that is nearer to the eye
    float px;      // radii that a pixel spans
    float deep_v;  // depth by v
    bool is_turned;
};

Axis axis_of(Body body) {
    float radius = body.size.x;
    Axis axis;
    axis.px = body.metres_px / radius;
    axis.way = eye_axis(body, 2);
    vec3 w = normalize(-body.sight);
    float sine = dot(axis.way, w);
    axis.is_turned = sine < 0.0;
    if (axis.is_turned) axis.way = -axis.way;
    vec3 u = axis.way - w * abs(sine);
    float cosine = length(u);
    u = cosine > STEEPEST ? u / cosine : normalize(vec3(w.z, 0.0, -w.x));
    sine = max(abs(sine), STEEPEST);
    cosine = max(cosine, STEEPEST);
    axis.uvw = mat3(u, cross(w, u), w);
    turn = vec4(u.xy, axis.uvw[1].xy) * axis.px;
    form = vec4(body.size.z / radius * cosine, sine, cosine, 0.5 / axis.px);
    float bend = depth_by_metre(body.depth) * radius;
    deep = vec4(u.z * bend, w.z * sine / cosine * bend, w.z * bend, window_depth(body.depth));
    axis.deep_v = axis.uvw[1].z * bend;
    return axis;
}
""".replace("STEEPEST", "1e-3")

AXIAL_POINT_VERTEX = (
    POINT_SKIN_VERTEX
    + _AXIS
    + """
flat out vec4 albedo;   // w: depth by v
flat out vec4 quarter;  // pattern: by (e^2 - v^2), by e v, where e is across the axis as v; middle, least

void show(Body body, vec2 middle) {
    Axis axis = axis_of(body);
    albedo = vec4(skin_color(body), axis.deep_v);
    light_skin(axis.uvw, middle);
    vec3 x = eye_axis(body, 0);
    float by_v = dot(x, axis.uvw[1]), by_e = dot(x, cross(axis.way, axis.uvw[1])), strength = pattern_depth(axis.px);
    vec2 quarters = vec2(by_v * by_e, by_v * by_v - by_e * by_e) * (2.0 * strength / axis.px);
    quarter = vec4(axis.is_turned ? -quarters : quarters, 1.0 - strength, 1.0 - 2.0 * strength);
}
"""
)

AXIAL_POINT_FRAGMENT = (
    POINT_SKIN_FRAGMENT
    + """
flat in vec4 turn, form, deep, albedo, quarter;

// e, v: the surface's place across the axis.
float pattern(float e, float v) {
    return clamp(quarter.x * (e * e - v * v) + quarter.y * (e * v) + quarter.z, quarter.w, 1.0);
}
"""
)

_POINT_FRAGMENT = (
    AXIAL_POINT_FRAGMENT
    + """
void main() {
    vec2 off = gl_FragCoord.xy - vec2(light_uvw.w, up_uvw.w);
    float u = dot(off, turn.xy), v = dot(off, turn.zw), room = 1.0 - v * v;
    float past = u - clamp(u, -form.x, form.x);
    float covered = (room - past * past) * form.w + 0.5;
    float along = clamp(u + sqrt(max(room, 0.0)) * form.y, -form.x, form.x), across = u - along;
    vec3 normal = vec3(across, v, sqrt(max(room - across * across, 0.0)));
    float depth = deep.x * u + deep.y * along + deep.z * normal.z + albedo.w * v + deep.w;
    gl_FragDepth = depth_of(depth, covered);
    color = covering(skin(albedo.rgb, normal, pattern(form.z * normal.z - form.y * across, v)), covered, 4.0 * form.w);
}
"""
)

AXIAL_PLAIN_VERTEX = (
    PLAIN_SKIN_VERTEX
    + _AXIS
    + """
flat out vec3 place;  // the middle, px; depth by v

void show(Body body, vec2 middle) {
    Axis axis = axis_of(body);
    light_skin(body, axis.uvw, axis.px);
    place = vec3(middle, axis.deep_v);
}
"""
)

AXIAL_PLAIN_FRAGMENT = (
    PLAIN_SKIN_FRAGMENT
    + """
flat in vec4 turn, form, deep;
flat in vec3 place;
"""
)

_PLAIN_FRAGMENT = (
    AXIAL_PLAIN_FRAGMENT
    + """
void main() {
    vec2 off = gl_FragCoord.xy - place.xy;
    float u = dot(off, turn.xy), v = dot(off, turn.zw), room = 1.0 - v * v;
    float along = clamp(u + sqrt(max(room, 0.0)) * form.y, -form.x, form.x), across = u - along;
    room -= across * across;
    vec3 normal = vec3(across, v, sqrt(max(room, 0.0)));
    float depth = deep.x * u + deep.y * along + deep.z * normal.z + place.z * v + deep.w;
    gl_FragDepth = room > 0.0 ? depth : 1.0;
    color = skin(normal);
}
"""
)

AXIAL_QUAD_GEOMETRY = (
    QUAD_SKIN_GEOMETRY
    + """
void paint(Body body) {
    paint_skin(body, body.size.x);
    extent.xyz = vec3(body.size.x, detail(body), body.size.z);
}
"""
)

_QUAD_FRAGMENT = (
    QUAD_SKIN_FRAGMENT
    + """
vec3 normal;

void meet(vec3 p, vec3 d, float per_px, out float t, out float covered) {
    float radius = extent.x;
    // The point of the axis nearest to the ray.
    float aa = max(dot(d.xy, d.xy), 1e-9), along = -dot(p.xy, d.xy) / aa, z = p.z + d.z * along;
    vec3 from = vec3(p.xy, p.z - clamp(z, -extent.z, extent.z)), aside = from - d * dot(from, d);
    covered = (radius * radius - dot(aside, aside)) * (0.5 * per_px / radius) + 0.5;
    // Where the ray enters the infinite cylinder; then the ball around that point of the axis, or around its end.
    vec2 past = p.xy + d.xy * along;
    z -= d.z * sqrt(max(radius * radius - dot(past, past), 0.0) / aa);
    from.z = p.z - clamp(z, -extent.z, extent.z);
    float nearest = -dot(from, d);
    aside = from + d * nearest;
    t = nearest - sqrt(max(radius * radius - dot(aside, aside), 0.0));
    normal = (from + d * t) / radius;
}

void on_surface(vec3 q, vec3 d, out vec3 face, out vec3 at, out vec3 half_size, out vec3 along) {
    at = vec3(q.xy / extent.x, q.z / extent.z);
    half_size = extent.xxz;
    along = d;
    // Distance beyond the straight section, radii.
    if (abs(at.z) > 1.0) at.z = sign(q.z) * (1.0 + (abs(q.z) - extent.z) / extent.x);
    face = normal;
}

vec3 shade(vec3 q, vec3 d, float per_px) { return skin(normal, d, q.xy * per_px); }
"""
)

CAPSULE = CastShape(
    ROUND_SIZE,
    _SUPPORT,
    _AROUND,
    PointCast(AXIAL_POINT_VERTEX, _POINT_FRAGMENT),
    PointCast(AXIAL_PLAIN_VERTEX, _PLAIN_FRAGMENT),
    AXIAL_QUAD_GEOMETRY,
    _QUAD_FRAGMENT,
)
