"""Auto: per body and interval the curve of hermite where it can be trusted, else straight.

A curve may be trusted where positions, velocities and the acceleration before tell the same story. A bounce, a
landing, a push within the interval is another story: the acceleration is not the one before it. There the body goes
straight, which between two places above a floor never leads into the floor.

Always: exact at both snapshots; never a curve without velocities in both, nor without a snapshot before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twixt.render.interpolation.hermite import bend, gap_between, moving, remainder, spin, turning
from twixt.render.interpolation.linear import Linear
from twixt.render.interpolation.poses import Poses, continues

# The acceleration may differ from the one before by this share of the smaller of the two. A circle at 30 degrees a
# step differs by 0.52.
ACCELERATION_CHANGE = 0.9
# What the velocities do not explain of the way, as shares of the change of velocity times the gap and of the way.
WAY_OFF_OF_CHANGE = 0.15
WAY_OFF_OF_WAY = 0.02
# Orientation: what the angular velocities may miss the newer one by (radians), and per change of theirs in the gap.
TURN_OFF_RAD = 0.25
TURN_OFF_OF_CHANGE = 0.25
# How physics may have moved within a step, between the mean of both velocities (0) and one of them (1/2, -1/2).
STEP_RULES = (0.0, 0.5, -0.5)


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
            agreed = _agreed(before.bodies[known], old[known], new[known], gap_between(before, previous), gap_s)
            bend(poses, old, new, known[agreed], gap_s, alpha)
        spinning = turning(old, new, rows, gap_s)
        spin(poses, old, new, spinning[_turns_agreed(old[spinning], new[spinning], gap_s)], gap_s, alpha)
        return poses


def _agreed(
    before: NDArray[np.void], old: NDArray[np.void], new: NDArray[np.void], before_gap_s: float, gap_s: float
) -> NDArray[np.bool_]:
    v0, v1 = old["velocity"].astype(np.float64), new["velocity"].astype(np.float64)
    way = new["position"].astype(np.float64) - old["position"]
    acceleration, earlier = (v1 - v0) / gap_s, (v0 - before["velocity"]) / before_gap_s
    steady = _length(acceleration - earlier) <= ACCELERATION_CHANGE * np.minimum(
        _length(acceleration), _length(earlier)
    )
    off, change = way - (v0 + v1) * (gap_s / 2), (v1 - v0) * gap_s
    least = np.min([_length(off - share * change) for share in STEP_RULES], axis=0)
    return steady & (least <= WAY_OFF_OF_CHANGE * _length(change) + WAY_OFF_OF_WAY * _length(way))


def _turns_agreed(old: NDArray[np.void], new: NDArray[np.void], gap_s: float) -> NDArray[np.bool_]:
    w0, w1 = old["angular_velocity"], new["angular_velocity"]
    missing = remainder(old["orientation"], w0, new["orientation"], w1, gap_s)
    change = _length(w1.astype(np.float64) - w0) * gap_s
    return _length(missing) <= TURN_OFF_RAD + TURN_OFF_OF_CHANGE * change


def _length(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
