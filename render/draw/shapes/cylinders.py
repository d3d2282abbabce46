"""Draws cylinders and cones by the code of ray_cast.py. They have bright rims.

A cylinder is the part of an infinite round cylinder that lies between two planes. A ray hits the cylinder if it comes
closer to the axis than the radius while it is between the two planes. If the ray enters the infinite cylinder last, the
round side is visible. If it enters the space between the planes last, the near end is visible.
"""

from __future__ import annotations

import moderngl

from twixt.render.draw.glsl.uniform_blocks import PoseVariant
from twixt.render.draw.shapes.capsules import (
    AXIAL_PLAIN_FRAGMENT,
    AXIAL_PLAIN_VERTEX,
    AXIAL_POINT_FRAGMENT,
    AXIAL_POINT_VERTEX,
    AXIAL_QUAD_GEOMETRY,
    QUAD_SKIN_FRAGMENT,
    ROUND_SIZE,
)
from twixt.render.draw.shapes.ray_cast import CastShape, PointCast, cast_quad_program

_SUPPORT = "float support(vec3 size, vec3 along) { return size.z * abs(along.z) + size.x * length(along.xy); }"
_AROUND = "float around(vec3 size) { return length(size.xz); }"

_POINT_FRAGMENT = (
    AXIAL_POINT_FRAGMENT
    + """
void main() {
    vec2 off = gl_FragCoord.xy - vec2(light_uvw.w, up_uvw.w);
    float u = dot(off, turn.xy), v = dot(off, turn.zw), room = 1.0 - v * v, around = sqrt(max(room, 0.0));
    // Distance from the pixel to the end of the cylinder. In the picture, the end is an ellipse. The distance is
    // measured along u, and is reduced where the ellipse is steep.
    float end = (form.x + form.y * around - abs(u)) * max(around * inversesqrt(max(room + form.y * form.y * v * v, 1e-6)), 0.3);
    float covered = min(0.5 * room, end) * (2.0 * form.w) + 0.5;
    // e: height of the visible surface towards the eye, across the axis. The visible surface is the round side or the
    // near end.
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
const float EDGE_PX = 0.75;  // the round side and the end each draw half of the outline between them
bool is_end;

void meet(vec3 p, vec3 d, float per_px, out float t, out float covered) {
    float radius2 = extent.x * extent.x, per_aa = 1.0 / max(dot(d.xy, d.xy), 1e-9), per_z = 1.0 / (d.z + 1e-20);
    float side = -dot(p.xy, d.xy) * per_aa, ends = -p.z * per_z, half_ends = extent.z * abs(per_z);
    vec2 past = p.xy + d.xy * side;
    float room = radius2 - dot(past, past), enter = side - sqrt(max(room, 0.0) * per_aa);
    is_end = ends - half_ends > enter;
    t = max(enter, ends - half_ends);
    covered = room * (0.5 * per_px / extent.x);
    // If the ray passes an end before it reaches its point nearest to the axis, the distance from the rim of this end
    // counts.
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
    // There is a bright rim between the round side and an end, because worn edges catch light.
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


# Cones are the heads of arrows. The tip of a cone is at +z, its disc (base) at -z. Cones are drawn only as rectangles,
# never as points, because there are few arrows.
#
# A cone is the part of an infinite double cone between its tip and its disc. One section of a ray may be inside the
# double cone. The ray hits the cone if it goes through the disc, or if the middle of this section is between tip and
# disc. If the ray enters the double cone last, the round side is visible. If it passes the plane of the disc last, the
# disc is visible.


_CONE_QUAD_FRAGMENT = (
    QUAD_SKIN_FRAGMENT
    + """
bool is_disc;

void meet(vec3 p, vec3 d, float per_px, out float t, out float covered) {
    float radius = extent.x, half_height = extent.z, slope = 0.5 * radius / half_height, slope2 = slope * slope;
    vec3 q = vec3(p.xy, p.z - half_height);  // relative to the tip
    // A point of the ray at t is inside the double cone if a t^2 + 2 b t + c < 0.
    float a = dot(d.xy, d.xy) - slope2 * d.z * d.z, b = dot(q.xy, d.xy) - slope2 * q.z * d.z;
    float c = dot(q.xy, q.xy) - slope2 * q.z * q.z, room = b * b - a * c;
    a = abs(a) < 1e-9 ? 1e-9 : a;
    float middle = -b / a, enter = middle - sqrt(max(room, 0.0)) / a;
    if (a < 0.0 && d.z > 0.0) enter = -1e30;  // the ray begins inside the double cone
    // For the round side: how far the ray is inside the outline, in px.
    covered = 0.0;
    float z = p.z + d.z * middle;
    if (a > 0.0 && abs(z) <= half_height) {
        vec2 by_b = vec2(dot(across.xy, d.xy) - slope2 * across.z * d.z, dot(upward.xy, d.xy) - slope2 * upward.z * d.z);
        vec2 by_c = vec2(dot(q.xy, across.xy) - slope2 * q.z * across.z, dot(q.xy, upward.xy) - slope2 * q.z * upward.z);
        vec2 steep = (b * by_b - a * by_c) * (2.0 * px_move);
        covered = max(room * inversesqrt(max(dot(steep, steep), 1e-30)) + 0.5, 0.0);
    }
    // For the disc: how far the ray is inside the rim, in px.
    float per_z = 1.0 / (d.z + (d.z < 0.0 ? -1e-9 : 1e-9)), at_disc = (-half_height - p.z) * per_z;
    vec2 past = p.xy + d.xy * at_disc;
    float from_axis = max(length(past), 1e-9);
    vec2 right = across.xy - d.xy * (across.z * per_z), up = upward.xy - d.xy * (upward.z * per_z);
    vec2 steep = vec2(dot(past, right), dot(past, up)) * (px_move / from_axis);
    covered = max(covered, (radius - from_axis) * inversesqrt(max(dot(steep, steep), 1e-30)) + 0.5);
    is_disc = d.z > 0.0 && at_disc > enter;
    t = is_disc ? at_disc : max(enter, -1e9);
}

vec3 shade(vec3 q, vec3 d, float per_px) {
    float slope = 0.5 * extent.x / extent.z;
    vec3 side = vec3(q.xy, slope * slope * (extent.z - q.z));
    vec3 normal = is_disc ? vec3(0.0, 0.0, -1.0) : side * inversesqrt(max(dot(side, side), 1e-30));
    vec3 tone = skin(normal, d, q.xy * per_px);
    if (!OUTLINED) return tone;
    // The round side and the disc each draw half of the outline between them.
    float from_axis = max(length(q.xy), 1e-9), slant = sqrt(1.0 + slope * slope);
    vec2 outward = q.xy / from_axis;
    vec3 inward = is_disc ? vec3(outward, 0.0) : vec3(-outward * slope, 1.0) / slant, slide = d / dot(normal, d);
    float px = abs(dot(inward, across.xyz - slide * dot(normal, across.xyz)))
               + abs(dot(inward, upward.xyz - slide * dot(normal, upward.xyz)));
    float inside = (is_disc ? extent.x - from_axis : (q.z + extent.z) * slant) / max(px * px_move, 1e-9);
    return with_outline(tone, inside + 0.75, -tone_x.w);
}
"""
)

# A cone has the same extent, the same surrounding ball and the same rectangle as a cylinder. Cones are never drawn as
# points.
CONE = CastShape(
    ROUND_SIZE,
    CYLINDER.support,
    CYLINDER.around,
    CYLINDER.points,
    CYLINDER.plain_points,
    AXIAL_QUAD_GEOMETRY,
    _CONE_QUAD_FRAGMENT,
)


def cone_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Program that draws cones as rectangles. Use it with GL_POINTS, one point for each row."""
    return cast_quad_program(context, variant, CONE)
