"""Each body's shape as the GPU reads it: one row of size and colour a body, and of which kind it is.

Made once a scene from its table of distinct shapes, with numpy alone: a million bodies take a few
milliseconds, and nothing of it is touched again while the bodies move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Box, Capsule, Cylinder, Ellipsoid, Plane, Scene, Shape, Sphere

# One row a body. Spheres: radius three times. Boxes: half edges. Planes: half edges, no thickness. Ellipsoids: half
# axes. Capsules and cylinders: radius twice, half the length of the straight part.
SHAPE_ROW = np.dtype([("half_size", "<f4", 3), ("color", "u1", 4)])

# Colours of bodies whose shape names none: distinct side by side, of one lightness, on a dark ground.
PALETTE = np.array(
    [
        (0xE8, 0x6A, 0x5C),
        (0x5B, 0x9B, 0xE6),
        (0xF2, 0xB5, 0x4A),
        (0x5C, 0xC3, 0xA0),
        (0xA7, 0x85, 0xE0),
        (0xEC, 0x8F, 0xB4),
        (0x8F, 0xC7, 0x5E),
        (0x55, 0xC1, 0xD6),
    ],
    np.uint8,
)


KINDS: dict[type[Shape], str] = {
    Sphere: "spheres",
    Box: "boxes",
    Plane: "planes",
    Capsule: "capsules",
    Cylinder: "cylinders",
    Ellipsoid: "ellipsoids",
}
KIND_NAMES = tuple(KINDS.values())


@dataclass(frozen=True, eq=False)
class ShapeTable:
    """rows: dtype `SHAPE_ROW`, one a body. kinds: u1, one a body: its place in KIND_NAMES. present: those there are."""

    rows: NDArray[np.void]
    kinds: NDArray[np.uint8]
    present: tuple[str, ...]


def shape_table(scene: Scene, count: int) -> ShapeTable:
    """The shapes of `count` bodies of this scene. A scene without shapes draws every body as a sphere."""
    distinct: tuple[Shape, ...] = scene.distinct_shapes or (Sphere(),)
    table = np.zeros(len(distinct), SHAPE_ROW)
    kinds = np.array([KIND_NAMES.index(_kind(shape)) for shape in distinct], np.uint8)
    for row, shape in enumerate(distinct):
        color = (0, 0, 0, 0) if shape.color is None else (*(round(channel * 255) for channel in shape.color), 255)
        table[row] = half_size(shape), color

    index = scene.shape_rows(count)
    rows = table.take(index)
    # A colour at once, as one number: bytes one by one take eight times as long.
    colors = rows.view("<u4").reshape(count, 4)[:, 3]
    palette = np.insert(PALETTE, 3, 255, axis=1).view("<u4")[:, 0]
    plain = np.array([shape.color is None for shape in distinct])
    if plain.any():
        in_turn = np.tile(palette, count // len(palette) + 1)[:count]
        np.copyto(colors, in_turn, where=True if plain.all() else plain.take(index))
    used = set(kinds[np.bincount(index, minlength=len(distinct)) > 0].tolist())
    return ShapeTable(rows, kinds.take(index), tuple(KIND_NAMES[kind] for kind in sorted(used)))


def half_size(shape: Shape) -> tuple[float, float, float]:
    """Half the extent of a shape of scale 1 along its own x, y and z, metres; of a capsule's z the straight part's."""
    if isinstance(shape, Sphere):
        return shape.radius, shape.radius, shape.radius
    if isinstance(shape, Capsule | Cylinder):
        return shape.radius, shape.radius, shape.length / 2
    if isinstance(shape, Plane):
        return shape.size[0] / 2, shape.size[1] / 2, 0.0
    return shape.size[0] / 2, shape.size[1] / 2, shape.size[2] / 2


def _kind(shape: Shape) -> str:
    return next(name for kind, name in KINDS.items() if isinstance(shape, kind))
