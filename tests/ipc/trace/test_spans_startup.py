"""What a start is spent on: parts that add up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.trace import spans


@pytest.fixture(autouse=True)
def nothing_has_begun() -> Iterator[None]:
    spans.forget_start()
    yield
    spans.forget_start()


def test_a_part_lasts_from_the_end_of_the_one_before_whoever_tells_first() -> None:
    spans.end_start_part("window", 90_000_000)
    spans.end_start_part("imports", 50_000_000)
    spans.end_start_part("frame", 100_000_000)
    assert spans.start_phases_ms(20_000_000) == {"imports": 30.0, "window": 40.0, "frame": 10.0}


def test_a_name_counts_once_at_its_first_end() -> None:
    spans.end_start_part("frame", 5_000_000)
    spans.end_start_part("frame", 9_000_000)
    assert spans.start_phases_ms(0) == {"frame": 5.0}


def test_what_ended_before_the_command_is_no_part_of_it() -> None:
    spans.end_start_part("an earlier run", 5_000_000)
    spans.end_start_part("frame", 9_000_000)
    assert spans.start_phases_ms(6_000_000) == {"frame": 3.0}


def test_a_part_ends_now_unless_told() -> None:
    spans.end_start_part("first")
    spans.end_start_part("second")
    first, second = spans.start_phases_ms(0).items()
    assert (first[0], second[0]) == ("first", "second")
    assert second[1] >= 0


@given(st.dictionaries(st.text(), st.integers(0, 10**12), min_size=1))
def test_parts_always_add_up_to_the_whole_way(ends: dict[str, int]) -> None:
    spans.forget_start()
    for part, at_ns in ends.items():
        spans.end_start_part(part, at_ns)
    phases_ms = spans.start_phases_ms(0)
    assert set(phases_ms) == set(ends)
    assert sum(phases_ms.values()) == pytest.approx(max(ends.values()) / 1e6)
    assert all(ms >= 0 for ms in phases_ms.values())
