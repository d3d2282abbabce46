"""Writes the shapes of bodies in the form that the GPU reads. There is one row of size and colour for each body, or for
each part of a compound.

This module also applies the snapshot columns that give colours to bodies and parts.

The rows are computed once for each scene, from the scene's distinct shapes, with numpy alone. For a million bodies this
takes a few milliseconds. While bodies move, the rows do not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.config.rules import COLOR, SCALE3, VISIBLE_PARTS
from twixt.ipc.scene import Box, Capsule, Compound, Cylinder, Ellipsoid, Plane, Scene, Shape, Sphere
from twixt.ipc.scene.checks import Quaternion, Vector
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.scene.parts import PALETTE
from twixt.ipc.scene.scene import shape_list
from twixt.ipc.scene.shape_list import MAX_DISTINCT_SHAPES, ShapeList
from twixt.ipc.scene.shapes import color_of, rgba_of
from twixt.ipc.snapshot import HAS_COLOR, VISIBLE, has_color
from twixt.render.interpolation.quaternion import normalized, rotate

# There is one row for each body. half_size has three numbers in metres. For a sphere, each of them is the radius. For a
# box, they are half the edges. For a plane, they are half the two edges, and 0. For an ellipsoid, they are the half
# axes. For a capsule or a cylinder, they are the radius, the radius again, and half the length of the straight section.
# For a compound, all three are 0. For a mesh, all three are also 0, because the vertices define the size. in_palette is
# 1 if the shape has no colour; `color` is then the palette's, for a body without a colour of its own. Otherwise it is 0.
SHAPE_ROW = np.dtype([("half_size", "<f4", 3), ("in_palette", "<f4"), ("color", "u1", 4)])

# A shape counts as transparent if its alpha is at most this number. The alpha of an opaque shape is 255.
LEAST_TRANSPARENT = 254
OPAQUE = 255
WHITE = (255, 255, 255)

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
    """The shapes of n bodies. rows: (n,) of dtype `SHAPE_ROW`. kinds: indices into KIND_NAMES, (n,), u1.

    present: names of the kinds that occur.
    """

    rows: NDArray[np.void]
    kinds: NDArray[np.uint8]
    present: tuple[str, ...]


def shape_table(scene: Scene, count: int, bodies: NDArray[np.intp] | None = None) -> ShapeTable:
    """Returns the shapes of the first `count` bodies of a scene. In a scene without shapes, every body is a sphere.

    bodies: the body number of each row, (count,). `bodies` is given for the scene of `PartRows`. If a shape has no
    colour, the body number selects its palette colour. If the scene has `color_by`, the records contain the colours of
    the column, and shapes have their alpha alone.
    """
    distinct: tuple[Shape, ...] = shape_list(scene).table or (Sphere(),)
    table = np.zeros(len(distinct), SHAPE_ROW)
    kinds = np.array([KIND_NAMES.index(_kind(shape)) for shape in distinct], np.uint8)
    for row, shape in enumerate(distinct):
        own = color_of(shape)
        color = (OPAQUE,) * 4 if own is None else rgba_of(own)
        if own is not None and _has_holes(shape):
            color = *color[:3], min(color[3], LEAST_TRANSPARENT)
        if scene.color_by is not None:
            color = *WHITE, color[3]
        table[row] = half_size(shape), own is None and scene.color_by is None, color

    index = shape_list(scene).rows_for(count)
    rows = table.take(index)
    # Each colour is copied as one number, because copying four separate bytes takes eight times as long.
    colors = rows.view("<u4").reshape(count, SHAPE_ROW.itemsize // 4)[:, -1]
    palette = np.insert(PALETTE, 3, 255, axis=1).view("<u4")[:, 0]
    plain = table["in_palette"] > 0
    if plain.any():
        in_turn = (
            np.tile(palette, count // len(palette) + 1)[:count] if bodies is None else palette[bodies % len(palette)]
        )
        np.copyto(colors, in_turn, where=True if plain.all() else plain.take(index))
    used = set(kinds[np.bincount(index, minlength=len(distinct)) > 0].tolist())
    return ShapeTable(rows, kinds.take(index), tuple(KIND_NAMES[kind] for kind in sorted(used)))


def half_size(shape: Shape) -> tuple[float, float, float]:
    """Returns half the extent of a shape of scale 1 along its own x, y and z axes, in metres. For a capsule, z does not
    include the caps.

    The three numbers are 0 for a compound. They are also 0 for a mesh, because a mesh may lie completely on one side of
    its origin.
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
    """True if the shape's texture has transparent pixels."""
    material = None if isinstance(shape, Compound) else shape.material
    return material is not None and material.texture is not None and material.texture.has_alpha


def _kind(shape: Shape) -> str:
    return next(name for kind, name in KINDS.items() if isinstance(shape, kind))


# In a scene that has bodies with several parts, there is one row for each part. Drawing then uses rows instead of
# bodies.
#
# Like a body without parts, a row has one shape. It also has a copy of its body's record. So programs, lists of bodies
# and layers use rows in the same way as bodies. The shader first blends the motion of the body between two snapshots.
# Then it places the part by the part's local pose. The local poses are on the GPU beside the shapes.
#
# Always: rows are in the order of their bodies, so the rows of the first n bodies come first. Every body has at least
# one row. So the body's record exists for the next scene even if no part of the body is drawn. A scene without
# compounds has no rows, and this code does not run for its snapshots. Pure, without OpenGL.


@dataclass(frozen=True, eq=False)
class PartRows:
    """Rows of the first bodies of a scene.

    scene: the given scene, changed so that it has one shape for each row. The shape is a simple shape, a mesh, or a
    compound without parts; such a compound draws nothing. This scene has no groups and no parents, because these refer
    to body numbers. bodies: the body number of each row, (rows,), ascending. poses: (rows, 7) f4. A row contains the
    position of a part in metres at scale 1, and the part's orientation xyzw. Both are in the frame of the body. first:
    the first row of each body, (bodies,). arm_m: the largest distance of a part from the position of its body, in
    metres at scale 1.
    """

    scene: Scene
    bodies: NDArray[np.intp]
    poses: NDArray[np.float32]
    first: NDArray[np.intp]
    arm_m: float

    def rows_of(self, bodies: int) -> int:
        """Returns the number of rows of the first `bodies` bodies."""
        return int(self.first[bodies]) if bodies < len(self.first) else len(self.bodies)

    def bodies_of(self, rows: int) -> int:
        """Returns the number of bodies to which the first `rows` rows belong."""
        return int(self.bodies[rows - 1]) + 1 if rows else 0

    def gather(self, values: NDArray[Any], into: NDArray[Any]) -> NDArray[Any]:
        """Copies the value of each body to all rows of this body in `into`. `into` has room for all rows. Returns the
        rows of `into` that were written."""
        rows = self.rows_of(len(values))
        # The mode is "clip" because in the default mode, numpy would first write into a copy of `into`.
        return np.take(values, self.bodies[:rows], axis=0, out=into[:rows], mode="clip")

    def placed(self, records: NDArray[np.void], rows: slice | NDArray[np.uint32]) -> NDArray[np.void]:
        """Returns copies of the records of these rows, dtype `BODY`. In each copy, the position is that of the part.
        Orientations do not change."""
        placed = records.copy()
        with np.errstate(all="ignore"):  # records may contain any bits, for example infinity or NaN
            arms = self.poses[rows, :3] * records["scale"][:, None]
            placed["position"] += rotate(normalized(records["orientation"]), arms)
        return placed


class _Place(NamedTuple):
    """A part of a compound: its shape, its position and its orientation."""

    shape: Shape
    position: Vector = (0.0, 0.0, 0.0)
    orientation: Quaternion = (0.0, 0.0, 0.0, 1.0)


def part_rows(scene: Scene, count: int) -> PartRows | None:
    """Returns the rows of the first `count` bodies. Returns None if every body of the scene has one shape."""
    distinct = shape_list(scene).table
    if not any(isinstance(shape, Compound) for shape in distinct):
        return None
    places = [_places(shape) for shape in distinct]
    flat = list(chain.from_iterable(places))
    row_of_shape: dict[Shape, int] = {}
    shape_of = np.array([row_of_shape.setdefault(place.shape, len(row_of_shape)) for place in flat])
    with np.errstate(over="ignore"):  # a part whose position is outside the range of float32 is not drawn
        poses = np.array([(*place.position, *place.orientation) for place in flat]).astype(np.float32)
    counts = np.array([len(own) for own in places], np.intp)
    begins = np.cumsum(counts) - counts  # for each distinct shape, the index in `flat` of its first part

    shapes = shape_list(scene).rows_for(count)
    counted = counts[shapes]
    first = np.cumsum(counted) - counted
    bodies = np.repeat(np.arange(count), counted)
    at = np.arange(len(bodies)) + (begins[shapes] - first)[bodies]  # for each row, the index in `flat` of its part
    return PartRows(
        replace(scene, shapes=_list_of(tuple(row_of_shape), shape_of[at]), groups={}, parents={}),
        bodies,
        poses[at],
        first,
        float(np.linalg.norm(poses[:, :3].astype(np.float64), axis=1).max()),
    )


def moved_rows(before: PartRows | None, after: PartRows | None, held: int) -> NDArray[np.intp]:
    """For each row of `after` that the slot's snapshot needs, returns the row of `before` from which the record is
    copied.

    held: number of rows in the slot. before, after: rows of the old scene and of the new scene; None if each body is
    one row.
    """
    count = held if before is None else before.bodies_of(held)
    bodies = np.arange(count) if after is None else after.bodies[: after.rows_of(count)]
    return bodies if before is None else before.first[bodies]


def are_alike(before: PartRows | None, after: PartRows | None) -> bool:
    """Returns True if the rows of `before` and of `after` belong to the same bodies."""
    if before is None or after is None:
        return before is after
    return np.array_equal(before.bodies, after.bodies[: after.rows_of(len(before.first))])


def _places(shape: Shape) -> list[_Place]:
    if not isinstance(shape, Compound) or not shape.parts:
        return [_Place(shape)]
    return [_Place(part.shape, part.position, part.orientation) for part in shape.parts]


def _list_of(table: tuple[Shape, ...], rows: NDArray[np.intp]) -> ShapeList:
    """Returns a list of shapes that has one shape for each row. The number of distinct shapes of a scene's bodies is
    limited. This limit does not apply to parts."""
    number = np.uint16 if len(table) <= MAX_DISTINCT_SHAPES else np.uint32
    return ShapeList(table, rows.astype(number))


# Part columns: the colour and the visibility of each part are written into the record of its row. They replace the
# colour and the visibility from the scene.
#
# If a scene declares the part column `color`, its shapes are white on the GPU. Each record then contains the product of
# two colours, that of its body and that of its part. So blending between two snapshots, transparency and all programs
# work unchanged. If a colour changes, only the record is uploaded. If a snapshot has no part colours, the scene's
# colours are used.
#
# The column begins with the scene's colours, so parts without a colour begin with the palette's. If the colour of their
# body is given, they are white as long as the column still has the palette's colour.
#
# Always: a colour that is not finite becomes white. Pure.


class BaseColors(NamedTuple):
    """Colours that a scene gives to its parts. colors: (rows, 4). in_palette: True for the palette's colours, (rows,);
    None if there are none."""

    colors: NDArray[np.uint8]
    in_palette: NDArray[np.bool_] | None


def base_colors(scene: Scene, table: ShapeTable) -> BaseColors | None:
    """Returns the colours that the scene gives to its parts. Returns None if the scene has no part column `color`. Here
    a shape counts as opaque even if its texture has transparent pixels, see `shape_rows`."""
    if COLOR not in scene.part_columns:
        return None
    colors = table.rows["color"].copy()
    colors[colors[:, 3] == LEAST_TRANSPARENT, 3] = OPAQUE
    in_palette = table.rows["in_palette"] > 0
    return BaseColors(colors, in_palette if in_palette.any() else None)


def shape_rows(scene: Scene, table: ShapeTable) -> NDArray[np.void]:
    """Returns the shapes in the form that the GPU reads. If the records contain the colours, the shapes are white.
    Shapes whose texture has transparent pixels stay transparent."""
    if COLOR not in scene.part_columns:
        return table.rows
    rows = table.rows.copy()
    rows["color"], rows["in_palette"] = OPAQUE, 0
    rows["color"][table.rows["color"][:, 3] == LEAST_TRANSPARENT, 3] = LEAST_TRANSPARENT
    return rows


def apply(records: NDArray[np.void], part_columns: Mapping[str, NDArray[np.generic]], base: BaseColors | None) -> None:
    """Writes the colours and the visibility of parts into the records of their rows. records: (n,) of dtype `BODY`,
    changed in place.

    part_columns: a column is ignored if its number of rows differs from that of the records. base: result of
    `base_colors`; None if the shapes contain the colours.
    """
    count = len(records)
    if base is not None:
        own = part_columns.get(COLOR)
        colors = base.colors[:count] if own is None or own.shape != (count, 4) else as_bytes(own)
        if base.in_palette is not None:
            is_base = (colors[:, :3] == base.colors[:count, :3]).all(axis=1)
            colors = colors.copy()
            colors[is_base & base.in_palette[:count] & has_color(records), :3] = OPAQUE
        # The product is rounded. If the body is white, the result is exactly the part's colour.
        records["color"] = (records["color"].astype(np.uint16) * colors + OPAQUE // 2) // OPAQUE
        records["flags"] |= np.uint16(HAS_COLOR)
    visible = part_columns.get(VISIBLE_PARTS)
    if visible is not None and visible.shape == (count,):
        records["flags"] &= np.where(visible, 0xFFFF, 0xFFFF ^ VISIBLE).astype(np.uint16)


def as_bytes(colors: NDArray[np.generic]) -> NDArray[np.uint8]:
    """Returns colours as bytes, rgba (n, 4). The given colours are bytes, or floats from 0 to 1."""
    if colors.dtype == np.uint8:
        return colors.view(np.uint8)
    floats = colors.astype(np.float32)
    floats[~np.isfinite(floats).all(axis=1)] = 1.0
    return np.rint(np.clip(floats, 0.0, 1.0) * OPAQUE).astype(np.uint8)


# Rules by which the columns of two snapshots that colour and stretch bodies are blended.


def rules_of_drawn(scene: Scene) -> tuple[str, str]:
    """Returns two blending rules. The first rule is for the column that colours bodies or parts. The second rule is for
    the column `scale3`. If the scene does not have the column, its rule is `linear`."""
    name = COLOR if scene.color_by is None else scene.color_by.column
    return scene.columns.get(name, "linear"), scene.columns.get(SCALE3, "linear")
