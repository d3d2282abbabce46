"""Shapes of a scene in its message: a table of distinct ones, and the arrays of meshes behind it.

A compound's parts name rows of a second table, so that a shape that many parts share travels once. Arrays come in the
order of their meshes, first of the table of shapes, then of the table of parts' shapes: vertices f4, faces u4, normals
f4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from twixt.ipc.shapes.mesh import Mesh
from twixt.ipc.shapes.shape import SHAPES, Compound, OneShape, Part, Shape
from twixt.ipc.shapes.shape_checks import SceneError

# Bytes of all meshes of a scene: a scene is one message of at most 64 MiB.
MOST_ARRAY_BYTES = 56 << 20


def packed_shapes(table: Sequence[Shape]) -> tuple[dict[str, Any], bytes]:
    """Entries of the scene's JSON head for a table of distinct shapes, and the bytes of the meshes' arrays.

    Raises SceneError for more bytes of meshes than a message holds.
    """
    row_of: dict[OneShape, int] = {}
    arrays: list[bytes] = []
    shapes = [_entry(shape, row_of, arrays) for shape in table]
    head = {"shapes": shapes, "part_shapes": [_entry(shape, {}, arrays) for shape in row_of]}
    if (size := sum(map(len, arrays))) > MOST_ARRAY_BYTES:
        raise SceneError(
            f"the meshes of a scene may have {MOST_ARRAY_BYTES >> 20} MiB in all, got {size >> 20} MiB; simplify them"
        )
    return head, b"".join(arrays)


def unpacked_shapes(head: Mapping[str, Any], packed: bytes, offset: int) -> tuple[tuple[Shape, ...], int]:
    """The table of `packed_shapes`, and how many bytes of arrays it took, from `offset` of `packed` on.

    Raises what reading damaged entries raises: SceneError, KeyError, ValueError, TypeError.
    """
    reader = _ArrayReader(packed, offset)
    # Arrays of the shapes come first, so compounds are made once the parts' shapes are there.
    entries = [(entry, None if entry["kind"] == COMPOUND else _shape_of(entry, reader)) for entry in head["shapes"]]
    parts = [_shape_of(entry, reader) for entry in head["part_shapes"]]
    table = tuple(_compound_of(entry, parts) if shape is None else shape for entry, shape in entries)
    return table, reader.offset - offset


COMPOUND, MESH = "compound", "mesh"


class _ArrayReader:
    def __init__(self, packed: bytes, offset: int) -> None:
        self._packed, self.offset = packed, offset

    def rows(self, dtype: str, count: int) -> Any:
        array = np.frombuffer(self._packed, dtype, 3 * count, self.offset).reshape(count, 3)
        self.offset += array.nbytes
        return array


def _entry(shape: Shape, row_of: dict[OneShape, int], arrays: list[bytes]) -> dict[str, Any]:
    if isinstance(shape, Mesh):
        arrays.extend(array.tobytes() for array in shape.arrays)
        lengths = {"vertices": len(shape.vertices), "faces": len(shape.faces), "normals": shape.normals is not None}
        return {"kind": MESH, "color": shape.color, **lengths}
    if isinstance(shape, Compound):
        rows = [row_of.setdefault(part.shape, len(row_of)) for part in shape.parts]
        poses = [(part.position, part.orientation) for part in shape.parts]
        return {"kind": COMPOUND, "parts": [[row, *pose] for row, pose in zip(rows, poses, strict=True)]}
    return {"kind": type(shape).__name__.lower(), **asdict(shape)}


def _shape_of(entry: dict[str, Any], reader: _ArrayReader) -> OneShape:
    if entry["kind"] == MESH:
        vertices, faces = reader.rows("<f4", entry["vertices"]), reader.rows("<u4", entry["faces"])
        normals = reader.rows("<f4", entry["vertices"]) if entry["normals"] else None
        return Mesh(vertices, faces, normals, entry["color"])
    kind = SHAPES[entry["kind"]]
    known = {f.name for f in fields(kind)}
    return kind(**{name: value for name, value in entry.items() if name in known})


def _compound_of(entry: dict[str, Any], shapes: Sequence[OneShape]) -> Compound:
    parts = entry["parts"]
    if any(not 0 <= row < len(shapes) for row, *_ in parts):
        raise SceneError(f"a scene of {len(shapes)} shapes of parts came with a part of another")
    return Compound([Part(shapes[row], position, orientation) for row, position, orientation in parts])
