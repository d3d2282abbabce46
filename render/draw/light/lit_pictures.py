"""Draws pictures with shadows on every surface. The bodies are drawn from the light and from the eye. Then the picture
is composed.

The shadow map is a picture from the light. From the eye, the bodies are drawn into a target whose depths can be read.
If the level requires it, the target has several samples per pixel. composing.py makes the final picture from the shadow
map and the target.

This module also contains the light's camera, and the draw calls of bodies that both pictures use.

The frame's framebuffer gets the same colours and depths as if the bodies had been drawn into it. So dots, lines and
panels are drawn over the bodies as usual. No memory is allocated before the first picture with shadows on every
surface.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Scene
from twixt.ipc.scene.scene import shape_list
from twixt.render.draw.bodies.body_draws import KEEP_ALPHA, BodyDraws
from twixt.render.draw.bodies.body_programs import CAST_KINDS, PASSES
from twixt.render.draw.bodies.materials import MaterialDraws
from twixt.render.draw.bodies.shape_draws import CastDrawing, SphereDrawing
from twixt.render.draw.frame.camera import CameraMatrices
from twixt.render.draw.frame.frame_block import FrameTarget, FrameUniforms, SceneView
from twixt.render.draw.frame.framing import is_thin
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.light import composing
from twixt.render.draw.light.composing import Composer, Shading
from twixt.render.draw.marks.mark_drawing import MarkDrawing
from twixt.render.draw.meshes.mesh_drawing import MeshDrawing
from twixt.render.draw.quality import Level
from twixt.render.draw.spheres.snapshot_bounds import Extent, extent_of, grown, together

Made = tuple[moderngl.Texture, moderngl.Texture, moderngl.Framebuffer]
Steps = tuple[Callable[[], None], Callable[[], None]]

# OpenGL capabilities for which moderngl has no name. ALPHA_TO_COVERAGE: the alpha of a pixel determines which share of
# its samples is drawn. ALPHA_TO_ONE: the drawn samples are opaque.
ALPHA_TO_COVERAGE, ALPHA_TO_ONE = 0x809E, 0x809F
# If there are marks, half the depth of the region that the shadow map shows is at least this multiple of the region's
# radius. Marks up to this far towards the light cast shadows into the region. Marks do not affect the region's radius.
# Otherwise the radius would change whenever marks appear or disappear. A deeper region does not make shadows less
# sharp.
MARKS_DEEP = 16.0
# A target is replaced if the picture is larger than the target. It is also replaced if the picture is smaller than this
# share of the target.
LEAST_USED = 0.4


class LitTarget:
    """Colours and depths of a picture, which composing.py reads. samples: number of samples per pixel; with 1 sample,
    there is no multisampling."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._made: Made | None = None
        self._size_px, self._samples = (0, 0), 0

    def framebuffer(self, size_px: tuple[int, int], samples: int) -> moderngl.Framebuffer:
        """Returns a framebuffer of at least this size. Raises TwixtError if the driver cannot create it."""
        used = size_px[0] * size_px[1] / max(self._size_px[0] * self._size_px[1], 1)
        is_inside = size_px[0] <= self._size_px[0] and size_px[1] <= self._size_px[1]
        if self._made is None or samples != self._samples or not is_inside or used < LEAST_USED:
            self.release()
            self._made = self._make(size_px, samples)
            self._size_px, self._samples = size_px, samples
        return self._made[2]

    def _make(self, size_px: tuple[int, int], samples: int) -> Made:
        several = samples if samples > 1 else 0
        try:
            colors = self._context.texture(size_px, 4, samples=several)
            depths = self._context.depth_texture(size_px, samples=several)
            framebuffer = self._context.framebuffer([colors], depths)
        except moderngl.Error as problem:
            width_px, height_px = size_px
            raise TwixtError(
                f"the GPU has no memory for a picture of {width_px}x{height_px} px with {samples} samples a "
                f"pixel ({problem}); use a smaller --size, or --quality low"
            ) from None
        if not several:
            colors.filter = moderngl.NEAREST, moderngl.NEAREST
            depths.filter, depths.compare_func = (moderngl.NEAREST, moderngl.NEAREST), ""
        return colors, depths, framebuffer

    def use(self) -> None:
        """Binds the colours and the depths for composing."""
        assert self._made is not None
        self._made[0].use(composing.COLORS)
        self._made[1].use(composing.DEPTHS)

    def release(self) -> None:
        """Releases the memory."""
        for one in self._made or ():
            one.release()
        self._made, self._size_px = None, (0, 0)


class LitPictures:
    """Draws pictures whose level has mapped shadows. solids: the `Solids` that draw only the shadow map. marks: the
    marks of the picture. Marks that are opaque solids cast shadows."""

    def __init__(
        self,
        context: moderngl.Context,
        target: FrameTarget,
        bodies: BodyDraws,
        meshes: MeshDrawing,
        solids: Solids,
        marks: MarkDrawing,
    ) -> None:
        self._context, self._target, self._bodies, self._meshes = context, target, bodies, meshes
        self._solids, self._marks = solids, marks
        self._uniforms = FrameUniforms(context)
        self._composer, self._lit = Composer(context), LitTarget(context)
        kinds = ("GL_MAX_COLOR_TEXTURE_SAMPLES", "GL_MAX_DEPTH_TEXTURE_SAMPLES")
        self._most_samples = min(context.info.get(kind, 1) for kind in kinds)
        self._map: tuple[moderngl.Texture, moderngl.Framebuffer] | None = None
        self._reach_of: Scene | None = None
        self._reach_m = 0.0
        self.light_view: SceneView | None = None  # view from the light in the last picture; None before the first

    def draw(self, view: SceneView, layers: Sequence[PlacedLayer], begin: Callable[[], None], steps: Steps) -> None:
        """Draws a picture. begin: function that sets the picture's uniform blocks. steps: two functions. The first
        function draws the background, and the second function draws the lit bodies."""
        lay, draw = steps
        light = self._cast(view, layers)
        begin()
        left_px, bottom_px, width_px, height_px = view.viewport
        size_px = left_px + width_px, bottom_px + height_px
        with self._target.diverted(self._lit.framebuffer(size_px, view.level.samples), view.viewport):
            lay()
            with self._covering(view.level.samples):
                draw()
        assert self._map is not None
        self._lit.use()
        self._map[0].use(composing.MAP)
        shading = Shading(view.level.samples, view.camera.orthographic, view.level.contact)
        self._composer.compose(shading, view.scene, view.camera, to_map(view.camera, light), MAP_PX)

    def affordable(self, level: Level) -> Level:
        """Returns this level, but without multisampling if the driver does not support it."""
        return level if level.samples <= self._most_samples else level._replace(samples=1)

    @contextmanager
    def _covering(self, samples: int) -> Iterator[None]:
        """Inside this context manager, soft edges cover some of a pixel's samples and are not blended. So bodies that
        are drawn later are visible behind the edges."""
        wanted = (ALPHA_TO_COVERAGE, ALPHA_TO_ONE) if samples > 1 else ()
        for capability in wanted:
            self._context.enable_direct(capability)
        try:
            yield
        finally:
            for capability in wanted:
                self._context.disable_direct(capability)

    def forget(self) -> None:
        """Discards the uniform blocks. Call it when there is a new scene."""
        self._uniforms.forget()

    def release(self) -> None:
        """Releases the targets' memory."""
        self._lit.release()
        for one in self._map or ():
            one.release()
        self._map = None

    def _cast(self, view: SceneView, layers: Sequence[PlacedLayer]) -> CameraMatrices:
        """Draws the shadow map of a picture. Returns the light's camera."""
        camera = self._camera(view, layers)
        square = 0, 0, MAP_PX, MAP_PX
        level = view.level._replace(samples=1)
        seen = self.light_view = view._replace(camera=camera, viewport=square, level=level, is_wide=False)
        if self._map is None:
            depths = self._context.depth_texture((MAP_PX, MAP_PX))
            depths.compare_func, depths.filter = "<=", (moderngl.LINEAR, moderngl.LINEAR)
            depths.repeat_x = depths.repeat_y = False
            self._map = depths, self._context.framebuffer(depth_attachment=depths)
        self._uniforms.write(view.scene, camera, square)
        self._bodies.begin(seen, layers)
        self._meshes.pose(layers)
        with self._target.diverted(self._map[1], square):
            self._map[1].clear(depth=1.0)
            self._solids.draw(seen, layers, has_others=True)
            self._marks.draw(seen)
        return camera

    def _camera(self, view: SceneView, layers: Sequence[PlacedLayer]) -> CameraMatrices:
        scene, parts = self._bodies.scene, self._bodies.parts
        if scene is not self._reach_of:
            self._reach_of, self._reach_m = scene, casting_reach(scene)
        extent = together([self._bodies.ring.attached(slot, extent_of) for layer in layers for slot in layer.slots[:2]])
        if extent is not None and parts is not None:
            extent = grown(extent, parts.arm_m)
        region = region_of(extent, self._reach_m, view.camera)
        if self._marks.are_drawn:
            region = region._replace(deep_m=max(region.deep_m, MARKS_DEEP * region.radius_m))
        return light_camera(region, view.scene.light)


# This code computes the view from the light, which is an orthographic camera around the bodies. The shadow map is drawn
# with it.
#
# The shadow map is drawn by the same programs as other pictures. The map only needs a camera that looks in the
# direction of the light. This camera shows all bodies, or the region that the viewer's camera shows, whichever is
# smaller.
#
# While the region keeps its size, the pixels of the map stay at the same places in the world, so the edges of shadows
# do not crawl. To achieve this, the region's centre moves by whole pixels of the map, and the region's size changes by
# factors of SIZE_STEP. Pure: takes and returns numbers.


# Side of the shadow map in px. If a body fills a tenth of a picture of 1280x960, the edges of its shadow are then as
# fine as the pixels of the picture.
MAP_PX = 2048
# Radius of the region around the camera's target. It is a multiple of half the diagonal of the area that the camera
# shows at the target.
SEEN_REACH = 1.5
# The region's radius in metres is a power of this number.
SIZE_STEP = math.sqrt(2)
# Least and largest half depth of a region that does not contain all bodies, as multiples of the region's radius. Bodies
# this far towards the light still cast shadows into the region.
DEEP, DEEPEST = 4.0, 1000.0


class Region(NamedTuple):
    """The ball that the shadow map shows. middle: its centre in the world, in metres. deep_m: distance towards the
    light up to which bodies cast shadows."""

    middle: tuple[float, float, float]
    radius_m: float
    deep_m: float


def casting_reach(scene: Scene) -> float:
    """Returns the largest distance of any point of a body from the body's position, in metres at scale 1. Floors and
    walls are left out if there are other bodies.

    A floor that extends beyond the region still casts its shadow.
    """
    shapes = shape_list(scene).table
    return max(
        (shape.reach for shape in shapes if not is_thin(shape)), default=max((s.reach for s in shapes), default=0.5)
    )


def region_of(extent: Extent | None, reach_m: float, camera: CameraMatrices) -> Region:
    """Returns the region whose bodies cast shadows. extent: box around the positions of the bodies; None if it is
    unknown. reach_m: result of `casting_reach`."""
    away_m = 1.0 if camera.orthographic else math.dist(camera.eye, camera.target)
    half_sides = (away_m / float(camera.projection[axis, axis]) for axis in (0, 1))
    seen_m = SEEN_REACH * math.hypot(*half_sides)
    if extent is None:
        return Region(camera.target, seen_m, DEEP * DEEP * seen_m)
    low, high = np.array(extent.low, np.float64), np.array(extent.high, np.float64)
    middle, radius_m = (low + high) / 2, float(np.linalg.norm(high - low)) / 2 + reach_m * extent.scale
    if radius_m <= seen_m or not math.isfinite(seen_m):
        return Region(_xyz(middle), radius_m, radius_m)
    behind_m = float(np.linalg.norm(middle - camera.target)) + radius_m
    return Region(camera.target, seen_m, min(max(behind_m, DEEP * seen_m), DEEPEST * seen_m))


def light_camera(region: Region, light: Sequence[float], map_px: int = MAP_PX) -> CameraMatrices:
    """Returns a camera that looks at a region from the light. light: direction towards the light in the world, of any
    length but 0.

    The eye is at the centre of the region. The camera sees equally far in front of the eye and behind it.
    """
    backward = np.asarray(light, np.float64) / math.hypot(*light)
    right = np.cross((0.0, 0.0, 1.0), backward)
    length = float(np.linalg.norm(right))
    right = right / length if length > 1e-6 else np.array((1.0, 0.0, 0.0))
    axes = np.array([right, np.cross(backward, right), backward])
    # The map has one pixel more than necessary on each side, because the centre is moved by up to half a pixel.
    radius_m = SIZE_STEP ** math.ceil(math.log(max(region.radius_m, 1e-30) * (1 + 2 / map_px), SIZE_STEP) - 1e-9)
    pixel_m = 2 * radius_m / map_px
    at = axes @ np.asarray(region.middle, np.float64)
    at[:2] = np.floor(at[:2] / pixel_m + 0.5) * pixel_m
    eye = axes.T @ at
    view = np.eye(4)
    view[:3, :3] = axes
    view[:3, 3] = -at
    projection = np.diag([1 / radius_m, 1 / radius_m, -1 / max(region.deep_m * 1.1, radius_m), 1.0])
    with np.errstate(over="ignore"):  # values beyond the range of float32 are not visible
        return CameraMatrices(
            view.astype(np.float32), projection.astype(np.float32), _xyz(eye), _xyz(eye), orthographic=True
        )


def to_map(camera: CameraMatrices, light: CameraMatrices) -> NDArray[np.float64]:
    """Returns a matrix (4, 4). It converts from the camera's eye space to coordinates of the shadow map, from 0 to 1
    each. The matrix multiplies column vectors."""
    turn = light.view[:3, :3].astype(np.float64) @ camera.view[:3, :3].astype(np.float64).T
    moved = np.eye(4)
    moved[:3, :3] = turn
    moved[:3, 3] = light.view[:3, :3].astype(np.float64) @ (np.array(camera.eye) - np.array(light.eye))
    to_unit = np.diag([0.5, 0.5, 0.5, 1.0])
    to_unit[:3, 3] = 0.5
    found: NDArray[np.float64] = to_unit @ light.projection.astype(np.float64) @ moved
    return found


def _xyz(values: NDArray[np.float64]) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z


# This code makes the draw calls for all shapes of a picture. It draws into the current framebuffer with the current
# camera.
#
# A picture from the eye and a picture from the light are drawn in the same way. Each of them has its own `Solids`,
# which stores the programs that were chosen for the last picture.
#
# Planes and meshes are drawn first, because the soft edges of the other shapes are blended with the pixels behind them.


class Solids:
    """Draws bodies of every shape. The poses of meshes must be computed before, for the same camera."""

    def __init__(
        self, context: moderngl.Context, bodies: BodyDraws, meshes: MeshDrawing, materials: MaterialDraws
    ) -> None:
        self._context, self._bodies, self._meshes, self._materials = context, bodies, meshes, materials
        self._casts = CastDrawing(context, bodies)
        self.spheres = SphereDrawing(context, bodies)
        self._smooth_casts = CastDrawing(context, bodies, materials.uniforms.apply)
        self._smooth_spheres = SphereDrawing(context, bodies, materials.uniforms.apply)

    def draw_planes(self, layers: Sequence[PlacedLayer]) -> None:
        """Draws the opaque planes of these layers."""
        self._context.depth_func = "<"
        self._bodies.draw("planes", layers)
        self._materials.draw_planes(layers)

    def draw(
        self, view: SceneView, layers: Sequence[PlacedLayer], has_others: bool = False, has_planes: bool = False
    ) -> None:
        """Draws the bodies of these layers.

        has_others: True if dots, lines or marks may be inside spheres. has_planes: True if the planes are already
        drawn.
        """
        self._context.depth_func = "<"
        # The framebuffer's alpha stays 1. With a lower alpha some compositors would show the desktop through the
        # window.
        self._context.blend_func = KEEP_ALPHA  # type: ignore[assignment]
        if not has_planes and "planes" in self._bodies.members.present:
            self.draw_planes(layers)
        self._meshes.draw(view.level)
        kinds = [kind for kind in CAST_KINDS if PASSES[kind].kind in self._bodies.members.present]
        for kind in kinds:
            self._casts.draw(kind, view, layers)
        self._materials.draw(layers)
        whole = [layer for layer in layers if not layer.variant.stretched]
        if self._bodies.members.has_smooth:
            for kind in kinds:
                self._smooth_casts.draw(kind, view, layers)
            self._smooth_spheres.draw(view, whole, has_others)
        self.spheres.draw(view, whole, has_others)
