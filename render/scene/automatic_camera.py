"""The automatic camera: keeps what moves in the picture, in a scene without a camera, until the user moves the view.

The rule. *Bounds* are how far the bodies extend from now to AHEAD_S later (see `body_bounds`).
- Rest. The camera stands still as long as the bounds are within REST_SHARE of the picture. Equal cameras let the
  background be copied instead of drawn.
- Move. If the bounds leave this part, the camera moves until they take FILLED_SHARE of the picture. A move takes at
  most MOVE_S, and less if bodies would leave the picture. It begins and ends smoothly, and ends exactly.
- Shrink. If the bounds of the last `kept_s` take less than SHRINK_SHARE of the picture, the camera moves nearer.
- Return. Bodies that come back to a place where they were in the last MEMORY_S will do so again. Then the camera shows
  the places of a whole cycle, and rests. `kept_s` becomes half as long again as this cycle. Other moves also keep the
  places of the last KEPT_S in the picture, unless the bodies would become smaller than LEAST_SHARE for it.
- A lone body of a simple shape takes ALONE_SHARE of the picture at most. Bodies that fly off alone are left out after
  some seconds.
- The direction of view never changes. While a mouse button is held, the camera stands.

Pure: takes times and bounds, reads no clock. One call a frame.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.render.draw.frame.framing import EMPTY_M, FramedView
from twixt.render.scene.body_bounds import AHEAD_S, COUNT, DOWN, FAR, LEFT, NEAR, RIGHT, UP, WEDGE, Extents

REST_SHARE = 0.85
FILLED_SHARE = 0.6
SHRINK_SHARE = 0.25
ALONE_SHARE = 1 / 3
# A move is planned anew if the bounds would take more or less of the picture at its end than these shares. The camera
# moves nearer only if its distance shrinks at least to `NEARER` of the present one.
MOST_SHARE, LEAST_SHARE, NEARER = 0.75, 0.45, 0.8
MOVE_S, LEAST_MOVE_S = 1.0, 0.15
KEPT_S, MEMORY_S, CYCLES = 4.0, 60.0, 1.5
# Bounds are remembered in intervals of this length. The newest ones are not places to which bodies come back.
BIN_S = 0.1
NEWEST_S = 0.5
# A frame that took longer counts as this long: time without frames is not time in which bodies were seen.
LONGEST_FRAME_S = 0.1
# Bounds are equal if they differ by less than this share of the picture.
TOLERANCE = 0.01
# Smallest distance of the camera from the middle of the bodies, as a share of their distance from the origin of the
# bounds: beyond it, positions in float32 have too few digits.
LEAST_DISTANCE = 1e-6

Pose = NDArray[np.float64]  # (4,): the target's place to the right, up and backward, in metres; log of the distance


class Move(NamedTuple):
    """A smooth move to `goal`: each number of the pose is a polynomial of degree 5 in time. At the end, velocity and
    acceleration are 0. coefficients: (6, 4), of powers of the seconds since the begin."""

    coefficients: NDArray[np.float64]
    goal: Pose
    begin_s: float
    duration_s: float

    @staticmethod
    def to(goal: Pose, state: NDArray[np.float64], begin_s: float, duration_s: float) -> Move:
        """state: (3, 4), pose, velocity and acceleration at the begin."""
        pose, velocity, acceleration = state
        t = duration_s
        way = goal - (pose + velocity * t + acceleration * (t * t / 2))
        speed, push = -(velocity + acceleration * t), -acceleration
        third = 10 * way / t**3 - 4 * speed / t**2 + push / (2 * t)
        fourth = -15 * way / t**4 + 7 * speed / t**3 - push / t**2
        fifth = 6 * way / t**5 - 3 * speed / t**4 + push / (2 * t**3)
        return Move(np.array([pose, velocity, acceleration / 2, third, fourth, fifth]), goal, begin_s, duration_s)

    def state(self, now_s: float) -> NDArray[np.float64]:
        """Pose, velocity and acceleration, (3, 4)."""
        t = now_s - self.begin_s
        powers = np.array([1, t, t**2, t**3, t**4, t**5])
        speeds = np.array([0, 1, 2 * t, 3 * t**2, 4 * t**3, 5 * t**4])
        pushes = np.array([0, 0, 2, 6 * t, 12 * t**2, 20 * t**3])
        found: NDArray[np.float64] = np.array([powers, speeds, pushes]) @ self.coefficients
        return found


class Memory:
    """Bounds that were drawn in the last MEMORY_S seconds of frames."""

    def __init__(self) -> None:
        self._bins = np.full((round(MEMORY_S / BIN_S), COUNT), -math.inf)
        self._at = 0

    def add(self, now_s: float, bounds: Extents) -> None:
        """Adds the bounds of the frame at `now_s`."""
        at = int(now_s / BIN_S)
        for passed in range(max(self._at + 1, at - len(self._bins) + 1), at + 1):
            self._bins[passed % len(self._bins)] = -math.inf
        self._at = max(self._at, at)
        np.maximum(self._bins[at % len(self._bins)], bounds, out=self._bins[at % len(self._bins)])

    def all(self) -> Extents:
        """Bounds of the whole memory; -inf where there were none."""
        found: Extents = self._bins.max(axis=0)
        return found

    def last(self, seconds: float) -> Extents:
        """Bounds of the last `seconds`; -inf where there were none."""
        found: Extents = self._newest_first(round(seconds / BIN_S)).max(axis=0)
        return found

    def age_s(self, direction: int, extent: float) -> float | None:
        """How long ago, before the last NEWEST_S, a body was at least this far in this direction. None: never."""
        before = self._newest_first(len(self._bins))[round(NEWEST_S / BIN_S) :, direction]
        found = np.flatnonzero(before >= extent)
        return None if not len(found) else NEWEST_S + float(found[0]) * BIN_S

    def _newest_first(self, count: int) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self._bins[(self._at - np.arange(count)) % len(self._bins)]
        return found


class AutomaticCamera:
    """Place of a camera that keeps the bodies in the picture. view: lens and directions of the camera. pose: its first
    place. slopes: those of the wedge in the bounds, which belongs to REST_SHARE of the picture.

    is_empty: True if there were no bodies for the first place. Then the camera cuts to the first bodies.
    """

    def __init__(self, view: FramedView, pose: Pose, slopes: tuple[float, float], is_empty: bool = False) -> None:
        self.pose = pose
        self._view, self._slopes, self._is_empty = view, slopes, is_empty
        self._now_s = 0.0
        self._present_ns = 0
        self._kept_s = KEPT_S
        self._move: Move | None = None
        self._memory = Memory()

    def resize(self, view: FramedView, slopes: tuple[float, float]) -> None:
        """The window has another size. Bounds are forgotten, because their directions depend on it."""
        self._view, self._slopes, self._memory = view, slopes, Memory()
        self._kept_s, self._move = KEPT_S, None

    def advance(
        self, present_ns: int, drawn: Extents | None, ahead: Extents | None, alone_m: float = 0.0, is_held: bool = False
    ) -> Pose:
        """Advances to the frame that is shown at `present_ns`. Returns the camera's place.

        drawn: bounds of the bodies that are drawn in this frame; None: there are no bodies. ahead: bounds from this
        frame to AHEAD_S later. alone_m: radius of a lone body of a simple shape, else 0. is_held: True while a mouse
        button is held.
        """
        passed_s = (present_ns - self._present_ns) / 1e9 if self._present_ns else 0.0
        self._present_ns = max(present_ns, self._present_ns)
        self._now_s += min(max(0.0, passed_s), LONGEST_FRAME_S)
        if is_held:
            self._move = None
        if drawn is not None and ahead is not None:
            known = self._memory.all()
            # Bodies that move where they have been before are not expected to go beyond.
            ahead = np.maximum(drawn, np.where(drawn < known, np.minimum(ahead, known), ahead))
            self._memory.add(self._now_s, drawn)
            if not is_held:
                self._decide(drawn, ahead, alone_m)
        if self._move is not None:
            if self._now_s >= self._move.begin_s + self._move.duration_s:
                self.pose, self._move = self._move.goal, None
            else:
                self.pose = self._move.state(self._now_s)[0]
        return self.pose

    @property
    def is_moving(self) -> bool:
        """True if the next frame shows the bodies from another place."""
        return self._move is not None

    # -- the rule

    def _decide(self, drawn: Extents, ahead: Extents, alone_m: float) -> None:
        """Begins a move, or changes the move that goes on."""
        if self._is_empty:
            self._is_empty = False
            self.pose = self._goal(ahead, alone_m)
            return
        move = self._move
        pose, share = (self.pose, REST_SHARE) if move is None else (move.goal, MOST_SHARE)
        outside = self._beyond_m(ahead, pose, share) > 0
        if outside.any():
            self._remember_cycle(ahead, outside)
            self._begin(self._wanted_goal(ahead, alone_m), drawn, ahead)
        elif move is None:
            kept_s = max(KEPT_S, self._kept_s)
            kept = np.maximum(ahead, self._memory.last(kept_s))
            if self._now_s >= kept_s and self._share(kept, self.pose) < SHRINK_SHARE:
                goal = self._goal(kept, alone_m)
                if goal[3] < self.pose[3] + math.log(NEARER):
                    self._begin(goal, drawn, drawn)
        else:
            goal = self._wanted_goal(ahead, alone_m)
            if goal[3] < move.goal[3] + math.log(LEAST_SHARE / FILLED_SHARE):
                self._begin(goal, drawn, ahead)

    def _wanted_goal(self, ahead: Extents, alone_m: float) -> Pose:
        """Place for the end of a move."""
        goal = self._goal(ahead, alone_m)
        kept = self._goal(np.maximum(ahead, self._memory.last(max(KEPT_S, self._kept_s))), alone_m)
        is_cycle = self._kept_s > 0
        return kept if is_cycle or kept[3] <= goal[3] + math.log(FILLED_SHARE / LEAST_SHARE) else goal

    def _remember_cycle(self, ahead: Extents, outside: NDArray[np.bool_]) -> None:
        """Sets `_kept_s` for a move to these bounds. outside: mask of the directions in which they leave the picture:
        right, left, up, down."""
        tolerance_m = TOLERANCE * 2 * self._view.tangent * math.exp(self.pose[3])
        ages = [self._memory.age_s(at, ahead[at] - tolerance_m) for at in np.flatnonzero(outside)]
        known = [age for age in ages if age is not None]
        is_cycle = len(known) == len(ages)
        self._kept_s = min(max(KEPT_S, self._kept_s, CYCLES * max(known)), MEMORY_S) if is_cycle else 0.0

    def _begin(self, goal: Pose, drawn: Extents, ahead: Extents) -> None:
        state = np.zeros((3, 4)) if self._move is None else self._move.state(self._now_s)
        state[0] = self.pose
        self._move = Move.to(goal, state, self._now_s, self._duration_s(drawn, ahead))

    def _duration_s(self, drawn: Extents, ahead: Extents) -> float:
        """Duration of a move: twice the time until bodies leave the picture, within limits."""
        now_m, then_m = self._beyond_m(drawn, self.pose, 1.0), self._beyond_m(ahead, self.pose, 1.0)
        leave = then_m > 0
        if not leave.any():
            return MOVE_S
        inside = np.maximum(-now_m[leave], 0.0)
        until_s = AHEAD_S * float((inside / (inside + then_m[leave])).min())
        return min(max(2 * until_s, LEAST_MOVE_S), MOVE_S)

    # -- geometry

    def _extents_at(self, bounds: Extents, slopes: tuple[float, float]) -> tuple[float, float, float, float]:
        """Extents to the right, left, up and down of a wedge of these slopes, interpolated between the camera's box and
        the wedge of the bounds. Extents are convex in the slope, so the result is never too small."""
        box, wedge = bounds[[RIGHT, LEFT, UP, DOWN]], bounds[WEDGE]
        if self._view.orthographic:
            right, left, up, down = box
        else:
            shares = np.repeat(np.array(slopes) / self._slopes, 2)
            right, left, up, down = box + shares * (wedge - box)
        return float(right), float(left), float(up), float(down)

    def _slopes_of(self, share: float) -> tuple[float, float]:
        view = self._view
        return share * view.tangent * view.aspect, share * view.tangent

    def _goal(self, bounds: Extents, alone_m: float) -> Pose:
        """Place from which the bounds take FILLED_SHARE of the picture."""
        slopes = self._slopes_of(FILLED_SHARE)
        right, left, up, down = self._extents_at(bounds, slopes)
        middle_m = float(bounds[NEAR] - bounds[FAR]) / 2
        if self._view.orthographic:
            distance_m = max((right + left) / slopes[0], (up + down) / slopes[1]) / 2
        else:
            distance_m = max((right + left) / slopes[0], (up + down) / slopes[1]) / 2 - middle_m
        smaller = self._view.tangent * min(1.0, self._view.aspect)
        if not distance_m > LEAST_DISTANCE * float(np.abs(bounds[:6]).max()):
            distance_m = EMPTY_M / (FILLED_SHARE * smaller)
        distance_m = max(distance_m, alone_m / (ALONE_SHARE * smaller))
        if not self._view.orthographic:
            right, left, up, down = self._extents_at(bounds, self._used_slopes(bounds, middle_m + distance_m))
        return np.array([(right - left) / 2, (up - down) / 2, middle_m, math.log(distance_m)])

    def _used_slopes(self, bounds: Extents, eye_m: float) -> tuple[float, float]:
        """Slopes of the wedge from an eye at this depth that just holds the bounds."""
        box, wedge = bounds[[RIGHT, LEFT, UP, DOWN]], bounds[WEDGE]
        found = []
        for axis, slope in enumerate(self._slopes):
            at = slice(2 * axis, 2 * axis + 2)
            width_m, more_m = float(box[at].sum()), float((wedge[at] - box[at]).sum()) / slope
            room_m = 2 * eye_m - more_m
            found.append(width_m / room_m if room_m > 0 else math.inf)
        return found[0], found[1]

    def _share(self, bounds: Extents, pose: Pose) -> float:
        """Share of the picture that bounds take, on the side on which they take more."""
        distance_m, view = math.exp(pose[3]), self._view
        if view.orthographic:
            width_m, height_m = bounds[RIGHT] + bounds[LEFT], bounds[UP] + bounds[DOWN]
            return float(max(width_m / view.aspect, height_m) / (2 * view.tangent * distance_m))
        across, along = self._used_slopes(bounds, float(pose[2]) + distance_m)
        return max(across / (view.tangent * view.aspect), along / view.tangent)

    def _beyond_m(self, bounds: Extents, pose: Pose, share: float) -> NDArray[np.float64]:
        """How far the bounds are beyond the borders of this share of the picture, (4,): right, left, up, down. Negative
        inside."""
        x, y, depth_m, log_distance = pose
        slopes = self._slopes_of(share)
        eye_m = math.exp(log_distance) + (0.0 if self._view.orthographic else depth_m)
        borders = np.array([x, -x, y, -y]) + np.repeat(slopes, 2) * eye_m
        return np.array(self._extents_at(bounds, slopes)) - borders
