"""Quaternions xyzw and rotation vectors in shaders: what render/interpolation/quaternion.py is in numpy.

Always: `unit` gives a unit quaternion, whatever finite numbers come in.
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

// The turn about a rotation vector (axis times radians). Euler 1775.
vec4 turn_of(vec3 rotation) {
    float half_angle = 0.5 * length(rotation);
    return vec4(rotation * (half_angle > 1e-4 ? 0.5 * sin(half_angle) / half_angle : 0.5), cos(half_angle));
}

// The shortest rotation vector of a turn.
vec3 rotation_of(vec4 turn) {
    if (turn.w < 0.0) turn = -turn;
    float sine = length(turn.xyz);
    return turn.xyz * (sine > 1e-4 ? 2.0 * atan(sine, turn.w) / sine : 2.0);
}
"""
