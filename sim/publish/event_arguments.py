"""Checks the arguments of `emit` and `emit_many`, and packs them into records.

A wrong type or shape raises an error. Data can contain any number: a number that a record cannot hold is replaced, and
reported as a text.

Always: a call that raises has no effect.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import refusal, text_of
from twixt.ipc.ring.events import EVENT, MOST_VALUES, NAME_BYTES, NO_BODY, TEXT_BYTES
from twixt.sim.array_arguments import array_of, array_refusal, kind_of

PACKED = struct.Struct(f"<qIi3ff{MOST_VALUES}fB{TEXT_BYTES}s")
# Time of an event that happened at the end of its step, in an unpublished record.
AT_STEP = -(1 << 63)
NOWHERE, NO_VALUES = (math.nan,) * 3, (math.nan,) * MOST_VALUES
# Largest index of a body that a record can hold, and largest time of an event in seconds.
LARGEST_BODY, LARGEST_AT_S = (1 << 31) - 1, 9.2e9
# Columns of the fields in records that are read as rows of numbers of 4 bytes, and number of columns.
PLACES = {name: EVENT.fields[name][1] // 4 for name in ("body", "position", "strength", "values")}  # type: ignore[index]
WORDS = EVENT.itemsize // 4

# Function that is called with the kind of a correction and the text that reports it.
Report = Callable[[str, str], object]


def check_name(name: Any) -> None:
    """Raises TwixtError unless `name` can be the name of an event."""
    if not (
        isinstance(name, str)
        and 0 < len(name) <= NAME_BYTES
        and name.isprintable()
        and len(name.encode()) <= NAME_BYTES
    ):
        raise refusal(name, str)(
            f"an event's name must be a text of 1 to {NAME_BYTES} bytes in UTF-8 in one line, got {text_of(name)[:80]}; "
            'such as "hit", with details in text or values'
        )


def text_bytes(call: str, name: str, text: Any, report: Report) -> bytes:
    """UTF-8 of an event's text. A text that is too long is cut, and control characters become spaces."""
    if text is None:
        return b""
    if not isinstance(text, str):
        raise refusal(text, str)(f"{call}(text) must be a text, got {text_of(text)[:80]}; such as text=str(value)")
    if text.isprintable() and len(content := text.encode()) <= TEXT_BYTES:
        return content
    line = "".join([letter if letter.isprintable() else " " for letter in text[:TEXT_BYTES]])
    content = line.encode()
    if len(text) <= TEXT_BYTES and len(content) <= TEXT_BYTES:
        report("text", f"event {name!r}: control characters in the text {text_of(text)[:80]} are shown as spaces")
        return content
    content = content[:TEXT_BYTES].decode(errors="ignore").encode()
    report(
        "text",
        f"event {name!r}: the text {text_of(text)[:80]} is cut to {content.decode()!r}; a text may have {TEXT_BYTES} "
        "bytes in UTF-8",
    )
    return content


def packed_events(
    call: str,
    name: str,
    number: int,
    body: Any,
    position: Any,
    strength: Any,
    values: Any,
    at: Any,
    text: bytes,
    report: Report,
) -> bytes | bytearray:
    """Records of n events, as bytes. Their world epoch is 0, and their time AT_STEP if `at` is None.

    call: "emit" or "emit_many". `emit_many` takes a row for each event, or one for all. number: number of the name.
    text: its bytes in UTF-8. report: receives the corrections. The other arguments are those of `World.emit_many`.
    Raises TwixtError.
    """
    takes_rows = call == "emit_many"
    given = {
        "body": None if body is None else _array(call, "body", body, "iu", (), takes_rows),
        "position": None if position is None else _array(call, "position", position, "fiu", (3,), takes_rows),
        "strength": (
            None
            if strength.__class__ is float and strength == 1.0
            else _array(call, "strength", strength, "fiub", (), takes_rows)
        ),
        "values": _values(call, values, takes_rows),
        "at": None if at is None else _array(call, "at", at, "fiu", (), takes_rows),
    }
    count = _count_of(call, given)
    empty = bytearray(PACKED.pack(AT_STEP, 0, NO_BODY, *NOWHERE, 1.0, *NO_VALUES, number, text))
    packed = empty * count
    floats = np.frombuffer(packed, "<f4").reshape(count, WORDS)
    # A number that is too large becomes infinite in float32, and is then reported.
    with np.errstate(all="ignore"):
        if (bodies := given["body"]) is not None:
            floats.view("<i4")[:, PLACES["body"]] = _checked_bodies(call, bodies)
        if (points := given["position"]) is not None:
            points = points.astype(np.float32)
            if not np.isfinite(points).all():
                is_wrong = ~np.isfinite(points).all(axis=-1)
                report(
                    "position",
                    _fault(name, "position", given["position"], is_wrong, "the event is delivered without a position"),
                )
                points[is_wrong] = np.nan
            _write(floats, "position", points)
        if (strengths := given["strength"]) is not None:
            strengths = strengths.astype(np.float32)
            if count and not (strengths.min() >= 0 and strengths.max() < np.inf):
                is_wrong = ~((strengths >= 0) & (strengths < np.inf))
                rule = "a strength must be finite and >= 0, so 0 is used"
                report("strength", _fault(name, "strength", given["strength"], is_wrong, rule))
                strengths[is_wrong] = 0
            floats[:, PLACES["strength"]] = strengths
        if (numbers := given["values"]) is not None:
            numbers = numbers.astype(np.float32)
            if not np.isfinite(numbers).all():
                is_wrong = ~np.isfinite(numbers)
                rule = "numbers that are not finite become NaN"
                report("values", _fault(name, "values", given["values"], is_wrong.any(axis=-1), rule))
                numbers[is_wrong] = np.nan
            _write(floats, "values", numbers)
        if (times := given["at"]) is not None:
            is_finite = np.isfinite(times)
            if not is_finite.all():
                report("at", _fault(name, "at", times, ~is_finite, "the event is put at the end of its step"))
            times_ns = np.rint(np.clip(times, -LARGEST_AT_S, LARGEST_AT_S) * 1e9)
            floats.view("<i8")[:, 0] = np.where(is_finite, times_ns, AT_STEP)
    return packed


def _array(call: str, field: str, value: Any, kinds: str, row: tuple[int, ...], takes_rows: bool) -> NDArray[Any]:
    """`value` as an array of the shape of a row, or (n, *row) if `takes_rows` is True."""
    array = array_of(f"{call}({field})", value)
    if takes_rows and array.size == 0 and array.ndim == 1:
        array = array.astype(np.int64).reshape(0, *row)
    is_shape = array.shape == row or (takes_rows and array.shape[1:] == row and array.ndim == len(row) + 1)
    if array.dtype.kind not in kinds or not is_shape:
        what = "whole numbers" if kinds == "iu" else "numbers"
        if row:
            what = f"{what} of shape ({row[0]},)" + (f" or (n, {row[0]})" if takes_rows else "")
        else:
            what = f"{what} of shape (n,), or one for all" if takes_rows else f"a {what[:-1]}"
        is_many = array.ndim > len(row) and not takes_rows
        hint = "; for many events at once use emit_many" if is_many else ""
        raise array_refusal(array, kinds)(f"{call}({field}) must be {what}, got {_got(value, array)}{hint}")
    return array


def _values(call: str, values: Any, takes_rows: bool) -> NDArray[Any] | None:
    if values is None:
        return None
    array = array_of(f"{call}(values)", values)
    if array.size == 0 and array.ndim == 1:
        return None
    is_shape = array.ndim == 1 or (takes_rows and array.ndim == 2)
    if array.dtype.kind not in "fiub" or not is_shape or array.shape[-1] > MOST_VALUES:
        shape = f"(k,) or (n, k), with k <= {MOST_VALUES}" if takes_rows else f"(k,), with k <= {MOST_VALUES}"
        raise array_refusal(array, "fiub")(
            f"{call}(values) must be numbers of shape {shape}, got {_got(values, array)}; put more values into another event"
        )
    return array


def _count_of(call: str, given: dict[str, NDArray[Any] | None]) -> int:
    """Number of events. Raises TwixtError if the arrays disagree."""
    rows = {
        field: len(array)
        for field, array in given.items()
        if array is not None and array.ndim > (1 if field in ("position", "values") else 0)
    }
    if len(set(rows.values())) > 1:
        lengths = ", ".join(f"{length} of {field}" for field, length in rows.items())
        raise refusal(1, int)(
            f"{call} needs arrays with equal numbers of rows, got {lengths}; or pass one value for all events"
        )
    return next(iter(rows.values()), 1)


def _checked_bodies(call: str, bodies: NDArray[Any]) -> NDArray[Any]:
    """The indices of bodies, as records hold them. Raises TwixtError for a negative index."""
    if bodies.dtype == np.int64 and bodies.view(np.uint64).max(initial=0) <= LARGEST_BODY:
        return bodies
    if bodies.size and bodies.min() < 0:
        raise refusal(0, int)(
            f"{call}(body) must be indices of bodies, from 0, got {int(bodies.min())}; leave body out if there is none"
        )
    return np.asarray(np.minimum(bodies.astype(np.uint64), LARGEST_BODY))


def _write(floats: NDArray[np.float32], field: str, values: NDArray[np.float32]) -> None:
    """Writes values, (k,) or (n, k), column by column, which is faster than rows of few numbers."""
    first = PLACES[field]
    for column in range(values.shape[-1]):
        floats[:, first + column] = values[..., column]


def _fault(name: str, field: str, values: NDArray[Any] | None, is_wrong: NDArray[np.bool_], rule: str) -> str:
    """Text that reports the first wrong value of a field."""
    assert values is not None
    first = values[np.flatnonzero(is_wrong)[0]] if is_wrong.ndim else values
    found = np.array2string(first, separator=", ") if first.ndim else f"{first:g}"
    return f"event {name!r} has {field}={found}; {rule}"


def _got(value: Any, array: NDArray[Any]) -> str:
    return kind_of(array) if array.ndim or array.dtype.kind in "O" else text_of(value)[:80]
