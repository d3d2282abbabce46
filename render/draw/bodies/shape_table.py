"""Shapes of bodies as the GPU reads them: a row of size and colour for each body, and its kind. Bodies of several parts
have a row for each part (part_rows.py).

Made once per scene from its distinct shapes, with numpy alone: a few milliseconds for a million bodies. It does not
change while bodies move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Box, Capsule, Compound, Cylinder, Ellipsoid, Plane, Scene, Shape, Sphere
from twixt.ipc.scene.scene_parts import PALETTE, color_of, rgba_of
from twixt.ipc.shapes.mesh import Mesh

# One row a body, sizes in metres. Spheres: radius three times. Boxes: half edges. Planes: half edges, no thickness.
# Ellipsoids: half axes. Capsules and cylinders: radius twice, half the length of the straight part. Compounds: nothing.
# Meshes: 0, since their vertices say their size.
SHAPE_ROW = np.dtype([("half_size", "<f4", 3), ("color", "u1", 4)])

# Largest alpha with which a shape is drawn as one that is seen through, of 255 steps.
LEAST_TRANSPARENT = 254

KINDS: dict[type[Shape], str] = {
    Sphere: "spheres",
    Box: "boxes",
    Plane: "planes",
    Capsule: "capsules",
    Cylinder: "cylinders",
    Ellipsoid: "ellipsoids",
    Compound: "nothing",
    Mesh: "meshes",
}
KIND_NAMES = tuple(KINDS.values())


@dataclass(frozen=True, eq=False)
class ShapeTable:
    """Shapes of n bodies. rows: (n,) of dtype `SHAPE_ROW`. kinds: (n,), u1, indices into KIND_NAMES.

    present: names of the kinds that occur.
    """

    rows: NDArray[np.void]
    kinds: NDArray[np.uint8]
    present: tuple[str, ...]


def shape_table(scene: Scene, count: int, bodies: NDArray[np.intp] | None = None) -> ShapeTable:
    """Shapes of the first `count` bodies of a scene. In a scene without shapes every body is a sphere.

    bodies: (count,), for the scene of `PartRows`: the body of each row, which gives its colour of the palette.
    """
    distinct: tuple[Shape, ...] = scene.distinct_shapes or (Sphere(),)
    table = np.zeros(len(distinct), SHAPE_ROW)
    kinds = np.array([KIND_NAMES.index(_kind(shape)) for shape in distinct], np.uint8)
    for row, shape in enumerate(distinct):
        own = color_of(shape)
        color = (0, 0, 0, 0) if own is None else rgba_of(own)
        if own is not None and _has_holes(shape):
            color = *color[:3], min(color[3], LEAST_TRANSPARENT)
        table[row] = half_size(shape), color

    index = scene.shape_rows(count)
    rows = table.take(index)
    # Each colour is copied as one number: four separate bytes take eight times as long.
    colors = rows.view("<u4").reshape(count, 4)[:, 3]
    palette = np.insert(PALETTE, 3, 255, axis=1).view("<u4")[:, 0]
    plain = np.array([color_of(shape) is None for shape in distinct])
    if plain.any():
        in_turn = (
            np.tile(palette, count // len(palette) + 1)[:count] if bodies is None else palette[bodies % len(palette)]
        )
        np.copyto(colors, in_turn, where=True if plain.all() else plain.take(index))
    used = set(kinds[np.bincount(index, minlength=len(distinct)) > 0].tolist())
    return ShapeTable(rows, kinds.take(index), tuple(KIND_NAMES[kind] for kind in sorted(used)))


def half_size(shape: Shape) -> tuple[float, float, float]:
    """Half the extent of a shape of scale 1 along its own x, y and z, metres; for a capsule's z without its caps.

    A mesh, which may be all on one side of its origin, has none.
    """
    if isinstance(shape, Sphere):
        return shape.radius, shape.radius, shape.radius
    if isinstance(shape, Capsule | Cylinder):
        return shape.radius, shape.radius, shape.length / 2
    if isinstance(shape, Plane):
        return shape.size[0] / 2, shape.size[1] / 2, 0.0
    if isinstance(shape, Compound | Mesh):
        return 0.0, 0.0, 0.0
    return shape.size[0] / 2, shape.size[1] / 2, shape.size[2] / 2


def _has_holes(shape: Shape) -> bool:
    """True if pixels of the shape's texture are seen through."""
    material = None if isinstance(shape, Compound) else shape.material
    return material is not None and material.texture is not None and material.texture.has_alpha


def _kind(shape: Shape) -> str:
    return next(name for kind, name in KINDS.items() if isinstance(shape, kind))
