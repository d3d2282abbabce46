"""Chooses the shapes that are drawn at a simulated time. Also finds bodies whose own frame is moved by a new scene.

Shapes are not blended. The shapes of a newer scene are first drawn at the simulated time of the scene's first snapshot.
So if a simulation changes the position and the colour of a body together, both changes are drawn at the same time.
Until then the previous shapes are drawn, with everything else of the newer scene. So the shapes of a scene wait for the
scene's first snapshot. If the picture stands still, the shapes are drawn without waiting. The shapes of a scene are
also drawn at once if a body has another number of parts, if deforming meshes differ, or if a column colours the parts.

Scenes take effect in the order in which they arrived. This module has no side effects outside its objects.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.config.rules import COLOR
from twixt.ipc.scene import Compound, Scene, Shape
from twixt.ipc.scene.scene import shape_list, with_shapes
from twixt.ipc.scene.shape_list import ShapeList
from twixt.ipc.scene.surfaces import deforming
from twixt.ipc.snapshot import CONTINUITY_MASK, Head, Snapshot
from twixt.render.draw.bodies.part_changes import are_same, moved_parts, row_shapes
from twixt.render.draw.bodies.shape_rows import part_rows
from twixt.render.interpolation.quaternion import normalized
from twixt.render.scene.groups import OF_THE_NEWEST
from twixt.render.snapshots.history import History

OTHER_FIELDS = tuple(field.name for field in fields(Scene) if field.name not in ("shapes", "camera"))
# An instant before all snapshots, in ns of simulated time.
EVER = -(1 << 62)
# Largest number of scenes whose shapes wait. A clock draws fewer snapshots than this behind the newest snapshot.
MOST_WAITING = 64


@dataclass(eq=False)
class _Coming:
    """Shapes that will be drawn later. from_ns: the first simulated time at which they are drawn; None if the first
    snapshot of their scene has not arrived yet."""

    shapes: ShapeList
    version: int
    from_ns: int | None = None


class ShapesInTime:
    """Shapes over simulated time. shown: the shapes that are drawn now. own: the shapes of the snapshots that arrive
    now. coming: shapes that are newer than `shown`. are_begun: True if `own` and `shown` differed at the last call of
    `show`."""

    def __init__(self, shapes: ShapeList) -> None:
        self.shown = self.own = shapes
        self.are_begun = False
        self._jumps = FrameJumps()
        self.coming: deque[_Coming] = deque()

    @property
    def await_snapshot(self) -> bool:
        """True if the next shapes wait for the first snapshot of their scene."""
        return bool(self.coming) and self.coming[0].from_ns is None

    def add_scene(self, before: Scene, scene: Scene, version: int, history: History) -> bool:
        """Adds a scene that follows the scene `before`. version: version of `scene`. history: the held snapshots.
        Returns False if the shapes of `scene` are drawn at once; they then replace all shapes that wait."""
        newest = history.newest
        count = 0 if newest is None else newest.head.count
        differ = bool(self.coming) or not _are_kept(before, scene, count)
        if differ and len(self.coming) < MOST_WAITING and _may_wait(before, scene, count):
            if self.coming and self.coming[-1].from_ns is None:
                self.coming.pop()
            self.coming.append(_Coming(ShapeList.of(scene.shapes), version))
            return True
        self.coming.clear()
        self.shown = ShapeList.of(scene.shapes)
        return False

    def begin(self, first: Head, history: History) -> None:
        """Sets the first simulated time at which the shapes of a scene are drawn. first: head of the scene's first
        snapshot, which is not in `history` yet."""
        newest = history.newest
        is_other_world = newest is not None and newest.head.world_epoch != first.world_epoch
        begun = [coming for coming in self.coming if coming.version <= first.scene_version]
        for coming in begun:
            if is_other_world:
                coming.from_ns = EVER
            elif coming.from_ns is None:
                coming.from_ns = first.sim_time_ns
        if begun or not self.coming:
            self.own = begun[-1].shapes if begun else self.shown

    def show(self, draw_time_ns: int, history: History, method: str, is_still: bool) -> bool:
        """Chooses the shapes that are drawn at `draw_time_ns`. method: name of the interpolation method. is_still: True
        if the previous frame had the same draw time. Returns False if the shapes are the same as before."""
        held = history.entries
        if held:
            first = held[-1 if method == OF_THE_NEWEST else 0]
            draw_time_ns = max(draw_time_ns, first.head.sim_time_ns)
        found = None
        self.are_begun = self.own is not self.shown
        while self.coming and (from_ns := self.coming[0].from_ns) is not None and from_ns <= draw_time_ns:
            found = self.coming.popleft()
        if found is None and is_still and self.await_snapshot:
            found = self.coming.popleft()
        if found is None:
            return False
        self.shown = found.shapes
        return True

    def marked(self, snapshot: Snapshot, scene: Scene) -> Snapshot:
        """Gives a new epoch to each body whose own frame was moved by the new scene. So the interpolation methods in
        numpy do not blend this body with earlier snapshots. The snapshot is changed in place."""
        return self._jumps.marked(snapshot, with_shapes(scene, self.own))

    def own_scene(self, scene: Scene) -> Scene | None:
        """The scene with the shapes of the snapshots that arrive now; None if these are the shapes that are drawn
        now."""
        return None if self.own is self.shown else with_shapes(scene, self.own)


def differ_in_shapes_alone(before: Scene, scene: Scene) -> bool:
    """True if the two scenes are the same except for shapes and camera."""
    return all(getattr(before, name) == getattr(scene, name) for name in OTHER_FIELDS)


def _are_kept(before: Scene, scene: Scene, count: int) -> bool:
    """True if the first `count` bodies have the same shapes in both scenes."""
    if before.shapes is scene.shapes or not count:
        return True
    if shape_list(before).table == shape_list(scene).table:
        return np.array_equal(shape_list(before).rows_for(count), shape_list(scene).rows_for(count))
    index = {shape: place for place, shape in enumerate(shape_list(before).table)}
    known = np.array([index.get(shape, -1) for shape in shape_list(scene).table], np.intp)
    return bool(len(known) and len(index)) and np.array_equal(
        known[shape_list(scene).rows_for(count)], shape_list(before).rows_for(count)
    )


def _may_wait(before: Scene, scene: Scene, count: int) -> bool:
    """True if snapshots of `scene` may be drawn with the shapes of the scene `before`. For this, each body must have
    the same number of parts in both scenes."""
    if not (count and shape_list(before).table and shape_list(scene).table):
        return False
    if before.part_columns != scene.part_columns or COLOR in scene.part_columns:
        return False
    if scene.part_columns and len(before.shapes) != len(scene.shapes):
        return False
    counts, own = ([_parts_of(shape) for shape in shape_list(one).table] for one in (before, scene))
    if -1 in counts or -1 in own:
        return False
    if len({*counts, *own}) == 1:
        return True
    return np.array_equal(
        np.array(counts)[shape_list(before).rows_for(count)], np.array(own)[shape_list(scene).rows_for(count)]
    )


def _parts_of(shape: Shape) -> int:
    """Number of parts of a shape; 0 for a shape that is not a compound, -1 for one that deforms."""
    if isinstance(shape, Compound):
        return len(shape.parts)
    return -1 if deforming(shape) is not None else 0


# A new scene may move the own frame of a body. Interpolation methods in numpy do not blend the body across this change,
# because the body gets a new epoch.
#
# A scene may move all parts of a body within the body's frame, and the body's record may compensate for this. For
# example, the origin of a body moves to its centre of mass, or its shape grows and its scale shrinks. The drawn body is
# at rest. A blend of its poses would still be wrong, because the two poses refer to different frames. So the body keeps
# its older pose and its older shape until the newer snapshot is drawn. (The shaders blend each part separately:
# render/draw/bodies/part_changes.py.)
#
# A body gets no new epoch if only some of its parts move, or if its record does not compensate for the movement.


# The motion of a body is computed in the older frame. If it is less than this fraction of the motion of the body's
# record, the record compensates for the change of the frame.
MOST_LEFT = 0.5


class FrameJumps:
    """Counts how often scenes have moved the own frame of each body."""

    def __init__(self) -> None:
        self._last: Snapshot | None = None
        self._own: Scene | None = None  # scene of the last snapshot; None before the first snapshot
        self._counts = np.zeros(0, np.uint32)

    def marked(self, snapshot: Snapshot, own: Scene) -> Snapshot:
        """Increases the epoch of each body whose own frame was moved by a scene. The snapshot is changed in place. own:
        scene of the snapshot."""
        last, before = self._last, self._own
        self._last, self._own = snapshot, own
        bodies = snapshot.bodies
        is_other = before is not None and before.shapes is not own.shapes and not are_same(before, own)
        if before is not None and is_other and last is not None and last.world_epoch == snapshot.world_epoch:
            jumped = jumped_bodies(last.bodies, before, bodies, own)
            if len(jumped):
                self._counts = np.pad(self._counts, (0, max(0, len(bodies) - len(self._counts))))
                self._counts[jumped] += np.uint32(1)
        if len(self._counts):
            counts = self._counts[: len(bodies)]
            epochs = bodies["epoch"][: len(counts)]
            bodies["epoch"][: len(counts)] = (epochs & ~np.uint32(CONTINUITY_MASK)) | (
                (epochs + counts) & np.uint32(CONTINUITY_MASK)
            )
        return snapshot


def jumped_bodies(older: NDArray[np.void], before: Scene, newer: NDArray[np.void], after: Scene) -> NDArray[np.intp]:
    """Indices of the bodies whose own frame is moved between two snapshots, and of the children of these bodies,
    ascending. older: records of the older snapshot, (n,) of dtype `BODY`, which belong to the scene `before`. newer:
    records of the newer snapshot, (m,), which belong to the scene `after`."""
    count = min(len(older), len(newer))
    shapes, now = (row_shapes(scene, part_rows(scene, count), count) for scene in (before, after))
    moved = moved_parts(now, shapes)
    if moved is None:
        return np.zeros(0, np.intp)
    body_of = np.arange(count) if shapes.parts is None else shapes.parts.bodies
    rows = np.union1d(moved.rows, moved.sized)
    bodies = body_of[rows]
    kept = moved.kept_in_place(newer[body_of])[rows]
    own = _weights(older[bodies], newer[bodies], bodies, count)
    seen = _weights(older[bodies], kept, bodies, count)
    is_whole = np.bincount(bodies, minlength=count) == np.bincount(body_of, minlength=count)
    jumped = np.flatnonzero(is_whole & (seen < MOST_LEFT * own))
    places = set(jumped.tolist())
    children = [child for child, parent in after.parents.items() if parent in places and child < count]
    return np.union1d(jumped, np.array(children, np.intp)).astype(np.intp)


def _weights(
    older: NDArray[np.void], newer: NDArray[np.void], bodies: NDArray[np.intp], count: int
) -> NDArray[np.float64]:
    """How much the two records of each body differ, (count,). The differences in metres, in radians and in scale are
    added up to one number."""
    with np.errstate(all="ignore"):  # records may contain any values
        away = np.linalg.norm(newer["position"].astype(np.float64) - older["position"], axis=1)
        cosines = np.abs((normalized(newer["orientation"]) * normalized(older["orientation"])).sum(axis=1))
        turned = 2 * np.arccos(np.minimum(cosines, 1.0))
        scaled = np.abs(newer["scale"].astype(np.float64) - older["scale"])
        return np.bincount(bodies, away + turned + scaled, count).astype(np.float64)
