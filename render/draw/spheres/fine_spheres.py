"""Draws spheres in the finest quality. A sphere has its true outline, a smooth edge and its true depth. Its skin has a
pattern of two tones, which shows the spin of the sphere.

A small sphere is drawn as a point, the cheapest primitive of OpenGL. The outline of a sphere in the picture is an
ellipse. For each sphere, a matrix maps this ellipse to the unit circle, and the sphere to a hemisphere over this
circle. So no ray has to be cast for a pixel. If a sphere is too wide for a point, or if the eye is inside it, it is
drawn as a rectangle. Then the exact ray is cast for each pixel.

Edges are smooth: alpha is the share of a pixel that the sphere covers. So spheres are drawn after planes and ray cast
shapes. Values that are the same in all pixels of a sphere are computed once, in the vertex shader, and passed to the
pixels as flat outputs. Values that are the same for all spheres are also passed as flat outputs, not in a uniform
block. At each access to a uniform block, llvmpipe checks its bounds in each pixel, which would be a quarter of the
cost. If there are many spheres, the programs of point_spheres.py draw them.
"""

from __future__ import annotations

import moderngl

from twixt.render.draw.glsl.light import (
    FINISH_GLSL,
    HIGHLIGHT_GLSL,
    LIGHT_GLSL,
    OUTLINE_GLSL,
    POLYNOMIAL_GLSL,
    SHINE_GLSL,
)
from twixt.render.draw.glsl.uniform_blocks import FRAME_GLSL, PoseVariant, switches_glsl
from twixt.render.draw.spheres.sphere_common import LARGEST_POINT_PX, sphere_points, sphere_vertex_glsl

__all__ = ["LARGEST_POINT_PX", "point_program", "quad_program"]

_POINT_VERTEX = (
    POLYNOMIAL_GLSL
    + SHINE_GLSL
    + """
#if FINISH
uniform vec4 finish;
flat out vec3 shine_by;  // strength of the highlight, and two arguments of `highlight`
#endif
flat out vec4 outline;  // matrix to the unit circle: xx, xy, yy (1 / px); w: half the radius in px
flat out vec4 middle;   // xy: middle of the ellipse, px; z: radius / distance; w: depth of pattern, < 0: plain colour
flat out vec4 front;    // direction out of the picture's plane, in the ball's frame; w: red
flat out vec4 linear;   // factors of the normal on the brightness; w: green
flat out vec4 light;    // direction towards the light; w: blue
flat out vec4 first_axis, second_axis;  // axes of the body per pixel size; w: gain of red and of blue in the sun
const vec3 COOL = vec3(0.93, 0.99, 1.08), SUNNY = vec3(0.09, 0.0, -0.14);

void main() {
    Pose pose = drawn_pose();
    vec4 ball = ball_of(pose);
    gl_Position = NOWHERE;
    gl_PointSize = 1.0;
#if FINISH
    shine_by = vec3(finish.x, shine_of(finish.y));
#endif
    bool drawn = is_drawn_as_point(ball);
    float depth = drawn ? -ball.z : 1.0, radius = drawn ? ball.w : 0.1;
    vec3 center = drawn ? ball.xyz : vec3(0.0, 0.0, -1.0);

    // The sphere's outline in the plane at 1 m is an ellipse. along: half its length, in the direction from the middle
    // of the picture; the other value is half its width. For an orthographic camera the outline is a circle.
    vec2 tangent = vec2(0.0), at = center.xy;
    float along = radius, across = radius, sine = 0.0;
    if (!PARALLEL) {
        tangent = center.xy / depth;
        float room2 = depth * depth - radius * radius, distance2 = dot(center, center);
        along = radius * sqrt(distance2 - radius * radius) / room2;
        across = radius * inversesqrt(room2);
        at = tangent * (depth * depth / room2);
        sine = radius * inversesqrt(distance2);
    }
    float per_along = picture.z / along, per_across = picture.z / across;
    float stretch = (per_along - per_across) / max(dot(tangent, tangent), 1e-12);
    outline = vec4(per_across + stretch * tangent.x * tangent.x, stretch * tangent.x * tangent.y,
                   per_across + stretch * tangent.y * tangent.y, 0.5 / per_across);
    vec3 to_eye = to_eye_from(center);
    middle = vec4(at / picture.z + 0.5 * picture.xy + grid.zw, sine,
                  light_eye.w > 0.5 ? -1.0 : pattern_depth(per_across));
    vec3 tint = light_eye.w > 0.5 ? vec3(1.0) : COOL;
    front = vec4(facing(vec3(0.0, 0.0, 1.0), to_eye), pose.color.r * tint.r);
    linear = vec4(facing(brightness_by_normal(light_eye.xyz, up_eye.xyz), to_eye), pose.color.g * tint.g);
    light = vec4(facing(light_eye.xyz, to_eye), pose.color.b * tint.b);
    vec4 turn = turn_after(view_turn, pose.orientation);
    first_axis = vec4(facing(rotate(turn, vec3(1.0, 0.0, 0.0)), to_eye) / per_across, pose.color.r * SUNNY.r);
    second_axis = vec4(facing(rotate(turn, vec3(0.0, 1.0, 0.0)), to_eye) / per_across, pose.color.b * SUNNY.b);
#if APART
    if (drawn) {
        gl_PointSize = 2.0 * along / picture.z;
        gl_Position = vec4(at * guard.xy, (lens.z * center.z + lens.w) / w_at(depth), 1.0);
    }
#else
    if (drawn) {
        gl_PointSize = 2.0 * along / picture.z + 1.0;  // half a pixel is added on each side for the soft edge
        // The w of a point's position may have any value, and pixels read it at no cost. Here w is the radius,
        // converted to a difference in depth.
        float radius_depth = -depth_by_metre(depth) * radius;
        gl_Position = vec4(at * guard.xy, (lens.z * center.z + lens.w) / w_at(depth), 1.0) / radius_depth;
    }
#endif
}
"""
)

_POINT_FRAGMENT = (
    POLYNOMIAL_GLSL
    + HIGHLIGHT_GLSL
    + """
#if FINISH
flat in vec3 shine_by;
#endif
flat in vec4 outline, middle, front, linear, light, first_axis, second_axis;
out vec4 color;

void main() {
    vec2 off = gl_FragCoord.xy - middle.xy;
    vec2 side = vec2(outline.x * off.x + outline.y * off.y, outline.y * off.x + outline.z * off.y);
    float off2 = dot(side, side);
    float covered = (1.0 - off2) * outline.w + 0.5;  // a value above 1 becomes 1 when the colour is written
    float inside_px = covered - 0.5;
    float height = sqrt(max(1.0 - off2, 0.0));
    // If the eye is near the ball, the ball's outline is nearer to the eye than the ball's middle.
    vec3 normal = vec3(side * (1.0 - middle.z * height), height + middle.z * off2);
#if APART
    // Bodies behind this ball are drawn later, so the soft edge cannot be blended with them. Therefore only the inner
    // half of the edge is drawn, and it is blended less with the pixels that were drawn before.
    if (covered < 0.5) discard;
    covered = 0.5 + 0.5 * covered;
#else
    float nearer = dot(normal, front.xyz);
    float depth = gl_FragCoord.z - gl_FragCoord.w * nearer * (1.0 + middle.z * nearer);
    // The faint outer half of the edge gets the depth of the background. If it had the depth of the surface, it would
    // hide a ball that is behind the edge and drawn later. The background would then show through the edge. Pixels that
    // the ball does not cover also get the depth of the background and never pass the depth test. This costs less than
    // a discard.
    gl_FragDepth = covered < FAINT_BELOW ? max(depth, 1.0 - 2e-6 * covered) : depth;
#endif

    vec2 turned = clamp(vec2(dot(normal, first_axis.xyz), dot(normal, second_axis.xyz)), -1.0, 1.0);
    // The same polynomial as in `lit_by_polynomial`, without the terms that are the same in all pixels.
    float towards = dot(normal, light.xyz), sun = max(towards * 0.85 + 0.15, 0.0), grazing = 1.0 - height;
#if FINISH
    float gloss = shine_by.x * (highlight(2.0 * height * towards - light.z, shine_by.yz) + 0.5 * grazing * grazing);
#else
    float gloss = max(2.0 * height * towards - light.z, 0.0);
    gloss *= gloss; gloss *= gloss; gloss *= gloss; gloss *= gloss;
    gloss = 0.20 * gloss + 0.10 * grazing * grazing;
#endif
    float tone = (1.0 - middle.w) + middle.w * turned.x * turned.y;
    float brightness = (BASE + dot(normal, linear.xyz) + SQUARE * towards * towards) * tone;
    float sunny = sun * sun * brightness;
    vec3 albedo = vec3(front.w, linear.w, light.w), lit_color = albedo * brightness + gloss;
    lit_color.rb += vec2(first_axis.w, second_axis.w) * sunny;
    if (OUTLINED) albedo = with_outline(albedo, inside_px, 4.0 * outline.w);
#if APART
    covered = min(covered, 1.0);
    color = vec4(min(middle.w < 0.0 ? albedo : lit_color, 1.0) * covered, covered);
#else
    color = vec4(middle.w < 0.0 ? albedo : lit_color, covered);
#endif
}
"""
)

_QUAD_VERTEX = """
out vec4 vertex_ball, vertex_first, vertex_second, vertex_albedo;
#if TRANSPARENT
out float vertex_alpha;
#endif
void main() {
    Pose pose = drawn_pose();
#if TRANSPARENT
    vertex_alpha = pose.alpha;
#endif
    vec4 ball = ball_of(pose);
    vertex_ball = vec4(0.0);
    vertex_first = vertex_second = vertex_albedo = vec4(0.0);
    if (ball.w > 0.0 && !fits_point(ball)) {
        vertex_ball = ball;
        vec4 turn = turn_after(view_turn, pose.orientation);
        // Size of a pixel, as a multiple of the radius. The borders in the pattern are as wide as a pixel.
        float px = (PARALLEL ? 1.0 : max(-ball.z, ball.w)) * picture.z / ball.w;
        vertex_first = vec4(rotate(turn, vec3(1.0, 0.0, 0.0)) / px, 1.0 / ball.w);
        vertex_second = vec4(rotate(turn, vec3(0.0, 1.0, 0.0)) / px, 0.5 / (ball.w * ball.w * px));
        vertex_albedo = vec4(pose.color, light_eye.w > 0.5 ? -1.0 : pattern_depth(px));
    }
    gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
"""

_QUAD_GEOMETRY = (
    FRAME_GLSL
    + """
in vec4 vertex_ball[], vertex_first[], vertex_second[], vertex_albedo[];
flat out vec4 ball, first_axis, second_axis, albedo, light, lens_flat;
flat out vec3 middle;
#if TRANSPARENT
in float vertex_alpha[];
flat out float alpha;
#endif

// Tangents of the angles to the lower and upper end of the outline along one axis: tan(theta - half) and tan(theta +
// half).
vec2 outline(float sideways, float depth, float radius) {
    if (PARALLEL) return vec2(sideways - radius, sideways + radius);
    float distance2 = sideways * sideways + depth * depth;
    float room2 = distance2 - radius * radius;
    if (room2 <= 0.0 || depth * depth <= radius * radius) return vec2(-1e6, 1e6);
    float tangent = sqrt(room2);
    return vec2((sideways * tangent - depth * radius) / (depth * tangent + sideways * radius),
                (sideways * tangent + depth * radius) / (depth * tangent - sideways * radius));
}

void main() {
    vec4 the_ball = vertex_ball[0];
    if (the_ball.w <= 0.0) return;
    vec2 margin = 2.0 / picture.xy;
    vec2 across = clamp(outline(the_ball.x, -the_ball.z, the_ball.w) * lens.x + vec2(-1.0, 1.0) * margin.x, -1.0, 1.0);
    vec2 along = clamp(outline(the_ball.y, -the_ball.z, the_ball.w) * lens.y + vec2(-1.0, 1.0) * margin.y, -1.0, 1.0);
    for (int corner = 0; corner < 4; corner++) {
        ball = the_ball;
#if TRANSPARENT
        alpha = vertex_alpha[0];
#endif
        first_axis = vertex_first[0];
        second_axis = vertex_second[0];
        albedo = vertex_albedo[0];
        light = vec4(light_eye.xyz, up_eye.y);
        lens_flat = vec4(0.5 - 0.5 * lens.z, 0.5 * lens.w, picture.z, up_eye.z);
        if (PARALLEL) lens_flat.xy = vec2(0.5 + 0.5 * lens.w, -0.5 * lens.z);
        middle = vec3(0.5 * picture.xy + grid.zw, up_eye.x);
        gl_Position = vec4(across[corner & 1], along[corner >> 1], 0.0, 1.0);
        EmitVertex();
    }
    EndPrimitive();
}
"""
)

_QUAD_FRAGMENT = (
    LIGHT_GLSL
    + FINISH_GLSL
    + OUTLINE_GLSL
    + """
const float WIDE_PX = 100.0;  // all spheres that this program draws are at least about this wide
flat in vec4 ball;         // xyz: centre in eye space; w: radius
flat in vec4 first_axis;   // the body's x axis per pixel size; w: 1 / radius
flat in vec4 second_axis;  // the body's y axis per pixel size; w: converts the room to the outline into coverage
flat in vec4 albedo;       // colour; w: strength of the pattern; if w < 0, plain colour without light
flat in vec4 light;        // direction towards the light; w: y of the direction up
flat in vec4 lens_flat;    // depth: x + y / distance (orthographic: x + y distance); z: pixel at 1 m, metres; w: up.z
flat in vec3 middle;       // xy: middle of the picture in the framebuffer, px; z: x of up
#if TRANSPARENT
flat in float alpha;
#endif
out vec4 color;
const float FAINT_DEPTH = 0.999999;

void main() {
    vec3 ray = vec3((gl_FragCoord.xy - middle.xy) * lens_flat.z, -1.0), from = ball.xyz;
    if (PARALLEL) {
        from.xy -= ray.xy;
        ray.xy = vec2(0.0);
    }
    float per_square = 1.0 / dot(ray, ray);
    // Distance along the ray to the point that is nearest to the sphere's centre. Computed in this way, it keeps its
    // digits even for small spheres and for far spheres.
    float along = dot(ray, from) * per_square;
    vec3 aside = ray * along - from;
    float room = ball.w * ball.w - dot(aside, aside);
    float inside_px = room * second_axis.w, covered = min(inside_px + 0.5, 1.0);
    if (covered <= 0.0) discard;
    room = max(room, 0.0);
    float distance = along - sqrt(room * per_square);
    float depth = PARALLEL ? lens_flat.x + lens_flat.y * distance : lens_flat.x + lens_flat.y / distance;
    if (!PARALLEL && distance <= 0.0 || depth < 0.0) discard;
#if TRANSPARENT
    gl_FragDepth = depth;
    covered *= alpha;
#else
    gl_FragDepth = covered < FAINT_BELOW ? max(depth, FAINT_DEPTH) : depth;
#endif

    vec3 normal = (ray * distance - from) * first_axis.w;
    vec2 side = clamp(vec2(dot(normal, first_axis.xyz), dot(normal, second_axis.xyz)), -1.0, 1.0);
    float tone = 1.0 - albedo.w * (1.0 - side.x * side.y);
    vec3 up = vec3(middle.z, light.w, lens_flat.w);
    float facing = sqrt(room) * first_axis.w;
#if FINISH
    float towards = dot(normal, light.xyz), mirrored = 2.0 * normal.z * towards - light.z;
    vec3 lit_color = finished_by(albedo.rgb, towards, dot(normal, up), mirrored, facing);
#else
    vec3 lit_color = lit(albedo.rgb * tone, normal, facing, light.xyz, up);
#endif
    vec3 plain = OUTLINED ? with_outline(albedo.rgb, inside_px, WIDE_PX) : albedo.rgb;
    color = vec4(albedo.w < 0.0 ? plain : lit_color, covered);
}
"""
)


def point_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Program that draws the spheres that are small enough for a point. Use it with GL_POINTS, one point for each body,
    in the guarded viewport."""
    return _points(context, variant, apart=False)


def apart_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Like `point_program`, but for spheres that do not intersect each other. All pixels of a sphere have the same
    depth, see draw/bodies/shape_draws.py."""
    return _points(context, variant, apart=True)


def _points(context: moderngl.Context, variant: PoseVariant, *, apart: bool) -> moderngl.Program:
    defined = f"#define APART {int(apart)}\n"
    return sphere_points(context, variant, defined + _POINT_VERTEX, defined + _POINT_FRAGMENT)


def quad_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Program that draws the spheres that are too large for a point. Use it with GL_POINTS, one point for each body."""
    vertex, head = sphere_vertex_glsl(variant, _QUAD_VERTEX), "#version 330 core\n" + switches_glsl(variant)
    strip = "layout(points) in;\nlayout(triangle_strip, max_vertices = 4) out;\n"
    return context.program(
        vertex_shader=vertex, geometry_shader=head + strip + _QUAD_GEOMETRY, fragment_shader=head + _QUAD_FRAGMENT
    )
