"""The last few values, and where they lie."""

from __future__ import annotations

import statistics

from hypothesis import given
from hypothesis import strategies as st

from twixt.render.recent import Recent, median


@given(st.lists(st.integers(0, 9)), st.integers(1, 5), st.floats(0, 1))
def test_the_quantile_is_always_that_of_the_last_values(values: list[int], size: int, share: float) -> None:
    recent = Recent(size)
    for value in values:
        recent.add(value)
    last = sorted(values[-size:])
    assert len(recent) == len(last)
    found = recent.quantile(share, unknown=-1)
    if not last:
        assert found == -1
        return
    assert found in last
    assert sum(value <= found for value in last) >= share * len(last)
    smaller = [value for value in last if value < found]
    assert not smaller or len(smaller) < share * len(last)


def test_nothing_is_left_after_clearing() -> None:
    recent = Recent(3)
    recent.add(1)
    recent.clear()
    recent.add(5)
    assert recent.quantile(0.0) == recent.quantile(1.0) == 5


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1))
def test_the_median_is_the_standard_librarys(values):
    assert median(values) == statistics.median(values)
