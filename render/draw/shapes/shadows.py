"""Soft shadows of bodies on the ground, which show how high a body is above it.

The one idea: the ground is flat, so a body's shadow is a soft spot whose place and size follow from the body's pose:
one quad for each body near enough to the ground for a visible shadow. No shadow map, no second view. A box casts the
shadow of a ball of about its size.
Shadows dim only ground that no body hides. They are drawn after the bodies, so that pixels that bodies cover are not
shaded twice.
"""

from __future__ import annotations

import moderngl

from twixt.ipc.scene import Scene
from twixt.render.draw.glsl.pose import pose_glsl
from twixt.render.draw.glsl.pose_variants import PoseVariant
from twixt.render.draw.glsl.uniform_blocks import FRAME_GLSL, switches_glsl

# A body whose centre is more than this many radii above the ground has no shadow: it would be too faint for its cost.
FADE_RADII = 1.9
# Radius of the spot below a body and of the shadow that the light casts, in radii of the body. The cost in pixels grows
# with the square.
FOOT_REACH, SPOT_REACH = 1.5, 1.25
# A body whose centre is lower than this many radii has no shadow: a body that flat hides it, or would have it on top.
# Up to three times this height the shadow fades in.
FLAT_RADII = 0.05
# Least z of the direction towards the light, for shadows: a lower light would cast them to the horizon.
LOWEST_LIGHT = 0.4
# Depth offset of shadows towards the eye, against z-fighting with a body's flat top at the ground's height: this share
# of the distance (a third of a pixel's span in a picture of 800x600, so that shadows do not show through bodies), or
# this many pixels' span if the camera is orthographic; plus four steps of a 24-bit depth buffer.
LIFT, LIFT_PX, UNITS = 4e-4, 0.33, 4 * 2.0**-23

# With more bodies there are no shadows: they would darken the whole ground, and cost a quad each.
MOST_SHADOWS = 20_000

CONSTANTS = {
    "FADE_RADII": FADE_RADII,
    "FLAT_RADII": FLAT_RADII,
    "REACH_FOOT": FOOT_REACH,
    "REACH_SPOT": SPOT_REACH,
    "LIFT_PX": LIFT_PX,
    "LIFT": LIFT,
    "UNITS": UNITS,
    "LOWEST_LIGHT": LOWEST_LIGHT,
}

# `cast_shadow` ends a vertex shader. position: of the body's middle, from the eye, world's axes. size: half extents.
SHADOW_CASTER_GLSL = """
out vec4 caster;   // xyz: centre, from the eye, w: radius, metres, world's axes; w = 0: no shadow
void cast_shadow(vec3 position, vec3 size, bool visible) {
    float radius = (size.x + size.y + size.z) / 3.0;
    float height = position.z - up_eye.w;
    bool casts = visible && radius > 0.0 && height > radius * FLAT_RADII && height < radius * FADE_RADII;
    caster = vec4(position, casts ? radius : 0.0);
    gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
"""

_VERTEX = """
void main() {
    Pose pose = drawn_pose();
    cast_shadow(pose.position, shape_size * pose.scale, pose.visible && shape_size.z > 0.0);
}
"""

_GEOMETRY = (
    "layout(points) in;\nlayout(triangle_strip, max_vertices = 4) out;\n"
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
    float side = (PARALLEL ? up_eye.z > 0.0 : up_eye.w < 0.0) ? 1.0 : -1.0;
    float lift = PARALLEL ? lens.z * picture.z * LIFT_PX : lens.w * LIFT;
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
        gl_Position = clip_of(at);
        gl_Position.z += side * (lift - UNITS * gl_Position.w);
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


def has_shadows(scene: Scene, count: int) -> bool:
    """True if `count` bodies of this scene have shadows."""
    return scene.ground is not None and not scene.is_plain and 0 < count <= MOST_SHADOWS


def shadow_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Program that dims the ground under bodies; takes GL_POINTS of bodies."""
    vertex = FRAME_GLSL + pose_glsl(variant) + SHADOW_CASTER_GLSL + _VERTEX
    return shadow_program_of(context, switches_glsl(variant), vertex)


def shadow_program_of(context: moderngl.Context, switches: str, vertex: str) -> moderngl.Program:
    """Program that dims the ground under what a vertex shader passes to `cast_shadow`; takes GL_POINTS.

    switches: `switches_glsl`, or nothing for programs that are compiled for every kind of camera.
    """
    head = "#version 330 core\n" + switches
    return context.program(
        vertex_shader=head + _with_constants(vertex),
        geometry_shader=head + _with_constants(_GEOMETRY),
        fragment_shader=_with_constants(_FRAGMENT),
    )


def _with_constants(shader: str) -> str:
    for name, value in CONSTANTS.items():
        shader = shader.replace(name, str(value))
    return shader
