"""What a start is spent on: parts that add up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.trace import startup_times


@pytest.fixture(autouse=True)
def nothing_has_begun() -> Iterator[None]:
    startup_times.forget()
    yield
    startup_times.forget()


def test_a_part_lasts_from_the_end_of_the_one_before_whoever_tells_first() -> None:
    startup_times.ended("window", 90_000_000)
    startup_times.ended("imports", 50_000_000)
    startup_times.ended("frame", 100_000_000)
    assert startup_times.phases_ms(20_000_000) == {"imports": 30.0, "window": 40.0, "frame": 10.0}


def test_a_name_counts_once_at_its_first_end() -> None:
    startup_times.ended("frame", 5_000_000)
    startup_times.ended("frame", 9_000_000)
    assert startup_times.phases_ms(0) == {"frame": 5.0}


def test_what_ended_before_the_command_is_no_part_of_it() -> None:
    startup_times.ended("an earlier run", 5_000_000)
    startup_times.ended("frame", 9_000_000)
    assert startup_times.phases_ms(6_000_000) == {"frame": 3.0}


def test_a_part_ends_now_unless_told() -> None:
    startup_times.ended("first")
    startup_times.ended("second")
    first, second = startup_times.phases_ms(0).items()
    assert (first[0], second[0]) == ("first", "second")
    assert second[1] >= 0


@given(st.dictionaries(st.text(), st.integers(0, 10**12), min_size=1))
def test_parts_always_add_up_to_the_whole_way(ends: dict[str, int]) -> None:
    startup_times.forget()
    for part, at_ns in ends.items():
        startup_times.ended(part, at_ns)
    phases_ms = startup_times.phases_ms(0)
    assert set(phases_ms) == set(ends)
    assert sum(phases_ms.values()) == pytest.approx(max(ends.values()) / 1e6)
    assert all(ms >= 0 for ms in phases_ms.values())
