"""Programs for many spheres: five levels of detail (LOD). Each is as cheap as the visible size of its spheres allows.

    LOD 4   any size    lit, skin of two tones, true depth (a single depth if no spheres intersect: shape_draws.py)
    LOD 3   to 24 px    light and skin as a polynomial, nearly true depth
    LOD 2   to 16 px    like LOD 3, with a single depth
    LOD 1   to 6.5 px   like LOD 2, without a skin
    LOD 0   to 2.5 px   squares with the area and the mean brightness of the disc

Spheres are drawn as points. The normal of a pixel is computed from the place of the pixel in the point. The light and
the sky are replaced by a single direction of light. The pattern of the skin is the product of two coordinates: those of
the pixel along two axes of the body. Edges are hard, and there is no highlight.

If a sphere is wider than ten pixels, most of its cost is in its pixels. Each operation in a pixel takes a third of a
nanosecond. So the vertex shader computes a polynomial once for each sphere. The polynomial is of second degree, and its
variables are the x and y of a pixel. It is the best fit to light and skin together. To evaluate it in a pixel takes
five operations; to compute normal, light and skin would take twenty. The borders in the skin become softer, but the
rotation of the skin stays visible.

"A single depth" means that the depth of a sphere is that of a disc through its centre. If bodies do not intersect, this
changes no pixel, because the disc is inside the ball. If bodies intersect, the seam between them is in the wrong place,
by at most a radius. A single depth saves time. If the shader does not write the depth, software rendering tests the
depth of a pixel before it computes the colour. So hidden pixels are not computed. This halves the cost of bodies that
are behind other bodies.

"Nearly true depth" means that the depth is that of a paraboloid. The seam between two spheres is then straight,
although it should be slightly curved.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import moderngl

from twixt.render.draw.glsl.light import POLYNOMIAL_GLSL
from twixt.render.draw.glsl.uniform_blocks import PoseVariant
from twixt.render.draw.spheres.sphere_common import FULL_CONTRAST, sphere_points, wide_glsl

# The pattern has two tones. TONES is the difference between each tone and the mean of both tones, as a share of this
# mean. The mean depends on the size of the sphere.
_TONES = f"#define TONES {FULL_CONTRAST / (1 - FULL_CONTRAST)}\n"

# A sphere of LOD 0 is drawn as a square. The brightness of the square is the polynomial's mean over the disc plus this
# offset.
SQUARE_OFFSET = 0.02
# One direction replaces the directions of the light and of the sky. These are the weights of light and sky in this
# direction. The mean error is 0.033 of the brightness.
ONE_LIGHT, ONE_UP = 0.28, 0.09
# ACROSS: brightness where the normal is at right angles to the single direction of light. SQUARES: factor on the square
# of the cosine of the angle between them.
ACROSS, SQUARES = 0.63, 1.07
# Coefficients of the best fits over the disc. HEIGHT: the z of the normal is approximately the first value plus the
# second value times (x^2 + y^2). ALONG: x z is approximately this value times x.
HEIGHT, ALONG = (1.067, -0.8), 0.533

_PLACE = """
#if WIDE
flat out vec3 circle;  // matrix from the ellipse in the point to the unit circle: xx, xy, yy
#endif

// share: side of the point, as a share of the circle's diameter.
void place(vec4 ball, bool drawn, float share) {
    float side = length_px(ball) * share;
    gl_Position = NOWHERE;
    vec2 middle = ball.xy;
#if WIDE
    vec2 drawn_out = stretch(ball.xyz, ball.w), along = ball.xy * inversesqrt(max(dot(ball.xy, ball.xy), 1e-30));
    float narrow = drawn_out.x - 1.0;
    circle = vec3(1.0 + narrow * along.y * along.y, narrow * along.x * along.y, 1.0 + narrow * along.x * along.x);
    middle *= drawn_out.y;
    if (share < 1.0) side *= inversesqrt(drawn_out.x);  // the point is a square
#endif
    gl_PointSize = drawn ? max(side, 1.0) : 1.0;
    if (drawn) gl_Position = vec4(middle * guard.xy, lens.z * ball.z + lens.w, w_at(-ball.z));
}

// The w of a point's position may have any value, and pixels read it at no cost. Here w is the radius, converted to a
// difference in depth towards the eye.
float radius_depth(vec4 ball) {
    return PARALLEL ? -0.5 * lens.z * ball.w : 0.5 * lens.w * ball.w / (ball.z + ball.w);
}
"""

_SQUARE_VERTEX = (
    POLYNOMIAL_GLSL
    + _PLACE
    + f"const float SQUARE_OFFSET = {SQUARE_OFFSET};\n"
    + """
flat out vec3 albedo;
void main() {
    Pose pose = drawn_pose();
    vec4 ball = ball_of(pose);
    bool drawn = is_drawn_as_point(ball);
    // The square has the same area as the disc. The normal's mean z over the disc is 2/3, and the means of its x^2 and
    // y^2 are 1/4.
    place(ball, drawn, 0.886);
    vec3 to_eye = to_eye_from(ball.xyz), light = facing(light_eye.xyz, to_eye);
    float linear = dot(brightness_by_normal(light_eye.xyz, up_eye.xyz), to_eye);
    float brightness = BASE + linear * (2.0 / 3.0) + SQUARE * (0.25 + 0.25 * light.z * light.z) + SQUARE_OFFSET;
    albedo = pose.color * (light_eye.w > 0.5 ? 1.0 : brightness);
}
"""
)
_SQUARE_FRAGMENT = """
flat in vec3 albedo;
out vec4 color;
void main() { color = vec4(albedo, 1.0); }
"""

# Place of a pixel in the unit circle. The y axis points down, as in gl_PointCoord.
_AT = """
#if WIDE
flat in vec3 circle;
vec2 on_circle() {
    vec2 at = gl_PointCoord * 2.0 - 1.0;
    return vec2(dot(circle.xy, at), dot(circle.yz, at));
}
#else
vec2 on_circle() { return gl_PointCoord * 2.0 - 1.0; }
#endif
"""

_ONE_LIGHT = f"""
const float ACROSS = {ACROSS}, SQUARES = {SQUARES};
vec3 light_by_one() {{ return {ONE_LIGHT} * light_eye.xyz + {ONE_UP} * up_eye.xyz; }}
"""

_SMOOTH_VERTEX = (
    _PLACE
    + _ONE_LIGHT
    + f"const vec2 HEIGHT = vec2{HEIGHT};\nconst float ALONG = {ALONG};\n"
    + """
flat out vec4 albedo;   // colour times the brightness in the middle; w: coefficient of x y
flat out vec4 shading;  // coefficients of x, y, x^2, y^2; if the sphere has an outline, x is half the radius in px
// Strength of the pattern. It is 0 for spheres up to 6 px wide, and full for spheres of 15 px and more.
float pattern(float width) { return PATTERN * TONES * clamp(0.4 * width - 2.4, 0.0, 3.5); }

void main() {
    Pose pose = drawn_pose();
    vec4 ball = ball_of(pose);
    float width = width_px(ball);
    bool drawn = is_drawn_as_point(ball);
    place(ball, drawn, 1.0);
#if OWN_DEPTH
    // Two values that the pixels read. z: depth of the sphere's nearest point. w: difference in depth from there to the
    // outline.
    if (drawn) {
        gl_Position /= -HEIGHT.y * radius_depth(ball);
        gl_Position.z = max(gl_Position.z + HEIGHT.x / HEIGHT.y * 2.0, -0.9999 * gl_Position.w);
    }
#endif
    vec3 to_eye = to_eye_from(ball.xyz), light = facing(light_by_one(), to_eye) * (1.0 / ACROSS);
    // Light and pattern are a polynomial of the normal. The light is 1 + t + SQUARES t^2; the pattern is added to it.
    // The polynomial has terms in squares and in xy, xz, yz.
    vec3 squares = SQUARES * light * light, mixed = 2.0 * SQUARES * light.xxy * light.yzz;
#if SKIN
    vec4 turn = turn_after(view_turn, pose.orientation);
    vec3 first = facing(rotate(turn, vec3(1.0, 0.0, 0.0)), to_eye) * pattern(width);
    vec3 second = facing(rotate(turn, vec3(0.0, 1.0, 0.0)), to_eye);
    squares += first * second;
    mixed += first.xxy * second.yzz + first.yzz * second.xxy;
#endif
    // The same polynomial, fitted by a polynomial of x and y alone.
    float middle = 1.0 + HEIGHT.x * light.z + squares.z;
    shading = vec4(light.xy + ALONG * mixed.yz, HEIGHT.y * light.z + squares.xy - squares.z) * (1.0 / middle);
    shading.y = -shading.y;  // in gl_PointCoord, y points down
    albedo = vec4(pose.color * (ACROSS * middle), -mixed.x / middle);
    if (light_eye.w > 0.5) {
        shading = vec4(OUTLINED ? 0.25 * width : 0.0, 0.0, 0.0, 0.0);
        albedo = vec4(pose.color, 0.0);
    }
}
"""
)
_SMOOTH_FRAGMENT = """
flat in vec4 albedo, shading;
out vec4 color;
void main() {
    vec2 at = on_circle();
    float off2 = dot(at, at);
#if OWN_DEPTH
    gl_FragDepth = off2 > 1.0 ? 1.0 : gl_FragCoord.z + gl_FragCoord.w * off2;
#else
    if (off2 > 1.0) discard;
#endif
    float brightness = 1.0 + at.x * (shading.x + shading.z * at.x + albedo.w * at.y)
                     + at.y * (shading.y + shading.w * at.y);
    color = vec4(albedo.rgb * brightness, 1.0);
    if (OUTLINED) color.rgb = with_outline(albedo.rgb, (1.0 - off2) * shading.x, 4.0 * shading.x);
}
"""

_SKIN_VERTEX = (
    _PLACE
    + _ONE_LIGHT
    + """
flat out vec4 light;   // direction of the light, divided by ACROSS; w: red
// Two axes of the body. The pattern at a pixel is the product of its places along these axes. w: green, blue.
flat out vec4 first_axis, second_axis;
void main() {
    Pose pose = drawn_pose();
    vec4 ball = ball_of(pose);
    float width = width_px(ball);
    bool drawn = is_drawn_as_point(ball), plain = light_eye.w > 0.5;
    place(ball, drawn, 1.0);
#if !APART
    if (drawn) gl_Position /= radius_depth(ball);
#endif
    vec3 to_eye = to_eye_from(ball.xyz);
    vec4 turn = turn_after(view_turn, pose.orientation);
    float contrast = pattern_depth(2.0 / width);
    float sharpness = sqrt(width * (contrast / FULL_CONTRAST));
    vec3 albedo = pose.color * (plain ? 1.0 : ACROSS * (1.0 - contrast));
    vec3 unlit = vec3(OUTLINED ? 0.25 * width : 0.0, 0.0, 0.0);  // half the radius in px
    light = vec4(plain ? unlit : facing(light_by_one(), to_eye) * (1.0 / ACROSS), albedo.r);
    first_axis = vec4(facing(rotate(turn, vec3(1.0, 0.0, 0.0)), to_eye) * sharpness, albedo.g);
    second_axis = vec4(facing(rotate(turn, vec3(0.0, 1.0, 0.0)), to_eye) * sharpness, albedo.b);
}
"""
)
_SKIN_FRAGMENT = (
    f"const float SQUARES = {SQUARES};"
    + """
flat in vec4 light, first_axis, second_axis;
out vec4 color;
void main() {
    vec2 at = on_circle();
    float off2 = dot(at, at), room = 1.0 - off2;
    float height = room * (2.2 + room * (0.9 * room - 2.1));  // close to the square root of `room`, but cheaper
#if APART
    if (off2 > 1.0) discard;
#else
    // Pixels outside the outline get the depth of the background, which never passes the depth test. This is cheaper
    // than a discard.
    gl_FragDepth = off2 > 1.0 ? 1.0 : gl_FragCoord.z - gl_FragCoord.w * height;
#endif
    vec3 normal = vec3(at.x, -at.y, height);
    float towards = dot(normal, light.xyz);
    float side = clamp(dot(normal, first_axis.xyz) * dot(normal, second_axis.xyz), -1.0, 1.0);
    float brightness = (1.0 + towards * (1.0 + SQUARES * towards)) * (1.0 + TONES * side);
    vec3 albedo = vec3(light.w, first_axis.w, second_axis.w);
    color = vec4(OUTLINED ? with_outline(albedo, room * light.x, 4.0 * light.x) : albedo * brightness, 1.0);
}
"""
)


def square_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Program of LOD 0. Use this program, and the other programs of this module, with GL_POINTS, one point for each
    body, in the guarded viewport."""
    return sphere_points(context, variant, _SQUARE_VERTEX, _SQUARE_FRAGMENT)


def apart_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Program of LOD 4 for spheres that do not intersect each other. All pixels of a sphere get the same depth."""
    return _skinned(context, variant, apart=True)


def _skinned(context: moderngl.Context, variant: PoseVariant, *, apart: bool) -> moderngl.Program:
    defined = f"#define APART {int(apart)}\n" + _TONES
    return sphere_points(context, variant, defined + _SKIN_VERTEX, wide_glsl(variant) + defined + _AT + _SKIN_FRAGMENT)


def _smooth(
    context: moderngl.Context, variant: PoseVariant, *, own_depth: bool = False, skin: bool = True
) -> moderngl.Program:
    defined = f"#define OWN_DEPTH {int(own_depth)}\n#define SKIN {int(skin)}\n"
    vertex, fragment = (
        _TONES + defined + _SMOOTH_VERTEX,
        wide_glsl(variant) + defined + _AT + _SMOOTH_FRAGMENT,
    )
    return sphere_points(context, variant, vertex, fragment)


# The programs of LOD 0 to LOD 4, in this order.
LOD_PROGRAMS: tuple[Callable[[moderngl.Context, PoseVariant], moderngl.Program], ...] = (
    square_program,
    partial(_smooth, skin=False),
    _smooth,
    partial(_smooth, own_depth=True),
    partial(_skinned, apart=False),
)
