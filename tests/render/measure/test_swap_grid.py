"""The display's instants from the returns of swap."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.render.measure.runs import FRAME_NS, MS, START_NS
from twixt.render.measure.evenness import count_refreshes, fit_grid


def returns(steps, late_ns=None):
    grid = START_NS + np.cumsum(steps) * FRAME_NS
    return (grid + (0 if late_ns is None else late_ns)).astype(np.int64)


def test_a_late_return_and_the_early_one_after_it_are_one_refresh_each():
    late = np.zeros(40, np.int64)
    late[20] = 9 * MS
    numbers, pieces = count_refreshes(returns([1] * 40, late), FRAME_NS)
    assert np.diff(numbers).tolist() == [1] * 39
    assert not pieces.any()


def test_a_refresh_that_was_missed_counts_two():
    steps = [1] * 40
    steps[25] = 2
    numbers, _ = count_refreshes(returns(steps), FRAME_NS)
    assert np.flatnonzero(np.diff(numbers) == 2).tolist() == [24]


@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=25)
def test_jitter_of_the_returns_and_single_late_ones_always_leave_the_grid(seed):
    rng = np.random.default_rng(seed)
    steps = np.ones(200, np.int64)
    steps[rng.integers(30, 170, 2)] = 2
    late = np.abs(rng.normal(0, 0.3 * MS, 200))
    late[rng.integers(20, 180, 4)] += 6 * MS
    true = returns(steps)
    grid = fit_grid((true + late).astype(np.int64), FRAME_NS)
    step_error = np.diff(grid.instants_ns) - np.diff(true)
    assert np.abs(step_error).max() < 0.35 * MS
    assert np.abs(step_error).mean() < 0.1 * np.abs(np.diff(late)).mean() + 0.02 * MS
    assert abs(grid.period_ns / FRAME_NS - 1) < 0.002


def test_a_hint_that_is_five_percent_off_still_finds_the_refresh():
    grid = fit_grid(returns([1] * 300), FRAME_NS * 1.05)
    assert abs(grid.period_ns / FRAME_NS - 1) < 1e-4


def test_a_display_whose_timer_wanders_is_followed():
    rng = np.random.default_rng(4)
    true = (START_NS + np.cumsum(FRAME_NS + rng.normal(0, 0.05 * MS, 600))).astype(np.int64)
    fitted = fit_grid(true, FRAME_NS).instants_ns
    assert np.abs(fitted - true).max() < 0.5 * MS


def test_returns_that_waited_for_nothing_begin_a_new_piece():
    instants = np.r_[START_NS + np.arange(5) * MS, START_NS + 5 * MS + np.arange(1, 60) * FRAME_NS].astype(np.int64)
    grid = fit_grid(instants, FRAME_NS)
    assert np.abs(np.diff(grid.instants_ns[10:]) - FRAME_NS).max() < 0.05 * MS


@given(st.lists(st.integers(0, 60 * MS), max_size=60))
@settings(deadline=None)
def test_the_instants_never_go_back_whatever_the_returns(gaps):
    instants = START_NS + np.cumsum(np.array(gaps, np.int64))
    fitted = fit_grid(instants, FRAME_NS).instants_ns
    assert len(fitted) == len(gaps)
    assert (np.diff(fitted) >= 0).all()
