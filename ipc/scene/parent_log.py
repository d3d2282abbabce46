"""Parents of the latest scenes of a simulation, by the version from which on they hold.

A snapshot is composed with the parents of its own scene, also after a newer scene has come. A viewer may not have got
that scene by itself, because of several at once only the newest is sent; so a scene's message has the log.

Always: versions ascend, neighbours differ, and the last entry is the newest scene's. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from twixt.ipc.scene.groups import check_parents
from twixt.ipc.shapes.shape_checks import SceneError

# Entries kept: a scene a step at 1 kHz is sent a few times in a frame's time. Children in all of those that are sent
# with a scene: some 60 KB.
MOST_ENTRIES = 16
MOST_CHILDREN = 4096


class ParentEntry(NamedTuple):
    """Child -> parent, of scenes from `version` on."""

    version: int
    parents: Mapping[int, int]


ParentLog = tuple[ParentEntry, ...]


def logged(log: Iterable[ParentEntry], version: int, parents: Mapping[int, int]) -> ParentLog:
    """The log with the newest scene's parents. Returns the same log where they did not change."""
    known = tuple(log)
    if known and known[-1].parents == parents:
        return known
    return (*known[1 - MOST_ENTRIES :], ParentEntry(version, parents))


def merged(log: ParentLog, other: Iterable[ParentEntry]) -> ParentLog:
    """Both logs in one; of equal versions the entry of `other` counts."""
    by_version = dict(log) | dict(other)
    entries: ParentLog = ()
    for version in sorted(by_version):
        entries = logged(entries, version, by_version[version])
    return entries


def from_version(log: ParentLog, version: int) -> ParentLog:
    """Entries that hold for scenes from `version` on."""
    first = max((at for at, entry in enumerate(log) if entry.version <= version), default=0)
    return log[first:]


def to_field(log: ParentLog) -> list[list[Any]]:
    """The entries before the newest as values for JSON, with up to MOST_CHILDREN children in all."""
    fields: list[list[Any]] = []
    children = 0
    for version, parents in log[-2::-1]:
        children += len(parents)
        if children > MOST_CHILDREN:
            break
        fields.append([version, *parents, *parents.values()])
    return fields[::-1]


def of_field(field: Any) -> ParentLog:
    """The entries of `to_field`. Raises SceneError for anything else."""
    if not isinstance(field, list) or len(field) > MOST_ENTRIES:
        raise SceneError("the parents of earlier scenes that came are damaged; restart the simulation")
    entries = []
    for numbers in field:
        whole = isinstance(numbers, list) and all(isinstance(number, int) for number in numbers)
        if not whole or len(numbers) % 2 != 1:
            raise SceneError("the parents of an earlier scene that came are damaged; restart the simulation")
        half = len(numbers) // 2 + 1
        parents = dict(zip(numbers[1:half], numbers[half:], strict=True))
        entries.append(ParentEntry(numbers[0], check_parents(parents)))
    return tuple(entries)
