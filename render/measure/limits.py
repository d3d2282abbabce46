"""Limits that a run must keep: `--fail-if "motion.animation_error_ms.p99>2"`.

A limit names a figure of the report and the condition under which the run fails. Read at the door
(`read_limits`), held against the report at the end (`check`). Standard library only.

Always: a figure that was not measured breaks its limit, for nothing can vouch for it.
"""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from twixt.ipc.errors import TwixtError
from twixt.render.measure.keys import SECTIONS, SPREAD, STATISTICS, figure_paths

OPERATORS = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
_FORM = re.compile(r"\s*([A-Za-z0-9_.]+)\s*(>=|<=|==|!=|>|<)\s*(\S+)\s*")
_WORDS = {"true": True, "false": False}


class Limit(NamedTuple):
    """The run fails when the figure at `path` compares so with `bound`."""

    text: str
    path: str
    sign: str
    bound: float | bool | str


def read_limits(texts: Iterable[str], known: Sequence[str] | None = None) -> list[Limit]:
    """The limits as typed. known: the figures there are, by default the report's. TwixtError: what is wrong with the
    first bad one, and the nearest names."""
    return [_read(text, known) for text in texts]


def check(report: dict[str, Any], limits: Iterable[str | Limit]) -> list[str]:
    """One line for each broken limit: what was asked and what was measured."""
    broken = []
    for limit in (item if isinstance(item, Limit) else _read(item) for item in limits):
        value = _figure(report, limit.path)
        if value is None:
            broken.append(f"{limit.text}: {limit.path} was not measured (conditions say why)")
        elif _holds(value, limit):
            shown = f"{value:g}" if isinstance(value, float) else value
            broken.append(f"{limit.text}: {limit.path} is {shown}")
    return broken


def _read(text: str, known: Sequence[str] | None = None) -> Limit:
    form = _FORM.fullmatch(text)
    if form is None:
        raise TwixtError(
            f"--fail-if must be FIGURE OPERATOR NUMBER with one of {' '.join(OPERATORS)}, got {text!r}; "
            f"such as 'motion.animation_error_ms.p99>2'"
        )
    path, sign, bound_text = form.groups()
    known = figure_paths() if known is None else list(known)
    if path not in known:
        raise TwixtError(f"--fail-if knows no figure {path!r}; {_way_out(path, known)}")
    return Limit(text, path, sign, _bound(text, bound_text, sign))


def _bound(text: str, bound_text: str, sign: str) -> float | bool | str:
    if bound_text.lower() in _WORDS:
        return _WORDS[bound_text.lower()]
    try:
        bound = float(bound_text)
    except ValueError:
        if sign in ("==", "!="):
            return bound_text
        raise TwixtError(
            f"--fail-if must compare with a number, got {bound_text!r} in {text!r}; write it like 2 or 0.99"
        ) from None
    if not math.isfinite(bound):
        raise TwixtError(
            f"--fail-if must compare with a finite number, got {bound_text!r} in {text!r}; write it like 2 or 0.99"
        )
    return bound


def _way_out(path: str, known: list[str]) -> str:
    section, _, key = path.partition(".")
    if SECTIONS.get(section, {}).get(key) == SPREAD:
        return f"name one of its figures: {', '.join(f'{path}.{last}' for last in STATISTICS)}"
    below = [name for name in known if name.startswith(path + ".")]
    near = (
        below or difflib.get_close_matches(path, known, n=3, cutoff=0.5) or [name for name in known if path in name][:3]
    )
    return (
        f"near to it: {', '.join(near)}"
        if near
        else f"the sections are {', '.join(SECTIONS)}; the report's JSON holds all names"
    )


def _figure(report: dict[str, Any], path: str) -> Any:
    value: Any = report
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _holds(value: Any, limit: Limit) -> bool:
    if isinstance(value, str) != isinstance(limit.bound, str):
        return limit.sign == "!="
    return bool(OPERATORS[limit.sign](value, limit.bound))
