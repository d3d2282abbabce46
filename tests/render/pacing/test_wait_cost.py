"""Expected durations of work in spare time, from made-up durations."""

from __future__ import annotations

import pytest

from twixt.render.pacing.wait import ENOUGH, FIRST_NS, REFUSED_TO_FORGET, StepCost

NOW_NS = 10**12
MS = 1_000_000


def after(*took_ms: float) -> StepCost:
    cost = StepCost()
    for each in took_ms:
        cost.record(round(each * MS))
    return cost


def test_before_enough_is_known_the_longest_counts_and_no_less_than_a_guess():
    assert StepCost().expected_ns == FIRST_NS
    assert after(0.2).expected_ns == FIRST_NS
    assert after(0.2, 4.0, 0.3).expected_ns > 4.0 * MS


def test_one_hiccup_in_many_is_not_expected_again():
    assert after(*[0.6] * 40, 9.0).expected_ns < 1 * MS


def test_what_takes_longer_at_times_is_expected_to():
    assert after(*[0.5, 0.5, 0.9] * 20).expected_ns > 0.9 * MS


@pytest.mark.parametrize("took_ms", [0.3, 1.0, 3.0])
def test_work_fits_where_its_expected_duration_ends_in_time(took_ms):
    cost = after(*[took_ms] * ENOUGH)
    assert took_ms * MS < cost.expected_ns < 1.1 * took_ms * MS + 0.2 * MS
    assert cost.fits(NOW_NS, NOW_NS + cost.expected_ns)
    assert not cost.fits(NOW_NS, NOW_NS + cost.expected_ns - 1)
    assert not cost.fits(NOW_NS, NOW_NS - 1), "the time is over"


def test_durations_of_a_busy_minute_are_forgotten_where_nothing_fits_for_long():
    cost = after(*[20.0] * 60)
    tries = [cost.fits(NOW_NS, NOW_NS + 2 * MS) for _ in range(REFUSED_TO_FORGET + 1)]
    assert tries == [False] * REFUSED_TO_FORGET + [True]


def test_durations_that_fit_now_and_then_are_kept():
    cost = after(*[1.0] * 60)
    for number in range(2 * REFUSED_TO_FORGET):
        assert cost.fits(NOW_NS, NOW_NS + (2 * MS if number % 7 == 0 else MS)) is (number % 7 == 0)
