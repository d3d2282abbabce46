"""Composes a picture: darkens surfaces in shadow, and computes the mean of each pixel's samples.

All bodies are first drawn fully lit into a separate target. Then one pass over the picture's pixels computes the
position and normal of each pixel from the depths, and tests whether the light reaches this position. So shadows fall on
every surface, and the programs of bodies do not have to handle shadows. The surface's normal determines which share of
its brightness comes from the sun (glsl/light.py). A shadow removes exactly this share. If the surface faces away from
the light, the shadow removes nothing. The ground has no depth. If a pixel shows the ground, its position is the point
where the pixel's ray meets the ground.

- Soft shadows: each pixel's position is compared with the shadow map at TAPS points, which are spread over a disc. Each
  comparison interpolates between four pixels of the map (percentage closer filtering, Reeves 1987). To avoid
  self-shadowing, the position is moved along the normal by the width of the disc on the surface.
- Contact shading: nearby surfaces block the sky's light (screen-space ambient occlusion: Mittring 2007, Bavoil 2008).
  Contact shading dims only the hemisphere light.
- Multisampling: all samples of a pixel share one shade, unless they lie on different surfaces.

If nothing in a picture is in shadow, its colours do not change. Depth is also written, for later draws.
"""

from __future__ import annotations

import math
from itertools import product, starmap
from typing import NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.render.draw.frame.camera import CameraMatrices
from twixt.render.draw.frame.frame_block import FRAME_BINDING
from twixt.render.draw.glsl.light import LIGHT_GLSL, SHADED_GLSL
from twixt.render.draw.glsl.uniform_blocks import FRAME_GLSL

# TAPS: number of comparisons for the soft edge of a shadow, a multiple of three. SOFT_PX: half the width of this edge,
# in pixels of the map.
TAPS, SOFT_PX = 24, 5.0
# In contact shading, a point is darkened by surfaces within a radius. If the point is as far away as the camera's
# target, the radius is this share of half the picture's height.
CONTACT_SHARE = 0.15
# In contact shading, a point is darkened by surfaces within a radius. This is the largest such radius in the picture,
# in px.
WIDEST_PX = 96
COLORS, DEPTHS, MAP = 0, 1, 2  # texture units

_VERTEX = """
void main() {
    gl_Position = vec4(vec2((gl_VertexID & 1) * 4 - 1, (gl_VertexID >> 1) * 4 - 1), 0.0, 1.0);
}
"""

_PLACES = """
#if SAMPLES > 1
uniform sampler2DMS colors, depths;
#else
uniform sampler2D colors, depths;
#endif
uniform bool has_ground;

// Pixels of which less than half is covered have this depth or a larger one, see FAINT_DEPTH in ray_cast.py.
const float BACKGROUND = 0.999997;

struct Surface {
    vec3 place;      // eye space, metres
    bool is_ground;
    bool is_there;
};

float depth_of(ivec2 px, int number) { return texelFetch(depths, px, number).r; }

// Surface at the middle of a pixel. depth: window depth, 0..1.
Surface surface_at(ivec2 px, float depth) {
    Surface found;
    vec2 aside = ((vec2(px) + 0.5 - grid.zw) * 2.0 / picture.xy - 1.0) / lens.xy;
    vec3 start = PARALLEL ? vec3(aside, 0.0) : vec3(0.0), way = PARALLEL ? vec3(0.0, 0.0, -1.0) : vec3(aside, -1.0);
    float seen = 2.0 * depth - 1.0, far = PARALLEL ? (lens.w - seen) / lens.z : lens.w / (seen + lens.z);
    found.is_there = depth < BACKGROUND;
    found.is_ground = !found.is_there && has_ground;
    if (found.is_ground) {
        far = (up_eye.w - dot(up_eye.xyz, start)) / min(dot(up_eye.xyz, way), -1e-6);
        found.is_there = dot(up_eye.xyz, way) < -1e-6 && (PARALLEL || far > 0.0);
    }
    found.place = start + way * far;
    return found;
}

Surface surface_near(ivec2 px) {
    px = clamp(px, ivec2(grid.zw), ivec2(grid.zw + picture.xy) - 1);
    return surface_at(px, depth_of(px, 0));
}

// The step to the neighbouring pixel, on the side where depths continue linearly. Depths of one flat surface are
// linear over the picture.
vec3 step_along(Surface here, ivec2 px, ivec2 way) {
    float depth = depth_of(px, 0);
    float off_back = abs(depth_of(px - way * 2, 0) + depth - 2.0 * depth_of(px - way, 0));
    float off_forth = abs(depth_of(px + way * 2, 0) + depth - 2.0 * depth_of(px + way, 0));
    return off_back < off_forth ? here.place - surface_near(px - way).place : surface_near(px + way).place - here.place;
}

vec3 normal_of(Surface here, ivec2 px) {
    if (here.is_ground) return up_eye.xyz;
    vec3 across = cross(step_along(here, px, ivec2(1, 0)), step_along(here, px, ivec2(0, 1)));
    vec3 normal = across * inversesqrt(max(dot(across, across), 1e-30));
    return dot(normal, sight_to(here.place)) > 0.0 ? -normal : normal;
}

// Largest error of a place that is caused by the steps of a 24-bit depth buffer, metres.
float rounding_m(vec3 place) {
    return 1.2e-7 * (PARALLEL ? 1.0 / abs(lens.z) : place.z * place.z / abs(lens.w));
}
"""

_SHADOW = """
uniform sampler2DShadow map;
uniform mat4 to_map;
// A pixel of the map: x in metres, y as a share of the map's side. z: share of the map's depth per metre.
uniform vec3 map_px;

// Share of the light that reaches a place. towards: cosine of the angle between the normal and the light.
float lit_share(vec3 place, vec3 normal, float towards) {
    if (towards <= 0.0) return 1.0;  // no light to remove, see `light_left`
    float sine = sqrt(max(1.0 - towards * towards, 0.0));
    float off_m = map_px.x * (SOFT_PX * sine + 1.0) + 4.0 * rounding_m(place);
    vec3 at = (to_map * vec4(place + normal * off_m, 1.0)).xyz;
    vec2 inside = min(at.xy, 1.0 - at.xy);
    if (min(inside.x, inside.y) <= 0.0) return 1.0;
    // All bodies are within the depth of the map, but surfaces behind the map may also be in their shadow.
    at.z = min(at.z - 0.5 * map_px.x * map_px.z, 0.999999);
    // A third of the comparisons is made first. If they agree, as they do nearly everywhere, the other comparisons
    // would agree too.
    float lit = 0.0, soft = SOFT_PX * map_px.y;
    for (int tap = 1; tap < TAPS; tap += 3) lit += texture(map, vec3(at.xy + DISC[tap] * soft, at.z));
    if (lit > 0.0 && lit < float(TAPS / 3)) {
        for (int tap = 0; tap < TAPS; tap += 3)
            lit += texture(map, vec3(at.xy + DISC[tap] * soft, at.z)) + texture(map, vec3(at.xy + DISC[tap + 2] * soft, at.z));
    } else {
        lit *= 3.0;
    }
    // Shadows fade out towards the border of the map. They also fade where the light grazes a surface, because the
    // surface then gets little light.
    float strength = smoothstep(0.0, 0.04, min(inside.x, inside.y)) * smoothstep(0.0, 0.2, towards);
    return 1.0 - strength * (1.0 - lit * (1.0 / float(TAPS)));
}
"""

_CONTACT = """
uniform float contact_m;
const float FARTHER[4] = float[4](0.125, 0.625, 0.875, 0.375);

// Share of the sky's light that neighbouring surfaces do not block.
float open_share(Surface here, vec3 normal, ivec2 px) {
    float width_px = min(contact_m / (w_at(-here.place.z) * picture.z), WIDEST_PX);
    if (width_px < 2.0) return 1.0;
    float reach_m = width_px * w_at(-here.place.z) * picture.z;
    // The four pixels of a quad look in different directions and to different distances, to sample more places.
    int corner = (px.x & 1) + 2 * (px.y & 1);
    float turn = (6.2831853 / 32.0) * float(corner), farther = FARTHER[corner], hidden = 0.0;
    vec2 way_px = vec2(cos(turn), sin(turn)) * (0.5 * width_px);
    for (int direction = 0; direction < 8; direction++) {
        for (int ring = 0; ring < 2; ring++) {
            Surface near = surface_near(px + ivec2(round(way_px * (float(ring) + farther))));
            vec3 way = near.place - here.place;
            float way2 = max(dot(way, way), 1e-20), above = dot(way, normal) * inversesqrt(way2);
            if (near.is_there) hidden += max(above - 0.12, 0.0) * max(1.0 - way2 / (reach_m * reach_m), 0.0);
        }
        way_px = vec2(way_px.x - way_px.y, way_px.x + way_px.y) * 0.70710678;
    }
    return max(1.0 - hidden * (4.0 / 16.0), 0.15);
}

// Mean of a value over the pixels of a quad that show the same surface (McGuire 2012).
float mean_of_quad(float value, float far, float same_m, ivec2 px) {
    float step_m = abs(dFdx(far)), slope = dFdx(value);
    if (step_m < same_m) value -= slope * (float(px.x & 1) - 0.5);
    step_m = abs(dFdy(far));
    slope = dFdy(value);
    if (step_m < same_m) value -= slope * (float(px.y & 1) - 0.5);
    return value;
}
"""

_NO_CONTACT = """
float open_share(Surface here, vec3 normal, ivec2 px) { return 1.0; }
float mean_of_quad(float value, float far, float same_m, ivec2 px) { return value; }
const float contact_m = 0.0;
"""

_MAIN = """
out vec4 color;

// open: share of the sky's light that reaches the surface. This share is the same for all samples of a pixel.
vec3 shade_of(Surface here, vec3 normal, float open) {
    float towards = dot(normal, light_eye.xyz);
    if (!here.is_there) return vec3(1.0);
    vec3 left = light_left(lit_share(here.place, normal, towards), open, towards, dot(normal, up_eye.xyz));
    // The ground is not drawn in warm light, so its shadows are made less cool.
    return here.is_ground ? mix(vec3(dot(left, vec3(1.0 / 3.0))), left, 0.4) : left;
}

void main() {
    ivec2 px = ivec2(gl_FragCoord.xy);
    float depth = depth_of(px, 0);
    gl_FragDepth = depth;
    Surface here = surface_at(px, depth);
    vec3 normal = normal_of(here, px);
    float open = CONTACT && here.is_there ? open_share(here, normal, px) : 1.0;
    if (CONTACT) open = mean_of_quad(open, here.place.z, 0.2 * contact_m, px);
#if SAMPLES > 1
    float nearest = depth, farthest = depth;
    vec3 sum = texelFetch(colors, px, 0).rgb;
    for (int number = 1; number < SAMPLES; number++) {
        float other = depth_of(px, number);
        nearest = min(nearest, other);
        farthest = max(farthest, other);
        sum += texelFetch(colors, px, number).rgb;
    }
    Surface front = surface_at(px, nearest), back = surface_at(px, farthest);
    float span_m = w_at(-front.place.z) * picture.z;
    bool is_one = nearest >= BACKGROUND || (farthest < BACKGROUND && front.place.z - back.place.z < 8.0 * span_m);
    if (is_one) {
        sum *= shade_of(here, normal, open);
    } else {
        sum = vec3(0.0);
        for (int number = 0; number < SAMPLES; number++) {
            Surface one = surface_at(px, depth_of(px, number));
            sum += texelFetch(colors, px, number).rgb * shade_of(one, normal_of(one, px), open);
        }
    }
    color = vec4(sum * (1.0 / float(SAMPLES)), 1.0);
#else
    color = vec4(texelFetch(colors, px, 0).rgb * shade_of(here, normal, open), 1.0);
#endif
}
"""


class Shading(NamedTuple):
    """Options for composing a picture. samples: number of samples of each pixel. is_parallel: True if the camera is
    orthographic."""

    samples: int
    is_parallel: bool
    has_contact: bool


# All combinations of options that the quality levels use.
SHADINGS = tuple(starmap(Shading, product((1, 4), (False, True), (False, True))))


class Composer:
    """Shades the samples of a target. Draws the result as the pixels of a picture into the current framebuffer."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._made: dict[Shading, moderngl.VertexArray] = {}

    def compose(
        self, shading: Shading, scene: Scene, camera: CameraMatrices, matrix: NDArray[np.float64], map_px: int
    ) -> None:
        """Composes a picture of this scene and camera. The camera's uniform block must be bound, and also the colours,
        the depths and the shadow map.

        matrix: (4, 4), converts from eye space to the shadow map. map_px: side of the shadow map in px.
        """
        array = self._array(shading)
        program = array.program
        program["to_map"].write(matrix.T.astype(np.float32).tobytes())  # type: ignore[union-attr]
        per_metre = np.linalg.norm(matrix[:3, :3], axis=1)
        program["map_px"] = 1 / (map_px * float(per_metre[0])), 1 / map_px, float(per_metre[2])
        program["has_ground"] = scene.ground_z is not None and _is_over(camera, scene.ground_z)
        if shading.has_contact:
            away_m = 1.0 if camera.orthographic else math.dist(camera.eye, camera.target)
            program["contact_m"] = CONTACT_SHARE * away_m / float(camera.projection[1, 1])
        self._context.enable_only(moderngl.DEPTH_TEST)
        self._context.depth_func = "1"  # every pixel passes the depth test, so that its depth is written
        array.render(moderngl.TRIANGLES, vertices=3)
        self._context.depth_func = "<"

    def _array(self, shading: Shading) -> moderngl.VertexArray:
        array = self._made.get(shading)
        if array is None:
            program = compose_program(self._context, shading)
            program["Frame"].binding = FRAME_BINDING  # type: ignore[union-attr]
            program["colors"], program["depths"], program["map"] = COLORS, DEPTHS, MAP
            array = self._made[shading] = self._context.vertex_array(program, [])
        return array


def compose_program(context: moderngl.Context, shading: Shading) -> moderngl.Program:
    """Returns the program that composes a picture. Draw it with GL_TRIANGLES and three vertices without attributes."""
    return context.program(vertex_shader="#version 330 core\n" + _VERTEX, fragment_shader=_fragment(shading))


def _is_over(camera: CameraMatrices, ground: float) -> bool:
    """Returns True if the camera sees the ground's upper side."""
    return bool(camera.view[2, 2] > 0) if camera.orthographic else camera.eye[2] > ground


def _fragment(shading: Shading) -> str:
    defined = {"SAMPLES": shading.samples, "PARALLEL": str(shading.is_parallel).lower(), "TAPS": TAPS}
    defined |= {"CONTACT": str(shading.has_contact).lower(), "SOFT_PX": SOFT_PX, "WIDEST_PX": f"{WIDEST_PX}.0"}
    head = "".join(f"#define {name} {value}\n" for name, value in defined.items())
    contact = _CONTACT if shading.has_contact else _NO_CONTACT
    return "\n".join(
        ["#version 330 core", head, FRAME_GLSL, LIGHT_GLSL, SHADED_GLSL, _disc(), _PLACES, _SHADOW, contact, _MAIN]
    )


def _disc() -> str:
    """Returns a GLSL array of points that are spread evenly over the unit disc, on a spiral (Vogel 1979)."""
    turn = math.pi * (3 - math.sqrt(5))
    places = [(math.sqrt((n + 0.5) / TAPS), n * turn) for n in range(TAPS)]
    listed = ", ".join(f"vec2({away * math.cos(angle):.5f}, {away * math.sin(angle):.5f})" for away, angle in places)
    return f"const vec2 DISC[{TAPS}] = vec2[{TAPS}]({listed});\n"
