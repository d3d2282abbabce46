"""Spheres where they are many: four programs of points, each as cheap as what is seen of its spheres allows.

    balls   any size    lit, two-tone skin, true depth
    coins   to 16 px    as balls, of one depth
    discs   to 9 px     lit, of one depth
    dots    to 2.5 px   squares of the disc's area and mean brightness

The one idea: a pixel knows where in the point it lies, and with that its normal; one direction stands for all
light, and the product of two axes of the body for its skin. Edges are hard, and there is no highlight.

Of one depth: a sphere stands as the disc through its middle. Where no body reaches into another this changes no
pixel, for the disc lies within the ball; where one does, their seam is off by at most a radius. In return hidden
pixels are not worked out at all, which halves the cost of what lies behind: software drawing tests a pixel's depth
before its colour only if the pixel does not choose its depth itself.
"""

from __future__ import annotations

import moderngl

from twixt.render.draw.light_glsl import POLYNOMIAL_GLSL
from twixt.render.draw.pose import PoseVariant
from twixt.render.draw.sphere_glsl import FULL_CONTRAST, sphere_points

_PLACE = """
void place(vec4 ball, bool drawn, float diameter) {
    gl_PointSize = drawn ? diameter : 1.0;
    gl_Position = NOWHERE;
    float depth = -ball.z;
    if (drawn) gl_Position = vec4(ball.xy * guard.xy, lens.z * ball.z + lens.w, depth);
}
"""

_DOT_VERTEX = (
    POLYNOMIAL_GLSL
    + _PLACE
    + """
flat out vec3 albedo;
void main() {
    Pose pose = drawn_pose();
    vec4 ball = ball_of(pose);
    bool drawn = is_drawn_as_point(ball);
    // A square of the disc's area. Over a disc the mean of z is 2/3, of x^2 and of y^2 1/4.
    place(ball, drawn, max(0.886 * width_px(ball), 1.0));
    vec3 to_eye = normalize(-ball.xyz), light = facing(light_eye.xyz, to_eye);
    float linear = dot(brightness_by_normal(light_eye.xyz, up_eye.yz), to_eye);
    float brightness = BASE + linear * (2.0 / 3.0) + SQUARE * (0.25 + 0.25 * light.z * light.z) + 0.02;
    albedo = pose.color * (light_eye.w > 0.5 ? 1.0 : brightness);
}
"""
)
_DOT_FRAGMENT = """#version 330 core
flat in vec3 albedo;
out vec4 color;
void main() { color = vec4(albedo, 1.0); }
"""

# One direction stands for the light and the sky, which is off by 0.033 of the brightness on the average.
_ONE_LIGHT = """
const float ACROSS = 0.63;  // brightness where the normal is across it
vec3 light_by_one() { return 0.28 * light_eye.xyz + 0.09 * vec3(0.0, up_eye.yz); }
"""

_DISC_VERTEX = (
    _PLACE
    + _ONE_LIGHT
    + """
flat out vec3 albedo, light;
void main() {
    Pose pose = drawn_pose();
    vec4 ball = ball_of(pose);
    place(ball, is_drawn_as_point(ball), width_px(ball));
    bool plain = light_eye.w > 0.5;
    albedo = pose.color * (plain ? 1.0 : ACROSS);
    light = plain ? vec3(0.0) : facing(light_by_one(), normalize(-ball.xyz)) * (1.0 / ACROSS);
}
"""
)
_DISC_FRAGMENT = """#version 330 core
flat in vec3 albedo, light;
out vec4 color;
void main() {
    vec2 at = gl_PointCoord * 2.0 - 1.0;
    float off2 = dot(at, at);
    if (off2 > 1.0) discard;
    float height = (1.0 - off2) * (1.0 + 0.6 * off2);  // near sqrt(1 - off2), at a fifth of its cost
    float towards = at.x * light.x - at.y * light.y + height * light.z;
    color = vec4(albedo * (1.0 + towards * (1.0 + 1.07 * towards)), 1.0);
}
"""

_SKIN_VERTEX = (
    _PLACE
    + _ONE_LIGHT
    + """
flat out vec4 light;   // over the brightness across it; w: red
flat out vec4 first_axis, second_axis;  // of the body; their product is the pattern; w: green, blue
void main() {
    Pose pose = drawn_pose();
    vec4 ball = ball_of(pose);
    float width = width_px(ball);
    bool drawn = is_drawn_as_point(ball), plain = light_eye.w > 0.5;
    place(ball, drawn, width);
#if OWN_DEPTH
    // A point's w is free to choose, and comes to the pixels at no cost: what its radius is in depth, towards the eye.
    if (drawn) gl_Position /= 0.5 * lens.w * ball.w / (ball.z + ball.w);
#endif
    vec3 to_eye = normalize(-ball.xyz);
    vec4 turn = turn_after(view_turn, pose.orientation);
    float contrast = pattern_depth(2.0 / width);
    float sharpness = sqrt(width * (contrast / FULL_CONTRAST));
    vec3 albedo = pose.color * (plain ? 1.0 : ACROSS * (1.0 - contrast));
    light = vec4(plain ? vec3(0.0) : facing(light_by_one(), to_eye) * (1.0 / ACROSS), albedo.r);
    first_axis = vec4(facing(rotate(turn, vec3(1.0, 0.0, 0.0)), to_eye) * sharpness, albedo.g);
    second_axis = vec4(facing(rotate(turn, vec3(0.0, 1.0, 0.0)), to_eye) * sharpness, albedo.b);
}
"""
)
_SKIN_FRAGMENT = """
flat in vec4 light, first_axis, second_axis;
out vec4 color;
void main() {
    vec2 at = gl_PointCoord * 2.0 - 1.0;
    float off2 = dot(at, at);
#if OWN_DEPTH
    float room = 1.0 - off2, height = room * (2.2 + room * (0.9 * room - 2.1));  // near its root, which costs more
    // Beyond the outline the depth of the background, which is drawn nowhere: cheaper than a discard.
    gl_FragDepth = off2 > 1.0 ? 1.0 : gl_FragCoord.z - gl_FragCoord.w * height;
#else
    if (off2 > 1.0) discard;
    float height = (1.0 - off2) * (1.0 + 0.6 * off2);
#endif
    vec3 normal = vec3(at.x, -at.y, height);
    float towards = dot(normal, light.xyz);
    float side = clamp(dot(normal, first_axis.xyz) * dot(normal, second_axis.xyz), -1.0, 1.0);
    float brightness = (1.0 + towards * (1.0 + 1.07 * towards)) * (1.0 + TONES * side);
    color = vec4(vec3(light.w, first_axis.w, second_axis.w) * brightness, 1.0);
}
"""


def dot_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """All of these take GL_POINTS of bodies, into the guarded viewport."""
    return sphere_points(context, variant, _DOT_VERTEX, _DOT_FRAGMENT)


def disc_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    return sphere_points(context, variant, _DISC_VERTEX, _DISC_FRAGMENT)


def coin_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    return _with_skin(context, variant, own_depth=False)


def ball_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    return _with_skin(context, variant, own_depth=True)


def _with_skin(context: moderngl.Context, variant: PoseVariant, own_depth: bool) -> moderngl.Program:
    # The pattern's tones are those of FULL_CONTRAST, around a mean that fades with the size.
    defined = f"#define OWN_DEPTH {int(own_depth)}\n#define TONES {FULL_CONTRAST / (1 - FULL_CONTRAST)}\n"
    return sphere_points(context, variant, defined + _SKIN_VERTEX, "#version 330 core\n" + defined + _SKIN_FRAGMENT)
