"""Contains the GLSL of lighting and materials. It is the same for all shapes.

Light: surfaces are lit by a hemisphere (bright sky, dim floor) and by one directional light. They have a soft
highlight. Brightness is added in linear light. One square root then encodes the sum for the display. Colours are
display-encoded in all steps. The light has no colour; a warm or cool tint is applied instead. The viewer counts as
infinitely far away, so the highlight needs no direction of view for each pixel. In software rendering, lighting is the
most expensive part of a pixel.

Materials: programs of bodies without a material contain no code for materials. Bodies with a material are drawn by
variants (`PoseVariant.finish`) of the programs that draw bodies of any size. Bodies with the same material and kind
have one draw call, and the program's uniforms are set for this call. Image coordinates are the same as in MuJoCo's
renderer. The image of a plane is at right angles to the shape's z axis. The image starts at the shape's upper left
corner. If the image has a number of repeats per metre, it starts at the shape's centre. A cube image is read in the
direction from the shape's centre. This direction is computed in units of the shape's half extents.
"""

LIGHT_GLSL = """
const vec3 WARM = vec3(1.02, 1.00, 0.94);
const vec3 COOL = vec3(0.93, 0.98, 1.08);

// albedo: display-encoded. The other arguments are cosines of angles. towards: normal and light. upward: normal and
// up. mirrored: mirrored light and direction to the eye. facing: normal and direction to the eye.
vec3 lit_by(vec3 albedo, float towards, float upward, float mirrored, float facing) {
    // The light reaches a little past the terminator, as from a large, soft light.
    float sun = max(towards * 0.85 + 0.15, 0.0);
    sun *= sun;
    float brightness = sqrt(0.34 + 0.22 * upward + 0.92 * sun);
    float gloss = max(mirrored, 0.0);
    gloss *= gloss; gloss *= gloss; gloss *= gloss; gloss *= gloss;
    float grazing = 1.0 - facing;
    return albedo * (mix(COOL, WARM, sun) * brightness) + (0.20 * gloss + 0.10 * grazing * grazing);
}

// Brightness of the light in `lit_by`, without a tint; it is one factor on the albedo. shines: strength and exponent
// of the highlight; w: strength of the rim.
float brightness(vec3 normal, float facing, vec3 light, vec3 up, vec4 shines) {
    float towards = dot(normal, light), sun = max(towards * 0.85 + 0.15, 0.0);
    float gloss = pow(max(2.0 * normal.z * towards - light.z, 1e-6), shines.y), grazing = 1.0 - facing;
    return sqrt(0.34 + 0.22 * dot(normal, up) + 0.92 * sun * sun) + shines.x * gloss + shines.w * grazing * grazing;
}

// normal: unit, eye space. facing: cosine of the angle between the normal and the direction to the eye.
// light: direction towards the light, eye space. up: the world's z, eye space.
vec3 lit(vec3 albedo, vec3 normal, float facing, vec3 light, vec3 up) {
    float towards = dot(normal, light);
    return lit_by(albedo, towards, dot(normal, up), 2.0 * normal.z * towards - light.z, facing);
}
"""

# This text contains a function that reduces the light of a surface in shadow. The light was computed by the function
# `lit`. This text uses the formula and the tints of `lit`, so it must come after LIGHT_GLSL.
SHADED_GLSL = """
// Factor on the colour where only a share of the sun (lit) and of the sky (open) is visible. Cosines: see `lit_by`.
vec3 light_left(float lit, float open, float towards, float upward) {
    float sun = max(towards * 0.85 + 0.15, 0.0);
    sun *= sun;
    float sky = 0.34 + 0.22 * upward;
    float share = sqrt((sky * open + 0.92 * sun * lit) / (sky + 0.92 * sun));
    return mix(COOL, WARM, sun * lit) / mix(COOL, WARM, sun) * share;
}
"""

# In the look "flat", a body has a plain colour, and a darker line along its border. The line is fainter on bodies
# narrower than 10 px. Bodies that are at most 6 px wide have no line.
OUTLINE_GLSL = """
const float OUTLINE_PX = 1.5, OUTLINE_TONE = 0.5;
// inside_px: distance from the body's border. width_px: width of the body.
vec3 with_outline(vec3 color, float inside_px, float width_px) {
    float strength = (1.0 - OUTLINE_TONE) * clamp(0.25 * width_px - 1.5, 0.0, 1.0);
    return color * (1.0 - strength * clamp(OUTLINE_PX + 0.5 - inside_px, 0.0, 1.0));
}
"""

# Constants of the light on spheres. They give the light of LIGHT_GLSL without a square root in each pixel. Brightness
# is a polynomial in the cosines. It was fitted over the visible half of spheres, seen from all sides, with a mean error
# of 0.016. The linear part of the polynomial is a dot product of the normal and a single direction.
BASE, SQUARE, LINEAR_LIGHT, LINEAR_UP = 0.612, 0.232, 0.236, 0.156
POLYNOMIAL_GLSL = (
    f"""
const float BASE = {BASE}, SQUARE = {SQUARE};
vec3 brightness_by_normal(vec3 light, vec3 up) {{ return {LINEAR_LIGHT} * light + {LINEAR_UP} * up; }}
"""
    + """

// linear: dot product of the normal and `brightness_by_normal`; other arguments: see `lit_by`.
vec3 lit_by_polynomial(vec3 albedo, float linear, float towards, float mirrored, float facing) {
    float brightness = BASE + linear + SQUARE * towards * towards;
    float sun = max(towards * 0.85 + 0.15, 0.0);
    float gloss = max(mirrored, 0.0);
    gloss *= gloss; gloss *= gloss; gloss *= gloss; gloss *= gloss;
    float grazing = 1.0 - facing;
    // The tint goes from cool to warm with the amount of sun.
    vec3 tint = vec3(0.93, 0.98, 1.08) + vec3(0.09, 0.02, -0.14) * (sun * sun);
    return albedo * (tint * brightness) + (0.20 * gloss + 0.10 * grazing * grazing);
}
"""
)

# Variants of programs, in this order: no material, a material without an image, a material with an image, a material
# with images for the six sides of a cube, a plane with a checker image.
NO_FINISH, SMOOTH_FINISH, IMAGE_FINISH, CUBE_FINISH, CHECKER_FINISH = range(5)

# The highlight is a base to the power of 32, which needs only multiplications. llvmpipe's `pow` would take as long as
# the rest of the light. The base falls linearly with the distance from the middle of the highlight. In wide highlights
# it also has a quadratic term. `shine_of` returns the values that are computed once for each body.
SHINE_GLSL = """
vec2 shine_of(float exponent) {
    float share = exponent / 32.0;
    return vec2(share, share < 1.0 ? 0.5 * share * (share - 1.0) : 0.0);
}
"""
HIGHLIGHT_GLSL = """
float highlight(float mirrored, vec2 shine) {
    float off = 1.0 - mirrored, base = max(1.0 - off * (shine.x - off * shine.y), 0.0);
    base *= base; base *= base; base *= base; base *= base;
    return base * base;
}
"""

# This text uses the tints of LIGHT_GLSL, so it must come after LIGHT_GLSL. The text has no effect in programs without a
# material.
FINISH_GLSL = """
#if FINISH
uniform vec4 finish;   // strength and exponent of the highlight, emission, strength of the rim
uniform vec4 mapping;  // number of repeats along x and y; z: 1 if these are repeats per metre
#if FINISH == 2
uniform sampler2D image;
#elif FINISH == 3
uniform samplerCube image;
#endif

// at: place on the surface, in half extents from the middle. half_size: the half extents, metres.
vec4 texel(vec3 at, vec3 half_size) {
#if FINISH == 2
    vec2 right_down = at.xy * vec2(1.0, -1.0);
    if (mapping.z > 0.5) return texture(image, mapping.xy * (right_down * half_size.xy) - 0.5);
    return texture(image, mapping.xy * (0.5 + 0.5 * right_down));
#elif FINISH == 3
    return texture(image, mapping.z > 0.5 ? at * half_size : at);
#else
    return vec4(1.0);
#endif
}

// Like `lit_by`, with the material's highlight, rim and emission.
vec3 finished_by(vec3 albedo, float towards, float upward, float mirrored, float facing) {
    float sun = max(towards * 0.85 + 0.15, 0.0);
    sun *= sun;
    float brightness = sqrt(0.34 + 0.22 * upward + 0.92 * sun) + finish.z;
    float gloss = finish.x * pow(max(mirrored, 1e-6), finish.y), grazing = 1.0 - facing;
    return albedo * (mix(COOL, WARM, sun) * brightness) + (gloss + finish.w * grazing * grazing);
}

// normal, to_eye: unit; light, up: see `lit`. All are in the same frame.
vec3 finished(vec3 albedo, vec3 normal, vec3 to_eye, vec3 light, vec3 up) {
    float towards = dot(normal, light), facing = clamp(dot(normal, to_eye), 0.0, 1.0);
    float mirrored = 2.0 * facing * towards - dot(light, to_eye);
    return finished_by(albedo, towards, dot(normal, up), mirrored, facing);
}
#endif
"""
