"""Labels of shapes, and marks that are attached to bodies, at the poses of the drawn bodies.

Both are placed by the poses with which the bodies are drawn in the same frame. These poses come from numpy, so private
copies of snapshots are needed while a body has a label or a mark. The caller passes snapshots, pictures and cameras.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import MARK, RECORD
from twixt.render.draw.frame.camera import CameraMatrices
from twixt.render.interpolation.quaternion import multiply, normalized, rotate
from twixt.render.scene.labels import HEADLINE, Label, nearest_seen

if TYPE_CHECKING:
    from twixt.ipc.scene.shape_list import ShapeList
    from twixt.render.interpolation.poses import Poses
    from twixt.render.scene.views import Picture

WATCHER = "attachments"  # name under which poses are watched: see Picture.watch
# Labels of at most this many bodies are considered: those with the lowest indices. The limit exists because numpy
# computes the poses of these bodies in every frame.
MOST_LABELED = 2048
# Bodies whose marks are gone are followed for this many snapshots more, because frames may draw older snapshots.
RECENT = 16
NO_ROWS = np.zeros(0, np.intp)


class Attachments:
    """Bodies whose drawn poses are followed. rows: their indices, (k,), ascending."""

    def __init__(self) -> None:
        self.rows = NO_ROWS
        self._labeled = self._marked = NO_ROWS
        self._recent: deque[NDArray[np.intp]] = deque(maxlen=RECENT)  # bodies with marks, of each of these snapshots
        self._texts: list[str] = []  # labels of `_labeled`
        self._reach: NDArray[np.float64] = np.zeros(0)  # radius of each body of `_labeled`, in metres
        self._shapes: tuple[ShapeList, int] | None = None

    def set_shapes(self, shapes: ShapeList, count: int) -> bool:
        """Sets the shapes of the first `count` bodies. Returns False if `rows` is the same as before."""
        if self._shapes is not None and self._shapes[0] is shapes and self._shapes[1] == count:
            return False
        self._shapes = shapes, count
        has_label = np.array([shape.label is not None for shape in shapes.table], np.bool_)
        if not has_label.any():
            self._labeled, self._texts, self._reach = NO_ROWS, [], np.zeros(0)
        else:
            of_body = shapes.rows_for(count)
            self._labeled = np.flatnonzero(has_label[of_body])[:MOST_LABELED]
            chosen = [shapes.table[row] for row in of_body[self._labeled].tolist()]
            self._texts = [shape.label or "" for shape in chosen]
            self._reach = np.array([shape.reach for shape in chosen])
        return self._join()

    def set_marks(self, marks: NDArray[np.void], count: int) -> bool:
        """Follows the bodies to which these marks of the newest snapshot are attached, and those of the snapshots just
        before it. count: number of bodies. Returns False if `rows` is the same as before."""
        bodies = marks["body"]
        if not len(self._marked) and not bodies.any():
            return False
        bodies = np.unique(bodies[(bodies > 0) & (bodies <= count)]).astype(np.intp) - 1
        self._recent.append(bodies)
        if not np.isin(bodies, self._marked, assume_unique=True).all():
            self._marked = np.union1d(self._marked, bodies)
            return self._join()
        wanted = np.unique(np.concatenate(self._recent))
        # To follow other bodies costs more than to follow some too many for a while.
        if len(wanted) and 2 * len(wanted) >= len(self._marked):
            return False
        self._marked = wanted
        return self._join()

    def watch(self, pictures: Sequence[Picture]) -> None:
        """Makes these pictures watch the poses of `rows`."""
        for picture in pictures:
            if not len(self.rows):
                picture.unwatch(WATCHER)
            elif picture.watching(WATCHER) != self.rows.tolist():
                picture.watch(WATCHER, self.rows)

    def poses(self, picture: Picture) -> Poses | None:
        """Poses of `rows` as they are drawn in this frame; None if no body is followed."""
        return picture.watched(WATCHER) if len(self.rows) else None

    def placed(self, marks: NDArray[np.void], poses: Poses | None) -> NDArray[np.void]:
        """The marks in the world's frame. A mark whose body is hidden or does not exist is left out. poses: from
        `poses`. Returns `marks` itself if none is attached."""
        bodies = marks["body"]
        attached = np.flatnonzero(bodies)
        if not len(attached):
            return marks
        body = bodies[attached].astype(np.intp) - 1
        known = 0 if poses is None else len(poses)
        at = np.searchsorted(self.rows[:known], body)
        at = np.minimum(at, max(0, known - 1))
        shown = np.zeros(len(attached), np.bool_)
        if poses is not None and known:
            shown = (self.rows[at] == body) & poses.visible[at]
        placed = np.ascontiguousarray(marks).view(RECORD).copy().view(MARK)
        rows, at = attached[shown], at[shown]
        if poses is not None and len(rows):
            turn = poses.orientation[at].astype(np.float64)
            placed["position"][rows] = poses.position[at] + rotate(turn, marks["position"][rows].astype(np.float64))
            placed["orientation"][rows] = multiply(turn, normalized(marks["orientation"][rows]))
        kept = np.ones(len(marks), np.bool_)
        kept[attached[~shown]] = False
        return placed if kept.all() else placed.view(RECORD)[kept].view(MARK)

    def labels(self, poses: Poses | None, camera: CameraMatrices) -> list[Label]:
        """The labels of the drawn bodies. If there are too many, only those nearest to the camera."""
        if poses is None or not len(self._labeled):
            return []
        at = np.searchsorted(self.rows, self._labeled)
        shown = np.flatnonzero(at < len(poses))
        shown = shown[poses.visible[at[shown]]]
        shown = shown[nearest_seen(poses.position[at[shown]], camera)]
        places, reach = poses.position[at[shown]].tolist(), (self._reach[shown] * poses.scale[at[shown]]).tolist()
        return [
            Label((x, y, z), self._texts[row], HEADLINE, reach=radius)
            for row, (x, y, z), radius in zip(shown.tolist(), places, reach, strict=True)
        ]

    def _join(self) -> bool:
        rows = np.union1d(self._labeled, self._marked).astype(np.intp)
        is_same, self.rows = np.array_equal(rows, self.rows), rows
        return not is_same
