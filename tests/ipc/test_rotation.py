"""Quaternions made from an axis and an angle or from a direction, and the two orders of their numbers."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twixt
from twixt.ipc.errors import TwixtError
from twixt.ipc.rotation import PARALLEL_SINE, in_xyzw, is_w_first, rotation, turn_towards

X, Y, Z = np.eye(3)


def product(second: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Hamilton's product of two quaternions xyzw."""
    (x1, y1, z1, w1), (x2, y2, z2, w2) = second, first
    return np.array(
        [
            w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
            w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
            w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
            w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
        ]
    )


def rotated(turn: np.ndarray, vector: Any) -> np.ndarray:
    """q v q*, the vector rotated by the quaternion."""
    back = turn * (-1, -1, -1, 1)
    return product(product(turn, np.array([*vector, 0.0])), back)[:3]


lengths = st.floats(1e-3, 1e3)
numbers = st.floats(-1e3, 1e3)
vectors = st.tuples(numbers, numbers, numbers).filter(lambda v: math.hypot(*v) > 1e-3)
angles = st.floats(-20, 20)


@pytest.mark.parametrize(
    ("axis", "angle", "quaternion"),
    [
        (Z, 0.0, (0, 0, 0, 1)),
        (Z, math.pi / 2, (0, 0, math.sqrt(0.5), math.sqrt(0.5))),
        ((0, 3, 0), math.pi, (0, 1, 0, 0)),
        ((1, 1, 1), 2 * math.pi / 3, (0.5, 0.5, 0.5, 0.5)),
        ([1, 0, 0], -1, (-math.sin(0.5), 0, 0, math.cos(0.5))),
    ],
)
def test_a_rotation_about_an_axis_is_the_known_quaternion(axis: Any, angle: float, quaternion: Any) -> None:
    found = rotation(axis, angle)
    assert found.shape == (4,)
    assert found.dtype == np.float64
    assert found == pytest.approx(np.array(quaternion), abs=1e-15)


@given(vectors, angles)
def test_the_axis_always_stays_and_what_is_square_to_it_turns_by_the_angle(axis: Any, angle: float) -> None:
    turn, unit = rotation(axis, angle), np.array(axis) / np.linalg.norm(axis)
    assert np.linalg.norm(turn) == pytest.approx(1, abs=1e-14)
    assert rotated(turn, unit) == pytest.approx(unit, abs=1e-12)
    aside = np.cross(unit, np.eye(3)[np.argmin(np.abs(unit))])
    aside /= np.linalg.norm(aside)
    turned = math.cos(angle) * aside + math.sin(angle) * np.cross(unit, aside)
    assert rotated(turn, aside) == pytest.approx(turned, abs=1e-12)


@given(vectors, angles, angles)
def test_rotations_about_one_axis_always_add_up(axis: Any, first: float, second: float) -> None:
    both = product(rotation(axis, second), rotation(axis, first))
    assert both == pytest.approx(rotation(axis, first + second), abs=1e-12)


@given(vectors, lengths, angles)
def test_the_length_of_the_axis_never_counts(axis: Any, length: float, angle: float) -> None:
    assert rotation(np.array(axis) * length, angle) == pytest.approx(rotation(axis, angle), abs=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("length", [5e-324, 1e-200, 1e200, 1e308])
def test_lengths_at_the_ends_of_a_float_are_taken(length: float) -> None:
    assert rotation((0, 0, length), 1.0).tolist() == rotation(Z, 1.0).tolist()
    assert turn_towards((length, length, 0)) == pytest.approx(turn_towards((1, 1, 0)), abs=1e-15)


def test_rows_and_single_values_go_together() -> None:
    axes, turns = np.array([X, Y, Z]), np.array([0.1, 0.2, 0.3])
    each = np.array([rotation(axis, turn) for axis, turn in zip(axes, turns, strict=True)])
    assert rotation(axes, turns).tolist() == each.tolist()
    assert rotation(Z, turns).tolist() == [rotation(Z, turn).tolist() for turn in turns]
    assert rotation(axes, 0.5).tolist() == [rotation(axis, 0.5).tolist() for axis in axes]
    assert rotation(np.zeros((0, 3)), []).shape == (0, 4)
    towards = turn_towards(axes, up=[(0, 1, 1)] * 3)
    assert towards.tolist() == [turn_towards(axis, up=(0, 1, 1)).tolist() for axis in axes]
    assert turn_towards(X, up=axes).shape == (3, 4)
    assert turn_towards(axes, up=(0, 1, 1)).tolist() == towards.tolist()
    assert turn_towards(np.zeros((0, 3))).shape == (0, 4)
    assert turn_towards([1, 0, 0]).tolist() == [0, 0, 0, 1]


@given(vectors, vectors, st.sampled_from("xz"))
def test_forward_always_goes_to_the_direction_and_the_top_is_as_near_to_up_as_it_can_be(
    direction: Any, up: Any, forward: Any
) -> None:
    ahead, top = (X, Z) if forward == "x" else (Z, Y)
    turn = turn_towards(direction, up, forward)
    towards, upwards = (np.array(v) / np.linalg.norm(v) for v in (direction, up))
    assert np.linalg.norm(turn) == pytest.approx(1, abs=1e-14)
    assert rotated(turn, ahead) == pytest.approx(towards, abs=1e-12)
    nearest = upwards - towards * (upwards @ towards)
    far = np.linalg.norm(nearest)
    if far > 10 * PARALLEL_SINE:
        assert rotated(turn, top) == pytest.approx(nearest / far, abs=1e-14 / far + 1e-12)


@pytest.mark.parametrize("tilt", [0.0, 1e-300, 1e-12, 1e-9, 1e-6])
@pytest.mark.parametrize("forward", ["x", "z"])
def test_a_direction_that_is_nearly_opposite_to_forward_is_met_exactly(tilt: float, forward: Any) -> None:
    ahead, up = (X, Z) if forward == "x" else (Z, Y)
    direction = -ahead + tilt * Y
    direction /= np.linalg.norm(direction)
    turn = turn_towards(direction, up, forward)
    assert rotated(turn, ahead) == pytest.approx(direction, abs=1e-15)


@pytest.mark.parametrize(
    ("direction", "up", "forward", "top"),
    [
        (Z, Z, "x", -X),  # a body that looks up
        (-Z, Z, "x", X),
        (Z, -Z, "x", -X),
        (Y, Y, "x", Z),
        (X, X, "x", Z),
        (-X, X, "x", Z),
        (Z, Z, "z", Y),  # a capsule that stands
        (-Z, Z, "z", Y),
        (X, X, "z", Y),
    ],
)
def test_a_direction_parallel_to_up_gives_the_shortest_rotation(
    direction: Any, up: Any, forward: Any, top: Any
) -> None:
    turn = turn_towards(direction, up, forward)
    assert rotated(turn, X if forward == "x" else Z) == pytest.approx(direction, abs=1e-15)
    assert rotated(turn, Z if forward == "x" else Y) == pytest.approx(top, abs=1e-15)


def test_a_shape_along_z_reaches_from_end_to_end() -> None:
    start, end = np.array([1.0, 2, 3]), np.array([-2.0, 2, 7])
    turn = twixt.turn_towards(end - start, forward="z")
    assert (start + end) / 2 + rotated(turn, (0, 0, 2.5)) == pytest.approx(end)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: rotation((0, 0, 0), 1), "rotation(axis) must be longer than 0, got [0, 0, 0]; leave it out"),
        (lambda: rotation([X, X * 0], 1), "must be longer than 0, got [0, 0, 0] in row 1; leave it out"),
        (lambda: rotation((0, np.nan, 0), 1), "rotation(axis) must be finite, got nan"),
        (lambda: rotation(X, np.inf), "rotation(angle) must be finite, got inf"),
        (
            lambda: rotation((1, 0), 1),
            "rotation(axis) must be numbers of shape (3,) or (n, 3), got int64 of shape (2,)",
        ),
        (lambda: rotation(1.0, X), "rotation(axis) must be numbers of shape (3,) or (n, 3), got float64 of shape ()"),
        (lambda: rotation(np.zeros((1, 1, 3)), 1), "got float64 of shape (1, 1, 3)"),
        (lambda: rotation("z", 1), "rotation(axis) must be numbers of shape (3,) or (n, 3), got <U1 of shape ()"),
        (lambda: rotation([X, [1, 2]], 1), "rotation(axis) must be a numpy array or numbers, got list ("),
        (lambda: rotation(X, [[1]]), "must be a number or numbers of shape (n,), got int64 of shape (1, 1)"),
        (lambda: rotation(X, True), "rotation(angle) must be a number or numbers of shape (n,), got bool"),
        (lambda: rotation([X, Y], [1, 2, 3]), "rotation needs one angle for each axis, got 2 and 3"),
        (lambda: turn_towards((0, 0, 0)), "turn_towards(direction) must be longer than 0, got [0, 0, 0]; leave it out"),
        (lambda: turn_towards(X, up=(0, 0, 0)), "turn_towards(up) must be longer than 0"),
        (lambda: turn_towards([X, Y], up=[X, Y, Z]), "turn_towards needs one up for each direction, got 2 and 3"),
        (lambda: turn_towards(X, forward="y"), 'turn_towards(forward) must be "x" or "z", got \'y\''),
        (lambda: turn_towards(X, forward=[1]), 'turn_towards(forward) must be "x" or "z", got [1]'),
    ],
)
def test_wrong_values_are_refused_in_words(call: Any, says: str) -> None:
    with pytest.raises(TwixtError, match=re.escape(says)):
        call()


def test_an_order_is_one_of_two_texts() -> None:
    assert not is_w_first("xyzw")
    assert is_w_first("wxyz")
    for wrong in ("xwyz", "WXYZ", ""):
        with pytest.raises(TwixtError, match=rf'^quat must be "xyzw" or "wxyz", got {wrong!r}$'):
            is_w_first(wrong)
    for values in (None, True, np.array([[0, 0, 0, 1]])):
        with pytest.raises(TwixtError, match=r'^quat must be "xyzw" or "wxyz", got .*; pass the quaternions as orient'):
            is_w_first(values)


def test_an_order_is_changed_in_the_last_axis_and_a_mask_stays() -> None:
    assert np.asarray(in_xyzw((1, 2, 3, 4), "wxyz")).tolist() == [2, 3, 4, 1]
    rows = np.arange(24).reshape(2, 3, 4)
    assert np.asarray(in_xyzw(rows, "wxyz")).tolist() == rows[:, :, [1, 2, 3, 0]].tolist()
    assert in_xyzw(rows, "xyzw") is rows
    assert in_xyzw(None, "wxyz") is None
    masked: Any = in_xyzw(np.ma.array([1.0, 2, 3, 4], mask=[True, False, False, False]), "wxyz")
    assert masked.mask.tolist() == [False, False, False, True]
