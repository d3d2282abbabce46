"""The interpolation methods `catmull` and `quadratic`. They draw smooth curves through three or four snapshots and need
no published velocities.

`catmull`: for each snapshot, a parabola goes through the body's positions in this snapshot and its two neighbours. The
snapshot gets the velocity of this parabola. The times between snapshots may differ. Between two snapshots, the body
moves on Hermite's cubic. The result is the non-uniform spline of Catmull and Rom (1974), in the form of Barry and
Goldman (1988). Orientations are treated in the same way. The shortest turns between neighbours, as rotation vectors,
give every snapshot an angular velocity. Between two snapshots, the body rotates as with the method `hermite`. So speeds
do not jump at a snapshot.

The curve is exact at every snapshot. A body that has just stopped overshoots a little. Let d be the distance in metres
that it moved in the previous interval. Let `a` and `b` be the lengths of the previous interval and of this interval in
seconds. If the body rests in this interval and in the next, it overshoots its resting place by at most 4/27 d b^2 / (a
(a + b)). If all intervals are equally long, this is 2/27 d. If the next snapshot is missing, the factor is 1/4 instead
of 4/27, which gives 1/8 d for equal intervals. A neighbour snapshot in which the body has another epoch counts as
missing. If the interval has only one neighbour snapshot, the parabola through three snapshots is drawn. If it has none,
a straight line is drawn. The snapshot after an interval changes the curve in the interval. If this snapshot arrives
during the interval, the curve changes while it is drawn. This does not happen with a clock that buffers one more
interval.
"""

from __future__ import annotations

import numpy as np

from twixt.ipc.snapshot import Snapshot
from twixt.render.interpolation.hermite import Floats, Rows, curve, gap_between, turn
from twixt.render.interpolation.method import Linear
from twixt.render.interpolation.poses import FARTHEST, Poses, may_be_blended
from twixt.render.interpolation.quaternion import conjugate, log, multiply, normalized

# A neighbour snapshot counts as missing if the time to it is shorter than this fraction of the interval. If it were
# used, the curve would overshoot by more than the distance moved in the previous interval.
SHORTEST_NEIGHBOUR = 1 / 8


class Catmull(Linear):
    """Draws the curve through two snapshots. The neighbours on both sides change its form."""

    def blend_at(self, index: int, alpha: float, draw_time_ns: int) -> Poses:
        previous, following = self.snapshots[index], self.snapshots[index + 1]
        poses = self.blend(previous, following, alpha, draw_time_ns)
        rows = np.flatnonzero(may_be_blended(previous.bodies, following.bodies))
        gap_s, mean = gap_between(previous, following), mean_motion(previous, following, rows)
        start = self._joint(index - 1, rows, gap_s, mean)
        end = self._joint(index + 1, rows, gap_s, mean)
        start, end = self.end_motions(start, mean, end)
        curved = np.isfinite(start).all(axis=1)
        rows, start, end = rows[curved], start[curved], end[curved]

        old, new = previous.bodies[rows], following.bodies[rows]
        place = curve(old["position"], start[:, :3], new["position"], end[:, :3], gap_s, alpha)
        within = (np.abs(place) < FARTHEST).all(axis=1)
        poses.position[rows[within]] = place[within]
        poses.orientation[rows] = turn(old["orientation"], start[:, 3:], new["orientation"], end[:, 3:], gap_s, alpha)
        return poses

    def end_motions(self, start: Floats, mean: Floats, end: Floats) -> tuple[Floats, Floats]:
        """Returns the motions (m, 6) at both ends of an interval. A motion is a velocity and an angular velocity.
        start, end: motions of the parabolas at the start and at the end. mean: mean motion in the interval.

        A row of `start` or `end` is NaN if the neighbour snapshot on this side is missing. Then the parabola through
        the other three snapshots is used.
        """
        return np.where(np.isnan(start), 2 * mean - end, start), np.where(np.isnan(end), 2 * mean - start, end)

    def _joint(self, neighbour: int, rows: Rows, gap_s: float, mean: Floats) -> Floats:
        """The motions (m, 6) at the snapshot that this interval shares with a neighbour interval. neighbour: index of
        the snapshot at which the neighbour interval begins. The motions are NaN if the neighbour interval is
        missing."""
        joint = np.full_like(mean, np.nan)
        if not 0 <= neighbour < len(self.snapshots) - 1:
            return joint
        previous, following = self.snapshots[neighbour], self.snapshots[neighbour + 1]
        neighbour_gap_s = gap_between(previous, following)
        if neighbour_gap_s < SHORTEST_NEIGHBOUR * gap_s:
            return joint
        lasting = may_be_blended(previous.bodies, following.bodies)
        known = rows < len(lasting)
        known[known] = lasting[rows[known]]
        other = mean_motion(previous, following, rows[known])
        joint[known] = (mean[known] * neighbour_gap_s + other * gap_s) / (gap_s + neighbour_gap_s)
        return joint


class Quadratic(Catmull):
    """Draws the parabola through three snapshots: the two of the interval, and the one before them.

    The method needs no published velocities. Unlike `catmull`, it needs no snapshot after the interval. So a snapshot
    that arrives later never changes the curve. But the speed jumps a little at each snapshot. Orientations are blended
    by rotation vectors, as in `catmull`. The times between snapshots may differ (Lagrange 1795).

    The curve is exact at the snapshots. A body that has just stopped overshoots a little. Let d be the distance in
    metres that it moved in the previous interval. Let `a` and `b` be the lengths of the previous interval and of this
    interval in seconds. If the body rests in this interval, it overshoots its resting place by at most 1/4 d b^2 / (a
    (a + b)). If both intervals are equally long, this is 1/8 d. If the previous snapshot is missing, the parabola
    through the next snapshot is drawn. If both are missing, a straight line is drawn.
    """

    def end_motions(self, start: Floats, mean: Floats, end: Floats) -> tuple[Floats, Floats]:
        return super().end_motions(start, mean, np.where(np.isnan(start), end, np.nan))


def mean_motion(previous: Snapshot, following: Snapshot, rows: Rows) -> Floats:
    """Mean velocity and mean angular velocity between two snapshots, (m, 6). rows: indices of the bodies. For the
    angular velocity, each body turns the short way."""
    old, new = previous.bodies[rows], following.bodies[rows]
    way = new["position"].astype(np.float64) - old["position"]
    turned = log(multiply(normalized(new["orientation"]), conjugate(normalized(old["orientation"]))))
    return np.concatenate((way, turned), axis=1) / gap_between(previous, following)
