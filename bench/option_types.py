"""Reads the values of options of `python -m bench`: counts of bodies, lists of names, finite numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click

# Largest number of bodies of a bench.
MOST_BODIES = 100_000


def read_counts(text: str) -> tuple[int, ...]:
    """Reads whole numbers from 1 to `MOST_BODIES`, such as `1000,10000`. Raises ValueError for another text."""
    counts = tuple(int(part) for part in text.split(","))
    if not all(0 < count <= MOST_BODIES for count in counts):
        raise ValueError(f"each number must be from 1 to {MOST_BODIES}, such as 1000,10000")
    return counts


def read_names(*known: str) -> Callable[[str], tuple[str, ...]]:
    """Returns a function that reads names separated by commas. It returns each name once, in the order of `known`."""

    def read(text: str) -> tuple[str, ...]:
        wanted = {name.strip() for name in text.split(",")}
        if not wanted <= set(known):
            raise ValueError(f"write one or more of {', '.join(known)}")
        return tuple(name for name in known if name in wanted)

    return read


class FiniteRange(click.FloatRange):
    """A range of finite numbers. `click.FloatRange` would accept nan and, without an upper bound, inf."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if not math.isfinite(read := click.FLOAT.convert(value, parameter, context)):
            self.fail(f"must be a finite number, got {value}", parameter, context)
        return super().convert(read, parameter, context)
