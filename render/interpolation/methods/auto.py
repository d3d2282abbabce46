"""Auto: per body and interval the curve of hermite where it can be trusted, else straight.

A curve is trusted if three snapshots agree on one smooth motion. They do not if there is a bounce, a landing or a push
in one of the two intervals; then the body goes straight, which never leads into a floor from two places above it.
Motion that three snapshots cannot tell from a smooth one is drawn as smooth. So a body that bounces once in each
interval, by the same angle, looks as if on a circle, and is drawn behind the wall for a moment, within the bound below
(round a ring at 12 m/s, 50 ms and 29 degrees a snapshot: by 10 mm). With positions p, velocities v and gaps g, those of
the interval before marked by b, and
    j = v1 - v0,  jb = v0 - vb                                           the changes of velocity
    e = p1 - p0 - (v0 + v1) g / 2,  eb = p0 - pb - (vb + v0) gb / 2      what the mean velocities do not explain
a body follows the curve if all of these hold:
1. The acceleration stays the same: |j/g - jb/gb| < ACCELERATION_CHANGE * the smaller of |j/g| and |jb/gb|. A contact
   in one of the intervals, or different ones in both, break this rule.
2. Positions agree with velocities: |e - lag j| <= WAY_OFF g |j| and |eb - lag jb| <= WAY_OFF gb |jb|. An
   integrator that moves with the velocity after (or before) a step has places half a step behind (or ahead of) the
   velocities: `lag` is that time, one for both intervals by least squares, at most half the shorter gap. Bounces in
   both intervals, as of a ball that comes to rest, seldom agree on one.
3. The curve does not swing out where the velocities do not turn back: along j either v0 and v1 point apart (the
   top of a throw), or both point the way of the body, at most SWING times as fast (Fritsch, Carlson 1980).

Orientations turn as hermite does if the angular velocities lead near the newer orientation, else the short way.
Always: exact at both snapshots; no further from the straight way than 0.154 g |j| (by rule 2; a throw is off by
g |j| / 8); never a curve without velocities in both, nor without a snapshot of the same life of the body before.
Scale-free: the same motion ten times as large or as fast is drawn by the same rule.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twixt.render.interpolation.methods.hermite import Floats, bend, gap_between, moving, remainder, spin, turning
from twixt.render.interpolation.methods.linear import Linear
from twixt.render.interpolation.poses import Poses, continues
from twixt.render.interpolation.trusted_range import (
    ACCELERATION_CHANGE,
    LARGEST_COMPARED,
    SWING,
    TURN_OFF_OF_CHANGE,
    TURN_OFF_RAD,
    WAY_OFF,
)


class Auto(Linear):
    """Hermite where it is safe, else linear."""

    def blend_at(self, index: int, alpha: float, draw_time_ns: int) -> Poses:
        previous, following = self.snapshots[index], self.snapshots[index + 1]
        poses = self.blend(previous, following, alpha, draw_time_ns)
        gap_s = gap_between(previous, following)
        old, new = previous.bodies, following.bodies
        rows = np.flatnonzero(continues(old, new))
        if index > 0:
            before = self.snapshots[index - 1]
            known = rows[: np.searchsorted(rows, len(before.bodies))]
            known = known[continues(before.bodies, old)[known]]
            known = moving(before.bodies, old, moving(old, new, known))
            earlier_gap_s = gap_between(before, previous)
            trusted = curve_is_trusted(before.bodies[known], old[known], new[known], earlier_gap_s, gap_s)
            bend(poses, old, new, known[trusted], gap_s, alpha)
        spinning = turning(old, new, rows, gap_s)
        spin(poses, old, new, spinning[turn_is_trusted(old[spinning], new[spinning], gap_s)], gap_s, alpha)
        return poses


def curve_is_trusted(
    before: NDArray[np.void], old: NDArray[np.void], new: NDArray[np.void], before_gap_s: float, gap_s: float
) -> NDArray[np.bool_]:
    """(m,): True where the curve from `old` to `new` can be trusted, given records of m bodies at three snapshots."""
    vb, v0, v1 = (records["velocity"].astype(np.float64) for records in (before, old, new))
    pb, p0, p1 = (records["position"].astype(np.float64) for records in (before, old, new))
    j, jb, way, way_before = v1 - v0, v0 - vb, p1 - p0, p0 - pb
    comparable = (np.abs(np.concatenate((vb, v0, v1, way, way_before), axis=1)) < LARGEST_COMPARED).all(axis=1)

    now, earlier = j * before_gap_s, jb * gap_s  # both accelerations times both gaps
    like_before = _length(now - earlier) < ACCELERATION_CHANGE * np.minimum(_length(now), _length(earlier))

    e = way - (v0 + v1) * (gap_s / 2)
    eb = way_before - (vb + v0) * (before_gap_s / 2)
    most_lag_s = min(gap_s, before_gap_s) / 2
    changes = _dot(j, j) + _dot(jb, jb)
    lag_s = (_dot(e, j) + _dot(eb, jb)) / np.where(changes > 0, changes, 1.0)
    lag_s = np.clip(lag_s, -most_lag_s, most_lag_s)[:, None]
    explained = _length(e - lag_s * j) <= WAY_OFF * gap_s * _length(j)
    explained &= _length(eb - lag_s * jb) <= WAY_OFF * before_gap_s * _length(jb)

    leaving, arriving, along = _dot(v0, j), _dot(v1, j), _dot(way, j)
    turns_back = (leaving < 0) & (arriving > 0)
    forth = np.where(leaving + arriving < 0, -along, along)
    swings_little = np.maximum(np.abs(leaving), np.abs(arriving)) * gap_s <= SWING * forth
    return comparable & like_before & explained & (turns_back | swings_little)


def turn_is_trusted(old: NDArray[np.void], new: NDArray[np.void], gap_s: float) -> NDArray[np.bool_]:
    """(m,): True where the angular velocities lead from the older orientations to the newer ones."""
    w0, w1 = old["angular_velocity"], new["angular_velocity"]
    missing = remainder(old["orientation"], w0, new["orientation"], w1, gap_s)
    change = _length(w1.astype(np.float64) - w0) * gap_s
    return _length(missing) <= TURN_OFF_RAD + TURN_OFF_OF_CHANGE * change


def _dot(one: Floats, other: Floats) -> Floats:
    return np.einsum("ij,ij->i", one, other)


def _length(vectors: Floats) -> Floats:
    return np.sqrt(_dot(vectors, vectors))
