"""No interpolation: the newest state at or before the draw time. What a plain viewer shows."""

from __future__ import annotations

from twixt.ipc.snapshot import Snapshot
from twixt.render.interpolation.method import Method
from twixt.render.interpolation.poses import Poses, poses_of


class Nearest(Method):
    """Each snapshot is shown as it is until the next one's instant."""

    def blend(self, previous: Snapshot, following: Snapshot, alpha: float, draw_time_ns: int) -> Poses:
        return poses_of(draw_time_ns, previous.bodies)
