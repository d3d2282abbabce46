"""Step multiples under loads given as lists of costs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.sim.schedule.step_multiple import FULL, NARROW_STEPS, FixedStride, Widening

MS = 1_000_000
UNIT_NS = 1e9 / 60


def widths(stride: Widening, costs_ms: list[float], unit_ns: float = UNIT_NS) -> list[int]:
    """The multiple after each of these steps."""
    seen = []
    for cost_ms in costs_ms:
        stride.stepped(round(cost_ms * MS), unit_ns)
        seen.append(stride.multiple)
    return seen


def test_steps_of_50_ms_go_from_60_to_15_hz_in_one_change_and_back_in_one() -> None:
    stride = Widening(6)
    assert set(widths(stride, [2] * 100)) == {1}
    during = widths(stride, [50.3] * 100)
    assert during[:4] == [1] * 4
    assert set(during[4:]) == {4}
    assert "1 -> 4" in stride.reason
    assert "50.3 ms" in stride.reason
    after = widths(stride, [2] * 100)
    assert set(after) == {4, 1}
    assert after.index(1) < 2 * NARROW_STEPS
    assert "4 -> 1" in stride.reason


@given(st.floats(0, 500), st.integers(1, 12), st.floats(1, 100))
def test_a_steady_cost_always_changes_the_width_once_at_most(cost_ms: float, most: int, unit_ms: float) -> None:
    seen = widths(Widening(most), [cost_ms] * 400, unit_ms * MS)
    assert len(set(seen)) <= 2
    assert seen == sorted(seen)
    assert seen[-1] == most or cost_ms <= FULL * seen[-1] * unit_ms + 1e-6


@given(st.lists(st.floats(0, 300), min_size=1, max_size=300), st.integers(1, 9))
def test_a_width_is_always_a_whole_multiple_from_one_to_the_most(costs_ms: list[float], most: int) -> None:
    assert all(isinstance(width, int) and 1 <= width <= most for width in widths(Widening(most), costs_ms))


def test_one_slow_step_or_a_few_widen_nothing() -> None:
    assert set(widths(Widening(6), ([2.0] * 60 + [500]) * 5)) == {1}
    assert set(widths(Widening(6), [2.0] * 8 + [50] * 4 + [2] * 8)) == {1}


def test_many_steps_that_are_rarely_very_slow_widen_by_their_mean() -> None:
    # One step of six takes 100 ms: 18 ms on average with 16.7 available, although the median is 2.
    stride = Widening(6)
    assert 2 in widths(stride, ([2.0] * 5 + [100]) * 40)


def test_it_narrows_to_what_the_slowest_of_the_last_second_needs() -> None:
    stride = Widening(6)
    assert widths(stride, [80] * 20)[-1] == 6
    seen = widths(stride, ([5.0] * 3 + [30]) * 30)
    assert set(seen) == {6, 3}


def test_a_cost_between_room_and_full_keeps_whatever_width_there_is() -> None:
    cost_ms = 0.9 * UNIT_NS / MS
    assert set(widths(Widening(6), [cost_ms] * 300)) == {1}
    stride = Widening(6)
    widths(stride, [1.5 * UNIT_NS / MS] * 20)
    assert stride.multiple == 2
    assert set(widths(stride, [cost_ms] * 300)) == {2}


def test_slow_motion_leaves_more_time_for_a_step_and_haste_less() -> None:
    assert set(widths(Widening(6), [50] * 50, UNIT_NS / 0.25)) == {1}
    assert widths(Widening(6), [5] * 50, UNIT_NS / 4)[-1] == 2


def test_a_reset_of_the_world_does_not_change_the_load() -> None:
    stride = Widening(6)
    widths(stride, [50] * 20)
    stride.reset()
    assert stride.multiple == 4


def test_without_widening_a_step_is_a_step() -> None:
    stride = FixedStride()
    stride.stepped(10**9, UNIT_NS)
    stride.reset()
    assert (stride.multiple, stride.most, stride.is_over) == (1, 1, False)


@pytest.mark.parametrize("most", [0, -3])
def test_a_world_whose_own_step_is_the_longest_stays_as_it_is(most: int) -> None:
    assert set(widths(Widening(most), [1000] * 20)) == {1}
