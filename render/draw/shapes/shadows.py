"""Draws soft shadows of bodies on the ground or on a level floor. A shadow shows how high a body is above the ground.

A floor is flat, so the shadow of a body is drawn as a soft spot. The place and size of the spot are computed from the
body's pose. If a body is near enough to the ground for a visible shadow, one quad is drawn for its shadow. There is no
shadow map, and the scene is not drawn a second time from the light. The spot is an ellipse as long as the body. Its
form is that of the shadow of a ball that is moved along three rods. The sides of the quad are parallel to the sides of
the floor, and the quad is clipped to the floor. So shadows end at the edge of the floor. Shadows are drawn after the
bodies, and only on ground that no body hides. So no shadow is computed for pixels that bodies cover.
"""

from __future__ import annotations

import moderngl

from twixt.ipc.scene import Scene
from twixt.render.draw.frame.frame_block import NEAR_FADE_RADII, Floor
from twixt.render.draw.glsl.pose import pose_glsl
from twixt.render.draw.glsl.uniform_blocks import FRAME_GLSL, PoseVariant, switches_glsl

# Largest height of a ball's centre above the ground, in radii of the ball, at which the ball has a shadow. At larger
# heights, the shadow would be too faint to be worth its cost. On a floor, `Floor.fade_radii` is the limit for the
# shadow that the light casts.
FADE_RADII = 1 + NEAR_FADE_RADII
# FOOT_REACH is the radius of the spot below a body. SPOT_REACH is the radius of the shadow that the light casts. Both
# are multiples of the radius of the shadow's ellipse. The number of pixels grows with the square of these radii.
FOOT_REACH, SPOT_REACH = 1.5, 1.25
# Least height of a body's centre above the ground, in radii of the body, at which the body casts a shadow. If the
# centre is lower, the body is very flat. It would hide its shadow, or the shadow would be drawn over the body. From
# this height to three times this height, the shadow fades in.
FLAT_RADII = 0.05
# Least z of the direction towards the light. If the light is lower, this z is used instead. Otherwise shadows would
# reach the horizon.
LOWEST_LIGHT = 0.4
# Shadows are moved towards the eye by this much. This avoids z-fighting with a body whose flat top is at the height of
# the ground. LIFT is a share of the distance from the eye. It is a third of the width that a pixel has at this
# distance, in a picture of 800x600. This is so little that shadows do not show through bodies. For an orthographic
# camera, LIFT_PX replaces LIFT; it is in widths of a pixel. UNITS is added to LIFT. It is four steps of a 24-bit depth
# buffer.
LIFT, LIFT_PX, UNITS = 4e-4, 0.33, 4 * 2.0**-23

# Largest number of bodies in a picture with shadows. More shadows would darken the whole ground, and each shadow costs
# a quad.
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

# Call `cast_shadow` at the end of a vertex shader. position: middle of the body, relative to the eye, along the world's
# axes, in metres. axes: the body's axes as unit vectors in the world frame. size: half extents along these axes, in
# metres. The shadow is computed as if the body were the sum of a ball and three rods along its axes. The radius of the
# ball is the least half extent.
SHADOW_CASTER_GLSL = """
out vec3 caster;      // the body's middle, relative to the eye, metres, along the world's axes
out vec2 dark;        // strength of the spot below the body, and of the light's shadow; both 0: no shadow
out vec4 middles;     // middles of these two, in metres from the point below the body, along the floor's edges
out vec3 foot_square; // ellipse of the spot: its xx, xy, yy in m^2; spot_square: ellipse of the light's shadow
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
        // For the spot below the body, only the part of a rod that is near the floor counts.
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
out vec2 from_foot;      // place on the floor, relative to the middle of the spot, in radii of the spot
out vec2 from_spot;

// Converts a place on the floor so that the ellipse becomes a circle of radius 1 (Cholesky 1924).
vec2 in_circle(vec2 at, vec3 square) {
    float across = sqrt(square.x), lean = square.y / across;
    at.x /= across;
    return vec2(at.x, (at.y - lean * at.x) * inversesqrt(max(square.z - lean * lean, 1e-6 * square.z)));
}

void main() {
    if (dark[0].y <= 0.0) return;
    vec3 c = caster[0];
    // The scene may have a floor at the height of the ground. Seen from above, the shadow is in front of this floor.
    // Seen from below, it is behind this floor.
    float side = (PARALLEL ? up_eye.z > 0.0 : up_eye.w < 0.0) ? 1.0 : -1.0;
    float lift = PARALLEL ? lens.z * picture.z * LIFT_PX : lens.w * LIFT;
    // The quad is only as large as the visible part of the shadow. Pixels outside that part would be too faint to see.
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
    """True if the first `count` bodies of this scene cast shadows on the scene's ground or on this floor."""
    return (scene.ground_z is not None or floor is not None) and scene.look == "lit" and 0 < count <= MOST_SHADOWS


def shadow_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Program that dims the ground under bodies. Use it with GL_POINTS, one point for each body."""
    vertex = FRAME_GLSL + pose_glsl(variant) + SHADOW_CASTER_GLSL + _VERTEX
    return shadow_program_of(context, switches_glsl(variant), vertex)


def shadow_program_of(context: moderngl.Context, switches: str, vertex: str) -> moderngl.Program:
    """Program that dims the ground under each body that the vertex shader passes to `cast_shadow`. Use it with
    GL_POINTS.

    switches: GLSL from `switches_glsl`; if it is empty, the program works with every kind of camera.
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
