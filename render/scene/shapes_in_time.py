"""The shapes that are drawn, over simulated time.

Shapes are discrete: those of a newer scene are drawn from the instant on at which its first snapshot is, so that a body
changes its colour where it changes its place. Until then the shapes before are drawn, with all else of the newer scene.
One whose first snapshot has not come waits for it, but is drawn as soon as the picture stands still. Drawn at once are
scenes in which bodies have another number of parts, other deforming meshes, or parts coloured by a column.

Always: scenes follow in the order in which they came. Pure.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from twixt.ipc.config.column_rules import COLOR
from twixt.ipc.scene import Compound, Scene, Shape
from twixt.ipc.scene.surface_records import deforming
from twixt.ipc.shapes.shape import ShapeList
from twixt.render.scene.frame_jumps import FrameJumps
from twixt.render.scene.picture_part import OF_THE_NEWEST
from twixt.render.snapshots.history import History

if TYPE_CHECKING:
    from twixt.ipc.snapshot import Head, Snapshot

SHAPE_FIELDS = ("shapes", "distinct_shapes", "shape_index")
OTHER_FIELDS = tuple(field.name for field in fields(Scene) if field.name not in (*SHAPE_FIELDS, "camera"))
# Before all snapshots, ns.
EVER = -(1 << 62)
# Scenes that wait, at most: more than a clock draws behind the newest snapshot.
MOST_WAITING = 64


@dataclass(eq=False)
class _Coming:
    """Shapes that are drawn from `from_ns` on; None: no snapshot of their scene has come."""

    shapes: ShapeList
    version: int
    from_ns: int | None = None


class ShapesInTime:
    """shown: the shapes that are drawn. own: those of the snapshots that come now. are_begun: these were others than those
    shown before the last `show`."""

    def __init__(self, shapes: ShapeList) -> None:
        self.shown = self.own = shapes
        self.are_begun = False
        self._jumps = FrameJumps()
        self._coming: deque[_Coming] = deque()

    @property
    def are_waiting(self) -> bool:
        """True if there are newer shapes than those shown."""
        return bool(self._coming)

    @property
    def await_snapshot(self) -> bool:
        """True if the next shapes wait for the first snapshot of their scene."""
        return bool(self._coming) and self._coming[0].from_ns is None

    def take(self, before: Scene, scene: Scene, version: int, history: History) -> bool:
        """Takes a scene that follows `before`. version: its own. history: of the snapshots held. Returns False where its shapes are drawn at
        once, in place of all others."""
        newest = history.newest
        count = 0 if newest is None else newest.head.count
        differ = bool(self._coming) or not _are_kept(before, scene, count)
        if differ and len(self._coming) < MOST_WAITING and _may_wait(before, scene, count):
            if self._coming and self._coming[-1].from_ns is None:
                self._coming.pop()
            self._coming.append(_Coming(ShapeList.of(scene.shapes), version))
            return True
        self._coming.clear()
        self.shown = ShapeList.of(scene.shapes)
        return False

    def begin(self, first: Head, history: History) -> None:
        """The first snapshot of a scene comes; `history` does not have it yet."""
        newest = history.newest
        is_other_world = newest is not None and newest.head.world_epoch != first.world_epoch
        begun = [coming for coming in self._coming if coming.version <= first.scene_version]
        for coming in begun:
            if is_other_world:
                coming.from_ns = EVER
            elif coming.from_ns is None:
                coming.from_ns = first.sim_time_ns
        if begun or not self._coming:
            self.own = begun[-1].shapes if begun else self.shown

    def show(self, draw_time_ns: int, history: History, method: str, is_still: bool) -> bool:
        """Shows the shapes that are drawn at that time by this method. is_still: it is the time of the frame before. Returns
        False if these are the ones shown."""
        held = history.entries
        if held:
            first = held[-1 if method == OF_THE_NEWEST else 0]
            draw_time_ns = max(draw_time_ns, first.head.sim_time_ns)
        found = None
        self.are_begun = self.own is not self.shown
        while self._coming and (from_ns := self._coming[0].from_ns) is not None and from_ns <= draw_time_ns:
            found = self._coming.popleft()
        if found is None and is_still and self.await_snapshot:
            found = self._coming.popleft()
        if found is None:
            return False
        self.shown = found.shapes
        return True

    def marked(self, snapshot: Snapshot, scene: Scene) -> Snapshot:
        """A snapshot that comes now, for methods of numpy: bodies whose own frame jumps are cut. Changed in place."""
        return self._jumps.marked(snapshot, with_shapes(scene, self.own))

    def own_scene(self, scene: Scene) -> Scene | None:
        """The scene with the shapes of the snapshots that come now; None: these are shown."""
        return None if self.own is self.shown else with_shapes(scene, self.own)


def with_shapes(scene: Scene, shapes: ShapeList) -> Scene:
    """The scene with these shapes; itself if they are its own."""
    return scene if scene.shapes is shapes else scene.with_shapes(shapes)


def differ_in_shapes_alone(before: Scene, scene: Scene) -> bool:
    """True if all else, but for the camera, is the same in both."""
    return all(getattr(before, name) == getattr(scene, name) for name in OTHER_FIELDS)


def _are_kept(before: Scene, scene: Scene, count: int) -> bool:
    """True if the first `count` bodies have the same shapes in both."""
    if before.shapes is scene.shapes or not count:
        return True
    if before.distinct_shapes == scene.distinct_shapes:
        return np.array_equal(before.shape_rows(count), scene.shape_rows(count))
    index = {shape: place for place, shape in enumerate(before.distinct_shapes)}
    known = np.array([index.get(shape, -1) for shape in scene.distinct_shapes], np.intp)
    return bool(len(known) and len(index)) and np.array_equal(known[scene.shape_rows(count)], before.shape_rows(count))


def _may_wait(before: Scene, scene: Scene, count: int) -> bool:
    """True if snapshots of `scene` may be drawn with the shapes of `before`: bodies have as many parts in both."""
    if not (count and before.distinct_shapes and scene.distinct_shapes):
        return False
    if before.part_columns != scene.part_columns or COLOR in scene.part_columns:
        return False
    if scene.part_columns and len(before.shapes) != len(scene.shapes):
        return False
    counts, own = ([_parts_of(shape) for shape in one.distinct_shapes] for one in (before, scene))
    if -1 in counts or -1 in own:
        return False
    if len({*counts, *own}) == 1:
        return True
    return np.array_equal(np.array(counts)[before.shape_rows(count)], np.array(own)[scene.shape_rows(count)])


def _parts_of(shape: Shape) -> int:
    """Number of its parts; 0 for a shape that is no compound, -1 for one that deforms."""
    if isinstance(shape, Compound):
        return len(shape.parts)
    return -1 if deforming(shape) is not None else 0
