"""This module checks values of shapes and scenes, such as numbers, vectors, lengths and colours.

Always: numbers in results are finite Python floats, whatever type the caller gave. A value that breaks a rule raises
SceneError, whose message names the field, the rule and the value. The argument `name` of all functions is the field's
name for this message.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import LARGE, InvalidType, InvalidValue, is_utf8, text_of
from twixt.ipc.rotation import XYZW, QuatOrder, is_w_first

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]  # x, y, z, w
Color = tuple[float, float, float]  # red, green and blue, each from 0 to 1
Paint = Color | tuple[float, float, float, float]  # a colour, or a colour and its alpha; each number is from 0 to 1
# A length whose difference from 1 is below this counts as 1. So normalizing a unit quaternion again does not change
# it.
UNIT_WITHIN = 1e-12
# A colour may leave its range by this much, which a calculation rounds. It is less than half of a byte's step.
ROUNDING = 1e-3
# Largest number of characters of a label. A longer text would not fit into a picture.
LONGEST_LABEL = 200
# The range of a colour's numbers, for messages. It is the same for the colours of scenes, bodies, parts and marks.
COLOR_RANGE = "from 0 to 1, or np.uint8(...) from 0 to 255"


class SceneError(InvalidValue):
    """The scene cannot be drawn."""


class SceneTypeError(SceneError, InvalidType):
    """The scene cannot be drawn, because a value has the wrong type."""


def number(name: str, value: Any) -> float:
    """Returns `value` as a finite Python float. Raises SceneError for any other value."""
    found = _numbers(value) if isinstance(value, numbers.Real) else ()
    if not found or not math.isfinite(found[0]):
        wrong = SceneError if isinstance(value, numbers.Real) else SceneTypeError
        raise wrong(f"{name} must be a finite number, got {LARGE if isinstance(value, int) else text_of(value)}")
    return found[0]


def flag(name: str, value: Any) -> bool:
    """Returns `value` as True or False. 1 and 0 are accepted as well. Raises SceneError for any other value."""
    if not isinstance(value, bool | np.bool_) and not (isinstance(value, int) and value in (0, 1)):
        raise SceneTypeError(f"{name} must be True or False, got {text_of(value)}")
    return bool(value)


def items(values: Any) -> tuple[Any, ...] | None:
    """Returns the items of an iterable, such as a list or an array. Returns None for text, and for a value that is not
    iterable."""
    if isinstance(values, str | bytes):
        return None
    try:
        return tuple(values)
    except TypeError:  # a zero-dimensional array raises TypeError as well
        return None


def label_text(name: str, value: Any) -> str:
    """Returns `value` as a text of one line, of at most `LONGEST_LABEL` characters. Raises SceneError for a longer
    text, for control characters such as a newline, and for anything else than text."""
    if not isinstance(value, str):
        raise SceneTypeError(f'{name} must be a text, such as "goal", got {text_of(value)[:40]}')
    if len(value) > LONGEST_LABEL:
        raise SceneError(f"{name} must be a text of at most {LONGEST_LABEL} characters, got {len(value):,}")
    if not (value.isprintable() or (min(value) >= " " and len(value.splitlines()) == 1 and is_utf8(value))):
        raise SceneError(f"{name} must be a text of one line, without control characters, got {text_of(value)[:40]}")
    return str(value)


def label_or_none(name: str, value: Any) -> str | None:
    """Returns `value` as `label_text` does; None for None and for an empty text."""
    return None if value is None else label_text(name, value) or None


def vector(name: str, values: Any) -> Vector:
    """Returns `values` as a tuple of three finite numbers. Raises SceneError for any other value."""
    found = _numbers(values)
    if len(found) != 3 or not all(math.isfinite(value) for value in found):
        raise _wrong(found)(f"{name} must be three finite numbers, got {text_of(values)}")
    return found[0], found[1], found[2]


def quaternion(name: str, values: Any, quat: QuatOrder = XYZW) -> Quaternion:
    """Returns `values` as a unit quaternion (x, y, z, w). A quaternion of any length except 0 is accepted and
    normalized. quat: order of the numbers in `values`. Raises SceneError for any other value."""
    w_first, found = is_w_first(quat), _numbers(values)
    length = math.hypot(*found)
    if len(found) != 4 or not math.isfinite(length) or length == 0:
        raise _wrong(found)(
            f"{name} must be a quaternion {quat}, four finite numbers, not all 0, got {text_of(values)}"
        )
    if abs(length - 1) < UNIT_WITHIN:
        length = 1.0
    x, y, z, w = (value / length for value in (found[1:] + found[:1] if w_first else found))
    return x, y, z, w


def lengths(name: str, values: Any, count: int) -> tuple[float, ...]:
    """Returns `values` as a tuple of `count` lengths in metres. Each length must be finite and > 0. Raises SceneError
    for any other value."""
    found = _numbers(values)
    if len(found) != count or not all(math.isfinite(value) and value > 0 for value in found):
        wanted = "a finite length" if count == 1 else f"{count} finite lengths"
        raise _wrong(found)(f"{name} must be {wanted} > 0 (metres), got {text_of(values)}")
    return found


def color_or_none(name: str, color: Any) -> Color | None:
    """Returns `color` as a tuple of three numbers from 0 to 1, or None if `color` is None. Values of type uint8 are
    divided by 255. Raises SceneError for any other value."""
    if color is None:
        return None
    found = _channels(color)
    if len(found) != 3 or not all(0 <= channel <= 1 for channel in found):
        raise _wrong(found)(f"{name} must be (red, green, blue), each {COLOR_RANGE}, got {text_of(color)}")
    return found[0], found[1], found[2]


def paint_or_none(name: str, color: Any) -> Paint | None:
    """Returns `color` as a tuple of three or four numbers from 0 to 1, or None if `color` is None. Values of type uint8
    are divided by 255. An alpha of 1 is removed. Raises SceneError for any other value."""
    if color is None:
        return None
    found = _channels(color)
    if len(found) not in (3, 4) or not all(0 <= channel <= 1 for channel in found):
        raise _wrong(found)(
            f"{name} must be (red, green, blue), or (red, green, blue, alpha), each {COLOR_RANGE}, got {text_of(color)}"
        )
    red, green, blue, *alpha = found
    return (red, green, blue) if alpha in ([], [1]) else (red, green, blue, alpha[0])


def check_colors(name: str, colors: NDArray[Any]) -> bool:
    """Checks an array of colours of any shape. Numbers of dtype uint8 are from 0 to 255, all others are from 0 to 1.
    Returns False if some number is not finite. Raises SceneError for other types, and for numbers out of range."""
    if colors.dtype == np.uint8:
        return True
    if colors.dtype.kind not in "fiu":
        raise SceneTypeError(f"{name} must be numbers {COLOR_RANGE}, got {colors.dtype}")
    least, most = -ROUNDING, 1 + ROUNDING
    if not colors.size or (colors.min() >= least and colors.max() <= most):
        return True
    finite = colors[np.isfinite(colors)]
    if finite.size == colors.size or (finite.size and not (finite.min() >= least and finite.max() <= most)):
        raise SceneError(
            f"{name} must be numbers {COLOR_RANGE}, got {colors.dtype} from {finite.min():g} to {finite.max():g}"
        )
    return False


def color_bytes(colors: NDArray[Any]) -> NDArray[np.uint8]:
    """Converts colours that `check_colors` has accepted to bytes, an array of the same shape. All numbers must be
    finite."""
    if colors.dtype == np.uint8:
        return colors
    return np.rint(np.clip(colors, 0, 1) * 255.0).astype(np.uint8)


def set_field(instance: Any, name: str, value: Any) -> None:
    """Sets a field of a frozen dataclass. Call this in the `__post_init__` or `__init__` of the dataclass."""
    object.__setattr__(instance, name, value)


def _channels(color: Any) -> tuple[float, ...]:
    """Returns the numbers of one colour, from 0 to 1 if they are in their range. Returns an empty tuple if `color` is
    not a sequence of numbers. Bools are no numbers."""
    found = items(color) or ()
    if any(isinstance(value, bool) for value in found):
        return ()
    most = 255 if all(isinstance(value, np.uint8) for value in found) else 1
    channels = (value / most for value in _numbers(found))
    return tuple(min(1.0, max(0.0, value)) if -ROUNDING <= value <= 1 + ROUNDING else value for value in channels)


def _wrong(found: tuple[float, ...]) -> type[SceneError]:
    """The class of error for a value in which `_numbers` found these numbers."""
    return SceneError if found else SceneTypeError


def _numbers(values: Any) -> tuple[float, ...]:
    """Returns the numbers in `values` as Python floats. `values` may be a single number. Returns an empty tuple if
    `values` contains anything that is not a number."""
    try:
        found = (values,) if isinstance(values, numbers.Real) else tuple(values)
        return tuple(float(value) for value in found) if all(isinstance(value, numbers.Real) for value in found) else ()
    # the value is not iterable, or it is a whole number beyond the range of a float
    except (TypeError, OverflowError):
        return ()
