"""The interpolation methods `hermite` and `auto`. Between two snapshots, positions and orientations follow cubic
curves. The curves use the published velocities of both snapshots.

Positions follow the cubic of Charles Hermite (1878). It goes through both positions and has both velocities there; the
velocities are multiplied by the time between the two snapshots. Orientations follow the cubic curve of rotations of
Kim, Kim, Shin 1995. This curve is a product of three rotations. Each is the rotation in one third of the time between
the snapshots, predicted from an angular velocity: the first from that of the older snapshot, the last from that of the
newer snapshot, and the middle one from the mean of the two. Each may be several turns. The remainder is the short
rotation from the product of the three to the newer orientation. The remainder and the middle rotation are added
together, with a smooth start and a smooth end.

The curve is exact at both snapshots, and has the published linear and angular velocities there. If the velocity of a
body is not given, not finite or too large, the body moves as with the method `linear`. The same applies to its angular
velocity and its rotation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, Snapshot
from twixt.render.interpolation.method import Linear
from twixt.render.interpolation.poses import (
    ACCELERATION_CHANGE,
    FARTHEST,
    LARGEST_COMPARED,
    MOST_TURN_RAD,
    POSITION_MISMATCH,
    SWING,
    TURN_OFF_OF_CHANGE,
    TURN_OFF_RAD,
    Poses,
    may_be_blended,
)
from twixt.render.interpolation.quaternion import conjugate, exp, log, multiply, normalized

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Records = NDArray[np.void]

NS_PER_S = 1e9


class Hermite(Linear):
    """Blends positions by cubics. Between two snapshots, a body may rotate by several turns."""

    def blend(self, previous: Snapshot, following: Snapshot, alpha: float, draw_time_ns: int) -> Poses:
        poses = super().blend(previous, following, alpha, draw_time_ns)
        gap_s = gap_between(previous, following)
        old, new = previous.bodies, following.bodies
        rows = np.flatnonzero(may_be_blended(old, new))
        bend(poses, old, new, moving(old, new, rows), gap_s, alpha)
        spin(poses, old, new, turning(old, new, rows, gap_s), gap_s, alpha)
        return poses


def gap_between(previous: Snapshot, following: Snapshot) -> float:
    """Simulated time between two snapshots, in seconds."""
    return (following.sim_time_ns - previous.sim_time_ns) / NS_PER_S


def moving(old: Records, new: Records, rows: Rows) -> Rows:
    """Those of `rows` whose velocity is given and finite in both snapshots. old, new: records of the two snapshots."""
    return rows[_given(old[rows], "velocity", HAS_VELOCITY) & _given(new[rows], "velocity", HAS_VELOCITY)]


def turning(old: Records, new: Records, rows: Rows, gap_s: float) -> Rows:
    """Those of `rows` whose angular velocity is given in both snapshots and turns the body by less than
    `MOST_TURN_RAD`."""
    before, after = old[rows], new[rows]
    given = _given(before, "angular_velocity", HAS_ANGULAR_VELOCITY)
    given &= _given(after, "angular_velocity", HAS_ANGULAR_VELOCITY)
    rows, before, after = rows[given], before[given], after[given]
    fastest = np.maximum(_squared(before["angular_velocity"]), _squared(after["angular_velocity"]))
    return rows[fastest * gap_s**2 < MOST_TURN_RAD**2]


def bend(poses: Poses, old: Records, new: Records, rows: Rows, gap_s: float, alpha: float) -> None:
    """Moves the bodies `rows` of `poses` to their places on the curves. A body is not moved if its curve leads beyond
    `FARTHEST`."""
    before, after = old[rows], new[rows]
    place = curve(before["position"], before["velocity"], after["position"], after["velocity"], gap_s, alpha)
    within = (np.abs(place) < FARTHEST).all(axis=1)
    poses.position[rows[within]] = place[within]


def spin(poses: Poses, old: Records, new: Records, rows: Rows, gap_s: float, alpha: float) -> None:
    """Turns the bodies `rows` of `poses` by their angular velocities, see `turn`."""
    before, after = old[rows], new[rows]
    start, end = before["orientation"], after["orientation"]
    poses.orientation[rows] = turn(start, before["angular_velocity"], end, after["angular_velocity"], gap_s, alpha)


def curve(
    start: NDArray[np.floating],
    start_velocity: NDArray[np.floating],
    end: NDArray[np.floating],
    end_velocity: NDArray[np.floating],
    gap_s: float,
    alpha: float,
) -> Floats:
    """Positions (n, 3) on the cubics from `start` to `end`, metres. The velocities are in m/s. Charles Hermite 1878."""
    h01 = ease(alpha)
    h10 = alpha * (1 - alpha) ** 2
    h11 = -(alpha**2) * (1 - alpha)
    start, end = np.asarray(start, np.float64), np.asarray(end, np.float64)
    leaving, arriving = np.asarray(start_velocity, np.float64), np.asarray(end_velocity, np.float64)
    # The result is computed as `start` plus differences. With a sum of four products, a body at rest would tremble.
    return start + (end - start) * h01 + gap_s * (h10 * leaving + h11 * arriving)


def turn(
    start: NDArray[np.floating],
    start_velocity: NDArray[np.floating],
    end: NDArray[np.floating],
    end_velocity: NDArray[np.floating],
    gap_s: float,
    alpha: float,
) -> Floats:
    """Orientations (n, 4) between `start` and `end`. The angular velocities are (n, 3), in rad/s, along the axes of the
    world.

    Kim, Kim, Shin 1995. If a body tumbles freely, the error is at most 0.5 degrees when the body turns by 90 degrees
    between two snapshots, and at most 0.15 degrees when it turns by 60.
    """
    leaving, between, arriving = thirds(start_velocity, end_velocity, gap_s)
    missing = remainder(start, start_velocity, end, end_velocity, gap_s)
    turned = multiply(exp((1 - (1 - alpha) ** 3) * leaving), normalized(start))
    turned = multiply(exp(ease(alpha) * between), multiply(exp(ease(alpha) * missing), turned))
    return normalized(multiply(exp(alpha**3 * arriving), turned))


def remainder(
    start: NDArray[np.floating],
    start_velocity: NDArray[np.floating],
    end: NDArray[np.floating],
    end_velocity: NDArray[np.floating],
    gap_s: float,
) -> Floats:
    """Rotation vectors (n, 3) of the shortest rotations from the predicted orientation to the newer orientation. The
    predicted orientation is the product of the three rotations of `thirds` and the older orientation."""
    leaving, between, arriving = thirds(start_velocity, end_velocity, gap_s)
    whole = multiply(normalized(end), conjugate(normalized(start)))
    return log(multiply(multiply(exp(-between), exp(-arriving)), multiply(whole, exp(-leaving))))


def thirds(
    start_velocity: NDArray[np.floating], end_velocity: NDArray[np.floating], gap_s: float
) -> tuple[Floats, Floats, Floats]:
    """Rotation vectors (n, 3) for each third of the time between two snapshots, in order of time. They are predicted
    from the angular velocities."""
    leaving, arriving = (np.asarray(v, np.float64) * (gap_s / 3) for v in (start_velocity, end_velocity))
    return leaving, (leaving + arriving) / 2, arriving


def ease(alpha: float) -> float:
    """Cubic that rises from 0 to 1. Its slope is 0 at both ends."""
    return alpha * alpha * (3 - 2 * alpha)


def _given(records: Records, field: str, flag: int) -> NDArray[np.bool_]:
    return ((records["flags"] & flag) != 0) & (np.abs(records[field]) < FARTHEST).all(axis=1)


def _squared(vectors: NDArray[np.floating]) -> Floats:
    wide = vectors.astype(np.float64)
    return np.einsum("ij,ij->i", wide, wide)


# The method `auto`. For each body and each interval between two snapshots, it uses the curve of `hermite` if this curve
# can be trusted. Otherwise it uses a straight line.
#
# A curve is trusted if three snapshots agree on one smooth motion. They do not agree if there is a bounce, a landing
# or a push in one of the two intervals. Then the body moves straight. A straight line between two places above a floor
# never enters the floor. If three snapshots cannot distinguish a motion from a smooth one, it is drawn as smooth. For
# example, a body that bounces once in each interval, by the same angle, seems to move on a circle. For a moment it is
# drawn behind the wall, by less than the bound given below. (In a ring, with 12 m/s, 50 ms and 29 degrees between two
# snapshots, it is 10 mm behind the wall.)
#
# The rules use the positions p, the velocities v, and the times g between snapshots. The index b marks the previous
# interval. The changes of velocity are
#     j = v1 - v0,  jb = v0 - vb.
# The parts of the movement that the mean velocities do not explain are
#     e = p1 - p0 - (v0 + v1) g / 2,  eb = p0 - pb - (vb + v0) gb / 2.
# The body follows the curve if all of these rules hold:
# 1. The acceleration stays nearly the same: |j/g - jb/gb| < ACCELERATION_CHANGE * the smaller of |j/g| and |jb/gb|. A
#    contact in one of the intervals breaks this rule. So do different contacts in the two intervals.
# 2. Positions agree with velocities: |e - lag j| <= POSITION_MISMATCH g |j| and |eb - lag jb| <= POSITION_MISMATCH gb
#    |jb|. An integrator may move bodies with the velocity after a step, or with the velocity before it. Positions are
#    then half a step behind the velocities, or ahead of them. `lag` is this time. It is the same for both intervals, is
#    found by least squares, and is at most half the shorter interval. If a body bounces in both intervals, such as a
#    ball that comes to rest, the two intervals seldom agree on one lag.
# 3. The curve does not overshoot unless the body turns back. Seen along j, there are two cases: v0 and v1 point apart
#    (the top of a throw), or both point in the direction of motion and are at most SWING times as fast as the mean
#    velocity (Fritsch, Carlson 1980).
#
# Orientations follow the curve of `hermite` if the angular velocities lead near the newer orientation. Otherwise they
# turn the short way. The result is exact at both snapshots. By rule 2, it is at most 0.154 g |j| away from the straight
# line. For comparison, the path of a thrown body is g |j| / 8 away. A curve is used only if both snapshots have
# velocities, and if there is an earlier snapshot in which the body has the same epoch. The rules do not depend on
# scale: the same motion, ten times as large or as fast, is judged in the same way.


class Auto(Linear):
    """Uses the curve of `hermite` if this curve can be trusted, otherwise a straight line."""

    def blend_at(self, index: int, alpha: float, draw_time_ns: int) -> Poses:
        previous, following = self.snapshots[index], self.snapshots[index + 1]
        poses = self.blend(previous, following, alpha, draw_time_ns)
        gap_s = gap_between(previous, following)
        old, new = previous.bodies, following.bodies
        rows = np.flatnonzero(may_be_blended(old, new))
        if index > 0:
            before = self.snapshots[index - 1]
            known = rows[: np.searchsorted(rows, len(before.bodies))]
            known = known[may_be_blended(before.bodies, old)[known]]
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
    """Mask (m,): True for a body if its curve from `old` to `new` can be trusted. before, old, new: records of m bodies
    in three successive snapshots."""
    vb, v0, v1 = (records["velocity"].astype(np.float64) for records in (before, old, new))
    pb, p0, p1 = (records["position"].astype(np.float64) for records in (before, old, new))
    j, jb, way, way_before = v1 - v0, v0 - vb, p1 - p0, p0 - pb
    comparable = (np.abs(np.concatenate((vb, v0, v1, way, way_before), axis=1)) < LARGEST_COMPARED).all(axis=1)

    now, earlier = j * before_gap_s, jb * gap_s  # both accelerations, each multiplied by both gaps
    like_before = _length(now - earlier) < ACCELERATION_CHANGE * np.minimum(_length(now), _length(earlier))

    e = way - (v0 + v1) * (gap_s / 2)
    eb = way_before - (vb + v0) * (before_gap_s / 2)
    most_lag_s = min(gap_s, before_gap_s) / 2
    changes = _dot(j, j) + _dot(jb, jb)
    lag_s = (_dot(e, j) + _dot(eb, jb)) / np.where(changes > 0, changes, 1.0)
    lag_s = np.clip(lag_s, -most_lag_s, most_lag_s)[:, None]
    explained = _length(e - lag_s * j) <= POSITION_MISMATCH * gap_s * _length(j)
    explained &= _length(eb - lag_s * jb) <= POSITION_MISMATCH * before_gap_s * _length(jb)

    leaving, arriving, along = _dot(v0, j), _dot(v1, j), _dot(way, j)
    turns_back = (leaving < 0) & (arriving > 0)
    forth = np.where(leaving + arriving < 0, -along, along)
    swings_little = np.maximum(np.abs(leaving), np.abs(arriving)) * gap_s <= SWING * forth
    return comparable & like_before & explained & (turns_back | swings_little)


def turn_is_trusted(old: NDArray[np.void], new: NDArray[np.void], gap_s: float) -> NDArray[np.bool_]:
    """Mask (m,): True for a body if its angular velocities lead from its older orientation to near its newer
    orientation."""
    w0, w1 = old["angular_velocity"], new["angular_velocity"]
    missing = remainder(old["orientation"], w0, new["orientation"], w1, gap_s)
    change = _length(w1.astype(np.float64) - w0) * gap_s
    return _length(missing) <= TURN_OFF_RAD + TURN_OFF_OF_CHANGE * change


def _dot(one: Floats, other: Floats) -> Floats:
    return np.einsum("ij,ij->i", one, other)


def _length(vectors: Floats) -> Floats:
    return np.sqrt(_dot(vectors, vectors))
