"""Planes: flat rectangles that are seen from both sides, with their edges drawn.

The one idea: the vertex shader computes the pose once for each body; a geometry shader makes its four corners. Each
pixel gets its distance from the border, so that edges are visible against a surface of the same tone. Its depth is
computed from the plane: interpolated from corners far behind the eye, near depths would lose digits.
"""

from __future__ import annotations

import moderngl

from twixt.render.draw.glsl.light import FINISH_GLSL, LIGHT_GLSL, OUTLINE_GLSL
from twixt.render.draw.glsl.pose import pose_glsl
from twixt.render.draw.glsl.pose_variants import PoseVariant
from twixt.render.draw.glsl.rotations import ROTATE_GLSL
from twixt.render.draw.glsl.uniform_blocks import FRAME_GLSL, switches_glsl

_VERTEX = """
out vec3 center;       // eye space
out vec4 turn;         // body to eye
out vec3 half_size;    // metres; x < 0: not drawn
out vec4 base_color;
void main() {
    Pose pose = drawn_pose();
    center = view * pose.position;
    turn = turn_after(view_turn, pose.orientation);
    half_size = pose.visible && pose.scale.x > 0.0 ? shape_size * pose.scale : vec3(-1.0);
    base_color = vec4(pose.color, pose.alpha);
    gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
"""

_GEOMETRY = (
    "layout(points) in;\nlayout(triangle_strip, max_vertices = 4) out;\n"
    + FRAME_GLSL
    + LIGHT_GLSL
    + ROTATE_GLSL
    + """
in vec3 center[];
in vec4 turn[];
in vec3 half_size[];
in vec4 base_color[];
out vec3 surface;         // colour, lit at the corners
out vec2 on_face;         // metres from the middle of the face
flat out vec2 half_face;
flat out vec4 deep;       // depth: by a pixel to the right, up, in the picture's middle; w: that one's x, px
flat out vec2 middle_y;  // y: its alpha
#if FINISH
flat out vec3 facing_eye;
out vec3 seen;
#endif

void main() {
    vec2 halves = half_size[0].xy;
    if (halves.x < 0.0) return;
    // The sphere around it, against the four sides of the view and the eye's plane.
    float reach = length(halves);
    vec2 slope = 1.0 / lens.xy, beyond = abs(center[0].xy) - w_at(-center[0].z) * slope;
    if (!PARALLEL) beyond *= inversesqrt(1.0 + slope * slope);
    if ((!PARALLEL && center[0].z > reach) || any(greaterThan(beyond, vec2(reach)))) return;
    vec3 x = rotate(turn[0], vec3(1.0, 0.0, 0.0)), y = rotate(turn[0], vec3(0.0, 1.0, 0.0)), normal = cross(x, y);
    float away = dot(normal, sight_to(center[0]));
    if (away > 0.0) normal = -normal;
    // A ray leaves one over its distance as much as it leans towards the plane, and depth is linear in that.
    float bend = 0.5 * lens.w / -abs(away);
    vec3 depth = vec3(normal.xy * picture.z, -normal.z) * bend;
    depth.z += 0.5 - 0.5 * lens.z;
    if (PARALLEL) {
        depth = vec3(-normal.xy * picture.z, dot(normal, center[0])) * (0.5 * lens.z / max(abs(away), 1e-6));
        depth.z += 0.5 + 0.5 * lens.w;
    }
    for (int corner = 0; corner < 4; corner++) {
        on_face = halves * vec2((corner & 1) * 2 - 1, (corner >> 1) * 2 - 1);
        half_face = halves;
        deep = vec4(depth, 0.5 * picture.x + grid.z);
        middle_y = vec2(0.5 * picture.y + grid.w, base_color[0].a);
        vec3 at = center[0] + x * on_face.x + y * on_face.y;
#if FINISH
        facing_eye = normal;
        seen = at;
        surface = base_color[0].rgb;
#else
        surface = light_eye.w > 0.5 ? base_color[0].rgb
                : lit(base_color[0].rgb, normal, max(dot(normal, normalize(-sight_to(at))), 0.0), light_eye.xyz, up_eye.xyz);
#endif
        gl_Position = clip_of(at);
        EmitVertex();
    }
    EndPrimitive();
}
"""
)

_FRAGMENT = (
    FRAME_GLSL
    + LIGHT_GLSL
    + FINISH_GLSL
    + OUTLINE_GLSL
    + """
in vec3 surface;
in vec2 on_face;
flat in vec2 half_face;
flat in vec4 deep;
flat in vec2 middle_y;
#if FINISH
flat in vec3 facing_eye;
in vec3 seen;
#endif
out vec4 color;
void main() {
    gl_FragDepth = dot(deep.xy, gl_FragCoord.xy - vec2(deep.w, middle_y.x)) + deep.z;
    color = vec4(surface, middle_y.y);
#if FINISH
    color *= texel(vec3(on_face / half_face, 0.0), vec3(half_face, 1.0));
    if (light_eye.w < 0.5)
        color.rgb = finished(color.rgb, facing_eye, normalize(-sight_to(seen)), light_eye.xyz, up_eye.xyz);
#endif
    if (light_eye.w > 0.5 && !OUTLINED) return;
    vec2 px = (half_face - abs(on_face)) / fwidth(on_face);
    if (OUTLINED) {
        vec2 across_px = 2.0 * half_face / fwidth(on_face);
        color.rgb = with_outline(color.rgb, min(px.x, px.y), min(across_px.x, across_px.y));
        return;
    }
    float border = 1.0 - smoothstep(0.6, 1.8, min(px.x, px.y));
    // A faint inner shade towards the border, and a bright rim at it: worn edges catch light.
    vec2 inside = 1.0 - abs(on_face) / half_face;
    color.rgb *= 0.90 + 0.10 * smoothstep(0.0, 0.25, min(inside.x, inside.y));
    // Where a face is only a few pixels wide, a rim would be all of it.
    vec2 width_px = 2.0 * half_face / fwidth(on_face);
    border *= clamp(min(width_px.x, width_px.y) / 16.0 - 0.25, 0.0, 1.0);
    color.rgb = mix(color.rgb, color.rgb * 0.55 + 0.42, 0.7 * border);
}
"""
)


def plane_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Program that draws planes; takes GL_POINTS of bodies."""
    head = "#version 330 core\n" + switches_glsl(variant)
    return context.program(
        vertex_shader=head + FRAME_GLSL + pose_glsl(variant) + _VERTEX,
        geometry_shader=head + _GEOMETRY,
        fragment_shader=head + _FRAGMENT,
    )
