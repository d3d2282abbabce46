from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.errors import TwixtError
from twixt.sim.accumulator import Accumulator

MS = 1_000_000


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
    counts, fractions = [], []
    for frame_ms in (250, 30, 30, 16, 200):
        counts.append(accumulator.add(frame_ms * MS))
        fractions.append(accumulator.fraction)
    assert counts == [2, 0, 1, 0, 2]
    assert fractions == [0.5, 0.8, 0.1, 0.26, 0.26]


@given(st.integers(1, 10**10), st.lists(st.integers(0, 10**12), max_size=50))
def test_nothing_is_ever_lost_however_time_is_cut_up(period_ns: int, pieces_ns: list[int]) -> None:
    accumulator = Accumulator(period_ns)
    counted = sum(accumulator.add(piece_ns) for piece_ns in pieces_ns)
    assert counted * period_ns + accumulator.left_over_ns == sum(pieces_ns)
    assert 0 <= accumulator.fraction < 1


def test_a_period_of_nothing_is_refused() -> None:
    with pytest.raises(TwixtError, match="must be > 0 ns, got 0"):
        Accumulator(0)
