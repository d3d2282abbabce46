"""Stores the frames of reference in which interpolation methods blend bodies, and the parents of each scene. Both
change over simulated time.

A child is a body that has a parent body. It is blended in the frame of its parent. If the parent changes between two
snapshots, the child is blended in the world frame from the first to the second. Its world pose at each snapshot is
computed with the parents of this snapshot's scene. So a frame of reference is valid from one snapshot to another. It
has interpolation methods of its own. They receive all snapshots, converted into this frame.

As long as no parent changes, there is one frame of reference. Its methods receive the snapshots unchanged.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene.groups import ParentLog, rows_of_parents
from twixt.ipc.snapshot import Snapshot
from twixt.render.interpolation.poses import Poses, compose, in_frames_of

if TYPE_CHECKING:
    from twixt.render.interpolation import Method


# A new interpolation method first receives up to MOST_PAST earlier snapshots. They are enough to estimate the usual
# interval between snapshots, and to start a filter. If they need more than PAST_BYTES, the method receives fewer, but
# at least LEAST_PAST. So many are enough to blend over three intervals.
MOST_PAST, LEAST_PAST, PAST_BYTES = 8, 4, 256 << 20
# An instant before all snapshots, in ns of simulated time.
BEFORE_ALL_NS = -(1 << 62)

T = TypeVar("T")
MethodsInUse = dict[str, "Method"]
Create = Callable[[str], "Method"]


def remember(past: deque[T], newest: T, size: int) -> None:
    """Appends the snapshot `newest` to `past`. Drops the oldest snapshots if there are too many. size: number of bytes
    of one snapshot."""
    while len(past) == MOST_PAST or (len(past) >= LEAST_PAST and len(past) * size > PAST_BYTES):
        past.popleft()
    past.append(newest)


def set_methods(methods: MethodsInUse, names: frozenset[str], create: Create, past: Iterable[Snapshot]) -> None:
    """Creates each interpolation method in `names` that does not exist yet, and drops all methods that are not in
    `names`. past: the last snapshots; each new method receives them."""
    for name in names - methods.keys():
        made = methods[name] = create(name)
        for snapshot in past:
            made.add(snapshot)
    for name in methods.keys() - names:
        del methods[name]


class _Published(NamedTuple):
    """A snapshot as it was published, and the parents of the bodies in its scene."""

    snapshot: Snapshot
    parents: ParentRows


@dataclass(eq=False)
class _Frame:
    """Interpolation methods that blend each body in the frame of its parent. start_ns: first simulated time for which
    these methods are used. has_parents: True if any body has a parent."""

    parents: ParentRows
    start_ns: int
    methods: MethodsInUse

    def __post_init__(self) -> None:
        self.has_parents = bool((self.parents >= 0).any())

    def within(self, past: _Published) -> Snapshot:
        """The snapshot, converted into this frame."""
        snapshot = past.snapshot
        if past.parents is not self.parents:
            bodies = in_frames_of(snapshot.bodies, past.parents, self.parents)
            if bodies is not snapshot.bodies:
                snapshot = replace(snapshot, bodies=bodies)
        return snapshot

    def add(self, past: _Published) -> None:
        """Converts a snapshot into this frame and adds it to each method."""
        snapshot = self.within(past)
        for method in self.methods.values():
            method.add(snapshot)


class FramesInTime:
    """The interpolation methods of a poser whose bodies have parents. rows: indices of the poser's bodies, (k,),
    ascending; None if it handles all bodies."""

    def __init__(self, parents: SceneParents, rows: NDArray[np.intp] | None, create: Create) -> None:
        self._scenes, self._create = parents, create
        self._parents = [within_rows(of_scene, rows) for of_scene in parents.rows]
        self._names: frozenset[str] = frozenset()
        self._past: deque[_Published] = deque()
        self._drawn_ns = BEFORE_ALL_NS
        self._frames = [_Frame(self._parents[-1], BEFORE_ALL_NS, {})]

    @property
    def newest(self) -> MethodsInUse:
        """Interpolation methods that compute poses in the newest frame of reference."""
        return self._frames[-1].methods

    def use(self, names: frozenset[str]) -> None:
        """Sets the methods that receive snapshots from now on."""
        self._names = names
        for frame in self._frames:
            set_methods(frame.methods, names, self._create, map(frame.within, self._past))

    def add(self, snapshot: Snapshot) -> None:
        """Adds a snapshot. The snapshot must contain only the bodies of `rows`."""
        now = _Published(snapshot, self._parents[self._scenes.index(snapshot.scene_version)])
        last = self._past[-1] if self._past else None
        if last is None or snapshot.world_epoch > last.snapshot.world_epoch:
            self._begin(now)
        elif snapshot.world_epoch < last.snapshot.world_epoch:
            return
        elif snapshot.sim_time_ns < last.snapshot.sim_time_ns:  # this snapshot arrived late
            for frame in self._frames:
                frame.add(now)
            return
        elif now.parents is not last.parents:
            if snapshot.sim_time_ns == last.snapshot.sim_time_ns:
                self._replace_last(now)
                return
            self._change(last, now)
        self._enter(now)

    def methods_at(self, draw_time_ns: int) -> MethodsInUse:
        """Methods of the frame of reference that is valid at `draw_time_ns`."""
        return self._at(draw_time_ns).methods

    def in_world(self, poses: Poses, draw_time_ns: int) -> Poses:
        """Converts poses that a method has computed for `draw_time_ns` into world poses."""
        self._drawn_ns = draw_time_ns
        frame = self._at(draw_time_ns)
        return compose(poses, frame.parents) if frame.has_parents else poses

    def _at(self, draw_time_ns: int) -> _Frame:
        frames = self._frames
        if len(frames) > 1:
            return next((frame for frame in frames[::-1] if frame.start_ns <= draw_time_ns), frames[0])
        return frames[0]

    def _begin(self, first: _Published) -> None:
        """Removes all frames and starts with the snapshot `first`. It is the first snapshot of all, or the first of
        another world."""
        self._past.clear()
        methods = self._frames[-1].methods
        self._frames = [_Frame(first.parents, BEFORE_ALL_NS, methods)]

    def _enter(self, now: _Published) -> None:
        remember(self._past, now, now.snapshot.bodies.nbytes)
        for frame in self._frames:
            frame.add(now)

    def _change(self, last: _Published, now: _Published) -> None:
        """Adds two frames of reference. The first is for the time between the snapshots `last` and `now`, whose scenes
        have different parents. The second starts at `now`."""
        while len(self._frames) > 1 and self._frames[1].start_ns <= self._drawn_ns:
            self._frames.pop(0)
        between = np.where(last.parents == now.parents, last.parents, np.int32(-1))
        past = [*self._past]
        self._frames += [
            self._made(between, last.snapshot.sim_time_ns, past[-LEAST_PAST:]),
            self._made(now.parents, now.snapshot.sim_time_ns, past),
        ]

    def _replace_last(self, now: _Published) -> None:
        """Replaces the last snapshot by `now`, which has the same simulated time. The scene of `now` has different
        parents."""
        past = [one.snapshot for one in self._past][:-1]
        self._past.clear()
        self._frames = [_Frame(now.parents, BEFORE_ALL_NS, {})]
        set_methods(self.newest, self._names, self._create, ())
        for snapshot in (*past, now.snapshot):
            self.add(snapshot)

    def _made(self, parents: ParentRows, start_ns: int, past: Sequence[_Published]) -> _Frame:
        """Makes a frame of reference. Its methods receive the snapshots `past`. After that, each method computes poses
        at the last draw time once."""
        frame = _Frame(parents, start_ns, {})
        set_methods(frame.methods, self._names, self._create, map(frame.within, past))
        if self._drawn_ns != BEFORE_ALL_NS:
            for method in frame.methods.values():
                method.sample(self._drawn_ns)
        return frame


def within_rows(parent_rows: ParentRows, rows: NDArray[np.intp] | None) -> ParentRows:
    """For each of `rows`, the index of its parent in `rows`; -1 if it has no parent there."""
    if rows is None:
        return parent_rows
    parents = np.full(len(rows), -1, np.int32)
    known = rows < len(parent_rows)
    parents[known] = parent_rows[rows[known]]
    has_one = parents >= 0
    parents[has_one] = np.searchsorted(rows, parents[has_one])
    return parents


# This section stores the parents of bodies, for each scene to which a snapshot may belong.
#
# Successive scenes with equal parents share one array. If the scene of a snapshot has not arrived, the parents of the
# newest scene are used. If the snapshot is older than all scenes, the parents of the oldest scene are used. The code
# has no side effects.


ParentRows = NDArray[np.int32]


class SceneParents:
    """Parents of `count` bodies in several scenes. rows: for each entry of the log, an array (count,) with the index of
    each body's parent; -1 for a body without a parent."""

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
        """Two keys are equal if the parents and the scene versions are equal."""
        return (*self._versions[1:], *(rows.tobytes() for rows in self.rows))

    def index(self, scene_version: int) -> int:
        """Finds the parents for a snapshot with this scene version. Returns the index of their array in `rows`."""
        return max(0, bisect_right(self._versions, scene_version) - 1)

    def with_ancestors(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """These bodies and all their ancestors in any of the scenes, ascending. rows: indices of the bodies."""
        count = len(self.rows[-1])
        known = np.unique(rows[rows < count])
        while True:
            parents = np.concatenate([of_scene[known] for of_scene in self.rows])
            more = np.union1d(known, parents[parents >= 0])
            if len(more) == len(known):
                return np.union1d(rows, known).astype(np.intp)
            known = more


def merged_parents(log: ParentLog) -> Mapping[int, int]:
    """Maps each child in any of these scenes to one of its parents. The result may contain cycles."""
    if len(log) == 1:
        return log[0].parents
    found: dict[int, int] = {}
    for entry in log:
        for child, parent in entry.parents.items():
            found[child] = min(parent, found.get(child, parent))  # if any parent exists, the smallest exists
    return found
