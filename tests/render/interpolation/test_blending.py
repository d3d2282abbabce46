"""The user's own columns at a draw time, each by its rule."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.interpolation.snapshots import at, method_of
from twixt.ipc.errors import TwixtError
from twixt.render.interpolation import create
from twixt.render.interpolation.blending import turned

angles = st.floats(-math.pi, math.pi)


def sampled(old, new, draw_time=5, rules=None, name="linear", **fields):
    """Columns half-way between two snapshots at 0 and 10."""
    method = method_of(
        name, at(0, [0] * len(old), columns={"c": old}), at(10, [1] * len(new), columns={"c": new}, **fields),
        rules=rules or {},
    )  # fmt: skip
    return method.sample(draw_time).columns["c"]


def test_rules_stand_side_by_side_in_one_frame():
    old = {name: np.array([0.0], np.float32) for name in ("plain", "constant", "disabled")}
    new = {name: np.array([10.0], np.float32) for name in old}
    rules = {"constant": lambda old, new, alpha: 42, "disabled": "latest"}
    method = method_of("linear", at(0, 0, columns=old), at(10, 1, columns=new), rules=rules)
    poses = method.sample(5)
    assert [poses.columns[name].tolist() for name in ("plain", "constant", "disabled")] == [[5], [42], [10]]
    assert poses.position[0, 0] == 0.5
    assert [method.sample(t).columns["constant"][0] for t in (0, 10, 99)] == [42, 42, 42]


def test_floats_are_linear_and_all_else_discrete_without_a_rule():
    assert sampled(np.array([1.0]), np.array([2.0])).tolist() == [1.5]
    assert sampled(np.array([[1.0, 2]]), np.array([[2.0, 4]])).tolist() == [[1.5, 3]]
    for kind in ("i2", "u1", "?", "U3", "S2"):
        old, new = np.array([0]).astype(kind), np.array([4]).astype(kind)
        assert [sampled(old, new, t)[0] for t in (5, 9, 10)] == [old[0], old[0], new[0]]


def test_whole_numbers_are_blended_when_asked_and_stay_between_the_two():
    rules = {"c": "linear"}
    assert sampled(np.array([0, 200, 3], "u1"), np.array([10, 0, 3], "u1"), rules=rules).tolist() == [5, 100, 3]
    most = np.array([2**63 - 1], "i8")
    assert sampled(most, most, rules=rules).tolist() == most.tolist()


def test_angle_goes_the_short_way_through_zero():
    old, new = np.radians([350.0, 10, 90]), np.radians([10.0, 350, 90])
    drawn = [np.degrees(sampled(old, new, t, {"c": "angle"})) for t in range(11)]
    for degrees in drawn:
        assert math.cos(math.radians(degrees[0])) >= math.cos(math.radians(10)) - 1e-9
        assert math.cos(math.radians(degrees[1])) >= math.cos(math.radians(10)) - 1e-9
        assert degrees[2] == 90
    assert drawn[5][0] % 360 == pytest.approx(0, abs=1e-9) or drawn[5][0] % 360 == pytest.approx(360)
    assert drawn[2][0] == pytest.approx(354)
    assert drawn[8][0] == pytest.approx(6)


@given(angles, angles, st.floats(0, 1), st.booleans())
def test_angle_always_turns_by_its_share_of_the_short_way_and_stays_in_its_range(old, new, alpha, is_positive):
    if is_positive:
        old, new = old % (2 * math.pi), new % (2 * math.pi)
    way = (new - old + math.pi) % (2 * math.pi) - math.pi
    if abs(abs(way) - math.pi) < 1e-14:
        way = math.copysign(math.pi, new - old)
    value = float(turned(np.array([old]), np.array([new]), alpha)[0])
    expected = old + way * alpha
    assert math.cos(value - expected) == pytest.approx(1, abs=1e-9)
    low = 0.0 if min(old, new) >= 0 else -math.pi
    assert low <= value <= low + 2 * math.pi


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_half_a_turn_goes_there_and_back_on_the_same_side(kind):
    ends = np.array([0, np.pi, -np.pi / 2, np.pi / 2, np.pi / 2, 3 * np.pi / 2, 0.7, 0.7 + np.pi], kind)
    old, new = ends[::2], ends[1::2]
    there = [sampled(old, new, t, {"c": "angle"}) for t in range(11)]
    back = [sampled(new, old, t, {"c": "angle"}) for t in range(11)]
    np.testing.assert_allclose(there, back[::-1], atol=1e-6)
    np.testing.assert_allclose(there[5], (old + new) / 2, atol=1e-6)


@pytest.mark.parametrize(("low", "high"), [(0, np.float32(2 * np.pi)), (np.float32(-np.pi), np.float32(np.pi))])
def test_the_ends_of_the_range_as_single_precision_has_them_are_within_it(low, high):
    """Its 2 pi is 2e-7 more than 2 pi."""
    near_low, near_high = np.float32(low + 0.1), np.float32(high - 0.1)
    old, new = np.array([high, low, near_low], np.float32), np.array([near_low, near_high, high], np.float32)
    for t in range(1, 10):
        drawn = sampled(old, new, t, {"c": "angle"})
        assert (drawn >= low).all(), drawn
        assert (drawn <= high).all(), drawn


def test_latest_is_the_live_value_also_several_snapshots_on():
    columns = [{"c": np.array([float(k)])} for k in range(4)]
    method = method_of("linear", *(at(k * 10, k, columns=columns[k]) for k in range(4)), rules={"c": "latest"})
    assert [method.sample(t).columns["c"][0] for t in (0, 5, 35)] == [3, 3, 3]


def test_rows_of_another_life_keep_the_older_value_until_the_newer_instant():
    old, new = np.array([0.0, 0.0]), np.array([10.0, 10.0])
    for rule in ("linear", "angle", "latest", lambda old, new, alpha: new):
        assert sampled(old, new, 5, {"c": rule}, epoch=[0, 1])[1] == 0
        assert sampled(old, new, 5, {"c": rule}, epoch=[0, 1])[0] != 0
        assert sampled(old, new, 10, {"c": rule}, epoch=[0, 1])[1] == 10


def test_scale3_does_not_pass_zero_in_any_component():
    old, new = np.array([[1, 1, -1]], np.float32), np.array([[3, -1, -3]], np.float32)
    method = method_of("linear", at(0, 0, columns={"scale3": old}), at(10, 0, columns={"scale3": new}))
    assert method.sample(5).columns["scale3"].tolist() == [[2, 1, -2]]
    assert method.sample(10).columns["scale3"].tolist() == [[3, -1, -3]]


def test_what_is_not_finite_is_not_blended():
    old, new = np.array([0.0, math.nan, 1.0, -1e308]), np.array([math.inf, 1.0, math.nan, 1e308])
    for rule in ("linear", "angle"):
        assert np.array_equal(sampled(old, new, 5, {"c": rule}), old, equal_nan=True)


def test_columns_that_do_not_match_are_drawn_as_they_are():
    old = np.array([1.0, 2.0])
    assert sampled(old, np.array([3.0])).tolist() == [2, 2]
    assert sampled(old, np.array([[3.0], [4.0]])).tolist() == [1, 2]
    assert sampled(old, np.array([3, 4])).tolist() == [1, 2]
    method = method_of("linear", at(0, [0, 0], columns={"c": old}), at(10, [1, 1]))
    assert method.sample(5).columns["c"].tolist() == [1, 2]
    assert method.sample(10).columns == {}


def test_columns_are_the_callers_own():
    column = np.array([1.0])
    method = method_of("linear", at(0, 0, columns={"c": column}))
    method.sample(0).columns["c"][:] = 9
    assert column.tolist() == [1]


def test_columns_of_corrections_are_not_the_users():
    columns = {"correction": np.zeros((1, 7), np.float32), "corrected_ns": np.zeros(1, np.int64)}
    assert method_of("linear", at(0, 0, columns=columns), at(10, 0, columns=columns)).sample(5).columns == {}


def test_function_gets_the_rows_that_may_be_blended():
    seen = []

    def ease(old, new, alpha):
        seen.append((old.tolist(), new.tolist(), alpha))
        old[:] = 99  # a copy
        return new

    old = np.array([1.0, 2.0])
    assert sampled(old, np.array([3.0, 4.0]), 5, {"c": ease}, epoch=[0, 1]).tolist() == [3, 2]
    assert seen == [([1], [3], 0.5)]
    assert old.tolist() == [1, 2]


def test_error_of_the_users_function_names_it():
    def broken(old, new, alpha):
        raise ZeroDivisionError("no")

    with pytest.raises(TwixtError, match=r"the rule of column 'c'.*broken raised ZeroDivisionError: no"):
        sampled(np.array([1.0]), np.array([3.0]), 5, {"c": broken})
    with pytest.raises(TwixtError, match=r"must return values of shape \(1,\).*got shape \(5,\)"):
        sampled(np.array([1.0]), np.array([3.0]), 5, {"c": lambda old, new, alpha: np.zeros(5)})
    with pytest.raises(TwixtError, match="must return values"):
        sampled(np.array([1.0]), np.array([3.0]), 5, {"c": lambda old, new, alpha: None})


class Ragged:
    def __array__(self, *_args, **_options):
        raise RuntimeError("no array")


@pytest.mark.parametrize(
    ("kind", "answer", "said"),
    [
        ("u1", 300, r"must return values of shape \(1,\) and type uint8, got 300, which does not fit into uint8"),
        ("u1", -1, "got -1, which does not fit into uint8"),
        ("i8", np.uint64(1 << 63), "got 9223372036854775808, which does not fit into int64"),
        ("i2", math.nan, "got nan, which does not fit into int16"),
        ("f4", 1e300, r"got 1e\+300, which does not fit into float32"),
        ("?", 2, "got 2, which does not fit into bool"),
        ("f4", [[1.0, 2.0], [3.0]], "got a value that is not an array: ValueError"),
        ("f4", Ragged(), "got a value that is not an array: RuntimeError: no array"),
        ("f4", 1j, "type complex128"),
        ("f4", "1", "type <U1"),
        ("f4", {"a": 1}, "type object"),
    ],
)
def test_an_answer_of_the_users_function_that_does_not_fit_is_refused(kind, answer, said):
    with pytest.raises(TwixtError, match=said):
        sampled(np.array([1], kind), np.array([1], kind), 5, {"c": lambda old, new, alpha: answer})


def test_an_answer_of_the_users_function_is_rounded_to_whole_numbers_where_the_column_has_those():
    for kind, answer, drawn in (("u1", 254.6, 255), ("i2", -1.4, -1), ("?", 1, True), ("f4", 7, 7)):
        assert sampled(np.array([1], kind), np.array([1], kind), 5, {"c": lambda *_: answer}).tolist() == [drawn]  # noqa: B023


def test_a_function_is_not_called_where_there_is_nothing_to_blend():
    rules = {"c": lambda old, new, alpha: pytest.fail("called with no rows")}
    assert sampled(np.array([1.0]), np.array([2.0]), 5, rules, epoch=1).tolist() == [1]
    assert sampled(np.zeros(0), np.zeros(0), 5, rules).tolist() == []


def test_function_is_found_by_name(tmp_path, monkeypatch):
    (tmp_path / "my_column_rules.py").write_text("def halved(old, new, alpha):\n    return new / 2\n")
    monkeypatch.chdir(tmp_path)
    assert sampled(np.array([1.0]), np.array([3.0]), 5, {"c": "my_column_rules:halved"}).tolist() == [1.5]
    with pytest.raises(TwixtError, match=r"column 'c'.*has no \"halfed\"; did you mean \"halved\"\?"):
        create("linear", {"c": "my_column_rules:halfed"})
    with pytest.raises(TwixtError, match='no module named "my_rulez"'):
        create("linear", {"c": "my_rulez:halved"})


def test_what_is_no_rule_is_refused():
    for rule in ("lerp", 5, None):
        with pytest.raises(TwixtError, match=r"the rule of column 'c' must be one of linear, angle, none, latest"):
            create("linear", {"c": rule})
