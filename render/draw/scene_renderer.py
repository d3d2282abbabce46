"""Draws the world between two snapshots on the GPU.

A picture consists of a few small uniform blocks and a list of draw calls (ground, boxes, spheres, shadows, outline).
There is one draw call for each program, and for each layer that has bodies of the program's kind. The list does not
depend on the number of bodies, and no code here runs once for each body.

Always: scene, layers, camera and level determine the picture. A picture that is drawn again has the same pixels. There
is one exception: the choice of the program that draws many spheres also depends on earlier pictures (sphere_detail.py).
A frame is drawn into the framebuffer that is current at the frame's first `draw`. Pixels outside the viewport do not
change. This module owns no window, and does not know which snapshot is in which slot. It reads no clock, with one
exception: it compares the times of two ways to draw the background (background_cache.py).
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence

import moderngl
import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.config.rules import SCALE3
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Scene, Vector
from twixt.ipc.scene.surfaces import surface_rows
from twixt.ipc.snapshot import BODY, HAS_COLOR, NO_MARKS
from twixt.render.draw.bodies import shape_rows
from twixt.render.draw.bodies.body_draws import BodyDraws, still_key
from twixt.render.draw.bodies.level_floor import LevelFloor
from twixt.render.draw.bodies.materials import MaterialDraws
from twixt.render.draw.flat.background import Background, StillBodies
from twixt.render.draw.flat.dots_and_lines import ORIGIN, DotsAndLines, FlatRows
from twixt.render.draw.flat.rectangles import Rectangle
from twixt.render.draw.frame.camera import CameraMatrices
from twixt.render.draw.frame.context import GpuTimers, is_software
from twixt.render.draw.frame.frame_block import FrameTarget, FrameUniforms, SceneView, Viewport
from twixt.render.draw.frame.layers import Layer, PlacedLayer, place_all
from twixt.render.draw.frame.snapshot_ring import SnapshotRing
from twixt.render.draw.glsl.uniform_blocks import POSE_VARIANTS
from twixt.render.draw.light.lit_pictures import LitPictures, Solids
from twixt.render.draw.marks.mark_drawing import MarkDrawing
from twixt.render.draw.meshes.mesh_drawing import MeshDrawing
from twixt.render.draw.program_preparation import ProgramPreparation
from twixt.render.draw.quality import FULL, Level
from twixt.render.draw.shapes.shadows import has_shadows
from twixt.render.draw.software.background_cache import meet
from twixt.render.draw.software.kept_pixels import SmallPictures
from twixt.render.draw.software.picture_bounds import PictureBounds
from twixt.render.draw.spheres.sphere_common import is_wide
from twixt.render.draw.transparency import TransparentDraws

NO_EPOCHS = np.zeros(0, np.uint32)
NO_COLUMNS: Mapping[str, NDArray[np.generic]] = {}


class SceneRenderer:
    """Draws one scene. Needs a current context with OpenGL 3.3 or later.

    slots: number of snapshots on the GPU, at least 3. capacity: number of bodies for which a slot has room at first.
    Raises TwixtError if the version of OpenGL or the number of slots is too low.
    """

    def __init__(self, context: moderngl.Context, scene: Scene, slots: int = 8, capacity: int = 1) -> None:
        if (code := context.version_code) < 330:
            raise TwixtError(
                f"drawing needs OpenGL 3.3 or later, this display offers {code // 100}.{code // 10 % 10}; "
                "update the graphics driver, or draw in software with LIBGL_ALWAYS_SOFTWARE=1"
            )
        if slots < 3:
            raise TwixtError(
                f"the ring on the GPU must have at least 3 slots (two are drawn, one is written), got {slots}"
            )
        by_processor = is_software(context.info["GL_RENDERER"])
        self._context, self._scene, self.slots = context, scene, slots
        self._target, self._uniforms = FrameTarget(context), FrameUniforms(context)
        self._small = SmallPictures(context, self._target)
        ring = SnapshotRing(context, slots, capacity)
        self._bodies = BodyDraws(context, self._target, scene, ring, by_processor)
        self._floors = LevelFloor(self._bodies)
        self._background = Background(context, by_processor)
        self._materials = MaterialDraws(context, self._bodies)
        self._meshes = MeshDrawing(context, self._target, self._bodies, self._materials.uniforms)
        self._solids = Solids(context, self._bodies, self._meshes, self._materials)
        self._marks = MarkDrawing(context, self._target, by_processor)
        self._lit = LitPictures(
            context,
            self._target,
            self._bodies,
            self._meshes,
            Solids(context, self._bodies, self._meshes, self._materials),
            self._marks,
        )
        self._flat = DotsAndLines(context)
        self._transparent = TransparentDraws(
            context, self._target, self._bodies, self._meshes, self._materials.uniforms, self._marks
        )
        self._preparation = ProgramPreparation(
            self._target, self._uniforms, self._bodies, self._meshes, self._marks, self._lit, self._flat
        )
        if scene.outline is not None:
            self._flat.outline.set(scene.outline)
        self._bounds = PictureBounds(self._bodies)
        self._timers = GpuTimers(context, by_processor)
        self._view: SceneView | None = None  # the view of the last picture; None before the first
        self._is_alone = True  # True if the frame has only one picture
        self._covered: Sequence[Rectangle] | None = None  # the rectangles that `mark_covered` was given in this frame
        self._motion = POSE_VARIANTS[0]  # kind of motion of the last picture
        self._still_key: Hashable = None  # key of the planes in the last picture; None if a plane may move
        self._has_planes = False  # True if the planes were drawn with the background
        self.level: Level = FULL  # quality level of the next picture

    @property
    def scene(self) -> Scene:
        """The scene that is drawn."""
        return self._scene

    @property
    def layers(self) -> frozenset[str | None]:
        """The layers that may be drawn: the scene's groups, `CHILDREN` for bodies with a parent, and None for all other
        bodies."""
        return self._bodies.members.layers

    def set_scene(self, scene: Scene) -> None:
        """Replaces the scene. The snapshots on the GPU stay."""
        self._scene = scene
        self._uniforms.forget()
        self._lit.forget()
        if scene.outline is not None:
            self._flat.outline.set(scene.outline)
        self._bodies.set_scene(scene)

    def begin_scene(self, own: Scene | None = None, slots: Container[int] | None = None) -> None:
        """Call this method before the first snapshot of a new scene is uploaded. Call it again when another scene is
        drawn. If the new scene moves parts, earlier snapshots still show these parts at their old places. own: the new
        scene, if an earlier scene is still drawn. slots: GPU slots that may be drawn again. If `slots` is None, all
        slots may be drawn again."""
        self._bodies.begin_scene(own, slots)

    def forget_pixels(self) -> None:
        """Discards the pixels that were cached in earlier frames. Call it when the window's size has changed. Cached
        pixels may have been outside the smaller window."""
        self._background.forget_pixels()

    def upload(
        self,
        slot: int,
        bodies: memoryview | bytes,
        count: int,
        part_columns: Mapping[str, NDArray[np.generic]] = NO_COLUMNS,
        is_posed: bool = False,
    ) -> None:
        """Copies the records of a snapshot (`count` x 64 bytes, directly from shared memory) into a slot. is_posed:
        True if the CPU computed the records for the drawn scene.

        part_columns: columns with one value for each part. The columns `color`, `scale3` and `visible` replace the
        scene's values. A column is ignored if it does not have one row for each part. Raises TwixtError if the GPU has
        no memory left.
        """
        drawn = self._bodies
        drawn.make_room(count)
        if drawn.is_uploaded_as_is and not part_columns:
            drawn.ring.upload(slot, bodies, count)
        else:
            records = drawn.records_of_rows(bodies, count)
            records = records if is_posed else drawn.in_place(records)
            shape_rows.apply(records, part_columns, drawn.members.part_colors)
            drawn.ring.upload(slot, records.view(np.uint8).data, len(records))
            scale3 = part_columns.get(SCALE3)
            if scale3 is not None and scale3.shape == (len(records), 3):
                drawn.ring.upload_stretch(slot, np.asarray(scale3, np.float32))

    def record_count(self, count: int) -> int:
        """Returns the number of records that a slot has for a snapshot of `count` bodies. There is one record for each
        part."""
        self._bodies.make_room(count)
        parts = self._bodies.parts
        return count if parts is None else parts.rows_of(count)

    def is_written(self, slot: int, count: int) -> bool:
        """Returns True if a slot's memory was already written for at least `count` bodies."""
        return self._bodies.ring.is_written(slot, self.record_count(count))

    def upload_records(
        self, slot: int, records: NDArray[np.void], part_columns: Mapping[str, NDArray[np.generic]] = NO_COLUMNS
    ) -> None:
        """Copies poses that the CPU computed into a slot, usually a slot beyond the ring. records: (n,) of dtype
        `BODY`, row i for body i. part_columns: see `upload`. Additional rows of a column are ignored."""
        if part_columns:
            rows = self.record_count(len(records))
            part_columns = {name: values[:rows] for name, values in part_columns.items()}
        self.upload(slot, np.ascontiguousarray(records, BODY).view(np.uint8).data, len(records), part_columns, True)

    def bodies(self, slot: int) -> tuple[NDArray[np.void], dict[str, NDArray[np.generic]]]:
        """Returns copies of a slot's bodies, (n,) of dtype `BODY`, and of the bodies' column `scale3`, if there is one.
        If parts have their own colours, the slot does not contain the colours of bodies, and all bodies are white in
        the result. Waits for OpenGL if there are many bodies."""
        drawn = self._bodies
        records, stretches = drawn.ring.read(slot)
        rows = slice(None) if drawn.parts is None else drawn.parts.first[: drawn.parts.bodies_of(len(records))]
        bodies = records[rows].copy()
        if drawn.members.part_colors is not None:
            bodies["color"] = 255
            bodies["flags"] &= np.uint16(0xFFFF ^ HAS_COLOR)
        if stretches is None or SCALE3 in self._scene.part_columns:
            return bodies, {}
        return bodies, {SCALE3: stretches[rows].copy()}

    def upload_surfaces(self, slot: int, vertices: NDArray[np.float32], bodies: memoryview | NDArray[np.void]) -> None:
        """Sets the vertices (v, 3) of the snapshot in `slot`. If the array is empty, meshes have their rest shapes.
        bodies: the snapshot's records."""
        epochs = NO_EPOCHS
        if len(vertices):
            records = np.frombuffer(bodies, BODY) if isinstance(bodies, memoryview) else bodies
            epochs = records["epoch"][surface_rows(self._scene, len(records)).bodies]
        self._meshes.surfaces.upload(slot, vertices, epochs)

    def upload_scale3(self, slot: int, scale3: NDArray[np.floating]) -> None:
        """Copies scales along the bodies' own axes, (n, 3), into a slot. They belong to the snapshot that was last
        uploaded into the slot.

        The records' uniform scale is multiplied by these scales. Spheres with such scales are drawn as ellipsoids. The
        positions of parts are scaled along the body's axes. Each part is scaled along its own axes, by the body's scale
        in the direction of the axis. This scaling is exact for parts that are turned by right angles. Raises TwixtError
        if the array has another shape, or if the GPU has no memory left.
        """
        parts = self._bodies.parts
        rows = scale3 if parts is None else scale3[parts.bodies[: parts.rows_of(len(scale3))]]
        self._bodies.ring.upload_stretch(slot, rows)

    def draw(
        self,
        layers: Sequence[Layer],
        camera: CameraMatrices,
        viewport: Viewport,
        marks: NDArray[np.void] = NO_MARKS,
        clip: Viewport | None = None,
    ) -> None:
        """Draws the layers into an area of the current framebuffer. viewport: left, bottom, width and height of the
        area in px.

        clip: the area of `viewport` that is drawn, by default the whole viewport. The viewport may be partly outside
        the framebuffer. marks: marks of this picture, (m,) of dtype `MARK`, finite and of known kinds. Do not modify
        the array of marks afterwards. To change the marks, pass a new array. All pictures that are drawn before
        `finish` belong to one frame and are side by side. Raises TwixtError for an unknown layer or interpolation
        method.
        """
        bodies, scene, target = self._bodies, self._bodies.scene, self._target
        placed = place_all(layers, bodies.ring, bodies.members.layers)
        self._is_alone, self._covered = not target.is_begun, None
        if not target.is_begun:
            target.begin()
            self._timers.begin_frame()
        self.end_pictures()
        target.cover(viewport, clip or viewport)
        area = viewport
        if self.level.scale < 1:
            area = self._small.begin(viewport, clip or viewport, self.level.scale)
        before = self._view
        self._materials.begin()
        self._marks.set_marks(marks)
        floor = self._floors.of_picture(placed) if scene.ground_z is None and self.level.shadows else None
        is_new = self._uniforms.write(scene, camera, area, floor)
        wide = is_wide(camera) if is_new or before is None else before.is_wide
        view = self._view = SceneView(scene, camera, area, self._lit.affordable(self.level), wide, floor)
        self._motion = placed[0].variant.motion if placed else self._motion
        key = self._background.key(self._uniforms.key, scene)

        def begin() -> None:
            self._uniforms.bind()
            bodies.begin(view, placed)
            self._meshes.pose(placed)
            self._transparent.begin(camera, placed)

        def draw_background() -> None:
            self._still_key = still_key(bodies.ring, placed, scene)
            still = None
            if self._still_key is not None:
                still = StillBodies(self._still_key, lambda: self._solids.draw_planes(placed))
            bounds, is_whole = None, view.level.scale == 1 and view.viewport == (0, 0, *target.framebuffer.size)
            if bodies.is_software and is_whole and not len(marks):
                bounds = self._bounds.of_picture(view, placed, still is not None)
            self._has_planes = self._background.draw(target, view, key, still, bounds)
            if (areas := self._background.areas) is not None:
                target.framebuffer.scissor = areas[0]

        def draw() -> None:
            self._draw_bodies(view, placed)

        with self._timers.next():
            if view.is_mapped:
                self._lit.draw(view, placed, begin, (draw_background, draw))
            else:
                begin()
                draw_background()
                draw()
            self._draw_over(view)
        target.uncut()

    def points(self, positions: ArrayLike, colors: ArrayLike, size_px: float) -> None:
        """Draws round dots into the last picture. Bodies in front of a dot hide it.

        positions: (n, 3), in metres. A row with a number that is not finite is skipped. colors: (n, 4) or one (4,),
        rgba from 0 to 255. size_px: diameter of a dot. Raises TwixtError if an argument is wrong.
        """
        if self._view is not None:
            size_px *= self._view.level.scale
        dots = self._flat.dots()
        dots.set(positions, colors, size_px, self._eye)
        self._draw_flat(dots)

    def lines(self, starts: ArrayLike, ends: ArrayLike, colors: ArrayLike) -> None:
        """Draws thin lines into the last picture. starts, ends: (n, 3), in metres. colors: see `points`.

        Raises TwixtError if an argument is wrong.
        """
        lines = self._flat.lines()
        lines.set(starts, ends, colors, self._eye)
        self._draw_flat(lines)

    def rings(
        self,
        positions: ArrayLike,
        radii_px: NDArray[np.floating],
        alphas: NDArray[np.floating],
        line_px: float,
    ) -> None:
        """Draws rings that face the camera into the last picture. Bodies do not hide them.

        positions: (n, 3), in metres. radii_px: (n,). alphas: opacities, (n,), 0 to 1. line_px: width of a ring's line.
        """
        scale = 1.0 if self._view is None else self._view.level.scale
        rings = self._flat.rings()
        rings.set(positions, scale * radii_px, alphas, scale * line_px, self._eye)
        self._draw_flat(rings)

    def prepare(self) -> bool:
        """Compiles one program that will be needed when the interpolation method or the level changes. Returns False if
        all such programs are compiled.

        Call it in idle time, after the first `draw`. A call takes some milliseconds. If this machine never compiled the
        program before, a call takes 0.1 s or more. Without the call, the first frame after the change needs this time
        in addition. The call changes no pixel.
        """
        if self._view is None:
            return False
        return self._preparation.prepare(self._view, self._motion) or (
            self._bodies.is_software and self._small.prepare()
        )

    def prepare_background(self) -> None:
        """Draws the background of the next frame. Call it between two frames. The call saves time if only bodies have
        moved when the next frame is drawn.

        The call changes no picture: if a frame needs another background, the frame draws that background as usual.
        """
        view, target = self._view, self._target
        if view is None or view.is_mapped or target.is_begun or not self._uniforms.key:
            return
        if self._context.fbo is not target.framebuffer or view.viewport != (0, 0, *target.size_px):
            return
        key = self._background.key(self._uniforms.key, self._scene)
        if self._background.prepare(target, view, key, self._still_key):
            self._bodies.flush()

    def clear(self) -> None:
        """Clears the frame to black."""
        self.end_pictures()
        self._context.clear()
        self._background.invalidate()

    def end_pictures(self) -> None:
        """Ends the last picture. If the picture was drawn at a smaller size, this method enlarges it. Call it before
        other code draws over the frame."""
        if self._small.is_begun:
            with self._timers.next():
                self._small.end()

    def mark_covered(self, rectangles: Sequence[Rectangle] | None) -> None:
        """Records that other code has drawn over these rectangles of the picture in this frame, and nowhere else. The
        rectangles are counted from the window's top left. If `rectangles` is None, the rectangles are unknown. Without
        this call, the whole next frame is drawn."""
        self._covered = rectangles

    def invalidate(self) -> None:
        """Records that other code has drawn into the framebuffer between two frames. The whole next frame is then
        drawn."""
        self._background.invalidate()

    def finish(self) -> None:
        """Ends the frame: waits until all draws are complete."""
        self.end_pictures()
        self._context.finish()
        self._target.is_begun = False
        self._small.end_frame()
        self._background.end_frame(self._areas_over())
        self._flat.end_frame()

    @property
    def gpu_ns(self) -> int | None:
        """How long the GPU took for the last frame, in ns. None before the first frame, and in software rendering.

        Waits for the result, so read the value after `finish`.
        """
        return self._timers.elapsed_ns

    def read_pixels(self) -> NDArray[np.uint8]:
        """Returns the last frame as RGB, (height, width, 3), top row first. For a window, call it before the swap."""
        return self._target.read()

    def release(self) -> None:
        """Releases the GPU memory of snapshots and shapes. The other memory is freed with the context."""
        self._bodies.release()
        self._meshes.release()
        self._marks.release()
        self._transparent.release()
        self._lit.release()
        self._materials.release()
        self._background.release()
        self._small.release()

    @property
    def _eye(self) -> Vector:
        return ORIGIN if self._view is None else self._view.camera.eye

    def _draw_flat(self, rows: FlatRows) -> None:
        self._flat.note(rows)
        if self._view is not None:
            with self._timers.next():
                self._flat.draw(rows, self._target, self._view.viewport)

    def _draw_bodies(self, view: SceneView, layers: list[PlacedLayer]) -> None:
        scene, bodies = view.scene, self._bodies
        has_others = self._flat.are_among_bodies or self._marks.are_drawn
        self._solids.draw(view, layers, has_others, self._has_planes)
        self._marks.draw(view)
        count = max((layer.bodies for layer in layers), default=0)
        if view.level.shadows and not view.is_mapped and has_shadows(scene, count, view.floor):
            bodies.draw("shadows", layers)
            self._meshes.draw_shadows()
        self._meshes.draw_silhouettes(view.level)

    def _draw_over(self, view: SceneView) -> None:
        """Draws thin lines and transparent bodies, over all opaque bodies."""
        self._marks.draw_lines(view)
        if view.scene.outline is not None:
            self._draw_outline(view)
        self._transparent.draw(view)

    def _draw_outline(self, view: SceneView) -> None:
        target, areas = self._target.framebuffer, self._background.areas
        self._context.enable_only(moderngl.DEPTH_TEST | moderngl.BLEND)
        target.depth_mask = False
        if areas is None:
            self._flat.outline.draw(view.camera.eye)
        else:
            bounds = self._bounds.of_outline(view)
            # The areas are drawn in reverse order, so that the scissor of the first area stays for the transparent
            # bodies.
            for area in reversed(areas):
                target.scissor = area
                if bounds is None or meet(area, bounds):
                    self._flat.outline.draw(view.camera.eye)
        target.depth_mask = True

    def _areas_over(self) -> list[Viewport] | None:
        """Returns the areas of the frame's only picture over which other code has drawn. Returns None if they are
        unknown."""
        covered, view = self._covered, self._view
        if covered is None or view is None or not self._is_alone or self._flat.are_drawn:
            return None
        height_px = view.viewport[3]
        return [(left, height_px - bottom, right - left, bottom - top) for left, top, right, bottom in covered]
