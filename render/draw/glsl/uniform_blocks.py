"""Contains the GLSL of the uniform blocks of a picture and of a layer. All programs share it. `frame_block.py` packs
the blocks.

The GLSL also contains functions that convert a place in the world to a pixel and a depth, for perspective and
orthographic cameras. This module also contains the switches with which programs of bodies are compiled.
"""

from __future__ import annotations

from typing import NamedTuple

from twixt.render.draw.glsl.light import NO_FINISH

FRAME_GLSL = """
layout(std140) uniform Frame {
    mat3 view;           // rotates directions from world to eye
    vec4 view_turn;      // the same rotation as a quaternion
    vec4 eye_high;       // position of the eye, rounded to float32, metres, world
    vec4 eye_low;        // rounding error of eye_high, metres
    vec4 lens;           // projection[0][0], [1][1], [2][2], [2][3]
    vec4 picture;        // x, y: width and height, px; z: metres that a pixel spans, at 1 m distance (perspective) or
                         // everywhere (orthographic); w: 1 if the camera is orthographic
    vec4 light_eye;      // direction towards the light, eye space; w: 1 if shapes have their plain colour
    vec4 up_eye;         // world z in eye space; w: height of the floor or ground above the eye, metres
    vec4 light_world;    // direction towards the light, world; w: largest opacity of black that is not visible
    vec4 grid;           // x, y: middle of the grid, relative to the eye, metres; z, w: left, bottom of the picture, px
    vec4 guard;          // x, y: lens.xy for the viewport that reaches beyond the picture; z: 1 if round shapes have
                         // their pattern; w: factor on the colours of bodies
    vec4 floor_at;       // floor for soft shadows: x, y: its middle, relative to the eye, metres; z, w: direction of
                         // its x axis in the world's x, y
    vec4 floor_half;     // x, y: half edges of that floor, metres; z: height up to which a body casts the light's
                         // shadow, in radii of the body
};

// Subtracts before anything is rounded, because the difference of two large numbers near each other is exact.
vec3 place_from_eye(vec3 place) { return (place - eye_high.xyz) - eye_low.xyz; }

// Perspective or orthographic. `switches_glsl` compiles programs of bodies for one of the two.
#ifndef PARALLEL
#define PARALLEL (picture.w > 0.5)
#endif

// Clip w of a point at this depth (metres in front of the eye).
float w_at(float depth) { return PARALLEL ? 1.0 : depth; }
vec4 clip_of(vec3 seen) { return vec4(seen.xy * lens.xy, lens.z * seen.z + lens.w, w_at(-seen.z)); }
// Direction of the line of sight to a point, of any length. Eye space.
vec3 sight_to(vec3 seen) { return PARALLEL ? vec3(0.0, 0.0, -1.0) : seen; }
// Window depth (0..1) of a point. `depth_by_metre`: the change of this depth for each metre towards the eye.
float window_depth(float depth) {
    return PARALLEL ? 0.5 + 0.5 * (lens.w - lens.z * depth) : 0.5 - 0.5 * lens.z + 0.5 * lens.w / depth;
}
float depth_by_metre(float depth) { return PARALLEL ? 0.5 * lens.z : 0.5 * lens.w / (depth * depth); }
"""

LAYER_GLSL = """
layout(std140) uniform Layer {
    float pair_share;    // alpha: position between the two snapshots
    float is_posed;      // 1: the velocity fields contain the rounding errors of the positions
    vec2 gaps;           // simulated seconds from older to newer snapshot, and from the snapshot before to the older
    ivec4 counts;        // number of bodies in the older snapshot, the newer one and the one before; w: 1 if
                         // transparent bodies are drawn separately
    ivec4 blending;      // x: index of the method; y: 1 if colours are not blended; z: 1 if scales along each axis are
                         // not blended
};
"""


def switches_glsl(variant: PoseVariant) -> str:
    """Returns GLSL that defines the switches of a program. PARALLEL, OUTLINED: true or false. PATTERN: 1 if round
    shapes have their pattern, otherwise 0. TRANSPARENT: 1 or 0. FINISH: see light.py.

    FAINT_BELOW: a share of a pixel. If a body covers less than this share of a pixel, the pixel is drawn only over the
    background. Put the text after `#version`.
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
    """Returns FRAME_GLSL for one kind of camera and look. Camera and look are chosen when the program is compiled. Put
    the text after `#version`."""
    return switches_glsl(variant) + FRAME_GLSL


# This code contains the variants of the programs of bodies, and the format of rows with a given pose.
#
# Some choices are the same for all bodies of a draw call. They are made when the program is compiled, because software
# rendering executes both sides of every branch.


# Format of a row with a given pose, see `GIVEN`. The scale is half the extent along each axis, in metres.
GIVEN_FORMAT, GIVEN_ATTRIBUTES = (
    "3f 4f 3f 4f1 /v",
    ("given_position", "given_orientation", "given_scale", "given_color"),
)

METHODS = ("none", "linear", "hermite", "auto")
# Kinds of motion. Each has its own program. The first is for the interpolation methods none and linear. The second is
# for hermite and auto.
POSE_VARIANTS = ("linear", "curved")
# This value replaces the kind of motion if no snapshots are read. The pose of each row is then an input of the shader.
GIVEN = "given"


class PoseVariant(NamedTuple):
    """A variant of the pose program. motion: one of POSE_VARIANTS, or GIVEN. stretched: True if bodies have a scale
    along each axis.

    wide: True if spheres are drawn as ellipses, see sphere_common.py. parallel: True if the camera is orthographic.
    outlined: True if bodies have a darker outline. placed: True if each row is a part with a pose in its body's frame.
    scaled_parts: True if each part has its own scales along its own axes; used with `stretched`. transparent: True if
    only transparent pixels are drawn. sampled: True if alpha is not an opacity, but the share of a pixel's samples that
    the body covers. finish: how materials are drawn, see light.py.
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
