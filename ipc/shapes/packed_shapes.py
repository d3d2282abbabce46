"""Shapes of a scene in its message: a table of distinct ones, and the arrays of meshes behind it.

A mesh's entry has its digest. A viewer that has a mesh of that digest from the scene before uses it again: what took
long, its checks and its digest, is done once for each mesh. A compound's parts name rows of a second table, so that a
shape that many parts share travels once. Arrays come after those of packed_materials.py, in the order of their meshes,
first of the table of shapes, then of the table of parts' shapes: vertices f4, faces u4, normals f4, places in an image
f4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from twixt.ipc.shapes.material import Material
from twixt.ipc.shapes.mesh import Mesh
from twixt.ipc.shapes.packed_materials import PackedMaterials, unpacked_materials
from twixt.ipc.shapes.shape import SHAPES, Compound, OneShape, Part, Shape
from twixt.ipc.shapes.shape_checks import SceneError

# Bytes of all meshes of a scene: a scene is one message of at most 64 MiB.
MOST_ARRAY_BYTES = 56 << 20


def packed_shapes(table: Sequence[Shape]) -> tuple[dict[str, Any], bytes]:
    """Entries of the scene's JSON head for a table of distinct shapes, and the bytes of the meshes' arrays.

    Raises SceneError for more bytes of meshes than a message holds.
    """
    row_of: dict[OneShape, int] = {}
    arrays, materials = list[bytes](), PackedMaterials()
    shapes = [_entry(shape, row_of, arrays, materials) for shape in table]
    parts = [_entry(shape, {}, arrays, materials) for shape in row_of]
    head = {"shapes": shapes, "part_shapes": parts, **materials.head()}
    arrays[:0] = materials.arrays
    if (size := sum(map(len, arrays))) > MOST_ARRAY_BYTES:
        raise SceneError(
            f"the meshes and textures of a scene may have {MOST_ARRAY_BYTES >> 20} MiB in all, got {size >> 20} MiB; "
            "simplify them"
        )
    return head, b"".join(arrays)


def unpacked_shapes(
    head: Mapping[str, Any], packed: bytes, offset: int, known: Iterable[Shape] = ()
) -> tuple[tuple[Shape, ...], int]:
    """The table of `packed_shapes`, and how many bytes of arrays it took, from `offset` of `packed` on.

    known: shapes whose meshes and textures are used again. Raises what reading damaged entries raises: SceneError,
    KeyError, ValueError, TypeError.
    """
    single = list(_single(known))
    materials, begin = unpacked_materials(head, packed, offset, [one.material for one in single if one.material])
    meshes = {mesh.digest: mesh for mesh in single if isinstance(mesh, Mesh)}
    reader = _EntryReader(packed, begin, meshes, materials)
    # Arrays of the shapes come first, so compounds are made once the parts' shapes are there.
    entries = [(entry, None if entry["kind"] == COMPOUND else _shape_of(entry, reader)) for entry in head["shapes"]]
    parts = [_shape_of(entry, reader) for entry in head["part_shapes"]]
    table = tuple(_compound_of(entry, parts) if shape is None else shape for entry, shape in entries)
    return table, reader.offset - offset


COMPOUND, MESH = "compound", "mesh"


class _EntryReader:
    """Materials of shapes, and arrays of meshes in their order. known: meshes by digest."""

    def __init__(self, packed: bytes, offset: int, known: Mapping[bytes, Mesh], materials: Sequence[Material]) -> None:
        self._packed, self.offset, self._known, self._materials = packed, offset, known, materials

    def material(self, entry: Mapping[str, Any]) -> Material | None:
        """The material of a shape's entry."""
        row = entry["material"]
        if row is not None and not 0 <= row < len(self._materials):
            raise SceneError(f"a scene of {len(self._materials)} materials came with a shape of another")
        return None if row is None else self._materials[row]

    def mesh(self, entry: Mapping[str, Any]) -> Mesh:
        digest, lengths = (
            bytes.fromhex(entry["digest"]),
            (entry["vertices"], entry["faces"], entry["normals"], entry["uv"]),
        )
        known = self._known.get(digest)
        if known is not None and _lengths(known) == lengths:
            self.offset += sum(array.nbytes for array in known.arrays)
            if self.offset > len(self._packed):
                raise SceneError("a scene came without all arrays of its meshes")
            return known.recolored(entry["color"], self.material(entry))
        vertices, faces = self.rows("<f4", lengths[0]), self.rows("<u4", lengths[1])
        normals = self.rows("<f4", lengths[0]) if lengths[2] else None
        uv = self.rows("<f4", lengths[0], 2) if lengths[3] else None
        mesh = Mesh(vertices, faces, normals, entry["color"], entry["deforms"], uv, material=self.material(entry))
        if mesh.digest != digest:
            raise SceneError("a scene came with a mesh whose digest is another's")
        return mesh

    def rows(self, dtype: str, count: int, columns: int = 3) -> Any:
        array = np.frombuffer(self._packed, dtype, columns * count, self.offset).reshape(count, columns)
        self.offset += array.nbytes
        return array


def _entry(
    shape: Shape, row_of: dict[OneShape, int], arrays: list[bytes], materials: PackedMaterials
) -> dict[str, Any]:
    if isinstance(shape, Mesh):
        arrays.extend(array.tobytes() for array in shape.arrays)
        lengths = dict(zip(("vertices", "faces", "normals", "uv"), _lengths(shape), strict=True))
        looks = {"color": shape.color, "deforms": shape.deforms, "material": materials.row(shape.material)}
        return {"kind": MESH, **looks, "digest": shape.digest.hex(), **lengths}
    if isinstance(shape, Compound):
        rows = [row_of.setdefault(part.shape, len(row_of)) for part in shape.parts]
        poses = [(part.position, part.orientation) for part in shape.parts]
        return {"kind": COMPOUND, "parts": [[row, *pose] for row, pose in zip(rows, poses, strict=True)]}
    values = {one.name: getattr(shape, one.name) for one in fields(shape)}
    return {"kind": type(shape).__name__.lower(), **values, "material": materials.row(shape.material)}


def _lengths(mesh: Mesh) -> tuple[int, int, bool, bool]:
    """Numbers of vertices and faces; True if it has normals; True if it has places in an image."""
    return len(mesh.vertices), len(mesh.faces), mesh.normals is not None, mesh.uv is not None


def _single(shapes: Iterable[Shape]) -> Iterator[OneShape]:
    """The shapes, with the parts of compounds in their place."""
    for shape in shapes:
        yield from (part.shape for part in shape.parts) if isinstance(shape, Compound) else (shape,)


def _shape_of(entry: dict[str, Any], reader: _EntryReader) -> OneShape:
    if entry["kind"] == MESH:
        return reader.mesh(entry)
    kind = SHAPES[entry["kind"]]
    known = {f.name for f in fields(kind)}
    values = {name: value for name, value in entry.items() if name in known}
    return kind(**values | {"material": reader.material(entry)})


def _compound_of(entry: dict[str, Any], shapes: Sequence[OneShape]) -> Compound:
    parts = entry["parts"]
    if any(not 0 <= row < len(shapes) for row, *_ in parts):
        raise SceneError(f"a scene of {len(shapes)} shapes of parts came with a part of another")
    return Compound([Part(shapes[row], position, orientation) for row, position, orientation in parts])
