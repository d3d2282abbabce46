"""Each body's shape as the GPU reads it: one row of size and colour a body, and who is drawn by which program.

Made once a scene from its table of distinct shapes, with numpy alone: a million bodies take a few
milliseconds, and nothing of it is touched again while the bodies move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Box, Scene, Shape, Sphere

# One row a body. Spheres: radius three times. Boxes: half edges. Planes: half edges, no thickness.
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


@dataclass(frozen=True, eq=False)
class ShapeTable:
    """rows: dtype `SHAPE_ROW`, one a body. spheres, boxes: u4 indices of bodies, ascending; planes count as boxes."""

    rows: NDArray[np.void]
    spheres: NDArray[np.uint32]
    boxes: NDArray[np.uint32]


def shape_table(scene: Scene, count: int) -> ShapeTable:
    """The shapes of `count` bodies of this scene. A scene without shapes draws every body as a sphere."""
    distinct: tuple[Shape, ...] = scene.distinct_shapes or (Sphere(),)
    half_sizes = np.array([half_size(shape) for shape in distinct], np.float32)
    colors = np.zeros((len(distinct), 4), np.uint8)
    for row, shape in enumerate(distinct):
        if shape.color is not None:
            colors[row] = [*(round(channel * 255) for channel in shape.color), 255]
    is_box = np.array([not isinstance(shape, Sphere) for shape in distinct])

    index = scene.shape_rows(count)
    rows = np.empty(count, SHAPE_ROW)
    rows["half_size"] = half_sizes[index]
    rows["color"] = colors[index]
    plain = np.flatnonzero(rows["color"][:, 3] == 0)
    rows["color"][plain, :3] = PALETTE[plain % len(PALETTE)]
    rows["color"][plain, 3] = 255
    boxed = is_box[index]
    return ShapeTable(rows, np.flatnonzero(~boxed).astype(np.uint32), np.flatnonzero(boxed).astype(np.uint32))


def half_size(shape: Shape) -> tuple[float, float, float]:
    """Half the extent of a shape of scale 1 along its own x, y and z, metres."""
    if isinstance(shape, Sphere):
        return shape.radius, shape.radius, shape.radius
    if isinstance(shape, Box):
        return shape.size[0] / 2, shape.size[1] / 2, shape.size[2] / 2
    return shape.size[0] / 2, shape.size[1] / 2, 0.0
