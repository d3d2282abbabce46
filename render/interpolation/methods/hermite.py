"""Hermite: cubic curves through both snapshots with the published velocities, for positions and rotations.

Positions: the cubic of Charles Hermite (1878) through both positions with both velocities, scaled by the gap between
the two snapshots. Orientations: the cubic curve of rotations of Kim, Kim, Shin 1995, a product of three rotations. Each
is expected from the angular velocities for a third of the gap: the first from the older one, the last from the newer
one, the middle one from their mean; they may be several turns. What these three miss to the newer orientation is the
remainder, taken the short way; it is eased in and out with the middle rotation.

Always: exact at both snapshots; linear and angular velocities at both are the published ones; a body whose velocities
are not given, not finite or too large moves or turns as in `linear`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, Snapshot
from twixt.render.interpolation.methods.linear import Linear
from twixt.render.interpolation.poses import Poses, continues
from twixt.render.interpolation.quaternion import conjugate, exp, log, multiply, normalized
from twixt.render.interpolation.trusted_range import FARTHEST, MOST_TURN_RAD

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Records = NDArray[np.void]

NS_PER_S = 1e9


class Hermite(Linear):
    """Cubic positions and multi-turn rotations."""

    def blend(self, previous: Snapshot, following: Snapshot, alpha: float, draw_time_ns: int) -> Poses:
        poses = super().blend(previous, following, alpha, draw_time_ns)
        gap_s = gap_between(previous, following)
        old, new = previous.bodies, following.bodies
        rows = np.flatnonzero(continues(old, new))
        bend(poses, old, new, moving(old, new, rows), gap_s, alpha)
        spin(poses, old, new, turning(old, new, rows, gap_s), gap_s, alpha)
        return poses


def gap_between(previous: Snapshot, following: Snapshot) -> float:
    """Simulated seconds from one to the other."""
    return (following.sim_time_ns - previous.sim_time_ns) / NS_PER_S


def moving(old: Records, new: Records, rows: Rows) -> Rows:
    """Those of `rows` whose velocity is given in both records, and finite."""
    return rows[_given(old[rows], "velocity", HAS_VELOCITY) & _given(new[rows], "velocity", HAS_VELOCITY)]


def turning(old: Records, new: Records, rows: Rows, gap_s: float) -> Rows:
    """Those of `rows` whose angular velocity is given in both records and turns them less than `MOST_TURN_RAD`."""
    before, after = old[rows], new[rows]
    given = _given(before, "angular_velocity", HAS_ANGULAR_VELOCITY)
    given &= _given(after, "angular_velocity", HAS_ANGULAR_VELOCITY)
    rows, before, after = rows[given], before[given], after[given]
    fastest = np.maximum(_squared(before["angular_velocity"]), _squared(after["angular_velocity"]))
    return rows[fastest * gap_s**2 < MOST_TURN_RAD**2]


def bend(poses: Poses, old: Records, new: Records, rows: Rows, gap_s: float, alpha: float) -> None:
    """Moves the bodies `rows` of poses onto their curves, except where a curve leads beyond `FARTHEST`."""
    before, after = old[rows], new[rows]
    place = curve(before["position"], before["velocity"], after["position"], after["velocity"], gap_s, alpha)
    within = (np.abs(place) < FARTHEST).all(axis=1)
    poses.position[rows[within]] = place[within]


def spin(poses: Poses, old: Records, new: Records, rows: Rows, gap_s: float, alpha: float) -> None:
    """Turns the bodies `rows` of poses by their angular velocities, see `turn`."""
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
    """Places (n, 3) on the cubics from start to end, metres and m/s. Charles Hermite 1878."""
    h01 = ease(alpha)
    h10 = alpha * (1 - alpha) ** 2
    h11 = -(alpha**2) * (1 - alpha)
    start, end = np.asarray(start, np.float64), np.asarray(end, np.float64)
    leaving, arriving = np.asarray(start_velocity, np.float64), np.asarray(end_velocity, np.float64)
    # Start plus differences, not a sum of four: a body at rest does not tremble.
    return start + (end - start) * h01 + gap_s * (h10 * leaving + h11 * arriving)


def turn(
    start: NDArray[np.floating],
    start_velocity: NDArray[np.floating],
    end: NDArray[np.floating],
    end_velocity: NDArray[np.floating],
    gap_s: float,
    alpha: float,
) -> Floats:
    """Orientations (n, 4) on the way from start to end; velocities (n, 3) in rad/s, world axes.

    Kim, Kim, Shin 1995. A body that tumbles freely is at most 0.5 degrees off at 90 degrees a snapshot, 0.15 at 60.
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
    """Rotation vectors (n, 3) from the rotations of `thirds` to the newer orientation, the short way."""
    leaving, between, arriving = thirds(start_velocity, end_velocity, gap_s)
    whole = multiply(normalized(end), conjugate(normalized(start)))
    return log(multiply(multiply(exp(-between), exp(-arriving)), multiply(whole, exp(-leaving))))


def thirds(
    start_velocity: NDArray[np.floating], end_velocity: NDArray[np.floating], gap_s: float
) -> tuple[Floats, Floats, Floats]:
    """Rotation vectors (n, 3) expected for each third of the gap from the angular velocities, in order of time."""
    leaving, arriving = (np.asarray(v, np.float64) * (gap_s / 3) for v in (start_velocity, end_velocity))
    return leaving, (leaving + arriving) / 2, arriving


def ease(alpha: float) -> float:
    """Cubic from 0 to 1 whose slope is 0 at both ends."""
    return alpha * alpha * (3 - 2 * alpha)


def _given(records: Records, field: str, flag: int) -> NDArray[np.bool_]:
    return ((records["flags"] & flag) != 0) & (np.abs(records[field]) < FARTHEST).all(axis=1)


def _squared(vectors: NDArray[np.floating]) -> Floats:
    wide = vectors.astype(np.float64)
    return np.einsum("ij,ij->i", wide, wide)
