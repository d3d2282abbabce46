"""Catmull: the worked cases, its stated bound, uneven gaps, and neighbours that are missing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.render.interpolation.snapshots import MS, at, bytes_of, method_of
from twixt.render.interpolation.catmull import SHORTEST_NEIGHBOUR

S = 1_000_000_000


def drawn_x(method, times_ns) -> np.ndarray:
    return np.array([method.sample(int(t)).position[0, 0] for t in times_ns])


def about_z(angle: float) -> tuple[float, float, float, float]:
    return (0.0, 0.0, math.sin(angle / 2), math.cos(angle / 2))


def test_three_samples_on_a_line_are_half_way_in_the_middle_of_the_second_interval():
    assert drawn_x(method_of("catmull", at(0, 0), at(S, 1), at(2 * S, 2)), [1.5 * S]) == 1.5


def test_four_samples_in_the_middle_follow_the_known_weights():
    xs = [3.0, 1.0, 4.0, 1.5]
    method = method_of("catmull", *(at(k * S, x) for k, x in enumerate(xs)))
    assert drawn_x(method, [1.5 * S])[0] == pytest.approx(np.dot(xs, [-1, 9, 9, -1]) / 16)


def pyramid(times, xs, t):
    """Barry and Goldman 1988: the spline as a pyramid of lerps between four knots."""

    def mix(i, j, left, right):
        return ((times[j] - t) * left + (t - times[i]) * right) / (times[j] - times[i])

    first = [mix(i, i + 1, xs[i], xs[i + 1]) for i in range(3)]
    second = [mix(i, i + 2, first[i], first[i + 1]) for i in range(2)]
    return mix(1, 2, second[0], second[1])


gap = st.integers(10, 60)
value = st.floats(-100, 100, width=32)


@given(st.tuples(gap, gap, gap), st.tuples(value, value, value, value), st.floats(0.01, 0.99))
def test_with_uneven_gaps_it_is_always_the_spline_of_barry_and_goldman(gaps, xs, alpha):
    times = np.concatenate(([0], np.cumsum(gaps)))
    t = times[1] + int(alpha * gaps[1] * MS) / MS
    method = method_of("catmull", *(at(time * MS, x) for time, x in zip(times, xs, strict=True)))
    assert drawn_x(method, [round(t * MS)])[0] == pytest.approx(pyramid(times, xs, t), abs=1e-3)


@settings(max_examples=40)
@given(gap, gap, gap, value)
def test_a_resting_place_is_always_passed_by_the_stated_bound_at_most(before, here, after, way):
    bound = abs(way) * 4 / 27 * here**2 / (before * (before + here))
    times = np.cumsum([0, before, here, after]) * MS
    method = method_of("catmull", *(at(t, x) for t, x in zip(times, (0, way, way, way), strict=True)))
    passed = np.abs(drawn_x(method, np.linspace(times[1], times[2], 7)) - np.float32(way))
    assert passed.max() <= bound * (1 + 1e-6) + 1e-5
    # It is reached at a third of the interval.
    at_third = abs(drawn_x(method, [times[1] + here * MS // 3])[0] - np.float32(way))
    assert at_third == pytest.approx(bound, rel=1e-3, abs=1e-4)


def test_a_step_and_a_rest_with_even_gaps_pass_by_2_of_27():
    method = method_of("catmull", *(at(k * S, x) for k, x in enumerate((0, 1, 1, 1))))
    assert drawn_x(method, np.linspace(S, 2 * S, 61)).max() == pytest.approx(1 + 2 / 27, abs=1e-4)


def test_at_the_ends_the_parabola_through_three_is_drawn():
    ends = method_of("catmull", *(at(k * S, x) for k, x in enumerate((0, 1, 4))))
    assert drawn_x(ends, [0.5 * S, 1.5 * S]).tolist() == [0.25, 2.25]
    assert drawn_x(method_of("catmull", at(0, 0), at(S, 1)), [0.25 * S]) == 0.25


def test_a_neighbour_of_another_epoch_counts_as_missing():
    cut = method_of("catmull", at(0, 50, epoch=1), at(S, 0, epoch=2), at(2 * S, 1, epoch=2), at(3 * S, 80, epoch=3))
    assert drawn_x(cut, [1.25 * S]) == 0.25
    one_side = method_of("catmull", at(0, 50, epoch=1), *(at((k + 1) * S, k * k, epoch=2) for k in range(3)))
    assert drawn_x(one_side, [1.5 * S]) == 0.25


def test_a_body_that_a_neighbour_does_not_have_is_blended_by_the_others():
    method = method_of("catmull", at(0, [0]), at(S, [1, 5]), at(2 * S, [2, 6]), at(3 * S, [3]))
    assert method.sample(int(1.25 * S)).position[:, 0].tolist() == [1.25, 5.25]


def test_a_neighbour_much_nearer_than_the_interval_is_long_counts_as_missing():
    for share, is_known in ((SHORTEST_NEIGHBOUR * 1.01, True), (SHORTEST_NEIGHBOUR * 0.99, False)):
        method = method_of("catmull", at(int(-share * S), 0), at(0, 1), at(S, 1))
        assert (drawn_x(method, [0.5 * S])[0] > 1.1) == is_known


def test_a_turn_at_even_speed_is_drawn_at_even_speed_also_with_uneven_gaps():
    times = np.array([0, 20, 50, 60, 100]) * MS
    method = method_of("catmull", *(at(t, 0, orientation=about_z(t / MS / 100)) for t in times))
    for t in range(0, 100 * MS, 3_333_333):
        assert method.sample(t).orientation[0] == pytest.approx(about_z(t / MS / 100), abs=1e-6)


def test_turning_does_not_jump_in_speed_where_intervals_join():
    angles = (0.0, 0.4, 1.2, 1.3, 1.3)
    method = method_of("catmull", *(at(k * S, 0, orientation=about_z(a)) for k, a in enumerate(angles)))
    near = S // 1000
    for k in (1, 2, 3):
        zs = [2 * math.asin(float(method.sample(k * S + by).orientation[0, 2])) for by in (-near, 0, near)]
        assert zs[2] - zs[1] == pytest.approx(zs[1] - zs[0], abs=4e-6)


def test_a_body_at_rest_does_not_tremble():
    method = method_of("catmull", *(at(k * S, 0.1 + 1e-3 / 3, orientation=about_z(0.3)) for k in range(4)))
    assert len({bytes_of(method.sample(t)) for t in range(S + 1, 2 * S, S // 37)}) == 1
