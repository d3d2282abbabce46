"""Adapter of a user's method, `module:Class`: calls it, checks its results, and names it in errors.

The class needs add(snapshot), sample(draw_time_ns) and reset(). A snapshot with the `sim_time_ns` of an earlier one
replaces it. The result of sample needs `position` (n, 3) and `orientation` (n, 4); `scale` (n,), `color` (n, 4),
`visible` (n,), `columns` and `draw_time_ns` may be left out: they are then those of the snapshot at or before the draw
time. The class may have `reach_ns`, the time for which it draws beyond the newest snapshot; without a `draw_time_ns`
in the result, the requested time counts as drawn there.

Always: poses that come out have the shapes and types of `Poses`, unit orientations, and hide bodies that are not
finite.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import Snapshot
from twixt.render.interpolation.blending import array_of, call_users, find
from twixt.render.interpolation.method import Method, Nearest
from twixt.render.interpolation.poses import FARTHEST, Poses, no_poses
from twixt.render.interpolation.quaternion import normalized

VERBS = ("add", "sample", "reset")


class UserMethod(Method):
    """The user's method with the interface of `Method`. Raises TwixtError for every fault of the user's class.

    named_by: name of the setting that refers to it, such as a flag.
    """

    def __init__(self, reference: str, named_by: str = "interpolation") -> None:
        super().__init__()
        self._name = reference
        kind = find(reference, named_by, "my_methods:Springy", "class {name}, with add, sample and reset")
        if not isinstance(kind, type):
            raise TwixtError(f"{named_by}: {reference} must be a class with {', '.join(VERBS)}, got {kind!r}")
        missing = [verb for verb in VERBS if not callable(getattr(kind, verb, None))]
        if missing:
            raise TwixtError(
                f"{named_by}: {reference} has no {' and no '.join(missing)}; a method needs add(snapshot), "
                "sample(draw_time_ns) and reset()"
            )
        self._users = call_users(f"{reference}.__init__", kind)
        reach_ns = getattr(self._users, "reach_ns", 0)
        if not isinstance(reach_ns, int) or reach_ns < 0:
            raise TwixtError(f"{reference}.reach_ns must be whole nanoseconds >= 0, got {reach_ns!r}")
        self.reach_ns = reach_ns
        self._published = Nearest()

    def add(self, snapshot: Snapshot) -> None:
        if self.take(snapshot) is not None:
            self._published.add(snapshot)
            call_users(f"{self._name}.add", self._users.add, snapshot)

    def reset(self) -> None:
        super().reset()
        self._published.reset()
        call_users(f"{self._name}.reset", self._users.reset)

    def sample(self, draw_time_ns: int) -> Poses:
        if not self._snapshots:
            return no_poses()
        for method in (self._published, self._users):
            if isinstance(method, Method) and method.rules != self.rules:
                method.rules = self.rules
        answer = call_users(f"{self._name}.sample", self._users.sample, draw_time_ns)
        published = self._published.sample(draw_time_ns)
        position = self._array(answer, "position", (None, 3))
        count = len(position)
        orientation = self._array(answer, "orientation", (count, 4))
        scale = self._array(answer, "scale", (count,), _rows(published.scale, count, 1.0))
        color = self._array(answer, "color", (count, 4), _rows(published.color, count, 255))
        visible = self._array(answer, "visible", (count,), _rows(published.visible, count, True))
        with np.errstate(over="ignore", invalid="ignore"):
            position, scale = position.astype(np.float64), scale.astype(np.float32)
            drawable = (np.abs(position) < FARTHEST).all(axis=1) & np.isfinite(scale)
            drawable &= np.isfinite(orientation.astype(np.float64)).all(axis=1)
            color = np.clip(np.nan_to_num(color), 0, 255).astype(np.uint8)
        visible = visible.astype(bool)
        return Poses(
            self._draw_time_of(answer, draw_time_ns),
            position=position,
            orientation=normalized(orientation).astype(np.float32),
            scale=scale,
            color=color,
            visible=visible & drawable,
            columns=self._columns_of(answer) or published.columns,
            not_finite=int(np.count_nonzero(visible & ~drawable)),
            epoch=_rows(published.epoch, count, 0),
            drawable=drawable,
            part_columns=published.part_columns,
            world_columns=published.world_columns,
        )

    def _draw_time_of(self, answer: Any, asked_ns: int) -> int:
        held_ns = min(max(asked_ns, self._times[0]), self._times[-1] + self.reach_ns)
        draw_time_ns = self._field(answer, "draw_time_ns", held_ns)
        if not isinstance(draw_time_ns, int | np.integer):
            rule = f"{self._name}.sample must return poses with draw_time_ns in whole nanoseconds"
            raise TwixtError(f"{rule}, got {draw_time_ns!r}")
        return int(draw_time_ns)

    def _columns_of(self, answer: Any) -> dict[str, NDArray[Any]]:
        columns = self._field(answer, "columns", None)
        rule = f"{self._name}.sample must return poses with columns as arrays by name"
        if columns is None:
            return {}
        if not isinstance(columns, Mapping) or not all(isinstance(name, str) for name in columns):
            raise TwixtError(f"{rule}, got {type(columns).__name__}")
        arrays = {name: array_of(values, f"{rule}; of {name!r}") for name, values in columns.items()}
        for name, array in arrays.items():
            if not array.ndim:
                raise TwixtError(f"{rule}, a row for each body, got {array.tolist()!r} for {name!r}")
        return arrays

    def _field(self, answer: Any, name: str, default: Any) -> Any:
        return call_users(f"{self._name}.sample's {name}", getattr, answer, name, default)

    def _array(
        self, answer: Any, field: str, shape: tuple[int | None, ...], default: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        value = self._field(answer, field, default)
        if value is None:
            value = default
        rule = f"{self._name}.sample must return poses with {field} {_shape_text(shape)}"
        if value is None:
            raise TwixtError(f"{rule}, got {type(answer).__name__} without it")
        array = array_of(value, f"{rule}, of numbers")
        if array.dtype.kind not in "fiub":
            raise TwixtError(f"{rule}, of numbers, got {array.dtype}")
        if array.ndim != len(shape) or any(w not in (None, h) for w, h in zip(shape, array.shape, strict=True)):
            raise TwixtError(f"{rule}, got {_shape_text(array.shape)}")
        return array.copy()


def _rows(published: NDArray[Any], count: int, more: Any) -> NDArray[Any]:
    """`count` rows: the published ones, and `more` beyond them."""
    rows = np.full((count, *published.shape[1:]), more, published.dtype)
    both = min(count, len(published))
    rows[:both] = published[:both]
    return rows


def _shape_text(shape: tuple[int | None, ...]) -> str:
    return (
        "(" + ", ".join("n" if size is None else str(size) for size in shape) + ("," if len(shape) == 1 else "") + ")"
    )
