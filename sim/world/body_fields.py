"""Handles the fields of body records. Converts users' arrays, checks their values, sets the defaults of new bodies,
and makes cuts.

One dot product checks a field of all bodies: a sum of squares is finite only if every value is finite. For
quaternions, a sum of squares also shows that all lengths are close to 1, because errors of opposite sign cannot
cancel. Every error names the field, the value, the rule and what the user can do. Values that are not finite and
quaternions of zeros are reported, but they raise no error. A problem in drawing must not end a long computation.

Always: a `FieldWriter` that writes repeatedly allocates no memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import InvalidType, InvalidValue, text_of
from twixt.ipc.rotation import COMPONENTS
from twixt.ipc.scene.checks import check_colors, color_bytes
from twixt.ipc.snapshot import BODY, CONTINUITY_MASK, CORRECTION_STEP, RECORD, new_bodies
from twixt.sim.array_arguments import array_of, array_refusal, kind_of

WIDTHS = {"position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3}
# For each size in bytes: a dtype that reads all bytes of a field as one block. numpy copies a block of 12 or 16 bytes
# several times as fast as a row of three or four numbers; the bits do not change. These dtypes are created only once,
# because parsing a dtype's name is slow.
_BLOCK_DTYPES = {16: np.dtype("c16"), 12: np.dtype("V12"), 4: np.dtype("u4"), 2: np.dtype("u2")}
# Fields that `View.publish` accepts, and the dtype of the blocks of each field.
BLOCKS = {name: _BLOCK_DTYPES[BODY[name].itemsize] for name in (*WIDTHS, "scale", "color")}
# Number of bodies in a chunk. The fields and records of a chunk take 370 KiB and fit into a core's second-level cache.
CHUNK_BODIES = 4096
# The high half of an epoch. It counts the corrections of a body.
CORRECTIONS_MASK = 0xFFFF_FFFF ^ CONTINUITY_MASK
# Largest difference of a quaternion's length from 1 that is accepted as rounding. A quaternion with a larger
# difference is not a unit quaternion.
LENGTH_OFF_MAX = 0.01
# If the squared length of a quaternion differs from 1 by less than this, its length is within `LENGTH_OFF_MAX` of 1.
SQUARE_OFF_MAX = 2 * LENGTH_OFF_MAX - LENGTH_OFF_MAX**2
HALF_MAX = 65504.0
# Scales up to this value become 0 in a record. This limit is half of the smallest positive float16.
HALF_ZERO = 2.0**-25
FLOAT32_MAX = 3.4028235e38
FLOAT32 = np.dtype(np.float32)
ONE = np.ones((), np.float32)  # ONE is an array, because numpy is slower with a Python number.
# Length of the longest dot product, in numbers. numpy splits longer dot products among threads, which is slower and
# takes cores from the viewer.
DOT_ALONE = 8192

Values = NDArray[Any]


class Checked(NamedTuple):
    """Values in the type of the record's field. is_valid: False if perhaps some value cannot be drawn. Such a value is
    not finite, too large, too small, or a quaternion of zeros."""

    values: Values
    is_valid: bool


def blocks_of(field: str, records: NDArray[np.void]) -> NDArray[Any]:
    """View of one field of `records` (dtype `BODY`), with one block per body, shape (n,)."""
    rows = records[field].view(BLOCKS[field])
    return rows[:, 0] if rows.ndim == 2 else rows


def renew(records: NDArray[np.void], rows: Any, flags: int = 0) -> None:
    """Resets the records at `rows` to the defaults of a new body, and sets their flags to `flags`. The epochs stay
    unchanged."""
    epochs = records["epoch"][rows]
    records.view(RECORD)[rows] = _NEW
    records["epoch"][rows], records["flags"][rows] = epochs, flags


def cut(epoch: NDArray[np.uint32], rows: Any) -> None:
    """Changes the low halves of the epochs at `rows`. Viewers then do not blend these bodies with their earlier
    states. rows: distinct indices, or one bool for each body."""
    old = epoch[rows]
    # The low half wraps around to 0, and no bit is carried into the high half.
    cuts = ((old & np.uint32(CONTINUITY_MASK)) + np.uint32(1)) & np.uint32(CONTINUITY_MASK)
    epoch[rows] = (old & np.uint32(CORRECTIONS_MASK)) | cuts


def count_corrections(epoch: NDArray[np.uint32], rows: NDArray[np.int64]) -> None:
    """Counts one more correction in the epochs of the bodies at `rows`."""
    old = epoch[rows]
    # The high half wraps around to 0. The low half does not change, and no number overflows.
    room = np.uint32(CORRECTIONS_MASK) - (old & np.uint32(CORRECTIONS_MASK))
    counted = old + np.minimum(room, np.uint32(CORRECTION_STEP))
    epoch[rows] = np.where(room, counted, old & np.uint32(CONTINUITY_MASK))


_NEW = new_bodies(1).view(RECORD)[0]


class FieldWriter:
    """Converts the fields that are passed to `publish`, checks them and writes them into records.

    All fields of a chunk of bodies are written before the next chunk is read.
    """

    def __init__(self) -> None:
        self._converted = np.empty(4 * CHUNK_BODIES, np.float32)
        self._squares = np.empty(4 * CHUNK_BODIES, np.float32)
        self._pairs = np.empty(4 * CHUNK_BODIES, np.float32)
        self._off = np.empty(CHUNK_BODIES, np.float32)
        # Views of the temporary arrays, by the number of values in a view; at most two entries.
        self._views: dict[int, tuple[Values, ...]] = {}

    def write(
        self, fields: Mapping[str, ArrayLike], count: int, targets: dict[str, Values], w_first: bool = False
    ) -> tuple[str, ...]:
        """Writes `fields` into `targets`. Each field has one row for each of `count` bodies. The targets are blocks,
        as from `blocks_of`. If `targets` is empty, the blocks of the fields are put into it. They may share memory
        with the values. w_first: True if orientations are wxyz and not xyzw.

        Returns the names of the fields in which perhaps some value cannot be drawn; see `Checked`. Raises TwixtError
        for a wrong type or shape, and for finite values that cannot be drawn. `targets` may then be partly written.
        """
        arrays: dict[str, Values] = {}
        not_drawable: tuple[str, ...] = ()
        has_targets = bool(targets)
        chunk = CHUNK_BODIES if has_targets else max(1, count)
        # Values that are too large are reported, whatever errstate the user's loop has set.
        with np.errstate(all="ignore"):
            for field, value in fields.items():
                if field in WIDTHS:
                    arrays[field] = shaped(field, value, count)
                    continue
                arrays[field], is_valid = scales(value, count) if field == "scale" else rgba(field, value, count)
                if not is_valid:
                    not_drawable += (field,)
            for start in range(0, max(1, count), chunk):
                stop = min(start + chunk, count)
                for field, array in arrays.items():
                    part = array[start:stop]
                    if field in WIDTHS:
                        is_unit = field == "orientation"
                        part = self._as_float32(part, has_targets, w_first and is_unit)
                        is_valid = self._are_unit(part) if is_unit else _sum_of_squares(part) < FLOAT32_MAX
                        if not is_valid and field not in not_drawable:
                            not_drawable += (field,)
                            if is_unit:
                                _refuse_unless_unit(array.astype(np.float32), "wxyz" if w_first else "xyzw")
                    blocks = part.reshape(-1).view(BLOCKS[field])
                    if has_targets:
                        targets[field][start:stop] = blocks
                    else:
                        targets[field] = blocks
        return not_drawable

    def _as_float32(self, part: Values, is_temporary: bool, w_first: bool) -> NDArray[np.float32]:
        """The numbers of `part` in the type of a record, as one flat array. is_temporary: True if the result need only
        be valid until the next call. w_first: True if `part` has quaternions wxyz; the result has the order xyzw."""
        if not w_first and part.dtype is FLOAT32 and part.flags.c_contiguous:
            return part.reshape(-1)
        flat = self._converted[: part.size] if is_temporary else np.empty(part.size, np.float32)
        rows = flat.reshape(part.shape)
        if not w_first:
            rows[...] = part
        elif part.flags.c_contiguous:
            # Moving all numbers forward by one puts x, y and z in place. numpy copies long rows several times as fast
            # as rows of three numbers.
            flat[:-1] = part.reshape(-1)[1:]
            rows[:, 3] = part[:, 0]
        else:
            rows[:, :3], rows[:, 3] = part[:, 1:], part[:, 0]
        return flat

    def _are_unit(self, flat: NDArray[np.float32]) -> bool:
        """True if the length of every quaternion differs from 1 by at most `LENGTH_OFF_MAX`. False if a length is not
        finite. flat: the numbers of m quaternions, (4 m,).

        Numpy sums rows of four numbers slowly. So a first pass through memory adds to each square the next one. A
        second pass adds the two sums of each quaternion.
        """
        most = len(self._squares)
        if len(flat) > most:
            return all(self._are_unit(flat[start : start + most]) for start in range(0, len(flat), most))
        squares, left, right, pairs, first, second, off = self._views.get(len(flat)) or self._views_of(len(flat))
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


def length(field: str, value: ArrayLike, is_single: bool = False) -> int:
    """Number of rows of `value`. is_single: True if there is only one body. A `value` for one body may then be the row
    itself, for example (3,) for a position. Raises TwixtError for other rows, for a single number, and for a value
    that is not an array."""
    array = array_of(field, value)
    shape = array.shape
    if len(shape) == 1 and field in WIDTHS:
        is_row = shape == (WIDTHS[field],)
        if is_row and is_single:
            return 1
        rule = f"{field} must have one row per body, shape (n, {WIDTHS[field]})"
        advice = f"; for one body: {field}=({text_of(value)},)" if is_row else ""
        raise InvalidValue(f"{rule}, got {kind_of(array)}{advice}")
    if not shape:
        raise InvalidType(f"{field} must be an array with one row per body, got {text_of(value)}")
    return shape[0]


def shaped(field: str, value: ArrayLike, count: int) -> Values:
    """`value` as an array of numbers of shape (count, width). The width is that of the field in `WIDTHS`. For one body
    the shape (width,) is accepted. Raises TwixtError."""
    array, width = array_of(field, value), WIDTHS[field]
    if array.dtype.kind not in "fiu" or array.shape != (count, width):
        if array.dtype.kind in "fiu" and count == 1 and array.shape == (width,):
            return array[None]
        raise array_refusal(array, "fiu")(f"{field} must be numbers of shape ({count}, {width}), got {kind_of(array)}")
    return array


def checked_mask(field: str, value: ArrayLike, count: int) -> NDArray[np.bool_]:
    """`value` as an array of one bool for each body, (count,). Raises TwixtError for anything else."""
    array = array_of(field, value)
    if array.dtype != bool or array.shape != (count,):
        raise array_refusal(array, "b")(f"{field} must be bools of shape ({count},), got {kind_of(array)}")
    return array


def checked_places(field: str, value: ArrayLike, count: int) -> NDArray[np.int64]:
    """Distinct row indices below `count`, in ascending order. value: indices, or one bool for each body. Raises
    TwixtError."""
    array = array_of(field, value)
    if array.ndim == 1 and array.size == 0:
        return np.zeros(0, np.int64)
    if array.dtype == bool:
        return np.flatnonzero(checked_mask(field, array, count))
    if array.dtype.kind not in "iu" or array.ndim != 1 or array.min() < 0 or array.max() >= count:
        raise array_refusal(array, "iu")(
            f"{field} must be bools of shape ({count},) or indices from 0 to {count - 1}, got {kind_of(array)}"
            + (f" from {array.min()} to {array.max()}" if array.dtype.kind in "iu" else "")
        )
    return np.unique(array).astype(np.int64)


def rgba(field: str, value: ArrayLike, count: int, each: str = "bodies") -> Checked:
    """Colours in the type of a record, (count, 4) uint8. `value` is one colour for all bodies or one colour for each.
    each: plural noun that errors use for the coloured things.

    Numbers of dtype uint8 are from 0 to 255, all others are from 0 to 1, as in a scene. Colours that are not finite
    become white. Raises TwixtError for other values and shapes.
    """
    array = colors_of(field, value, count, each)
    is_valid = check_colors(field, array)
    if not is_valid:
        array = finite_colors(array)
    made = np.full((count, 4), 255, np.uint8)
    made[:, : array.shape[-1]] = color_bytes(array)
    return Checked(made, is_valid)


def colors_of(field: str, value: ArrayLike, count: int, each: str) -> Values:
    """`value` as an array of numbers, one colour of three or four numbers for all things or one for each. Raises
    TwixtError for other types and shapes."""
    array = array_of(field, value)
    if array.dtype.kind not in "fiu" or array.shape not in ((3,), (4,), (count, 3), (count, 4)):
        raise array_refusal(array, "fiu")(
            f"{field} must be (r, g, b) or (r, g, b, a) for all or for each of {count} {each}, got {kind_of(array)}"
        )
    return array


def finite_colors(colors: Values) -> Values:
    """A copy in which each colour that is not finite is white. colors: (..., 3 or 4)."""
    return np.where(np.isfinite(colors).all(axis=-1, keepdims=True), colors, 1.0)


def scales(value: ArrayLike, count: int) -> Checked:
    """Scales in the type of a record, (count,) float16. `value` is one number for all bodies or one for each. Raises
    TwixtError."""
    array = array_of("scale", value)
    if array.dtype.kind not in "fiu" or array.shape not in ((), (count,)):
        raise array_refusal(array, "fiu")(
            f"scale must be a number or numbers of shape ({count},), got {kind_of(array)}"
        )
    least = array.min() if array.size else 1.0
    is_valid = not array.size or bool(least >= 0 and array.max() <= HALF_MAX)
    if is_valid and least <= HALF_ZERO:
        return Checked(np.full(count, array, np.float16), not ((array > 0) & (array <= HALF_ZERO)).any())
    if not is_valid:
        finite = array[np.isfinite(array)]
        if finite.size and not (finite.min() >= 0 and finite.max() <= HALF_MAX):
            raise InvalidValue(
                f"scale must be from 0 to {HALF_MAX:g}, got values from {finite.min():g} to {finite.max():g}; "
                "give the shape a larger size instead"
            )
    return Checked(np.full(count, array, np.float16), is_valid)


def _sum_of_squares(flat: Values) -> float:
    if len(flat) <= DOT_ALONE:
        return float(flat.dot(flat))
    total = 0.0
    for start in range(0, len(flat), DOT_ALONE):
        part = flat[start : start + DOT_ALONE]
        total += float(part.dot(part))
    return total


def not_unit(values: Values) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Lengths of quaternions (n, 4), and the rows of those that are not unit quaternions. Lengths of 0 and lengths
    that are not finite do not count."""
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(values.astype(np.float64), axis=1)
        return lengths, np.flatnonzero(np.isfinite(lengths) & (lengths > 0) & (np.abs(lengths - 1) > LENGTH_OFF_MAX))


def _refuse_unless_unit(values: Values, quat: str) -> None:
    lengths, bad = not_unit(values)
    if bad.size:
        raise InvalidValue(
            f"orientation must be unit quaternions {COMPONENTS[quat]}, got {values[bad[0]].tolist()} "
            f"of length {lengths[bad[0]]:.3g} for body {bad[0]}"
            + (f" and {bad.size - 1} more" if bad.size > 1 else "")
            + "; divide each by its length"
        )
