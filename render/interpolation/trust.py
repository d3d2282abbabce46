"""Up to where numbers can be trusted, for the numpy methods and for the shaders that are held against them.

Constants alone: who draws needs them before anybody asks for a numpy method.
"""

from __future__ import annotations

import math

# A coordinate beyond this is a mistake of the world: its square is no longer a float32. Drawn as hidden, as NaN is.
FARTHEST = 1e30
# A body that turns further than this between two snapshots (64 turns, radians) is turned the short way: single
# precision, in which it is drawn, no longer holds such an angle to 1e-4, and nobody sees the difference.
MOST_TURN_RAD = 128 * math.pi

# The rules of auto.py, in its order.
# A circle changes its acceleration by 0.52 at 30 degrees a step, by this at 41; a bounce by more than 1.
ACCELERATION_CHANGE = 0.7
# A circle at 30 degrees a step leaves 0.044, at 48 this; a bounce the share by which it is off the interval's middle.
WAY_OFF = 0.07
# A cubic between velocities up to this times the mean one stays between its ends.
SWING = 3.0
# Beyond this (m, m/s) the squares that are compared are no float32 any more: straight.
LARGEST_COMPARED = 1e15
# What the angular velocities may miss the newer orientation by (radians), and per change of theirs times the gap.
TURN_OFF_RAD = 0.25
TURN_OFF_OF_CHANGE = 0.25
