"""The least that draws moving boxes and capsules: what the viewer's own drawing of them is measured against.

The one idea: as with the lean spheres, two buffers that the vertex shader mixes, here of positions and quaternions.
One size, one colour, no depth but the point's own, hard edges, nothing hidden, no background but a clear. Boxes and
capsules are cast along each pixel's ray in a point that covers them; boxes also as 12 triangles a box, instanced,
for whichever is faster is the one to be held against.
"""

from __future__ import annotations

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.render.bench.lean_spheres import Color, Viewport
from twixt.render.camera import CameraMatrices

Vector = tuple[float, float, float]

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
    float a = dot(d.xy, d.xy), b = dot(p.xy, d.xy), room = b * b - a * (dot(p.xy, p.xy) - radius2);
    if (room < 0.0) discard;
    float t = -(b + sqrt(room)) / a, z = p.z + t * d.z;
    if (abs(z) > half_size.z) {
        vec3 q = vec3(p.xy, p.z - sign(z) * half_size.z);
        a = dot(d, d); b = dot(q, d); room = b * b - a * (dot(q, q) - radius2);
        if (room < 0.0) discard;
        t = -(b + sqrt(room)) / a;
    }
    vec3 q = p + d * t, normal = vec3(q.xy, q.z - clamp(q.z, -half_size.z, half_size.z)) / half_size.x;
    float sun = max(dot(normal, vec3(0.40, 0.50, 0.77)), 0.0);
    seen = vec4(color * (0.3 + 0.7 * sun), 1.0);
}
"""

_MESH_VERTEX = (
    _POSE
    + """
uniform vec3 color;
in vec3 corner;
in vec3 normal;
flat out vec3 tone;
void main() {
    mat3 turn = to_eye();
    gl_Position = to_clip(center_of() + turn * (corner * half_size));
    float sun = max(dot(turn * normal, vec3(0.40, 0.50, 0.77)), 0.0);
    tone = color * (0.3 + 0.7 * sun);
}
"""
)
_MESH_FRAGMENT = """#version 330 core
flat in vec3 tone;
out vec4 seen;
void main() { seen = vec4(tone, 1.0); }
"""


class _Lean:
    """Two snapshots' positions (n, 3), metres, and quaternions (n, 4), and one size and colour for all."""

    vertex, fragment = _POINT_VERTEX, ""
    flags = moderngl.DEPTH_TEST | moderngl.PROGRAM_POINT_SIZE

    def __init__(
        self,
        context: moderngl.Context,
        older: NDArray[np.floating],
        newer: NDArray[np.floating],
        older_turn: NDArray[np.floating],
        newer_turn: NDArray[np.floating],
        half_size: Vector,
        color: Color = (0.9, 0.5, 0.3),
    ) -> None:
        self._context = context
        self._count = len(older)
        self._program = context.program(vertex_shader=self.vertex, fragment_shader=self.fragment)
        self._set("half_size", half_size)
        self._set("color", color)
        named = {"older": older, "newer": newer, "older_turn": older_turn, "newer_turn": newer_turn}
        self._buffers = {name: context.buffer(np.ascontiguousarray(rows, "<f4")) for name, rows in named.items()}
        self._array = self._vertex_array()

    def draw(self, camera: CameraMatrices, viewport: Viewport, alpha: float) -> None:
        """Clears the framebuffer in use and draws into a part of it; does not wait for the end."""
        target, projection = self._context.fbo, camera.projection
        target.viewport = viewport
        target.clear(0.0, 0.0, 0.0, 1.0, depth=1.0)
        self._context.enable_only(self.flags)
        self._program["view"].write(camera.view.T.astype("<f4").tobytes())  # type: ignore[union-attr]
        self._set("lens", (*(float(projection[axis, axis]) for axis in range(3)), float(projection[2, 3])))
        self._set("alpha", alpha)
        if "height_px" in self._program:
            self._set("height_px", float(viewport[3]))
        self._render()

    def release(self) -> None:
        """Gives the GPU memory back."""
        for buffer in self._buffers.values():
            buffer.release()
        self._array.release()
        self._program.release()

    def _set(self, name: str, value: object) -> None:
        self._program[name] = value

    def _vertex_array(self) -> moderngl.VertexArray:
        return self._context.vertex_array(self._program, self._inputs("/v"))

    def _render(self) -> None:
        self._array.render(moderngl.POINTS)

    def _inputs(self, rate: str) -> list[tuple[moderngl.Buffer, str, str]]:
        formats = (f"{3 + name.endswith('_turn')}f{rate}" for name in self._buffers)
        return [(buffer, form, name) for (name, buffer), form in zip(self._buffers.items(), formats, strict=True)]


class LeanBoxes(_Lean):
    """half_size: half the edges, metres."""

    vertex = _POINT_VERTEX.replace("REACH", "x + y + z")
    fragment = _CAST_BOX


class LeanCapsules(_Lean):
    """half_size: radius, radius, half the straight part, metres."""

    vertex = _POINT_VERTEX.replace("REACH", "z + half_size.x")
    fragment = _CAST_CAPSULE


class LeanMeshBoxes(_Lean):
    """half_size: half the edges, metres. Corner after corner for each box."""

    vertex, fragment = _MESH_VERTEX, _MESH_FRAGMENT
    flags = moderngl.DEPTH_TEST | moderngl.CULL_FACE

    def _vertex_array(self) -> moderngl.VertexArray:
        corners: list[NDArray[np.floating]] = []
        normals: list[NDArray[np.floating]] = []
        indices: list[int] = []
        for axis in range(3):
            for side in (-1.0, 1.0):
                first = len(corners)
                for across, along in ((-1.0, -1.0), (side, -side), (-side, side), (1.0, 1.0)):
                    corners.append(np.roll([side, across, along], axis))
                    normals.append(np.roll([side, 0.0, 0.0], axis))
                indices += [first, first + 1, first + 2, first + 2, first + 1, first + 3]
        self._buffers["corner"] = self._context.buffer(np.array(corners, "<f4"))
        self._buffers["normal"] = self._context.buffer(np.array(normals, "<f4"))
        self._buffers["index"] = index = self._context.buffer(np.array(indices, "<u2"))
        inputs = [row for row in self._inputs("/i") if row[2] not in ("corner", "normal", "index")]
        inputs += [(self._buffers[name], "3f", name) for name in ("corner", "normal")]
        return self._context.vertex_array(self._program, inputs, index_buffer=index, index_element_size=2)

    def _render(self) -> None:
        self._array.render(moderngl.TRIANGLES, instances=self._count)
