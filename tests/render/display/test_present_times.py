"""Present times: each way kept by its outcome; which answers of a display are believed, and when it is asked no more."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.render.display import present_times
from twixt.render.display.present_times import LATEST_NS, MOST_FALSE, MOST_OPEN, Answers, Presented, PresentTimes
from twixt.render.pacing.refresh import AT_ONCE_NS, LONGEST_FENCE_NS, MOST_UNTIL_AGAIN, WATCHED

MS = 1_000_000
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
    said = book.drain()
    assert [(word.swap_number, word.was_shown) for word in said] == [(2, True), (1, False), (3, True)]
    assert said[0].flags == "vsync"
    assert [word.refresh_ns for word in said] == [None, None, FRAME_NS]
    assert book.drain() == []


def test_a_swap_is_answered_once():
    book = asked(1)
    now_ns = START_NS + 2 * FRAME_NS
    assert book.presented(1, now_ns, 0, "", now_ns)
    assert not book.presented(1, now_ns + 1, 0, "", now_ns)
    assert not book.presented(7, now_ns + 2, 0, "", now_ns)
    assert len(book.drain()) == 1


@pytest.mark.parametrize(
    "present_ns",
    [START_NS - FRAME_NS, 0, -5, START_NS + 3 * FRAME_NS + 2 * LATEST_NS, (1 << 96), START_NS + FRAME_NS - 2_000_000],
)
def test_an_instant_that_cannot_be_is_no_present(present_ns):
    book = asked(1)
    assert not book.presented(1, present_ns, 0, "", START_NS + 3 * FRAME_NS)
    assert book.drain() == []
    assert book.given_up == ""


def test_a_display_that_always_says_what_cannot_be_is_not_asked_any_more():
    book = Answers()
    for number in range(MOST_FALSE):
        assert not book.given_up
        book.asked(number, START_NS)
        book.presented(number, 17, 0, "", START_NS)
    assert "impossible times" in book.given_up


def test_a_display_that_never_answers_is_not_asked_any_more():
    book = asked(MOST_OPEN)
    assert not book.given_up
    book.asked(MOST_OPEN + 1, START_NS)
    assert "never answers" in book.given_up


def test_a_display_that_stops_to_answer_is_not_asked_any_more_and_one_that_misses_some_is():
    book = asked(1)
    assert book.presented(1, START_NS + 2 * FRAME_NS, 0, "", START_NS + 2 * FRAME_NS)
    for number in range(2, 10 * MOST_OPEN):
        now_ns = START_NS + number * FRAME_NS
        book.asked(number, now_ns)
        if number % 3 == 0:
            assert book.presented(number, now_ns + 1, 0, "", now_ns + FRAME_NS)
    assert not book.given_up
    for number in range(10 * MOST_OPEN, 11 * MOST_OPEN + 2):
        book.asked(number, START_NS + number * FRAME_NS)
    assert "stopped answering" in book.given_up


def test_what_is_out_is_bounded():
    book, forgotten = Answers(), []
    for number in range(1, 20 * MOST_OPEN):
        now_ns = START_NS + number * FRAME_NS
        forgotten.append(book.asked(number, now_ns))
        if number % 2:
            book.presented(number, now_ns, 0, "", now_ns)
    assert not book.given_up
    told = [number for number in forgotten if number is not None]
    assert told == sorted(set(told))
    assert all(number % 2 == 0 for number in told)
    assert len(told) > 9 * MOST_OPEN - 2 * MOST_OPEN


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(-(1 << 70), 1 << 70), st.booleans())))
def test_presents_grow_and_each_swap_is_told_of_once_whatever_is_said(words):
    book = asked(30)
    now_ns = START_NS + 40 * FRAME_NS
    for number, offset_ns, shown in words:
        if shown:
            book.presented(number, now_ns + offset_ns, offset_ns, "", now_ns)
        else:
            book.was_discarded(number, now_ns)
    said = book.drain()
    presents = [word.present_ns for word in said if word.was_shown]
    assert all(a < b for a, b in itertools.pairwise(presents))
    assert len({word.swap_number for word in said}) == len(said)


class Clock:
    """Stands still unless told."""

    def __init__(self) -> None:
        self.now_ns = 10**12

    def perf_counter_ns(self) -> int:
        return self.now_ns


class Display:
    """Returns from swaps at once; the next use of its buffer waits until a refresh, if it does at all."""

    def __init__(self, clock: Clock, period_ns: int = 16 * MS, fences_wait: bool = True) -> None:
        self.clock, self.period_ns, self.fences_wait = clock, period_ns, fences_wait
        self.fences = 0

    def swap(self) -> None:
        self.clock.now_ns += AT_ONCE_NS // 4

    def fence(self, timeout_ns: int) -> None:
        assert timeout_ns == LONGEST_FENCE_NS
        self.fences += 1
        if self.fences_wait:
            self.clock.now_ns += self.period_ns - self.clock.now_ns % self.period_ns


class Asked:
    """A display that is asked, and says what a test puts there."""

    way, output = "made up", 0

    def __init__(self) -> None:
        self.given_up, self.asked, self.said, self.closed = "", [], [], 0

    def ask(self, swap_number: int) -> None:
        self.asked.append(swap_number)

    def swapped(self) -> None:
        pass

    def drain(self) -> list[Presented]:
        said, self.said = self.said, []
        return said

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(present_times, "time", clock)
    return clock


def frames(times: PresentTimes, display: Display, count: int, work_ns: int = 5 * MS) -> list[int | None]:
    fenced = []
    for _ in range(count):
        display.clock.now_ns += work_ns
        times.before_swap()
        display.swap()
        times.after_swap()
        fenced.append(times.fence())
    return fenced


def test_a_fence_is_used_where_swaps_return_at_once_and_it_waits(clock):
    display = Display(clock)
    times = PresentTimes(lambda: None, display.fence)
    times.is_vsynced = True
    assert times.source == "swap"
    fenced = frames(times, display, 4 * WATCHED)
    assert times.source == "fence"
    assert fenced[0] is None
    later = [at for at in fenced[3 * WATCHED :] if at is not None]
    assert len(later) == WATCHED
    assert all(at % display.period_ns == 0 for at in later)


def test_a_fence_that_waits_for_nothing_is_no_present_and_is_given_up(clock):
    display = Display(clock, fences_wait=False)
    times = PresentTimes(lambda: None, display.fence)
    times.is_vsynced = True
    assert set(frames(times, display, 20 * WATCHED)) == {None}
    assert times.source == "swap"
    assert display.fences == WATCHED


def test_it_is_tried_again_ever_more_rarely(clock):
    display = Display(clock, fences_wait=False)
    times = PresentTimes(lambda: None, display.fence)
    times.is_vsynced = True
    frames(times, display, 40_000)
    assert 3 * WATCHED < display.fences < 12 * WATCHED
    display.fences_wait = True
    frames(times, display, MOST_UNTIL_AGAIN + 4 * WATCHED)
    assert times.source == "fence"


def test_no_fence_where_a_swap_waits_or_a_timer_paces(clock):
    display = Display(clock)
    times = PresentTimes(lambda: None, display.fence)
    frames(times, display, 4 * WATCHED)
    assert times.source == "timer"
    times.is_vsynced = True
    trial = times.trial
    for _ in range(200):
        trial.swapped(9 * MS, True)
    assert not trial.is_on
    assert display.fences == 0


def test_the_display_is_asked_from_begin_on_and_its_word_is_the_best(clock):
    display, asked = Display(clock), Asked()
    times = PresentTimes(lambda: asked, display.fence)
    times.is_vsynced = True
    frames(times, display, 2)
    assert asked.asked == []
    assert times.drain() == []
    times.begin()
    times.begin()
    frames(times, display, 2)
    assert asked.asked == [3, 4]
    assert times.source == "swap"
    asked.said = [Presented(3, 0, None, "discarded")]
    assert len(times.drain()) == 1
    assert times.source == "swap"
    asked.said = [Presented(4, clock.now_ns, None, "")]
    times.drain()
    assert times.source == "display"
    frames(times, display, 5 * WATCHED)
    assert display.fences == 0
    asked.given_up = "gone"
    assert times.source != "display"
    times.close()
    assert asked.closed == 1


def test_a_library_that_is_missing_is_said_and_is_no_error(clock):
    def missing():
        raise OSError("libnothing.so: cannot open")

    times = PresentTimes(missing, Display(clock).fence)
    assert times.silence == "not requested"
    times.begin()
    assert "libnothing" in times.silence
    frames(times, Display(clock), 3)
    assert times.drain() == []
    times.close()
