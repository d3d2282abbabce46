"""GLSL of the uniform blocks of a picture and of a layer, shared by all programs; `frame_block.py` packs them.

The GLSL also has functions that convert a place in the world to a pixel and its depth, for perspective and
orthographic cameras. This module also has the switches that programs of bodies are compiled with.
"""

from __future__ import annotations

from typing import NamedTuple

from twixt.render.draw.glsl.light import NO_FINISH

FRAME_GLSL = """
layout(std140) uniform Frame {
    mat3 view;           // directions: world to eye
    vec4 view_turn;      // the same rotation, as a quaternion
    vec4 eye_high;       // position of the eye: the nearest float32, metres, world
    vec4 eye_low;        // the rounding error of that
    vec4 lens;           // projection[0][0], [1][1], [2][2], [2][3]
    vec4 picture;        // width, height in px; metres a pixel spans, at 1 m distance or everywhere if orthographic;
                         // w: 1 when the camera is orthographic
    vec4 light_eye;      // towards the light, eye space; w: 1 when shapes are drawn in their plain colour
    vec4 up_eye;         // world z in eye space; w: height of the floor or ground above the eye, metres
    vec4 light_world;    // towards the light, world; w: the share of black that is not seen on the ground
    vec4 grid;           // x, y of the grid of lines' middle, from the eye, metres; left, bottom of the picture in px
    vec4 guard;          // x, y of lens for the viewport that reaches beyond the picture; z: 1 when round shapes have
                         // their pattern; w: factor on the colours of bodies
    vec4 floor_at;       // of what soft shadows fall on: its middle, from the eye, metres; its x axis, both in world's x, y
    vec4 floor_half;     // x, y: its half edges, metres; z: height at which the light's shadow of a body ends, in its radii
};

// Before anything is rounded: two large numbers near each other have an exact difference.
vec3 place_from_eye(vec3 place) { return (place - eye_high.xyz) - eye_low.xyz; }

// Perspective or orthographic. Programs of bodies are compiled for one of the two, by `switches_glsl`.
#ifndef PARALLEL
#define PARALLEL (picture.w > 0.5)
#endif

// Clip w of a point at this depth (metres in front of the eye).
float w_at(float depth) { return PARALLEL ? 1.0 : depth; }
vec4 clip_of(vec3 seen) { return vec4(seen.xy * lens.xy, lens.z * seen.z + lens.w, w_at(-seen.z)); }
// Along the line of sight to a point, of any length. Eye space.
vec3 sight_to(vec3 seen) { return PARALLEL ? vec3(0.0, 0.0, -1.0) : seen; }
// Window depth (0..1), and its change by a metre towards the eye.
float window_depth(float depth) {
    return PARALLEL ? 0.5 + 0.5 * (lens.w - lens.z * depth) : 0.5 - 0.5 * lens.z + 0.5 * lens.w / depth;
}
float depth_by_metre(float depth) { return PARALLEL ? 0.5 * lens.z : 0.5 * lens.w / (depth * depth); }
"""

LAYER_GLSL = """
layout(std140) uniform Layer {
    float pair_share;    // alpha between the two snapshots
    float is_posed;      // 1: velocity fields hold the rounding errors of positions
    vec2 gaps;           // simulated seconds from the older to the newer, and to the older from the one before
    ivec4 counts;        // bodies of the older, the newer, the one before; 1: transparent bodies are drawn separately
    ivec4 blending;      // index of the method; 1 where colours, and scales along each axis, are not blended
};
"""


def switches_glsl(variant: PoseVariant) -> str:
    """GLSL that defines the switches of a program. PARALLEL, OUTLINED: true or false. PATTERN: 1 if round shapes have
    their pattern, else 0. TRANSPARENT: 1 or 0. FINISH: see light.py.

    FAINT_BELOW: pixels with a smaller covered share are drawn only over the background. Put the text after `#version`.
    """
    defined = {
        "PARALLEL": str(variant.parallel).lower(),
        "OUTLINED": str(variant.outlined).lower(),
        "PATTERN": "0.0" if variant.motion == GIVEN or variant.finish else "guard.z",
        "TRANSPARENT": int(variant.transparent),
        "FAINT_BELOW": 0.0 if variant.sampled else 0.5,
        "FINISH": variant.finish,
    }
    return "".join(f"#define {name} {value}\n" for name, value in defined.items())


def frame_glsl(variant: PoseVariant) -> str:
    """FRAME_GLSL for one kind of camera and look, chosen when the program is compiled. Put the text after
    `#version`."""
    return switches_glsl(variant) + FRAME_GLSL


# Variants of the programs of bodies, and the format of rows with a given pose.
#
# A choice that is the same for all bodies of a draw call is made when a program is compiled, because software
# rendering executes both sides of every branch.


# Format of a row with a given pose, see `GIVEN`; scale: half extents, metres.
GIVEN_FORMAT, GIVEN_ATTRIBUTES = (
    "3f 4f 3f 4f1 /v",
    ("given_position", "given_orientation", "given_scale", "given_color"),
)

METHODS = ("none", "linear", "hermite", "auto")
# Kinds of motion, each with its own program: the first for the methods none and linear, the second for hermite and
# auto.
POSE_VARIANTS = ("linear", "curved")
# Used in place of one of them if no snapshots are read: the pose of each row is then an input.
GIVEN = "given"


class PoseVariant(NamedTuple):
    """Variant of the pose program. motion: one of POSE_VARIANTS, or GIVEN. stretched: bodies have a scale along each
    axis.

    wide: spheres are drawn as ellipses, see sphere_common.py. parallel: the camera is orthographic. outlined: bodies
    have a darker outline. placed: each row is a part at a pose in its body's frame. scaled_parts: with `stretched`,
    each part has its own scales, along its own axes. transparent: draws only transparent pixels. sampled: alpha is the
    share of a pixel's samples that the body covers, not an opacity. finish: how materials are drawn, see light.py.
    """

    motion: str = "linear"
    stretched: bool = False
    wide: bool = False
    parallel: bool = False
    outlined: bool = False
    placed: bool = False
    transparent: bool = False
    sampled: bool = False
    finish: int = NO_FINISH
    scaled_parts: bool = False
