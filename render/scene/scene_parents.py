"""Parents of bodies by the scene that a snapshot belongs to.

Always: successive scenes with equal parents share one array. A snapshot whose scene has not arrived has the parents of
the newest one, or, if it is older than all, of the oldest. Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene.groups import rows_of_parents
from twixt.ipc.scene.parent_log import ParentLog

ParentRows = NDArray[np.int32]


class SceneParents:
    """Parents of `count` bodies. rows: of each entry of the log, (count,), -1 for none."""

    def __init__(self, log: ParentLog, count: int) -> None:
        self._versions: list[int] = []
        self.rows: list[ParentRows] = []
        for version, parents in log:
            rows = rows_of_parents(parents, count)
            if not self.rows or not np.array_equal(self.rows[-1], rows):
                self._versions.append(version)
                self.rows.append(rows)

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for equal parents of the same versions."""
        return (*self._versions[1:], *(rows.tobytes() for rows in self.rows))

    def index(self, scene_version: int) -> int:
        """Index into `rows` for a snapshot of this scene."""
        return max(0, bisect_right(self._versions, scene_version) - 1)

    def with_ancestors(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """`rows` and all their ancestors by any of the scenes, ascending."""
        count = len(self.rows[-1])
        known = np.unique(rows[rows < count])
        while True:
            parents = np.concatenate([of_scene[known] for of_scene in self.rows])
            more = np.union1d(known, parents[parents >= 0])
            if len(more) == len(known):
                return np.union1d(rows, known).astype(np.intp)
            known = more


def merged_parents(log: ParentLog) -> Mapping[int, int]:
    """Child -> one of its parents, for all that are a child in one of these scenes. They may form a cycle."""
    if len(log) == 1:
        return log[0].parents
    found: dict[int, int] = {}
    for entry in log:
        for child, parent in entry.parents.items():
            found[child] = min(parent, found.get(child, parent))  # the smallest index: it exists if any does
    return found
