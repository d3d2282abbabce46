"""Quadratic: the parabola through three, what never changes it, and its stated bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.render.interpolation.snapshots import MS, at, bytes_of, method_of

S = 1_000_000_000
gap = st.integers(10, 60)
value = st.floats(-100, 100, width=32)


def drawn_x(method, times_ns) -> np.ndarray:
    return np.array([method.sample(int(t)).position[0, 0] for t in times_ns])


def test_three_samples_on_a_line_are_half_way_in_the_middle_of_the_second_interval():
    assert drawn_x(method_of("quadratic", at(0, 0), at(S, 1), at(2 * S, 2)), [1.5 * S]) == 1.5


@given(st.tuples(gap, gap), st.tuples(value, value, value), st.floats(0.01, 0.99))
def test_it_is_always_the_parabola_through_three_with_uneven_gaps(gaps, xs, alpha):
    times = np.array([0, gaps[0], gaps[0] + gaps[1]])
    method = method_of("quadratic", *(at(time * MS, x) for time, x in zip(times, xs, strict=True)))
    t = times[1] + alpha * gaps[1]
    lagrange = sum(x * math.prod((t - b) / (a - b) for b in times if b != a) for a, x in zip(times, xs, strict=True))
    assert drawn_x(method, [t * MS])[0] == pytest.approx(lagrange, abs=1e-3)


@settings(max_examples=40)
@given(gap, gap, value)
def test_a_resting_place_is_always_passed_by_the_stated_bound_at_most(before, here, way):
    bound = abs(way) / 4 * here**2 / (before * (before + here))
    times = np.cumsum([0, before, here]) * MS
    method = method_of("quadratic", *(at(t, x) for t, x in zip(times, (0, way, way), strict=True)))
    passed = np.abs(drawn_x(method, np.linspace(times[1], times[2], 7)) - np.float32(way))
    assert passed.max() <= bound * (1 + 1e-6) + 1e-5
    assert passed[3] == pytest.approx(bound, rel=1e-3, abs=1e-4)


def test_a_step_and_a_rest_with_even_gaps_pass_by_an_eighth():
    method = method_of("quadratic", *(at(k * S, x) for k, x in enumerate((0, 1, 1, 1))))
    assert drawn_x(method, np.linspace(S, 2 * S, 101)).max() == pytest.approx(1.125, abs=1e-6)


@given(st.lists(value, min_size=4, max_size=4), st.floats(0.01, 0.99))
def test_a_snapshot_that_comes_later_never_changes_what_is_drawn(xs, alpha):
    time_ns = int((1 + alpha) * S)
    method = method_of("quadratic", *(at(k * S, x) for k, x in enumerate(xs[:3])))
    drawn = bytes_of(method.sample(time_ns))
    method.add(at(3 * S, xs[3]))
    assert bytes_of(method.sample(time_ns)) == drawn


def test_without_a_snapshot_before_the_one_after_serves_and_without_both_it_is_straight():
    assert drawn_x(method_of("quadratic", *(at(k * S, k * k) for k in range(3))), [0.5 * S]) == 0.25
    assert drawn_x(method_of("quadratic", at(0, 0), at(S, 1)), [0.25 * S]) == 0.25
    cut = method_of("quadratic", at(0, 50, epoch=1), *(at((k + 1) * S, k * k, epoch=2) for k in range(3)))
    assert drawn_x(cut, [1.5 * S]) == 0.25


def test_turning_faster_and_faster_is_followed():
    def about_z(angle):
        return (0.0, 0.0, math.sin(angle / 2), math.cos(angle / 2))

    method = method_of("quadratic", *(at(k * S, 0, orientation=about_z(0.1 * k * k)) for k in range(3)))
    assert method.sample(int(1.5 * S)).orientation[0] == pytest.approx(about_z(0.225), abs=1e-6)
