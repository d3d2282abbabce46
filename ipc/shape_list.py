"""One shape a body, kept as a table of the distinct ones and an index a body.

The one idea: scenes of a million bodies share a few shapes, mostly one and the same object; so bodies are told
apart by what object they have before any two shapes are compared, and what was told apart once is never again.

Always: shapes that are equal have one row of the table, in the order in which they first come. Never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from operator import attrgetter, eq
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.shapes import SHAPES, SceneError, Shape

KINDS = tuple(SHAPES.values())
# Distinct shapes of one scene. A shape is a row of a small table, not a mesh of its own per body.
MAX_DISTINCT_SHAPES = 65_535
# More runs of one object than this share of the bodies, and working run by run takes longer than body by body.
SHORT_RUNS = 0.25


class ShapeList(Sequence[Shape]):
    """Reads like a list of one shape a body. table: the distinct shapes. rows: u2, shape (bodies,), which of them."""

    __slots__ = ("rows", "table")

    def __init__(self, table: tuple[Shape, ...], rows: NDArray[np.uint16]) -> None:
        self.table, self.rows = table, rows

    @staticmethod
    def of(shapes: Any) -> ShapeList:
        """What was given as `Scene.shapes`. Raises SceneError for what is no shapes, or too many distinct ones."""
        if isinstance(shapes, ShapeList):
            return shapes
        if isinstance(shapes, (str, *KINDS)) or not isinstance(shapes, Iterable):
            raise SceneError(f"Scene.shapes must be one shape per body, such as [Sphere()] * 3, got {shapes!r}")
        listed = shapes if isinstance(shapes, list) else list(shapes)
        objects = np.fromiter(map(id, listed), np.uint64, len(listed))
        begins = np.flatnonzero(np.diff(objects, prepend=~objects[:1]))
        if len(begins) > SHORT_RUNS * len(listed):
            rows, table = _rows(listed, listed)
            return ShapeList(table, rows)
        rows, table = _rows([listed[body] for body in begins.tolist()], listed)
        return ShapeList(table, np.repeat(rows, np.diff(begins, append=len(listed))))

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

    __hash__ = None  # type: ignore[assignment]  # as a list's

    def __repr__(self) -> str:
        return repr(list(self))


def _rows(heads: list[Any], listed: list[Any]) -> tuple[NDArray[np.uint16], tuple[Shape, ...]]:
    """For each of `heads` the row of a table, and that table. listed: all bodies', to say whose shape is none."""
    objects = dict(zip(map(id, heads), heads, strict=True))
    told_by: dict[type, Callable[[Any], object]] = {}
    row_of_told: dict[object, int] = {}
    row_of_object: dict[int, int] = {}
    table: list[Shape] = []
    for key, shape in objects.items():
        told = told_by.get(type(shape))
        if told is None:
            if not isinstance(shape, KINDS):
                body = next(body for body, other in enumerate(listed) if other is shape)
                names = ", ".join(kind.__name__ for kind in KINDS)
                raise SceneError(f"Scene shapes must be one of {names}, got {shape!r} for body {body}")
            # What a shape is equal by, in a third of the time that its own hash and comparison take.
            told = told_by[type(shape)] = attrgetter("__class__", *(field.name for field in fields(shape)))
        row_of_object[key] = row = row_of_told.setdefault(told(shape), len(table))
        if row == len(table):
            table.append(shape)
        if row >= MAX_DISTINCT_SHAPES:
            raise SceneError(
                f"a scene holds at most {MAX_DISTINCT_SHAPES} distinct shapes; "
                "share shapes between bodies and vary their `scale` and `color`"
            )
    rows = np.fromiter(map(row_of_object.__getitem__, map(id, heads)), np.uint16, len(heads))
    return rows, tuple(table)
