"""Parents of the latest scenes of a simulation, each entry with the first scene version that it applies to.

A snapshot is composed with the parents of its own scene, even after a newer scene has arrived. Of several scenes in
quick succession only the newest is sent; so each scene message also carries the parents of the scenes before it.

Always: versions ascend, neighbours differ, and the last entry is the newest scene's. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from twixt.ipc.scene.groups import check_parents
from twixt.ipc.shapes.shape_checks import SceneError

# Entries kept: with a new scene in each step, at 1 kHz, a few are sent in the time of a frame. Children in all entries
# that are sent with a scene: about 60 KB.
MOST_ENTRIES = 16
MOST_CHILDREN = 4096


class ParentEntry(NamedTuple):
    """Child -> parent, for scenes from `version` on."""

    version: int
    parents: Mapping[int, int]


ParentLog = tuple[ParentEntry, ...]


def appended(log: Iterable[ParentEntry], version: int, parents: Mapping[int, int]) -> ParentLog:
    """The log with the newest scene's parents. Returns the same log where they did not change."""
    known = tuple(log)
    if known and known[-1].parents == parents:
        return known
    return (*known[1 - MOST_ENTRIES :], ParentEntry(version, parents))


def merged(log: ParentLog, other: Iterable[ParentEntry]) -> ParentLog:
    """Both logs in one; for a version that both have, the entry of `other`."""
    by_version = dict(log) | dict(other)
    entries: ParentLog = ()
    for version in sorted(by_version):
        entries = appended(entries, version, by_version[version])
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


def from_field(field: Any) -> ParentLog:
    """The entries of `to_field`. Raises SceneError for anything else."""
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
