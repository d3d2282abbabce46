"""Handles groups of bodies in a picture. The bodies of a group share a draw time and an interpolation method. This
module also computes poses in numpy.

The bodies that have neither a group nor a parent in the scene are one group. Each group that the scene defines is one
more. All children of other bodies are another group. If the shaders support an interpolation method, the GPU blends the
two snapshots. For all other methods, a poser computes the poses. They are uploaded and drawn without blending.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.config.rules import SCALE3
from twixt.ipc.scene.groups import ColorBy, colors
from twixt.ipc.snapshot import Snapshot
from twixt.render.draw.frame.layers import ALL_BLENDED, Discrete, Layer, SurfacePair
from twixt.render.draw.glsl.uniform_blocks import METHODS
from twixt.render.interpolation import Method, create
from twixt.render.interpolation.method import began_at
from twixt.render.interpolation.poses import Poses, no_poses, records_of, select_rows
from twixt.render.scene.frames_in_time import FramesInTime, MethodsInUse, SceneParents, remember, set_methods
from twixt.render.snapshots.history import HeldSnapshot, History, Pair

if TYPE_CHECKING:
    from twixt.render.draw.scene_renderer import SceneRenderer


# Name of the interpolation method that draws only the newest snapshot.
OF_THE_NEWEST = "latest"
# Names of the interpolation methods that the shaders support.
SHADED = frozenset((*METHODS, OF_THE_NEWEST))
# Names of the interpolation methods that always show a snapshot unchanged, whatever the draw time is.
AS_PUBLISHED = ("none", OF_THE_NEWEST)
# Name of the interpolation method that is used until a numpy method has received two snapshots.
INTERIM_METHOD = "linear"


class DrawnGroup(NamedTuple):
    """One group of bodies in one frame. draw_time_ns: the simulated time at which the frame shows the group."""

    group: str | None
    layer: Layer | None  # what the renderer draws; None if there are no poses yet
    pair: Pair
    draw_time_ns: int
    method: str
    is_beyond: bool  # True if the group is drawn at a time after the newest snapshot


class GroupDefinition(NamedTuple):
    """Bodies of a group, and the scene's rules for drawing them.

    name: the name under which the group uses the history. group: the name under which the renderer knows these bodies.
    rows: indices of the bodies, (k,), ascending; None if the group has all bodies. method: name of the group's own
    interpolation method; None if it uses the method of the run. delay_ns: by how much later than other bodies the group
    is drawn, in ns of simulated time. by_numpy: True if the shaders cannot draw these bodies with any method.
    """

    name: str
    group: str | None = None
    rows: NDArray[np.intp] | None = None
    method: str | None = None
    delay_ns: int = 0
    by_numpy: bool = False

    @property
    def identity(self) -> tuple[object, ...]:
        """Key that identifies a group. If a scene is published again, groups with the same key are kept."""
        return self.name, b"" if self.rows is None else self.rows.tobytes(), self.method, self.delay_ns, self.by_numpy


class BodyGroup:
    """Bodies that share a draw time and an interpolation method. method: the method of the run. pose_slot: the
    renderer's slot for the poses of this group. history: the held snapshots.

    If the user changes the method and a shader supports the new method, the new method is used at once. Any other
    method is used only after it has received enough snapshots.
    """

    def __init__(
        self, definition: GroupDefinition, method: str, rules: PosingRules, pose_slot: int, history: History
    ) -> None:
        self.definition, self.pose_slot = definition, pose_slot
        self._rules, self._history = rules, history
        self._method = self._wanted = definition.method or method
        self._poser: Poser | None = None
        self._watchers: dict[str, Poser] = {}
        self._draw_time_ns = 0
        self._posed: Poses | None = None  # poses of this frame; None if no poser computed them

    @property
    def needs_copies(self) -> bool:
        """True if this group must receive private copies of snapshots."""
        return self._poser is not None or bool(self._watchers)

    @property
    def shows_published_states(self) -> bool:
        """True if the group's own method shows published states unchanged. The group's bodies then do not move between
        snapshots."""
        return self.definition.method in AS_PUBLISHED

    @property
    def reach_ns(self) -> int:
        """How far beyond the newest snapshot the draw time of the picture may be for this group, in ns of simulated
        time.

        The group's delay is part of this time, because a group with a delay is drawn at an earlier time than the
        picture.
        """
        reach_ns = 0 if self._poser is None else self._poser.reach_ns(self._method)
        return reach_ns + self.definition.delay_ns

    def choose(self, method: str) -> None:
        """Sets the method of the run. A group that has its own method ignores the call."""
        if self.definition.method is None:
            self._wanted = method
            if self._is_shaded(method):
                self._method = method
            self.prepare()

    def add(self, snapshot: Snapshot) -> None:
        """Adds a private copy of a snapshot."""
        for poser in self._posers():
            poser.add(snapshot)

    def watch(self, watcher: str, rows: NDArray[np.intp] | None, past: Sequence[Snapshot] | None = None) -> None:
        """Registers a watcher for the poses of those bodies in `rows` that are in this group. rows: indices of bodies;
        None for all bodies. past: the last snapshots; None to use the private copies that are held."""
        own_rows = self.definition.rows
        if rows is not None and own_rows is not None:
            rows = np.intersect1d(rows, own_rows)
        elif rows is None:
            rows = own_rows
        self.unwatch(watcher)
        if rows is None or len(rows):
            poser = self._watchers[watcher] = Poser(rows, self._rules)
            poser.use(self._methods)
            for snapshot in self._history.copies if past is None else past:
                poser.add(snapshot)

    def unwatch(self, watcher: str) -> None:
        """Removes the watcher of this name, if there is one."""
        self._watchers.pop(watcher, None)

    def watched(self, watcher: str) -> tuple[NDArray[np.intp] | None, Poses] | None:
        """The rows of this watcher and the poses with which they are drawn in this frame. The rows are None if the
        watcher watches all bodies. Returns None if there is no such watcher. Call this after `draw`."""
        poser = self._watchers.get(watcher)
        if poser is None:
            return None
        if self._posed is None:
            return poser.rows, poser.poses(self._draw_time_ns, self._method)
        if poser.rows is None:
            return None, self._posed
        rows = self.definition.rows
        at = poser.rows if rows is None else np.searchsorted(rows, poser.rows)
        return poser.rows, select_rows(self._posed, at[at < len(self._posed)])

    def draw(self, reference_ns: int, renderer: SceneRenderer) -> DrawnGroup | None:
        """Returns the group as it is drawn in this frame; None if no snapshot is held. reference_ns: draw time of
        groups without a delay."""
        name, group = self.definition.name, self.definition.group
        draw_time_ns = self._draw_time_ns = reference_ns - self.definition.delay_ns
        poser = self._poser
        if self._wanted != self._method and (poser is None or poser.is_settled(self._wanted, draw_time_ns)):
            self._method = self._wanted
            self.prepare()
        method = self._method
        self._posed = None
        pair, newest = self._history.pair(draw_time_ns, name), self._history.newest
        if pair is None or newest is None:
            return None
        if poser is not None and self._is_posed_by(poser, draw_time_ns):
            poses = self._posed = poser.poses(draw_time_ns, method)
            drawn_ns = _drawn_ns(method, pair, newest, poses.draw_time_ns)
            is_beyond = drawn_ns > newest.head.sim_time_ns
            return DrawnGroup(group, self._pose_layer(poses, pair, renderer), pair, drawn_ns, method, is_beyond)
        if method not in SHADED:
            method = INTERIM_METHOD
        if method == OF_THE_NEWEST:
            layer = Layer(newest.slot, None, group=group)
        else:
            layer = layer_of(pair, method, group, self._rules.discrete)
        return DrawnGroup(group, layer, pair, _drawn_ns(method, pair, newest, pair.draw_time_ns), method, False)

    def release(self) -> None:
        """Releases the pair of snapshots in use. Call this when the group is no longer drawn."""
        self._history.release(self.definition.name)

    def prepare(self) -> None:
        """Creates the poser if a method in use needs it; otherwise drops it. Then sets the methods of all posers."""
        if self._is_shaded(self._method) and self._is_shaded(self._wanted):
            self._poser = None
        elif self._poser is None:
            self._poser = Poser(self.definition.rows, self._rules)
        for poser in self._posers():
            poser.use(self._methods)

    @property
    def _methods(self) -> frozenset[str]:
        """The current method, and the method that will replace it, if there is one."""
        return frozenset((self._method, self._wanted))

    def _posers(self) -> list[Poser]:
        return [*self._watchers.values(), *([self._poser] if self._poser is not None else [])]

    def _is_shaded(self, method: str) -> bool:
        """True if the shaders can draw the bodies of this group with this method."""
        return method in SHADED and not self.definition.by_numpy

    def _is_posed_by(self, poser: Poser, draw_time_ns: int) -> bool:
        """True if the poser computes the poses of this frame. For methods that the shaders support, the poser computes
        nothing."""
        if self.definition.by_numpy:
            return True
        return self._method not in SHADED and poser.is_ready(self._method, draw_time_ns)

    def _pose_layer(self, poses: Poses, pair: Pair, renderer: SceneRenderer) -> Layer | None:
        if not len(poses):
            return None
        renderer.upload_records(self.pose_slot, self._in_place(records_of(poses)), poses.part_columns)
        scale3 = poses.columns.get(SCALE3)
        if scale3 is not None and scale3.ndim == 2 and scale3.shape[1] == 3:
            renderer.upload_scale3(self.pose_slot, self._in_place(scale3))
        surfaces = SurfacePair(pair.previous.slot, None if pair.next is None else pair.next.slot, pair.alpha)
        return Layer(self.pose_slot, None, group=self.definition.group, is_posed=True, surfaces=surfaces)

    def _in_place(self, values: NDArray[Any]) -> NDArray[Any]:
        """Converts values of the group's bodies to the form that the renderer reads: an array with one row for each
        body of the world. The rows of other bodies are 0."""
        if self.definition.rows is None:
            return values
        rows = self.definition.rows[: len(values)]
        whole = np.zeros((int(rows[-1]) + 1, *values.shape[1:]), values.dtype)
        whole[rows] = values[: len(rows)]
        return whole


def _drawn_ns(method: str, pair: Pair, newest: HeldSnapshot, blended_ns: int) -> int:
    """Simulated time that the picture shows. blended_ns: the draw time; it is returned if the method blends."""
    if method not in AS_PUBLISHED:
        return blended_ns
    return newest.head.sim_time_ns if method == OF_THE_NEWEST else pair.previous.head.sim_time_ns


def layer_of(pair: Pair, method: str, group: str | None, discrete: Discrete) -> Layer:
    """Makes the layer for a pair of snapshots that the shaders blend. If the pair has no next snapshot, the previous
    snapshot is drawn unblended."""
    before, previous, following = pair.before, pair.previous, pair.next
    if following is None:
        return Layer(previous.slot, None, group=group)
    return Layer(
        previous.slot,
        following.slot,
        None if before is None else before.slot,
        pair.alpha,
        (following.head.sim_time_ns - previous.head.sim_time_ns) / 1e9,
        0.0 if before is None else (previous.head.sim_time_ns - before.head.sim_time_ns) / 1e9,
        method,
        group=group,
        discrete=discrete,
    )


# This section computes poses in numpy. They are needed for interpolation methods without a shader, for children of
# bodies, and for the user's drawing.
#
# A poser handles some bodies of the world, or all of them, and their ancestors. Its poses are in the world frame, even
# for bodies that have a parent. It receives private copies of snapshots. When one method is about to replace another,
# the poser runs both methods.


@dataclass(frozen=True, eq=False)
class PosingRules:
    """Rules of a scene for the poses of its bodies.

    parents: parents of the bodies, for each scene to which a snapshot may belong; None if no body has a parent. create:
    function that makes the interpolation method of a given name, with the scene's rules for columns. color_by: name of
    the column whose blended values give the colours; None if the colours themselves are blended. discrete: fields of
    bodies that the shaders do not blend.
    """

    parents: SceneParents | None = None
    create: Callable[[str], Method] = create
    color_by: ColorBy | None = None
    discrete: Discrete = ALL_BLENDED


class Poser:
    """Computes poses of some bodies by all methods in use. rows: indices of the bodies, (k,), ascending; None for all
    bodies."""

    def __init__(self, rows: NDArray[np.intp] | None, rules: PosingRules) -> None:
        self.rows, self._rules = rows, rules
        self._frames: FramesInTime | None = None  # frames of reference; None if no held scene has parents
        self._received_rows = rows
        self._methods: MethodsInUse = {}  # methods, used if no held scene has parents
        self._past: deque[Snapshot] = deque()  # last snapshots, used if no held scene has parents
        if rules.parents is not None:
            self._received_rows = None if rows is None else rules.parents.with_ancestors(rows)
            self._frames = FramesInTime(rules.parents, self._received_rows, rules.create)

    def use(self, names: frozenset[str]) -> None:
        """Sets the methods that receive snapshots from now on, and drops all other methods. Raises TwixtError for an
        unknown method."""
        if self._frames is None:
            set_methods(self._methods, names, self._rules.create, self._past)
        else:
            self._frames.use(names)

    def add(self, snapshot: Snapshot) -> None:
        """Passes a snapshot to every method in use. The snapshot must have memory of its own."""
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
        began_at = self._began_at(name, draw_time_ns)
        return len(began_at) > 1 and began_at[0] <= draw_time_ns

    def is_settled(self, name: str, draw_time_ns: int) -> bool:
        """True if the method has received a snapshot that is earlier than the two around `draw_time_ns`. Then its poses
        do not depend on when the method was created."""
        began_at = self._began_at(name, draw_time_ns)
        return len(began_at) > 1 and began_at[1] <= draw_time_ns

    def reach_ns(self, name: str) -> int:
        """How far beyond the newest snapshot the method can draw, in ns of simulated time."""
        method = (self._methods if self._frames is None else self._frames.newest).get(name)
        return 0 if method is None else method.reach_ns

    def poses(self, draw_time_ns: int, name: str) -> Poses:
        """Poses of `rows` in the world frame at `draw_time_ns`, computed by the method `name`. There are fewer poses
        than rows if the snapshots have fewer bodies."""
        poses = self._posed(name, draw_time_ns)
        if self._received_rows is None or self.rows is None or len(self._received_rows) == len(self.rows):
            return poses
        there = np.searchsorted(self._received_rows, self.rows)
        return select_rows(poses, there[there < len(poses)])

    def _posed(self, name: str, draw_time_ns: int) -> Poses:
        method = self._at(draw_time_ns).get(name)
        poses = no_poses() if method is None else method.sample(draw_time_ns)
        color_by = self._rules.color_by
        if color_by is not None and color_by.column in poses.columns:
            values = poses.columns[color_by.column][: len(poses)]
            poses.color[: len(values), :3] = colors(values, color_by)
        return poses if self._frames is None else self._frames.in_world(poses, draw_time_ns)

    def _began_at(self, name: str, draw_time_ns: int) -> Sequence[int]:
        method = self._at(draw_time_ns).get(name)
        return () if method is None else began_at(method)

    def _at(self, draw_time_ns: int) -> MethodsInUse:
        return self._methods if self._frames is None else self._frames.methods_at(draw_time_ns)


def _places_in(rows: NDArray[np.intp], bodies: NDArray[np.intp]) -> NDArray[np.intp]:
    """For each body, its index in `rows`; -1 if the body is not in `rows`. rows: ascending."""
    if not len(rows):
        return np.full(len(bodies), -1)
    places = np.minimum(np.searchsorted(rows, bodies), len(rows) - 1)
    return np.where(rows[places] == bodies, places, -1)
