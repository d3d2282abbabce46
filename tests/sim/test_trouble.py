from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from twixt.sim.trouble import Trouble


class TickingClock:
    """Every look costs 10 microseconds, as a piece of work does."""

    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        self.ns += 10_000
        return self.ns


def test_the_same_seed_gives_the_same_lengths() -> None:
    first, same, other = (Trouble((20, 120), seed) for seed in (1, 1, 2))
    lengths = [first.next_work_ns() for _ in range(50)]
    assert lengths == [same.next_work_ns() for _ in range(50)]
    assert lengths != [other.next_work_ns() for _ in range(50)]


@given(st.integers(0, 2**40), st.floats(0, 200), st.floats(0, 200))
def test_lengths_always_lie_in_the_range_asked_for(seed: int, one: float, other: float) -> None:
    low, high = sorted((one, other))
    length_ns = Trouble((low, high), seed).next_work_ns()
    assert round(low * 1e6) <= length_ns <= round(high * 1e6)


def test_lengths_are_spread_over_the_whole_range() -> None:
    trouble = Trouble((20, 120), 0)
    lengths_ms = [trouble.next_work_ns() / 1e6 for _ in range(1000)]
    assert min(lengths_ms) < 25
    assert max(lengths_ms) > 115
    assert 65 < sum(lengths_ms) / 1000 < 75


def test_work_lasts_as_long_as_it_was_drawn() -> None:
    clock = TickingClock()
    Trouble((40, 40), 0, clock).work()
    assert 40e6 <= clock.ns <= 40.1e6


def test_no_trouble_is_no_work_and_reads_no_clock() -> None:
    clock = TickingClock()
    trouble = Trouble(None, 0, clock)
    trouble.work()
    assert clock.ns == 0


def test_trouble_may_be_changed_while_running() -> None:
    trouble = Trouble(None, 0)
    trouble.slow_ms = (3.0, 3.0)
    assert trouble.next_work_ns() == 3_000_000
    trouble.slow_ms = None
    assert trouble.next_work_ns() == 0
