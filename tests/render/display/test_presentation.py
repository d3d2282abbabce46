"""The book of a display's answers: what is believed, what is not, and when it is not asked any more."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.render.display.presentation import LATEST_NS, MOST_FALSE, MOST_OUT, Answers

FRAME_NS, START_NS = 16_666_667, 10**12


def asked(count: int, first: int = 1) -> Answers:
    book = Answers()
    for number in range(first, first + count):
        book.asked(number, START_NS + number * FRAME_NS)
    return book


def test_an_answer_belongs_to_its_swap_whatever_the_order():
    book = asked(3)
    now_ns = START_NS + 4 * FRAME_NS
    assert book.presented(2, now_ns - 9, 0, "vsync", now_ns)
    book.was_discarded(1, now_ns)
    assert book.presented(3, now_ns, FRAME_NS, "", now_ns)
    said = book.take()
    assert [(word.swap_number, word.was_shown) for word in said] == [(2, True), (1, False), (3, True)]
    assert said[0].flags == "vsync"
    assert [word.refresh_ns for word in said] == [None, None, FRAME_NS]
    assert book.take() == []


def test_a_swap_is_answered_once():
    book = asked(1)
    now_ns = START_NS + 2 * FRAME_NS
    assert book.presented(1, now_ns, 0, "", now_ns)
    assert not book.presented(1, now_ns + 1, 0, "", now_ns)
    assert not book.presented(7, now_ns + 2, 0, "", now_ns)
    assert len(book.take()) == 1


@pytest.mark.parametrize(
    "present_ns",
    [START_NS - FRAME_NS, 0, -5, START_NS + 3 * FRAME_NS + 2 * LATEST_NS, (1 << 96), START_NS + FRAME_NS - 2_000_000],
)
def test_an_instant_that_cannot_be_is_no_present(present_ns):
    book = asked(1)
    assert not book.presented(1, present_ns, 0, "", START_NS + 3 * FRAME_NS)
    assert book.take() == []
    assert book.given_up == ""


def test_a_display_that_always_says_what_cannot_be_is_not_asked_any_more():
    book = Answers()
    for number in range(MOST_FALSE):
        assert not book.given_up
        book.asked(number, START_NS)
        book.presented(number, 17, 0, "", START_NS)
    assert "cannot be" in book.given_up


def test_a_display_that_never_answers_is_not_asked_any_more():
    book = asked(MOST_OUT)
    assert not book.given_up
    book.asked(MOST_OUT + 1, START_NS)
    assert "never answers" in book.given_up


def test_a_display_that_stops_to_answer_is_not_asked_any_more_and_one_that_misses_some_is():
    book = asked(1)
    assert book.presented(1, START_NS + 2 * FRAME_NS, 0, "", START_NS + 2 * FRAME_NS)
    for number in range(2, 10 * MOST_OUT):
        now_ns = START_NS + number * FRAME_NS
        book.asked(number, now_ns)
        if number % 3 == 0:
            assert book.presented(number, now_ns + 1, 0, "", now_ns + FRAME_NS)
    assert not book.given_up
    for number in range(10 * MOST_OUT, 11 * MOST_OUT + 2):
        book.asked(number, START_NS + number * FRAME_NS)
    assert "stopped to answer" in book.given_up


def test_what_is_out_is_bounded():
    book, forgotten = Answers(), []
    for number in range(1, 20 * MOST_OUT):
        now_ns = START_NS + number * FRAME_NS
        forgotten.append(book.asked(number, now_ns))
        if number % 2:
            book.presented(number, now_ns, 0, "", now_ns)
    assert not book.given_up
    told = [number for number in forgotten if number is not None]
    assert told == sorted(set(told))
    assert all(number % 2 == 0 for number in told)
    assert len(told) > 9 * MOST_OUT - 2 * MOST_OUT


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(-(1 << 70), 1 << 70), st.booleans())))
def test_presents_grow_and_each_swap_is_told_of_once_whatever_is_said(words):
    book = asked(30)
    now_ns = START_NS + 40 * FRAME_NS
    for number, offset_ns, shown in words:
        if shown:
            book.presented(number, now_ns + offset_ns, offset_ns, "", now_ns)
        else:
            book.was_discarded(number, now_ns)
    said = book.take()
    presents = [word.present_ns for word in said if word.was_shown]
    assert all(a < b for a, b in itertools.pairwise(presents))
    assert len({word.swap_number for word in said}) == len(said)
