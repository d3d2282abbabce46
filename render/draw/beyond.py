"""Whether any sphere is wider than a program of points draws: asked of the GPU in each picture, of all spheres.

The one idea: the answer is an occlusion query over a draw in which each such sphere is a point and all others are
clipped away. It needs places and sizes alone, and nothing reaches a pixel: 0.02 us a body where a draw of
rectangles that are not there takes 0.13. So the few large spheres of a picture are never missing, and those
pictures that have none (most) do not pay for them.

Always: yes if a sphere that is seen does not fit. A yes too many costs a draw of nothing, so what is dear in a pose is
left out: the straight way stands for the curved, with room for its bulge.
"""

from __future__ import annotations

import moderngl

from twixt.render.draw.pose import PoseVariant
from twixt.render.draw.sphere_glsl import sphere_vertex_glsl

# A cubic leaves the straight way by s (1 - s)^2 and s^2 (1 - s) of what each velocity is off the mean: 4/27 at most.
_VERTEX = """
void main() {
    bool continues = gl_VertexID < counts.y && ((older_place.w ^ newer_place.w) & CONTINUITY) == 0u
                     && is_finite(newer_place, newer_orientation, newer_scale);
    vec3 older = uintBitsToFloat(older_place.xyz), way = uintBitsToFloat(newer_place.xyz) - older;
    float bulge = 0.0, scale = abs(older_scale);
    vec3 position = place_from_eye(older);
    if (continues) {
        position += way * mix(shares.x, shares.y, shares.z);
        scale = max(scale, abs(newer_scale));
#if !STRAIGHT
        if ((older_motion.w & newer_motion.w & HAS_VELOCITY) != 0u
            && is_below(older_motion.xyz, FARTHEST) && is_below(newer_motion.xyz, FARTHEST))
            bulge = 0.149 * (length(gaps.x * uintBitsToFloat(older_motion.xyz) - way)
                             + length(gaps.x * uintBitsToFloat(newer_motion.xyz) - way));
#endif
    }
    vec4 ball = vec4(view * position, shape_size.x * scale);
    float depth = -ball.z;
    bulge += 1e-5 * abs(depth);
    // Nearer and farther out by the bulge.
    float nearest = depth - bulge;
    float wide = 1.0;
#if WIDE
    vec2 drawn_out = stretch(vec3(abs(ball.xy) + bulge, nearest), ball.w);
    wide = drawn_out.x * sqrt(drawn_out.y);
#endif
    bool fits = nearest > 2.0 * ball.w && 2.0 * ball.w * wide <= range_px.y * picture.z * nearest
                && abs(lens.z * ball.z + lens.w) < nearest
                && all(lessThan((abs(ball.xy) + bulge) * guard.xy, vec2(0.999 * nearest)));
    vec2 beyond = (abs(ball.xy) + ball.z / lens.xy) * inversesqrt(1.0 + 1.0 / (lens.xy * lens.xy));
    bool seen = (older_motion.w & VISIBLE) != 0u && ball.z < ball.w + bulge
                && all(lessThan(beyond, vec2(ball.w + 2.0 * bulge)));
    gl_PointSize = 1.0;
    // The near plane: seen wherever anything stands.
    gl_Position = seen && !fits ? vec4(0.0, 0.0, -1.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
}
"""
# Drawn with blending: changes no pixel.
_FRAGMENT = """#version 330 core
out vec4 color;
void main() { color = vec4(0.0); }
"""


def beyond_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Takes GL_POINTS of bodies; a sample passes for each sphere that does not fit a point of `range_px.y`."""
    vertex = f"#define STRAIGHT {int(variant.way == 'linear')}\n" + _VERTEX
    return context.program(vertex_shader=sphere_vertex_glsl(variant, vertex), fragment_shader=_FRAGMENT)
