"""Tests of the credit of one page's stream."""

import pytest

from twixt.relay.stream.credit import LEAST_WINDOW, Credit


def filled() -> Credit:
    credit = Credit()
    for number in range(1, LEAST_WINDOW + 1):
        assert credit.may_send(number)
        credit.sent(number, 1_000, number)
    return credit


def test_a_page_that_never_acknowledges_gets_its_window_and_no_more() -> None:
    credit = filled()
    assert not credit.may_send(10**12)
    assert credit.unacknowledged == LEAST_WINDOW


def test_an_acknowledgement_makes_room_for_all_messages_up_to_its_number() -> None:
    credit = filled()
    credit.acknowledged(LEAST_WINDOW, 100)
    assert credit.may_send(100)
    assert credit.unacknowledged == 0
    assert credit.bytes_per_second(100) == 1_000 * LEAST_WINDOW
    assert credit.bytes_per_second(10**10) == 0


def test_a_repeated_acknowledgement_has_no_effect() -> None:
    credit = filled()
    credit.acknowledged(1, 100)
    credit.acknowledged(1, 100)
    assert credit.unacknowledged == LEAST_WINDOW - 1
    assert credit.bytes_per_second(100) == 1_000


@pytest.mark.parametrize("number", [-1, 0, LEAST_WINDOW + 1, 10**9])
def test_an_acknowledgement_of_a_message_that_was_not_sent_is_refused(number: int) -> None:
    credit = filled()
    with pytest.raises(ValueError, match=f"acknowledged message {number}"):
        credit.acknowledged(number, 100)
    assert credit.unacknowledged == LEAST_WINDOW
