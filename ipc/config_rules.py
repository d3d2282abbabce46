"""The rules that a run's values keep: each function returns, or raises ConfigError with value, rule and way out.

`what` is what the user typed it as, such as `--fps`. Standard library only.
"""

from __future__ import annotations

import math
import numbers
import os
from typing import Any

from twixt.ipc.errors import TwixtError
from twixt.ipc.rules import is_reference
from twixt.ipc.troubles import FORMS, RULES, breaks_rule

# A picture, or a snapshot, in so long answers nobody, and a run ends between two of them.
SLOWEST_HZ = 0.1
# Nothing is asked for that is more; beyond it times overflow.
MOST = 1e9


class ConfigError(TwixtError):
    """A flag's value that breaks its rule."""


def is_finite(value: Any) -> bool:
    """Whether it is a number at all, and no infinite one."""
    return isinstance(value, numbers.Real) and math.isfinite(value)


def positive(what: str, value: float | None, most: float = MOST) -> None:
    """None, or a finite number above 0, up to `most`."""
    if value is not None and not (is_finite(value) and value > 0):
        raise ConfigError(f"{what} must be a finite number > 0, got {value!r}")
    if value is not None and value > most:
        raise ConfigError(f"{what} must be at most {most:g}, got {value:g}")


def rate(what: str, value: float | None) -> None:
    """None, or so many a second."""
    positive(what, value)
    if value is not None and value < SLOWEST_HZ:
        raise ConfigError(f"{what} must be at least {SLOWEST_HZ:g} a second, got {value:g}")


def not_negative(what: str, value: float | None, most: float = math.inf) -> None:
    """None, or a finite number from 0 to `most`."""
    if value is not None and not (is_finite(value) and 0 <= value <= most):
        bound = f" and <= {most:g}" if most < math.inf else ""
        raise ConfigError(f"{what} must be a finite number >= 0{bound}, got {value!r}")


def whole(what: str, value: Any, at_least: int) -> None:
    """A whole number."""
    if not isinstance(value, int) or value < at_least:
        raise ConfigError(f"{what} must be a whole number >= {at_least}, got {value!r}")


def nice(what: str, value: Any) -> None:
    """A nice value that needs no privilege."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 19:
        raise ConfigError(
            f"{what} must be a whole number from 0 (as other programs) to 19 (after all of them), got {value!r}; "
            "leave it out for 0"
        )


def one_of(what: str, value: Any, allowed: tuple[str, ...]) -> None:
    """One of these words."""
    if value not in allowed:
        raise ConfigError(f"{what} must be one of {', '.join(allowed)}, got {value!r}")


def pair(what: str, value: Any, form: str) -> tuple[Any, Any]:
    """Two values, written as `form`."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ConfigError(f"{what} must be two values, {form}, got {value!r}")
    return value[0], value[1]


def size(what: str, value: Any) -> None:
    """Width and height of a window, in pixels."""
    width, height = pair(what, value, "(width, height)")
    if not (isinstance(width, numbers.Integral) and isinstance(height, numbers.Integral)):
        raise ConfigError(f"{what} must be whole numbers of pixels, got {value!r}")
    if not (16 <= int(width) <= 16384 and 16 <= int(height) <= 16384):
        raise ConfigError(f"{what} must be from 16x16 to 16384x16384, got {width}x{height}")


def reference(what: str, value: Any) -> None:
    """module:function."""
    if not is_reference(value):
        raise ConfigError(f"{what} must be module:function, such as my_marks:draw, got {value!r}")


def method(what: str, value: Any, built_in: tuple[str, ...]) -> None:
    """A method of interpolation: built in, or module:Class. Whether that module is there is seen when it is used."""
    if value not in built_in and not is_reference(value):
        names = ", ".join(built_in)
        raise ConfigError(f"{what} must be one of {names}, or module:Class for one of your own, got {value!r}")


def plain_name(what: str, value: Any) -> None:
    """None, or a name that is safe as a file's."""
    plain = value.replace("-", "").replace("_", "") if isinstance(value, str) else ""
    if value is not None and not (plain.isalnum() and plain.isascii() and len(value) <= 64):
        raise ConfigError(f"{what} must be letters, digits, - and _, at most 64, got {value!r}")


def trouble(what: str, kind: str, value: Any) -> None:
    """Figures of a kind of trouble, or None."""
    if breaks_rule(kind, value):
        got = FORMS[kind].format(*value) if kind in FORMS else value
        raise ConfigError(f"{what} must be {RULES[kind]}, got {got}")


def check_file(flag: str, path: Any, is_picture: bool = False) -> None:
    """Raises ConfigError unless `path` can be written, or made in its folder, and a picture is named as a PNG file is.

    "-", standard output, is for --json alone.
    """
    if not isinstance(path, str) or not path:
        raise ConfigError(f"{flag} must be the name of a file, got {path!r}")
    if path == "-" and flag == "--json":
        return
    if path == "-":
        raise ConfigError(f"{flag} -: only --json is written to standard output; name a file")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise ConfigError(f"{flag} {path!r}: the folder {folder!r} does not exist; make it, or name another file")
    if os.path.isdir(path) or not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise ConfigError(f"{flag} {path!r} cannot be written; name another file")
    if is_picture and not path.lower().endswith(".png"):
        raise ConfigError(f"{flag} writes a PNG file, got {path!r}; name it {path}.png")


def ways(what: str, value: Any, built_in: tuple[str, ...], clocks: tuple[str, ...]) -> None:
    """None, or two ways of drawing, each a method and a clock, "" for the run's own."""
    if value is None:
        return
    for half in pair(what, value, '(("none", ""), ("auto", "")), a method and a clock each'):
        its_method, its_clock = pair(f"a half of {what}", half, '(method, clock), "" for the run\'s own')
        if its_method != "":
            method(f"a half of {what}", its_method, built_in)
        if its_clock != "":
            one_of(f"the clock of a half of {what}", its_clock, clocks)
