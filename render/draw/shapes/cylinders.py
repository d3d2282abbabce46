"""Cylinders (see ray_cast.py): a disc moved along a segment of the body's z axis, with bright rims.

The one idea: a cylinder is the intersection of an infinite round cylinder and the space between two planes. A ray hits
it if, between the planes, it comes nearer to the axis than the radius. Of the side and the near end, the one that the
ray enters last is visible.
"""

from __future__ import annotations

from twixt.render.draw.shapes.capsules import (
    AXIAL_PLAIN_FRAGMENT,
    AXIAL_PLAIN_VERTEX,
    AXIAL_POINT_FRAGMENT,
    AXIAL_POINT_VERTEX,
    AXIAL_QUAD_GEOMETRY,
    ROUND_SIZE,
)
from twixt.render.draw.shapes.ray_cast import CastShape, PointCast
from twixt.render.draw.shapes.round_skin import QUAD_SKIN_FRAGMENT

_SUPPORT = "float support(vec3 size, vec3 along) { return size.z * abs(along.z) + size.x * length(along.xy); }"
_AROUND = "float around(vec3 size) { return length(size.xz); }"

_POINT_FRAGMENT = (
    AXIAL_POINT_FRAGMENT
    + """
void main() {
    vec2 off = gl_FragCoord.xy - vec2(light_uvw.w, up_uvw.w);
    float u = dot(off, turn.xy), v = dot(off, turn.zw), room = 1.0 - v * v, around = sqrt(max(room, 0.0));
    // To the side, and to the end: an ellipse, of which the way along u is known, less where it is steep.
    float end = (form.x + form.y * around - abs(u)) * max(around * inversesqrt(max(room + form.y * form.y * v * v, 1e-6)), 0.3);
    float covered = min(0.5 * room, end) * (2.0 * form.w) + 0.5;
    // How far towards the eye across the axis: on the round side, or on the near end.
    float on_end = (form.x - u) / form.y, e = min(around, on_end), along = u + e * form.y;
    float depth = deep.x * u + deep.y * along + deep.z * (form.z * e) + albedo.w * v + deep.w;
    gl_FragDepth = depth_of(depth, covered);
    vec3 normal = on_end < around ? vec3(form.z, 0.0, form.y) : vec3(-form.y * e, v, form.z * e);
    color = covering(skin(albedo.rgb, normal, pattern(e, v)), covered, 4.0 * form.w);
}
"""
)

_PLAIN_FRAGMENT = (
    AXIAL_PLAIN_FRAGMENT
    + """
void main() {
    vec2 off = gl_FragCoord.xy - place.xy;
    float u = dot(off, turn.xy), v = dot(off, turn.zw), around = sqrt(max(1.0 - v * v, 0.0));
    float on_end = (form.x - u) / form.y, e = min(around, on_end), along = u + e * form.y;
    float depth = deep.x * u + deep.y * along + deep.z * (form.z * e) + place.z * v + deep.w;
    gl_FragDepth = around > 0.0 && abs(u) < form.x + form.y * around ? depth : 1.0;
    color = skin(on_end < around ? vec3(form.z, 0.0, form.y) : vec3(-form.y * e, v, form.z * e));
}
"""
)

_QUAD_FRAGMENT = (
    QUAD_SKIN_FRAGMENT
    + """
const float EDGE_PX = 0.75;  // between side and end half of the outline is on each
bool is_end;

void meet(vec3 p, vec3 d, float per_px, out float t, out float covered) {
    float radius2 = extent.x * extent.x, per_aa = 1.0 / max(dot(d.xy, d.xy), 1e-9), per_z = 1.0 / (d.z + 1e-20);
    float side = -dot(p.xy, d.xy) * per_aa, ends = -p.z * per_z, half_ends = extent.z * abs(per_z);
    vec2 past = p.xy + d.xy * side;
    float room = radius2 - dot(past, past), enter = side - sqrt(max(room, 0.0) * per_aa);
    is_end = ends - half_ends > enter;
    t = max(enter, ends - half_ends);
    covered = room * (0.5 * per_px / extent.x);
    // Past an end before it is nearest to the axis: how far from the rim there?
    float nearest = clamp(side, ends - half_ends, ends + half_ends);
    if (nearest != side) {
        past = p.xy + d.xy * nearest;
        float from_axis = max(length(past), 1e-9);
        vec2 right = across.xy - d.xy * (across.z * per_z), up = upward.xy - d.xy * (upward.z * per_z);
        vec2 slope = vec2(dot(past, right), dot(past, up)) * (px_move / from_axis);
        covered = min(covered, (extent.x - from_axis) * inversesqrt(dot(slope, slope)));
    }
    covered += 0.5;
}

void on_surface(vec3 q, vec3 d, out vec3 face, out vec3 at, out vec3 half_size, out vec3 along) {
    at = vec3(q.xy / extent.x, q.z / extent.z);
    half_size = extent.xxz;
    along = d;
    face = is_end ? vec3(0.0, 0.0, q.z > 0.0 ? 1.0 : -1.0) : vec3(q.xy / extent.x, 0.0);
}

vec3 shade(vec3 q, vec3 d, float per_px) {
    vec3 normal = is_end ? vec3(0.0, 0.0, q.z > 0.0 ? 1.0 : -1.0) : vec3(q.xy / extent.x, 0.0);
    vec3 tone = skin(normal, d, q.xy * per_px);
    if (tone_x.w < 0.0 && !OUTLINED) return tone;
    // A bright rim between the side and an end: worn edges catch light.
    float from_axis = max(length(q.xy), 1e-9), inside = is_end ? extent.x - from_axis : extent.z - abs(q.z);
    vec3 inward = is_end ? vec3(q.xy / from_axis, 0.0) : vec3(0.0, 0.0, 1.0), slide = d / dot(normal, d);
    float px = abs(dot(inward, across.xyz - slide * dot(normal, across.xyz)))
               + abs(dot(inward, upward.xyz - slide * dot(normal, upward.xyz)));
    inside /= max(px * px_move, 1e-9);
    if (OUTLINED) return with_outline(tone, inside + EDGE_PX, -tone_x.w);
    float rim = 1.0 - smoothstep(0.6, 1.8, inside);
    return mix(tone, tone * 0.55 + 0.42, 0.7 * rim * extent.y);
}
"""
)

CYLINDER = CastShape(
    ROUND_SIZE,
    _SUPPORT,
    _AROUND,
    PointCast(AXIAL_POINT_VERTEX, _POINT_FRAGMENT),
    PointCast(AXIAL_PLAIN_VERTEX, _PLAIN_FRAGMENT),
    AXIAL_QUAD_GEOMETRY,
    _QUAD_FRAGMENT,
)
