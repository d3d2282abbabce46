"""The message of a scene describes the scene's shapes by tables of distinct shapes, meshes, materials and textures,
and by their contents.

A value that several shapes share is a row of a table, so the value is sent only one time. For example, shapes with the
same mesh and different colours have the same index into the table of meshes. The row at this index has the mesh's
digest and the lengths of its arrays. The shapes of compounds' parts are in a second table of shapes.

The contents of a scene are the pixels of its textures and the arrays of its meshes, identified by digests. In the
message the contents follow the tables: first the pixels, then the arrays, each in the order of the table's rows.
Contents that the viewer has from the previous scene are not sent again. The arrays of a mesh are vertices f4, faces
u4, normals f4, texture coordinates f4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene.checks import SceneError
from twixt.ipc.scene.material import CUBE_SIDES, MOST_SIDE_PX, Material, Texture
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.scene.shapes import SHAPES, Compound, OneShape, Part, Shape

# Largest number of bytes of all contents of a scene. A scene, with its tables, is one message of at most 64 MiB.
MOST_CONTENT_BYTES = 56 << 20

Row = TypeVar("Row")


def packed_shapes(table: Sequence[Shape]) -> tuple[dict[str, Any], Contents]:
    """Returns the entries of the scene's JSON head for a table of distinct shapes. Also returns the contents of these
    shapes in the order in which they are sent.

    Raises SceneError if the contents have too many bytes for a message.
    """
    tables = _PackedTables()
    shapes = [tables.entry(shape) for shape in table]
    parts = [tables.entry(shape) for shape in tuple(tables.parts)]
    contents = tables.contents
    if (size := sum(array.nbytes for arrays in contents.values() for array in arrays)) > MOST_CONTENT_BYTES:
        raise SceneError(
            f"the meshes and textures of a scene may have {MOST_CONTENT_BYTES >> 20} MiB in all, got {size >> 20} MiB; "
            "simplify them"
        )
    return {"shapes": shapes, "part_shapes": parts, **tables.head()}, contents


def unpacked_shapes(
    head: Mapping[str, Any], packed: bytes, offset: int, known: Iterable[Shape] = ()
) -> tuple[tuple[Shape, ...], int]:
    """Returns the table of shapes that `packed_shapes` encoded, and the number of bytes of the table's contents. These
    contents begin at `offset` in `packed`.

    known: shapes whose meshes and textures the sender left out of `packed`. Raises SceneError, KeyError, ValueError or
    TypeError for damaged entries.
    """
    single = list(_single(known))
    materials, begin = unpacked_materials(head, packed, offset, [one.material for one in single if one.material])
    meshes, end = _unpacked_meshes(
        head["meshes"], packed, begin, {mesh.digest: mesh for mesh in single if isinstance(mesh, Mesh)}
    )
    parts = [_shape_of(entry, meshes, materials) for entry in head["part_shapes"]]
    table = tuple(
        _compound_of(entry, parts) if entry["kind"] == COMPOUND else _shape_of(entry, meshes, materials)
        for entry in head["shapes"]
    )
    return table, end - offset


COMPOUND, MESH = "compound", "mesh"


class _PackedTables:
    """Collects the rows of the tables of meshes, materials and parts' shapes while the shapes are encoded."""

    def __init__(self) -> None:
        self.materials = PackedMaterials()
        self.parts: dict[OneShape, int] = {}
        self._row_of: dict[bytes, int] = {}
        self._meshes: list[Mesh] = []

    def entry(self, shape: Shape) -> dict[str, Any]:
        """Returns a shape's entry in the JSON head."""
        found = self._entry(shape)
        return found if shape.label is None else {**found, "label": shape.label}

    def _entry(self, shape: Shape) -> dict[str, Any]:
        """The entry without the label."""
        if isinstance(shape, Mesh):
            looks = {"color": shape.color, "material": self.materials.row(shape.material)}
            return {"kind": MESH, "mesh": self._row(shape), **looks}
        if isinstance(shape, Compound):
            rows = [self.parts.setdefault(part.shape, len(self.parts)) for part in shape.parts]
            poses = [(part.position, part.orientation) for part in shape.parts]
            return {"kind": COMPOUND, "parts": [[row, *pose] for row, pose in zip(rows, poses, strict=True)]}
        values = {one.name: getattr(shape, one.name) for one in fields(shape) if one.name != "label"}
        return {"kind": type(shape).__name__.lower(), **values, "material": self.materials.row(shape.material)}

    def head(self) -> dict[str, Any]:
        """Entries of the scene's JSON head for the tables of meshes, materials and textures."""
        meshes = [
            {"digest": mesh.digest.hex(), "deforms": mesh.deforms, "lengths": _lengths(mesh)} for mesh in self._meshes
        ]
        return {"meshes": meshes, **self.materials.head()}

    @property
    def contents(self) -> Contents:
        """Returns the pixels of the textures and the arrays of the meshes, by digest, in the order in which they are
        sent."""
        return self.materials.contents | {mesh.digest: mesh.arrays for mesh in self._meshes}

    def _row(self, mesh: Mesh) -> int:
        row = self._row_of.setdefault(mesh.digest, len(self._meshes))
        if row == len(self._meshes):
            self._meshes.append(mesh)
        return row


def _lengths(mesh: Mesh) -> tuple[int, int, bool, bool]:
    """Returns the number of vertices, the number of faces, True if the mesh has normals, and True if the mesh has
    texture coordinates."""
    return len(mesh.vertices), len(mesh.faces), mesh.normals is not None, mesh.uv is not None


def _unpacked_meshes(
    entries: Iterable[Mapping[str, Any]], packed: bytes, offset: int, known: Mapping[bytes, Mesh]
) -> tuple[list[Mesh], int]:
    """Returns the table of meshes, and the offset in `packed` at which the arrays of these meshes end."""
    meshes: list[Mesh] = []
    for entry in entries:
        digest, lengths = bytes.fromhex(entry["digest"]), tuple(entry["lengths"])
        mesh = known.get(digest)
        if mesh is None:
            mesh, offset = _mesh_of(packed, offset, lengths, entry["deforms"])
        if mesh.digest != digest or _lengths(mesh) != lengths:
            raise SceneError("a scene came with a mesh whose digest is another's")
        meshes.append(mesh)
    return meshes, offset


def _mesh_of(packed: bytes, offset: int, lengths: tuple[int, int, bool, bool], deforms: bool) -> tuple[Mesh, int]:
    """Returns the mesh whose arrays begin at `offset` in `packed`, and the offset at which these arrays end."""
    vertices, faces, has_normals, has_uv = lengths
    arrays: list[Any] = []
    for dtype, rows, columns, is_there in (
        ("<f4", vertices, 3, True),
        ("<u4", faces, 3, True),
        ("<f4", vertices, 3, has_normals),
        ("<f4", vertices, 2, has_uv),
    ):
        array = np.frombuffer(packed, dtype, columns * rows, offset).reshape(rows, columns) if is_there else None
        arrays.append(array)
        offset += 0 if array is None else array.nbytes
    rest, indices, normals, uv = arrays
    return Mesh(rest, indices, normals, deforms=deforms, uv=uv), offset


def _single(shapes: Iterable[Shape]) -> Iterator[OneShape]:
    """Yields the shapes. Each compound is replaced by the shapes of its parts."""
    for shape in shapes:
        yield from (part.shape for part in shape.parts) if isinstance(shape, Compound) else (shape,)


def _shape_of(entry: dict[str, Any], meshes: Sequence[Mesh], materials: Sequence[Material]) -> OneShape:
    if entry["kind"] == MESH:
        mesh = _row_of(entry["mesh"], meshes, "meshes")
        if mesh is None:
            raise SceneError("a scene came with a shape of no mesh")
        return mesh.recolored(entry["color"], _row_of(entry["material"], materials, "materials"), entry.get("label"))
    kind = SHAPES[entry["kind"]]
    known = {f.name for f in fields(kind)}
    values = {name: value for name, value in entry.items() if name in known}
    return kind(**values | {"material": _row_of(entry["material"], materials, "materials")})


def _row_of(row: int | None, table: Sequence[Row], what: str) -> Row | None:
    """Returns the value in row `row` of a table; None if `row` is None. Raises SceneError for a row that does not
    exist."""
    if row is not None and not 0 <= row < len(table):
        raise SceneError(f"a scene of {len(table)} {what} came with a shape of another")
    return None if row is None else table[row]


def _compound_of(entry: dict[str, Any], shapes: Sequence[OneShape]) -> Compound:
    parts = entry["parts"]
    if any(not 0 <= row < len(shapes) for row, *_ in parts):
        raise SceneError(f"a scene of {len(shapes)} shapes of parts came with a part of another")
    found = [Part(shapes[row], position, orientation) for row, position, orientation in parts]
    return Compound(found, label=entry.get("label"))


# This is how materials are encoded. The entry of a shape has the material's row in the table of materials. The entry
# of a texture has the texture's digest, and the dimensions of the texture's array of pixels.

# Largest numbers of distinct materials and of distinct textures of a scene. There is a limit because each material and
# each texture needs its own draw call for each kind of shape that uses it.
MOST_MATERIALS, MOST_TEXTURES = 1024, 256
# The arrays of each mesh and the pixels of each texture, by digest.
Contents = dict[bytes, list[NDArray[Any]]]
FIGURES = ("repeat", "per_metre", "roughness", "specular", "emission")


class PackedMaterials:
    """Collects the rows of the tables of materials and textures while the shapes are encoded."""

    def __init__(self) -> None:
        self._materials: dict[Material, int] = {}
        self._textures: dict[Texture, int] = {}

    def row(self, material: Material | None) -> int | None:
        """Returns the row of a material in the table; None if `material` is None. Raises SceneError for too many
        materials or textures."""
        if material is None:
            return None
        row = self._materials.setdefault(material, len(self._materials))
        if material.texture is not None:
            self._textures.setdefault(material.texture, len(self._textures))
        if row >= MOST_MATERIALS or len(self._textures) > MOST_TEXTURES:
            raise SceneError(
                f"a scene holds at most {MOST_MATERIALS:,} distinct materials and {MOST_TEXTURES} textures; "
                "share them between shapes, and vary the shapes' `color`"
            )
        return row

    def head(self) -> dict[str, Any]:
        """Entries of the scene's JSON head for the tables of materials and textures."""
        textures = [{"shape": one.pixels.shape, "digest": one.digest.hex()} for one in self._textures]
        materials = [
            {name: getattr(one, name) for name in FIGURES}
            | {"texture": None if one.texture is None else self._textures[one.texture]}
            for one in self._materials
        ]
        return {"materials": materials, "textures": textures}

    @property
    def contents(self) -> Contents:
        """Pixels of the textures, by digest."""
        return {texture.digest: [texture.pixels] for texture in self._textures}


def unpacked_materials(
    head: Mapping[str, Any], packed: bytes, offset: int, known: Iterable[Material]
) -> tuple[list[Material], int]:
    """Returns the table of materials, and the offset in `packed` at which the pixels of their textures end.

    known: materials whose textures the sender left out of `packed`. Raises the errors of `unpacked_shapes`.
    """
    if len(head["materials"]) > MOST_MATERIALS or len(head["textures"]) > MOST_TEXTURES:
        raise SceneError(f"a scene came with {len(head['materials'])} materials and {len(head['textures'])} textures")
    by_digest = {one.texture.digest: one.texture for one in known if one.texture is not None}
    textures: list[Texture] = []
    for entry in head["textures"]:
        shape, digest = _checked_shape(entry["shape"]), bytes.fromhex(entry["digest"])
        texture = by_digest.get(digest)
        if texture is None:
            size = math.prod(shape)
            if offset + size > len(packed):
                raise SceneError("a scene came without all pixels of its textures")
            texture = Texture(np.frombuffer(packed, np.uint8, size, offset).reshape(shape))
            offset += size
        if texture.digest != digest or texture.pixels.shape != shape:
            raise SceneError("a scene came with a texture whose digest is another's")
        textures.append(texture)
    materials = []
    for entry in head["materials"]:
        row = entry["texture"]
        if row is not None and not 0 <= row < len(textures):
            raise SceneError(f"a scene of {len(textures)} textures came with a material of another")
        materials.append(Material(None if row is None else textures[row], **{name: entry[name] for name in FIGURES}))
    return materials, offset


def _checked_shape(shape: Any) -> tuple[int, ...]:
    """Returns the dimensions of a texture's array of pixels, as a tuple. The dimensions are checked before the pixels
    are read. Raises SceneError for invalid dimensions."""
    is_whole = isinstance(shape, list) and all(type(side) is int and 1 <= side <= MOST_SIDE_PX for side in shape)
    if not is_whole or not (len(shape) == 3 or (len(shape) == 4 and shape[0] == CUBE_SIDES)):
        raise SceneError("a scene came with a texture of a shape that is none")
    return tuple(shape)
