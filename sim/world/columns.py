"""Columns of the user's own beside the bodies' records: named arrays with one row a body.

    bodies = Bodies(100, columns={"heat": Column("f4"), "scale3": Column("f4", 3), "frame": Column("i2", rule="none")})
    bodies.columns["heat"][:] = 0.5

Always: as many rows as bodies; a new body's row is zero (`scale3`, its scale along its own axes, one). A wrong
declaration raises where it is made. Blends nothing: the viewer does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.config.column_rules import SCALE3, is_rule, unknown_rule
from twixt.ipc.corrections import CORRECTED_NS, CORRECTION, NO_OFFSET
from twixt.ipc.errors import TwixtError
from twixt.ipc.ring import memory_budget
from twixt.ipc.ring.layout import COLUMN_DTYPES, MAX_COLUMN_WIDTH, MAX_COLUMNS, Layout
from twixt.ipc.scene import Scene
from twixt.ipc.snapshot import BODY

TAKEN_NAMES = (*(BODY.names or ()), "visible", CORRECTION, CORRECTED_NS)
# Two columns are reserved for corrections.
MOST_COLUMNS = MAX_COLUMNS - 2

Rule = str | Callable[[Any, Any, float], Any]


@dataclass(frozen=True)
class Column:
    """Declaration of a column: `width` values of `dtype` for each body, blended by `rule` between two snapshots.

    dtype: bool, or a number of 1 to 8 bytes, as numpy names it ("f4", np.int16 ...). rule: "linear"; "angle" (radians,
    the shorter way round); "none" (discrete: switches with the newer snapshot; "linear" means this for bools);
    "latest" (the newest published value at once); or a function (old, new, alpha), given itself or as module:function,
    called with all rows at once. Raises TwixtError for a type, width or rule that a viewer cannot receive.
    """

    dtype: Any
    width: int = 1
    rule: Rule = "linear"

    def __post_init__(self) -> None:
        try:
            kind = np.dtype(self.dtype).newbyteorder("<").str
        except (TypeError, ValueError, SyntaxError):
            kind = ""
        if kind not in COLUMN_DTYPES:
            raise TwixtError(f"Column(dtype) must be one of {', '.join(COLUMN_DTYPES)}, got {self.dtype!r}")
        width = self.width
        if not isinstance(width, int | np.integer) or isinstance(width, bool) or not 1 <= width <= MAX_COLUMN_WIDTH:
            raise TwixtError(f"Column(width) must be from 1 to {MAX_COLUMN_WIDTH} values per body, got {width!r}")
        object.__setattr__(self, "dtype", kind)
        object.__setattr__(self, "width", int(width))
        rule = _named_rule(self.rule)
        object.__setattr__(self, "rule", "none" if kind == "|b1" and rule == "linear" else rule)

    def rows(self, count: int) -> tuple[int, ...]:
        """The shape of the array of `count` bodies."""
        return (count,) if self.width == 1 else (count, self.width)


class Columns(Mapping[str, NDArray[Any]]):
    """Arrays of the `declared` columns, each (n,) or (n, width). Write into them, or assign to all rows.

    `make_room`, `resize`, `grow` and `begin` are called by the bodies that the rows belong to.
    """

    def __init__(self, declared: Mapping[str, Column], count: int) -> None:
        self.declared = dict(declared)
        self.layout = {name: (column.dtype, column.width) for name, column in declared.items()}  # as a `Host` takes it
        self._storage: dict[str, NDArray[Any]] = {}
        self._views: dict[str, NDArray[Any]] = {}
        self.make_room(count)
        self.resize(count)

    def __getitem__(self, name: str) -> NDArray[Any]:
        try:
            return self._views[name]
        except KeyError:
            known = ", ".join(self._views) or "none"
            raise KeyError(f"no column {name!r} was declared in Bodies(columns={{...}}); there are: {known}") from None

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        # `columns["heat"] += 1` writes through the view, then assigns that same view.
        if value is not self[name]:
            self[name][...] = value

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)

    def published(self) -> dict[str, NDArray[Any]]:
        """All columns, as views."""
        return self._views

    def make_room(self, capacity: int) -> None:
        """Allocates storage for `capacity` bodies; values are kept."""
        for name, column in self.declared.items():
            grown = np.full(column.rows(capacity), _initial(name), column.dtype)
            before = self._storage.get(name)
            if before is not None:
                grown[: len(before)] = before
            self._storage[name] = grown

    def grow(self, count: int) -> None:
        """Grows to at least `count` bodies; new rows have their initial values."""
        have = len(next(iter(self._storage.values()), ()))
        if self._storage and count > have:
            self.make_room(count)
            self.resize(count)

    def resize(self, count: int) -> None:
        """Sets the number of bodies to `count`."""
        self._views = {name: storage[:count] for name, storage in self._storage.items()}

    def begin(self, rows: Any) -> None:
        """Sets these rows to their initial values: their bodies are new."""
        for name, view in self._views.items():
            view[rows] = _initial(name)


def checked_columns(declared: Mapping[str, Column] | None) -> dict[str, Column]:
    """`declared` as a dict; raises TwixtError if a snapshot cannot carry it."""
    if not isinstance(declared, Mapping | None):
        raise TwixtError(f'columns must be declared as {{"heat": Column("f4")}}, got {declared!r}')
    columns = dict(declared or {})
    if len(columns) > MOST_COLUMNS:
        raise TwixtError(f"there must be at most {MOST_COLUMNS} columns, got {len(columns):,}; widen some instead")
    for name, column in columns.items():
        if not isinstance(column, Column):
            raise TwixtError(f'columns must be declared as {{"heat": Column("f4")}}, got {column!r} for {name!r}')
        if name in TAKEN_NAMES:
            raise TwixtError(f"a column must not be called {name!r}, which every body has; choose another name")
    Layout.for_bodies(0, {name: (column.dtype, column.width) for name, column in columns.items()})
    scale3 = columns.get(SCALE3)
    if scale3 is not None and (scale3.dtype, scale3.width) != ("<f4", 3):
        raise TwixtError(
            f'the column {SCALE3!r} is a body\'s scale along its own axes and must be Column("f4", 3), got {scale3}'
        )
    return columns


def require_bodies(count: int, declared: Mapping[str, Column]) -> None:
    """Raises TwixtError unless `count` bodies with these columns fit into memory, here and in the shared snapshots."""
    layout = {name: (column.dtype, column.width) for name, column in declared.items()}
    memory_budget.require_bodies(count, Layout.for_bodies(0, layout).bytes_per_body, layout)


def scene_with_columns(scene: Scene, declared: Mapping[str, Column]) -> Scene:
    """`scene` with the rules of the declared columns. Raises TwixtError if it names others."""
    for name in scene.columns:
        if name not in declared:
            raise TwixtError(f"Scene.columns must name declared columns ({_listed(declared)}), got {name!r}")
    if scene.color_by is not None:
        name = scene.color_by.column
        if name not in declared or declared[name].width != 1:
            ones = [key for key, column in declared.items() if column.width == 1]
            raise TwixtError(
                f"Scene.color_by must name a declared column of one value per body ({_listed(ones)}), got {name!r}; "
                f'declare it, such as columns={{"heat": Column("f4")}}'
            )
    rules = {name: str(column.rule) for name, column in declared.items()}
    return scene if scene.columns == rules else replace(scene, columns=rules)


def _listed(names: Iterable[str]) -> str:
    return f"there are {', '.join(names)}" if names else "there are none"


def _initial(name: str) -> Any:
    if name == CORRECTION:
        return NO_OFFSET
    return 1 if name == SCALE3 else 0


def _named_rule(rule: Any) -> str:
    if not callable(rule):
        if not is_rule(rule):
            raise TwixtError(unknown_rule("...", rule))
        return str(rule)
    module, name = getattr(rule, "__module__", None), getattr(rule, "__qualname__", "")
    there = getattr(sys.modules.get(module or ""), name, None) is rule
    if module == "__main__" and there:
        raise TwixtError(
            f"the rule {name} is defined in the script itself, where a viewer cannot import it; "
            "put it in a module of its own beside the script"
        )
    if not there:
        raise TwixtError(
            f"a rule must be a function that a viewer can import, defined at the top of a module, got {rule!r}; "
            "lambdas, methods and functions inside functions are not"
        )
    return f"{module}:{name}"
