"""The bodies of a picture that are drawn alike: the same instant, the same method.

One part holds all bodies that the scene puts in no group and hangs on nobody; each group is a part, and so are
the children of other bodies. The shaders' methods draw from the two snapshots on the GPU; for the others a poser
makes the poses, which are uploaded and drawn as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.render.draw.layers import Layer
from twixt.render.history import History, Pair
from twixt.render.interpolation.poses import Poses, records_of
from twixt.render.picture.change import Blend, Change
from twixt.render.picture.poser import Poser

if TYPE_CHECKING:
    from twixt.ipc.snapshot import Snapshot
    from twixt.render.draw.scene_renderer import SceneRenderer

# What the shaders do with a pair of snapshots, and what they do with the newest alone.
OF_A_PAIR = frozenset(("none", "linear", "hermite", "auto"))
OF_THE_NEWEST = "latest"
# What is drawn while a method of numpy has not seen two snapshots yet.
MEANWHILE = "linear"

MakePoser = Callable[[NDArray[np.intp] | None], Poser]


class Drawn(NamedTuple):
    """What one part shows in one frame. draw_time_ns: the simulated time really drawn."""

    group: str | None
    layer: Layer | None  # None: not known yet where they are
    pair: Pair
    draw_time_ns: int
    method: str
    is_beyond: bool  # drawn beyond the newest snapshot


class Part:
    """group: the renderer's name of these bodies. rows: which they are, ascending; None: all.

    own_method: theirs, whatever the run's is. delay_ns: how much older than the others they are drawn, in simulated time.
    by_numpy: whatever the method, the shaders cannot draw them. pose_slot: where the renderer takes poses of numpy.
    """

    def __init__(
        self, name: str, group: str | None, rows: NDArray[np.intp] | None, own_method: str | None, method: str,
        delay_ns: int, by_numpy: bool, pose_slot: int, make_poser: MakePoser,
    ) -> None:  # fmt: skip
        self.group, self.rows, self.delay_ns = group, rows, delay_ns
        self._name, self._own_method, self._by_numpy, self._pose_slot = name, own_method, by_numpy, pose_slot
        self._make_poser = make_poser
        self._change = Change(own_method or method)
        self._poser: Poser | None = None
        self._watchers: dict[str, Poser] = {}
        self._blend = Blend(own_method or method)
        self._draw_time_ns = 0

    @property
    def needs_copies(self) -> bool:
        """Whether it must be fed with private copies of snapshots."""
        return self._poser is not None or bool(self._watchers)

    @property
    def reach_ns(self) -> int:
        """How far beyond the newest snapshot the method in use may be asked."""
        return 0 if self._poser is None else self._poser.reach_ns(self._change.method)

    def choose(self, method: str) -> None:
        """The run's method has changed."""
        if self._own_method is None:
            self._change.ask(method)

    def add(self, snapshot: Snapshot) -> None:
        """A private copy of a snapshot."""
        for poser in self._posers():
            poser.add(snapshot)

    def watch(self, watcher: str, rows: NDArray[np.intp] | None) -> None:
        """Keep poses of those of `rows` (None: all) that are in this part ready for `watched`."""
        if rows is not None and self.rows is not None:
            rows = np.intersect1d(rows, self.rows)
        elif rows is None:
            rows = self.rows
        if rows is None or len(rows):
            self._watchers[watcher] = self._make_poser(rows)

    def unwatch(self, watcher: str) -> None:
        """The watcher has seen enough."""
        self._watchers.pop(watcher, None)

    def watched(self, watcher: str) -> tuple[NDArray[np.intp] | None, Poses] | None:
        """Rows (None: all) and their poses as drawn in this frame, to be asked after `draw`."""
        poser = self._watchers.get(watcher)
        return None if poser is None else (poser.rows, poser.poses(self._draw_time_ns, self._blend))

    def draw(self, reference_ns: int, present_ns: int, history: History, renderer: SceneRenderer) -> Drawn | None:
        """What to draw at `present_ns`, when those without a delay draw `reference_ns`. None: nothing is held."""
        draw_time_ns = self._draw_time_ns = reference_ns - self.delay_ns
        self.prepare()
        blend = self._blend = self._change.blend(present_ns, lambda name: self._is_ready(name, draw_time_ns))
        pair, newest = history.pair(draw_time_ns, self._name), history.newest
        if pair is None or newest is None:
            return None
        if self._poser is not None and (self._by_numpy or self._knows(self._poser, draw_time_ns)):
            layer = self._pose_layer(self._poser.poses(draw_time_ns, blend), renderer)
            is_beyond = draw_time_ns > newest.head.sim_time_ns and self.reach_ns > 0
            return Drawn(
                self.group, layer, pair, draw_time_ns if is_beyond else pair.draw_time_ns, blend.method, is_beyond
            )
        if blend.method == OF_THE_NEWEST:
            layer = Layer(newest.slot, None, group=self.group)
            return Drawn(self.group, layer, pair, newest.head.sim_time_ns, blend.method, False)
        if not {blend.method, blend.other} - {""} <= OF_A_PAIR:
            blend = Blend(MEANWHILE)
        drawn_ns = pair.previous.head.sim_time_ns if blend.method == "none" else pair.draw_time_ns
        return Drawn(self.group, layer_of(pair, blend, self.group), pair, drawn_ns, blend.method, False)

    def release(self, history: History) -> None:
        """It is drawn no more."""
        history.release(self._name)

    def prepare(self) -> None:
        """A poser while one is needed; all posers know the methods that may be asked for."""
        methods = self._change.methods
        if not (self._by_numpy or not (methods <= OF_A_PAIR or methods == {OF_THE_NEWEST})):
            self._poser = None
        elif self._poser is None:
            self._poser = self._make_poser(self.rows)
        for poser in self._posers():
            poser.use(methods)

    def _posers(self) -> list[Poser]:
        return [*self._watchers.values(), *([self._poser] if self._poser is not None else [])]

    def _is_ready(self, name: str, draw_time_ns: int) -> bool:
        return self._poser is None or self._poser.is_ready(name, draw_time_ns)

    def _knows(self, poser: Poser, draw_time_ns: int) -> bool:
        names = {self._blend.method, self._blend.other} - {""}
        return all(poser.is_ready(name, draw_time_ns) for name in names)

    def _pose_layer(self, poses: Poses, renderer: SceneRenderer) -> Layer | None:
        if not len(poses):
            return None
        records = records_of(poses)
        if self.rows is not None:
            rows = self.rows[: len(records)]
            whole = np.zeros(int(rows[-1]) + 1, records.dtype)
            whole[rows] = records
            records = whole
        renderer.upload_records(self._pose_slot, records)
        return Layer(self._pose_slot, None, group=self.group)


def layer_of(pair: Pair, blend: Blend, group: str | None) -> Layer:
    """A pair of snapshots, blended by the shaders."""
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
        *blend,
        group=group,
    )
