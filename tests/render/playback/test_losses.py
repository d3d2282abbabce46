"""What offset lost snapshots ask for."""

from __future__ import annotations

from twixt.render.playback.losses import MEMORY_NS, Losses

MS = 1_000_000
GAP = 100 * MS


def fed(multiples, late_ms: int = 80) -> Losses:
    losses = Losses()
    for k, intervals in enumerate(multiples):
        losses.add(k * GAP, late_ms * MS, intervals)
    return losses


def test_without_a_loss_nothing_is_asked_for():
    assert Losses().need_ns(GAP) is None
    assert fed([1] * 100).need_ns(GAP) is None


def test_losses_that_repeat_ask_for_their_gap_and_the_usual_lateness():
    assert fed(([1] * 19 + [2]) * 10).need_ns(GAP) == 280 * MS


def test_one_loss_in_a_long_time_asks_for_nothing():
    assert fed([1] * 150 + [2] + [1] * 50).need_ns(GAP) is None


def test_one_long_gap_among_shorter_ones_counts_as_a_shorter_one():
    assert fed(([1] * 19 + [2]) * 5 + [4] + [1] * 20).need_ns(GAP) == 280 * MS
    assert fed(([1] * 19 + [3]) * 5).need_ns(GAP) == 380 * MS


def test_losses_that_are_over_are_forgotten():
    calm = MEMORY_NS // GAP + 2
    assert fed(([1] * 19 + [2]) * 10 + [1] * calm).need_ns(GAP) is None
