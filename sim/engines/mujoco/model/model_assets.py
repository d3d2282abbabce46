"""This module converts the assets of a model: materials, textures, the sky, meshes and height fields.

MuJoCo's renderer and twixt both map a texture along the object's x and y axes, or as a cube around the object. They
differ in the unit of repetition. MuJoCo's `texrepeat` is the number of repetitions over the whole object. But with
`texuniform`, and along infinite sides of a plane, `texrepeat` is the number of repetitions over two units of length.

Always: each texture of a model is read only one time. A texture's own alpha is ignored, as in MuJoCo's renderer for an
opaque geom.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene.material import CUBE_SIDES, MOST_SIDE_PX, SHARES, Material, Texture
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    import mujoco
    from mujoco import MjModel


# MuJoCo's default values. A material with these values looks the same as no material.
DEFAULT_SPECULAR, DEFAULT_SHININESS = 0.5, 0.5
# Smallest number of repetitions. This number replaces a zero in the model.
LEAST_REPEAT = 1e-6
# Longest side of a sky's six images, in px. A larger image is reduced: only every second pixel is used, or fewer. The
# scene contains each image only one time.
MOST_SKY_PX = 1024


class ModelMaterials:
    """Materials of one model. A texture is read when a geom first needs it."""

    def __init__(self, model: MjModel) -> None:
        self._model = model
        self._textures: dict[int, Texture] = {}

    def rgba(self, material: int) -> NDArray[np.float32]:
        """Copy of the colour of a material."""
        return np.array(self._model.mat_rgba[material])

    def of(self, material: int, plane_size: NDArray[np.float64] | None = None) -> Material | None:
        """Returns the material with this number. Returns None for -1, and for a material that would make no visible
        difference.

        plane_size: half the sides of a plane, in metres; 0 for an infinite side. If the geom is no plane, `plane_size`
        is None.
        """
        if material < 0:
            return None
        model, texture = self._model, self._texture(material)
        specular, shininess = float(model.mat_specular[material]), float(model.mat_shininess[material])
        emission = _share("emission", float(model.mat_emission[material]))
        is_plain = (specular, shininess, emission) == (DEFAULT_SPECULAR, DEFAULT_SHININESS, 0.0)
        if texture is None and is_plain:
            return None
        repeat = np.maximum(np.nan_to_num(model.mat_texrepeat[material].astype(np.float64)), LEAST_REPEAT)
        per_metre = bool(model.mat_texuniform[material])
        if plane_size is not None:
            has_ends = bool(((plane_size[:2] > 0) & (plane_size[:2] < np.inf)).all())
            if per_metre and has_ends:  # the texture begins at the corner of the plane
                per_metre, repeat = False, repeat * plane_size[:2]
            elif not per_metre and not has_ends:
                per_metre, repeat = True, repeat / np.where(plane_size[:2] > 0, plane_size[:2], 1.0)
        x, y = (repeat / 2 if per_metre else repeat).tolist()
        roughness = _share("roughness", float(np.sqrt(0.25 * DEFAULT_SHININESS / max(shininess, 1e-3))))
        return Material(texture, (x, y), per_metre, roughness, _share("specular", specular), emission)

    @cached_property
    def sky(self) -> Texture | None:
        """The model's sky; None if the model has no sky."""
        skies = np.flatnonzero(self._model.tex_type == int(mujoco.mjtTexture.mjTEXTURE_SKYBOX))
        return Texture(_z_up(_pixels(self._model, int(skies[0]), MOST_SKY_PX))) if len(skies) else None

    def _texture(self, material: int) -> Texture | None:
        number = int(self._model.mat_texid[material][int(mujoco.mjtTextureRole.mjTEXROLE_RGB)])
        if number < 0:
            return None
        if number not in self._textures:
            self._textures[number] = Texture(_pixels(self._model, number))
        return self._textures[number]


def _share(name: str, value: float) -> float:
    """Limits a value of a material to the range that twixt allows."""
    low, high = SHARES[name]
    return min(max(value, low), high) if value == value else low


def _pixels(model: MjModel, texture: int, most_px: int = MOST_SIDE_PX) -> NDArray[np.uint8]:
    """Returns the pixels of a texture, an array of shape (h, w, 3), or (6, h, h, 3) for a cube. most_px: longest side,
    in px. A larger texture is reduced: only every second pixel is used, or fewer."""
    height, width = int(model.tex_height[texture]), int(model.tex_width[texture])
    channels, start = int(model.tex_nchannel[texture]), int(model.tex_adr[texture])
    image: Any = model.tex_data[start : start + height * width * channels].reshape(height, width, channels)
    image = image[..., :3] if channels >= 3 else np.repeat(image[..., :1], 3, axis=2)
    if int(model.tex_type[texture]) != int(mujoco.mjtTexture.mjTEXTURE_2D):
        sides = CUBE_SIDES if height == CUBE_SIDES * width else 1
        image = np.broadcast_to(image.reshape(sides, width, width, 3), (CUBE_SIDES, width, width, 3))
    every = -(-max(image.shape[-3:-1]) // most_px)
    return np.asarray(image[..., ::every, ::every, :])


def _z_up(sides: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Rotates a cube texture, an array of shape (6, h, h, 3). Before, y points up (third side); afterwards z points up
    (fifth side)."""
    right, left, up, down, near, far = sides
    turned = np.rot90(right), np.rot90(left, -1), np.rot90(far, 2), near, up, np.rot90(down, 2)
    return np.ascontiguousarray(turned)


# The code below converts the mesh assets and the height fields of a model to surfaces.
#
# Always: vertices are in the frame of the geom that shows the asset. MuJoCo's compiler moves an asset's vertices into
# the asset's inertia frame, and changes the geom's pose to match. So neither `mesh_pos` nor `mesh_quat` is applied
# here.


# Maximum number of points along a side of a height field. A square height field with this number of points per side
# has 260,000 vertices, and adds 10 MB to the scene's message.
MOST_HFIELD_POINTS = 512
# In a mesh without texture coordinates, MuJoCo's renderer compares the normal of a face with the mesh's normal at each
# corner. If the cosine of the angle between the two normals is below this limit, the renderer uses the face's normal
# (MuJoCo 4.0, mjr_uploadMesh).
SHARP_EDGE_COSINE = 0.8


class Surface(NamedTuple):
    """Arguments of `Mesh`. vertices: array of shape (v, 3), in metres. faces: array of shape (f, 3). normals: array of
    shape (v, 3), or "smooth", or None for flat faces. uv: array of shape (v, 2)."""

    vertices: NDArray[np.float32]
    faces: NDArray[np.int64]
    normals: NDArray[np.float32] | str | None
    uv: NDArray[np.float32] | None = None


def mesh_surface(model: mujoco.MjModel, mesh: int) -> Surface | None:
    """Returns the surface of mesh asset number `mesh`. The surface has the asset's normals, and sharp edges as in
    MuJoCo. Returns None if the asset has no faces."""
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
    # MuJoCo indexes normals and texture coordinates separately from vertices. So a vertex at an edge can have several
    # normals or texture coordinates. Here each combination becomes a separate vertex.
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
    """Returns the convex hull of mesh asset number `mesh`, with flat faces. Returns None if the asset has no hull."""
    graph = int(model.mesh_graphadr[mesh])
    if graph < 0:
        return None
    # The graph has, in this order: number of vertices, number of faces, two values per vertex, the edges (one value
    # per vertex and three per face), the faces.
    vertices, faces = model.mesh_graph[graph : graph + 2].tolist()
    start = graph + 2 + 3 * vertices + 3 * faces
    corners = model.mesh_graph[start : start + 3 * faces].astype(np.int64)
    used, numbers = np.unique(corners, return_inverse=True)
    of_mesh = _rows(model.mesh_vert, model.mesh_vertadr[mesh], model.mesh_vertnum[mesh])
    return Surface(of_mesh[used], numbers.reshape(-1, 3).astype(np.int64), None)


def hfield_surface(model: mujoco.MjModel, hfield: int) -> Surface:
    """Returns the surface of height field number `hfield`: its top, and walls from the edges of the top down to the
    base."""
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
    # The edges go counter-clockwise as seen from above, so that each wall faces outwards.
    for edge in (ground[0], ground[:, -1], ground[-1, ::-1], ground[::-1, 0]):
        foot = edge * (1.0, 1.0, 0.0) - (0.0, 0.0, base)
        begin = sum(map(len, vertices))
        vertices.append(np.concatenate([foot, edge]))
        faces.append(_grid_faces(np.arange(2 * len(edge)).reshape(2, -1)) + begin)
    return Surface(np.concatenate(vertices).astype(np.float32), np.concatenate(faces), "smooth")


def _with_sharp_edges(
    corners: NDArray[np.float32], normals: NDArray[np.float32], of_corner: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Returns normals. Also returns the index of each corner's normal, an array of shape (f, 3). If the mesh's normal
    at a corner differs too much from the normal of the face, the corner gets the normal of the face. corners:
    positions of the corners, shape (f, 3, 3). of_corner: indices of the mesh's normals."""
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(across, axis=1, keepdims=True)
    of_face = np.divide(across, lengths, out=np.zeros_like(across), where=lengths > 0)
    is_sharp = np.einsum("fck,fk->fc", normals[of_corner], of_face) < SHARP_EDGE_COSINE
    numbers = len(normals) + np.arange(len(corners))[:, None]
    return np.concatenate([normals, of_face]), np.where(is_sharp & (lengths > 0), numbers, of_corner)


def _rows(array: Any, start: int, count: int) -> NDArray[Any]:
    """Copies rows of an array, because programs may write into the arrays of a model."""
    return np.array(array[int(start) : int(start) + int(count)])


def _kept(points: int) -> NDArray[np.int64]:
    """Returns the indices of at most `MOST_HFIELD_POINTS` points along a side. Both ends of the side are included."""
    return np.unique(np.linspace(0, points - 1, min(points, MOST_HFIELD_POINTS)).round().astype(np.int64))


def _grid_faces(number: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns two triangles for each cell of a grid of vertex numbers. Columns of the grid follow x, rows follow y."""
    a, b, c, d = number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]
    return np.stack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)]).reshape(-1, 3)
