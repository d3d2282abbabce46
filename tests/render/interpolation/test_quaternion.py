"""Slerp, products and rotation vectors: known angles, both ways round, and every hostile quaternion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twixt.render.interpolation.quaternion import conjugate, exp, log, multiply, normalized, rotate, slerp


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


number = st.floats(-4, 4, allow_subnormal=True)
quaternions = st.lists(number, min_size=4, max_size=4).map(lambda q: normalized(np.array([q])))
vectors = st.lists(number, min_size=3, max_size=3).map(lambda v: np.array([v]))


def is_same_turn(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.allclose(np.abs(np.einsum("ij,ij->i", one, other)), 1, atol=1e-12))


def test_a_quarter_turn_about_z_leads_from_x_to_y_and_twice_to_minus_x():
    quarter = about_z(90)
    assert rotate(quarter, np.array([[1.0, 0, 0]]))[0] == pytest.approx([0, 1, 0])
    assert rotate(multiply(quarter, quarter), np.array([[1.0, 0, 0]]))[0] == pytest.approx([-1, 0, 0])


def test_in_a_product_the_right_one_turns_first():
    about_x = exp(np.array([[math.pi / 2, 0, 0]]))
    y = np.array([[0.0, 1, 0]])
    assert rotate(multiply(about_z(90), about_x), y)[0] == pytest.approx(rotate(about_z(90), rotate(about_x, y))[0])


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-4, 0.5, 3.0, math.pi - 1e-9, math.pi])
def test_a_rotation_vector_comes_back_from_nothing_up_to_half_a_turn(angle):
    rotation = angle * np.array([[0.36, 0.48, 0.8]])
    back = log(exp(rotation))[0]
    assert math.hypot(*back) == pytest.approx(angle, rel=1e-9, abs=1e-300)
    if angle < math.pi:
        assert back == pytest.approx(rotation[0], rel=1e-6, abs=1e-300)


def test_several_turns_come_back_as_what_is_left_of_them():
    assert log(exp(np.array([[0, 0, 6 * math.pi + 0.25]])))[0] == pytest.approx([0, 0, 0.25])
    assert log(exp(np.array([[0, 0, 1e6 * math.pi]])))[0] == pytest.approx([0, 0, 0], abs=1e-9)


def test_more_than_half_a_turn_is_the_shorter_turn_back():
    assert log(about_z(350))[0] == pytest.approx([0, 0, math.radians(-10)])


@given(quaternions)
def test_opposite_signs_always_have_one_rotation_vector_at_most_half_a_turn_long(quaternion):
    assert log(quaternion).tolist() == log(-quaternion).tolist()
    assert np.linalg.norm(log(quaternion)) <= math.pi + 1e-12


@pytest.mark.parametrize(
    "half_turn", [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0.6, -0.8, 0, 0), (-0.6, 0, 0.8, -0.0)]
)
def test_opposite_signs_of_half_a_turn_have_one_rotation_vector_too(half_turn):
    quaternion = np.array([half_turn], float)
    assert log(quaternion).tolist() == log(-quaternion).tolist()
    assert is_same_turn(exp(log(quaternion)), quaternion)


@given(quaternions, quaternions, vectors)
def test_products_always_turn_one_after_the_other_and_back(second, first, vector):
    both = multiply(second, first)
    assert np.linalg.norm(both) == pytest.approx(1)
    assert rotate(both, vector)[0] == pytest.approx(rotate(second, rotate(first, vector))[0], abs=1e-12)
    assert is_same_turn(multiply(conjugate(second), both), first)
    assert rotate(conjugate(first), rotate(first, vector))[0] == pytest.approx(vector[0], abs=1e-12)
    assert is_same_turn(exp(log(both)), both)


@given(st.lists(st.floats(), min_size=3, max_size=3), hostile)
def test_whatever_comes_rotations_are_always_finite_and_unit(rotation, quaternion):
    assert np.linalg.norm(exp(np.array([rotation]))) == pytest.approx(1)
    assert np.isfinite(log(np.array([quaternion], np.float32))).all()


def test_no_bodies_are_no_rotations():
    nothing = np.zeros((0, 4))
    assert multiply(nothing, nothing).shape == (0, 4)
    assert log(nothing).shape == (0, 3)
    assert exp(np.zeros((0, 3))).shape == (0, 4)
