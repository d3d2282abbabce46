"""Shapes of bodies as the GPU reads them: a row of size and colour for each body, or for each part of a compound.

Also: the colours and scales that columns give to bodies and parts.

Made once per scene from its distinct shapes, with numpy alone: a few milliseconds for a million bodies. It does not
change while bodies move.
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
from twixt.ipc.scene.groups import ColorBy
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.scene.parts import PALETTE
from twixt.ipc.scene.shapes import MAX_DISTINCT_SHAPES, ShapeList, color_of, rgba_of
from twixt.ipc.snapshot import VISIBLE
from twixt.render.interpolation.quaternion import normalized, rotate

# One row a body, sizes in metres. Spheres: radius three times. Boxes: half edges. Planes: half edges, no thickness.
# Ellipsoids: half axes. Capsules and cylinders: radius twice, half the length of the straight part. Compounds:
# nothing. Meshes: 0, since their vertices say their size.
SHAPE_ROW = np.dtype([("half_size", "<f4", 3), ("color", "u1", 4)])

# Largest alpha of a transparent shape, of 255 steps.
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
    """True if the shape's texture has transparent pixels."""
    material = None if isinstance(shape, Compound) else shape.material
    return material is not None and material.texture is not None and material.texture.has_alpha


def _kind(shape: Shape) -> str:
    return next(name for kind, name in KINDS.items() if isinstance(shape, kind))


# Rows of a scene with bodies of several parts, one row a part. Drawing then uses rows instead of bodies.
#
# A row has one shape, like a body without parts, and a copy of its body's record. So programs, lists of bodies and
# layers work on rows unchanged. The motion of the body is blended between two snapshots. After that the shader places
# the part, by a local pose that lies on the GPU beside the shapes.
#
# Always: rows are in the order of their bodies, so the rows of the first n bodies are the first rows, whatever the
# number of bodies. Every body has a row: its record is kept for the next scene, even if no part is drawn. A scene
# without compounds has no rows, and nothing here runs for its snapshots. Pure; not here: OpenGL.


@dataclass(frozen=True, eq=False)
class PartRows:
    """Rows of the first bodies of a scene.

    scene: the scene given, with one shape a row: a simple shape, a mesh, or a compound without parts, which draws
    nothing. It has no groups and parents, since these number bodies. bodies: (rows,), the body of each row, ascending.
    poses: (rows, 7) f4, each part's position (metres, at scale 1) and orientation xyzw in its body's frame. first: the
    first row of each body, (bodies,). arm_m: largest distance of a part from its body's position, metres at scale 1.
    """

    scene: Scene
    bodies: NDArray[np.intp]
    poses: NDArray[np.float32]
    first: NDArray[np.intp]
    arm_m: float

    def rows_of(self, bodies: int) -> int:
        """Number of rows of the first `bodies` bodies."""
        return int(self.first[bodies]) if bodies < len(self.first) else len(self.bodies)

    def bodies_of(self, rows: int) -> int:
        """Number of bodies that the first `rows` rows belong to."""
        return int(self.bodies[rows - 1]) + 1 if rows else 0

    def gather(self, values: NDArray[Any], into: NDArray[Any]) -> NDArray[Any]:
        """Copies a value of each body to its rows: the written part of `into`, which has room for all rows."""
        rows = self.rows_of(len(values))
        # mode: with the default one numpy would write into a copy of `into` first.
        return np.take(values, self.bodies[:rows], axis=0, out=into[:rows], mode="clip")

    def placed(self, records: NDArray[np.void], rows: slice | NDArray[np.uint32]) -> NDArray[np.void]:
        """Records of these rows, dtype `BODY`, each at its part's place. Orientations stay those of the bodies."""
        placed = records.copy()
        with np.errstate(all="ignore"):  # records may hold anything
            arms = self.poses[rows, :3] * records["scale"][:, None]
            placed["position"] += rotate(normalized(records["orientation"]), arms)
        return placed


class _Place(NamedTuple):
    """A part: its shape, position and orientation."""

    shape: Shape
    position: Vector = (0.0, 0.0, 0.0)
    orientation: Quaternion = (0.0, 0.0, 0.0, 1.0)


def part_rows(scene: Scene, count: int) -> PartRows | None:
    """Rows of the first `count` bodies; None for a scene in which every body has one shape."""
    distinct = scene.distinct_shapes
    if not any(isinstance(shape, Compound) for shape in distinct):
        return None
    places = [_places(shape) for shape in distinct]
    flat = list(chain.from_iterable(places))
    row_of_shape: dict[Shape, int] = {}
    shape_of = np.array([row_of_shape.setdefault(place.shape, len(row_of_shape)) for place in flat])
    with np.errstate(over="ignore"):  # a part that is farther than float32 reaches is not drawn
        poses = np.array([(*place.position, *place.orientation) for place in flat]).astype(np.float32)
    counts = np.array([len(own) for own in places], np.intp)
    begins = np.cumsum(counts) - counts  # of each distinct shape, in `flat`

    shapes = scene.shape_rows(count)
    counted = counts[shapes]
    first = np.cumsum(counted) - counted
    bodies = np.repeat(np.arange(count), counted)
    at = np.arange(len(bodies)) + (begins[shapes] - first)[bodies]  # of each row, in `flat`
    return PartRows(
        replace(scene, shapes=_list_of(tuple(row_of_shape), shape_of[at]), groups={}, parents={}),
        bodies,
        poses[at],
        first,
        float(np.linalg.norm(poses[:, :3].astype(np.float64), axis=1).max()),
    )


def moved_rows(before: PartRows | None, after: PartRows | None, held: int) -> NDArray[np.intp]:
    """For each row that a slot's snapshot needs by `after`: the row that holds its record now, by `before`.

    held: rows in the slot. None: each body is one row.
    """
    count = held if before is None else before.bodies_of(held)
    bodies = np.arange(count) if after is None else after.bodies[: after.rows_of(count)]
    return bodies if before is None else before.first[bodies]


def are_alike(before: PartRows | None, after: PartRows | None) -> bool:
    """True if the rows of `before` belong to the same bodies in `after`."""
    if before is None or after is None:
        return before is after
    return np.array_equal(before.bodies, after.bodies[: after.rows_of(len(before.first))])


def _places(shape: Shape) -> list[_Place]:
    if not isinstance(shape, Compound) or not shape.parts:
        return [_Place(shape)]
    return [_Place(part.shape, part.position, part.orientation) for part in shape.parts]


def _list_of(table: tuple[Shape, ...], rows: NDArray[np.intp]) -> ShapeList:
    """The list of shapes, one a row. Parts may have more distinct shapes than the bodies of a scene may have."""
    number = np.uint16 if len(table) <= MAX_DISTINCT_SHAPES else np.uint32
    return ShapeList(table, rows.astype(number))


# Part columns: each part's colour and visibility are written into its row's record, in place of the scene's.
#
# Where a scene declares the part column `color`, its shapes are white on the GPU, and each record's colour is its
# body's times its part's. So the blend between two snapshots, transparency and every program work unchanged, and a
# colour that changes costs the bytes of the record alone. A snapshot without colours of parts has those of the scene.
#
# Always: colours that are not finite are white. Pure.


OPAQUE = 255


def base_colors(scene: Scene, table: ShapeTable) -> NDArray[np.uint8] | None:
    """The scene's own colours of parts, (rows, 4); None if it has no part column `color`. Textures with holes count as
    opaque here, see `shape_rows`."""
    if COLOR not in scene.part_columns:
        return None
    colors = table.rows["color"].copy()
    colors[colors[:, 3] == LEAST_TRANSPARENT, 3] = OPAQUE
    return colors


def shape_rows(scene: Scene, table: ShapeTable) -> NDArray[np.void]:
    """Shapes as the GPU reads them: white where records have the colours. Shapes with holes stay transparent."""
    if COLOR not in scene.part_columns:
        return table.rows
    rows = table.rows.copy()
    rows["color"] = OPAQUE
    rows["color"][table.rows["color"][:, 3] == LEAST_TRANSPARENT, 3] = LEAST_TRANSPARENT
    return rows


def apply(
    records: NDArray[np.void], part_columns: Mapping[str, NDArray[np.generic]], base: NDArray[np.uint8] | None
) -> None:
    """Writes colours and visibility of parts into the records of their rows, (n,) of dtype `BODY`, in place.

    part_columns: those with another number of rows are not used. base: see `base_colors`; None: the shapes have their
    colours.
    """
    count = len(records)
    if base is not None:
        own = part_columns.get(COLOR)
        colors = base[:count] if own is None or own.shape != (count, 4) else as_bytes(own)
        # Rounded; exact where the body is white.
        records["color"] = (records["color"].astype(np.uint16) * colors + OPAQUE // 2) // OPAQUE
    visible = part_columns.get(VISIBLE_PARTS)
    if visible is not None and visible.shape == (count,):
        records["flags"] &= np.where(visible, 0xFFFF, 0xFFFF ^ VISIBLE).astype(np.uint16)


def as_bytes(colors: NDArray[np.generic]) -> NDArray[np.uint8]:
    """Colours, rgba (n, 4), from bytes or from floats of 0 to 1."""
    if colors.dtype == np.uint8:
        return colors.view(np.uint8)
    floats = colors.astype(np.float32)
    floats[~np.isfinite(floats).all(axis=1)] = 1.0
    return np.rint(np.clip(floats, 0.0, 1.0) * OPAQUE).astype(np.uint8)


# Columns that colour and stretch bodies: the colour of each value, and the rules of blending.


def colors(values: NDArray[np.generic], by: ColorBy) -> NDArray[np.uint8]:
    """A colour for each value, (n, 3). A value that is not a number gets the low colour."""
    firsts = values if values.ndim == 1 else values[:, 0]
    numbers = np.nan_to_num(firsts.astype(np.float32), nan=by.low)
    share = np.clip((numbers - by.low) / (by.high - by.low), 0.0, 1.0)[:, None]
    low, high = np.array(by.low_color), np.array(by.high_color)
    return np.rint(255 * (low + (high - low) * share)).astype(np.uint8)


def rules_of_drawn(scene: Scene) -> tuple[str, str]:
    """Rules of the column that colours the bodies or their parts, and of `scale3`; `linear` for one that the scene
    does not have."""
    name = COLOR if scene.color_by is None else scene.color_by.column
    return scene.columns.get(name, "linear"), scene.columns.get(SCALE3, "linear")
