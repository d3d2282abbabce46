"""Tests of the credit of one page's stream, by itself and on simulated links."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.relay.stream.credit_table import FAR, FULL, FULL_LINKS, LOSSY_LINKS, OPEN_LINKS, at, outcome, table, two
from tests.relay.stream.link_model import MS, Link, S
from twixt.relay.stream.credit import LEAST_WINDOW, Credit

STOPPED_S = (10, 17)
STOP = ((STOPPED_S[0] * S, STOPPED_S[1] * S),)


def started(window: int = LEAST_WINDOW) -> Credit:
    """Credit whose window has grown to `window`, with nothing on the way."""
    credit = Credit()
    number, now = 0, 0
    while credit.window < window:
        while credit.may_send(now):
            number += 1
            credit.sent(number, now)
        now += 100 * MS
        credit.acknowledged(number, now)
    return credit


def fill(credit: Credit, now_ns: int, first: int = 1_000_001) -> int:
    """Sends as many messages as the window allows, with numbers from `first`. Returns how many."""
    count = 0
    while credit.may_send(now_ns):
        credit.sent(first + count, now_ns)
        count += 1
    return count


def test_the_first_message_is_sent_alone_and_measures_the_base() -> None:
    credit = Credit()
    assert fill(credit, 0) == 1
    assert started().window >= LEAST_WINDOW
    assert started().base_ns == 100 * MS


def test_a_page_that_never_acknowledges_gets_its_window_and_no_more() -> None:
    credit = started(4)
    assert fill(credit, 10 * S) == credit.window
    assert not credit.may_send(10**15)
    assert credit.unacknowledged == credit.window


def test_an_acknowledgement_makes_room_for_all_messages_up_to_its_number() -> None:
    credit = started(4)
    count = fill(credit, 10 * S)
    credit.acknowledged(1_000_000 + count, 11 * S)
    assert credit.unacknowledged == 0


def test_a_repeated_acknowledgement_has_no_effect() -> None:
    credit = started(4)
    count = fill(credit, 10 * S)
    credit.acknowledged(1_000_001, 11 * S)
    credit.acknowledged(1_000_001, 12 * S)
    credit.acknowledged(1, 12 * S)
    assert credit.unacknowledged == count - 1


@pytest.mark.parametrize("number", [-1, 0, 1_000_003, 10**9])
def test_an_acknowledgement_of_a_message_that_was_not_sent_is_refused(number: int) -> None:
    credit = started(2)
    credit.sent(1_000_001, 10 * S)
    with pytest.raises(ValueError, match=f"acknowledged message {number}, but the last message sent is 1000001"):
        credit.acknowledged(number, 11 * S)
    assert credit.unacknowledged == 1


def test_a_late_acknowledgement_is_counted() -> None:
    credit = started(4)
    before = credit.late
    credit.sent(1_000_001, 10 * S)
    credit.acknowledged(1_000_001, 11 * S)
    assert credit.late == before + 1


def test_equal_instants_of_a_coarse_clock_do_no_harm() -> None:
    credit = Credit()
    for number in range(1, 100):
        credit.sent(number, 5)
        credit.acknowledged(number, 5)
    assert credit.window >= LEAST_WINDOW


@pytest.mark.parametrize("name", OPEN_LINKS)
def test_a_link_that_is_not_full_gets_every_snapshot(name: str) -> None:
    assert outcome(OPEN_LINKS[name]).share() >= 0.998


@pytest.mark.parametrize("seed", range(2, 5))
def test_jitter_does_not_shrink_the_window_for_two_minutes(seed: int) -> None:
    run = outcome(replace(FAR, seconds=120, seed=seed))
    assert run.share() >= 0.998
    assert run.window_range()[-1] <= 16


@pytest.mark.parametrize("name", [name for name in FULL_LINKS if "100, 20" not in name])
@pytest.mark.parametrize("seed", [1, 2])
def test_on_a_full_link_the_age_stays_below_the_target(name: str, seed: int) -> None:
    link = replace(FULL_LINKS[name], seed=seed)
    run = outcome(link)
    assert at(run.ages_ms(), 0.99) <= run.target_age_ms(link.bandwidth(0))
    carried = run.share() * link.rate_hz * link.size_bytes
    assert carried >= 0.88 * link.bandwidth(0)


def test_the_base_does_not_creep_on_a_link_that_stays_full() -> None:
    run = outcome(replace(FULL, delay_ns=10 * MS, seconds=120))
    assert at(run.ages_ms(100), 0.5) <= 1.1 * at(run.ages_ms(3, 20), 0.5)


def test_the_window_follows_the_bandwidth() -> None:
    run = outcome(FULL_LINKS["20 ms, 100, 20, 100 Mbit/s"])
    assert run.share(5, 10) >= 0.998
    assert at(run.ages_ms(11, 20), 0.99) <= run.target_age_ms(20 * 125e3)
    assert run.share(25, 30) >= 0.998


def test_a_longer_route_is_learned_within_ten_seconds() -> None:
    run = outcome(Link(delay_ns=20 * MS, detour_ns=80 * MS))
    assert run.share(5, 10) >= 0.998
    assert run.share(20, 30) >= 0.998


@pytest.mark.parametrize("stop", ["stops", "hidden"])
def test_a_page_that_stops_gets_its_credit_of_old_messages_and_then_every_snapshot(stop: str) -> None:
    run = outcome(replace(FAR, **{stop: STOP}))
    first, last = STOPPED_S
    meanwhile = sum(run.sent[i] is not None for i, ns in enumerate(run.published) if first * S < ns < last * S)
    assert meanwhile <= run.window_range(5, first)[-1] + 1
    assert run.share(last + 1) >= 0.998


@pytest.mark.parametrize("name", LOSSY_LINKS)
def test_with_loss_no_fewer_snapshots_arrive_than_with_a_credit_of_two(name: str) -> None:
    link = LOSSY_LINKS[name]
    assert outcome(link).share() >= 0.95 * outcome(link, two).share()


def test_contents_pass_between_the_snapshots() -> None:
    run = outcome(Link(delay_ns=20 * MS, size_bytes=28_000, bandwidth=lambda now_ns: 100 * 125e3, pieces=100))
    assert run.share(5, 8) > 0.3
    assert run.share(20, 30) >= 0.998


def test_the_page_of_the_wire_has_the_present_table() -> None:
    page = Path(__file__).parents[3] / "docs" / "wire.md"
    assert table() in page.read_text()
