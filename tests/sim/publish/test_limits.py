from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.errors import TwixtError
from twixt.sim.publish.limits import (
    BURST,
    LEAST_HZ,
    SHARE,
    USUAL_HZ,
    Accumulator,
    PublishGate,
    PublishLimit,
    one_percent_period_ns,
)

US, MS, S = 1_000, 1_000_000, 1_000_000_000


def test_frames_of_10_15_18_and_16_ms_hold_no_no_one_and_no_step_of_33_333_ms() -> None:
    accumulator = Accumulator(33_333_000)
    steps, left_over_ms = [], []
    for frame_ms in (10, 15, 18, 16):
        steps.append(accumulator.add(frame_ms * MS))
        left_over_ms.append(accumulator.left_over_ns / MS)
    assert steps == [0, 0, 1, 0]
    assert left_over_ms == [10, 25, 9.667, 25.667]


def test_frames_of_250_30_30_16_and_200_ms_hold_2_0_1_0_and_2_periods_of_100_ms() -> None:
    accumulator = Accumulator(100 * MS)
    counts, left_over_ms = [], []
    for frame_ms in (250, 30, 30, 16, 200):
        counts.append(accumulator.add(frame_ms * MS))
        left_over_ms.append(accumulator.left_over_ns / MS)
    assert counts == [2, 0, 1, 0, 2]
    assert left_over_ms == [50, 80, 10, 26, 26]


@given(st.integers(1, 10**10), st.lists(st.integers(0, 10**12), max_size=50))
def test_nothing_is_ever_lost_however_time_is_cut_up(period_ns: int, pieces_ns: list[int]) -> None:
    accumulator = Accumulator(period_ns)
    counted = sum(accumulator.add(piece_ns) for piece_ns in pieces_ns)
    assert counted * period_ns + accumulator.left_over_ns == sum(pieces_ns)
    assert 0 <= accumulator.left_over_ns < period_ns


def test_a_period_of_nothing_is_refused() -> None:
    with pytest.raises(TwixtError, match="must be > 0 ns, got 0"):
        Accumulator(0)


def test_a_rested_limit_lets_a_burst_go_and_then_one_each_period() -> None:
    limit = PublishLimit(100)
    for _ in range(BURST):
        assert limit.ready_ns(1000) == 1000
        limit.record(1000)
    assert limit.ready_ns(1000) == 1000 + 10 * MS
    assert limit.ready_ns(4 * MS) == 1000 + 10 * MS
    assert limit.ready_ns(11 * MS) == 11 * MS
    limit.record(11 * MS)
    assert limit.ready_ns(11 * MS) == 1000 + 20 * MS


@given(st.floats(1, 1000), st.lists(st.integers(0, 10**9), min_size=1, max_size=200))
def test_never_more_than_the_limit_and_a_burst_are_ready_over_any_time(hz: float, gaps_ns: list[int]) -> None:
    limit = PublishLimit(hz)
    now_ns, taken = 0, 0
    for gap_ns in gaps_ns:
        now_ns += gap_ns
        while limit.ready_ns(now_ns) <= now_ns:
            limit.record(now_ns)
            taken += 1
    assert taken <= now_ns / limit.period_ns + BURST


@given(st.lists(st.integers(-3 * MS, 3 * MS), min_size=1, max_size=200))
def test_a_world_that_steps_at_just_the_limit_is_never_held_back_by_a_little_jitter(jitter_ns: list[int]) -> None:
    limit = PublishLimit(60)
    for k, early_or_late_ns in enumerate(jitter_ns):
        now_ns = k * limit.period_ns + early_or_late_ns
        assert limit.ready_ns(now_ns) == now_ns
        limit.record(now_ns)


def test_a_thousand_steps_a_second_publish_120() -> None:
    limit = PublishLimit(120)
    taken = [k for k in range(10_000) if limit.ready_ns(k * MS) <= k * MS and limit.record(k * MS) is None]
    assert 1200 <= len(taken) <= 1200 + BURST
    gaps = {b - a for a, b in zip(taken[BURST:], taken[BURST + 1 :], strict=False)}
    assert gaps == {8, 9}


def test_cheap_states_are_published_at_the_usual_rate() -> None:
    assert one_percent_period_ns([]) == one_percent_period_ns([50 * US] * 9) == round(S / USUAL_HZ)


@pytest.mark.parametrize("cost_us", [100, 250, 600])
def test_dearer_ones_take_their_share_of_the_time_and_no_more(cost_us: int) -> None:
    assert cost_us * US / one_percent_period_ns([cost_us * US] * 9) == pytest.approx(SHARE, rel=1e-3)


def test_the_dearest_still_come() -> None:
    assert one_percent_period_ns([100_000 * US]) == round(S / LEAST_HZ)


def test_a_publish_that_was_interrupted_counts_for_little() -> None:
    assert one_percent_period_ns([450 * US] * 8 + [30_000 * US]) == one_percent_period_ns([450 * US])


def test_a_gate_opens_on_a_grid_and_makes_up_for_one_period_at_most() -> None:
    gate = PublishGate(100, 0)
    opened_ms = []
    for now_ms in range(0, 200, 3):
        if not 50 < now_ms < 90 and now_ms * MS >= gate.next_ns:
            gate.record(now_ms * MS)
            opened_ms.append(now_ms)
    assert opened_ms == [0, 12, 21, 30, 42, 90, 93, 102, 111, 120, 132, 141, 150, 162, 171, 180, 192]


def test_without_a_rate_the_gate_waits_as_long_as_the_last_publishes_ask_for() -> None:
    gate = PublishGate(None, 0)
    gate.record(0)
    assert gate.next_ns == round(S / USUAL_HZ)
    for _ in range(9):
        gate.record_cost(0, 250 * US)
    gate.record(10 * MS)
    assert gate.next_ns == round(S / USUAL_HZ) + one_percent_period_ns([250 * US])
    gate.restart(2 * S)
    assert gate.next_ns == 2 * S + one_percent_period_ns([250 * US])
