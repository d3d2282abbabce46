"""Contains the GLSL for the pose of a body between two snapshots. The vertex shader computes the pose from the 64-byte
records.

Snapshots in GPU buffers have the same bytes as in shared memory. Every program that draws bodies begins with the text
of `pose_glsl`. The function `drawn_pose()` in this text returns the body's pose. So for any number of bodies, a frame
writes only one small uniform block, and all shapes move by the same rule. OpenGL guarantees only 16 vertex inputs, so a
record is read as four inputs of 16 bytes and unpacked here.

Always: in three cases a body keeps the older snapshot's pose until the time of the newer snapshot. First: the body's
continuity (low half of the epoch) differs between the two snapshots. Second: only the older snapshot has the body.
Third: the body's record in the newer snapshot is not finite. If the body's colour is given in only one of the two
snapshots, the body keeps its older colour until the time of the newer one. A part is placed in its body's frame after
blending, so it moves on an arc while the body spins. If the record of a body is hidden or not finite, the body is not
drawn. If two scales have opposite signs, they are not blended, so a scale never passes zero. Positions are made
relative to the eye before they are blended. So motion far from the origin is as smooth as motion near the origin.
`twixt.render.interpolation` has the numpy reference of each interpolation method, and a test compares the two.
Quaternions are xyzw. Rotations are in radians about the world's axes.
"""

from __future__ import annotations

import struct

from twixt.ipc.snapshot import (
    CONTINUITY_MASK,
    HAS_ANGULAR_VELOCITY,
    HAS_COLOR,
    HAS_VELOCITY,
    VISIBLE,
    WHITE_RGB,
)
from twixt.render.draw.glsl.uniform_blocks import GIVEN, LAYER_GLSL, METHODS, PoseVariant
from twixt.render.interpolation import poses
from twixt.render.interpolation.poses import FARTHEST, MOST_TURN_RAD

_POSE_STRUCT = """
struct Pose {
    vec3 position;           // relative to the eye, along the world's axes, metres
    vec4 orientation;
    vec3 scale;              // along the body's own axes
    vec3 color;
    float alpha;
    bool visible;
};
"""

_GIVEN_POSE = """
in vec3 given_position;
in vec4 given_orientation;
in vec3 given_scale;
in vec4 given_color;
const vec3 shape_size = vec3(1.0);

Pose drawn_pose() {
    return Pose(place_from_eye(given_position), unit(given_orientation), given_scale, given_color.rgb * guard.w, given_color.a, true);
}
"""

_POSE = """
in uvec4 older_place;        // position, epoch
in vec4 older_orientation;
in uvec4 older_motion;       // velocity, flags and scale
in uvec4 older_spin;         // angular velocity, colour
in uvec4 newer_place;
in vec4 newer_orientation;
in uvec4 newer_motion;
in uvec4 newer_spin;
in uvec4 before_place;
in uvec4 before_motion;
in vec3 older_stretch;
in vec3 newer_stretch;
in vec4 shape_form;          // half size; w: 1 if the shape has no colour, and shape_color is the palette's
in vec4 shape_color;
#define shape_size shape_form.xyz
#if PLACED
in vec3 local_position;      // metres at scale 1
in vec4 local_orientation;

// A half float (IEEE 754 2008) as a float. Two more inputs for the scales would exceed the number that OpenGL
// guarantees.
float half_of(uint bits) {
    uint size = bits & 0x7FFFu;
    float value = size < 0x400u ? float(size) * 5.9604645e-8 : uintBitsToFloat((size << 13) + 0x38000000u);
    if (size >= 0x7C00u) value = uintBitsToFloat(0x7F800000u);
    return (bits & 0x8000u) == 0u ? value : -value;
}
#define older_scale half_of(older_motion.w >> 16)
#define newer_scale half_of(newer_motion.w >> 16)
#else
in float older_scale;
in float newer_scale;
#endif

const uint SIZE_BITS = 0x7FFFFFFFu;
const float OPAQUE = 0.998;  // alpha of 255, with some tolerance

// Compares the bits of floats. The bits have the same order as the magnitudes, with NaN last. Compilers may invert a
// comparison of values with NaN.
bool is_below(uvec3 bits, uint bound) { return all(lessThan(bits & SIZE_BITS, uvec3(bound))); }

bool is_finite(uvec4 place, vec4 orientation, float scale) {
    return is_below(place.xyz, FARTHEST) && (floatBitsToUint(scale) & SIZE_BITS) < FARTHEST
           && all(lessThan(floatBitsToUint(orientation) & SIZE_BITS, uvec4(FARTHEST)));
}

float squared(vec3 v) { return dot(v, v); }

// Weights of a cubic Hermite curve (Hermite 1878): of the displacement, the older velocity, the newer velocity.
vec3 hermite_weights(float s) {
    return vec3(s * s * (3.0 - 2.0 * s), s * (1.0 - s) * (1.0 - s), s * s * (s - 1.0));
}

// True if the curve from the older to the newer position can be trusted. Same as `curve_is_trusted` in
// render/interpolation/hermite.py, with the same names. To avoid divisions, both accelerations are multiplied by both
// gaps, and lengths are compared by their squares.
bool curve_is_trusted(vec3 way, vec3 v0, vec3 v1) {
    vec3 vb = uintBitsToFloat(before_motion.xyz);
    vec3 way_before = uintBitsToFloat(older_place.xyz) - uintBitsToFloat(before_place.xyz);
    if (gl_VertexID >= counts.z || gaps.y <= 0.0 || ((older_place.w ^ before_place.w) & CONTINUITY) != 0u
        || (before_motion.w & HAS_VELOCITY) == 0u || !is_below(before_motion.xyz, LARGEST_COMPARED)
        || !is_below(older_motion.xyz, LARGEST_COMPARED) || !is_below(newer_motion.xyz, LARGEST_COMPARED)
        || !is_below(floatBitsToUint(way), LARGEST_COMPARED)
        || !is_below(floatBitsToUint(way_before), LARGEST_COMPARED)) return false;
    float g = gaps.x, gb = gaps.y;
    vec3 j = v1 - v0, jb = v0 - vb;
    if (squared(j * gb - jb * g) >= ACCELERATION_CHANGE2 * min(squared(j * gb), squared(jb * g))) return false;
    vec3 e = way - (v0 + v1) * (0.5 * g), eb = way_before - (vb + v0) * (0.5 * gb);
    float most_lag = 0.5 * min(g, gb);
    float lag = clamp((dot(e, j) + dot(eb, jb)) / (squared(j) + squared(jb)), -most_lag, most_lag);
    float leaving = dot(v0, j), arriving = dot(v1, j);
    float forth = leaving + arriving < 0.0 ? -dot(way, j) : dot(way, j);
    return squared(e - lag * j) <= POSITION_MISMATCH2 * g * g * squared(j)
           && squared(eb - lag * jb) <= POSITION_MISMATCH2 * gb * gb * squared(jb)
           && ((leaving < 0.0 && arriving > 0.0) || max(abs(leaving), abs(arriving)) * g <= SWING * forth);
}

vec3 position_by(int method, float s) {
    vec3 older = uintBitsToFloat(older_place.xyz), way = uintBitsToFloat(newer_place.xyz) - older;
    vec3 start = place_from_eye(older), straight = start + way * s;
    if (method < HERMITE || (older_motion.w & newer_motion.w & HAS_VELOCITY) == 0u
        || !is_below(older_motion.xyz, FARTHEST) || !is_below(newer_motion.xyz, FARTHEST)) return straight;
    vec3 older_velocity = uintBitsToFloat(older_motion.xyz), newer_velocity = uintBitsToFloat(newer_motion.xyz);
    if (method == AUTO && !curve_is_trusted(way, older_velocity, newer_velocity)) return straight;
    vec3 weights = hermite_weights(s);
    vec3 bent = start + way * weights.x + gaps.x * (older_velocity * weights.y + newer_velocity * weights.z);
    return is_below(floatBitsToUint(bent), FARTHEST) ? bent : straight;
}

// The shortest rotation (Shoemake 1985), or the curve of Kim, Kim, Shin 1995. See render/interpolation/hermite.py,
// which has the same names.
vec4 orientation_by(int method, float s) {
    vec4 start = unit(older_orientation), whole = turn_after(unit(newer_orientation), back(start));
    vec4 turned = start, last = vec4(0.0, 0.0, 0.0, 1.0);
    vec3 missing = rotation_of(whole);
    float share = s;
    if (method >= HERMITE && (older_motion.w & newer_motion.w & HAS_ANGULAR_VELOCITY) != 0u
        && is_below(older_spin.xyz, FARTHEST) && is_below(newer_spin.xyz, FARTHEST)) {
        float third = gaps.x * (1.0 / 3.0), left = 1.0 - s;
        vec3 leaving = third * uintBitsToFloat(older_spin.xyz), arriving = third * uintBitsToFloat(newer_spin.xyz);
        vec3 between = 0.5 * (leaving + arriving);
        vec4 undone = turn_after(turn_after(turn_of(-between), turn_of(-arriving)), turn_after(whole, turn_of(-leaving)));
        vec3 off = rotation_of(undone);
        float change = 3.0 * length(arriving - leaving);
        bool is_led = method == HERMITE || length(off) <= TURN_OFF_RAD + TURN_OFF_OF_CHANGE * change;
        if (is_led && 9.0 * max(squared(leaving), squared(arriving)) < MOST_TURN2) {
            missing = off;
            share = hermite_weights(s).x;
            turned = turn_after(turn_of(leaving * (1.0 - left * left * left)), start);
            last = turn_after(turn_of(arriving * (s * s * s)), turn_of(between * share));
        }
    }
    return normalize(turn_after(last, turn_after(turn_of(missing * share), turned)));
}

vec3 color_of(uvec4 spin) {
    return vec3(spin.w & 255u, (spin.w >> 8) & 255u, (spin.w >> 16) & 255u) * (1.0 / 255.0);
}

// True if the colour of the body is given, see `has_color` in ipc/snapshot.py.
bool has_color(uvec4 motion, uvec4 spin) { return (motion.w & HAS_COLOR) != 0u || (spin.w & WHITE_RGB) != WHITE_RGB; }

float alpha_of(uvec4 spin) { return float(spin.w >> 24) * (1.0 / 255.0); }

// If the scale would pass zero, or the newer scale is not finite, the older scale is used until the time of the newer
// snapshot.
float scale_at(float older, float newer, float share) {
    bool stays = older * newer < 0.0 || (floatBitsToUint(newer) & SIZE_BITS) >= FARTHEST;
    return stays ? older : older + (newer - older) * share;
}

#if PLACED
// Converts the pose of a body to the pose of its part. The position of the part is stretched with the body. The axes
// of the part are turned with the body. Each axis is scaled by the body's scale in the direction of the axis, which is
// exact for parts turned by right angles. With SCALED_PARTS, the scale belongs to the axes of the part, and the
// position is not stretched.
void place_part(inout Pose pose, float scale) {
#if SCALED_PARTS
    pose.position += rotate(pose.orientation, local_position * scale);
#else
    pose.position += rotate(pose.orientation, local_position * pose.scale);
#endif
    pose.orientation = turn_after(pose.orientation, local_orientation);
    pose.visible = pose.visible && is_below(floatBitsToUint(pose.position), FARTHEST);
#if STRETCHED && !SCALED_PARTS
    vec3 x = rotate(local_orientation, vec3(1.0, 0.0, 0.0)), y = rotate(local_orientation, vec3(0.0, 1.0, 0.0));
    vec3 along = vec3(length(x * pose.scale), length(y * pose.scale), length(cross(x, y) * pose.scale));
    pose.scale = scale < 0.0 ? -along : along;
#endif
}
#endif

Pose drawn_pose() {
    Pose pose;
    pose.visible = (older_motion.w & VISIBLE) != 0u && is_finite(older_place, older_orientation, older_scale);
    bool continues = gl_VertexID < counts.y && ((older_place.w ^ newer_place.w) & CONTINUITY) == 0u
                     && is_finite(newer_place, newer_orientation, newer_scale);
    pose.position = place_from_eye(uintBitsToFloat(older_place.xyz));
    if (is_posed != 0.0) pose.position += uintBitsToFloat(older_motion.xyz);
    pose.orientation = unit(older_orientation);
    float scale = older_scale;
    pose.color = color_of(older_spin);
    pose.alpha = alpha_of(older_spin);
    bool is_colored = has_color(older_motion, older_spin);
#if STRETCHED
    pose.scale = older_stretch;
    pose.visible = pose.visible && is_below(floatBitsToUint(older_stretch), FARTHEST);
#endif
    if (continues) {
        pose.position = position_by(METHOD, pair_share);
        pose.orientation = orientation_by(METHOD, pair_share);
        scale = scale_at(older_scale, newer_scale, pair_share);
        bool keeps_color = blending.y != 0 || is_colored != has_color(newer_motion, newer_spin);
        float color_share = keeps_color ? 0.0 : pair_share;
        pose.color += (color_of(newer_spin) - pose.color) * color_share;
        pose.alpha += (alpha_of(newer_spin) - pose.alpha) * color_share;
#if STRETCHED
        float stretch_share = blending.z != 0 ? 0.0 : pair_share;
        pose.scale.x = scale_at(older_stretch.x, newer_stretch.x, stretch_share);
        pose.scale.y = scale_at(older_stretch.y, newer_stretch.y, stretch_share);
        pose.scale.z = scale_at(older_stretch.z, newer_stretch.z, stretch_share);
#endif
    }
#if STRETCHED
    pose.scale = abs(pose.scale) * scale;
#else
    pose.scale = vec3(scale);
#endif
    pose.color *= (is_colored && shape_form.w > 0.0 ? vec3(1.0) : shape_color.rgb) * guard.w;
    pose.alpha *= shape_color.a;
#if TRANSPARENT
    pose.visible = pose.visible && pose.alpha > 0.001 && pose.alpha < OPAQUE;
#else
    pose.visible = pose.visible && (counts.w == 0 || pose.alpha >= OPAQUE);
    pose.alpha = 1.0;
#endif
#if PLACED
    place_part(pose, scale);
#endif
    return pose;
}

// One scale for shapes that stay round.
float mean_scale(Pose pose) {
#if STRETCHED
    return sign(pose.scale.x) * pow(abs(pose.scale.x * pose.scale.y * pose.scale.z), 1.0 / 3.0);
#else
    return pose.scale.x;
#endif
}
"""


def bits_of(value: float) -> int:
    """Returns the bits of a float32 as an integer. Shaders compare magnitudes by these bits."""
    return int.from_bytes(struct.pack("<f", value), "little")


def pose_glsl(variant: PoseVariant) -> str:
    """Returns GLSL that declares `drawn_pose()`. Put the text after `#version` and FRAME_GLSL, because it uses the
    function `place_from_eye` of FRAME_GLSL.

    The text contains QUATERNION_GLSL and ROTATE_GLSL.
    """
    if variant.motion == GIVEN:
        return QUATERNION_GLSL + ROTATE_GLSL + _POSE_STRUCT + _GIVEN_POSE
    constants: dict[str, object] = {
        "FARTHEST": f"{bits_of(FARTHEST):#x}u",
        "LARGEST_COMPARED": f"{bits_of(poses.LARGEST_COMPARED):#x}u",
        "CONTINUITY": f"{CONTINUITY_MASK}u",
        "VISIBLE": f"{VISIBLE}u",
        "HAS_VELOCITY": f"{HAS_VELOCITY}u",
        "HAS_ANGULAR_VELOCITY": f"{HAS_ANGULAR_VELOCITY}u",
        "HAS_COLOR": f"{HAS_COLOR}u",
        "WHITE_RGB": f"{WHITE_RGB:#x}u",
        "ACCELERATION_CHANGE2": poses.ACCELERATION_CHANGE**2,
        "POSITION_MISMATCH2": poses.POSITION_MISMATCH**2,
        "SWING": poses.SWING,
        "TURN_OFF_RAD": poses.TURN_OFF_RAD,
        "TURN_OFF_OF_CHANGE": poses.TURN_OFF_OF_CHANGE,
        "MOST_TURN2": MOST_TURN_RAD**2,
        "HERMITE": METHODS.index("hermite"),
        "AUTO": METHODS.index("auto"),
        "METHOD": METHODS.index("linear") if variant.motion == "linear" else "blending.x",
        "STRETCHED": int(variant.stretched),
        "PLACED": int(variant.placed),
        "SCALED_PARTS": int(variant.scaled_parts),
        "TRANSPARENT": int(variant.transparent),
    }
    defined = "".join(f"#undef {name}\n#define {name} {value}\n" for name, value in constants.items())
    return defined + LAYER_GLSL + QUATERNION_GLSL + ROTATE_GLSL + _POSE_STRUCT + _POSE


# This is the GLSL of rotations. It uses quaternions xyzw, and rotation vectors in radians about the world's axes.
#
# `render/interpolation/quaternion.py` has the same functions in numpy, and a test compares the two. Always: `unit`
# returns a unit quaternion for any finite input.


ROTATE_GLSL = """
vec3 rotate(vec4 turn, vec3 v) {
    return v + 2.0 * cross(turn.xyz, cross(turn.xyz, v) + turn.w * v);
}
"""

QUATERNION_GLSL = """
// A quaternion of length 0 counts as no rotation. Divides by the largest component first: squares may overflow.
vec4 unit(vec4 turn) {
    vec4 size = abs(turn);
    float largest = max(max(size.x, size.y), max(size.z, size.w));
    if (largest < 1e-15) return vec4(0.0, 0.0, 0.0, 1.0);
    turn /= largest;
    return turn * inversesqrt(dot(turn, turn));
}

vec4 turn_after(vec4 second, vec4 first) {
    return vec4(second.w * first.xyz + first.w * second.xyz + cross(second.xyz, first.xyz),
                second.w * first.w - dot(second.xyz, first.xyz));
}

vec4 back(vec4 turn) { return vec4(-turn.xyz, turn.w); }

// Quaternion of a rotation vector (axis times radians), for any angle. Euler 1775. If half the angle grows by pi, only
// the sign of the quaternion changes. So sine and cosine are needed only from -pi/2 to pi/2: Abramowitz and Stegun
// 1964, 4.3.97 and 4.3.99, with an error of 2e-9. OpenGL guarantees no precision of sin and cos. The sin and cos of
// llvmpipe take four times as long as this function.
vec4 turn_of(vec3 rotation) {
    float half_angle = 0.5 * length(rotation), halves = floor(half_angle * 0.318309886 + 0.5);
    // pi is the sum of two numbers whose products with a whole number are exact.
    float a = (half_angle - halves * 3.140625) - halves * 9.67653590e-4, a2 = a * a;
    float per_a = 1.0 + a2 * (-0.1666666664 + a2 * (0.0083333315 + a2 * (-0.0001984090
                  + a2 * (0.0000027526 - a2 * 0.0000000239))));
    float cosine = 1.0 + a2 * (-0.4999999963 + a2 * (0.0416666418 + a2 * (-0.0013888397
                   + a2 * (0.0000247609 - a2 * 0.0000002605))));
    return vec4(rotation * (0.5 * per_a * (halves > 0.0 ? a / half_angle : 1.0)), cosine);
}

// The shortest rotation vector of a unit quaternion. The angle is computed by Abramowitz and Stegun 1964, 4.4.49, with
// an error of 2e-8.
vec3 rotation_of(vec4 turn) {
    if (turn.w < 0.0) turn = -turn;
    float sine = length(turn.xyz);
    float small = min(sine, turn.w), large = max(sine, turn.w), t = small / large, t2 = t * t;
    float angle = t * (1.0 + t2 * (-0.3333314528 + t2 * (0.1999355085 + t2 * (-0.1420889944 + t2 * (0.1065626393
                  + t2 * (-0.0752896400 + t2 * (0.0429096138 + t2 * (-0.0161657367 + t2 * 0.0028662257))))))));
    angle = sine > turn.w ? 1.570796327 - angle : angle;
    return turn.xyz * (sine > 1e-4 ? 2.0 * angle / sine : 2.0);
}
"""
