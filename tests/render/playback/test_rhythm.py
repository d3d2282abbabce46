"""What the latest snapshots have in common."""

from __future__ import annotations

import pytest

from twixt.render.playback.stream import Rhythm

MS = 1_000_000


def rhythm_of(gaps_ms, sim_gap_ms: float = 10) -> Rhythm:
    rhythm = Rhythm()
    for gap_ms in gaps_ms:
        rhythm.add_gap(round(gap_ms * MS), round(sim_gap_ms * MS))
    return rhythm


def test_one_odd_gap_does_not_change_the_interval_and_five_new_ones_do():
    assert rhythm_of([10] * 9 + [90]).interval_ns == 10 * MS
    assert rhythm_of([10] * 9 + [41] * 5).interval_ns == 41 * MS


def test_even_steps_change_by_nothing_and_uneven_ones_by_their_share():
    assert rhythm_of([10] * 20).slope_change == 0
    assert rhythm_of([10, 11] * 10).slope_change == pytest.approx(0.1, abs=0.01)
    assert rhythm_of([10] * 19 + [200]).slope_change == 0


def test_a_lost_snapshot_is_no_unevenness():
    rhythm = Rhythm()
    for k in range(20):
        lost = 2 if k % 3 == 0 else 1
        rhythm.add_gap(lost * 10 * MS, lost * 5 * MS)
    assert rhythm.slope_change == 0


def test_a_rest_is_long_and_moves_no_simulated_time_but_at_its_end():
    rhythm = rhythm_of([10] * 9)
    assert rhythm.rest_ns(500 * MS, 10 * MS) == 490 * MS
    assert rhythm.rest_ns(500 * MS, 30 * MS) == 470 * MS, "two of the three snapshots at its end got lost"
    assert not rhythm.rest_ns(500 * MS, 500 * MS)
    assert not rhythm.rest_ns(150 * MS, 10 * MS), "too short to be seen as a rest"
    assert not rhythm_of([120] * 9).rest_ns(300 * MS, 10 * MS), "slow physics is no rest"
    assert not Rhythm().rest_ns(500 * MS, 10 * MS)


def test_the_second_of_two_rests_alike_is_slow_physics_and_one_apart_is_a_rest_again():
    rhythm = rhythm_of([10] * 9)
    rhythm.add_rest(500 * MS, 10 * MS)
    assert rhythm.rest_ns(2000 * MS, 10 * MS), "the next key pressed, much later"
    assert not rhythm.rest_ns(400 * MS, 10 * MS)
    rhythm.add_gap(400 * MS, 10 * MS)
    rhythm.add_gap(450 * MS, 10 * MS)
    assert rhythm.interval_ns == 450 * MS
    rhythm = rhythm_of([10] * 9)
    rhythm.add_rest(500 * MS, 10 * MS)
    rhythm.add_gap(10 * MS, 10 * MS)
    assert rhythm.rest_ns(400 * MS, 10 * MS) == 390 * MS
    assert rhythm.interval_ns == 10 * MS


def test_a_debt_given_up_is_a_slip_and_a_debt_made_good_is_none():
    given_up, made_good = rhythm_of([16] * 9), rhythm_of([16] * 9)
    for lateness_ms in (0, 24, 48, 72):
        given_up.add_lateness(lateness_ms * MS, 16 * MS, 10 * MS)
        made_good.add_lateness(lateness_ms * MS, 16 * MS, 10 * MS)
    given_up.add_lateness(0, 113 * MS, 10 * MS)
    for lateness_ms in (57, 42, 27, 12, 0):
        made_good.add_lateness(lateness_ms * MS, 16 * MS, 10 * MS)
    assert (given_up.slips, made_good.slips) == (1, 0)


def test_scatter_follows_the_jitter_and_is_bounded_by_the_interval():
    rhythm = rhythm_of([10] * 9)
    for k in range(300):
        rhythm.add_lateness(4 * MS * (k % 2), 10 * MS, 10 * MS)
    assert rhythm.scatter_ns == pytest.approx(4 * MS, rel=0.02)
    for k in range(300):
        rhythm.add_lateness(900 * MS * (k % 2), 10 * MS, 10 * MS)
    assert rhythm.scatter_ns <= 10 * MS
