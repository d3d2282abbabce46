"""Draws the marks of a picture: solids by the programs of ray cast bodies, thin lines as lines.

The one idea: a mark is blended before it comes here, so its pose is an input of the shader as it stands (`GIVEN` in
glsl/pose.py), and all solids of a picture are one upload. Nothing is kept between pictures but the buffer and the
compiled programs.

Always: marks hide bodies and each other, and are hidden, by their true depth; they have the light and the look of
bodies, never the pattern. They cast no shadow, and their solids are opaque, whatever the alpha of their colour.
Without marks nothing here runs, and nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.render.draw.body_programs import PASSES, QUADS, Pass
from twixt.render.draw.flat.dots_and_lines import SmoothLines
from twixt.render.draw.frame_block import FRAME_BINDING, FrameTarget, SceneView, guarded
from twixt.render.draw.glsl.pose import GIVEN, GIVEN_ATTRIBUTES, GIVEN_FORMAT, PoseVariant
from twixt.render.draw.marks.cones import cone_program
from twixt.render.draw.marks.mark_solids import SOLID, SOLIDS, MarkSolids, mark_solids
from twixt.render.draw.quality_levels import LEVELS
from twixt.render.draw.ray_cast_draws import OFF_PX, PLAIN_OFF_PX, cast_passes, largest_point_px

CONES = "cones"
MARK_PASSES = {**PASSES, CONES: Pass("marks", cone_program, QUADS)}
# Solids that the buffer has room for at first; it doubles when there are more.
LEAST_ROOM = 256

ProgramKey = tuple[str, PoseVariant]


class MarkDrawing:
    """Draws marks into pictures: `draw` the solids among the bodies, then `draw_lines` over all of them."""

    def __init__(self, context: moderngl.Context, target: FrameTarget, is_software: bool) -> None:
        self._context, self._target, self._is_software = context, target, is_software
        self._solids: MarkSolids | None = None
        self._made_of: NDArray[np.void] | None = None  # the marks that `_solids` are made of
        self._buffer: moderngl.Buffer | None = None
        self._programs: dict[ProgramKey, moderngl.Program] = {}
        self._arrays: dict[ProgramKey, moderngl.VertexArray] = {}
        self._lines: SmoothLines | None = None

    def draw(self, marks: NDArray[np.void], view: SceneView) -> None:
        """Draws the solids. marks: (m,) of dtype `MARK`, finite, of known kinds; changed only in another array."""
        if not len(marks):
            self._solids = self._made_of = None
            return
        if marks is not self._made_of:
            self._made_of, self._solids = marks, mark_solids(marks)
            self._upload(self._solids.rows)
        assert self._solids is not None
        first = 0
        for solid, count in zip(SOLIDS, self._solids.counts, strict=True):
            if count:
                self._draw_run(solid, first, count, view)
            first += count

    def draw_lines(self, view: SceneView) -> None:
        """Draws the thin lines of the marks drawn last, over all solids."""
        if self._solids is None or not len(self._solids.lines.starts):
            return
        lines = self._lines = self._lines or SmoothLines(self._context)
        lines.set(*self._solids.lines, view.camera.eye)
        self._context.enable_only(moderngl.DEPTH_TEST | moderngl.BLEND)
        self._target.framebuffer.depth_mask = False
        lines.draw()
        self._target.framebuffer.depth_mask = True

    def prepare(self, view: SceneView) -> bool:
        """Compiles, by drawing one solid, a program that more of the present marks, or a cheaper level, will need.

        False when none is left.
        """
        first = 0
        for solid, count in zip(SOLIDS, () if self._solids is None else self._solids.counts, strict=False):
            for name in _later_passes(solid) if count else ():
                if (name, _variant(view)) not in self._programs:
                    self._render(name, first, 1, view, (0.0, 0.0))
                    return True
            first += count
        return False

    def release(self) -> None:
        """Gives the GPU memory back."""
        self._solids = self._made_of = None
        self._forget_buffer()

    def _draw_run(self, solid: str, first: int, count: int, view: SceneView) -> None:
        if solid == CONES:
            self._render(CONES, first, count, view, (0.0, 0.0))
            return
        names = cast_passes(solid, count, self._is_software, view.level, view.scene.is_outlined)
        if len(names) == 1:
            self._render(names[0], first, count, view, (0.0, 0.0))
            return
        off_px = OFF_PX if names[0] == solid else PLAIN_OFF_PX
        range_px = 0.0, largest_point_px(view.camera, view.viewport[3], off_px)
        for name in (names[0], names[-1]):
            self._render(name, first, count, view, range_px)

    def _render(self, name: str, first: int, count: int, view: SceneView, range_px: tuple[float, float]) -> None:
        """Draws a run of rows by the pass `name`. Restores the depth mask and the viewport."""
        settings, framebuffer, key = MARK_PASSES[name], self._target.framebuffer, (name, _variant(view))
        array = self._arrays.get(key)
        if array is None:
            content = [(self._buffer, GIVEN_FORMAT, *GIVEN_ATTRIBUTES)]
            array = self._context.vertex_array(self._program(key), content, skip_errors=True)
            self._arrays[key] = array
        if isinstance(uniform := array.program.get("range_px", None), moderngl.Uniform):
            uniform.value = range_px
        self._context.enable_only(settings.flags)
        framebuffer.depth_mask = settings.writes_depth
        if settings.is_guarded:
            framebuffer.viewport = guarded(view.viewport)
        array.render(moderngl.POINTS, count, first=first)
        framebuffer.viewport = view.viewport
        framebuffer.depth_mask = True

    def _program(self, key: ProgramKey) -> moderngl.Program:
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = MARK_PASSES[key[0]].make(self._context, key[1])
            program["Frame"].binding = FRAME_BINDING  # type: ignore[union-attr]
        return program

    def _upload(self, rows: NDArray[np.void]) -> None:
        if not len(rows):
            return
        if self._buffer is None or self._buffer.size < rows.nbytes:
            room = LEAST_ROOM
            while room < len(rows):
                room *= 2
            self._forget_buffer()
            self._buffer = self._context.buffer(reserve=room * SOLID.itemsize, dynamic=True)
        self._buffer.write(rows)

    def _forget_buffer(self) -> None:
        for array in self._arrays.values():
            array.release()
        self._arrays.clear()
        if self._buffer is not None:
            self._buffer.release()
            self._buffer = None


def _variant(view: SceneView) -> PoseVariant:
    return view.variant_of(PoseVariant(GIVEN), is_spheres=False)


def _later_passes(solid: str) -> Iterator[str]:
    """Passes of a solid that are drawn when there are more of it, or at a cheaper level."""
    if solid != CONES:
        yield f"large {solid}"
        yield solid
        if any(not level.fine for level in LEVELS):
            yield f"plain {solid}"
