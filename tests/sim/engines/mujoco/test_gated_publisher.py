"""How often states are published where the user names no rate: pure, by lists of costs."""

from __future__ import annotations

import pytest

from twixt.sim.engines.mujoco.gated_publisher import LEAST_HZ, SHARE, USUAL_HZ, thrifty_period_ns

US, S = 1_000, 1_000_000_000


def test_cheap_states_are_published_at_the_usual_rate() -> None:
    assert thrifty_period_ns([]) == thrifty_period_ns([50 * US] * 9) == round(S / USUAL_HZ)


@pytest.mark.parametrize("cost_us", [100, 250, 600])
def test_dearer_ones_take_their_share_of_the_time_and_no_more(cost_us: int) -> None:
    assert cost_us * US / thrifty_period_ns([cost_us * US] * 9) == pytest.approx(SHARE, rel=1e-3)


def test_the_dearest_still_come() -> None:
    assert thrifty_period_ns([100_000 * US]) == round(S / LEAST_HZ)


def test_a_publish_that_was_interrupted_counts_for_little() -> None:
    assert thrifty_period_ns([450 * US] * 8 + [30_000 * US]) == thrifty_period_ns([450 * US])
