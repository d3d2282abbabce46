"""Reads the settings of a world's constructor. Converts the text in `--set count=500` to the type of the parameter, and
limits counts of bodies.

The type is that of the parameter's annotation or, without an annotation, that of its default value. If the parameter
has neither, the text is passed unchanged. A count that is too large raises an error before any memory is allocated.
"""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Sequence
from typing import Any

from twixt.ipc.errors import InvalidValue, TwixtError
from twixt.ipc.process.user_code import suggestion_for

_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
# An error shows a count above this number as "far more" instead of its digits.
SPELLED_OUT = 10**15
_RULES = {int: "a whole number", float: "a finite number", bool: "true or false", str: "text"}


def read_settings(kind: type, settings: Sequence[tuple[str, str]], seed: int) -> dict[str, Any]:
    """Arguments for `kind(...)`, converted from pairs of name and text. If the constructor has a parameter `seed`, the
    arguments include `seed`.

    Raises TwixtError for unknown settings, for text that cannot be converted, and for missing values.
    """
    parameters = _parameters(kind)
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    named = {name: p for name, p in parameters.items() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    arguments: dict[str, Any] = {"seed": seed} if "seed" in named else {}
    for key, text in settings:
        if key in named:
            arguments[key] = _read(kind, key, text, _wanted_type(named[key]))
        elif takes_any:
            arguments[key] = text
        else:
            raise TwixtError(f'{kind.__name__} has no setting "{key}"; {_known(key, list(named))}')
    missing = [name for name, p in named.items() if p.default is p.empty and name not in arguments]
    if missing:
        names = ", ".join(missing)
        raise TwixtError(f"{kind.__name__} needs a value for {names}; give it with --set {missing[0]}=VALUE")
    return arguments


def check_count(count: int, most: int, of_what: str, bytes_each: int) -> None:
    """Raises TwixtError unless `count` is a whole number from 1 to `most`. bytes_each: bytes of memory for each of the
    counted things."""
    if isinstance(count, int) and 1 <= count <= most:
        return
    need, got = "", str(count)
    if isinstance(count, int) and count > most:
        got = got if count < SPELLED_OUT else "far more"
        need = f", which would need {_mib(min(count, SPELLED_OUT) * bytes_each)}; {most} need {_mib(most * bytes_each)}"
    raise InvalidValue(f"count must be from 1 to {most} {of_what}, got {got}{need}")


def _parameters(kind: type) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(kind, eval_str=True).parameters)
    except Exception:  # Annotations may name types that are imported only for type checkers.
        return dict(inspect.signature(kind).parameters)


def _wanted_type(parameter: inspect.Parameter) -> type | None:
    """The parameter's type if it is int, float, bool or str. Otherwise None."""
    annotation = parameter.annotation
    if isinstance(annotation, str):
        annotation = {"int": int, "float": float, "bool": bool, "str": str}.get(annotation, parameter.empty)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        options = [option for option in typing.get_args(annotation) if option in _RULES]
        annotation = options[0] if options else parameter.empty
    if annotation in _RULES:
        return annotation  # type: ignore[no-any-return]
    return type(parameter.default) if type(parameter.default) in _RULES else None


def _read(kind: type, key: str, text: str, wanted: type | None) -> Any:
    try:
        if wanted is bool:
            if text.lower() not in _TRUE + _FALSE:
                raise ValueError
            return text.lower() in _TRUE
        value: Any = text if wanted is None else _whole(text) if wanted is int else wanted(text)
        if wanted is float and not math.isfinite(value):
            raise ValueError
        return value
    except ValueError:
        rule = _RULES[wanted] if wanted else ""
        raise TwixtError(f"--set {key} of {kind.__name__} must be {rule}, got {text!r}") from None


def _whole(text: str) -> int:
    """A whole number from text such as 500, 10_000 or 1e6. Raises ValueError."""
    try:
        return int(text)
    except ValueError:
        value = float(text)
        if not value.is_integer():
            raise
        return int(value)


def _known(key: str, names: list[str]) -> str:
    return suggestion_for(key, names) or (f"it has {', '.join(names)}" if names else "its __init__ takes none")


def _mib(size: int) -> str:
    return f"{size >> 20:,} MiB"
