"""How a list of measured values is spread."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.figures import distribution


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
