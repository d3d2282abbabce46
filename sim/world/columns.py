"""Columns that users define: named arrays with one row per body, one per part of a body, or one for the world.

    robot = Bodies(1, columns={"color": Column("u1", 4, per="part")}, scene=scene)
    robot.columns["color"][2] = 1, 0, 0  # the scene's third part becomes red

Always: a column has one row per body, one row per part of the bodies, or a single row. New rows are zero, except that
`scale3` starts at one, and the part columns `color` and `visible` start with the scene's values.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.config.rules import COLOR, DRAWN_PARTS, SCALE3, VISIBLE_PARTS, is_rule, unknown_rule
from twixt.ipc.errors import InvalidType, InvalidValue, named_arguments, near_name, refusal, text_of
from twixt.ipc.ring import budget
from twixt.ipc.ring.layout import (
    BODY_ROWS,
    COLUMN_DTYPES,
    MAX_COLUMN_WIDTH,
    MAX_COLUMNS,
    PART_ROWS,
    PERS,
    WORLD_ROW,
    ColumnForm,
    Layout,
)
from twixt.ipc.scene import Scene
from twixt.ipc.scene.parts import part_colors
from twixt.ipc.scene.scene import part_bodies
from twixt.ipc.snapshot import BODY, CORRECTED_NS, CORRECTION, NO_OFFSET
from twixt.sim.array_arguments import array_of, array_refusal, kind_of
from twixt.sim.world.body_parts import BodyParts, parts_for
from twixt.sim.world.colors import ColorRows, part_colors_of

TAKEN_NAMES = (*(BODY.names or ()), "visible", CORRECTION, CORRECTED_NS)
# Two columns of a snapshot are reserved for corrections.
MOST_COLUMNS = MAX_COLUMNS - 2
# For each type letter of numpy: the kinds of values that such a column accepts, and what errors call them.
KINDS_FOR = {"f": ("fiu", "numbers"), "i": ("iu", "whole numbers"), "u": ("iu", "whole numbers"), "b": ("b", "bools")}

Rule = str | Callable[[Any, Any, float], Any]


@named_arguments
@dataclass(frozen=True)
class Column:
    """Declaration of a column: its type, its width, and how viewers blend it between snapshots.

    Part columns with these names replace the values of the scene: `color` (4 x "u1" or "f4", written as
    `Bodies.color`), `scale3` (3 x f4) and `visible` (bool or "u1", never blended).

    Args:
        dtype: bool, or a numpy number type of 1 to 8 bytes ("f4", np.int16 ...).
        width: Number of values per row, >= 1.
        rule: "linear" blends numbers linearly, and changes bools at the newer snapshot. "angle" blends radians along
            the shorter arc. "none" changes the value at the newer snapshot. "latest" shows the newest published value
            at once. A function (old, new, alpha), or its name module:function, is called with all rows at once.
        per: "body" for one row per body. "part" for one row per part of the bodies (see `Scene.part_bodies`). "world"
            for a single row.

    Attributes:
        dtype: Type of the values, as numpy writes it: "<f4".
        width: Number of values per row.
        rule: Name of the rule. A function is named module:function.
        per: "body", "part" or "world".

    Raises:
        TwixtError: A viewer cannot receive the type, the width or the rule.

    Examples:
        ```python
        from twixt import Bodies, Column

        bodies = Bodies(100, columns={"heat": Column("f4"), "frame": Column("i2", rule="none")})
        bodies.columns["heat"][:] = 0.5
        ```
    """

    dtype: Any
    width: int = 1
    rule: Rule = "linear"
    per: str = BODY_ROWS

    def __post_init__(self) -> None:
        try:
            kind = np.dtype(self.dtype).newbyteorder("<").str
        except (TypeError, ValueError, SyntaxError):
            kind = ""
        if kind not in COLUMN_DTYPES:
            raise InvalidValue(f"Column(dtype) must be one of {', '.join(COLUMN_DTYPES)}, got {text_of(self.dtype)}")
        width = self.width
        if not isinstance(width, int | np.integer) or isinstance(width, bool) or not 1 <= width <= MAX_COLUMN_WIDTH:
            raise refusal(width, int, np.integer)(
                f"Column(width) must be from 1 to {MAX_COLUMN_WIDTH} values per body, got {text_of(width)}"
            )
        object.__setattr__(self, "dtype", kind)
        object.__setattr__(self, "width", int(width))
        rule = _named_rule(self.rule)
        object.__setattr__(self, "rule", "none" if kind == "|b1" and rule == "linear" else rule)
        if not isinstance(self.per, str) or self.per not in PERS:
            raise refusal(self.per, str)(f"Column(per) must be one of {', '.join(PERS)}, got {text_of(self.per)}")

    def _rows(self, count: int) -> tuple[int, ...]:
        """The shape of an array of `count` rows."""
        return (count,) if self.width == 1 else (count, self.width)

    def _converted(self, field: str, value: ArrayLike, count: int) -> NDArray[Any]:
        """`value` as `count` rows of the declared type. A single row is repeated. Values that are not finite are
        accepted. Raises TwixtError for wrong shapes, types and ranges."""
        array, shape, kind = array_of(field, value), self._rows(count), np.dtype(self.dtype)
        takes, called = KINDS_FOR[kind.kind]
        if array.dtype.kind not in takes or array.shape not in (shape, shape[1:]):
            each = "" if self.per == BODY_ROWS else f" (a row per {self.per})"
            raise array_refusal(array, takes)(
                f"{field} must be {called} of shape {shape}{each}, or one row for all, got {kind_of(array)}"
            )
        if kind.kind in "iu" and array.size:
            least, most = np.iinfo(kind).min, np.iinfo(kind).max
            if array.min() < least or array.max() > most:
                raise InvalidValue(
                    f"{field} holds whole numbers from {least} to {most}, got values from {array.min()} "
                    f"to {array.max()}; declare a larger type"
                )
        # A number that is too large becomes infinite, whatever errstate the user has set.
        with np.errstate(over="ignore"):
            return np.full(shape, array, kind)

    @property
    def _form(self) -> ColumnForm:
        """Type and width of the column and what its rows are for, in the form that a `Host` takes."""
        return (self.dtype, self.width) if self.per == BODY_ROWS else (self.dtype, self.width, self.per)


class Columns(Mapping[str, NDArray[Any]]):
    """The columns of bodies: a mapping from the name of a column to its array, (n,) or (n, width).

    Write into an array, or assign all its rows: `columns["heat"] = values`. `Bodies.columns` and `View.add_columns`
    return it.

    Attributes:
        declared: The declarations of the columns, by name.
    """

    declared: dict[str, Column]

    # Part columns need the scene of the bodies.
    def __init__(self, declared: Mapping[str, Column], count: int, scene: Scene | None = None) -> None:
        self.declared = dict(declared)
        self._layout = {name: column._form for name, column in declared.items()}  # form of each column, for a `Host`
        self._storage: dict[str, NDArray[Any]] = {}
        self._views: dict[str, NDArray[Any]] = {}
        self._parts = _parts_of(declared, scene)
        self._room = self._count = 0  # numbers of bodies: with storage, and present
        self._resize(count)

    def __getitem__(self, name: str) -> NDArray[Any]:
        try:
            return ColorRows(f"columns[{name!r}]", self._views[name]).view() if name == COLOR else self._views[name]
        except KeyError:
            known = ", ".join(self._views) or "none"
            raise KeyError(f"no column {name!r} was declared in Bodies(columns={{...}}); there are: {known}") from None

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        # `columns["heat"] += 1` first writes through the view, then assigns that same view.
        if value is not self[name]:
            self[name][...] = value

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)

    def _rows_of(self, name: str, count: int) -> int:
        per = self.declared[name].per
        return count if per == BODY_ROWS else self._part_count(count) if per == PART_ROWS else 1

    def _part_count(self, count: int) -> int:
        """Number of parts of the first `count` bodies. It is 0 if no column has one row per part."""
        return 0 if self._parts is None else self._parts.count(count)

    def _published(self, count: int | None = None) -> dict[str, NDArray[Any]]:
        """All columns as views, each with the rows of the first `count` bodies. A `count` of None means all bodies."""
        if count is None or count == self._count:
            return self._views
        return {name: storage[: self._rows_of(name, count)] for name, storage in self._storage.items()}

    def _converted(self, passed: Mapping[str, ArrayLike], count: int) -> dict[str, NDArray[Any]]:
        """Values that are passed to `publish` for `count` bodies, in the columns' declared types. Raises TwixtError."""
        if not isinstance(passed, Mapping):
            raise InvalidType(f'publish takes columns by name, such as {{"heat": values}}, got {type(passed).__name__}')
        declared = self.declared
        for name in passed:
            if name not in declared:
                near, declares = near_name(str(name), [*declared]), "show(columns={...}) declares them, and "
                hint = f"did you mean {near!r}?" if near else declares + _listed(declared)
                raise InvalidValue(f"publish has no column {name!r}; {hint}")
        return {
            name: declared[name]._converted(f"column {name!r}", value, self._rows_of(name, count))
            if name != COLOR
            else part_colors_of(f"column {name!r}", value, self._rows_of(name, count), declared[name].dtype)
            for name, value in passed.items()
        }

    def _write(self, values: Mapping[str, NDArray[Any]], bodies: Any = None) -> None:
        """Copies values from `_converted` into the rows of `bodies`, or into the first rows if `bodies` is None."""
        for name, rows in values.items():
            is_selection = bodies is not None and self.declared[name].per == BODY_ROWS
            self._views[name][bodies if is_selection else slice(len(rows))] = rows

    def _resize(self, count: int, room: int | None = None) -> None:
        """Sets the number of bodies. New rows get their initial values. room: number of bodies for which there is
        storage; by default the storage grows only if needed."""
        if room is None:
            room = max(count, self._room)
        for name, column in self.declared.items():
            before = self._storage.get(name)
            if before is None or room != self._room:
                grown = self._initial_rows(name, room)
                if before is not None:
                    kept = min(len(before), len(grown))
                    grown[:kept] = before[:kept]
                self._storage[name] = grown.astype(column.dtype, copy=False)
        self._room, self._count = room, count
        self._views = {name: storage[: self._rows_of(name, count)] for name, storage in self._storage.items()}

    def _begin(self, rows: Any) -> None:
        """Sets the rows of new bodies, and of their parts, to their initial values."""
        for name, view in self._views.items():
            if self.declared[name].per == BODY_ROWS:
                view[rows] = _initial(name)
            elif self._parts is not None and self.declared[name].per == PART_ROWS:
                own = np.isin(self._parts.bodies(self._count), np.atleast_1d(np.arange(self._count)[rows]))
                view[own] = self._initial_rows(name, self._count)[own]

    def _with_more(self, more: Mapping[str, Column]) -> dict[str, Column]:
        """The declared columns and `more`. Raises TwixtError if one is invalid or already declared differently."""
        added = checked_columns(more)
        for name, column in added.items():
            before = self.declared.get(name, column)
            if before != column:
                raise InvalidValue(f"the column {name!r} is declared as {before}, got {column}; choose another name")
        return checked_columns({**self.declared, **added})

    def _declare(self, declared: dict[str, Column], scene: Scene) -> None:
        """Replaces the declaration by `declared`, the result of `_with_more`. Existing columns keep their values.
        scene: the scene of the bodies. Raises TwixtError."""
        parts = _parts_of(declared, scene) if self._parts is None else self._parts
        require_bodies(self._room, declared)
        self.declared, self._parts = declared, parts
        self._layout = {name: column._form for name, column in declared.items()}
        self._resize(self._count)

    def _is_for(self, scene: Scene) -> bool:
        """True if each part column has one row for each part of this scene, or if there are no part columns."""
        parts = self._parts
        return parts is None or np.array_equal(parts.bodies(self._count), part_bodies(scene, self._count))

    def _set_scene(self, scene: Scene) -> None:
        """Sets the scene. If its bodies have other parts, the part columns are reset to their initial values."""
        if self._parts is None or self._is_for(scene):
            return
        self._parts = _parts_of(self.declared, scene)
        for name, column in self.declared.items():
            if column.per == PART_ROWS:
                self._storage[name] = self._initial_rows(name, self._room)
        self._resize(self._count)

    def _initial_rows(self, name: str, count: int) -> NDArray[Any]:
        column = self.declared[name]
        rows = np.full(column._rows(self._rows_of(name, count)), _initial(name), column.dtype)
        if self._parts is not None and column.per == PART_ROWS:
            if name == COLOR:
                colors = part_colors(self._parts.scene, count)
                rows[:] = colors if rows.dtype.kind == "u" else colors / 255
            elif name == VISIBLE_PARTS:
                rows[:] = 1
        return rows


def _parts_of(declared: Mapping[str, Column], scene: Scene | None) -> BodyParts | None:
    return parts_for([name for name, column in declared.items() if column.per == PART_ROWS], scene)


def checked_columns(declared: Mapping[str, Column] | None) -> dict[str, Column]:
    """`declared` as a dict. Raises TwixtError for a column that a snapshot cannot carry."""
    if not isinstance(declared, Mapping | None):
        raise InvalidType(f'columns must be declared as {{"heat": Column("f4")}}, got {text_of(declared)}')
    columns = dict(declared or {})
    if len(columns) > MOST_COLUMNS:
        raise InvalidValue(
            f"there must be at most {MOST_COLUMNS} columns, got {len(columns):,}; use wider columns instead"
        )
    for name, column in columns.items():
        if not isinstance(column, Column):
            raise InvalidType(
                f'columns must be declared as {{"heat": Column("f4")}}, got {text_of(column)} for {name!r}'
            )
        if name in TAKEN_NAMES and not (name in DRAWN_PARTS and column.per == PART_ROWS):
            way_out = ', or give it per="part": Column(..., per="part")' if name in DRAWN_PARTS else ""
            raise InvalidValue(
                f"a column must not be called {name!r}, which every body has; choose another name{way_out}"
            )
    Layout.for_bodies(0, {name: column._form for name, column in columns.items()})
    scale3 = columns.get(SCALE3)
    if scale3 is not None and (scale3.dtype, scale3.width, scale3.per == WORLD_ROW) != ("<f4", 3, False):
        raise InvalidValue(
            f"the column {SCALE3!r} is a scale along own axes, of bodies or parts, and must be "
            f'Column("f4", 3), got {scale3}'
        )
    _check_drawn_parts(columns)
    return columns


def _check_drawn_parts(columns: dict[str, Column]) -> None:
    """Raises TwixtError for a drawn part column whose type cannot be drawn. Sets the rule of `visible` to "none"."""
    color, visible = columns.get(COLOR), columns.get(VISIBLE_PARTS)
    if color is not None and not (color.dtype in ("|u1", "<f4") and color.width == 4):
        raise InvalidValue(
            'the part column "color" must be Column("u1", 4, per="part"), stored as bytes, or '
            f'Column("f4", 4, per="part"), stored as numbers from 0 to 1, got {color}'
        )
    if visible is None:
        return
    if not (visible.dtype in ("|b1", "|u1") and visible.width == 1 and visible.rule in ("none", "linear")):
        raise InvalidValue(
            'the part column "visible" must be Column("bool", per="part") or Column("u1", per="part"), without a rule, '
            f"since it is never blended, got {visible}"
        )
    columns[VISIBLE_PARTS] = replace(visible, rule="none")


def require_bodies(count: int, declared: Mapping[str, Column]) -> None:
    """Raises TwixtError unless private memory and the shared snapshots can hold `count` bodies with these columns."""
    layout = {name: column._form for name, column in declared.items()}
    budget.require_bodies(count, Layout.for_bodies(0, layout).bytes_per_body, layout)


def scene_with_columns(scene: Scene, declared: Mapping[str, Column]) -> Scene:
    """`scene` with the blending rules of the declared columns. Raises TwixtError for columns that are not declared."""
    for name in scene.columns:
        if name not in declared:
            raise InvalidValue(f"Scene.columns must name declared columns ({_listed(declared)}), got {text_of(name)}")
    if scene.color_by is not None:
        name = scene.color_by.column
        if name not in declared or declared[name].width != 1 or declared[name].per != BODY_ROWS:
            ones = [key for key, column in declared.items() if column.width == 1 and column.per == BODY_ROWS]
            raise InvalidValue(
                f"Scene.color_by must name a declared column of one value per body ({_listed(ones)}), got {text_of(name)}; "
                f'declare it, such as columns={{"heat": Column("f4")}}'
            )
        if COLOR in declared:
            raise InvalidValue(
                f'a scene is coloured by Scene.color_by ({name!r}) or by the part column "color"; leave one of them out'
            )
    rules = {name: str(column.rule) for name, column in declared.items()}
    of_parts = tuple(name for name, column in declared.items() if column.per == PART_ROWS)
    if scene.columns == rules and scene.part_columns == of_parts:
        return scene
    return replace(scene, columns=rules, part_columns=of_parts)


def _listed(names: Iterable[str]) -> str:
    return f"there are {', '.join(names)}" if names else "there are none"


def _initial(name: str) -> Any:
    if name == CORRECTION:
        return NO_OFFSET
    return 1 if name == SCALE3 else 0


def _named_rule(rule: Any) -> str:
    if not callable(rule):
        if not is_rule(rule):
            raise InvalidValue(unknown_rule("...", rule))
        return str(rule)
    module, name = getattr(rule, "__module__", None), getattr(rule, "__qualname__", "")
    there = getattr(sys.modules.get(module or ""), name, None) is rule
    if module == "__main__" and there:
        raise InvalidValue(
            f"the rule {name} is defined in the script itself, where a viewer cannot import it; "
            "put it in a separate module beside the script"
        )
    if not there:
        raise InvalidValue(
            f"a rule must be a function that a viewer can import, defined at the top of a module, got {text_of(rule)}; "
            "a lambda, a method or a nested function cannot be imported"
        )
    return f"{module}:{name}"
