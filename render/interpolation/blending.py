"""Blends the user's columns and marks at a draw time. Also calls the user's code.

Rules of columns:

    linear            straight from the older value to the newer
    angle             in radians, the short way round (convert degrees with `numpy.radians` before publishing);
                      at exactly half a turn the number goes straight: up to a larger value, down to a smaller one
    none              discrete: the older value until the newer snapshot's instant
    latest            the newest published value, from the moment at which it arrives
    module:function   or a callable (old, new, alpha) -> value. It is called once, with arrays of all rows that may be
                      blended, if there are any. If the column has whole numbers, the result is rounded. Values that do
                      not fit the column are refused

If a column has no rule, its rule is `linear` for a column of floats and `none` for any other column.

If a body was spawned, despawned or moved elsewhere between the two snapshots, its row keeps the older value until the
newer snapshot's instant. The rows of its parts keep their older values too. The row of the world is always blended.
Values that are not finite are not blended. A scale (`scale3`) is not blended across zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.config.rules import RULES, SCALE3, is_reference, unknown_rule
from twixt.ipc.errors import InvalidValue, TwixtError
from twixt.ipc.process.user_code import error_text, import_user_module, suggestion_for, user_crash
from twixt.ipc.snapshot import CORRECTED_NS, CORRECTION, MARK, MARK_KINDS, RECORD, Snapshot
from twixt.render.interpolation.poses import may_be_blended, same_continuity
from twixt.render.interpolation.quaternion import slerp

Column = NDArray[Any]
Blender = Callable[[Column, Column, float], Any]
Rule = str | Blender

HALF_TURN, TURN = np.pi, 2 * np.pi
# Names of columns that the reader of a snapshot applies before it blends, see twixt.ipc.snapshot.
WRITERS_OWN = (CORRECTION, CORRECTED_NS)
ALWAYS = np.ones(1, np.bool_)


def read_rules(rules: Mapping[str, Rule]) -> dict[str, Rule]:
    """Returns the rules. Each reference `module:function` is replaced by the function. Raises TwixtError for an invalid
    rule."""
    found: dict[str, Rule] = {}
    for column, rule in rules.items():
        if callable(rule) or rule in RULES:
            found[column] = rule
        elif is_reference(rule):
            found[column] = find_function(rule, f"the rule of column {column!r}")
        else:
            raise InvalidValue(unknown_rule(column, rule))
    return found


def blend_columns(
    previous: Snapshot, following: Snapshot, newest: Snapshot, alpha: float, rules: Mapping[str, Rule], count: int
) -> dict[str, Column]:
    """The columns of the snapshot `previous`, blended towards the snapshot `following`. Each column has `count` rows,
    or fewer if it has fewer in `previous`.

    alpha: 0 at `previous`, 1 at `following`. rules: from `read_rules`. newest: the snapshot that the rule `latest`
    reads. Raises TwixtError if the user's function fails.
    """
    columns = {name: column[:count] for name, column in previous.columns.items() if name not in WRITERS_OWN}
    return _blended(
        columns,
        following.columns,
        newest.columns,
        may_be_blended(previous.bodies, following.bodies),
        lambda: same_continuity(previous.bodies, newest.bodies),
        alpha,
        rules,
    )


def blend_part_columns(
    previous: Snapshot, following: Snapshot, newest: Snapshot, alpha: float, rules: Mapping[str, Rule]
) -> dict[str, Column]:
    """Like `blend_columns`, for columns with a row for each part. If a body is not blended, its parts are not blended
    either. Parts also keep their older values if it is not known to which body they belong, or if their body has
    different parts in the other snapshot."""
    if not previous.part_columns:
        return {}
    return _blended(
        previous.part_columns,
        following.part_columns,
        newest.part_columns,
        _of_parts(may_be_blended(previous.bodies, following.bodies), previous, following),
        lambda: _of_parts(same_continuity(previous.bodies, newest.bodies), previous, newest),
        alpha,
        rules,
    )


def blend_world_columns(
    previous: Snapshot, following: Snapshot, newest: Snapshot, alpha: float, rules: Mapping[str, Rule]
) -> dict[str, Column]:
    """Like `blend_columns`, for columns of the world, which have one row. The row is blended if both snapshots belong
    to the same world."""
    return _blended(
        previous.world_columns, following.world_columns, newest.world_columns, ALWAYS, lambda: ALWAYS, alpha, rules
    )


def _blended(
    columns: Mapping[str, Column],
    following: Mapping[str, Column],
    newest: Mapping[str, Column],
    lasting: NDArray[np.bool_],
    alive: Callable[[], NDArray[np.bool_]],
    alpha: float,
    rules: Mapping[str, Rule],
) -> dict[str, Column]:
    """Copies of `columns`, blended towards the columns `following`. lasting: mask, True for rows whose body is the same
    in `following`. alive: function that returns the same kind of mask for the columns `newest`; it is called only if a
    column has the rule `latest`."""
    blended: dict[str, Column] = {}
    for name, column in columns.items():
        value = blended[name] = np.array(column)
        if rule_of(name, value, rules) == "latest":
            _write(value, newest.get(name), alive())
        else:
            _blend(name, value, following.get(name), lasting, alpha, rules)
    return blended


def _of_parts(of_bodies: NDArray[np.bool_], previous: Snapshot, other: Snapshot) -> NDArray[np.bool_]:
    """Mask (p,) of the parts of the snapshot `previous`. It is True for a part if its body is True in `of_bodies` and
    has the same parts in the snapshot `other`."""
    bodies = previous.part_bodies
    both = min(len(bodies), len(other.part_bodies))
    lasting = np.zeros(len(bodies), np.bool_)
    same = (bodies[:both] == other.part_bodies[:both]) & (bodies[:both] >= 0) & (bodies[:both] < len(of_bodies))
    lasting[:both][same] = of_bodies[bodies[:both][same]]
    return lasting


def _blend(
    name: str, value: Column, other: Column | None, lasting: NDArray[np.bool_], alpha: float, rules: Mapping[str, Rule]
) -> None:
    """Blends rows of the column `value` towards the same rows of the column `other`, in place. lasting: mask of the
    rows that are blended."""
    rule = rule_of(name, value, rules)
    if rule == "none" or other is None or not alike(value, other):
        return
    rows = np.flatnonzero(lasting[: min(len(value), len(other))])
    if not len(rows):
        return
    old, new = value[rows], other[rows]
    if callable(rule):
        value[rows] = _users_value(name, rule, old, new, alpha)
    elif value.dtype.kind in "fiu" and alpha > 0.0:
        step = turned if rule == "angle" else straight
        value[rows] = step(old, new, alpha, name == SCALE3)


def rule_of(name: str, column: Column, rules: Mapping[str, Rule]) -> Rule:
    """Returns the rule of a column. If `rules` has none for it, this is the default rule for the type of the column."""
    return rules.get(name) or ("linear" if column.dtype.kind == "f" else "none")


def alike(column: Column, other: Column) -> bool:
    """True if rows of one column can be copied to the other column."""
    return other.dtype == column.dtype and other.shape[1:] == column.shape[1:]


def straight(old: Column, new: Column, alpha: float, keep_sign: bool = False, dtype: Any = None) -> Column:
    """Linear blend from `old` to `new`. The result has the type of `old`, or `dtype` if it is given. Where the blend is
    not finite, the result is `old`. If `keep_sign` is True, the result is also `old` where the values cross zero.

    The result is exact at both ends and for equal values. Whole numbers are rounded and stay between the two values.
    """
    dtype = dtype or old.dtype
    start, end = old.astype(np.float64), new.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        value = start + (end - start) * alpha
        bad = ~np.isfinite(value)
        if keep_sign:
            bad |= sign_changes(start, end)
        if old.dtype.kind == "f":
            return np.where(bad, start, value).astype(dtype)
        return np.clip(np.rint(value).astype(old.dtype), np.minimum(old, new), np.maximum(old, new))


def turned(old: Column, new: Column, alpha: float, keep_sign: bool = False) -> Column:
    """Like `straight`, for angles in radians, which are blended the short way round. If both ends are within 0..2 pi,
    or both within -pi..pi, the result is within the same range."""
    start, end = old.astype(np.float64), new.astype(np.float64)
    # pi and 2 pi are rounded to the type of the column. The error of the difference of two angles is as large as the
    # errors of the two angles.
    digit = np.finfo(old.dtype if old.dtype.kind == "f" else np.float64).eps
    with np.errstate(over="ignore", invalid="ignore"):
        way = np.remainder(end - start + HALF_TURN, TURN) - HALF_TURN
        is_half = np.abs(np.abs(way) - HALF_TURN) <= digit * np.maximum(np.abs(start) + np.abs(end), HALF_TURN)
        way = np.where(is_half, np.copysign(HALF_TURN, end - start), way)
        way = np.where(end == start, 0.0, way)
        value = start + way * alpha
        low = np.where((start >= 0) & (end >= 0), 0.0, -HALF_TURN)
        least, most = np.minimum(start, end), np.maximum(start, end)
        ranged = (least >= low - digit * TURN) & (most <= low + TURN + digit * TURN)
        low, high = np.minimum(low, least), np.maximum(low + TURN, most)
        value = np.where(ranged & (value < low), value + TURN, value)
        value = np.where(ranged & (value > high), value - TURN, value)
        return np.where(np.isfinite(value), value, start).astype(old.dtype)


def sign_changes(old: Column, new: Column) -> NDArray[np.bool_]:
    """True where a linear blend from `old` to `new` crosses zero."""
    return ((old < 0) & (new > 0)) | ((old > 0) & (new < 0))


def _users_value(name: str, rule: Blender, old: Column, new: Column, alpha: float) -> Column:
    what = f"the rule of column {name!r}, {getattr(rule, '__qualname__', rule)}"
    answer = call_users(what, rule, old.copy(), new.copy(), alpha)
    rule_of_answer = f"{what} must return values of shape {old.shape} and type {old.dtype}"
    value = array_of(answer, rule_of_answer)
    try:
        value = np.broadcast_to(value, old.shape)
        as_numbers = old.dtype.kind in "fiub"
        if as_numbers != (value.dtype.kind in "fiub"):
            raise TypeError
    except (ValueError, TypeError):
        raise TwixtError(f"{rule_of_answer}, got shape {value.shape}, type {value.dtype}") from None
    return _fitted(value, old.dtype, rule_of_answer) if as_numbers else value.astype(old.dtype)


def _fitted(value: Column, dtype: Any, rule: str) -> Column:
    """Converts numbers to the type `dtype`. If this is an integer type, the numbers are rounded. Raises TwixtError for
    values that do not fit the type."""
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = np.rint(value) if dtype.kind in "iu" and value.dtype.kind == "f" else value
        fitted = rounded.astype(dtype)
        if dtype.kind == "f":
            bad = np.isfinite(value) & ~np.isfinite(fitted)
        else:
            bad = ~np.isfinite(value) | (fitted != rounded)
            if dtype.kind in "iu":
                bad |= (fitted < 0) != (rounded < 0)
    if bad.any():
        raise TwixtError(f"{rule}, got {value[bad][0]}, which does not fit into {dtype}")
    return fitted


def _write(value: Column, other: Column | None, mask: NDArray[np.bool_]) -> None:
    if other is not None and alike(value, other):
        rows = np.flatnonzero(mask[: min(len(value), len(other))])
        value[rows] = other[rows]


# This section blends marks at a draw time between two snapshots, in numpy.
#
# Marks are matched by key, not by index. The marks of each snapshot are sorted by key when they arrive. Two binary
# searches then match the marks of two snapshots, even if marks were added or removed. If several marks have the same
# key, they are matched in their order.
#
# A mark that is in both snapshots is blended: its position, size and colour linearly, its orientation by the shortest
# slerp (Shoemake 1985). Until the newer snapshot's instant, its kind, shape and label are those of the older snapshot.
# If its kind differs, its size is not blended either. If it is attached to another body, nothing is blended. A mark that
# is only in the older snapshot stays unchanged until the newer snapshot's instant. A mark that is only in the newer
# snapshot appears at this instant.
#
# As many marks are drawn as the older snapshot has. They are in the order of their keys, and all their values are
# finite.


# NUMBERS is the number of 32-bit words in the record of a mark. FLOATS selects the words that are floats: position,
# orientation and size.
NUMBERS, FLOATS = 16, slice(2, 12)
# A mark is drawn only if its coordinates and sizes, in metres, are not larger than this. The square of a larger value
# would overflow.
FARTHEST = 1e30


class Matched(NamedTuple):
    """Rows of the marks that are in both snapshots, (k,) each. Row `older[i]` of the older snapshot and row `newer[i]`
    of the newer snapshot are the same mark."""

    older: NDArray[np.intp]
    newer: NDArray[np.intp]


def drawable(marks: NDArray[np.void]) -> NDArray[np.void]:
    """The marks of a snapshot that can be drawn, sorted by key. Marks with equal keys keep their order.

    marks: (m,) of dtype `MARK`, from another process. A mark is left out if its values are not finite or its kind is
    unknown.
    """
    with np.errstate(all="ignore"):
        floats = np.abs(np.ascontiguousarray(marks).view(np.float32).reshape(-1, NUMBERS)[:, FLOATS])
        is_well = (floats < FARTHEST).all(axis=1) & (marks["kind"] < len(MARK_KINDS))
    kept = marks if is_well.all() else marks[is_well]
    keys = kept["key"]
    return kept if (keys[1:] >= keys[:-1]).all() else kept[np.argsort(keys, kind="stable")]


def matched(older: NDArray[np.uint64], newer: NDArray[np.uint64]) -> Matched:
    """Finds the rows with equal keys in two sorted arrays of keys. If a key occurs several times in both, the first
    occurrences match each other, then the second occurrences, and so on."""
    if not len(newer):
        nothing = np.zeros(0, np.intp)
        return Matched(nothing, nothing)
    nth = np.arange(len(older)) - np.searchsorted(older, older)
    places = np.searchsorted(newer, older) + nth
    there = np.minimum(places, len(newer) - 1)
    both = np.flatnonzero((places < len(newer)) & (newer[there] == older))
    return Matched(both, there[both])


def blended(older: NDArray[np.void], newer: NDArray[np.void], both: Matched, alpha: float) -> NDArray[np.void]:
    """The marks that are drawn between two snapshots. older, newer: marks of the two snapshots, from `drawable`. alpha:
    0 at the older snapshot, 1 at the newer one. At 1 the result is the marks of the newer snapshot.

    Returns a new array, or `older` or `newer` itself.
    """
    if alpha >= 1:
        return newer
    if not len(both.older) or alpha <= 0:
        return older
    same = older["body"][both.older] == newer["body"][both.newer]
    both = Matched(both.older[same], both.newer[same])
    before, after = _rows_of(older, both.older), _rows_of(newer, both.newer)
    drawn = _rows_of(older, np.arange(len(older)))
    for field in ("position", "size"):
        between = before[field] + (after[field].astype(np.float64) - before[field]) * alpha
        if field == "size":
            between = np.where((before["kind"] == after["kind"])[:, None], between, before[field])
        drawn[field][both.older] = between
    colors = before["color"] + (after["color"].astype(np.float64) - before["color"]) * alpha
    drawn["color"][both.older] = np.rint(colors)
    drawn["orientation"][both.older] = slerp(before["orientation"], after["orientation"], alpha)
    return drawn


def _rows_of(marks: NDArray[np.void], rows: NDArray[np.intp]) -> NDArray[np.void]:
    return np.ascontiguousarray(marks).view(RECORD)[rows].view(MARK)


# This section imports and calls a user's interpolation method or column rule.
#
# If the user's code raises an exception, a `TwixtError` is raised, with the name of the function and the user's
# traceback.


T = TypeVar("T")


def find_function(reference: str, what: str) -> Callable[..., Any]:
    """Imports the function `module:function`. what: how error texts describe this function, for example "the rule of
    column 'heat'"."""
    found = find(reference, what, "my_rules:ease", "def {name}(old, new, alpha)")
    if not callable(found):
        raise TwixtError(f"{what}: {reference} must be a function, got {found!r}")
    return found  # type: ignore[no-any-return]


def find(reference: str, what: str, example: str, sketch: str) -> Any:
    """Imports the object `module:name`. Error texts show `example`, an example of such a reference, and `sketch`,
    example code that contains {name}.

    Raises TwixtError for a wrong reference, and UserCodeCrashed if the module raises an exception when it is imported.
    """
    if not is_reference(reference):
        raise TwixtError(f'{what} must be module:name, such as {example}, without ".py", got {reference!r}')
    module_name, _, name = reference.partition(":")
    module = import_user_module(module_name, what)
    if hasattr(module, name):
        return getattr(module, name)
    own = [key for key, value in vars(module).items() if getattr(value, "__module__", None) == module_name]
    hint = suggestion_for(name, own) or f"define it there: {sketch.format(name=name)}"
    place = getattr(module, "__file__", None) or "no file"
    raise TwixtError(f'{what}: module "{module_name}" ({place}) has no "{name}"; {hint}')


def array_of(answer: Any, rule: str) -> NDArray[Any]:
    """Converts a result of the user's code to an array. Raises TwixtError, with a text that begins with `rule`, if the
    result is neither numbers nor texts."""
    try:
        array = np.asarray(answer)
    except Exception as error:  # for example rows of different lengths, or a user's __array__ that raises
        raise TwixtError(f"{rule}, got a value that is not an array: {error_text(error)}") from None
    if array.dtype.kind not in "fiubSU":  # None would become NaN
        raise TwixtError(f"{rule}, got shape {array.shape}, type {array.dtype}")
    return array


def call_users(what: str, function: Callable[..., T], *arguments: Any) -> T:
    """Calls the user's function. what: as in `user_crash`. Raises UserCodeCrashed if the function raises an
    exception."""
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:  # sys.exit in the user's code would end the viewer without a message
        raise user_crash(what, error) from error
