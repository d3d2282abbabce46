"""GLSL of the skin of round shapes: two tones of one colour that show spin, and its lighting.

The pattern has four quarters around the body's z. The sign of x times y gives the quarter of a pixel, its magnitude
the distance from the borders. A capsule, a cylinder and an ellipsoid have the skin of a sphere, so that a short
capsule looks like a ball.

Small bodies are lit in their own frame: u along the body's axis as seen in the picture, v across it, w towards the
eye. Their lighting leaves out what is invisible at that size: the tint, and the rim where the surface turns away.
"""

import math

from twixt.render.draw.glsl.light import HIGHLIGHT_GLSL, SHINE_GLSL

# The constants of `lit_by` in light.py.
_WRAP, _PAST, _AMBIENT, _SUN = 0.85, 0.15, 0.34, 0.92
# Factor on the direction towards the light: (its cosine with the normal, plus _PAST x sqrt(_SUN)) squared is then the
# sun's part of the brightness.
_LIT = _WRAP * math.sqrt(_SUN)

POINT_SKIN_VERTEX = (
    SHINE_GLSL
    + """
flat out vec4 light_uvw;  // towards the light, times LIT; w: x of the middle of the body, px
flat out vec4 up_uvw;     // upward, times AMBIENT_UP; w: y
#if FINISH
uniform vec4 finish;
flat out vec3 shine_by;   // of the highlight: strength, and what `highlight` takes
#endif
const float AMBIENT_UP = 0.22;

// Depth of the pattern on a body of which a pixel is `px` radii.
float pattern_depth(float px) { return PATTERN * 0.20 * clamp(1.2 - 3.0 * px, 0.0, 1.0); }

// For plain colours, divides by the brightness that the skin has without light.
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

// pattern: brightness by it.
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

# As for spheres in point_spheres.py, light and pattern together are a polynomial in the normal.
PLAIN_SKIN_VERTEX = """
flat out vec4 by_normal;  // brightness: constant, u, v, w
flat out vec4 by_square;  // u^2 (less w^2), v^2 (less w^2), u v, u w
flat out vec4 albedo;     // w: v w

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
// from_z: the surface's place across z, in px. d: along the ray, unit, metres.
vec3 skin(vec3 normal, vec3 d, vec2 from_z) {
    if (tone_x.w < 0.0) return tone_x.rgb;
    vec2 side = clamp(from_z, -1.0, 1.0);
    float tone = 1.0 - tone_x.w * (1.0 - side.x * side.y);
    float facing = -dot(normal, d), towards = dot(normal, tone_y.xyz);
    float mirrored = 2.0 * facing * towards + dot(tone_y.xyz, d);
    return lit_by(tone_x.rgb * tone, towards, dot(normal, tone_z.xyz), mirrored, facing);
}
"""
