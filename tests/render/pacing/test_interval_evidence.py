"""What intervals would have cost: the replay of work on a queue, and what a queue holds."""

from __future__ import annotations

import pytest

from twixt.render.pacing.interval_evidence import cost_on_queue, cost_on_refreshes, queue_holds_ns, usual_before

MS = 1_000_000
PERIOD_NS = 16_666_667


def on_queue(cycles: list[int], refreshes: int) -> float:
    return cost_on_queue(cycles, usual_before(cycles), refreshes, PERIOD_NS)


def test_a_queue_forgives_a_long_frame_that_short_ones_follow() -> None:
    cycles = [25 * MS if k % 6 == 3 else 8 * MS for k in range(240)]
    assert on_queue(cycles, 1) == pytest.approx(0, abs=1)
    assert cost_on_refreshes(cycles, usual_before(cycles), 1, PERIOD_NS, 0) > 200


def test_work_between_one_refresh_and_two_drains_a_queue_and_costs_a_jerk_and_a_frame_each_time() -> None:
    cycles = [20 * MS] * 300
    assert on_queue(cycles, 1) == pytest.approx(10 * 16.67 + 10 * 16.7, rel=0.03)
    assert on_queue(cycles, 2) == pytest.approx(30 * 16.7, rel=0.02)


@pytest.mark.parametrize("refreshes", [1, 2, 3])
def test_a_queue_holds_what_costs_the_same_at_one_refresh_more(refreshes: int) -> None:
    holds_ns = queue_holds_ns(refreshes, PERIOD_NS)
    for share, is_dearer in ((0.97, False), (1.03, True)):
        cycles = [round(share * holds_ns)] * 600
        assert (on_queue(cycles, refreshes) > on_queue(cycles, refreshes + 1)) is is_dearer
