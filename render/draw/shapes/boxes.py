"""Draws boxes by the code of ray_cast.py. Up to three faces of a box are visible. Each face has one tone and bright
edges.

A box is the intersection of three spaces. Each space lies between two parallel planes. In the picture, the outline of a
box is the intersection of three strips. Each strip is parallel to one edge of the box. A ray enters the box where it
enters the last of the three spaces, and leaves the box where it leaves the first of them. The visible face is the one
through which the ray enters the last space. The length of the ray inside the box gives the distance from the pixel to
the outline.
"""

from __future__ import annotations

from twixt.render.draw.shapes.ray_cast import CastShape, PointCast

_SIZE = "vec3 size_of(Pose pose) { return shape_size * pose.scale; }"
_SUPPORT = "float support(vec3 size, vec3 along) { return dot(size, abs(along)); }"
_AROUND = "float around(vec3 size) { return length(size); }"

# EDGE_ON is the least cosine of the angle between the normal of a face and the line of sight. If the cosine is smaller,
# the face is left out. Such a face would be less than a pixel wide, and its depth would not be finite.
_POINT_VERTEX = """
// For each face: x, y: change of depth from one pixel to the next, to the right (x) and up (y); z: depth at the middle;
// w: brightness.
flat out vec4 face_x, face_y, face_z;
// For the strip along each edge: x, y: unit vector across the strip; z: half the strip's width in px, with the soft
// border.
flat out vec4 edge_x, edge_y, edge_z;
flat out vec4 albedo;
const float EDGE_ON = 0.03;
#if FINISH
uniform vec4 finish;
#define SHINES finish
#else
#define SHINES vec4(0.20, 16.0, 0.0, 0.10)
#endif

vec4 face_of(Body body, int axis) {
    vec3 normal = eye_axis(body, axis);
    float away = dot(normal, body.sight);
    if (away > 0.0) normal = -normal;
    float facing = abs(away) * inversesqrt(dot(body.sight, body.sight));
    float tone = light_eye.w > 0.5 ? 1.0 : brightness(normal, facing, light_eye.xyz, up_eye.xyz, SHINES);
    vec4 edge_on = vec4(0.0, 0.0, -1.0, tone);
    if (PARALLEL) {
        if (normal.z < EDGE_ON) return edge_on;
        float steep = 0.5 * lens.z / normal.z;
        return vec4(normal.xy * (-steep * picture.z), window_depth(body.depth) + steep * body.size[axis], tone);
    }
    float ahead = body.size[axis] - abs(away);
    if (ahead > -EDGE_ON * abs(away)) return edge_on;
    float bend = 0.5 * lens.w / ahead;
    float depth = 0.5 - 0.5 * lens.z + bend * (dot(normal.xy, body.lean) - normal.z);
    return vec4(normal.xy * (bend * picture.z), depth, tone);
}

vec3 edge_of(vec2 along, vec2 one, vec2 other) {
    vec2 across = normalize(vec2(-along.y, along.x) + 1e-12);
    return vec3(across, abs(dot(across, one)) + abs(dot(across, other)) + 0.5);
}

void show(Body body, vec2 middle) {
    face_x = face_of(body, 0);
    face_y = face_of(body, 1);
    face_z = face_of(body, 2);
    mat3 edges = mat3(eye_axis(body, 0) * body.size.x, eye_axis(body, 1) * body.size.y, eye_axis(body, 2) * body.size.z);
    float px = 1.0 / body.metres_px;
    vec2 x = (edges[0].xy + body.lean * edges[0].z) * px, y = (edges[1].xy + body.lean * edges[1].z) * px;
    vec2 z = (edges[2].xy + body.lean * edges[2].z) * px;
    edge_x = vec4(edge_of(x, y, z), middle.x);
    edge_y = vec4(edge_of(y, z, x), middle.y);
    edge_z = vec4(edge_of(z, x, y), 0.0);
    albedo = vec4(body.color.rgb, 0.0);
}
"""

_POINT_FRAGMENT = """
flat in vec4 face_x, face_y, face_z, edge_x, edge_y, edge_z, albedo;
void main() {
    vec2 off = gl_FragCoord.xy - vec2(edge_x.w, edge_y.w);
    float x = dot(off, face_x.xy) + face_x.z, y = dot(off, face_y.xy) + face_y.z, z = dot(off, face_z.xy) + face_z.z;
    float depth = max(max(x, y), z);
    float covered = min(edge_x.z - abs(dot(off, edge_x.xy)),
                        min(edge_y.z - abs(dot(off, edge_y.xy)), edge_z.z - abs(dot(off, edge_z.xy))));
    gl_FragDepth = depth_of(depth, covered);
    vec3 tone = albedo.rgb * (x == depth ? face_x.w : y == depth ? face_y.w : face_z.w);
    color = covering(tone, covered, 2.0 * min(min(edge_x.z, edge_y.z), edge_z.z));
}
"""

# The plain quality. Pixels are computed from the three pairs of planes. Because the rays are parallel, the distance
# along the ray to each plane changes by the same amount from each pixel to the next.
_PLAIN_VERTEX = """
// For each pair of planes: how far its middle moves along the ray for a pixel to the right (right), or up (up). w: x
// (in right) or y (in up) of the body's middle in the picture, in px.
flat out vec4 right, up;
flat out vec4 half_way;   // metres along the ray from the middle of each pair to its planes; w: depth at the middle
flat out vec4 tone;       // brightness of the faces; w: change of depth for each metre towards the eye
flat out vec3 albedo;

float tone_of(Body body, int axis, float away) {
    vec3 normal = eye_axis(body, axis) * (away > 0.0 ? -1.0 : 1.0);
    float towards = dot(normal, light_eye.xyz);
    float brightness = BASE + dot(normal, brightness_by_normal(light_eye.xyz, up_eye.xyz)) + SQUARE * towards * towards;
    return light_eye.w > 0.5 ? 1.0 : brightness;
}

void show(Body body, vec2 middle) {
    float per_distance = inversesqrt(dot(body.sight, body.sight));
    vec3 d = body.right * body.sight.x + body.up * body.sight.y + body.back * body.sight.z;
    d *= per_distance;
    // If a ray were parallel to a plane, the division would give NaN.
    vec3 per_d = mix(vec3(1.0), vec3(-1.0), lessThan(d, vec3(0.0))) / max(abs(d), 1e-3);
    // In perspective, rays spread. So from one pixel to the next, the depth along a plane changes more than with
    // parallel rays. The nearer a plane is, the larger this difference is.
    if (!PARALLEL) per_d /= 1.0 - min(abs(per_d) * body.size * per_distance, 0.5);
    right = vec4(body.right * per_d * body.metres_px, middle.x);
    up = vec4(body.up * per_d * body.metres_px, middle.y);
    half_way = vec4(abs(per_d) * body.size, window_depth(body.depth));
    float by_metre = depth_by_metre(body.depth) * (PARALLEL ? 1.0 : body.depth * per_distance);
    tone = vec4(tone_of(body, 0, d.x), tone_of(body, 1, d.y), tone_of(body, 2, d.z), by_metre);
    albedo = body.color.rgb;
}
"""

_PLAIN_FRAGMENT = """
flat in vec4 right, up, half_way, tone;
flat in vec3 albedo;
void main() {
    vec2 off = gl_FragCoord.xy - vec2(right.w, up.w);
    vec3 at = right.xyz * off.x + up.xyz * off.y, enter = half_way.xyz + at, leave = half_way.xyz - at;
    float near = min(min(enter.x, enter.y), enter.z), far = min(min(leave.x, leave.y), leave.z);
    gl_FragDepth = near + far > 0.0 ? half_way.w + tone.w * near : 1.0;
    color = vec4(albedo * (near == enter.x ? tone.x : near == enter.y ? tone.y : tone.z), 1.0);
}
"""

_QUAD_GEOMETRY = """
vec3 face_tone(Body body, int axis) {
    if (light_eye.w > 0.5) return body.color.rgb;
    vec3 normal = eye_axis(body, axis);
    float away = dot(normal, body.sight);
    if (away > 0.0) normal = -normal;
    return lit(body.color.rgb, normal, 1.0, light_eye.xyz, up_eye.xyz);
}

// After this function, positions and directions of rays are divided by half the edges of the box.
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
"""

_QUAD_FRAGMENT = """
const float EDGE_PX = 0.75;  // each of two neighbouring faces draws half of the outline between them
vec3 entry;  // for each pair of planes: length of the ray up to the place where it enters the space between them
float near;  // the largest component of entry

void meet(vec3 p, vec3 d, float per_px, out float t, out float covered) {
    // If a ray is parallel to a plane, the small term avoids NaN. In all other cases it changes no digit.
    vec3 per_d = 1.0 / (d + 1e-20), middle = -p * per_d, half_way = abs(per_d), leave = middle + half_way;
    entry = middle - half_way;
    t = near = max(max(entry.x, entry.y), entry.z);
    float far = min(min(leave.x, leave.y), leave.z);
    // How the length of the ray inside the box changes from one pixel to the next, to the right and up.
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
    // Distance from this place to each border of the face, first in half edges, then in px. A face has no border in the
    // direction of its normal.
    vec3 steep = face / (d + 1e-20), inside = 1.0 - abs(q) + face * 1e9;
    vec3 px = abs(across.xyz - d * dot(steep, across.xyz)) + abs(upward.xyz - d * dot(steep, upward.xyz));
    px *= (1.0 - face) * px_move;
    vec3 border_px = inside / max(px, 1e-9);
    if (OUTLINED) return with_outline(tone, min(min(border_px.x, border_px.y), border_px.z) + EDGE_PX, -tone_x.w);
    float rim = 1.0 - smoothstep(0.6, 1.8, min(min(border_px.x, border_px.y), border_px.z));
    // The rim fades out on a face that is only a few pixels wide. Otherwise it would cover the whole face.
    rim *= clamp(0.125 / max(max(px.x, px.y), px.z) - 0.25, 0.0, 1.0);
    // Near its border, the face is a little darker. At the border it has a bright rim, because worn edges catch light.
    tone *= 1.0 - 0.10 * tone_x.w * (1.0 - smoothstep(0.0, 0.25, min(min(inside.x, inside.y), inside.z)));
    return mix(tone, tone * 0.55 + 0.42, 0.7 * rim * tone_x.w);
}
"""

BOX = CastShape(
    _SIZE,
    _SUPPORT,
    _AROUND,
    PointCast(_POINT_VERTEX, _POINT_FRAGMENT),
    PointCast(_PLAIN_VERTEX, _PLAIN_FRAGMENT),
    _QUAD_GEOMETRY,
    _QUAD_FRAGMENT,
)
