"""A triangle mesh can be the shape of a body. A mesh is checked when it is made.

A mesh is identified by the digest of its arrays (16 bytes). So two meshes are compared by their digests, and meshes of
equal content are sent and uploaded only one time.

Always: the arrays are read-only copies with finite values. Their types are the types that are uploaded to the GPU.
Each face has indices of vertices that exist. Not here: the code that reads files (`mesh_files`). A viewer never reads
mesh files.
"""

from __future__ import annotations

import copy
import hashlib
import math
import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import named_arguments
from twixt.ipc.scene.checks import (
    Paint,
    SceneError,
    SceneTypeError,
    flag,
    label_or_none,
    lengths,
    number,
    paint_or_none,
    set_field,
)
from twixt.ipc.scene.material import Material, material_or_none
from twixt.ipc.scene.mesh_files import MOST_FACES, MOST_VERTICES, MeshFile

SMOOTH = "smooth"
AS_IN_FILE = "file"
# Largest magnitude of a vertex's coordinate, in metres. At this distance float32 is accurate to 0.1 m.
FARTHEST_M = 1e6
# A length whose difference from 1 is below this counts as 1. So a viewer does not change the unit normals that it
# receives, and the mesh's digest stays the same.
UNIT_WITHIN = 1e-5


@named_arguments
@dataclass(frozen=True)
class Mesh:
    """A surface of triangles in the body's own frame.

    Args:
        vertices: Array of shape (v, 3) with at most 2,000,000 rows. Each coordinate is from -1e6 to 1e6 m.
        faces: Array of shape (f, 3) with at most 4,000,000 rows. A row has the indices of three vertices,
            counter-clockwise as seen from outside.
        normals: None, "smooth" or an array of directions of shape (v, 3). None draws each face flat. "smooth" takes,
            at each vertex, the mean normal of the faces around the vertex, weighted by the faces' areas (Gouraud
            1971).
        color: Colour of the surface, as in `Sphere`.
        deforms: True for cloth, skins and soft bodies. Each snapshot then has new vertices, and `vertices` is the rest
            shape. The viewer computes the normals of such a mesh: flat if `normals` is None, else smooth.
        uv: Array of shape (v, 2) with the position of each vertex in the material's image. The first number is the
            distance from the left as a fraction of the width. The second number is the distance from the bottom as a
            fraction of the height. Beyond the range from 0 to 1, the image repeats.
        material: An image on the surface, and its highlights.
        label: Text beside the body, as in `Sphere`.

    Raises:
        TwixtError: An argument is invalid. The error is also a ValueError.

    Examples:
        ```python
        from twixt import Mesh, Scene

        pyramid = Mesh(
            vertices=[[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0], [0, 0, 1.5]],
            faces=[[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4], [0, 2, 1], [0, 3, 2]],
        )
        scene = Scene([pyramid, Mesh.height_field([[0, 1, 0], [1, 2, 1], [0, 1, 0]], size=(8, 8))])
        ```
    """

    vertices: NDArray[np.float32] = field(compare=False, repr=False)
    faces: NDArray[np.uint32] = field(compare=False, repr=False)
    normals: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)
    color: Paint | None = None
    deforms: bool = False
    uv: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)
    material: Material | None = None
    label: str | None = None
    digest: bytes = field(init=False, repr=False, default=b"")

    def __init__(
        self,
        vertices: ArrayLike,
        faces: ArrayLike,
        normals: ArrayLike | str | None = None,
        color: ArrayLike | None = None,
        deforms: bool = False,
        uv: ArrayLike | None = None,
        material: Material | None = None,
        *,
        label: str | None = None,
    ) -> None:
        set_field(self, "vertices", _rows_of_three("Mesh.vertices", vertices))
        set_field(self, "faces", _faces(faces, len(self.vertices)))
        set_field(self, "normals", _normals(normals, self.vertices, self.faces))
        set_field(self, "color", paint_or_none("Mesh.color", color))
        set_field(self, "deforms", flag("Mesh.deforms", deforms))
        set_field(self, "uv", _texture_places(uv, len(self.vertices)))
        set_field(self, "material", material_or_none("Mesh.material", material))
        set_field(self, "label", label_or_none("Mesh.label", label))
        content = hashlib.blake2b(digest_size=16)
        for array in self.arrays:
            content.update(len(array).to_bytes(8, "little") + array.tobytes())
        content.update(b"deforms" if self.deforms else b"")
        set_field(self, "digest", content.digest())

    @staticmethod
    @named_arguments
    def height_field(
        heights: ArrayLike, size: ArrayLike, color: ArrayLike | None = None, *, label: str | None = None
    ) -> Mesh:
        """Returns the mesh of a terrain over a rectangle.

        The rectangle's middle is the body's position. Columns of `heights` follow x and rows follow y, both in
        ascending order. The surface has smooth normals, and its front faces up.

        Args:
            heights: Array of shape (r, c), in metres; r and c are at least 2.
            size: Lengths of the rectangle along x and y, in metres.
            color: Colour of the surface, as in `Sphere`.
            label: Text beside the body, as in `Sphere`.

        Returns:
            The mesh.

        Raises:
            TwixtError: An argument is invalid. The error is also a ValueError.
        """
        vertices, faces = _height_field(heights, size)
        return Mesh(vertices, faces, SMOOTH, color, label=label)

    @staticmethod
    @named_arguments
    def from_file(
        path: str | os.PathLike[str],
        scale: float = 1.0,
        normals: ArrayLike | str | None = AS_IN_FILE,
        color: ArrayLike | None = None,
        *,
        label: str | None = None,
    ) -> Mesh:
        """Returns the mesh of an STL, OBJ, GLB or PLY file. All parts of the file become one mesh.

        The axes of the file are kept. Colours and textures are not read. The function needs trimesh (extra `mesh`),
        unless the file is in the cache on disk. The environment variable TWIXT_CACHE is the folder of the cache, or
        "off".

        Args:
            path: The file.
            scale: Factor by which all lengths are multiplied, > 0.
            normals: "file" takes the normals in the file, or flat faces if the file has no normals. All other values
                mean the same as for `Mesh`.
            color: Colour of the surface, as in `Sphere`.
            label: Text beside the body, as in `Sphere`.

        Returns:
            The mesh.

        Raises:
            TwixtError: The file cannot be read, or trimesh is not installed. The error is also a ValueError.
        """
        if (factor := number("scale", scale)) <= 0:
            raise SceneError(f"scale must be > 0, got {scale!r}")
        file = MeshFile(path)
        key = (file.digest, factor, normals) if normals is None or isinstance(normals, str) else None
        known = None if key is None else _from_files.get(key)
        if known is not None:
            return known.recolored(color, None, label)
        vertices, faces, found = file.arrays()
        try:
            made = Mesh(vertices * factor, faces, found if _is_text(normals, AS_IN_FILE) else normals, color)
        except SceneError as error:
            raise SceneError(f"{os.fspath(path)}: {error}") from None
        if key is not None:
            _from_files[key] = made
        return made if label is None else made.recolored(color, None, label)

    def recolored(self, color: ArrayLike | None, material: Material | None = None, label: str | None = None) -> Mesh:
        """Returns a mesh with the same arrays, and with this colour, material and label.

        Args:
            color: Colour of the surface, as in `Sphere`.
            material: An image on the surface, and its highlights.
            label: Text beside the body.

        Returns:
            The new mesh. The two meshes share their arrays.

        Raises:
            TwixtError: An argument is invalid. The error is also a ValueError.
        """
        other = copy.copy(self)
        set_field(other, "material", material_or_none("Mesh.material", material))
        set_field(other, "color", paint_or_none("Mesh.color", color))
        set_field(other, "label", label_or_none("Mesh.label", label))
        return other

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """The vertices and the faces, then the normals and the texture coordinates (uv) if the mesh has them."""
        return [self.vertices, self.faces, *(array for array in (self.normals, self.uv) if array is not None)]

    @cached_property
    def reach(self) -> float:
        """Largest distance between a vertex and the body's position, in metres."""
        return float(math.sqrt((self.vertices.astype(np.float64) ** 2).sum(axis=1).max()))

    def __repr__(self) -> str:
        return f"Mesh({len(self.vertices)} vertices, {len(self.faces)} faces)"


# Meshes from files, by (digest of the file, scale, kind of normals), as long as they are in use. If the same file is
# read again, the same mesh is returned.
_from_files: WeakValueDictionary[tuple[str, float, str | None], Mesh] = WeakValueDictionary()


def _is_text(value: Any, text: str) -> bool:
    """True if `value` is this text. The type is checked first, because `==` on an array would compare each item."""
    return isinstance(value, str) and value == text


def _height_field(heights: Any, size: Any) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Returns the vertices and the faces of the terrain. The vertices come row by row. Each rectangle of four
    neighbouring vertices has two triangles."""
    rule = "Mesh.height_field: heights must be numbers, shape (r, c), with r and c >= 2"
    try:
        z = np.asarray(heights)
    except ValueError as error:
        raise SceneTypeError(f"{rule}, got {type(heights).__name__} ({error})") from error
    if z.dtype.kind not in "iuf" or z.ndim != 2 or min(z.shape) < 2:
        raise _wrong(z)(f"{rule}, got {_described(z)}")
    if z.size > MOST_VERTICES:
        raise SceneError(
            f"Mesh.height_field: at most {MOST_VERTICES:,} heights, got {z.size:,}; use every second height"
        )
    if not np.isfinite(z).all():
        row, column = np.argwhere(~np.isfinite(z))[0].tolist()
        raise SceneError(
            f"Mesh.height_field: heights must be finite, got {z[row, column]} in row {row}, column {column}"
        )
    width, length = lengths("Mesh.height_field: size", size, 2)
    rows, columns = z.shape
    x, y = np.meshgrid(np.linspace(-width / 2, width / 2, columns), np.linspace(-length / 2, length / 2, rows))
    corner = np.arange(z.size).reshape(rows, columns)
    here, right, above, beyond = (
        corners.ravel() for corners in (corner[:-1, :-1], corner[:-1, 1:], corner[1:, :-1], corner[1:, 1:])
    )
    faces = np.concatenate([np.stack([here, right, beyond], axis=1), np.stack([here, beyond, above], axis=1)])
    return np.stack([x.ravel(), y.ravel(), z.ravel().astype(np.float64)], axis=1), faces


def smooth_normals(vertices: NDArray[np.float32], faces: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Returns unit normals, an array of shape (v, 3). The normal at a vertex is the mean normal of the faces around
    the vertex, weighted by the faces' areas (Gouraud 1971)."""
    corners = vertices.astype(np.float64)[faces]
    of_face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    total = np.zeros((len(vertices), 3))
    for axis in range(3):
        total[:, axis] = np.bincount(faces.ravel(), np.repeat(of_face[:, axis], 3), len(vertices))
    return _of_unit_length(total)


def _of_unit_length(directions: NDArray[np.float64]) -> NDArray[np.float32]:
    """Returns the rows, scaled to length 1. A row of length 0 becomes (0, 0, 1). A row whose length is almost 1 is not
    changed."""
    length = np.linalg.norm(directions, axis=1, keepdims=True)
    length[np.abs(length - 1) < UNIT_WITHIN] = 1.0
    with np.errstate(all="ignore"):
        return np.where(length > 0, directions / length, (0.0, 0.0, 1.0)).astype(np.float32)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def _array(name: str, values: Any, rule: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except (ValueError, TypeError) as error:
        raise SceneTypeError(f"{name} must be {rule}, got {type(values).__name__} ({error})") from error
    if array.dtype.kind not in "iuf" or array.ndim != 2 or array.shape[1] != 3 or not len(array):
        raise _wrong(array)(f"{name} must be {rule}, got {_described(array)}")
    return array


def _wrong(array: NDArray[Any]) -> type[SceneError]:
    return SceneError if array.dtype.kind in "iuf" else SceneTypeError


def _described(array: NDArray[Any]) -> str:
    return f"an array of shape {array.shape} and type {array.dtype}"


def _rows_of_three(name: str, values: Any) -> NDArray[np.float32]:
    array = _array(name, values, "three numbers a row, shape (v, 3) with v >= 1")
    if len(array) > MOST_VERTICES:
        raise SceneError(f"{name} has at most {MOST_VERTICES:,} rows, got {len(array):,}; simplify the mesh")
    near = np.isfinite(array) & (np.abs(array) <= FARTHEST_M)
    if not near.all():
        row = int(np.flatnonzero(~near.all(axis=1))[0])
        raise SceneError(f"{name} must be finite and at most {FARTHEST_M:g}, got {array[row].tolist()} in row {row}")
    return _read_only(np.array(array, "<f4", order="C"))


def _faces(values: Any, vertices: int) -> NDArray[np.uint32]:
    array = _array("Mesh.faces", values, "three indices of vertices a row, shape (f, 3) with f >= 1")
    if array.dtype.kind not in "iu":
        raise SceneError(f"Mesh.faces must be whole numbers, got {_described(array)}")
    if len(array) > MOST_FACES:
        raise SceneError(f"Mesh.faces has at most {MOST_FACES:,} rows, got {len(array):,}; simplify the mesh")
    wrong = ((array < 0) | (array >= vertices)).any(axis=1)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise SceneError(
            f"Mesh.faces must name vertices that exist, 0 to {vertices - 1}, got {array[row].tolist()} in row {row}"
        )
    return _read_only(np.array(array, "<u4", order="C"))


def _texture_places(values: Any, vertices: int) -> NDArray[np.float32] | None:
    if values is None:
        return None
    rule = f"Mesh.uv must be two finite numbers a vertex, shape ({vertices}, 2)"
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise SceneTypeError(f"{rule}, got {type(values).__name__} ({error})") from error
    if array.dtype.kind not in "iuf" or array.shape != (vertices, 2):
        raise _wrong(array)(f"{rule}, got {_described(array)}")
    if not (np.isfinite(array) & (np.abs(array) <= FARTHEST_M)).all():
        raise SceneError(f"{rule} and at most {FARTHEST_M:g}, got one that is not")
    return _read_only(np.array(array, "<f4", order="C"))


def _normals(given: Any, vertices: NDArray[np.float32], faces: NDArray[np.uint32]) -> NDArray[np.float32] | None:
    if given is None:
        return None
    if isinstance(given, str):
        if given != SMOOTH:
            raise SceneError(f'Mesh.normals must be None for flat faces, "{SMOOTH}", or shape (v, 3), got {given!r}')
        return _read_only(smooth_normals(vertices, faces))
    rows = _rows_of_three("Mesh.normals", given)
    if len(rows) != len(vertices):
        raise SceneError(f"Mesh.normals must have one row a vertex, {len(vertices)}, got {len(rows)}")
    return _read_only(_of_unit_length(rows.astype(np.float64)))
