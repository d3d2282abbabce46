"""How simulated time maps to wall time, and back."""

from __future__ import annotations

import math

import pytest

from twixt.ipc.plan import FASTEST, SLOWEST, Plan


def test_either_time_is_told_by_the_other() -> None:
    plan = Plan(1, 0, 1000, 50, 0.5)
    for sim_time_ns, wall_ns in ((50, 1000), (60, 1020), (0, 900)):
        assert plan.due_ns(sim_time_ns) == wall_ns
        assert plan.sim_time_at_ns(wall_ns) == sim_time_ns


def test_paused_nothing_more_falls_due() -> None:
    plan = Plan(1, 0, 1000, 50, 0.0)
    assert plan.due_ns(60) is None
    assert plan.sim_time_at_ns(5000) == 50


@pytest.mark.parametrize("rate", [0.0, SLOWEST, 1.0, FASTEST])
def test_a_rate_that_time_can_be_told_by_is_sound(rate: float) -> None:
    assert Plan(1, 0, 0, 0, rate).is_sound


@pytest.mark.parametrize("rate", [-1.0, SLOWEST / 2, 2 * FASTEST, math.inf, math.nan])
def test_any_other_rate_is_not(rate: float) -> None:
    assert not Plan(1, 0, 0, 0, rate).is_sound
