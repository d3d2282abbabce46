"""Linear, none and latest: straight from one snapshot to the next, or states as they were published.

`linear`: positions, scales and colours by lerp, orientations by slerp. Per body, only where both snapshots show the
same life of it: another epoch means that it was spawned, despawned or moved elsewhere in between, and then the older
state is drawn until the newer one's instant. So is a body whose newer state is not finite, and a scale that would pass
through zero. Methods that move or turn bodies along another way override `positions` or `orientations` alone.

`none`: the newest state at or before the draw time, as a plain viewer shows it. `latest`: the newest at once, whatever
the draw time: the least delay, and every unevenness.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import Snapshot
from twixt.render.interpolation.column_blending import straight
from twixt.render.interpolation.method import Method
from twixt.render.interpolation.poses import Poses, continues, no_poses, poses_of
from twixt.render.interpolation.quaternion import slerp


class Linear(Method):
    """Lerp and shortest-path slerp."""

    def blend(self, previous: Snapshot, following: Snapshot, alpha: float, draw_time_ns: int) -> Poses:
        poses = poses_of(draw_time_ns, previous.bodies)
        lasting = continues(previous.bodies, following.bodies)
        if not lasting.any():
            return poses
        # Usually all of them: then no record is copied.
        is_all = len(poses) == len(following.bodies) and bool(lasting.all())
        rows = slice(None) if is_all else np.flatnonzero(lasting)
        old, new = previous.bodies[rows], following.bodies[rows]
        gap_s = (following.sim_time_ns - previous.sim_time_ns) * 1e-9
        poses.position[rows] = self.positions(old, new, alpha, gap_s)
        poses.orientation[rows] = self.orientations(old, new, alpha, gap_s)
        poses.scale[rows] = straight(old["scale"], new["scale"], alpha, keep_sign=True, dtype=np.float32)
        poses.color[rows] = straight(old["color"], new["color"], alpha)
        return poses

    def positions(
        self, old: NDArray[np.void], new: NDArray[np.void], alpha: float, gap_s: float
    ) -> NDArray[np.floating]:
        """(m, 3), metres, of m bodies whose records are `old` and, gap_s of simulated time later, `new`."""
        return straight(old["position"], new["position"], alpha, dtype=np.float64)

    def orientations(
        self, old: NDArray[np.void], new: NDArray[np.void], alpha: float, gap_s: float
    ) -> NDArray[np.floating]:
        """(m, 4), unit quaternions xyzw, of the same bodies."""
        return slerp(old["orientation"], new["orientation"], alpha)


class Nearest(Method):
    """Each snapshot is shown as it is until the next one's instant."""

    def blend(self, previous: Snapshot, following: Snapshot, alpha: float, draw_time_ns: int) -> Poses:
        return poses_of(draw_time_ns, previous.bodies)


class Latest(Method):
    """The draw time of the poses is the newest snapshot's; columns too are the newest's."""

    def sample(self, draw_time_ns: int) -> Poses:
        if not self._snapshots:
            return no_poses()
        newest = len(self._snapshots) - 1
        return self._with_columns(self.at(newest), newest, 0.0)
