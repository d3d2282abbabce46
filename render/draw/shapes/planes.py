"""Draws planes. A plane is a flat rectangle that is visible from both sides. Its edges are drawn.

The vertex shader computes the pose once for each body. A geometry shader then makes the four corners. Each pixel gets
its distance from the border. So the edges of a plane are visible even in front of a surface with the same tone. The
depth of a pixel is computed from the equation of the plane, not interpolated from the corners. If corners are far
behind the eye, interpolated depths would lose digits near the eye.

A floor often covers most of the picture. So in software rendering, the floor takes most of a frame's time. Values that
are the same on the whole face are computed once for each body and passed as flat inputs. The colours of a checker image
are computed, not read from a texture (draw/bodies/materials.py).
"""

from __future__ import annotations

import moderngl

from twixt.render.draw.glsl.light import FINISH_GLSL, HIGHLIGHT_GLSL, LIGHT_GLSL, OUTLINE_GLSL, SHINE_GLSL
from twixt.render.draw.glsl.pose import ROTATE_GLSL, pose_glsl
from twixt.render.draw.glsl.uniform_blocks import FRAME_GLSL, PoseVariant, switches_glsl

_VERTEX = """
out vec3 center;       // in eye space
out vec4 turn;         // rotation from body to eye
out vec3 half_size;    // half edges, metres; if x < 0, the plane is not drawn
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
    + FINISH_GLSL
    + SHINE_GLSL
    + ROTATE_GLSL
    + """
in vec3 center[];
in vec4 turn[];
in vec3 half_size[];
in vec4 base_color[];
out vec2 on_face;         // metres from the middle of the face
flat out vec4 half_face;  // x, y: half edges, metres; z, w: their reciprocals
flat out vec4 deep;       // x, y: change of depth for a pixel right and up; z: depth in the middle; w: x of the middle
flat out vec3 middle_y;   // x: y of the picture's middle, px; y: alpha; z: 0 if the plane has its plain colour, else 1
#if FINISH
flat out vec3 surface;    // colour under the image
// Cosine of the angle between the normal and the ray to the eye, times the ray's length. x, y: its change for a pixel
// right (x) and up (y); z: its value in the middle; w: strength of the rim.
flat out vec4 facing_by;
flat out vec4 shine_by;   // x, y, z: the same, with the mirrored light as the normal; w: strength of the highlight
flat out vec3 ray_shine;  // x: square of a pixel's width in metres at a distance of 1 m; y, z: arguments of `highlight`
flat out vec4 image_at;   // image coordinates are the place on the face in metres, times xy, plus zw
#if FINISH == 4
uniform vec3 squares[3];  // colours of the upper left square, of the other squares, of the lines
uniform vec2 lines;       // x: half width of the lines; y: width of a pixel of the image
// Half the difference between the colours of the two kinds of squares; colour of the lines, with w: half the width of
// the lines.
flat out vec4 checker_half, checker_mark;
#endif
#else
out vec3 surface;         // colour with light, computed at the corners
#endif

#if FINISH
void finish_face(vec3 normal, vec2 halves, vec3 albedo) {
    bool is_lit = light_eye.w < 0.5;
    float towards = dot(normal, light_eye.xyz);
    vec3 mirror = 2.0 * towards * normal - light_eye.xyz;
    surface = is_lit ? finished_by(albedo, towards, dot(normal, up_eye.xyz), 0.0, 1.0) : albedo;
    float step = PARALLEL ? 0.0 : picture.z;
    facing_by = vec4(-step * normal.xy, normal.z, is_lit ? finish.w : 0.0);
    shine_by = vec4(-step * mirror.xy, mirror.z, is_lit ? finish.x : 0.0);
    ray_shine = vec3(step * step, shine_of(finish.y));
    vec2 right_down = mapping.xy * vec2(1.0, -1.0);
    image_at = mapping.z > 0.5 ? vec4(right_down, -0.5, -0.5) : vec4(0.5 * right_down / halves, 0.5 * mapping.xy);
#if FINISH == 4
    checker_half = vec4(0.5 * surface * (squares[0] - squares[1]), lines.y);
    checker_mark = vec4(surface * squares[2], lines.x);
    surface *= 0.5 * (squares[0] + squares[1]);
#endif
}
#endif

void main() {
    vec2 halves = half_size[0].xy;
    if (halves.x < 0.0) return;
    // Tests whether the sphere around the plane is outside one of the four sides of the view, or behind the eye.
    float reach = length(halves);
    vec2 slope = 1.0 / lens.xy, beyond = abs(center[0].xy) - w_at(-center[0].z) * slope;
    if (!PARALLEL) beyond *= inversesqrt(1.0 + slope * slope);
    if ((!PARALLEL && center[0].z > reach) || any(greaterThan(beyond, vec2(reach)))) return;
    vec3 x = rotate(turn[0], vec3(1.0, 0.0, 0.0)), y = rotate(turn[0], vec3(0.0, 1.0, 0.0)), normal = cross(x, y);
    float away = dot(normal, sight_to(center[0]));
    if (away > 0.0) normal = -normal;
    // The reciprocal of the distance at which a ray meets the plane changes linearly from pixel to pixel. Depth is a
    // linear function of this reciprocal.
    float bend = 0.5 * lens.w / -abs(away);
    vec3 depth = vec3(normal.xy * picture.z, -normal.z) * bend;
    depth.z += 0.5 - 0.5 * lens.z;
    if (PARALLEL) {
        depth = vec3(-normal.xy * picture.z, dot(normal, center[0])) * (0.5 * lens.z / max(abs(away), 1e-6));
        depth.z += 0.5 + 0.5 * lens.w;
    }
    for (int corner = 0; corner < 4; corner++) {
        on_face = halves * vec2((corner & 1) * 2 - 1, (corner >> 1) * 2 - 1);
        half_face = vec4(halves, 1.0 / halves);
        deep = vec4(depth, 0.5 * picture.x + grid.z);
        middle_y = vec3(0.5 * picture.y + grid.w, base_color[0].a, light_eye.w > 0.5 ? 0.0 : 1.0);
        vec3 at = center[0] + x * on_face.x + y * on_face.y;
#if FINISH
        finish_face(normal, halves, base_color[0].rgb);
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

# The fragment shader reads no uniform block. For each access to a block, llvmpipe would check its bounds in each pixel.
_FRAGMENT = (
    OUTLINE_GLSL
    + HIGHLIGHT_GLSL
    + """
in vec2 on_face;
flat in vec4 half_face, deep;
flat in vec3 middle_y;
#if FINISH
flat in vec3 surface, ray_shine;
flat in vec4 facing_by, shine_by, image_at;
#if FINISH == 2
uniform sampler2D image;
#elif FINISH == 3
uniform samplerCube image;
uniform vec4 mapping;
#elif FINISH == 4
flat in vec4 checker_half, checker_mark;

// Mean of a pattern over a footprint (the part of the image that one pixel covers) of this width. The pattern is 1 in
// the first half of each unit and -1 in the second half.
vec2 squares_in(vec2 at, vec2 width) {
    vec2 from_edge = abs(fract(at - 0.25) - 0.5) - 0.25;
    return clamp(2.0 * from_edge / width, -1.0, 1.0) * clamp(2.0 - 2.0 * width, 0.0, 1.0);
}

// Lines are drawn around whole numbers. Returns the share of a footprint (the part of the image that one pixel covers)
// that these lines cover. width: width of the footprint. reach: half width of a line.
vec2 lines_in(vec2 at, vec2 width, float reach) {
    vec2 from_line = abs(fract(at + 0.5) - 0.5);
    vec2 one = clamp((reach + 0.5 * width - from_line) / width, vec2(0.0), min(2.0 * reach / width, 1.0));
    return mix(one, vec2(2.0 * reach), clamp(2.0 * width - 1.0, 0.0, 1.0));  // a wide footprint contains several lines
}
#endif

vec4 image_there(vec2 at, vec2 width) {
#if FINISH == 2
    return texture(image, at);
#elif FINISH == 3
    return texture(image, vec3(mapping.z > 0.5 ? on_face : on_face * half_face.zw, 0.0));
#else
    return vec4(1.0);
#endif
}

vec4 finished_face(vec2 off, vec2 grade) {
    vec2 at = on_face * image_at.xy + image_at.zw, width = max(grade * abs(image_at.xy), 1e-6);
#if FINISH == 4
    width = max(width, checker_half.w);  // near the eye, the edges between squares are as soft as in the image
    vec2 sides = squares_in(at, width), clear = 1.0 - lines_in(at, width, checker_mark.w);
    vec4 color = vec4(surface + checker_half.rgb * (sides.x * sides.y), 1.0);
    color.rgb = mix(checker_mark.rgb, color.rgb, clear.x * clear.y);
#else
    vec4 color = vec4(surface, 1.0) * image_there(at, width);
#endif
    float per_length = inversesqrt(1.0 + dot(off, off) * ray_shine.x);
    float facing = (dot(off, facing_by.xy) + facing_by.z) * per_length, grazing = 1.0 - clamp(facing, 0.0, 1.0);
    float mirrored = (dot(off, shine_by.xy) + shine_by.z) * per_length;
    color.rgb += shine_by.w * highlight(mirrored, ray_shine.yz) + facing_by.w * grazing * grazing;
    return color;
}
#else
in vec3 surface;
#endif
out vec4 color;
void main() {
    vec2 off = gl_FragCoord.xy - vec2(deep.w, middle_y.x), grade = fwidth(on_face), inside = half_face.xy - abs(on_face);
    gl_FragDepth = dot(deep.xy, off) + deep.z;
    color = vec4(surface, 1.0);
#if FINISH
    color = finished_face(off, grade);
#endif
    color.a *= middle_y.y;
    vec2 px = inside / grade, width_px = 2.0 * half_face.xy / grade;
    if (OUTLINED) {
        color.rgb = with_outline(color.rgb, min(px.x, px.y), min(width_px.x, width_px.y));
        return;
    }
    // Near its border, the face is a little darker. At the border it has a bright rim, because worn edges catch light.
    vec2 share = inside * half_face.zw;
    color.rgb *= 1.0 - 0.10 * middle_y.z * (1.0 - smoothstep(0.0, 0.25, min(share.x, share.y)));
    // The rim fades out on a face that is only a few pixels wide. Otherwise it would cover the whole face.
    float border = middle_y.z * clamp(min(width_px.x, width_px.y) / 16.0 - 0.25, 0.0, 1.0);
    border *= 1.0 - smoothstep(0.6, 1.8, min(px.x, px.y));
    color.rgb = mix(color.rgb, color.rgb * 0.55 + 0.42, 0.7 * border);
}
"""
)


def plane_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Program that draws planes. Use it with GL_POINTS, one point for each body."""
    head = "#version 330 core\n" + switches_glsl(variant)
    return context.program(
        vertex_shader=head + FRAME_GLSL + pose_glsl(variant) + _VERTEX,
        geometry_shader=head + _GEOMETRY,
        fragment_shader=head + _FRAGMENT,
    )
