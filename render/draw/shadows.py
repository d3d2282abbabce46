"""Soft shadows of bodies on the ground: what makes a ball stand on it instead of floating before it.

The one idea: the ground is flat, so a body's shadow is a soft spot whose place and size follow from the
body's pose: one quad a body, for those near enough to the ground to have a shadow that is seen. No shadow
map, no second view. A box casts the shadow of a ball of about its size.
Dims the ground where no body stands before it: drawn after the bodies, so that the many pixels that bodies
cover are not shaded twice.
"""

from __future__ import annotations

import moderngl

from twixt.render.draw.pose import FRAME_GLSL, PoseVariant, pose_glsl

# A body whose middle is higher than this many radii above the ground has no shadow: it would be too faint for its pixels.
FADE_RADII = 1.9
# How far the spot below a body and the shadow that the light casts reach, in radii: pixels go with the square.
FOOT_REACH, SPOT_REACH = 1.5, 1.25
# Whose middle is lower than this many radii has none: so flat a body hides it, or would be seen to have it on top.
# Up to three times as high it comes in.
FLAT_RADII = 0.05
# A lower light casts shadows as one from here would: else they reached to the horizon.
LOWEST_LIGHT = 0.4
# How much nearer to the eye than the ground shadows are taken for, so that they lie on a body's flat top at the same
# height instead of fighting with it: this share of the distance (a third of what a pixel of 800 spans, so that nothing
# is seen through), and four steps of a depth buffer of 24 bits.
LIFT, UNITS = 4e-4, 4 * 2.0**-23

CONSTANTS = {
    "FADE_RADII": FADE_RADII,
    "FLAT_RADII": FLAT_RADII,
    "REACH_FOOT": FOOT_REACH,
    "REACH_SPOT": SPOT_REACH,
    "LIFT": LIFT,
    "UNITS": UNITS,
    "LOWEST_LIGHT": LOWEST_LIGHT,
}

_VERTEX = """
out vec4 caster;   // xyz: centre, from the eye, w: radius, metres, world's axes; w = 0: no shadow
void main() {
    Pose pose = drawn_pose();
    vec3 size = shape_size * pose.scale;
    float radius = (size.x + size.y + size.z) / 3.0;
    float height = pose.position.z - up_eye.w;
    bool casts = pose.visible && radius > 0.0 && shape_size.z > 0.0 && height > radius * FLAT_RADII
                 && height < radius * FADE_RADII;
    caster = vec4(pose.position, casts ? radius : 0.0);
    gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
"""

_GEOMETRY = (
    "#version 330 core\nlayout(points) in;\nlayout(triangle_strip, max_vertices = 4) out;\n"
    + FRAME_GLSL
    + """
in vec4 caster[];
const float FOOT_REACH = REACH_FOOT, SPOT_REACH = REACH_SPOT;
flat out vec2 strength;  // of the spot below the body, of the shadow that the light casts
flat out vec2 drift;     // middle of the light's shadow, in radii from the foot
out vec2 from_foot;      // in radii, on the ground

void main() {
    vec4 c = caster[0];
    if (c.w <= 0.0) return;
    float height = c.z - up_eye.w;
    vec2 away = -light_world.xy / max(light_world.z, LOWEST_LIGHT) * height / c.w;
    float near = min((FADE_RADII - height / c.w) / (FADE_RADII - 1.0), 1.0);  // 1 where it touches
    float raised = min((height / c.w - FLAT_RADII) / (2.0 * FLAT_RADII), 1.0);
    // Seen from above, it lies on the floor that the user has put there, and from below behind that.
    float side = up_eye.w < 0.0 ? 1.0 : -1.0;
    vec2 dark = vec2(0.42 * near * near, 0.34 * near) * raised;
    // As far as they are seen: where they are fainter than what is seen of the ground, a pixel is for nothing.
    vec2 seen = vec2(FOOT_REACH, SPOT_REACH) * sqrt(max(1.0 - sqrt(light_world.w / dark), 0.0));
    if (max(seen.x, seen.y) <= 0.0) return;
    vec2 low = min(vec2(-seen.x), away - seen.y), high = max(vec2(seen.x), away + seen.y);
    for (int corner = 0; corner < 4; corner++) {
        from_foot = vec2((corner & 1) == 0 ? low.x : high.x, (corner >> 1) == 0 ? low.y : high.y);
        strength = dark;
        drift = away;
        vec3 at = view * vec3(c.xy + from_foot * c.w, up_eye.w);
        gl_Position = vec4(at.xy * lens.xy, lens.z * at.z + lens.w, -at.z);
        gl_Position.z += side * (lens.w * LIFT + UNITS * at.z);
        EmitVertex();
    }
    EndPrimitive();
}
"""
)

_FRAGMENT = (
    "#version 330 core\n"
    + FRAME_GLSL
    + """
flat in vec2 strength;
flat in vec2 drift;
in vec2 from_foot;
out vec4 color;
void main() {
    vec2 off = from_foot - drift;
    float foot = max(1.0 - dot(from_foot, from_foot) * (1.0 / (REACH_FOOT * REACH_FOOT)), 0.0);
    float spot = max(1.0 - dot(off, off) * (1.0 / (REACH_SPOT * REACH_SPOT)), 0.0);
    color = vec4(0.0, 0.0, 0.0, strength.x * foot * foot + strength.y * spot * spot);
}
"""
)


def shadow_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Dims the ground under bodies; takes GL_POINTS of bodies."""
    vertex, geometry, fragment = (_with_constants(text) for text in (_VERTEX, _GEOMETRY, _FRAGMENT))
    vertex = "#version 330 core\n" + FRAME_GLSL + pose_glsl(variant) + vertex
    return context.program(vertex_shader=vertex, geometry_shader=geometry, fragment_shader=fragment)


def _with_constants(shader: str) -> str:
    for name, value in CONSTANTS.items():
        shader = shader.replace(name, str(value))
    return shader
