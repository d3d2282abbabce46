"""Validation of the arrays passed to `publish`, and their conversion to the types of the record's fields.

One dot product checks a field of all bodies, because a sum of squares is finite only if every value is finite. A sum
of squares also shows that all quaternion lengths are close to 1: errors of opposite sign cannot cancel. Every error
names the field, the value, the rule and the way out. Values that are not finite and quaternions of zeros are reported
but raise no error, because a drawing problem must not end a long computation. Pure.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import TwixtError, text_of
from twixt.sim.world.columns import Column, Columns

WIDTHS = {"position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3}
# Largest difference from length 1 that is accepted as rounding. Beyond it a quaternion is not a unit quaternion.
LENGTH_OFF_MAX = 0.01
# If the squared length differs from 1 by less than this, the length is within `LENGTH_OFF_MAX` of 1.
SQUARE_OFF_MAX = 2 * LENGTH_OFF_MAX - LENGTH_OFF_MAX**2
HALF_MAX = 65504.0
# Scales up to this value become 0 in a record. It is half of the smallest positive float16.
HALF_ZERO = 2.0**-25
FLOAT32_MAX = 3.4028235e38
ONE = np.ones((), np.float32)  # an array, because numpy is slower with a Python number
# Longest dot product, in numbers. numpy splits longer ones among threads, which is slower and takes cores from the
# viewer.
DOT_ALONE = 8192
# For each kind of column (numpy's letter): the kinds of values that it accepts, and their name in errors.
KINDS_FOR = {
    "f": ("fiu", "numbers"),
    "i": ("iu", "whole numbers"),
    "u": ("iu", "whole numbers"),
    "b": ("b", "bools"),
}

Values = NDArray[Any]


class Checked(NamedTuple):
    """Values in the type of the record's field. is_valid: False if a value may be undrawable: not finite, too large,
    too small, or a quaternion of zeros."""

    values: Values
    is_valid: bool


def length(field: str, value: ArrayLike) -> int:
    """Number of rows of `value`. Raises TwixtError for a single number, and for a value that is not an array."""
    shape = array_of(field, value).shape
    if not shape:
        raise TwixtError(f"{field} must be an array with one row per body, got {text_of(value)}")
    return shape[0]


def checked(field: str, value: ArrayLike, count: int, lengths: Lengths | None = None) -> Checked:
    """`value` in the type of the record's field, contiguous, one row per body. Raises TwixtError for a wrong type or
    shape, and for finite values that cannot be drawn.

    lengths: see `are_valid`. A number too large for 32 bits becomes infinite; the caller must silence numpy's warning.
    """
    if field == "scale":
        return _scale(value, count)
    if field == "color":
        return rgba(field, value, count)
    values = np.ascontiguousarray(shaped(field, value, count), np.float32)
    is_fine = are_valid(field, values.reshape(-1), lengths)
    if not is_fine:
        refuse_wrong(field, values)
    return Checked(values, is_fine)


def shaped(field: str, value: ArrayLike, count: int) -> Values:
    """`value` as an array of numbers of shape (count, width), with the width from `WIDTHS`. Raises TwixtError."""
    array, width = array_of(field, value), WIDTHS[field]
    if array.dtype.kind not in "fiu" or array.shape != (count, width):
        raise TwixtError(f"{field} must be numbers of shape ({count}, {width}), got {_kind(array)}")
    return array


class Lengths:
    """Memory for computing the lengths of quaternions, up to `most` at a time.

    Numpy sums rows of four numbers slowly. Instead, one pass through memory adds each number to the next one, and a
    second pass adds the two pair sums of each quaternion.
    """

    def __init__(self, most: int) -> None:
        self._squares = np.empty(4 * most, np.float32)
        self._pairs = np.empty(4 * most, np.float32)
        self._off = np.empty(most, np.float32)
        self._views: dict[int, tuple[Values, ...]] = {}  # by the number of values

    def are_one(self, flat: Values) -> bool:
        """True if all quaternions have length 1 within `LENGTH_OFF_MAX`; False if one is not finite.

        flat: (4 m,), float32.
        """
        most = len(self._squares)
        if len(flat) > most:
            return all(self.are_one(flat[start : start + most]) for start in range(0, len(flat), most))
        views = self._views.get(len(flat))
        squares, left, right, pairs, first, second, off = views or self._views_of(len(flat))
        np.multiply(flat, flat, squares)
        np.add(left, right, pairs)
        np.add(first, second, off)
        np.subtract(off, ONE, off)
        if _sum_of_squares(off) < SQUARE_OFF_MAX**2:
            return True
        return bool(off.min() > -SQUARE_OFF_MAX and off.max() < SQUARE_OFF_MAX)

    def _views_of(self, numbers: int) -> tuple[Values, ...]:
        squares, pairs = self._squares[:numbers], self._pairs[: max(0, numbers - 1)]
        off = self._off[: numbers // 4]
        views = (squares, squares[:-1], squares[1:], pairs, pairs[::4], pairs[2::4], off)
        self._views = {numbers: views} if len(self._views) > 1 else self._views | {numbers: views}
        return views


def are_valid(field: str, flat: Values, lengths: Lengths | None = None) -> bool:
    """True if all values are finite and, for `orientation`, all quaternions are unit. False: check each row.

    flat: (m,), float32. lengths: work memory; allocated if None.
    """
    if field == "orientation":
        return (Lengths(len(flat) // 4) if lengths is None else lengths).are_one(flat)
    return _sum_of_squares(flat) < FLOAT32_MAX


def refuse_wrong(field: str, values: Values) -> None:
    """Raises TwixtError if there are rows that are finite but cannot be drawn. The error names the first one."""
    if field == "orientation":
        _refuse_unless_unit(values)


def checked_columns(passed: Mapping[str, ArrayLike], columns: Columns, count: int) -> dict[str, Values]:
    """Columns in their declared types, with the number of rows for `count` bodies; a single row is repeated. Values
    that are not finite are accepted.

    Raises TwixtError for undeclared columns, and for wrong shapes, types and ranges.
    """
    if not isinstance(passed, Mapping):
        raise TwixtError(f'publish takes columns by name, such as {{"heat": values}}, got {type(passed).__name__}')
    declared = columns.declared
    for name in passed:
        if name not in declared:
            near = difflib.get_close_matches(str(name), declared, n=1)
            known = f"there are {', '.join(declared)}" if declared else "there are none"
            hint = f"did you mean {near[0]!r}?" if near else f"show(columns={{...}}) declares them, and {known}"
            raise TwixtError(f"publish has no column {name!r}; {hint}")
    return {
        name: _column(f"column {name!r}", value, columns.rows_of(name, count), declared[name])
        for name, value in passed.items()
    }


def checked_mask(field: str, value: ArrayLike, count: int) -> NDArray[np.bool_]:
    """`value` as one bool per body, (count,). Raises TwixtError for anything else."""
    array = array_of(field, value)
    if array.dtype != bool or array.shape != (count,):
        raise TwixtError(f"{field} must be bools of shape ({count},), got {_kind(array)}")
    return array


def checked_places(field: str, value: ArrayLike, count: int) -> NDArray[np.int64]:
    """Sorted, distinct row indices below `count`. value: indices, or one bool per body. Raises TwixtError."""
    array = array_of(field, value)
    if array.ndim == 1 and array.size == 0:
        return np.zeros(0, np.int64)
    if array.dtype == bool:
        return np.flatnonzero(checked_mask(field, array, count))
    if array.dtype.kind not in "iu" or array.ndim != 1 or array.min() < 0 or array.max() >= count:
        raise TwixtError(
            f"{field} must be bools of shape ({count},) or places from 0 to {count - 1}, got {_kind(array)}"
            + (f" from {array.min()} to {array.max()}" if array.dtype.kind in "iu" else "")
        )
    return np.unique(array).astype(np.int64)


def rgba(field: str, value: ArrayLike, count: int, each: str = "bodies") -> Checked:
    """Colours as in a record, (count, 4) uint8, from one colour for all or one for each. each: plural noun for errors.

    Floats range from 0 to 1, as in a scene; whole numbers range from 0 to 255. If no whole number is above 1, they are
    read as floats, so that (1, 0, 0) is red. This does not apply to dtype uint8, which is always 0..255. Colours that
    are not finite become white. Raises TwixtError for other values and shapes.
    """
    array = array_of(field, value)
    if array.dtype.kind not in "fiu" or array.shape not in ((3,), (4,), (count, 3), (count, 4)):
        raise TwixtError(
            f"{field} must be (r, g, b) or (r, g, b, a) for all or for each of {count} {each}, got {_kind(array)}"
        )
    is_float, is_valid = array.dtype.kind == "f", True
    if array.size and not (array.min() >= 0 and array.max() <= (1.0 if is_float else 255)):
        if is_float:
            is_valid = bool(np.isfinite(array).all())
            array = np.where(np.isfinite(array).all(axis=-1, keepdims=True), array, 1.0)
        if is_valid or array.min() < 0 or array.max() > 1:
            raise TwixtError(
                f"{field} must be floats from 0 to 1 or whole numbers from 0 to 255, "
                f"got {array.dtype} from {array.min():g} to {array.max():g}"
            )
    counts_to_1 = is_float or (array.size and array.dtype != np.uint8 and array.max() <= 1)
    made = np.full((count, 4), 255, np.uint8)
    made[:, : array.shape[-1]] = np.rint(array * 255) if counts_to_1 else array
    return Checked(made, is_valid)


def _scale(value: ArrayLike, count: int) -> Checked:
    array = array_of("scale", value)
    if array.dtype.kind not in "fiu" or array.shape not in ((), (count,)):
        raise TwixtError(f"scale must be a number or numbers of shape ({count},), got {_kind(array)}")
    least = array.min() if array.size else 1.0
    is_valid = not array.size or bool(least >= 0 and array.max() <= HALF_MAX)
    if is_valid and least <= HALF_ZERO:
        return Checked(np.full(count, array, np.float16), not ((array > 0) & (array <= HALF_ZERO)).any())
    if not is_valid:
        finite = array[np.isfinite(array)]
        if finite.size and not (finite.min() >= 0 and finite.max() <= HALF_MAX):
            raise TwixtError(
                f"scale must be from 0 to {HALF_MAX:g}, got values from {finite.min():g} to {finite.max():g}; "
                "give the shape a larger size instead"
            )
    return Checked(np.full(count, array, np.float16), is_valid)


def _column(field: str, value: ArrayLike, count: int, column: Column) -> Values:
    array, shape, kind = array_of(field, value), column.rows(count), np.dtype(column.dtype)
    takes, called = KINDS_FOR[kind.kind]
    if array.dtype.kind not in takes or array.shape not in (shape, shape[1:]):
        each = "" if column.per == "body" else f" (a row per {column.per})"
        raise TwixtError(f"{field} must be {called} of shape {shape}{each}, or one row for all, got {_kind(array)}")
    if kind.kind in "iu" and array.size:
        least, most = np.iinfo(kind).min, np.iinfo(kind).max
        if array.min() < least or array.max() > most:
            raise TwixtError(
                f"{field} holds whole numbers from {least} to {most}, got values from {array.min()} "
                f"to {array.max()}; declare a larger type"
            )
    with np.errstate(over="ignore"):  # too large a number becomes infinite; the user's errstate does not apply
        return np.full(shape, array, kind)


def array_of(field: str, value: ArrayLike) -> Values:
    """`value` as an array in main memory, with NaN for masked entries. Raises TwixtError if it cannot be converted,
    such as an array on a GPU."""
    if type(value) is np.ndarray:  # fast path: called several times per publish, usually with such an array
        return value
    try:
        return np.asarray(without_mask(field, _host_array(value)))
    except TwixtError:
        raise
    except Exception as error:  # conversion of another library's array may raise any exception
        if isinstance(value, list | tuple):
            raise TwixtError(f"{field} must be lists of numbers, each as long as the others ({error})") from error
        raise TwixtError(
            f"{field} must be a numpy array or lists of numbers, got {type(value).__name__} ({error}); "
            "copy it to a numpy array in main memory first"
        ) from error


def without_mask(field: str, value: Any) -> Any:
    """Replaces masked entries of a float array by NaN; returns other values unchanged. Raises TwixtError for masked
    entries of other types, because these have no NaN."""
    array: Any = value if isinstance(value, np.ndarray) and type(value) is not np.ndarray else None
    # Does not test for the class `numpy.ma.MaskedArray`: its import would take 10 ms and open files during a loop.
    if not hasattr(array, "filled"):
        return value
    masked = int(np.count_nonzero(array.mask))
    if masked and array.dtype.kind != "f":
        raise TwixtError(
            f"{field} must have a value in each entry, got {masked} masked entries of {array.dtype}; fill them, "
            "array.filled(value), or leave these bodies out"
        )
    return array.filled(np.nan) if masked else array.data


def _host_array(value: Any) -> ArrayLike:
    """Converts an object that only has DLPack to a numpy array; returns others unchanged."""
    if isinstance(value, np.ndarray) or hasattr(value, "__array__") or not hasattr(value, "__dlpack__"):
        return value
    return np.from_dlpack(value)


def _kind(array: Values) -> str:
    return f"{array.dtype} of shape {array.shape}"


def _sum_of_squares(flat: Values) -> float:
    if len(flat) <= DOT_ALONE:
        return float(flat.dot(flat))
    total = 0.0
    for start in range(0, len(flat), DOT_ALONE):
        part = flat[start : start + DOT_ALONE]
        total += float(part.dot(part))
    return total


def _refuse_unless_unit(values: Values) -> None:
    lengths = np.linalg.norm(values.astype(np.float64), axis=1)
    bad = np.flatnonzero(np.isfinite(lengths) & (lengths > 0) & (np.abs(lengths - 1) > LENGTH_OFF_MAX))
    if bad.size:
        raise TwixtError(
            f"orientation must be unit quaternions (x, y, z, w), got {values[bad[0]].tolist()} "
            f"of length {lengths[bad[0]]:.3g} for body {bad[0]}"
            + (f" and {bad.size - 1} more" if bad.size > 1 else "")
            + "; divide each by its length"
        )
