"""Texts of times and rates: a readable unit for every size, three digits in each."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.render.measure.amounts import UNITS, number_text, rate_text, time_text

DAY_MS = 86_400_000.0


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0.0, "0 ms"), (-0.0, "0 ms"), (1e-6, "1.00 ns"), (850e-6, "850 ns"), (0.0123, "12.3 µs"), (0.1, "100 µs"),
        (1.0, "1.00 ms"), (16.6667, "16.7 ms"), (146.0, "146 ms"), (999.6, "1.00 s"), (4_000.0, "4.00 s"),
        (90_000.0, "90.0 s"), (150_000.0, "2.50 min"), (3 * 3_600_000.0, "3.00 h"), (DAY_MS, "24.0 h"),
        (28.77 * DAY_MS, "28.8 days"), (365.25 * DAY_MS * 31.7, "31.7 years"), (-20.0, "-20.0 ms"),
        (math.nan, "-"), (math.inf, "-"),
    ],
)  # fmt: skip
def test_a_time_has_the_unit_in_which_it_is_read(ms: float, text: str) -> None:
    assert time_text(ms) == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0.0, "0.00 x real time"), (1.0, "1.00 x real time"), (0.25, "0.25 x real time"), (16.0, "16.0 x real time"),
        (2_485_890.06, "28.8 days/s"), (1_000.0, "16.7 min/s"), (1e-6, "1.00 µs/s"), (3.2e9, "101 years/s"),
        (math.inf, "-"), (math.nan, "-"),
    ],
)  # fmt: skip
def test_a_rate_far_from_real_time_is_simulated_time_per_second(rate: float, text: str) -> None:
    assert rate_text(rate) == text


@given(st.floats(min_value=1e-6, max_value=1e15))
def test_the_text_of_a_time_always_is_within_one_percent_of_it(ms: float) -> None:
    number, unit = time_text(ms).split()
    length_ms = next(length for name, length, _ in UNITS if name == unit)
    assert float(number) * length_ms == pytest.approx(ms, rel=0.01)


@given(st.floats(min_value=-9999, max_value=9999))
def test_a_number_never_has_more_than_four_digits(number: float) -> None:
    assert sum(letter.isdigit() for letter in number_text(number)) <= 4
