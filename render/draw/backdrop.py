"""What stands behind the bodies: the background and, in scenes with a ground, its grid of lines.

The one idea: it changes only with the camera, so it is drawn once into a texture of its own, with all the
care a pixel can get, and each frame begins with a copy of it instead of a clear.
The ground hides nothing: it is a backdrop, and bodies below it are seen.

Always: without a ground the backdrop is exactly the scene's background colour, in every pixel.
"""

from __future__ import annotations

import math

import moderngl

from twixt.ipc.scene import Scene
from twixt.render.camera import CameraMatrices
from twixt.render.draw.pose import FRAME_GLSL

_VERTEX = """#version 330 core
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0); }
"""

_FRAGMENT = (
    "#version 330 core\n"
    + FRAME_GLSL
    + """
uniform vec3 focus;     // where the light pool lies: the camera's target on the ground
uniform float spacing;  // metres between the finer lines; every fifth is a stronger one
uniform float reach;    // metres after which the ground has faded out
out vec4 color;

// How much of a pixel lines at multiples of 1 cover; px: pixel size in those units.
float line(vec2 at, vec2 px, float width_px) {
    vec2 off = abs(fract(at - 0.5) - 0.5) / px;
    vec2 cover = clamp(0.5 * width_px + 0.5 - off, 0.0, 1.0) * clamp(1.5 - 4.0 * px, 0.0, 1.0);
    return max(cover.x, cover.y);
}

void main() {
    vec2 across = (gl_FragCoord.xy - 0.5 * picture.xy) * picture.z;
    vec3 ray = transpose(mat3(view)) * vec3(across, -1.0);
    vec3 direction = normalize(ray);
    float high = clamp(direction.z, -1.0, 1.0);
    vec3 base = background.rgb * (1.0 + 0.9 * smoothstep(-0.5, 0.35, high));
    float away = (up_eye.w - eye_world.z) / ray.z;
    vec3 light = base;
    vec2 px = fwidth(eye_world.xy + ray.xy * away);
    if (away > 0.0) {
        vec2 at = eye_world.xy + ray.xy * away;
        vec2 from_focus = at - focus.xy;
        float fade = exp(-dot(from_focus, from_focus) / (reach * reach));
        vec3 ground = background.rgb * 1.0 + vec3(0.030, 0.033, 0.038) * fade;
        float fine = line(at / spacing, px / spacing, 1.0);
        float coarse = line(at / (5.0 * spacing), px / (5.0 * spacing), 1.4);
        ground += vec3(0.055, 0.062, 0.075) * fade * max(0.55 * fine, 1.3 * coarse);
        light = mix(base, ground, smoothstep(0.0, 0.12, abs(high)));
    }
    // A hint of noise under one display step: a dark gradient shows no bands.
    float noise = fract(sin(dot(gl_FragCoord.xy, vec2(12.9898, 78.233))) * 43758.5453) - 0.5;
    color = vec4(sqrt(max(light, 0.0)) + noise / 255.0, 1.0);
}
"""
)

# Finest lines are spaced so that about this many lie within the camera's distance.
LINES_PER_DISTANCE = 16
# The ground fades out over this many camera distances.
REACH_DISTANCES = 1.6


class Backdrop:
    """A picture without bodies, kept until camera, size or scene change."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._program = context.program(vertex_shader=_VERTEX, fragment_shader=_FRAGMENT)
        self._vertex_array = context.vertex_array(self._program, [])
        self._framebuffer: moderngl.Framebuffer | None = None
        self._drawn_for: object = None

    def bind_frame(self, binding: int) -> None:
        """Tells which uniform binding holds the frame's block."""
        self._program["Frame"].binding = binding  # type: ignore[union-attr]

    def forget(self) -> None:
        """Draws anew at the next frame: the scene has changed."""
        self._drawn_for = None

    def draw(self, target: moderngl.Framebuffer, scene: Scene, camera: CameraMatrices, size_px: tuple[int, int]) -> None:
        """Fills the whole of `target`, its depth too."""
        if scene.ground is None:
            target.clear(*scene.background, 1.0, depth=1.0)
            return
        if self._framebuffer is None or self._framebuffer.size != size_px:
            if self._framebuffer is not None:
                self._framebuffer.release()
            self._framebuffer = self._context.framebuffer([self._context.texture(size_px, 4)])
            self._drawn_for = None
        drawn_for = (camera.view.tobytes(), camera.projection.tobytes())
        if self._drawn_for != drawn_for:
            eye_distance_m = math.dist(camera.eye, camera.target)
            self._program["focus"] = camera.target
            self._program["spacing"] = grid_spacing_m(eye_distance_m)
            self._program["reach"] = eye_distance_m * REACH_DISTANCES
            self._framebuffer.use()
            self._context.disable(moderngl.DEPTH_TEST | moderngl.BLEND)
            self._vertex_array.render(moderngl.TRIANGLES, vertices=3)
            self._drawn_for = drawn_for
        target.clear(depth=1.0)
        self._context.copy_framebuffer(target, self._framebuffer)
        target.use()


def grid_spacing_m(eye_distance_m: float) -> float:
    """The distance between the finest lines: 1 or 5 times a power of ten, so that a wheel notch does not change it."""
    decade = 10.0 ** math.floor(math.log10(eye_distance_m / LINES_PER_DISTANCE))
    return decade * 5 if eye_distance_m / LINES_PER_DISTANCE >= 5 * decade else decade
