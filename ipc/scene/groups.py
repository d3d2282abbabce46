"""This module defines values in a scene: groups of bodies, colours by a column, blend rules, parents, and the log of
earlier parents.

Always: a `Group` or `ColorBy` is checked when it is made. `Scene.check_bodies` checks that the bodies of a group
exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.config import flags
from twixt.ipc.config.rules import is_reference, is_rule, unknown_rule
from twixt.ipc.errors import named_arguments, text_of
from twixt.ipc.scene.checks import (
    COLOR_RANGE,
    Color,
    SceneError,
    SceneTypeError,
    color_or_none,
    items,
    number,
    set_field,
)

# Name that the viewer uses for the group of all bodies with a parent. A user's group must not have this name.
CHILDREN = "children"
RESERVED_NAMES = (CHILDREN,)
# Longest delay of a group, in ms. The viewer does not store snapshots that are older than this delay.
LONGEST_DELAY_MS = 10_000.0
# Largest index of a body. A scene's message has 4 bytes for an index.
LAST_BODY = (1 << 31) - 1


@named_arguments
@dataclass(frozen=True)
class Group:
    """A group of bodies with their own interpolation method, or with a delay.

    Args:
        bodies: Indices of the bodies, in any order. The indices are stored as a tuple.
        interpolation: "auto", "hermite", "linear", "none", "latest", "catmull", "quadratic", "extrapolate", "kalman",
            "chase", or "module:Class". None for the interpolation method of the run.
        delay_ms: Delay of this group, in ms of simulated time, from 0 to 10,000. The group is drawn in an earlier
            state than the other bodies.

    Raises:
        TwixtError: An argument is invalid. The error is also a ValueError.

    Examples:
        ```python
        from twixt import Group, Scene, Sphere

        scene = Scene([Sphere(0.2)] * 10, groups={"ghosts": Group([8, 9], "linear", delay_ms=200)})
        ```
    """

    bodies: Sequence[int]
    interpolation: str | None = None
    delay_ms: float = 0.0

    def __init__(self, bodies: Iterable[int], interpolation: str | None = None, delay_ms: float = 0.0) -> None:
        indices = items(bodies)
        if indices is None:
            raise SceneTypeError(f"Group.bodies must be indices of bodies, such as [4, 5], got {text_of(bodies)}")
        set_field(self, "bodies", tuple(body_index("Group.bodies", body) for body in indices))
        if len(set(self.bodies)) < len(self.bodies):
            twice = next(body for body in self.bodies if self.bodies.count(body) > 1)
            raise SceneError(f"Group.bodies must name each body once, got {twice} twice")
        is_known = interpolation is None or (isinstance(interpolation, str) and interpolation in flags.INTERPOLATIONS)
        if not is_known and not is_reference(interpolation):
            raise SceneError(
                f"Group.interpolation must be one of {', '.join(flags.INTERPOLATIONS)}, module:Class for "
                f"your own method, or None for the method of the run, got {text_of(interpolation)}"
            )
        set_field(self, "interpolation", interpolation)
        set_field(self, "delay_ms", number("Group.delay_ms", delay_ms))
        if not 0 <= self.delay_ms <= LONGEST_DELAY_MS:
            raise SceneError(f"Group.delay_ms must be >= 0 and <= {LONGEST_DELAY_MS:g}, got {text_of(delay_ms)}")


@named_arguments
@dataclass(frozen=True)
class ColorBy:
    """Colours bodies by the values of a column.

    Values outside the range from `low` to `high` are clamped. The body's colour is then interpolated linearly: it is
    `low_color` at `low` and `high_color` at `high`. This colour replaces red, green and blue of the body and of its
    shapes.

    Args:
        column: Name of a column with one number for each body.
        low: Number at which a body has the colour `low_color`.
        high: Number at which a body has the colour `high_color`. `high` must differ from `low`.
        low_color: Red, green and blue, each from 0 to 1, or np.uint8 from 0 to 255. By default blue.
        high_color: Red, green and blue, as for `low_color`. By default orange.

    Raises:
        TwixtError: An argument is invalid. The error is also a ValueError.

    Examples:
        ```python
        from twixt import Bodies, ColorBy, Column, Scene, Sphere

        bodies = Bodies(10, columns={"heat": Column("f4")})
        scene = Scene([Sphere(0.2)] * 10, color_by=ColorBy("heat", low=0, high=100))
        ```
    """

    column: str
    low: float = 0.0
    high: float = 1.0
    low_color: Color = (0.16, 0.36, 0.86)
    high_color: Color = (1.00, 0.38, 0.16)

    def __init__(
        self,
        column: str,
        low: float = 0.0,
        high: float = 1.0,
        low_color: ArrayLike = (0.16, 0.36, 0.86),
        high_color: ArrayLike = (1.00, 0.38, 0.16),
    ) -> None:
        if not isinstance(column, str) or not column:
            raise SceneTypeError(f"ColorBy.column must be the name of a column, got {text_of(column)}")
        set_field(self, "column", column)
        for name, value in (("low", low), ("high", high)):
            set_field(self, name, number(f"ColorBy.{name}", value))
        if self.low == self.high:
            raise SceneError(f"ColorBy.low and high must differ, got {self.low:g} and {self.high:g}")
        for name, given in (("low_color", low_color), ("high_color", high_color)):
            color = color_or_none(f"ColorBy.{name}", given)
            if color is None:
                raise SceneError(f"ColorBy.{name} must be (red, green, blue), each {COLOR_RANGE}, got None")
            set_field(self, name, color)


def colors(values: NDArray[np.generic], by: ColorBy) -> NDArray[np.uint8]:
    """Returns a colour for each value, (n, 3). If a value is NaN, it gets the colour of the lowest value."""
    firsts = values if values.ndim == 1 else values[:, 0]
    numbers = np.nan_to_num(firsts.astype(np.float32), nan=by.low)
    share = np.clip((numbers - by.low) / (by.high - by.low), 0.0, 1.0)[:, None]
    low, high = np.array(by.low_color), np.array(by.high_color)
    return np.rint(255 * (low + (high - low) * share)).astype(np.uint8)


def body_index(name: str, value: Any) -> int:
    """Returns `value` as the index of a body. name: the field's name, for the error message. Raises SceneError if
    `value` cannot be an index."""
    try:
        body = index(value)
    except TypeError:
        body = -1
    if body < 0 or isinstance(value, bool):
        wrong = SceneError if isinstance(value, int | np.integer) else SceneTypeError
        raise wrong(f"{name} must be indices of bodies, whole numbers >= 0, got {text_of(value)}")
    if body > LAST_BODY:
        raise SceneError(f"{name} must be indices of bodies, at most {LAST_BODY}, got {text_of(value)}")
    return body


def check_groups(groups: Mapping[str, Group]) -> dict[str, Group]:
    """Returns the groups as a dict. Raises SceneError if a body is in two groups, or if a name or value breaks a
    rule."""
    if not isinstance(groups, Mapping):
        raise SceneTypeError(
            f'Scene.groups must map names to groups, such as {{"hand": Group([4, 5])}}, got {text_of(groups)}'
        )
    member_of: dict[int, str] = {}
    for name, group in groups.items():
        if not isinstance(name, str) or not name or name in RESERVED_NAMES:
            raise SceneError(
                f"a group's name must be a text other than {', '.join(RESERVED_NAMES)}, got {text_of(name)}"
            )
        if not isinstance(group, Group):
            raise SceneTypeError(
                f"Scene.groups must map names to Group(bodies, ...), got {text_of(group)} for {name!r}"
            )
        for body in group.bodies:
            other = member_of.setdefault(body, name)
            if other != name:
                raise SceneError(f"a body can be in only one group, got {body} in {other!r} and in {name!r}")
    return dict(groups)


def check_columns(columns: Mapping[str, str]) -> dict[str, str]:
    """Returns the mapping of columns to their blend rules as a dict. Raises SceneError for an unknown rule."""
    if not isinstance(columns, Mapping):
        raise SceneTypeError(
            f'Scene.columns must map columns to rules, such as {{"heat": "linear"}}, got {text_of(columns)}'
        )
    for name, rule in columns.items():
        if not isinstance(name, str):
            raise SceneTypeError(f"Scene.columns must map the names of columns to rules, got {text_of(name)}")
        if not is_rule(rule):
            raise SceneError(unknown_rule(name, rule))
    return dict(columns)


def check_parents(parents: Mapping[int, int]) -> dict[int, int]:
    """Returns the mapping of children to their parents as a dict. Raises SceneError if the parents form a cycle."""
    if not isinstance(parents, Mapping):
        raise SceneTypeError(f"Scene.parents must map a child to its parent, such as {{1: 0}}, got {text_of(parents)}")
    checked = {
        body_index("Scene.parents", child): body_index("Scene.parents", parent) for child, parent in parents.items()
    }
    ends: set[int] = set()  # bodies whose chain of parents is known to have no cycle
    for first in checked:
        path: dict[int, None] = {}
        body = first
        while body in checked and body not in ends:
            if body in path:
                cycle = [*list(path)[list(path).index(body) :], body]
                raise SceneError(
                    f"Scene.parents must not form a cycle, got {' -> '.join(map(str, cycle))}; "
                    "remove one of these parents"
                )
            path[body] = None
            body = checked[body]
        ends.update(path)
    return checked


def rows_of_parents(parents: Mapping[int, int], count: int) -> NDArray[np.int32]:
    """Returns the index of the parent of each of `count` bodies, as an array of shape (count,). The index is -1 if the
    body has no parent, or if the parent does not exist."""
    rows = np.full(count, -1, np.int32)
    for child, parent in parents.items():
        if child < count and parent < count:
            rows[child] = parent
    return rows


def rows_of_groups(groups: Mapping[str, Group], count: int) -> NDArray[np.int32]:
    """Returns the index in `groups` of the group of each of `count` bodies, as an array of shape (count,). The index
    is -1 for a body without a group."""
    rows = np.full(count, -1, np.int32)
    for place, group in enumerate(groups.values()):
        members = np.array(group.bodies, np.int64)
        rows[members[members < count]] = place
    return rows


# A log stores the parents of bodies in the latest scenes of a simulation. Each entry has the number of the first scene
# version to which the entry applies.
#
# Each snapshot belongs to a version of the scene. The bodies of a snapshot are placed with the parents of that
# version, even after a newer scene has arrived. If scenes follow each other quickly, only the newest scene is sent. So
# each scene message also has the parents of earlier scenes.
#
# Always: versions ascend, neighbouring entries have different parents, and the last entry applies to the newest scene.

# MOST_ENTRIES: largest number of entries in the log. Only a few scenes are sent during one frame, even if the scene
# changes in every step at 1 kHz. MOST_CHILDREN: largest number of children in all entries of a scene message together.
# This number of children takes about 60 KB.
MOST_ENTRIES = 16
MOST_CHILDREN = 4096


class ParentEntry(NamedTuple):
    """The parent of each child, in all scenes from `version` up to the version of the next entry."""

    version: int
    parents: Mapping[int, int]


ParentLog = tuple[ParentEntry, ...]


def appended(log: Iterable[ParentEntry], version: int, parents: Mapping[int, int]) -> ParentLog:
    """Returns the log with an entry for the newest scene. If the parents did not change, returns the log unchanged."""
    known = tuple(log)
    if known and known[-1].parents == parents:
        return known
    return (*known[1 - MOST_ENTRIES :], ParentEntry(version, parents))


def merged(log: ParentLog, other: Iterable[ParentEntry]) -> ParentLog:
    """Merges both logs into one log. If both logs have an entry for the same version, the entry of `other` is used."""
    by_version = dict(log) | dict(other)
    entries: ParentLog = ()
    for version in sorted(by_version):
        entries = appended(entries, version, by_version[version])
    return entries


def from_version(log: ParentLog, version: int) -> ParentLog:
    """Returns the entries that apply to scenes with this version or a later version."""
    first = max((at for at, entry in enumerate(log) if entry.version <= version), default=0)
    return log[first:]


def to_field(log: ParentLog) -> list[list[Any]]:
    """Returns all entries except the newest, as values that JSON can encode. If all entries together have more than
    MOST_CHILDREN children, the oldest entries are left out."""
    fields: list[list[Any]] = []
    children = 0
    for version, parents in log[-2::-1]:
        children += len(parents)
        if children > MOST_CHILDREN:
            break
        fields.append([version, *parents, *parents.values()])
    return fields[::-1]


def from_field(field: Any) -> ParentLog:
    """Returns the entries that `to_field` encoded. Raises SceneError for any other value."""
    if not isinstance(field, list) or len(field) > MOST_ENTRIES:
        raise SceneError("the message with the parents of earlier scenes is damaged; restart the simulation")
    entries = []
    for numbers in field:
        whole = isinstance(numbers, list) and all(isinstance(number, int) for number in numbers)
        if not whole or len(numbers) % 2 != 1:
            raise SceneError("the message with the parents of an earlier scene is damaged; restart the simulation")
        half = len(numbers) // 2 + 1
        parents = dict(zip(numbers[1:half], numbers[half:], strict=True))
        entries.append(ParentEntry(numbers[0], check_parents(parents)))
    return tuple(entries)
