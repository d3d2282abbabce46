"""Surfaces of a model as meshes: its mesh assets and height fields.

Always: vertices are in the frame of the geom that shows the asset. MuJoCo's compiler moves an asset's vertices into the
frame of its inertia and the geom the other way, so neither `mesh_pos` nor `mesh_quat` is applied here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import mujoco

# Points along a side of a height field, at most: a square of them is 260,000 vertices, 10 MB of a scene's message.
MOST_HFIELD_POINTS = 512
# In a mesh without texture coordinates, MuJoCo's renderer gives a corner its face's normal if the cosine of the angle
# between that and the mesh's normal is below this (MuJoCo 4.0, mjr_uploadMesh).
SHARP_EDGE_COSINE = 0.8


class Surface(NamedTuple):
    """Arguments of `Mesh`. vertices (v, 3), metres; faces (f, 3); normals (v, 3), "smooth", or None: flat; uv (v, 2)."""

    vertices: NDArray[np.float32]
    faces: NDArray[np.int64]
    normals: NDArray[np.float32] | str | None
    uv: NDArray[np.float32] | None = None


def mesh_surface(model: mujoco.MjModel, mesh: int) -> Surface | None:
    """Surface of mesh asset number `mesh`, with the asset's own normals and MuJoCo's sharp edges; None without
    faces."""
    vertices = _rows(model.mesh_vert, model.mesh_vertadr[mesh], model.mesh_vertnum[mesh])
    faces = _rows(model.mesh_face, model.mesh_faceadr[mesh], model.mesh_facenum[mesh]).astype(np.int64)
    if not len(faces):
        return None
    normals = _rows(model.mesh_normal, model.mesh_normaladr[mesh], model.mesh_normalnum[mesh])
    of_corner = _rows(model.mesh_facenormal, model.mesh_faceadr[mesh], model.mesh_facenum[mesh]).astype(np.int64)
    if not len(normals):
        return Surface(vertices, faces, "smooth")
    if model.mesh_texcoordadr[mesh] < 0:
        normals, of_corner = _with_sharp_edges(vertices[faces], normals, of_corner)
    # MuJoCo numbers normals, and places in a texture, apart from vertices: a vertex at an edge has several. Here each
    # combination is a vertex.
    numbers, lengths, in_image = [faces.ravel(), of_corner.ravel()], [len(vertices), len(normals)], None
    if (start := int(model.mesh_texcoordadr[mesh])) >= 0:
        in_image = _rows(model.mesh_texcoord, start, model.mesh_texcoordnum[mesh])
        of_face = _rows(model.mesh_facetexcoord, model.mesh_faceadr[mesh], model.mesh_facenum[mesh])
        numbers.append(of_face.ravel().astype(np.int64))
        lengths.append(len(in_image))
    combined, corner = np.unique(np.ravel_multi_index(numbers, lengths), return_inverse=True)
    vertex, normal, *places = np.unravel_index(combined, lengths)
    return Surface(
        vertices[vertex],
        corner.reshape(-1, 3).astype(np.int64),
        normals[normal],
        None if in_image is None else (in_image[places[0]] * (1.0, -1.0) + (0.0, 1.0)).astype(np.float32),
    )


def hull_surface(model: mujoco.MjModel, mesh: int) -> Surface | None:
    """Convex hull of mesh asset number `mesh`, with flat faces; None for one that has none."""
    graph = int(model.mesh_graphadr[mesh])
    if graph < 0:
        return None
    # The graph: numbers of vertices and faces, two numbers a vertex, edges (one a vertex and three a face), then faces.
    vertices, faces = model.mesh_graph[graph : graph + 2].tolist()
    start = graph + 2 + 3 * vertices + 3 * faces
    corners = model.mesh_graph[start : start + 3 * faces].astype(np.int64)
    used, numbers = np.unique(corners, return_inverse=True)
    of_mesh = _rows(model.mesh_vert, model.mesh_vertadr[mesh], model.mesh_vertnum[mesh])
    return Surface(of_mesh[used], numbers.reshape(-1, 3).astype(np.int64), None)


def hfield_surface(model: mujoco.MjModel, hfield: int) -> Surface:
    """Surface of height field number `hfield`: the ground, with walls down to its base."""
    rows, columns = int(model.hfield_nrow[hfield]), int(model.hfield_ncol[hfield])
    half_x, half_y, top, base = model.hfield_size[hfield]
    start = int(model.hfield_adr[hfield])
    height = model.hfield_data[start : start + rows * columns].reshape(rows, columns) * top
    row, column = _kept(rows), _kept(columns)
    x = np.linspace(-half_x, half_x, columns)[column]
    y = np.linspace(-half_y, half_y, rows)[row]
    ground = np.stack([*np.meshgrid(x, y), height[np.ix_(row, column)]], axis=-1)
    number = np.arange(ground[..., 0].size).reshape(ground.shape[:2])
    vertices, faces = [ground.reshape(-1, 3)], [_grid_faces(number)]
    # Counter-clockwise as seen from above, so that each wall faces outwards.
    for edge in (ground[0], ground[:, -1], ground[-1, ::-1], ground[::-1, 0]):
        foot = edge * (1.0, 1.0, 0.0) - (0.0, 0.0, base)
        begin = sum(map(len, vertices))
        vertices.append(np.concatenate([foot, edge]))
        faces.append(_grid_faces(np.arange(2 * len(edge)).reshape(2, -1)) + begin)
    return Surface(np.concatenate(vertices).astype(np.float32), np.concatenate(faces), "smooth")


def _with_sharp_edges(
    corners: NDArray[np.float32], normals: NDArray[np.float32], of_corner: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Normals, and the index of each corner's normal, (f, 3). A corner gets the normal of its face if the mesh's normal
    deviates too far from it. corners: positions (f, 3, 3)."""
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(across, axis=1, keepdims=True)
    of_face = np.divide(across, lengths, out=np.zeros_like(across), where=lengths > 0)
    is_sharp = np.einsum("fck,fk->fc", normals[of_corner], of_face) < SHARP_EDGE_COSINE
    numbers = len(normals) + np.arange(len(corners))[:, None]
    return np.concatenate([normals, of_face]), np.where(is_sharp & (lengths > 0), numbers, of_corner)


def _rows(array: Any, start: int, count: int) -> NDArray[Any]:
    """A copy: arrays of a model are views of memory that may be written."""
    return np.array(array[int(start) : int(start) + int(count)])


def _kept(points: int) -> NDArray[np.int64]:
    """Indices of at most `MOST_HFIELD_POINTS` points along a side, both ends included."""
    return np.unique(np.linspace(0, points - 1, min(points, MOST_HFIELD_POINTS)).round().astype(np.int64))


def _grid_faces(number: NDArray[np.int64]) -> NDArray[np.int64]:
    """Two triangles for each cell of a grid of vertex numbers, whose columns go along x and rows along y."""
    a, b, c, d = number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]
    return np.stack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)]).reshape(-1, 3)
