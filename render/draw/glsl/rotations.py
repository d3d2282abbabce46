"""GLSL of rotations: quaternions xyzw and rotation vectors, radians about the world's axes.

As in `render/interpolation/quaternion.py` with numpy; a test compares the two. Always: `unit` returns a unit quaternion
for any finite input.
"""

ROTATE_GLSL = """
vec3 rotate(vec4 turn, vec3 v) {
    return v + 2.0 * cross(turn.xyz, cross(turn.xyz, v) + turn.w * v);
}
"""

QUATERNION_GLSL = """
// What has no length counts as not turned. By its largest part first: squares of large ones are no float.
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

// The turn about a rotation vector (axis times radians), by any angle. Euler 1775. Half an angle that is pi more
// changes but the sign of the quaternion, so the sine and cosine of -pi/2 .. pi/2 do: Abramowitz and Stegun 1964,
// 4.3.97 and 4.3.99, to 2e-9. OpenGL promises no digits of its own, and llvmpipe's take four times as long.
vec4 turn_of(vec3 rotation) {
    float half_angle = 0.5 * length(rotation), halves = floor(half_angle * 0.318309886 + 0.5);
    // pi in two parts: its product with a whole number keeps all digits.
    float a = (half_angle - halves * 3.140625) - halves * 9.67653590e-4, a2 = a * a;
    float per_a = 1.0 + a2 * (-0.1666666664 + a2 * (0.0083333315 + a2 * (-0.0001984090
                  + a2 * (0.0000027526 - a2 * 0.0000000239))));
    float cosine = 1.0 + a2 * (-0.4999999963 + a2 * (0.0416666418 + a2 * (-0.0013888397
                   + a2 * (0.0000247609 - a2 * 0.0000002605))));
    return vec4(rotation * (0.5 * per_a * (halves > 0.0 ? a / half_angle : 1.0)), cosine);
}

// The shortest rotation vector of a unit turn; the angle by Abramowitz and Stegun 1964, 4.4.49, to 2e-8.
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
