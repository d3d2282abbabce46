"""Poses computed in numpy, for methods without a shader, for children of bodies, and for the user's drawing.

A poser has some rows of the world (or all), and their ancestors; its poses are in the world frame, also for bodies
that have a parent. It receives private copies of snapshots, and holds two methods while one is to replace the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene.groups import ColorBy
from twixt.ipc.snapshot import Snapshot
from twixt.render.draw.column_colors import colors
from twixt.render.draw.frame.layers import ALL_BLENDED, Discrete
from twixt.render.interpolation import Method, create
from twixt.render.interpolation.poses import Poses, no_poses, select_rows
from twixt.render.scene.frames_in_time import FramesInTime, MethodsInUse, remember, set_methods
from twixt.render.scene.scene_parents import SceneParents


@dataclass(frozen=True, eq=False)
class PosingRules:
    """Rules of a scene for the poses of its bodies.

    parents: of the bodies, by the scene of a snapshot; None: no body has one. create: makes a method of that name, with
    the scene's rules for columns. color_by: the column whose blended values give the colours; None: colours themselves
    are blended. discrete: fields that the shaders do not blend.
    """

    parents: SceneParents | None = None
    create: Callable[[str], Method] = create
    color_by: ColorBy | None = None
    discrete: Discrete = ALL_BLENDED


class Poser:
    """Poses of some bodies by all methods in use. rows: (k,) the bodies, ascending, or None for all."""

    def __init__(self, rows: NDArray[np.intp] | None, rules: PosingRules) -> None:
        self.rows, self._rules = rows, rules
        self._frames: FramesInTime | None = None  # None: no held scene has parents
        self._received_rows = rows
        self._methods: MethodsInUse = {}  # without parents
        self._past: deque[Snapshot] = deque()  # likewise
        if rules.parents is not None:
            self._received_rows = None if rows is None else rules.parents.with_ancestors(rows)
            self._frames = FramesInTime(rules.parents, self._received_rows, rules.create)

    def use(self, names: frozenset[str]) -> None:
        """Sets the methods that receive snapshots from now on; drops others. Raises TwixtError for unknown ones."""
        if self._frames is None:
            set_methods(self._methods, names, self._rules.create, self._past)
        else:
            self._frames.use(names)

    def add(self, snapshot: Snapshot) -> None:
        """Adds a snapshot with memory of its own to every method in use."""
        if self._received_rows is not None:
            rows = self._received_rows[: np.searchsorted(self._received_rows, len(snapshot.bodies))]
            columns = {name: values[rows] for name, values in snapshot.columns.items()}
            of_parts = _places_in(rows, snapshot.part_bodies)
            snapshot = replace(snapshot, bodies=snapshot.bodies[rows], columns=columns, part_bodies=of_parts)
        if self._frames is not None:
            self._frames.add(snapshot)
            return
        remember(self._past, snapshot, snapshot.bodies.nbytes)
        for method in self._methods.values():
            method.add(snapshot)

    def is_ready(self, name: str, draw_time_ns: int) -> bool:
        """True if the method `name` can compute poses at `draw_time_ns` (simulated time)."""
        method = self._at(draw_time_ns).get(name)
        return method is not None and method.covers(draw_time_ns)

    def is_settled(self, name: str, draw_time_ns: int) -> bool:
        """True if the method also has the snapshot before: its poses are then those of one that received them all."""
        method = self._at(draw_time_ns).get(name)
        return method is not None and method.knows_before(draw_time_ns)

    def reach_ns(self, name: str) -> int:
        """Extrapolation that the method allows, in ns of simulated time beyond the newest snapshot."""
        method = (self._methods if self._frames is None else self._frames.newest).get(name)
        return 0 if method is None else int(getattr(method.method, "reach_ns", 0))

    def poses(self, draw_time_ns: int, name: str) -> Poses:
        """Poses of `rows` in the world frame at `draw_time_ns`, by the method `name`; fewer where the snapshots have
        fewer bodies."""
        poses = self._posed(name, draw_time_ns)
        if self._received_rows is None or self.rows is None or len(self._received_rows) == len(self.rows):
            return poses
        there = np.searchsorted(self._received_rows, self.rows)
        return select_rows(poses, there[there < len(poses)])

    def _posed(self, name: str, draw_time_ns: int) -> Poses:
        method = self._at(draw_time_ns).get(name)
        poses = no_poses() if method is None else method.method.sample(draw_time_ns)
        color_by = self._rules.color_by
        if color_by is not None and color_by.column in poses.columns:
            values = poses.columns[color_by.column][: len(poses)]
            poses.color[: len(values), :3] = colors(values, color_by)
        return poses if self._frames is None else self._frames.in_world(poses, draw_time_ns)

    def _at(self, draw_time_ns: int) -> MethodsInUse:
        return self._methods if self._frames is None else self._frames.methods_at(draw_time_ns)


def _places_in(rows: NDArray[np.intp], bodies: NDArray[np.intp]) -> NDArray[np.intp]:
    """Each body's place in `rows`, ascending; -1 for one that is not among them."""
    if not len(rows):
        return np.full(len(bodies), -1)
    places = np.minimum(np.searchsorted(rows, bodies), len(rows) - 1)
    return np.where(rows[places] == bodies, places, -1)
