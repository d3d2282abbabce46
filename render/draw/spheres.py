"""Spheres, ray cast in the fragment shader: true outline, true depth, a two-tone skin that shows spin.

The one idea: most spheres are small points, which is the cheapest thing OpenGL can draw; those that a point
cannot show (larger than a point may be, or with their centre outside the picture, where points vanish) are
drawn as quads by a second program over the same bodies. Each sphere is drawn by exactly one of the two, and
both cast the same rays, so that nothing changes when a sphere passes from one to the other. A body with a scale
along each of its axes is drawn as the sphere of the same volume: there are no ellipsoids yet.

Edges are smoothed by coverage (alpha), so spheres are drawn after what lies behind them. What is the same in
all pixels of a sphere is worked out once, in the vertex shader, and handed on flat. So is what is the same in
all spheres: llvmpipe checks the bounds of a uniform block at each access in each pixel, a quarter of the cost.
"""

from __future__ import annotations

import moderngl

from twixt.render.draw.light_glsl import LIGHT_GLSL
from twixt.render.draw.pose import FRAME_GLSL, PoseVariant, pose_glsl
from twixt.render.draw.quaternion_glsl import ROTATE_GLSL

# Widest point used, px. Quads are as good above, and drivers may stop at 255 (llvmpipe) or less.
LARGEST_POINT_PX = 128

_VERTEX_COMMON = (
    ROTATE_GLSL
    + """
// How far the outline of the sphere reaches from its projected centre along one axis, in units of the tangent:
// tan(theta + half angle) - tan(theta). Negative or infinite where the sphere reaches the eye's plane.
float outline_reach(float sideways, float depth, float radius) {
    float distance2 = sideways * sideways + depth * depth;
    float room2 = distance2 - radius * radius;
    if (room2 <= 0.0) return -1.0;
    return radius * distance2 / (depth * (depth * sqrt(room2) - abs(sideways) * radius));
}

// xyz: centre in eye space, w: radius; w = 0: not drawn.
vec4 ball_of(Pose pose) {
    float radius = shape_size.x * mean_scale(pose);
    vec3 center = (view * vec4(pose.position, 1.0)).xyz;
    // Outside the view's four sides, or behind: to the side planes by their distance, not by the angle.
    vec2 slope = 1.0 / lens.xy;
    vec2 beyond = (abs(center.xy) + center.z * slope) * inversesqrt(1.0 + slope * slope);
    bool seen = pose.visible && radius > 0.0 && center.z < radius && all(lessThan(beyond, vec2(radius)));
    return vec4(center, seen ? radius : 0.0);
}

// The diameter in px of the point that covers the ball, or 0 where a quad must.
float point_diameter(vec4 ball) {
    float depth = -ball.z;
    if (depth <= 2.0 * ball.w) return 0.0;
    if (any(greaterThanEqual(abs(ball.xy) * lens.xy, vec2(0.999 * depth)))) return 0.0;
    float clip_z = lens.z * ball.z + lens.w;
    if (abs(clip_z) >= depth) return 0.0;
    float reach = max(outline_reach(ball.x, depth, ball.w), outline_reach(ball.y, depth, ball.w));
    float diameter = 2.0 * reach / picture.z + 2.0;
    return diameter <= LARGEST_POINT ? diameter : 0.0;
}

// Two axes of the body in eye space, for the pattern; and the colour.
void skin_of(Pose pose, vec4 ball, out vec4 first, out vec4 second, out vec4 albedo) {
    vec4 turn = turn_after(view_turn, pose.orientation);
    // A pixel in radii: borders in the pattern are that wide, and it fades where pixels cover much of it.
    float px = max(-ball.z, ball.w) * picture.z / ball.w;
    first = vec4(rotate(turn, vec3(1.0, 0.0, 0.0)) / px, 1.0 / ball.w);
    second = vec4(rotate(turn, vec3(0.0, 1.0, 0.0)) / px, 0.5 / (ball.w * ball.w * px));
    albedo = vec4(pose.color, light_eye.w > 0.5 ? -1.0 : 0.20 * clamp(1.2 - 3.0 * px, 0.0, 1.0));
}
"""
).replace("LARGEST_POINT", f"{LARGEST_POINT_PX}.0")

# A point that must not be seen is put on the far plane, not outside the picture: one clipped point slows
# software drawing of all of them.
_POINT_VERTEX = (
    _VERTEX_COMMON
    + """
flat out vec4 ball, first_axis, second_axis, albedo, light, lens_flat;
flat out vec2 middle;
void main() {
    Pose pose = drawn_pose();
    ball = ball_of(pose);
    float diameter = ball.w > 0.0 ? point_diameter(ball) : 0.0;
    if (diameter == 0.0) {
        gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
        gl_PointSize = 1.0;
        ball = first_axis = second_axis = albedo = light = lens_flat = vec4(0.0);
        middle = vec2(0.0);
        return;
    }
    skin_of(pose, ball, first_axis, second_axis, albedo);
    light = vec4(light_eye.xyz, up_eye.y);
    lens_flat = vec4(0.5 - 0.5 * lens.z, 0.5 * lens.w, picture.z, up_eye.z);
    middle = 0.5 * picture.xy + grid.zw;
    gl_PointSize = diameter;
    gl_Position = vec4(ball.xy * lens.xy, lens.z * ball.z + lens.w, -ball.z);
}
"""
)

_QUAD_VERTEX = (
    _VERTEX_COMMON
    + """
out vec4 vertex_ball, vertex_first, vertex_second, vertex_albedo;
void main() {
    Pose pose = drawn_pose();
    vertex_ball = ball_of(pose);
    vertex_first = vertex_second = vertex_albedo = vec4(0.0);
    if (vertex_ball.w > 0.0 && point_diameter(vertex_ball) > 0.0) vertex_ball.w = 0.0;
    if (vertex_ball.w > 0.0) skin_of(pose, vertex_ball, vertex_first, vertex_second, vertex_albedo);
    gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
"""
)

_QUAD_GEOMETRY = (
    "#version 330 core\nlayout(points) in;\nlayout(triangle_strip, max_vertices = 4) out;\n"
    + FRAME_GLSL
    + """
in vec4 vertex_ball[], vertex_first[], vertex_second[], vertex_albedo[];
flat out vec4 ball, first_axis, second_axis, albedo, light, lens_flat;
flat out vec2 middle;

// The outline's lowest and highest tangent along one axis: tan(theta -+ half angle).
vec2 outline(float sideways, float depth, float radius) {
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
        first_axis = vertex_first[0];
        second_axis = vertex_second[0];
        albedo = vertex_albedo[0];
        light = vec4(light_eye.xyz, up_eye.y);
        lens_flat = vec4(0.5 - 0.5 * lens.z, 0.5 * lens.w, picture.z, up_eye.z);
        middle = 0.5 * picture.xy + grid.zw;
        gl_Position = vec4(across[corner & 1], along[corner >> 1], 0.0, 1.0);
        EmitVertex();
    }
    EndPrimitive();
}
"""
)

_FRAGMENT = (
    "#version 330 core\n"
    + LIGHT_GLSL
    + """
flat in vec4 ball;         // centre in eye space, radius; radius 0: not drawn
flat in vec4 first_axis;   // the body's x over a pixel; 1 / radius
flat in vec4 second_axis;  // the body's y over a pixel; what turns the room to the outline into coverage
flat in vec4 albedo;       // colour; depth of the pattern, below 0: plain colour without light
flat in vec4 light;        // towards the light; y of up
flat in vec4 lens_flat;    // depth = x + y / distance; metres a pixel spans at 1 m; z of up
flat in vec2 middle;       // of the picture in the framebuffer, px
out vec4 color;
const float FAINT_DEPTH = 0.999999;

void main() {
    vec3 ray = vec3((gl_FragCoord.xy - middle) * lens_flat.z, -1.0);
    float per_square = 1.0 / dot(ray, ray);
    // From the centre to the nearest point of the ray: keeps its digits for small and far spheres.
    float along = dot(ray, ball.xyz) * per_square;
    vec3 aside = ray * along - ball.xyz;
    float room = ball.w * ball.w - dot(aside, aside);
    float covered = min(room * second_axis.w + 0.5, 1.0);
    if (covered <= 0.0 || ball.w == 0.0) discard;
    room = max(room, 0.0);
    float distance = along - sqrt(room * per_square);
    float depth = lens_flat.x + lens_flat.y / distance;
    if (NEAR_ENOUGH_TO_CLIP && (distance <= 0.0 || depth < 0.0)) discard;
    // The faint outer half of the edge stands before nothing but the background: with its true depth it would
    // keep out the ball behind, drawn later, and show what is behind that.
    gl_FragDepth = covered < 0.5 ? max(depth, FAINT_DEPTH) : depth;

    vec3 normal = (ray * distance - ball.xyz) * first_axis.w;
    vec2 side = clamp(vec2(dot(normal, first_axis.xyz), dot(normal, second_axis.xyz)), -1.0, 1.0);
    float tone = 1.0 - albedo.w * (1.0 - side.x * side.y);
    vec3 lit_color = lit(albedo.rgb * tone, normal, sqrt(room) * first_axis.w, light.xyz, vec2(light.w, lens_flat.w));
    color = vec4(albedo.w < 0.0 ? albedo.rgb : lit_color, covered);
}
"""
)


def point_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Draws nearly all spheres; takes GL_POINTS of bodies."""
    vertex = "#version 330 core\n" + FRAME_GLSL + pose_glsl(variant) + _POINT_VERTEX
    return context.program(vertex_shader=vertex, fragment_shader=_fragment(clip=False))


def quad_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Draws the spheres that a point cannot show; takes GL_POINTS of bodies."""
    vertex = "#version 330 core\n" + FRAME_GLSL + pose_glsl(variant) + _QUAD_VERTEX
    return context.program(vertex_shader=vertex, geometry_shader=_QUAD_GEOMETRY, fragment_shader=_fragment(clip=True))


def _fragment(clip: bool) -> str:
    """clip: spheres may reach through the near plane (a point's sphere never does)."""
    return _FRAGMENT.replace("NEAR_ENOUGH_TO_CLIP", "true" if clip else "false")
