"""What every method shares: the snapshots it keeps, and which two surround a draw time.

Always: previous.sim_time_ns <= draw time < next.sim_time_ns, or next is None and the previous is drawn
still; snapshots of an older world epoch are gone with the first of a newer one; sampling changes nothing,
so sampling twice gives identical bytes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from twixt.ipc.snapshot import Snapshot
from twixt.render.interpolation.poses import Poses, no_poses, poses_of

# Snapshots kept: within these bytes, and never fewer than four (a blend over three intervals), nor more than 64.
KEPT_BYTES = 256 << 20
KEPT_LEAST = 4
KEPT_MOST = 64


class Method:
    """Keeps snapshots; a method of its own overrides `blend`."""

    def __init__(self) -> None:
        self._snapshots: list[Snapshot] = []
        self._times: list[int] = []
        self._world_epoch: int | None = None

    def add(self, snapshot: Snapshot) -> None:
        """Take a snapshot in; one already known, of an older world, or older than all kept is ignored."""
        if self._world_epoch is None or snapshot.world_epoch > self._world_epoch:
            self.reset()
            self._world_epoch = snapshot.world_epoch
        elif snapshot.world_epoch < self._world_epoch:
            return
        index = bisect_left(self._times, snapshot.sim_time_ns)
        if index < len(self._times) and (index == 0 or self._times[index] == snapshot.sim_time_ns):
            return
        self._snapshots.insert(index, snapshot)
        self._times.insert(index, snapshot.sim_time_ns)
        most = max(KEPT_LEAST, min(KEPT_MOST, KEPT_BYTES // max(1, snapshot.bodies.nbytes)))
        if len(self._times) > most:
            del self._snapshots[:-most], self._times[:-most]

    def sample(self, draw_time_ns: int) -> Poses:
        """All bodies at `draw_time_ns`, or at the nearest instant held; no bodies before the first snapshot."""
        if not self._snapshots:
            return no_poses()
        index = max(0, bisect_right(self._times, draw_time_ns) - 1)
        previous = self._snapshots[index]
        start = self._times[index]
        if draw_time_ns <= start or index + 1 == len(self._times):
            return poses_of(start, previous.bodies, previous.columns)
        span = self._times[index + 1] - start
        return self.blend(previous, self._snapshots[index + 1], (draw_time_ns - start) / span, draw_time_ns)

    def reset(self) -> None:
        """Forget everything."""
        self._snapshots.clear()
        self._times.clear()
        self._world_epoch = None

    def blend(self, previous: Snapshot, following: Snapshot, alpha: float, draw_time_ns: int) -> Poses:
        """The bodies of `previous` on their way to `following`, 0 < alpha < 1."""
        raise NotImplementedError
