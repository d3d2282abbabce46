"""`ShapeList` has a table of the distinct shapes of a scene, and one index per body.

A world of a million bodies usually has a few shapes, and most bodies share the same shape object. So bodies are first
grouped by the identity of their shape object. Shapes are then compared only one time for each distinct object.

Always: equal shapes share one row of the table. Rows are in the order of their first bodies. A table never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from operator import attrgetter, eq
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import text_of
from twixt.ipc.scene.checks import SceneError, items
from twixt.ipc.scene.shapes import KINDS, Shape

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
        """Returns the index in `table` of the shape of each of `count` bodies, as an array of shape (count,). If there
        are more bodies than shapes, the other bodies have the last shape."""
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
