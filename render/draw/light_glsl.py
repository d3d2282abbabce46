"""How surfaces are lit: one GLSL text for all shapes, so that a ball and a box side by side look of one world.

A hemisphere (bright sky, dim floor), one directional light, a soft highlight, in linear light; colours come
in and go out display-encoded with a square for a gamma of 2.2, which costs no `pow`.
"""

LIGHT_GLSL = """
const vec3 SKY = vec3(0.50, 0.56, 0.66);
const vec3 FLOOR = vec3(0.13, 0.12, 0.12);
const vec3 SUN = vec3(0.98, 0.92, 0.82);

// albedo: display-encoded. normal: unit, eye space. to_eye: unit. Answers display-encoded.
vec3 lit(vec3 albedo, vec3 normal, vec3 to_eye) {
    if (light_eye.w > 0.5) return albedo;
    albedo *= albedo;
    float facing = dot(normal, light_eye.xyz);
    // Wrapped a little past the terminator: a soft, larger light.
    float sun = max(facing * 0.85 + 0.15, 0.0);
    vec3 light = mix(FLOOR, SKY, 0.5 + 0.5 * dot(normal, up_eye.xyz)) + SUN * sun * sun;
    float gloss = max(dot(normal, normalize(light_eye.xyz + to_eye)), 0.0);
    gloss *= gloss; gloss *= gloss; gloss *= gloss; gloss *= gloss; gloss *= gloss;
    float grazing = 1.0 - max(dot(normal, to_eye), 0.0);
    vec3 shine = SUN * (0.22 * gloss) + SKY * (0.16 * grazing * grazing * grazing);
    return sqrt(albedo * light + shine);
}
"""
