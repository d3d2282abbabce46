"""The scene: what does not change with every step. Shapes and colours of the bodies, camera, ground, light.

Published once, again with a new version when it changes, and readable by a viewer that attaches late.
Shapes are kept as a table of the distinct ones and one index a body, so that a scene of many equal
bodies stays small on its way to a viewer (`to_bytes`, `from_bytes`: JSON, then the raw indices).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError

Vector = tuple[float, float, float]
Color = tuple[float, float, float]  # red, green, blue, 0..1

FORMAT = 1
# Distinct shapes of one scene. A shape is a row of a small table, not a mesh of its own per body.
MAX_DISTINCT_SHAPES = 65_535


class SceneError(TwixtError):
    """A scene that cannot be drawn: value, rule, way out."""


@dataclass(frozen=True)
class Sphere:
    """A ball of `radius` metres; painted in two tones, so that its spin is seen."""

    radius: float = 0.5
    color: Color | None = None  # None: a colour of the palette, by the body's index

    def __post_init__(self) -> None:
        _require_positive("Sphere.radius", self.radius)
        _require_color("Sphere.color", self.color)


@dataclass(frozen=True)
class Box:
    """A box with edges of `size` metres along its own x, y and z."""

    size: Vector = (1.0, 1.0, 1.0)
    color: Color | None = None

    def __post_init__(self) -> None:
        for length in _three("Box.size", self.size):
            _require_positive("Box.size", length)
        _require_color("Box.color", self.color)


@dataclass(frozen=True)
class Plane:
    """A rectangle in the body's own xy plane, `size` metres wide, facing its z."""

    size: tuple[float, float] = (10.0, 10.0)
    color: Color | None = None

    def __post_init__(self) -> None:
        if len(self.size) != 2:
            raise SceneError(f"Plane.size must be two lengths (x, y), got {self.size!r}")
        for length in self.size:
            _require_positive("Plane.size", length)
        _require_color("Plane.color", self.color)


Shape = Sphere | Box | Plane
SHAPES: dict[str, type[Shape]] = {"sphere": Sphere, "box": Box, "plane": Plane}


@dataclass(frozen=True)
class Camera:
    """A perspective camera at `eye`, looking at `target`, z up. Metres and degrees."""

    eye: Vector = (6.0, -8.0, 5.0)
    target: Vector = (0.0, 0.0, 0.0)
    fov_y_deg: float = 45.0

    def __post_init__(self) -> None:
        eye, target = _three("Camera.eye", self.eye), _three("Camera.target", self.target)
        if math.dist(eye, target) == 0:
            raise SceneError(f"Camera.eye and Camera.target must differ, got {self.eye!r} for both")
        if not 1 <= self.fov_y_deg <= 170:
            raise SceneError(f"Camera.fov_y_deg must be from 1 to 170, got {self.fov_y_deg!r}")


@dataclass(frozen=True, eq=False)
class Scene:
    """What a viewer needs to know once.

    shapes: one per body, in the bodies' order; bodies beyond the last shape use that last one.
    camera: None frames all bodies. ground: height (z, metres) of a grid of lines, None for none.
    outline: two corners of a box drawn as thin lines, such as a container's walls; None for none.
    """

    shapes: Sequence[Shape] = ()
    camera: Camera | None = None
    ground: float | None = 0.0
    outline: tuple[Vector, Vector] | None = None
    background: Color = (0.17, 0.18, 0.20)
    light: Vector = (0.3, -0.6, 0.8)  # direction towards the light
    unlit: bool = False  # every shape in its plain colour, without light, pattern and shadow: for measuring pixels
    distinct_shapes: tuple[Shape, ...] = field(init=False, default=())
    shape_index: NDArray[np.uint16] = field(init=False, repr=False, default_factory=lambda: np.zeros(0, np.uint16))

    def __post_init__(self) -> None:
        table: dict[Shape, int] = {}
        index = np.empty(len(self.shapes), np.uint16)
        for body, shape in enumerate(self.shapes):
            if not isinstance(shape, Sphere | Box | Plane):
                raise SceneError(f"Scene shapes must be Sphere, Box or Plane, got {shape!r} for body {body}")
            row = table.setdefault(shape, len(table))
            if row > MAX_DISTINCT_SHAPES:
                raise SceneError(
                    f"a scene holds at most {MAX_DISTINCT_SHAPES} distinct shapes; "
                    "share shapes between bodies and vary their `scale` and `color`"
                )
            index[body] = row
        _require_color("Scene.background", self.background)
        if not any(_three("Scene.light", self.light)):
            raise SceneError("Scene.light must not be the zero vector; it points towards the light")
        object.__setattr__(self, "distinct_shapes", tuple(table))
        object.__setattr__(self, "shape_index", index)

    def to_bytes(self) -> bytes:
        """The scene as a viewer receives it."""
        head = {
            "format": FORMAT,
            "shapes": [{"kind": type(shape).__name__.lower(), **asdict(shape)} for shape in self.distinct_shapes],
            "camera": None if self.camera is None else asdict(self.camera),
            "ground": self.ground,
            "outline": self.outline,
            "background": self.background,
            "light": self.light,
            "unlit": self.unlit,
            "bodies": len(self.shape_index),
        }
        return json.dumps(head).encode() + b"\n" + self.shape_index.astype("<u2").tobytes()

    @staticmethod
    def from_bytes(packed: bytes) -> Scene:
        """The scene of `to_bytes`. Raises SceneError for anything else."""
        try:
            head_bytes, _, index_bytes = packed.partition(b"\n")
            head = json.loads(head_bytes)
            if head["format"] != FORMAT:
                raise SceneError(f"this viewer reads scenes of format {FORMAT}, got format {head['format']!r}")
            table = [_shape_of(entry) for entry in head["shapes"]]
            index = np.frombuffer(index_bytes, "<u2")
            if len(index) != head["bodies"]:
                raise SceneError(f"a scene of {head['bodies']!r} bodies came with {len(index)} shape indices")
            return Scene(
                shapes=[table[row] for row in index],
                camera=None if head["camera"] is None else Camera(**_tuples(head["camera"])),
                ground=head["ground"],
                outline=_corners(head["outline"]),
                background=tuple(head["background"]),
                light=tuple(head["light"]),
                unlit=head["unlit"],
            )
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise SceneError(f"the scene received is damaged ({error}); restart the simulation") from error

    def shape_rows(self, count: int) -> NDArray[np.uint16]:
        """For each of `count` bodies the row of `distinct_shapes` that draws it, shape (count,)."""
        rows = np.zeros(count, np.uint16)
        known = min(count, len(self.shape_index))
        rows[:known] = self.shape_index[:known]
        if known and count > known:
            rows[known:] = self.shape_index[-1]
        return rows


def _shape_of(entry: dict[str, Any]) -> Shape:
    kind = SHAPES[entry["kind"]]
    known = {f.name for f in fields(kind)}
    return kind(**_tuples({name: value for name, value in entry.items() if name in known}))


def _corners(outline: list[list[float]] | None) -> tuple[Vector, Vector] | None:
    if outline is None:
        return None
    low, high = ((float(x), float(y), float(z)) for x, y, z in outline)
    return low, high


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def _three(name: str, values: Sequence[float]) -> Sequence[float]:
    if len(values) != 3 or not all(math.isfinite(value) for value in values):
        raise SceneError(f"{name} must be three finite numbers, got {values!r}")
    return values


def _require_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise SceneError(f"{name} must be a finite length > 0 (metres), got {value!r}")


def _require_color(name: str, color: Color | None) -> None:
    if color is None:
        return
    if len(color) != 3 or not all(0 <= channel <= 1 for channel in color):
        raise SceneError(f"{name} must be (red, green, blue), each from 0 to 1, got {color!r}")
