"""Draws moving spheres, boxes and capsules in a minimal way. The viewer's drawing is compared with this drawing.

The vertex shader blends two buffers of positions. For boxes and capsules, it also blends two buffers of quaternions.
Each body is drawn as one point. A pixel of a sphere is shaded by its place in the point. A pixel of a box or a capsule
casts a ray. All bodies have one size and one colour, are visible, and have hard edges. All pixels of a body have the
depth of its point. The background is only cleared.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.render.draw.bodies import body_draws
from twixt.render.draw.frame.camera import CameraMatrices

Viewport = tuple[int, int, int, int]
Vector = tuple[float, float, float]
COLOR: Vector = (0.9, 0.5, 0.3)

_SPHERE_VERTEX = """#version 330 core
uniform mat4 to_clip;
uniform float alpha;
uniform float width_px;   // of a sphere at 1 m
in vec3 older;
in vec3 newer;
void main() {
    gl_Position = to_clip * vec4(mix(older, newer, alpha), 1.0);
    gl_PointSize = width_px / gl_Position.w;
}
"""
_SPHERE_FRAGMENT = """#version 330 core
uniform vec3 color;
out vec4 seen;
void main() {
    vec2 at = gl_PointCoord * 2.0 - 1.0;
    float off = dot(at, at);
    if (off > 1.0) discard;
    vec3 normal = vec3(at.x, -at.y, sqrt(1.0 - off));
    float sun = max(dot(normal, vec3(0.40, 0.50, 0.77)), 0.0);
    seen = vec4(color * (0.3 + 0.7 * sun), 1.0);
}
"""
_POSE = """#version 330 core
uniform mat4 view;
uniform vec4 lens;       // projection[0][0], [1][1], [2][2], [2][3]
uniform float alpha;
uniform vec3 half_size;
in vec3 older;
in vec3 newer;
in vec4 older_turn;
in vec4 newer_turn;
vec3 center_of() { return (view * vec4(mix(older, newer, alpha), 1.0)).xyz; }
mat3 to_eye() {
    vec4 q = normalize(mix(older_turn, dot(older_turn, newer_turn) < 0.0 ? -newer_turn : newer_turn, alpha));
    vec3 a = q.xyz * 2.0, x = a * q.x, y = a * q.y, z = a * q.z, w = a * q.w;
    return mat3(view) * mat3(1.0 - y.y - z.z, x.y + w.z, x.z - w.y,
                             x.y - w.z, 1.0 - x.x - z.z, y.z + w.x,
                             x.z + w.y, y.z - w.x, 1.0 - x.x - y.y);
}
vec4 to_clip(vec3 at) { return vec4(at.xy * lens.xy, lens.z * at.z + lens.w, -at.z); }
"""

_POINT_VERTEX = (
    _POSE
    + """
uniform float height_px;
flat out vec3 right, up, way;   // body's frame: a half of the point's width, of its height, and to the middle
void main() {
    vec3 center = center_of();
    mat3 turn = to_eye();
    vec3 x = abs(turn[0]) * half_size.x, y = abs(turn[1]) * half_size.y, z = abs(turn[2]) * half_size.z;
    vec3 reach = REACH;
    float half_width = max(reach.x, reach.y) * 1.1;
    gl_Position = to_clip(center);
    gl_PointSize = half_width * lens.y / -center.z * height_px;
    right = vec3(half_width, 0.0, 0.0) * turn;
    up = vec3(0.0, half_width, 0.0) * turn;
    way = center * turn;
}
"""
)
_CAST_BOX = """#version 330 core
uniform vec3 half_size;
uniform vec3 color;
flat in vec3 right, up, way;
out vec4 seen;
void main() {
    vec2 at = gl_PointCoord * 2.0 - 1.0;
    vec3 p = right * at.x - up * at.y;
    vec3 per_d = 1.0 / (way + p), middle = -p * per_d, half_way = abs(per_d) * half_size;
    vec3 enter = middle - half_way, leave = middle + half_way;
    float near = max(max(enter.x, enter.y), enter.z);
    if (near > min(min(leave.x, leave.y), leave.z)) discard;
    float sun = near == enter.x ? 0.5 : near == enter.y ? 0.75 : 1.0;
    seen = vec4(color * sun, 1.0);
}
"""
_CAST_CAPSULE = """#version 330 core
uniform vec3 half_size;   // radius, radius, half the straight part
uniform vec3 color;
flat in vec3 right, up, way;
out vec4 seen;
void main() {
    vec2 at = gl_PointCoord * 2.0 - 1.0;
    vec3 p = right * at.x - up * at.y, d = way + p;
    float radius2 = half_size.x * half_size.x;
    float a = dot(d.xy, d.xy), b = dot(p.xy, d.xy), discriminant = b * b - a * (dot(p.xy, p.xy) - radius2);
    if (discriminant < 0.0) discard;
    float t = -(b + sqrt(discriminant)) / a, z = p.z + t * d.z;
    if (abs(z) > half_size.z) {
        vec3 q = vec3(p.xy, p.z - sign(z) * half_size.z);
        a = dot(d, d); b = dot(q, d); discriminant = b * b - a * (dot(q, q) - radius2);
        if (discriminant < 0.0) discard;
        t = -(b + sqrt(discriminant)) / a;
    }
    vec3 q = p + d * t, normal = vec3(q.xy, q.z - clamp(q.z, -half_size.z, half_size.z)) / half_size.x;
    float sun = max(dot(normal, vec3(0.40, 0.50, 0.77)), 0.0);
    seen = vec4(color * (0.3 + 0.7 * sun), 1.0);
}
"""


class _LeanDraw:
    """Draws points that all have one size and one colour. rows: for each input of the vertex shader, its values, shape
    (n, 3) or (n, 4)."""

    def __init__(self, context: moderngl.Context, vertex: str, fragment: str, **rows: NDArray[np.floating]) -> None:
        self._context = context
        self._program = context.program(vertex_shader=vertex, fragment_shader=fragment)
        self._program["color"] = COLOR
        self._buffers = {name: context.buffer(np.ascontiguousarray(values, "<f4")) for name, values in rows.items()}
        inputs = [(self._buffers[name], f"{values.shape[1]}f", name) for name, values in rows.items()]
        self._array = context.vertex_array(self._program, inputs)

    def draw(self, camera: CameraMatrices, viewport: Viewport, alpha: float) -> None:
        """Clears the framebuffer in use, and draws the bodies into `viewport`. Does not wait until the picture is
        complete."""
        target = self._context.fbo
        target.viewport = viewport
        target.clear(0.0, 0.0, 0.0, 1.0, depth=1.0)
        self._context.enable_only(moderngl.DEPTH_TEST | moderngl.PROGRAM_POINT_SIZE)
        self._look(camera, viewport[3])
        self._program["alpha"] = alpha
        self._array.render(moderngl.POINTS)

    def release(self) -> None:
        for buffer in self._buffers.values():
            buffer.release()
        self._array.release()
        self._program.release()

    def _look(self, camera: CameraMatrices, height_px: int) -> None:
        """Sets the shader's uniforms for the camera."""
        raise NotImplementedError

    def _set_matrix(self, name: str, matrix: NDArray[np.floating]) -> None:
        self._program[name].write(matrix.T.astype("<f4").tobytes())  # type: ignore[union-attr]


class LeanSpheres(_LeanDraw):
    """Spheres. older, newer: positions in two snapshots, shape (n, 3), in metres. radius: radius of every sphere, in
    metres."""

    def __init__(
        self, context: moderngl.Context, older: NDArray[np.floating], newer: NDArray[np.floating], radius: float
    ) -> None:
        super().__init__(context, _SPHERE_VERTEX, _SPHERE_FRAGMENT, older=older, newer=newer)
        self._radius = radius

    def _look(self, camera: CameraMatrices, height_px: int) -> None:
        self._set_matrix("to_clip", camera.projection @ camera.view)
        self._program["width_px"] = self._radius * float(camera.projection[1, 1]) * height_px


class LeanBoxes(_LeanDraw):
    """Boxes that turn. older, newer: bodies in two snapshots, dtype `BODY`. half_size: half of the length of each
    edge, in metres."""

    vertex, fragment = _POINT_VERTEX.replace("REACH", "x + y + z"), _CAST_BOX

    def __init__(
        self, context: moderngl.Context, older: NDArray[np.void], newer: NDArray[np.void], half_size: Vector
    ) -> None:
        super().__init__(
            context, self.vertex, self.fragment, older=older["position"], newer=newer["position"],
            older_turn=older["orientation"], newer_turn=newer["orientation"],
        )  # fmt: skip
        self._program["half_size"] = half_size

    def _look(self, camera: CameraMatrices, height_px: int) -> None:
        projection = camera.projection
        self._set_matrix("view", camera.view)
        self._program["lens"] = (*(float(projection[axis, axis]) for axis in range(3)), float(projection[2, 3]))
        self._program["height_px"] = float(height_px)


class LeanCapsules(LeanBoxes):
    """Capsules that turn. half_size: radius, radius again, and half the length of the straight part, in metres."""

    vertex, fragment = _POINT_VERTEX.replace("REACH", "z + half_size.x"), _CAST_CAPSULE


@contextmanager
def nothing_drawn() -> Iterator[None]:
    """Replaces draw calls, clears and flushes by stubs, as long as the context lasts. All other work is done.

    The flushes of a renderer are replaced only if the renderer is made inside the context.
    """
    with (
        # The stub has named parameters. A stub with *args and **kwargs would take three times as long.
        patch.object(moderngl.VertexArray, "render", lambda _, mode=0, vertices=-1, *, first=0, instances=-1: None),
        patch.object(moderngl.Framebuffer, "clear", lambda *_, **__: None),
        patch.object(body_draws, "gl_function", lambda *_: lambda: None),
    ):
        yield
