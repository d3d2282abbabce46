"""Cones (see ray_cast.py), the heads of arrows: the tip at +z, the disc at -z. Rectangles only: arrows are few.

The one idea: a cone is an endless double cone between its tip and its disc. A ray hits it if, where it is nearest to
the middle of what it cuts of the double cone, it is between tip and disc, or if it goes through the disc. Of the round
side and the disc, the one that the ray enters last is visible.
"""

from __future__ import annotations

import moderngl

from twixt.render.draw.glsl.pose_variants import PoseVariant
from twixt.render.draw.shapes.capsules import AXIAL_QUAD_GEOMETRY, ROUND_SIZE
from twixt.render.draw.shapes.cylinders import CYLINDER
from twixt.render.draw.shapes.ray_cast import CastShape, cast_quad_program
from twixt.render.draw.shapes.round_skin import QUAD_SKIN_FRAGMENT

_QUAD_FRAGMENT = (
    QUAD_SKIN_FRAGMENT
    + """
bool is_disc;

void meet(vec3 p, vec3 d, float per_px, out float t, out float covered) {
    float radius = extent.x, half_height = extent.z, slope = 0.5 * radius / half_height, slope2 = slope * slope;
    vec3 q = vec3(p.xy, p.z - half_height);  // from the tip
    // Inside the double cone: a t^2 + 2 b t + c < 0.
    float a = dot(d.xy, d.xy) - slope2 * d.z * d.z, b = dot(q.xy, d.xy) - slope2 * q.z * d.z;
    float c = dot(q.xy, q.xy) - slope2 * q.z * q.z, room = b * b - a * c;
    a = abs(a) < 1e-9 ? 1e-9 : a;
    float middle = -b / a, enter = middle - sqrt(max(room, 0.0)) / a;
    if (a < 0.0 && d.z > 0.0) enter = -1e30;  // it was inside from afar
    // The round side: how far, in px, is the ray from touching it?
    covered = 0.0;
    float z = p.z + d.z * middle;
    if (a > 0.0 && abs(z) <= half_height) {
        vec2 by_b = vec2(dot(across.xy, d.xy) - slope2 * across.z * d.z, dot(upward.xy, d.xy) - slope2 * upward.z * d.z);
        vec2 by_c = vec2(dot(q.xy, across.xy) - slope2 * q.z * across.z, dot(q.xy, upward.xy) - slope2 * q.z * upward.z);
        vec2 steep = (b * by_b - a * by_c) * (2.0 * px_move);
        covered = max(room * inversesqrt(max(dot(steep, steep), 1e-30)) + 0.5, 0.0);
    }
    // The disc.
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
    // Between the side and the disc half of the outline is on each.
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

# Extent, circumscribed ball and rectangle are those of a cylinder. Points are never asked for.
CONE = CastShape(
    ROUND_SIZE,
    CYLINDER.support,
    CYLINDER.around,
    CYLINDER.points,
    CYLINDER.plain_points,
    AXIAL_QUAD_GEOMETRY,
    _QUAD_FRAGMENT,
)


def cone_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Program that draws cones as rectangles; takes GL_POINTS of rows."""
    return cast_quad_program(context, variant, CONE)
