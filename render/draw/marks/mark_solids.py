"""Converts marks to solids and thin lines. The solids are boxes, capsules, cylinders, ellipsoids and cones.

Five kinds of solids are enough for all marks. A sphere is an ellipsoid. An arrow is a cylinder and a cone. A line is a
cylinder. The axes of a frame are three cylinders. A line or arrow of radius 0 is drawn as a thin line. Each solid is
one row that contains position, orientation, half size and colour. The rows of one kind of solid are consecutive, so one
draw call draws them.

Rows are in the order of SOLIDS. The rows of transparent solids are stored separately. If all extents of a mark are 0,
its rows have size 0 and are not drawn. A flat mark is drawn as a very thin solid. The functions are pure: they take and
return arrays, without a loop over marks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import MARK, MARK_KINDS, RECORD
from twixt.render.interpolation.quaternion import multiply, normalized

SOLIDS = ("boxes", "capsules", "cylinders", "ellipsoids", "cones")
# half_size is in metres. For a box, it contains half of each edge. For an ellipsoid, it contains half of each axis. For
# other solids, it contains the radius twice, then half the length. For a capsule, this length is the length of the
# straight section. The tip of a cone points to +z, and the cone's position is at half its height.
SOLID = np.dtype([("position", "<f4", 3), ("orientation", "<f4", 4), ("half_size", "<f4", 3), ("color", "u1", 4)])
# A record of dtype SOLID as one block of bytes. numpy copies such blocks faster.
BYTES = np.dtype(f"V{SOLID.itemsize}")

# Radius and length of an arrow's head, as multiples of the radius of its shaft. If an arrow is shorter than this head,
# the head is scaled down.
HEAD_RADIUS, HEAD_LENGTH = 2.5, 6.0
# Length of an arrow's head, as a share of the arrow's length. It is used if the mark gives the radius of the head.
HEAD_SHARE = 1 / 3
# Radius of the axes of a frame, as a share of their length.
AXIS_RADIUS = 1 / 20
# Colours of a frame's x, y and z axes. They are multiplied by the mark's colour.
AXIS_COLORS = np.array([(230, 60, 50), (70, 200, 70), (60, 110, 240)], np.float64)
# Rotations that turn the z axis to the directions of x, y and z.
HALF = np.sqrt(0.5)
TO_AXES = np.array([(0.0, HALF, 0.0, HALF), (-HALF, 0.0, 0.0, HALF), (0.0, 0.0, 0.0, 1.0)])
OPAQUE = 255
# Least half size along an axis, as a share of the solid's largest half size. So a box of height 0 is drawn as a thin
# plate.
THINNEST = 1e-4

Floats = NDArray[np.float64]


class ThinLines(NamedTuple):
    """Thin lines. In the picture, their width is the same at every distance. starts, ends: (n, 3) f4, metres. colors:
    (n, 4) u1, rgba."""

    starts: NDArray[np.float32]
    ends: NDArray[np.float32]
    colors: NDArray[np.uint8]

    def joined_with(self, more: ThinLines) -> ThinLines:
        """Returns these lines and the lines `more` together."""
        if not len(more.starts):
            return self
        join = np.concatenate
        return ThinLines(
            join((self.starts, more.starts)), join((self.ends, more.ends)), join((self.colors, more.colors))
        )


NO_LINES = ThinLines(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32), np.zeros((0, 4), np.uint8))


class Transparent(NamedTuple):
    """Transparent solids: the rows, (n,) of dtype SOLID, and for each row the index of its kind in SOLIDS, (n,)."""

    rows: NDArray[np.void]
    solids: NDArray[np.intp]


class MarkSolids(NamedTuple):
    """Solids and lines made from some marks. rows: opaque solids, (n,) of dtype SOLID. counts: number of rows of each
    kind, in the order of SOLIDS."""

    rows: NDArray[np.void]
    counts: tuple[int, ...]
    lines: ThinLines
    transparent: Transparent


NO_TRANSPARENT = Transparent(np.zeros(0, SOLID), np.zeros(0, np.intp))
NO_SOLIDS = MarkSolids(np.zeros(0, SOLID), (0,) * len(SOLIDS), NO_LINES, NO_TRANSPARENT)


def mark_solids(marks: NDArray[np.void]) -> MarkSolids:
    """Converts marks to solids and lines. marks: (m,) of dtype `MARK`, in any order; all values must be finite and all
    kinds must be known."""
    kinds = marks["kind"]
    if (kinds[1:] < kinds[:-1]).any():
        order = np.argsort(kinds, kind="stable")
        marks = _records(marks)[order].view(MARK)
        kinds = marks["kind"]
    bounds = np.searchsorted(kinds, np.arange(len(MARK_KINDS) + 1))
    of = {kind: marks[bounds[number] : bounds[number + 1]] for number, kind in enumerate(MARK_KINDS)}
    shafts, heads, thin_arrows = _arrows(of["arrow"])
    rods, thin_lines = _lines(of["line"])
    parts = (
        [_flattened(of["box"], of["box"]["size"] * 0.5)],
        [_flattened(of["capsule"], of["capsule"]["size"][:, (0, 0, 1)] * (1.0, 1.0, 0.5))],
        [_flattened(of["cylinder"], of["cylinder"]["size"][:, (0, 0, 1)] * (1.0, 1.0, 0.5)), rods, shafts, _axes(of["axes"])],
        [_rows(of["sphere"], of["sphere"]["size"][:, (0, 0, 0)]), _flattened(of["ellipsoid"], of["ellipsoid"]["size"] * 0.5)],
        [heads],
    )  # fmt: skip
    counts = tuple([sum(map(len, part)) for part in parts])
    rows = np.concatenate([rows.view(BYTES) for part in parts for rows in part]).view(SOLID)
    return _parted(rows, counts, thin_lines.joined_with(thin_arrows))


def _parted(rows: NDArray[np.void], counts: tuple[int, ...], lines: ThinLines) -> MarkSolids:
    """Separates the transparent solids from the opaque solids. Leaves out solids with alpha 0."""
    alpha = rows["color"][:, 3]
    if alpha.min(initial=OPAQUE) == OPAQUE:
        return MarkSolids(rows, counts, lines, NO_TRANSPARENT)
    solids, is_opaque = np.repeat(np.arange(len(SOLIDS)), counts), alpha == OPAQUE
    through = ~is_opaque & (alpha > 0)
    blocks = rows.view(BYTES)
    counts = tuple(np.bincount(solids[is_opaque], minlength=len(SOLIDS)).tolist())
    transparent = Transparent(blocks[through].view(SOLID), solids[through])
    return MarkSolids(blocks[is_opaque].view(SOLID), counts, lines, transparent)


def _rows(marks: NDArray[np.void], half_size: NDArray[np.floating], ahead: Floats | None = None) -> NDArray[np.void]:
    """One row for each mark. ahead: (m,), distance in metres from the position of the mark to the position of the
    solid, along the mark's z."""
    rows = np.empty(len(marks), SOLID)
    if not len(marks):
        return rows
    rows["position"] = marks["position"] if ahead is None else _ahead(marks, ahead)
    rows["orientation"], rows["half_size"], rows["color"] = marks["orientation"], half_size, marks["color"]
    return rows


def _flattened(marks: NDArray[np.void], half_size: NDArray[np.floating]) -> NDArray[np.void]:
    """One row for each mark. If a mark is too flat, its row gets the thickness given by THINNEST."""
    least = half_size.max(axis=1, initial=0.0) * THINNEST
    return _rows(marks, np.maximum(half_size, least[:, None]))


def _arrows(marks: NDArray[np.void]) -> tuple[NDArray[np.void], NDArray[np.void], ThinLines]:
    """Returns the rows of the shafts, the rows of the heads, and thin lines for arrows of radius 0."""
    marks, thin = _divided(marks)
    radius, length, given = marks["size"].astype(np.float64).T
    head = np.where(given > 0, HEAD_SHARE * length, np.minimum(HEAD_LENGTH * radius, length))
    shaft = 0.5 * (length - head)
    around = np.where(given > 0, given, head * (HEAD_RADIUS / HEAD_LENGTH))
    shafts = _rows(marks, np.stack((radius, radius, shaft), axis=1), shaft)
    heads = _rows(marks, np.stack((around, around, 0.5 * head), axis=1), length - 0.5 * head)
    return shafts, heads, thin


def _lines(marks: NDArray[np.void]) -> tuple[NDArray[np.void], ThinLines]:
    """Returns rows of cylinders, and thin lines for lines of radius 0."""
    marks, thin = _divided(marks)
    half_size = marks["size"][:, (0, 0, 1)] * (1.0, 1.0, 0.5)
    return _rows(marks, half_size, half_size[:, 2]), thin


def _divided(marks: NDArray[np.void]) -> tuple[NDArray[np.void], ThinLines]:
    """Returns the marks with a radius above 0, and thin lines for the other marks."""
    has_radius = marks["size"][:, 0] > 0
    if has_radius.all():
        return marks, NO_LINES
    thin, marks = _records(marks)[~has_radius].view(MARK), _records(marks)[has_radius].view(MARK)
    return marks, ThinLines(thin["position"], _ahead(thin, thin["size"][:, 1]).astype(np.float32), thin["color"])


def _axes(marks: NDArray[np.void]) -> NDArray[np.void]:
    """Returns rows of three cylinders for each mark."""
    if not len(marks):
        return np.zeros(0, SOLID)
    frames = _records(marks).repeat(3).view(MARK)
    turns = multiply(normalized(frames["orientation"]), np.tile(TO_AXES, (len(marks), 1)))
    frames["orientation"] = turns
    frames["color"][:, :3] = np.rint(frames["color"][:, :3] * (np.tile(AXIS_COLORS, (len(marks), 1)) / 255))
    length = frames["size"][:, 0].astype(np.float64)
    return _rows(frames, np.multiply.outer(length, (AXIS_RADIUS, AXIS_RADIUS, 0.5)), 0.5 * length)


def _ahead(marks: NDArray[np.void], metres: NDArray[np.floating]) -> Floats:
    """Positions (m, 3) that are ahead of the marks by these distances in metres. Each mark's own z axis points
    ahead."""
    x, y, z, w = normalized(marks["orientation"]).T
    along = np.stack((2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)), axis=1)
    return marks["position"] + along * metres[:, None]


def _records(marks: NDArray[np.void]) -> NDArray[np.void]:
    """The marks as blocks of bytes. numpy copies such blocks faster."""
    return np.ascontiguousarray(marks).view(RECORD)
