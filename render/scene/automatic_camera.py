"""The rule of the automatic camera: when it moves, and where to. docs/camera.md states the rule in full.

*Bounds* are the extents of the bodies from now to AHEAD_S later (see `body_bounds`).
- Rest. The camera stands still as long as the bounds are within REST_SHARE of the picture.
- Move. If the bounds leave this part, the camera moves to a place from which the bodies take FILLED_SHARE.
- Shrink. If the bodies of the last KEPT_S, or of CYCLES cycles, take less than SHRINK_SHARE, the camera moves nearer.
- Return. Bodies that went away from a place and come back to it within MEMORY_S are expected to do so again. Then the
  camera shows the places of CYCLES cycles. Other moves show the places of the last KEPT_S.

Always: the direction of view never changes. While a mouse button is held, the camera stands.
Pure: takes times and bounds, reads no clock. One call a frame.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from twixt.render.draw.frame.framing import EMPTY_M, FramedView
from twixt.render.scene.body_bounds import (
    AHEAD_S,
    COUNT,
    DOWN,
    FAR,
    LEFT,
    MEMORY_S,
    NEAR,
    RIGHT,
    SIDES,
    UP,
    WEDGE,
    BoundsMemory,
    Extents,
)

# In the first moment the camera cuts instead of moving: velocities are known only after two samples.
START_S = 0.1
# Shares of the picture's width or height. The camera rests while the bounds take less than the first. It moves nearer
# if the bodies take less than the second.
REST_SHARE, SHRINK_SHARE = 0.85, 0.3
# At the end of a move, the bodies take the first share, and the bounds at most the second.
FILLED_SHARE, AHEAD_SHARE = 0.6, 0.75
# Largest share that a lone body of a simple shape takes.
ALONE_SHARE = 1 / 3
# The goal of a move comes nearer if the bodies would take less than LEAST_SHARE there for FAR_S. So the picture does
# not pulse with the steps of a runner. The goal comes nearer at once if it is more than 1 / FAR_SHARE times too far.
LEAST_SHARE, FAR_S, FAR_SHARE = 0.45, 1.0, 0.4
# If the goal must go farther again within AGAIN times the wait after which it came nearer, the next waits are twice as
# long, up to LONGEST_FAR_S, until it was not too far for MEMORY_S. So the picture does not pulse with bodies that stop
# and go.
AGAIN, LONGEST_FAR_S = 4.0, 8.0
# A camera at rest moves nearer only if its distance becomes less than this share of the present one.
NEARER_SHARE = 0.8
# The places of a cycle are shown only if those of the last SEEN_S take at least this share of the picture.
SEEN_S, CYCLE_SHARE = 4.0, 0.25
# Bodies have come back to an extent if they reach it within this share of the bounds' width in the last cycles, or in
# the last KEPT_S.
RETURN_SHARE = 0.25
# Bodies have moved on if a side of their bounds has moved by this share of the bounds' width.
MOVED_ON_SHARE = 0.25
# Rate of a move, per second: it then comes to rest within 1 s. A move is faster if a body would leave the picture: its
# rate is HASTE divided by the time until then. Half of the way is done after 2.7 divided by the rate.
RATE_PER_S, FASTEST_PER_S, HASTE = 11.0, 40.0, 3.0
# A move ends when the picture is within this many px of its goal.
REST_PX = 0.1
# Time in which places are kept in the picture, if there is no cycle; number of cycles whose places are kept.
KEPT_S, CYCLES = 3.0, 1.5
# Bounds are expected to grow at most GROWTH times as fast as in the last NEWEST_S. In a cycle, this limit is multiplied
# by CYCLE_GROWTH.
NEWEST_S, GROWTH, CYCLE_GROWTH = 0.5, 1.5, 0.5
# A frame that took longer counts as this long: time without frames is not time in which bodies were seen.
LONGEST_FRAME_S = 0.1
# Bounds are equal if they differ by less than this share of the picture.
TOLERANCE = 0.02
# Smallest distance of the camera from the middle of the bodies, as a share of their distance from the origin of the
# bounds: beyond it, positions in float32 have too few digits.
LEAST_DISTANCE = 1e-6

# Directions of the bounds that belong to the picture's width and to its height.
AXES = np.array([RIGHT, LEFT, WEDGE.start, WEDGE.start + 1]), np.array([UP, DOWN, WEDGE.start + 2, WEDGE.start + 3])

# (4,): position of the target to the right, up and backward, and distance of the camera from the target, in metres.
# Always: if two poses are blended linearly, each point that both show stays in the picture.
Pose = NDArray[np.float64]
DISTANCE = 3  # index of the distance in a pose


def ball_distance_m(radius_m: float, share: float, view: FramedView) -> float:
    """Distance at which a ball takes this share of the shorter side of the picture. The ball is taken as flat."""
    return radius_m / (share * view.tangent * min(1.0, view.aspect))


class Glide:
    """Smooth move of numbers to `goal`: the response of a filter with three equal poles. Position, velocity and
    acceleration have no jumps. A move that begins at rest does not overshoot. rate_per_s: rate of the poles."""

    def __init__(self, start: Pose, goal: Pose, rate_per_s: float) -> None:
        self.place, self.goal, self.rate_per_s = start, goal, rate_per_s
        self._velocity, self._acceleration = np.zeros_like(start), np.zeros_like(start)

    def advance(self, seconds: float) -> None:
        """Advances the move. A rate above RATE_PER_S falls to it slowly, so that the move stays smooth."""
        rate, away = self.rate_per_s, self.place - self.goal
        first = self._velocity + rate * away
        second = (self._acceleration + 2 * rate * self._velocity + rate * rate * away) / 2
        value, slope = away + first * seconds + second * seconds**2, first + 2 * second * seconds
        fall = math.exp(-rate * seconds)
        self.place = self.goal + value * fall
        self._velocity = (slope - rate * value) * fall
        self._acceleration = (2 * second - 2 * rate * slope + rate * rate * value) * fall
        self.rate_per_s = max(RATE_PER_S, rate / (1 + rate * seconds / 4))

    def is_within(self, lengths: NDArray[np.float64]) -> bool:
        """True if place and goal differ by less than these lengths, also after one time constant."""
        moment_s = 1 / self.rate_per_s
        off = np.abs(self.place - self.goal) + np.abs(self._velocity) * moment_s
        return bool((off + np.abs(self._acceleration) * moment_s**2 < lengths).all())


class AutomaticCamera:
    """Camera that keeps the bodies in the picture. view: lens and directions of the camera. pose: its first place.
    slopes: those of the wedge in the bounds, which belongs to REST_SHARE of the picture. height_px: of the window.

    is_empty: True if there were no bodies for the first place. Then the camera cuts to the first bodies.
    """

    def __init__(
        self, view: FramedView, pose: Pose, slopes: tuple[float, float], height_px: int, is_empty: bool = False
    ) -> None:
        self.pose = pose
        self._view, self._slopes, self._height_px, self._is_empty = view, slopes, height_px, is_empty
        self._now_s = self._start_s = 0.0  # seconds of frames so far; the value at the first bodies
        self._present_ns = 0
        # Time in which places are kept, across the picture and along its height, seconds; 0: there is no cycle.
        self._kept_s = [0.0, 0.0]
        self._first: tuple[float, Extents] | None = None  # time and bounds at the beginning of the memory
        self._cut_s = -math.inf  # when the camera has cut
        self._move: Glide | None = None
        self._large_s = 0.0  # when the bodies were last large enough at the goal of the move
        self._far_s = FAR_S  # how long they must be too small before the goal comes nearer
        self._nearer_s = self._too_far_s = -math.inf  # when the goal last came nearer, and when it was last too far
        self._memory = BoundsMemory()

    def resize(self, view: FramedView, slopes: tuple[float, float], height_px: int) -> None:
        """The window has another size. Bounds are forgotten, because their directions depend on it."""
        self._view, self._slopes, self._height_px, self._memory = view, slopes, height_px, BoundsMemory()
        self._kept_s, self._move, self._first = [0.0, 0.0], None, None

    def advance(
        self, present_ns: int, drawn: Extents | None, ahead: Extents | None, alone_m: float = 0.0, is_held: bool = False
    ) -> Pose:
        """Advances to the frame that is shown at `present_ns`. Returns the camera's place.

        drawn: bounds of the bodies that are drawn in this frame; None: there are no bodies. ahead: bounds from this
        frame to AHEAD_S later. alone_m: radius of a lone body of a simple shape, else 0. is_held: True while a mouse
        button is held.
        """
        passed_s = (present_ns - self._present_ns) / 1e9 if self._present_ns else 0.0
        passed_s = min(max(0.0, passed_s), LONGEST_FRAME_S)
        self._present_ns = max(present_ns, self._present_ns)
        self._now_s += passed_s
        if is_held:
            self._move = None
        if drawn is not None and ahead is not None:
            ahead = self._expected(drawn, ahead)
            self._memory.add(self._now_s, drawn)
            if not is_held:
                self._decide(drawn, ahead, alone_m)
        if self._move is not None:
            self._move.advance(passed_s)
            self.pose = self._move.place
            if self._move.is_within(REST_PX * self._pixel()):
                self.pose, self._move = self._move.goal, None
        return self.pose

    @property
    def is_moving(self) -> bool:
        """True if the next frame shows the bodies from another place."""
        return self._move is not None

    # -- the rule

    def _expected(self, drawn: Extents, ahead: Extents) -> Extents:
        """The bounds `ahead`, limited in each direction: they grow at most GROWTH times as fast as in the last
        NEWEST_S, and less in a cycle. Growth is what exceeds the bounds of the memory before. So a ball on the floor is
        not expected to fall on, and a wheel is expected to stay where it turns."""
        known, passed_s = self._memory.before(NEWEST_S), NEWEST_S
        if known[RIGHT] == -math.inf:
            if self._first is None:
                self._first = self._now_s, drawn
            known, passed_s = self._first[1], self._now_s - self._first[0]
        growth = np.full(COUNT, GROWTH * AHEAD_S / max(passed_s, 1e-3))
        for used, kept_s in zip(AXES, self._kept_s, strict=True):
            if kept_s:  # bodies that come back turn round
                growth[used] *= CYCLE_GROWTH
        limit = np.where(drawn > known, drawn + growth * (drawn - known), known)
        found: Extents = np.maximum(drawn, np.minimum(ahead, limit))
        return found

    def _decide(self, drawn: Extents, ahead: Extents, alone_m: float) -> None:
        """Begins a move, or changes the move that goes on."""
        if self._is_empty:
            self._is_empty, self._start_s = False, self._now_s
            self.pose = self._goal(drawn, ahead, alone_m)
        move = self._move
        outside = self._beyond_m(ahead, self.pose if move is None else move.goal, REST_SHARE) > 0
        if outside.any():
            self._remember_cycle(np.where(drawn > self._memory.before(NEWEST_S), drawn, ahead), outside)
            goal = self._wanted_goal(drawn, ahead, alone_m)
            if self._now_s - self._start_s < START_S:
                self.pose, self._cut_s = goal, self._now_s
                return
            if move is not None:  # the camera does not come nearer while it follows a body that leaves the picture
                self._is_too_far(goal, move.goal)
                is_farther = goal[DISTANCE] * NEARER_SHARE > move.goal[DISTANCE]
                if is_farther and self._now_s - self._nearer_s < AGAIN * self._far_s:
                    self._far_s, self._nearer_s = min(2 * self._far_s, LONGEST_FAR_S), -math.inf
                goal[DISTANCE] = max(goal[DISTANCE], move.goal[DISTANCE])
            self._begin(goal, drawn, ahead)
        elif self._now_s - self._cut_s < START_S:  # bodies that jump have a velocity for the time of one sample
            goal = self._wanted_goal(drawn, ahead, alone_m)
            if self._is_nearer(goal):
                self.pose = goal
        elif move is None:
            kept_s = max(KEPT_S, *self._kept_s)
            kept = np.maximum(drawn, self._memory.last(kept_s))
            if self._now_s - self._start_s >= kept_s and self._share(kept, self.pose) < SHRINK_SHARE:
                goal = self._goal(kept, ahead, alone_m)
                if self._is_nearer(goal):
                    self._begin(goal, drawn, drawn)
        else:
            goal = self._wanted_goal(drawn, ahead, alone_m)
            if self._is_too_far(goal, move.goal):
                self._nearer_s = self._now_s
                self._begin(goal, drawn, ahead)

    def _is_nearer(self, goal: Pose) -> bool:
        return bool(goal[DISTANCE] < self.pose[DISTANCE] * NEARER_SHARE)

    def _is_too_far(self, wanted: Pose, goal: Pose) -> bool:
        """True if the bodies would be too small at the goal of the move, for `_far_s`; if the wait is not yet longer
        than FAR_S, also if they would be much too small."""
        if wanted[DISTANCE] >= goal[DISTANCE] * LEAST_SHARE / FILLED_SHARE:
            self._large_s = self._now_s
        small_s = self._now_s - self._large_s
        if small_s <= FAR_S and wanted[DISTANCE] >= goal[DISTANCE] * FAR_SHARE:
            return False
        if self._now_s - self._too_far_s > MEMORY_S:
            self._far_s = FAR_S
        self._too_far_s = self._now_s
        return self._far_s == FAR_S or small_s > self._far_s

    def _wanted_goal(self, drawn: Extents, ahead: Extents, alone_m: float) -> Pose:
        """Place for the end of a move. It shows the places of a cycle, separately for the picture's width and height.
        Without a cycle, it shows the places of the last KEPT_S if the bodies have not moved on, and still take
        LEAST_SHARE."""
        goal, wanted = self._goal(drawn, ahead, alone_m), drawn.copy()
        for used, kept_s in zip(AXES, self._kept_s, strict=True):
            kept, sides = drawn.copy(), used[:2]
            kept[used] = np.maximum(drawn, self._memory.last(kept_s or KEPT_S))[used]
            kept_goal = self._goal(kept, ahead, alone_m)
            if kept_s:
                is_shown = self._share(np.maximum(drawn, self._memory.last(SEEN_S)), kept_goal) >= CYCLE_SHARE
            else:
                have_moved_on = (kept - drawn)[sides].max() >= MOVED_ON_SHARE * drawn[sides].sum()
                is_shown = not have_moved_on and kept_goal[DISTANCE] <= goal[DISTANCE] * FILLED_SHARE / LEAST_SHARE
            if is_shown:
                wanted[used] = kept[used]
        return self._goal(wanted, ahead, alone_m)

    def _remember_cycle(self, bounds: Extents, outside: NDArray[np.bool_]) -> None:
        """Sets `_kept_s` for a move to these bounds. outside: mask of the directions in which they leave the picture:
        right, left, up, down."""
        least_m = float(TOLERANCE * 2 * self._view.tangent * self.pose[DISTANCE])
        for axis in range(2):
            sides = [side for side in (2 * axis, 2 * axis + 1) if outside[side]]
            width_m = float(self._memory.last(self._kept_s[axis] or KEPT_S)[2 * axis : 2 * axis + 2].sum())
            tolerance_m = max(least_m, RETURN_SHARE * width_m)
            ages = [self._memory.return_s(side, float(bounds[side]), tolerance_m) for side in sides]
            known = [age for age in ages if age is not None]
            if len(known) < len(ages):
                self._kept_s[axis] = 0.0
            elif known:
                self._kept_s[axis] = min(max(KEPT_S, self._kept_s[axis], CYCLES * max(known)), MEMORY_S)

    def _begin(self, goal: Pose, drawn: Extents, ahead: Extents) -> None:
        """Begins a move to `goal`, or changes the goal of the present move. Up to FASTEST_PER_S, the move is so fast
        that no body leaves the picture."""
        rate_per_s = min(max(RATE_PER_S, HASTE / max(self._leave_s(drawn, ahead), 1e-9)), FASTEST_PER_S)
        if self._move is None:
            self._move, self._large_s = Glide(self.pose, goal, rate_per_s), self._now_s
        else:
            self._move.goal, self._move.rate_per_s = goal, max(rate_per_s, self._move.rate_per_s)

    def _leave_s(self, drawn: Extents, ahead: Extents) -> float:
        """Time until a body leaves the picture, seconds; inf if none does within AHEAD_S."""
        now_m, then_m = self._beyond_m(drawn, self.pose, 1.0), self._beyond_m(ahead, self.pose, 1.0)
        leave = then_m > 0
        if not leave.any():
            return math.inf
        inside = np.maximum(-now_m[leave], 0.0)
        return AHEAD_S * float((inside / (inside + then_m[leave])).min())

    def _pixel(self) -> NDArray[np.float64]:
        """Change of each number of a pose that shifts the picture by about a pixel."""
        deep_m = 2 / max(self._height_px, 1) * self.pose[DISTANCE]
        across_m = deep_m * self._view.tangent
        return np.array([across_m, across_m, deep_m, deep_m])

    # -- geometry

    def _extents_at(self, bounds: Extents, slopes: tuple[float, float]) -> Extents:
        """Extents to the right, left, up and down of a wedge of these slopes, (4,). They are interpolated between the
        camera's box and the wedge of the bounds. Extents are convex in the slope, so the result is never too small."""
        box, wedge = bounds[SIDES], bounds[WEDGE]
        return box if self._view.orthographic else box + np.repeat(np.array(slopes) / self._slopes, 2) * (wedge - box)

    def _slopes_of(self, share: float) -> tuple[float, float]:
        view = self._view
        return share * view.tangent * view.aspect, share * view.tangent

    def _goal(self, bounds: Extents, ahead: Extents, alone_m: float) -> Pose:
        """Place from which `bounds` take FILLED_SHARE of the picture, and `ahead` at most AHEAD_SHARE."""
        together = np.maximum(bounds, ahead)
        middle_m = float(together[NEAR] - together[FAR]) / 2
        eye_m = max(self._least_eye_m(bounds, FILLED_SHARE), self._least_eye_m(ahead, AHEAD_SHARE))
        distance_m = eye_m - (0.0 if self._view.orthographic else middle_m)
        if not distance_m > LEAST_DISTANCE * float(np.abs(together[:6]).max()):
            distance_m = ball_distance_m(EMPTY_M, FILLED_SHARE, self._view)
        distance_m = max(distance_m, ball_distance_m(alone_m, ALONE_SHARE, self._view))
        used = self._used_slopes(together, middle_m + distance_m)
        # the slopes are infinite if rounding places a far body beside the eye
        across, along = map(min, used, self._slopes)
        right, left, up, down = self._extents_at(together, (across, along))
        return np.array([(right - left) / 2, (up - down) / 2, middle_m, distance_m])

    def _least_eye_m(self, bounds: Extents, share: float) -> float:
        """Depth of the nearest eye from which the bounds take this share of the picture; without perspective, the
        distance."""
        slopes = self._slopes_of(share)
        right, left, up, down = self._extents_at(bounds, slopes)
        return float(max((right + left) / slopes[0], (up + down) / slopes[1])) / 2

    def _used_slopes(self, bounds: Extents, eye_m: float) -> tuple[float, float]:
        """Slopes of the wedge from an eye at this depth that just holds the bounds."""
        box, wedge = bounds[SIDES], bounds[WEDGE]
        found = []
        for axis, slope in enumerate(self._slopes):
            at = slice(2 * axis, 2 * axis + 2)
            width_m, more_m = float(box[at].sum()), float((wedge[at] - box[at]).sum()) / slope
            room_m = 2 * eye_m - more_m
            found.append(width_m / room_m if room_m > 0 else math.inf)
        return found[0], found[1]

    def _share(self, bounds: Extents, pose: Pose) -> float:
        """Share of the picture that bounds take, on the side on which they take more."""
        distance_m, view = float(pose[DISTANCE]), self._view
        if view.orthographic:
            width_m, height_m = bounds[RIGHT] + bounds[LEFT], bounds[UP] + bounds[DOWN]
            return float(max(width_m / view.aspect, height_m) / (2 * view.tangent * distance_m))
        across, along = self._used_slopes(bounds, float(pose[2]) + distance_m)
        return max(across / (view.tangent * view.aspect), along / view.tangent)

    def _beyond_m(self, bounds: Extents, pose: Pose, share: float) -> NDArray[np.float64]:
        """How far the bounds are beyond the borders of this share of the picture, (4,): right, left, up, down. Negative
        inside."""
        x, y, depth_m, distance_m = pose
        slopes = self._slopes_of(share)
        eye_m = distance_m + (0.0 if self._view.orthographic else depth_m)
        borders = np.array([x, -x, y, -y]) + np.repeat(slopes, 2) * eye_m
        return self._extents_at(bounds, slopes) - borders
