"""Pictures with shadows on every surface: drawn once from the light, once from the eye, then composed.

The one idea: three passes, each of which knows nothing of the others' insides. The shadow map is a picture from the
light (light_camera.py); the bodies are drawn into a target whose depths can be read, with several samples a pixel where
the level says so; composing.py makes the picture of both.

Always: the frame's framebuffer gets colours and depths as if bodies had been drawn into it, so that dots, lines and
panels over the picture need not know. Nothing is allocated before the first such picture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import moderngl

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Scene
from twixt.render.draw.bodies.body_draws import BodyDraws
from twixt.render.draw.camera import CameraMatrices
from twixt.render.draw.frame.frame_block import FrameTarget, FrameUniforms, SceneView
from twixt.render.draw.frame.layers import PlacedLayer
from twixt.render.draw.frame.quality_levels import Level
from twixt.render.draw.light import composing
from twixt.render.draw.light.composing import Composer, Shading
from twixt.render.draw.light.light_camera import MAP_PX, casting_reach, light_camera, region_of, to_map
from twixt.render.draw.marks.mark_drawing import MarkDrawing
from twixt.render.draw.meshes.mesh_drawing import MeshDrawing
from twixt.render.draw.solids import Solids
from twixt.render.draw.spheres.snapshot_bounds import extent_of, grown, together

Made = tuple[moderngl.Texture, moderngl.Texture, moderngl.Framebuffer]
Steps = tuple[Callable[[], None], Callable[[], None]]

# Capabilities of OpenGL that moderngl has no name for. By the first, a pixel's alpha is the share of its samples that are
# drawn; by the second, they are then drawn opaque.
ALPHA_TO_COVERAGE, ALPHA_TO_ONE = 0x809E, 0x809F
# Marks do not count for the map's region, whose size would change as they come and go: it is deeper where there are
# some, so that those this many radii of it towards the light still cast shadows into it. Depth costs no sharpness.
MARKS_DEEP = 16.0
# A target is made anew for a picture that is larger, or smaller than this share of it.
LEAST_USED = 0.4


class LitTarget:
    """Colours and depths of a picture, to be read by composing.py. samples: of each pixel; 1: no multisampling."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._made: Made | None = None
        self._size_px, self._samples = (0, 0), 0

    def framebuffer(self, size_px: tuple[int, int], samples: int) -> moderngl.Framebuffer:
        """Framebuffer of at least this size. Raises TwixtError if the driver has none of it."""
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
                f"the graphics card has no room for a picture of {width_px}x{height_px} px with {samples} samples a "
                f"pixel ({problem}); use a smaller --size, or --quality low"
            ) from None
        if not several:
            colors.filter = moderngl.NEAREST, moderngl.NEAREST
            depths.filter, depths.compare_func = (moderngl.NEAREST, moderngl.NEAREST), ""
        return colors, depths, framebuffer

    def use(self) -> None:
        """Binds colours and depths for composing."""
        assert self._made is not None
        self._made[0].use(composing.COLORS)
        self._made[1].use(composing.DEPTHS)

    def release(self) -> None:
        """Gives the memory back."""
        for one in self._made or ():
            one.release()
        self._made, self._size_px = None, (0, 0)


class LitPictures:
    """Draws pictures whose level has mapped shadows. solids: draws the map, and nothing else. marks: those of the
    picture, whose opaque solids cast shadows."""

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
        self.light_view: SceneView | None = None  # of the picture drawn last

    def draw(self, view: SceneView, layers: Sequence[PlacedLayer], begin: Callable[[], None], steps: Steps) -> None:
        """Draws a picture. begin: sets its uniform blocks. steps: draw its background, and its bodies, fully lit."""
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
        """The level, without multisampling where the driver has no such textures."""
        return level if level.samples <= self._most_samples else level._replace(samples=1)

    @contextmanager
    def _covering(self, samples: int) -> Iterator[None]:
        """Has soft edges cover samples instead of being blended: also with what is behind them and drawn later."""
        wanted = (ALPHA_TO_COVERAGE, ALPHA_TO_ONE) if samples > 1 else ()
        for capability in wanted:
            self._context.enable_direct(capability)
        try:
            yield
        finally:
            for capability in wanted:
                self._context.disable_direct(capability)

    def forget(self) -> None:
        """For a new scene: its blocks are written anew."""
        self._uniforms.forget()

    def release(self) -> None:
        """Gives the targets' memory back."""
        self._lit.release()
        for one in self._map or ():
            one.release()
        self._map = None

    def _cast(self, view: SceneView, layers: Sequence[PlacedLayer]) -> CameraMatrices:
        """Draws the shadow map of a picture; returns the camera that it was drawn with."""
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
