"""The programs that draw bodies, each in the variants that scenes and methods ask for.

The one idea: on a graphics card a method could be a uniform, but software drawing works through both sides of
every branch; so the straight ways, the curved ones and what is between two methods are programs of their own, each
made when it is first drawn by, or ahead of that when there is time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import moderngl

from twixt.render.draw.beyond import beyond_program
from twixt.render.draw.boxes import BOX
from twixt.render.draw.capsules import CAPSULE
from twixt.render.draw.cast import CastShape, cast_beyond_program, cast_point_program, cast_quad_program
from twixt.render.draw.cast_drawing import STRETCHED
from twixt.render.draw.cylinders import CYLINDER
from twixt.render.draw.ellipsoids import ELLIPSOID
from twixt.render.draw.plain_spheres import ball_program, bead_program, disc_program, dot_program, pearl_program
from twixt.render.draw.planes import plane_program
from twixt.render.draw.pose import PoseVariant
from twixt.render.draw.shadows import shadow_program
from twixt.render.draw.spheres import apart_program, point_program, quad_program

FRAME_BINDING, LAYER_BINDING = 0, 1


class Pass(NamedTuple):
    """How one program draws. flags: moderngl's, of what is switched on. is_guarded: into the guarded viewport.
    is_premultiplied: its colours are multiplied by their alpha."""

    make: Callable[[moderngl.Context, PoseVariant], moderngl.Program]
    flags: int
    writes_depth: bool = True
    is_guarded: bool = False
    is_premultiplied: bool = False


PLAIN_POINTS = moderngl.DEPTH_TEST | moderngl.PROGRAM_POINT_SIZE
POINTS = moderngl.DEPTH_TEST | moderngl.BLEND | moderngl.PROGRAM_POINT_SIZE
QUADS = moderngl.DEPTH_TEST | moderngl.BLEND

CAST_SHAPES = {
    "boxes": BOX,
    "cylinders": CYLINDER,
    "capsules": CAPSULE,
    "ellipsoids": ELLIPSOID,
    STRETCHED: ELLIPSOID,
}


def _cast_passes(kind: str, shape: CastShape) -> dict[str, Pass]:
    return {
        kind: Pass(partial(cast_point_program, shape=shape, points=shape.points), POINTS, is_guarded=True),
        f"plain {kind}": Pass(
            partial(cast_point_program, shape=shape, points=shape.plain_points), PLAIN_POINTS, is_guarded=True
        ),
        f"beyond {kind}": Pass(partial(cast_beyond_program, shape=shape), POINTS, writes_depth=False, is_guarded=True),
        f"large {kind}": Pass(partial(cast_quad_program, shape=shape), QUADS),
    }


# Those that draw spheres: which of them, and in which order, sphere_drawing.py says.
SPHERE_PASSES = ("beyond", "apart", "dots", "beads", "discs", "pearls", "balls", "points", "quads")

# In this order: what has soft edges comes after planes, which have none; shadows fall where no body stands. Of the
# shapes that are cast cast_drawing.py says which.
PASSES = {
    "planes": Pass(plane_program, moderngl.DEPTH_TEST),
    **{name: one for kind, shape in CAST_SHAPES.items() for name, one in _cast_passes(kind, shape).items()},
    "beyond": Pass(beyond_program, POINTS, writes_depth=False, is_guarded=True),
    "dots": Pass(dot_program, PLAIN_POINTS, is_guarded=True),
    "beads": Pass(bead_program, PLAIN_POINTS, is_guarded=True),
    "discs": Pass(disc_program, PLAIN_POINTS, is_guarded=True),
    "pearls": Pass(pearl_program, PLAIN_POINTS, is_guarded=True),
    "balls": Pass(ball_program, PLAIN_POINTS, is_guarded=True),
    "points": Pass(point_program, POINTS, is_guarded=True),
    "apart": Pass(apart_program, POINTS, is_guarded=True, is_premultiplied=True),
    "quads": Pass(quad_program, QUADS),
    "shadows": Pass(shadow_program, QUADS, writes_depth=False, is_premultiplied=True),
}


class BodyPrograms:
    """By name (one of PASSES) and variant."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._made: dict[tuple[str, PoseVariant], moderngl.Program] = {}

    def has(self, name: str, variant: PoseVariant) -> bool:
        """Whether it was made before."""
        return (name, variant) in self._made

    def get(self, name: str, variant: PoseVariant) -> moderngl.Program:
        """The program, made now if it was not before."""
        program = self._made.get((name, variant))
        if program is None:
            program = self._made[name, variant] = PASSES[name].make(self._context, variant)
            program["Frame"].binding = FRAME_BINDING  # type: ignore[union-attr]
            program["Layer"].binding = LAYER_BINDING  # type: ignore[union-attr]
        return program
