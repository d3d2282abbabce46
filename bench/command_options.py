"""Options of the commands of `python -m bench`, and what they accept."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click

from twixt.cli.flags import Read, option

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


def names_option(flag: str, known: tuple[str, ...]) -> click.Option:
    """An option that takes some of the names `known`, separated by commas; by default all."""
    read, about = Read("names", read_names(*known)), f"names, separated by commas: {', '.join(known)}  [default: all]"
    return option(flag, type=read, default=",".join(known), metavar="NAMES", help=about)


class FiniteRange(click.FloatRange):
    """A range of finite numbers. `click.FloatRange` would accept nan and, without an upper bound, inf."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if not math.isfinite(read := click.FLOAT.convert(value, parameter, context)):
            self.fail(f"must be a finite number, got {value}", parameter, context)
        return super().convert(read, parameter, context)


def seconds(default: float, least: float, about: str) -> click.Option:
    return option("--seconds", type=FiniteRange(min=least, max=3600), default=default, show_default=True, help=about)


def turns(default: int, about: str) -> click.Option:
    return option("--turns", type=click.IntRange(1, 1000), default=default, show_default=True, help=about)


def several(name: str, field: str, about: str) -> click.Option:
    return option(name, field, multiple=True, help=f"{about}; you may repeat this flag")


def seeds(default: int) -> click.Option:
    about = "number of seeds of each trace"
    return option("--seeds", type=click.IntRange(min=1), default=default, show_default=True, help=about)


TO_JSON = option("--json", "json_file", metavar="FILE", help="write the figures as JSON; - writes to standard output")
TO_PAGE = option("--out", metavar="FILE", help="write the results as a page (Markdown)")
COST_OPTIONS = (
    option("--quick", is_flag=True, help="test with few rounds that the bench works; the figures are not accurate"),
    TO_JSON,
    TO_PAGE,
    option("--plot", metavar="FILE", help="draw frames per second against the number of bodies (PNG)"),
    option("--against", metavar="FILE", help="compare the ratios with those of an earlier --json FILE"),
    option(
        "--fail-over",
        type=FiniteRange(min=0),
        metavar="PERCENT",
        help="exit with code 1 if a ratio is worse than in --against by more than PERCENT % and more than the noise",
    ),
)
BEFORE = option(
    "--before", metavar="FOLDER", help="checkout of an earlier version, measured alternately with this version"
)
