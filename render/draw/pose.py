"""The pose of a body between two snapshots, in the vertex shader, straight from the 64-byte records.

The one idea: both snapshots lie in GPU buffers exactly as they lay in shared memory, and every program that
draws bodies begins with the text below, whose `drawn_pose()` gives the body's pose at `alpha`. So a frame
costs one small uniform write, whatever the number of bodies, and all shapes move by the same rule.

Always: a body whose continuity (low half of the epoch) differs between the two is drawn as the older one
says until the newer's instant; so is one that only the older has, or that is not finite in the newer. A record that is
hidden or not finite is not drawn. `twixt.render.interpolation` holds the numpy reference; a test holds the two
together.
Quaternions are xyzw; the shortest-path slerp is Shoemake 1985.
"""

from __future__ import annotations

import struct

from twixt.ipc.snapshot import BODY, CONTINUITY_MASK, VISIBLE

# A coordinate beyond this is a mistake of the world, as NaN is; the reference has the same bound.
FARTHEST = 1e30

# How moderngl reads one `BODY` record; the velocities are passed over.
RECORD_FORMAT = "3f 1u 4f 12x 1u2 1f2 12x 4f1 /v"
RECORD_FIELDS = ("position", "epoch", "orientation", "flags", "scale", "color")
OLDER_ATTRIBUTES = tuple(f"older_{field}" for field in RECORD_FIELDS)
NEWER_ATTRIBUTES = tuple(f"newer_{field}" for field in RECORD_FIELDS)
assert BODY.itemsize == 64


def _bits_of(value: float) -> int:
    return int.from_bytes(struct.pack("<f", value), "little")


# What a program needs to know of the scene's shapes: one row a body, see shape_table.py.
SHAPE_FORMAT = "3f 4f1 /v"
SHAPE_ATTRIBUTES = ("shape_size", "shape_color")

# What changes from frame to frame, shared by all programs. frame_block.py packs it.
FRAME_GLSL = """
layout(std140) uniform Frame {
    mat4 view;           // world to eye
    vec4 view_turn;      // its rotation, as a quaternion
    vec4 lens;           // projection[0][0], [1][1], [2][2], [2][3]
    vec4 picture;        // width, height in px; metres a pixel spans at 1 m distance; alpha
    vec4 light_eye;      // towards the light, eye space; w: 1 when shapes are drawn in their plain colour
    vec4 up_eye;         // world z in eye space; w: height of the ground, metres
    vec4 light_world;    // towards the light, world
    vec4 grid;           // x, y of the middle of the grid of lines, metres
    ivec4 counts;        // bodies of the older and of the newer snapshot
};
"""

POSE_GLSL = f"""
in vec3 older_position;
in uint older_epoch;
in vec4 older_orientation;
in uint older_flags;
in float older_scale;
in vec4 older_color;
in vec3 newer_position;
in uint newer_epoch;
in vec4 newer_orientation;
in uint newer_flags;
in float newer_scale;
in vec4 newer_color;
in vec3 shape_size;
in vec4 shape_color;

struct Pose {{
    vec3 position;
    vec4 orientation;
    float scale;
    vec3 color;
    bool visible;
}};

// By the bits, which order as the magnitudes do, NaN above all: compilers may turn a comparison with NaN round.
bool is_finite(vec3 position, vec4 orientation, float scale) {{
    const uint BITS = 0x7FFFFFFFu, FARTHEST = {_bits_of(FARTHEST):#x}u;
    return all(lessThan(floatBitsToUint(position) & BITS, uvec3(FARTHEST)))
           && all(lessThan(floatBitsToUint(orientation) & BITS, uvec4(FARTHEST)))
           && (floatBitsToUint(scale) & BITS) < FARTHEST;
}}

// What has no length counts as not turned.
vec4 unit(vec4 turn) {{
    float squared = dot(turn, turn);
    return squared > 1e-30 ? turn * inversesqrt(squared) : vec4(0.0, 0.0, 0.0, 1.0);
}}

vec4 slerp(vec4 start, vec4 end, float share) {{
    float cosine = dot(start, end);
    if (cosine < 0.0) {{ end = -end; cosine = -cosine; }}
    vec2 weights = vec2(1.0 - share, share);
    if (cosine < 0.9995) {{
        float angle = acos(cosine);
        weights = sin(weights * angle) / sin(angle);
    }}
    return normalize(weights.x * start + weights.y * end);
}}

vec4 turn_after(vec4 second, vec4 first) {{
    return vec4(second.w * first.xyz + first.w * second.xyz + cross(second.xyz, first.xyz),
                second.w * first.w - dot(second.xyz, first.xyz));
}}

Pose drawn_pose() {{
    float share = picture.w;
    Pose pose = Pose(older_position, unit(older_orientation), older_scale, older_color.rgb,
                     (older_flags & {VISIBLE}u) != 0u && is_finite(older_position, older_orientation, older_scale));
    bool continues = gl_VertexID < counts.y && ((older_epoch ^ newer_epoch) & {CONTINUITY_MASK}u) == 0u
                     && is_finite(newer_position, newer_orientation, newer_scale);
    if (continues) {{
        pose.position += (newer_position - older_position) * share;
        pose.orientation = slerp(pose.orientation, unit(newer_orientation), share);
        pose.scale += (newer_scale - older_scale) * share;
        pose.color += (newer_color.rgb - older_color.rgb) * share;
    }}
    pose.color *= shape_color.rgb;
    return pose;
}}
"""

ROTATE_GLSL = """
vec3 rotate(vec4 turn, vec3 v) {
    return v + 2.0 * cross(turn.xyz, cross(turn.xyz, v) + turn.w * v);
}
"""
