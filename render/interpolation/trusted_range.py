"""Limits within which values are blended or extrapolated, shared by the numpy methods and the shaders.

Constants alone, so that the shaders can be made before the numpy methods are imported.
"""

from __future__ import annotations

import math

# Largest coordinate, m: the square of a larger one is no float32 any more. Bodies beyond it are hidden, as with NaN.
FARTHEST = 1e30
# Largest rotation between two snapshots that follows the angular velocities, radians (64 turns). Single precision does
# not hold a larger angle to 1e-4; such a body is turned the short way, which cannot be told from it.
MOST_TURN_RAD = 128 * math.pi

# Limits of the rules of auto.py, in its order.
# Change of the acceleration, relative to it: 0.52 on a circle at 30 degrees a snapshot, 0.7 at 41; a bounce has over 1.
ACCELERATION_CHANGE = 0.7
# Distance from the parabola, relative to the change of velocity times the gap: 0.044 on a circle at 30 degrees a
# snapshot, 0.07 at 48; at a bounce, its distance from the middle of the interval, as a share of that.
WAY_OFF = 0.07
# Largest velocity at an end, relative to the mean one, with which a cubic stays between its ends.
SWING = 3.0
# Largest value (m, m/s) whose squares can be compared in float32; beyond it motion is straight.
LARGEST_COMPARED = 1e15
# Largest angle by which the angular velocities may miss the newer orientation: this many radians, plus this share of
# their change times the gap.
TURN_OFF_RAD = 0.25
TURN_OFF_OF_CHANGE = 0.25
