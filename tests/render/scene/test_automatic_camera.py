"""The rule of the automatic camera, by numbers: when it rests, moves, comes nearer, and shows a whole cycle."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.render.draw.frame.framing import FramedView
from twixt.render.scene.automatic_camera import (
    ALONE_SHARE,
    CYCLE_SHARE,
    FILLED_SHARE,
    KEPT_S,
    LONGEST_FRAME_S,
    RATE_PER_S,
    REST_PX,
    REST_SHARE,
    SHRINK_SHARE,
    AutomaticCamera,
    Glide,
)
from twixt.render.scene.body_bounds import AHEAD_S, COUNT, LEFT, MEMORY_S, RIGHT, BoundsMemory, Directions, Extents

START_NS = 10**12
SIZE_PX = 600  # width and height of the window
TANGENT = 0.5
DISTANCE_M = 10.0
HALF_M = DISTANCE_M * TANGENT  # of the first picture
RADIUS_M = 0.5

Motion = Callable[[float], object]  # places of balls at a time in seconds, (n, 3)


def view(orthographic: bool = True, aspect: float = 1.0) -> FramedView:
    return FramedView(
        np.array([1.0, 0, 0]), np.array([0, 1.0, 0]), np.array([0, 0, 1.0]), TANGENT, aspect, orthographic
    )


class Driven:
    """An automatic camera of an orthographic view, whose picture is 10 m wide and high at first. It follows balls of
    RADIUS_M, each of which keeps its velocity for AHEAD_S. hz: frames per second. alone_m: as in `advance`."""

    def __init__(self, motion: Motion, hz: float = 60.0, alone_m: float = 0.0, is_empty: bool = False) -> None:
        self.motion, self.hz, self.alone_m, self.is_held = motion, hz, alone_m, False
        self.directions = Directions(view(), (0, 0, 0), REST_SHARE)
        pose = np.array([0, 0, 0, DISTANCE_M])
        self.camera = AutomaticCamera(view(), pose, self.directions.slopes, SIZE_PX, is_empty)
        self.at_s = 0.0

    def frame(self, seconds: float | None = None) -> np.ndarray:
        """The pose in the next frame. seconds: time since the last one."""
        drawn, ahead = self.bounds(self.at_s), self.bounds(self.at_s + 1e-3)
        drawn_m, later_m = self._places(self.at_s), self._places(self.at_s + 1e-3)
        ahead = np.maximum(drawn, self._extents(drawn_m + (later_m - drawn_m) * AHEAD_S / 1e-3))
        present_ns = START_NS + round(self.at_s * 1e9)
        pose = self.camera.advance(present_ns, drawn, ahead, self.alone_m, self.is_held)
        self.at_s += 1 / self.hz if seconds is None else seconds
        return pose

    def run(self, seconds: float) -> list[np.ndarray]:
        return [self.frame() for _ in range(round(seconds * self.hz))]

    def until_rest(self) -> list[np.ndarray]:
        """The poses of frames until the camera rests."""
        found = [self.frame()]
        while self.camera.is_moving:
            found.append(self.frame())
            assert len(found) < 5 * self.hz, "the camera does not come to rest"
        return found

    def share(self) -> float:
        """Share of the picture that the bodies take."""
        bounds, pose = self.bounds(self.at_s), self.camera.pose
        return float(max(bounds[:2].sum(), bounds[2:4].sum()) / (2 * TANGENT * pose[3]))

    def bounds(self, at_s: float) -> Extents:
        return self._extents(self._places(at_s))

    def _places(self, at_s: float) -> np.ndarray:
        return np.asarray(self.motion(at_s), float)

    def _extents(self, places: np.ndarray) -> Extents:
        radius = np.full(len(places), RADIUS_M, np.float32)
        return self.directions.all_of(places.T.astype(np.float32), radius).max(axis=1).astype(float)


def pair(half_m: float) -> list[tuple[float, float, float]]:
    """Two balls, at these distances from the middle of the picture."""
    return [(-half_m, 0, 0), (half_m, 0, 0)]


def jump(before: Motion, after: Motion, at_s: float = 1.0) -> Motion:
    return lambda t: before(t) if t < at_s else after(t)


def still(half_m: float) -> Motion:
    return lambda _t: pair(half_m)


REST_M = REST_SHARE * HALF_M - RADIUS_M  # of a pair that just rests
FILLED_M = FILLED_SHARE * HALF_M - RADIUS_M


# -- rest and moves


def test_the_camera_rests_while_the_bodies_move_within_the_resting_share() -> None:
    def swing(t: float) -> list[tuple[float, float, float]]:
        return pair((0.7 + 0.2 * math.sin(t)) * REST_M)

    driven = Driven(swing)
    first = driven.camera.pose
    for pose in driven.run(20):
        assert pose is first
    assert not driven.camera.is_moving


def test_bodies_that_turn_in_place_are_not_expected_to_fly_off_even_in_the_first_moment() -> None:
    def wheel(t: float) -> list[tuple[float, float, float]]:
        angles = np.linspace(0, math.tau, 60, endpoint=False) + 20 * t
        return [(FILLED_M * math.cos(angle), FILLED_M * math.sin(angle), 0) for angle in angles]

    driven = Driven(wheel)
    first = driven.camera.pose
    assert all(pose is first for pose in driven.run(2))


@pytest.mark.parametrize("direction", [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)])
def test_a_move_begins_when_a_body_leaves_the_resting_share(direction: tuple[int, int, int]) -> None:
    way_m, at_m = np.array(direction), []

    def creep(t: float) -> np.ndarray:
        return np.array([[0, 0, 0], (REST_M - 0.2 + 0.1 * t) * way_m])

    driven = Driven(creep)
    while not driven.camera.is_moving:
        at_m.append(float(np.abs(driven.motion(driven.at_s)).max()))
        driven.frame()
        assert driven.at_s < 5
    assert REST_M - 0.1 * AHEAD_S - 0.01 < at_m[-1] <= REST_M, "no later than it leaves, no earlier than it is expected"


@pytest.mark.parametrize("factor", [1.05, 1.5, 4.0, 100.0])
def test_at_the_end_of_a_move_the_bodies_fill_their_share(factor: float) -> None:
    driven = Driven(jump(still(FILLED_M), still(factor * REST_M)))
    driven.run(1)
    poses = driven.until_rest()
    assert driven.share() == pytest.approx(FILLED_SHARE, rel=1e-3)
    assert 0.3 < len(poses) / driven.hz < 1.6
    rested = driven.camera.pose
    assert all(pose is rested for pose in driven.run(3))


def test_a_move_from_rest_does_not_overshoot_and_ends_without_a_jump() -> None:
    driven = Driven(jump(still(FILLED_M), still(3 * REST_M)))
    driven.run(1)
    distances_m = np.array([pose[3] for pose in driven.until_rest()])
    goal_m = distances_m[-1]
    assert distances_m.max() - goal_m < 0.01 * (goal_m - DISTANCE_M)
    assert (np.diff(distances_m)[: int(np.argmax(distances_m))] > 0).all()
    assert goal_m - distances_m[-2] < 3 * REST_PX * 2 / SIZE_PX * goal_m
    assert goal_m == pytest.approx((3 * REST_M + RADIUS_M) / (FILLED_SHARE * TANGENT))


def speeding(t: float) -> list[tuple[float, float, float]]:
    """Balls that fly apart from the second 1 on."""
    return pair(FILLED_M + max(0.0, t - 1) ** 2 * 2)


@pytest.mark.parametrize("motion", [speeding, jump(still(FILLED_M), still(REST_M + 0.1))])
def test_moves_are_smooth_and_the_same_at_each_frame_rate(motion: Motion) -> None:
    ways = {}
    for hz in (60.0, 144.0):
        driven = Driven(motion, hz)
        distances_m = np.array([pose[3] for pose in driven.run(3)])
        speed = np.diff(distances_m) * hz
        change = np.abs(np.diff(speed))
        moved_m = np.ptp(distances_m)
        assert moved_m > 0.5
        # The largest acceleration of three equal poles is 0.23 * rate ** 2 of the way.
        assert change.max() < 0.3 * RATE_PER_S**2 * moved_m / hz
        ways[hz] = distances_m[:: round(hz / 12)]
    off_m = np.abs(ways[60.0] - ways[144.0])
    assert off_m.max() < 0.05 * np.ptp(ways[60.0]), "a move begins up to a frame later"


def test_a_body_that_would_leave_the_picture_makes_the_move_faster() -> None:
    def flying(speed_m_s: float) -> Motion:
        return lambda t: [(-1, 0, 0), (max(0.0, t - 1) * speed_m_s, 0, 0)]

    for speed_m_s in (1.0, 10.0, 50.0):
        driven = Driven(flying(speed_m_s))
        for _ in range(180):
            pose = driven.frame()
            right_m = pose[0] + TANGENT * pose[3]
            assert right_m >= driven.bounds(driven.at_s - 1 / driven.hz)[RIGHT] - 0.03 * TANGENT * pose[3], speed_m_s


def test_bodies_that_fly_apart_forever_are_followed_without_pulsing() -> None:
    driven = Driven(lambda t: pair(1 + 3 * t))
    distances_m = np.array([pose[3] for pose in driven.run(10)])
    assert (np.diff(distances_m) >= -1e-9).all(), "the camera never comes back"
    assert 0.4 < driven.share() < REST_SHARE


def test_a_body_that_flies_on_alone_is_followed_at_one_distance() -> None:
    driven = Driven(lambda t: [(3 * t, 0, 0), (3 * t + 2, 0, 0)])
    driven.run(4)
    distances_m = np.array([pose[3] for pose in driven.run(6)])
    assert np.ptp(distances_m) < 0.2 * distances_m.mean()
    assert 0 < np.ptp([driven.camera.pose[0], 3 * driven.at_s + 1]) < 3, "it is in the picture"


def test_a_lone_body_takes_a_third_of_the_picture_at_most() -> None:
    driven = Driven(jump(lambda _t: [(0, 0, 0)], lambda _t: [(100, 0, 0)]), alone_m=RADIUS_M)
    driven.run(1)
    driven.until_rest()
    driven.run(MEMORY_S + 5)
    assert driven.share() == pytest.approx(ALONE_SHARE, rel=0.01)


# -- nearer


def test_the_camera_comes_nearer_only_after_the_bodies_were_small_for_some_time() -> None:
    driven = Driven(jump(still(FILLED_M), still(SHRINK_SHARE * HALF_M - RADIUS_M - 0.1)))
    first = driven.camera.pose
    assert all(pose is first for pose in driven.run(1 + KEPT_S - 0.15))
    driven.run(0.5)
    assert driven.camera.is_moving
    driven.until_rest()
    assert driven.share() == pytest.approx(FILLED_SHARE, rel=1e-3)
    rested = driven.camera.pose
    assert all(pose is rested for pose in driven.run(2 * KEPT_S))


def test_bodies_that_take_more_than_the_shrinking_share_are_left_as_small_as_they_are() -> None:
    driven = Driven(jump(still(FILLED_M), still(SHRINK_SHARE * HALF_M - RADIUS_M + 0.05)))
    first = driven.camera.pose
    assert all(pose is first for pose in driven.run(4 * KEPT_S))


def test_a_lone_body_of_nearly_a_third_of_the_picture_is_left_as_large_as_it_is() -> None:
    driven = Driven(lambda _t: [(0, 0, 0)], alone_m=RADIUS_M)
    driven.camera.pose[3] = RADIUS_M / (TANGENT * 0.95 * SHRINK_SHARE)
    first = driven.camera.pose
    assert all(pose is first for pose in driven.run(2 * KEPT_S))


def test_bodies_that_grow_again_in_time_keep_the_camera_where_it_is() -> None:
    def pulse(t: float) -> list[tuple[float, float, float]]:
        return pair(0.1 if 0.1 < t % (0.9 * KEPT_S) < 0.8 * KEPT_S else FILLED_M)

    driven = Driven(jump(still(FILLED_M), pulse))
    first = driven.camera.pose
    assert all(pose is first for pose in driven.run(6 * KEPT_S))


# -- cycles


def circle(period_s: float, radius_m: float = 10.0) -> Motion:
    def at(t: float) -> list[tuple[float, float, float]]:
        angle = math.tau * t / period_s
        return [(radius_m * math.cos(angle), radius_m * math.sin(angle), 0)]

    return at


def bounce(t: float) -> list[tuple[float, float, float]]:
    """A ball that bounces 10 m high for ever."""
    fall_s = math.sqrt(2 * 10 / 9.81)
    passed_s = (t + fall_s) % (2 * fall_s) - fall_s
    return [(0, 10 - 9.81 / 2 * passed_s**2, 0)]


def teleport(t: float) -> list[tuple[float, float, float]]:
    return [(10.0 if int(t / 3) % 2 else -10.0, 0, 0)]


@pytest.mark.parametrize(
    ("motion", "period_s"), [(circle(1), 1), (circle(6), 6), (circle(20), 20), (bounce, 2.9), (teleport, 6)]
)
def test_after_the_first_cycles_the_camera_shows_a_whole_one_and_never_moves_again(
    motion: Motion, period_s: float
) -> None:
    driven = Driven(motion, hz=30.0, alone_m=RADIUS_M)
    driven.run(2.5 * period_s + 3)
    driven.until_rest()
    rested = driven.camera.pose
    for pose in driven.run(min(4 * period_s + 10, 60)):
        assert pose is rested
        right, left, up, down = driven.bounds(driven.at_s)[:4]
        half_m = TANGENT * pose[3]
        assert max(right - pose[0], left + pose[0], up - pose[1], down + pose[1]) <= half_m


@pytest.mark.parametrize(("period_s", "is_shown"), [(20, True), (70, False)])
def test_a_slow_cycle_is_followed_instead_of_shown(period_s: float, is_shown: bool) -> None:
    driven = Driven(circle(period_s, radius_m=40.0), hz=30.0, alone_m=RADIUS_M)
    poses = driven.run(2.2 * period_s)
    assert (2 * TANGENT * poses[-1][3] > 80) == is_shown
    assert (driven.share() > CYCLE_SHARE / 2) != is_shown


def test_bodies_that_drift_while_they_come_back_have_a_cycle() -> None:
    def hops(t: float) -> list[tuple[float, float, float]]:
        ((_, height_m, _),) = bounce(t)  # 10 m high
        return [(0, height_m - t, 0)]

    driven = Driven(hops, hz=30.0, alone_m=RADIUS_M)
    driven.run(12)
    speeds = np.diff([pose[1] for pose in driven.run(12)]) * 30
    assert np.abs(speeds).max() < 9, "much slower than the ball, whose speed is up to 15 m/s"


@pytest.mark.parametrize(("left_m", "is_kept"), [(-2.2, True), (-1.2, False)])
def test_a_move_keeps_the_places_of_the_last_seconds_that_the_bodies_have_hardly_left(
    left_m: float, is_kept: bool
) -> None:
    driven = Driven(jump(still(3), lambda _t: [(left_m, 0, 0), (4.7, 0, 0)]))
    driven.run(1)
    driven.until_rest()
    farthest_left_m = -3 if is_kept else left_m
    assert driven.camera.pose[0] == pytest.approx((4.7 + farthest_left_m) / 2)


def test_places_of_more_than_the_memory_ago_are_forgotten() -> None:
    driven = Driven(jump(circle(6), still(1), 30), hz=30.0)
    driven.run(30 + MEMORY_S + 20)
    assert not driven.camera.is_moving
    assert driven.share() == pytest.approx(FILLED_SHARE, rel=0.01)


# -- buttons, pauses and uneven frames


def test_the_camera_stands_while_a_button_is_held_and_goes_on_after_the_release() -> None:
    driven = Driven(jump(still(FILLED_M), still(3 * REST_M)))
    driven.run(1.05)
    assert driven.camera.is_moving
    driven.is_held = True
    stands = driven.frame()
    assert not driven.camera.is_moving
    assert all(pose is stands for pose in driven.run(5))
    driven.is_held = False
    driven.frame()
    assert driven.camera.is_moving
    driven.until_rest()
    assert driven.share() == pytest.approx(FILLED_SHARE, rel=1e-3)


def test_bodies_that_move_while_a_button_is_held_are_shown_after_the_release() -> None:
    driven = Driven(still(FILLED_M))
    driven.run(1)
    driven.is_held, first, driven.motion = True, driven.camera.pose, still(4 * REST_M)
    assert all(pose is first for pose in driven.run(2))
    driven.is_held = False
    driven.until_rest()
    assert driven.share() == pytest.approx(FILLED_SHARE, rel=1e-3)


def test_a_jump_of_the_present_time_moves_the_camera_no_farther_than_a_long_frame() -> None:
    driven = Driven(jump(still(FILLED_M), still(2 * REST_M)))
    driven.run(1.05)
    before, rate = driven.camera.pose.copy(), Glide(np.zeros(4), np.ones(4), RATE_PER_S)
    assert driven.camera.is_moving
    driven.at_s += 10
    after = driven.frame()
    rate.advance(LONGEST_FRAME_S + 0.05)
    driven.until_rest()
    way_m = driven.camera.pose[3] - before[3]
    assert 0 < after[3] - before[3] < way_m, "it did not jump to the end"


def test_a_pause_is_not_time_in_which_bodies_were_small() -> None:
    driven = Driven(jump(still(FILLED_M), still(0.1)))
    driven.run(1 + KEPT_S / 2)
    first = driven.camera.pose
    driven.at_s += 10 * KEPT_S
    assert all(pose is first for pose in driven.run(KEPT_S / 2 - 0.5))


def test_a_present_time_that_goes_back_stands_still() -> None:
    driven = Driven(jump(still(FILLED_M), still(2 * REST_M)))
    driven.run(1.1)
    before = driven.camera.pose.copy()
    driven.at_s -= 0.05
    for _ in range(2):
        assert driven.frame() == pytest.approx(before, abs=1e-12)
    driven.until_rest()
    assert driven.share() == pytest.approx(FILLED_SHARE, rel=1e-3)


@pytest.mark.parametrize("steps_s", [[1 / 60] * 6, [0.05, 0.001, 0.001, 0.048], [0.002] * 49 + [0.002], [0.1]])
def test_uneven_frames_bring_the_camera_to_the_same_place(steps_s: list[float]) -> None:
    driven = Driven(jump(still(FILLED_M), still(2 * REST_M)))
    for step_s in steps_s * 25:
        driven.frame(step_s)
    assert not driven.camera.is_moving
    assert driven.share() == pytest.approx(FILLED_SHARE, rel=1e-3)


# -- nothing to show


def test_the_camera_cuts_to_the_first_bodies() -> None:
    driven = Driven(still(7), is_empty=True)
    first = driven.camera.pose
    for k in range(120):
        assert driven.camera.advance(START_NS + k * 10_000_000, None, None) is first
    driven.at_s = 2.0
    driven.frame()
    assert driven.share() == pytest.approx(FILLED_SHARE, rel=1e-3)
    assert not driven.camera.is_moving
    cut = driven.camera.pose
    assert all(pose is cut for pose in driven.run(5))


def test_a_camera_that_waited_for_its_bodies_remembers_their_places() -> None:
    driven = Driven(jump(still(0), circle(3), 30), hz=30.0, alone_m=RADIUS_M, is_empty=True)
    for k in range(900):
        driven.camera.advance(START_NS + round(k / 30 * 1e9), None, None)
    driven.at_s = 30.0
    driven.run(12)
    driven.until_rest()
    rested = driven.camera.pose
    assert all(pose is rested for pose in driven.run(15))


def test_bodies_that_jump_once_at_the_start_are_not_expected_to_fly_on() -> None:
    driven = Driven(jump(still(0.1), still(3 * REST_M), 0.0505))  # the frame at 0.05 s sees them fly
    driven.run(0.2)
    assert driven.share() == pytest.approx(FILLED_SHARE, rel=1e-3)
    cut = driven.camera.pose
    assert all(pose is cut for pose in driven.run(2 * KEPT_S))


def test_without_bodies_a_move_ends_and_the_camera_rests() -> None:
    driven = Driven(jump(still(FILLED_M), still(2 * REST_M)))
    driven.run(1.1)
    for k in range(120):
        driven.camera.advance(START_NS + round((driven.at_s + k / 60) * 1e9), None, None)
    assert not driven.camera.is_moving


@pytest.mark.parametrize("orthographic", [True, False])
def test_a_point_is_shown_as_an_empty_scene_is(orthographic: bool) -> None:
    directions = Directions(view(orthographic), (0, 0, 0), REST_SHARE)
    pose = np.array([0, 0, 0, DISTANCE_M])
    camera = AutomaticCamera(view(orthographic), pose, directions.slopes, SIZE_PX)
    point = np.zeros(COUNT)
    for k in range(600):
        found = camera.advance(START_NS + k * 16_000_000, point, point)
        assert np.isfinite(found).all()
    assert 1 <= found[3] <= DISTANCE_M


def test_a_resized_window_lets_the_camera_find_its_place_again() -> None:
    driven = Driven(jump(still(FILLED_M), still(2 * REST_M)))
    driven.run(1.1)
    wide = view(aspect=2.0)
    driven.directions = Directions(wide, (0, 0, 0), REST_SHARE)
    driven.camera.resize(wide, driven.directions.slopes, SIZE_PX)
    assert not driven.camera.is_moving
    driven.until_rest()
    right_m = driven.bounds(driven.at_s)[RIGHT]
    assert right_m / (2 * TANGENT * driven.camera.pose[3]) <= REST_SHARE


# -- parts


@given(
    st.lists(st.tuples(st.floats(-100, 100), st.integers(1, 30)), min_size=1, max_size=5),
    st.floats(RATE_PER_S, 40),
    st.floats(1e-4, 0.1),
)
def test_a_glide_always_stays_between_its_start_and_its_goals(
    goals: list[tuple[float, int]], rate_per_s: float, frame_s: float
) -> None:
    glide = Glide(np.zeros(1), np.zeros(1), rate_per_s)
    lowest = highest = 0.0
    for goal, frames in goals:
        glide.goal = np.array([goal])
        lowest, highest = min(lowest, goal), max(highest, goal)
        room = 1e-6 + 0.02 * (highest - lowest)
        for _ in range(frames):
            glide.advance(frame_s)
            assert lowest - room <= glide.place[0] <= highest + room


def test_a_fast_glide_becomes_a_usual_one() -> None:
    glide = Glide(np.zeros(1), np.ones(1), 4 * RATE_PER_S)
    rates = []
    for _ in range(120):
        glide.advance(1 / 60)
        rates.append(glide.rate_per_s)
    assert rates == sorted(rates, reverse=True)
    assert rates[5] > 1.5 * RATE_PER_S
    assert rates[-1] == RATE_PER_S


def test_a_memory_knows_the_bounds_of_the_last_seconds() -> None:
    memory = BoundsMemory()
    for k in range(300):
        memory.add(k / 10 + 0.05, np.array([k, -k] * (COUNT // 2), float))
    assert memory.last(1)[:2].tolist() == [299, -290]
    assert memory.before(1)[:2].tolist() == [289, 0]
    assert memory.return_s(LEFT, -200, 5) == pytest.approx(9.4)
    assert memory.return_s(RIGHT, 298, 5) is None, "bodies that are still there"
    memory.add(1000, np.full(COUNT, -7.0))
    assert memory.before(1)[RIGHT] == -math.inf
    assert memory.last(1)[RIGHT] == -7


def test_a_memory_knows_how_long_ago_bodies_went_away_before_they_came_back() -> None:
    memory = BoundsMemory()
    for k in range(100):
        memory.add(k / 10 + 0.05, np.full(COUNT, 10.0 if k % 40 < 10 else 0.0))
    memory.add(10.05, np.full(COUNT, 9.0))
    assert memory.return_s(RIGHT, 9, 2) == pytest.approx(1.1)
    assert memory.return_s(RIGHT, 13, 2) is None, "farther than ever"
    assert memory.return_s(RIGHT, 0, 2) is None, "they did not go away to the other side"
