"""Draws the marks of a picture: solids by the programs of ray cast bodies, thin lines as lines.

The one idea: marks are blended before they come here, and all solids of a picture are one upload. Nothing is kept
between pictures but buffers and compiled programs; marks that are drawn again, the same array, are not laid out again.

Always: marks hide bodies and each other, and are hidden, by their true depth; they have the light and the look of
bodies, never the pattern. Where shadows are mapped, they fall on marks, and opaque solids cast them, as far as the map
reaches: that is as far as bodies do, since marks that come and go would change its size. Those that are seen through
are sorted together with such bodies (transparency/). Without marks nothing here runs, and nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.render.draw.bodies.ray_cast_draws import OFF_PX, PLAIN_OFF_PX, cast_passes, largest_point_px
from twixt.render.draw.flat.dots_and_lines import SmoothLines
from twixt.render.draw.frame.frame_block import FrameTarget, SceneView
from twixt.render.draw.marks.mark_solids import NO_SOLIDS, SOLIDS, MarkSolids, Transparent, mark_solids
from twixt.render.draw.marks.solid_rows import CONES, NO_POINTS, SolidPrograms, SolidRows, variant_of, whole_pass

NO_MARKS_DRAWN = np.zeros(0, np.void)


class MarkDrawing:
    """Draws marks into pictures: `take` those of a picture, `draw` their opaque solids among the bodies, `draw_lines`
    over all of them, then `draw_transparent` in runs of the order of `lay_transparent`."""

    def __init__(self, context: moderngl.Context, target: FrameTarget, is_software: bool) -> None:
        self._context, self._target, self._is_software = context, target, is_software
        self._solids = NO_SOLIDS
        self._made_of: NDArray[np.void] = NO_MARKS_DRAWN  # the marks that `_solids` are made of
        self._programs = SolidPrograms(context)
        self._opaque = SolidRows(context, target, self._programs)
        self._transparent = SolidRows(context, target, self._programs)
        self._lines: SmoothLines | None = None

    def take(self, marks: NDArray[np.void]) -> None:
        """Takes a picture's marks: (m,) of dtype `MARK`, finite, of known kinds; changed only in another array."""
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
        """Solids that are seen through of the marks taken last."""
        return self._solids.transparent

    def draw(self, view: SceneView) -> None:
        """Draws the opaque solids."""
        for solid, first, count in _runs(self._solids):
            self._draw_run(solid, first, count, view)

    def draw_lines(self, view: SceneView) -> None:
        """Draws the thin lines of the marks taken last, over all solids."""
        if not len(self._solids.lines.starts):
            return
        lines = self._lines = self._lines or SmoothLines(self._context)
        lines.set(*self._solids.lines, view.camera.eye)
        self._context.enable_only(moderngl.DEPTH_TEST | moderngl.BLEND)
        self._target.framebuffer.depth_mask = False
        lines.draw()
        self._target.framebuffer.depth_mask = True

    def lay_transparent(self, order: NDArray[np.intp]) -> None:
        """Uploads the rows of `transparent` in this order, for the picture that follows."""
        self._transparent.upload(self.transparent.rows[order])

    def draw_transparent(self, solid: int, first: int, count: int, view: SceneView) -> None:
        """Draws a run of the rows laid last, all of one of SOLIDS."""
        self._transparent.render((whole_pass(SOLIDS[solid]), variant_of(view, transparent=True)), first, count, view)

    def prepare(self, view: SceneView) -> bool:
        """Compiles, by drawing one solid, a program that other marks, more of the present ones, or a cheaper level will
        need. False when none is left, and while there are no marks.
        """
        variant, counts = variant_of(view), self._solids.counts
        for solid, count in zip(SOLIDS, counts if len(self._solids.rows) else (), strict=False):
            for name in _passes(solid) if count else (whole_pass(solid),):
                if not self._programs.has((name, variant)):
                    self._opaque.render((name, variant), 0, 1, view)  # a row of any solid will do
                    return True
        return False

    def release(self) -> None:
        """Gives the GPU memory back."""
        self._made_of, self._solids = NO_MARKS_DRAWN, NO_SOLIDS
        self._opaque.release()
        self._transparent.release()

    def _draw_run(self, solid: str, first: int, count: int, view: SceneView) -> None:
        names: tuple[str, ...] = (whole_pass(solid),)
        range_px = NO_POINTS
        if solid != CONES:
            passes = cast_passes(solid, count, self._is_software, view.level, view.scene.is_outlined)
            if len(passes) > 1:
                off_px = OFF_PX if passes[0] == solid else PLAIN_OFF_PX
                names = passes[0], passes[-1]  # without the occlusion query: an empty draw takes less for marks
                range_px = 0.0, largest_point_px(view.camera, view.viewport[3], off_px)
        for name in names:
            self._opaque.render((name, variant_of(view)), first, count, view, range_px)


def _runs(solids: MarkSolids) -> Iterator[tuple[str, int, int]]:
    """Each of SOLIDS that has rows: its name, its first row and their number."""
    first = 0
    for solid, count in zip(SOLIDS, solids.counts, strict=True):
        if count:
            yield solid, first, count
        first += count


def _passes(solid: str) -> tuple[str, ...]:
    """All passes that may draw a solid: few, many, many at a cheaper level."""
    return (CONES,) if solid == CONES else (f"large {solid}", solid, f"plain {solid}")
