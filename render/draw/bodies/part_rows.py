"""Rows of a scene with bodies of several parts, one row a part. Drawing then sees a row where it else sees a body.

The one idea: a row has one shape, as a body without parts has, and a copy of its body's record. So programs, lists of
bodies and layers work on rows unchanged. What is blended between two snapshots is the motion of the body; the shader
places the part after that, by a local pose that lies on the GPU beside the shapes.

Always: rows are in the order of their bodies, so the rows of the first n bodies are the first rows, whatever the
number of bodies. Every body has a row: its record is kept for the next scene, even if no part is drawn. A scene
without compounds has no rows, and nothing here runs for its snapshots. Pure; not here: OpenGL.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Compound, Scene, Shape
from twixt.ipc.shapes.shape import MAX_DISTINCT_SHAPES, ShapeList
from twixt.ipc.shapes.shape_checks import Quaternion, Vector
from twixt.render.interpolation.quaternion import normalized, rotate


@dataclass(frozen=True, eq=False)
class PartRows:
    """Rows of the first bodies of a scene.

    scene: the scene given, with one shape a row: a simple shape, a mesh, or a compound without parts, which draws
    nothing. It has no groups and parents, since these number bodies. bodies: (rows,), the body of each row, ascending.
    poses: (rows, 7) f4, each part's position (metres, at scale 1) and orientation xyzw in its body's frame. first: the
    first row of each body, (bodies,). arm_m: largest distance of a part from its body's position, metres at scale 1.
    """

    scene: Scene
    bodies: NDArray[np.intp]
    poses: NDArray[np.float32]
    first: NDArray[np.intp]
    arm_m: float

    def rows_of(self, bodies: int) -> int:
        """Number of rows of the first `bodies` bodies."""
        return int(self.first[bodies]) if bodies < len(self.first) else len(self.bodies)

    def bodies_of(self, rows: int) -> int:
        """Number of bodies that the first `rows` rows belong to."""
        return int(self.bodies[rows - 1]) + 1 if rows else 0

    def gather(self, values: NDArray[Any], into: NDArray[Any]) -> NDArray[Any]:
        """Copies a value of each body to its rows: the written part of `into`, which has room for all rows."""
        rows = self.rows_of(len(values))
        # mode: with the usual one numpy would write into a copy of `into` first.
        return np.take(values, self.bodies[:rows], axis=0, out=into[:rows], mode="clip")

    def placed(self, records: NDArray[np.void], rows: slice | NDArray[np.uint32]) -> NDArray[np.void]:
        """Records of these rows, dtype `BODY`, each at its part's place. Orientations stay those of the bodies."""
        placed = records.copy()
        with np.errstate(all="ignore"):  # records may hold anything
            arms = self.poses[rows, :3] * records["scale"][:, None]
            placed["position"] += rotate(normalized(records["orientation"]), arms)
        return placed


class _Place(NamedTuple):
    """A part: its shape, position and orientation."""

    shape: Shape
    position: Vector = (0.0, 0.0, 0.0)
    orientation: Quaternion = (0.0, 0.0, 0.0, 1.0)


def part_rows(scene: Scene, count: int) -> PartRows | None:
    """Rows of the first `count` bodies; None for a scene in which every body has one shape."""
    distinct = scene.distinct_shapes
    if not any(isinstance(shape, Compound) for shape in distinct):
        return None
    places = [_places(shape) for shape in distinct]
    flat = list(chain.from_iterable(places))
    row_of_shape: dict[Shape, int] = {}
    shape_of = np.array([row_of_shape.setdefault(place.shape, len(row_of_shape)) for place in flat])
    with np.errstate(over="ignore"):  # a part that is farther than float32 reaches is not drawn
        poses = np.array([(*place.position, *place.orientation) for place in flat]).astype(np.float32)
    counts = np.array([len(own) for own in places], np.intp)
    begins = np.cumsum(counts) - counts  # of each distinct shape, in `flat`

    shapes = scene.shape_rows(count)
    counted = counts[shapes]
    first = np.cumsum(counted) - counted
    bodies = np.repeat(np.arange(count), counted)
    at = np.arange(len(bodies)) + (begins[shapes] - first)[bodies]  # of each row, in `flat`
    return PartRows(
        replace(scene, shapes=_list_of(tuple(row_of_shape), shape_of[at]), groups={}, parents={}),
        bodies,
        poses[at],
        first,
        float(np.linalg.norm(poses[:, :3].astype(np.float64), axis=1).max()),
    )


def moved_rows(before: PartRows | None, after: PartRows | None, held: int) -> NDArray[np.intp]:
    """For each row that a slot's snapshot needs by `after`: the row that holds its record now, by `before`.

    held: rows in the slot. None: each body is one row.
    """
    count = held if before is None else before.bodies_of(held)
    bodies = np.arange(count) if after is None else after.bodies[: after.rows_of(count)]
    return bodies if before is None else before.first[bodies]


def are_alike(before: PartRows | None, after: PartRows | None) -> bool:
    """True if rows are of the same bodies in both, as far as `before` reaches."""
    if before is None or after is None:
        return before is after
    return np.array_equal(before.bodies, after.bodies[: after.rows_of(len(before.first))])


def _places(shape: Shape) -> list[_Place]:
    if not isinstance(shape, Compound) or not shape.parts:
        return [_Place(shape)]
    return [_Place(part.shape, part.position, part.orientation) for part in shape.parts]


def _list_of(table: tuple[Shape, ...], rows: NDArray[np.intp]) -> ShapeList:
    """The list of shapes, one a row. Parts may have more distinct shapes than the bodies of a scene may have."""
    number = np.uint16 if len(table) <= MAX_DISTINCT_SHAPES else np.uint32
    return ShapeList(table, rows.astype(number))
