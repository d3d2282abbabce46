/** Shader texts and constants of drawing, written by `python -m bench.web_glsl` from render/draw. Do not edit. */

export const METHODS = ["none", "linear", "hermite", "auto"];
export const MARK_KINDS = ["sphere", "box", "capsule", "cylinder", "ellipsoid", "arrow", "line", "axes", "text"];
export const PLAIN_LODS = [["lod 0", 2.5], ["lod 1", 6.5], ["lod 2", 16.0], ["lod 3", 24.0], ["lod 4", null]];
export const OUTLINE_EDGES = [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]];
export const CHECKER_SIDE_PX = 32;
export const FINEST_PX = 600000;
export const BODY_PX = 500;
export const KEPT = 1.15;
export const LARGER = 1.3;
export const NEARLY_ALL = 0.95;
export const MANY_BODIES = 4096;
export const FEWER_LOD_2_PX = 9.0;
export const LARGEST_POINT_PX = 128;
export const WIDE_STRETCH = 1.25;
export const GUARD_PX = 64;
export const ENDLESS_M = 1e+30;
export const NEAR_FADE_RADII = 0.9;
export const FAR_FADE_RADII = 24.0;
export const FEW_CASTERS = 200;
export const LEAN = 1e-05;
export const MOST_STILL = 64;
export const MOST_SHADOWS = 20000;
export const MOST_CUBE_PX = 1024;
export const HEIGHT_SHARE = 0.5;
export const FINEST_SHARE = 0.125;
export const GRID_DISTANCES = 2.2;
export const FINE_DISTANCES = 0.75;
export const FINE_SHARE = 0.65;
export const FINE_ALPHA = 0.3;
export const COARSE_ALPHA = 0.4;
export const GRID_COLOR = [0.55, 0.6, 0.68];
export const OUTLINE_COLOR = [158, 173, 199, 140];
export const HEAD_RADIUS = 2.5;
export const HEAD_LENGTH = 6.0;
export const HEAD_SHARE = 0.3333333333333333;
export const AXIS_RADIUS = 0.05;
export const AXIS_COLORS = [[230.0, 60.0, 50.0], [70.0, 200.0, 70.0], [60.0, 110.0, 240.0]];
export const TO_AXES = [[0.0, 0.7071067811865476, 0.0, 0.7071067811865476], [-0.7071067811865476, 0.0, 0.0, 0.7071067811865476], [0.0, 0.0, 0.0, 1.0]];
export const THINNEST = 0.0001;
export const MOST_EDGES_SOFTWARE = 20000;
export const MOST_EDGES_GPU = 4000000;
export const SMALLEST_M = 1e-09;
export const PLATE_SHARE = 0.1;
export const GLOSS = 0.4;
export const RIM = 0.2;
export const EXPONENT = 4.0;

/** Pieces of shader text by name. */
export const TEXTS = {
    "frame": `layout(std140) uniform Frame {
mat3 view;
vec4 view_turn;
vec4 eye_high;
vec4 eye_low;
vec4 lens;
vec4 picture;
vec4 light_eye;
vec4 up_eye;
vec4 light_world;
vec4 grid;
vec4 guard;
vec4 floor_at;
vec4 floor_half;
};
vec3 place_from_eye(vec3 place) { return (place - eye_high.xyz) - eye_low.xyz; }
#ifndef PARALLEL
#define PARALLEL (picture.w > 0.5)
#endif
float w_at(float depth) { return PARALLEL ? 1.0 : depth; }
vec4 clip_of(vec3 seen) { return vec4(seen.xy * lens.xy, lens.z * seen.z + lens.w, w_at(-seen.z)); }
vec3 sight_to(vec3 seen) { return PARALLEL ? vec3(0.0, 0.0, -1.0) : seen; }
float window_depth(float depth) {
return PARALLEL ? 0.5 + 0.5 * (lens.w - lens.z * depth) : 0.5 - 0.5 * lens.z + 0.5 * lens.w / depth;
}
float depth_by_metre(float depth) { return PARALLEL ? 0.5 * lens.z : 0.5 * lens.w / (depth * depth); }
`,
    "pose": `#undef FARTHEST
#define FARTHEST 0x7149f2cau
#undef LARGEST_COMPARED
#define LARGEST_COMPARED 0x58635fa9u
#undef CONTINUITY
#define CONTINUITY 65535u
#undef VISIBLE
#define VISIBLE 1u
#undef HAS_VELOCITY
#define HAS_VELOCITY 2u
#undef HAS_ANGULAR_VELOCITY
#define HAS_ANGULAR_VELOCITY 4u
#undef HAS_COLOR
#define HAS_COLOR 8u
#undef WHITE_RGB
#define WHITE_RGB 0xffffffu
#undef ACCELERATION_CHANGE2
#define ACCELERATION_CHANGE2 0.48999999999999994
#undef POSITION_MISMATCH2
#define POSITION_MISMATCH2 0.004900000000000001
#undef SWING
#define SWING 3.0
#undef TURN_OFF_RAD
#define TURN_OFF_RAD 0.25
#undef TURN_OFF_OF_CHANGE
#define TURN_OFF_OF_CHANGE 0.25
#undef MOST_TURN2
#define MOST_TURN2 161703.59850744804
#undef HERMITE
#define HERMITE 2
#undef AUTO
#define AUTO 3
layout(std140) uniform Layer {
float pair_share;
float is_posed;
vec2 gaps;
ivec4 counts;
ivec4 blending;
};
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
vec4 turn_of(vec3 rotation) {
float half_angle = 0.5 * length(rotation), halves = floor(half_angle * 0.318309886 + 0.5);
float a = (half_angle - halves * 3.140625) - halves * 9.67653590e-4, a2 = a * a;
float per_a = 1.0 + a2 * (-0.1666666664 + a2 * (0.0083333315 + a2 * (-0.0001984090
+ a2 * (0.0000027526 - a2 * 0.0000000239))));
float cosine = 1.0 + a2 * (-0.4999999963 + a2 * (0.0416666418 + a2 * (-0.0013888397
+ a2 * (0.0000247609 - a2 * 0.0000002605))));
return vec4(rotation * (0.5 * per_a * (halves > 0.0 ? a / half_angle : 1.0)), cosine);
}
vec3 rotation_of(vec4 turn) {
if (turn.w < 0.0) turn = -turn;
float sine = length(turn.xyz);
float small = min(sine, turn.w), large = max(sine, turn.w), t = small / large, t2 = t * t;
float angle = t * (1.0 + t2 * (-0.3333314528 + t2 * (0.1999355085 + t2 * (-0.1420889944 + t2 * (0.1065626393
+ t2 * (-0.0752896400 + t2 * (0.0429096138 + t2 * (-0.0161657367 + t2 * 0.0028662257))))))));
angle = sine > turn.w ? 1.570796327 - angle : angle;
return turn.xyz * (sine > 1e-4 ? 2.0 * angle / sine : 2.0);
}
vec3 rotate(vec4 turn, vec3 v) {
return v + 2.0 * cross(turn.xyz, cross(turn.xyz, v) + turn.w * v);
}
struct Pose {
vec3 position;
vec4 orientation;
vec3 scale;
vec3 color;
float alpha;
bool visible;
};
in uvec4 older_place;
in vec4 older_orientation;
in uvec4 older_motion;
in uvec4 older_spin;
in uvec4 newer_place;
in vec4 newer_orientation;
in uvec4 newer_motion;
in uvec4 newer_spin;
in uvec4 before_place;
in uvec4 before_motion;
in vec3 older_stretch;
in vec3 newer_stretch;
in vec4 shape_form;
in vec4 shape_color;
#define shape_size shape_form.xyz
#if PLACED
in vec3 local_position;
in vec4 local_orientation;
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
const float OPAQUE = 0.998;
bool is_below(uvec3 bits, uint bound) { return all(lessThan(bits & SIZE_BITS, uvec3(bound))); }
bool is_finite(uvec4 place, vec4 orientation, float scale) {
return is_below(place.xyz, FARTHEST) && (floatBitsToUint(scale) & SIZE_BITS) < FARTHEST
&& all(lessThan(floatBitsToUint(orientation) & SIZE_BITS, uvec4(FARTHEST)));
}
float squared(vec3 v) { return dot(v, v); }
vec3 hermite_weights(float s) {
return vec3(s * s * (3.0 - 2.0 * s), s * (1.0 - s) * (1.0 - s), s * s * (s - 1.0));
}
bool curve_is_trusted(vec3 way, vec3 v0, vec3 v1) {
vec3 vb = uintBitsToFloat(before_motion.xyz);
vec3 way_before = uintBitsToFloat(older_place.xyz) - uintBitsToFloat(before_place.xyz);
if (0 >= counts.z || gaps.y <= 0.0 || ((older_place.w ^ before_place.w) & CONTINUITY) != 0u
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
bool has_color(uvec4 motion, uvec4 spin) { return (motion.w & HAS_COLOR) != 0u || (spin.w & WHITE_RGB) != WHITE_RGB; }
float alpha_of(uvec4 spin) { return float(spin.w >> 24) * (1.0 / 255.0); }
float scale_at(float older, float newer, float share) {
bool stays = older * newer < 0.0 || (floatBitsToUint(newer) & SIZE_BITS) >= FARTHEST;
return stays ? older : older + (newer - older) * share;
}
#if PLACED
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
bool continues = 0 < counts.y && ((older_place.w ^ newer_place.w) & CONTINUITY) == 0u
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
float mean_scale(Pose pose) {
#if STRETCHED
return sign(pose.scale.x) * pow(abs(pose.scale.x * pose.scale.y * pose.scale.z), 1.0 / 3.0);
#else
return pose.scale.x;
#endif
}
`,
    "pose main": `out vec4 row_place, row_turn, row_size, row_tint;
void main() {
Pose pose = drawn_pose();
row_place = vec4(pose.position, pose.visible ? 1.0 : 0.0);
row_turn = pose.orientation;
row_size = vec4(pose.scale, pose.alpha);
row_tint = vec4(pose.color, 1.0);
gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
`,
    "row": `vec4 unit(vec4 turn) {
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
vec4 turn_of(vec3 rotation) {
float half_angle = 0.5 * length(rotation), halves = floor(half_angle * 0.318309886 + 0.5);
float a = (half_angle - halves * 3.140625) - halves * 9.67653590e-4, a2 = a * a;
float per_a = 1.0 + a2 * (-0.1666666664 + a2 * (0.0083333315 + a2 * (-0.0001984090
+ a2 * (0.0000027526 - a2 * 0.0000000239))));
float cosine = 1.0 + a2 * (-0.4999999963 + a2 * (0.0416666418 + a2 * (-0.0013888397
+ a2 * (0.0000247609 - a2 * 0.0000002605))));
return vec4(rotation * (0.5 * per_a * (halves > 0.0 ? a / half_angle : 1.0)), cosine);
}
vec3 rotation_of(vec4 turn) {
if (turn.w < 0.0) turn = -turn;
float sine = length(turn.xyz);
float small = min(sine, turn.w), large = max(sine, turn.w), t = small / large, t2 = t * t;
float angle = t * (1.0 + t2 * (-0.3333314528 + t2 * (0.1999355085 + t2 * (-0.1420889944 + t2 * (0.1065626393
+ t2 * (-0.0752896400 + t2 * (0.0429096138 + t2 * (-0.0161657367 + t2 * 0.0028662257))))))));
angle = sine > turn.w ? 1.570796327 - angle : angle;
return turn.xyz * (sine > 1e-4 ? 2.0 * angle / sine : 2.0);
}
vec3 rotate(vec4 turn, vec3 v) {
return v + 2.0 * cross(turn.xyz, cross(turn.xyz, v) + turn.w * v);
}
struct Pose {
vec3 position;
vec4 orientation;
vec3 scale;
vec3 color;
float alpha;
bool visible;
};
in vec4 row_place, row_turn, row_size, row_tint;
in vec4 shape_form;
#define shape_size shape_form.xyz
Pose drawn_pose() {
return Pose(row_place.xyz, row_turn, row_size.xyz, row_tint.rgb, row_size.w, row_place.w > 0.5);
}
float mean_scale(Pose pose) { return pose.scale.x; }
`,
    "light": `const vec3 WARM = vec3(1.02, 1.00, 0.94);
const vec3 COOL = vec3(0.93, 0.98, 1.08);
vec3 lit_by(vec3 albedo, float towards, float upward, float mirrored, float facing) {
float sun = max(towards * 0.85 + 0.15, 0.0);
sun *= sun;
float brightness = sqrt(0.34 + 0.22 * upward + 0.92 * sun);
float gloss = max(mirrored, 0.0);
gloss *= gloss; gloss *= gloss; gloss *= gloss; gloss *= gloss;
float grazing = 1.0 - facing;
return albedo * (mix(COOL, WARM, sun) * brightness) + (0.20 * gloss + 0.10 * grazing * grazing);
}
float brightness(vec3 normal, float facing, vec3 light, vec3 up, vec4 shines) {
float towards = dot(normal, light), sun = max(towards * 0.85 + 0.15, 0.0);
float gloss = pow(max(2.0 * normal.z * towards - light.z, 1e-6), shines.y), grazing = 1.0 - facing;
return sqrt(0.34 + 0.22 * dot(normal, up) + 0.92 * sun * sun) + shines.x * gloss + shines.w * grazing * grazing;
}
vec3 lit(vec3 albedo, vec3 normal, float facing, vec3 light, vec3 up) {
float towards = dot(normal, light);
return lit_by(albedo, towards, dot(normal, up), 2.0 * normal.z * towards - light.z, facing);
}
`,
    "finish": `#if FINISH
uniform vec4 finish;
uniform vec4 mapping;
#if FINISH == 2
uniform sampler2D image;
#elif FINISH == 3
uniform samplerCube image;
#endif
vec4 texel(vec3 at, vec3 half_size) {
#if FINISH == 2
vec2 right_down = at.xy * vec2(1.0, -1.0);
if (mapping.z > 0.5) return texture(image, mapping.xy * (right_down * half_size.xy) - 0.5);
return texture(image, mapping.xy * (0.5 + 0.5 * right_down));
#elif FINISH == 3
return texture(image, mapping.z > 0.5 ? at * half_size : at);
#else
return vec4(1.0);
#endif
}
vec3 finished_by(vec3 albedo, float towards, float upward, float mirrored, float facing) {
float sun = max(towards * 0.85 + 0.15, 0.0);
sun *= sun;
float brightness = sqrt(0.34 + 0.22 * upward + 0.92 * sun) + finish.z;
float gloss = finish.x * pow(max(mirrored, 1e-6), finish.y), grazing = 1.0 - facing;
return albedo * (mix(COOL, WARM, sun) * brightness) + (gloss + finish.w * grazing * grazing);
}
vec3 finished(vec3 albedo, vec3 normal, vec3 to_eye, vec3 light, vec3 up) {
float towards = dot(normal, light), facing = clamp(dot(normal, to_eye), 0.0, 1.0);
float mirrored = 2.0 * facing * towards - dot(light, to_eye);
return finished_by(albedo, towards, dot(normal, up), mirrored, facing);
}
#endif
`,
    "outlined": `const float OUTLINE_PX = 1.5, OUTLINE_TONE = 0.5;
vec3 with_outline(vec3 color, float inside_px, float width_px) {
float strength = (1.0 - OUTLINE_TONE) * clamp(0.25 * width_px - 1.5, 0.0, 1.0);
return color * (1.0 - strength * clamp(OUTLINE_PX + 0.5 - inside_px, 0.0, 1.0));
}
`,
    "shine": `vec2 shine_of(float exponent) {
float share = exponent / 32.0;
return vec2(share, share < 1.0 ? 0.5 * share * (share - 1.0) : 0.0);
}
`,
    "highlight": `float highlight(float mirrored, vec2 shine) {
float off = 1.0 - mirrored, base = max(1.0 - off * (shine.x - off * shine.y), 0.0);
base *= base; base *= base; base *= base; base *= base;
return base * base;
}
`,
    "finite": `bool is_finite(vec3 v) {
return all(lessThan(floatBitsToUint(v) & 0x7FFFFFFFu, uvec3(0x7F800000u)));
}
`,
    "nothing": `void main() {}
`,
    "body": `struct Body {
vec3 center;
vec3 right, up, back;
vec3 size;
vec4 color;
float depth, half_depth;
vec2 at, spread;
vec2 lean;
vec3 sight;
float width_px, metres_px;
};
vec3 eye_axis(Body body, int axis) { return vec3(body.right[axis], body.up[axis], body.back[axis]); }
`,
    "body end": `float reach(Body body, vec3 along) {
return support(body.size, body.right * along.x + body.up * along.y + body.back * along.z);
}
Body body_of(vec3 center, vec4 to_body, vec3 size, vec4 color) {
Body body;
body.center = center;
body.right = rotate(to_body, vec3(1.0, 0.0, 0.0));
body.up = rotate(to_body, vec3(0.0, 1.0, 0.0));
body.back = cross(body.right, body.up);
body.size = size;
body.color = color;
body.depth = -center.z;
body.half_depth = reach(body, vec3(0.0, 0.0, 1.0));
body.at = center.xy / w_at(body.depth);
body.lean = PARALLEL ? vec2(0.0) : body.at;
body.sight = sight_to(center);
body.spread = vec2(reach(body, vec3(1.0, 0.0, body.lean.x)), reach(body, vec3(0.0, 1.0, body.lean.y)))
/ w_at(body.depth - body.half_depth);
body.width_px = 2.0 * max(body.spread.x, body.spread.y) / picture.z + 1.0;
body.metres_px = w_at(body.depth) * picture.z;
return body;
}
uniform vec2 range_px;
bool is_seen(Body body) {
vec2 slope = 1.0 / lens.xy, side = vec2(body.center.x < 0.0 ? -1.0 : 1.0, body.center.y < 0.0 ? -1.0 : 1.0);
vec2 beyond = abs(body.center.xy) - w_at(body.depth) * slope;
if (PARALLEL) slope = vec2(0.0);
vec2 nearest = vec2(reach(body, vec3(side.x, 0.0, slope.x)), reach(body, vec3(0.0, side.y, slope.y)));
return all(greaterThan(body.size, vec3(0.0))) && (PARALLEL || body.depth > -body.half_depth)
&& all(lessThan(beyond, nearest));
}
bool is_point(Body body) {
float w = w_at(body.depth);
return all(greaterThan(body.size, vec3(0.0))) && (PARALLEL || body.depth > 2.0 * body.half_depth)
&& abs(lens.z * body.center.z + lens.w) < w && body.width_px <= range_px.y
&& all(lessThan(abs(body.center.xy) * guard.xy, vec2(0.999 * w)));
}
`,
    "body seen": `Body drawn_body(out vec4 to_body) {
Pose pose = drawn_pose();
to_body = back(turn_after(view_turn, pose.orientation));
vec3 size = pose.visible ? size_of(pose) : vec3(0.0);
return body_of(view * pose.position, to_body, size, vec4(pose.color, pose.alpha));
}
vec4 vertex_center, vertex_turn, vertex_size, vertex_color;
void place_row() {
Body body = drawn_body(vertex_turn);
vertex_center = vec4(body.center, is_seen(body) && !is_point(body) ? 1.0 : 0.0);
vertex_size = vec4(body.size, 0.0);
vertex_color = body.color;
gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
vec4 across;
flat out vec4 told_across;
vec4 upward;
flat out vec4 told_upward;
vec4 way;
flat out vec4 told_way;
vec4 from_eye;
flat out vec4 told_from_eye;
vec4 extent;
flat out vec4 told_extent;
vec4 tone_x;
flat out vec4 told_tone_x;
vec4 tone_y;
flat out vec4 told_tone_y;
vec4 tone_z;
flat out vec4 told_tone_z;
float detail(Body body) {
if (!PARALLEL && body.depth <= body.half_depth) return 1.0;
return clamp(body.width_px / 22.0 - 1.0, 0.0, 1.0);
}
`,
    "corners": `void main() {
place_row();
if (vertex_center.w < 0.5) return;
Body body = body_of(vertex_center.xyz, vertex_turn, vertex_size.xyz, vertex_color);
across = vec4(body.right * picture.z, PARALLEL ? 0.5 + 0.5 * lens.w : 0.5 - 0.5 * lens.z);
upward = vec4(body.up * picture.z, PARALLEL ? -0.5 * lens.z : 0.5 * lens.w);
way = vec4(-body.back, picture.z);
from_eye = vec4(body.right * body.center.x + body.up * body.center.y + body.back * body.center.z, body.color.a);
extent = vec4(0.0, 0.0, 0.0, 1.0 / picture.z);
paint(body);
if (OUTLINED) tone_x.w = !PARALLEL && body.depth <= body.half_depth ? -100.0 : -body.width_px;
tone_y.w = 0.5 * picture.x + grid.z;
tone_z.w = 0.5 * picture.y + grid.w;
vec2 low = vec2(-1.0), high = vec2(1.0), margin = 2.0 / picture.xy;
if (PARALLEL || body.depth > body.half_depth) {
low = clamp((body.at - body.spread) * lens.xy - margin, -1.0, 1.0);
high = clamp((body.at + body.spread) * lens.xy + margin, -1.0, 1.0);
}
int corner = gl_VertexID;
{
told_across = across;
told_upward = upward;
told_way = way;
told_from_eye = from_eye;
told_extent = extent;
told_tone_x = tone_x;
told_tone_y = tone_y;
told_tone_z = tone_z;
gl_Position = vec4((corner & 1) == 0 ? low.x : high.x, (corner >> 1) == 0 ? low.y : high.y, 0.0, 1.0);
}
}
`,
    "ray": `flat in vec4 told_across;
#define across told_across
flat in vec4 told_upward;
#define upward told_upward
flat in vec4 told_way;
#define way told_way
flat in vec4 told_from_eye;
#define from_eye told_from_eye
flat in vec4 told_extent;
#define extent told_extent
flat in vec4 told_tone_x;
#define tone_x told_tone_x
flat in vec4 told_tone_y;
#define tone_y told_tone_y
flat in vec4 told_tone_z;
#define tone_z told_tone_z
out vec4 color;
const float FAINT_DEPTH = 0.999999;
float px_move;
`,
    "ray end": `void main() {
vec2 off = gl_FragCoord.xy - vec2(tone_y.w, tone_z.w);
vec3 moved = across.xyz * off.x + upward.xyz * off.y, d = way.xyz, from = from_eye.xyz;
if (PARALLEL) from -= moved; else d += moved;
float nearest = dot(from, d) / dot(d, d);
float ahead = PARALLEL ? 1.0 : inversesqrt(1.0 + dot(off, off) * way.w * way.w);
px_move = PARALLEL ? 1.0 : max(nearest, 1e-12);
float per_px = extent.w / px_move, t, covered;
vec3 p = d * nearest - from;
d *= ahead;
meet(p, d, per_px, t, covered);
float distance = nearest + t * ahead;
float depth = across.w + (PARALLEL ? upward.w * distance : upward.w / distance);
bool is_there = covered > 0.0 && (PARALLEL || distance > 0.0) && depth >= 0.0;
#if FINISH
vec3 place = p + d * t, face, at, half_size, along;
on_surface(place, d, face, at, half_size, along);
vec4 texel_there = texel(at, half_size);
color = vec4(tone_x.rgb * texel_there.rgb, min(covered, 1.0) * texel_there.a);
if (tone_x.w >= 0.0) color.rgb = finished(color.rgb, face, -normalize(along), tone_y.xyz, tone_z.xyz);
#else
color = vec4(shade(p + d * t, d, per_px), min(covered, 1.0));
#endif
#if TRANSPARENT
gl_FragDepth = is_there ? depth : 1.0;
color.a *= from_eye.w;
#else
gl_FragDepth = !is_there ? 1.0 : covered < FAINT_BELOW ? max(depth, FAINT_DEPTH) : depth;
#endif
if (OUTLINED) color.rgb = with_outline(color.rgb, covered - 0.5, -tone_x.w);
}
`,
    "skin paint": `void paint_skin(Body body, float radius) {
float px = (PARALLEL ? 1.0 : max(body.depth, radius)) * picture.z / radius;
tone_x = vec4(body.color.rgb, light_eye.w > 0.5 ? -1.0 : PATTERN * 0.20 * clamp(1.2 - 3.0 * px, 0.0, 1.0));
tone_y.xyz = body.right * light_eye.x + body.up * light_eye.y + body.back * light_eye.z;
tone_z.xyz = body.right * up_eye.x + body.up * up_eye.y + body.back * up_eye.z;
}
`,
    "skin": `vec3 skin(vec3 normal, vec3 d, vec2 from_z) {
if (tone_x.w < 0.0) return tone_x.rgb;
vec2 side = clamp(from_z, -1.0, 1.0);
float tone = 1.0 - tone_x.w * (1.0 - side.x * side.y);
float facing = -dot(normal, d), towards = dot(normal, tone_y.xyz);
float mirrored = 2.0 * facing * towards + dot(tone_y.xyz, d);
return lit_by(tone_x.rgb * tone, towards, dot(normal, tone_z.xyz), mirrored, facing);
}
`,
    "boxes support": `float support(vec3 size, vec3 along) { return dot(size, abs(along)); }
`,
    "boxes size": `vec3 size_of(Pose pose) { return shape_size * pose.scale; }
`,
    "boxes paint": `vec3 face_tone(Body body, int axis) {
if (light_eye.w > 0.5) return body.color.rgb;
vec3 normal = eye_axis(body, axis);
float away = dot(normal, body.sight);
if (away > 0.0) normal = -normal;
return lit(body.color.rgb, normal, 1.0, light_eye.xyz, up_eye.xyz);
}
void paint(Body body) {
#if FINISH
tone_x = vec4(body.color.rgb, light_eye.w > 0.5 ? -1.0 : 0.0);
tone_y.xyz = body.right * light_eye.x + body.up * light_eye.y + body.back * light_eye.z;
tone_z.xyz = body.right * up_eye.x + body.up * up_eye.y + body.back * up_eye.z;
#else
tone_x = vec4(face_tone(body, 0), light_eye.w > 0.5 ? -1.0 : detail(body));
tone_y.xyz = face_tone(body, 1);
tone_z.xyz = face_tone(body, 2);
#endif
extent.xyz = body.size;
across.xyz /= body.size;
upward.xyz /= body.size;
way.xyz /= body.size;
from_eye.xyz /= body.size;
}
`,
    "boxes meet": `const float EDGE_PX = 0.75;
vec3 entry;
float near;
void meet(vec3 p, vec3 d, float per_px, out float t, out float covered) {
vec3 per_d = 1.0 / (d + 1e-20), middle = -p * per_d, half_way = abs(per_d), leave = middle + half_way;
entry = middle - half_way;
t = near = max(max(entry.x, entry.y), entry.z);
float far = min(min(leave.x, leave.y), leave.z);
vec3 moves = per_d * (vec3(equal(entry, vec3(near))) - vec3(equal(leave, vec3(far))));
vec2 slope = vec2(dot(moves, across.xyz), dot(moves, upward.xyz)) * px_move;
covered = (far - near) * inversesqrt(dot(slope, slope)) + 0.5;
}
void on_surface(vec3 q, vec3 d, out vec3 face, out vec3 at, out vec3 half_size, out vec3 along) {
face = -sign(d) * vec3(equal(entry, vec3(near)));
at = clamp(q, -1.0, 1.0);
half_size = extent.xyz;
along = d * half_size;
}
vec3 shade(vec3 q, vec3 d, float per_px) {
vec3 tone = OUTLINED ? tone_x.rgb : entry.x >= max(entry.y, entry.z) ? tone_x.rgb : entry.y >= entry.z ? tone_y.rgb : tone_z.rgb;
if (tone_x.w < 0.0 && !OUTLINED) return tone;
vec3 face = vec3(equal(entry, vec3(near)));
float grazing = 1.0 - abs(dot(face, d * extent.xyz));
if (!OUTLINED) tone += 0.10 * grazing * grazing;
vec3 steep = face / (d + 1e-20), inside = 1.0 - abs(q) + face * 1e9;
vec3 px = abs(across.xyz - d * dot(steep, across.xyz)) + abs(upward.xyz - d * dot(steep, upward.xyz));
px *= (1.0 - face) * px_move;
vec3 border_px = inside / max(px, 1e-9);
if (OUTLINED) return with_outline(tone, min(min(border_px.x, border_px.y), border_px.z) + EDGE_PX, -tone_x.w);
float rim = 1.0 - smoothstep(0.6, 1.8, min(min(border_px.x, border_px.y), border_px.z));
rim *= clamp(0.125 / max(max(px.x, px.y), px.z) - 0.25, 0.0, 1.0);
tone *= 1.0 - 0.10 * tone_x.w * (1.0 - smoothstep(0.0, 0.25, min(min(inside.x, inside.y), inside.z)));
return mix(tone, tone * 0.55 + 0.42, 0.7 * rim * tone_x.w);
}
`,
    "capsules support": `float support(vec3 size, vec3 along) { return size.z * abs(along.z) + size.x * length(along); }
`,
    "capsules size": `vec3 size_of(Pose pose) {
float around = 0.5 * (pose.scale.x + pose.scale.y);
return shape_size * vec3(around, around, pose.scale.z);
}
`,
    "capsules paint": `void paint(Body body) {
paint_skin(body, body.size.x);
extent.xyz = vec3(body.size.x, detail(body), body.size.z);
}
`,
    "capsules meet": `vec3 normal;
void meet(vec3 p, vec3 d, float per_px, out float t, out float covered) {
float radius = extent.x;
float aa = max(dot(d.xy, d.xy), 1e-9), along = -dot(p.xy, d.xy) / aa, z = p.z + d.z * along;
vec3 from = vec3(p.xy, p.z - clamp(z, -extent.z, extent.z)), aside = from - d * dot(from, d);
covered = (radius * radius - dot(aside, aside)) * (0.5 * per_px / radius) + 0.5;
vec2 past = p.xy + d.xy * along;
z -= d.z * sqrt(max(radius * radius - dot(past, past), 0.0) / aa);
from.z = p.z - clamp(z, -extent.z, extent.z);
float nearest = -dot(from, d);
aside = from + d * nearest;
t = nearest - sqrt(max(radius * radius - dot(aside, aside), 0.0));
normal = (from + d * t) / radius;
}
void on_surface(vec3 q, vec3 d, out vec3 face, out vec3 at, out vec3 half_size, out vec3 along) {
at = vec3(q.xy / extent.x, q.z / extent.z);
half_size = extent.xxz;
along = d;
if (abs(at.z) > 1.0) at.z = sign(q.z) * (1.0 + (abs(q.z) - extent.z) / extent.x);
face = normal;
}
vec3 shade(vec3 q, vec3 d, float per_px) { return skin(normal, d, q.xy * per_px); }
`,
    "cylinders support": `float support(vec3 size, vec3 along) { return size.z * abs(along.z) + size.x * length(along.xy); }
`,
    "cylinders meet": `const float EDGE_PX = 0.75;
bool is_end;
void meet(vec3 p, vec3 d, float per_px, out float t, out float covered) {
float radius2 = extent.x * extent.x, per_aa = 1.0 / max(dot(d.xy, d.xy), 1e-9), per_z = 1.0 / (d.z + 1e-20);
float side = -dot(p.xy, d.xy) * per_aa, ends = -p.z * per_z, half_ends = extent.z * abs(per_z);
vec2 past = p.xy + d.xy * side;
float room = radius2 - dot(past, past), enter = side - sqrt(max(room, 0.0) * per_aa);
is_end = ends - half_ends > enter;
t = max(enter, ends - half_ends);
covered = room * (0.5 * per_px / extent.x);
float nearest = clamp(side, ends - half_ends, ends + half_ends);
if (nearest != side) {
past = p.xy + d.xy * nearest;
float from_axis = max(length(past), 1e-9);
vec2 right = across.xy - d.xy * (across.z * per_z), up = upward.xy - d.xy * (upward.z * per_z);
vec2 slope = vec2(dot(past, right), dot(past, up)) * (px_move / from_axis);
covered = min(covered, (extent.x - from_axis) * inversesqrt(dot(slope, slope)));
}
covered += 0.5;
}
void on_surface(vec3 q, vec3 d, out vec3 face, out vec3 at, out vec3 half_size, out vec3 along) {
at = vec3(q.xy / extent.x, q.z / extent.z);
half_size = extent.xxz;
along = d;
face = is_end ? vec3(0.0, 0.0, q.z > 0.0 ? 1.0 : -1.0) : vec3(q.xy / extent.x, 0.0);
}
vec3 shade(vec3 q, vec3 d, float per_px) {
vec3 normal = is_end ? vec3(0.0, 0.0, q.z > 0.0 ? 1.0 : -1.0) : vec3(q.xy / extent.x, 0.0);
vec3 tone = skin(normal, d, q.xy * per_px);
if (tone_x.w < 0.0 && !OUTLINED) return tone;
float from_axis = max(length(q.xy), 1e-9), inside = is_end ? extent.x - from_axis : extent.z - abs(q.z);
vec3 inward = is_end ? vec3(q.xy / from_axis, 0.0) : vec3(0.0, 0.0, 1.0), slide = d / dot(normal, d);
float px = abs(dot(inward, across.xyz - slide * dot(normal, across.xyz)))
+ abs(dot(inward, upward.xyz - slide * dot(normal, upward.xyz)));
inside /= max(px * px_move, 1e-9);
if (OUTLINED) return with_outline(tone, inside + EDGE_PX, -tone_x.w);
float rim = 1.0 - smoothstep(0.6, 1.8, inside);
return mix(tone, tone * 0.55 + 0.42, 0.7 * rim * extent.y);
}
`,
    "ellipsoids support": `float support(vec3 size, vec3 along) { return length(size * along); }
`,
    "ellipsoids paint": `void paint(Body body) {
float radius = pow(body.size.x * body.size.y * body.size.z, 1.0 / 3.0);
paint_skin(body, radius);
extent = vec4(body.size, extent.w * radius);
across.xyz /= body.size;
upward.xyz /= body.size;
way.xyz /= body.size;
from_eye.xyz /= body.size;
}
`,
    "ellipsoids meet": `void meet(vec3 p, vec3 d, float per_px, out float t, out float covered) {
float per_dd = 1.0 / dot(d, d), nearest = -dot(p, d) * per_dd;
vec3 aside = p + d * nearest;
float room = 1.0 - dot(aside, aside);
vec2 slope = vec2(dot(aside, across.xyz), dot(aside, upward.xyz)) * px_move;
covered = 0.5 * room * inversesqrt(max(dot(slope, slope), 1e-12)) + 0.5;
t = nearest - sqrt(max(room, 0.0) * per_dd);
}
void on_surface(vec3 q, vec3 d, out vec3 face, out vec3 at, out vec3 half_size, out vec3 along) {
face = normalize(q * extent.yzx * extent.zxy);
at = q;
half_size = extent.xyz;
along = d * half_size;
}
vec3 shade(vec3 q, vec3 d, float per_px) {
vec3 normal = normalize(q * extent.yzx * extent.zxy);
return skin(normal, d * extent.xyz, q.xy * per_px);
}
`,
    "cones meet": `bool is_disc;
void meet(vec3 p, vec3 d, float per_px, out float t, out float covered) {
float radius = extent.x, half_height = extent.z, slope = 0.5 * radius / half_height, slope2 = slope * slope;
vec3 q = vec3(p.xy, p.z - half_height);
float a = dot(d.xy, d.xy) - slope2 * d.z * d.z, b = dot(q.xy, d.xy) - slope2 * q.z * d.z;
float c = dot(q.xy, q.xy) - slope2 * q.z * q.z, room = b * b - a * c;
a = abs(a) < 1e-9 ? 1e-9 : a;
float middle = -b / a, enter = middle - sqrt(max(room, 0.0)) / a;
if (a < 0.0 && d.z > 0.0) enter = -1e30;
covered = 0.0;
float z = p.z + d.z * middle;
if (a > 0.0 && abs(z) <= half_height) {
vec2 by_b = vec2(dot(across.xy, d.xy) - slope2 * across.z * d.z, dot(upward.xy, d.xy) - slope2 * upward.z * d.z);
vec2 by_c = vec2(dot(q.xy, across.xy) - slope2 * q.z * across.z, dot(q.xy, upward.xy) - slope2 * q.z * upward.z);
vec2 steep = (b * by_b - a * by_c) * (2.0 * px_move);
covered = max(room * inversesqrt(max(dot(steep, steep), 1e-30)) + 0.5, 0.0);
}
float per_z = 1.0 / (d.z + (d.z < 0.0 ? -1e-9 : 1e-9)), at_disc = (-half_height - p.z) * per_z;
vec2 past = p.xy + d.xy * at_disc;
float from_axis = max(length(past), 1e-9);
vec2 right = across.xy - d.xy * (across.z * per_z), up = upward.xy - d.xy * (upward.z * per_z);
vec2 steep = vec2(dot(past, right), dot(past, up)) * (px_move / from_axis);
covered = max(covered, (radius - from_axis) * inversesqrt(max(dot(steep, steep), 1e-30)) + 0.5);
is_disc = d.z > 0.0 && at_disc > enter;
t = is_disc ? at_disc : max(enter, -1e9);
}
vec3 shade(vec3 q, vec3 d, float per_px) {
float slope = 0.5 * extent.x / extent.z;
vec3 side = vec3(q.xy, slope * slope * (extent.z - q.z));
vec3 normal = is_disc ? vec3(0.0, 0.0, -1.0) : side * inversesqrt(max(dot(side, side), 1e-30));
vec3 tone = skin(normal, d, q.xy * per_px);
if (!OUTLINED) return tone;
float from_axis = max(length(q.xy), 1e-9), slant = sqrt(1.0 + slope * slope);
vec2 outward = q.xy / from_axis;
vec3 inward = is_disc ? vec3(outward, 0.0) : vec3(-outward * slope, 1.0) / slant, slide = d / dot(normal, d);
float px = abs(dot(inward, across.xyz - slide * dot(normal, across.xyz)))
+ abs(dot(inward, upward.xyz - slide * dot(normal, upward.xyz)));
float inside = (is_disc ? extent.x - from_axis : (q.z + extent.z) * slant) / max(px * px_move, 1e-9);
return with_outline(tone, inside + 0.75, -tone_x.w);
}
`,
    "polynomial": `const float BASE = 0.612, SQUARE = 0.232;
vec3 brightness_by_normal(vec3 light, vec3 up) { return 0.236 * light + 0.156 * up; }
vec3 lit_by_polynomial(vec3 albedo, float linear, float towards, float mirrored, float facing) {
float brightness = BASE + linear + SQUARE * towards * towards;
float sun = max(towards * 0.85 + 0.15, 0.0);
float gloss = max(mirrored, 0.0);
gloss *= gloss; gloss *= gloss; gloss *= gloss; gloss *= gloss;
float grazing = 1.0 - facing;
vec3 tint = vec3(0.93, 0.98, 1.08) + vec3(0.09, 0.02, -0.14) * (sun * sun);
return albedo * (tint * brightness) + (0.20 * gloss + 0.10 * grazing * grazing);
}
`,
    "ball": `const float FULL_CONTRAST = 0.2;
uniform vec2 range_px;
vec4 ball_of(Pose pose) {
float radius = shape_size.x * mean_scale(pose);
vec3 center = view * pose.position;
vec2 slope = 1.0 / lens.xy, beyond = abs(center.xy) - w_at(-center.z) * slope;
if (!PARALLEL) beyond *= inversesqrt(1.0 + slope * slope);
float front = center.z + radius;
bool seen = pose.visible && radius > 0.0 && (PARALLEL || center.z < radius)
&& lens.z * front + lens.w < w_at(-front) && all(lessThan(beyond, vec2(radius)));
return vec4(center, seen ? radius : 0.0);
}
float width_px(vec4 ball) { return 2.0 * ball.w / (w_at(-ball.z) * picture.z); }
#if WIDE
vec2 stretch(vec3 center, float radius) {
float radius2 = radius * radius, depth2 = center.z * center.z, room2 = depth2 - radius2;
return vec2(sqrt((dot(center, center) - radius2) / room2), depth2 / room2);
}
float length_px(vec4 ball) {
vec2 drawn_out = stretch(ball.xyz, ball.w);
return width_px(ball) * drawn_out.x * sqrt(drawn_out.y);
}
#else
float length_px(vec4 ball) { return width_px(ball); }
#endif
bool fits_point(vec4 ball) {
float depth = -ball.z, w = w_at(depth);
return (PARALLEL || depth > 2.0 * ball.w) && length_px(ball) <= range_px.y && abs(lens.z * ball.z + lens.w) < w
&& all(lessThan(abs(ball.xy) * guard.xy, vec2(0.999 * w)));
}
bool is_drawn_as_point(vec4 ball) {
return ball.w > 0.0 && fits_point(ball) && length_px(ball) > range_px.x;
}
const vec4 NOWHERE = vec4(1.0);
vec3 facing(vec3 v, vec3 to_eye) {
vec3 both = vec3(to_eye.xy, 1.0 + to_eye.z);
return v - both * (dot(both, v) / both.z) + vec3(0.0, 0.0, 2.0 * dot(to_eye, v));
}
vec3 to_eye_from(vec3 center) { return normalize(-sight_to(center)); }
float pattern_depth(float px_in_radii) {
return PATTERN * FULL_CONTRAST * clamp(1.33 - 6.0 * px_in_radii, 0.0, 1.0);
}
`,
    "spheres main": `float point_px;
#if FINISH
uniform vec4 finish;
flat out vec3 shine_by;
#endif
flat out vec4 outline;
flat out vec4 middle;
flat out vec4 front;
flat out vec4 linear;
flat out vec4 light;
flat out vec4 first_axis, second_axis;
const vec3 COOL = vec3(0.93, 0.99, 1.08), SUNNY = vec3(0.09, 0.0, -0.14);
void place_row() {
Pose pose = drawn_pose();
vec4 ball = ball_of(pose);
gl_Position = NOWHERE;
point_px = 0.0;
#if FINISH
shine_by = vec3(finish.x, shine_of(finish.y));
#endif
bool drawn = is_drawn_as_point(ball);
float depth = drawn ? -ball.z : 1.0, radius = drawn ? ball.w : 0.1;
vec3 center = drawn ? ball.xyz : vec3(0.0, 0.0, -1.0);
vec2 tangent = vec2(0.0), at = center.xy;
float along = radius, across = radius, sine = 0.0;
if (!PARALLEL) {
tangent = center.xy / depth;
float room2 = depth * depth - radius * radius, distance2 = dot(center, center);
along = radius * sqrt(distance2 - radius * radius) / room2;
across = radius * inversesqrt(room2);
at = tangent * (depth * depth / room2);
sine = radius * inversesqrt(distance2);
}
float per_along = picture.z / along, per_across = picture.z / across;
float stretch = (per_along - per_across) / max(dot(tangent, tangent), 1e-12);
outline = vec4(per_across + stretch * tangent.x * tangent.x, stretch * tangent.x * tangent.y,
per_across + stretch * tangent.y * tangent.y, 0.5 / per_across);
vec3 to_eye = to_eye_from(center);
middle = vec4(at / picture.z + 0.5 * picture.xy + grid.zw, sine,
light_eye.w > 0.5 ? -1.0 : pattern_depth(per_across));
vec3 tint = light_eye.w > 0.5 ? vec3(1.0) : COOL;
front = vec4(facing(vec3(0.0, 0.0, 1.0), to_eye), pose.color.r * tint.r);
linear = vec4(facing(brightness_by_normal(light_eye.xyz, up_eye.xyz), to_eye), pose.color.g * tint.g);
light = vec4(facing(light_eye.xyz, to_eye), pose.color.b * tint.b);
vec4 turn = turn_after(view_turn, pose.orientation);
first_axis = vec4(facing(rotate(turn, vec3(1.0, 0.0, 0.0)), to_eye) / per_across, pose.color.r * SUNNY.r);
second_axis = vec4(facing(rotate(turn, vec3(0.0, 1.0, 0.0)), to_eye) / per_across, pose.color.b * SUNNY.b);
#if APART
if (drawn) {
point_px = 2.0 * along / picture.z;
gl_Position = vec4(at * guard.xy, (lens.z * center.z + lens.w) / w_at(depth), 1.0);
}
#else
if (drawn) {
point_px = 2.0 * along / picture.z + 1.0;
float radius_depth = -depth_by_metre(depth) * radius;
gl_Position = vec4(at * guard.xy, (lens.z * center.z + lens.w) / w_at(depth), 1.0) / radius_depth;
}
#endif
}
void main() {
place_row();
vec2 side = vec2((gl_VertexID & 1) * 2 - 1, (gl_VertexID >> 1) * 2 - 1);
gl_Position.xy = gl_Position.xy * (lens.xy / guard.xy) + side * (point_px / picture.xy * gl_Position.w);
}
`,
    "spheres pixel": `#if FINISH
flat in vec3 shine_by;
#endif
flat in vec4 outline, middle, front, linear, light, first_axis, second_axis;
out vec4 color;
void main() {
vec2 off = gl_FragCoord.xy - middle.xy;
vec2 side = vec2(outline.x * off.x + outline.y * off.y, outline.y * off.x + outline.z * off.y);
float off2 = dot(side, side);
float covered = (1.0 - off2) * outline.w + 0.5;
float inside_px = covered - 0.5;
float height = sqrt(max(1.0 - off2, 0.0));
vec3 normal = vec3(side * (1.0 - middle.z * height), height + middle.z * off2);
#if APART
if (covered < 0.5) discard;
covered = 0.5 + 0.5 * covered;
#else
float nearer = dot(normal, front.xyz);
float depth = gl_FragCoord.z - gl_FragCoord.w * nearer * (1.0 + middle.z * nearer);
gl_FragDepth = covered < FAINT_BELOW ? max(depth, 1.0 - 2e-6 * covered) : depth;
#endif
vec2 turned = clamp(vec2(dot(normal, first_axis.xyz), dot(normal, second_axis.xyz)), -1.0, 1.0);
float towards = dot(normal, light.xyz), sun = max(towards * 0.85 + 0.15, 0.0), grazing = 1.0 - height;
#if FINISH
float gloss = shine_by.x * (highlight(2.0 * height * towards - light.z, shine_by.yz) + 0.5 * grazing * grazing);
#else
float gloss = max(2.0 * height * towards - light.z, 0.0);
gloss *= gloss; gloss *= gloss; gloss *= gloss; gloss *= gloss;
gloss = 0.20 * gloss + 0.10 * grazing * grazing;
#endif
float tone = (1.0 - middle.w) + middle.w * turned.x * turned.y;
float brightness = (BASE + dot(normal, linear.xyz) + SQUARE * towards * towards) * tone;
float sunny = sun * sun * brightness;
vec3 albedo = vec3(front.w, linear.w, light.w), lit_color = albedo * brightness + gloss;
lit_color.rb += vec2(first_axis.w, second_axis.w) * sunny;
if (OUTLINED) albedo = with_outline(albedo, inside_px, 4.0 * outline.w);
#if APART
covered = min(covered, 1.0);
color = vec4(min(middle.w < 0.0 ? albedo : lit_color, 1.0) * covered, covered);
#else
color = vec4(middle.w < 0.0 ? albedo : lit_color, covered);
#endif
}
`,
    "sphere points main": `#if FINISH
uniform vec4 finish;
flat out vec3 shine_by;
#endif
flat out vec4 outline;
flat out vec4 middle;
flat out vec4 front;
flat out vec4 linear;
flat out vec4 light;
flat out vec4 first_axis, second_axis;
const vec3 COOL = vec3(0.93, 0.99, 1.08), SUNNY = vec3(0.09, 0.0, -0.14);
void main() {
Pose pose = drawn_pose();
vec4 ball = ball_of(pose);
gl_Position = NOWHERE;
gl_PointSize = 1.0;
#if FINISH
shine_by = vec3(finish.x, shine_of(finish.y));
#endif
bool drawn = is_drawn_as_point(ball);
float depth = drawn ? -ball.z : 1.0, radius = drawn ? ball.w : 0.1;
vec3 center = drawn ? ball.xyz : vec3(0.0, 0.0, -1.0);
vec2 tangent = vec2(0.0), at = center.xy;
float along = radius, across = radius, sine = 0.0;
if (!PARALLEL) {
tangent = center.xy / depth;
float room2 = depth * depth - radius * radius, distance2 = dot(center, center);
along = radius * sqrt(distance2 - radius * radius) / room2;
across = radius * inversesqrt(room2);
at = tangent * (depth * depth / room2);
sine = radius * inversesqrt(distance2);
}
float per_along = picture.z / along, per_across = picture.z / across;
float stretch = (per_along - per_across) / max(dot(tangent, tangent), 1e-12);
outline = vec4(per_across + stretch * tangent.x * tangent.x, stretch * tangent.x * tangent.y,
per_across + stretch * tangent.y * tangent.y, 0.5 / per_across);
vec3 to_eye = to_eye_from(center);
middle = vec4(at / picture.z + 0.5 * picture.xy + grid.zw, sine,
light_eye.w > 0.5 ? -1.0 : pattern_depth(per_across));
vec3 tint = light_eye.w > 0.5 ? vec3(1.0) : COOL;
front = vec4(facing(vec3(0.0, 0.0, 1.0), to_eye), pose.color.r * tint.r);
linear = vec4(facing(brightness_by_normal(light_eye.xyz, up_eye.xyz), to_eye), pose.color.g * tint.g);
light = vec4(facing(light_eye.xyz, to_eye), pose.color.b * tint.b);
vec4 turn = turn_after(view_turn, pose.orientation);
first_axis = vec4(facing(rotate(turn, vec3(1.0, 0.0, 0.0)), to_eye) / per_across, pose.color.r * SUNNY.r);
second_axis = vec4(facing(rotate(turn, vec3(0.0, 1.0, 0.0)), to_eye) / per_across, pose.color.b * SUNNY.b);
#if APART
if (drawn) {
gl_PointSize = 2.0 * along / picture.z;
gl_Position = vec4(at * guard.xy, (lens.z * center.z + lens.w) / w_at(depth), 1.0);
}
#else
if (drawn) {
gl_PointSize = 2.0 * along / picture.z + 1.0;
float radius_depth = -depth_by_metre(depth) * radius;
gl_Position = vec4(at * guard.xy, (lens.z * center.z + lens.w) / w_at(depth), 1.0) / radius_depth;
}
#endif
}
`,
    "tones": `#define TONES 0.25
`,
    "point place": `#if WIDE
flat out vec3 circle;
#endif
void place(vec4 ball, bool drawn, float share) {
float side = length_px(ball) * share;
gl_Position = NOWHERE;
vec2 middle = ball.xy;
#if WIDE
vec2 drawn_out = stretch(ball.xyz, ball.w), along = ball.xy * inversesqrt(max(dot(ball.xy, ball.xy), 1e-30));
float narrow = drawn_out.x - 1.0;
circle = vec3(1.0 + narrow * along.y * along.y, narrow * along.x * along.y, 1.0 + narrow * along.x * along.x);
middle *= drawn_out.y;
if (share < 1.0) side *= inversesqrt(drawn_out.x);
#endif
gl_PointSize = drawn ? max(side, 1.0) : 1.0;
if (drawn) gl_Position = vec4(middle * guard.xy, lens.z * ball.z + lens.w, w_at(-ball.z));
}
float radius_depth(vec4 ball) {
return PARALLEL ? -0.5 * lens.z * ball.w : 0.5 * lens.w * ball.w / (ball.z + ball.w);
}
`,
    "circle": `#if WIDE
flat in vec3 circle;
vec2 on_circle() {
vec2 at = gl_PointCoord * 2.0 - 1.0;
return vec2(dot(circle.xy, at), dot(circle.yz, at));
}
#else
vec2 on_circle() { return gl_PointCoord * 2.0 - 1.0; }
#endif
`,
    "one light": `const float ACROSS = 0.63, SQUARES = 1.07;
vec3 light_by_one() { return 0.28 * light_eye.xyz + 0.09 * up_eye.xyz; }
`,
    "square points main": `const float SQUARE_OFFSET = 0.02;
flat out vec3 albedo;
void main() {
Pose pose = drawn_pose();
vec4 ball = ball_of(pose);
bool drawn = is_drawn_as_point(ball);
place(ball, drawn, 0.886);
vec3 to_eye = to_eye_from(ball.xyz), light = facing(light_eye.xyz, to_eye);
float linear = dot(brightness_by_normal(light_eye.xyz, up_eye.xyz), to_eye);
float brightness = BASE + linear * (2.0 / 3.0) + SQUARE * (0.25 + 0.25 * light.z * light.z) + SQUARE_OFFSET;
albedo = pose.color * (light_eye.w > 0.5 ? 1.0 : brightness);
}
`,
    "square points pixel": `flat in vec3 albedo;
out vec4 color;
void main() { color = vec4(albedo, 1.0); }
`,
    "smooth points main": `const vec2 HEIGHT = vec2(1.067, -0.8);
const float ALONG = 0.533;
flat out vec4 albedo;
flat out vec4 shading;
float pattern(float width) { return PATTERN * TONES * clamp(0.4 * width - 2.4, 0.0, 3.5); }
void main() {
Pose pose = drawn_pose();
vec4 ball = ball_of(pose);
float width = width_px(ball);
bool drawn = is_drawn_as_point(ball);
place(ball, drawn, 1.0);
#if OWN_DEPTH
if (drawn) {
gl_Position /= -HEIGHT.y * radius_depth(ball);
gl_Position.z = max(gl_Position.z + HEIGHT.x / HEIGHT.y * 2.0, -0.9999 * gl_Position.w);
}
#endif
vec3 to_eye = to_eye_from(ball.xyz), light = facing(light_by_one(), to_eye) * (1.0 / ACROSS);
vec3 squares = SQUARES * light * light, mixed = 2.0 * SQUARES * light.xxy * light.yzz;
#if SKIN
vec4 turn = turn_after(view_turn, pose.orientation);
vec3 first = facing(rotate(turn, vec3(1.0, 0.0, 0.0)), to_eye) * pattern(width);
vec3 second = facing(rotate(turn, vec3(0.0, 1.0, 0.0)), to_eye);
squares += first * second;
mixed += first.xxy * second.yzz + first.yzz * second.xxy;
#endif
float middle = 1.0 + HEIGHT.x * light.z + squares.z;
shading = vec4(light.xy + ALONG * mixed.yz, HEIGHT.y * light.z + squares.xy - squares.z) * (1.0 / middle);
shading.y = -shading.y;
albedo = vec4(pose.color * (ACROSS * middle), -mixed.x / middle);
if (light_eye.w > 0.5) {
shading = vec4(OUTLINED ? 0.25 * width : 0.0, 0.0, 0.0, 0.0);
albedo = vec4(pose.color, 0.0);
}
}
`,
    "smooth points pixel": `flat in vec4 albedo, shading;
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
`,
    "skin points main": `flat out vec4 light;
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
vec3 unlit = vec3(OUTLINED ? 0.25 * width : 0.0, 0.0, 0.0);
light = vec4(plain ? unlit : facing(light_by_one(), to_eye) * (1.0 / ACROSS), albedo.r);
first_axis = vec4(facing(rotate(turn, vec3(1.0, 0.0, 0.0)), to_eye) * sharpness, albedo.g);
second_axis = vec4(facing(rotate(turn, vec3(0.0, 1.0, 0.0)), to_eye) * sharpness, albedo.b);
}
`,
    "skin points pixel": `const float SQUARES = 1.07;
flat in vec4 light, first_axis, second_axis;
out vec4 color;
void main() {
vec2 at = on_circle();
float off2 = dot(at, at), room = 1.0 - off2;
float height = room * (2.2 + room * (0.9 * room - 2.1));
#if APART
if (off2 > 1.0) discard;
#else
gl_FragDepth = off2 > 1.0 ? 1.0 : gl_FragCoord.z - gl_FragCoord.w * height;
#endif
vec3 normal = vec3(at.x, -at.y, height);
float towards = dot(normal, light.xyz);
float side = clamp(dot(normal, first_axis.xyz) * dot(normal, second_axis.xyz), -1.0, 1.0);
float brightness = (1.0 + towards * (1.0 + SQUARES * towards)) * (1.0 + TONES * side);
vec3 albedo = vec3(light.w, first_axis.w, second_axis.w);
color = vec4(OUTLINED ? with_outline(albedo, room * light.x, 4.0 * light.x) : albedo * brightness, 1.0);
}
`,
    "large spheres main": `vec4 vertex_ball, vertex_first, vertex_second, vertex_albedo;
#if TRANSPARENT
float vertex_alpha;
#endif
void place_row() {
Pose pose = drawn_pose();
#if TRANSPARENT
vertex_alpha = pose.alpha;
#endif
vec4 ball = ball_of(pose);
vertex_ball = vec4(0.0);
vertex_first = vertex_second = vertex_albedo = vec4(0.0);
if (ball.w > 0.0 && !fits_point(ball)) {
vertex_ball = ball;
vec4 turn = turn_after(view_turn, pose.orientation);
float px = (PARALLEL ? 1.0 : max(-ball.z, ball.w)) * picture.z / ball.w;
vertex_first = vec4(rotate(turn, vec3(1.0, 0.0, 0.0)) / px, 1.0 / ball.w);
vertex_second = vec4(rotate(turn, vec3(0.0, 1.0, 0.0)) / px, 0.5 / (ball.w * ball.w * px));
vertex_albedo = vec4(pose.color, light_eye.w > 0.5 ? -1.0 : pattern_depth(px));
}
gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
flat out vec4 ball, first_axis, second_axis, albedo, light, lens_flat;
flat out vec3 middle;
#if TRANSPARENT
flat out float alpha;
#endif
vec2 outline(float sideways, float depth, float radius) {
if (PARALLEL) return vec2(sideways - radius, sideways + radius);
float distance2 = sideways * sideways + depth * depth;
float room2 = distance2 - radius * radius;
if (room2 <= 0.0 || depth * depth <= radius * radius) return vec2(-1e6, 1e6);
float tangent = sqrt(room2);
return vec2((sideways * tangent - depth * radius) / (depth * tangent + sideways * radius),
(sideways * tangent + depth * radius) / (depth * tangent - sideways * radius));
}
void main() {
place_row();
vec4 the_ball = vertex_ball;
if (the_ball.w <= 0.0) return;
vec2 margin = 2.0 / picture.xy;
vec2 across = clamp(outline(the_ball.x, -the_ball.z, the_ball.w) * lens.x + vec2(-1.0, 1.0) * margin.x, -1.0, 1.0);
vec2 along = clamp(outline(the_ball.y, -the_ball.z, the_ball.w) * lens.y + vec2(-1.0, 1.0) * margin.y, -1.0, 1.0);
int corner = gl_VertexID;
{
ball = the_ball;
#if TRANSPARENT
alpha = vertex_alpha;
#endif
first_axis = vertex_first;
second_axis = vertex_second;
albedo = vertex_albedo;
light = vec4(light_eye.xyz, up_eye.y);
lens_flat = vec4(0.5 - 0.5 * lens.z, 0.5 * lens.w, picture.z, up_eye.z);
if (PARALLEL) lens_flat.xy = vec2(0.5 + 0.5 * lens.w, -0.5 * lens.z);
middle = vec3(0.5 * picture.xy + grid.zw, up_eye.x);
gl_Position = vec4(across[corner & 1], along[corner >> 1], 0.0, 1.0);
}
}
`,
    "large spheres pixel": `const float WIDE_PX = 100.0;
flat in vec4 ball;
flat in vec4 first_axis;
flat in vec4 second_axis;
flat in vec4 albedo;
flat in vec4 light;
flat in vec4 lens_flat;
flat in vec3 middle;
#if TRANSPARENT
flat in float alpha;
#endif
out vec4 color;
const float FAINT_DEPTH = 0.999999;
void main() {
vec3 ray = vec3((gl_FragCoord.xy - middle.xy) * lens_flat.z, -1.0), from = ball.xyz;
if (PARALLEL) {
from.xy -= ray.xy;
ray.xy = vec2(0.0);
}
float per_square = 1.0 / dot(ray, ray);
float along = dot(ray, from) * per_square;
vec3 aside = ray * along - from;
float room = ball.w * ball.w - dot(aside, aside);
float inside_px = room * second_axis.w, covered = min(inside_px + 0.5, 1.0);
if (covered <= 0.0) discard;
room = max(room, 0.0);
float distance = along - sqrt(room * per_square);
float depth = PARALLEL ? lens_flat.x + lens_flat.y * distance : lens_flat.x + lens_flat.y / distance;
if (!PARALLEL && distance <= 0.0 || depth < 0.0) discard;
#if TRANSPARENT
gl_FragDepth = depth;
covered *= alpha;
#else
gl_FragDepth = covered < FAINT_BELOW ? max(depth, FAINT_DEPTH) : depth;
#endif
vec3 normal = (ray * distance - from) * first_axis.w;
vec2 side = clamp(vec2(dot(normal, first_axis.xyz), dot(normal, second_axis.xyz)), -1.0, 1.0);
float tone = 1.0 - albedo.w * (1.0 - side.x * side.y);
vec3 up = vec3(middle.z, light.w, lens_flat.w);
float facing = sqrt(room) * first_axis.w;
#if FINISH
float towards = dot(normal, light.xyz), mirrored = 2.0 * normal.z * towards - light.z;
vec3 lit_color = finished_by(albedo.rgb, towards, dot(normal, up), mirrored, facing);
#else
vec3 lit_color = lit(albedo.rgb * tone, normal, facing, light.xyz, up);
#endif
vec3 plain = OUTLINED ? with_outline(albedo.rgb, inside_px, WIDE_PX) : albedo.rgb;
color = vec4(albedo.w < 0.0 ? plain : lit_color, covered);
}
`,
    "planes main": `vec3 center;
vec4 turn;
vec3 half_size;
vec4 base_color;
void place_row() {
Pose pose = drawn_pose();
center = view * pose.position;
turn = turn_after(view_turn, pose.orientation);
half_size = pose.visible && pose.scale.x > 0.0 ? shape_size * pose.scale : vec3(-1.0);
base_color = vec4(pose.color, pose.alpha);
gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
out vec2 on_face;
flat out vec4 half_face;
flat out vec4 deep;
flat out vec3 middle_y;
#if FINISH
flat out vec3 surface;
flat out vec4 facing_by;
flat out vec4 shine_by;
flat out vec3 ray_shine;
flat out vec4 image_at;
#if FINISH == 4
uniform vec3 squares[3];
uniform vec2 lines;
flat out vec4 checker_half, checker_mark;
#endif
#else
out vec3 surface;
#endif
#if FINISH
void finish_face(vec3 normal, vec2 halves, vec3 albedo) {
bool is_lit = light_eye.w < 0.5;
float towards = dot(normal, light_eye.xyz);
vec3 mirror = 2.0 * towards * normal - light_eye.xyz;
surface = is_lit ? finished_by(albedo, towards, dot(normal, up_eye.xyz), 0.0, 1.0) : albedo;
float step = PARALLEL ? 0.0 : picture.z;
facing_by = vec4(-step * normal.xy, normal.z, is_lit ? finish.w : 0.0);
shine_by = vec4(-step * mirror.xy, mirror.z, is_lit ? finish.x : 0.0);
ray_shine = vec3(step * step, shine_of(finish.y));
vec2 right_down = mapping.xy * vec2(1.0, -1.0);
image_at = mapping.z > 0.5 ? vec4(right_down, -0.5, -0.5) : vec4(0.5 * right_down / halves, 0.5 * mapping.xy);
#if FINISH == 4
checker_half = vec4(0.5 * surface * (squares[0] - squares[1]), lines.y);
checker_mark = vec4(surface * squares[2], lines.x);
surface *= 0.5 * (squares[0] + squares[1]);
#endif
}
#endif
void main() {
place_row();
vec2 halves = half_size.xy;
if (halves.x < 0.0) return;
float reach = length(halves);
vec2 slope = 1.0 / lens.xy, beyond = abs(center.xy) - w_at(-center.z) * slope;
if (!PARALLEL) beyond *= inversesqrt(1.0 + slope * slope);
if ((!PARALLEL && center.z > reach) || any(greaterThan(beyond, vec2(reach)))) return;
vec3 x = rotate(turn, vec3(1.0, 0.0, 0.0)), y = rotate(turn, vec3(0.0, 1.0, 0.0)), normal = cross(x, y);
float away = dot(normal, sight_to(center));
if (away > 0.0) normal = -normal;
float bend = 0.5 * lens.w / -abs(away);
vec3 depth = vec3(normal.xy * picture.z, -normal.z) * bend;
depth.z += 0.5 - 0.5 * lens.z;
if (PARALLEL) {
depth = vec3(-normal.xy * picture.z, dot(normal, center)) * (0.5 * lens.z / max(abs(away), 1e-6));
depth.z += 0.5 + 0.5 * lens.w;
}
int corner = gl_VertexID;
{
on_face = halves * vec2((corner & 1) * 2 - 1, (corner >> 1) * 2 - 1);
half_face = vec4(halves, 1.0 / halves);
deep = vec4(depth, 0.5 * picture.x + grid.z);
middle_y = vec3(0.5 * picture.y + grid.w, base_color.a, light_eye.w > 0.5 ? 0.0 : 1.0);
vec3 at = center + x * on_face.x + y * on_face.y;
#if FINISH
finish_face(normal, halves, base_color.rgb);
#else
surface = light_eye.w > 0.5 ? base_color.rgb
: lit(base_color.rgb, normal, max(dot(normal, normalize(-sight_to(at))), 0.0), light_eye.xyz, up_eye.xyz);
#endif
gl_Position = clip_of(at);
}
}
`,
    "planes pixel": `in vec2 on_face;
flat in vec4 half_face, deep;
flat in vec3 middle_y;
#if FINISH
flat in vec3 surface, ray_shine;
flat in vec4 facing_by, shine_by, image_at;
#if FINISH == 2
uniform sampler2D image;
#elif FINISH == 3
uniform samplerCube image;
uniform vec4 mapping;
#elif FINISH == 4
flat in vec4 checker_half, checker_mark;
vec2 squares_in(vec2 at, vec2 width) {
vec2 from_edge = abs(fract(at - 0.25) - 0.5) - 0.25;
return clamp(2.0 * from_edge / width, -1.0, 1.0) * clamp(2.0 - 2.0 * width, 0.0, 1.0);
}
vec2 lines_in(vec2 at, vec2 width, float reach) {
vec2 from_line = abs(fract(at + 0.5) - 0.5);
vec2 one = clamp((reach + 0.5 * width - from_line) / width, vec2(0.0), min(2.0 * reach / width, 1.0));
return mix(one, vec2(2.0 * reach), clamp(2.0 * width - 1.0, 0.0, 1.0));
}
#endif
vec4 image_there(vec2 at, vec2 width) {
#if FINISH == 2
return texture(image, at);
#elif FINISH == 3
return texture(image, vec3(mapping.z > 0.5 ? on_face : on_face * half_face.zw, 0.0));
#else
return vec4(1.0);
#endif
}
vec4 finished_face(vec2 off, vec2 grade) {
vec2 at = on_face * image_at.xy + image_at.zw, width = max(grade * abs(image_at.xy), 1e-6);
#if FINISH == 4
width = max(width, checker_half.w);
vec2 sides = squares_in(at, width), clear = 1.0 - lines_in(at, width, checker_mark.w);
vec4 color = vec4(surface + checker_half.rgb * (sides.x * sides.y), 1.0);
color.rgb = mix(checker_mark.rgb, color.rgb, clear.x * clear.y);
#else
vec4 color = vec4(surface, 1.0) * image_there(at, width);
#endif
float per_length = inversesqrt(1.0 + dot(off, off) * ray_shine.x);
float facing = (dot(off, facing_by.xy) + facing_by.z) * per_length, grazing = 1.0 - clamp(facing, 0.0, 1.0);
float mirrored = (dot(off, shine_by.xy) + shine_by.z) * per_length;
color.rgb += shine_by.w * highlight(mirrored, ray_shine.yz) + facing_by.w * grazing * grazing;
return color;
}
#else
in vec3 surface;
#endif
out vec4 color;
void main() {
vec2 off = gl_FragCoord.xy - vec2(deep.w, middle_y.x), grade = fwidth(on_face), inside = half_face.xy - abs(on_face);
gl_FragDepth = dot(deep.xy, off) + deep.z;
color = vec4(surface, 1.0);
#if FINISH
color = finished_face(off, grade);
#endif
color.a *= middle_y.y;
vec2 px = inside / grade, width_px = 2.0 * half_face.xy / grade;
if (OUTLINED) {
color.rgb = with_outline(color.rgb, min(px.x, px.y), min(width_px.x, width_px.y));
return;
}
vec2 share = inside * half_face.zw;
color.rgb *= 1.0 - 0.10 * middle_y.z * (1.0 - smoothstep(0.0, 0.25, min(share.x, share.y)));
float border = middle_y.z * clamp(min(width_px.x, width_px.y) / 16.0 - 0.25, 0.0, 1.0);
border *= 1.0 - smoothstep(0.6, 1.8, min(px.x, px.y));
color.rgb = mix(color.rgb, color.rgb * 0.55 + 0.42, 0.7 * border);
}
`,
    "shadows main": `vec3 caster;
vec2 dark;
vec4 middles;
vec3 foot_square;
vec3 spot_square;
vec2 on_floor(vec2 way) { return vec2(dot(way, floor_at.zw), dot(way, vec2(-floor_at.w, floor_at.z))); }
vec3 square_of(vec2 rod) { return vec3(rod.x * rod.x, rod.x * rod.y, rod.y * rod.y); }
void cast_shadow(vec3 position, mat3 axes, vec3 size, bool visible) {
float radius = (size.x + size.y + size.z) / 3.0, height = position.z - up_eye.w;
float thin = max(min(size.x, min(size.y, size.z)), 1e-3 * radius);
vec3 rods = sqrt(max(size * size - thin * thin, 0.0)), steep = rods * vec3(axes[0].z, axes[1].z, axes[2].z);
vec3 below = abs(steep);
float gap = (height - thin - below.x - below.y - below.z) / radius;
float raised = clamp((height / radius - 0.05) / (2.0 * 0.05), 0.0, 1.0);
vec2 near = clamp(1.0 - max(gap, 0.0) / vec2(1.9 - 1.0, floor_half.z), 0.0, 1.0);
caster = position;
dark = visible && radius > 0.0 ? vec2(0.42 * near.x * near.x, 0.34 * near.y) * raised : vec2(0.0);
vec2 slope = -light_world.xy / max(light_world.z, 0.4);
foot_square = spot_square = thin * thin * vec3(1.0, 0.0, 1.0);
middles = vec4(0.0, 0.0, on_floor(slope * height));
for (int axis = 0; axis < 3; axis++) {
vec3 rod = axes[axis] * rods[axis];
float share = min(0.5 * radius / max(below[axis], 1e-6 * radius), 1.0);
vec2 lower = on_floor(steep[axis] > 0.0 ? -rod.xy : rod.xy);
middles.xy += lower * (1.0 - share);
foot_square += square_of(lower * share);
spot_square += square_of(on_floor(rod.xy + slope * rod.z));
}
gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
void place_row() {
Pose pose = drawn_pose();
mat3 axes = mat3(rotate(pose.orientation, vec3(1.0, 0.0, 0.0)), rotate(pose.orientation, vec3(0.0, 1.0, 0.0)),
rotate(pose.orientation, vec3(0.0, 0.0, 1.0)));
cast_shadow(pose.position, axes, shape_size * pose.scale, pose.visible && shape_size.z > 0.0);
}
flat out vec2 strength;
out vec2 from_foot;
out vec2 from_spot;
vec2 in_circle(vec2 at, vec3 square) {
float across = sqrt(square.x), lean = square.y / across;
at.x /= across;
return vec2(at.x, (at.y - lean * at.x) * inversesqrt(max(square.z - lean * lean, 1e-6 * square.z)));
}
void main() {
place_row();
if (dark.y <= 0.0) return;
vec3 c = caster;
float side = (PARALLEL ? up_eye.z > 0.0 : up_eye.w < 0.0) ? 1.0 : -1.0;
float lift = PARALLEL ? lens.z * picture.z * 0.33 : lens.w * 0.0004;
vec2 seen = vec2(1.5, 1.25) * sqrt(max(1.0 - sqrt(light_world.w / max(dark, 1e-6)), 0.0));
if (seen.y <= 0.0) return;
vec2 foot = middles.xy, spot = middles.zw;
vec2 reach = seen.y * sqrt(spot_square.xz), low = spot - reach, high = spot + reach;
if (seen.x > 0.0) {
reach = seen.x * sqrt(foot_square.xz);
low = min(low, foot - reach);
high = max(high, foot + reach);
}
vec2 along = floor_at.zw, across = vec2(-along.y, along.x), off = floor_at.xy - c.xy;
vec2 middle = vec2(dot(off, along), dot(off, across));
low = max(low, middle - floor_half.xy);
high = min(high, middle + floor_half.xy);
if (any(greaterThanEqual(low, high))) return;
int corner = gl_VertexID;
{
vec2 place = vec2((corner & 1) == 0 ? low.x : high.x, (corner >> 1) == 0 ? low.y : high.y);
from_foot = in_circle(place - foot, foot_square);
from_spot = in_circle(place - spot, spot_square);
strength = dark;
vec3 at = view * vec3(c.xy + along * place.x + across * place.y, up_eye.w);
gl_Position = clip_of(at);
gl_Position.z += side * (lift - 4.76837158203125e-07 * gl_Position.w);
}
}
`,
    "shadows pixel": `flat in vec2 strength;
in vec2 from_foot, from_spot;
out vec4 color;
void main() {
float foot = max(1.0 - dot(from_foot, from_foot) * (1.0 / (1.5 * 1.5)), 0.0);
float spot = max(1.0 - dot(from_spot, from_spot) * (1.0 / (1.25 * 1.25)), 0.0);
color = vec4(0.0, 0.0, 0.0, strength.x * foot * foot + strength.y * spot * spot);
}
`,
    "mesh row": `vec3 pose_place, pose_x, pose_y, pose_z;
vec4 pose_color;
void read_pose() {
Pose pose = drawn_pose();
vec4 turn = turn_after(view_turn, pose.orientation);
pose_place = view * pose.position;
pose_x = rotate(turn, vec3(pose.scale.x, 0.0, 0.0));
pose_y = rotate(turn, vec3(0.0, pose.scale.y, 0.0));
pose_z = rotate(turn, vec3(0.0, 0.0, pose.scale.z));
pose_color = vec4(pose.color, pose.visible && all(greaterThan(pose.scale, vec3(0.0))) ? pose.alpha : 0.0);
gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
`,
    "mesh vertex": `in vec3 place, normal;
vec3 place_in_eye_space() { return pose_place + pose_x * place.x + pose_y * place.y + pose_z * place.z; }
vec3 normal_in_eye_space() {
vec3 scaled = normal / vec3(dot(pose_x, pose_x), dot(pose_y, pose_y), dot(pose_z, pose_z));
vec3 turned = pose_x * scaled.x + pose_y * scaled.y + pose_z * scaled.z;
return turned * inversesqrt(max(dot(turned, turned), 1e-30));
}
vec4 projected(vec3 at) {
return pose_color.w > 0.0 ? clip_of(at) : vec4(0.0, 0.0, 2.0, 1.0);
}
`,
    "flat tone": `vec3 tone_of(vec3 albedo, vec3 facing) {
return light_eye.w > 0.5 ? albedo : lit(albedo, facing, 1.0, light_eye.xyz, up_eye.xyz);
}
float grazing_light(vec3 normal, vec3 at) {
float grazing = 1.0 - abs(dot(normal, normalize(sight_to(at))));
return light_eye.w > 0.5 ? 0.0 : 0.10 * grazing * grazing;
}
`,
    "smooth faces main": `out vec3 at, turned;
flat out vec3 albedo;
#if TRANSPARENT
flat out float alpha;
#endif
void main() {
read_pose();
at = place_in_eye_space();
turned = normal_in_eye_space();
#if TRANSPARENT
alpha = pose_color.a;
#endif
albedo = pose_color.rgb;
gl_Position = projected(at);
}
`,
    "smooth faces pixel": `in vec3 at, turned;
flat in vec3 albedo;
#if TRANSPARENT
flat in float alpha;
#else
const float alpha = 1.0;
#endif
out vec4 color;
void main() {
color = vec4(albedo, alpha);
if (light_eye.w > 0.5) return;
vec3 facing = normalize(gl_FrontFacing ? turned : -turned);
color.rgb = lit(albedo, facing, clamp(-dot(facing, normalize(sight_to(at))), 0.0, 1.0), light_eye.xyz, up_eye.xyz);
}
`,
    "flat faces main": `out vec3 at;
flat out vec3 turned, tone;
#if TRANSPARENT
flat out float alpha;
#endif
void main() {
read_pose();
#if TRANSPARENT
alpha = pose_color.a;
#endif
at = place_in_eye_space();
turned = normal_in_eye_space();
tone = tone_of(pose_color.rgb, dot(turned, sight_to(at)) > 0.0 ? -turned : turned);
gl_Position = projected(at);
}
`,
    "flat faces pixel": `in vec3 at;
flat in vec3 turned, tone;
#if TRANSPARENT
flat in float alpha;
#else
const float alpha = 1.0;
#endif
out vec4 color;
void main() { color = vec4(tone + grazing_light(turned, at), alpha); }
`,
    "surfaces main": `in vec2 uv;
out vec3 at, on_body;
out vec2 in_image;
SHADING out vec3 turned;
flat out vec4 albedo;
void main() {
read_pose();
at = place_in_eye_space();
on_body = place;
in_image = uv;
turned = normal_in_eye_space();
albedo = pose_color;
gl_Position = projected(at);
}
`,
    "surfaces pixel": `uniform vec3 half_size;
in vec3 at, on_body;
in vec2 in_image;
SHADING in vec3 turned;
flat in vec4 albedo;
out vec4 color;
void main() {
#if FINISH == 2
vec4 there = mapping.w > 0.5 ? texture(image, vec2(in_image.x, 1.0 - in_image.y))
: texel(on_body / half_size, half_size);
#else
vec4 there = texel(on_body, half_size);
#endif
color = albedo * there;
if (light_eye.w > 0.5) return;
vec3 to_eye = normalize(-sight_to(at)), normal = normalize(turned);
color.rgb = finished(color.rgb, dot(normal, to_eye) < 0.0 ? -normal : normal, to_eye, light_eye.xyz, up_eye.xyz);
}
`,
    "edge places": `in vec3 normal;
vec3 place;
vec3 place_in_eye_space() { return pose_place + pose_x * place.x + pose_y * place.y + pose_z * place.z; }
vec3 normal_in_eye_space() {
vec3 scaled = normal / vec3(dot(pose_x, pose_x), dot(pose_y, pose_y), dot(pose_z, pose_z));
vec3 turned = pose_x * scaled.x + pose_y * scaled.y + pose_z * scaled.z;
return turned * inversesqrt(max(dot(turned, turned), 1e-30));
}
vec4 projected(vec3 at) {
return pose_color.w > 0.0 ? clip_of(at) : vec4(0.0, 0.0, 2.0, 1.0);
}
`,
    "silhouettes main": `vec3 corner_at, corner_albedo, corner_tone;
void place_corner() {
corner_at = place_in_eye_space();
corner_albedo = pose_color.rgb;
corner_tone = corner_albedo;
#if !FLAT
vec3 facing = normal_in_eye_space();
if (dot(facing, sight_to(corner_at)) > 0.0) facing = -facing;
if (light_eye.w < 0.5)
corner_tone = lit(corner_albedo, facing, -dot(facing, normalize(sight_to(corner_at))), light_eye.xyz, up_eye.xyz);
#endif
gl_Position = projected(corner_at);
}
vec3 places[4], tones[4];
vec4 clips[4];
out float covered;
out vec3 tone;
vec2 px_of(int corner) { return clips[corner].xy / clips[corner].w * (0.5 * picture.xy); }
vec3 tone_at(int corner) {
#if FLAT
vec3 start = places[1], along = places[2] - start;
vec3 first = cross(along, places[0] - start), second = cross(places[3] - start, along);
vec3 facing = normalize(dot(first, sight_to(start)) < 0.0 ? first : second);
if (dot(facing, sight_to(start)) > 0.0) facing = -facing;
return tone_of(corner_albedo, facing) + grazing_light(facing, places[corner]);
#else
return tones[corner];
#endif
}
void emit_side(int corner, vec2 outward) {
int side = gl_VertexID & 1;
{
gl_Position = clips[corner];
gl_Position.xy += outward * (float(side) * gl_Position.w);
covered = (1.0 - float(side)) * gl_Position.w;
tone = tone_at(corner);
}
}
void draw_edge() {
for (int corner = 0; corner < 4; corner++) {
vec4 place = clips[corner];
if (place.w <= 0.0 || place.z <= -place.w || place.z >= place.w) return;
}
vec2 start = px_of(1), along = px_of(2) - start;
vec2 across = normalize(vec2(-along.y, along.x) + 1e-12);
float one = dot(px_of(0) - start, across), other = dot(px_of(3) - start, across);
if (one * other < 0.0) return;
vec2 outward = across * ((one + other > 0.0 ? -2.0 : 2.0) / picture.xy);
emit_side(1 + ((gl_VertexID >> 1) & 1), outward);
}
in vec3 edge_0, edge_1, edge_2, edge_3;
void main() {
read_pose();
vec3 ends[4] = vec3[4](edge_0, edge_1, edge_2, edge_3);
for (int corner = 0; corner < 4; corner++) {
place = ends[corner];
place_corner();
places[corner] = corner_at;
tones[corner] = corner_tone;
clips[corner] = gl_Position;
}
gl_Position = vec4(0.0, 0.0, 2.0, 1.0);
draw_edge();
}
`,
    "silhouettes pixel": `in float covered;
in vec3 tone;
out vec4 color;
void main() { color = vec4(tone, covered * gl_FragCoord.w); }
`,
    "mesh shadows main": `vec3 caster;
vec2 dark;
vec4 middles;
vec3 foot_square;
vec3 spot_square;
vec2 on_floor(vec2 way) { return vec2(dot(way, floor_at.zw), dot(way, vec2(-floor_at.w, floor_at.z))); }
vec3 square_of(vec2 rod) { return vec3(rod.x * rod.x, rod.x * rod.y, rod.y * rod.y); }
void cast_shadow(vec3 position, mat3 axes, vec3 size, bool visible) {
float radius = (size.x + size.y + size.z) / 3.0, height = position.z - up_eye.w;
float thin = max(min(size.x, min(size.y, size.z)), 1e-3 * radius);
vec3 rods = sqrt(max(size * size - thin * thin, 0.0)), steep = rods * vec3(axes[0].z, axes[1].z, axes[2].z);
vec3 below = abs(steep);
float gap = (height - thin - below.x - below.y - below.z) / radius;
float raised = clamp((height / radius - 0.05) / (2.0 * 0.05), 0.0, 1.0);
vec2 near = clamp(1.0 - max(gap, 0.0) / vec2(1.9 - 1.0, floor_half.z), 0.0, 1.0);
caster = position;
dark = visible && radius > 0.0 ? vec2(0.42 * near.x * near.x, 0.34 * near.y) * raised : vec2(0.0);
vec2 slope = -light_world.xy / max(light_world.z, 0.4);
foot_square = spot_square = thin * thin * vec3(1.0, 0.0, 1.0);
middles = vec4(0.0, 0.0, on_floor(slope * height));
for (int axis = 0; axis < 3; axis++) {
vec3 rod = axes[axis] * rods[axis];
float share = min(0.5 * radius / max(below[axis], 1e-6 * radius), 1.0);
vec2 lower = on_floor(steep[axis] > 0.0 ? -rod.xy : rod.xy);
middles.xy += lower * (1.0 - share);
foot_square += square_of(lower * share);
spot_square += square_of(on_floor(rod.xy + slope * rod.z));
}
gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
uniform vec3 middle, half_size;
void place_row() {
read_pose();
vec3 at = pose_place + pose_x * middle.x + pose_y * middle.y + pose_z * middle.z;
vec3 scale = max(vec3(length(pose_x), length(pose_y), length(pose_z)), 1e-30);
mat3 to_world = transpose(view), axes = to_world * mat3(pose_x / scale.x, pose_y / scale.y, pose_z / scale.z);
cast_shadow(to_world * at, axes, half_size * scale, pose_color.w > 0.0);
}
flat out vec2 strength;
out vec2 from_foot;
out vec2 from_spot;
vec2 in_circle(vec2 at, vec3 square) {
float across = sqrt(square.x), lean = square.y / across;
at.x /= across;
return vec2(at.x, (at.y - lean * at.x) * inversesqrt(max(square.z - lean * lean, 1e-6 * square.z)));
}
void main() {
place_row();
if (dark.y <= 0.0) return;
vec3 c = caster;
float side = (PARALLEL ? up_eye.z > 0.0 : up_eye.w < 0.0) ? 1.0 : -1.0;
float lift = PARALLEL ? lens.z * picture.z * 0.33 : lens.w * 0.0004;
vec2 seen = vec2(1.5, 1.25) * sqrt(max(1.0 - sqrt(light_world.w / max(dark, 1e-6)), 0.0));
if (seen.y <= 0.0) return;
vec2 foot = middles.xy, spot = middles.zw;
vec2 reach = seen.y * sqrt(spot_square.xz), low = spot - reach, high = spot + reach;
if (seen.x > 0.0) {
reach = seen.x * sqrt(foot_square.xz);
low = min(low, foot - reach);
high = max(high, foot + reach);
}
vec2 along = floor_at.zw, across = vec2(-along.y, along.x), off = floor_at.xy - c.xy;
vec2 middle = vec2(dot(off, along), dot(off, across));
low = max(low, middle - floor_half.xy);
high = min(high, middle + floor_half.xy);
if (any(greaterThanEqual(low, high))) return;
int corner = gl_VertexID;
{
vec2 place = vec2((corner & 1) == 0 ? low.x : high.x, (corner >> 1) == 0 ? low.y : high.y);
from_foot = in_circle(place - foot, foot_square);
from_spot = in_circle(place - spot, spot_square);
strength = dark;
vec3 at = view * vec3(c.xy + along * place.x + across * place.y, up_eye.w);
gl_Position = clip_of(at);
gl_Position.z += side * (lift - 4.76837158203125e-07 * gl_Position.w);
}
}
`,
    "grid main": `uniform int lines_each_way;
uniform float spacing;
uniform vec2 nearest;
uniform float radius;
out vec2 from_middle;
void main() {
int line = gl_VertexID / 2;
bool along_x = line < lines_each_way;
float number = float(line % lines_each_way - lines_each_way / 2);
float off = (along_x ? nearest.y : nearest.x) + number * spacing;
float chord = sqrt(max(radius * radius - off * off, 0.0)) * float((gl_VertexID & 1) * 2 - 1);
vec2 at = along_x ? vec2(chord, off) : vec2(off, chord);
from_middle = at / radius;
vec3 seen = view * vec3(grid.xy + at, up_eye.w);
gl_Position = clip_of(seen);
}
`,
    "grid pixel": `uniform vec4 tint;
in vec2 from_middle;
out vec4 color;
void main() {
float inside = max(1.0 - dot(from_middle, from_middle), 0.0);
color = vec4(tint.rgb, tint.a * inside * inside);
}
`,
    "sky main": `out vec3 way;
void main() {
vec2 corner = vec2((gl_VertexID & 1) * 4 - 1, (gl_VertexID >> 1) * 4 - 1);
way = sight_to(vec3(corner / lens.xy, -1.0)) * view;
gl_Position = vec4(corner, 0.0, 1.0);
}
`,
    "sky pixel": `uniform samplerCube sky;
in vec3 way;
out vec4 color;
void main() { color = vec4(texture(sky, way).rgb, 1.0); }
`,
    "lines main": `in vec3 start;
in vec3 end;
in vec4 color;
vec3 from, to;
vec4 tint;
void place_row() {
from = view * start;
to = view * end;
tint = is_finite(start) && is_finite(end) ? color : vec4(0.0);
gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
const float HALF_WIDTH_PX = 1.0;
out float across;
flat out vec4 line_tint;
void main() {
place_row();
vec3 a = from, b = to;
if (tint.a <= 0.0) return;
float near = lens.w / (lens.z - 1.0) * 1.001;
if (!PARALLEL) {
if (-a.z < near && -b.z < near) return;
if (-a.z < near) a = mix(b, a, (-b.z - near) / (a.z - b.z));
if (-b.z < near) b = mix(a, b, (-a.z - near) / (b.z - a.z));
}
vec4 begin = clip_of(a), end = clip_of(b);
vec2 along = (end.xy / end.w - begin.xy / begin.w) * picture.xy;
if (dot(along, along) < 1e-6) return;
vec2 aside = normalize(vec2(-along.y, along.x)) * (2.0 * HALF_WIDTH_PX) / picture.xy;
int corner = gl_VertexID;
{
float side = float((corner & 1) * 2 - 1);
across = side * HALF_WIDTH_PX;
line_tint = tint;
gl_Position = corner >= 2 ? end : begin;
across *= gl_Position.w;
gl_Position.xy += side * aside * gl_Position.w;
}
}
`,
    "lines pixel": `in float across;
flat in vec4 line_tint;
out vec4 color;
void main() { color = vec4(line_tint.rgb, line_tint.a * (1.0 - abs(across * gl_FragCoord.w))); }
`,
};

/** The pieces of each program's two shaders, in order. */
export const PROGRAMS = {
    "poses": {"vertex": ["frame", "pose", "pose main"], "fragment": ["nothing"]},
    "boxes": {"vertex": ["frame", "row", "light", "body", "boxes support", "body end", "boxes size", "body seen", "boxes paint", "corners"], "fragment": ["light", "finish", "outlined", "ray", "boxes meet", "ray end"]},
    "capsules": {"vertex": ["frame", "row", "light", "body", "capsules support", "body end", "capsules size", "body seen", "skin paint", "capsules paint", "corners"], "fragment": ["light", "finish", "outlined", "ray", "skin", "capsules meet", "ray end"]},
    "cylinders": {"vertex": ["frame", "row", "light", "body", "cylinders support", "body end", "capsules size", "body seen", "skin paint", "capsules paint", "corners"], "fragment": ["light", "finish", "outlined", "ray", "skin", "cylinders meet", "ray end"]},
    "ellipsoids": {"vertex": ["frame", "row", "light", "body", "ellipsoids support", "body end", "boxes size", "body seen", "skin paint", "ellipsoids paint", "corners"], "fragment": ["light", "finish", "outlined", "ray", "skin", "ellipsoids meet", "ray end"]},
    "cones": {"vertex": ["frame", "row", "light", "body", "cylinders support", "body end", "capsules size", "body seen", "skin paint", "capsules paint", "corners"], "fragment": ["light", "finish", "outlined", "ray", "skin", "cones meet", "ray end"]},
    "spheres": {"vertex": ["frame", "row", "polynomial", "shine", "ball", "spheres main"], "fragment": ["polynomial", "highlight", "outlined", "spheres pixel"]},
    "sphere points": {"vertex": ["frame", "row", "polynomial", "shine", "ball", "sphere points main"], "fragment": ["polynomial", "highlight", "outlined", "spheres pixel"]},
    "square points": {"vertex": ["frame", "row", "polynomial", "ball", "tones", "point place", "one light", "square points main"], "fragment": ["outlined", "tones", "square points pixel"]},
    "smooth points": {"vertex": ["frame", "row", "polynomial", "ball", "tones", "point place", "one light", "smooth points main"], "fragment": ["outlined", "tones", "circle", "smooth points pixel"]},
    "skin points": {"vertex": ["frame", "row", "polynomial", "ball", "tones", "point place", "one light", "skin points main"], "fragment": ["outlined", "tones", "circle", "skin points pixel"]},
    "large spheres": {"vertex": ["frame", "row", "ball", "large spheres main"], "fragment": ["light", "finish", "outlined", "large spheres pixel"]},
    "planes": {"vertex": ["frame", "row", "light", "finish", "shine", "planes main"], "fragment": ["outlined", "highlight", "planes pixel"]},
    "shadows": {"vertex": ["frame", "row", "shadows main"], "fragment": ["shadows pixel"]},
    "smooth faces": {"vertex": ["frame", "row", "light", "mesh row", "mesh vertex", "smooth faces main"], "fragment": ["frame", "light", "smooth faces pixel"]},
    "flat faces": {"vertex": ["frame", "row", "light", "mesh row", "mesh vertex", "flat tone", "flat faces main"], "fragment": ["frame", "light", "flat tone", "flat faces pixel"]},
    "surfaces": {"vertex": ["frame", "row", "light", "mesh row", "mesh vertex", "surfaces main"], "fragment": ["frame", "light", "finish", "surfaces pixel"]},
    "silhouettes": {"vertex": ["frame", "row", "light", "mesh row", "edge places", "flat tone", "silhouettes main"], "fragment": ["silhouettes pixel"]},
    "mesh shadows": {"vertex": ["frame", "row", "mesh row", "mesh shadows main"], "fragment": ["shadows pixel"]},
    "grid": {"vertex": ["frame", "grid main"], "fragment": ["grid pixel"]},
    "sky": {"vertex": ["frame", "sky main"], "fragment": ["sky pixel"]},
    "lines": {"vertex": ["frame", "finite", "lines main"], "fragment": ["lines pixel"]},
};
