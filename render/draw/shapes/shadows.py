"""Soft shadows of bodies on the ground or on a level floor. They show how high a body is above the ground.

A floor is flat, so a body's shadow is a soft spot. The place and size of the spot follow from the body's pose. Each
body that is near enough to the ground for a visible shadow has one quad. There is no shadow map and no second view.
The spot is an ellipse as long as the body, like the shadow of a ball that is moved along rods. The sides of the quad
are parallel to the sides of the floor, and the quad is clipped to the floor. So shadows end at the edge of the floor.
Shadows are drawn after the bodies and dim only ground that no body hides. So pixels that bodies cover are not shaded
twice.
"""

from __future__ import annotations

import moderngl

from twixt.ipc.scene import Scene
from twixt.render.draw.frame.frame_block import NEAR_FADE_RADII, Floor
from twixt.render.draw.glsl.pose import pose_glsl
from twixt.render.draw.glsl.uniform_blocks import FRAME_GLSL, PoseVariant, switches_glsl

# A ball casts no shadow if its centre is more than this many radii above the ground. Its shadow would be too faint to
# be worth the cost. On a floor, `Floor.fade_radii` is the limit for the shadow that the light casts.
FADE_RADII = 1 + NEAR_FADE_RADII
# FOOT_REACH: radius of the spot below a body. SPOT_REACH: radius of the shadow that the light casts. Both are in radii
# of the ellipse. The number of pixels grows with the square of the radius.
FOOT_REACH, SPOT_REACH = 1.5, 1.25
# If the centre of a body is lower than this many radii, the body casts no shadow. A body that is so flat would hide
# its shadow, or the shadow would be drawn over the body. Up to three times this height, the shadow fades in.
FLAT_RADII = 0.05
# Least z that is used for the direction towards the light. A lower light would cast shadows to the horizon.
LOWEST_LIGHT = 0.4
# Depth offset of shadows towards the eye. The offset avoids z-fighting with a body whose flat top is at the ground's
# height. LIFT is a share of the distance: a third of the span of a pixel in a picture of 800x600. So shadows do not
# show through bodies. LIFT_PX replaces LIFT for an orthographic camera, in spans of a pixel. UNITS, which is four
# steps of a 24-bit depth buffer, is added to LIFT.
LIFT, LIFT_PX, UNITS = 4e-4, 0.33, 4 * 2.0**-23

# With more bodies than this there are no shadows. So many shadows would darken the whole ground, and each would cost a
# quad.
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

# Call `cast_shadow` at the end of a vertex shader. position: position of the body's middle, relative to the eye, along
# the world's axes. axes: the body's axes, unit vectors, world. size: half extents along these axes, metres. The caster
# is approximated by the sum of a ball and three rods along the axes. The ball's radius is the least half extent.
SHADOW_CASTER_GLSL = """
out vec3 caster;      // the body's middle, relative to the eye, metres, along the world's axes
out vec2 dark;        // strength of the spot below the body, and of the light's shadow; 0, 0: none
out vec4 middles;     // middles of these two, metres from the point below the body, along the floor's edges
out vec3 foot_square; // xx, xy, yy of the ellipse of the spot; spot_square: of the light's shadow; square metres
out vec3 spot_square;
vec2 on_floor(vec2 way) { return vec2(dot(way, floor_at.zw), dot(way, vec2(-floor_at.w, floor_at.z))); }
vec3 square_of(vec2 rod) { return vec3(rod.x * rod.x, rod.x * rod.y, rod.y * rod.y); }

void cast_shadow(vec3 position, mat3 axes, vec3 size, bool visible) {
    float radius = (size.x + size.y + size.z) / 3.0, height = position.z - up_eye.w;
    float thin = max(min(size.x, min(size.y, size.z)), 1e-3 * radius);
    vec3 rods = sqrt(max(size * size - thin * thin, 0.0)), steep = rods * vec3(axes[0].z, axes[1].z, axes[2].z);
    vec3 below = abs(steep);
    float gap = (height - thin - below.x - below.y - below.z) / radius;
    float raised = clamp((height / radius - FLAT_RADII) / (2.0 * FLAT_RADII), 0.0, 1.0);
    vec2 near = clamp(1.0 - max(gap, 0.0) / vec2(FADE_RADII - 1.0, floor_half.z), 0.0, 1.0);
    caster = position;
    dark = visible && radius > 0.0 ? vec2(0.42 * near.x * near.x, 0.34 * near.y) * raised : vec2(0.0);
    vec2 slope = -light_world.xy / max(light_world.z, LOWEST_LIGHT);
    foot_square = spot_square = thin * thin * vec3(1.0, 0.0, 1.0);
    middles = vec4(0.0, 0.0, on_floor(slope * height));
    for (int axis = 0; axis < 3; axis++) {
        vec3 rod = axes[axis] * rods[axis];
        // Below the body, only the part of a rod that is near the floor counts.
        float share = min(0.5 * radius / max(below[axis], 1e-6 * radius), 1.0);
        vec2 lower = on_floor(steep[axis] > 0.0 ? -rod.xy : rod.xy);
        middles.xy += lower * (1.0 - share);
        foot_square += square_of(lower * share);
        spot_square += square_of(on_floor(rod.xy + slope * rod.z));
    }
    gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
"""

_VERTEX = """
void main() {
    Pose pose = drawn_pose();
    mat3 axes = mat3(rotate(pose.orientation, vec3(1.0, 0.0, 0.0)), rotate(pose.orientation, vec3(0.0, 1.0, 0.0)),
                     rotate(pose.orientation, vec3(0.0, 0.0, 1.0)));
    cast_shadow(pose.position, axes, shape_size * pose.scale, pose.visible && shape_size.z > 0.0);
}
"""

_GEOMETRY = (
    "layout(points) in;\nlayout(triangle_strip, max_vertices = 4) out;\n"
    + FRAME_GLSL
    + """
in vec3 caster[], foot_square[], spot_square[];
in vec2 dark[];
in vec4 middles[];
flat out vec2 strength;  // strength of the spot below the body, and of the light's shadow
out vec2 from_foot;      // place on the floor, relative to the middle of the spot, in radii
out vec2 from_spot;

// Converts a place on the floor: the ellipse becomes a circle of radius 1 (Cholesky 1924).
vec2 in_circle(vec2 at, vec3 square) {
    float across = sqrt(square.x), lean = square.y / across;
    at.x /= across;
    return vec2(at.x, (at.y - lean * at.x) * inversesqrt(max(square.z - lean * lean, 1e-6 * square.z)));
}

void main() {
    if (dark[0].y <= 0.0) return;
    vec3 c = caster[0];
    // Seen from above, the shadow is in front of a floor that the scene has at this height. Seen from below, the
    // shadow is behind this floor.
    float side = (PARALLEL ? up_eye.z > 0.0 : up_eye.w < 0.0) ? 1.0 : -1.0;
    float lift = PARALLEL ? lens.z * picture.z * LIFT_PX : lens.w * LIFT;
    // The quad reaches only as far as the shadow is visible; fainter pixels would be wasted.
    vec2 seen = vec2(REACH_FOOT, REACH_SPOT) * sqrt(max(1.0 - sqrt(light_world.w / max(dark[0], 1e-6)), 0.0));
    if (seen.y <= 0.0) return;
    vec2 foot = middles[0].xy, spot = middles[0].zw;
    vec2 reach = seen.y * sqrt(spot_square[0].xz), low = spot - reach, high = spot + reach;
    if (seen.x > 0.0) {
        reach = seen.x * sqrt(foot_square[0].xz);
        low = min(low, foot - reach);
        high = max(high, foot + reach);
    }
    vec2 along = floor_at.zw, across = vec2(-along.y, along.x), off = floor_at.xy - c.xy;
    vec2 middle = vec2(dot(off, along), dot(off, across));
    low = max(low, middle - floor_half.xy);
    high = min(high, middle + floor_half.xy);
    if (any(greaterThanEqual(low, high))) return;
    for (int corner = 0; corner < 4; corner++) {
        vec2 place = vec2((corner & 1) == 0 ? low.x : high.x, (corner >> 1) == 0 ? low.y : high.y);
        from_foot = in_circle(place - foot, foot_square[0]);
        from_spot = in_circle(place - spot, spot_square[0]);
        strength = dark[0];
        vec3 at = view * vec3(c.xy + along * place.x + across * place.y, up_eye.w);
        gl_Position = clip_of(at);
        gl_Position.z += side * (lift - UNITS * gl_Position.w);
        EmitVertex();
    }
    EndPrimitive();
}
"""
)

_FRAGMENT = """#version 330 core
flat in vec2 strength;
in vec2 from_foot, from_spot;
out vec4 color;
void main() {
    float foot = max(1.0 - dot(from_foot, from_foot) * (1.0 / (REACH_FOOT * REACH_FOOT)), 0.0);
    float spot = max(1.0 - dot(from_spot, from_spot) * (1.0 / (REACH_SPOT * REACH_SPOT)), 0.0);
    color = vec4(0.0, 0.0, 0.0, strength.x * foot * foot + strength.y * spot * spot);
}
"""


def has_shadows(scene: Scene, count: int, floor: Floor | None = None) -> bool:
    """True if `count` bodies of this scene cast shadows on the scene's ground or on a floor."""
    return (scene.ground is not None or floor is not None) and not scene.is_plain and 0 < count <= MOST_SHADOWS


def shadow_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Program that dims the ground under bodies. Draw it with GL_POINTS of bodies."""
    vertex = FRAME_GLSL + pose_glsl(variant) + SHADOW_CASTER_GLSL + _VERTEX
    return shadow_program_of(context, switches_glsl(variant), vertex)


def shadow_program_of(context: moderngl.Context, switches: str, vertex: str) -> moderngl.Program:
    """Program that dims the ground under each caster that a vertex shader passes to `cast_shadow`. Draw it with
    GL_POINTS.

    switches: from `switches_glsl`; empty for a program that works with every kind of camera.
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
