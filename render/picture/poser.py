"""Bodies posed by numpy: for methods that no shader has, for children of bodies, and for whoever wants the poses.

A poser looks after some rows of the world (or all) and whatever those hang on; its poses are the world's, also
for bodies that have a parent. It is fed private copies and may know several methods at once, while one gives
way to another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.groups import ColorBy
from twixt.ipc.snapshot import Snapshot
from twixt.render.arrival import colors
from twixt.render.interpolation import create
from twixt.render.interpolation.parents import compose
from twixt.render.interpolation.poses import Poses, no_poses
from twixt.render.picture.change import Blend
from twixt.render.picture.mixing import blended, taken

Rules = Mapping[str, str | Callable[..., Any]]


class Poser:
    """rows: the bodies, ascending, or None for all. parent_rows: each body's parent, -1 for none; None: nobody has one.
    named_by: who asked for a method of the user's own, by its name. color_by: the column of whose blended values colours
    are made; None: they are blended as they came.
    """

    def __init__(
        self, rows: NDArray[np.intp] | None, parent_rows: NDArray[np.int32] | None, rules: Rules,
        chase_ms: float | None, named_by: Mapping[str, str] | None = None, color_by: ColorBy | None = None,
    ) -> None:  # fmt: skip
        self.rows, self._color_by = rows, color_by
        self._rules, self._chase_ms, self._named_by = rules, chase_ms, named_by or {}
        self._fed = rows if rows is None or parent_rows is None else with_ancestors(rows, parent_rows)
        self._parents = _within(parent_rows, self._fed)
        self._methods: dict[str, _Fed] = {}

    def use(self, names: frozenset[str]) -> None:
        """Feed these methods from now on, and no others."""
        for name in names - self._methods.keys():
            named_by = self._named_by.get(name, "--interpolation")
            self._methods[name] = _Fed(create(name, self._rules, self._chase_ms, named_by))
        for name in self._methods.keys() - names:
            del self._methods[name]

    def add(self, snapshot: Snapshot) -> None:
        """A snapshot with memory of its own."""
        if self._fed is not None:
            rows = self._fed[: np.searchsorted(self._fed, len(snapshot.bodies))]
            columns = {name: values[rows] for name, values in snapshot.columns.items()}
            snapshot = replace(snapshot, bodies=snapshot.bodies[rows], columns=columns)
        for method in self._methods.values():
            method.add(snapshot)

    def is_ready(self, name: str, draw_time_ns: int) -> bool:
        """Whether this method knows where the bodies are then."""
        method = self._methods.get(name)
        return method is not None and method.covers(draw_time_ns)

    def is_settled(self, name: str, draw_time_ns: int) -> bool:
        """Whether it knows what came before, too: from then on it draws as if it had been fed all the time."""
        method = self._methods.get(name)
        return method is not None and method.knows_before(draw_time_ns)

    def reach_ns(self, name: str) -> int:
        """How far beyond the newest snapshot this method may be asked."""
        method = self._methods.get(name)
        return 0 if method is None else int(getattr(method.method, "reach_ns", 0))

    def poses(self, draw_time_ns: int, blend: Blend) -> Poses:
        """The rows' poses in the world."""
        poses = self._posed(blend.method, draw_time_ns)
        if blend.other and blend.mix > 0:
            poses = blended(poses, self._posed(blend.other, draw_time_ns), blend.mix)
        if self._fed is None or self.rows is None or len(self._fed) == len(self.rows):
            return poses
        there = np.searchsorted(self._fed, self.rows)
        return taken(poses, there[there < len(poses)])

    def _posed(self, name: str, draw_time_ns: int) -> Poses:
        method = self._methods.get(name)
        poses = no_poses() if method is None else method.method.sample(draw_time_ns)
        if self._color_by is not None and self._color_by.column in poses.columns:
            values = poses.columns[self._color_by.column][: len(poses)]
            poses.color[: len(values), :3] = colors(values, self._color_by)
        if self._parents is None:
            return poses
        parents = np.full(len(poses), -1, np.int32)
        known = min(len(poses), len(self._parents))
        parents[:known] = self._parents[:known]
        parents[parents >= len(poses)] = -1
        return compose(poses, parents)


class _Fed:
    """A method and what it was fed of the present world."""

    def __init__(self, method: Any) -> None:
        self.method = method
        self._world_epoch: int | None = None
        self._oldest_ns: int | None = None
        self._second_ns: int | None = None

    def add(self, snapshot: Snapshot) -> None:
        if snapshot.world_epoch != self._world_epoch:
            if self._world_epoch is not None:
                self.method.reset()
            self._world_epoch, self._oldest_ns, self._second_ns = snapshot.world_epoch, None, None
        self.method.add(snapshot)
        if self._oldest_ns is None:
            self._oldest_ns = snapshot.sim_time_ns
        elif self._second_ns is None and snapshot.sim_time_ns > self._oldest_ns:
            self._second_ns = snapshot.sim_time_ns

    def covers(self, draw_time_ns: int) -> bool:
        return self._oldest_ns is not None and self._second_ns is not None and self._oldest_ns <= draw_time_ns

    def knows_before(self, draw_time_ns: int) -> bool:
        return self._second_ns is not None and self._second_ns <= draw_time_ns


def with_ancestors(rows: NDArray[np.intp], parent_rows: NDArray[np.int32]) -> NDArray[np.intp]:
    """`rows` and every body that they hang on, ascending."""
    known = np.unique(rows[rows < len(parent_rows)])
    while True:
        parents = parent_rows[known]
        more = np.union1d(known, parents[parents >= 0])
        if len(more) == len(known):
            return np.union1d(rows, known).astype(np.intp)
        known = more


def _within(parent_rows: NDArray[np.int32] | None, rows: NDArray[np.intp] | None) -> NDArray[np.int32] | None:
    """Each row's parent as an index into `rows`; None where no row has one."""
    if parent_rows is None:
        return None
    if rows is None:
        return parent_rows if (parent_rows >= 0).any() else None
    parents = np.full(len(rows), -1, np.int32)
    known = rows < len(parent_rows)
    parents[known] = parent_rows[rows[known]]
    has_one = parents >= 0
    parents[has_one] = np.searchsorted(rows, parents[has_one])
    return parents if has_one.any() else None
