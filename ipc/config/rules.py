"""This module parses the texts of flags, checks values of the configuration, and lists the blend rules for a user's
columns.

A function `read_...` parses the text of a flag, and raises ValueError if the text is invalid. A function with a
parameter `what` checks a value, and raises ConfigError if the value breaks the rule. The error names the value, the
rule and what the user can do. `what` is the name that the user typed, such as `--fps`. This module imports only the
standard library.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

from twixt.ipc.config.troubles import FORMS, TROUBLE_RULES, breaks_rule
from twixt.ipc.errors import InvalidType, InvalidValue, text_of

# Lowest accepted rate, in Hz. At a lower rate no motion is visible. A run may also end between two frames or between
# two snapshots.
SLOWEST_HZ = 0.1
# Largest accepted number. No setting needs a larger number. A larger time in ns would overflow 64 bits.
MOST = 1e9
# Value of `--trails` for trails that never end.
ALL_TRAILS = "all"


# Interpolation method and playback clock of one half of the picture. "" stands for the method or the clock of the run.
SplitSide = tuple[str, str]


class ConfigError(InvalidValue):
    """The value of a flag breaks a rule."""


class ConfigTypeError(ConfigError, InvalidType):
    """The value of a flag has the wrong type."""


def is_finite(value: Any) -> bool:
    """True if `value` is a real number that is not infinite, not NaN, and in the range of a float."""
    try:
        return isinstance(value, numbers.Real) and math.isfinite(value)
    except OverflowError:
        return False


def is_switch(value: Any) -> bool:
    """True if the value is True or False, of Python's type or of numpy's."""
    # The type is recognized by its name, without importing numpy. In numpy 1 its name is `bool_`.
    return type(value).__name__ in ("bool", "bool_")


def _wrong(value: Any, *kinds: type) -> type[ConfigError]:
    """The class of error for a refused value that should be one of `kinds`."""
    return ConfigError if isinstance(value, kinds) else ConfigTypeError


def flag(what: str, value: Any) -> None:
    """Raises ConfigError unless the value is True or False."""
    if not is_switch(value):
        raise ConfigTypeError(f"{what} must be True or False, got {text_of(value)}")


def positive(what: str, value: float | None, most: float = MOST) -> None:
    """Raises ConfigError unless the value is None, or a finite number above 0 and at most `most`."""
    if value is not None and not (is_finite(value) and value > 0):
        raise _wrong(value, numbers.Real)(f"{what} must be a finite number > 0, got {text_of(value)}")
    if value is not None and value > most:
        raise ConfigError(f"{what} must be at most {most:g}, got {float(value):g}")


def rate(what: str, value: float | None) -> None:
    """Raises ConfigError unless the value is None, or a rate in Hz from `SLOWEST_HZ` to `MOST`."""
    positive(what, value)
    if value is not None and value < SLOWEST_HZ:
        raise ConfigError(f"{what} must be at least {SLOWEST_HZ:g} Hz, got {float(value):g}")


def not_negative(what: str, value: float | None, most: float = math.inf) -> None:
    """Raises ConfigError unless the value is None, or a finite number from 0 to `most`."""
    if value is not None and not (is_finite(value) and 0 <= value <= most):
        bound = f" and <= {most:g}" if most < math.inf else ""
        raise _wrong(value, numbers.Real)(f"{what} must be a finite number >= 0{bound}, got {text_of(value)}")


def whole(what: str, value: Any, at_least: int) -> None:
    """Raises ConfigError unless the value is a whole number of at least `at_least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < at_least:
        raise _wrong(value, int)(f"{what} must be a whole number >= {at_least}, got {text_of(value)}")


def trails(what: str, value: Any) -> None:
    """Raises ConfigError unless the value is None, True, False, a number of seconds above 0 and at most `MOST`, or the
    text "all"."""
    is_valid = value is None or is_switch(value) or (isinstance(value, str) and value == ALL_TRAILS)
    if not is_valid and not (is_finite(value) and 0 < value <= MOST):
        raise ConfigError(
            f'{what} must be a number of seconds > 0 and <= {MOST:g}, or "{ALL_TRAILS}", got {text_of(value)}'
        )


def nice(what: str, value: Any) -> None:
    """Raises ConfigError unless the value is a whole number from 0 to 19. These nice values need no privilege."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 19:
        raise _wrong(value, int)(
            f"{what} must be a whole number from 0 (normal priority) to 19 (lowest priority), got {text_of(value)}"
        )


def one_of(what: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Raises ConfigError unless the value is one of the texts in `allowed`."""
    if not isinstance(value, str) or value not in allowed:
        raise _wrong(value, str)(f"{what} must be one of {', '.join(allowed)}, got {text_of(value)}")


def pair(what: str, value: Any, form: str) -> tuple[Any, Any]:
    """Returns a tuple or list of two values as a tuple. Raises ConfigError for any other value. form: the form in
    which the user should write the values; the error message shows it."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise _wrong(value, tuple, list)(f"{what} must be two values, {form}, got {text_of(value)}")
    return value[0], value[1]


def size(what: str, value: Any) -> None:
    """Raises ConfigError unless the value is the width and the height of a window, in pixels, each from 16 to
    16384."""
    width, height = pair(what, value, "(width, height)")
    if not (isinstance(width, numbers.Integral) and isinstance(height, numbers.Integral)):
        raise ConfigTypeError(f"{what} must be whole numbers of pixels, got {text_of(value)}")
    if not (16 <= int(width) <= 16384 and 16 <= int(height) <= 16384):
        raise ConfigError(f"{what} must be from 16x16 to 16384x16384, got {width}x{height}")


def reference(what: str, value: Any) -> None:
    """Raises ConfigError unless the value is a reference to a user's function, written module:function."""
    if not is_reference(value):
        raise _wrong(value, str)(f"{what} must be module:function, such as my_marks:draw, got {text_of(value)}")


def method(what: str, value: Any, built_in: tuple[str, ...]) -> None:
    """Raises ConfigError unless the value is a built-in interpolation method, or module:Class. The module is imported
    only when the method is used, not here."""
    if not is_reference(value) and not (isinstance(value, str) and value in built_in):
        names = ", ".join(built_in)
        raise _wrong(value, str)(f"{what} must be one of {names}, or your own module:Class, got {text_of(value)}")


def plain_name(what: str, value: Any) -> None:
    """Raises ConfigError unless the value is None, or a name that is safe in a file name: at most 64 characters, all
    of them ASCII letters, digits, - or _."""
    plain = value.replace("-", "").replace("_", "") if isinstance(value, str) else ""
    if value is not None and not (plain.isalnum() and plain.isascii() and len(value) <= 64):
        raise _wrong(value, str)(f"{what} must be 1 to 64 letters, digits, - or _, got {text_of(value)}")


def trouble(what: str, kind: str, value: Any) -> None:
    """Raises ConfigError unless the value is None, or the figures of injected trouble of this kind. The figures must
    obey `TROUBLE_RULES[kind]`."""
    if breaks_rule(kind, value):
        is_pair = isinstance(value, list | tuple) and len(value) == 2 and all(map(is_finite, value))
        got = FORMS[kind].format(*map(float, value)) if kind in FORMS and is_pair else text_of(value)
        raise ConfigError(f"{what} must be {TROUBLE_RULES[kind]}, got {got}")


def split(what: str, value: Any, built_in: tuple[str, ...], clocks: tuple[str, ...]) -> None:
    """Raises ConfigError unless the value is None, or two pairs of an interpolation method and a playback clock. ""
    stands for the method or the clock of the run."""
    if value is None:
        return
    for half in pair(what, value, 'such as (("none", ""), ("auto", ""))'):
        its_method, its_clock = pair(
            f"each half of {what}", half, '(method, clock); "" is the method or clock of the run'
        )
        if its_method != "":
            method(f"the method of a half of {what}", its_method, built_in)
        if its_clock != "":
            one_of(f"the clock of a half of {what}", its_clock, clocks)


def read_range_ms(text: str) -> tuple[float, float]:
    """Parses a range such as `40` or `20-120`. Returns the shortest and the longest time, both in ms."""
    low_text, dash, high_text = text.partition("-")
    low = float(low_text)
    high = float(high_text) if dash else low
    return low, high


def read_stall(text: str) -> tuple[float, float]:
    """Parses a text such as `500@5`. Returns the length of a stall in ms, and the interval between two stalls in
    simulated seconds. `0` means no stalls."""
    length_text, at, every_text = text.partition("@")
    if not at and text.strip() == "0":
        return 0.0, 1.0
    if not at:
        raise ValueError("write it as MS@SECONDS, such as 500@5")
    return float(length_text), float(every_text)


def read_delay(text: str) -> tuple[float, float]:
    """Parses a text such as `80` or `80+-20`. Returns the mean delay and the jitter, both in ms. The jitter is the
    largest difference of a delay from the mean delay."""
    mean_text, sign, jitter_text = text.replace("±", "+-").partition("+-")
    return float(mean_text), float(jitter_text) if sign else 0.0


def read_size(text: str) -> tuple[int, int]:
    """Parses a text such as `800x600`. Returns width and height, both in pixels."""
    width, _, height = text.lower().partition("x")
    return int(width), int(height)


def read_auto_ms(text: str) -> float | None:
    """Parses a time in ms. Returns None for the text `auto`."""
    return None if text == "auto" else float(text)


def read_trails(text: str) -> float | str:
    """Parses a number of seconds. Returns the text `all` unchanged."""
    if text == ALL_TRAILS:
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"write seconds, such as 5, or {ALL_TRAILS}") from None


def read_setting(text: str) -> tuple[str, str]:
    """Parses a setting such as `count=500`. Returns its name and its value, both as text."""
    key, equals, value = text.partition("=")
    if not equals or not key.isidentifier():
        raise ValueError("write it as name=value, such as count=500")
    return key, value


def read_split(text: str) -> tuple[SplitSide, SplitSide]:
    """Parses a text such as `none,auto`, `auto@newest-two,auto@auto` or `@buffered,@auto`. Returns the interpolation
    method and the playback clock of the left half of the picture, and then those of the right half."""
    halves = text.split(",")
    if len(halves) != 2:
        raise ValueError("write it as LEFT,RIGHT, such as none,auto or @newest-two,@auto")
    (left, _, left_clock), (right, _, right_clock) = (half.strip().partition("@") for half in halves)
    return (left, left_clock), (right, right_clock)


# Rules by which the values of a user's column are blended between two snapshots. A rule is one of `RULES`, or
# `module:function` for a user's function. A user's function is called with (old, new, alpha). The user's module is not
# imported here.
#
# linear: linear interpolation. angle: linear interpolation of angles in radians, along the shorter arc. none: the
# older value is drawn until the newer snapshot is due. latest: the newest published value is drawn as soon as it
# arrives.
RULES = ("linear", "angle", "none", "latest")
# Names of the columns that affect drawing. SCALE3: scale of each body or part along its own x, y and z axes. COLOR and
# VISIBLE_PARTS exist only as part columns: COLOR is the part's colour, and VISIBLE_PARTS is True if the part is drawn.
SCALE3 = "scale3"
COLOR, VISIBLE_PARTS = "color", "visible"
DRAWN_PARTS = (COLOR, SCALE3, VISIBLE_PARTS)


def is_reference(text: Any) -> bool:
    """True if `text` has the form module:name, such as my_rules:ease."""
    if not isinstance(text, str):
        return False
    module, _, name = text.partition(":")
    return name.isidentifier() and all(word.isidentifier() for word in module.split("."))


def is_rule(rule: Any) -> bool:
    """True if `rule` is one of `RULES` or a reference."""
    return isinstance(rule, str) and (rule in RULES or is_reference(rule))


def unknown_rule(column: str, rule: Any) -> str:
    """Returns the error text for an unknown `rule` of a column."""
    return (
        f"the rule of column {column!r} must be one of {', '.join(RULES)}, or your own module:function, "
        f"got {text_of(rule)}"
    )
