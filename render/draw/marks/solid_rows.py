"""Rows of solids on the GPU, drawn in runs by the programs of ray cast bodies.

The one idea: the pose of a row is an input of the shader as it stands (`GIVEN` in glsl/pose.py), so any run of rows is
drawn by the program of its solid. Programs are compiled when they are first used, and shared by all buffers.

Always: a buffer that has to grow is replaced, with all that reads it.
"""

from __future__ import annotations

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.render.draw.bodies.body_programs import PASSES, QUADS, Pass
from twixt.render.draw.frame.frame_block import FRAME_BINDING, FrameTarget, SceneView, guarded
from twixt.render.draw.glsl.pose_variants import GIVEN, GIVEN_ATTRIBUTES, GIVEN_FORMAT, PoseVariant
from twixt.render.draw.marks.cones import cone_program
from twixt.render.draw.marks.mark_solids import SOLID
from twixt.render.draw.vertex_arrays import vertex_array

CONES = "cones"
MARK_PASSES = {**PASSES, CONES: Pass("marks", cone_program, QUADS)}
# Rows that a buffer has room for at first; it doubles when there are more.
LEAST_ROOM = 256
# Range of widths of points, px, without points.
NO_POINTS = (0.0, 0.0)

ProgramKey = tuple[str, PoseVariant]


class SolidPrograms:
    """Compiled programs, by pass and variant."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._made: dict[ProgramKey, moderngl.Program] = {}

    def has(self, key: ProgramKey) -> bool:
        """True if this program is compiled already."""
        return key in self._made

    def get(self, key: ProgramKey) -> moderngl.Program:
        """The program, compiled at the first call."""
        program = self._made.get(key)
        if program is None:
            name, variant = key
            program = self._made[key] = MARK_PASSES[name].make(self._context, variant)
            program["Frame"].binding = FRAME_BINDING  # type: ignore[union-attr]
        return program


class SolidRows:
    """A buffer of rows of dtype SOLID, `upload`ed anew as a whole, then drawn in runs by `render`."""

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
        """Draws a run of rows. range_px: widths of the solids that a program of points draws.

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
        """Gives the GPU memory back."""
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
    """The pass that draws a solid whatever its size."""
    return solid if solid == CONES else f"large {solid}"
