"""Soft shadows of bodies on the ground: what makes a ball stand on it instead of floating before it.

The one idea: the ground is flat, so a body's shadow is a soft spot whose place and size follow from the
body's pose: one quad a body, for those near enough to the ground to have a shadow that is seen. No shadow
map, no second view. A box casts the shadow of a ball of about its size.
Dims only the ground: drawn after it and before the bodies.
"""

from __future__ import annotations

import moderngl

from twixt.render.draw.pose import FRAME_GLSL, POSE_GLSL

# Higher than this many radii above the ground, a shadow is too faint to be worth its pixels.
FADE_RADII = 5.0

_VERTEX = (
    "#version 330 core\n"
    + FRAME_GLSL
    + POSE_GLSL
    + """
out vec4 caster;   // xyz: centre, w: radius, metres, world; w = 0: no shadow
void main() {
    Pose pose = drawn_pose();
    float radius = (shape_size.x + shape_size.y + shape_size.z) / 3.0 * pose.scale;
    float height = pose.position.z - up_eye.w;
    bool casts = pose.visible && radius > 0.0 && shape_size.z > 0.0 && height > 0.0 && height < radius * FADE_RADII;
    caster = vec4(pose.position, casts ? radius : 0.0);
    gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
"""
).replace("FADE_RADII", str(FADE_RADII))

_GEOMETRY = (
    "#version 330 core\nlayout(points) in;\nlayout(triangle_strip, max_vertices = 4) out;\n"
    + FRAME_GLSL
    + """
in vec4 caster[];
flat out vec4 ball;     // x, y, height above the ground, radius
flat out vec2 spot;     // middle of the light's shadow, metres from the ball's foot
out vec2 from_foot;     // metres on the ground

void main() {
    vec4 c = caster[0];
    if (c.w <= 0.0) return;
    float height = c.z - up_eye.w;
    vec2 drift = -light_world.xy / max(light_world.z, 0.3) * height;
    vec2 low = min(vec2(0.0), drift) - 2.0 * c.w;
    vec2 high = max(vec2(0.0), drift) + 2.0 * c.w;
    for (int corner = 0; corner < 4; corner++) {
        from_foot = vec2((corner & 1) == 0 ? low.x : high.x, (corner >> 1) == 0 ? low.y : high.y);
        ball = vec4(c.xy, height, c.w);
        spot = drift;
        vec3 at = (view * vec4(c.xy + from_foot, up_eye.w, 1.0)).xyz;
        gl_Position = vec4(at.xy * lens.xy, lens.z * at.z + lens.w, -at.z);
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
flat in vec4 ball;
flat in vec2 spot;
in vec2 from_foot;
out vec4 color;
void main() {
    float radius2 = ball.w * ball.w;
    // The share of the sky that a ball hides from a point of the ground: (r/d)^2 times the cosine.
    float distance2 = dot(from_foot, from_foot) + ball.z * ball.z;
    float hidden = radius2 / distance2 * ball.z * inversesqrt(distance2);
    vec2 off = from_foot - spot;
    float shade = max(1.0 - dot(off, off) / (2.4 * radius2), 0.0);
    float near = clamp(1.0 - ball.z / (ball.w * FADE_RADII), 0.0, 1.0);
    // To nothing at the border of the quad.
    vec2 rim = max(max(-from_foot + min(spot, 0.0), from_foot - max(spot, 0.0)), 0.0) / (2.0 * ball.w);
    float soft = clamp(1.0 - dot(rim, rim), 0.0, 1.0);
    color = vec4(0.0, 0.0, 0.0, (0.55 * hidden * soft + 0.40 * shade * shade) * near);
}
"""
).replace("FADE_RADII", str(FADE_RADII))


def shadow_program(context: moderngl.Context) -> moderngl.Program:
    """Dims the ground under bodies; takes GL_POINTS of bodies."""
    return context.program(vertex_shader=_VERTEX, geometry_shader=_GEOMETRY, fragment_shader=_FRAGMENT)
