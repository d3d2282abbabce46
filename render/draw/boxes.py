"""Boxes, ray cast (see cast.py): three faces of one tone each, with edges that catch light.

The one idea: between three pairs of planes, a ray is in the box after it entered the last pair and before it left
the first. How long it stays there tells how near the pixel is to the outline. At most three faces are seen, and
each is lit once, in the vertex shader.
"""

from __future__ import annotations

from twixt.render.draw.cast import CastShape
from twixt.render.draw.light_glsl import LIGHT_GLSL

_VERTEX = (
    LIGHT_GLSL
    + """
vec3 size_of(Pose pose) { return shape_size * pose.scale; }

float support(vec3 size, vec3 along) { return dot(size, abs(along)); }

vec3 face_tone(Body body, int axis, float away) {
    if (light_eye.w > 0.5) return body.color;
    vec3 normal = eye_axis(body, axis) * (away > 0.0 ? -1.0 : 1.0);
    float facing = abs(away) * inversesqrt(dot(body.center, body.center));
    return lit(body.color, normal, facing, light_eye.xyz, up_eye.yz);
}

// Rays are in half edges from here on.
void paint(Body body) {
    vec3 away = body.right * body.center.x + body.up * body.center.y + body.back * body.center.z;
    tone_x = vec4(face_tone(body, 0, away.x), light_eye.w > 0.5 ? -1.0 : 1.0);
    tone_y.xyz = face_tone(body, 1, away.y);
    tone_z.xyz = face_tone(body, 2, away.z);
    vec3 per_size = 1.0 / body.size;
    across.xyz *= per_size;
    upward.xyz *= per_size;
    way.xyz *= per_size;
#if !POINT
    from_eye.xyz *= per_size;
#endif
}
"""
)

_FRAGMENT = """
vec3 entry;  // where along the ray it passes the near plane of each pair
float near;  // the last of these

void meet(vec3 p, vec3 d, float per_px, out float t, out float covered) {
    // Of a ray along a plane no digit is lost, and none is no number.
    vec3 per_d = 1.0 / (d + 1e-20), middle = -p * per_d, half_way = abs(per_d), leave = middle + half_way;
    entry = middle - half_way;
    t = near = max(max(entry.x, entry.y), entry.z);
    float far = min(min(leave.x, leave.y), leave.z);
    // How much of its stay a pixel to the right and one up take away.
    vec3 moves = per_d * (vec3(equal(entry, vec3(near))) - vec3(equal(leave, vec3(far))));
    vec2 slope = vec2(dot(moves, across.xyz), dot(moves, upward.xyz)) * px_move;
    covered = (far - near) * inversesqrt(dot(slope, slope)) + 0.5;
}

vec3 shade(vec3 q, vec3 d, float per_px) {
    vec3 tone = entry.x >= max(entry.y, entry.z) ? tone_x.rgb : entry.y >= entry.z ? tone_y.rgb : tone_z.rgb;
    if (tone_x.w < 0.0) return tone;
    // To the nearest border of the face, in halves of it and in px. Along its normal there is no border.
    vec3 face = vec3(equal(entry, vec3(near))), steep = face / (d + 1e-20), inside = 1.0 - abs(q) + face * 1e9;
    vec3 px = abs(across.xyz - d * dot(steep, across.xyz)) + abs(upward.xyz - d * dot(steep, upward.xyz));
    px *= (1.0 - face) * px_move;
    vec3 border_px = inside / max(px, 1e-9);
    float rim = 1.0 - smoothstep(0.6, 1.8, min(min(border_px.x, border_px.y), border_px.z));
    // Where a face is only a few pixels wide, a rim would be all of it.
    rim *= clamp(0.125 / max(max(px.x, px.y), px.z) - 0.25, 0.0, 1.0);
    // A faint inner shade towards the border, and a bright rim at it: worn edges catch light.
    tone *= 0.90 + 0.10 * smoothstep(0.0, 0.25, min(min(inside.x, inside.y), inside.z));
    return mix(tone, tone * 0.55 + 0.42, 0.7 * rim);
}
"""

BOX = CastShape(_VERTEX, _FRAGMENT)
