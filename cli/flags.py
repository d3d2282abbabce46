"""Click options made of the fields of `Config`: a flag, its default and its help stand in one place, there.

Does not check values: `Config` does, whoever makes one.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable
from typing import Any

import click

from twixt.cli.completion import FIELDS, FILES
from twixt.ipc.config import Config, flag_name

# Above the flags that have no heading.
OWN_HEADING = "Options"
# What a benchmark is asked for at most.
MOST_BODIES = 100_000


class Read(click.ParamType):
    """A value that a function reads from a text, raising ValueError with the rule."""

    def __init__(self, name: str, read: Callable[[str], Any]) -> None:
        self.name, self.read = name, read

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self.read(value)
        except ValueError as error:
            self.fail(f"{value!r} does not read as {self.name} ({error})", parameter, context)


def read_counts(text: str) -> tuple[int, ...]:
    """`1000,10000`: whole numbers above 0."""
    counts = tuple(int(part) for part in text.split(","))
    if not all(0 < count <= MOST_BODIES for count in counts):
        raise ValueError(f"each must be from 1 to {MOST_BODIES}, such as 1000,10000")
    return counts


class Finite(click.FloatRange):
    """A range that nan, which compares with nothing, is not in."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if math.isnan(float(read := click.FLOAT.convert(value, parameter, context))):
            self.fail(f"{value} is no number", parameter, context)
        return super().convert(read, parameter, context)


class Flag(click.Option):
    """An option under a heading of `--help`."""

    def __init__(self, *names: Any, heading: str, **how: Any) -> None:
        super().__init__(*names, **how)
        self.heading = heading


def flags_of(*sides: str) -> list[Flag]:
    """The flags that belong to these sides, in Config's order."""
    return [_flag(item) for item in dataclasses.fields(Config) if item.metadata.get("side") in sides]


def _flag(item: dataclasses.Field[Any]) -> Flag:
    about, spelled = item.metadata, flag_name(item.name)
    shared = {"heading": about["heading"], "help": about["help"]}
    if isinstance(item.default, bool):
        negated = spelled.replace("--", "--no-", 1)
        declared = f"{spelled}/{negated}" if item.default else spelled
        return Flag([declared, item.name], is_flag=True, default=item.default, **shared)
    kind = click.Choice(about["choices"]) if about["choices"] else Read(about["metavar"], about["read"])
    several = item.default == ()
    return Flag(
        [spelled, item.name],
        type=kind,
        default=None if several else item.default,
        multiple=several,
        metavar=about["metavar"] or None,
        show_default=item.default is not None and not several and item.name != "size_px",
        shell_complete=FIELDS.get(item.name) or FILES.get(about["metavar"]),
        **shared,
    )


def option(*names: str, **how: Any) -> click.Option:
    """An option of one command alone. What takes a FILE is completed as one."""
    return click.Option(names, shell_complete=FILES.get(how.get("metavar", "")), **how)


def argument(name: str, **how: Any) -> click.Argument:
    """What is typed without a flag."""
    return click.Argument([name], **how)


TO_JSON = option("--json", "json_file", metavar="FILE", help="write the figures as JSON; - for standard output")
TO_PAGE = option("--out", metavar="FILE", help="write a page about it (Markdown)")


def typed() -> str:
    """The command as it was typed."""
    return " ".join(["twixt", *sys.argv[1:]])


def read_names(*known: str) -> Callable[[str], tuple[str, ...]]:
    """Reads some of these names, separated by commas; each once, in the order in which they are known."""

    def read(text: str) -> tuple[str, ...]:
        wanted = {name.strip() for name in text.split(",")}
        if not wanted <= set(known):
            raise ValueError(f"it is one or more of {', '.join(known)}")
        return tuple(name for name in known if name in wanted)

    return read
