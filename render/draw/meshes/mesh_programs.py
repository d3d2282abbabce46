"""Contains the GPU programs that draw meshes. They draw faces, silhouettes and shadows. There are two qualities of
faces. MESH_PROGRAMS lists the programs.

Always: both sides of a face are drawn, and the visible side is lit. If a body has a separate scale along each axis, its
normals are transformed by the inverse transpose of its matrix. The edges of faces are hard. Silhouettes add a soft
border.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

import moderngl

from twixt.render.draw.glsl.light import (
    CUBE_FINISH,
    FINISH_GLSL,
    IMAGE_FINISH,
    LIGHT_GLSL,
    POLYNOMIAL_GLSL,
    SMOOTH_FINISH,
)
from twixt.render.draw.glsl.mesh_pose import FLAT_TONE_GLSL, POSE_INPUTS_GLSL, VERTEX_GLSL, shader_text
from twixt.render.draw.glsl.uniform_blocks import FRAME_GLSL
from twixt.render.draw.shapes.shadows import SHADOW_CASTER_GLSL, shadow_program_of

# This program draws the soft silhouettes of meshes. A soft silhouette is a border on the outside of the faces. It is
# one pixel wide and fades out.
#
# An edge is on the silhouette if its two faces are on the same side of the edge in the picture. The colour of the
# border does not depend on pixels that were drawn before the border.


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

// Tone at one end of the edge. In a flat mesh, it is the tone of the face that is turned to the eye.
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
    """Program that draws soft silhouettes. Use it with GL_LINES_ADJACENCY, and with one instance for each body."""
    head = f"#define FLAT {int(is_flat)}\n", FRAME_GLSL, LIGHT_GLSL
    return context.program(
        vertex_shader=shader_text(*head, VERTEX_GLSL, _EDGE_VERTEX),
        geometry_shader=shader_text(*head, FLAT_TONE_GLSL, _EDGE_GEOMETRY),
        fragment_shader=shader_text(_EDGE_FRAGMENT),
    )


_SMOOTH_VERTEX = """
out vec3 at, turned;
flat out vec3 albedo;
#if TRANSPARENT
flat out float alpha;
#endif
void main() {
    at = place_in_eye_space();
    turned = normal_in_eye_space();
#if TRANSPARENT
    alpha = pose_color.a;
#endif
    albedo = pose_color.rgb;
    gl_Position = projected(at);
}
"""

_SMOOTH_FRAGMENT = """
in vec3 at, turned;
flat in vec3 albedo;
#if TRANSPARENT
flat in float alpha;
#else
const float alpha = 1.0;
#endif
out vec4 color;
void main() {
    color = vec4(albedo, alpha);
    if (light_eye.w > 0.5) return;
    vec3 facing = normalize(gl_FrontFacing ? turned : -turned);
    color.rgb = lit(albedo, facing, clamp(-dot(facing, normalize(sight_to(at))), 0.0, 1.0), light_eye.xyz, up_eye.xyz);
}
"""

_FLAT_VERTEX = (
    FLAT_TONE_GLSL
    + """
out vec3 at;
flat out vec3 turned, tone;
#if TRANSPARENT
flat out float alpha;
#endif
void main() {
#if TRANSPARENT
    alpha = pose_color.a;
#endif
    at = place_in_eye_space();
    turned = normal_in_eye_space();
    tone = tone_of(pose_color.rgb, dot(turned, sight_to(at)) > 0.0 ? -turned : turned);
    gl_Position = projected(at);
}
"""
)

_FLAT_FRAGMENT = (
    FLAT_TONE_GLSL
    + """
in vec3 at;
flat in vec3 turned, tone;
#if TRANSPARENT
flat in float alpha;
#else
const float alpha = 1.0;
#endif
out vec4 color;
void main() { color = vec4(tone + grazing_light(turned, at), alpha); }
"""
)

# Faces with a material, flat or smooth. For each pixel, the fragment shader reads the image and computes the lighting.
_SURFACE_VERTEX = """
in vec2 uv;
out vec3 at, on_body;
out vec2 in_image;
SHADING out vec3 turned;
flat out vec4 albedo;
void main() {
    at = place_in_eye_space();
    on_body = place;
    in_image = uv;
    turned = normal_in_eye_space();
    albedo = pose_color;
    gl_Position = projected(at);
}
"""

_SURFACE_FRAGMENT = (
    FINISH_GLSL
    + """
uniform vec3 half_size;  // half extents of the mesh's bounds
in vec3 at, on_body;
in vec2 in_image;
SHADING in vec3 turned;
flat in vec4 albedo;
out vec4 color;
void main() {
#if FINISH == 2
    vec4 there = mapping.w > 0.5 ? texture(image, vec2(in_image.x, 1.0 - in_image.y))
                                 : texel(on_body / half_size, half_size);
#else
    vec4 there = texel(on_body, half_size);
#endif
    color = albedo * there;
    if (light_eye.w > 0.5) return;
    vec3 to_eye = normalize(-sight_to(at)), normal = normalize(turned);
    color.rgb = finished(color.rgb, dot(normal, to_eye) < 0.0 ? -normal : normal, to_eye, light_eye.xyz, up_eye.xyz);
}
"""
)

# The plain quality. The brightness is a polynomial, which is computed once for each vertex.
_PLAIN_VERTEX = """
SHADING out vec3 tone;
void main() {
    vec3 at = place_in_eye_space(), facing = normal_in_eye_space();
    if (dot(facing, sight_to(at)) > 0.0) facing = -facing;
    float towards = dot(facing, light_eye.xyz);
    float shade = BASE + dot(facing, brightness_by_normal(light_eye.xyz, up_eye.xyz)) + SQUARE * towards * towards;
    tone = pose_color.rgb * (light_eye.w > 0.5 ? 1.0 : shade);
    gl_Position = projected(at);
}
"""
_PLAIN_FRAGMENT = "SHADING in vec3 tone;\nout vec4 color;\nvoid main() { color = vec4(tone, 1.0); }\n"

_SHADOW_VERTEX = (
    POSE_INPUTS_GLSL
    + SHADOW_CASTER_GLSL
    + """
uniform vec3 middle, half_size;  // middle and half extents of the mesh's bounds
void main() {
    vec3 at = pose_place + pose_x * middle.x + pose_y * middle.y + pose_z * middle.z;
    vec3 scale = max(vec3(length(pose_x), length(pose_y), length(pose_z)), 1e-30);
    mat3 to_world = transpose(view), axes = to_world * mat3(pose_x / scale.x, pose_y / scale.y, pose_z / scale.z);
    cast_shadow(to_world * at, axes, half_size * scale, pose_color.w > 0.0);
}
"""
)


def face_program(
    context: moderngl.Context, is_flat: bool, is_fine: bool, is_transparent: bool = False
) -> moderngl.Program:
    """Program that draws a mesh's faces. Use it with GL_TRIANGLES, and with one instance for each body."""
    head = f"#define TRANSPARENT {int(is_transparent)}\n", FRAME_GLSL, LIGHT_GLSL, POLYNOMIAL_GLSL
    if not is_fine:
        vertex, fragment = _PLAIN_VERTEX, _PLAIN_FRAGMENT
    elif is_flat:
        vertex, fragment = _FLAT_VERTEX, _FLAT_FRAGMENT
    else:
        vertex, fragment = _SMOOTH_VERTEX, _SMOOTH_FRAGMENT
    shading = "flat" if is_flat else "smooth"
    return context.program(
        vertex_shader=shader_text(*head, VERTEX_GLSL, vertex).replace("SHADING", shading),
        fragment_shader=shader_text(*head, fragment).replace("SHADING", shading),
    )


def surface_program(context: moderngl.Context, is_flat: bool, finish: int) -> moderngl.Program:
    """Program that draws the faces of a mesh with a material, opaque or transparent.

    Use it with GL_TRIANGLES, and with one instance for each body.
    """
    shading = "flat" if is_flat else "smooth"
    head = f"#define FINISH {finish}\n", FRAME_GLSL, LIGHT_GLSL
    return context.program(
        vertex_shader=shader_text(*head, VERTEX_GLSL, _SURFACE_VERTEX).replace("SHADING", shading),
        fragment_shader=shader_text(*head, _SURFACE_FRAGMENT).replace("SHADING", shading),
    )


def mesh_shadow_program(context: moderngl.Context) -> moderngl.Program:
    """Program that draws the shadows of meshes on the ground. Use it with GL_POINTS, one point for each row of
    MESH_POSE."""
    return shadow_program_of(context, "", FRAME_GLSL + _SHADOW_VERTEX)


SHADOWS = "shadows"
MESH_PROGRAMS: dict[str, Callable[[moderngl.Context], moderngl.Program]] = {
    "smooth faces": partial(face_program, is_flat=False, is_fine=True),
    "flat faces": partial(face_program, is_flat=True, is_fine=True),
    "plain smooth faces": partial(face_program, is_flat=False, is_fine=False),
    "plain flat faces": partial(face_program, is_flat=True, is_fine=False),
    "transparent smooth faces": partial(face_program, is_flat=False, is_fine=True, is_transparent=True),
    "transparent flat faces": partial(face_program, is_flat=True, is_fine=True, is_transparent=True),
    "smooth silhouettes": partial(silhouette_program, is_flat=False),
    "flat silhouettes": partial(silhouette_program, is_flat=True),
    SHADOWS: mesh_shadow_program,
    **{
        f"{shading} surfaces {finish}": partial(surface_program, is_flat=shading == "flat", finish=finish)
        for shading, finish in product(("flat", "smooth"), (SMOOTH_FINISH, IMAGE_FINISH, CUBE_FINISH))
    },
}
