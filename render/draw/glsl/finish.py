"""GLSL of materials: the colour of an image on a surface, and its light.

The one idea: a program without a material has none of this. Bodies with one are drawn by variants of the programs of
bodies of any size (`PoseVariant.finish`), one draw call for each material and kind, which sets the uniforms.

Places in an image: a plane image lies at right angles to the shape's z, as in MuJoCo's renderer: from the shape's upper
left corner, or, by the metre, with its middle on the shape's; a cube image is looked up in the direction from the shape's middle, in half extents.
"""

# Variants: no material; one without an image; with an image; with the six sides of a cube.
NO_FINISH, SMOOTH_FINISH, IMAGE_FINISH, CUBE_FINISH = range(4)

# Follows LIGHT_GLSL, whose tints it uses. Empty without a material.
FINISH_GLSL = """
#if FINISH
uniform vec4 finish;   // strength and exponent of the highlight, emission, strength of the rim
uniform vec4 mapping;  // repeats along x and y; z: 1 where these count a metre
#if FINISH == 2
uniform sampler2D image;
#elif FINISH == 3
uniform samplerCube image;
#endif

// at: on the surface, in half extents from the middle. half_size: these, metres.
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

// As `lit_by` of the light, with the material's highlight, rim and emission.
vec3 finished_by(vec3 albedo, float towards, float upward, float mirrored, float facing) {
    float sun = max(towards * 0.85 + 0.15, 0.0);
    sun *= sun;
    float brightness = sqrt(0.34 + 0.22 * upward + 0.92 * sun) + finish.z;
    float gloss = finish.x * pow(max(mirrored, 1e-6), finish.y), grazing = 1.0 - facing;
    return albedo * (mix(COOL, WARM, sun) * brightness) + (gloss + finish.w * grazing * grazing);
}

// normal, to_eye: unit; light, up: as for `lit`; all in one frame.
vec3 finished(vec3 albedo, vec3 normal, vec3 to_eye, vec3 light, vec3 up) {
    float towards = dot(normal, light), facing = clamp(dot(normal, to_eye), 0.0, 1.0);
    float mirrored = 2.0 * facing * towards - dot(light, to_eye);
    return finished_by(albedo, towards, dot(normal, up), mirrored, facing);
}
#endif
"""
