"""The shapes a body can have: a handful of frozen values that are checked once, where they are made.

Always: a shape that exists can be drawn. Knows no bodies, no colours of a palette, no GPU.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from twixt.ipc.errors import TwixtError

Vector = tuple[float, float, float]
Color = tuple[float, float, float]  # red, green, blue, 0..1


class SceneError(TwixtError):
    """A scene that cannot be drawn: value, rule, way out."""


@dataclass(frozen=True)
class Sphere:
    """A ball of `radius` metres; painted in two tones, so that its spin is seen."""

    radius: float = 0.5
    color: Color | None = None  # None: a colour of the palette, by the body's index

    def __post_init__(self) -> None:
        require_positive("Sphere.radius", self.radius)
        require_color("Sphere.color", self.color)


@dataclass(frozen=True)
class Box:
    """A box with edges of `size` metres along its own x, y and z."""

    size: Vector = (1.0, 1.0, 1.0)
    color: Color | None = None

    def __post_init__(self) -> None:
        for length in three("Box.size", self.size):
            require_positive("Box.size", length)
        require_color("Box.color", self.color)


@dataclass(frozen=True)
class Plane:
    """A rectangle in the body's own xy plane, `size` metres wide, facing its z."""

    size: tuple[float, float] = (10.0, 10.0)
    color: Color | None = None

    def __post_init__(self) -> None:
        if len(self.size) != 2:
            raise SceneError(f"Plane.size must be two lengths (x, y), got {self.size!r}")
        for length in self.size:
            require_positive("Plane.size", length)
        require_color("Plane.color", self.color)


Shape = Sphere | Box | Plane
SHAPES: dict[str, type[Shape]] = {"sphere": Sphere, "box": Box, "plane": Plane}


def three(name: str, values: Sequence[float]) -> Sequence[float]:
    """`values`, if they are three finite numbers; SceneError otherwise."""
    if len(values) != 3 or not all(math.isfinite(value) for value in values):
        raise SceneError(f"{name} must be three finite numbers, got {values!r}")
    return values


def require_positive(name: str, value: float) -> None:
    """SceneError unless `value` is a length."""
    if not (math.isfinite(value) and value > 0):
        raise SceneError(f"{name} must be a finite length > 0 (metres), got {value!r}")


def require_color(name: str, color: Color | None) -> None:
    """SceneError unless `color` is None or three numbers from 0 to 1."""
    if color is None:
        return
    if len(color) != 3 or not all(0 <= channel <= 1 for channel in color):
        raise SceneError(f"{name} must be (red, green, blue), each from 0 to 1, got {color!r}")
