"""Program of meshes' soft silhouettes: a border one pixel wide around the faces, on the outside, that fades out.

An edge is on the silhouette if both of its faces are seen on the same side of it. The border needs nothing of what was
drawn before.
"""

from __future__ import annotations

import moderngl

from twixt.render.draw.glsl.light import LIGHT_GLSL
from twixt.render.draw.glsl.mesh_pose import FLAT_TONE_GLSL, VERTEX_GLSL, shader_text
from twixt.render.draw.glsl.uniform_blocks import FRAME_GLSL

_EDGE_VERTEX = """
out vec3 corner_at, corner_albedo, corner_tone;
void main() {
    corner_at = place_in_eye_space();
    corner_albedo = pose_color.rgb;
    corner_tone = corner_albedo;
#if !FLAT
    vec3 facing = normal_in_eye_space();
    if (dot(facing, sight_to(corner_at)) > 0.0) facing = -facing;
    if (light_eye.w < 0.5)
        corner_tone = lit(corner_albedo, facing, -dot(facing, normalize(sight_to(corner_at))), light_eye.xyz, up_eye.xyz);
#endif
    gl_Position = projected(corner_at);
}
"""

_EDGE_GEOMETRY = """
layout(lines_adjacency) in;
layout(triangle_strip, max_vertices = 4) out;
in vec3 corner_at[], corner_albedo[], corner_tone[];
noperspective out float covered;
out vec3 tone;

vec2 px_of(int corner) { return gl_in[corner].gl_Position.xy / gl_in[corner].gl_Position.w * (0.5 * picture.xy); }

// Of the face on this side of the edge that is turned to the eye.
vec3 tone_at(int corner) {
#if FLAT
    vec3 start = corner_at[1], along = corner_at[2] - start;
    vec3 first = cross(along, corner_at[0] - start), second = cross(corner_at[3] - start, along);
    vec3 facing = normalize(dot(first, sight_to(start)) < 0.0 ? first : second);
    if (dot(facing, sight_to(start)) > 0.0) facing = -facing;
    return tone_of(corner_albedo[0], facing) + grazing_light(facing, corner_at[corner]);
#else
    return corner_tone[corner];
#endif
}

void emit_side(int corner, vec2 outward) {
    for (int side = 0; side < 2; side++) {
        gl_Position = gl_in[corner].gl_Position;
        gl_Position.xy += outward * (float(side) * gl_Position.w);
        covered = 1.0 - float(side);
        tone = tone_at(corner);
        EmitVertex();
    }
}

void main() {
    for (int corner = 0; corner < 4; corner++) {
        vec4 place = gl_in[corner].gl_Position;
        if (place.w <= 0.0 || place.z <= -place.w || place.z >= place.w) return;
    }
    vec2 start = px_of(1), along = px_of(2) - start;
    vec2 across = normalize(vec2(-along.y, along.x) + 1e-12);
    float one = dot(px_of(0) - start, across), other = dot(px_of(3) - start, across);
    if (one * other < 0.0) return;
    vec2 outward = across * ((one + other > 0.0 ? -2.0 : 2.0) / picture.xy);
    emit_side(1, outward);
    emit_side(2, outward);
    EndPrimitive();
}
"""

_EDGE_FRAGMENT = """
noperspective in float covered;
in vec3 tone;
out vec4 color;
void main() { color = vec4(tone, covered); }
"""


def silhouette_program(context: moderngl.Context, is_flat: bool) -> moderngl.Program:
    """Program of soft silhouettes; takes GL_LINES_ADJACENCY, an instance a body."""
    head = f"#define FLAT {int(is_flat)}\n", FRAME_GLSL, LIGHT_GLSL
    return context.program(
        vertex_shader=shader_text(*head, VERTEX_GLSL, _EDGE_VERTEX),
        geometry_shader=shader_text(*head, FLAT_TONE_GLSL, _EDGE_GEOMETRY),
        fragment_shader=shader_text(_EDGE_FRAGMENT),
    )
