"""Draws the world between snapshots that lie on the GPU.

The one idea: a picture is a few small uniform blocks and a fixed list of draw calls (ground, boxes, spheres,
shadows, outline; one for each program and layer that has such bodies), whatever the number of bodies; nothing
here runs once a body.

Always: what is drawn is decided by the layers and the camera alone, but for how finely many spheres are (detail.py);
drawing the same again gives the same pixels. The framebuffer that is in use when `draw` is called is the one drawn into, and nothing outside the
viewport is touched. It owns no window, reads no clock and does not know what the slots' snapshots are called.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import moderngl
import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Scene
from twixt.ipc.snapshot import BODY
from twixt.render.camera import CameraMatrices
from twixt.render.draw.body_programs import FRAME_BINDING, LAYER_BINDING, PASSES, SPHERE_PASSES, BodyPrograms
from twixt.render.draw.cast_drawing import CAST_KINDS, STRETCHED, CastDrawing, cast_passes
from twixt.render.draw.detail import FLAT, PLAIN, Detail, possible
from twixt.render.draw.frame_block import FRAME_BLOCK, Viewport, frame_block, guarded
from twixt.render.draw.gpu_timers import GpuTimers
from twixt.render.draw.layers import Layer, PlacedLayer, place, place_all
from twixt.render.draw.lines import Grid, Outline
from twixt.render.draw.marks import ORIGIN, Dots, SmoothLines
from twixt.render.draw.membership import Membership
from twixt.render.draw.portions import Portions
from twixt.render.draw.pose import WAYS, PoseVariant
from twixt.render.draw.snapshot_ring import FEW, SnapshotRing
from twixt.render.draw.software.apart import LEAST
from twixt.render.draw.software.backdrop import Backdrop
from twixt.render.draw.software.beneath import Beneath, Ground, Spheres
from twixt.render.draw.sphere_drawing import Range, SphereDrawing
from twixt.render.draw.sphere_glsl import ALL_PX, is_wide
from twixt.render.quality.levels import FULL, Level
from twixt.render.software_gl import is_software

LAYER_STRIDE = 256  # every OpenGL allows a part of a uniform buffer to begin at a multiple of this
KEEP_ALPHA = (moderngl.SRC_ALPHA, moderngl.ONE_MINUS_SRC_ALPHA, moderngl.ONE, moderngl.ONE_MINUS_SRC_ALPHA)
# The same for colours that are multiplied by their alpha already: where colour and alpha are blended alike, and with no
# factor of what is drawn, software drawing takes 4 % less for a pile of balls.
PREMULTIPLIED = moderngl.ONE, moderngl.ONE_MINUS_SRC_ALPHA
# Beyond this many bodies the ground goes without shadows: they would be one dark carpet, and cost a quad each.
MOST_SHADOWS = 20_000
# What spheres are drawn by where a picture is drawn cheaper.
CHEAPER = frozenset(detail.name for detail in (*map(Detail._make, PLAIN), *FLAT))
NO_VIEWPORT: Viewport = (0, 0, 0, 0)
MOST = 1 << 32


class SceneRenderer:
    """The scene on the GPU. Needs a context of OpenGL 3.3 or later, and that it is current."""

    def __init__(self, context: moderngl.Context, scene: Scene, slots: int = 8, capacity: int = 1) -> None:
        if (code := context.version_code) < 330:
            raise TwixtError(
                f"drawing needs OpenGL 3.3 or later, this display offers {code // 100}.{code // 10 % 10}; "
                "update the graphics driver, or draw in software with LIBGL_ALWAYS_SOFTWARE=1"
            )
        if slots < 3:
            raise TwixtError(f"the ring on the GPU needs at least 3 slots (two drawn, one written), got {slots}")
        self._context = context
        self._ring = SnapshotRing(context, slots, capacity)
        self._programs = BodyPrograms(context)
        self._grid, self._outline = Grid(context), Outline(context)
        for drawn in (self._grid, self._outline):
            drawn.program["Frame"].binding = FRAME_BINDING  # type: ignore[union-attr]
        self._marks: dict[type[Dots | SmoothLines], Dots | SmoothLines] = {}
        self._frame_block = context.buffer(reserve=FRAME_BLOCK.itemsize, dynamic=True)
        self._layer_blocks = context.buffer(reserve=LAYER_STRIDE, dynamic=True)
        self._is_software = is_software(context.info["GL_RENDERER"])
        self._backdrop = Backdrop(context) if self._is_software else None
        self._beneath = Beneath()
        self._portions = Portions(self._is_software)
        self._spheres = SphereDrawing(context, self._is_software, self._draw_bodies)
        self._casts = CastDrawing(context, self._is_software, self._draw_bodies, self._portions.flush)
        self._timers = GpuTimers(context, self._is_software)
        self._way = WAYS[0]  # of the picture drawn last
        self.level: Level = FULL  # how finely the next picture is drawn
        self._is_finished = True
        self._has_marks = self._had_marks = False  # dots or lines: in this frame, in the one before
        self._viewport = NO_VIEWPORT  # of the picture drawn last
        self._target: moderngl.Framebuffer = context.fbo
        self._size_px = (1, 1)
        self._scene = scene
        self._frame_key: tuple[object, ...] = ()  # what the frame block was made of
        self._eye, self._is_wide = ORIGIN, False  # of the camera drawn by last
        if scene.outline is not None:
            self._outline.set(scene.outline)
        self._members = Membership(context, scene, self._ring.capacity)

    @property
    def scene(self) -> Scene:
        """What is being drawn."""
        return self._scene

    @property
    def layers(self) -> frozenset[str | None]:
        """What may be drawn: None for most bodies, the scene's groups, `CHILDREN` for bodies that have a parent."""
        return self._members.layers

    def set_scene(self, scene: Scene) -> None:
        """Takes a scene that was published anew; the snapshots on the GPU stay."""
        self._scene, self._frame_key = scene, ()
        if scene.outline is not None:
            self._outline.set(scene.outline)
        self._take_members(self._ring.capacity)

    @property
    def has_alpha(self) -> bool:
        """A visible body came with a colour whose alpha is below 255. It is drawn all the same, and opaque."""
        return self._ring.has_alpha

    def upload(self, slot: int, bodies: memoryview | bytes, count: int) -> None:
        """Copies a snapshot's records (`count` x 64 bytes, straight from shared memory) into a slot."""
        self._ring.upload(slot, bodies, count)
        if self._ring.capacity > self._members.count:
            self._take_members(self._ring.capacity)

    def upload_records(self, slot: int, records: NDArray[np.void]) -> None:
        """Copies poses made elsewhere, dtype `BODY`, row i body i, into a slot, mostly one beyond the ring."""
        self.upload(slot, np.ascontiguousarray(records, BODY).view(np.uint8).data, len(records))

    def upload_scale3(self, slot: int, scale3: NDArray[np.floating]) -> None:
        """Copies the scales along the bodies' own axes, (n, 3), that belong to what was last uploaded into the slot.

        Multiplies the records' uniform scale. A sphere is drawn as an ellipsoid then.
        """
        self._ring.upload_stretch(slot, scale3)

    def draw(self, layers: Sequence[Layer], camera: CameraMatrices, viewport: Viewport) -> None:
        """Draws the layers into a part of the framebuffer in use: left, bottom, width, height in px.

        Pictures drawn before `finish` make one frame, side by side. Raises TwixtError.
        """
        placed = place_all(layers, self._ring, self.layers)
        left_px, bottom_px, width_px, height_px = viewport
        if self._is_finished:
            self._target, self._size_px, self._is_finished = self._context.fbo, (1, 1), False
            self._timers.begin_frame()
            self._beneath.begin()
        self._size_px = max(self._size_px[0], left_px + width_px), max(self._size_px[1], bottom_px + height_px)
        self._viewport = self._target.viewport = self._target.scissor = viewport
        key = (camera.view.tobytes(), camera.projection.tobytes(), camera.eye, camera.target, viewport)
        if key != self._frame_key:
            self._frame_key = key
            self._frame_block.write(frame_block(self._scene, camera, viewport).tobytes())
            self._is_wide = is_wide(camera)
        self._eye = camera.eye
        self._frame_block.bind_to_uniform_block(FRAME_BINDING)
        self._write_blocks(placed)
        self._way = placed[0].variant.way if placed else self._way
        if self._backdrop is not None:
            fixed = self._frame_key, self._scene.background, self._scene.ground, self._scene.outline
            self._beneath.drawn(fixed, camera, viewport, self._only_spheres(placed))
        with self._timers.next():
            self._draw_all(placed, camera)
        self._target.scissor = None  # type: ignore[assignment]  # stubs

    def points(self, positions: ArrayLike, colors: ArrayLike, size_px: float) -> None:
        """Round dots in the picture drawn last: positions (n, 3), metres; colors (n, 4) or one (4,), rgba 0..255.

        Hidden by bodies that stand before them. What is not finite is skipped. Raises TwixtError.
        """
        self._draw_marks(Dots, moderngl.PROGRAM_POINT_SIZE, positions, colors, size_px, self._eye)

    def lines(self, starts: ArrayLike, ends: ArrayLike, colors: ArrayLike) -> None:
        """Thin lines in the picture drawn last: starts and ends (n, 3), metres; colors as for `points`."""
        self._draw_marks(SmoothLines, 0, starts, ends, colors, self._eye)

    def prepare(self) -> bool:
        """Makes one of the programs that a change of method will need; False when there is none left to make.

        For idle time, after the first `draw`: takes milliseconds, on a machine that never did it 0.1 s or more.
        Without it the frame after the change takes that long. Shows nothing.
        """
        slot = next(self._ring.filled, None)
        if slot is None or self._viewport == NO_VIEWPORT:
            return False
        stretched, count = self._ring.is_stretched(slot), self._ring.count(slot)
        for way, name, group in product(WAYS, PASSES, sorted(self.layers, key=str)):
            variant = PoseVariant(way, stretched, self._is_wide and name in SPHERE_PASSES)
            is_cheaper = self._is_software and way == self._way and name in CHEAPER
            if self._programs.has(name, variant) or not (is_cheaper or self._is_drawn(name, count, stretched)):
                continue
            layer = place(Layer(slot, group=group), self._ring)._replace(variant=variant)
            if self._members.of(group, name).drawn(layer.bodies):
                # Drivers leave the work to the first draw. An empty part of the picture is drawn.
                self._target.scissor = (0, 0, 0, 0)
                self._frame_block.bind_to_uniform_block(FRAME_BINDING)
                self._write_blocks([layer])
                self._draw_bodies(name, [layer], most=1)
                self._target.scissor = None  # type: ignore[assignment]  # stubs
                return True
        return False

    def finish(self) -> None:
        """Waits until everything drawn so far is complete: the frame is over."""
        self._context.finish()
        self._is_finished = True
        self._had_marks, self._has_marks = self._has_marks, False

    @property
    def gpu_ns(self) -> int | None:
        """How long the GPU worked on the last frame; None before the first, and where the CPU draws.

        Waits for it, so ask after `finish`.
        """
        return self._timers.elapsed_ns

    @property
    def beneath(self) -> Beneath | None:
        """What is known of the frame for those who lay something over it; None where copies of pixels save nothing."""
        return self._beneath if self._backdrop is not None and self._backdrop.is_copied else None

    def read_pixels(self) -> NDArray[np.uint8]:
        """The frame drawn last, shape (height, width, 3), top row first. On a window: before it is swapped."""
        width_px, height_px = self._size_px
        raw = self._target.read(viewport=(0, 0, width_px, height_px), components=3, alignment=1)
        return np.flipud(np.frombuffer(raw, np.uint8).reshape(height_px, width_px, 3)).copy()

    def release(self) -> None:
        """Gives the snapshots' and shapes' GPU memory back; the rest goes with the context."""
        self._ring.release()
        if self._backdrop is not None:
            self._backdrop.release()
        self._members.release()

    def _draw_marks(self, kind: type[Dots | SmoothLines], flags: int, *what: Any) -> None:
        marks = self._marks.get(kind)
        if marks is None:
            marks = self._marks[kind] = kind(self._context)
            marks.program["Frame"].binding = FRAME_BINDING  # type: ignore[union-attr]
        marks.set(*what)
        self._has_marks = self._has_marks or np.size(what[0]) > 0
        self._beneath.marked()
        if self._viewport == NO_VIEWPORT:
            return
        self._target.use()
        self._target.viewport = self._target.scissor = self._viewport
        self._context.enable_only(moderngl.DEPTH_TEST | moderngl.BLEND | flags)
        self._target.depth_mask = False
        with self._timers.next():
            marks.draw()
        self._target.depth_mask = True
        self._target.scissor = None  # type: ignore[assignment]  # stubs

    def _write_blocks(self, layers: list[PlacedLayer]) -> None:
        if self._layer_blocks.size < len(layers) * LAYER_STRIDE:
            self._layer_blocks.release()
            self._layer_blocks = self._context.buffer(reserve=2 * len(layers) * LAYER_STRIDE, dynamic=True)
        self._layer_blocks.write(b"".join(layer.block.ljust(LAYER_STRIDE, b"\0") for layer in layers) or b"\0")

    def _draw_all(self, layers: list[PlacedLayer], camera: CameraMatrices) -> None:
        context, scene = self._context, self._scene
        self._draw_ground(camera)
        context.depth_func = "<"
        # The picture's own alpha stays 1: some compositors would show the desktop through it.
        context.blend_func = KEEP_ALPHA  # type: ignore[assignment]
        most = max((layer.bodies for layer in layers), default=0)
        self._draw_bodies("planes", layers)
        for kind in CAST_KINDS:
            self._draw_cast(kind, layers, camera)
        self._draw_spheres([layer for layer in layers if not layer.variant.stretched], camera)
        if self.level.shadows and self._is_drawn("shadows", most):
            self._draw_bodies("shadows", layers)
        if scene.outline is not None:
            context.enable_only(moderngl.DEPTH_TEST | moderngl.BLEND)
            self._target.depth_mask = False
            self._outline.draw(camera.eye)
            self._target.depth_mask = True

    def _draw_ground(self, camera: CameraMatrices) -> None:
        """What is behind all bodies: background and grid."""
        scene = self._scene

        def draw() -> None:
            self._target.clear(*scene.background, 1.0, depth=1.0)
            if scene.ground is not None:
                self._context.blend_func = KEEP_ALPHA  # type: ignore[assignment]
                self._context.enable_only(moderngl.BLEND)
                self._grid.draw(camera)

        if self._backdrop is None or scene.ground is None:
            draw()
        else:
            key = self._frame_key, scene.background, scene.ground
            self._backdrop.lay(self._target, self._viewport, key, draw)

    def _is_drawn(self, name: str, count: int, stretched: bool = False) -> bool:
        """Whether this program may be used at all for `count` bodies."""
        scene, is_software = self._scene, self._is_software
        if name == "apart":
            return is_software and not stretched and LEAST <= count <= FEW and self._members.are_spheres
        if name in SPHERE_PASSES:
            return not stretched and (name in ("beyond", "quads") or name in possible(count, is_software))
        for kind in CAST_KINDS:
            if name.endswith(kind):
                of_kind = sum(self._members.of(layer, kind).drawn(count) for layer in self.layers)
                return name in cast_passes(kind, of_kind, is_software) and (stretched or kind != STRETCHED)
        return name != "shadows" or (scene.ground is not None and not scene.unlit and 0 < count <= MOST_SHADOWS)

    def _draw_cast(self, kind: str, layers: list[PlacedLayer], camera: CameraMatrices) -> None:
        if kind == STRETCHED:
            layers = [layer for layer in layers if layer.variant.stretched]
        if count := self._count(kind, layers):
            self._casts.draw(kind, layers, count, camera, self._viewport[3], self.level)

    def _count(self, name: str, layers: list[PlacedLayer]) -> int:
        return sum(self._members.of(layer.group, name).drawn(layer.bodies) for layer in layers)

    def _draw_spheres(self, layers: list[PlacedLayer], camera: CameraMatrices) -> None:
        if count := self._count("points", layers):
            sample = self._ring.sample(max(layers, key=lambda layer: layer.bodies).slots.older)
            extents = [self._ring.extent(slot) for layer in layers for slot in layer.slots[:2]]
            few = self._ring.few(layers[0].slots.older) if self._are_alone(layers) else None
            self._spheres.draw(self._scene, layers, count, sample, extents, camera, self._viewport[2:], self.level, few)

    def _are_alone(self, layers: list[PlacedLayer]) -> bool:
        """Whether the picture holds nothing but spheres that can be ordered: apart.py.

        A dot or a line is hidden as far as it is inside a sphere, which takes the sphere's true depth.
        """
        if self._has_marks or self._had_marks:
            return False
        return self._members.are_spheres and len(layers) == 1 and not self._is_wide and layers[0].group is None

    def _only_spheres(self, layers: list[PlacedLayer]) -> Spheres | None:
        """What the picture holds, where that is few spheres."""
        if not self._members.are_spheres or len(layers) != 1 or layers[0].variant.stretched:
            return None
        scene, slots = self._scene, layers[0].slots
        ring, ground = self._ring, None
        older, newer = ring.few(slots.older), ring.few(slots.newer)
        if older is None or newer is None or layers[0].group is not None:
            return None
        if self.level.shadows and self._is_drawn("shadows", layers[0].bodies):
            ground = Ground(scene.ground or 0.0, np.divide(scene.light, math.hypot(*scene.light)))
        radii = self._spheres.radii(scene, len(older))
        ends = (older, ring.extent(slots.older)), (newer, ring.extent(slots.newer))
        return Spheres(*ends, radii, layers[0].gap_s, ground)

    def _draw_bodies(
        self, name: str, layers: list[PlacedLayer], range_px: Range = ALL_PX, most: int = MOST,
        order: moderngl.Buffer | None = None,
    ) -> None:  # fmt: skip
        """order: the bodies' numbers in the order in which they are drawn, where that is not their own."""
        found = [(layer, self._members.of(layer.group, name)) for layer in layers]
        counted = [(layer, members, members.drawn(layer.bodies)) for layer, members in found]
        if not any(count for *_, count in counted):
            return
        self._context.enable_only(PASSES[name].flags)
        if PASSES[name].is_premultiplied:
            self._context.blend_func = PREMULTIPLIED
        self._target.depth_mask = PASSES[name].writes_depth
        for layer, members, count in counted:
            if not count:
                continue
            variant = layer.variant._replace(wide=self._is_wide and name in SPHERE_PASSES)
            program = self._programs.get(name, variant)
            array = self._ring.vertex_array(
                (name, layer.group, variant, order is None), program, self._members.shape_rows,
                members.indices if order is None else order,
                layer.slots, layer.variant.stretched,
            )  # fmt: skip
            if isinstance(uniform := program.get("range_px", None), moderngl.Uniform):
                uniform.value = range_px
            if PASSES[name].is_guarded:
                self._target.viewport = guarded(self._viewport)
            self._layer_blocks.bind_to_uniform_block(LAYER_BINDING, layer.number * LAYER_STRIDE, LAYER_STRIDE)
            self._portions.render(array, min(count, most))
            self._target.viewport = self._viewport
        self._target.depth_mask = True
        self._context.blend_func = KEEP_ALPHA  # type: ignore[assignment]

    def _take_members(self, count: int) -> None:
        """Puts the shapes of `count` bodies on the GPU, and who is drawn by which program."""
        self._ring.forget_vertex_arrays()
        self._members.release()
        self._members = Membership(self._context, self._scene, count)
