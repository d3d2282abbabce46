"""This module defines the shapes of bodies, and `ShapeList`. A `ShapeList` has a table of the distinct shapes, and one
index per body.

A world of a million bodies usually has a few shapes, and most bodies share the same shape object. So bodies are first
grouped by the identity of their shape object. Shapes are then compared only one time for each distinct object.

Always: shapes are checked when they are made. Sizes are finite Python floats > 0, whatever type the caller gave. Equal
shapes share one row of the table. Rows are in the order of their first bodies. A table never changes. Not here:
palette colours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field, fields
from operator import attrgetter, eq
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import named_arguments, text_of
from twixt.ipc.rotation import XYZW, QuatOrder
from twixt.ipc.scene.checks import (
    Paint,
    Quaternion,
    SceneError,
    Vector,
    items,
    label_or_none,
    lengths,
    paint_or_none,
    quaternion,
    set_field,
    vector,
)
from twixt.ipc.scene.material import Material, material_or_none
from twixt.ipc.scene.mesh import Mesh


@named_arguments
@dataclass(frozen=True)
class Sphere:
    """A sphere with a radius of `radius` metres. `Scene(pattern=True)` makes its rotation visible. A column `scale3`
    turns the sphere into an ellipsoid.

    color: red, green and blue, each from 0 to 1, or np.uint8 from 0 to 255. A transparent shape also has an alpha. If
    `color` is None, the body's index selects a colour of the palette; if the body has a colour of its own
    (`Bodies.color`), the shape has that colour alone. material: an image on the surface, and its highlights. All shapes
    except `Compound` have the fields `color` and `material`. label: a text of one line, at most 200 characters, that is
    written to the right of the drawn body; None for no text. It is drawn over everything. The shape of a part has no
    label. Of the first 2048 bodies with labels, the 500 visible ones nearest to the camera show theirs.
    """

    radius: float = 0.5
    color: Paint | None = None
    material: Material | None = None
    label: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        set_field(self, "radius", lengths("Sphere.radius", self.radius, 1)[0])
        set_field(self, "color", paint_or_none("Sphere.color", self.color))
        set_field(self, "material", material_or_none("Sphere.material", self.material))
        set_field(self, "label", label_or_none("Sphere.label", self.label))

    @property
    def reach(self) -> float:
        """Radius of a sphere around the body's position that contains the shape, in metres."""
        return self.radius


@named_arguments
@dataclass(frozen=True)
class Box:
    """A box. size: lengths of the edges along the box's own x, y and z axes, in metres."""

    size: Vector = (1.0, 1.0, 1.0)
    color: Paint | None = None
    material: Material | None = None
    label: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        set_field(self, "size", lengths("Box.size", self.size, 3))
        set_field(self, "color", paint_or_none("Box.color", self.color))
        set_field(self, "material", material_or_none("Box.material", self.material))
        set_field(self, "label", label_or_none("Box.label", self.label))

    @property
    def reach(self) -> float:
        """Radius of a sphere around the body's position that contains the shape, in metres."""
        return math.hypot(*self.size) / 2


@named_arguments
@dataclass(frozen=True)
class Plane:
    """A rectangle in the body's own xy plane. Its front faces +z. size: lengths of the edges along x and y, in
    metres."""

    size: tuple[float, float] = (10.0, 10.0)
    color: Paint | None = None
    material: Material | None = None
    label: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        set_field(self, "size", lengths("Plane.size", self.size, 2))
        set_field(self, "color", paint_or_none("Plane.color", self.color))
        set_field(self, "material", material_or_none("Plane.material", self.material))
        set_field(self, "label", label_or_none("Plane.label", self.label))

    @property
    def reach(self) -> float:
        """Radius of a sphere around the body's position that contains the shape, in metres."""
        return math.hypot(*self.size) / 2


@named_arguments
@dataclass(frozen=True)
class Capsule:
    """A cylinder with a hemisphere on each end. radius: radius of the cylinder and the hemispheres, in metres. length:
    length of the cylinder without the hemispheres, along the capsule's own z axis, in metres.

    A column `scale3` with the factors (x, y, z) scales the radius by the mean of x and y, and the length by z. So the
    shape stays round.
    """

    radius: float = 0.25
    length: float = 1.0
    color: Paint | None = None
    material: Material | None = None
    label: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        set_field(self, "radius", lengths("Capsule.radius", self.radius, 1)[0])
        set_field(self, "length", lengths("Capsule.length", self.length, 1)[0])
        set_field(self, "color", paint_or_none("Capsule.color", self.color))
        set_field(self, "material", material_or_none("Capsule.material", self.material))
        set_field(self, "label", label_or_none("Capsule.label", self.label))

    @property
    def reach(self) -> float:
        """Radius of a sphere around the body's position that contains the shape, in metres."""
        return self.radius + self.length / 2


@named_arguments
@dataclass(frozen=True)
class Cylinder:
    """A cylinder around its own z axis. radius: radius in metres. length: length from end to end, in metres. A column
    `scale3` scales a cylinder in the same way as a `Capsule`."""

    radius: float = 0.5
    length: float = 1.0
    color: Paint | None = None
    material: Material | None = None
    label: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        set_field(self, "radius", lengths("Cylinder.radius", self.radius, 1)[0])
        set_field(self, "length", lengths("Cylinder.length", self.length, 1)[0])
        set_field(self, "color", paint_or_none("Cylinder.color", self.color))
        set_field(self, "material", material_or_none("Cylinder.material", self.material))
        set_field(self, "label", label_or_none("Cylinder.label", self.label))

    @property
    def reach(self) -> float:
        """Radius of a sphere around the body's position that contains the shape, in metres."""
        return math.hypot(self.radius, self.length / 2)


@named_arguments
@dataclass(frozen=True)
class Ellipsoid:
    """An ellipsoid. size: diameters along the ellipsoid's own x, y and z axes, in metres."""

    size: Vector = (1.0, 1.0, 1.0)
    color: Paint | None = None
    material: Material | None = None
    label: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        set_field(self, "size", lengths("Ellipsoid.size", self.size, 3))
        set_field(self, "color", paint_or_none("Ellipsoid.color", self.color))
        set_field(self, "material", material_or_none("Ellipsoid.material", self.material))
        set_field(self, "label", label_or_none("Ellipsoid.label", self.label))

    @property
    def reach(self) -> float:
        """Radius of a sphere around the body's position that contains the shape, in metres."""
        return max(self.size) / 2


SimpleShape = Sphere | Box | Plane | Capsule | Cylinder | Ellipsoid
# Shapes that a part may have.
OneShape = SimpleShape | Mesh
NOT_TURNED: Quaternion = (0.0, 0.0, 0.0, 1.0)


@named_arguments
@dataclass(frozen=True)
class Part:
    """One shape of a body that has several shapes. A part has its own pose in the body's frame.

    position: position of the part, in metres. orientation: quaternion of any length except 0; it is stored as (x, y,
    z, w). quat: order of the numbers of the `orientation` that is passed in the same call, "xyzw" or "wxyz". A wrong
    order cannot be detected.
    """

    shape: OneShape
    position: Vector = (0.0, 0.0, 0.0)
    orientation: Quaternion = NOT_TURNED
    quat: InitVar[QuatOrder] = field(default=XYZW, kw_only=True)

    def __post_init__(self, quat: QuatOrder) -> None:
        if not isinstance(self.shape, OneShape):
            raise SceneError(f"Part.shape must be one shape, such as Sphere(0.1), got {text_of(self.shape)}")
        if isinstance(self.shape, Mesh) and self.shape.deforms:
            raise SceneError("Part.shape must not deform; make a mesh that deforms the shape of a body of its own")
        if self.shape.label is not None:
            raise SceneError(
                f"Part.shape must have no label, got {text_of(self.shape.label)}; the label is that of the body: "
                "Compound(parts, label=...)"
            )
        set_field(self, "position", vector("Part.position", self.position))
        turn = quaternion("Part.orientation", self.orientation, quat)
        # The default is no rotation in either order.
        set_field(self, "orientation", NOT_TURNED if self.orientation is NOT_TURNED else turn)


@named_arguments
@dataclass(frozen=True)
class Compound:
    """A body with several shapes, each at its own pose: `Compound([Part(Box()), Part(Sphere(), (0, 0, 1))])`.

    Parts do not make snapshots larger: a snapshot has only the body's pose, and this pose moves all parts. A part
    whose shape has no colour has the body's own colour, or the palette's colour if the body has none. A body's scale
    applies to the positions and the sizes of its parts. A column `scale3` scales the positions along the body's axes.
    Each part keeps its orientation. Each part is scaled along its own axes; the factor of an axis is the body's factor
    in the direction of that axis. This is exact for a part that is rotated by multiples of 90 degrees. For any other
    part it is not exact: exact scaling would shear the part. label: text beside the body, as in `Sphere`.
    """

    parts: Sequence[Part]
    label: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        parts = items(self.parts)
        if parts is None:
            raise SceneError(
                f"Compound.parts must be a list of parts, such as [Part(Sphere())], got {text_of(self.parts)}"
            )
        set_field(self, "parts", parts)
        set_field(self, "label", label_or_none("Compound.label", self.label))
        for part in parts:
            if not isinstance(part, Part):
                raise SceneError(f"Compound.parts must be parts, such as Part(Sphere()), got {text_of(part)}")

    @property
    def reach(self) -> float:
        """Radius of a sphere around the body's position that contains all parts, in metres. The radius is 0 if there
        are no parts."""
        return max((math.hypot(*part.position) + part.shape.reach for part in self.parts), default=0.0)


Shape = SimpleShape | Mesh | Compound
SHAPES: dict[str, type[SimpleShape]] = {
    "sphere": Sphere,
    "box": Box,
    "plane": Plane,
    "capsule": Capsule,
    "cylinder": Cylinder,
    "ellipsoid": Ellipsoid,
}


KINDS = (*SHAPES.values(), Mesh, Compound)
# Largest number of distinct shapes in one scene. The index of a body's shape has 2 bytes.
MAX_DISTINCT_SHAPES = 65_535
# A run is a sequence of neighbouring bodies with the same shape object. SHORT_RUNS is a number of runs divided by a
# number of bodies. If there are more runs than that, a look-up for each body is faster than a look-up for each run.
SHORT_RUNS = 0.25


class ShapeList(Sequence[Shape]):
    """Sequence with one shape per body. table: the distinct shapes. rows: for each body, the index of its shape in
    `table`; an array of shape (bodies,) and dtype u2."""

    __slots__ = ("rows", "table")

    def __init__(self, table: tuple[Shape, ...], rows: NDArray[np.uint16]) -> None:
        self.table, self.rows = table, rows

    @staticmethod
    def of(shapes: Any) -> ShapeList:
        """Returns a ShapeList of the shapes that the user gave to `Scene`. Raises SceneError for values that are not
        shapes, and for too many distinct shapes."""
        if isinstance(shapes, ShapeList):
            return shapes
        listed = None if isinstance(shapes, KINDS) else shapes if isinstance(shapes, list) else items(shapes)
        if listed is None:
            raise SceneError(f"Scene.shapes must be one shape per body, such as [Sphere()] * 3, got {text_of(shapes)}")
        objects = np.fromiter(map(id, listed), np.uint64, len(listed))
        begins = np.flatnonzero(np.diff(objects, prepend=~objects[:1]))
        if len(begins) > SHORT_RUNS * len(listed):
            rows, table = _rows(listed, listed)
            return ShapeList(table, rows)
        rows, table = _rows([listed[body] for body in begins.tolist()], listed)
        return ShapeList(table, np.repeat(rows, np.diff(begins, append=len(listed))))

    def rows_for(self, count: int) -> NDArray[np.uint16]:
        """Returns the index in `table` of the shape of each of `count` bodies, as an array of shape (count,). Bodies
        after the last shape have that last shape."""
        rows = np.zeros(count, self.rows.dtype)
        known = min(count, len(self.rows))
        rows[:known] = self.rows[:known]
        if known and count > known:
            rows[known:] = self.rows[-1]
        return rows

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> Shape: ...
    @overload
    def __getitem__(self, place: slice) -> ShapeList: ...
    def __getitem__(self, place: int | slice) -> Shape | ShapeList:
        if isinstance(place, slice):
            return ShapeList(self.table, self.rows[place])
        return self.table[self.rows[place]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]  # not hashable, like a list

    def __repr__(self) -> str:
        return repr(list(self))


def _compared(shape: Any) -> list[str]:
    """Names of the fields that decide whether two shapes of the same class are equal."""
    return [field.name for field in fields(shape) if field.compare]


def _rows(heads: Sequence[Any], listed: Sequence[Any]) -> tuple[NDArray[np.uint16], tuple[Shape, ...]]:
    """Returns, for each item of `heads`, its row in the table of distinct shapes. Also returns the table itself.
    listed: the shapes of all bodies, for the error message."""
    objects = dict(zip(map(id, heads), heads, strict=True))
    key_of_kind: dict[type, Callable[[Any], object]] = {}
    row_of_key: dict[object, int] = {}
    row_of_object: dict[int, int] = {}
    table: list[Shape] = []
    for key, shape in objects.items():
        shape_key = key_of_kind.get(type(shape))
        if shape_key is None:
            if not isinstance(shape, KINDS):
                body = next(body for body, other in enumerate(listed) if other is shape)
                names = ", ".join(kind.__name__ for kind in KINDS)
                raise SceneError(f"Scene shapes must be one of {names}, got {text_of(shape)} for body {body}")
            # The key is a tuple of the class and the fields. Its hash and comparison take a third of the time of the
            # dataclass' own hash and comparison.
            shape_key = key_of_kind[type(shape)] = attrgetter("__class__", *_compared(shape))
        row_of_object[key] = row = row_of_key.setdefault(shape_key(shape), len(table))
        if row == len(table):
            table.append(shape)
        if row >= MAX_DISTINCT_SHAPES:
            raise SceneError(
                f"a scene holds at most {MAX_DISTINCT_SHAPES} distinct shapes; "
                "share shapes between bodies and vary their `scale` and `color`"
            )
    rows = np.fromiter(map(row_of_object.__getitem__, map(id, heads)), np.uint16, len(heads))
    return rows, tuple(table)


# Colour of a shape that has a texture but no colour.
WHITE = (1.0, 1.0, 1.0)


def shapes_of(shape: Shape) -> tuple[Shape, ...]:
    """Returns the shapes of a body's parts. If the shape is no compound, returns the shape itself as the only part."""
    if not isinstance(shape, Compound) or not shape.parts:
        return (shape,)
    return tuple(part.shape for part in shape.parts)


def color_of(shape: Shape) -> Paint | None:
    """Returns a shape's colour; None if the palette gives the colour. The colour of a compound is the colour of its
    first part. This colour is used if the whole body is drawn as a dot or a line."""
    if isinstance(shape, Compound):
        return color_of(shape.parts[0].shape) if shape.parts else None
    return shape.color or (WHITE if shape.material is not None and shape.material.texture is not None else None)


def rgba_of(paint: Paint) -> tuple[int, ...]:
    """Returns a colour as four numbers from 0 to 255: red, green, blue and alpha."""
    return tuple(round(channel * 255) for channel in (*paint, 1)[:4])
