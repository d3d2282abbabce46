"""Draws clouds of small spheres without OpenGL's points: computed by array operations, drawn as one rectangle.

The one idea: `splats.py` finds the visible sphere of each pixel. The pixels' colours and depths go to OpenGL as two
textures, so that other bodies are in front of and behind these spheres as with points.

Always: only spheres that look the same as with points are drawn. Spheres that are too large are returned to the caller;
a picture with curved motion, several layers or large spheres is left to the programs of points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.render.draw.bodies import part_values
from twixt.render.draw.bodies.shape_table import shape_table
from twixt.render.draw.camera import CameraMatrices
from twixt.render.draw.frame.frame_block import SceneView, Viewport, body_brightness, frame_block
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.frame.snapshot_ring import LATE_FROM, SnapshotRing
from twixt.render.draw.software import projection
from twixt.render.draw.software.projection import ColumnPair, Projected, SnapshotColumns
from twixt.render.draw.software.splats import MOST, Light, light_of, seen_of
from twixt.render.draw.spheres.sphere_detail import Detail

# Programs that it replaces, and their largest spheres, px: the pixels of larger ones cost less as points.
LARGEST_PX = {"dots": 6.0, "beads": 9.0}
# Side of a dot's square, as a share of the disc's diameter: it has the disc's area.
SQUARE_SHARE = 0.886
# A curve this near a straight line is drawn as one, px.
STRAIGHT_PX = 0.3
# If more spheres are too large, all are left to the programs of points.
MOST_LARGE = 2048
# Largest area of the rectangle around all spheres, pixels per body: a pixel takes 25 ns, a point of OpenGL 250 ns.
MOST_PX = 10
FAR = 1.0  # depth of the background
WHITE = 0xFFFFFFFF
HALF_PX = np.float32(0.5)

_VERTEX = """#version 330 core
void main() {
    gl_Position = vec4(vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0, 0.0, 1.0);
}
"""
_FRAGMENT = """#version 330 core
uniform sampler2D colors;
uniform sampler2D depths;
uniform ivec2 corner;
out vec4 color;
void main() {
    ivec2 at = ivec2(gl_FragCoord.xy) - corner;
    gl_FragDepth = texelFetch(depths, at, 0).r;
    color = vec4(texelFetch(colors, at, 0).rgb, 1.0);
}
"""


class _Part(NamedTuple):
    """Part of a picture that holds the spheres: px from its left and bottom."""

    left: int
    bottom: int
    width: int
    height: int


class SplatDrawing:
    """Draws clouds of small spheres for one renderer, in a context in which the CPU draws."""

    def __init__(self, context: moderngl.Context, ring: SnapshotRing) -> None:
        self._context, self._ring = context, ring
        self._array: moderngl.VertexArray | None = None
        self._textures: tuple[moderngl.Texture, moderngl.Texture] | None = None
        self._large = context.buffer(reserve=4 * MOST_LARGE, dynamic=True)
        self._light_in: Scene | None = None
        self._light_key: tuple[object, ...] = ()
        self._light = Light(None, 1)
        self._shapes_of: tuple[Scene, int] | None = None
        self._shape_colors: NDArray[np.uint32] = np.zeros(0, np.uint32)

    def can_draw(self, view: SceneView, layers: Sequence[PlacedLayer], detail: Detail) -> bool:
        """True if this picture looks the same as with points, and is drawn faster."""
        scene, (name, largest_px) = view.scene, detail
        if len(layers) != 1 or scene.groups or scene.parents or largest_px > LARGEST_PX.get(name, 0.0):
            return False
        layer, ring = layers[0], self._ring
        if not LATE_FROM < layer.bodies <= MOST or layer.variant.stretched:
            return False
        uniforms, (older, newer, _) = layer.uniforms, layer.slots
        if uniforms.is_posed or ring.records(older) is None or (uniforms.newer_count and ring.records(newer) is None):
            return False
        if layer.variant.motion == "linear" or not uniforms.newer_count:
            return True
        if uniforms.older_count != uniforms.newer_count:
            return False
        height_px, samples = view.viewport[3], (ring.sample(older), ring.sample(newer))
        return projection.is_straight(*samples, uniforms.gap_s, view.camera, height_px, STRAIGHT_PX)

    def draw(
        self, view: SceneView, layer: PlacedLayer, radii: NDArray[np.float32], detail: Detail
    ) -> NDArray[np.intp] | None:
        """Draws all spheres but those too large, whose numbers it returns. None: points are faster, nothing is drawn.

        radii: at scale 1, metres.
        """
        uniforms, size_px, camera = layer.uniforms, view.viewport[2:], view.camera
        older = self._columns(layer.slots.older)
        newer = self._columns(layer.slots.newer) if uniforms.newer_count else None
        pair = ColumnPair(older, newer, uniforms.share)
        square = SQUARE_SHARE if detail.name == "dots" else None
        shares = projection.shares_of(pair)
        cloud = projection.cloud_of(pair, shares, radii, camera)
        found = projection.project(cloud, camera, size_px, detail.largest_px, square)
        if len(found.large) > MOST_LARGE:
            return None
        x, y, depth, reach = found.discs
        part = _part(found, size_px)
        if part is None:
            return found.large
        if part.width * part.height > MOST_PX * layer.bodies:
            return None
        moved = found.discs._replace(x=x - np.float32(part.left), y=y - np.float32(part.bottom))
        seen = seen_of(moved, part[2:], detail.name == "dots")
        at = seen.at.astype(np.int32)
        at_y = at // np.int32(part.width)
        at_x = at - at_y * np.int32(part.width)
        off_x = at_x.astype(np.float32) - (moved.x - HALF_PX).take(seen.bodies)
        off_y = at_y.astype(np.float32) - (moved.y - HALF_PX).take(seen.bodies)
        per_reach: NDArray[np.float32] = np.reciprocal(reach.take(seen.bodies))
        light = self._light_of(view, detail.name == "dots")
        brightness = light.on(at_x + part.left, at_y + part.bottom, off_x * per_reach, off_y * per_reach)
        bodies = found.bodies.take(seen.bodies)
        color_shares = 0.0 if uniforms.keeps_color else shares if isinstance(shares, float) else shares.take(bodies)
        albedo = self._colors(view.scene, pair, color_shares, bodies, layer.bodies)
        albedo *= brightness * np.float32(body_brightness(view.scene))
        self._lay(part, view.viewport, seen.at, _packed(albedo), _window_depths(depth.take(seen.bodies), camera))
        return found.large

    def few(self, bodies: NDArray[np.intp]) -> moderngl.Buffer:
        """Numbers of the spheres that were too large, as a buffer of indices."""
        self._large.write(bodies.astype(np.uint32))
        return self._large

    def _light_of(self, view: SceneView, squares: bool) -> Light:
        """Light of this picture, kept while scene, camera and viewport stay the same."""
        scene, camera, viewport = view[:3]
        key = (camera.view.tobytes(), camera.projection.tobytes(), viewport, squares)
        if scene is not self._light_in or key != self._light_key:
            self._light_in, self._light_key = scene, key
            block = frame_block(scene, camera, viewport)
            light_eye, up_eye, pixel_m = block["light_eye"][:3], block["up_eye"][:3], float(block["picture"][2])
            if camera.orthographic:
                pixel_m = 0.0  # the eye is in the same direction everywhere
            self._light = light_of(light_eye, up_eye, scene.is_plain, pixel_m, viewport[2:], squares)
        return self._light

    def _columns(self, slot: int) -> SnapshotColumns:
        return self._ring.columns(slot, projection.columns_of)

    def _colors(
        self,
        scene: Scene,
        pair: ColumnPair,
        shares: NDArray[np.float32] | float,
        bodies: NDArray[np.intp],
        count: int,
    ) -> NDArray[np.float32]:
        """Colours of these bodies, (3, n), 0..255. shares: place of each between the two snapshots, or one for all.
        count: bodies of the older snapshot."""
        older, newer, _ = pair
        if self._shapes_of is None or self._shapes_of[0] is not scene or self._shapes_of[1] < count:
            self._shapes_of = scene, count
            rows = part_values.shape_rows(scene, shape_table(scene, count))
            self._shape_colors = np.ascontiguousarray(rows["color"]).view(np.uint32)[:, 0]
        found = _channels(self._shape_colors.take(bodies))
        before = _of_bodies(older.colors, bodies)
        after = before
        if newer is not None and np.any(shares):
            # A body that only the older snapshot has has the share 0, whichever colour stands here.
            after = _of_bodies(newer.colors, np.minimum(bodies, newer.place.shape[1] - 1))
        if len(before) == len(after) == 1 and before[0] == after[0] == WHITE:
            return found
        colors = _channels(before)
        if after is not before:
            colors = colors + (_channels(after) - colors) * np.asarray(shares, np.float32)
        found *= colors * np.float32(1 / 255)
        return found

    def _lay(
        self,
        part: _Part,
        viewport: Viewport,
        at: NDArray[np.intp],
        seen: NDArray[np.uint32],
        depths: NDArray[np.float32],
    ) -> None:
        """Draws pixels into a part of the picture. at: indices in the part. seen: packed colours. depths: 0..1."""
        colors = np.zeros(part.width * part.height, np.uint32)
        colors[at] = seen
        depth = np.full(part.width * part.height, FAR, np.float32)
        depth[at] = depths
        in_color, in_depth = self._sized(viewport[2:])
        in_color.write(colors, viewport=(0, 0, part.width, part.height))
        in_depth.write(depth, viewport=(0, 0, part.width, part.height))
        array = self._array = self._array or self._made()
        left_px, bottom_px = viewport[0] + part.left, viewport[1] + part.bottom
        array.program["corner"].value = left_px, bottom_px  # type: ignore[union-attr]
        in_color.use(0)
        in_depth.use(1)
        target = self._context.fbo
        self._context.enable_only(moderngl.DEPTH_TEST)
        target.viewport = left_px, bottom_px, part.width, part.height
        array.render(moderngl.TRIANGLE_STRIP, 4)
        target.viewport = viewport

    def _made(self) -> moderngl.VertexArray:
        program = self._context.program(vertex_shader=_VERTEX, fragment_shader=_FRAGMENT)
        program["depths"].value = 1  # type: ignore[union-attr]
        return self._context.vertex_array(program, [])

    def _sized(self, size_px: tuple[int, int]) -> tuple[moderngl.Texture, moderngl.Texture]:
        """Textures of colours and depths, of the picture's size."""
        if self._textures is not None and self._textures[0].size == size_px:
            return self._textures
        if self._textures is not None:
            for texture in self._textures:
                texture.release()
        context = self._context
        self._textures = context.texture(size_px, 4), context.texture(size_px, 1, dtype="f4")
        for texture in self._textures:
            texture.filter = moderngl.NEAREST, moderngl.NEAREST
        return self._textures


def _part(found: Projected, size_px: tuple[int, int]) -> _Part | None:
    """Smallest rectangle around all discs; None if there is none."""
    x, y, _, reach = found.discs
    if not len(x):
        return None
    most = float(reach.max()) + 1
    left, bottom = max(0, int(float(x.min()) - most)), max(0, int(float(y.min()) - most))
    right, top = min(size_px[0], int(float(x.max()) + most) + 1), min(size_px[1], int(float(y.max()) + most) + 1)
    return _Part(left, bottom, right - left, top - bottom) if right > left and top > bottom else None


def _window_depths(depth: NDArray[np.float32], camera: CameraMatrices) -> NDArray[np.float32]:
    """Window depths, 0..1, of these depths in metres."""
    z, offset = camera.projection[2, 2:]
    if camera.orthographic:
        return np.float32(0.5 + 0.5 * offset) - np.float32(0.5 * z) * depth
    return np.float32(0.5 - 0.5 * z) + np.float32(0.5 * offset) / depth


def _packed(colors: NDArray[np.float32]) -> NDArray[np.uint32]:
    """Packs red, green, blue, (3, n), 0..255, into one number each. Overwrites `colors`."""
    colors += np.float32(0.5)
    red, green, blue = np.clip(colors, 0, 255, out=colors).astype(np.uint32)
    green <<= np.uint32(8)
    blue <<= np.uint32(16)
    red |= green
    red |= blue
    return red


def _of_bodies(colors: NDArray[np.uint32], bodies: NDArray[np.intp]) -> NDArray[np.uint32]:
    """Packed colours of these bodies; one alone if all bodies have the same."""
    return colors if len(colors) == 1 else colors.take(bodies)


def _channels(colors: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Red, green, blue of packed colours, (3, n), 0..255."""
    found = np.empty((3, len(colors)), np.float32)
    for channel in range(3):
        found[channel] = (colors >> np.uint32(8 * channel)) & np.uint32(255)
    return found
