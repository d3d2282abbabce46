"""Quantiles of a list, and of a window of the latest values."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.quantiles import QuantileWindow, distribution, median


def test_figures_of_a_known_list() -> None:
    assert distribution(range(1, 102)) == {"mean": 51, "p50": 51, "p90": 91, "p99": 100, "max": 101}


def test_nothing_measured_is_none_and_never_zero() -> None:
    assert distribution([]) == {"mean": None, "p50": None, "p90": None, "p99": None, "max": None}


def test_values_that_are_not_finite_are_left_out() -> None:
    assert distribution([math.nan, 2.0, math.inf]) == distribution(iter([2.0]))


@given(st.lists(st.floats(-1e12, 1e12), min_size=1))
def test_percentiles_are_always_in_order_and_within_the_values(values: list[float]) -> None:
    spread = distribution(values)
    p50, p90, p99, largest = (spread[key] for key in ("p50", "p90", "p99", "max"))
    assert p50 is not None
    assert p90 is not None
    assert p99 is not None
    assert largest == pytest.approx(max(values))
    assert min(values) <= p50 <= p90 <= p99 <= max(values)


@given(st.lists(st.integers(0, 9)), st.integers(1, 5), st.floats(0, 1))
def test_the_quantile_is_always_that_of_the_last_values(values: list[int], size: int, share: float) -> None:
    window = QuantileWindow(size)
    for value in values:
        window.add(value)
    last = sorted(values[-size:])
    assert len(window) == len(last)
    found = window.quantile(share, unknown=-1)
    if not last:
        assert found == -1
        return
    assert found in last
    assert sum(value <= found for value in last) >= share * len(last)
    smaller = [value for value in last if value < found]
    assert not smaller or len(smaller) < share * len(last)


def test_nothing_is_left_after_clearing() -> None:
    window = QuantileWindow(3)
    window.add(1)
    window.clear()
    window.add(5)
    assert window.quantile(0.0) == window.quantile(1.0) == 5


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1))
def test_the_median_is_the_standard_librarys(values):
    assert median(values) == statistics.median(values)
