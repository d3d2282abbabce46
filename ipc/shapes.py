"""The shapes a body can have: a handful of frozen values that are checked once, where they are made.

Always: a shape that exists can be drawn, and its numbers are Python's own, whatever they were given as. Knows no bodies, no colours of a palette, no GPU.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

from twixt.ipc.errors import TwixtError

Vector = tuple[float, float, float]
Color = tuple[float, float, float]  # red, green, blue, 0..1
# Said of a whole number instead of its digits.
LARGE = "a larger whole number"


class SceneError(TwixtError):
    """A scene that cannot be drawn: value, rule, way out."""


@dataclass(frozen=True)
class Sphere:
    """A ball of `radius` metres; painted in two tones, so that its spin is seen. Under `scale3` an ellipsoid."""

    radius: float = 0.5
    color: Color | None = None  # None: a colour of the palette, by the body's index

    def __post_init__(self) -> None:
        set_field(self, "radius", lengths("Sphere.radius", self.radius, 1)[0])
        set_field(self, "color", color_or_none("Sphere.color", self.color))

    @property
    def reach(self) -> float:
        """How far it reaches from its body's position, metres."""
        return self.radius


@dataclass(frozen=True)
class Box:
    """A box with edges of `size` metres along its own x, y and z."""

    size: Vector = (1.0, 1.0, 1.0)
    color: Color | None = None

    def __post_init__(self) -> None:
        set_field(self, "size", lengths("Box.size", self.size, 3))
        set_field(self, "color", color_or_none("Box.color", self.color))

    @property
    def reach(self) -> float:
        """How far it reaches from its body's position, metres."""
        return math.hypot(*self.size) / 2


@dataclass(frozen=True)
class Plane:
    """A rectangle in the body's own xy plane, `size` metres wide, facing its z."""

    size: tuple[float, float] = (10.0, 10.0)
    color: Color | None = None

    def __post_init__(self) -> None:
        set_field(self, "size", lengths("Plane.size", self.size, 2))
        set_field(self, "color", color_or_none("Plane.color", self.color))

    @property
    def reach(self) -> float:
        """How far it reaches from its body's position, metres."""
        return math.hypot(*self.size) / 2


@dataclass(frozen=True)
class Capsule:
    """A cylinder with half a ball of its `radius` on each end; `length` of the straight part, along its own z, metres.

    Under a column `scale3` it stays round: the radius goes with the mean of x and y, the length with z.
    """

    radius: float = 0.25
    length: float = 1.0
    color: Color | None = None

    def __post_init__(self) -> None:
        set_field(self, "radius", lengths("Capsule.radius", self.radius, 1)[0])
        set_field(self, "length", lengths("Capsule.length", self.length, 1)[0])
        set_field(self, "color", color_or_none("Capsule.color", self.color))

    @property
    def reach(self) -> float:
        """How far it reaches from its body's position, metres."""
        return self.radius + self.length / 2


@dataclass(frozen=True)
class Cylinder:
    """A cylinder of `radius` around its own z, `length` metres from end to end. Under `scale3` as a `Capsule`."""

    radius: float = 0.5
    length: float = 1.0
    color: Color | None = None

    def __post_init__(self) -> None:
        set_field(self, "radius", lengths("Cylinder.radius", self.radius, 1)[0])
        set_field(self, "length", lengths("Cylinder.length", self.length, 1)[0])
        set_field(self, "color", color_or_none("Cylinder.color", self.color))

    @property
    def reach(self) -> float:
        """How far it reaches from its body's position, metres."""
        return math.hypot(self.radius, self.length / 2)


@dataclass(frozen=True)
class Ellipsoid:
    """A ball stretched to whole axes of `size` metres along its own x, y and z."""

    size: Vector = (1.0, 1.0, 1.0)
    color: Color | None = None

    def __post_init__(self) -> None:
        set_field(self, "size", lengths("Ellipsoid.size", self.size, 3))
        set_field(self, "color", color_or_none("Ellipsoid.color", self.color))

    @property
    def reach(self) -> float:
        """How far it reaches from its body's position, metres."""
        return max(self.size) / 2


Shape = Sphere | Box | Plane | Capsule | Cylinder | Ellipsoid
SHAPES: dict[str, type[Shape]] = {
    "sphere": Sphere,
    "box": Box,
    "plane": Plane,
    "capsule": Capsule,
    "cylinder": Cylinder,
    "ellipsoid": Ellipsoid,
}


def said(value: Any) -> str:
    """`value` as its author wrote it; of a whole number with more digits than Python will print, that it is one."""
    try:
        return repr(value)
    except ValueError:
        return LARGE


def number(name: str, value: Any) -> float:
    """`value` as a finite number of Python's own; SceneError if it is none."""
    found = _numbers(value) if isinstance(value, numbers.Real) else ()
    if not found or not math.isfinite(found[0]):
        got = LARGE if isinstance(value, int) else repr(value)
        raise SceneError(f"{name} must be a finite number, got {got}")
    return found[0]


def three(name: str, values: Any) -> Vector:
    """`values` as a tuple of three finite numbers; SceneError if they are none."""
    found = _numbers(values)
    if len(found) != 3 or not all(math.isfinite(value) for value in found):
        raise SceneError(f"{name} must be three finite numbers, got {said(values)}")
    return found[0], found[1], found[2]


def lengths(name: str, values: Any, count: int) -> tuple[float, ...]:
    """`values` as a tuple of so many lengths in metres; SceneError if they are none."""
    found = _numbers(values)
    if len(found) != count or not all(math.isfinite(value) and value > 0 for value in found):
        wanted = "a finite length" if count == 1 else f"{count} finite lengths"
        raise SceneError(f"{name} must be {wanted} > 0 (metres), got {said(values)}")
    return found


def color_or_none(name: str, color: Any) -> Color | None:
    """None, or `color` as a tuple of three numbers from 0 to 1; SceneError if it is neither."""
    if color is None:
        return None
    found = _numbers(color)
    if len(found) != 3 or not all(0 <= channel <= 1 for channel in found):
        raise SceneError(f"{name} must be (red, green, blue), each from 0 to 1, got {said(color)}")
    return found[0], found[1], found[2]


def set_field(instance: Any, name: str, value: Any) -> None:
    """A frozen value's field, brought to its own form while it is made."""
    object.__setattr__(instance, name, value)


def _numbers(values: Any) -> tuple[float, ...]:
    """The numbers in `values`, or that one number, as Python's own; nothing if any is no number."""
    try:
        found = (values,) if isinstance(values, numbers.Real) else tuple(values)
        return tuple(float(value) for value in found) if all(isinstance(value, numbers.Real) for value in found) else ()
    except (TypeError, OverflowError):  # nothing to count, or a whole number beyond what a float holds
        return ()
