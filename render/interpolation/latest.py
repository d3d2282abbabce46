"""Latest: the newest published state at once, whatever the draw time. The least delay, and every unevenness."""

from __future__ import annotations

from twixt.render.interpolation.method import Method
from twixt.render.interpolation.poses import Poses, no_poses


class Latest(Method):
    """The draw time of the poses is the newest snapshot's; columns too are the newest's."""

    def sample(self, draw_time_ns: int) -> Poses:
        if not self._snapshots:
            return no_poses()
        newest = len(self._snapshots) - 1
        return self._with_columns(self.at(newest), newest, 0.0)
