"""The bodies of a picture that are drawn alike: the same instant, the same method.

One part holds all bodies that the scene puts in no group and hangs on nobody; each group is a part, and so are
the children of other bodies. The shaders' methods draw from the two snapshots on the GPU; for the others a poser
makes the poses, which are uploaded and drawn as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.rules import SCALE3
from twixt.render.draw.layers import Discrete, Layer
from twixt.render.draw.pose import METHODS
from twixt.render.history import Entry, History, Pair
from twixt.render.interpolation.poses import Poses, records_of
from twixt.render.picture.change import Blend, Change
from twixt.render.picture.mixing import taken
from twixt.render.picture.poser import Poser

if TYPE_CHECKING:
    from twixt.ipc.snapshot import Snapshot
    from twixt.render.draw.scene_renderer import SceneRenderer

# What the shaders do with a pair of snapshots, and what they do with the newest alone.
OF_A_PAIR = frozenset(METHODS)
OF_THE_NEWEST = "latest"
# Methods that show a snapshot as it is, whatever the instant.
AS_PUBLISHED = ("none", OF_THE_NEWEST)
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
    discrete: what the shaders do not blend.
    """

    def __init__(
        self, name: str, group: str | None, rows: NDArray[np.intp] | None, own_method: str | None, method: str,
        delay_ns: int, by_numpy: bool, pose_slot: int, make_poser: MakePoser, discrete: Discrete,
    ) -> None:  # fmt: skip
        self.group, self.rows, self.delay_ns = group, rows, delay_ns
        self._name, self._own_method, self._by_numpy, self._pose_slot = name, own_method, by_numpy, pose_slot
        self._make_poser, self._discrete = make_poser, discrete
        self._change = Change(own_method or method)
        self._poser: Poser | None = None
        self._watchers: dict[str, Poser] = {}
        self._blend = Blend(own_method or method)
        self._draw_time_ns = 0
        self._prepared_for: frozenset[str] = frozenset()
        self._posed: Poses | None = None  # what the poser made for this frame

    @property
    def needs_copies(self) -> bool:
        """Whether it must be fed with private copies of snapshots."""
        return self._poser is not None or bool(self._watchers)

    @property
    def identity(self) -> tuple[object, ...]:
        """A part of another scene with the same one may go on in place of a new one."""
        rows = b"" if self.rows is None else self.rows.tobytes()
        return self._name, rows, self._own_method, self.delay_ns, self._by_numpy

    @property
    def pose_slot(self) -> int:
        """Where the renderer takes its poses of numpy."""
        return self._pose_slot

    @property
    def stands_by_itself(self) -> bool:
        """It shows states as they were published, so that it stands still now and then whatever the others do."""
        return self._own_method in AS_PUBLISHED

    @property
    def is_changing(self) -> bool:
        """One method gives way to another."""
        return self._change.is_under_way

    @property
    def reach_ns(self) -> int:
        """How far beyond the newest snapshot the others may be drawn without this part running out of snapshots."""
        poser = self._poser
        reach_ns = 0 if poser is None else min(poser.reach_ns(name) for name in self._change.in_use)
        return reach_ns + self.delay_ns

    def choose(self, method: str) -> None:
        """The run's method has changed."""
        if self._own_method is None:
            self._change.ask(method)

    def add(self, snapshot: Snapshot) -> None:
        """A private copy of a snapshot."""
        for poser in self._posers():
            poser.add(snapshot)

    def watch(self, watcher: str, rows: NDArray[np.intp] | None, past: Sequence[Snapshot] = ()) -> None:
        """Keep poses of those of `rows` (None: all) that are in this part ready for `watched`, from `past` on."""
        if rows is not None and self.rows is not None:
            rows = np.intersect1d(rows, self.rows)
        elif rows is None:
            rows = self.rows
        if rows is None or len(rows):
            poser = self._watchers[watcher] = self._make_poser(rows)
            poser.use(self._change.methods)
            for snapshot in past:
                poser.add(snapshot)

    def unwatch(self, watcher: str) -> None:
        """The watcher has seen enough."""
        self._watchers.pop(watcher, None)

    def watched(self, watcher: str) -> tuple[NDArray[np.intp] | None, Poses] | None:
        """Rows (None: all) and their poses as drawn in this frame, to be asked after `draw`."""
        poser = self._watchers.get(watcher)
        if poser is None:
            return None
        if self._posed is None:
            return poser.rows, poser.poses(self._draw_time_ns, self._blend)
        if poser.rows is None:
            return None, self._posed
        at = poser.rows if self.rows is None else np.searchsorted(self.rows, poser.rows)
        return poser.rows, taken(self._posed, at[at < len(self._posed)])

    def draw(self, reference_ns: int, present_ns: int, history: History, renderer: SceneRenderer) -> Drawn | None:
        """What to draw at `present_ns`, when those without a delay draw `reference_ns`. None: nothing is held."""
        draw_time_ns = self._draw_time_ns = reference_ns - self.delay_ns
        change = self._change
        if change.methods is not self._prepared_for:
            self.prepare()
        blend = self._blend = change.blend(present_ns, lambda name: self._is_settled(name, draw_time_ns))
        self._posed = None
        pair, newest = history.pair(draw_time_ns, self._name), history.newest
        if pair is None or newest is None:
            return None
        if self._poser is not None and self._is_posed_by(self._poser, draw_time_ns):
            poses = self._posed = self._poser.poses(draw_time_ns, blend)
            drawn_ns = _drawn_ns(blend, pair, newest, poses.draw_time_ns)
            is_beyond = drawn_ns > newest.head.sim_time_ns
            return Drawn(self.group, self._pose_layer(poses, renderer), pair, drawn_ns, blend.method, is_beyond)
        if blend.method == OF_THE_NEWEST:
            layer = Layer(newest.slot, None, group=self.group)
        else:
            if blend.method not in OF_A_PAIR or (blend.other and blend.other not in OF_A_PAIR):
                blend = Blend(MEANWHILE)
            layer = layer_of(pair, blend, self.group, self._discrete)
        drawn_ns = _drawn_ns(blend, pair, newest, pair.draw_time_ns)
        return Drawn(self.group, layer, pair, drawn_ns, blend.method, False)

    def release(self, history: History) -> None:
        """It is drawn no more."""
        history.release(self._name)

    def prepare(self) -> None:
        """A poser while one is needed; all posers know the methods that may be asked for."""
        methods = self._prepared_for = self._change.methods
        if not self._by_numpy and is_shaded(methods):
            self._poser = None
        elif self._poser is None:
            self._poser = self._make_poser(self.rows)
        for poser in self._posers():
            poser.use(methods)

    def _posers(self) -> list[Poser]:
        return [*self._watchers.values(), *([self._poser] if self._poser is not None else [])]

    def _is_settled(self, name: str, draw_time_ns: int) -> bool:
        return self._poser is None or self._poser.is_settled(name, draw_time_ns)

    def _is_posed_by(self, poser: Poser, draw_time_ns: int) -> bool:
        """Whether the poser draws this frame: what the shaders can draw as well is theirs, as it was before."""
        if self._by_numpy:
            return True
        names = frozenset(name for name in (self._blend.method, self._blend.other) if name)
        return not is_shaded(names) and all(poser.is_ready(name, draw_time_ns) for name in names)

    def _pose_layer(self, poses: Poses, renderer: SceneRenderer) -> Layer | None:
        if not len(poses):
            return None
        renderer.upload_records(self._pose_slot, self._in_place(records_of(poses)))
        scale3 = poses.columns.get(SCALE3)
        if scale3 is not None and scale3.ndim == 2 and scale3.shape[1] == 3:
            renderer.upload_scale3(self._pose_slot, self._in_place(scale3))
        return Layer(self._pose_slot, None, group=self.group, is_posed=True)

    def _in_place(self, values: NDArray[Any]) -> NDArray[Any]:
        """Each row where the renderer looks for that body."""
        if self.rows is None:
            return values
        rows = self.rows[: len(values)]
        whole = np.zeros((int(rows[-1]) + 1, *values.shape[1:]), values.dtype)
        whole[rows] = values[: len(rows)]
        return whole


def is_shaded(methods: frozenset[str]) -> bool:
    """Whether the shaders can draw by these methods, between any two of them too."""
    return methods <= OF_A_PAIR or methods == {OF_THE_NEWEST}


def _drawn_ns(blend: Blend, pair: Pair, newest: Entry, blended_ns: int) -> int:
    """The simulated time that is shown: between those of two methods while one gives way to the other.

    blended_ns: by methods that do not show states as they were published.
    """
    if not blend.mix and blend.method not in AS_PUBLISHED:
        return blended_ns
    shown_ns = {OF_THE_NEWEST: newest.head.sim_time_ns, "none": pair.previous.head.sim_time_ns}
    own_ns = shown_ns.get(blend.method, blended_ns)
    return own_ns + round((shown_ns.get(blend.other, blended_ns) - own_ns) * blend.mix)


def layer_of(pair: Pair, blend: Blend, group: str | None, discrete: Discrete) -> Layer:
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
        discrete=discrete,
    )
