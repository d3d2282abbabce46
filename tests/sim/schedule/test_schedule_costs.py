from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.quantiles import QuantileWindow
from twixt.sim.schedule.schedule import COST_STEPS, RARE_COST_SHARE, HeldRate, OverloadWindow, StepTimes


def load_after(*costs: int) -> OverloadWindow:
    load = OverloadWindow()
    for cost in costs:
        load.add(cost)
    return load


def test_nothing_measured_is_no_overload() -> None:
    assert not OverloadWindow().exceeds(0)


def test_one_slow_step_of_eight_is_no_overload_and_five_are() -> None:
    assert not load_after(*[1] * 7, 500).exceeds(16)
    assert not load_after(*[1] * 5, *[30] * 3).exceeds(16)
    assert load_after(*[1] * 3, *[30] * 5).exceeds(16)


def test_steps_before_the_last_eight_are_forgotten() -> None:
    assert not load_after(*[100] * 50, *[1] * 8).exceeds(16)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=3 * COST_STEPS))
def test_the_worst_cost_is_always_the_99th_percentile_of_the_latest_steps(costs: list[int]) -> None:
    worst = QuantileWindow(COST_STEPS)
    for cost in costs:
        worst.add(cost)
    assert worst.quantile(RARE_COST_SHARE) == np.percentile(costs[-COST_STEPS:], 99, method="inverted_cdf")


def test_one_slow_step_in_many_does_not_raise_the_worst_cost_and_two_do() -> None:
    worst = QuantileWindow(COST_STEPS)
    for _ in range(COST_STEPS - 1):
        worst.add(2)
    worst.add(500)
    assert worst.quantile(RARE_COST_SHARE) == 2
    worst.add(400)
    assert worst.quantile(RARE_COST_SHARE) == 400


def test_the_held_rate_is_simulated_over_wall_time_of_the_latest_snapshots() -> None:
    held = HeldRate()
    assert held.value(otherwise=1.0) == 1.0
    for k in range(100):
        held.add(k * 10, k * 40)
    assert held.value(otherwise=1.0) == 0.25
    held.clear()
    assert held.value(otherwise=1.0) == 1.0


def test_the_held_rate_moves_by_an_eighth_of_a_change_with_each_snapshot() -> None:
    held = HeldRate()
    due = 0
    values = []
    for k in range(20):
        due += 10 if k < 10 else 20
        held.add(k * 10, due)
        values.append(held.value(otherwise=1.0))
    assert values[9] == 1.0
    assert values == sorted(values, reverse=True)
    assert values[17] == 0.5


def test_busy_time_counts_from_the_last_step_without_waits_and_reach_from_where_a_wait_should_have_ended() -> None:
    times = StepTimes()
    assert not times.is_busy
    assert times.stepped(100, 130) == (30, None)
    assert times.is_busy
    times.published(137)
    times.waited(140, 190, 180)
    assert not times.is_busy
    assert times.stepped(191, 200) == (200 - 130 - 50, 200 - 180 + 7)
    assert times.cost_ns == 9
    assert times.stepped(205, 209) == (9, None)
    times.restart()
    assert times.stepped(500, 501) == (1, None)
