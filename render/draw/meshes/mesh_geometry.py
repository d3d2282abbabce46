"""Computes the arrays of a mesh for the GPU: vertices, triangles, silhouette edges and bounds. This includes deforming
meshes.

In OpenGL, all pixels of a triangle get the `flat` outputs of the triangle's last vertex. So if the faces of a mesh are
shaded flat, the last vertex of each face has the face's normal, and faces share all other vertices. With three separate
vertices for each face, there would be twice as many vertices. These normals are exact at edges. Normals that are
computed from derivatives of the position are not exact there.

Always: each face is drawn once. If a mesh has vertex normals, the front of each face is on the side to which these
normals point; a face is turned over if necessary. The functions are pure: they take and return arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene.mesh import Mesh

# One row of the vertex buffer: a vertex and its normal.
VERTEX = np.dtype([("place", "<f4", 3), ("normal", "<f4", 3)])
# For each edge of a face, three corners of the face: the start of the edge, the end of the edge, and the opposite
# corner.
EDGES_OF_FACE = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
# A mesh counts as a plate if its smallest extent is at most this share of its second smallest extent. A height field is
# an example.
PLATE_SHARE = 0.1


class MeshGeometry(NamedTuple):
    """A mesh for the GPU. vertices: (n,) of dtype VERTEX. triangles: (f, 3), u4.

    is_flat: True if each face has one normal, which its last vertex carries. sources: (n,), for each row of `vertices`,
    the index of the mesh vertex from which the row was made.
    """

    vertices: NDArray[np.void]
    triangles: NDArray[np.uint32]
    is_flat: bool
    sources: NDArray[np.intp]


class MeshBounds(NamedTuple):
    """Box around a mesh, in the mesh's own frame: the middle of the box and half of each side, in metres."""

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
    """Box around all vertices that belong to a face."""
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
    """Edges of a mesh, in the form of OpenGL's lines with adjacency, (e, 4), u4. Each row contains the opposite corner
    of one face, both ends of the edge, and the opposite corner of the other face.

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
    """Unit normals of faces, (f, 3). Seen from the side to which the normal points, the corners run counter-clockwise.
    The normal of a face with area 0 is 0."""
    corners = vertices.astype(np.float64)[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.divide(normals, length, out=np.zeros_like(normals), where=length > 0).astype(np.float32)


def _flat(places: NDArray[np.float32], faces: NDArray[np.uint32]) -> MeshGeometry:
    """Makes a geometry in which no two faces have the same last vertex. The last vertex of a face is one of its three
    vertices. If other faces already use all three, it is a copy of one of them."""
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
    """Rotates the corners of faces so that most faces have a last vertex that is the last vertex of no other face.

    Each of the three corners is tried in turn as the last corner. Returns a mask of the faces for which this succeeded,
    (f,), and all faces, rotated.
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
    """Returns the faces. A face is turned over if the vertex normals at its corners point to its back."""
    toward = (normals[faces].sum(axis=1) * face_normals(places, faces)).sum(axis=1)
    return np.where((toward < 0)[:, None], faces[:, ::-1], faces)


def _first_at_place(places: NDArray[np.float32]) -> NDArray[np.intp]:
    """For each vertex, the index of one vertex at the same place. All vertices at this place get the same index."""
    x, y, z = (places + np.float32(0)).T  # changes -0 to 0
    order = np.lexsort((z, y, x))
    ordered = places[order]
    is_new = np.ones(len(places), np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = np.empty(len(places), np.intp)
    first[order] = order[np.flatnonzero(is_new)[np.cumsum(is_new) - 1]]
    return first


# This section computes the vertices and normals of a deforming mesh, which are then uploaded to the GPU.
#
# Values that depend only on the faces are computed once for each mesh. The normal of a vertex is the sum of the normals
# of the faces around it (Gouraud 1971). The vertices are sorted by the number of faces around them. So for each i, one
# indexing operation and one addition handle the i-th face of all vertices that have at least i faces. For 24,000
# vertices and 48,000 faces this takes 1.3 ms; `np.add.reduceat` takes twice as long.
#
# Always: the order of the rows, the triangles and the kind (flat or smooth) are the same as `mesh_geometry` gives for
# the mesh. So the programs that draw other meshes can also draw deforming meshes. The code takes and returns arrays and
# has no side effects.


# Largest number of faces around a vertex that are summed for all vertices together. If there are more faces around a
# vertex, as in a fan of triangles, the remaining faces are summed separately.
MOST_AROUND = 16
LEAST_LENGTH = np.float32(1e-30)
# NUMBERS is the count of 32-bit numbers in one row of VERTEX. PLACE and NORMAL select the numbers of the position and
# of the normal.
NUMBERS, PLACE, NORMAL = 6, slice(0, 3), slice(3, 6)


class Deformation:
    """Makes rows of VERTEX from the deformed vertices of one mesh. rest: rows of the undeformed mesh, (n,).
    rest_bounds: box around the undeformed mesh."""

    def __init__(self, mesh: Mesh) -> None:
        geometry = mesh_geometry(mesh)
        self.rest, self.rest_bounds = geometry.vertices, mesh_bounds(mesh)
        count, triangles = len(mesh.vertices), geometry.triangles
        # For each row, the index of its vertex in the mesh. In a flat mesh, some vertices have several rows.
        self._source = np.arange(len(self.rest))
        copied = np.flatnonzero(triangles[:, 2] >= count)
        self._source[triangles[copied, 2]] = mesh.faces[copied, 2]
        self._corners = np.ascontiguousarray(self._source[triangles].T)
        self._ends = triangles[:, 2] if geometry.is_flat else None
        self._around = None if geometry.is_flat else FacesAround(triangles, count)

    def deformed(self, vertices: NDArray[np.float32]) -> NDArray[np.void]:
        """Rows of VERTEX for these vertices. vertices: (v, 3), in the same order as in the mesh; all values must be
        finite."""
        rows = np.zeros(len(self.rest), VERTEX)
        self.write(vertices, rows)
        return rows

    def write(self, vertices: NDArray[np.float32], rows: NDArray[np.void]) -> MeshBounds:
        """Like `deformed`, but writes into `rows`. Returns the box around the vertices."""
        # All numbers are written at once. To write the fields of the records one after the other takes ten times as
        # long.
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
        """Normals of the faces, (3, f). The length of each normal is twice the area of its face. places: positions of
        the vertices, (3, v)."""
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
    """Adds up values of the faces around each vertex. faces: the vertices of each face, (f, 3). count: number of
    vertices."""

    def __init__(self, faces: NDArray[np.uint32], count: int) -> None:
        corners = faces.ravel()
        around = np.argsort(corners, kind="stable") // 3  # indices of the faces around vertex 0, then vertex 1 ...
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
        """For each vertex, adds up the values of the faces around the vertex. of_faces: (3, f). Returns (3, v)."""
        total = np.zeros((3, len(self._order)), np.float32)
        for faces in self._nth:
            total[:, : len(faces)] += of_faces.take(faces, axis=1)
        for place, faces in self._more:
            total[:, place] += of_faces[:, faces].sum(axis=1)
        summed = np.empty_like(total)
        summed[:, self._order] = total
        return summed


def _unit(directions: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scales each direction to length 1. A direction of length 0 stays 0. directions: (3, n), one direction in each
    column."""
    # Each direction is first divided by its largest component. Otherwise the squares of large components could exceed
    # float32.
    largest = np.maximum(np.abs(directions).max(axis=0), LEAST_LENGTH)
    directions /= largest
    x, y, z = directions
    directions /= np.sqrt(np.maximum(x * x + y * y + z * z, LEAST_LENGTH))
    return directions
