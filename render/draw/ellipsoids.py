"""Ellipsoids (see cast.py), and spheres with a scale along each axis: balls, where lengths are measured in half axes.

The one idea: measured so, an ellipsoid is a ball of radius 1 and a straight ray is a straight ray.
"""

from __future__ import annotations

from twixt.render.draw.cast import CastShape
from twixt.render.draw.round_skin import (
    POINT_SKIN_FRAGMENT,
    POINT_SKIN_VERTEX,
    QUAD_SKIN_FRAGMENT,
    QUAD_SKIN_GEOMETRY,
)

_SIZE = "vec3 size_of(Pose pose) { return shape_size * pose.scale; }"
_SUPPORT = "float support(vec3 size, vec3 along) { return length(size * along); }"

# In half axes: u to the right in the picture, v up, h to the eye, all at right angles.
_POINT_VERTEX = (
    POINT_SKIN_VERTEX
    + """
flat out vec4 turn;    // u by a pixel to the right, and by one up; v by one up; middle of the pattern
flat out vec4 deep;    // depth by u, v, h; at the middle
flat out vec4 bent;    // the normal across the view by u, v, h; towards the eye by h
flat out vec4 bent_up; // the normal's third by v, h; blue; least of the pattern
flat out vec4 first;   // the body's x by u, v, h, so much that times y it is the pattern; red
flat out vec4 second;  // y; green

void hide() {
    turn = bent = bent_up = first = second = light_uvw = up_uvw = vec4(0.0);
    deep = vec4(0.0, 0.0, 0.0, 1.0);
}

void show(Body body, vec2 middle) {
    vec3 per_size = 1.0 / body.size, center = body.center;
    vec3 to_eye = normalize(-(body.right * center.x + body.up * center.y + body.back * center.z));
    float steep = length(to_eye * per_size), metres_px = body.depth * picture.z;
    vec3 h = to_eye * per_size / steep, right = body.right * per_size * metres_px, up = body.up * per_size * metres_px;
    vec3 u = normalize(right - h * dot(right, h)), v = cross(h, u);
    turn = vec4(dot(right, u), dot(up, u), dot(up, v), 0.0);
    float bend = 0.5 * lens.w / (body.depth * body.depth);
    vec3 backward = body.back * body.size * bend;
    deep = vec4(dot(backward, u), dot(backward, v), dot(backward, h), 0.5 - 0.5 * lens.z + 0.5 * lens.w / body.depth);
    vec3 sideways = normalize(u * per_size), third = cross(to_eye, sideways);
    bent = vec4(dot(u * per_size, sideways), dot(v * per_size, sideways), dot(h * per_size, sideways), steep);
    vec3 color = skin_color(body);
    float px = metres_px * pow(per_size.x * per_size.y * per_size.z, 1.0 / 3.0), strength = pattern_depth(px);
    bent_up = vec4(dot(v * per_size, third), dot(h * per_size, third), color.b, 1.0 - 2.0 * strength);
    first = vec4(vec3(u.x, v.x, h.x) * (2.0 * strength / px), color.r);
    second = vec4(u.y, v.y, h.y, color.g);
    turn.w = 1.0 - strength;
    mat3 to_eye_space = transpose(mat3(body.right, body.up, body.back));
    light_skin(to_eye_space * mat3(sideways, third, to_eye), middle);
}
"""
)

_POINT_FRAGMENT = (
    POINT_SKIN_FRAGMENT
    + """
flat in vec4 turn, deep, bent, bent_up, first, second;

void main() {
    vec2 off = gl_FragCoord.xy - vec2(light_uvw.w, up_uvw.w);
    float u = dot(off, turn.xy), v = off.y * turn.z, room = 1.0 - u * u - v * v;
    // Half of what a pixel to the right and one up take away.
    vec2 slope = vec2(u * turn.x, u * turn.y + v * turn.z);
    float covered = 0.5 * room * inversesqrt(max(dot(slope, slope), 1e-9)) + 0.5;
    vec3 q = vec3(u, v, sqrt(max(room, 0.0)));
    gl_FragDepth = depth_of(dot(deep.xyz, q) + deep.w, covered);
    vec3 normal = vec3(dot(bent.xyz, q), bent_up.x * v + bent_up.y * q.z, bent.w * q.z);
    normal *= inversesqrt(dot(normal, normal));
    float pattern = clamp(dot(first.xyz, q) * dot(second.xyz, q) + turn.w, bent_up.w, 1.0);
    color = vec4(skin(vec3(first.w, second.w, bent_up.z), normal, pattern), covered);
}
"""
)

_QUAD_GEOMETRY = (
    QUAD_SKIN_GEOMETRY
    + """
// Rays are in half axes from here on.
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
    // Half of what a pixel to the right and one up take away.
    vec2 slope = vec2(dot(aside, across.xyz), dot(aside, upward.xyz)) * px_move;
    covered = 0.5 * room * inversesqrt(max(dot(slope, slope), 1e-12)) + 0.5;
    t = nearest - sqrt(max(room, 0.0) * per_dd);
}

vec3 shade(vec3 q, vec3 d, float per_px) {
    vec3 normal = normalize(q * extent.yzx * extent.zxy);
    return skin(normal, d * extent.xyz, q.xy * per_px);
}
"""
)

ELLIPSOID = CastShape(_SIZE, _SUPPORT, _POINT_VERTEX, _POINT_FRAGMENT, _QUAD_GEOMETRY, _QUAD_FRAGMENT)
