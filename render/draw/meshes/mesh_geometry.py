"""Arrays of a mesh for the GPU: vertices, triangles, silhouette edges and bounds. Deforming meshes are included.

In OpenGL, all pixels of a triangle get the `flat` outputs of the triangle's last vertex. So in a flat mesh, the last
vertex of each face carries the normal of the face, and the other vertices are shared. This needs half as many vertices
as three separate vertices for each face. These normals are exact at edges; normals from derivatives of the position
are not.

Always: each face is drawn once. If a mesh has vertex normals, a face is turned over if necessary, so that its front is
on the side of the normals. Pure: takes and returns arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene.mesh import Mesh

# Row of the vertex buffer.
VERTEX = np.dtype([("place", "<f4", 3), ("normal", "<f4", 3)])
# Corners of a face, for each of its edges: start of the edge, end of the edge, opposite corner.
EDGES_OF_FACE = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
# A mesh is a plate (as a height field is) if its smallest extent is at most this share of its second smallest.
PLATE_SHARE = 0.1


class MeshGeometry(NamedTuple):
    """A mesh for the GPU. vertices: (n,) of dtype VERTEX. triangles: (f, 3), u4.

    is_flat: each face has one normal, which is that of its last vertex. sources: (n,), for each row, the vertex of the
    mesh from which the row was made.
    """

    vertices: NDArray[np.void]
    triangles: NDArray[np.uint32]
    is_flat: bool
    sources: NDArray[np.intp]


class MeshBounds(NamedTuple):
    """Box around a mesh in its own frame, metres: the middle and the half extents."""

    middle: NDArray[np.float32]
    half_size: NDArray[np.float32]

    @property
    def is_plate(self) -> bool:
        """True for a mesh that is thin along one axis only."""
        thin, next_one, _ = sorted(self.half_size.tolist())
        return thin <= PLATE_SHARE * next_one


def mesh_geometry(mesh: Mesh) -> MeshGeometry:
    """Vertices and triangles of a mesh."""
    if mesh.normals is None:
        return _flat(mesh.vertices, mesh.faces)
    vertices = np.empty(len(mesh.vertices), VERTEX)
    vertices["place"], vertices["normal"] = mesh.vertices, mesh.normals
    triangles = _turned(mesh.vertices, mesh.faces, mesh.normals)
    return MeshGeometry(vertices, triangles, is_flat=False, sources=np.arange(len(vertices)))


def mesh_bounds(mesh: Mesh) -> MeshBounds:
    """Box around the vertices that faces use."""
    used = mesh.vertices[np.unique(mesh.faces)]
    low, high = used.min(axis=0), used.max(axis=0)
    return MeshBounds((low + high) / 2, (high - low) / 2)


def is_closed(geometry: MeshGeometry) -> bool:
    """True if the faces enclose a volume, with all fronts outside. Backs of faces are then never visible.

    Vertices at the same place count as one vertex.
    """
    places, triangles = geometry.vertices["place"].astype(np.float64), geometry.triangles
    welded = _first_at_place(geometry.vertices["place"])[triangles].astype(np.uint64)
    ends = np.concatenate([welded[:, edge[:2]] for edge in EDGES_OF_FACE])
    ends = ends[ends[:, 0] != ends[:, 1]]
    forth, back = ((ends[:, one] << np.uint64(32)) | ends[:, other] for one, other in ((0, 1), (1, 0)))
    corners = places[triangles]
    volume = float((corners[:, 0] * np.cross(corners[:, 1], corners[:, 2])).sum())
    return volume > 0 and bool(np.array_equal(np.sort(forth), np.sort(back)))


def silhouette_edges(geometry: MeshGeometry) -> NDArray[np.uint32]:
    """Edges as OpenGL's lines with adjacency, (e, 4), u4: the opposite corner of one face, both ends of the edge, the
    opposite corner of the other face.

    If an edge has a single face, the opposite corner of this face is given twice. Vertices at the same place count as
    one vertex. If an edge has more than two faces, two of them are used.
    """
    triangles, one_at = geometry.triangles, _first_at_place(geometry.vertices["place"])
    corners = np.concatenate([triangles[:, edge] for edge in EDGES_OF_FACE])
    ends = np.sort(one_at[corners[:, :2]], axis=1).astype(np.uint64)
    key = (ends[:, 0] << np.uint64(32)) | ends[:, 1]
    order = np.argsort(key, kind="stable")
    order = order[ends[order, 0] != ends[order, 1]]
    key, corners = key[order], corners[order]
    first = np.flatnonzero(np.diff(key, prepend=~key[:1]))
    second = np.minimum(first + 1, len(key) - 1)
    second = np.where(key[second] == key[first], second, first)
    start, end, across = corners[first].T
    return np.stack([across, start, end, corners[second, 2]], axis=1)


def face_normals(vertices: NDArray[np.float32], faces: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Unit normals (f, 3), towards the side from which the corners run counter-clockwise; 0 for a face with area 0."""
    corners = vertices.astype(np.float64)[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.divide(normals, length, out=np.zeros_like(normals), where=length > 0).astype(np.float32)


def _flat(places: NDArray[np.float32], faces: NDArray[np.uint32]) -> MeshGeometry:
    """Geometry in which each face has its own last vertex: one of its original vertices, or a copy if none is free."""
    owned, triangles = _owned_last(faces, len(places))
    copies = np.flatnonzero(~owned)
    vertices = np.zeros(len(places) + len(copies), VERTEX)
    vertices["place"][: len(places)] = places
    sources = np.concatenate([np.arange(len(places)), triangles[copies, 2]])
    vertices["place"][len(places) :] = places[triangles[copies, 2]]
    triangles[copies, 2] = np.arange(len(places), len(vertices))
    vertices["normal"][triangles[:, 2]] = face_normals(places, faces)
    return MeshGeometry(vertices, triangles, is_flat=True, sources=sources)


def _owned_last(faces: NDArray[np.uint32], count: int) -> tuple[NDArray[np.bool_], NDArray[np.uint32]]:
    """Rotates the corners of faces so that many faces end with a vertex that no other face ends with.

    Returns a mask of these faces, (f,), and the rotated faces. Each of the three corners is tried in turn.
    """
    triangles = faces.copy()
    is_taken, owned = np.zeros(count, np.bool_), np.zeros(len(faces), np.bool_)
    for last in (2, 0, 1):
        left = np.flatnonzero(~owned)
        left = left[~is_taken[faces[left, last]]]
        vertices, first = np.unique(faces[left, last], return_index=True)
        is_taken[vertices] = owned[left[first]] = True
        triangles[left[first]] = np.roll(faces[left[first]], 2 - last, axis=1)
    return owned, triangles


def _turned(places: NDArray[np.float32], faces: NDArray[np.uint32], normals: NDArray[np.float32]) -> NDArray[np.uint32]:
    """The faces. A face is turned over if the normals of its corners point to its back."""
    toward = (normals[faces].sum(axis=1) * face_normals(places, faces)).sum(axis=1)
    return np.where((toward < 0)[:, None], faces[:, ::-1], faces)


def _first_at_place(places: NDArray[np.float32]) -> NDArray[np.intp]:
    """For each vertex, the number of one vertex at the same place. All vertices at a place get the same number."""
    x, y, z = (places + np.float32(0)).T  # -0 becomes 0
    order = np.lexsort((z, y, x))
    ordered = places[order]
    is_new = np.ones(len(places), np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = np.empty(len(places), np.intp)
    first[order] = order[np.flatnonzero(is_new)[np.cumsum(is_new) - 1]]
    return first


# Vertices and normals of a deforming mesh, for upload to the GPU.
#
# Values that depend only on the faces are computed once for each mesh. The normal of a vertex is the sum of the
# normals of the faces around it (Gouraud 1971). The vertices are sorted by their number of faces. So for each i, one
# gather and one sum handle the i-th face of all vertices that have at least i faces. For 24,000 vertices and 48,000
# faces this takes 1.3 ms, half the time of `np.add.reduceat`.
#
# Always: rows, triangles and kind (flat or smooth) are the same as from `mesh_geometry`. So the programs of other
# meshes can draw deforming meshes. Pure: takes and returns arrays.


# Up to this many faces around a vertex are summed for all vertices together. If a vertex has more faces, as in a fan,
# the rest is summed separately.
MOST_AROUND = 16
LEAST_LENGTH = np.float32(1e-30)
# NUMBERS: count of 32-bit numbers in a row of VERTEX. PLACE, NORMAL: slices of the numbers of each field.
NUMBERS, PLACE, NORMAL = 6, slice(0, 3), slice(3, 6)


class Deformation:
    """Makes rows of VERTEX for vertices of one mesh. rest: rows of the rest shape, (n,). rest_bounds: box around the
    rest shape."""

    def __init__(self, mesh: Mesh) -> None:
        geometry = mesh_geometry(mesh)
        self.rest, self.rest_bounds = geometry.vertices, mesh_bounds(mesh)
        count, triangles = len(mesh.vertices), geometry.triangles
        # For each row, the vertex of the mesh. In a flat mesh, some rows are copies of others.
        self._source = np.arange(len(self.rest))
        copied = np.flatnonzero(triangles[:, 2] >= count)
        self._source[triangles[copied, 2]] = mesh.faces[copied, 2]
        self._corners = np.ascontiguousarray(self._source[triangles].T)
        self._ends = triangles[:, 2] if geometry.is_flat else None
        self._around = None if geometry.is_flat else FacesAround(triangles, count)

    def deformed(self, vertices: NDArray[np.float32]) -> NDArray[np.void]:
        """Rows of VERTEX for vertices (v, 3), which must be finite and in the mesh's order."""
        rows = np.zeros(len(self.rest), VERTEX)
        self.write(vertices, rows)
        return rows

    def write(self, vertices: NDArray[np.float32], rows: NDArray[np.void]) -> MeshBounds:
        """Like `deformed`, but writes into `rows`. Returns the box around the vertices."""
        # Writes all numbers at once, because writing fields of records is ten times slower.
        numbers = rows.view(np.float32).reshape(-1, NUMBERS)
        places = np.ascontiguousarray(vertices.T)
        numbers[:, PLACE] = vertices if len(rows) == len(vertices) else vertices[self._source]
        areas = self._areas(places)
        if self._around is None:
            numbers[self._ends, NORMAL] = _unit(areas).T
        else:
            numbers[:, NORMAL] = _unit(self._around.summed(areas)).T
        low, high = places.min(axis=1), places.max(axis=1)
        return MeshBounds((low + high) / 2, (high - low) / 2)

    def _areas(self, places: NDArray[np.float32]) -> NDArray[np.float32]:
        """Normals of the faces, (3, f); the length of each is twice the area of the face. places: (3, v)."""
        corners = np.take(places, self._corners, axis=1)
        first, u, w = corners[:, 0], corners[:, 1], corners[:, 2]
        u -= first
        w -= first
        areas = np.empty_like(u)
        for axis, second, third in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            np.multiply(u[second], w[third], out=areas[axis])
            areas[axis] -= u[third] * w[second]
        return areas


class FacesAround:
    """Sums over the faces around each of `count` vertices. faces: (f, 3)."""

    def __init__(self, faces: NDArray[np.uint32], count: int) -> None:
        corners = faces.ravel()
        around = np.argsort(corners, kind="stable") // 3  # face numbers, vertex by vertex
        numbers = np.bincount(corners, minlength=count)
        starts = np.cumsum(numbers) - numbers
        self._order = np.argsort(-numbers, kind="stable")
        numbers, starts = numbers[self._order], starts[self._order]
        most = min(MOST_AROUND, int(numbers[0]))
        self._nth = [around[starts[: int((numbers > nth).sum())] + nth] for nth in range(most)]
        crowded = np.flatnonzero(numbers > MOST_AROUND)
        self._more = [
            (place, around[starts[place] + MOST_AROUND : starts[place] + numbers[place]]) for place in crowded
        ]

    def summed(self, of_faces: NDArray[np.float32]) -> NDArray[np.float32]:
        """Sums the values of faces, (3, f), around each vertex. Returns (3, v)."""
        total = np.zeros((3, len(self._order)), np.float32)
        for faces in self._nth:
            total[:, : len(faces)] += of_faces.take(faces, axis=1)
        for place, faces in self._more:
            total[:, place] += of_faces[:, faces].sum(axis=1)
        summed = np.empty_like(total)
        summed[:, self._order] = total
        return summed


def _unit(directions: NDArray[np.float32]) -> NDArray[np.float32]:
    """Columns of (3, n) scaled to length 1; a column of zeros stays 0."""
    # Divides by the largest component first, because squares of large numbers exceed float32.
    largest = np.maximum(np.abs(directions).max(axis=0), LEAST_LENGTH)
    directions /= largest
    x, y, z = directions
    directions /= np.sqrt(np.maximum(x * x + y * y + z * z, LEAST_LENGTH))
    return directions
