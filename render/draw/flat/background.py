"""Draws the background of a picture: one colour or a sky, and the grid on the ground.

The grid has no vertex buffer: the vertex shader computes the n-th line from n and the camera. The grid has many faint
lines. They are plain OpenGL lines, because smooth lines take three times as long in software rendering. The grid is
drawn before the bodies and hides nothing, so bodies below the ground are visible.

Software rendering copies three things from a cached picture: the sky, the grid, and planes that stand still. While the
camera moves without turning, it copies only the sky, from another cached picture (software/background_cache.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.ipc.scene.material import CUBE_SIDES, Texture
from twixt.render.draw.bodies.body_draws import KEEP_ALPHA
from twixt.render.draw.frame.camera import CameraMatrices
from twixt.render.draw.frame.frame_block import FRAME_BINDING, FrameTarget, SceneView, Viewport
from twixt.render.draw.glsl.uniform_blocks import FRAME_GLSL
from twixt.render.draw.software.background_cache import BackgroundCache

# Limit on the spacing of the finest lines. The spacing is the largest power of ten metres that is not above this share
# of the camera's distance from its target.
FINEST_SHARE = 1 / 8
# Radius of the grid, and radius of its finest lines. Both are multiples of the camera's distance from its target.
GRID_DISTANCES, FINE_DISTANCES = 2.2, 0.75
# As the camera moves away, the finest lines fade out until the next power of ten metres becomes the finest. The fading
# is complete after this share of the way. The way is measured by the logarithm of the distance. Without fading there
# would be hundreds of lines.
FINE_SHARE = 0.65
FINE_ALPHA, COARSE_ALPHA = 0.30, 0.40
GRID_COLOR = (0.55, 0.60, 0.68)

# Lines 0 to n-1 run along x, and lines n to 2n-1 run along y. Each line is a chord of the circle that bounds the grid.
_GRID_VERTEX = (
    "#version 330 core\n"
    + FRAME_GLSL
    + """
uniform int lines_each_way;
uniform float spacing;
uniform vec2 nearest;   // for each direction, the signed distance from the middle to the nearest line
uniform float radius;
out vec2 from_middle;   // distance from the middle, in radii of the grid
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
"""
)
_GRID_FRAGMENT = """#version 330 core
uniform vec4 tint;
in vec2 from_middle;
out vec4 color;
void main() {
    float inside = max(1.0 - dot(from_middle, from_middle), 0.0);
    color = vec4(tint.rgb, tint.a * inside * inside);
}
"""


class GridLevel(NamedTuple):
    """The lines of the grid that have one spacing."""

    spacing_m: float
    radius_m: float
    alpha: float


def grid_levels(distance_m: float) -> list[GridLevel]:
    """Returns the levels of the grid if the camera has this distance from its target. The spacing of each level is a
    power of ten metres. The finest level fades out as the distance grows.

    The levels change continuously with the distance. When the distance has become ten times as large, each level looks
    as the next finer level looked before: its alpha is the same, and its radius is the same multiple of the distance.
    """
    decades = math.log10(distance_m * FINEST_SHARE)
    gone = decades - math.floor(decades)
    spacing_m, full_m, fine_m = 10.0 ** math.floor(decades), distance_m * GRID_DISTANCES, distance_m * FINE_DISTANCES
    levels = [
        GridLevel(spacing_m * 10, full_m + (fine_m - full_m) * gone, COARSE_ALPHA + (FINE_ALPHA - COARSE_ALPHA) * gone),
        GridLevel(spacing_m * 100, full_m, COARSE_ALPHA),
    ]
    if gone < FINE_SHARE:
        levels.append(GridLevel(spacing_m, fine_m, FINE_ALPHA * (1 - gone / FINE_SHARE)))
    return levels


class Grid:
    """The grid: lines on the ground around the camera's target."""

    def __init__(self, context: moderngl.Context) -> None:
        self._program = context.program(vertex_shader=_GRID_VERTEX, fragment_shader=_GRID_FRAGMENT)
        self._vertex_array = context.vertex_array(self._program, [])
        self._program["Frame"].binding = FRAME_BINDING  # type: ignore[union-attr]

    def draw(self, camera: CameraMatrices) -> None:
        """Draws the grid as this camera sees it. Draws nothing if eye and target are equal. Far from the origin,
        rounding can make them equal."""
        distance_m = math.dist(camera.eye, camera.target)
        if distance_m == 0:
            return
        x, y, _ = camera.target
        for level in grid_levels(distance_m):
            lines = 2 * math.ceil(level.radius_m / level.spacing_m) + 1
            self._program["lines_each_way"] = lines
            self._program["spacing"] = level.spacing_m
            self._program["nearest"] = _nearest_line(x, level.spacing_m), _nearest_line(y, level.spacing_m)
            self._program["radius"] = level.radius_m
            self._program["tint"] = (*GRID_COLOR, level.alpha)
            self._vertex_array.render(moderngl.LINES, vertices=4 * lines)


def _nearest_line(at_m: float, spacing_m: float) -> float:
    """Returns the signed distance from a coordinate to the nearest line, in metres."""
    return math.floor(at_m / spacing_m + 0.5) * spacing_m - at_m


def is_worth_keeping(scene: Scene) -> bool:
    """Returns True if the background has more than one colour. Only then a cache saves time."""
    return scene.ground_z is not None or isinstance(scene.background, Texture)


class StillBodies(NamedTuple):
    """Bodies that stand still. key: everything that determines their pixels, except the camera."""

    key: Hashable
    draw: Callable[[], None]


class Background:
    """Draws the background behind all bodies. cache: None on a GPU, where no pixels are cached."""

    def __init__(self, context: moderngl.Context, is_software: bool) -> None:
        self._context, self._grid = context, Grid(context)
        self._sky = Sky(context)
        self.cache = BackgroundCache(context) if is_software else None
        self._skies = BackgroundCache(context) if is_software else None
        self._resizes = 0  # how often `forget_pixels` was called
        # The areas of the last picture that were filled. None if the whole picture was filled.
        self.areas: tuple[Viewport, ...] | None = None

    def key(self, frame_key: tuple[object, ...], scene: Scene) -> tuple[object, ...]:
        """Returns everything that determines the pixels of the background and of the outline. frame_key:
        `FrameUniforms.key`."""
        return frame_key, scene.background, scene.ground_z, scene.outline, self._resizes

    def draw(
        self,
        target: FrameTarget,
        view: SceneView,
        key: tuple[object, ...],
        still: StillBodies | None = None,
        bounds: Viewport | None = None,
    ) -> bool:
        """Fills a picture with the background, and sets its depth to 1.0 (farthest). key: result of the method `key`.

        still: bodies that stand still. bounds: see `BackgroundCache.fill`. If `bounds` is given, only the rectangles
        `areas` of the picture may be filled. Outside the first of these rectangles, only the outline is drawn. Returns
        True if `still` was also drawn.
        """
        scene, self.areas = view.scene, None

        def redraw() -> None:
            if isinstance(scene.background, Texture):
                self._draw_sky(target, view, scene.background)
            else:
                target.framebuffer.clear(*scene.background, 1.0, depth=1.0)
            if scene.ground_z is not None:
                self._context.blend_func = KEEP_ALPHA  # type: ignore[assignment]
                self._context.enable_only(moderngl.BLEND)
                self._grid.draw(view.camera)

        is_uncached = view.is_mapped or target.is_clipped
        if still is not None and self.cache is not None and not is_uncached and self.cache.may_copy:
            draw_still = still.draw

            def draw_both() -> None:
                redraw()
                draw_still()

            both_key = key, still.key
            self._filled(
                view,
                self.cache.fill(target.framebuffer, view.viewport, both_key, draw_both, has_depth=True, bounds=bounds),
            )
            return True
        if self.cache is None or is_uncached or not is_worth_keeping(scene):
            redraw()
        else:
            areas = self.cache.fill(target.framebuffer, view.viewport, (key, None), redraw, bounds=bounds)
            self._filled(view, areas)
        return False

    def _filled(self, view: SceneView, areas: tuple[Viewport, ...]) -> None:
        self.areas = None if areas == (view.viewport,) else areas

    def _draw_sky(self, target: FrameTarget, view: SceneView, texture: Texture) -> None:
        """Fills a picture with the sky. The cached sky can be used until the camera turns."""

        def draw() -> None:
            target.framebuffer.clear(0.0, 0.0, 0.0, 1.0, depth=1.0)
            self._sky.draw(texture)

        if self._skies is None or view.is_mapped or target.is_clipped:
            draw()
            return
        camera = view.camera
        directions = camera.view[:3, :3].tobytes(), camera.projection[:2, :2].tobytes(), camera.orthographic
        self._skies.fill(target.framebuffer, view.viewport, (directions, texture, self._resizes), draw)

    def prepare(
        self, target: FrameTarget, view: SceneView, key: tuple[object, ...], still_key: Hashable = None
    ) -> bool:
        """Prepares the background of the next frame. Call it between two frames. If the preparation would save no time,
        this method changes nothing and returns False.

        still_key: key of the bodies that stand still; None if no body stands still.
        """
        if self.cache is None or not self.cache.prepare(target.framebuffer, view.viewport, (key, still_key)):
            return False
        target.uncut()
        return True

    def forget_pixels(self) -> None:
        """Drops the cached background, so that the next frame draws the background again. Call it when the window's
        size has changed. Cached pixels may have been outside the smaller window."""
        self._resizes += 1

    def end_frame(self, over: Sequence[Viewport] | None = None) -> None:
        """Ends the frame. After the call, a prepared background is no longer valid. over: see
        `BackgroundCache.end_frame`."""
        self.areas = None
        if self.cache is not None:
            self.cache.end_frame(over)

    def invalidate(self) -> None:
        """Makes the next frame fill the whole picture. Call it after other code has drawn into the framebuffer."""
        if self.cache is not None:
            self.cache.invalidate()

    def release(self) -> None:
        """Releases the memory of the sky and of the cached pixels."""
        self._sky.release()
        for cache in (self.cache, self._skies):
            if cache is not None:
                cache.release()


# This code draws the sky of a picture. The sky is a texture behind all bodies.
#
# The sky is infinitely far away, so the colour of a pixel depends only on the direction of its line of sight. One
# triangle covers the whole picture. The directions at the triangle's corners are interpolated linearly over the
# picture. Each pixel reads a cube map in its direction. A sky may also be an image of all directions. Such an image is
# first projected onto a cube, so one program draws cube maps and images.
#
# The sky writes no depth. An orthographic camera has a single direction of view, so its whole sky has a single colour.


# Texture unit of the sky. The overlay, and passes over the whole picture, use the first units.
SKY_UNIT = 7
# An image is projected onto a cube. The side of the cube in px is HEIGHT_SHARE of the image's height, but at most
# MOST_CUBE_PX. The image's height spans 180 degrees.
MOST_CUBE_PX, HEIGHT_SHARE = 1024, 0.5

_VERTEX = (
    "#version 330 core\n"
    + FRAME_GLSL
    + """
out vec3 way;  // direction of the line of sight, world, of any length
void main() {
    vec2 corner = vec2((gl_VertexID & 1) * 4 - 1, (gl_VertexID >> 1) * 4 - 1);
    way = sight_to(vec3(corner / lens.xy, -1.0)) * view;
    gl_Position = vec4(corner, 0.0, 1.0);
}
"""
)
_FRAGMENT = """#version 330 core
uniform samplerCube sky;
in vec3 way;
out vec4 color;
void main() { color = vec4(texture(sky, way).rgb, 1.0); }
"""


class Sky:
    """Draws the texture of a background. The texture that was drawn last stays on the GPU."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._kept: tuple[Texture, moderngl.TextureCube] | None = None
        self._program: moderngl.Program | None = None
        self._vertex_array: moderngl.VertexArray | None = None

    def draw(self, texture: Texture) -> None:
        """Fills the viewport of the current framebuffer with this texture."""
        if self._kept is None or self._kept[0] != texture:
            self.release()
            self._kept = texture, self._uploaded(texture)
        if self._vertex_array is None:
            program = self._context.program(vertex_shader=_VERTEX, fragment_shader=_FRAGMENT)
            program["Frame"].binding = FRAME_BINDING  # type: ignore[union-attr]
            program["sky"] = SKY_UNIT
            self._vertex_array = self._context.vertex_array(program, [])
        self._kept[1].use(SKY_UNIT)
        self._context.enable_only(moderngl.NOTHING)
        self._vertex_array.render(moderngl.TRIANGLES, vertices=3)

    def release(self) -> None:
        """Releases the texture's memory."""
        if self._kept is not None:
            self._kept[1].release()
            self._kept = None

    def _uploaded(self, texture: Texture) -> moderngl.TextureCube:
        pixels = np.ascontiguousarray((texture.pixels if texture.is_cube else on_cube(texture.pixels))[..., :3])
        made = self._context.texture_cube(pixels.shape[1:3], 3, pixels, alignment=1)
        made.filter = moderngl.LINEAR, moderngl.LINEAR
        return made


def on_cube(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Projects an image of all directions onto a cube. The image has shape (h, w, c), the result (6, s, s, c). The
    sides are in OpenGL's order.

    The first row of the image is straight up, the last row straight down. The first column is in the direction -x. The
    next columns go round through +y, +x and -y. Neighbouring rows differ by the same angle everywhere, and so do
    neighbouring columns.
    """
    height, width = image.shape[:2]
    side = min(max(int(height * HEIGHT_SHARE), 1), MOST_CUBE_PX)
    ways = cube_directions(side)
    up = np.arctan2(ways[..., 2], np.hypot(ways[..., 0], ways[..., 1]))
    around = np.arctan2(-ways[..., 1], ways[..., 0])
    row = np.clip((0.5 - up / np.pi) * height, 0, height - 1).astype(np.intp)
    column = np.clip((0.5 + around / (2 * np.pi)) * width, 0, width - 1).astype(np.intp)
    return image[row, column]


def cube_directions(side: int) -> NDArray[np.float64]:
    """Returns the direction of each pixel of a cube's sides, (6, side, side, 3), in OpenGL's layout."""
    across = (np.arange(side) + 0.5) / side * 2 - 1
    right, down = np.meshgrid(across, across)
    one = np.ones_like(right)
    ways = [
        (one, -down, -right),
        (-one, -down, right),
        (right, one, down),
        (right, -one, -down),
        (right, -down, one),
        (-right, -down, -one),
    ]
    assert len(ways) == CUBE_SIDES
    return np.array([np.stack(way, axis=-1) for way in ways])
