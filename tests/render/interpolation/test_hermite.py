"""Hermite: the worked cases, ends and speeds at the ends, several turns, and the ways back to linear."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.render.interpolation.snapshots import MS, at, bytes_of, method_of
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE
from twixt.render.interpolation.hermite import curve, turn
from twixt.render.interpolation.poses import MOST_TURN_RAD
from twixt.render.interpolation.quaternion import conjugate, exp, log, multiply, normalized, rotate

S = 1_000_000_000
MOVES = VISIBLE | HAS_VELOCITY
TURNS = VISIBLE | HAS_ANGULAR_VELOCITY
G = 9.8


def about_z(angle: float) -> tuple[float, float, float, float]:
    return (0.0, 0.0, math.sin(angle / 2), math.cos(angle / 2))


def angle_about_z(quaternion: np.ndarray) -> float:
    return 2 * math.atan2(quaternion[2], quaternion[3])


def drawn_x(*snapshots, name="hermite", time_ns=S // 2) -> float:
    return float(method_of(name, *snapshots).sample(time_ns).position[0, 0])


def test_leaving_at_4_and_arriving_at_rest_where_it_began_is_half_a_metre_off_in_the_middle():
    start, end = at(0, 0, velocity=(4, 0, 0), flags=MOVES), at(S, 0, velocity=(0, 0, 0), flags=MOVES)
    assert drawn_x(start, end) == 0.5


def test_the_four_weights_at_a_quarter():
    zero, one = np.zeros((1, 3)), np.ones((1, 3))
    unit = [curve(*(one if k == given else zero for k in range(4)), 1.0, 0.25)[0, 0] for given in range(4)]
    assert unit == [0.84375, 0.140625, 0.15625, -0.046875]


def test_a_fall_is_drawn_to_the_micrometre_where_a_straight_way_errs_by_12_millimetres():
    fall = [at(k * 100 * MS, -G / 2 * (k / 10) ** 2, velocity=(-G * k / 10, 0, 0), flags=MOVES) for k in range(2)]
    truth = -G / 2 * 0.05**2
    assert drawn_x(*fall, name="linear", time_ns=50 * MS) - truth == pytest.approx(-0.01225, abs=1e-6)
    assert drawn_x(*fall, time_ns=50 * MS) == pytest.approx(truth, abs=1e-7)


@pytest.mark.parametrize(("name", "radius"), [("linear", 0.96593), ("hermite", 0.99981)])
def test_radius_of_a_circle_of_30_degrees_a_step(name, radius):
    step = math.radians(30)
    circle = []
    for k in range(2):
        angle = k * step
        place, speed = (math.cos(angle), math.sin(angle), 0), (-step * math.sin(angle), step * math.cos(angle), 0)
        circle.append(at(k * S, 0, position=place, velocity=speed, flags=MOVES))
    drawn = method_of(name, *circle).sample(S // 2).position[0]
    assert np.linalg.norm(drawn) == pytest.approx(radius, abs=5e-6)


def test_velocities_count_by_the_real_gap():
    twice = at(0, 0, velocity=(2, 0, 0), flags=MOVES), at(2 * S, 0, velocity=(0, 0, 0), flags=MOVES)
    assert drawn_x(*twice, time_ns=S) == 0.5


def test_one_full_turn_between_equal_orientations_turns():
    spin = (0, 0, 2 * math.pi)
    method = method_of("hermite", *(at(k * S, 0, angular_velocity=spin, flags=TURNS) for k in range(2)))
    x_axis = np.array([[1.0, 0, 0]])
    assert rotate(normalized(method.sample(S // 2).orientation), x_axis)[0] == pytest.approx([-1, 0, 0], abs=1e-6)
    assert rotate(normalized(method.sample(S // 4).orientation), x_axis)[0] == pytest.approx([0, 1, 0], abs=1e-6)


@pytest.mark.parametrize("name", ["hermite", "auto"])
@pytest.mark.parametrize("turns", [0.125, -0.5, 1.5, 3.0, -3.2, 20.0])
def test_spinners_are_drawn_within_a_degree_at_any_number_of_turns_a_snapshot(name, turns):
    axis, gap_s = np.array([0.48, -0.36, 0.8]), 0.05
    spin = 2 * math.pi * turns / gap_s * axis
    snapshots = [
        at(k * 50 * MS, 0, orientation=exp(spin[None] * k * gap_s)[0], angular_velocity=spin, flags=TURNS)
        for k in range(4)
    ]
    method = method_of(name, *snapshots)
    for time_ns in range(0, 150 * MS, 1_777_777):
        truth = exp(spin[None] * time_ns / S)
        off = log(multiply(truth, conjugate(normalized(method.sample(time_ns).orientation))))
        assert np.degrees(np.linalg.norm(off)) <= 1


def tumbling(t: float, momentum: np.ndarray, across: float, along: float) -> tuple[np.ndarray, np.ndarray]:
    """Orientations and angular velocities, at t seconds, of tops that nothing touches, in closed form: they precess about
    their angular momentum and spin about their own z, which it meets at first as given."""
    extra = momentum[:, 2:] * (1 / along - 1 / across) * (0.0, 0.0, 1.0)
    orientation = multiply(exp(momentum / across * t), exp(extra * t))
    return orientation, momentum / across + rotate(orientation, extra)


@pytest.mark.parametrize(("degrees", "most"), [(30, 0.02), (60, 0.15), (90, 0.5), (180, 4.0)])
@pytest.mark.parametrize("along", [0.5, 1.8], ids=["long", "flat"])
def test_bodies_that_tumble_freely_are_drawn_within_half_a_degree_at_90_degrees_a_snapshot(degrees, most, along):
    random = np.random.default_rng(3)
    momentum = random.normal(size=(300, 3))
    speeds = np.linalg.norm(tumbling(0.0, momentum, 1.0, along)[1], axis=1, keepdims=True)
    momentum *= math.radians(degrees) / speeds
    (start, leaving), (end, arriving) = (tumbling(t, momentum, 1.0, along) for t in (0.0, 1.0))
    off = 0.0
    for alpha in np.linspace(0.05, 0.95, 19):
        drawn, true = turn(start, leaving, end, arriving, 1.0, alpha), tumbling(alpha, momentum, 1.0, along)[0]
        off = max(off, float(np.linalg.norm(log(multiply(drawn, conjugate(true))), axis=1).max()))
    assert math.degrees(off) < most


def test_turning_slows_down_through_the_angle_that_the_speeds_sweep():
    start = at(0, 0, angular_velocity=(0, 0, 4 * math.pi), flags=TURNS)
    end = at(S, 0, angular_velocity=(0, 0, 0), flags=TURNS)  # from 2 turns/s to none: one turn
    drawn = method_of("hermite", start, end).sample(S // 2).orientation[0]
    assert np.mod(angle_about_z(drawn), 2 * math.pi) == pytest.approx(1.5 * math.pi, abs=1e-6)


def test_more_turns_than_anybody_sees_are_drawn_the_short_way():
    for turns, is_short in ((0.99, False), (1.01, True)):
        spin = (0, 0, turns * MOST_TURN_RAD)
        end = at(S, 0, orientation=about_z(0.4), angular_velocity=spin, flags=TURNS)
        method = method_of("hermite", at(0, 0, angular_velocity=spin, flags=TURNS), end)
        assert (angle_about_z(method.sample(S // 2).orientation[0]) == pytest.approx(0.2, abs=1e-6)) == is_short


@pytest.mark.parametrize("flags", [(MOVES, VISIBLE), (VISIBLE, MOVES), (VISIBLE, VISIBLE)])
def test_a_body_without_velocities_in_both_moves_straight_and_its_neighbour_does_not(flags):
    one, other = ([given, MOVES] for given in flags)
    fields = {"velocity": [(4, 0, 0), (4, 0, 0)]}
    drawn = method_of("hermite", at(0, [0, 0], flags=one, **fields), at(S, [1, 1], flags=other, **fields)).sample(
        S // 4
    )
    assert drawn.position[0, 0] == 0.25
    assert drawn.position[1, 0] == pytest.approx(0.15625 + 4 * (0.140625 - 0.046875))


@pytest.mark.parametrize("bad", [math.nan, math.inf, 2e30])
def test_a_velocity_that_is_not_finite_counts_as_none(bad):
    start = at(0, 0, velocity=(bad, 0, 0), angular_velocity=(0, bad, 0), flags=7)
    end = at(S, 1, orientation=about_z(1.0), velocity=(1, 0, 0), flags=7)
    poses = method_of("hermite", start, end).sample(S // 4)
    assert poses.position[0, 0] == 0.25
    assert angle_about_z(poses.orientation[0]) == pytest.approx(0.25, abs=1e-6)
    assert poses.visible.all()


def test_a_body_at_rest_does_not_tremble():
    fields = {"orientation": about_z(0.3), "velocity": (0, 0, 0), "angular_velocity": (0, 0, 0), "flags": 7}
    method = method_of("hermite", at(0, 0.1 + 1e-3 / 3, **fields), at(S, 0.1 + 1e-3 / 3, **fields))
    assert len({bytes_of(method.sample(t)) for t in range(1, S, S // 37)}) == 1


def test_another_epoch_is_cut_whatever_the_velocities():
    start, end = at(0, 0, velocity=(4, 0, 0), flags=MOVES, epoch=1), at(S, 9, velocity=(4, 0, 0), flags=MOVES, epoch=2)
    assert [drawn_x(start, end, time_ns=t) for t in (S - 1, S)] == [0, 9]


number = st.floats(-100, 100, width=32)
triple = st.tuples(number, number, number)
fours = st.tuples(*[st.floats(-1, 1, width=32)] * 4).filter(lambda q: sum(c * c for c in q) > 1e-4)
records = st.fixed_dictionaries(
    {"position": triple, "orientation": fours, "velocity": triple, "angular_velocity": triple, "flags": st.just(7)}
)
share = st.floats(0.001, 0.999)


def unit(four) -> np.ndarray:
    return normalized(np.array([four]))


@given(fours, triple, fours, triple)
def test_orientations_at_both_ends_are_always_the_published_ones(start, leaving, end, arriving):
    for alpha, published in ((0.0, start), (1.0, end)):
        drawn = turn(np.array([start]), np.array([leaving]), np.array([end]), np.array([arriving]), 0.1, alpha)
        assert np.linalg.norm(drawn) == pytest.approx(1)
        assert abs(drawn[0] @ unit(published)[0]) == pytest.approx(1, abs=1e-12)


@given(triple, triple, triple, triple, st.floats(1e-3, 10))
def test_places_and_speeds_at_both_ends_are_always_the_published_ones(start, leaving, end, arriving, gap_s):
    ends = [np.array([row], float) for row in (start, leaving, end, arriving)]
    near = 1e-6
    for alpha, other, place, speed in ((0.0, near, start, leaving), (1.0, 1 - near, end, arriving)):
        drawn = curve(*ends, gap_s, alpha)[0]
        assert drawn == pytest.approx(place, abs=1e-12)
        drawn_speed = (curve(*ends, gap_s, other)[0] - drawn) / (gap_s * (other - alpha))
        assert drawn_speed == pytest.approx(speed, abs=1e-2 * (1 + 1 / gap_s))


spins = st.tuples(*[st.floats(-40, 40)] * 3).map(lambda spin: np.array([spin]))


@given(fours, spins, fours, spins)
def test_turning_always_begins_and_ends_at_the_published_speeds_about_whatever_axes(start, leaving, end, arriving):
    gap_s, near = 0.1, 1e-7
    for alpha, other, speed in ((0.0, near, leaving), (1.0, 1 - near, arriving)):
        one, two = (turn(unit(start), leaving, unit(end), arriving, gap_s, s) for s in (alpha, other))
        drawn = log(multiply(two, conjugate(one))) / (gap_s * (other - alpha))
        np.testing.assert_allclose(drawn, speed, atol=2e-3)


@pytest.mark.parametrize("name", ["hermite", "auto", "catmull", "quadratic"])
@settings(max_examples=50)
@given(st.lists(records, min_size=2, max_size=4), share, st.integers(0, 3))
def test_the_sign_of_a_quaternion_never_counts(name, rows, alpha, negated):
    turns = [unit(fields["orientation"])[0] for fields in rows]
    # At exactly half a turn the short way is either.
    assume(all(abs(one @ two) > 1e-6 for one, two in itertools.pairwise(turns)))
    time_ns = int((len(rows) - 2 + alpha) * S)
    snapshots = [at(k * S, 0, **fields) for k, fields in enumerate(rows)]
    other = list(snapshots)
    k = negated % len(rows)
    other[k] = at(k * S, 0, **{**rows[k], "orientation": tuple(-c for c in rows[k]["orientation"])})
    one, two = (method_of(name, *given).sample(time_ns) for given in (snapshots, other))
    assert one.position.tobytes() == two.position.tobytes()
    assert abs(one.orientation[0].astype(float) @ two.orientation[0]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("name", ["hermite", "auto", "catmull", "quadratic"])
@settings(max_examples=50)
@given(st.lists(records, min_size=2, max_size=5), share, st.integers(-(2**50), 2**50))
def test_only_differences_of_time_ever_count(name, rows, alpha, shift_ns):
    gaps = [0, 17 * MS, 60 * MS, 61 * MS, 150 * MS]
    time_ns = gaps[len(rows) - 2] + int(alpha * (gaps[len(rows) - 1] - gaps[len(rows) - 2]))
    drawn = [
        method_of(name, *(at(gaps[k] + by, 0, **fields) for k, fields in enumerate(rows))).sample(time_ns + by)
        for by in (0, shift_ns)
    ]
    assert bytes_of(drawn[0]) == bytes_of(drawn[1])
