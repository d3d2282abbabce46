"""Poses computed in numpy, for methods without a shader, for children of bodies, and for the user's drawing.

A poser has some rows of the world (or all), and their ancestors; its poses are in the world frame, also for bodies
that have a parent. It receives private copies of snapshots, and holds two methods while one replaces the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene.groups import ColorBy
from twixt.ipc.snapshot import Snapshot
from twixt.render.draw.frame.layers import ALL_BLENDED, Discrete
from twixt.render.interpolation import create
from twixt.render.interpolation.parents import compose
from twixt.render.interpolation.poses import Poses, no_poses
from twixt.render.scene.method_change import Blend, blended, taken
from twixt.render.snapshots.intake import colors

ColumnRules = Mapping[str, str | Callable[..., Any]]


@dataclass(frozen=True, eq=False)
class PosingRules:
    """Rules of a scene for the poses of its bodies.

    parent_rows: (n,) each body's parent, -1 for none; None: no body has one. columns: blending rule by column.
    chase_ms: parameter of the method `chase`; None: its default. named_by: the flag or group that asked for a method
    of the user's own, by the method's name; for error texts. color_by: the column whose blended values give the
    colours; None: colours themselves are blended. discrete: fields that the shaders do not blend.
    """

    parent_rows: NDArray[np.int32] | None = None
    columns: ColumnRules = field(default_factory=dict)
    chase_ms: float | None = None
    named_by: Mapping[str, str] = field(default_factory=dict)
    color_by: ColorBy | None = None
    discrete: Discrete = ALL_BLENDED


class Poser:
    """Poses of some bodies by all methods in use. rows: (k,) the bodies, ascending, or None for all."""

    def __init__(self, rows: NDArray[np.intp] | None, rules: PosingRules) -> None:
        self.rows, self._rules = rows, rules
        parent_rows = rules.parent_rows
        self._fed = rows if rows is None or parent_rows is None else with_ancestors(rows, parent_rows)
        self._parents = _within(parent_rows, self._fed)
        self._methods: dict[str, _Fed] = {}

    def use(self, names: frozenset[str]) -> None:
        """Sets the methods that receive snapshots from now on; drops others. Raises TwixtError for unknown ones."""
        for name in names - self._methods.keys():
            named_by = self._rules.named_by.get(name, "--interpolation")
            self._methods[name] = _Fed(create(name, self._rules.columns, self._rules.chase_ms, named_by))
        for name in self._methods.keys() - names:
            del self._methods[name]

    def add(self, snapshot: Snapshot) -> None:
        """Adds a snapshot with memory of its own to every method in use."""
        if self._fed is not None:
            rows = self._fed[: np.searchsorted(self._fed, len(snapshot.bodies))]
            columns = {name: values[rows] for name, values in snapshot.columns.items()}
            of_parts = _places_in(rows, snapshot.part_bodies)
            snapshot = replace(snapshot, bodies=snapshot.bodies[rows], columns=columns, part_bodies=of_parts)
        for method in self._methods.values():
            method.add(snapshot)

    def is_ready(self, name: str, draw_time_ns: int) -> bool:
        """True if the method `name` can compute poses at `draw_time_ns` (simulated time)."""
        method = self._methods.get(name)
        return method is not None and method.covers(draw_time_ns)

    def is_settled(self, name: str, draw_time_ns: int) -> bool:
        """True if the method also has the snapshot before: its poses are then those of one that received them all."""
        method = self._methods.get(name)
        return method is not None and method.knows_before(draw_time_ns)

    def reach_ns(self, name: str) -> int:
        """Extrapolation that the method allows, in ns of simulated time beyond the newest snapshot."""
        method = self._methods.get(name)
        return 0 if method is None else int(getattr(method.method, "reach_ns", 0))

    def poses(self, draw_time_ns: int, blend: Blend) -> Poses:
        """Poses of `rows` in the world frame at `draw_time_ns`; fewer where the snapshots have fewer bodies."""
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
        color_by = self._rules.color_by
        if color_by is not None and color_by.column in poses.columns:
            values = poses.columns[color_by.column][: len(poses)]
            poses.color[: len(values), :3] = colors(values, color_by)
        if self._parents is None:
            return poses
        parents = np.full(len(poses), -1, np.int32)
        known = min(len(poses), len(self._parents))
        parents[:known] = self._parents[:known]
        parents[parents >= len(poses)] = -1
        return compose(poses, parents)


class _Fed:
    """A method, and the first instants of the current world epoch that it received."""

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
    """`rows` and all their ancestors, ascending."""
    known = np.unique(rows[rows < len(parent_rows)])
    while True:
        parents = parent_rows[known]
        more = np.union1d(known, parents[parents >= 0])
        if len(more) == len(known):
            return np.union1d(rows, known).astype(np.intp)
        known = more


def _places_in(rows: NDArray[np.intp], bodies: NDArray[np.intp]) -> NDArray[np.intp]:
    """Each body's place in `rows`, ascending; -1 for one that is not among them."""
    if not len(rows):
        return np.full(len(bodies), -1)
    places = np.minimum(np.searchsorted(rows, bodies), len(rows) - 1)
    return np.where(rows[places] == bodies, places, -1)


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
