"""Playback offset that a history of required ones, and of losses, asks for."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from twixt.render.playback.estimator import (
    LOSS_MEMORY_NS,
    MARGIN_NS,
    MEMORY_NS,
    SCATTER_MARGIN_MAX_NS,
    STALL_MEMORY_NS,
    LossEstimator,
    OffsetEstimator,
    RequiredOffset,
)

MS = 1_000_000
GAP = 16 * MS
LOSS_GAP = 100 * MS


def asked(offsets_ms, gap_ns: int = GAP, every_ns: int = GAP, scatter_ns: float = 0.0) -> float:
    estimator = OffsetEstimator()
    for k, offset_ms in enumerate(offsets_ms):
        estimator.add(k * every_ns, RequiredOffset(round(offset_ms * MS), gap_ns, 1.0), gap_ns)
    return estimator.offset_ns(gap_ns, scatter_ns)


def test_nothing_known_asks_for_no_offset():
    assert OffsetEstimator().offset_ns(GAP, 0.0) == 0


def test_physics_ahead_asks_for_no_offset():
    assert asked([-20] * 100) == 0


def test_lateness_asks_for_itself_and_a_margin():
    assert asked([30] * 100) == 30 * MS + MARGIN_NS


def test_one_rare_event_buys_no_lasting_latency_and_a_second_one_does():
    assert asked([17] * 100 + [90] + [17] * 100) == 17 * MS + MARGIN_NS
    assert asked([17] * 100 + [90] + [17] * 50 + [80] + [17] * 50) == 80 * MS + MARGIN_NS


def test_at_the_start_the_largest_counts():
    assert asked([17, 60]) == 60 * MS + MARGIN_NS


def test_a_stall_and_what_it_held_up_buy_no_latency():
    assert asked([17] * 50 + [500, 350, 200, 100, 50] + [17] * 50 + [500, 350, 200, 100, 50]) == 17 * MS + MARGIN_NS


def test_what_a_stall_held_up_buys_no_latency_however_many_steps_catch_up():
    catching_up = [500 - 6 * k for k in range(80)]
    assert asked(([17] * 50 + catching_up) * 3, every_ns=8 * MS) == 17 * MS + MARGIN_NS


def test_lateness_that_grows_by_a_stall_and_stays_is_none():
    assert asked([17] * 50 + [330] * 40) == 330 * MS + MARGIN_NS


def test_what_is_older_than_the_memory_is_forgotten():
    calm = int(MEMORY_NS / GAP * 1.2)
    assert asked([80] * 10 + [17] * calm) == 17 * MS + MARGIN_NS


def test_a_shorter_interval_estimator_less_at_once():
    estimator = OffsetEstimator()
    for k in range(50):
        estimator.add(k * 41 * MS, RequiredOffset(41 * MS, 41 * MS, 1.0), 41 * MS)
    assert estimator.offset_ns(41 * MS, 0.0) == pytest.approx(41 * MS + MARGIN_NS)
    assert estimator.offset_ns(16 * MS, 0.0) == pytest.approx(16 * MS + MARGIN_NS)
    assert estimator.offset_ns(90 * MS, 0.0) == pytest.approx(41 * MS + MARGIN_NS), "a longer one shows itself"


def test_scatter_widens_the_margin_within_reason():
    steady, scattered, wild = (asked([30] * 50, scatter_ns=scatter) for scatter in (0.0, 2.0 * MS, 900.0 * MS))
    assert steady < scattered < wild == steady + SCATTER_MARGIN_MAX_NS


def test_single_losses_are_covered_and_do_not_swing_the_offset():
    """One in twenty lost, 60 to 100 ms late: the offset stays within a few ms of two intervals and the late ones."""
    generator, estimator, offsets = random.Random(1), OffsetEstimator(), []
    for k in range(1200):
        late = generator.uniform(60 * MS, 100 * MS)
        intervals = 2 if generator.random() < 0.05 else 1
        gap = intervals * 100 * MS
        estimator.add(k * 100 * MS, RequiredOffset(round(late + gap), gap, intervals, round(late), intervals), 100 * MS)
        if k > 300:
            offsets.append(estimator.offset_ns(100 * MS, 13 * MS) / MS)
    assert 275 < min(offsets) <= max(offsets) < 302
    assert max(abs(b - a) for a, b in pairwise(offsets)) < 5


def test_the_longest_stall_is_remembered_for_a_cushion_through_a_change_of_scale():
    estimator = OffsetEstimator()
    for offset_ms in [17] * 50 + [500] + [17] * 50 + [30_000] + [17] * 50:
        estimator.add(0, RequiredOffset(offset_ms * MS, GAP, 1.0), GAP)
    assert estimator.stall_offset_ns() == 500 * MS + MARGIN_NS, "what lasts half a minute is a stop, and no stall"
    assert estimator.rescaled().stall_offset_ns() == estimator.stall_offset_ns()
    estimator.add(STALL_MEMORY_NS + 1, RequiredOffset(17 * MS, GAP, 1.0), GAP)
    assert estimator.stall_offset_ns() == 17 * MS + MARGIN_NS, "and forgotten after some minutes"


def fed(multiples, late_ms: int = 80) -> LossEstimator:
    losses = LossEstimator()
    for k, intervals in enumerate(multiples):
        losses.add(k * LOSS_GAP, late_ms * MS, intervals)
    return losses


def test_without_a_loss_nothing_is_asked_for():
    assert LossEstimator().offset_ns(LOSS_GAP) is None
    assert fed([1] * 100).offset_ns(LOSS_GAP) is None


def test_losses_that_repeat_ask_for_their_gap_and_the_usual_lateness():
    assert fed(([1] * 19 + [2]) * 10).offset_ns(LOSS_GAP) == 280 * MS


def test_one_loss_in_a_long_time_asks_for_nothing():
    assert fed([1] * 150 + [2] + [1] * 50).offset_ns(LOSS_GAP) is None


def test_one_long_gap_among_shorter_ones_counts_as_a_shorter_one():
    assert fed(([1] * 19 + [2]) * 5 + [4] + [1] * 20).offset_ns(LOSS_GAP) == 280 * MS
    assert fed(([1] * 19 + [3]) * 5).offset_ns(LOSS_GAP) == 380 * MS


def test_losses_that_are_over_are_forgotten():
    calm = LOSS_MEMORY_NS // LOSS_GAP + 2
    assert fed(([1] * 19 + [2]) * 10 + [1] * calm).offset_ns(LOSS_GAP) is None
