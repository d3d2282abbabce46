"""Catmull and quadratic: smooth curves through three or four snapshots, without velocities.

Catmull: each snapshot gets the velocity of the parabola through it and its two neighbours; gaps may be uneven.
Hermite's cubic connects the snapshots. The result is the non-uniform spline of Catmull and Rom (1974), in the form of
Barry and Goldman (1988). Orientations are treated in the same way: the shortest turns between neighbours, as rotation
vectors, give every snapshot an angular velocity, and hermite's rotation connects them. So speeds do not jump at a
snapshot.

The curve is exact at every snapshot. A body that moved d metres in the previous gap (a seconds), and rests in this gap
(b seconds) and the next, overshoots its resting place by at most 4/27 d b^2 / (a (a + b)): 2/27 d with even gaps. If
the next snapshot is missing, the factor is 1/4 instead of 4/27: 1/8 d with even gaps. A neighbour of another
continuity epoch counts as missing. With one neighbour the parabola through three snapshots is drawn, with none a
straight line. The snapshot after an interval shapes its curve; if it arrives while the interval is being drawn, the
curve changes. A clock that buffers one more interval avoids this.
"""

from __future__ import annotations

import numpy as np

from twixt.ipc.snapshot import Snapshot
from twixt.render.interpolation.hermite import Floats, Rows, curve, gap_between, turn
from twixt.render.interpolation.method import Linear
from twixt.render.interpolation.poses import FARTHEST, Poses, may_be_blended
from twixt.render.interpolation.quaternion import conjugate, log, multiply, normalized

# A neighbour whose gap is shorter than this fraction of the interval counts as missing. With it the curve would
# overshoot by more than the whole previous step.
SHORTEST_NEIGHBOUR = 1 / 8


class Catmull(Linear):
    """The curve through two snapshots, shaped by the neighbours on both sides."""

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
        """Returns the motions (m, 6) at both ends of the interval. start, end: motions at its joints; mean: mean
        motion.

        A row of `start` or `end` is NaN if the neighbour at that joint is missing. Then the parabola through the other
        three snapshots is used.
        """
        return np.where(np.isnan(start), 2 * mean - end, start), np.where(np.isnan(end), 2 * mean - start, end)

    def _joint(self, neighbour: int, rows: Rows, gap_s: float, mean: Floats) -> Floats:
        """The motions (m, 6) at the joint with the interval that begins at snapshot `neighbour`; NaN if that interval
        is missing."""
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
    """The parabola through three snapshots: the interval's own two and the one before them.

    It needs no velocities and, unlike catmull, nothing newer than the interval, so a snapshot that arrives later never
    changes the curve. In return the speed jumps a little at each snapshot. Orientations are blended by rotation
    vectors, as in catmull; gaps may be uneven (Lagrange 1795).

    The curve is exact at the snapshots. A body that moved d metres in the previous gap (a seconds) and rests in this
    one (b seconds) overshoots its resting place by at most 1/4 d b^2 / (a (a + b)): 1/8 d with even gaps. If the
    previous snapshot is missing, the parabola through the next one is drawn; if both are missing, a straight line.
    """

    def end_motions(self, start: Floats, mean: Floats, end: Floats) -> tuple[Floats, Floats]:
        return super().end_motions(start, mean, np.where(np.isnan(start), end, np.nan))


def mean_motion(previous: Snapshot, following: Snapshot, rows: Rows) -> Floats:
    """Mean velocity, and mean angular velocity by the short way, of the bodies `rows` between two snapshots, (m,
    6)."""
    old, new = previous.bodies[rows], following.bodies[rows]
    way = new["position"].astype(np.float64) - old["position"]
    turned = log(multiply(normalized(new["orientation"]), conjugate(normalized(old["orientation"]))))
    return np.concatenate((way, turned), axis=1) / gap_between(previous, following)
