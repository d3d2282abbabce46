"""Vertices of deforming surfaces: the bodies that have them, and their rows in a snapshot.

A body deforms if its shape is a mesh with `deforms`. The vertices of all such bodies follow each other in the bodies'
order, (v, 3) metres as float32, each body's in its own frame. Both processes compute this order from the scene and the
number of bodies, so it is not sent.

Always: the vertices of the first n bodies come first, whatever the number of bodies. A snapshot with too few vertices is
no error: bodies without vertices have their rest shapes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.snapshot import MARK, NO_MARKS, RECORD, VERTEX_BYTES, vertex_records

# Largest distance of a vertex, m. A surface with a farther or non-finite vertex is not drawn: areas would overflow.
FARTHEST_VERTEX = 1e15


class SurfaceRows(NamedTuple):
    """Deforming bodies, (k,) ascending, and their rows among all vertices: `starts[i]` to `starts[i + 1]`, (k + 1,)."""

    bodies: NDArray[np.intp]
    starts: NDArray[np.intp]

    @property
    def vertices(self) -> int:
        """Number of vertices of all of them."""
        return int(self.starts[-1])

    def rows(self, place: int) -> slice:
        """Rows of the vertices of `bodies[place]`."""
        return slice(int(self.starts[place]), int(self.starts[place + 1]))

    def first(self, vertices: int) -> int:
        """Number of bodies whose vertices are all among the first `vertices`."""
        return int(np.searchsorted(self.starts, vertices, "right")) - 1


NO_SURFACES = SurfaceRows(np.zeros(0, np.intp), np.zeros(1, np.intp))


def surface_rows(scene: Scene, count: int) -> SurfaceRows:
    """The deforming bodies among the first `count` bodies of a scene."""
    lengths = np.array([len(mesh.vertices) if (mesh := deforming(shape)) else 0 for shape in scene.distinct_shapes])
    if not lengths.any():
        return NO_SURFACES
    of_body = lengths[scene.shape_rows(count)]
    bodies = np.flatnonzero(of_body)
    return SurfaceRows(bodies, np.concatenate(([0], np.cumsum(of_body[bodies]))).astype(np.intp))


def surface_records(scene: Scene, count: int) -> int:
    """Number of records into which the vertices of the first `count` bodies of a scene are packed."""
    return vertex_records(surface_rows(scene, count).vertices)


def deforming(shape: object) -> Mesh | None:
    """The shape if it is a mesh whose vertices travel, else None."""
    return shape if isinstance(shape, Mesh) and shape.deforms else None


def are_drawable(vertices: NDArray[np.float32]) -> bool:
    """True if all are finite and within FARTHEST_VERTEX. vertices: (v, 3), v > 0."""
    with np.errstate(all="ignore"):  # a comparison with NaN is False
        return bool(vertices.min() > -FARTHEST_VERTEX and vertices.max() < FARTHEST_VERTEX)


class Extras(NamedTuple):
    """Records after those of the bodies: marks, then packed vertices. vertices: number of vertices."""

    records: NDArray[np.void]
    vertices: int = 0

    def first(self, most: int) -> Extras:
        """At most `most` of the records: all vertices are left out first, then marks."""
        if most >= len(self.records):
            return self
        marks = len(self.records) - vertex_records(self.vertices)
        return Extras(self.records[: min(max(most, 0), marks)])


NO_EXTRAS = Extras(NO_MARKS)


def packed(marks: NDArray[np.void], records: NDArray[np.void], vertices: int) -> Extras:
    """Marks, (m,) of dtype MARK, and after them the `records` into which `vertices` vertices are packed."""
    if not len(marks):
        return Extras(records, vertices)
    both = np.concatenate((np.ascontiguousarray(marks).view(RECORD), records.view(RECORD)))
    return Extras(both.view(MARK), vertices)


def unpacked(records: NDArray[np.void], vertices: int) -> NDArray[np.float32]:
    """The vertices in records, a view, (vertices, 3)."""
    return records.view(np.float32)[: vertices * VERTEX_BYTES // 4].reshape(vertices, 3)
