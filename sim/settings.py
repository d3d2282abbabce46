"""What was typed as `--set count=500`, read as the world's constructor wants it.

The type is that of the parameter's annotation, else of its default; without either the text passes as it is.
"""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Sequence
from typing import Any

from twixt.ipc.errors import TwixtError

_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_RULES = {int: "a whole number", float: "a finite number", bool: "true or false", str: "text"}


def read_settings(kind: type, settings: Sequence[tuple[str, str]], seed: int) -> dict[str, Any]:
    """Arguments for `kind(...)`. `seed` is among them if the constructor has such a parameter."""
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


def _parameters(kind: type) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(kind, eval_str=True).parameters)
    except Exception:  # annotations may name what only a type checker imports
        return dict(inspect.signature(kind).parameters)


def _wanted_type(parameter: inspect.Parameter) -> type | None:
    """int, float, bool or str, or None where anything goes."""
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
    """500, 10_000 or 1e6."""
    try:
        return int(text)
    except ValueError:
        value = float(text)
        if not value.is_integer():
            raise
        return int(value)


def _known(key: str, names: list[str]) -> str:
    import difflib  # for a refusal alone

    near = difflib.get_close_matches(key, names, n=1)
    if near:
        return f'did you mean "{near[0]}"?'
    return f"it has {', '.join(names)}" if names else "its __init__ takes none"
