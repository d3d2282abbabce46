"""Deforming surfaces have new vertices in each snapshot. This module finds the bodies that have such vertices, and the
rows of these vertices in a snapshot.

A body deforms if its shape is a mesh with `deforms`. A snapshot has the vertices of all such bodies, in the order of
the bodies. The vertices are an array of shape (v, 3) and dtype float32, in metres. Each vertex is in the frame of its
body. Both processes compute the order of the vertices from the scene and the number of bodies, so this order is not
sent.

Always: the vertices of the first n bodies are in the same rows, however many bodies follow. A snapshot with too few
vertices causes no error: a body whose vertices are missing is drawn in its rest shape.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.scene.scene import shape_list
from twixt.ipc.snapshot import MARK, NO_MARKS, RECORD, VERTEX_BYTES, vertex_records

# Largest magnitude of a vertex's coordinate, in m. A surface with a larger or non-finite coordinate is not drawn,
# because the areas of its triangles would overflow.
FARTHEST_VERTEX = 1e15


class SurfaceRows(NamedTuple):
    """Rows of the vertices of deforming bodies. bodies: indices of the k deforming bodies, an array of shape (k,) in
    ascending order. starts: array of shape (k + 1,). The first row with vertices of body `bodies[i]` is
    `starts[i]`; the last is `starts[i + 1] - 1`."""

    bodies: NDArray[np.intp]
    starts: NDArray[np.intp]

    @property
    def vertices(self) -> int:
        """Number of vertices of all deforming bodies together."""
        return int(self.starts[-1])

    def rows(self, place: int) -> slice:
        """Returns the rows of the vertices of the body `bodies[place]`."""
        return slice(int(self.starts[place]), int(self.starts[place + 1]))

    def first(self, vertices: int) -> int:
        """Returns the number of deforming bodies whose vertices are all among the first `vertices` rows."""
        return int(np.searchsorted(self.starts, vertices, "right")) - 1


NO_SURFACES = SurfaceRows(np.zeros(0, np.intp), np.zeros(1, np.intp))


def surface_rows(scene: Scene, count: int) -> SurfaceRows:
    """Returns the deforming bodies among the first `count` bodies of a scene."""
    lengths = np.array([len(mesh.vertices) if (mesh := deforming(shape)) else 0 for shape in shape_list(scene).table])
    if not lengths.any():
        return NO_SURFACES
    of_body = lengths[shape_list(scene).rows_for(count)]
    bodies = np.flatnonzero(of_body)
    return SurfaceRows(bodies, np.concatenate(([0], np.cumsum(of_body[bodies]))).astype(np.intp))


def surface_records(scene: Scene, count: int) -> int:
    """Returns the number of records that hold the vertices of the first `count` bodies of a scene."""
    return vertex_records(surface_rows(scene, count).vertices)


def deforming(shape: object) -> Mesh | None:
    """Returns the shape if it is a mesh with `deforms`, else None."""
    return shape if isinstance(shape, Mesh) and shape.deforms else None


def are_drawable(vertices: NDArray[np.float32]) -> bool:
    """True if all coordinates are finite and have magnitudes below FARTHEST_VERTEX. vertices: array of shape (v, 3), v
    > 0."""
    with np.errstate(all="ignore"):  # comparisons with NaN return False
        return bool(vertices.min() > -FARTHEST_VERTEX and vertices.max() < FARTHEST_VERTEX)


class Extras(NamedTuple):
    """Records that follow the bodies in a snapshot. records: marks, then packed vertices. vertices: number of
    vertices."""

    records: NDArray[np.void]
    vertices: int = 0

    def first(self, most: int) -> Extras:
        """Returns at most `most` of the records. If there are more records, first all vertices are left out, and then
        as many marks as necessary."""
        if most >= len(self.records):
            return self
        marks = len(self.records) - vertex_records(self.vertices)
        return Extras(self.records[: min(max(most, 0), marks)])


NO_EXTRAS = Extras(NO_MARKS)


def packed(marks: NDArray[np.void], records: NDArray[np.void], vertices: int) -> Extras:
    """Returns the extras that have these marks and vertices. marks: array of shape (m,) and dtype MARK. records:
    records into which `vertices` vertices are packed."""
    if not len(marks):
        return Extras(records, vertices)
    both = np.concatenate((np.ascontiguousarray(marks).view(RECORD), records.view(RECORD)))
    return Extras(both.view(MARK), vertices)


def unpacked(records: NDArray[np.void], vertices: int) -> NDArray[np.float32]:
    """Returns the first `vertices` vertices that are packed into `records`, as a view of shape (vertices, 3)."""
    return records.view(np.float32)[: vertices * VERTEX_BYTES // 4].reshape(vertices, 3)
