"""How surfaces are lit: one GLSL text for all shapes, so that a ball and a box side by side look of one world.

A hemisphere (bright sky, dim floor), one directional light, a soft highlight. Brightness is added up in linear
light and encoded for the display by one square root; colours stay display-encoded throughout, and a warm or
cool tint stands for the colour of the light. The viewer counts as far away, so that the highlight needs no
direction of its own in every pixel. In software drawing this is the dearest part of a pixel.
"""

LIGHT_GLSL = """
const vec3 WARM = vec3(1.02, 1.00, 0.94);
const vec3 COOL = vec3(0.93, 0.98, 1.08);

// albedo: display-encoded. Cosines of the normal: towards the light, upward, with the mirrored light's way to the
// eye, facing the eye.
vec3 lit_by(vec3 albedo, float towards, float upward, float mirrored, float facing) {
    // Wrapped a little past the terminator: a soft, larger light.
    float sun = max(towards * 0.85 + 0.15, 0.0);
    sun *= sun;
    float brightness = sqrt(0.34 + 0.22 * upward + 0.92 * sun);
    float gloss = max(mirrored, 0.0);
    gloss *= gloss; gloss *= gloss; gloss *= gloss; gloss *= gloss;
    float grazing = 1.0 - facing;
    return albedo * (mix(COOL, WARM, sun) * brightness) + (0.20 * gloss + 0.10 * grazing * grazing);
}

// The same without a tint, as one factor of the albedo.
float brightness(vec3 normal, float facing, vec3 light, vec3 up) {
    float towards = dot(normal, light), sun = max(towards * 0.85 + 0.15, 0.0);
    float gloss = pow(max(2.0 * normal.z * towards - light.z, 0.0), 16.0), grazing = 1.0 - facing;
    return sqrt(0.34 + 0.22 * dot(normal, up) + 0.92 * sun * sun) + 0.20 * gloss + 0.10 * grazing * grazing;
}

// normal: unit, eye space. facing: cosine between the normal and the way to the eye.
// light: towards it, eye space. up: the world's z, eye space.
vec3 lit(vec3 albedo, vec3 normal, float facing, vec3 light, vec3 up) {
    float towards = dot(normal, light);
    return lit_by(albedo, towards, dot(normal, up), 2.0 * normal.z * towards - light.z, facing);
}
"""

# The same light for spheres without a root in each pixel: brightness as a polynomial in the cosines, fitted over all
# that is seen of spheres from all sides (off by 0.016 on the average). Its linear part is one direction.
POLYNOMIAL_GLSL = """
const float BASE = 0.612, SQUARE = 0.232;
vec3 brightness_by_normal(vec3 light, vec3 up) { return 0.236 * light + 0.156 * up; }

// linear: of the normal along `brightness_by_normal`; the others as for `lit_by`.
vec3 lit_by_polynomial(vec3 albedo, float linear, float towards, float mirrored, float facing) {
    float brightness = BASE + linear + SQUARE * towards * towards;
    float sun = max(towards * 0.85 + 0.15, 0.0);
    float gloss = max(mirrored, 0.0);
    gloss *= gloss; gloss *= gloss; gloss *= gloss; gloss *= gloss;
    float grazing = 1.0 - facing;
    // From cool to warm as the sun comes in.
    vec3 tint = vec3(0.93, 0.98, 1.08) + vec3(0.09, 0.02, -0.14) * (sun * sun);
    return albedo * (tint * brightness) + (0.20 * gloss + 0.10 * grazing * grazing);
}
"""
