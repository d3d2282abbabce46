"""Linear: straight from one snapshot to the next. Positions, scales and colours by lerp, orientations by slerp.

Per body, only where both snapshots show the same life of it: another epoch means that it was spawned,
despawned or moved elsewhere in between, and then the older state is drawn until the newer one's instant.
So is a body whose newer state is not finite.
"""

from __future__ import annotations

import numpy as np

from twixt.ipc.snapshot import CONTINUITY_MASK, Snapshot
from twixt.render.interpolation.method import Method
from twixt.render.interpolation.poses import Poses, finite, poses_of
from twixt.render.interpolation.quaternion import slerp


class Linear(Method):
    """Lerp and shortest-path slerp."""

    def blend(self, previous: Snapshot, following: Snapshot, alpha: float, draw_time_ns: int) -> Poses:
        poses = poses_of(draw_time_ns, previous.bodies, previous.columns)
        both = min(len(previous.bodies), len(following.bodies))
        old, new = previous.bodies[:both], following.bodies[:both]
        same = ((old["epoch"] ^ new["epoch"]) & CONTINUITY_MASK) == 0
        rows = np.flatnonzero(same & finite(old) & finite(new))
        if not len(rows):
            return poses
        old, new = old[rows], new[rows]
        poses.position[rows] = _lerp(old["position"], new["position"], alpha)
        poses.orientation[rows] = slerp(old["orientation"], new["orientation"], alpha)
        poses.scale[rows] = _lerp(old["scale"], new["scale"], alpha)
        poses.color[rows] = np.rint(_lerp(old["color"], new["color"], alpha))
        return poses


def _lerp(old: np.ndarray, new: np.ndarray, alpha: float) -> np.ndarray:
    # This form is exact at both ends and for equal values: a body at rest does not tremble.
    old = old.astype(np.float64)
    return old + (new.astype(np.float64) - old) * alpha
