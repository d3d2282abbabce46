"""Capsules, cylinders and ellipsoids, ray cast (see cast.py), in two tones that show their spin.

The one idea: each is a ball somewhere. A capsule's surface is that of a ball around the nearest point of its axis;
an ellipsoid is a ball where lengths are measured in its half axes; a cylinder is one as seen along its axis,
between two planes. So all have a sphere's skin, and the shorter a capsule is, the more it looks like a ball.
Sources: Shirley and Marschner 2009, chapter 4, for rays and implicit surfaces.
"""

from __future__ import annotations

from twixt.render.draw.cast import ROUND_FRAGMENT, ROUND_VERTEX, CastShape

# A round cross section under a scale of each axis stays round.
_ROUND_SIZE = """
vec3 size_of(Pose pose) {
    float around = 0.5 * (pose.scale.x + pose.scale.y);
    return shape_size * vec3(around, around, pose.scale.z);
}
"""

_CAPSULE_VERTEX = (
    _ROUND_SIZE
    + ROUND_VERTEX
    + """
float support(vec3 size, vec3 along) { return size.z * abs(along.z) + size.x * length(along); }

void paint(Body body) {
    paint_round(body, body.size.x);
    extent.xyz = vec3(body.size.x, 1.0 / body.size.x, body.size.z);
}
"""
)

_CAPSULE_FRAGMENT = (
    ROUND_FRAGMENT
    + """
vec3 normal;

void meet(vec3 p, vec3 d, float per_px, out float t, out float covered) {
    float radius = extent.x, dd = dot(d, d);
    // The axis's point that is nearest to the ray.
    float aa = max(dot(d.xy, d.xy), 1e-9), along = dot(p.xy, d.xy) / aa;
    float z = p.z - d.z * along;
    vec3 from = vec3(p.xy, p.z - clamp(z, -extent.z, extent.z));
    vec3 aside = from - d * (dot(from, d) / dd);
    float room = radius * radius - dot(aside, aside);
    covered = room * (0.5 * extent.y * per_px) + 0.5;
    // Where the ray enters the endless cylinder; then the ball around that place of the axis, or around its end.
    vec2 past = p.xy - d.xy * along;
    float inside = max(radius * radius - dot(past, past), 0.0);
    z -= d.z * sqrt(inside / aa);
    from.z = p.z - clamp(z, -extent.z, extent.z);
    float nearest = -dot(from, d) / dd;
    aside = from + d * nearest;
    t = nearest - sqrt(max(radius * radius - dot(aside, aside), 0.0) / dd);
    normal = (from + d * t) * extent.y;
}

vec3 shade(vec3 q, vec3 d, float per_px) { return shade_round(normal, d, q.xy * per_px); }
"""
)

_CYLINDER_VERTEX = (
    _ROUND_SIZE
    + ROUND_VERTEX
    + """
float support(vec3 size, vec3 along) { return size.z * abs(along.z) + size.x * length(along.xy); }

void paint(Body body) {
    paint_round(body, body.size.x);
    extent.xyz = vec3(body.size.x, 1.0 / body.size.x, body.size.z);
}
"""
)

_CYLINDER_FRAGMENT = (
    ROUND_FRAGMENT
    + """
bool is_cap;

void meet(vec3 p, vec3 d, float per_px, out float t, out float covered) {
    float radius2 = extent.x * extent.x, per_aa = 1.0 / max(dot(d.xy, d.xy), 1e-9), per_z = 1.0 / (d.z + 1e-20);
    float side = -dot(p.xy, d.xy) * per_aa, caps = -p.z * per_z, half_caps = extent.z * abs(per_z);
    vec2 past = p.xy + d.xy * side;
    float side_entry = side - sqrt(max(radius2 - dot(past, past), 0.0) * per_aa);
    is_cap = caps - half_caps > side_entry;
    t = max(side_entry, caps - half_caps);
    // Between the two planes, where the ray is nearest to the axis: still within the radius?
    float nearest = clamp(side, caps - half_caps, caps + half_caps), beside = nearest == side ? 0.0 : per_z;
    past = p.xy + d.xy * nearest;
    vec2 right = across.xy - d.xy * (across.z * beside), up = upward.xy - d.xy * (upward.z * beside);
    vec2 slope = vec2(dot(past, right), dot(past, up)) * (2.0 * px_move);
    covered = (radius2 - dot(past, past)) * inversesqrt(dot(slope, slope)) + 0.5;
}

vec3 shade(vec3 q, vec3 d, float per_px) {
    vec3 normal = is_cap ? vec3(0.0, 0.0, q.z > 0.0 ? 1.0 : -1.0) : vec3(q.xy * extent.y, 0.0);
    vec3 tone = shade_round(normal, d, q.xy * per_px);
    if (tone_x.w < 0.0) return tone;
    // A bright rim between the side and an end: worn edges catch light.
    float from_axis = length(q.xy), inside = is_cap ? extent.x - from_axis : extent.z - abs(q.z);
    vec3 inward = is_cap ? vec3(q.xy / max(from_axis, 1e-9), 0.0) : vec3(0.0, 0.0, 1.0), slide = d / dot(normal, d);
    float px = abs(dot(inward, across.xyz - slide * dot(normal, across.xyz)))
               + abs(dot(inward, upward.xyz - slide * dot(normal, upward.xyz)));
    float rim = 1.0 - smoothstep(0.6, 1.8, inside / max(px * px_move, 1e-9));
    rim *= clamp(extent.x * per_px / 16.0 - 0.25, 0.0, 1.0);
    return mix(tone, tone * 0.55 + 0.42, 0.7 * rim);
}
"""
)

_ELLIPSOID_VERTEX = (
    ROUND_VERTEX
    + """
vec3 size_of(Pose pose) { return shape_size * pose.scale; }

float support(vec3 size, vec3 along) { return length(size * along); }

// Rays are in half axes from here on.
void paint(Body body) {
    float radius = pow(body.size.x * body.size.y * body.size.z, 1.0 / 3.0);
    paint_round(body, radius);
    vec3 per_size = 1.0 / body.size;
    across.xyz *= per_size;
    upward.xyz *= per_size;
    way.xyz *= per_size;
    extent = vec4(body.size, extent.w * radius);
#if !POINT
    from_eye.xyz *= per_size;
#endif
}
"""
)

_ELLIPSOID_FRAGMENT = (
    ROUND_FRAGMENT
    + """
void meet(vec3 p, vec3 d, float per_px, out float t, out float covered) {
    float per_dd = 1.0 / dot(d, d), nearest = -dot(p, d) * per_dd;
    vec3 aside = p + d * nearest;
    float room = 1.0 - dot(aside, aside);
    // How much of that a pixel to the right and one up take away.
    vec2 slope = vec2(dot(aside, across.xyz), dot(aside, upward.xyz)) * (2.0 * px_move);
    covered = room * inversesqrt(dot(slope, slope)) + 0.5;
    t = nearest - sqrt(max(room, 0.0) * per_dd);
}

vec3 shade(vec3 q, vec3 d, float per_px) {
    vec3 normal = normalize(q * extent.yzx * extent.zxy);
    return shade_round(normal, d * extent.xyz, q.xy * per_px);
}
"""
)

CAPSULE = CastShape(_CAPSULE_VERTEX, _CAPSULE_FRAGMENT)
CYLINDER = CastShape(_CYLINDER_VERTEX, _CYLINDER_FRAGMENT)
ELLIPSOID = CastShape(_ELLIPSOID_VERTEX, _ELLIPSOID_FRAGMENT)
