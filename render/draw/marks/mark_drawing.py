"""Draws the marks of a picture. Solids are drawn by the programs that draw ray cast bodies. Thin lines are drawn as
smooth lines of constant width.

Marks are already blended between two snapshots when they arrive here. All solids of a picture are uploaded together.
From one picture to the next, only buffers and compiled programs are kept. If the same array of marks is drawn again, it
is not converted again.

Bodies and marks hide each other by their true depth. Marks are lit like bodies, but have no pattern. If the picture has
a shadow map, shadows also fall on marks. Opaque solids cast shadows within the region of the shadow map. This region is
chosen for the bodies alone. Otherwise, marks that appear and disappear would change the size of the region. Transparent
marks are sorted together with transparent bodies. If a scene has no marks, this code does not run and no program is
compiled.
"""

from __future__ import annotations

from collections.abc import Iterator

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.render.draw.bodies.body_programs import PASSES, QUADS, Pass
from twixt.render.draw.bodies.shape_draws import OFF_PX, PLAIN_OFF_PX, cast_passes, largest_point_px
from twixt.render.draw.flat.dots_and_lines import SmoothLines
from twixt.render.draw.frame.frame_block import FRAME_BINDING, FrameTarget, SceneView, guarded
from twixt.render.draw.frame.snapshot_ring import vertex_array
from twixt.render.draw.glsl.uniform_blocks import GIVEN, GIVEN_ATTRIBUTES, GIVEN_FORMAT, PoseVariant
from twixt.render.draw.marks.mark_solids import NO_SOLIDS, SOLID, SOLIDS, MarkSolids, Transparent, mark_solids
from twixt.render.draw.shapes.cylinders import cone_program

NO_MARKS_DRAWN = np.zeros(0, np.void)


class MarkDrawing:
    """Draws marks into pictures. For each picture, call four methods in this order. `set_marks` sets the marks. `draw`
    draws the opaque solids, together with the bodies. `draw_lines` draws the lines over all solids. `draw_transparent`
    draws runs of the rows that were given to `upload_transparent`."""

    def __init__(self, context: moderngl.Context, target: FrameTarget, is_software: bool) -> None:
        self._context, self._target, self._is_software = context, target, is_software
        self._solids = NO_SOLIDS
        self._made_of: NDArray[np.void] = NO_MARKS_DRAWN  # marks from which `_solids` were made
        self._programs = SolidPrograms(context)
        self._opaque = SolidRows(context, target, self._programs)
        self._transparent = SolidRows(context, target, self._programs)
        self._lines: SmoothLines | None = None

    def set_marks(self, marks: NDArray[np.void]) -> None:
        """Sets a picture's marks. marks: (m,) of dtype `MARK`; all values must be finite and all kinds must be known.
        Do not modify the array afterwards. To change the marks, pass a new array."""
        if not len(marks):
            self._made_of, self._solids = NO_MARKS_DRAWN, NO_SOLIDS
        elif marks is not self._made_of:
            self._made_of, self._solids = marks, mark_solids(marks)
            self._opaque.upload(self._solids.rows)

    @property
    def are_drawn(self) -> bool:
        """True if there are marks."""
        return len(self._made_of) > 0

    @property
    def transparent(self) -> Transparent:
        """Transparent solids of the current marks."""
        return self._solids.transparent

    def draw(self, view: SceneView) -> None:
        """Draws the opaque solids."""
        for solid, first, count in _runs(self._solids):
            self._draw_run(solid, first, count, view)

    def draw_lines(self, view: SceneView) -> None:
        """Draws the thin lines of the current marks, over all solids."""
        if not len(self._solids.lines.starts):
            return
        lines = self._lines = self._lines or SmoothLines(self._context)
        lines.set(*self._solids.lines, view.camera.eye)
        self._context.enable_only(moderngl.DEPTH_TEST | moderngl.BLEND)
        self._target.framebuffer.depth_mask = False
        lines.draw()
        self._target.framebuffer.depth_mask = True

    def upload_transparent(self, order: NDArray[np.intp]) -> None:
        """Uploads rows of `transparent` for the next picture. order: indices of these rows, in the order in which they
        are uploaded."""
        self._transparent.upload(self.transparent.rows[order])

    def draw_transparent(self, solid: int, first: int, count: int, view: SceneView) -> None:
        """Draws `count` uploaded rows, starting at row `first`. All these rows are solids of the kind
        `SOLIDS[solid]`."""
        self._transparent.render((whole_pass(SOLIDS[solid]), variant_of(view, transparent=True)), first, count, view)

    def prepare(self, view: SceneView) -> bool:
        """Compiles one program by drawing one solid with it. The program will be needed for marks of other kinds, for
        more marks, or at a cheaper quality level. Returns False if all programs are compiled or there are no marks."""
        variant, counts = variant_of(view), self._solids.counts
        for solid, count in zip(SOLIDS, counts if len(self._solids.rows) else (), strict=False):
            for name in _passes(solid) if count else (whole_pass(solid),):
                if not self._programs.has((name, variant)):
                    # Any row can be drawn to compile the program, even a row of another kind of solid.
                    self._opaque.render((name, variant), 0, 1, view)
                    return True
        return False

    def release(self) -> None:
        """Releases the GPU memory."""
        self._made_of, self._solids = NO_MARKS_DRAWN, NO_SOLIDS
        self._opaque.release()
        self._transparent.release()

    def _draw_run(self, solid: str, first: int, count: int, view: SceneView) -> None:
        names: tuple[str, ...] = (whole_pass(solid),)
        range_px = NO_POINTS
        if solid != CONES:
            passes = cast_passes(solid, count, self._is_software, view.level, view.scene.look == "flat")
            if len(passes) > 1:
                off_px = OFF_PX if passes[0] == solid else PLAIN_OFF_PX
                # The pass of the occlusion query is left out. For marks, the query costs more than an empty draw.
                names = passes[0], passes[-1]
                range_px = 0.0, largest_point_px(view.camera, view.viewport[3], off_px)
        for name in names:
            self._opaque.render((name, variant_of(view)), first, count, view, range_px)


def _runs(solids: MarkSolids) -> Iterator[tuple[str, int, int]]:
    """Yields three values for each kind of solid that has rows: its name, the index of its first row, and the number of
    its rows."""
    first = 0
    for solid, count in zip(SOLIDS, solids.counts, strict=True):
        if count:
            yield solid, first, count
        first += count


def _passes(solid: str) -> tuple[str, ...]:
    """Names of all passes that may draw this kind of solid: for few solids, for many solids, and for many solids at a
    cheaper quality level."""
    return (CONES,) if solid == CONES else (f"large {solid}", solid, f"plain {solid}")


# Rows of solids on the GPU, drawn in runs by the programs of ray cast bodies.
#
# The pose of a row is an input of the shader (`GIVEN` in glsl/uniform_blocks.py). So the program of one kind of solid
# can draw any run of rows of this kind. Each program is compiled when it is first used. All buffers share the programs.
#
# If a buffer is too small, a larger buffer replaces it. Its vertex arrays are then replaced too.


CONES = "cones"
MARK_PASSES = {**PASSES, CONES: Pass("marks", cone_program, QUADS)}
# Number of rows for which a new buffer has room. The room is doubled when more rows are needed.
LEAST_ROOM = 256
# Range of widths in px that is passed to programs that do not draw points.
NO_POINTS = (0.0, 0.0)

ProgramKey = tuple[str, PoseVariant]


class SolidPrograms:
    """Stores the compiled programs. The key is a pass and a variant."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._made: dict[ProgramKey, moderngl.Program] = {}

    def has(self, key: ProgramKey) -> bool:
        """True if this program is already compiled."""
        return key in self._made

    def get(self, key: ProgramKey) -> moderngl.Program:
        """Returns the program. The first call with a key compiles the program of this key."""
        program = self._made.get(key)
        if program is None:
            name, variant = key
            program = self._made[key] = MARK_PASSES[name].make(self._context, variant)
            program["Frame"].binding = FRAME_BINDING  # type: ignore[union-attr]
        return program


class SolidRows:
    """A buffer of rows of dtype SOLID. `upload` replaces all rows. `render` draws consecutive rows."""

    def __init__(self, context: moderngl.Context, target: FrameTarget, programs: SolidPrograms) -> None:
        self._context, self._target, self._programs = context, target, programs
        self._buffer: moderngl.Buffer | None = None
        self._arrays: dict[ProgramKey, moderngl.VertexArray] = {}

    def upload(self, rows: NDArray[np.void]) -> None:
        """Replaces the rows."""
        if not len(rows):
            return
        if self._buffer is None or self._buffer.size < rows.nbytes:
            room = LEAST_ROOM
            while room < len(rows):
                room *= 2
            self.release()
            self._buffer = self._context.buffer(reserve=room * SOLID.itemsize, dynamic=True)
        self._buffer.write(rows)

    def render(
        self,
        key: ProgramKey,
        first: int,
        count: int,
        view: SceneView,
        range_px: tuple[float, float] = NO_POINTS,
    ) -> None:
        """Draws `count` rows, starting at row `first`. range_px: smallest and largest width in px of the solids that a
        program of points draws.

        Restores the depth mask and the viewport.
        """
        settings, framebuffer = MARK_PASSES[key[0]], self._target.framebuffer
        array = self._arrays.get(key)
        if array is None:
            content = [(self._buffer, GIVEN_FORMAT, *GIVEN_ATTRIBUTES)]
            array = vertex_array(self._context, self._programs.get(key), content)
            self._arrays[key] = array
        if isinstance(uniform := array.program.get("range_px", None), moderngl.Uniform):
            uniform.value = range_px
        self._context.enable_only(settings.flags)
        framebuffer.depth_mask = settings.writes_depth and not key[1].transparent
        if settings.is_guarded:
            framebuffer.viewport = guarded(view.viewport)
        array.render(moderngl.POINTS, count, first=first)
        framebuffer.viewport = view.viewport
        framebuffer.depth_mask = True

    def release(self) -> None:
        """Releases the GPU memory."""
        for array in self._arrays.values():
            array.release()
        self._arrays.clear()
        if self._buffer is not None:
            self._buffer.release()
            self._buffer = None


def variant_of(view: SceneView, transparent: bool = False) -> PoseVariant:
    """Variant of the programs that draw marks in this view."""
    return view.variant_of(PoseVariant(GIVEN, transparent=transparent), is_spheres=False)


def whole_pass(solid: str) -> str:
    """The pass that draws a solid of any size."""
    return solid if solid == CONES else f"large {solid}"
