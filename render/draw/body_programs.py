"""The programs that draw bodies, each in the variants that scenes and methods ask for.

The one idea: on a graphics card a method could be a uniform, but software drawing works through both sides of
every branch; so each method is a program of its own, made when it is first drawn by or when there is time.
"""

from __future__ import annotations

import moderngl

from twixt.render.draw.boxes import box_program
from twixt.render.draw.pose import PoseVariant
from twixt.render.draw.shadows import shadow_program
from twixt.render.draw.spheres import point_program, quad_program

FRAME_BINDING, LAYER_BINDING = 0, 1
MAKERS = {"boxes": box_program, "points": point_program, "quads": quad_program, "shadows": shadow_program}


class BodyPrograms:
    """By name (boxes, points, quads, shadows) and variant."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._made: dict[tuple[str, PoseVariant], moderngl.Program] = {}

    def get(self, name: str, variant: PoseVariant) -> moderngl.Program:
        """The program, made now if it was not before."""
        program = self._made.get((name, variant))
        if program is None:
            program = self._made[name, variant] = MAKERS[name](self._context, variant)
            program["Frame"].binding = FRAME_BINDING  # type: ignore[union-attr]
            program["Layer"].binding = LAYER_BINDING  # type: ignore[union-attr]
        return program
