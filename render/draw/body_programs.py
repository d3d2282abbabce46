"""The programs that draw bodies, each in the variants that scenes and methods ask for.

The one idea: on a graphics card a method could be a uniform, but software drawing works through both sides of
every branch; so the straight ways, the curved ones and what is between two methods are programs of their own, each
made when it is first drawn by, or ahead of that when there is time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import moderngl

from twixt.render.draw.beyond import beyond_program
from twixt.render.draw.boxes import BOX
from twixt.render.draw.capsules import CAPSULE
from twixt.render.draw.cast import CastShape, cast_point_program, cast_quad_program
from twixt.render.draw.cylinders import CYLINDER
from twixt.render.draw.ellipsoids import ELLIPSOID
from twixt.render.draw.plain_spheres import ball_program, coin_program, disc_program, dot_program
from twixt.render.draw.planes import plane_program
from twixt.render.draw.pose import PoseVariant
from twixt.render.draw.shadows import shadow_program
from twixt.render.draw.spheres import point_program, quad_program

FRAME_BINDING, LAYER_BINDING = 0, 1


class Pass(NamedTuple):
    """How one program draws. flags: moderngl's, of what is switched on."""

    make: Callable[[moderngl.Context, PoseVariant], moderngl.Program]
    flags: int
    writes_depth: bool = True


PLAIN_POINTS = moderngl.DEPTH_TEST | moderngl.PROGRAM_POINT_SIZE
POINTS = moderngl.DEPTH_TEST | moderngl.BLEND | moderngl.PROGRAM_POINT_SIZE
QUADS = moderngl.DEPTH_TEST | moderngl.BLEND


def _points(shape: CastShape) -> Pass:
    return Pass(lambda context, variant: cast_point_program(context, variant, shape), POINTS)


def _quads(shape: CastShape) -> Pass:
    return Pass(lambda context, variant: cast_quad_program(context, variant, shape), QUADS)


def _sphere_points(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """With a scale along each axis a sphere is an ellipsoid."""
    return cast_point_program(context, variant, ELLIPSOID) if variant.stretched else point_program(context, variant)


def _sphere_quads(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    return cast_quad_program(context, variant, ELLIPSOID) if variant.stretched else quad_program(context, variant)


# Those that draw spheres: which of them, and in which order, sphere_drawing.py says.
SPHERE_PASSES = ("beyond", "dots", "discs", "coins", "balls", "points", "quads")

# In this order: what has soft edges comes after planes, which have none; shadows fall where no body stands.
PASSES = {
    "planes": Pass(plane_program, moderngl.DEPTH_TEST),
    "boxes": _points(BOX),
    "box quads": _quads(BOX),
    "cylinders": _points(CYLINDER),
    "cylinder quads": _quads(CYLINDER),
    "capsules": _points(CAPSULE),
    "capsule quads": _quads(CAPSULE),
    "ellipsoids": _points(ELLIPSOID),
    "ellipsoid quads": _quads(ELLIPSOID),
    "beyond": Pass(beyond_program, POINTS, writes_depth=False),
    "dots": Pass(dot_program, PLAIN_POINTS),
    "discs": Pass(disc_program, PLAIN_POINTS),
    "coins": Pass(coin_program, PLAIN_POINTS),
    "balls": Pass(ball_program, PLAIN_POINTS),
    "points": Pass(_sphere_points, POINTS),
    "quads": Pass(_sphere_quads, QUADS),
    "shadows": Pass(shadow_program, moderngl.DEPTH_TEST | moderngl.BLEND, writes_depth=False),
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
