"""Draws the world between two snapshots that lie on the GPU.

The one idea: a frame is one small uniform block and a fixed list of draw calls (ground, boxes,
spheres, shadows, outline), whatever the number of bodies; nothing here runs once a body.

Always: what is drawn is decided by the two slots and alpha alone; drawing the same again gives the same
pixels. The framebuffer that is in use when `draw` is called is the one drawn into.
It owns no window, reads no clock and does not know what the slots' snapshots are called.
"""

from __future__ import annotations

import math

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Scene
from twixt.render.camera import CameraMatrices
from twixt.render.draw.boxes import box_program
from twixt.render.draw.frame_block import FRAME_BLOCK, frame_block
from twixt.render.draw.lines import Grid, Outline
from twixt.render.draw.shadows import shadow_program
from twixt.render.draw.shape_table import shape_table
from twixt.render.draw.snapshot_ring import SnapshotRing
from twixt.render.draw.spheres import SpherePrograms
from twixt.render.software_gl import is_software

METHODS = ("linear", "none")
FRAME_BINDING = 0
KEEP_ALPHA = (moderngl.SRC_ALPHA, moderngl.ONE_MINUS_SRC_ALPHA, moderngl.ONE, moderngl.ONE_MINUS_SRC_ALPHA)
# Beyond this many bodies the ground goes without shadows: they would be one dark carpet, and cost a quad each.
MOST_SHADOWS = 20_000


class SceneRenderer:
    """The scene on the GPU. Needs a context of OpenGL 3.3 or later, and that it is current."""

    def __init__(self, context: moderngl.Context, scene: Scene, slots: int = 8, capacity: int = 1) -> None:
        if context.version_code < 330:
            code = context.version_code
            raise TwixtError(
                f"drawing needs OpenGL 3.3 or later, this display offers {code // 100}.{code // 10 % 10}; "
                "update the graphics driver, or draw in software with LIBGL_ALWAYS_SOFTWARE=1"
            )
        if slots < 3:
            raise TwixtError(f"the ring on the GPU needs at least 3 slots (two drawn, one written), got {slots}")
        self._context = context
        self._ring = SnapshotRing(context, slots, capacity)
        self._grid, self._outline = Grid(context), Outline(context)
        spheres = SpherePrograms(context)
        self._programs = {
            "shadows": shadow_program(context),
            "boxes": box_program(context),
            "points": spheres.points,
            "quads": spheres.quads,
        }
        self._block = context.buffer(reserve=FRAME_BLOCK.itemsize, dynamic=True)
        for program in (*self._programs.values(), self._grid.program, self._outline.program):
            program["Frame"].binding = FRAME_BINDING  # type: ignore[union-attr]
        self._shape_rows: moderngl.Buffer | None = None
        self._indices: dict[str, moderngl.Buffer | None] = {}
        self._bodies: dict[str, NDArray[np.uint32]] = {}
        self._shapes_for = 0
        self._is_software = is_software(context.info["GL_RENDERER"])
        self._timer = context.query(time=True)
        self._is_timed = False
        self._target: moderngl.Framebuffer = context.fbo
        self._size_px = (1, 1)
        self.set_scene(scene)

    @property
    def scene(self) -> Scene:
        """What is being drawn."""
        return self._scene

    def set_scene(self, scene: Scene) -> None:
        """Takes a scene that was published anew; the snapshots on the GPU stay."""
        self._scene = scene
        if scene.outline is not None:
            self._outline.set(scene.outline)
        self._upload_shapes(self._ring.capacity)

    def upload(self, slot: int, bodies: memoryview | bytes, count: int) -> None:
        """Copies a snapshot's records (`count` x 64 bytes, straight from shared memory) into a slot of the ring."""
        self._ring.upload(slot, bodies, count)
        if self._ring.capacity > self._shapes_for:
            self._upload_shapes(self._ring.capacity)

    def draw(
        self,
        previous_slot: int | None,
        next_slot: int | None,
        alpha: float,
        camera: CameraMatrices,
        method: str,
        size_px: tuple[int, int],
    ) -> None:
        """Draws the world at `alpha` (0..1) between two slots into the framebuffer in use.

        next_slot None: hold the previous one. previous_slot None: no snapshot yet, the scene without bodies.
        """
        if method not in METHODS:
            raise TwixtError(f"drawing knows the methods {', '.join(METHODS)}, got {method!r}")
        if next_slot is not None and alpha >= 1:
            previous_slot = next_slot
        older = previous_slot if previous_slot is not None else 0
        older_count = 0 if previous_slot is None else self._ring.count(previous_slot)
        newer = older if next_slot is None or method == "none" else next_slot
        if self._ring.reads_beyond(newer, older_count):
            newer = older
        share = 0.0 if newer == older else max(float(alpha), 0.0)
        newer_count = self._ring.count(newer) if previous_slot is not None else 0
        block = frame_block(self._scene, camera, size_px, share, older_count, newer_count)
        self._block.write(block.tobytes())
        self._block.bind_to_uniform_block(FRAME_BINDING)

        self._target, self._size_px = self._context.fbo, size_px
        with self._timer:
            self._draw_all(older, newer, older_count, camera, size_px)
        self._is_timed = True

    def finish(self) -> None:
        """Waits until everything drawn so far is complete."""
        self._context.finish()

    @property
    def gpu_ns(self) -> int | None:
        """How long the GPU worked on the last `draw`. Waits for it, so ask after `finish`.

        None before the first, and where the CPU draws: there OpenGL's timer sees only the commands being taken in.
        """
        return self._timer.elapsed if self._is_timed and not self._is_software else None

    def read_pixels(self) -> NDArray[np.uint8]:
        """The picture drawn last, shape (height, width, 3), top row first. On a window: before it is swapped."""
        width_px, height_px = self._size_px
        raw = self._target.read(viewport=(0, 0, width_px, height_px), components=3, alignment=1)
        return np.flipud(np.frombuffer(raw, np.uint8).reshape(height_px, width_px, 3)).copy()

    def release(self) -> None:
        """Gives the snapshots' and shapes' GPU memory back; the rest goes with the context."""
        self._ring.release()
        self._release_shapes()

    def _draw_all(
        self, older: int, newer: int, older_count: int, camera: CameraMatrices, size_px: tuple[int, int]
    ) -> None:
        context, scene = self._context, self._scene
        self._target.viewport = (0, 0, *size_px)
        red, green, blue = scene.background
        self._target.clear(red, green, blue, 1.0, depth=1.0)
        context.depth_func = "<"
        # The picture's own alpha stays 1: some compositors would show the desktop through it.
        context.blend_func = KEEP_ALPHA  # type: ignore[assignment]
        if scene.ground is not None:
            context.enable_only(moderngl.BLEND)
            self._grid.draw(math.dist(camera.eye, camera.target))
        if older_count:
            context.enable_only(moderngl.DEPTH_TEST)
            self._draw_bodies("boxes", older, newer, older_count)
            context.enable_only(moderngl.DEPTH_TEST | moderngl.BLEND | moderngl.PROGRAM_POINT_SIZE)
            self._draw_bodies("points", older, newer, older_count)
            self._draw_bodies("quads", older, newer, older_count)
        context.enable_only(moderngl.DEPTH_TEST | moderngl.BLEND)
        self._target.depth_mask = False
        if scene.ground is not None and not scene.unlit and older_count <= MOST_SHADOWS:
            self._draw_bodies("shadows", older, newer, older_count)
        if scene.outline is not None:
            self._outline.draw()
        self._target.depth_mask = True

    def _draw_bodies(self, name: str, older: int, newer: int, count: int) -> None:
        bodies = self._bodies[name]
        drawn = count if len(bodies) == self._shapes_for else int(np.searchsorted(bodies, count))
        if drawn:
            assert self._shape_rows is not None
            array = self._ring.vertex_array(
                name, self._programs[name], self._shape_rows, self._indices[name], older, newer
            )
            array.render(moderngl.POINTS, vertices=drawn)

    def _upload_shapes(self, count: int) -> None:
        """Puts the shapes of `count` bodies on the GPU, and who is drawn by which program."""
        table = shape_table(self._scene, count)
        self._release_shapes()
        self._shape_rows = self._context.buffer(table.rows.tobytes())
        spheres, boxes = (self._index_buffer(bodies, count) for bodies in (table.spheres, table.boxes))
        self._indices = {"shadows": None, "boxes": boxes, "points": spheres, "quads": spheres}
        everyone = np.arange(count, dtype=np.uint32)
        self._bodies = {"shadows": everyone, "boxes": table.boxes, "points": table.spheres, "quads": table.spheres}
        self._shapes_for = count

    def _release_shapes(self) -> None:
        self._ring.forget_vertex_arrays()
        for buffer in {self._shape_rows, *self._indices.values()}:
            if buffer is not None:
                buffer.release()
        self._shape_rows, self._indices = None, {}

    def _index_buffer(self, bodies: NDArray[np.uint32], count: int) -> moderngl.Buffer | None:
        """None where all bodies are meant, or none is: then nothing is indexed."""
        return None if len(bodies) in (0, count) else self._context.buffer(bodies.tobytes())
