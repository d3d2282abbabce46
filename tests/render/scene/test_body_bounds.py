"""Extents of bodies over simulated time: by hand, as a property of blended bodies, and of bodies that do not count."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.interpolation.snapshots import method_of
from tests.render.scene.followed import Bodies, balls, sampled
from twixt.ipc.scene import Box, Compound, Part, Scene, Sphere
from twixt.ipc.snapshot import CORRECTION_STEP, HAS_VELOCITY, VISIBLE, Snapshot
from twixt.render.draw.frame.framing import FARTHEST_FRAMED_M, FramedView
from twixt.render.scene.body_bounds import (
    AHEAD_S,
    COUNT,
    FLOWN_FACTOR,
    FLOWN_OFF_S,
    LEFT,
    MOST_SAMPLES,
    NEAR,
    RIGHT,
    BodyBounds,
    BodyShapes,
    Directions,
)
from twixt.render.scene.followed_view import ShapeFacts

pytestmark = pytest.mark.filterwarnings("error")  # of numpy: users would see them

S = 1_000_000_000
AHEAD_NS = round(AHEAD_S * S)
ROOT = math.sqrt(2)  # what a ball of 1 m adds on a side of the wedge
VIEW = FramedView(np.array([1.0, 0, 0]), np.array([0, 1.0, 0]), np.array([0, 0, 1.0]), 1.0, 1.0, False)
ROUNDED = 1e-4


def directions(origin: tuple[float, float, float] = (0, 0, 0)) -> Directions:
    """Of a camera at +z that sees 45 degrees to each side."""
    return Directions(VIEW, origin, 1.0)


class Bounds:
    """Extents of bodies of one radius, which are added at some times."""

    def __init__(self, radius_m: float = 0.5) -> None:
        self.bounds, self.radius_m = BodyBounds(directions()), radius_m

    def add(self, at_s: float, bodies: Bodies, rate: float = 1.0, most: int = 1 << 30, world_epoch: int = 0) -> None:
        found = sampled(bodies, at_s, most, world_epoch)
        count = len(found.bodies)
        shapes = BodyShapes(np.full(count, self.radius_m, np.float32), np.ones(count, bool), np.ones(count, bool))
        self.bounds.add(found, shapes, rate)

    def at(self, first_s: float, last_s: float | None = None, gap_s: float = 0.0) -> np.ndarray:
        found = self.bounds.between(round(first_s * S), round((first_s if last_s is None else last_s) * S), gap_s)
        assert found is not None
        return found


def exact(bodies: Bodies, radius_m: float = 0.5) -> np.ndarray:
    """Extents of these bodies alone."""
    radius = np.full(len(bodies), radius_m, np.float32)
    return directions().all_of(np.ascontiguousarray(bodies["position"].T), radius).max(axis=1)


def test_extents_of_two_balls() -> None:
    bounds = Bounds()
    bounds.add(0, balls([[1, 2, 3], [-4, 0, -1]]))
    box = [1.5, 4.5, 2.5, 0.5, 3.5, 1.5]
    wedge = [4 + 0.5 * ROOT, 3 + 0.5 * ROOT, 5 + 0.5 * ROOT, 1 + 0.5 * ROOT]
    assert bounds.at(0) == pytest.approx([*box, *wedge], abs=1e-5)


def test_extents_are_measured_from_the_origin() -> None:
    far_m = 1e6
    found = directions((far_m, 0, -far_m)).all_of(np.array([[far_m + 1], [2], [3 - far_m]], np.float32), np.ones(1))
    near = directions().all_of(np.array([[1], [2], [3]], np.float32), np.ones(1))
    assert found == pytest.approx(near, abs=0.01)


PLACES = st.lists(st.tuples(*[st.floats(-100, 100, width=32)] * 6), min_size=1, max_size=8)


@given(PLACES, st.floats(0, 1), st.floats(0, 1))
def test_bodies_between_two_samples_are_always_within_their_extents(places: list, first: float, last: float) -> None:
    before, after = np.array(places)[:, :3], np.array(places)[:, 3:]
    bounds = Bounds()
    bounds.add(0, balls(before))
    bounds.add(1, balls(after))
    first, last = sorted((first, last))
    found = bounds.at(first, last)
    for share in (first, (first + last) / 2, last):
        blended = (1 - share) * before + share * after
        assert (exact(balls(blended)) <= found + ROUNDED).all()
    assert (found <= np.maximum(exact(balls(before)), exact(balls(after))) + ROUNDED).all(), "and not larger"


@given(PLACES, st.floats(0, AHEAD_S))
def test_bodies_that_keep_their_velocities_are_always_within_the_extents_ahead(places: list, ahead_s: float) -> None:
    before, after = np.array(places)[:, :3], np.array(places)[:, 3:]
    bounds = Bounds()
    bounds.add(0, balls(before))
    bounds.add(1, balls(after))
    coming = balls(after + ahead_s * (after - before))
    assert (exact(coming) <= bounds.at(1 + ahead_s) + ROUNDED).all()


def test_only_samples_around_the_asked_times_are_used() -> None:
    bounds = Bounds()
    for second in range(5):
        bounds.add(second, balls([[10 * second, 0, 0]]))
    assert bounds.at(1.5, 2.5)[RIGHT] == 30.5
    assert bounds.at(1.5, 2.5)[1] == -9.5, "left: from the sample before"
    assert bounds.at(3.2)[1] == -29.5
    assert bounds.at(1.0)[1] == -29.5, "older ones are forgotten"
    for step in range(2 * MOST_SAMPLES):
        bounds.add(5 + step, balls([[0, 0, 0]]))
    assert bounds.at(0, 1e6)[RIGHT] == 0.5


HIDDEN = {
    "hidden": lambda bodies: bodies["flags"].__setitem__(1, 0),
    "NaN": lambda bodies: bodies["position"].__setitem__((1, 2), math.nan),
    "inf": lambda bodies: bodies["position"].__setitem__((1, 0), -math.inf),
    "scale inf": lambda bodies: bodies["scale"].__setitem__(1, math.inf),
    "scale NaN": lambda bodies: bodies["scale"].__setitem__(1, math.nan),
    "too far to be drawn": lambda bodies: bodies["position"].__setitem__((1, 1), 1e31),
    "too far to be framed": lambda bodies: bodies["position"].__setitem__((1, 1), 2 * FARTHEST_FRAMED_M),
}


def followed(scene: Scene) -> Callable[[BodyBounds, Bodies, float], None]:
    """Function that adds bodies of a scene."""
    facts = ShapeFacts(scene)

    def add(bounds: BodyBounds, bodies: Bodies, at_s: float) -> None:
        found = sampled(bodies, at_s)
        bounds.add(found, facts.of(found), 1.0)

    return add


@pytest.mark.parametrize("name", HIDDEN)
def test_a_body_that_is_not_drawn_does_not_count(name: str) -> None:
    bounds, add = BodyBounds(directions()), followed(Scene([Sphere(0.5)] * 2))
    bodies = balls([[1, 0, 0], [50, 60, 70]])
    HIDDEN[name](bodies)
    for at_s in (0.0, 0.1, 0.2):
        add(bounds, bodies, at_s)
        found = bounds.between(round(at_s * S), round(at_s * S) + AHEAD_NS, 0.1)
        assert found == pytest.approx(exact(bodies[:1]), abs=1e-5)


def test_the_outline_of_a_scene_counts_as_a_box_does() -> None:
    bounds = BodyBounds(directions(), ((-7, -2, -3), (9, 4, 5)))
    found = sampled(balls([[0, 0, 0]]))
    bounds.add(found, BodyShapes(np.ones(1, np.float32), np.ones(1, bool), np.ones(1, bool)), 1.0)
    assert bounds.between(0, S) == pytest.approx([9, 7, 4, 2, 5, 3, 9 + 5, 7 + 5, 4 + 5, 2 + 5])


def test_without_bodies_that_count_there_are_no_extents() -> None:
    bounds = Bounds()
    assert bounds.bounds.between(0, S) is None
    bounds.add(0, balls([[0, 0, 0]], False))
    assert bounds.bounds.between(0, S) is None
    assert bounds.bounds.newest is None


def test_a_body_is_as_large_as_its_scales() -> None:
    bounds, add = BodyBounds(directions()), followed(Scene([Sphere(0.5)] * 2))
    bodies = balls([[0, 0, 0], [0, 0, 0]])
    bodies["scale"] = 2, -4  # a mirrored body
    add(bounds, bodies, 0)
    assert bounds.between(0, 0)[RIGHT] == 2  # type: ignore[index]
    found = sampled(bodies, 1)._replace(scale3=np.array([[1, 3, 1], [1, 1, 2]], np.float32))
    shapes = ShapeFacts(Scene([Sphere(0.5)] * 2)).of(found)
    assert shapes.radius.tolist() == [3, 4]


@pytest.mark.parametrize("scale", [math.nan, math.inf, 3e38])
def test_a_body_with_an_endless_scale_does_not_count(scale: float) -> None:
    scene = Scene([Sphere(5)] * 2)
    found = sampled(balls([[0, 0, 0], [30, 0, 0]]))._replace(scale3=np.array([[1, 1, 1], [0, scale, 1]], np.float32))
    bounds = BodyBounds(directions())
    bounds.add(found, ShapeFacts(scene).of(found), 1.0)
    assert bounds.between(0, 0)[RIGHT] == 5  # type: ignore[index]


def test_a_floor_does_not_count_beside_other_bodies() -> None:
    scene = Scene([Box((100, 100, 1)), Sphere(1), Sphere(1)])
    bounds, add = BodyBounds(directions()), followed(scene)
    bodies = balls([[0, 0, 0]] * 3)
    add(bounds, bodies, 0)
    assert bounds.between(0, 0)[RIGHT] == 1  # type: ignore[index]
    bodies["flags"][1:] = 0
    add(bounds, bodies, 1)
    assert bounds.between(S, S)[RIGHT] > 50  # type: ignore[index]


@pytest.mark.parametrize(("epoch", "knows"), [(0, True), (1, False), (CORRECTION_STEP, True)])
def test_a_body_that_was_moved_elsewhere_has_no_velocity_and_a_corrected_one_has(epoch: int, knows: bool) -> None:
    bounds = Bounds()
    bounds.add(0, balls([[0, 0, 0]]))
    bounds.add(0.1, balls([[1, 0, 0]], epoch=epoch))
    assert bounds.at(0.1 + AHEAD_S)[RIGHT] == pytest.approx(1.5 + (10 * AHEAD_S if knows else 0))


def test_bodies_that_are_added_or_removed_have_no_velocity_and_the_others_keep_theirs() -> None:
    bounds = Bounds()
    bounds.add(0, balls([[0, 0, 0]]))
    bounds.add(0.1, balls([[1, 0, 0], [2, 3, 0]]))
    assert bounds.at(0.1 + AHEAD_S)[[RIGHT, 2]] == pytest.approx([1.5 + 10 * AHEAD_S, 3.5])
    bounds.add(0.2, balls([[2, 0, 0]]))
    assert bounds.at(0.2 + AHEAD_S)[[RIGHT, 2]] == pytest.approx([2.5 + 10 * AHEAD_S, 0.5])


def test_many_bodies_are_sampled_and_keep_their_velocities_while_the_stride_stays() -> None:
    bounds, places = Bounds(), np.zeros((100, 3))
    places[:, 0] = np.arange(100)
    bounds.add(0, balls(places), most=30)
    bounds.add(0.1, balls(np.add(places, (0.1, 0, 0))), most=30)
    assert bounds.at(0.1 + AHEAD_S)[RIGHT] == pytest.approx(96.6 + AHEAD_S, abs=1e-3)
    bounds.add(0.2, balls(np.add(places, (0.2, 0, 0))), most=50)
    found = bounds.at(0.2 + AHEAD_S)[[RIGHT, LEFT]]
    assert found == pytest.approx([98.7, 0.3], abs=1e-3), "each row is another body now"


@pytest.mark.parametrize("again", [dict(at_s=0.0, world_epoch=1), dict(at_s=5.0, world_epoch=1), dict(at_s=0.0)])
def test_another_world_has_its_own_samples_and_no_velocities(again: dict) -> None:
    bounds = Bounds()
    bounds.add(1, balls([[100, 0, 0]]))
    bounds.add(2, balls([[200, 0, 0]]))
    bounds.add(bodies=balls([[0, 0, 0]]), **again)
    assert bounds.at(0, 1e6).tolist() == pytest.approx(exact(balls([[0, 0, 0]])))


def test_a_second_snapshot_of_one_time_replaces_the_first_at_this_time() -> None:
    bounds = Bounds()
    bounds.add(1, balls([[0, 0, 0]]))
    bounds.add(1, balls([[7, 0, 0]]))
    assert bounds.at(1, 9) == pytest.approx(exact(balls([[7, 0, 0]])))


def test_in_a_pause_with_rare_snapshots_bodies_stay_where_they_are() -> None:
    bounds = Bounds()
    bounds.add(0, balls([[0, 0, 0]]), rate=0.0)
    bounds.add(0.2, balls([[1, 0, 0]]), rate=0.0)
    assert bounds.at(0.2, gap_s=0.2) == pytest.approx(exact(balls([[1, 0, 0]])), abs=0.2)


@pytest.mark.parametrize("rate", [0.01, 0.1, 1.0, 10.0])
def test_bodies_are_expected_as_far_ahead_as_the_world_is_in_the_same_wall_time(rate: float) -> None:
    bounds = Bounds()
    bounds.add(0, balls([[0, 0, 0]]), rate=rate)
    bounds.add(0.2 * rate, balls([[1, 0, 0]]), rate=rate)
    ahead_s = (0.2 + AHEAD_S) * rate
    assert bounds.at(ahead_s)[RIGHT] == pytest.approx(1.5 + AHEAD_S / 0.2, rel=1e-3)
    assert bounds.at(100 * ahead_s)[RIGHT] == pytest.approx(1.5 + AHEAD_S / 0.2, rel=1e-3), "not farther"


# -- bodies that fly off


def crowd(count: int, *away_m: float) -> Bodies:
    """Bodies around the origin, the last ones so far to the right."""
    places = np.random.default_rng(count).uniform(-1, 1, (count, 3))
    for row, distance_m in enumerate(away_m, 1):
        places[-row] = distance_m, 0, 0
    return balls(places)


def reach_after(bodies: Bodies, seconds: float) -> float:
    """Extent to the right of bodies that have been there for so many seconds."""
    bounds = Bounds(0.1)
    for at_s in np.arange(0, seconds + 1e-9, 0.25):
        bounds.add(at_s, bodies)
    return float(bounds.at(seconds)[RIGHT])


def test_a_body_that_flies_off_alone_is_left_out_after_some_seconds_and_back_as_soon_as_it_returns() -> None:
    bounds, flown, there = Bounds(0.1), crowd(10, 100.0), crowd(10, 2.0)
    for at_s in np.arange(0, FLOWN_OFF_S, 0.25):
        bounds.add(at_s, flown)
        assert bounds.at(at_s)[RIGHT] == pytest.approx(100.1)
    bounds.add(FLOWN_OFF_S, flown)
    assert bounds.at(FLOWN_OFF_S)[RIGHT] < 1.2
    assert bounds.bounds.newest is not None
    assert bounds.bounds.newest.left_out == 1
    bounds.add(FLOWN_OFF_S + 1, there)
    assert bounds.at(FLOWN_OFF_S + 1)[RIGHT] == pytest.approx(2.1)
    bounds.add(FLOWN_OFF_S + 2, flown)
    assert bounds.at(FLOWN_OFF_S + 2)[RIGHT] == pytest.approx(100.1), "it has the whole time again"


@pytest.mark.parametrize(
    ("count", "away", "is_left_out"),
    [(2, 1, False), (3, 1, True), (10, 1, True), (10, 2, False), (40, 4, True), (40, 5, False), (40, 20, False)],
)
def test_only_few_bodies_of_more_than_two_are_left_out(count: int, away: int, is_left_out: bool) -> None:
    reach_m = reach_after(crowd(count, *(100.0 + row for row in range(away))), FLOWN_OFF_S + 1)
    assert (reach_m < 1.2) is is_left_out


def test_bodies_are_left_out_only_beyond_the_limit() -> None:
    for away_m, is_left_out in ((0.9, False), (1.2 * 2 * FLOWN_FACTOR + 3, True)):
        assert (reach_after(crowd(30, away_m * 1.1), FLOWN_OFF_S + 1) < away_m) is is_left_out


def test_many_bodies_are_compared_by_some_of_them() -> None:
    assert reach_after(crowd(50_000, 100.0), FLOWN_OFF_S + 1) < 1.2


def test_bodies_come_and_go_while_one_is_away() -> None:
    bounds = Bounds(0.1)
    for at_s in np.arange(0, FLOWN_OFF_S + 1, 0.25):
        away = crowd(10, 100.0)[::-1]  # the first body
        bounds.add(at_s, away[: 7 + int(4 * at_s) % 4])
    assert bounds.at(FLOWN_OFF_S + 1)[RIGHT] < 1.2


# -- alone


@pytest.mark.parametrize(
    ("bodies", "scene", "alone_m"),
    [
        (balls([[0, 0, 0]]), Scene([Sphere(0.7)]), 0.7),
        (balls([[0, 0, 0], [1, 0, 0]]), Scene([Sphere(0.7)] * 2), 0.0),
        (balls([[0, 0, 0], [1, 0, 0]], [False, True]), Scene([Sphere(0.7), Sphere(0.6)]), 0.6),
        (balls([[0, 0, 0]]), Scene([Compound([Part(Sphere(0.7)), Part(Sphere(0.2))])]), 0.0),
    ],
)
def test_a_lone_body_of_a_simple_shape_is_known(bodies: Bodies, scene: Scene, alone_m: float) -> None:
    bounds = BodyBounds(directions())
    followed(scene)(bounds, bodies, 0)
    assert bounds.newest is not None
    assert bounds.newest.alone_m == pytest.approx(alone_m)


# -- curves between rare snapshots


def turning(t: float, turn_rad_s: float) -> Bodies:
    angle = turn_rad_s * t
    bodies = balls([[math.cos(angle), 0, math.sin(angle)]])
    bodies["velocity"] = turn_rad_s * np.array([-math.sin(angle), 0, math.cos(angle)])
    return bodies


def falling(t: float, speed_m_s: float) -> Bodies:
    bodies = balls([[2 * t, 0, speed_m_s * t - 4.9 * t * t]])
    bodies["velocity"] = 2, 0, speed_m_s - 9.8 * t
    return bodies


@pytest.mark.parametrize("hz", [5.0, 10.0, 30.0])
@pytest.mark.parametrize(("motion", "speed"), [(turning, 1.0), (turning, 6.0), (falling, 6.0), (falling, 0.0)])
def test_curves_between_rare_snapshots_stay_within_the_extents(hz: float, motion: Callable, speed: float) -> None:
    bounds, snapshots = Bounds(), []
    for tick in range(12):
        bodies = motion(tick / hz, speed)
        bodies["flags"] = VISIBLE | HAS_VELOCITY
        bounds.add(tick / hz, bodies)
        snapshots.append(Snapshot(round(tick / hz * S), bodies, tick=tick))
        if tick < 2:
            continue
        hermite = method_of("hermite", *snapshots)
        for share in np.linspace(0, 1, 9):
            at_s = (tick - 1 + share) / hz
            drawn = balls(hermite.sample(round(at_s * S)).position)
            assert (exact(drawn) <= bounds.at(at_s, gap_s=1 / hz) + 0.05 * 0.5).all(), (tick, share)


def test_extents_have_a_row_for_each_direction() -> None:
    assert directions().normals.shape == (COUNT, 3)
    assert directions().all_of(np.zeros((3, 2), np.float32), np.ones(2, np.float32))[NEAR].tolist() == [1, 1]
