"""Bodies as the run's own picture has drawn them last, and rays through its pixels.

The one idea: a picture computes poses for whoever watches bodies (`Picture.watch`). A watch begins with the newest
snapshots of the link, so that it has poses at once, also of a world that stands still.

Always: bodies and rays are of the same frame, the last one drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from twixt.render.picking.rays import Ray, ray_of
from twixt.render.scene.stage import Stage, side_by_side
from twixt.render.snapshots.intake import as_drawn

if TYPE_CHECKING:
    from twixt.ipc.scene import Scene
    from twixt.ipc.session.client import Link
    from twixt.render.interpolation.poses import Poses

WATCHER = "pointer"  # of poses: see Picture.watch


class SeenBodies:
    """Bodies of one stage, whose snapshots come from `link`. axes: right, up and backward of the last ray's camera, unit
    vectors of the world, (3, 3). eye: that camera's, metres, world."""

    def __init__(self, stage: Stage, link: Link) -> None:
        self._stage, self._link = stage, link
        self.axes: NDArray[np.float64] = np.eye(3)
        self.eye: NDArray[np.float64] = np.zeros(3)

    @property
    def scene(self) -> Scene:
        """The scene drawn."""
        return self._stage.scene

    def all(self) -> Poses:
        """Poses of all bodies."""
        self._watch(None)
        return self._stage.main.watched(WATCHER)

    def one(self, body: int) -> Poses:
        """Pose of one body; without a row where it is not there."""
        if self._stage.main.watching(WATCHER) != [body]:
            self._watch(np.array([body], np.intp))
        return self._stage.main.watched(WATCHER)

    def forget(self) -> None:
        """Ends the watch: snapshots need not be copied for it any more."""
        self._stage.main.unwatch(WATCHER)

    def ray(self, x_px: float, y_px: float, size_px: tuple[int, int]) -> Ray | None:
        """Ray through a pixel of a window of `size_px`; None outside of the picture, and before the first frame."""
        stage = self._stage
        viewport = side_by_side(size_px, len(stage.pictures))[-1]
        if stage.view.orbit is None or x_px < viewport[0]:
            return None
        matrices = stage.view.matrices(stage.main, viewport[2:], size_px)
        self.axes, self.eye = matrices.view[:3, :3].astype(np.float64), np.array(matrices.eye)
        return ray_of(matrices, stage.view.around_axis(viewport, size_px), x_px, y_px, size_px[1])

    def _watch(self, rows: NDArray[np.intp] | None) -> None:
        past = [as_drawn(snapshot, self._stage.scene) for snapshot in self._link.latest_pair()]
        self._stage.main.watch(WATCHER, rows, past)
