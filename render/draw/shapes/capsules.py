"""Draws capsules by the code of ray_cast.py. A capsule is the union of all balls of one radius whose centres are on a
segment of the body's z axis.

Each point of a capsule's surface is on a ball around one point of its axis. To find this point, the code computes the z
at which the ray meets the infinite cylinder around the axis, and clamps this z to the segment. The result is exact,
because the cylinder touches each of the balls along a whole circle.
"""

from __future__ import annotations

import math

from twixt.render.draw.glsl.light import HIGHLIGHT_GLSL, SHINE_GLSL
from twixt.render.draw.shapes.ray_cast import CastShape, PointCast

# This GLSL draws the skin of round shapes. The skin is the lighting and a pattern. The pattern has two tones of one
# colour and makes the spin of a body visible.
#
# The pattern has four quarters around the body's z axis. x and y are the place of a pixel on the body. The sign of x
# times y gives the tone of the quarter. The magnitude of x times y shows how far the pixel is from the borders of the
# quarter. Capsules, cylinders and ellipsoids have the same skin as spheres, so a short capsule looks like a ball.
#
# Small bodies are lit in a frame of their own: u points along the body's axis as seen in the picture, v across this
# axis, and w towards the eye. Their lighting has no tint. They have no rim where the surface turns away from the eye.
# Neither would be visible at this size.


# Constants of `lit_by` in light.py.
_WRAP, _PAST, _AMBIENT, _SUN = 0.85, 0.15, 0.34, 0.92
# The direction towards the light is multiplied by this factor. Let c be the dot product of the multiplied direction and
# the normal. Then the sun's part of the brightness is (c + _PAST x sqrt(_SUN)) squared.
_LIT = _WRAP * math.sqrt(_SUN)

POINT_SKIN_VERTEX = (
    SHINE_GLSL
    + """
flat out vec4 light_uvw;  // direction towards the light, times LIT; w: x of the body's middle, px
flat out vec4 up_uvw;     // direction upward, times AMBIENT_UP; w: y of the body's middle, px
#if FINISH
uniform vec4 finish;
flat out vec3 shine_by;   // strength of the highlight, and two arguments of `highlight`
#endif
const float AMBIENT_UP = 0.22;

// Strength of the pattern on a body. px: size of a pixel, as a multiple of the body's radius.
float pattern_depth(float px) { return PATTERN * 0.20 * clamp(1.2 - 3.0 * px, 0.0, 1.0); }

// If the body is drawn in its plain colour, without light, its colour is divided by the brightness that the skin has
// without light.
vec3 skin_color(Body body) { return light_eye.w > 0.5 ? body.color.rgb / UNLIT : body.color.rgb; }

void light_skin(mat3 uvw, vec2 middle) {
    bool is_lit = light_eye.w < 0.5;
    light_uvw = vec4(is_lit ? light_eye.xyz * uvw * LIT : vec3(0.0), middle.x);
    up_uvw = vec4(is_lit ? up_eye.xyz * uvw * AMBIENT_UP : vec3(0.0), middle.y);
#if FINISH
    shine_by = vec3(is_lit ? finish.x : 0.0, shine_of(finish.y));
#endif
}
""".replace("UNLIT", str(math.sqrt(_AMBIENT + _SUN * _PAST**2))).replace("LIT", str(_LIT))
)

POINT_SKIN_FRAGMENT = (
    HIGHLIGHT_GLSL
    + """
flat in vec4 light_uvw, up_uvw;
#if FINISH
flat in vec3 shine_by;
#endif

// Colour of a pixel. pattern: factor by which the pattern multiplies the brightness.
vec3 skin(vec3 albedo, vec3 normal, float pattern) {
    float towards = dot(normal, light_uvw.xyz), sun = max(towards + PAST, 0.0);
#if FINISH
    float gloss = shine_by.x * highlight((normal.z * towards - 0.5 * light_uvw.z) * MIRRORED, shine_by.yz);
#else
    float gloss = max(normal.z * towards - 0.5 * light_uvw.z, 0.0);
    gloss *= gloss; gloss *= gloss; gloss *= gloss; gloss *= gloss;
    gloss *= GLOSS;
#endif
    return albedo * (sqrt(dot(normal, up_uvw.xyz) + AMBIENT + sun * sun) * pattern) + gloss;
}
""".replace("GLOSS", str(0.20 * (2 / _LIT) ** 16))
    .replace("MIRRORED", str(2 / _LIT))
    .replace("AMBIENT", str(_AMBIENT))
    .replace("PAST", str(_PAST * math.sqrt(_SUN)))
)

# The brightness, with light and pattern, is a polynomial of the normal's components. Spheres use the same method, see
# point_spheres.py.
PLAIN_SKIN_VERTEX = """
flat out vec4 by_normal;  // the brightness is a sum: these are its coefficients of 1, u, v, w
flat out vec4 by_square;  // its coefficients of u^2 - w^2, v^2 - w^2, u v, u w
flat out vec4 albedo;     // colour; w: coefficient of v w in the brightness

void light_skin(Body body, mat3 uvw, float px) {
    by_normal = vec4(1.0, 0.0, 0.0, 0.0);
    by_square = vec4(0.0);
    albedo = vec4(body.color.rgb, 0.0);
    if (light_eye.w > 0.5) return;
    float contrast = PATTERN * 0.20 * clamp(1.33 - 6.0 * px, 0.0, 1.0);
    vec3 x = eye_axis(body, 0) * uvw * (2.4 * contrast), y = eye_axis(body, 1) * uvw;
    vec3 light = light_eye.xyz * uvw * sqrt(SQUARE * (1.0 - contrast)), square = light * light + x * y;
    vec3 linear = brightness_by_normal(light_eye.xyz, up_eye.xyz) * uvw * (1.0 - contrast);
    vec3 mixed = 2.0 * light.xxy * light.yzz + x.xxy * y.yzz + x.yzz * y.xxy;
    by_normal = vec4(BASE * (1.0 - contrast) + square.z, linear);
    by_square = vec4(square.xy - square.z, mixed.xy);
    albedo.w = mixed.z;
}
"""

PLAIN_SKIN_FRAGMENT = """
flat in vec4 by_normal, by_square, albedo;

vec4 skin(vec3 n) {
    float brightness = by_normal.x + n.z * by_normal.w
                     + n.x * (by_normal.y + by_square.x * n.x + by_square.z * n.y + by_square.w * n.z)
                     + n.y * (by_normal.z + by_square.y * n.y + albedo.w * n.z);
    return vec4(albedo.rgb * brightness, 1.0);
}
"""

QUAD_SKIN_GEOMETRY = """
void paint_skin(Body body, float radius) {
    float px = (PARALLEL ? 1.0 : max(body.depth, radius)) * picture.z / radius;
    tone_x = vec4(body.color.rgb, light_eye.w > 0.5 ? -1.0 : PATTERN * 0.20 * clamp(1.2 - 3.0 * px, 0.0, 1.0));
    tone_y.xyz = body.right * light_eye.x + body.up * light_eye.y + body.back * light_eye.z;
    tone_z.xyz = body.right * up_eye.x + body.up * up_eye.y + body.back * up_eye.z;
}
"""

QUAD_SKIN_FRAGMENT = """
// from_z: place on the surface, relative to the z axis, in px. d: direction of the ray, a unit vector in metres.
vec3 skin(vec3 normal, vec3 d, vec2 from_z) {
    if (tone_x.w < 0.0) return tone_x.rgb;
    vec2 side = clamp(from_z, -1.0, 1.0);
    float tone = 1.0 - tone_x.w * (1.0 - side.x * side.y);
    float facing = -dot(normal, d), towards = dot(normal, tone_y.xyz);
    float mirrored = 2.0 * facing * towards + dot(tone_y.xyz, d);
    return lit_by(tone_x.rgb * tone, towards, dot(normal, tone_z.xyz), mirrored, facing);
}
"""

# If a body has a separate scale along each axis, its cross section stays round: the radius is multiplied by the mean of
# the scales along x and y.
ROUND_SIZE = """
vec3 size_of(Pose pose) {
    float around = 0.5 * (pose.scale.x + pose.scale.y);
    return shape_size * vec3(around, around, pose.scale.z);
}
"""
_SUPPORT = "float support(vec3 size, vec3 along) { return size.z * abs(along.z) + size.x * length(along); }"
_AROUND = "float around(vec3 size) { return size.x + size.z; }"

# A body with an axis. Its radius is the unit of length. The frame: u points along the axis as seen in the picture, v
# across the axis, and w towards the eye.
_AXIS = """
flat out vec4 turn;  // change of u (x, y) and of v (z, w), for a pixel to the right and for a pixel up
// x: half the axis as seen; y, z: sine and cosine of the axis's angle to the picture; w: half a radius in px.
flat out vec4 form;
flat out vec4 deep;  // change of depth: x: per u; y: per move along the axis; z: per w; w: depth at the middle

struct Axis {
    mat3 uvw;      // u, v and w in eye space
    vec3 way;      // direction of the axis, towards the end that is nearer to the eye
    float px;      // size of a pixel in radii
    float deep_v;  // change of depth with v
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
flat out vec4 albedo;   // w: change of depth with v
// The pattern at e, v, see `pattern`. x, y: coefficients of e^2 - v^2 and of e v; z: its mean; w: its least value.
flat out vec4 quarter;

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

// e, v: coordinates of a place on the surface, in two directions across the axis.
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
flat out vec3 place;  // x, y: the middle, px; z: change of depth with v

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
    // Finds the point of the axis that is nearest to the ray.
    float aa = max(dot(d.xy, d.xy), 1e-9), along = -dot(p.xy, d.xy) / aa, z = p.z + d.z * along;
    vec3 from = vec3(p.xy, p.z - clamp(z, -extent.z, extent.z)), aside = from - d * dot(from, d);
    covered = (radius * radius - dot(aside, aside)) * (0.5 * per_px / radius) + 0.5;
    // Finds the place where the ray enters the infinite cylinder around the axis. Then intersects the ray with one
    // ball: the ball around the axis point at this place, or the ball at an end of the axis if the place is beyond this
    // end.
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
    // If the place is beyond the straight section, the distance from the end of this section is measured in radii.
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
