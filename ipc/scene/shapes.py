"""This module defines the shapes of bodies.

Always: shapes are checked when they are made. Sizes are finite Python floats > 0, whatever type the caller gave. Not
here: palette colours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any

from numpy.typing import ArrayLike

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


def _set_looks(shape: Any, kind: str, color: Any, material: Any, label: Any) -> None:
    """Checks and sets the fields that all shapes with one surface have. kind: name of the shape, for errors."""
    set_field(shape, "color", paint_or_none(f"{kind}.color", color))
    set_field(shape, "material", material_or_none(f"{kind}.material", material))
    set_field(shape, "label", label_or_none(f"{kind}.label", label))


@named_arguments
@dataclass(frozen=True)
class Sphere:
    """A sphere.

    `Scene(pattern=True)` makes its rotation visible. A column `scale3` turns the sphere into an ellipsoid.

    Args:
        radius: Radius, in metres.
        color: Red, green and blue, each from 0 to 1, or np.uint8 from 0 to 255. A transparent shape also has an alpha.
            If `color` is None, the shape has the body's own colour (`Bodies.color`). If this is not given, the body's
            index selects a colour of the palette. All shapes except `Compound` have this field.
        material: An image on the surface, and its highlights. All shapes except `Compound` have this field.
        label: Text of one line, at most 200 characters, that is written to the right of the drawn body. None for no
            text. The text is drawn over everything. The shape of a part has no label. Only the first 2048 bodies with
            labels can show their labels. Only the 500 labels nearest to the camera are shown.

    Raises:
        TwixtError: An argument is invalid. The error is also a ValueError.

    Examples:
        ```python
        from twixt import Scene, Sphere

        scene = Scene([Sphere(0.1, color=(1, 0.2, 0.2), label="goal")])
        ```
    """

    radius: float = 0.5
    color: Paint | None = None
    material: Material | None = None
    label: str | None = field(default=None, kw_only=True)

    def __init__(
        self,
        radius: float = 0.5,
        color: ArrayLike | None = None,
        material: Material | None = None,
        *,
        label: str | None = None,
    ) -> None:
        set_field(self, "radius", lengths("Sphere.radius", radius, 1)[0])
        _set_looks(self, "Sphere", color, material, label)

    @property
    def reach(self) -> float:
        """Radius of a sphere around the body's position that contains the shape, in metres."""
        return self.radius


@named_arguments
@dataclass(frozen=True)
class Box:
    """A box.

    Args:
        size: Lengths of the edges along the box's own x, y and z axes, in metres.
        color: Colour of the surface, as in `Sphere`.
        material: An image on the surface, and its highlights.
        label: As in `Sphere`.
    """

    size: Vector = (1.0, 1.0, 1.0)
    color: Paint | None = None
    material: Material | None = None
    label: str | None = field(default=None, kw_only=True)

    def __init__(
        self,
        size: ArrayLike = (1.0, 1.0, 1.0),
        color: ArrayLike | None = None,
        material: Material | None = None,
        *,
        label: str | None = None,
    ) -> None:
        set_field(self, "size", lengths("Box.size", size, 3))
        _set_looks(self, "Box", color, material, label)

    @property
    def reach(self) -> float:
        """Radius of a sphere around the body's position that contains the shape, in metres."""
        return math.hypot(*self.size) / 2


@named_arguments
@dataclass(frozen=True)
class Plane:
    """A rectangle in the body's own xy plane. The front faces +z.

    Args:
        size: Lengths of the edges along x and y, in metres.
        color: Colour of the surface, as in `Sphere`.
        material: An image on the surface, and its highlights.
        label: As in `Sphere`.
    """

    size: tuple[float, float] = (10.0, 10.0)
    color: Paint | None = None
    material: Material | None = None
    label: str | None = field(default=None, kw_only=True)

    def __init__(
        self,
        size: ArrayLike = (10.0, 10.0),
        color: ArrayLike | None = None,
        material: Material | None = None,
        *,
        label: str | None = None,
    ) -> None:
        set_field(self, "size", lengths("Plane.size", size, 2))
        _set_looks(self, "Plane", color, material, label)

    @property
    def reach(self) -> float:
        """Radius of a sphere around the body's position that contains the shape, in metres."""
        return math.hypot(*self.size) / 2


@named_arguments
@dataclass(frozen=True)
class Capsule:
    """A cylinder with a hemisphere on each end.

    A column `scale3` scales the radius by the mean of its x and y, and the length by its z. So the shape stays round.

    Args:
        radius: Radius of the cylinder and the hemispheres, in metres.
        length: Length of the cylinder without the hemispheres, along the capsule's own z axis, in metres.
        color: Colour of the surface, as in `Sphere`.
        material: An image on the surface, and its highlights.
        label: As in `Sphere`.
    """

    radius: float = 0.25
    length: float = 1.0
    color: Paint | None = None
    material: Material | None = None
    label: str | None = field(default=None, kw_only=True)

    def __init__(
        self,
        radius: float = 0.25,
        length: float = 1.0,
        color: ArrayLike | None = None,
        material: Material | None = None,
        *,
        label: str | None = None,
    ) -> None:
        set_field(self, "radius", lengths("Capsule.radius", radius, 1)[0])
        set_field(self, "length", lengths("Capsule.length", length, 1)[0])
        _set_looks(self, "Capsule", color, material, label)

    @property
    def reach(self) -> float:
        """Radius of a sphere around the body's position that contains the shape, in metres."""
        return self.radius + self.length / 2


@named_arguments
@dataclass(frozen=True)
class Cylinder:
    """A cylinder around its own z axis. A column `scale3` scales it in the same way as a `Capsule`.

    Args:
        radius: Radius, in metres.
        length: Length from end to end, in metres.
        color: Colour of the surface, as in `Sphere`.
        material: An image on the surface, and its highlights.
        label: As in `Sphere`.
    """

    radius: float = 0.5
    length: float = 1.0
    color: Paint | None = None
    material: Material | None = None
    label: str | None = field(default=None, kw_only=True)

    def __init__(
        self,
        radius: float = 0.5,
        length: float = 1.0,
        color: ArrayLike | None = None,
        material: Material | None = None,
        *,
        label: str | None = None,
    ) -> None:
        set_field(self, "radius", lengths("Cylinder.radius", radius, 1)[0])
        set_field(self, "length", lengths("Cylinder.length", length, 1)[0])
        _set_looks(self, "Cylinder", color, material, label)

    @property
    def reach(self) -> float:
        """Radius of a sphere around the body's position that contains the shape, in metres."""
        return math.hypot(self.radius, self.length / 2)


@named_arguments
@dataclass(frozen=True)
class Ellipsoid:
    """An ellipsoid.

    Args:
        size: Diameters along the ellipsoid's own x, y and z axes, in metres.
        color: Colour of the surface, as in `Sphere`.
        material: An image on the surface, and its highlights.
        label: As in `Sphere`.
    """

    size: Vector = (1.0, 1.0, 1.0)
    color: Paint | None = None
    material: Material | None = None
    label: str | None = field(default=None, kw_only=True)

    def __init__(
        self,
        size: ArrayLike = (1.0, 1.0, 1.0),
        color: ArrayLike | None = None,
        material: Material | None = None,
        *,
        label: str | None = None,
    ) -> None:
        set_field(self, "size", lengths("Ellipsoid.size", size, 3))
        _set_looks(self, "Ellipsoid", color, material, label)

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
    """One shape of a `Compound`, with its own pose in the body's frame.

    Args:
        shape: The shape. A `Compound`, a mesh with `deforms` and a shape with a label are not allowed.
        position: Position of the part in the body's frame, in metres.
        orientation: Quaternion of any length except 0. twixt stores it with length 1, as (x, y, z, w).
        quat: Order of the numbers of `orientation` in this call, "xyzw" or "wxyz". A wrong order cannot be detected.
    """

    shape: OneShape
    position: Vector = (0.0, 0.0, 0.0)
    orientation: Quaternion = NOT_TURNED
    quat: InitVar[QuatOrder] = field(default=XYZW, kw_only=True)

    def __init__(
        self,
        shape: OneShape,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = NOT_TURNED,
        *,
        quat: QuatOrder = XYZW,
    ) -> None:
        if not isinstance(shape, OneShape):
            raise SceneError(f"Part.shape must be one shape, such as Sphere(0.1), got {text_of(shape)}")
        if isinstance(shape, Mesh) and shape.deforms:
            raise SceneError("Part.shape must not deform; a mesh that deforms must be the shape of a whole body")
        if shape.label is not None:
            raise SceneError(
                f"Part.shape must have no label, got {text_of(shape.label)}; give the label to the body: "
                "Compound(parts, label=...)"
            )
        set_field(self, "shape", shape)
        set_field(self, "position", vector("Part.position", position))
        turn = quaternion("Part.orientation", orientation, quat)
        # The default is no rotation in either order.
        set_field(self, "orientation", NOT_TURNED if orientation is NOT_TURNED else turn)


@named_arguments
@dataclass(frozen=True)
class Compound:
    """A body with several shapes, each at its own pose.

    Parts do not make snapshots larger: a snapshot has only the body's pose, and this pose moves all parts. A part
    whose shape has no colour has the body's own colour, or a colour of the palette if the body has no colour. A body's
    scale applies to the positions and the sizes of its parts. A column `scale3` scales the positions along the body's
    axes. Each part is then scaled along its own axes, by the body's factor in the direction of each axis. This scaling
    is exact for parts that are rotated by multiples of 90 degrees. For all other parts the scaling is approximate,
    because exact scaling shears them.

    Args:
        parts: The parts, in any number. They are stored as a tuple.
        label: Text beside the body, as in `Sphere`.

    Examples:
        ```python
        from twixt import Box, Compound, Part, Scene, Sphere

        lamp = Compound([Part(Box((0.4, 0.4, 0.1))), Part(Sphere(0.2), (0, 0, 1))], label="lamp")
        scene = Scene([lamp])
        ```
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
        """Radius of a sphere around the body's position that contains all parts, in metres.

        The radius is 0 if there are no parts.
        """
        return max((math.hypot(*part.position) + part.shape.reach for part in self.parts), default=0.0)


Shape = SimpleShape | Mesh | Compound
"""Type of all shapes of bodies: Sphere, Box, Plane, Capsule, Cylinder, Ellipsoid, Mesh and Compound."""
SHAPES: dict[str, type[SimpleShape]] = {
    "sphere": Sphere,
    "box": Box,
    "plane": Plane,
    "capsule": Capsule,
    "cylinder": Cylinder,
    "ellipsoid": Ellipsoid,
}
# The classes of all shapes.
KINDS = (*SHAPES.values(), Mesh, Compound)
# Colour of a shape that has a texture but no colour.
WHITE = (1.0, 1.0, 1.0)


def shapes_of(shape: Shape) -> tuple[Shape, ...]:
    """Returns the shapes of a body's parts. If the shape is no compound, returns the shape itself as the only part."""
    if not isinstance(shape, Compound) or not shape.parts:
        return (shape,)
    return tuple(part.shape for part in shape.parts)


def color_of(shape: Shape) -> Paint | None:
    """Returns a shape's colour; None if the palette gives it. For a compound, the colour of its first part."""
    if isinstance(shape, Compound):
        return color_of(shape.parts[0].shape) if shape.parts else None
    return shape.color or (WHITE if shape.material is not None and shape.material.texture is not None else None)


def rgba_of(paint: Paint) -> tuple[int, ...]:
    """Returns a colour as four numbers from 0 to 255: red, green, blue and alpha."""
    return tuple(round(channel * 255) for channel in (*paint, 1)[:4])
