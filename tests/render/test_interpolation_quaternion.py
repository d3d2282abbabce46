"""Slerp: known angles, both ways round, and every hostile quaternion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twixt.render.interpolation.quaternion import normalized, slerp


def about_z(degrees: float) -> np.ndarray:
    half = math.radians(degrees) / 2
    return np.array([[0.0, 0.0, math.sin(half), math.cos(half)]])


def degrees_of(quaternions: np.ndarray) -> float:
    x, y, z, w = quaternions[0]
    return math.degrees(2 * math.atan2(math.hypot(x, y, z), w))


def test_from_0_to_120_degrees_a_quarter_of_the_way_is_30():
    assert degrees_of(slerp(about_z(0), about_z(120), 0.25)) == pytest.approx(30)


def test_350_degrees_are_reached_backwards_through_10():
    assert degrees_of(slerp(about_z(0), about_z(350), 0.5)) == pytest.approx(5)


@pytest.mark.parametrize("degrees", [0, 1e-7, 1e-4, 0.01, 0.1, 1, 90, 179.999])
@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_turning_is_even_down_to_the_smallest_angle(degrees, alpha):
    assert degrees_of(slerp(about_z(0), about_z(degrees), alpha)) == pytest.approx(alpha * degrees, abs=1e-7, rel=1e-6)


def test_half_a_turn_passes_through_a_quarter_turn():
    assert degrees_of(slerp(about_z(0), about_z(180), 0.5)) == pytest.approx(90)


def test_opposite_signs_are_one_orientation_and_give_no_motion():
    start = about_z(40)
    assert np.abs(slerp(start, -start, 0.3)[0] @ start[0]) == pytest.approx(1)


hostile = st.lists(
    st.one_of(
        st.floats(allow_nan=True, allow_infinity=True, width=32), st.sampled_from([0.0, -0.0, 1e-45, 1e-20, 3e38, 1.0])
    ),
    min_size=4,
    max_size=4,
)


@settings(max_examples=400, deadline=None)
@given(hostile, hostile, st.floats(0, 1))
def test_result_is_always_a_finite_unit_quaternion(start, end, alpha):
    result = slerp(np.array([start], np.float32), np.array([end], np.float32), alpha)
    assert np.linalg.norm(result[0]) == pytest.approx(1)
    assert np.linalg.norm(normalized(np.array([start], np.float32))[0]) == pytest.approx(1)
